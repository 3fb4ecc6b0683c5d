/* row_retain.c — outcomes, and what may go because they are kept.
 *
 * History is the only record of how a date ended until the outcomes that are saved know it
 * (row_saved()): up to there retention drops it, from its front, each instance with its chain of
 * events and their data. Ranges go first, since a row that says otherwise of one of their dates
 * counts; then history, the items of commands, the alerts. All of it is one transaction of at most
 * `rows_max` rows; a dry run counts the same rows. The ledger asks for it, a little at a time.
 */
#include <inttypes.h>

#include "store/row_store.h"
#include "util/check.h"
#include "util/err.h"

static int each_outcome(struct rows *rows, int r,
                        int (*each)(void *ctx, const struct store_outcome *o), void *ctx,
                        struct err *err)
{
	struct store_outcome o;

	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_outcome(rows, &o, err);
		if (r == 0)
			r = each(ctx, &o);
	}
	return r;
}

int row_load_outcomes(struct store *st, int (*each)(void *ctx, const struct store_outcome *o),
                      void *ctx, struct err *err)
{
	struct row_store *s = (struct row_store *)st;
	struct rows *rows = NULL;
	int64_t saved = 0;
	int r = row_saved(s, &saved, err);

	if (r == 0)
		r = row_ask(s, ROW_OUTCOMES, &rows, err, "");
	r = each_outcome(rows, r, each, ctx, err);
	rows = NULL;
	if (r == 0)
		r = row_ask(s, ROW_SINCE, &rows, err, "i", saved);
	return each_outcome(rows, r, each, ctx, err);
}

static int write_outcomes(struct row_store *s, const struct store_outcome *o, size_t n,
                          uint64_t upto_number, struct err *err)
{
	int r = row_change(s, ROW_OUTCOMES_GO, NULL, err, "");

	if (r == 0)
		r = s->ops->put_outcomes(s, o, n, err);
	return r < 0 ? r : row_change(s, ROW_SAVED_UPTO, NULL, err, "i", (int64_t)upto_number);
}

int row_save_outcomes(struct store *st, uint32_t epoch, const struct store_outcome *o, size_t n,
                      uint64_t upto_number, struct err *err)
{
	struct row_store *s = (struct row_store *)st;
	uint64_t stored = 0;
	int r = s->ops->begin(s, epoch, &stored, err);

	if (r < 0)
		return r;
	if (upto_number > stored)
		r = err_set(err, E_INVALID,
		            "outcomes up to %" PRIu64 ", the store ends at %" PRIu64, upto_number,
		            stored);
	else
		r = write_outcomes(s, o, n, upto_number, err);
	r = s->ops->end(s, r, err);
	return r < 0 ? err_wrap(err, r, "save outcomes") : 0;
}

/* 1 and the event before it, or 0: the rest of the chain went before. */
static int event_prev(struct row_store *s, int64_t number, int64_t *ret, struct err *err)
{
	struct rows *rows = NULL;
	int r = row_ask(s, ROW_EVENT_PREV, &rows, err, "i", number);

	if (r == 0)
		r = rows_step(rows, err);
	if (r > 0) {
		r = rows_int(rows, 0, 0, number - 1, ret, err);
		r = r < 0 ? r : 1;
	}
	rows_close(rows);
	return r;
}

/* Drop or count the chain of events that ends in `number`. */
static int drop_events(struct row_retain *t, int64_t number, struct err *err)
{
	int64_t prev = 0;

	CHECK(number >= 0);
	for (; number; number = prev, t->rows++) {
		int r = event_prev(t->s, number, &prev, err);

		if (r > 0)
			r = t->ask.dry_run ? 1
			                   : row_change(t->s, ROW_EVENT_GO, NULL, err, "i", number);
		else
			return r;
		if (r == 0)
			r = row_change(t->s, ROW_DATA_GO, NULL, err, "i", number);
		if (r < 0)
			return r;
	}
	return 0;
}

/* 1 found, 0 none. */
static int oldest_row(struct row_store *s, int64_t after, int64_t *ret_number,
                      int64_t *ret_ended_us, struct err *err)
{
	struct rows *rows = NULL;
	int r = row_ask(s, ROW_OLDEST, &rows, err, "i", after);

	if (r == E_CONFLICT) /* MySQL: the partition was dropped by hand */
		return 0;
	if (r == 0)
		r = rows_step(rows, err);
	if (r > 0) {
		r = rows_int(rows, 0, 0, INT64_MAX, ret_number, err);
		if (r == 0)
			r = rows_int(rows, 1, 0, INT64_MAX, ret_ended_us, err);
		r = r < 0 ? r : 1;
	}
	rows_close(rows);
	return r;
}

/* History is in the order of ending, so what is old is at its front. What the saved
 * outcomes do not know yet stays, whatever its age: it is the only record. */
static int drop_history(struct row_retain *t, struct err *err)
{
	const bool may_go = !t->ask.dry_run;
	int64_t saved = 0, number = 0, ended_us = 0;
	int r = row_saved(t->s, &saved, err);

	while (r == 0 && t->rows < t->ask.rows_max) {
		r = oldest_row(t->s, number, &number, &ended_us, err);
		if (r <= 0 || ended_us >= t->ask.before_us || number > saved)
			return r < 0 ? r : 0;
		/* What is gone is not read again: tip.h. */
		r = may_go ? row_change(t->s, ROW_MARK, NULL, err, "i", number) : 0;
		if (r == 0)
			r = drop_events(t, number, err);
		if (r == 0 && may_go)
			r = row_change(t->s, ROW_HISTORY_GO, NULL, err, "i", number);
		t->rows++;
	}
	return r;
}

/* Rows that are old whatever else: counted by one statement, dropped by the other. */
static int drop_old(struct row_retain *t, enum row_id count, enum row_id go, struct err *err)
{
	size_t most = t->ask.rows_max - t->rows, dropped = 0;
	int64_t n = 0;
	int r;

	if (t->rows >= t->ask.rows_max)
		return 0;
	if (t->ask.dry_run) {
		r = row_number(t->s, count, &n, err, "i", t->ask.before_us);
	} else {
		r = row_change(t->s, go, &dropped, err, "ii", t->ask.before_us, (int64_t)most);
		n = (int64_t)dropped;
	}
	CHECK(n >= 0);
	t->rows += (size_t)n < most ? (size_t)n : most;
	return r;
}

int row_retain(struct store *st, uint32_t epoch, const struct store_retention *ask,
               size_t *ret_rows, struct err *err)
{
	struct row_retain t = { .s = (struct row_store *)st, .ask = *ask };
	int r = t.s->ops->begin(t.s, epoch, NULL, err);

	if (r < 0)
		return r;
	if (t.s->ops->stamp)
		r = t.s->ops->stamp(t.s, err);
	/* A range goes before the rows that say otherwise of its dates. */
	if (r == 0)
		r = drop_old(&t, ROW_OLD_RANGES, ROW_RANGES_GO, err);
	if (r == 0)
		r = drop_history(&t, err);
	if (r == 0)
		r = drop_old(&t, ROW_OLD_ITEMS, ROW_ITEMS_GO, err);
	if (r == 0)
		r = drop_old(&t, ROW_OLD_ALERTS, ROW_ALERTS_GO, err);
	r = t.s->ops->end(t.s, r, err);
	if (r == 0 && t.s->ops->retained)
		r = t.s->ops->retained(&t, err);
	if (r == 0)
		*ret_rows = t.rows;
	return r < 0 ? err_wrap(err, r, "retain") : 0;
}

int row_drop_stats(struct store *st, uint32_t epoch, int32_t day, size_t rows_max, size_t *ret_rows,
                   struct err *err)
{
	struct row_store *s = (struct row_store *)st;
	size_t rows = 0;
	int r = s->ops->begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	if (s->ops->stamp)
		r = s->ops->stamp(s, err);
	if (r == 0)
		r = row_change(s, ROW_STATS_GO, &rows, err, "ii", (int64_t)day, (int64_t)rows_max);
	r = s->ops->end(s, r, err);
	if (r == 0)
		*ret_rows = rows;
	return r < 0 ? err_wrap(err, r, "drop statistics") : 0;
}
