/* Statistics, added to by each commit and read by day; the outcomes of a command. */
#include "sched/measure.h"
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

static int decode(const struct my_rows *rows, struct store_stat *ret, struct err *err)
{
	static const struct {
		int64_t lo, hi;
	} want[] = { { INT32_MIN, INT32_MAX }, { 0, UINT32_MAX },
		     { INT32_MIN, INT32_MAX }, { STORE_STAT_UNRUN, MEASURE_BUCKETS - 1 },
		     { 1, UINT32_MAX },        { 0, INT64_MAX } };
	int64_t v[6] = { 0 };
	enum state st = ST_NONE;
	int r = 0;

	for (unsigned i = 0; i < 6 && r == 0; i++)
		r = my_int(rows, i, want[i].lo, want[i].hi, &v[i], err);
	if (r == 0 && !state_from_number((int)v[2], &st))
		r = err_set(err, E_CORRUPT,
		            "lb_statistic: column job_status has %d, which is no state", (int)v[2]);
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

int my_load_stats(struct store *st, uint32_t task, int32_t lo, int32_t hi,
                  int (*each)(void *ctx, const struct store_stat *stat), void *ctx, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct store_stat row;
	struct my_rows rows;
	int r = my_ask(
		s, "lb_statistic", &rows, err,
		"SELECT day, task_id, job_status, bucket, count, sum_us FROM lb_statistic"
		" WHERE task_id = ? AND day BETWEEN ? AND ? ORDER BY day, job_status, bucket",
		"iii", (int64_t)task, (int64_t)lo, (int64_t)hi);

	if (r < 0)
		return r;
	while ((r = my_rows_next(&rows, err)) > 0) {
		r = decode(&rows, &row, err);
		if (r == 0)
			r = each(ctx, &row);
		if (r < 0)
			break;
	}
	return my_rows_end(&rows, r);
}

int my_drop_stats(struct store *st, uint32_t epoch, int32_t day, size_t rows_max, size_t *ret_rows,
                  struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int r = my_begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	r = my_do(s, err, "DELETE FROM lb_statistic WHERE day < ? ORDER BY day LIMIT ?", "ii",
	          (int64_t)day, (int64_t)rows_max);
	size_t rows = r == 0 ? (size_t)mysql_affected_rows(s->db) : 0;
	r = my_end(s, r, err);
	if (r == 0)
		*ret_rows = rows;
	return r < 0 ? err_wrap(err, r, "drop statistics") : 0;
}

static int decode_item(const struct my_rows *rows, struct store_command_item *ret, struct err *err)
{
	int64_t task = 0, part = 0, code = 0;
	int r = my_int(rows, 0, 0, UINT32_MAX, &task, err);

	if (r == 0)
		r = my_int(rows, 1, INT64_MIN, INT64_MAX, &ret->key.run_date, err);
	if (r == 0)
		r = my_int(rows, 2, INT32_MIN, INT32_MAX, &part, err);
	if (r == 0)
		r = my_int(rows, 3, INT32_MIN, INT32_MAX, &code, err);
	if (r == 0)
		r = my_text(rows, 4, &ret->text, err);
	ret->key.task = (uint32_t)task;
	ret->key.part = (int32_t)part;
	ret->code = (int32_t)code;
	return r;
}

int my_load_items(struct store *st, uint64_t command,
                  int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                  struct err *err)
{
	struct store_command_item item = { .command = command };
	struct my_rows rows;
	int r = my_ask((struct my_store *)st, "lb_command_item", &rows, err,
	               "SELECT task_id, curr_run_date, part, code, text FROM lb_command_item"
	               " WHERE command_id = ? ORDER BY task_id, curr_run_date, part",
	               "i", (int64_t)command);

	if (r < 0)
		return r;
	while ((r = my_rows_next(&rows, err)) > 0) {
		r = decode_item(&rows, &item, err);
		if (r == 0)
			r = each(ctx, &item);
		if (r < 0)
			break;
	}
	return my_rows_end(&rows, r);
}
