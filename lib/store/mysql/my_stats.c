/* Statistics, added to by each commit and read by day. */
#include "store/mysql/mysql.h"
#include "util/err.h"

int my_write_stats(struct my_store *s, const struct store_batch *b, struct err *err)
{
	struct my_out o = {
		s,
		"INSERT INTO lb_statistic (day, task_id, job_status, bucket, count, sum_us)"
		" VALUES ",
		" ON DUPLICATE KEY UPDATE count = count + VALUES(count),"
		" sum_us = sum_us + VALUES(sum_us)",
		0
	};
	int r = 0;

	for (size_t i = 0; i < b->n_stats && r == 0; i++) {
		const struct store_stat *st = &b->stats[i];

		r = my_out_put(&o, err, "iiiiii", (int64_t)st->day, (int64_t)st->task,
		               (int64_t)state_number((enum state)st->state), (int64_t)st->bucket,
		               (int64_t)st->count, st->sum_us);
	}
	return my_out_end(&o, r, err);
}

int my_load_stats(struct store *st, uint32_t task, int32_t lo, int32_t hi,
                  int (*each)(void *ctx, const struct store_stat *stat), void *ctx, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct store_stat row;
	struct rows *rows = NULL;
	int r = my_ask(
		s, "lb_statistic", &rows, err,
		"SELECT " STAT_COLUMNS " FROM lb_statistic"
		" WHERE task_id = ? AND day BETWEEN ? AND ? ORDER BY day, job_status, bucket",
		"iii", (int64_t)task, (int64_t)lo, (int64_t)hi);

	if (r < 0)
		return r;
	while ((r = rows_step(rows, err)) > 0) {
		r = rows_stat(rows, &row, err);
		if (r == 0)
			r = each(ctx, &row);
		if (r < 0)
			break;
	}
	rows_close(rows);
	return r;
}

int my_drop_stats(struct store *st, uint32_t epoch, int32_t day, size_t rows_max, size_t *ret_rows,
                  struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int r = my_begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	r = my_stamp(s, err);
	if (r == 0)
		r = my_do(s, err, "DELETE FROM lb_statistic WHERE day < ? ORDER BY day LIMIT ?",
		          "ii", (int64_t)day, (int64_t)rows_max);
	size_t rows = r == 0 ? (size_t)mysql_affected_rows(s->db) : 0;
	r = my_end(s, r, err);
	if (r == 0)
		*ret_rows = rows;
	return r < 0 ? err_wrap(err, r, "drop statistics") : 0;
}
