/* Statistics, added to by each commit and read by day; the outcomes of a command. */
#include "sched/measure.h"
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

int sql_stat(sqlite3_stmt *q, struct store_stat *ret, struct err *err)
{
	static const char table[] = "lb_statistic";
	static const struct {
		int64_t lo, hi;
	} want[] = { { INT32_MIN, INT32_MAX }, { 0, UINT32_MAX },
		     { INT32_MIN, INT32_MAX }, { STORE_STAT_UNRUN, MEASURE_BUCKETS - 1 },
		     { 1, UINT32_MAX },        { 0, INT64_MAX } };
	int64_t v[6] = { 0 };
	enum state st = ST_NONE;
	int r = 0;

	for (int i = 0; i < 6 && r == 0; i++)
		r = sql_column(q, i, table, want[i].lo, want[i].hi, &v[i], err);
	if (r == 0 && !state_from_number((int)v[2], &st))
		r = err_set(err, E_CORRUPT, "%s: column job_status has %d, which is no state",
		            table, (int)v[2]);
	if (r < 0)
		return r;
	*ret = (struct store_stat){ .day = (int32_t)v[0],
		                    .task = (uint32_t)v[1],
		                    .state = (uint8_t)st,
		                    .bucket = (int16_t)v[3],
		                    .count = (uint32_t)v[4],
		                    .sum_us = v[5] };
	return 0;
}

int sqlite_load_stats(struct store *st, uint32_t task, int32_t lo, int32_t hi,
                      int (*each)(void *ctx, const struct store_stat *stat), void *ctx,
                      struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	struct store_stat row;
	int r = sql_get(s, SQL_LOAD_STATS, &q, err);

	for (int64_t day = lo; day <= hi && r == 0; day++) {
		sql_bind(q, "ii", (int64_t)task, day);
		while ((r = sql_step(s->db, q, err)) > 0) {
			r = sql_stat(q, &row, err);
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

static int read_item(sqlite3_stmt *q, struct store_command_item *ret, struct err *err)
{
	static const char table[] = "lb_command_item";
	int64_t task = 0, part = 0, code = 0;
	int r = sql_column(q, 0, table, 0, UINT32_MAX, &task, err);

	if (r == 0)
		r = sql_column(q, 1, table, INT64_MIN, INT64_MAX, &ret->key.run_date, err);
	if (r == 0)
		r = sql_column(q, 2, table, INT32_MIN, INT32_MAX, &part, err);
	if (r == 0)
		r = sql_column(q, 3, table, INT32_MIN, INT32_MAX, &code, err);
	if (r == 0)
		r = sql_column_text(q, 4, table, &ret->text, err);
	ret->key.task = (uint32_t)task;
	ret->key.part = (int32_t)part;
	ret->code = (int32_t)code;
	return r;
}

int sqlite_load_items(struct store *st, uint64_t command,
                      int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                      struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	struct store_command_item item = { .command = command };
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_LOAD_ITEMS, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "i", (int64_t)command);
	while ((r = sql_step(s->db, q, err)) > 0) {
		r = read_item(q, &item, err);
		if (r == 0)
			r = each(ctx, &item);
		if (r < 0)
			break;
	}
	sqlite3_reset(q);
	return r;
}
