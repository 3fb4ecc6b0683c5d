/* Events: a walk from an instance's last, or the tail of them all. */
#include <inttypes.h>

#include "store/read_impl.h"
#include "util/err.h"

static const char event_columns[] =
	"number, prev, task_id, curr_run_date, part, at_us, event, from_status, to_status, reason,"
	" actor_kind, epoch, session, cause, generation, revision, attempt, broker_id, token,"
	" exit_code, note";

static int event_row(sqlite3_stmt *q, struct read_event *ret, struct err *err)
{
	static const char table[] = "lb_task_event";
	static const struct {
		int64_t lo, hi;
	} want[] = {
		{ 1, INT64_MAX },         { 0, INT64_MAX },         { 0, UINT32_MAX },
		{ INT64_MIN, INT64_MAX }, { INT32_MIN, INT32_MAX }, { 0, INT64_MAX },
		{ 1, EV_COUNT - 1 },      { -2, INT32_MAX },        { -1, INT32_MAX },
		{ 0, RE_COUNT - 1 },      { 0, UINT8_MAX },         { 0, UINT32_MAX },
		{ 0, UINT32_MAX },        { 0, INT64_MAX },         { 0, UINT32_MAX },
		{ 0, UINT32_MAX },        { 0, UINT16_MAX },        { 0, UINT32_MAX },
		{ 0, INT64_MAX },         { INT32_MIN, INT32_MAX },
	};
	enum { N = sizeof want / sizeof want[0] };
	enum state from = ST_NONE, to;
	int64_t v[N] = { 0 };
	int code = 0;

	for (int i = 0; i < N && code == 0; i++)
		code = sql_column(q, i, table, want[i].lo, want[i].hi, &v[i], err);
	if (code < 0)
		return code;
	if ((v[7] != STORE_STATUS_NONE && !state_from_number((int)v[7], &from)) ||
	    !state_from_number((int)v[8], &to))
		return err_set(err, E_CORRUPT, "%s row with number %" PRId64 ": unknown state",
		               table, v[0]);
	*ret = (struct read_event){
		.number = (uint64_t)v[0],
		.prev = (uint64_t)v[1],
		.key = { .task = (uint32_t)v[2], .run_date = v[3], .part = (int32_t)v[4] },
		.at_us = v[5],
		.event = (uint8_t)v[6],
		.from = (uint8_t)from,
		.to = (uint8_t)to,
		.reason = (uint8_t)v[9],
		.actor_kind = (uint8_t)v[10],
		.epoch = (uint32_t)v[11],
		.session = (uint32_t)v[12],
		.cause = (uint64_t)v[13],
		.generation = (uint32_t)v[14],
		.revision = (uint32_t)v[15],
		.attempt = (uint16_t)v[16],
		.broker = (uint32_t)v[17],
		.token = (uint64_t)v[18],
		.exit_code = (int32_t)v[19],
		.note = (const char *)sqlite3_column_text(q, 20),
	};
	return 0;
}

static int event_query(struct reader *r, const char *rest, sqlite3_stmt **ret, struct err *err)
{
	sqlite3_str *text = sqlite3_str_new(r->db);

	sqlite3_str_appendf(text, "SELECT %s FROM lb_task_event WHERE %s", event_columns, rest);
	return read_prepare(r, text, ret, err);
}

/* Where the walk begins: the instance's last, or what came before `before`. */
static int walk_start(struct reader *r, sqlite3_stmt *q, struct inst_key key, uint64_t before,
                      uint64_t *ret, struct err *err)
{
	struct read_event e = { 0 };
	struct instance i;
	int code = read_find_instance(r, key, &i, err);

	*ret = code < 0 ? 0 : i.last_number;
	if (code < 0 || !before)
		return code;
	sql_bind(q, "i", (int64_t)before);
	code = sql_step(r->db, q, err);
	if (code > 0)
		code = event_row(q, &e, err);
	else if (code == 0)
		return err_set(err, E_INVALID, "no event %" PRIu64, before);
	sqlite3_reset(q);
	if (code == 0 && !inst_key_eq(e.key, key))
		return err_set(err, E_INVALID, "event %" PRIu64 " is another instance's", before);
	*ret = e.prev;
	return code;
}

static int walk(struct reader *r, sqlite3_stmt *q, uint64_t number, size_t limit,
                int (*each)(void *ctx, const struct read_event *e), void *ctx, struct err *err)
{
	struct read_event e = { 0 };
	int code = 0;

	for (size_t n = 0; number && n < limit && code >= 0; n++) {
		sql_bind(q, "i", (int64_t)number);
		code = sql_step(r->db, q, err);
		if (code <= 0) /* older ones are gone by retention */
			return code;
		code = event_row(q, &e, err);
		if (code == 0 && e.prev >= number)
			code = err_set(err, E_CORRUPT,
			               "lb_task_event row with number %" PRIu64
			               ": column prev has %" PRIu64,
			               number, e.prev);
		if (code == 0)
			code = each(ctx, &e);
		sqlite3_reset(q);
		number = e.prev;
	}
	return code < 0 ? code : 0;
}

int read_events(struct reader *r, struct inst_key key, uint64_t before, size_t limit,
                int (*each)(void *ctx, const struct read_event *e), void *ctx, uint64_t *ret_number,
                struct err *err)
{
	uint64_t number = 0, start = 0;
	sqlite3_stmt *q = NULL;
	int code;

	if (limit < 1 || limit > READ_ROWS_MAX)
		return err_set(err, E_INVALID, "limit %zu, want 1..%d", limit, READ_ROWS_MAX);
	code = read_begin(r, &number, err);
	if (code < 0)
		return code;
	code = event_query(r, "number = ?1", &q, err);
	if (code == 0)
		code = walk_start(r, q, key, before, &start, err);
	if (code == 0)
		code = walk(r, q, start, limit, each, ctx, err);
	sqlite3_finalize(q);
	read_end(r, code);
	if (code == 0 && ret_number)
		*ret_number = number;
	return code;
}

int read_data(struct reader *r, const struct instance *i, enum inst_data kind,
              int (*each)(void *ctx, const char *body), void *ctx, struct err *err)
{
	sqlite3_str *text = sqlite3_str_new(r->db);
	sqlite3_stmt *q = NULL;
	const char *body;
	int code = read_begin(r, NULL, err);

	if (code < 0) {
		sqlite3_free(sqlite3_str_finish(text));
		return code;
	}
	sqlite3_str_appendall(text, SQL_DATA_WALK);
	code = read_prepare(r, text, &q, err);
	if (code == 0) {
		sql_bind(q, "iii", (int64_t)i->last_number,
		         (int64_t)(kind == ID_OWN ? 0 : i->generation), (int64_t)kind);
		code = sql_step(r->db, q, err);
		if (code == 0)
			code = E_NOT_FOUND;
		else if (code > 0)
			code = sql_column_text(q, 0, "lb_task_data", &body, err);
		if (code == 0)
			code = each(ctx, body);
	}
	sqlite3_finalize(q);
	read_end(r, code);
	return code;
}

int read_events_after(struct reader *r, uint64_t after, size_t limit,
                      int (*each)(void *ctx, const struct read_event *e), void *ctx,
                      uint64_t *ret_number, struct err *err)
{
	uint64_t number = 0;
	struct read_event e = { 0 };
	sqlite3_stmt *q = NULL;
	int code;

	if (limit < 1 || limit > READ_ROWS_MAX || after > INT64_MAX)
		return err_set(err, E_INVALID, "limit %zu, want 1..%d", limit, READ_ROWS_MAX);
	code = read_begin(r, &number, err);
	if (code < 0)
		return code;
	code = event_query(r, "number > ?1 ORDER BY number LIMIT ?2", &q, err);
	if (code == 0) {
		sql_bind(q, "ii", (int64_t)after, (int64_t)limit);
		while ((code = sql_step(r->db, q, err)) > 0) {
			code = event_row(q, &e, err);
			if (code == 0)
				code = each(ctx, &e);
			if (code < 0)
				break;
		}
	}
	sqlite3_finalize(q);
	read_end(r, code);
	if (code == 0 && ret_number)
		*ret_number = number;
	return code;
}
