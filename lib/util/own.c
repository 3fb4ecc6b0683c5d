/* Directories are judged open, by their descriptor; databases by name: file_close_to_others().
 * A directory of another user is refused and never taken: who runs a daemon as root by mistake
 * would leave files there that the right one cannot read.
 */
#include "util/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/sanitized.h"

void own_memory(void)
{
#ifndef SANITIZED
	prctl(PR_SET_DUMPABLE, 0); /* fails on values it does not know only */
#endif
}

static int own_failed(const char *what, const char *path, struct err *err)
{
	int errnum = errno;

	return err_sys(err, err_of_errno(errnum), errnum, "%s %.250s", what, path);
}

static bool is_shared(const struct stat *dir)
{
	return (dir->st_mode & S_ISGID) && (dir->st_mode & 0070) == 0050;
}

static int close_to_others(int fd, const char *path, bool may_share, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return own_failed("stat", path, err);
	if (st.st_uid != geteuid())
		return err_set(err, E_FORBIDDEN,
		               "%.250s belongs to user %u, and user %u would keep its own there "
		               "(run as that user, or chown it)",
		               path, st.st_uid, geteuid());
	mode_t others = may_share && is_shared(&st) ? 0007 : 0077;

	if (!(st.st_mode & others))
		return 0;
	if (fchmod(fd, st.st_mode & 07777 & ~others) < 0)
		return own_failed("chmod", path, err);
	log_warn("state.closed", "dir=%s mode=%04o text=\"others could use it; they cannot now\"",
	         path, st.st_mode & 07777);
	return 0;
}

int own_dir(const char *path, bool may_share, struct err *err)
{
	int r = fs_mkdirs(path, 0700, err), fd;

	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return own_failed("open", path, err);
	r = close_to_others(fd, path, may_share, err);
	close(fd);
	return r;
}

/* Never opened where it is there: closing a file gives up all locks that this process has on it. */
static int file_close_to_others(const char *path, mode_t mode, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : own_failed("stat", path, err);
	if ((st.st_mode & 07777 & ~mode) == 0 || !S_ISREG(st.st_mode))
		return 0;
	return chmod(path, st.st_mode & mode) < 0 ? own_failed("chmod", path, err) : 0;
}

int own_database(const char *path, struct err *err)
{
	static const char *const beside[] = { "", "-wal", "-shm", "-journal" };
	const char *slash = strrchr(path, '/');
	char *dir = slash && slash > path ? mem_strn(path, (size_t)(slash - path))
	                                  : mem_str(slash ? "/" : ".");
	struct stat st;
	int r = stat(dir, &st) < 0 ? own_failed("stat", dir, err) : 0, fd = -1;
	mode_t mode = r == 0 && is_shared(&st) ? 0640 : 0600;

	if (r == 0) {
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
		if (fd < 0 && errno != EEXIST)
			r = own_failed("create", path, err);
	}
	if (fd >= 0 && fchmod(fd, mode) < 0)
		r = own_failed("chmod", path, err);
	/* By root's hand in another's place: it is his. */
	if (r == 0 && fd >= 0 && geteuid() == 0 && st.st_uid != 0 &&
	    fchown(fd, st.st_uid, st.st_gid) < 0)
		r = own_failed("chown", path, err);
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; r == 0 && i < sizeof beside / sizeof beside[0]; i++) {
		char *file = mem_fmt("%s%s", path, beside[i]);

		r = file_close_to_others(file, mode, err);
		free(file);
	}
	free(dir);
	return r;
}
