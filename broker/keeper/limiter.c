/* What a job's tree may take of memory, processes and processor: the numbers in its cgroups.
 *
 * At the start each of the three controllers is looked for in cgroup v2, then in v1; `version`
 * says where it is held, 0 nowhere. In v2 the job's own group takes the numbers, in v1 a group of
 * the same name beside it, which the child joins by a descriptor. A limit that nobody holds is
 * said once in the log, and the job runs. In v2 a group that serves a second job is written only
 * where the numbers differ.
 */
#include "broker/keeper/limiter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"

enum { SMALL_FILE = 65536, PATH_BYTES = 4200, CPU_PERIOD_US = 100000 };

/* One controller: its name, its file in version 2 and in version 1, and what unlimits there. */
static const struct kind {
	const char *name, *file2, *file1, *any1;
} kinds[LIMITER_JOINS] = {
	{ "memory", "memory.max", "memory.limit_in_bytes", "-1" },
	{ "pids", "pids.max", "pids.max", "max" },
	{ "cpu", "cpu.max", "cpu.cfs_quota_us", "-1" },
};

struct limiter {
	char *dir2;
	char *dirs1[LIMITER_JOINS]; /* NULL: not of version 1 */
	int version[LIMITER_JOINS]; /* 0: nobody holds it */
	bool is_told[LIMITER_JOINS];
	char text[48];
};

static int file_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int r = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;

	if (fd >= 0)
		close(fd);
	return r;
}

static bool has_word(const char *path, const char *word)
{
	struct buf text;
	bool found = false;

	buf_init(&text);
	if (fs_read(path, SMALL_FILE, &text, NULL) == 0) {
		size_t n = strlen(word);
		for (const char *p = buf_str(&text); *p && !found; p += strcspn(p, " \n")) {
			p += strspn(p, " \n");
			found = strcspn(p, " \n") == n && strncmp(p, word, n) == 0;
		}
	}
	buf_done(&text);
	return found;
}

/* --- where each controller is --- */

/* May the group hand a controller down? Not one with processes in it: of memory the kernel refuses,
 * of the others it makes the groups below such that take no processes (cgroup-v2.rst, "Threads").
 * The root, which has no type, may. */
static bool may_hand_down(const char *group)
{
	char path[PATH_BYTES];
	struct buf text;

	snprintf(path, sizeof path, "%.4000s/cgroup.type", group);
	if (access(path, F_OK) < 0)
		return true;
	snprintf(path, sizeof path, "%.4000s/cgroup.procs", group);
	buf_init(&text);
	bool may = fs_read(path, SMALL_FILE, &text, NULL) == 0 && buf_str(&text)[0] == '\0';
	buf_done(&text);
	return may;
}

/* Groups inherit a controller from level to level: ours must hand it to the jobs', and the one
 * above to ours. */
static bool version2_open(const struct limiter *l, const char *name)
{
	char path[PATH_BYTES], on[16];
	const char *slash = strrchr(l->dir2, '/');

	CHECK(slash);
	snprintf(on, sizeof on, "+%s", name);
	snprintf(path, sizeof path, "%.*s", (int)(slash - l->dir2), l->dir2);
	if (may_hand_down(path)) {
		snprintf(path, sizeof path, "%.*s/cgroup.subtree_control", (int)(slash - l->dir2),
		         l->dir2);
		file_put(path, on);
	}
	snprintf(path, sizeof path, "%s/cgroup.subtree_control", l->dir2);
	file_put(path, on);
	return has_word(path, name);
}

/* Our own group of a version 1 controller: "4:memory:/some/where". */
static bool own_group1(const char *name, char *to, size_t size)
{
	struct buf text;
	bool found = false;

	buf_init(&text);
	if (fs_read("/proc/self/cgroup", SMALL_FILE, &text, NULL) == 0)
		for (const char *p = buf_str(&text); *p && !found;
		     p += strcspn(p, "\n"), p += *p == '\n') {
			char names[256], group[1024];
			found = sscanf(p, "%*[0-9]:%255[^:\n]:%1023[^\n]", names, group) == 2 &&
			        strcmp(names, name) == 0;
			if (found)
				snprintf(to, size, "%s", strcmp(group, "/") == 0 ? "" : group);
		}
	buf_done(&text);
	return found;
}

/* "cgroup /sys/fs/cgroup/pids cgroup rw,relatime,pids 0 0" */
static bool mount1(const char *name, char *to, size_t size)
{
	struct buf text;
	bool found = false;

	buf_init(&text);
	if (fs_read("/proc/self/mounts", SMALL_FILE, &text, NULL) == 0)
		for (const char *p = buf_str(&text); *p && !found;
		     p += strcspn(p, "\n"), p += *p == '\n') {
			char where[1024], type[64], options[1024];
			if (sscanf(p, "%*s %1023s %63s %1023s", where, type, options) != 3 ||
			    strcmp(type, "cgroup") != 0)
				continue;
			size_t n = strlen(name), all = strlen(options);
			found = all > n && options[all - n - 1] == ',' &&
			        strcmp(options + all - n, name) == 0;
			if (found)
				snprintf(to, size, "%s", where);
		}
	buf_done(&text);
	return found;
}

static bool version1_open(struct limiter *l, size_t kind)
{
	char where[1024], group[1024], path[PATH_BYTES];
	const char *base = strrchr(l->dir2, '/');

	if (!mount1(kinds[kind].name, where, sizeof where) ||
	    !own_group1(kinds[kind].name, group, sizeof group))
		return false;
	snprintf(path, sizeof path, "%s%s%s", where, group, base);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return false;
	l->dirs1[kind] = mem_str(path);
	snprintf(path, sizeof path, "%s/%s", l->dirs1[kind], kinds[kind].file1);
	return access(path, W_OK) == 0;
}

struct limiter *limiter_open(const char *groups_dir)
{
	struct limiter *l = mem_new(sizeof *l);

	l->dir2 = mem_str(groups_dir);
	for (size_t i = 0; groups_dir[0] && i < LIMITER_JOINS; i++)
		l->version[i] = version2_open(l, kinds[i].name) ? 2 : version1_open(l, i) ? 1 : 0;
	snprintf(l->text, sizeof l->text, "memory=%d pids=%d cpu=%d", l->version[0], l->version[1],
	         l->version[2]);
	return l;
}

void limiter_close(struct limiter *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < LIMITER_JOINS; i++) {
		if (l->dirs1[i])
			rmdir(l->dirs1[i]);
		free(l->dirs1[i]);
	}
	free(l->dir2);
	free(l);
}

const char *limiter_text(const struct limiter *l)
{
	return l->text;
}

/* --- one group --- */

static uint64_t number_of(const struct group_limits *limits, size_t kind)
{
	const uint64_t numbers[LIMITER_JOINS] = { limits->memory_bytes, limits->processes,
		                                  limits->cpu_percent };

	CHECK(kind < LIMITER_JOINS);
	return numbers[kind];
}

static void value_print(size_t kind, int version, uint64_t number, char to[64])
{
	bool is_cpu = strcmp(kinds[kind].name, "cpu") == 0;

	if (number == 0)
		snprintf(to, 64, "%s", version == 2 ? "max" : kinds[kind].any1);
	else if (is_cpu)
		snprintf(to, 64, version == 2 ? "%" PRIu64 " %d" : "%" PRIu64,
		         number * CPU_PERIOD_US / 100, CPU_PERIOD_US);
	else
		snprintf(to, 64, "%" PRIu64, number);
}

static int value_put(const char *path, size_t kind, uint64_t number, int version, struct err *err)
{
	char text[64];

	value_print(kind, version, number, text);
	int r = file_put(path, text);
	return r == 0 ? 0
	              : err_sys(err, r == -EINVAL ? E_INVALID : E_IO, -r, "%s of %s",
	                        kinds[kind].name, text);
}

static int set2(const struct limiter *l, uint64_t group, size_t kind, uint64_t number,
                struct err *err)
{
	char path[PATH_BYTES];

	CHECK(l->dir2[0] && group);
	snprintf(path, sizeof path, "%s/%016" PRIx64 "/%s", l->dir2, group, kinds[kind].file2);
	return value_put(path, kind, number, 2, err);
}

static int set1(const struct limiter *l, uint64_t group, size_t kind, uint64_t number, int *ret_fd,
                struct err *err)
{
	char path[PATH_BYTES];

	CHECK(l->dirs1[kind] && group);
	snprintf(path, sizeof path, "%s/%016" PRIx64, l->dirs1[kind], group);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_sys(err, E_IO, errno, "%s", path);
	snprintf(path, sizeof path, "%s/%016" PRIx64 "/%s", l->dirs1[kind], group,
	         kinds[kind].file1);
	int r = value_put(path, kind, number, 1, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof path, "%s/%016" PRIx64 "/cgroup.procs", l->dirs1[kind], group);
	*ret_fd = open(path, O_WRONLY | O_CLOEXEC);
	return *ret_fd >= 0 ? 0 : err_sys(err, E_LIMIT, errno, "%s", path);
}

int limiter_set(struct limiter *l, uint64_t group, const struct group_limits *was,
                const struct group_limits *want, int ret_join[LIMITER_JOINS], struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < LIMITER_JOINS; i++)
		ret_join[i] = -1;
	for (size_t i = 0; r == 0 && i < LIMITER_JOINS; i++) {
		uint64_t number = number_of(want, i);
		if (l->version[i] == 2 && number != number_of(was, i))
			r = set2(l, group, i, number, err);
		else if (l->version[i] == 1 && number)
			r = set1(l, group, i, number, &ret_join[i], err);
		else if (l->version[i] == 0 && number && !l->is_told[i]) {
			l->is_told[i] = true;
			log_warn("limits.not_held",
			         "controller=%s: this host gives us no cgroup that holds it",
			         kinds[i].name);
		}
	}
	for (size_t i = 0; r < 0 && i < LIMITER_JOINS; i++)
		if (ret_join[i] >= 0) {
			close(ret_join[i]);
			ret_join[i] = -1;
		}
	return r;
}

void limiter_remove(struct limiter *l, uint64_t group)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < LIMITER_JOINS; i++)
		if (l->version[i] == 1) {
			snprintf(path, sizeof path, "%s/%016" PRIx64, l->dirs1[i], group);
			rmdir(path);
		}
}

bool limiter_was_oom(const struct limiter *l, uint64_t group)
{
	char path[PATH_BYTES];
	struct buf text;
	bool oom = false;

	if (l->version[0] == 0)
		return false;
	buf_init(&text);
	snprintf(path, sizeof path, "%s/%016" PRIx64 "/%s",
	         l->version[0] == 2 ? l->dir2 : l->dirs1[0], group,
	         l->version[0] == 2 ? "memory.events" : "memory.oom_control");
	if (fs_read(path, SMALL_FILE, &text, NULL) == 0) {
		const char *at = strstr(buf_str(&text), "oom_kill ");
		oom = at && strtol(at + 9, NULL, 10) > 0;
	}
	buf_done(&text);
	return oom;
}
