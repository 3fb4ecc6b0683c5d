/* Small files. A file is read whole, up to a limit, and replaced whole: written beside, synced,
 * renamed over, the directory synced. Secrets are read only from plain files that nobody but their
 * owner may read. Locks hold as long as their descriptor is open. Blocking: not for a thread that
 * answers people. */
#include "util/fs.h"
#include "util/check.h"

#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int fs_failed(struct err *err, const char *what, const char *path)
{
	int errnum = errno;

	return err_sys(err, err_of_errno(errnum), errnum, "%s %.250s", what, path);
}

static int read_all(int fd, const char *path, size_t max, struct buf *text, struct err *err)
{
	size_t got = 0;

	CHECK(max < SIZE_MAX);
	for (;;) {
		size_t want = max - got < 65536 ? max - got + 1 : 65536;
		ssize_t n = read(fd, buf_room(text, want), want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fs_failed(err, "read", path);
		if (n == 0)
			return 0;
		got += (size_t)n;
		if (got > max)
			return err_set(err, E_TOO_BIG, "%.250s is larger than %zu bytes", path,
			               max);
		buf_added(text, (size_t)n);
	}
}

int fs_read(const char *path, size_t max, struct buf *ret_text, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fs_failed(err, "open", path);
	int r = read_all(fd, path, max, ret_text, err);
	close(fd);
	return r;
}

static int secret_fd_check(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fs_failed(err, "stat", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, E_FORBIDDEN, "%.250s is not a plain file", path);
	if (st.st_mode & 077)
		return err_set(err, E_FORBIDDEN,
		               "%.250s holds a secret but has mode %04o: others may use it "
		               "(chmod 600 it)",
		               path, st.st_mode & 07777);
	if (!trust_is_ours(st.st_uid))
		return err_set(err, E_FORBIDDEN, "%.250s holds a secret but belongs to user %u",
		               path, st.st_uid);
	return 0;
}

int fs_read_trusted(const char *path, size_t max, struct buf *ret_text, struct err *err)
{
	int fd = -1;
	int r = trust_open(path, &fd, err);
	if (r < 0)
		return r;
	r = trust_judge(fd, path, err);
	if (r == 0)
		r = read_all(fd, path, max, ret_text, err);
	close(fd);
	return r;
}

int fs_read_secret(const char *path, size_t max, struct buf *ret_text, struct err *err)
{
	int fd = -1;
	int r = trust_open(path, &fd, err);
	if (r < 0)
		return r;
	r = secret_fd_check(fd, path, err);
	if (r == 0)
		r = read_all(fd, path, max, ret_text, err);
	close(fd);
	return r;
}

int fs_secret_check(const char *path, struct err *err)
{
	int fd = -1;
	int r = trust_open(path, &fd, err);
	if (r < 0)
		return r;
	r = secret_fd_check(fd, path, err);
	close(fd);
	return r;
}

static int write_all(int fd, const char *path, const char *data, size_t n, struct err *err)
{
	while (n > 0) {
		ssize_t w = write(fd, data, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return fs_failed(err, "write", path);
		CHECK((size_t)w <= n);
		data += w;
		n -= (size_t)w;
	}
	return fsync(fd) < 0 ? fs_failed(err, "fsync", path) : 0;
}

int fs_sync_dir(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fs_failed(err, "open", path);
	int r = fsync(fd) < 0 ? fs_failed(err, "fsync", path) : 0;
	close(fd);
	return r;
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return mem_str(".");
	return slash == path ? mem_str("/") : mem_strn(path, (size_t)(slash - path));
}

/* By root's hand in another's place: it stays that of who had it, and a new one is his whose the
 * directory is. Else a daemon could not read what its operator wrote for it. */
static int fs_give(int fd, const char *path, const char *dir, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0 && stat(dir, &st) < 0)
		return fs_failed(err, "stat", dir);
	return st.st_uid != 0 && fchown(fd, st.st_uid, st.st_gid) < 0
	               ? fs_failed(err, "chown", path)
	               : 0;
}

int fs_write(const char *path, const void *data, size_t n, mode_t mode, struct err *err)
{
	char *dir = parent_of(path);
	char *beside = mem_fmt("%s.%d.tmp", path, getpid());
	bool there = false;
	int r;

	CHECK((mode & ~(mode_t)07777) == 0);
	int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0) {
		r = fs_failed(err, "create", beside);
		goto out;
	}
	there = true;
	flock(fd, LOCK_EX | LOCK_NB); /* as long as it is being written: fs_tidy() */
	r = fchmod(fd, mode) < 0 ? fs_failed(err, "chmod", beside) : 0; /* whatever the umask */
	if (r == 0 && geteuid() == 0)
		r = fs_give(fd, path, dir, err);
	if (r == 0)
		r = write_all(fd, beside, data, n, err);
	close(fd);
	if (r == 0 && rename(beside, path) < 0)
		r = fs_failed(err, "rename to", path);
	if (r == 0) {
		there = false;
		r = fs_sync_dir(dir, err);
	}
out:
	if (there)
		unlink(beside);
	free(beside);
	free(dir);
	return r;
}

/* "own.key.4711.tmp" of "own.key" */
static bool is_left_by(const char *name, const char *base)
{
	size_t n = strlen(base);

	if (strncmp(name, base, n) != 0 || name[n] != '.')
		return false;
	name += n + 1;
	n = strspn(name, "0123456789");
	return n > 0 && strcmp(name + n, ".tmp") == 0;
}

void fs_tidy(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *dir = parent_of(path);
	DIR *d = opendir(dir);

	for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
		if (!is_left_by(e->d_name, base))
			continue;
		int fd = openat(dirfd(d), e->d_name,
		                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(dirfd(d), e->d_name, 0);
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
	free(dir);
}

int fs_mkdirs(const char *path, mode_t mode, struct err *err)
{
	char *p = mem_str(path);
	int r = 0;
	struct stat st;

	CHECK((mode & ~(mode_t)07777) == 0);
	for (char *at = p; r == 0 && *at;) {
		at += strspn(at, "/");
		at += strcspn(at, "/");
		char was = *at;
		*at = 0;
		if (*p && mkdir(p, mode) < 0 && errno != EEXIST)
			r = fs_failed(err, "mkdir", p);
		*at = was;
	}
	free(p);
	if (r == 0 && stat(path, &st) < 0)
		return fs_failed(err, "stat", path);
	if (r == 0 && !S_ISDIR(st.st_mode))
		return err_set(err, E_EXISTS, "%.250s is not a directory", path);
	return r;
}

bool fs_name_ok(const char *name, size_t max)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";
	size_t n = strnlen(name, max + 1);

	CHECK(max > 0);
	return n >= 1 && n <= max && name[0] != '.' && name[0] != '-' && strspn(name, allowed) == n;
}

int fs_free_bytes(const char *path, unsigned long long *ret_bytes, struct err *err)
{
	struct statvfs v;

	if (statvfs(path, &v) < 0)
		return fs_failed(err, "statvfs", path);
	*ret_bytes = (unsigned long long)v.f_bavail * v.f_frsize;
	return 0;
}

int fs_touch(const char *path, mode_t mode, int64_t at_us)
{
	struct timespec at = { at_us / US_PER_S, at_us % US_PER_S * 1000 }, both[] = { at, at };
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);

	if (fd < 0)
		return E_IO;
	int r = futimens(fd, both) < 0 ? E_IO : 0;
	close(fd);
	return r;
}

int fs_touched_us(const char *path, int64_t *ret_us)
{
	struct stat st;

	*ret_us = 0;
	if (stat(path, &st) < 0)
		return E_NOT_FOUND;
	*ret_us = (int64_t)st.st_mtim.tv_sec * US_PER_S + st.st_mtim.tv_nsec / 1000;
	return 0;
}

int fs_lock(const char *path, int *ret_fd, long *ret_owner, struct err *err)
{
	int fd = *ret_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char pid[32] = "";

	if (fd < 0)
		return err_sys(err, E_IO, errno, "%s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_sys(err, E_IO, errno, "%s", path);
		*ret_owner = pread(fd, pid, sizeof pid - 1, 0) < 0 ? 0 : strtol(pid, NULL, 10);
		return err_set(err, E_BUSY, "%s is locked by process %ld", path, *ret_owner);
	}
	int n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n)
		return err_sys(err, errno == ENOSPC ? E_FULL : E_IO, errno, "%s", path);
	return 0;
}

int fs_read_secret_line(const char *path, char **ret, struct err *err)
{
	enum { LINE_BYTES_MAX = 4096 };
	struct buf text;

	buf_init(&text);
	int r = fs_read_secret(path, LINE_BYTES_MAX, &text, err);
	size_t n = r == 0 ? strcspn(buf_str(&text), "\r\n") : 0;
	if (r == 0 && n == 0)
		r = err_set(err, E_INVALID, "%s: want one line", path);
	if (r == 0)
		*ret = mem_strn(buf_str(&text), n);
	if (text.data)
		explicit_bzero(text.data, text.cap);
	buf_done(&text);
	return r;
}
