/* Outcomes as one statement, and what retention does after its transaction: days go whole. */
#include "store/mysql/mysql.h"
#include "util/clock.h"
#include "util/err.h"

int my_put_outcomes(struct row_store *rs, const struct store_outcome *o, size_t n, struct err *err)
{
	struct my_out out = { (struct my_store *)rs,
		              "INSERT INTO lb_outcome (" OUTCOME_COLUMNS ") VALUES ", "", 0 };
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = my_out_put(&out, err, "iiiiii", (int64_t)o[i].task, o[i].lo, o[i].hi,
		               (int64_t)state_number((enum state)o[i].state), (int64_t)o[i].reason,
		               (int64_t)o[i].generation);
	return my_out_end(&out, r, err);
}

/* The data that came with the transitions of days that went follow them. */
static int drop_data(struct row_retain *t, struct err *err)
{
	struct my_store *s = (struct my_store *)t->s;
	int r;

	if (t->rows >= t->ask.rows_max)
		return 0;
	r = my_do(s, err,
	          "DELETE FROM lb_task_data WHERE number < (SELECT MIN(number) FROM lb_task_event)"
	          " ORDER BY number LIMIT ?",
	          "i", (int64_t)(t->ask.rows_max - t->rows));
	if (r == 0)
		t->rows += (size_t)mysql_affected_rows(s->db);
	return r;
}

/* Changes of a table's shape are transactions of their own. */
int my_retained(struct row_retain *t, struct err *err)
{
	struct my_store *s = (struct my_store *)t->s;
	int r = my_drop_days(t, err);

	if (r == 0 && !t->ask.dry_run)
		r = drop_data(t, err);
	if (r == 0 && s->days_missing) { /* what nobody could be told when it failed */
		s->days_ahead_us = 0;
		r = my_days_ahead(s, clock_wall_us(&clock_machine), err);
	}
	return r;
}
