/* What people were told of. */
#include "store/sqlite.h"
#include "util/err.h"

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

int sqlite_load_alerts(struct store *st, int (*each)(void *ctx, const struct store_alert *a),
                       void *ctx, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	struct store_alert a;
	int r = sql_get(s, SQL_ALERTS_OPEN, &q, err);

	if (r < 0)
		return r;
	struct sql_rows rows = sql_rows(s->db, q, "lb_alert");
	while ((r = rows_step(&rows.base, err)) > 0) {
		r = rows_alert(&rows.base, &a, err);
		if (r == 0)
			r = each(ctx, &a);
		if (r < 0)
			break;
	}
	sqlite3_reset(q);
	return r;
}

int sqlite_drop_alerts(struct sqlite_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                       size_t *rows, struct err *err)
{
	sqlite3_stmt *old = NULL, *go = NULL;
	int r = sql_get(s, SQL_ALERTS_OLD, &old, err);

	if (r == 0)
		r = sql_get(s, SQL_ALERT_GO, &go, err);
	if (r < 0 || *rows >= rows_max)
		return r;
	sql_bind(old, "ii", before_us, (int64_t)(rows_max - *rows));
	while ((r = sql_step(s->db, old, err)) > 0) {
		++*rows;
		if (dry_run)
			continue;
		sql_bind(go, "i", sqlite3_column_int64(old, 0));
		r = sql_run(s, go, err);
		if (r < 0)
			break;
	}
	sqlite3_reset(old);
	return r;
}
