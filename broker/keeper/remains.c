#include "broker/keeper/remains.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "broker/keeper/tree.h"

/* The lock of a keeper that is gone, and where its groups are: that stands in the file. While we
 * have it no other keeper starts, whose jobs we would take for remains. -1: one lives. */
static int lock_take(const char *state_dir, char *ret_place, size_t size)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof path, "%s/keeper.lock", state_dir);
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return -1;
	}
	ssize_t n = pread(fd, ret_place, size - 1, 0);
	ret_place[n > 0 ? n : 0] = 0;
	return fd;
}

bool remains_end(const char *state_dir, const char *cgroup, const uint64_t *tokens, size_t n)
{
	char place[PATH_MAX], state[PATH_MAX];
	struct tree *t;

	if (!realpath(state_dir, state)) /* as the jobs' environment has it */
		return false;
	int fd = lock_take(state, place, sizeof place);
	if (fd < 0)
		return false;
	bool is_clear = tree_open(place[0] ? place : cgroup, state, &t, NULL) == 0;
	if (is_clear) {
		is_clear = tree_end_foreign(t, tokens, n);
		tree_close(t);
	}
	close(fd);
	return is_clear;
}
