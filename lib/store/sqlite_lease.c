/* The lease of a database with one writer: the directory's lock is the lease, kept by the kernel
 * for as long as the holder lives, so that nothing is renewed; the leader's row only tells who
 * it is.
 * Those who wait read beside it, and show themselves as files: they may not write. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"

#define ALIVE_FILE     "alive" /* its time: the last sign of life between commits, without fsync */
#define NODE_PREFIX    "standby-"
#define NODE_BYTES_MAX 1024

static char *alive_path(const struct sqlite_store *s)
{
	return mem_fmt("%s/" ALIVE_FILE, s->dir);
}

static int64_t alive_us(const struct sqlite_store *s)
{
	char *path = alive_path(s);
	int64_t us = 0;

	fs_touched_us(path, &us);
	free(path);
	return us;
}

int sqlite_lease(struct store *st, struct store_lease *ret, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	int r = row_lease(st, ret, err);

	/* 0: nobody has led since there are signs of life. */
	if (r == 0 && ret->renewed_us > 0 && alive_us(s) > ret->renewed_us)
		ret->renewed_us = alive_us(s);
	return r;
}

static int write_lease(struct sqlite_store *s, const struct store_lease *mine, int64_t epoch,
                       struct err *err)
{
	sqlite3_stmt *q = NULL;
	int64_t us = clock_wall_us(&clock_machine);
	int r = sql_get(s, SQL_TAKE_LEASE, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "iiitt", epoch, us, (int64_t)mine->lease_ms, mine->who, mine->address);
	return sql_run(s, q, err);
}

static void node_path(const struct sqlite_store *s, const char *who, char *to, size_t cap)
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a: a name is no file name */

	for (; *who; who++)
		h = (h ^ (uint8_t)*who) * 0x100000001b3ULL;
	snprintf(to, cap, "%s/" NODE_PREFIX "%016" PRIx64, s->dir, h);
}

int sqlite_take_lease(struct store *st, const struct store_lease *seen,
                      const struct store_lease *mine, uint32_t *ret_epoch, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	struct store_lease now = { 0 };
	char path[4200];
	int r = sql_begin(s, 0, NULL, err);

	if (r < 0)
		return err_wrap(err, r, "take the lease");
	r = sqlite_lease(st, &now, err);
	if (r == 0 &&
	    (now.epoch != seen->epoch || now.beat != seen->beat || now.number != seen->number))
		r = err_set(err, E_CONFLICT, "%s leads, epoch %u", now.who, now.epoch);
	if (r == 0)
		r = write_lease(s, mine, (int64_t)now.epoch + 1, err);
	r = sql_end(s, r, err);
	if (r < 0)
		return err_wrap(err, r, "take the lease");
	*ret_epoch = now.epoch + 1;
	node_path(s, mine->who, path, sizeof path);
	unlink(path);
	return 0;
}

/* Nobody watches the row: who waits, waits for the lock. A sign of life that cannot be made only
 * makes the time without a leader look longer. */
int sqlite_renew_lease(struct store *st, uint32_t epoch, int64_t now_us, struct err *err)
{
	struct store_lease now;
	int r = sqlite_lease(st, &now, err);

	if (r == 0 && now.epoch != epoch)
		r = err_set(err, E_EPOCH, "epoch %" PRIu32 " is over, the store has %" PRIu32,
		            epoch, now.epoch);
	if (r == 0 && now_us > 0) {
		char *path = alive_path((struct sqlite_store *)st);
		fs_touch(path, 0600, now_us);
		free(path);
	}
	return r;
}

int sqlite_add_gap(struct store *st, uint32_t epoch, const struct store_gap *g, uint64_t oldest,
                   struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = sql_begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	r = sql_get(s, SQL_GAP, &q, err);
	if (r == 0) {
		sql_bind(q, "iii", (int64_t)g->number, g->from_us, g->to_us);
		r = sql_run(s, q, err);
	}
	if (r == 0)
		r = sql_get(s, SQL_GAPS_GO, &q, err);
	if (r == 0) {
		sql_bind(q, "ii", (int64_t)oldest, (int64_t)STORE_GAPS_MAX);
		r = sql_run(s, q, err);
	}
	if (r == 0)
		r = sql_get(s, SQL_ALIVE, &q, err);
	if (r == 0) {
		sql_bind(q, "i", g->to_us);
		r = sql_run(s, q, err);
	}
	return sql_end(s, r, err);
}

int sqlite_give_lease(struct store *st, uint32_t epoch, int64_t now_us, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = sql_begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	r = sql_get(s, SQL_GIVE_LEASE, &q, err);
	if (r == 0) {
		sql_bind(q, "i", now_us);
		r = sql_run(s, q, err);
	}
	return sql_end(s, r, err);
}

int sqlite_show_node(struct store *st, const struct store_node *n, struct err *err)
{
	char path[4200], text[400];
	int len = snprintf(text, sizeof text, "%s\n%s\n%" PRIu64 "\n", n->who, n->address,
	                   n->number);

	node_path((struct sqlite_store *)st, n->who, path, sizeof path);
	return fs_write(path, text, (size_t)len, 0600, err);
}

/* The line at *at, taken off. */
static void take_line(const char **at, char *to, size_t cap)
{
	size_t n = strcspn(*at, "\n");

	snprintf(to, cap, "%.*s", (int)n, *at);
	*at += n + ((*at)[n] == '\n');
}

/* False: it is none, or is gone by now. */
static bool read_node(const char *path, struct store_node *ret)
{
	struct buf text;
	struct stat st;
	char number[32];

	if (stat(path, &st) < 0)
		return false;
	buf_init(&text);
	int r = fs_read(path, NODE_BYTES_MAX, &text, NULL);
	if (r == 0) {
		const char *at = buf_str(&text);

		take_line(&at, ret->who, sizeof ret->who);
		take_line(&at, ret->address, sizeof ret->address);
		take_line(&at, number, sizeof number);
		ret->number = strtoull(number, NULL, 10);
		ret->age_us = clock_wall_us(&clock_machine) -
		              ((int64_t)st.st_mtim.tv_sec * US_PER_S + st.st_mtim.tv_nsec / 1000);
		if (ret->age_us < 0)
			ret->age_us = 0;
	}
	buf_done(&text);
	return r == 0;
}

int sqlite_each_node(struct store *st, int64_t max_age_us,
                     int (*each)(void *ctx, const struct store_node *n), void *ctx, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	DIR *d = opendir(s->dir);
	struct dirent *e;
	int r = 0;

	if (!d)
		return err_sys(err, E_IO, errno, "%s", s->dir);
	while (r == 0 && (e = readdir(d))) {
		struct store_node n;
		char *path;

		if (strncmp(e->d_name, NODE_PREFIX, strlen(NODE_PREFIX)) != 0)
			continue;
		path = mem_fmt("%s/%s", s->dir, e->d_name);
		if (read_node(path, &n) && n.age_us <= max_age_us)
			r = each(ctx, &n);
		free(path);
	}
	closedir(d);
	return r;
}
