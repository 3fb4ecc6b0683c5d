/* Events: a walk from an instance's last, or the tail of them all.
 *
 * Each event names the one before it of the same instance, so a history is a walk backwards from
 * the last one, and needs no index over instances. A date that was left out together with others
 * has no event of its own: its history ends at the event of the range. Bodies (outputs, parameters,
 * digests of failures) are rows of their own by the event's number, read only when asked for. */
#include <inttypes.h>

#include "store/read_impl.h"
#include "util/err.h"

static int event_query(struct reader *r, const char *rest, struct rows **ret, struct err *err)
{
	struct buf q = { 0 };

	buf_puts(&q, "SELECT " EVENT_COLUMNS " FROM lb_task_event WHERE ");
	buf_puts(&q, rest);
	return read__query(r, "lb_task_event", &q, ret, err);
}

/* Where the walk begins: the instance's last, or what came before `before`. */
static int walk_start(struct reader *r, struct rows *q, struct read_history *h, struct err *err)
{
	const uint64_t before = h->before;
	struct read_event e = { 0 };
	struct instance i;
	int code = read__find_instance(r, h->key, &i, err);

	h->before = code < 0 ? 0 : inst_chain(&i);
	if (code < 0 || !before)
		return code;
	rows_bind(q, 1, (int64_t)before);
	code = rows_step(q, err);
	if (code > 0)
		code = rows_event(q, &e, err);
	else if (code == 0)
		return err_set(err, E_INVALID, "no event %" PRIu64, before);
	if (code == 0 && !inst_key_eq(e.key, h->key))
		return err_set(err, E_INVALID, "event %" PRIu64 " is another instance's", before);
	h->before = e.prev;
	return code;
}

/* A date that was left out with others began there. */
static int range_event(struct reader *r, struct inst_key key, uint64_t number,
                       int (*each)(void *ctx, const struct read_event *e), void *ctx,
                       struct err *err)
{
	struct store_range range;
	int code = read__range_numbered(r, number, &range, err);

	if (code <= 0 || range.task != key.task || key.run_date < range.lo ||
	    key.run_date > range.hi)
		return code < 0 ? code : 0;
	struct read_event e = { .number = number,
		                .key = key,
		                .at_us = range.at_us,
		                .generation = 1,
		                .revision = 1,
		                .event = EV_CREATE_SKIP,
		                .from = ST_NONE,
		                .to = ST_SKIPPED,
		                .reason = range.reason };
	return each(ctx, &e);
}

/* From the event `h->before` itself on. */
static int events_walk(struct reader *r, const struct read_history *h, struct rows *q,
                       int (*each)(void *ctx, const struct read_event *e), void *ctx,
                       struct err *err)
{
	struct read_event e = { 0 };
	uint64_t number = h->before;
	int code = 0;

	for (size_t n = 0; number && n < h->limit && code >= 0; n++) {
		rows_bind(q, 1, (int64_t)number);
		code = rows_step(q, err);
		if (code == 0) /* or older ones are gone by retention */
			return range_event(r, h->key, number, each, ctx, err);
		if (code < 0)
			return code;
		code = rows_event(q, &e, err);
		if (code == 0 && e.prev >= number)
			code = err_set(err, E_CORRUPT,
			               "lb_task_event row with number %" PRIu64
			               ": column prev has %" PRIu64,
			               number, e.prev);
		if (code == 0)
			code = each(ctx, &e);
		number = e.prev;
	}
	return code < 0 ? code : 0;
}

int read_events(struct reader *r, const struct read_history *h,
                int (*each)(void *ctx, const struct read_event *e), void *ctx, uint64_t *ret_number,
                struct err *err)
{
	struct read_history from = *h;
	struct rows *q = NULL;
	uint64_t number = 0;
	int code;

	if (h->limit < 1 || h->limit > READ_ROWS_MAX)
		return err_set(err, E_INVALID, "limit %zu, want 1..%d", h->limit, READ_ROWS_MAX);
	code = read__begin(r, &number, err);
	if (code < 0)
		return code;
	code = event_query(r, "number = ?", &q, err);
	if (code == 0)
		code = walk_start(r, q, &from, err);
	if (code == 0)
		code = events_walk(r, &from, q, each, ctx, err);
	rows_close(q);
	read__end(r, code);
	if (code == 0 && ret_number)
		*ret_number = number;
	return code;
}

/* Bound; one body or none. */
static int data_give(struct rows *q, int (*each)(void *ctx, const char *body), void *ctx,
                     struct err *err)
{
	const char *body;
	int code = rows_step(q, err);

	if (code == 0)
		return E_NOT_FOUND;
	if (code > 0)
		code = rows_text(q, 0, &body, err);
	return code == 0 ? each(ctx, body) : code;
}

int read_data(struct reader *r, const struct instance *i, enum inst_data kind,
              int (*each)(void *ctx, const char *body), void *ctx, struct err *err)
{
	int64_t generation = kind == ID_OWN ? 0 : i->generation;
	struct rows *q = NULL;
	int code = read__begin(r, NULL, err);

	if (code < 0)
		return code;
	code = r->ops->query(r, "lb_task_data", DATA_WALK, &q, err);
	if (code == 0) {
		rows_bind(q, 4, (int64_t)inst_chain(i), generation, generation, (int64_t)kind);
		code = data_give(q, each, ctx, err);
	}
	rows_close(q);
	return read__end(r, code);
}

int read_failure(struct reader *r, const struct instance *i,
                 int (*each)(void *ctx, const char *body), void *ctx, struct err *err)
{
	struct rows *q = NULL;
	int code = read__begin(r, NULL, err);

	if (code < 0)
		return code;
	code = r->ops->query(r, "lb_task_data", DATA_NEAR, &q, err);
	if (code == 0) {
		rows_bind(q, 2, (int64_t)inst_chain(i), (int64_t)ID_FAILURE);
		code = data_give(q, each, ctx, err);
	}
	rows_close(q);
	return read__end(r, code);
}

int read_events_after(struct reader *r, const struct read_tail *t,
                      int (*each)(void *ctx, const struct read_event *e), void *ctx,
                      uint64_t *ret_number, struct err *err)
{
	uint64_t number = 0;
	struct read_event e = { 0 };
	struct rows *q = NULL;
	int code;

	if (t->limit < 1 || t->limit > READ_ROWS_MAX || t->after > INT64_MAX)
		return err_set(err, E_INVALID, "limit %zu, want 1..%d", t->limit, READ_ROWS_MAX);
	code = read__begin(r, &number, err);
	if (code < 0)
		return code;
	struct buf rest = { 0 };
	buf_puts(&rest, "number > ?");
	read__see_tasks(r, &rest, "task_id");
	buf_puts(&rest, " ORDER BY number LIMIT ?");
	code = event_query(r, buf_str(&rest), &q, err);
	buf_done(&rest);
	if (code == 0) {
		rows_bind(q, 2, (int64_t)t->after, (int64_t)t->limit);
		while ((code = rows_step(q, err)) > 0) {
			code = rows_event(q, &e, err);
			if (code == 0)
				code = each(ctx, &e);
			if (code < 0)
				break;
		}
	}
	rows_close(q);
	read__end(r, code);
	if (code == 0 && ret_number)
		*ret_number = number;
	return code;
}
