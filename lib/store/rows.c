/* Rows of any database decoded into structs. Nothing is believed: each column has a range, a row
 * outside it is E_CORRUPT with its table, its key and the column. Texts are borrowed until the
 * next step. Which statement gave the rows is the caller's; the order of columns is that of the
 * lists in rows.h. */
#include "store/rows.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "sched/label.h"
#include "sched/measure.h"
#include "store/store_impl.h"
#include "util/check.h"
#include "util/err.h"

int rows_step(struct rows *r, struct err *err)
{
	return r->ops->step(r, err);
}

int rows_next(struct rows *r, int code, struct err *err)
{
	if (code >= 0)
		code = rows_step(r, err);
	if (code <= 0)
		rows_close(r);
	return code;
}

void rows_bind(struct rows *r, size_t n, ...)
{
	int64_t values[8];
	va_list ap;

	CHECK(n <= sizeof values / sizeof values[0]);
	va_start(ap, n);
	for (size_t i = 0; i < n; i++)
		values[i] = va_arg(ap, int64_t);
	va_end(ap);
	r->ops->bind(r, values, n);
}

void rows_close(struct rows *r)
{
	if (r)
		r->ops->close(r);
}

static int bad_column(struct rows *r, int column, const char *why, struct err *err)
{
	const char *key = r->ops->text(r, 0, NULL), *value = r->ops->text(r, column, NULL);

	return err_set(err, E_CORRUPT, "%s row with %s %s: column %s has %.40s, %s", r->table,
	               r->ops->name(r, 0), key ? key : "NULL", r->ops->name(r, column),
	               value ? value : "NULL", why);
}

int rows_int(struct rows *r, int column, int64_t lo, int64_t hi, int64_t *ret, struct err *err)
{
	int64_t v = 0;

	CHECK(lo <= hi);
	if (!r->ops->number(r, column, &v))
		return bad_column(r, column, "which is no number", err);
	if (v < lo || v > hi)
		return bad_column(r, column, "which is out of range", err);
	*ret = v;
	return 0;
}

int rows_text(struct rows *r, int column, const char **ret, struct err *err)
{
	const char *text = r->ops->text(r, column, NULL);

	if (!text)
		return bad_column(r, column, "which is no text", err);
	*ret = text;
	return 0;
}

/* What a column may have. */
struct range {
	int64_t lo, hi;
};

static int read_numbers(struct rows *r, const struct range *want, int n, int64_t *ret,
                        struct err *err)
{
	int code = 0;

	CHECK(n > 0);
	for (int i = 0; i < n && code == 0; i++)
		code = rows_int(r, i, want[i].lo, want[i].hi, &ret[i], err);
	return code;
}

/* The order of INSTANCE_COLUMNS: status, then the plain columns as listed. */
enum {
	AT_STATUS,
#define COL(column, member, lo, hi) AT_##column,
#include "store/instance_cols.def"
#undef COL
	AT_COUNT
};

_Static_assert(AT_COUNT == INSTANCE_WIDTH, "INSTANCE_COLUMNS and instance_cols.def");

static int bad_instance(struct rows *r, int column, struct err *err)
{
	const char *value = r->ops->text(r, column, NULL);
	int64_t task = 0, run_date = 0, part = 0;

	r->ops->number(r, AT_task_id, &task);
	r->ops->number(r, AT_curr_run_date, &run_date);
	r->ops->number(r, AT_part, &part);
	return err_set(err, E_CORRUPT,
	               "%s row of task_id %" PRId64 ", curr_run_date %" PRId64 ", part %" PRId64
	               ": column %s has %.40s",
	               r->table, task, run_date, part, r->ops->name(r, column),
	               value ? value : "NULL");
}

int rows_instance(struct rows *r, struct instance *ret, struct err *err)
{
	struct instance i = { 0 };
	enum state st = ST_NONE;
	int64_t v = 0;

	if (!r->ops->number(r, AT_STATUS, &v) || v < INT32_MIN || v > INT32_MAX ||
	    !state_from_number((int)v, &st))
		return bad_instance(r, AT_STATUS, err);
	i.state = (uint8_t)st;
#define COL(column, member, lo, hi) \
	if (!r->ops->number(r, AT_##column, &v) || v < (int64_t)(lo) || v > (int64_t)(hi)) \
		return bad_instance(r, AT_##column, err); \
	i.member = (__typeof__(i.member))v;
#include "store/instance_cols.def"
#undef COL
	*ret = i;
	return 0;
}

/* A column's home in a struct: a number with its range, or text. */
struct field {
	size_t offset;
	uint8_t bytes; /* 0: text */
	struct range range;
};

#define NUMBER(type, member, lo, hi) \
	{ \
		offsetof(struct type, member), sizeof(((struct type *)0)->member), \
		{ \
			(lo), (hi) \
		} \
	}
#define TEXT(type, member) \
	{ \
		offsetof(struct type, member), 0, \
		{ \
			0, 0 \
		} \
	}

static int rows_decode(struct rows *r, const struct field *f, int n, void *ret, struct err *err)
{
	int code = 0;

	for (int i = 0; i < n && code == 0; i++) {
		char *to = (char *)ret + f[i].offset;
		int64_t v = 0;

		if (f[i].bytes == 0) {
			code = rows_text(r, i, (const char **)(void *)to, err);
			continue;
		}
		code = rows_int(r, i, f[i].range.lo, f[i].range.hi, &v, err);
		if (f[i].bytes == 1)
			*(uint8_t *)to = (uint8_t)v;
		else if (f[i].bytes == 4)
			*(uint32_t *)(void *)to = (uint32_t)v;
		else
			*(int64_t *)(void *)to = v;
		CHECK(f[i].bytes == 1 || f[i].bytes == 4 || f[i].bytes == 8);
	}
	return code;
}

#define DECODE(r, fields, ret, err) \
	rows_decode(r, fields, (int)(sizeof fields / sizeof fields[0]), ret, err)

int rows_task(struct rows *r, struct store_task *ret, struct err *err)
{
	static const struct field fields[] = {
		NUMBER(store_task, id, 0, UINT32_MAX),
		TEXT(store_task, name),
		TEXT(store_task, type),
		NUMBER(store_task, cycle_s, INT64_MIN, INT64_MAX),
		NUMBER(store_task, start_s, INT64_MIN, INT64_MAX),
		NUMBER(store_task, end_s, INT64_MIN, INT64_MAX),
		NUMBER(store_task, state, 0, 5), /* TS_OVER */
		NUMBER(store_task, frozen, 0, 1),
		NUMBER(store_task, workflow_id, 0, UINT32_MAX),
		NUMBER(store_task, version, 0, UINT32_MAX),
		NUMBER(store_task, anchor, INT64_MIN, INT64_MAX),
		NUMBER(store_task, online_from, INT64_MIN, INT64_MAX),
		NUMBER(store_task, planned_through, INT64_MIN, INT64_MAX),
		TEXT(store_task, owner),
		NUMBER(store_task, priority, INT32_MIN, INT32_MAX),
		TEXT(store_task, title),
		TEXT(store_task, workflow_title),
		TEXT(store_task, zone),
		NUMBER(store_task, grain, 0, LABEL_GRAINS - 1),
		NUMBER(store_task, quarantined_us, 0, INT64_MAX),
	};

	*ret = (struct store_task){ 0 };
	return DECODE(r, fields, ret, err);
}

int rows_link(struct rows *r, struct store_link *ret, struct err *err)
{
	static const struct field fields[] = {
		NUMBER(store_link, to, 0, UINT32_MAX),
		NUMBER(store_link, from, 0, UINT32_MAX),
		NUMBER(store_link, depend_type, INT32_MIN, INT32_MAX),
		NUMBER(store_link, on, 0, UINT8_MAX),
		NUMBER(store_link, strategy, 0, UINT8_MAX),
		NUMBER(store_link, n, INT32_MIN, INT32_MAX),
	};

	*ret = (struct store_link){ 0 };
	ret->window = r->ops->text(r, 6, NULL);
	return DECODE(r, fields, ret, err);
}

static const char *const doc_tables[] = {
	[DOC_WORKFLOW] = "lb_workflow", [DOC_CALENDAR] = "lb_calendar",
	[DOC_RUNNER] = "lb_runner",     [DOC_BROKER] = "lb_broker",
	[DOC_TYPE] = "lb_task_type",    [DOC_SERVER] = "lb_server",
	[DOC_POOL] = "lb_pool",         [DOC_SETTING] = "lb_setting",
	[DOC_PLAN] = "lb_plan",         [DOC_NODE] = "lb_node",
	[DOC_USER] = "lb_user",         [DOC_SILENCE] = "lb_silence",
	[DOC_GROUP] = "lb_group",       [DOC_TOKEN] = "lb_token",
	[DOC_DRAFT] = "lb_draft",       [DOC_DEVICE] = "lb_device",
	[DOC_PREFS] = "lb_preferences", [DOC_PEER] = "lb_peer",
	[DOC_TRUST] = "lb_trust",       [DOC_EXPOSED] = "lb_exposed",
	[DOC_FACTOR] = "lb_factor",     [DOC_SESSION] = "lb_session",
	[DOC_CHANNEL] = "lb_channel",   [DOC_ONCALL] = "lb_oncall",
	[DOC_RULE] = "lb_rule",
};

const char *doc_table(enum store_doc_kind kind)
{
	return kind >= DOC_WORKFLOW && kind < DOC_END ? doc_tables[kind] : NULL;
}

int rows_doc(struct rows *r, enum store_doc_kind kind, struct store_doc *ret, struct err *err)
{
	static const struct field fields[] = {
		NUMBER(store_doc, id, 0, UINT32_MAX),
		NUMBER(store_doc, version, 0, UINT32_MAX),
		TEXT(store_doc, name),
		NUMBER(store_doc, retired, 0, 1),
		TEXT(store_doc, actor),
		NUMBER(store_doc, at_us, INT64_MIN, INT64_MAX),
		TEXT(store_doc, body),
	};

	*ret = (struct store_doc){ .kind = kind };
	int code = DECODE(r, fields, ret, err);
	if (code == 0)
		ret->body = r->ops->text(r, 6, &ret->body_len);
	return code;
}

int rows_command(struct rows *r, struct store_command *ret, struct err *err)
{
	static const struct field fields[] = {
		NUMBER(store_command, id, 0, INT64_MAX),
		TEXT(store_command, request_id),
		TEXT(store_command, actor),
		TEXT(store_command, kind),
		TEXT(store_command, args),
		TEXT(store_command, error),
		NUMBER(store_command, state, 0, UINT8_MAX),
		NUMBER(store_command, created_us, 0, INT64_MAX),
		NUMBER(store_command, ended_us, 0, INT64_MAX),
		NUMBER(store_command, total, 0, UINT32_MAX),
		NUMBER(store_command, done, 0, UINT32_MAX),
		NUMBER(store_command, failed, 0, UINT32_MAX),
		TEXT(store_command, cursor),
		TEXT(store_command, projects),
	};

	*ret = (struct store_command){ 0 };
	return DECODE(r, fields, ret, err);
}

int rows_alert(struct rows *r, struct store_alert *ret, struct err *err)
{
	static const struct field fields[] = {
		NUMBER(store_alert, id, 1, INT64_MAX),
		TEXT(store_alert, kind),
		NUMBER(store_alert, severity, 0, STORE_SEVERITIES - 1),
		TEXT(store_alert, subject),
		NUMBER(store_alert, task, 0, UINT32_MAX),
		NUMBER(store_alert, run_date, INT64_MIN, INT64_MAX),
		NUMBER(store_alert, generation, 0, UINT32_MAX),
		NUMBER(store_alert, attempt, 0, UINT32_MAX),
		NUMBER(store_alert, since_us, 0, INT64_MAX),
		NUMBER(store_alert, ended_us, 0, INT64_MAX),
		NUMBER(store_alert, acked_us, 0, INT64_MAX),
		TEXT(store_alert, acked_by),
		TEXT(store_alert, ack_note),
		TEXT(store_alert, body),
	};

	*ret = (struct store_alert){ 0 };
	return DECODE(r, fields, ret, err);
}

int rows_item(struct rows *r, uint64_t command, struct store_command_item *ret, struct err *err)
{
	static const struct field fields[] = {
		NUMBER(store_command_item, key.task, 0, UINT32_MAX),
		NUMBER(store_command_item, key.run_date, INT64_MIN, INT64_MAX),
		NUMBER(store_command_item, key.part, INT32_MIN, INT32_MAX),
		NUMBER(store_command_item, code, INT32_MIN, INT32_MAX),
		TEXT(store_command_item, text),
	};

	*ret = (struct store_command_item){ .command = command };
	return DECODE(r, fields, ret, err);
}

int rows_action(struct rows *r, struct read_action *ret, struct err *err)
{
	static const struct field fields[] = {
		NUMBER(read_action, id, 0, INT64_MAX),
		NUMBER(read_action, at_us, INT64_MIN, INT64_MAX),
		TEXT(read_action, actor),
		TEXT(read_action, action),
		TEXT(read_action, object),
		TEXT(read_action, detail),
		TEXT(read_action, hash),
	};

	*ret = (struct read_action){ 0 };
	return DECODE(r, fields, ret, err);
}

int rows_event(struct rows *r, struct read_event *ret, struct err *err)
{
	static const struct range want[] = {
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
	int code = read_numbers(r, want, N, v, err);

	if (code < 0)
		return code;
	if ((v[7] != STORE_STATUS_NONE && !state_from_number((int)v[7], &from)) ||
	    !state_from_number((int)v[8], &to))
		return err_set(err, E_CORRUPT, "%s row with number %" PRId64 ": unknown state",
		               r->table, v[0]);
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
		.note = r->ops->text(r, 20, NULL),
	};
	return 0;
}

int rows_outcome(struct rows *r, struct store_outcome *ret, struct err *err)
{
	static const struct range want[] = {
		{ 0, UINT32_MAX },        { INT64_MIN, INT64_MAX }, { INT64_MIN, INT64_MAX },
		{ INT32_MIN, INT32_MAX }, { 0, RE_COUNT - 1 },      { 0, UINT32_MAX },
	};
	enum state st = ST_NONE;
	int64_t v[6] = { 0 };
	int code = read_numbers(r, want, 6, v, err);

	if (code < 0)
		return code;
	if (v[2] < v[1] || !state_from_number((int)v[3], &st) || !state_final(st))
		return err_set(err, E_CORRUPT,
		               "%s row of task_id %" PRId64 " at %" PRId64
		               ": an end before its begin, or job_status %" PRId64
		               ", which is no final state",
		               r->table, v[0], v[1], v[3]);
	*ret = (struct store_outcome){ .task = (uint32_t)v[0],
		                       .lo = v[1],
		                       .hi = v[2],
		                       .state = (uint8_t)st,
		                       .reason = (uint8_t)v[4],
		                       .generation = (uint32_t)v[5] };
	return 0;
}

int rows_range(struct rows *r, struct store_range *ret, struct err *err)
{
	static const struct range want[] = {
		{ 1, INT64_MAX },         { 0, UINT32_MAX },   { INT64_MIN, INT64_MAX },
		{ INT64_MIN, INT64_MAX }, { 1, UINT32_MAX },   { 0, UINT32_MAX },
		{ INT64_MIN, INT64_MAX }, { 0, RE_COUNT - 1 }, { 0, UINT32_MAX },
		{ 0, UINT8_MAX },
	};
	int64_t v[10] = { 0 };
	int code = read_numbers(r, want, 10, v, err);

	if (code < 0)
		return code;
	if (v[3] < v[2] || v[5] > v[4])
		return err_set(err, E_CORRUPT,
		               "%s row with number %" PRId64
		               ": an end before its begin, or more dates taken than it has",
		               r->table, v[0]);
	*ret = (struct store_range){ .number = (uint64_t)v[0],
		                     .task = (uint32_t)v[1],
		                     .lo = v[2],
		                     .hi = v[3],
		                     .dates = (uint32_t)v[4],
		                     .taken = (uint32_t)v[5],
		                     .at_us = v[6],
		                     .reason = (uint8_t)v[7],
		                     .version = (uint32_t)v[8],
		                     .priority = (uint8_t)v[9] };
	return 0;
}

int rows_stat(struct rows *r, struct store_stat *ret, struct err *err)
{
	static const struct range want[] = {
		{ INT32_MIN, INT32_MAX }, { 0, UINT32_MAX },
		{ INT32_MIN, INT32_MAX }, { STORE_STAT_UNRUN, MEASURE_BUCKETS - 1 },
		{ 1, UINT32_MAX },        { 0, INT64_MAX }
	};
	enum state st = ST_NONE;
	int64_t v[6] = { 0 };
	int code = read_numbers(r, want, 6, v, err);

	if (code == 0 && !state_from_number((int)v[2], &st))
		code = err_set(err, E_CORRUPT, "%s: column job_status has %d, which is no state",
		               r->table, (int)v[2]);
	if (code < 0)
		return code;
	*ret = (struct store_stat){ .day = (int32_t)v[0],
		                    .task = (uint32_t)v[1],
		                    .state = (uint8_t)st,
		                    .bucket = (int16_t)v[3],
		                    .count = (uint32_t)v[4],
		                    .sum_us = v[5] };
	return 0;
}

static int read_name(struct rows *r, int column, char *to, size_t cap, struct err *err)
{
	const char *text = NULL;
	int code = rows_text(r, column, &text, err);

	if (code == 0)
		snprintf(to, cap, "%s", text);
	return code;
}

int rows_lease(struct rows *r, struct store_lease *ret, struct err *err)
{
	static const struct range want[] = {
		{ 0, UINT32_MAX }, { 0, INT64_MAX }, { 0, INT64_MAX },
		{ 0, UINT32_MAX }, { 0, INT64_MAX }, { 0, INT64_MAX }
	};
	int64_t v[6] = { 0 };
	int code = read_numbers(r, want, 6, v, err);

	*ret = (struct store_lease){ .epoch = (uint32_t)v[0],
		                     .beat = (uint64_t)v[1],
		                     .number = (uint64_t)v[2],
		                     .lease_ms = (uint32_t)v[3],
		                     .since_us = v[4],
		                     .renewed_us = v[5] };
	if (code == 0)
		code = read_name(r, 6, ret->who, sizeof ret->who, err);
	if (code == 0)
		code = read_name(r, 7, ret->address, sizeof ret->address, err);
	return code;
}

int rows_each_event(struct rows *r, int (*each)(void *ctx, const int64_t *columns, size_t n),
                    void *ctx, struct err *err)
{
	enum {
#define ECOL(column, value) COLUMN_##column,
#include "store/event_cols.def"
#undef ECOL
		COLUMNS
	};
	int64_t v[COLUMNS];
	int code;

	while ((code = rows_step(r, err)) > 0) {
		for (int i = 0; i < COLUMNS && code >= 0; i++)
			code = rows_int(r, i, i ? INT64_MIN : 1, INT64_MAX, &v[i], err);
		if (code >= 0)
			code = each(ctx, v, COLUMNS);
		if (code < 0)
			break;
	}
	return code;
}

int rows_tip(struct rows *r, struct store_tip *ret, struct err *err)
{
	static const struct range want[] = { { 0, UINT32_MAX - 1 }, { 0, INT64_MAX },
		                             { 0, INT64_MAX },      { 0, INT64_MAX },
		                             { 0, INT64_MAX },      { 0, UINT32_MAX },
		                             { 0, INT64_MAX },      { 0, UINT32_MAX },
		                             { 0, UINT32_MAX } };
	int64_t v[9] = { 0 };
	int code = read_numbers(r, want, 9, v, err);

	*ret = (struct store_tip){ .epoch = (uint32_t)v[0],
		                   .number = (uint64_t)v[1],
		                   .seq = (uint64_t)v[3],
		                   .chain_number = (uint64_t)v[4],
		                   .chain = (uint32_t)v[5],
		                   .mark_number = (uint64_t)v[6],
		                   .mark_chain = (uint32_t)v[7],
		                   .base_epoch = (uint32_t)v[8] };
	if (code == 0)
		code = read_name(r, 9, ret->id, sizeof ret->id, err);
	return code < 0 ? code : read_name(r, 10, ret->key, sizeof ret->key, err);
}

int rows_node(struct rows *r, struct store_node *ret, struct err *err)
{
	static const struct range want[] = { { 0, INT64_MAX }, { INT64_MIN, INT64_MAX } };
	int64_t v[2] = { 0 };
	int code = read_numbers(r, want, 2, v, err);

	*ret = (struct store_node){ .number = (uint64_t)v[0], .age_us = v[1] > 0 ? v[1] : 0 };
	if (code == 0)
		code = read_name(r, 2, ret->who, sizeof ret->who, err);
	if (code == 0)
		code = read_name(r, 3, ret->address, sizeof ret->address, err);
	return code;
}

int rows_gap(struct rows *r, struct store_gap *ret, struct err *err)
{
	static const struct range want[] = { { 0, INT64_MAX }, { 0, INT64_MAX }, { 0, INT64_MAX } };
	int64_t v[3] = { 0 };
	int code = read_numbers(r, want, 3, v, err);

	*ret = (struct store_gap){ (uint64_t)v[0], v[1], v[2] };
	return code;
}
