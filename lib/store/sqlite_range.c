/* Dates left out, as ranges. */
#include "store/sqlite.h"

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
