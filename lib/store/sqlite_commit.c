/* One commit of SQLite, one transaction: prove the epoch, look whether the batch is in already,
 * write documents, rows that reopen, live rows, history, events and the rest, then the tip. The
 * batch is shown to SQLite as tables (sqlite_batch.c), so that a kind of row is one statement, by
 * ascending id. What the store remembers changes only after COMMIT: a commit that failed may be
 * repeated. */
#include <stdlib.h>

#include "store/sqlite.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

/* Pages of write-ahead log at which a commit stops to checkpoint: 32 MiB. */
#define WAL_PAGES_MAX 8192

static void commit_show(struct sqlite_store *s, int64_t id, const struct instance *i)
{
	CHECK(id > 0);
	s->shown = mem_room(s->shown, &s->cap_shown, s->n_shown + 1, sizeof *s->shown);
	s->shown[s->n_shown++] = (struct batch_row){ id, i };
}

static int by_id(const void *a, const void *b)
{
	const struct batch_row *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Rows go in by ascending id: neighbours then share the page, and the cursor stays. */
static int write_shown(struct sqlite_store *s, enum sql_id id, struct err *err)
{
	sqlite3_stmt *q = NULL;
	bool sorted = true;
	int r;

	if (!s->n_shown)
		return 0;
	for (size_t i = 1; i < s->n_shown && sorted; i++)
		sorted = s->shown[i - 1].id <= s->shown[i].id;
	if (!sorted)
		qsort(s->shown, s->n_shown, sizeof *s->shown, by_id);
	r = sql_get(s, id, &q, err);
	return r < 0 ? r : sql_run(s, q, err);
}

/* A live row's id is the place its instance has in the ledger: rows of one time are
 * neighbours, and nobody needs a table from keys to ids. */
static int64_t id_of(const struct instance *i)
{
	return (int64_t)i->slot + 1;
}

static int write_live(struct sqlite_store *s, const struct store_batch *b, struct err *err)
{
	s->n_shown = 0;
	for (size_t i = 0; i < b->n_live; i++)
		commit_show(s, id_of(b->live[i]), b->live[i]);
	for (size_t i = 0; i < b->n_reopened; i++)
		if (!state_final((enum state)b->reopened[i]->state))
			commit_show(s, id_of(b->reopened[i]), b->reopened[i]);
	return write_shown(s, SQL_LIVE, err);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Ids that follow each other leave in one statement. */
static int delete_gone(struct sqlite_store *s, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_GONE, &q, err);

	qsort(s->gone, s->n_gone, sizeof *s->gone, by_number);
	for (size_t i = 0, end; i < s->n_gone && r == 0; i = end) {
		for (end = i + 1; end < s->n_gone && s->gone[end] == s->gone[end - 1] + 1; end++)
			;
		CHECK(s->gone[end - 1] - s->gone[i] == (int64_t)(end - 1 - i));
		sql_bind(q, "ii", s->gone[i], s->gone[end - 1]);
		r = sql_run(s, q, err);
	}
	return r;
}

static int write_done(struct sqlite_store *s, const struct store_batch *b, struct err *err)
{
	int r;

	s->n_shown = s->n_gone = 0;
	s->gone = mem_room(s->gone, &s->cap_gone, b->n_done, sizeof *s->gone);
	for (size_t i = 0; i < b->n_done; i++) {
		s->gone[s->n_gone++] = id_of(b->done[i]);
		commit_show(s, (int64_t)b->done[i]->last_number, b->done[i]);
	}
	CHECK(s->n_gone == b->n_done);
	r = s->n_gone ? delete_gone(s, err) : 0;
	return r < 0 ? r : write_shown(s, SQL_DONE, err);
}

static int write_reopened(struct sqlite_store *s, const struct store_batch *b, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_REOPEN, &q, err);

	for (size_t i = 0; i < b->n_reopened && r == 0; i++) {
		struct inst_key k = b->reopened[i]->key;

		sql_bind(q, "iii", k.run_date, (int64_t)k.task, (int64_t)k.part);
		r = sql_run(s, q, err);
	}
	return r;
}

static int write_events(struct sqlite_store *s, const struct store_batch *b, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r;

	if (!b->n_events)
		return 0;
	r = sql_get(s, SQL_EVENTS, &q, err);
	return r < 0 ? r : sql_run(s, q, err);
}

static int write_data(struct sqlite_store *s, const struct store_batch *b, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = 0;

	for (size_t i = 0; i < b->n_events && r == 0; i++) {
		const struct transition *t = b->events[i];

		if (!t->data)
			continue;
		r = sql_get(s, SQL_DATA, &q, err);
		if (r < 0)
			return r;
		sql_bind(q, "iit", (int64_t)t->number, (int64_t)t->data_kind, t->data);
		r = sql_run(s, q, err);
	}
	return r;
}

static int write_tip(struct sqlite_store *s, const struct store_tip *t, int64_t at_us,
                     struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_TIP, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "iiiiiii", (int64_t)t->number, at_us, (int64_t)t->seq, (int64_t)t->chain_number,
	         (int64_t)t->chain, (int64_t)t->mark_number, (int64_t)t->mark_chain);
	return sql_run(s, q, err);
}

static int write_all(struct sqlite_store *s, const struct store_batch *b,
                     const struct store_tip *next, struct err *err)
{
	static int (*const parts[])(struct sqlite_store *, const struct store_batch *,
	                            struct err *) = {
		sqlite_write_docs, write_reopened,      write_live,         write_done,
		write_events,      sqlite_write_ranges, sqlite_write_stats, write_data,
	};
	int r = 0;

	for (size_t i = 0; i < sizeof parts / sizeof parts[0] && r == 0; i++)
		r = parts[i](s, b, err);
	if (r == 0)
		r = write_tip(s, next, next->number > s->base.tip.number ? b->at_us : 0, err);
	return r;
}

int sqlite_commit(struct store *st, const struct store_batch *b, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	struct store_tip next;
	uint64_t stored = 0;
	int r = row_know_cycles(&s->rows, err);

	CHECK(!s->batch);
	if (r == 0)
		r = sql_begin(s, b->epoch, &stored, err);
	if (r < 0)
		return err_wrap(err, r, "commit");
	r = store__check_numbers(b, stored, err);
	if (r == 1) { /* a repeat of what is in */
		sql_end(s, 0, NULL);
		return 0;
	}
	if (r == 0) {
		s->batch = b;
		next = tip_next(&s->base.tip, b);
		r = write_all(s, b, &next, err);
		s->batch = NULL;
	}
	r = sql_end(s, r, err);
	if (r < 0)
		return err_wrap(err, r, "commit");
	row_remember(&s->rows, b);
	s->base.tip = next;
	if (s->wal_pages > WAL_PAGES_MAX)
		sqlite_checkpoint(s);
	return 0;
}
