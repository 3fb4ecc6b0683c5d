/* Dates left out, as ranges. */
#include "store/mysql/mysql.h"

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
