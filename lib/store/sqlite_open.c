/* A SQLite store: its directory, the lock that keeps a second writer out, the connection with its
 * settings, epoch and position, and the table of its verbs. One connection writes and checkpoints,
 * never two (lib/store rule 5). A standby opens the same file read-only, without the lock.
 *
 * The log is filled with zeros ahead, so that a commit's sync need not write the file's size. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/own.h"

/* Pages of write-ahead log worth a checkpoint while idle: 1 MiB, some milliseconds. */
#define WAL_PAGES_IDLE    256
#define CACHE_BYTES_QUIET (8 << 20)
/* The log an idle store needs, see reserve_log(). */
#define WAL_BYTES_READY (2 * WAL_PAGES_IDLE * (4096 + 24))
#define ZEROS_BYTES     (64 << 10)

static const char pragmas[] =
	"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF;"
	"PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864;"
	"PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF;"
	"PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON";

/* The kernel keeps the lock for as long as this process lives; the file only says who. */
static int lock_directory(struct sqlite_store *s, struct err *err)
{
	char *path = mem_fmt("%s/writer.lock", s->dir);
	long owner = 0;
	int r = fs_lock(path, &s->lock_fd, &owner, err);

	free(path);
	return r == E_BUSY ? err_set(err, r, "%s is in use by process %ld", s->dir, owner) : r;
}

static int on_wal(void *ctx, sqlite3 *db, const char *name, int pages)
{
	(void)db, (void)name;
	((struct sqlite_store *)ctx)->wal_pages = pages;
	return SQLITE_OK;
}

/* A sync of a file that grew writes its size too, through the file system's journal: 0.5 ms
 * instead of 0.15 on the same disk. So the log is filled with zeros ahead, which SQLite takes
 * for the end of the log (fileformat2.html, 4.3: salts that differ from the header's). */
static void reserve_log(struct sqlite_store *s)
{
	static const char zeros[ZEROS_BYTES];
	sqlite3_file *log = NULL;
	sqlite3_int64 bytes = 0;
	int rc = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);

	if (rc != SQLITE_OK || !log || !log->pMethods || log->pMethods->xFileSize(log, &bytes))
		return; /* slower, no more */
	while (rc == SQLITE_OK && bytes < WAL_BYTES_READY) {
		rc = log->pMethods->xWrite(log, zeros, sizeof zeros, bytes);
		bytes += (sqlite3_int64)sizeof zeros;
	}
	if (rc == SQLITE_OK)
		log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
}

/* SQLite counts what it allocates under a lock of the whole process, unless told not to before its
 * first use. Nobody asks for the count; who was earlier than this keeps it, and all works. */
static void sqlite_stop_counting(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int open_database(struct sqlite_store *s, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *path = mem_fmt("%s/sirdar.db", s->dir);
	int r = own_database(path, err), rc = SQLITE_OK;

	pthread_once(&once, sqlite_stop_counting);
	if (r == 0)
		rc = sqlite3_open_v2(path, &s->db,
		                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		                             SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
		                     NULL);
	if (rc != SQLITE_OK)
		r = sql_fail(s->db, rc, path, err);
	free(path);
	if (r < 0)
		return r;
	/* Readers never block a writer in WAL; this is for their recovery and close. */
	sqlite3_busy_timeout(s->db, 2000);
	r = sql_exec(s->db, pragmas, err);
	if (r == 0)
		r = sqlite_batch_register(s, err);
	if (r == 0)
		r = sqlite_load_register(s, err);
	return r;
}

static int make_ready(struct sqlite_store *s, struct err *err)
{
	int r = sqlite_migrate(s->db, clock_wall_us(&clock_machine), err);

	if (r == 0)
		reserve_log(s);
	sqlite3_wal_hook(s->db, on_wal, s);
	return r;
}

static void sqlite_close(struct store *st)
{
	struct sqlite_store *s = (struct sqlite_store *)st;

	for (size_t i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(s->stmts[i]);
	sqlite3_close(s->db);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	map_done(&s->rows.cycles);
	free(s->shown);
	free(s->gone);
	free(s->dir);
	free(s);
}

static bool has_database(const char *dir)
{
	char *path = mem_fmt("%s/sirdar.db", dir);
	bool has = access(path, F_OK) == 0;

	free(path);
	return has;
}

static struct sqlite_store *store_of(const char *dir)
{
	struct sqlite_store *s = mem_new(sizeof *s);

	s->base.ops = &store_sqlite_ops;
	s->lock_fd = -1;
	s->dir = mem_str(dir);
	map_init(&s->rows.cycles);
	s->rows.ops = &sqlite_row_ops;
	return s;
}

int sqlite_open_bare(const char *dir, bool may_make, struct sqlite_store **ret, struct err *err)
{
	struct sqlite_store *s = store_of(dir);
	int r = 0;

	if (!*dir)
		r = err_set(err, E_INVALID, "store url: want sqlite:DIRECTORY");
	else if (!may_make && !has_database(dir))
		r = err_set(err, E_NOT_FOUND, "%s/sirdar.db is not there", dir);
	else if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		r = err_sys(err, errno == ENOSPC ? E_FULL : E_IO, errno, "%s", dir);
	if (r == 0)
		r = lock_directory(s, err);
	if (r == 0)
		r = open_database(s, err);
	if (r < 0) {
		sqlite_close(&s->base);
		return err_wrap(err, r, "store");
	}
	*ret = s;
	return 0;
}

static int sqlite_open(const char *dir, struct store **ret_store, struct err *err)
{
	struct sqlite_store *s = NULL;
	int r = sqlite_open_bare(dir, true, &s, err);

	if (r < 0)
		return r;
	r = make_ready(s, err);
	if (r < 0) {
		sqlite_close(&s->base);
		return err_wrap(err, r, "store");
	}
	*ret_store = &s->base;
	return 0;
}

/* Read-only, beside the writer, whoever that is; nothing is made and nothing changed. */
static int sqlite_open_standby(const char *dir, struct store **ret_store, struct err *err)
{
	struct sqlite_store *s = store_of(dir);
	char *path = mem_fmt("%s/sirdar.db", dir);
	int r = 0;
	int rc = sqlite3_open_v2(path, &s->db,
	                         SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
	                         NULL);
	if (rc == SQLITE_CANTOPEN)
		r = err_set(err, E_NOT_FOUND, "%s is not there", path);
	else if (rc != SQLITE_OK)
		r = sql_fail(s->db, rc, path, err);
	free(path);
	if (r == 0) {
		sqlite3_busy_timeout(s->db, 2000);
		r = sqlite_check_schema(s->db, err);
	}
	if (r == 0)
		r = sqlite_load_register(s, err);
	if (r < 0) {
		sqlite_close(&s->base);
		return err_wrap(err, r, "store");
	}
	*ret_store = &s->base;
	return 0;
}

static void sqlite_idle(struct store *st)
{
	struct sqlite_store *s = (struct sqlite_store *)st;

	if (s->wal_pages >= WAL_PAGES_IDLE)
		sqlite_checkpoint(s);
}

/* A cache that long commits filled; what a few jobs a second touch is small and stays. */
static void sqlite_quiet(struct store *st)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	int used = 0, most = 0;

	if (sqlite3_db_status(s->db, SQLITE_DBSTATUS_CACHE_USED, &used, &most, 0) != SQLITE_OK ||
	    used <= CACHE_BYTES_QUIET)
		return;
	sqlite3_db_release_memory(s->db);
	malloc_trim(0); /* its pages lie between other things of the heap */
}

static int sqlite_take_epoch(struct store *st, const char *who, uint32_t *ret_epoch,
                             struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = sql_begin(s, 0, NULL, err);

	if (r < 0)
		return r;
	r = sql_get(s, SQL_TAKE, &q, err);
	if (r == 0) {
		sql_bind(q, "iti", (int64_t)s->base.tip.epoch + 1, who,
		         clock_wall_us(&clock_machine));
		r = sql_run(s, q, err);
	}
	r = sql_end(s, r, err);
	if (r == 0)
		*ret_epoch = s->base.tip.epoch + 1;
	return r < 0 ? err_wrap(err, r, "take epoch") : 0;
}

static int sqlite_tip(struct store *st, struct store_tip *ret, struct err *err)
{
	return row_tip((struct row_store *)st, ROW_TIP, ret, err);
}

static int sqlite_position(struct store *st, uint64_t *ret_number, uint32_t *ret_epoch,
                           struct err *err)
{
	struct store_tip t;
	int r = sqlite_tip(st, &t, err);

	if (r == 0) {
		*ret_number = t.number;
		*ret_epoch = t.epoch;
	}
	return r;
}

const struct store_ops store_sqlite_ops = {
	ROW_STORE_OPS,
	.prefix = "sqlite:",
	.open = sqlite_open,
	.close = sqlite_close,
	.take_epoch = sqlite_take_epoch,
	.is_exclusive = true,
	.open_standby = sqlite_open_standby,
	.lease = sqlite_lease,
	.take_lease = sqlite_take_lease,
	.renew_lease = sqlite_renew_lease,
	.add_gap = sqlite_add_gap,
	.give_lease = sqlite_give_lease,
	.show_node = sqlite_show_node,
	.each_node = sqlite_each_node,
	.position = sqlite_position,
	.tip = sqlite_tip,
	.inspect = sqlite_inspect,
	.scrub = sqlite_scrub,
	.commit = sqlite_commit,
	.idle = sqlite_idle,
	.quiet = sqlite_quiet,
	.load_live = sqlite_load_live,
	.read_live = sqlite_read_live,
};
