/* Letters: put, due, taken, settled. To put or settle one raises the `change` of its alert, in the
 * caller's transaction, so that the server hears of it. */
#include "notifier/outbox_impl.h"
#include "util/err.h"

int outbox_put(struct outbox *o, const struct outbox_letter *l, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_PUT, err);

	if (!q)
		return E_IO;
	sqlite3_bind_text(q, 1, l->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 2, l->recipient, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 3, l->body, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 4, l->made_us);
	sqlite3_bind_int64(q, 5, l->next_us);
	sqlite3_bind_int64(q, 6, l->alert);
	int r = outbox__run(o, q, err);
	return r == 0 && l->alert && sqlite3_changes(o->db) ? outbox_touch(o, l->alert, err) : r;
}

int outbox_settle(struct outbox *o, int64_t id, const struct settled *as, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_SETTLE, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, as->state);
	sqlite3_bind_int64(q, 2, as->next_us);
	sqlite3_bind_int64(q, 3, as->state == LETTER_WAITS ? 0 : as->now_us);
	sqlite3_bind_text(q, 4, as->error, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 5, id);
	int r = outbox__run(o, q, err);
	return r == 0 ? outbox_touch_by(o, id, err) : r;
}

int outbox_take(struct outbox *o, int64_t id, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_TAKE, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, id);
	return outbox__run(o, q, err);
}

int outbox_due(struct outbox *o, int64_t now_us, size_t max,
               int (*each)(void *ctx, const struct outbox_letter *l), void *ctx, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_DUE, err);
	int r = 0, given = 0;

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, now_us);
	sqlite3_bind_int64(q, 2, (int64_t)max);
	while (given == 0 && (r = outbox__row(o, q, err)) > 0) {
		struct outbox_letter l = { .id = sqlite3_column_int64(q, 0),
			                   .recipient = (const char *)sqlite3_column_text(q, 1),
			                   .body = (const char *)sqlite3_column_text(q, 2),
			                   .made_us = sqlite3_column_int64(q, 3),
			                   .next_us = sqlite3_column_int64(q, 4),
			                   .tries = (uint32_t)sqlite3_column_int64(q, 5),
			                   .alert = sqlite3_column_int64(q, 6) };
		given = each(ctx, &l);
	}
	sqlite3_reset(q);
	return given ? given : r;
}
