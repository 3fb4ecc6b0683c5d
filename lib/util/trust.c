/* A way is walked by names, one at a time, each opened from the descriptor of the one before it
 * after that was judged: links by hand, so that they are judged too. Nothing here asks whether this
 * process could read the file; opening says so.
 */
#include "util/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/err.h"

enum { LINKS_MAX = 40, TEXT_BYTES = 16384 };

static uid_t other; /* 0: nobody else */

void trust_user(uid_t user)
{
	other = user;
}

bool trust_is_ours(uid_t owner)
{
	return owner == 0 || owner == geteuid() || owner == other;
}

struct way {
	char *at;   /* what was walked, as a path: for messages */
	char *rest; /* what is still to be walked */
	int dir;    /* where `at` is, by O_PATH */
	int links;
};

/* By its name, for distributions that give each user such a group; root's has others in it. */
static bool is_own_group(gid_t gid)
{
	char user_text[4096], group_text[TEXT_BYTES];
	struct passwd user, *is_user = NULL;
	struct group group, *is_group = NULL;

	if (gid != getegid() || geteuid() == 0)
		return false;
	if (getpwuid_r(geteuid(), &user, user_text, sizeof user_text, &is_user) != 0 || !is_user ||
	    getgrgid_r(gid, &group, group_text, sizeof group_text, &is_group) != 0 || !is_group ||
	    strcmp(group.gr_name, user.pw_name) != 0)
		return false;
	for (char **m = group.gr_mem; *m; m++)
		if (strcmp(*m, user.pw_name) != 0)
			return false;
	return true;
}

static int util_trust_judge(const struct stat *st, const char *at, struct err *err)
{
	const char *what = S_ISDIR(st->st_mode)   ? "directory"
	                   : S_ISLNK(st->st_mode) ? "link"
	                                          : "file";

	if (!trust_is_ours(st->st_uid))
		return err_set(err, E_FORBIDDEN,
		               "%.230s: this %s belongs to user %u, neither root nor user %u who "
		               "would trust it (chown%s root it)",
		               at, what, st->st_uid, geteuid(), S_ISLNK(st->st_mode) ? " -h" : "");
	if (S_ISLNK(st->st_mode) || (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
		return 0;
	if (st->st_mode & S_IWOTH)
		return err_set(err, E_FORBIDDEN,
		               "%.230s: anyone may write this %s, mode %04o (chmod go-w it)", at,
		               what, st->st_mode & 07777);
	if (st->st_mode & S_IWGRP && !is_own_group(st->st_gid))
		return err_set(err, E_FORBIDDEN,
		               "%.230s: group %u may write this %s, mode %04o (chmod g-w it)", at,
		               st->st_gid, what, st->st_mode & 07777);
	return 0;
}

static int trust_failed(const char *at, struct err *err)
{
	int errnum = errno;

	return err_sys(err, err_of_errno(errnum), errnum, "open %.250s", at);
}

static void way_done(struct way *w)
{
	if (w->dir >= 0)
		close(w->dir);
	free(w->at);
	free(w->rest);
}

static int from_root(struct way *w, struct err *err)
{
	struct stat st;

	if (w->dir >= 0)
		close(w->dir);
	free(w->at);
	w->at = mem_str("");
	w->dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->dir < 0 || fstat(w->dir, &st) < 0)
		return trust_failed("/", err);
	return util_trust_judge(&st, "/", err);
}

/* The first step of what is left, which becomes shorter by it. "": nothing is left. */
static char *step_take(struct way *w)
{
	const char *from = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(from, "/");
	char *step = mem_strn(from, n), *rest = mem_str(from + n);

	free(w->rest);
	w->rest = rest;
	return step;
}

/* What the link says comes before what is left. */
static int trust_follow(struct way *w, int link, const char *at, struct err *err)
{
	char to[PATH_MAX];
	ssize_t n = readlinkat(link, "", to, sizeof to - 1);

	if (n < 0)
		return trust_failed(at, err);
	if (++w->links > LINKS_MAX) {
		errno = ELOOP;
		return trust_failed(at, err);
	}
	to[n] = 0;
	char *rest = mem_fmt("%s/%s", to, w->rest);

	free(w->rest);
	w->rest = rest;
	return to[0] == '/' ? from_root(w, err) : 0;
}

/* One step, judged. 1: it is the last, and *ret_at is what it is. */
static int step_go(struct way *w, const char *step, char **ret_at, struct err *err)
{
	char *at = mem_fmt("%s/%s", w->at, step);
	int fd = openat(w->dir, step, O_PATH | O_NOFOLLOW | O_CLOEXEC), r;
	bool is_last = w->rest[strspn(w->rest, "/")] == 0;
	struct stat st = { 0 };

	r = fd < 0 || fstat(fd, &st) < 0 ? trust_failed(at, err) : 0;
	if (r == 0 && S_ISLNK(st.st_mode)) {
		r = util_trust_judge(&st, at, err);
		if (r == 0)
			r = trust_follow(w, fd, at, err);
	} else if (r == 0 && is_last) {
		*ret_at = mem_str(at);
		r = 1;
	} else if (r == 0) {
		r = util_trust_judge(&st, at, err);
		close(w->dir);
		w->dir = fd;
		fd = -1;
		free(w->at);
		w->at = mem_str(at);
	}
	if (fd >= 0)
		close(fd);
	free(at);
	return r;
}

int trust_open(const char *path, int *ret_fd, struct err *err)
{
	struct way w = { .dir = -1 };
	char here[PATH_MAX] = "", *at = NULL;
	int r = 0;

	if (path[0] != '/' && !getcwd(here, sizeof here))
		return trust_failed(path, err);
	w.rest = mem_fmt("%s/%s", here, path);
	r = from_root(&w, err);
	while (r == 0) {
		char *step = step_take(&w);

		if (!step[0]) { /* the root, or a name that ends with '/' */
			errno = EISDIR;
			r = trust_failed(path, err);
		} else if (strcmp(step, ".") != 0) {
			r = step_go(&w, step, &at, err);
		}
		if (r > 0) {
			/* Not held up by a pipe; no link that came here since. */
			*ret_fd = openat(w.dir, step,
			                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
			r = *ret_fd < 0 ? trust_failed(at, err) : 1;
		}
		free(step);
	}
	free(at);
	way_done(&w);
	return r < 0 ? r : 0;
}

int trust_judge(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return trust_failed(path, err);
	return util_trust_judge(&st, path, err);
}

int trust_check(const char *path, struct err *err)
{
	int fd = -1;
	int r = trust_open(path, &fd, err);

	if (r == 0) {
		r = trust_judge(fd, path, err);
		close(fd);
	}
	return r;
}
