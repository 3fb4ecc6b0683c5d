/* Logs as files: TASK/RUNDATE.PART/GENERATION.ATTEMPT.out or .err, beside it .end where nothing
 * follows, and GENERATION.ATTEMPT.owner: token and broker of the execution that printed it. A
 * folder's time says when an instance printed last. */
#include "baseserver/net/logkeeper_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "baseserver/model/front.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { PATH_BYTES = 160, TOKEN_HEX = 16, OWNER_BYTES = 32 };

static const struct {
	const char *word;
	uint32_t number;
} streams[] = {
#define LOG_STREAM(word, number, text) { #word, number },
#include "tbl/log_stream.def"
#undef LOG_STREAM
};

static const char *word_of(uint32_t stream)
{
	for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
		if (streams[i].number == stream)
			return streams[i].word;
	return "none";
}

static void dir_of(const struct log_name *n, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%u/%" PRId64 ".%d", n->key.task, n->key.run_date, n->key.part);
}

/* `what`: of a stream "out", "out.end"; of the attempt "owner". */
static void path_of(const struct log_name *n, const char *what, const char *more,
                    char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%u/%" PRId64 ".%d/%u.%u.%s%s", n->key.task, n->key.run_date,
	         n->key.part, n->generation, n->attempt, what, more);
}

static bool is_there(int dir_fd, const struct log_name *n, const char *what, const char *more)
{
	char path[PATH_BYTES];

	path_of(n, what, more, path);
	return faccessat(dir_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static DIR *open_dir(int at_fd, const char *path)
{
	int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* A task's folder is a number; no other folder is a log. */
static struct dirent *next_task(DIR *d)
{
	struct dirent *e;

	while ((e = readdir(d)))
		if (e->d_name[strspn(e->d_name, "0123456789")] == '\0')
			return e;
	return NULL;
}

bool log_files_any(int dir_fd)
{
	DIR *d = open_dir(dir_fd, ".");
	bool any = d && next_task(d);

	if (d)
		closedir(d);
	return any;
}

bool log_files_has(int dir_fd, const struct log_name *n, struct log_files_owner *ret)
{
	char path[PATH_BYTES], text[OWNER_BYTES] = "", *rest = text;
	bool any = false;

	*ret = (struct log_files_owner){ 0 };
	for (size_t i = 0; i < sizeof streams / sizeof streams[0] && !any; i++)
		any = is_there(dir_fd, n, streams[i].word, "");
	path_of(n, "owner", "", path);
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return any;
	ssize_t got = read(fd, text, sizeof text - 1);
	close(fd);
	if (got >= TOKEN_HEX) {
		ret->token = strtoull(text, &rest, 16);
		ret->broker = (uint32_t)strtoul(rest, NULL, 10);
	}
	return true;
}

/* Whoever asks for records asks for what printed last, in whichever form. */
static bool is_asked(const struct log_name *n, const char *kind)
{
	bool is_stream = false;

	for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
		is_stream |= strcmp(kind, streams[i].word) == 0;
	return strcmp(kind, word_of(n->stream)) == 0 || (n->stream == LOG_RECORDS && is_stream);
}

bool log_files_last(int dir_fd, struct log_name *n)
{
	char path[PATH_BYTES];
	uint32_t gen = 0, att = 0;

	dir_of(n, path);
	DIR *d = open_dir(dir_fd, path);
	if (!d)
		return false;
	for (struct dirent *e; (e = readdir(d));) {
		char kind[8];
		uint32_t g, a;
		/* NOLINTNEXTLINE(cert-err34-c): names we made; another's number is on no disk */
		if (sscanf(e->d_name, "%u.%u.%7s", &g, &a, kind) != 3 || !is_asked(n, kind))
			continue;
		if ((n->generation && g != n->generation) || (n->attempt && a != n->attempt))
			continue;
		if (g > gen || (g == gen && a > att)) {
			gen = g;
			att = a;
		}
	}
	closedir(d);
	if (!gen)
		return false;
	n->generation = gen;
	n->attempt = att;
	return true;
}

int log_files_read(int dir_fd, const struct log_name *n, uint64_t *offset, struct log_room room,
                   size_t *ret_bytes, bool *ret_end)
{
	char path[PATH_BYTES];
	struct stat st;

	path_of(n, word_of(n->stream), "", path);
	bool is_ended = is_there(dir_fd, n, word_of(n->stream), ".end");
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? E_NOT_FOUND : E_IO;
	if (*offset > INT64_MAX) /* counted back from the end */
		*offset = fstat(fd, &st) == 0 && (uint64_t)st.st_size > -*offset
		                  ? (uint64_t)st.st_size + *offset
		                  : 0;
	ssize_t got = pread(fd, room.to, room.max, (off_t)*offset);
	close(fd);
	*ret_bytes = got > 0 ? (size_t)got : 0;
	CHECK(*ret_bytes <= room.max);
	*ret_end = is_ended && *ret_bytes < room.max; /* else there may be more */
	return 0;
}

void log_files_remove(int dir_fd, const struct log_name *n)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
		path_of(n, streams[i].word, "", path);
		unlinkat(dir_fd, path, 0);
		path_of(n, streams[i].word, ".end", path);
		unlinkat(dir_fd, path, 0);
	}
	path_of(n, "owner", "", path);
	unlinkat(dir_fd, path, 0);
}

/* --- by instance --- */

/* An instance's folder, and its time; false: another entry. */
static bool instance_at(DIR *task, const struct dirent *e, struct stat *ret)
{
	return e->d_name[0] != '.' &&
	       fstatat(dirfd(task), e->d_name, ret, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(ret->st_mode);
}

static void remove_instance(DIR *task, const char *name)
{
	DIR *in = open_dir(dirfd(task), name);

	for (struct dirent *f; in && (f = readdir(in));)
		if (f->d_name[0] != '.')
			unlinkat(dirfd(in), f->d_name, 0);
	if (in)
		closedir(in);
	unlinkat(dirfd(task), name, AT_REMOVEDIR);
}

void log_files_retain(int dir_fd, int64_t before_s)
{
	DIR *d = open_dir(dir_fd, ".");

	for (struct dirent *t; d && (t = next_task(d));) {
		DIR *task = open_dir(dir_fd, t->d_name);
		struct stat st;

		for (struct dirent *e; task && (e = readdir(task));)
			if (instance_at(task, e, &st) && st.st_mtime < before_s)
				remove_instance(task, e->d_name);
		if (task)
			closedir(task);
		unlinkat(dir_fd, t->d_name, AT_REMOVEDIR); /* once it is empty */
	}
	if (d)
		closedir(d);
}

static uint64_t bytes_in(DIR *task, const char *name)
{
	DIR *d = open_dir(dirfd(task), name);
	uint64_t sum = 0;
	struct stat st;

	for (struct dirent *f; d && (f = readdir(d));)
		if (fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	if (d)
		closedir(d);
	return sum;
}

void log_files_survey(int dir_fd, int64_t until_us, struct log_survey *s)
{
	DIR *d = open_dir(dir_fd, ".");

	for (struct dirent *t; d && s->is_complete && (t = next_task(d));) {
		DIR *task = open_dir(dir_fd, t->d_name);
		struct stat st;

		for (struct dirent *e; task && s->is_complete && (e = readdir(task));) {
			if (!instance_at(task, e, &st))
				continue;
			uint64_t bytes = bytes_in(task, e->d_name);
			bool is_old = st.st_mtime < s->before_us / US_PER_S;
			s->all++;
			s->all_bytes += bytes;
			s->old += is_old;
			s->old_bytes += is_old ? bytes : 0;
			s->is_complete = clock_mono_us(&clock_machine) < until_us;
		}
		if (task)
			closedir(task);
	}
	if (d)
		closedir(d);
}

enum { MOVE_BYTES = 262144 };

/* Files of an earlier release become logs of the execution that printed them. What a crash left of
 * both is moved once more, and changes nothing. */
int log_files_move(int dir_fd, struct logs *logs, const struct log_name *name, int64_t now_us)
{
	struct log_files_owner owner;
	struct log_name n = *name;
	uint8_t *data;
	int r = 0;

	if (!log_files_has(dir_fd, name, &owner))
		return 0;
	data = mem_new(MOVE_BYTES);
	n.token = owner.token;
	for (n.stream = 1; r == 0 && n.stream <= 2; n.stream++) {
		struct log_facts f = { .bytes = 0 };
		struct log_id id = { n.key, n.generation, n.attempt, n.token, n.stream };
		int found = logs_find(logs, &id, &f);
		uint64_t offset = found == 0 ? f.bytes : 0;
		size_t bytes = 1;
		bool is_end = false;

		r = found == E_AGAIN ? found : 0;
		while (r == 0 && bytes > 0) {
			r = log_files_read(dir_fd, &n, &offset,
			                   (struct log_room){ data, MOVE_BYTES }, &bytes, &is_end);
			struct log_piece p = {
				id, owner.broker, offset, data, bytes, is_end, now_us
			};
			if (r == 0 && (bytes || is_end))
				r = logs_append(logs, &p);
			offset += bytes;
		}
		r = r == E_NOT_FOUND ? 0 : r; /* it printed nothing there */
	}
	free(data);
	if (r == 0)
		r = logs_commit(logs);
	if (r == 0)
		log_files_remove(dir_fd, name);
	return r;
}
