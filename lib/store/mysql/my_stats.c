/* Statistics, added to by each commit. */
#include "store/mysql/mysql.h"

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
