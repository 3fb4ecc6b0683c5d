/* What people were told of, beside the letters that tell it. */
#include <stdio.h>

#include "notifier/outbox_impl.h"
#include "util/err.h"

static const char *text_at(sqlite3_stmt *q, int column)
{
	return (const char *)sqlite3_column_text(q, column);
}

static int one_id(struct outbox *o, enum sql which, int64_t id, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, which, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, id);
	return outbox__run(o, q, err);
}

static int two(struct outbox *o, enum sql which, int64_t first, int64_t second, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, which, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, first);
	sqlite3_bind_int64(q, 2, second);
	return outbox__run(o, q, err);
}

static int id_of(struct outbox *o, const char *key, int64_t *ret, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_ALERT_OF, err);

	if (!q)
		return E_IO;
	sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
	int r = outbox__row(o, q, err);
	*ret = r > 0 ? sqlite3_column_int64(q, 0) : 0;
	sqlite3_reset(q);
	return r < 0 ? r : 0;
}

int outbox_raise(struct outbox *o, const struct outbox_alert *a, int64_t *ret_id, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_RAISE, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, a->id);
	sqlite3_bind_text(q, 2, a->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 3, a->word, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 4, a->subject, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 5, a->task);
	sqlite3_bind_int64(q, 6, a->run_date);
	sqlite3_bind_int64(q, 7, a->since_us);
	sqlite3_bind_int64(q, 8, a->ended_us);
	sqlite3_bind_text(q, 9, a->body, -1, SQLITE_STATIC);
	int r = outbox__run(o, q, err);
	return r == 0 ? id_of(o, a->key, ret_id, err) : r;
}

int outbox_touch(struct outbox *o, int64_t alert, struct err *err)
{
	return one_id(o, SQL_TOUCH, alert, err);
}

int outbox_touch_by(struct outbox *o, int64_t letter, struct err *err)
{
	return one_id(o, SQL_TOUCH_BY, letter, err);
}

int outbox_end_alert(struct outbox *o, int64_t id, int64_t now_us, struct err *err)
{
	return two(o, SQL_END_ALERT, now_us, id, err);
}

int outbox_said(struct outbox *o, int64_t id, int64_t change, struct err *err)
{
	return two(o, SQL_SAID, change, id, err);
}

int outbox_end_subject(struct outbox *o, const char *subject, int64_t now_us, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_END_SUBJECT, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, now_us);
	sqlite3_bind_text(q, 2, subject, -1, SQLITE_STATIC);
	return outbox__run(o, q, err);
}

static int open_ones(struct outbox *o, enum sql which, const int64_t values[2],
                     int (*each)(void *ctx, const struct outbox_alert *a), void *ctx,
                     struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, which, err);
	int r = 0, given = 0;

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, values[0]);
	sqlite3_bind_int64(q, 2, values[1]);
	while (given == 0 && (r = outbox__row(o, q, err)) > 0) {
		struct outbox_alert a = { .id = sqlite3_column_int64(q, 0), .body = text_at(q, 1) };
		given = each(ctx, &a);
	}
	sqlite3_reset(q);
	return given ? given : r;
}

int outbox_open_of(struct outbox *o, uint32_t task, int64_t run_date,
                   int (*each)(void *ctx, const struct outbox_alert *a), void *ctx, struct err *err)
{
	return open_ones(o, SQL_OPEN_OF, (int64_t[]){ task, run_date }, each, ctx, err);
}

int outbox_open_all(struct outbox *o, int64_t after, size_t max,
                    int (*each)(void *ctx, const struct outbox_alert *a), void *ctx,
                    struct err *err)
{
	return open_ones(o, SQL_OPEN_ALL, (int64_t[]){ after, (int64_t)max }, each, ctx, err);
}

int outbox_unsaid(struct outbox *o, size_t max,
                  int (*each)(void *ctx, const struct outbox_alert *a), void *ctx, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_UNSAID, err);
	int r = 0, given = 0;

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, (int64_t)max);
	while (given == 0 && (r = outbox__row(o, q, err)) > 0) {
		struct outbox_alert a = { .id = sqlite3_column_int64(q, 0),
			                  .word = text_at(q, 1),
			                  .subject = text_at(q, 2),
			                  .task = (uint32_t)sqlite3_column_int64(q, 3),
			                  .run_date = sqlite3_column_int64(q, 4),
			                  .since_us = sqlite3_column_int64(q, 5),
			                  .ended_us = sqlite3_column_int64(q, 6),
			                  .change = sqlite3_column_int64(q, 7),
			                  .body = text_at(q, 8) };
		given = each(ctx, &a);
	}
	sqlite3_reset(q);
	return given ? given : r;
}

int outbox_letters_of(struct outbox *o, int64_t alert, size_t max,
                      int (*each)(void *ctx, const struct outbox_fate *f), void *ctx,
                      struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_LETTERS_OF, err);
	int r = 0, given = 0;

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, alert);
	sqlite3_bind_int64(q, 2, (int64_t)max);
	while (given == 0 && (r = outbox__row(o, q, err)) > 0) {
		struct outbox_fate f = { .recipient = text_at(q, 0),
			                 .state = (enum letter_state)sqlite3_column_int(q, 1),
			                 .next_us = sqlite3_column_int64(q, 2),
			                 .ended_us = sqlite3_column_int64(q, 3),
			                 .tries = (uint32_t)sqlite3_column_int64(q, 4),
			                 .error = text_at(q, 5) };
		given = each(ctx, &f);
	}
	sqlite3_reset(q);
	return given ? given : r;
}

/* --- channels ------------------------------------------------------------------------ */

int outbox_queue(struct outbox *o, int (*each)(void *ctx, const char *recipient, int64_t n),
                 void *ctx, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_QUEUE, err);
	int r = 0, given = 0;

	if (!q)
		return E_IO;
	while (given == 0 && (r = outbox__row(o, q, err)) > 0)
		given = each(ctx, text_at(q, 0), sqlite3_column_int64(q, 1));
	sqlite3_reset(q);
	return given ? given : r;
}

int outbox_put_try(struct outbox *o, const char *channel, int64_t now_us, const char *error,
                   struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_PUT_TRY, err);

	if (!q)
		return E_IO;
	sqlite3_bind_text(q, 1, channel, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 2, now_us);
	sqlite3_bind_text(q, 3, error, -1, SQLITE_STATIC);
	return outbox__run(o, q, err);
}

int outbox_try(struct outbox *o, const char *channel, int64_t *ret_us, char ret_error[static 200],
               struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_TRY_OF, err);

	*ret_us = 0;
	ret_error[0] = 0;
	if (!q)
		return E_IO;
	sqlite3_bind_text(q, 1, channel, -1, SQLITE_STATIC);
	int r = outbox__row(o, q, err);
	if (r > 0) {
		*ret_us = sqlite3_column_int64(q, 0);
		snprintf(ret_error, 200, "%s", text_at(q, 1));
	}
	sqlite3_reset(q);
	return r < 0 ? r : 0;
}

/* --- devices ------------------------------------------------------------------------- */

int outbox_put_handed(struct outbox *o, int64_t letter, const char *device, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_PUT_HANDED, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, letter);
	sqlite3_bind_text(q, 2, device, -1, SQLITE_STATIC);
	return outbox__run(o, q, err);
}

int outbox_is_handed(struct outbox *o, int64_t letter, const char *device, bool *ret,
                     struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_HANDED, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, letter);
	sqlite3_bind_text(q, 2, device, -1, SQLITE_STATIC);
	int r = outbox__row(o, q, err);
	*ret = r > 0;
	sqlite3_reset(q);
	return r < 0 ? r : 0;
}
