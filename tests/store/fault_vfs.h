/* fault_vfs.h — SQLite's own file layer with a fault in its n-th write or fsync.
 *
 * Registered as the default: stores opened later go through it. One at a time. */
#ifndef TESTS_STORE_FAULT_VFS_H
#define TESTS_STORE_FAULT_VFS_H

#include <sqlite3.h>

#include "tests/store/world.h"

enum fault_kind { FAULT_NONE, FAULT_WRITE, FAULT_FULL, FAULT_SYNC };

static struct {
	enum fault_kind kind;
	int after; /* calls of the kind that still work */
	int hits;
	sqlite3_vfs *real, shim;
} fault;

struct fault_file {
	sqlite3_file base;
	sqlite3_file *real;
};

static sqlite3_file *real_of(sqlite3_file *f)
{
	return ((struct fault_file *)f)->real;
}

static int fault_now(bool sync)
{
	static const int codes[] = { SQLITE_OK, SQLITE_IOERR_WRITE, SQLITE_FULL,
		                     SQLITE_IOERR_FSYNC };

	if (fault.kind == FAULT_NONE || sync != (fault.kind == FAULT_SYNC) || fault.after-- > 0)
		return SQLITE_OK;
	fault.hits++;
	return codes[fault.kind];
}

static int fault_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	int rc = fault_now(false);

	return rc ? rc : real_of(f)->pMethods->xWrite(real_of(f), p, n, at);
}

static int fault_sync(sqlite3_file *f, int flags)
{
	int rc = fault_now(true);

	return rc ? rc : real_of(f)->pMethods->xSync(real_of(f), flags);
}

#define PASS(name, args, call) \
	static int pass_##name args \
	{ \
		return real_of(f)->pMethods->name call; \
	}
PASS(xRead, (sqlite3_file * f, void *p, int n, sqlite3_int64 at), (real_of(f), p, n, at))
PASS(xTruncate, (sqlite3_file * f, sqlite3_int64 n), (real_of(f), n))
PASS(xFileSize, (sqlite3_file * f, sqlite3_int64 *n), (real_of(f), n))
PASS(xLock, (sqlite3_file * f, int l), (real_of(f), l))
PASS(xUnlock, (sqlite3_file * f, int l), (real_of(f), l))
PASS(xCheckReservedLock, (sqlite3_file * f, int *l), (real_of(f), l))
PASS(xFileControl, (sqlite3_file * f, int op, void *p), (real_of(f), op, p))
PASS(xSectorSize, (sqlite3_file * f), (real_of(f)))
PASS(xDeviceCharacteristics, (sqlite3_file * f), (real_of(f)))
PASS(xShmMap, (sqlite3_file * f, int i, int n, int x, void volatile **p), (real_of(f), i, n, x, p))
PASS(xShmLock, (sqlite3_file * f, int o, int n, int x), (real_of(f), o, n, x))
PASS(xShmUnmap, (sqlite3_file * f, int x), (real_of(f), x))

static void pass_xShmBarrier(sqlite3_file *f)
{
	real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int fault_close(sqlite3_file *f)
{
	int rc = real_of(f)->pMethods->xClose(real_of(f));

	free(real_of(f));
	return rc;
}

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	static const sqlite3_io_methods methods = { 2,
		                                    fault_close,
		                                    pass_xRead,
		                                    fault_write,
		                                    pass_xTruncate,
		                                    fault_sync,
		                                    pass_xFileSize,
		                                    pass_xLock,
		                                    pass_xUnlock,
		                                    pass_xCheckReservedLock,
		                                    pass_xFileControl,
		                                    pass_xSectorSize,
		                                    pass_xDeviceCharacteristics,
		                                    pass_xShmMap,
		                                    pass_xShmLock,
		                                    pass_xShmBarrier,
		                                    pass_xShmUnmap,
		                                    NULL,
		                                    NULL };
	struct fault_file *ff = (struct fault_file *)f;
	int rc;

	(void)vfs;
	memset(ff, 0, sizeof *ff);
	ff->real = mem_new((size_t)fault.real->szOsFile);
	rc = fault.real->xOpen(fault.real, name, ff->real, flags, out);
	if (rc != SQLITE_OK) {
		free(ff->real);
		return rc;
	}
	f->pMethods = &methods;
	return SQLITE_OK;
}

HELPER void fault_install(void)
{
	fault.real = sqlite3_vfs_find(NULL);
	fault.shim = *fault.real;
	fault.shim.zName = "fault";
	fault.shim.szOsFile = sizeof(struct fault_file);
	fault.shim.xOpen = fault_open;
	sqlite3_vfs_register(&fault.shim, 1);
}

HELPER void fault_order(enum fault_kind kind, int after)
{
	fault.kind = kind;
	fault.after = after;
	fault.hits = 0;
}

HELPER void fault_uninstall(void)
{
	fault_order(FAULT_NONE, 0);
	sqlite3_vfs_unregister(&fault.shim);
}

#endif
