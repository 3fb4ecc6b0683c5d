/* What jobs print, as files: chunks by offset come in, ranges and tails go out.
 *
 * A log is one stream of one attempt, in TASK/RUNDATE.PART/GENERATION.ATTEMPT.out or .err; beside
 * it stand whose it is (.owner, a token) and that nothing follows (.end). A chunk is written where
 * it says, so one that comes twice is harmless; one ahead of the file's end is refused, unless its
 * sender says that the bytes between are lost, and comes again from where the answer says. The log
 * belongs to the execution with the largest token: a later one begins it anew, an earlier one is
 * E_STALE. An actor with a thread of its own, because disks wait; nothing here is synced, for a
 * log is not worth a commit. Folders that nobody wrote to for log_retention go. */
#include "baseserver/net/logkeeper.h"

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
#include "util/log.h"
#include "util/own.h"

enum { READ_MAX = 262144, PATH_BYTES = 160 };
#define RETAIN_EVERY_US (3600 * US_PER_S)

struct follower {
	struct follower *next;
	struct log_get *get; /* its offset moves on */
};

struct logkeeper {
	struct actor *me;
	struct logkeeper_settings set;
	int dir_fd;
	struct follower *followers;
	uint64_t full; /* chunks refused for want of space, since the last that fitted */
};

static const char *stream_name(uint32_t stream)
{
	return stream == 2 ? "err" : "out";
}

static void dir_of(const struct log_name *n, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%u/%" PRId64 ".%d", n->key.task, n->key.run_date, n->key.part);
}

static void path_of(const struct log_name *n, char path[PATH_BYTES])
{
	CHECK(n->stream == 1 || n->stream == 2);
	snprintf(path, PATH_BYTES, "%u/%" PRId64 ".%d/%u.%u.%s", n->key.task, n->key.run_date,
	         n->key.part, n->generation, n->attempt, stream_name(n->stream));
}

static void end_path_of(const struct log_name *n, char path[PATH_BYTES])
{
	path_of(n, path);
	size_t at = strlen(path);
	snprintf(path + at, PATH_BYTES - at, ".end");
}

static int make_dirs(struct logkeeper *k, const struct log_name *n)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof path, "%u", n->key.task);
	if (mkdirat(k->dir_fd, path, 0700) < 0 && errno != EEXIST)
		return errno;
	dir_of(n, path);
	return mkdirat(k->dir_fd, path, 0700) < 0 && errno != EEXIST ? errno : 0;
}

static int open_for_put(struct logkeeper *k, const struct log_name *n)
{
	char path[PATH_BYTES];
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;

	path_of(n, path);
	int fd = openat(k->dir_fd, path, flags, 0600);
	if (fd < 0 && errno == ENOENT && make_dirs(k, n) == 0)
		fd = openat(k->dir_fd, path, flags, 0600);
	return fd;
}

static void mark_end(struct logkeeper *k, const struct log_name *n)
{
	char path[PATH_BYTES];

	end_path_of(n, path);
	int fd = openat(k->dir_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		close(fd);
}

static bool has_end(struct logkeeper *k, const struct log_name *n)
{
	char path[PATH_BYTES];

	end_path_of(n, path);
	return faccessat(k->dir_fd, path, F_OK, 0) == 0;
}

static bool same_name(const struct log_name *a, const struct log_name *b)
{
	return inst_key_eq(a->key, b->key) && a->generation == b->generation &&
	       a->attempt == b->attempt && a->stream == b->stream;
}

/* --- whose a log is --- */

static void owner_path_of(const struct log_name *n, char path[PATH_BYTES])
{
	dir_of(n, path);
	size_t at = strlen(path);
	snprintf(path + at, PATH_BYTES - at, "/%u.%u.owner", n->generation, n->attempt);
}

enum { TOKEN_HEX = 16, OWNER_BYTES = 32 };

/* The execution whose log it is, "TOKEN BROKER". Token 0: nobody's, or of before there were owners;
 * broker 0: of before they were written. */
struct owner {
	uint64_t token;
	uint32_t broker;
};

static struct owner read_owner(struct logkeeper *k, const struct log_name *n)
{
	char path[PATH_BYTES], text[OWNER_BYTES] = "", *rest = text;
	struct owner o = { 0 };

	owner_path_of(n, path);
	int fd = openat(k->dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return o;
	ssize_t got = read(fd, text, sizeof text - 1);
	close(fd);
	if (got < TOKEN_HEX)
		return o;
	o.token = strtoull(text, &rest, 16);
	o.broker = (uint32_t)strtoul(rest, NULL, 10);
	return o;
}

static int write_owner(struct logkeeper *k, const struct log_put *p)
{
	const struct log_name *n = &p->name;
	char path[PATH_BYTES], text[OWNER_BYTES];
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;

	owner_path_of(n, path);
	int fd = openat(k->dir_fd, path, flags, 0600);
	if (fd < 0 && errno == ENOENT && make_dirs(k, n) == 0)
		fd = openat(k->dir_fd, path, flags, 0600);
	int len = snprintf(text, sizeof text, "%016" PRIx64 " %u", p->token, p->broker);
	ssize_t put = fd < 0 ? -1 : write(fd, text, (size_t)len);
	int code = put == len ? 0 : errno == ENOSPC || errno == EDQUOT ? E_FULL : E_IO;
	if (fd >= 0)
		close(fd);
	return code;
}

/* The log of an attempt begins anew. Who follows it goes on at its beginning. */
static int take_over(struct logkeeper *k, const struct log_put *p)
{
	struct log_name one = p->name;
	char path[PATH_BYTES];

	for (one.stream = 1; one.stream <= 2; one.stream++) {
		path_of(&one, path);
		unlinkat(k->dir_fd, path, 0);
		end_path_of(&one, path);
		unlinkat(k->dir_fd, path, 0);
		for (struct follower *f = k->followers; f; f = f->next)
			if (same_name(&f->get->name, &one))
				f->get->offset = 0;
	}
	return write_owner(k, p);
}

static int judge_owner(struct logkeeper *k, const struct log_put *p)
{
	struct owner owner = read_owner(k, &p->name);

	if (p->rule == LOG_TAIL)
		return owner.token == p->token && owner.broker == p->broker ? 0 : E_STALE;
	if (owner.token == p->token)
		return 0;
	return owner.token > p->token ? E_STALE : take_over(k, p);
}

/* --- chunks in --- */

/* A hole would read as NULs: what is ahead of the file's end is refused, and comes again
 * from where the answer says. */
static int write_chunk(struct logkeeper *k, struct log_put *p, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return E_IO;
	uint64_t len = (uint64_t)st.st_size;
	p->have = len;
	if (p->offset > len && p->dropped == 0)
		return E_CONFLICT;
	uint64_t room = k->set.job_bytes_max > (int64_t)p->offset
	                        ? (uint64_t)k->set.job_bytes_max - p->offset
	                        : 0;
	size_t n = p->bytes < room ? p->bytes : (size_t)room;
	for (size_t done = 0; done < n;) {
		ssize_t w = pwrite(fd, p->data + done, n - done, (off_t)(p->offset + done));
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return errno == ENOSPC || errno == EDQUOT ? E_FULL : E_IO;
		done += (size_t)w;
	}
	/* Beyond the limit it counts as kept: the job goes on, its log is cut. */
	p->have = p->offset + p->bytes > len ? p->offset + p->bytes : len;
	CHECK(n <= p->bytes && p->have >= len);
	return 0;
}

static void answer_put(struct log_put *p)
{
	p->letter.deliver = p->answered;
	if (!p->reply_to || actor_post_credit(p->reply_to, &p->letter) < 0)
		free(p);
}

static void logkeeper_give(struct logkeeper *k, struct log_get *g);

static void feed_followers(struct logkeeper *k, const struct log_name *n)
{
	for (struct follower **at = &k->followers, *f; (f = *at);) {
		if (!same_name(&f->get->name, n)) {
			at = &f->next;
			continue;
		}
		logkeeper_give(k, f->get);
		if (!f->get->end) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		log_get_free(f->get);
		free(f);
	}
}

static void on_put(struct letter *l, void *self)
{
	struct logkeeper *k = self;
	struct log_put *p = (struct log_put *)l;
	struct log_name name = p->name;

	CHECK(actor_here(k->me));
	p->code = judge_owner(k, p);
	if (p->rule == LOG_CLAIM) {
		free(p);
		return;
	}
	int fd = p->code < 0 ? -1 : open_for_put(k, &p->name);
	if (p->code < 0) {
		log_debug("log.refused", "token=%" PRIx64 " code=%s", p->token, err_name(p->code));
	} else if (fd < 0) {
		p->code = errno == ENOSPC || errno == EDQUOT ? E_FULL : E_IO;
	} else {
		p->code = write_chunk(k, p, fd);
		close(fd);
	}
	log_debug("logkeeper.put", "task=%u run_date=%lld end=%d code=%d", name.key.task,
	          (long long)name.key.run_date, p->end, p->code);
	if (p->code == E_FULL && k->full++ == 0)
		log_error("log.full", "dir=%s text=\"no space left for job logs\"", k->set.dir);
	if (p->code == 0)
		k->full = 0;
	if (p->code == 0 && p->end)
		mark_end(k, &p->name);
	answer_put(p);
	feed_followers(k, &name);
}

/* The last generation and attempt that has this stream's file. */
static bool find_last(const struct logkeeper *k, struct log_name *n)
{
	char path[PATH_BYTES];
	uint32_t gen = 0, att = 0;

	dir_of(n, path);
	int fd = openat(k->dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (struct dirent *e; (e = readdir(d));) {
		char kind[8];
		uint32_t g, a;
		/* NOLINTNEXTLINE(cert-err34-c): names we made; another's number is on no disk */
		if (sscanf(e->d_name, "%u.%u.%7s", &g, &a, kind) != 3 ||
		    strcmp(kind, stream_name(n->stream)) != 0)
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

static void read_range(struct logkeeper *k, struct log_get *g)
{
	char path[PATH_BYTES];
	size_t max = g->bytes_max && g->bytes_max < READ_MAX ? g->bytes_max : READ_MAX;

	path_of(&g->name, path);
	g->end = has_end(k, &g->name); /* asked first: what is written after it is seen later */
	int fd = openat(k->dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		g->code = errno == ENOENT ? E_NOT_FOUND : E_IO;
		snprintf(g->text, sizeof g->text, "no log of this attempt");
		return;
	}
	struct stat st;
	if (g->offset > INT64_MAX) /* counted back from the end */
		g->offset = fstat(fd, &st) == 0 && (uint64_t)st.st_size > -g->offset
		                    ? (uint64_t)st.st_size + g->offset
		                    : 0;
	g->data = mem_new(max);
	ssize_t n = pread(fd, g->data, max, (off_t)g->offset);
	g->bytes = n > 0 ? (size_t)n : 0;
	CHECK(g->bytes <= max);
	if (g->bytes == max)
		g->end = false; /* there may be more */
	close(fd);
}

/* One answer; a follower keeps its request, with the offset moved on. */
static void logkeeper_give(struct logkeeper *k, struct log_get *g)
{
	struct log_get *a = mem_new(sizeof *a);

	CHECK(!g->data && !g->bytes); /* the request of a follower carries nothing */
	*a = *g;
	read_range(k, a);
	g->end = a->end || a->code < 0;
	g->offset = a->offset + a->bytes;
	bool more = a->bytes == READ_MAX && g->follow; /* once posted it is the reader's */
	a->letter.deliver = a->answered;
	if ((a->bytes == 0 && !a->end && a->code == 0 && g->follow) ||
	    actor_post_credit(a->reply_to, &a->letter) < 0)
		log_get_free(a);
	else if (more)
		logkeeper_give(k, g);
}

static void logkeeper_cancel(struct logkeeper *k, uint32_t session, uint64_t id)
{
	for (struct follower **at = &k->followers, *f; (f = *at);) {
		if (f->get->session == session && (id == 0 || f->get->id == id)) {
			*at = f->next;
			log_get_free(f->get);
			free(f);
		} else {
			at = &f->next;
		}
	}
}

/* A script that fails has often printed to one of the two only. */
static void say_none(const struct logkeeper *k, struct log_get *g)
{
	bool err = g->name.stream == 2;
	struct log_name other = g->name;

	other.stream = err ? 1 : 2;
	g->code = E_NOT_FOUND;
	if (find_last(k, &other))
		snprintf(g->text, sizeof g->text,
		         "it printed nothing to its standard %s, but to its standard %s (logs %s)",
		         err ? "error" : "output", err ? "output" : "error",
		         err ? "without -e" : "-e");
	else
		snprintf(g->text, sizeof g->text,
		         "no attempt of it has printed anything; `sirdar why` says how it stands");
}

static void on_get(struct letter *l, void *self)
{
	struct logkeeper *k = self;
	struct log_get *g = (struct log_get *)l;

	CHECK(actor_here(k->me));
	if (g->cancel) {
		logkeeper_cancel(k, g->session, g->id);
		log_get_free(g);
		return;
	}
	if ((!g->name.generation || !g->name.attempt) && !find_last(k, &g->name)) {
		say_none(k, g);
		g->letter.deliver = g->answered;
		if (actor_post_credit(g->reply_to, l) < 0)
			log_get_free(g);
		return;
	}
	logkeeper_give(k, g);
	if (!g->follow || g->end) {
		log_get_free(g);
		return;
	}
	struct follower *f = mem_new(sizeof *f);
	f->get = g;
	f->next = k->followers;
	k->followers = f;
}

void log_get_free(struct log_get *g)
{
	free(g->data);
	free(g);
}

static void get_discard(struct letter *l)
{
	log_get_free((struct log_get *)l);
}

int logkeeper_put(struct logkeeper *k, struct log_put *p)
{
	p->letter = (struct letter){ .deliver = on_put, .discard = letter_free };
	return actor_post(k->me, &p->letter);
}

int logkeeper_get(struct logkeeper *k, struct log_get *g)
{
	g->letter = (struct letter){ .deliver = on_get, .discard = get_discard };
	return actor_post_credit(k->me, &g->letter);
}

/* Below one task's folder: instances whose folder nobody wrote to for so long. */
static void retain_task(struct logkeeper *k, int task_fd, int64_t before_s)
{
	DIR *d = fdopendir(dup(task_fd));

	for (struct dirent *e; d && (e = readdir(d));) {
		struct stat st;
		if (e->d_name[0] == '.' ||
		    fstatat(task_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(st.st_mode) || st.st_mtime >= before_s)
			continue;
		int fd = openat(task_fd, e->d_name,
		                O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		DIR *in = fd < 0 ? NULL : fdopendir(fd);
		for (struct dirent *f; in && (f = readdir(in));)
			if (f->d_name[0] != '.')
				unlinkat(fd, f->d_name, 0);
		if (in)
			closedir(in);
		unlinkat(task_fd, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
	(void)k;
}

static void on_alarm(void *self)
{
	struct logkeeper *k = self;
	int64_t before_s = (actor_wall_us(k->me) - k->set.retention_us) / US_PER_S;
	DIR *d = fdopendir(dup(k->dir_fd));

	if (d)
		rewinddir(d);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		int fd = openat(k->dir_fd, e->d_name,
		                O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		retain_task(k, fd, before_s);
		close(fd);
	}
	if (d)
		closedir(d);
	actor_alarm(k->me, actor_mono_us(k->me) + RETAIN_EVERY_US);
}

static uint64_t bytes_in(int fd)
{
	DIR *d = fdopendir(fd); /* closes it */
	uint64_t sum = 0;
	struct stat st;

	for (struct dirent *f; d && (f = readdir(d));)
		if (fstatat(fd, f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	if (d)
		closedir(d);
	return sum;
}

/* Below one task's folder. */
static void survey_task(DIR *d, int64_t before_s, int64_t until_us, struct log_survey *s)
{
	struct stat st;

	for (struct dirent *e; s->is_complete && (e = readdir(d));) {
		if (e->d_name[0] == '.' ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		int fd = openat(dirfd(d), e->d_name,
		                O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		uint64_t bytes = fd < 0 ? 0 : bytes_in(fd);
		s->all++;
		s->all_bytes += bytes;
		if (st.st_mtime < before_s) {
			s->old++;
			s->old_bytes += bytes;
		}
		s->is_complete = clock_mono_us(&clock_machine) < until_us;
	}
}

void logkeeper_survey(void *self, struct log_survey *ret)
{
	struct logkeeper *k = self;
	int64_t until_us = clock_mono_us(&clock_machine) + LOGKEEPER_SURVEY_MS * US_PER_MS;
	struct log_survey s = { .before_us = actor_wall_us(k->me) - k->set.retention_us,
		                .is_complete = true };
	DIR *d = fdopendir(dup(k->dir_fd));

	if (d)
		rewinddir(d);
	for (struct dirent *e; d && s.is_complete && (e = readdir(d));) {
		int fd = e->d_name[0] == '.'
		                 ? -1
		                 : openat(k->dir_fd, e->d_name,
		                          O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		DIR *task = fd < 0 ? NULL : fdopendir(fd);

		if (task) {
			survey_task(task, s.before_us / US_PER_S, until_us, &s);
			closedir(task);
		}
	}
	if (d)
		closedir(d);
	*ret = s;
}

static int logkeeper_init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)err;
	actor_alarm(me, actor_mono_us(me) + 60 * US_PER_S);
	return 0;
}

static const struct actor_ops ops = {
	.name = "logkeeper", .letters_max = 1024, .init = logkeeper_init, .alarm = on_alarm
};

int logkeeper_new(struct thread *th, const struct logkeeper_settings *set,
                  struct logkeeper **ret_keeper, struct err *err)
{
	int r = own_dir(set->dir, false, err);

	if (r < 0)
		return r;
	int fd = open(set->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, E_IO, errno, "%s", set->dir);
	struct logkeeper *k = mem_new(sizeof *k);
	k->set = *set;
	k->dir_fd = fd;
	k->me = actor_new(th, &ops, k);
	*ret_keeper = k;
	return 0;
}

void logkeeper_free(struct logkeeper *k)
{
	if (!k)
		return;
	while (k->followers) {
		struct follower *f = k->followers;
		k->followers = f->next;
		log_get_free(f->get);
		free(f);
	}
	close(k->dir_fd);
	free(k);
}

struct actor *logkeeper_actor(struct logkeeper *k)
{
	return k->me;
}
