/* Dates left out, as ranges. */
#include <inttypes.h>

#include "store/mysql/mysql.h"
#include "util/err.h"

int my_write_ranges(struct my_store *s, const struct store_batch *b, struct err *err)
{
	struct my_out o = { s, "INSERT INTO lb_task_range (" RANGE_COLUMNS ") VALUES ", "", 0 };
	int r = 0;

	for (size_t i = 0; i < b->n_ranges && r == 0; i++) {
		const struct store_range *n = &b->ranges[i];

		r = my_out_put(&o, err, "iiiiiiiiii", (int64_t)n->number, (int64_t)n->task, n->lo,
		               n->hi, (int64_t)n->dates, (int64_t)0, n->at_us, (int64_t)n->reason,
		               (int64_t)n->version, (int64_t)n->priority);
	}
	r = my_out_end(&o, r, err);
	for (size_t i = 0; i < b->n_taken && r == 0; i++)
		r = my_do(s, err,
		          "UPDATE lb_task_range SET taken = LEAST(dates, taken + ?)"
		          " WHERE number = ?",
		          "ii", (int64_t)b->taken[i].dates, (int64_t)b->taken[i].number);
	return r;
}

int my_load_ranges(struct store *st, bool unsaved,
                   int (*each)(void *ctx, const struct store_range *r), void *ctx, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct store_range range;
	struct rows *rows = NULL;
	int64_t saved = 0;
	int r = unsaved ? my_outcome_number(s, &saved, err) : 0;

	if (r == 0)
		r = my_ask(s, "lb_task_range", &rows, err,
		           "SELECT " RANGE_COLUMNS
		           " FROM lb_task_range WHERE number > ? ORDER BY number",
		           "i", saved);
	if (r < 0)
		return r;
	while ((r = rows_step(rows, err)) > 0) {
		r = rows_range(rows, &range, err);
		if (r == 0)
			r = each(ctx, &range);
		if (r < 0)
			break;
	}
	rows_close(rows);
	return r;
}

int my_find_range(struct store *st, uint32_t task, int64_t run_date, struct store_range *ret,
                  struct err *err)
{
	struct rows *rows = NULL;
	int r = my_ask((struct my_store *)st, "lb_task_range", &rows, err,
	               "SELECT " RANGE_COLUMNS " FROM lb_task_range WHERE task_id = ? AND lo <= ?"
	               " AND hi >= ? ORDER BY number DESC LIMIT 1",
	               "iii", (int64_t)task, run_date, run_date);

	if (r < 0)
		return r;
	r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "task %" PRIu32 " has no range over %" PRId64, task,
		            run_date);
	else if (r > 0)
		r = rows_range(rows, ret, err);
	rows_close(rows);
	return r;
}

#define OLD_RANGES "FROM lb_task_range WHERE number <= ? AND at_us < ?"

int my_drop_ranges(struct my_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                   size_t *rows, struct err *err)
{
	int64_t saved = 0, n = 0, most = rows_max > *rows ? (int64_t)(rows_max - *rows) : 0;
	int r = my_outcome_number(s, &saved, err);

	if (r < 0)
		return r;
	if (dry_run) {
		r = my_ask_number(s, "lb_task_range", &n, err, "SELECT COUNT(*) " OLD_RANGES, "ii",
		                  saved, before_us);
	} else {
		r = my_do(s, err, "DELETE " OLD_RANGES " ORDER BY number LIMIT ?", "iii", saved,
		          before_us, most);
		n = r == 0 ? (int64_t)mysql_affected_rows(s->db) : 0;
	}
	*rows += (size_t)(n < most ? n : most);
	return r;
}
