/* Rows as JSON, one function for each kind of row, the same in lists, single answers and
 * streams. Numbers that may exceed what a browser holds exactly (of commands, of transitions)
 * are printed as texts; an instant that is none is null. Which rows a person may see was
 * decided before. */
#include "cgi/server/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/server/names.h"
#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/link.h"
#include "sched/task.h"
#include "sched/when.h"
#include "sched/workflow.h"
#include "store/read.h"
#include "store/store.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/json_put.h"

void key_text(struct inst_key k, char ret[ID_TEXT_MAX])
{
	if (k.part == 0)
		snprintf(ret, ID_TEXT_MAX, "%" PRIu32 ".%" PRId64, k.task, k.run_date);
	else
		snprintf(ret, ID_TEXT_MAX, "%" PRIu32 ".%" PRId64 ".%" PRId32, k.task, k.run_date,
		         k.part);
}

/* One number of an id, and what follows it. */
static bool number_read(const char **p, int64_t lo, int64_t hi, int64_t *ret)
{
	char *end;
	long long v;
	const char *digits = *p + (**p == '-');
	size_t n = strspn(digits, "0123456789");

	if (n == 0 || n > 18)
		return false;
	v = strtoll(*p, &end, 10);
	*p = end;
	*ret = v;
	return v >= lo && v <= hi;
}

bool key_read(const char *text, struct inst_key *ret)
{
	int64_t task, run_date, part = 0;

	if (!number_read(&text, 0, UINT32_MAX, &task) || *text++ != '.' ||
	    !number_read(&text, INT64_MIN, INT64_MAX, &run_date))
		return false;
	if (*text == '.' && (text++, !number_read(&text, INT32_MIN, INT32_MAX, &part)))
		return false;
	*ret = (struct inst_key){ .run_date = run_date,
		                  .task = (uint32_t)task,
		                  .part = (int32_t)part };
	return *text == '\0';
}

static void show_name(struct buf *b, struct names *n, enum names_kind kind, const char *key,
                      uint32_t id)
{
	char name[NAMES_MAX];

	put_text(b, key, id != 0 && names_get(n, kind, id, name) ? name : NULL);
}

void show_key(struct buf *b, struct names *n, struct inst_key k, uint32_t version)
{
	char id[ID_TEXT_MAX], label[LABEL_TEXT];

	key_text(k, id);
	put_text(b, "id", id);
	show_name(b, n, NAMES_TASK, "task", k.task);
	put_int(b, "task_id", k.task);
	put_time(b, "run_date", k.run_date);
	names_label(n, k.task, version, k.run_date, label);
	put_text(b, "label", label);
	put_int(b, "part", k.part);
}

static void show_flags(struct buf *b, uint16_t flags)
{
	static const char *const names[] = { "frozen", "forced",   "dry_run",  "run_now", "started",
		                             "params", "old_body", "no_links", "member",  NULL,
		                             NULL,     NULL,       NULL,       "notified" };

	put_open(b, "flags", '[');
	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i] && flags & 1u << i)
			put_text(b, NULL, names[i]);
	put_close(b, ']');
}

void show_instance(struct buf *b, struct names *n, const struct instance *row)
{
	const struct instance now = instance_now(row), *i = &now;

	put_open(b, NULL, '{');
	show_key(b, n, i->key, version_is_draft(i->version) ? 0 : i->version);
	put_text(b, "state", state_name((enum state)i->state));
	put_text(b, "reason", reason_name((enum reason)i->reason));
	/* 0: of a date inside a record of many, which only its plan knows. */
	put_time(b, "due", i->due ? i->due : INT64_MIN);
	put_time_us(b, "effective_due", i->eff_due_us);
	put_time_us(b, "created", i->created_us);
	put_time_us(b, "started", i->started_us);
	put_time_us(b, "ended", i->ended_us);
	put_time_us(b, "retry_at", i->retry_at_us);
	put_int(b, "generation", i->generation);
	put_int(b, "revision", i->revision);
	put_int(b, "version", version_shown(i->version));
	put_bool(b, "draft", version_is_draft(i->version));
	put_int(b, "attempt", i->attempt);
	put_int(b, "infra", i->infra);
	put_int(b, "looks", i->looks);
	if (i->ended_us != 0)
		put_int(b, "exit_code", i->exit_code);
	else
		put_null(b, "exit_code");
	show_name(b, n, NAMES_BROKER, "broker", i->broker);
	put_int(b, "broker_id", i->broker);
	put_int(b, "priority", i->priority);
	put_text(b, "origin", origin_name((enum origin)i->origin));
	show_flags(b, i->flags);
	put_id(b, "cause", i->cause);
	put_id(b, "last_number", i->last_number);
	put_close(b, '}');
}

void show_range(struct buf *b, struct names *n, const struct store_range *r)
{
	struct instance i = store_range_row(r, r->lo);
	char label[LABEL_TEXT];

	i.due = i.eff_due_us = 0;
	show_instance(b, n, &i);
	b->len--; /* the rest goes inside the object */
	put_time(b, "last_date", r->hi);
	names_label(n, i.key.task, 0, r->hi, label);
	put_text(b, "last_label", label);
	put_int(b, "dates", r->dates - r->taken);
	put_close(b, '}');
}

static const char *from_name(uint8_t from)
{
	return from == ST_NONE ? NULL : state_name((enum state)from);
}

void show_event(struct buf *b, struct names *n, const struct read_event *e)
{
	put_open(b, NULL, '{');
	put_id(b, "number", e->number);
	put_time_us(b, "at", e->at_us);
	show_key(b, n, e->key, 0);
	put_text(b, "event", event_name((enum event)e->event));
	put_text(b, "from", from_name(e->from));
	put_text(b, "to", state_name((enum state)e->to));
	put_text(b, "reason", reason_name((enum reason)e->reason));
	put_int(b, "generation", e->generation);
	put_int(b, "attempt", e->attempt);
	put_int(b, "exit_code", e->exit_code);
	show_name(b, n, NAMES_BROKER, "broker", e->broker);
	put_int(b, "broker_id", e->broker);
	put_id(b, "cause", e->cause);
	put_text(b, "note", e->note);
	put_close(b, '}');
}

void show_wire_event(struct buf *b, struct names *n, const Sirdar__Event *e)
{
	const struct inst_key key = { .run_date = e->run_date,
		                      .task = e->task_id,
		                      .part = e->part };
	enum state to = ST_NONE, from = ST_NONE;

	state_from_number(e->to, &to);
	if (e->from != -2)
		state_from_number(e->from, &from);
	buf_printf(b, "event: instance\nid: %" PRIu64 "\ndata: ", e->number);
	put_open(b, NULL, '{');
	put_id(b, "number", e->number);
	put_time_us(b, "at", e->at_us);
	show_key(b, n, key, 0);
	put_text(b, "event", e->event < EV_COUNT ? event_name((enum event)e->event) : "?");
	put_text(b, "from", from_name((uint8_t)from));
	put_text(b, "to", to != ST_NONE ? state_name(to) : NULL);
	put_text(b, "reason", e->reason < RE_COUNT ? reason_name((enum reason)e->reason) : "?");
	put_int(b, "generation", e->generation);
	put_int(b, "attempt", e->attempt);
	show_name(b, n, NAMES_BROKER, "broker", e->broker_id);
	put_int(b, "broker_id", e->broker_id);
	put_id(b, "cause", e->cause);
	put_text(b, "note", e->note && e->note[0] != '\0' ? e->note : NULL);
	buf_puts(b, "}\n\n");
}

const char *task_state_name(uint8_t state)
{
	static const char *const names[] = { "draft",   "online",  "offline",
		                             "retired", "offline", "offline" };

	return state < sizeof names / sizeof names[0] ? names[state] : "?";
}

/* A run_date of it, as an instant and as people call it. */
static void put_date(struct buf *b, const struct store_task *t, const char *key, int64_t date)
{
	char label_key[40], label[LABEL_TEXT];
	const struct tz *tz;

	snprintf(label_key, sizeof label_key, "%s_label", key);
	put_time(b, key, date);
	bool has = date >= TIME_MIN && date <= TIME_MAX && t->zone && t->zone[0] &&
	           zones_get(t->zone, &tz, NULL) == 0;
	put_text(b, label_key, has ? label_print(tz, t->grain, date, label) : NULL);
}

void show_task(struct buf *b, const struct store_task *t, const struct workflow_set *of)
{
	const char *end = strrchr(t->name, '/');
	char workflow[400];

	snprintf(workflow, sizeof workflow, "%.*s", end ? (int)(end - t->name) : 0, t->name);
	put_open(b, NULL, '{');
	put_int(b, "task_id", t->id);
	put_text(b, "task", t->name);
	put_text(b, "workflow", workflow);
	put_int(b, "workflow_id", t->workflow_id);
	put_int(b, "version", t->version);
	/* A task of a test run that is over: nobody retired it. */
	bool ended = t->state == TS_RETIRED && name_is_test(t->name);
	put_text(b, "state", ended ? "ended" : task_state_name(t->state));
	put_bool(b, "frozen", t->frozen);
	put_time_us(b, "quarantined", t->quarantined_us);
	put_text(b, "type", t->type);
	put_text(b, "owner", t->owner);
	put_text(b, "title", t->title);
	put_text(b, "workflow_title", t->workflow_title);
	put_int(b, "cycle_s", t->cycle_s);
	const char *cron = of && end ? workflow_cron(workflow_set_at(of, 0), t->name) : NULL;
	if (cron)
		put_text(b, "cron", cron);
	put_time(b, "start", t->start_s);
	put_time(b, "end", t->end_s);
	put_date(b, t, "planned_through", t->planned_through);
	/* Over before anything came due: it had no date to begin with. */
	bool never = t->state == TS_OVER && t->planned_through == INT64_MIN;
	put_date(b, t, "begins", never ? INT64_MIN : t->online_from);
	put_bool(b, "plan_over", t->state == TS_OVER);
	put_int(b, "priority", t->priority);
	put_close(b, '}');
}

void show_link(struct buf *b, struct names *n, const struct store_link *l)
{
	static const char *const on[] = { "success", "done", "failure", "strong" };
	static const char *const strategy[] = { "all", "any", "first", "last", "at_least" };

	put_open(b, NULL, '{');
	show_name(b, n, NAMES_TASK, "parent", l->from);
	put_int(b, "parent_id", l->from);
	show_name(b, n, NAMES_TASK, "child", l->to);
	put_int(b, "child_id", l->to);
	put_int(b, "depend_type", l->depend_type);
	put_text(b, "window", l->window);
	put_text(b, "on", l->on <= ON_STRONG ? on[l->on] : "?");
	put_text(b, "strategy", l->strategy <= LS_AT_LEAST ? strategy[l->strategy] : "?");
	put_int(b, "n", l->n);
	put_close(b, '}');
}

struct workflow_set *show_flow(const struct store_doc *d)
{
	struct workflow_set *set = workflow_set_new();
	struct diags diags;

	diags_init(&diags);
	bool is = workflow_set_read(set, d->body, d->body_len, d->name, &diags) == 0 &&
	          workflow_set_count(set) == 1;
	diags_done(&diags);
	if (is)
		return set;
	workflow_set_free(set);
	return NULL;
}

/* Tasks into whose code values of others go as text. */
static void put_splices(struct buf *b, const struct store_doc *d)
{
	struct workflow_set *set = workflow_set_new();
	struct diags diags;

	diags_init(&diags);
	put_open(b, "unsafe_splices", '[');
	if (workflow_set_read(set, d->body, d->body_len, d->name, &diags) == 0)
		for (size_t i = 0; i < workflow_tasks(workflow_set_at(set, 0)); i++) {
			const char *task = workflow_splices(workflow_set_at(set, 0), i);
			if (task)
				put_text(b, NULL, task);
		}
	put_close(b, ']');
	diags_done(&diags);
	workflow_set_free(set);
}

void show_doc(struct buf *b, const struct store_doc *d, bool body)
{
	bool is_flow = d->kind == DOC_WORKFLOW || d->kind == DOC_DRAFT;

	put_open(b, NULL, '{');
	put_int(b, "id", d->id);
	put_text(b, "name", d->name);
	if (d->title)
		put_text(b, "title", d->title);
	put_int(b, "version", d->version);
	put_bool(b, "retired", d->retired);
	if (!body && d->title && d->kind == DOC_WORKFLOW)
		put_bool(b, "draft", d->is_draft);
	put_text(b, "actor", d->actor);
	put_time_us(b, "at", d->at_us);
	if (body)
		put_bytes(b, "document", d->body,
		          is_flow ? workflow_written(d->body, d->body_len) : d->body_len);
	if (body && d->kind == DOC_WORKFLOW)
		put_splices(b, d);
	put_close(b, '}');
}

static const char *command_state_name(uint8_t state)
{
	static const char *const names[] = {
#define COMMAND_STATE(name, number, shown, over) [number] = shown,
#include "tbl/command_state.def"
#undef COMMAND_STATE
	};

	return state < sizeof names / sizeof names[0] ? names[state] : "?";
}

/* Instances a second since it was made, and the seconds it will take at that rate. */
static void show_progress(struct buf *b, const struct store_command *c)
{
	int64_t took_us = clock_wall_us(&clock_machine) - c->created_us;
	int64_t left = (int64_t)c->total - c->done;

	if (c->ended_us || c->total == UINT32_MAX || c->done == 0 || took_us <= 0)
		return;
	put_open(b, "progress", '{');
	put_int(b, "per_second", c->done * US_PER_S / took_us);
	put_int(b, "eta_s", left * (took_us / US_PER_MS) / c->done / 1000);
	put_close(b, '}');
}

void show_command(struct buf *b, const struct store_command *c, bool args)
{
	put_open(b, NULL, '{');
	put_id(b, "command", c->id);
	put_text(b, "request_id", c->request_id);
	put_text(b, "kind", c->kind);
	put_text(b, "actor", c->actor);
	put_text(b, "state", command_state_name(c->state));
	put_time_us(b, "created", c->created_us);
	put_time_us(b, "ended", c->ended_us);
	if (c->total == COMMAND_UNCOUNTED)
		put_null(b, "total");
	else
		put_int(b, "total", c->total);
	put_int(b, "done", c->done);
	put_int(b, "failed", c->failed);
	show_progress(b, c);
	put_text(b, "error", c->error);
	if (args)
		put_text(b, "args", c->args);
	put_close(b, '}');
}

/* at_us as it is in the chain of hashes; `at` is the same for people. */
void show_action(struct buf *b, const struct read_action *a)
{
	put_open(b, NULL, '{');
	put_id(b, "id", a->id);
	put_time_us(b, "at", a->at_us);
	put_id(b, "at_us", (uint64_t)a->at_us);
	put_text(b, "actor", a->actor);
	put_text(b, "action", a->action);
	put_text(b, "object", a->object);
	put_text(b, "detail", a->detail);
	put_text(b, "hash", a->hash);
	put_close(b, '}');
}

void show_item(struct buf *b, struct names *n, const struct store_command_item *i)
{
	put_open(b, NULL, '{');
	show_key(b, n, i->key, 0);
	put_text(b, "code", i->code == 0 ? "OK" : err_name(i->code));
	put_text(b, "message", i->text);
	put_close(b, '}');
}
