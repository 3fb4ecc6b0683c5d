/* Arguments: a document of a client becomes an order, or is refused with its place before anything
 * is recorded. Here is what all kinds share: which keys a kind has, `message`, the selection with
 * its dates, parameters of one run. What only one kind has is its row's (commander_kind.h), called
 * in a fixed order: parse, selection, resolve, within. After a restart a command's stored
 * arguments are read the same way; where what they name is gone, the command has failed. */
#include <stdio.h>
#include <stdlib.h>

#include "baseserver/command/commander_impl.h"
#include "sched/name.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/when.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { MESSAGE_MAX = 1000 };

static int parse_from(struct order *o, struct refusal *f)
{
	const char *text = NULL;
	char no_day[WHEN_TEXT];
	struct when w;
	int r = arg_text(o->args, "args", "from", 60, &text, f);

	o->from = (struct when){ .kind = WHEN_INSTANT, .at = o->now_us / US_PER_S };
	if (r < 0 || !text)
		return r;
	if (!when_parse(text, o->now_us / US_PER_S, &w))
		return refuse(f, E_INVALID, "args.from", "for example 2026-03-01T02:30:00Z",
		              "args.from: '%.60s' is no instant%s", text,
		              when_no_day(text, no_day));
	o->has_from = true;
	o->from = w;
	return 0;
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
	    (r = arg_truth(o->args, "args", "no_op", &o->no_op, f)) < 0 ||
	    (r = arg_number(o->args, "args", (struct arg_range){ "grace_ms", 1, 86400000 }, &grace,
	                    f)) < 0 ||
	    (r = arg_number(o->args, "args", (struct arg_range){ "priority", 1, 10 }, &o->priority,
	                    f)) < 0)
		return r;
	o->message = message ? message : "";
	o->grace_ms = (uint32_t)grace;
	return parse_from(o, f);
}

int priority_parse(struct order *o, struct refusal *f)
{
	return o->priority ? 0
	                   : refuse(f, E_INVALID, "args.priority", "1 to 10",
	                            "args.priority: is missing");
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
		return refuse(f, E_INVALID, "args.params", "for example {\"keep_days\": \"7\"}",
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

static bool known_date(const struct commander *c, const struct order *o, const struct when_span *w)
{
	for (size_t k = 0; k < o->sel.n_tasks; k++) {
		const struct cat_task *t = catalog_task(&c->cat, o->sel.tasks[k]);
		const struct plan *plan = t->def->plan;
		int64_t at = when_instant(&w->from, plan_tz(plan), false);
		if (plan_next(plan, at - 1) <= when_instant(&w->to, plan_tz(plan), true) ||
		    select_date_counts(&c->cat, t, at))
			return true;
	}
	return false;
}

/* A year of minutes is a range, not a date. */
static int check_spans(const struct commander *c, const struct order *o, struct refusal *f)
{
	for (size_t k = 0; k < o->sel.n_tasks; k++) {
		const struct cat_task *t = catalog_task(&c->cat, o->sel.tasks[k]);
		const struct plan *plan = t->def->plan;
		int64_t n = 0;
		for (size_t i = 0; i < o->sel.n_dates && n <= SELECT_DATE_MAX; i++) {
			const struct when_span *w = &o->sel.dates[i];
			n += plan_count(plan, when_instant(&w->from, plan_tz(plan), false),
			                when_instant(&w->to, plan_tz(plan), true) + 1,
			                SELECT_DATE_MAX + 1);
		}
		if (n > SELECT_DATE_MAX)
			return refuse(f, E_INVALID, "args.selection.dates", "from and to",
			              "args.selection.dates: they name more than %d instances of "
			              "%.200s; a range of from and to takes any number",
			              SELECT_DATE_MAX, t->def->name);
	}
	return 0;
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
	if (on == ON_INSTANCES && !narrowed && !o->ops->is_manual && !o->ops->picks_dates)
		return refuse(f, E_INVALID, "args.selection",
		              "from, to, dates, states or instances",
		              "args.selection: %s acts on instances, dates or states are missing",
		              command_kind_name(o->kind));
	if (o->ops->wants_dates && !selection_has_dates(s) && !s->has_instances)
		return refuse(f, E_INVALID, "args.selection", "from, to or dates",
		              "args.selection: %s wants dates", command_kind_name(o->kind));
	if (s->has_from != s->has_to && (commander__sources(o) & FEED_PLAN) && !s->has_states)
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
	int r = selection_parse(&c->cat, jv_get(o->args, "selection"), o->now_us / US_PER_S,
	                        &o->sel, f);
	if (r == 0)
		r = check_reach(o, f);
	if (r == 0)
		r = check_spans(c, o, f);
	if (r == 0 && !o->ops->beside_plan)
		r = check_dates(c, o, f);
	return r;
}

static int check_test(const struct order *o, const struct cat_task *t, struct refusal *f)
{
	if (!t || !name_is_test(t->def->name))
		return 0;
	return refuse(f, E_CONFLICT, "args.selection", "kill, or another test run",
	              "args.selection: %.300s is of a test run, which %s does not go with",
	              t->def->name, command_kind_name(o->kind));
}

/* What is tried is there as long as that lasts: it can be ended, and no more be made of it. */
static int check_tests(const struct commander *c, const struct order *o, struct refusal *f)
{
	int r = 0;

	for (size_t i = 0; i < o->sel.n_tasks && r == 0 && !o->ops->on_tests; i++)
		r = check_test(o, catalog_task(&c->cat, o->sel.tasks[i]), f);
	for (size_t i = 0; i < o->sel.n_instances && r == 0 && !o->ops->on_tests; i++)
		r = check_test(o, catalog_task(&c->cat, o->sel.instances[i].task), f);
	return r;
}

/* A manual run without a date: the last planned one; off the plan, and of what has planned none
 * yet, the current second. */
static void default_dates(const struct commander *c, struct order *o)
{
	struct selection *s = &o->sel;
	int64_t now = o->now_us / US_PER_S;

	if (!o->ops->is_manual || selection_has_dates(s) || s->has_states || s->has_instances)
		return;
	o->own_second = o->off_plan && !o->ops->beside_plan;
	s->instances = mem_array(s->n_tasks + 1, sizeof *s->instances);
	for (size_t i = 0; i < s->n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, s->tasks[i]);
		int64_t at = o->off_plan ? now : plan_prev(t->def->plan, now + 1);
		/* In its first period, before the first date of its plan. */
		if (at == PLAN_BEFORE && !o->ops->beside_plan)
			o->off_plan = o->own_second = true;
		s->instances[s->n_instances++] = (struct inst_key){ at == PLAN_BEFORE ? now : at,
			                                            t->id, 0 };
	}
	s->has_instances = true;
}

int order__parse(const struct commander *c, const struct order_text *text, struct order *ret,
                 struct refusal *f)
{
	const char *keys[KEYS_MAX + 2];
	struct err err = { 0 };
	size_t n = 0;

	CHECK(text->kind < CK_COUNT);
	*ret = (struct order){ .kind = text->kind,
		               .ops = &c->kinds[text->kind],
		               .now_us = text->now_us };
	if (jv_parse_args(text->args, text->len, &ret->args, &err) < 0)
		return refuse(f, E_INVALID, "args", NULL, "args: %s", err.text);
	for (; n < KEYS_MAX && ret->ops->keys[n]; n++)
		keys[n] = ret->ops->keys[n];
	keys[n++] = "message";
	keys[n] = NULL;
	int r = arg_object_of(ret->args, "args", keys, order__faces_keys, f);
	if (r == 0)
		r = order__parse_within(ret, f);
	if (r == 0)
		r = parse_common(ret, f);
	if (r == 0 && ret->ops->parse)
		r = ret->ops->parse(ret, f);
	if (r == 0)
		r = parse_params(ret, f);
	if (r == 0)
		r = parse_selection(c, ret, f);
	if (r == 0)
		r = check_tests(c, ret, f);
	if (ret->draft)
		r = order__check_draft(ret, r, f);
	if (r == 0)
		default_dates(c, ret);
	if (r == 0 && ret->ops->resolve)
		r = ret->ops->resolve(c, ret, f);
	if (r == 0)
		r = within__check(c, ret, f);
	if (r < 0)
		order__done(ret);
	return r;
}

void order__done(struct order *o)
{
	selection_done(&o->sel);
	jv_free(o->args);
	free(o->params);
	*o = (struct order){ .kind = o->kind, .ops = o->ops };
}
