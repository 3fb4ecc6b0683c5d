/* Instances: lists, one, its history, why it waits.
 *
 * Lists and histories come from the store; what only the server knows (how far a job is, why an
 * instance waits) is asked of it afterwards and put inside the object that the store gave. A server
 * that does not answer takes nothing away from what the store said; a store that does not answer
 * leaves what the server said. Dates that were left out together are one item of a list, with a
 * first and a last. A span that is asked for by local days covers the zones of all tasks that are
 * meant, so it is read wider first and narrowed row by row. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/ended.h"
#include "cgi/server/failed.h"
#include "cgi/server/fresh.h"
#include "cgi/server/list.h"
#include "cgi/server/names.h"
#include "cgi/server/net.h"
#include "cgi/server/show.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/json_in.h"
#include "util/json_put.h"

struct failed_row {
	struct instance row;
	size_t at; /* of its closing bracket, in the answer */
};

struct query {
	struct list list;
	struct read_filter filter;
	struct span span;
	bool zones; /* the span is other instants for other rows of the list */
	uint32_t *tasks;
	char name[CALL_PARAM_BYTES];
	struct inst_key key;
	uint64_t before;
	uint64_t last;
	bool running, in_range;
	struct failed_row *failed; /* of the list that ended badly; freed with the list */
	size_t n_failed;
	size_t bytes; /* of the instance, before the server's word of its progress */
	uint64_t number;
};

static const char *const sorts[READ_SORT_COUNT] = {
	[READ_BY_RUN_DATE] = "run_date", [READ_BY_CHANGE] = "change",     [READ_BY_START] = "start",
	[READ_BY_END] = "end",           [READ_BY_PRIORITY] = "priority", [READ_BY_STATE] = "state",
};

/* Does any of lo..hi lie in what was asked for, as the task's zone reads it? */
static bool is_in_span(struct call *c, uint32_t task, int64_t lo, int64_t hi)
{
	const struct query *q = c->extra;
	int64_t from, to;

	if (!q->zones)
		return true;
	span_in(&q->span, names_zone(c->cgi->names, task), &from, &to);
	return hi >= from && lo < to;
}

static int instance_put(void *ctx, const struct instance *i)
{
	struct call *c = ctx;

	if (!is_in_span(c, i->key.task, i->key.run_date, i->key.run_date))
		return 0;
	show_instance(&c->out, c->cgi->names, i);
	if (failed_is(i)) {
		struct query *q = c->extra;
		q->failed = mem_grow(q->failed, q->n_failed + 1, sizeof *q->failed);
		q->failed[q->n_failed++] = (struct failed_row){ *i, c->out.len - 1 };
	}
	return 0;
}

/* Into each that ended badly its digest, which no query could read while the list's was open. */
static void failed_insert(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	struct buf all;
	size_t from = 0;

	buf_init(&all);
	for (size_t k = 0; k < q->n_failed; k++) {
		const struct failed_row *f = &q->failed[k];
		buf_put(&all, buf_at(&c->out) + from, f->at - from);
		failed_put(&all, r, &f->row, FAILED_SHORT);
		from = f->at;
	}
	buf_put(&all, buf_at(&c->out) + from, c->out.len - from);
	if (q->n_failed) {
		buf_clear(&c->out);
		buf_put(&c->out, buf_at(&all), all.len);
	}
	buf_done(&all);
	free(q->failed);
	q->failed = NULL;
	q->n_failed = 0;
}

static int range_put(void *ctx, const struct store_range *r)
{
	struct call *c = ctx;

	if (is_in_span(c, r->task, r->lo, r->hi))
		show_range(&c->out, c->cgi->names, r);
	return 0;
}

struct members {
	struct call *c;
	uint32_t ids[READ_TASKS_MAX];
	size_t n;
};

static int member_take(void *ctx, const struct store_task *t)
{
	struct members *m = ctx;

	if (m->n == READ_TASKS_MAX)
		return E_LIMIT;
	m->ids[m->n++] = t->id;
	names_set_task(m->c->cgi->names, t);
	return 0;
}

/* One zone, or so wide that it holds what is meant in all of them. */
static void span_take(struct call *c, const struct members *m)
{
	enum { ZONES_S = 86400 };
	struct query *q = c->extra;
	const struct tz *tz = m->n ? names_zone(c->cgi->names, m->ids[0]) : tz_utc();

	q->zones = m->n == 0 && span_is_local(&q->span);
	for (size_t i = 1; i < m->n && span_is_local(&q->span); i++)
		q->zones = q->zones || names_zone(c->cgi->names, m->ids[i]) != tz;
	span_in(&q->span, q->zones ? tz_utc() : tz, &q->filter.from, &q->filter.to);
	if (!q->zones)
		return;
	q->filter.from -= q->span.has_from ? ZONES_S : 0;
	q->filter.to += q->span.has_to ? ZONES_S : 0;
}

/* `task` is a name, or a prefix with '*' at its end. */
static int members_read(struct call *c, struct reader *r, struct members *m)
{
	struct query *q = c->extra;
	size_t n = strlen(q->name);
	struct read_task_filter f = { .prefix = q->name };
	struct read_answer at = { 0 };
	int code;

	if (q->name[n - 1] != '*')
		return read_task(r, q->name, 0, member_take, m, &c->err);
	q->name[n - 1] = '\0';
	do {
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .answer = &at };

		code = read_tasks(r, &f, &page, member_take, m, &c->err);
	} while (code == 0 && at.cursor[0] != '\0');
	q->name[n - 1] = '*';
	if (code == 0 && m->n == 0)
		return call_fail(c, E_NOT_FOUND, "task", "no task matches '%s'", q->name);
	if (code == E_LIMIT) { /* of the question, not of the moment: again it is the same */
		snprintf(c->hint, sizeof c->hint, "name fewer: PROJECT/WORKFLOW/*");
		return call_fail(c, E_INVALID, "task", "more than %d tasks match", READ_TASKS_MAX);
	}
	return code;
}

static int instances_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	struct members m = { .c = c };
	int code = 0;

	if (q->name[0] != '\0') {
		code = members_read(c, r, &m);
		q->filter.tasks = m.ids;
		q->filter.n_tasks = m.n;
	}
	span_take(c, &m);
	list_begin(c);
	if (code == 0)
		code = read_instances(r, &q->filter, &q->list.page, instance_put, c, &c->err);
	q->filter.tasks = NULL;
	list_end(c, &q->list);
	failed_insert(c, r);
	return code;
}

static int sort_read(struct call *c, enum read_sort *ret)
{
	const char *v = call_arg(c, "sort");

	*ret = READ_BY_RUN_DATE;
	if (!v)
		return 0;
	for (int i = 0; i < READ_SORT_COUNT; i++) {
		if (strcmp(sorts[i], v) == 0) {
			*ret = (enum read_sort)i;
			return 0;
		}
	}
	return call_fail(c, E_INVALID, "sort",
	                 "sort wants run_date, change, start, end, priority or state");
}

int instances_get(struct call *c)
{
	static const char *const names[] = { "limit",       "cursor",    "order", "sort",
		                             "task",        "states",    "from",  "to",
		                             "workflow_id", "broker_id", "parts", NULL };
	struct query *q;
	struct read_filter *f;
	const char *task = call_arg(c, "task");
	int64_t workflow, broker;

	if (fresh_reply(c))
		return 0;
	q = c->extra = mem_new(sizeof *q);
	f = &q->filter;
	if (call_args_only(c, names) < 0 || list_args(c, &q->list, 100) < 0 ||
	    sort_read(c, &f->sort) < 0 || states_read(c, "states", &f->states) < 0 ||
	    span_args(c, &q->span) < 0 ||
	    call_arg_int(c, "workflow_id", 0, 0, UINT32_MAX, &workflow) < 0 ||
	    call_arg_int(c, "broker_id", 0, 0, UINT32_MAX, &broker) < 0 ||
	    call_arg_bool(c, "parts", &f->parts) < 0)
		return c->err.code;
	if (task && (task[0] == '\0' || strlen(task) >= sizeof q->name))
		return call_fail(c, E_INVALID, "task", "task wants a name");
	f->each_range = range_put;
	f->workflow = (uint32_t)workflow;
	f->broker = (uint32_t)broker;
	snprintf(q->name, sizeof q->name, "%s", task ? task : "");
	c->names = true;
	c->fresh = FRESH_LIST;
	return call_read(c, instances_work);
}

/* --- one --- */

struct data_put {
	struct call *c;
	const char *key;
};

static int data_put(void *ctx, const char *body)
{
	const struct data_put *p = ctx;

	put_raw(&p->c->out, p->key, body);
	return 0;
}

/* What an instance has beside its row; absent where there is none. */
static int data_read(struct call *c, struct reader *r, const struct instance *i)
{
	static const struct {
		enum inst_data kind;
		const char *key;
	} kinds[] = { { ID_OUTPUTS, "outputs" },
		      { ID_PARAMS, "run_parameters" },
		      { ID_OWN, "instance_parameters" } };

	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
		struct data_put p = { c, kinds[k].key };
		int code = read_data(r, i, kinds[k].kind, data_put, &p, &c->err);
		if (code < 0 && code != E_NOT_FOUND)
			return code;
	}
	c->err = (struct err){ 0 };
	return 0;
}

struct notified {
	struct buf *out;
	uint32_t generation;
};

static int notified_put(void *ctx, const struct read_event *e)
{
	const struct notified *n = ctx;

	if (e->event != EV_NOTIFIED || e->generation != n->generation)
		return 0; /* one of each generation at most */
	put_time_us(n->out, "notified_at", e->at_us);
	if (e->note)
		put_text(n->out, "notified", e->note);
	return 0;
}

/* Who was told of its end, and when: among its last events, for nothing but that comes after it. */
static int notified_read(struct call *c, struct reader *r, const struct instance *i)
{
	enum { BACK_MAX = 20 };
	struct notified n = { &c->out, i->generation };

	if (!(i->flags & IF_NOTIFIED))
		return 0;
	return read_events(r, &(struct read_history){ i->key, 0, BACK_MAX }, notified_put, &n, NULL,
	                   &c->err);
}

static int instance_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	struct instance i;
	int code = read_instance(r, q->key, &i, &c->number, &c->err);

	if (code < 0)
		return code == E_NOT_FOUND ? key_absent(c, q->key) : code;
	show_instance(&c->out, c->cgi->names, &i);
	c->out.len--; /* the rest goes inside the object */
	failed_put(&c->out, r, &i, FAILED_WHOLE);
	code = data_read(c, r, &i);
	if (code == 0)
		code = notified_read(c, r, &i);
	put_close(&c->out, '}');
	q->running = state_holds_slot((enum state)i.state);
	q->in_range = i.marks != 0;
	return code;
}

/* The server's word stands behind the instance: it goes inside. A server that does not answer
 * takes nothing away from what the store said. */
static int progress_done(struct call *c)
{
	const struct query *q = c->extra;
	struct cJSON *root = NULL;
	const struct cJSON *items = NULL;

	if (c->err.code == 0 &&
	    json_parse(buf_str(&c->out) + q->bytes, c->out.len - q->bytes, &root, NULL) == 0)
		items = json_get(root, "items");
	c->err = (struct err){ 0 };
	c->place[0] = c->hint[0] = '\0';
	c->number = q->number;
	c->out.len = q->bytes - 1;
	if (cJSON_GetArraySize(items) == 1)
		put_int(&c->out, "progress_permille",
		        json_int(cJSON_GetArrayItem(items, 0), "permille", 0));
	put_close(&c->out, '}');
	json_free(root);
	return reply_json(c, MHD_HTTP_OK);
}

/* An instant between two dates that were left out together is none of them: the plan knows. */
static int range_done(struct call *c)
{
	const struct query *q = c->extra;
	struct cJSON *root = NULL;
	bool is_date = true;

	if (c->err.code == 0 &&
	    json_parse(buf_str(&c->out) + q->bytes, c->out.len - q->bytes, &root, NULL) == 0)
		is_date = !cJSON_IsFalse(json_get(root, "planned"));
	json_free(root);
	c->err = (struct err){ 0 };
	c->place[0] = c->hint[0] = '\0';
	c->number = q->number;
	c->out.len = is_date ? q->bytes : 0;
	return is_date ? reply_json(c, MHD_HTTP_OK)
	               : call_fail(c, E_NOT_FOUND, "id",
	                           "the task has no such date: it lies between two of them");
}

static int instance_done(struct call *c)
{
	struct query *q = c->extra;
	char id[ID_TEXT_MAX], args[ID_TEXT_MAX + 32];

	if (c->err.code < 0)
		return c->err.code;
	if ((!q->running && !q->in_range) || !net_up(c->cgi->net))
		return reply_json(c, MHD_HTTP_OK);
	c->fresh = FRESH_NO; /* its progress comes without events */
	q->bytes = c->out.len;
	q->number = c->number;
	key_text(q->key, id);
	if (q->in_range) {
		snprintf(args, sizeof args, "{\"instance\":{\"id\":\"%s\"}}", id);
		c->then = range_done;
		return call_query(c, "instance", args);
	}
	snprintf(args, sizeof args, "{\"ids\":\"%s\"}", id);
	c->then = progress_done;
	return call_query(c, "progress", args);
}

static int key_query(struct call *c, const char *const *names)
{
	struct query *q = c->extra = mem_new(sizeof *q);

	return call_args_only(c, names) < 0 ? c->err.code : key_param(c, &q->key);
}

int instance_get(struct call *c)
{
	static const char *const names[] = { NULL };
	struct query *q;

	if (fresh_reply(c))
		return 0;
	if (key_query(c, names) < 0)
		return c->err.code;
	q = c->extra;
	c->fresh = FRESH_ONE;
	c->fresh_key = q->key;
	c->then = instance_done;
	c->names = true;
	return call_read(c, instance_work);
}

static int event_put(void *ctx, const struct read_event *e)
{
	struct call *c = ctx;

	((struct query *)c->extra)->last = e->prev != 0 ? e->number : 0;
	show_event(&c->out, c->cgi->names, e);
	return 0;
}

static int events_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	int code;

	list_begin(c);
	code = read_events(r, &(struct read_history){ q->key, q->before, q->list.page.limit },
	                   event_put, c, &q->list.answer.number, &c->err);
	if (q->last != 0)
		snprintf(q->list.answer.cursor, sizeof q->list.answer.cursor, "%llu",
		         (unsigned long long)q->last);
	list_end(c, &q->list);
	return code == E_NOT_FOUND ? key_absent(c, q->key) : code;
}

int instance_events_get(struct call *c)
{
	static const char *const names[] = { "limit", "cursor", NULL };
	struct query *q;
	int64_t before;

	if (key_query(c, names) < 0)
		return c->err.code;
	q = c->extra;
	if (list_args(c, &q->list, 100) < 0 ||
	    call_arg_int(c, "cursor", 0, 1, INT64_MAX, &before) < 0)
		return c->err.code;
	q->before = (uint64_t)before;
	c->names = true;
	return call_read(c, events_work);
}

/* --- asked of the server --- */

static void text_replace(cJSON *in, const char *key, const char *value)
{
	cJSON_ReplaceItemInObjectCaseSensitive(in, key, cJSON_CreateString(value));
}

/* Owns `root`. */
static void answer_replace(struct call *c, struct cJSON *root)
{
	char *text = cJSON_PrintUnformatted(root);

	buf_clear(&c->out);
	buf_puts(&c->out, text);
	free(text);
	json_free(root);
}

/* The server's answer, of one that is over as the store has it. */
static void over_put(struct call *c, const struct instance *i, const struct ended *w)
{
	const char *state = state_name((enum state)i->state);
	struct cJSON *root = NULL;
	char reason[120] = "", by[700] = "";
	struct buf line;

	if (json_parse(buf_str(&c->out), c->out.len, &root, NULL) < 0)
		return;
	if (i->reason != 0)
		snprintf(reason, sizeof reason, ", %s", reason_text((enum reason)i->reason));
	if (w->actor[0])
		snprintf(by, sizeof by, "; command %llu (%s) by %s%s%s",
		         (unsigned long long)w->cause, w->kind, w->actor, w->message[0] ? ": " : "",
		         w->message);
	buf_init(&line);
	buf_printf(&line, "%s%s%s%s", state_word((enum state)i->state), reason, w->note, by);
	cJSON *args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "state", state);
	cJSON_AddStringToObject(args, "reason", reason);
	cJSON_AddStringToObject(args, "note", w->note);
	cJSON_AddStringToObject(args, "by", by);
	text_replace(root, "state", state);
	text_replace(root, "code", "over");
	text_replace(root, "line", buf_str(&line));
	cJSON_ReplaceItemInObjectCaseSensitive(root, "args", args);
	answer_replace(c, root);
	buf_done(&line);
}

/* Inside the object that the answer is. */
static void over_ended(struct call *c, struct reader *r, const struct instance *i,
                       const struct ended *w)
{
	if (c->out.len == 0 || buf_at(&c->out)[c->out.len - 1] != '}')
		return;
	c->out.len--;
	failed_put(&c->out, r, i, FAILED_WHOLE);
	ended_put(&c->out, c->cgi->names, r, i, w);
	put_close(&c->out, '}');
}

#define IS_SECRET "\"code\":\"secret\""

/* What it waits for, in the words of the event that put it off. */
static void secret_put(struct call *c, const struct ended *w)
{
	struct cJSON *root = NULL;
	struct buf line;

	if (!w->note[0] || json_parse(buf_str(&c->out), c->out.len, &root, NULL) < 0)
		return;
	const char *note = w->note + strlen(": "), *at = json_text(json_get(root, "args"), "at");
	buf_init(&line);
	buf_printf(&line, "%s; it is tried again %s", note, at ? at : "");
	text_replace((cJSON *)(uintptr_t)json_get(root, "args"), "note", note);
	text_replace(root, "line", buf_str(&line));
	answer_replace(c, root);
	buf_done(&line);
}

static int over_work(struct call *c, struct reader *r)
{
	const struct query *q = c->extra;
	struct instance i;
	struct ended w;

	int found = read_instance(r, q->key, &i, NULL, &c->err);

	if (found == 0 && state_final((enum state)i.state)) {
		ended_read(r, &i, &w);
		over_put(c, &i, &w);
		over_ended(c, r, &i, &w);
	} else if (found == 0 && strstr(buf_str(&c->out), IS_SECRET) && i.state == ST_FAILED) {
		ended_read(r, &i, &w);
		secret_put(c, &w);
	}
	c->err = (struct err){ 0 }; /* there is none: what the server said holds */
	return 0;
}

/* Of what is out of force the server knows nothing: its row in the store says how it ended. */
static int gone_work(struct call *c, struct reader *r)
{
	const struct query *q = c->extra;
	struct err err = { 0 };
	struct instance i;
	struct ended w;

	if (read_instance(r, q->key, &i, NULL, &err) < 0 || !state_final((enum state)i.state))
		return c->err.code; /* the server's refusal stands */
	c->err = (struct err){ 0 };
	ended_read(r, &i, &w);
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	show_key(&c->out, c->cgi->names, i.key, i.version);
	put_text(&c->out, "state", "");
	put_int(&c->out, "gate", 0);
	put_text(&c->out, "gate_name", "");
	put_text(&c->out, "code", "over");
	put_null(&c->out, "args");
	put_text(&c->out, "line", "");
	put_text(&c->out, "opens", "");
	put_null(&c->out, "expected");
	put_open(&c->out, "waits_for", '[');
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	over_put(c, &i, &w);
	over_ended(c, r, &i, &w);
	return 0;
}

static int gone_shown(struct call *c)
{
	return c->err.code < 0 ? c->err.code : reply_json(c, MHD_HTTP_OK);
}

/* Without the store's word the server's holds, as while a database stands still. */
static int why_shown(struct call *c)
{
	c->err = (struct err){ 0 };
	c->place[0] = c->hint[0] = '\0';
	return reply_json(c, MHD_HTTP_OK);
}

/* The server keeps in memory how instances ended. The store alone has the ends of parts, and what
 * the events say. */
static int why_done(struct call *c)
{
	const struct query *q = c->extra;
	const char *said = buf_str(&c->out);

	if (c->err.code == E_NOT_FOUND) {
		c->then = gone_shown;
		c->names = true;
		return call_read(c, gone_work);
	}
	if (c->err.code < 0)
		return c->err.code;
	c->then = why_shown;
	if (strstr(said, "\"code\":\"over\"") || strstr(said, IS_SECRET) ||
	    (q->key.part != 0 && strstr(said, "\"code\":\"unplanned\"")))
		return call_read(c, over_work);
	return why_shown(c);
}

int instance_why_get(struct call *c)
{
	static const char *const names[] = { NULL };
	char id[ID_TEXT_MAX], args[ID_TEXT_MAX + 40];
	struct query *q;

	if (key_query(c, names) < 0)
		return c->err.code;
	q = c->extra;
	key_text(q->key, id);
	snprintf(args, sizeof args, "{\"instance\":{\"id\":\"%s\"}}", id);
	c->then = why_done;
	return call_query(c, "why", args);
}
