/* Outcomes, and what may go because they are kept. */
#include <inttypes.h>

#include "store/schema.h"
#include "store/sqlite.h"
#include "util/err.h"

static int each_outcome(struct sqlite_store *s, sqlite3_stmt *q, const char *table,
                        int (*each)(void *ctx, const struct store_outcome *o), void *ctx,
                        struct err *err)
{
	struct sql_rows rows = sql_rows(s->db, q, table);
	struct store_outcome o;
	int r;

	while ((r = rows_step(&rows.base, err)) > 0) {
		r = rows_outcome(&rows.base, &o, err);
		if (r == 0)
			r = each(ctx, &o);
		if (r < 0)
			break;
	}
	sqlite3_reset(q);
	return r;
}

int sqlite_outcome_number(struct sqlite_store *s, int64_t *ret, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_LEADER, &q, err);

	if (r == 0)
		r = sql_step(s->db, q, err);
	if (r <= 0)
		return r < 0 ? r : err_set(err, E_CORRUPT, STORE_NO_LEADER_ROW);
	r = sql_column(q, 2, "lb_leader", 0, INT64_MAX, ret, err);
	sqlite3_reset(q);
	return r;
}

int sqlite_load_outcomes(struct store *st, int (*each)(void *ctx, const struct store_outcome *o),
                         void *ctx, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int64_t saved = 0;
	int r = sqlite_outcome_number(s, &saved, err);

	if (r == 0)
		r = sql_get(s, SQL_LOAD_OUTCOMES, &q, err);
	if (r == 0)
		r = each_outcome(s, q, "lb_outcome", each, ctx, err);
	if (r == 0)
		r = sql_get(s, SQL_LOAD_SINCE, &q, err);
	if (r < 0)
		return r;
	sql_bind(q, "i", saved);
	return each_outcome(s, q, "lb_task_run_history", each, ctx, err);
}

static int write_outcomes(struct sqlite_store *s, const struct store_outcome *o, size_t n,
                          uint64_t upto_number, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_OUTCOMES_GO, &q, err);

	if (r == 0)
		r = sql_run(s, q, err);
	if (r == 0)
		r = sql_get(s, SQL_OUTCOME, &q, err);
	for (size_t i = 0; i < n && r == 0; i++) {
		sql_bind(q, "iiiiii", (int64_t)o[i].task, o[i].lo, o[i].hi,
		         (int64_t)state_number((enum state)o[i].state), (int64_t)o[i].reason,
		         (int64_t)o[i].generation);
		r = sql_run(s, q, err);
	}
	if (r == 0)
		r = sql_get(s, SQL_OUTCOME_NUMBER, &q, err);
	if (r < 0)
		return r;
	sql_bind(q, "i", (int64_t)upto_number);
	return sql_run(s, q, err);
}

int sqlite_save_outcomes(struct store *st, uint32_t epoch, const struct store_outcome *o, size_t n,
                         uint64_t upto_number, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	uint64_t stored = 0;
	int r = sql_begin(s, epoch, &stored, err);

	if (r < 0)
		return r;
	if (upto_number > stored)
		r = err_set(err, E_INVALID,
		            "outcomes up to %" PRIu64 ", the store ends at %" PRIu64, upto_number,
		            stored);
	else
		r = write_outcomes(s, o, n, upto_number, err);
	r = sql_end(s, r, err);
	return r < 0 ? err_wrap(err, r, "save outcomes") : 0;
}

/* Drop or count the chain of events that ends in `number`. */
static int drop_events(struct sqlite_store *s, int64_t number, bool dry_run, size_t *rows,
                       struct err *err)
{
	sqlite3_stmt *find = NULL, *go = NULL, *data = NULL;
	int64_t prev = 0;
	int r = sql_get(s, SQL_EVENT_PREV, &find, err);

	if (r == 0)
		r = sql_get(s, SQL_EVENT_GO, &go, err);
	if (r == 0)
		r = sql_get(s, SQL_DATA_GO, &data, err);
	for (; r == 0 && number; number = prev) {
		sql_bind(find, "i", number);
		r = sql_step(s->db, find, err);
		if (r <= 0) /* the rest of the chain went before */
			return r;
		r = sql_column(find, 0, "lb_task_event", 0, number - 1, &prev, err);
		sqlite3_reset(find);
		if (r == 0 && !dry_run) {
			sql_bind(go, "i", number);
			r = sql_run(s, go, err);
			sql_bind(data, "i", number);
			if (r == 0)
				r = sql_run(s, data, err);
		}
		++*rows;
	}
	return r;
}

/* What is gone is not read again. */
static int mark_after(struct sqlite_store *s, int64_t number, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_MARK, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "i", number);
	return sql_run(s, q, err);
}

/* History is in the order of ending, so what is old is at its front. What the saved
 * outcomes do not know yet stays, whatever its age: it is the only record. */
static int drop_history(struct sqlite_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                        size_t *rows, struct err *err)
{
	sqlite3_stmt *oldest = NULL, *go = NULL;
	int64_t saved = 0, at = 0, number = 0, ended_us = 0;
	int r = sqlite_outcome_number(s, &saved, err);

	if (r == 0)
		r = sql_get(s, SQL_OLDEST, &oldest, err);
	if (r == 0)
		r = sql_get(s, SQL_HISTORY_GO, &go, err);
	while (r == 0 && *rows < rows_max) {
		sql_bind(oldest, "i", at);
		r = sql_step(s->db, oldest, err);
		if (r <= 0)
			return r;
		number = sqlite3_column_int64(oldest, 0);
		r = sql_column(oldest, 1, "lb_task_run_history", 0, INT64_MAX, &ended_us, err);
		sqlite3_reset(oldest);
		if (r < 0 || ended_us >= before_us || number > saved)
			return r;
		if (!dry_run)
			r = mark_after(s, number, err);
		if (r == 0)
			r = drop_events(s, number, dry_run, rows, err);
		if (r == 0 && !dry_run) {
			sql_bind(go, "i", number);
			r = sql_run(s, go, err);
		}
		++*rows;
		at = number;
	}
	return r;
}

static int drop_items(struct sqlite_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                      size_t *rows, struct err *err)
{
	sqlite3_stmt *old = NULL, *go = NULL;
	int r = sql_get(s, SQL_OLD_ITEMS, &old, err);

	if (r == 0)
		r = sql_get(s, SQL_ITEM_GO, &go, err);
	if (r < 0 || *rows >= rows_max)
		return r;
	sql_bind(old, "ii", before_us, (int64_t)(rows_max - *rows));
	while ((r = sql_step(s->db, old, err)) > 0) {
		++*rows;
		if (dry_run)
			continue;
		sql_bind(go, "iiii", sqlite3_column_int64(old, 0), sqlite3_column_int64(old, 1),
		         sqlite3_column_int64(old, 2), sqlite3_column_int64(old, 3));
		r = sql_run(s, go, err);
		if (r < 0)
			break;
	}
	sqlite3_reset(old);
	return r;
}

int sqlite_retain(struct store *st, uint32_t epoch, int64_t before_us, size_t rows_max,
                  bool dry_run, size_t *ret_rows, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	size_t rows = 0;
	int r = sql_begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	/* A range goes before the rows that say otherwise of its dates. */
	r = sqlite_drop_ranges(s, before_us, rows_max, dry_run, &rows, err);
	if (r == 0)
		r = drop_history(s, before_us, rows_max, dry_run, &rows, err);
	if (r == 0)
		r = drop_items(s, before_us, rows_max, dry_run, &rows, err);
	if (r == 0)
		r = sqlite_drop_alerts(s, before_us, rows_max, dry_run, &rows, err);
	r = sql_end(s, r, err);
	if (r == 0)
		*ret_rows = rows;
	return r < 0 ? err_wrap(err, r, "retain") : 0;
}
