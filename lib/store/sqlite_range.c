/* Dates left out, as ranges. */
#include <inttypes.h>

#include "store/sqlite.h"
#include "util/err.h"

int sqlite_write_ranges(struct sqlite_store *s, const struct store_batch *b, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = b->n_ranges ? sql_get(s, SQL_RANGE, &q, err) : 0;

	for (size_t i = 0; i < b->n_ranges && r == 0; i++) {
		const struct store_range *n = &b->ranges[i];

		sql_bind(q, "iiiiiiiii", (int64_t)n->number, (int64_t)n->task, n->lo, n->hi,
		         (int64_t)n->dates, n->at_us, (int64_t)n->reason, (int64_t)n->version,
		         (int64_t)n->priority);
		r = sql_run(s, q, err);
	}
	if (r == 0 && b->n_taken)
		r = sql_get(s, SQL_TAKEN, &q, err);
	for (size_t i = 0; i < b->n_taken && r == 0; i++) {
		sql_bind(q, "ii", (int64_t)b->taken[i].number, (int64_t)b->taken[i].dates);
		r = sql_run(s, q, err);
	}
	return r;
}

int sqlite_load_ranges(struct store *st, bool unsaved,
                       int (*each)(void *ctx, const struct store_range *r), void *ctx,
                       struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	struct store_range range;
	int64_t saved = 0;
	int r = unsaved ? sqlite_outcome_number(s, &saved, err) : 0;

	if (r == 0)
		r = sql_get(s, SQL_LOAD_RANGES, &q, err);
	if (r < 0)
		return r;
	sql_bind(q, "i", saved);
	struct sql_rows rows = sql_rows(s->db, q, "lb_task_range");
	while ((r = rows_step(&rows.base, err)) > 0) {
		r = rows_range(&rows.base, &range, err);
		if (r == 0)
			r = each(ctx, &range);
		if (r < 0)
			break;
	}
	sqlite3_reset(q);
	return r;
}

int sqlite_find_range(struct store *st, uint32_t task, int64_t run_date, struct store_range *ret,
                      struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_FIND_RANGE, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "ii", (int64_t)task, run_date);
	r = sql_step(s->db, q, err);
	if (r == 0)
		return err_set(err, E_NOT_FOUND, "task %" PRIu32 " has no range over %" PRId64,
		               task, run_date);
	struct sql_rows rows = sql_rows(s->db, q, "lb_task_range");
	if (r > 0)
		r = rows_range(&rows.base, ret, err);
	sqlite3_reset(q);
	return r;
}

int sqlite_drop_ranges(struct sqlite_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                       size_t *rows, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int64_t saved = 0, n = 0, most = rows_max > *rows ? (int64_t)(rows_max - *rows) : 0;
	int r = sqlite_outcome_number(s, &saved, err);

	if (r == 0)
		r = sql_get(s, dry_run ? SQL_OLD_RANGES : SQL_RANGES_GO, &q, err);
	if (r < 0)
		return r;
	if (dry_run) {
		sql_bind(q, "ii", saved, before_us);
		r = sql_step(s->db, q, err);
		n = r > 0 ? sqlite3_column_int64(q, 0) : 0;
		sqlite3_reset(q);
	} else {
		sql_bind(q, "iii", saved, before_us, most);
		r = sql_run(s, q, err);
		n = sqlite3_changes(s->db);
	}
	*rows += r < 0 ? 0 : (size_t)(n < most ? n : most);
	return r < 0 ? r : 0;
}
