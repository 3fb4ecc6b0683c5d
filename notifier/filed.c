/* Alerts as lines of a file, for those who have no mail relay, and for programs that follow it.
 *
 * The path is never anybody's to choose: it is the channel's name below `files` of the state
 * directory, which only the notifier may enter. Links are not followed. NAME.jsonl is set aside as
 * NAME.jsonl.1 when it would grow past its limit, the former ones move up, and the fourth goes. */
#include "notifier/filed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sched/name.h"
#include "util/check.h"
#include "util/err.h"

enum { FORMER_MAX = 3, NAME_BYTES = NAME_BYTES_MAX + 20 };

static int folder_open(const char *state_dir, struct err *err)
{
	int state = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = -1;

	if (state >= 0 && (mkdirat(state, "files", 0700) == 0 || errno == EEXIST))
		fd = openat(state, "files", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		err_sys(err, E_IO, errno, "%s/files", state_dir);
	if (state >= 0)
		close(state);
	return fd;
}

static void file_name(const char *name, int former, char ret[NAME_BYTES])
{
	if (former)
		snprintf(ret, NAME_BYTES, "%s.jsonl.%d", name, former);
	else
		snprintf(ret, NAME_BYTES, "%s.jsonl", name);
}

static void set_aside(int folder, const char *name)
{
	char from[NAME_BYTES], to[NAME_BYTES];

	for (int i = FORMER_MAX; i > 0; i--) {
		file_name(name, i - 1, from);
		file_name(name, i, to);
		renameat(folder, from, folder, to);
	}
}

static int file_open(int folder, const char *name, struct err *err)
{
	char file[NAME_BYTES];
	struct stat st;

	file_name(name, 0, file);
	int fd = openat(folder, file,
	                O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, errno == ELOOP ? E_FORBIDDEN : E_IO, errno, "files/%s", file);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return err_set(err, E_FORBIDDEN, "files/%s is no plain file", file);
}

/* In one piece: a reader, and a write that fails in the middle, see no half of a line. */
static int file_write(int fd, const void *line, size_t n)
{
	struct iovec parts[] = { { (void *)(uintptr_t)line, n }, { (void *)(uintptr_t) "\n", 1 } };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (writev(fd, parts, 2) == (ssize_t)n + 1)
		return fdatasync(fd);
	int why = errno ? errno : ENOSPC;
	if (ftruncate(fd, st.st_size) < 0)
		return -1;
	errno = why;
	return -1;
}

int filed_put(const char *state_dir, const char *name, int64_t bytes_max, const void *line,
              size_t n, struct err *err)
{
	struct stat st;
	int r = 0;

	CHECK(word_ok(name) && n > 0);
	int folder = folder_open(state_dir, err);
	if (folder < 0)
		return err->code;
	int fd = file_open(folder, name, err);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 &&
	    st.st_size + (int64_t)n + 1 > bytes_max) {
		close(fd);
		set_aside(folder, name);
		fd = file_open(folder, name, err);
	}
	close(folder);
	if (fd < 0)
		return err->code;
	if (file_write(fd, line, n) < 0)
		r = err_sys(err, E_IO, errno, "files/%s.jsonl", name);
	close(fd);
	return r;
}
