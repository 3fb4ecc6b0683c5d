/* Statistics, added to by each commit and read by day; the outcomes of a command. */
#include "store/sqlite.h"
#include "util/err.h"

int sqlite_write_stats(struct sqlite_store *s, const struct store_batch *b, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = b->n_stats ? sql_get(s, SQL_STAT, &q, err) : 0;

	for (size_t i = 0; i < b->n_stats && r == 0; i++) {
		const struct store_stat *st = &b->stats[i];
		sql_bind(q, "iiiiii", (int64_t)st->day, (int64_t)st->task,
		         (int64_t)state_number((enum state)st->state), (int64_t)st->bucket,
		         (int64_t)st->count, st->sum_us);
		r = sql_run(s, q, err);
	}
	return r;
}

int sqlite_load_stats(struct store *st, uint32_t task, int32_t lo, int32_t hi,
                      int (*each)(void *ctx, const struct store_stat *stat), void *ctx,
                      struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	struct store_stat row;
	int r = sql_get(s, SQL_LOAD_STATS, &q, err);
	struct sql_rows rows = sql_rows(s->db, q, "lb_statistic");

	for (int64_t day = lo; day <= hi && r == 0; day++) {
		sql_bind(q, "ii", (int64_t)task, day);
		while ((r = rows_step(&rows.base, err)) > 0) {
			r = rows_stat(&rows.base, &row, err);
			if (r == 0)
				r = each(ctx, &row);
			if (r < 0)
				break;
		}
		sqlite3_reset(q);
	}
	return r;
}

int sqlite_drop_stats(struct store *st, uint32_t epoch, int32_t day, size_t rows_max,
                      size_t *ret_rows, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = sql_begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	r = sql_get(s, SQL_STATS_GO, &q, err);
	if (r == 0) {
		sql_bind(q, "ii", (int64_t)day, (int64_t)rows_max);
		r = sql_run(s, q, err);
	}
	size_t rows = r == 0 ? (size_t)sqlite3_changes(s->db) : 0;
	r = sql_end(s, r, err);
	if (r == 0)
		*ret_rows = rows;
	return r < 0 ? err_wrap(err, r, "drop statistics") : 0;
}

int sqlite_load_items(struct store *st, uint64_t command,
                      int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                      struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	struct store_command_item item;
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_LOAD_ITEMS, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "i", (int64_t)command);
	struct sql_rows rows = sql_rows(s->db, q, "lb_command_item");
	while ((r = rows_step(&rows.base, err)) > 0) {
		r = rows_item(&rows.base, command, &item, err);
		if (r == 0)
			r = each(ctx, &item);
		if (r < 0)
			break;
	}
	sqlite3_reset(q);
	return r;
}
