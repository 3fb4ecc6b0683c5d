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
