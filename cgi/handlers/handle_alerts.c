/* What people were told of, silences, and what the notifier says of its channels and rules.
 *
 * Alerts and silences stand in the store: the notifier raises and ends alerts, people acknowledge
 * them by a command of the server. Who may acknowledge is judged here by whose the alert is:
 * operators all of them, everybody what is his own. Channels, rules and tests of channels are the
 * notifier's to answer; the server carries the question to its session, and without a notifier the
 * answer says so. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_commands.h"
#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/list.h"
#include "cgi/server/names.h"
#include "cgi/who/auth.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "util/json_put.h"

enum { NOTE_MAX = 1000, TO_MAX = 400 };

static const char *const words[] = {
#define ALERT(name, word, severity, lasts, en, zh) word,
#include "tbl/alert.def"
#undef ALERT
};

struct query {
	struct list list;
	struct read_alerts filter;
	uint64_t id;
	bool has_task, is_owner, all;
	uint32_t task;
};

/* --- one alert as JSON --------------------------------------------------------------- */

static int64_t alerts_number(const cJSON *o, const char *key)
{
	const cJSON *v = json_get(o, key);

	return cJSON_IsNumber(v) ? (int64_t)v->valuedouble : 0;
}

static void put_told(struct buf *b, const cJSON *list)
{
	const cJSON *v;

	put_open(b, "told", '[');
	cJSON_ArrayForEach(v, list) {
		put_open(b, NULL, '{');
		put_text(b, "to", json_text(v, "to"));
		put_text(b, "channel", json_text(v, "channel"));
		put_text(b, "state", json_text(v, "state"));
		put_time_us(b, "at", alerts_number(v, "at_us"));
		put_time_us(b, "next", alerts_number(v, "next_us"));
		put_int(b, "tries", alerts_number(v, "tries"));
		put_text(b, "error", json_text(v, "error"));
		put_close(b, '}');
	}
	put_close(b, ']');
}

static void put_instance(struct buf *b, struct names *n, const struct store_alert *a)
{
	char id[48], label[LABEL_TEXT] = "";

	snprintf(id, sizeof id, "%u.%lld", a->task, (long long)a->run_date);
	put_text(b, "instance", a->task != 0 ? id : NULL);
	put_text(b, "task", a->task != 0 ? a->subject : NULL);
	if (a->task != 0)
		put_time(b, "run_date", a->run_date);
	else
		put_null(b, "run_date");
	if (a->task != 0)
		names_label(n, a->task, 0, a->run_date, label);
	put_text(b, "label", a->task != 0 ? label : NULL);
	put_int(b, "generation", a->generation);
	put_int(b, "attempt", a->attempt);
}

static void put_acknowledged(struct buf *b, const struct store_alert *a)
{
	if (a->acked_us == 0) {
		put_null(b, "acknowledged");
		return;
	}
	put_open(b, "acknowledged", '{');
	put_text(b, "by", a->acked_by);
	put_time_us(b, "at", a->acked_us);
	put_text(b, "note", a->ack_note);
	put_close(b, '}');
}

static int alert_put(void *ctx, const struct store_alert *a)
{
	static const char *const severities[] = { "notice", "warning", "critical" };
	struct buf *b = &((struct call *)ctx)->out;
	cJSON *body = NULL;

	if (json_parse(a->body, strlen(a->body), &body, NULL) < 0)
		body = cJSON_CreateObject();
	put_open(b, NULL, '{');
	put_id(b, "id", a->id);
	put_text(b, "kind", a->kind);
	put_text(b, "severity", severities[a->severity]);
	put_text(b, "state", a->ended_us == 0 ? "open" : "ended");
	put_text(b, "subject", a->subject);
	put_instance(b, ((struct call *)ctx)->cgi->names, a);
	put_time_us(b, "since", a->since_us);
	put_time_us(b, "ended", a->ended_us);
	put_text(b, "reason", json_text(body, "reason"));
	put_text(b, "note", json_text(body, "note"));
	put_text(b, "silenced", json_text(body, "silenced"));
	put_told(b, json_get(body, "told"));
	put_acknowledged(b, a);
	put_close(b, '}');
	json_free(body);
	return 0;
}

/* --- lists --------------------------------------------------------------------------- */

static int alerts_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	int code;

	list_begin(c);
	code = read_alerts(r, &q->filter, &q->list.page, alert_put, c, &c->err);
	list_end(c, &q->list);
	return code;
}

static int state_arg(struct call *c, struct read_alerts *f)
{
	const char *v = call_arg(c, "state");

	f->open = v && strcmp(v, "open") == 0;
	f->ended = v && strcmp(v, "ended") == 0;
	return !v || f->open || f->ended
	               ? 0
	               : call_fail(c, E_INVALID, "state", "state wants open or ended");
}

static int kind_arg(struct call *c, struct read_alerts *f)
{
	f->kind = call_arg(c, "kind");
	for (size_t i = 0; f->kind && i < sizeof words / sizeof words[0]; i++)
		if (strcmp(words[i], f->kind) == 0)
			return 0;
	return !f->kind ? 0
	                : call_fail(c, E_INVALID, "kind",
	                            "nothing of the kind '%.40s' is ever told; want one "
	                            "such as failed or late",
	                            f->kind);
}

static int filter_args(struct call *c, struct query *q)
{
	int64_t since = 0;
	bool acked = false;

	if (state_arg(c, &q->filter) < 0 || kind_arg(c, &q->filter) < 0 ||
	    instant_arg(c, "since", &since) < 0 || call_arg_bool(c, "acknowledged", &acked) < 0)
		return c->err.code;
	if (since < 0 || since > INT64_MAX / US_PER_S)
		return call_fail(c, E_INVALID, "since", "since wants an instant after 1970");
	q->filter.since_us = since * US_PER_S;
	q->filter.acked = call_arg(c, "acknowledged") && acked;
	q->filter.unacked = call_arg(c, "acknowledged") && !acked;
	q->filter.project = call_arg(c, "project");
	q->filter.workflow = call_arg(c, "workflow");
	return 0;
}

int alerts_get(struct call *c)
{
	static const char *const names[] = { "limit", "cursor",  "order",    "state",        "kind",
		                             "since", "project", "workflow", "acknowledged", NULL };
	struct query *q = c->extra = mem_new(sizeof *q);

	if (call_args_only(c, names) < 0 || list_args(c, &q->list, 100) < 0 ||
	    filter_args(c, q) < 0)
		return c->err.code;
	if (!call_arg(c, "order"))
		q->list.page.descending = true;
	return call_read(c, alerts_work);
}

/* --- one ------------------------------------------------------------------------------- */

static int id_param(struct call *c, const char *what)
{
	struct query *q = c->extra = mem_new(sizeof *q);
	const char *p = c->params[0];
	size_t n = strspn(p, "0123456789");

	if (n == 0 || n > 19 || p[n] != '\0')
		return call_fail(c, E_INVALID, "id", "want %s's number", what);
	q->id = strtoull(p, NULL, 10);
	return 0;
}

static int alert_work(struct call *c, struct reader *r)
{
	return read_alert(r, ((struct query *)c->extra)->id, alert_put, c, &c->err);
}

int alert_get(struct call *c)
{
	static const char *const none[] = { NULL };

	if (call_args_only(c, none) < 0 || id_param(c, "an alert") < 0)
		return c->err.code;
	return call_read(c, alert_work);
}

/* --- acknowledged ---------------------------------------------------------------------- */

static int alert_seen(void *ctx, const struct store_alert *a)
{
	struct query *q = ((struct call *)ctx)->extra;

	q->has_task = a->task != 0;
	q->task = a->task;
	return 0;
}

static int owner_seen(void *ctx, const struct store_task *t)
{
	struct call *c = ctx;
	struct query *q = c->extra;

	q->is_owner = c->user[0] != '\0' && t->owner && strcmp(t->owner, c->user) == 0;
	return 0;
}

static int may_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	int code = read_alert(r, q->id, alert_seen, c, &c->err);

	if (code == 0 && q->has_task)
		code = read_task(r, NULL, q->task, owner_seen, c, &c->err);
	return code;
}

/* A text of the body of at most `max` bytes; NULL when there is none. */
static int text_member(struct call *c, const char *key, size_t max, const char **ret)
{
	*ret = json_text(c->json, key);
	if (json_get(c->json, key) && !*ret)
		return call_fail(c, E_INVALID, key, "'%s' wants a text", key);
	if (*ret && strlen(*ret) > max)
		return call_fail(c, E_INVALID, key, "'%s' wants at most %zu bytes", key, max);
	return 0;
}

static int acknowledged(struct call *c)
{
	return c->err.code < 0 ? c->err.code : reply_json(c, MHD_HTTP_OK);
}

static int acknowledge(struct call *c)
{
	struct query *q = c->extra;
	const char *note = json_text(c->json, "note");
	cJSON *args;
	char id[24], *text;
	int r;

	if (c->err.code < 0)
		return c->err.code;
	if (c->role < ROLE_OPERATOR && !q->is_owner)
		return call_fail(c, E_FORBIDDEN, "id",
		                 "only an operator or the owner of its task may acknowledge it");
	snprintf(id, sizeof id, "%llu", (unsigned long long)q->id);
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "alert", id);
	if (note)
		cJSON_AddStringToObject(args, "note", note);
	/* What is his own he may acknowledge wherever it is. */
	text = q->is_owner ? cJSON_PrintUnformatted(args) : command_args(c, "alert-ack", args);
	c->then = acknowledged;
	r = call_command(c, "alert-ack", text, false, c->request_id);
	free(text);
	cJSON_Delete(args);
	return r;
}

int alert_acknowledge(struct call *c)
{
	static const char *const keys[] = { "note", NULL };
	const char *note;

	if (call_members_only(c, keys) < 0 || text_member(c, "note", NOTE_MAX, &note) < 0 ||
	    id_param(c, "an alert") < 0)
		return c->err.code;
	c->then = acknowledge;
	return call_read(c, may_work);
}

/* --- silences -------------------------------------------------------------------------- */

static void put_covers(struct buf *b, const char *covers)
{
	char part[400];
	size_t n = strcspn(covers, "/"), m = n;

	if (covers[n] == '/')
		m = n + 1 + strcspn(covers + n + 1, "/");
	snprintf(part, sizeof part, "%.*s", (int)n, covers);
	put_text(b, "project", n > 0 ? part : NULL);
	snprintf(part, sizeof part, "%.*s", (int)m, covers);
	put_text(b, "workflow", m > n ? part : NULL);
	put_text(b, "task", covers[m] == '/' ? covers : NULL);
}

static int silence_put(void *ctx, const struct store_doc *d)
{
	struct call *c = ctx;
	const struct query *q = c->extra;
	int64_t now = clock_wall_us(&clock_machine) / US_PER_S;
	cJSON *body = NULL;
	const char *kind;

	if (json_parse(d->body, d->body_len, &body, NULL) < 0)
		body = cJSON_CreateObject();
	int64_t from = alerts_number(body, "from"), until = alerts_number(body, "until");
	kind = json_text(body, "kind");
	if (q->all || until > now) {
		put_open(&c->out, NULL, '{');
		put_text(&c->out, "id", d->name);
		put_text(&c->out, "state",
		         until <= now  ? "over"
		         : from <= now ? "active"
		                       : "to come");
		put_covers(&c->out, json_text(body, "covers") ? json_text(body, "covers") : "");
		put_text(&c->out, "kind", kind && *kind != '\0' ? kind : NULL);
		put_time(&c->out, "from", from);
		put_time(&c->out, "until", until);
		put_text(&c->out, "reason", json_text(body, "reason"));
		put_text(&c->out, "by", json_text(body, "by"));
		put_time_us(&c->out, "made", d->at_us);
		put_close(&c->out, '}');
	}
	json_free(body);
	return 0;
}

static int silences_work(struct call *c, struct reader *r)
{
	int code;

	put_open(&c->out, NULL, '{');
	put_open(&c->out, "silences", '[');
	code = read_doc_bodies(r, DOC_SILENCE, silence_put, c, &c->err);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return code;
}

int silences_get(struct call *c)
{
	static const char *const names[] = { "all", NULL };
	struct query *q = c->extra = mem_new(sizeof *q);

	if (call_args_only(c, names) < 0 || call_arg_bool(c, "all", &q->all) < 0)
		return c->err.code;
	return call_read(c, silences_work);
}

int silences_post(struct call *c)
{
	static const char *const keys[] = { "project", "workflow", "task",   "kind",
		                            "from",    "until",    "reason", NULL };

	return call_members_only(c, keys) < 0 ? c->err.code
	                                      : command_ask(c, "silence-add", c->json);
}

int silence_delete(struct call *c)
{
	static const char *const none[] = { NULL };
	cJSON *args;
	int r;

	if (call_args_only(c, none) < 0 || id_param(c, "a silence") < 0)
		return c->err.code;
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "silence", c->params[0]);
	r = command_ask(c, "silence-remove", args);
	cJSON_Delete(args);
	return r;
}

/* --- asked of the notifier ------------------------------------------------------------- */

static int alerts_ask(struct call *c, const char *kind, const cJSON *args)
{
	char *text = cJSON_PrintUnformatted(args);
	int r = call_query(c, kind, text);

	free(text);
	return r;
}

int channels_get(struct call *c)
{
	static const char *const none[] = { NULL };

	return call_args_only(c, none) < 0 ? c->err.code : call_query(c, "channels", "{}");
}

/* Whose rights end at projects tests channels of these only: the notifier judges. */
static void within_put(struct call *c, cJSON *args)
{
	char *has = auth_within(c, ROLE_OPERATOR, 0);
	cJSON *projects = has ? cJSON_Parse(has) : NULL;

	if (projects)
		cJSON_AddItemToObject(args, "within", projects);
	free(has);
}

int channel_test(struct call *c)
{
	static const char *const keys[] = { "to", NULL };
	const char *to;
	cJSON *args;
	int r;

	if (call_members_only(c, keys) < 0 || text_member(c, "to", TO_MAX, &to) < 0)
		return c->err.code;
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "channel", c->params[0]);
	cJSON_AddStringToObject(args, "actor", c->actor);
	if (to)
		cJSON_AddStringToObject(args, "to", to);
	within_put(c, args);
	r = alerts_ask(c, "channel-test", args);
	cJSON_Delete(args);
	return r;
}

int rules_get(struct call *c)
{
	static const char *const names[] = { "workflow", NULL };
	const char *workflow = call_arg(c, "workflow");
	cJSON *args;
	int r;

	if (call_args_only(c, names) < 0)
		return c->err.code;
	if (!workflow)
		return rules_list(c);
	if (*workflow == '\0')
		return call_fail(c, E_INVALID, "workflow", "which workflow: project/workflow");
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "workflow", workflow);
	r = alerts_ask(c, "rules", args);
	cJSON_Delete(args);
	return r;
}
