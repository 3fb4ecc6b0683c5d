/* accept-loss: a store that lost work begins a new life.
 *
 * For a store that was restored from a backup, or that came up behind what was told outside of
 * it: no server starts on it before somebody accepts that the rest is lost. Accepting writes two
 * rows in one transaction, or none: the leader's, with an epoch past every one that a broker may
 * have obeyed and numbers past all that were given, and a row of the audit that says who accepted
 * what. Only then is the anchor outside the store forgotten. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbtool.h"
#include "store/admin.h"
#include "store/anchor.h"
#include "store/audit.h"
#include "store/read.h"
#include "store/rows.h"
#include "store/sql_text.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

/* Past every epoch that a broker may have obeyed: each start of a server takes one. */
enum { EPOCHS_AHEAD = 1000 };

struct loss {
	int64_t epoch, number, was_number;
	struct anchor anchor; /* epoch 0: there is none */
};

static const char *dir_of(const struct db_options *o)
{
	const char *url = o->urls[0];

	if (o->state_dir)
		return o->state_dir;
	return strncmp(url, "sqlite:", 7) == 0 ? url + 7 : NULL;
}

/* A row that is ahead of the leader's is kept: the numbers go on after it. */
static int find_end(struct admin *a, int64_t *ret, struct err *err)
{
	static const struct {
		const char *table, *query;
	} ends[] = {
		{ "lb_leader", "SELECT MAX(number) FROM lb_leader" },
		{ "lb_task_event", "SELECT MAX(number) FROM lb_task_event" },
		{ "lb_task_run", "SELECT MAX(last_number) FROM lb_task_run" },
		{ "lb_task_run_history", "SELECT MAX(last_number) FROM lb_task_run_history" },
		{ "lb_task_range", "SELECT MAX(number) FROM lb_task_range" },
	};
	int64_t n = 0;
	int r = 0;

	*ret = 0;
	for (size_t i = 0; i < sizeof ends / sizeof ends[0] && r == 0; i++) {
		r = admin_number(a, ends[i].table, ends[i].query, &n, err);
		*ret = n > *ret ? n : *ret;
	}
	return r;
}

static int loss_look(const struct db_options *o, struct admin *a, struct loss *l, struct err *err)
{
	int r = admin_number(a, "lb_leader", "SELECT epoch FROM lb_leader", &l->epoch, err);

	if (r == 0)
		r = admin_number(a, "lb_leader", "SELECT number FROM lb_leader", &l->was_number,
		                 err);
	if (r == 0)
		r = find_end(a, &l->number, err);
	if (dir_of(o) && anchor_read(dir_of(o), &l->anchor, NULL) == 0 &&
	    l->anchor.epoch > l->epoch)
		l->epoch = l->anchor.epoch;
	if (o->epoch > l->epoch)
		l->epoch = o->epoch;
	CHECK(l->epoch >= o->epoch && l->epoch >= l->anchor.epoch);
	l->epoch += EPOCHS_AHEAD;
	return r;
}

/* The row of the audit that follows the last one. */
static int write_audit(struct admin *a, const struct loss *l, struct err *err)
{
	char hash[CHAIN_HEX] = "", detail[300];
	struct rows *rows = NULL;
	struct read_action row = { .id = 1,
		                   .at_us = clock_wall_us(&clock_machine),
		                   .actor = "sirdar-db",
		                   .action = "accept-loss",
		                   .object = "store",
		                   .detail = detail };
	const char *text = NULL;
	int64_t id = 0;
	int r = admin_ask(a, "lb_action", "SELECT id, hash FROM lb_action ORDER BY id DESC LIMIT 1",
	                  &rows, err);

	if (r == 0 && (r = rows_step(rows, err)) > 0) {
		r = rows_int(rows, 0, 1, INT64_MAX, &id, err);
		if (r == 0)
			r = rows_text(rows, 1, &text, err);
		snprintf(hash, sizeof hash, "%s", text ? text : "");
	}
	rows_close(rows);
	if (r < 0)
		return r;
	row.id = (uint64_t)id + 1;
	snprintf(detail, sizeof detail,
	         "{\"epoch\":%" PRId64 ",\"number\":%" PRId64 ",\"stood_at\":%" PRId64
	         ",\"known\":%" PRIu64 "}",
	         l->epoch, l->number, l->was_number, l->anchor.number);
	audit_hash(hash, &row, hash);
	struct buf b;
	buf_init(&b);
	sql_put(&b, a->ops->quote, a,
	        "INSERT INTO lb_action (id, at_us, actor, action, object, detail, hash)"
	        " VALUES (?, ?, ?, ?, ?, ?, ?)",
	        "iittttt", (int64_t)row.id, row.at_us, row.actor, row.action, row.object,
	        row.detail, hash);
	r = admin_run(a, buf_str(&b), err);
	buf_done(&b);
	return r;
}

static int write_leader(struct admin *a, const struct loss *l, struct err *err)
{
	struct buf b;

	buf_init(&b);
	sql_put(&b, a->ops->quote, a,
	        "UPDATE lb_leader SET epoch = ?, base_epoch = ?, lease_ms = 0, number = ?,"
	        " seq = seq + 1, chain_number = ?, chain = 0, mark_number = ?, mark_chain = 0",
	        "iiiii", l->epoch, l->epoch, l->number, l->number, l->number);
	int r = admin_run(a, buf_str(&b), err);
	buf_done(&b);
	return r;
}

/* Both or neither. */
static int write_all(struct admin *a, const struct loss *l, struct err *err)
{
	int r = admin_run(a, "BEGIN", err);

	if (r == 0)
		r = write_audit(a, l, err);
	if (r == 0)
		r = write_leader(a, l, err);
	return r < 0 ? r : admin_run(a, "COMMIT", err);
}

static void loss_forget(const char *dir)
{
	static const char *const files[] = { ANCHOR_FILE, DAMAGED_FILE };

	for (size_t i = 0; dir && i < sizeof files / sizeof files[0]; i++) {
		char *path = mem_fmt("%s/%s", dir, files[i]);
		if (unlink(path) == 0)
			printf("removed %s\n", path);
		free(path);
	}
}

int db_accept_loss(const struct db_options *o)
{
	struct admin *a = NULL;
	struct err err = { 0 };
	struct loss l = { 0 };
	int r = admin_open(o->urls[0], false, &a, &err);

	if (r == 0)
		r = admin_migrate(a, 0, &err);
	if (r == 0 && !db_may_destroy(o, "Work that was acknowledged may be lost, or run again")) {
		admin_close(a);
		return DB_USAGE;
	}
	if (r == 0)
		r = admin_whole(a, &err);
	if (r == 0)
		r = loss_look(o, a, &l, &err);
	if (r == 0)
		r = write_all(a, &l, &err);
	admin_close(a);
	if (r == E_DAMAGED)
		fprintf(stderr,
		        "sirdar-db: a file that is damaged cannot go on: put a whole copy in "
		        "its place, then accept what that one lacks\n");
	if (r < 0)
		return db_fail(&err);
	loss_forget(dir_of(o));
	printf("%s: goes on after transition %" PRId64 " with epoch %" PRId64 "\n", o->urls[0],
	       l.number, l.epoch + 1);
	return 0;
}
