/* What people were told of. */
#include "store/sqlite.h"

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

static int write_ack(struct sqlite_store *s, const struct store_alert *a, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_ALERT_ACK, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "iitt", (int64_t)a->id, a->acked_us, text_or_empty(a->acked_by),
	         text_or_empty(a->ack_note));
	return sql_run(s, q, err);
}

static int write_alert(struct sqlite_store *s, const struct store_alert *a, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_ALERT, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "ititiiiiiit", (int64_t)a->id, text_or_empty(a->kind), (int64_t)a->severity,
	         text_or_empty(a->subject), (int64_t)a->task, a->run_date, (int64_t)a->generation,
	         (int64_t)a->attempt, a->since_us, a->ended_us, text_or_empty(a->body));
	return sql_run(s, q, err);
}

int sqlite_write_alerts(struct sqlite_store *s, const struct store_batch *b, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < b->n_alerts && r == 0; i++)
		r = b->alerts[i].ack ? write_ack(s, &b->alerts[i], err)
		                     : write_alert(s, &b->alerts[i], err);
	return r;
}
