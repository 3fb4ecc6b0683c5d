/* Statistics, added to by each commit. */
#include "store/sqlite.h"

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
