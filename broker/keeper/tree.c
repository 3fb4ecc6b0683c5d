/* All processes of one job: each job has a cgroup where the machine allows it, else tree_scan.c
 * finds its processes in /proc.
 *
 * A group that its job left empty by itself waits for the next job with its descriptors open. A
 * killed group never serves again: the kernel would kill every process that enters it later.
 * Without groups a signal goes to a process only after a second look, by a pidfd. keeper_due.c
 * decides when to signal, and how often.
 */
#include "broker/keeper/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/keeper/delegate.h"
#include "broker/keeper/tree_scan.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"

enum { SMALL_FILE = 65536, PATH_BYTES = 4200, SPARE_MAX = 128 };

/* A group that waits for its next job, or a job for its end, with its descriptors open. */
struct spare {
	uint64_t number;
	int dir, events;
	bool is_taken;
	struct group_limits limits;
};

struct tree {
	char dir[PATH_BYTES - 64]; /* "": no groups */
	uint64_t last;             /* number given; its upper half is this keeper's */
	struct spare spares[SPARE_MAX];
	size_t n_spares;
	char *keeper;
	struct limiter *limiter;
	struct tree_scan scan;
	bool is_scanned;
};

static void group_path(const struct tree *t, uint64_t group, const char *file, char to[PATH_BYTES])
{
	snprintf(to, PATH_BYTES, "%s/%016" PRIx64 "%s%s", t->dir, group, *file ? "/" : "", file);
}

static bool file_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* --- finding a place of our own --- */

static bool place_find(struct tree *t, const char *mode, const char *state_dir)
{
	char mount[DELEGATE_BYTES], group[DELEGATE_BYTES], path[PATH_BYTES];
	struct stat st;

	if (mode[0] == '/') {
		snprintf(t->dir, sizeof t->dir, "%s", mode);
	} else {
		if (stat(state_dir, &st) < 0 || !delegate_find(mount, group))
			return false;
		snprintf(t->dir, sizeof t->dir, "%s%s/sirdar-jobs-%llx-%llx", mount,
		         strcmp(group, "/") == 0 ? "" : group, (unsigned long long)st.st_dev,
		         (unsigned long long)st.st_ino);
	}
	if (mkdir(t->dir, 0755) < 0 && errno != EEXIST)
		return false;
	snprintf(path, sizeof path, "%s/cgroup.kill", t->dir);
	return access(path, W_OK) == 0;
}

/* Below a group that has processes and hands controllers down, the kernel lets nobody in. */
static bool takes_processes(const struct tree *t)
{
	char path[PATH_BYTES];
	struct buf text;

	snprintf(path, sizeof path, "%s/cgroup.type", t->dir);
	buf_init(&text);
	bool takes = fs_read(path, SMALL_FILE, &text, NULL) < 0 ||
	             !strstr(buf_str(&text), "invalid");
	buf_done(&text);
	return takes;
}

int tree_open(const char *mode, const char *state_dir, struct tree **ret_tree, struct err *err)
{
	struct tree *t = mem_new(sizeof *t);

	if (strcmp(mode, "off") != 0 && !place_find(t, mode, state_dir)) {
		if (mode[0] == '/') {
			free(t);
			return err_set(err, E_INVALID, "%s is no cgroup v2 directory we may use",
			               mode);
		}
		t->dir[0] = 0;
	}
	t->keeper = mem_str(state_dir);
	t->limiter = limiter_open(t->dir);
	if (t->dir[0] && !takes_processes(t)) {
		log_warn("cgroup.unusable",
		         "dir=%s what=\"groups in it take no processes: jobs have none\"", t->dir);
		limiter_close(t->limiter);
		rmdir(t->dir);
		t->dir[0] = 0;
		t->limiter = limiter_open(t->dir);
	}
	t->scan.keeper = t->keeper;
	*ret_tree = t;
	return 0;
}

/* --- groups --- */

/* Groups that the processes made below theirs go first. */
static bool group_remove(const char *path)
{
	char below[PATH_BYTES];
	struct dirent *e;

	if (rmdir(path) == 0 || errno == ENOENT)
		return true;
	if (errno != EBUSY && errno != ENOTEMPTY)
		return false;
	DIR *d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_type == DT_DIR && e->d_name[0] != '.' &&
		    snprintf(below, sizeof below, "%s/%s", path, e->d_name) < (int)sizeof below)
			group_remove(below);
	if (d)
		closedir(d);
	return rmdir(path) == 0 || errno == ENOENT;
}

/* Its directory goes too, if nothing is in it. */
static void spare_drop(struct tree *t, size_t at)
{
	char path[PATH_BYTES];

	CHECK(at < t->n_spares);
	group_path(t, t->spares[at].number, "", path);
	close(t->spares[at].dir);
	close(t->spares[at].events);
	if (!t->spares[at].is_taken && group_remove(path))
		limiter_remove(t->limiter, t->spares[at].number);
	CHECK(at < t->n_spares);
	t->spares[at] = t->spares[--t->n_spares];
}

static struct spare *spare_of(struct tree *t, uint64_t group)
{
	for (size_t i = 0; i < t->n_spares; i++)
		if (t->spares[i].number == group)
			return &t->spares[i];
	return NULL;
}

/* Nobody in it, nor in groups that its processes made: the kernel counts those too. */
static bool spare_is_empty(const struct spare *s)
{
	char text[64];
	struct stat st;
	ssize_t n = pread(s->events, text, sizeof text - 1, 0);

	text[n > 0 ? n : 0] = 0;
	return strstr(text, "populated 0") && fstat(s->dir, &st) == 0 && st.st_nlink <= 2;
}

static int group_make(struct tree *t, uint64_t *ret_group, int *ret_fd, struct err *err)
{
	char path[PATH_BYTES];

	do
		group_path(t, ++t->last, "", path);
	while (mkdir(path, 0755) < 0 && errno == EEXIST);
	*ret_fd = open(path, O_DIRECTORY | O_CLOEXEC | O_RDONLY);
	*ret_group = t->last;
	if (*ret_fd >= 0)
		return 0;
	int errnum = errno;
	rmdir(path);
	*ret_group = 0;
	return err_sys(err,
	               errnum == EMFILE || errnum == ENFILE || errnum == EAGAIN ? E_LIMIT : E_IO,
	               errnum, "cgroup of the job");
}

static void spare_keep(struct tree *t, uint64_t group, int dir)
{
	CHECK(group && dir >= 0 && t->n_spares < SPARE_MAX);
	int events = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);

	if (events >= 0)
		t->spares[t->n_spares++] = (struct spare){ group, dir, events, true };
}

/* One that waits, or a new one. */
static int group_take(struct tree *t, uint64_t *ret_group, int *ret_fd, struct err *err)
{
	CHECK(t->dir[0] && t->n_spares <= SPARE_MAX);
	for (size_t i = 0; i < t->n_spares; i++)
		if (!t->spares[i].is_taken) {
			t->spares[i].is_taken = true;
			*ret_group = t->spares[i].number;
			*ret_fd = t->spares[i].dir;
			return 0;
		}
	int r = group_make(t, ret_group, ret_fd, err);
	if (r == 0 && t->n_spares < SPARE_MAX)
		spare_keep(t, *ret_group, *ret_fd);
	return r;
}

int tree_make(struct tree *t, const struct group_limits *limits, uint64_t *ret_group, int *ret_fd,
              int ret_join[LIMITER_JOINS], struct err *err)
{
	struct group_limits was = { 0 };

	*ret_fd = -1;
	*ret_group = 0;
	for (size_t i = 0; i < LIMITER_JOINS; i++)
		ret_join[i] = -1;
	if (!t->dir[0])
		return 0;
	int r = group_take(t, ret_group, ret_fd, err);
	if (r < 0)
		return r;
	CHECK(*ret_group && *ret_fd >= 0);
	struct spare *s = spare_of(t, *ret_group);
	if (s) {
		was = s->limits;
		s->limits = *limits;
	}
	r = limiter_set(t->limiter, *ret_group, &was, limits, ret_join, err);
	if (r < 0 && s) /* half set: whoever is next writes all */
		s->limits = (struct group_limits){ UINT64_MAX, UINT32_MAX, UINT32_MAX };
	return r;
}

void tree_made(struct tree *t, int fd)
{
	for (size_t i = 0; i < t->n_spares; i++)
		if (t->spares[i].dir == fd)
			return;
	if (fd >= 0)
		close(fd);
}

void tree_begin(struct tree *t, uint64_t incarnation)
{
	CHECK(t->n_spares == 0); /* before the first group */
	t->last = incarnation << 32;
}

void tree_drop_spares(struct tree *t)
{
	for (size_t i = t->n_spares; i-- > 0;)
		spare_drop(t, i);
}

void tree_close(struct tree *t)
{
	if (!t)
		return;
	tree_drop_spares(t);
	limiter_close(t->limiter);
	if (t->dir[0])
		rmdir(t->dir);
	tree_scan_done(&t->scan);
	free(t->keeper);
	free(t);
}

bool tree_has_groups(const struct tree *t)
{
	return t->dir[0] != 0;
}

const char *tree_dir(const struct tree *t)
{
	return t->dir;
}

const char *tree_limits(const struct tree *t)
{
	return limiter_text(t->limiter);
}

void tree_forget_scan(struct tree *t)
{
	t->is_scanned = false;
}

static struct tree_scan *scan(struct tree *t)
{
	if (!t->is_scanned)
		tree_scan_make(&t->scan);
	t->is_scanned = true;
	return &t->scan;
}

bool tree_is_gone(struct tree *t, const struct tree_of *of)
{
	char path[PATH_BYTES];
	struct spare *s;

	if (!t->dir[0])
		return (of->pid == 0 || of->is_foreign) && tree_scan_count(scan(t), of) == 0;
	/* Of a former keeper: its groups were all killed, what was moved out of them still carries
	 * the token. */
	if (of->group == 0)
		return tree_sweep(t) && tree_scan_count(scan(t), of) == 0;
	s = spare_of(t, of->group);
	if (s && spare_is_empty(s)) {
		s->is_taken = false;
		return true;
	}
	if (s)
		return false;
	group_path(t, of->group, "", path);
	if (!group_remove(path))
		return false;
	limiter_remove(t->limiter, of->group);
	return true;
}

/* It will be killed: it serves no other job. */
static void spare_spoil(struct tree *t, uint64_t group)
{
	struct spare *s = spare_of(t, group);

	if (s)
		spare_drop(t, (size_t)(s - t->spares));
}

static void group_signal(const struct tree *t, uint64_t group, int sig)
{
	char path[PATH_BYTES], mark[32];
	struct buf text;

	CHECK(group && sig > 0);
	group_path(t, group, "cgroup.procs", path);
	snprintf(mark, sizeof mark, "/%016" PRIx64, group);
	buf_init(&text);
	if (fs_read(path, SMALL_FILE * 16, &text, NULL) == 0)
		for (const char *p = buf_str(&text); *p;) {
			char *end;
			long pid = strtol(p, &end, 10);
			if (pid > 0)
				tree_pid_signal((pid_t)pid, 0, mark, sig);
			p = *end ? end + 1 : end;
		}
	buf_done(&text);
}

void tree_signal(struct tree *t, const struct tree_of *of, int sig)
{
	char path[PATH_BYTES];

	if (t->dir[0] && of->group) {
		spare_spoil(t, of->group);
		group_path(t, of->group, "cgroup.kill", path);
		if (sig != SIGKILL || !file_put(path, "1"))
			group_signal(t, of->group, sig);
		return;
	}
	t->is_scanned = false;
	for (int round = 0; round < 4 && tree_scan_count(scan(t), of) > 0; round++) {
		tree_scan_signal(scan(t), of, sig);
		t->is_scanned = false;
		if (sig != SIGKILL)
			break;
	}
}

bool tree_was_oom(struct tree *t, uint64_t group)
{
	if (!t->dir[0])
		return false;
	bool oom = limiter_was_oom(t->limiter, group);
	if (oom)
		spare_spoil(t, group); /* it goes on counting */
	return oom;
}

bool tree_sweep(struct tree *t)
{
	char path[PATH_BYTES];
	struct dirent *e;
	bool is_clear = true;
	DIR *d = t->dir[0] ? opendir(t->dir) : NULL;

	while (d && (e = readdir(d))) {
		char *end;
		uint64_t group = strtoull(e->d_name, &end, 16);
		if (e->d_type != DT_DIR || *end || strlen(e->d_name) != 16 ||
		    group >> 32 == t->last >> 32)
			continue;
		group_path(t, group, "cgroup.kill", path);
		file_put(path, "1");
		group_path(t, group, "", path);
		is_clear &= group_remove(path);
		limiter_remove(t->limiter, group);
	}
	if (d)
		closedir(d);
	return is_clear;
}

/* One look for all of them: who is born meanwhile is seen by the next. */
bool tree_end_foreign(struct tree *t, const uint64_t *tokens, size_t n)
{
	bool is_clear = tree_sweep(t);

	t->is_scanned = false;
	for (size_t i = 0; i < n; i++) {
		const struct tree_of of = { .token = tokens[i], .is_foreign = true };

		if (tree_scan_count(scan(t), &of) == 0)
			continue;
		tree_scan_signal(scan(t), &of, SIGKILL);
		is_clear = false;
	}
	return is_clear;
}
