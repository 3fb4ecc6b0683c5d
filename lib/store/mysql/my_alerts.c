/* What people were told of. */
#include "store/mysql/mysql.h"

static int write_ack(struct my_store *s, const struct store_alert *a, struct err *err)
{
	return my_do(s, err,
	             "UPDATE lb_alert SET acked_us = ?, acked_by = ?, ack_note = ? WHERE id = ?",
	             "itti", a->acked_us, a->acked_by, a->ack_note, (int64_t)a->id);
}

static int write_alert(struct my_store *s, const struct store_alert *a, struct err *err)
{
	struct my_out o = {
		s, "INSERT INTO lb_alert (" ALERT_COLUMNS ") VALUES ",
		" ON DUPLICATE KEY UPDATE kind = VALUES(kind), severity = VALUES(severity),"
		" subject = VALUES(subject), task_id = VALUES(task_id),"
		" curr_run_date = VALUES(curr_run_date), generation = VALUES(generation),"
		" attempt = VALUES(attempt), since_us = VALUES(since_us),"
		" ended_us = VALUES(ended_us), body = VALUES(body)",
		0
	};
	int r = my_out_put(&o, err, "ititiiiiiiittt", (int64_t)a->id, a->kind, (int64_t)a->severity,
	                   a->subject, (int64_t)a->task, a->run_date, (int64_t)a->generation,
	                   (int64_t)a->attempt, a->since_us, a->ended_us, (int64_t)0, "", "",
	                   a->body);

	return my_out_end(&o, r, err);
}

int my_write_alerts(struct my_store *s, const struct store_batch *b, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < b->n_alerts && r == 0; i++)
		r = b->alerts[i].ack ? write_ack(s, &b->alerts[i], err)
		                     : write_alert(s, &b->alerts[i], err);
	return r;
}

int my_load_alerts(struct store *st, int (*each)(void *ctx, const struct store_alert *a), void *ctx,
                   struct err *err)
{
	struct rows *rows = NULL;
	struct store_alert a;
	int r = my_ask((struct my_store *)st, "lb_alert", &rows, err,
	               "SELECT " ALERT_COLUMNS " FROM lb_alert WHERE ended_us = 0 ORDER BY id", "");

	if (r < 0)
		return r;
	while ((r = rows_step(rows, err)) > 0) {
		r = rows_alert(rows, &a, err);
		if (r == 0)
			r = each(ctx, &a);
		if (r < 0)
			break;
	}
	rows_close(rows);
	return r;
}

#define OLD "FROM lb_alert WHERE ended_us > 0 AND ended_us < ?"

int my_drop_alerts(struct my_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                   size_t *rows, struct err *err)
{
	int64_t n = 0, most = (int64_t)(rows_max - *rows);
	int r;

	if (*rows >= rows_max)
		return 0;
	if (dry_run) {
		r = my_ask_number(s, "lb_alert", &n, err, "SELECT COUNT(*) " OLD, "i", before_us);
	} else {
		r = my_do(s, err, "DELETE " OLD " ORDER BY ended_us LIMIT ?", "ii", before_us,
		          most);
		n = r == 0 ? (int64_t)mysql_affected_rows(s->db) : 0;
	}
	*rows += (size_t)(n < most ? n : most);
	return r;
}
