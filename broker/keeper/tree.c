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
#include <sys/syscall.h>
#include <unistd.h>

#include "broker/keeper/tree_scan.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"

enum { SMALL_FILE = 65536, PATH_BYTES = 4200 };

struct tree {
	char dir[PATH_BYTES - 64]; /* "": no groups */
	char *keeper;
	struct tree_scan scan;
	bool is_scanned;
};

static void group_path(const struct tree *t, uint64_t token, const char *file, char to[PATH_BYTES])
{
	snprintf(to, PATH_BYTES, "%s/%016" PRIx64 "%s%s", t->dir, token, *file ? "/" : "", file);
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

static bool own_group(char *to, size_t size)
{
	struct buf text;
	bool found = false;

	buf_init(&text);
	if (fs_read("/proc/self/cgroup", SMALL_FILE, &text, NULL) == 0) {
		const char *at = strstr(buf_str(&text), "0::/");
		if (at && (at == buf_str(&text) || at[-1] == '\n')) {
			snprintf(to, size, "%.*s", (int)strcspn(at + 3, "\n"), at + 3);
			found = true;
		}
	}
	buf_done(&text);
	return found;
}

static bool mount_of_cgroup2(char *to, size_t size)
{
	struct buf text;
	bool found = false;

	buf_init(&text);
	if (fs_read("/proc/self/mounts", SMALL_FILE, &text, NULL) == 0) {
		const char *line = buf_str(&text);
		while (line && *line && !found) {
			char what[256], where[1024], type[64];
			if (sscanf(line, "%255s %1023s %63s", what, where, type) == 3 &&
			    strcmp(type, "cgroup2") == 0) {
				snprintf(to, size, "%s", where);
				found = true;
			}
			line = strchr(line, '\n');
			line += line ? 1 : 0;
		}
	}
	buf_done(&text);
	return found;
}

static bool place_find(struct tree *t, const char *mode, const char *state_dir)
{
	char mount[1024], group[1024], path[PATH_BYTES];
	struct stat st;

	if (mode[0] == '/') {
		snprintf(t->dir, sizeof t->dir, "%s", mode);
	} else {
		if (stat(state_dir, &st) < 0 || !mount_of_cgroup2(mount, sizeof mount) ||
		    !own_group(group, sizeof group))
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
	t->scan.keeper = t->keeper;
	*ret_tree = t;
	return 0;
}

void tree_close(struct tree *t)
{
	if (!t)
		return;
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

/* --- one job --- */

int tree_make(struct tree *t, uint64_t token, int *ret_fd, struct err *err)
{
	char path[PATH_BYTES];

	*ret_fd = -1;
	if (!t->dir[0])
		return 0;
	group_path(t, token, "", path);
	if (mkdir(path, 0755) < 0)
		return err_sys(err, errno == EAGAIN ? E_LIMIT : E_IO, errno, "cgroup of the job");
	*ret_fd = open(path, O_DIRECTORY | O_CLOEXEC | O_RDONLY);
	if (*ret_fd >= 0)
		return 0;
	int errnum = errno;
	rmdir(path);
	return err_sys(err, errnum == EMFILE || errnum == ENFILE ? E_LIMIT : E_IO, errnum,
	               "cgroup of the job");
}

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

	if (!t->dir[0])
		return (of->pid == 0 || of->is_foreign) && tree_scan_count(scan(t), of) == 0;
	group_path(t, of->token, "", path);
	if (!group_remove(path))
		return false;
	/* What an operator moved out of the group of a former keeper still carries the token. */
	return !of->is_foreign || tree_scan_count(scan(t), of) == 0;
}

static void group_signal(const struct tree *t, uint64_t token, int sig)
{
	char path[PATH_BYTES], mark[32];
	struct buf text;

	group_path(t, token, "cgroup.procs", path);
	snprintf(mark, sizeof mark, "/%016" PRIx64, token);
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

	if (t->dir[0]) {
		group_path(t, of->token, "cgroup.kill", path);
		if (sig != SIGKILL || !file_put(path, "1"))
			group_signal(t, of->token, sig);
	}
	if (t->dir[0] && !of->is_foreign)
		return;
	t->is_scanned = false;
	for (int round = 0; round < 4 && tree_scan_count(scan(t), of) > 0; round++) {
		tree_scan_signal(scan(t), of, sig);
		t->is_scanned = false;
		if (sig != SIGKILL)
			break;
	}
}

bool tree_was_oom(struct tree *t, uint64_t token)
{
	char path[PATH_BYTES];
	struct buf text;
	bool oom = false;

	if (!t->dir[0])
		return false;
	buf_init(&text);
	group_path(t, token, "memory.events", path);
	if (fs_read(path, SMALL_FILE, &text, NULL) == 0) {
		const char *at = strstr(buf_str(&text), "oom_kill ");
		oom = at && strtol(at + 9, NULL, 10) > 0;
	}
	buf_done(&text);
	return oom;
}

void tree_sweep(struct tree *t, bool (*is_known)(void *ctx, uint64_t token), void *ctx)
{
	char path[PATH_BYTES];
	struct dirent *e;
	DIR *d = t->dir[0] ? opendir(t->dir) : NULL;

	while (d && (e = readdir(d))) {
		char *end;
		uint64_t token = strtoull(e->d_name, &end, 16);
		if (e->d_type != DT_DIR || *end || strlen(e->d_name) != 16 || is_known(ctx, token))
			continue;
		group_path(t, token, "cgroup.kill", path);
		file_put(path, "1");
		group_path(t, token, "", path);
		group_remove(path);
	}
	if (d)
		closedir(d);
}
