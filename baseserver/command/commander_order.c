/* Arguments of each kind, checked before anything is recorded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply.h"
#include "baseserver/command/commander_impl.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"

enum { KEYS_MAX = 16, PARALLEL_MAX = 1000, MESSAGE_MAX = 1000, DOCUMENTS_MAX = 10000 };

/* Besides `message` and `within`. */
static const char *const keys_of[CK_COUNT][KEYS_MAX] = {
	[CK_APPLY] = { "documents", "retire", "retire_calendars", "retire_libraries", "detach",
	               "from", "prune", "preview" },
	[CK_RETIRE] = { "selection", "detach", "running" },
	[CK_ONLINE] = { "selection", "from" },
	[CK_OFFLINE] = { "selection", "detach" },
	[CK_FREEZE] = { "selection" },
	[CK_UNFREEZE] = { "selection" },
	[CK_REDO] = { "selection", "mode", "scope", "running", "body", "priority", "params",
	              "failed_parts" },
	[CK_BACKFILL] = { "selection", "parallel", "order", "dependencies", "finished", "running",
	                  "priority", "stop_on_failure", "off_plan", "params" },
	[CK_KILL] = { "selection", "grace_ms" },
	[CK_FORCE_SUCCESS] = { "selection" },
	[CK_PRIORITY] = { "selection", "priority" },
	[CK_SKIP] = { "selection" },
	[CK_RUN_NOW] = { "selection", "off_plan", "params" },
	[CK_TEST_RUN] = { "selection", "document" },
	[CK_ENQUEUE] = { "selection" },
	[CK_DECLARE_DEAD] = { "selection" },
	[CK_LOG_LEVEL] = { "level", "brokers", "type" },
	[CK_BROKER_DRAIN] = { "brokers" },
	[CK_BROKER_UNDRAIN] = { "brokers" },
	[CK_NODE_FORGET] = { "node" },
	[CK_POOL_SET] = { "pool", "size" },
	[CK_POOL_REMOVE] = { "pool" },
	[CK_QUOTA_SET] = { "project", "running" },
	[CK_USER_SET] = { "user", "role", "projects", "rights", "mail", "phone", "chat",
	                  "full_name", "disabled", "secret", "source", "subject", "groups" },
	[CK_USER_REMOVE] = { "user" },
	[CK_GROUP_SET] = { "group", "role", "projects", "rights", "members", "description",
	                   "source", "external" },
	[CK_GROUP_REMOVE] = { "group" },
	[CK_TOKEN_SET] = { "token", "owner", "role", "projects", "rights", "app", "hash", "created",
	                   "expires" },
	[CK_TOKEN_REMOVE] = { "token" },
	[CK_DEVICE_SET] = { "device", "owner", "endpoint", "p256dh", "auth", "label", "least",
	                    "language", "created" },
	[CK_DEVICE_REMOVE] = { "device" },
	[CK_SERVER_SET] = { "server", "kind", "host", "port", "user", "database", "extra",
	                    "concurrency", "projects", "password" },
	[CK_SERVER_REMOVE] = { "server" },
	[CK_PLUGIN_REGISTER] = { "type", "version", "sha256", "abi", "brokers", "groups" },
	[CK_PLUGIN_ENABLE] = { "type", "version", "brokers", "groups" },
	[CK_PLUGIN_DRAIN] = { "type" },
	[CK_PLUGIN_ROLLBACK] = { "type", "own" },
	[CK_PLUGIN_REMOVE] = { "type", "version" },
	[CK_PLUGIN_RELEASE] = { "type", "brokers" },
	[CK_SESSION_END] = { "user", "sessions" },
	[CK_TOKEN_END] = { "token", "app" },
	[CK_PREFERENCES_SET] = { "user", "version", "value" },
	[CK_ALERT_ACK] = { "alert", "note" },
	[CK_SILENCE_ADD] = { "project", "workflow", "task", "kind", "from", "until", "reason" },
	[CK_SILENCE_REMOVE] = { "silence" },
	[CK_COMMAND_PAUSE] = { "command" },
	[CK_COMMAND_RESUME] = { "command" },
	[CK_COMMAND_CANCEL] = { "command" },
};

static int parse_retire(struct order *o, struct refusal *f)
{
	static const char *const runnings[] = { "refuse", "wait", NULL };
	int running = 0, r = arg_choice(o->args, "args", "running", runnings, &running, f);

	o->let_end = running == 1;
	return r;
}

static int parse_redo(struct order *o, struct refusal *f)
{
	static const char *const modes[] = { "self", "with_downstream", "downstream", NULL };
	static const char *const scopes[] = { "workflow", "project", "all", NULL };
	static const char *const runnings[] = { "leave", "wait", "kill", NULL };
	static const char *const bodies[] = { "current", "old", NULL };
	int running = 0, body = 0, r;

	if ((r = arg_choice(o->args, "args", "mode", modes, &o->mode, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "scope", scopes, &o->scope, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "running", runnings, &running, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "body", bodies, &body, f)) < 0 ||
	    (r = arg_truth(o->args, "args", "failed_parts", &o->failed_parts, f)) < 0)
		return r;
	if (o->failed_parts && (running == 2 || o->mode != REDO_SELF))
		return refuse(f, E_INVALID, "args.failed_parts",
		              "mode: self, running: leave or wait",
		              "args.failed_parts: with %s the parts that are well would run again",
		              running == 2 ? "running: kill" : "a mode that takes downstream");
	o->wait_running = running == 1;
	o->old_body = body == 1;
	o->kill_running = o->kill_downstream = running == 2;
	return 0;
}

static int parse_backfill(struct order *o, struct refusal *f)
{
	static const char *const orders[] = { "asc", "desc", "free", NULL };
	static const char *const depends[] = { "inside", "all", "ignore", NULL };
	static const char *const finisheds[] = { "redo", "leave", NULL };
	static const char *const runnings[] = { "leave", "kill", NULL };
	int depend = 0, finished = 0, running = 0, r;

	if ((r = arg_number(o->args, "args", "parallel", 0, PARALLEL_MAX, &o->parallel, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "order", orders, &o->order, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "dependencies", depends, &depend, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "finished", finisheds, &finished, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "running", runnings, &running, f)) < 0 ||
	    (r = arg_truth(o->args, "args", "stop_on_failure", &o->stop_on_failure, f)) < 0)
		return r;
	o->dependencies = depend;
	if (o->stop_on_failure && o->parallel == 0)
		o->parallel = PARALLEL_NO_CAP;
	o->leave_finished = finished == 1;
	o->kill_running = running == 1;
	return 0;
}

static int parse_from(struct order *o, struct refusal *f)
{
	const char *text = NULL;
	struct when w;
	int r = arg_text(o->args, "args", "from", 60, &text, f);

	o->from = o->now_us / US_PER_S;
	if (r < 0 || !text)
		return r;
	if (!when_parse(text, &w))
		return refuse(f, E_INVALID, "args.from", "2026-03-01T02:30:00Z",
		              "args.from: '%.60s' is no instant", text);
	o->has_from = true;
	o->from_is_local = w.is_local;
	o->from = w.is_local ? w.label : w.at;
	return 0;
}

enum { NODE_NAME_MAX = 200 };

static int parse_number_text(const struct order *o, const char *key, uint64_t *ret,
                             struct refusal *f)
{
	const struct jval *v = jv_get(o->args, key);
	char *end = NULL;

	if (v && v->kind == JV_TEXT && v->len && v->len < 20 &&
	    strspn(v->text, "0123456789") == v->len) {
		*ret = strtoull(v->text, &end, 10);
		return 0;
	}
	return refuse(f, E_INVALID, "args.command", "\"12\"",
	              "args.command: a command's number in quotes is expected, not %s",
	              jv_kind_name(v));
}

static int parse_names(struct order *o, bool needed, struct refusal *f)
{
	int r = arg_list(o->args, "args", "brokers", 1000, &o->brokers, f);

	if (r < 0)
		return r;
	if (needed && (!o->brokers || o->brokers->len == 0))
		return refuse(f, E_INVALID, "args.brokers", "[\"etl-1\"]",
		              "args.brokers: names of brokers are expected");
	for (const struct jval *v = o->brokers ? o->brokers->first : NULL; v; v = v->next)
		if (v->kind != JV_TEXT || v->len == 0 || v->len > 63)
			return refuse(f, E_INVALID, "args.brokers", NULL,
			              "args.brokers: a broker's name is expected, not %s",
			              jv_kind_name(v));
	return 0;
}

static int parse_node(struct order *o, struct refusal *f)
{
	int r = arg_text(o->args, "args", "node", NODE_NAME_MAX, &o->node, f);

	return r == 0 && (!o->node || (unsigned char)o->node[0] <= ' ')
	               ? refuse(f, E_INVALID, "args.node", "\"etl-1\"",
	                        "args.node: the name or the id of a node is expected")
	               : r;
}

static int parse_retired(struct order *o, const char *key, const char *like,
                         const struct jval **ret_list, struct refusal *f)
{
	char at[40], list[80];
	int r = arg_list(o->args, "args", key, 100, ret_list, f);

	snprintf(at, sizeof at, "args.%s", key);
	snprintf(list, sizeof list, "[\"%s\"]", like);
	if (r < 0 || !*ret_list)
		return r;
	if ((*ret_list)->len == 0)
		return refuse(f, E_INVALID, at, list, "%s: names are expected", at);
	for (const struct jval *v = (*ret_list)->first; v; v = v->next)
		if (v->kind != JV_TEXT || v->len == 0)
			return refuse(f, E_INVALID, at, list, "%s: a name is expected, not %s", at,
			              jv_kind_name(v));
	return 0;
}

static int parse_prune(struct order *o, struct refusal *f)
{
	int r = arg_list(o->args, "args", "prune", 100, &o->prune, f);
	char why[NAME_WHY_BYTES];

	for (const struct jval *v = r == 0 && o->prune ? o->prune->first : NULL; v; v = v->next) {
		if (v->kind != JV_TEXT)
			return refuse(f, E_INVALID, "args.prune", "[\"retail\"]",
			              "args.prune: a project's name is expected, found %s",
			              jv_kind_name(v));
		if (name_wrong(v->text, why))
			return refuse_name(f, "args.prune", v->text, why);
	}
	return r;
}

static const char *const levels[] = { "error", "warn", "info", "debug", NULL };

const char *order_level_name(int level)
{
	return levels[level];
}

static int parse_level(struct order *o, struct refusal *f)
{
	if (!jv_get(o->args, "level"))
		return refuse(f, E_INVALID, "args.level", "error, warn, info, debug",
		              "args.level: is missing");
	int r = arg_choice(o->args, "args", "level", levels, &o->level, f);

	if (r == 0)
		r = parse_names(o, false, f);
	return r == 0 && jv_get(o->args, "type") ? order_parse_plugin(o, f) : r;
}

static int parse_others(struct order *o, struct refusal *f)
{
	int r = 0;

	switch (o->kind) {
	case CK_LOG_LEVEL:
		return parse_level(o, f);
	case CK_BROKER_DRAIN:
	case CK_BROKER_UNDRAIN:
		return parse_names(o, true, f);
	case CK_NODE_FORGET:
		return parse_node(o, f);
	case CK_COMMAND_PAUSE:
	case CK_COMMAND_RESUME:
	case CK_COMMAND_CANCEL:
		return parse_number_text(o, "command", &o->command, f);
	case CK_POOL_SET:
	case CK_POOL_REMOVE:
	case CK_QUOTA_SET:
		return order_parse_pool(o, f);
	case CK_USER_SET:
	case CK_USER_REMOVE:
	case CK_GROUP_SET:
	case CK_GROUP_REMOVE:
	case CK_TOKEN_SET:
	case CK_TOKEN_REMOVE:
	case CK_DEVICE_SET:
	case CK_DEVICE_REMOVE:
		return order_parse_person(o, f);
	case CK_SERVER_SET:
	case CK_SERVER_REMOVE:
	case CK_SERVER_REKEY:
		return order_parse_target(o, f);
	case CK_PLUGIN_REGISTER:
	case CK_PLUGIN_RELEASE:
	case CK_PLUGIN_ENABLE:
		r = parse_names(o, false, f);
		return r < 0 ? r : order_parse_plugin(o, f);
	case CK_PLUGIN_DRAIN:
	case CK_PLUGIN_ROLLBACK:
	case CK_PLUGIN_REMOVE:
		return order_parse_plugin(o, f);
	case CK_SESSION_END:
	case CK_TOKEN_END:
	case CK_PREFERENCES_SET:
		return order_parse_web(o, f);
	case CK_ALERT_ACK:
		return order_parse_alert(o, f);
	case CK_TEST_RUN:
		return order_parse_draft(o, f);
	case CK_APPLY:
		r = arg_list(o->args, "args", "documents", DOCUMENTS_MAX, &o->documents, f);
		if (r == 0)
			r = parse_retired(o, "retire_calendars", "cn-workdays",
			                  &o->retired_calendars, f);
		if (r == 0)
			r = parse_retired(o, "retire_libraries", "retail/common",
			                  &o->retired_libraries, f);
		if (r == 0 && !o->retired_calendars && !o->retired_libraries &&
		    (!o->documents || o->documents->len == 0))
			return refuse(f, E_INVALID, "args.documents", NULL,
			              "args.documents: 1 to 10000 documents are expected");
		if (r == 0)
			r = parse_prune(o, f);
		return r < 0 ? r : apply_preview_check(o->args, f);
	default:
		return 0;
	}
}

static int parse_common(struct order *o, struct refusal *f)
{
	int64_t grace = 0;
	const char *message = NULL;
	int r;

	if ((r = arg_text(o->args, "args", "message", MESSAGE_MAX, &message, f)) < 0 ||
	    (r = arg_truth(o->args, "args", "detach", &o->detach, f)) < 0 ||
	    (r = arg_truth(o->args, "args", "retire", &o->retire, f)) < 0 ||
	    (r = arg_truth(o->args, "args", "off_plan", &o->off_plan, f)) < 0 ||
	    (r = arg_number(o->args, "args", "grace_ms", 1, 86400000, &grace, f)) < 0 ||
	    (r = arg_number(o->args, "args", "priority", 1, 10, &o->priority, f)) < 0)
		return r;
	o->message = message ? message : "";
	o->grace_ms = (uint32_t)grace;
	if (o->kind == CK_PRIORITY && o->priority == 0)
		return refuse(f, E_INVALID, "args.priority", "1 to 10",
		              "args.priority: is missing");
	return parse_from(o, f);
}

/* Parameters of this run alone, over all others. */
static int parse_params(struct order *o, struct refusal *f)
{
	const struct jval *v = jv_get(o->args, "params");
	struct buf out;
	char at[100];

	if (!v)
		return 0;
	if (v->kind != JV_OBJECT)
		return refuse(f, E_INVALID, "args.params", "{\"keep_days\": \"7\"}",
		              "args.params: an object of texts is expected, not %s",
		              jv_kind_name(v));
	buf_init(&out);
	buf_putc(&out, '{');
	for (const struct jval *p = v->first; p; p = p->next) {
		snprintf(at, sizeof at, "args.params.%.70s", p->key);
		const char *wrong = !word_ok(p->key)     ? "the name is none"
		                    : p->kind != JV_TEXT ? "a text is expected"
		                                         : NULL;
		if (wrong) {
			buf_done(&out);
			return refuse(f, E_INVALID, at, NULL, "%s: %s, found %s", at, wrong,
			              jv_kind_name(p));
		}
		put_bytes(&out, p->key, p->text, p->len);
	}
	buf_putc(&out, '}');
	int r = out.len <= WORKFLOW_OUTPUTS_BYTES_MAX ? 0
	                                              : refuse(f, E_INVALID, "args.params", NULL,
	                                                       "args.params: %zu bytes, at most %d",
	                                                       out.len, WORKFLOW_OUTPUTS_BYTES_MAX);
	if (r == 0 && v->first)
		o->params = mem_str(buf_str(&out));
	buf_done(&out);
	return r;
}

static bool known_date(const struct commander *c, const struct order *o, const struct when *w)
{
	for (size_t k = 0; k < o->sel.n_tasks; k++) {
		const struct cat_task *t = catalog_task(&c->cat, o->sel.tasks[k]);
		int64_t at = when_instant(w, plan_tz(t->def->plan), false);
		if (plan_has(t->def->plan, at) || outcomes_find(&t->outcomes, at) ||
		    catalog_live(&c->cat, (struct inst_key){ at, t->id, 0 }))
			return true;
	}
	return false;
}

static int check_dates(const struct commander *c, const struct order *o, struct refusal *f)
{
	char at[64];

	for (size_t i = 0; i < o->sel.n_dates && !o->off_plan; i++) {
		if (known_date(c, o, &o->sel.dates[i]))
			continue;
		snprintf(at, sizeof at, "args.selection.dates.%zu", i);
		return refuse(f, E_INVALID, at, NULL,
		              "%s: not a planned date of any task that is selected", at);
	}
	return 0;
}

/* (design: SEMANTICS section 3, "Manual runs".) */
static bool is_manual(enum command_kind k)
{
	return k == CK_RUN_NOW || k == CK_ENQUEUE || k == CK_TEST_RUN;
}

/* A kind that wants dates and has none. */
static int check_reach(struct order *o, struct refusal *f)
{
	struct selection *s = &o->sel;
	bool narrowed = selection_has_dates(s) || s->has_states || s->has_instances;
	enum acts_on on = command_acts_on(o->kind);

	if (!s->has_instances && s->n_tasks == 0)
		return refuse(f, E_INVALID, "args.selection", "tasks, workflow or instances",
		              "args.selection: names no task");
	if (s->has_instances && s->n_instances == 0)
		return refuse(f, E_INVALID, "args.selection.instances", NULL,
		              "args.selection.instances: is empty");
	if (on == ON_TASKS && narrowed)
		return refuse(f, E_INVALID, "args.selection", "tasks, workflow",
		              "args.selection: %s acts on tasks, not on dates",
		              command_kind_name(o->kind));
	if (on == ON_INSTANCES && !narrowed && !is_manual(o->kind))
		return refuse(f, E_INVALID, "args.selection",
		              "from, to, dates, states or instances",
		              "args.selection: %s acts on instances, dates or states are missing",
		              command_kind_name(o->kind));
	if (o->kind == CK_BACKFILL && !selection_has_dates(s) && !s->has_instances)
		return refuse(f, E_INVALID, "args.selection", "from, to or dates",
		              "args.selection: backfill wants dates");
	if (s->has_from != s->has_to && (commander_sources(o) & FEED_PLAN) && !s->has_states)
		return refuse(f, E_INVALID,
		              s->has_from ? "args.selection.to" : "args.selection.from", NULL,
		              "args.selection: a range of planned dates wants from and to");
	o->on_tasks = on == ON_TASKS || (on == ON_EITHER && !narrowed);
	return 0;
}

static int parse_selection(const struct commander *c, struct order *o, struct refusal *f)
{
	enum acts_on on = command_acts_on(o->kind);

	if (on != ON_TASKS && on != ON_INSTANCES && on != ON_EITHER)
		return 0;
	int r = selection_parse(&c->cat, jv_get(o->args, "selection"), &o->sel, f);
	if (r == 0)
		r = check_reach(o, f);
	if (r == 0 && o->kind != CK_TEST_RUN)
		r = check_dates(c, o, f);
	return r;
}

/* Links pass over dates before the begin: among its members a backfill has them all the same. */
static bool looks_before_begin(const struct commander *c, const struct selection *s)
{
	for (size_t i = 0; i < s->n_instances; i++) {
		const struct cat_task *t = catalog_task(&c->cat, s->instances[i].task);
		if (t && s->instances[i].run_date < plan_begin(t->def->plan))
			return true;
	}
	for (size_t i = 0; i < s->n_tasks; i++) {
		const struct plan *plan = catalog_task(&c->cat, s->tasks[i])->def->plan;
		const struct tz *tz = plan_tz(plan);
		if (s->has_from && when_instant(&s->from, tz, false) < plan_begin(plan))
			return true;
		for (size_t k = 0; k < s->n_dates; k++)
			if (when_instant(&s->dates[k], tz, false) < plan_begin(plan))
				return true;
	}
	return false;
}

/* A manual run without a date: the last planned one; off the plan, and of what has planned none
 * yet, the current second. */
static void default_dates(const struct commander *c, struct order *o)
{
	struct selection *s = &o->sel;
	int64_t now = o->now_us / US_PER_S;

	if (!is_manual(o->kind) || selection_has_dates(s) || s->has_states || s->has_instances)
		return;
	s->instances = mem_array(s->n_tasks + 1, sizeof *s->instances);
	for (size_t i = 0; i < s->n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, s->tasks[i]);
		int64_t at = o->off_plan ? now : plan_prev(t->def->plan, now + 1);
		/* In its first period, before the first date of its plan. */
		if (at == PLAN_BEFORE && o->kind != CK_TEST_RUN)
			o->off_plan = true;
		s->instances[s->n_instances++] = (struct inst_key){ at == PLAN_BEFORE ? now : at,
			                                            t->id, 0 };
	}
	s->has_instances = true;
}

/* Last first, each would wait for one that is let go after it. */
static int check_desc(const struct commander *c, const struct order *o, struct refusal *f)
{
	for (size_t i = 0; i < o->sel.n_tasks; i++) {
		const struct task *d = catalog_task(&c->cat, o->sel.tasks[i])->def;
		bool waits = d->serial == SERIAL_ORDERED;
		for (size_t k = 0; k < d->n_links; k++)
			waits = waits ||
			        (d->links[k].parent == d->id && d->links[k].kind == LK_PREV);
		if (waits)
			return refuse(f, E_INVALID, "args.order", "asc, or dependencies: ignore",
			              "args.order: desc, but %s waits for its own previous dates",
			              d->name);
	}
	return 0;
}

int order_parse(const struct commander *c, enum command_kind kind, const char *args, size_t len,
                int64_t now_us, struct order *ret, struct refusal *f)
{
	const char *keys[KEYS_MAX + 3];
	struct err err = { 0 };
	size_t n = 0;

	*ret = (struct order){ .kind = kind, .now_us = now_us };
	if (jdoc_parse(args, len, &ret->doc, &err) < 0)
		return refuse(f, E_INVALID, "args", NULL, "args: %s", err.text);
	ret->args = jdoc_root(ret->doc);
	for (; n < KEYS_MAX && keys_of[kind][n]; n++)
		keys[n] = keys_of[kind][n];
	keys[n++] = "message";
	keys[n++] = "within";
	keys[n] = NULL;
	int r = arg_object(ret->args, "args", keys, f);
	if (r == 0)
		r = order_parse_within(ret, f);
	if (r == 0)
		r = parse_common(ret, f);
	if (r == 0 && kind == CK_REDO)
		r = parse_redo(ret, f);
	if (r == 0 && kind == CK_BACKFILL)
		r = parse_backfill(ret, f);
	if (r == 0 && kind == CK_RETIRE)
		r = parse_retire(ret, f);
	if (r == 0)
		r = parse_params(ret, f);
	if (r == 0)
		r = parse_others(ret, f);
	if (r == 0 && (kind == CK_SILENCE_ADD || kind == CK_SILENCE_REMOVE))
		r = order_parse_silence(c, ret, f);
	if (r == 0)
		r = parse_selection(c, ret, f);
	if (ret->draft)
		r = order_check_draft(ret, r, f);
	if (r == 0)
		default_dates(c, ret);
	ret->before_begin = r == 0 && kind == CK_BACKFILL && looks_before_begin(c, &ret->sel);
	if (r == 0 && ret->order == ORDER_DESC && ret->dependencies != DEPEND_IGNORE)
		r = check_desc(c, ret, f);
	if (r == 0)
		r = within_check(c, ret, f);
	if (r < 0)
		order_done(ret);
	return r;
}

void order_done(struct order *o)
{
	selection_done(&o->sel);
	jdoc_free(o->doc);
	free(o->params);
	*o = (struct order){ .kind = o->kind };
}
