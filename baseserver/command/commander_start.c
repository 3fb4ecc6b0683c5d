/* run-start: a workflow, or a part of it, runs once, for one date. What it names becomes instances
 * when its arguments are read: of each task that is online the planned dates in the period that is
 * meant, of a task without a plan one at its begin. They are members of the command (IF_MEMBER),
 * so that links between them hold, and links to others do not count.
 *
 * Without a date: the last period of the longest cycle that has come due. Where no task has a
 * plan, a second of its own: the command's creation is moved to the next one that is free
 * (start__moment), and so a restart reads the same from the same arguments. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/plan/instantiator.h"
#include "sched/label.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { AHEAD_MAX_S = 60 };

int start_parse(struct order *o, struct refusal *f)
{
	int r;

	if ((r = arg_text(o->args, "args", "date", 60, &o->date, f)) < 0 ||
	    (r = arg_text(o->args, "args", "up_to", 700, &o->up_to, f)) < 0 ||
	    (r = arg_text(o->args, "args", "from_task", 700, &o->from_task, f)) < 0)
		return r;
	o->members = true;
	return 0;
}

/* --- which tasks --------------------------------------------------------------------------- */

/* They are in the order of their numbers (model/select.c). */
static size_t place_of(const struct selection *s, uint32_t task)
{
	size_t lo = 0, hi = s->n_tasks;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->tasks[mid] < task)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n_tasks && s->tasks[lo] == task ? lo : SIZE_MAX;
}

/* What is to be kept, and whose neighbours have not been looked at. */
struct reach {
	const struct selection *s;
	bool *keep;
	size_t *todo, n_todo;
};

static void reach_add(struct reach *r, uint32_t task)
{
	size_t at = place_of(r->s, task);

	if (at == SIZE_MAX || r->keep[at])
		return;
	r->keep[at] = true;
	r->todo[r->n_todo++] = at;
}

/* `name` and, step by step along links, what it waits for (up), or what waits for it; the others
 * are left out. */
static int keep_reach(const struct commander *c, struct selection *s, const char *name,
                      const char *at, bool up, struct refusal *f)
{
	const struct cat_task *t = catalog_find(&c->cat, name);
	struct reach r = { .s = s };
	size_t n = 0;

	if (!t || place_of(s, t->id) == SIZE_MAX)
		return refuse(f, E_NOT_FOUND, at, NULL,
		              "%s: '%.200s' is no task of what is started", at, name);
	r.keep = mem_array(s->n_tasks, sizeof *r.keep);
	r.todo = mem_array(s->n_tasks, sizeof *r.todo);
	reach_add(&r, t->id);
	while (r.n_todo > 0) {
		t = catalog_task(&c->cat, s->tasks[r.todo[--r.n_todo]]);
		size_t links = up ? t->def->n_links : t->n_children;
		for (size_t k = 0; k < links; k++)
			reach_add(&r, up ? t->def->links[k].parent : t->children[k]);
	}
	for (size_t i = 0; i < s->n_tasks; i++)
		if (r.keep[i])
			s->tasks[n++] = s->tasks[i];
	s->n_tasks = n;
	free(r.keep);
	free(r.todo);
	return 0;
}

/* Of a workflow those that are online; a task that was named is not passed over. */
static int keep_online(const struct commander *c, struct order *o, struct refusal *f)
{
	const struct jval *selection = jv_get(o->args, "selection");
	bool named = jv_get(selection, "tasks") != NULL;
	struct selection *s = &o->sel;
	const char *off = "";
	size_t n = 0;

	for (size_t i = 0; i < s->n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, s->tasks[i]);
		if (task_starts(t->row.state))
			s->tasks[n++] = s->tasks[i];
		else
			off = t->def->name;
	}
	if (n == 0 || (named && n < s->n_tasks))
		return refuse(f, E_CONFLICT, "args.selection", NULL,
		              "args.selection: %.300s is not online and starts nothing; put it "
		              "online first (`sirdar online`), or test-run it",
		              off);
	s->n_tasks = n;
	return 0;
}

/* --- which dates --------------------------------------------------------------------------- */

/* The longest period that came due last, [lo, hi), of equals the earlier. False: none has. */
static bool last_period(const struct task *const *tasks, size_t n, int64_t now, int64_t *ret_lo,
                        int64_t *ret_hi)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const struct plan *p = tasks[i]->plan;
		int64_t lo = instantiator_last_due(p, now);
		int64_t hi = lo == PLAN_BEFORE ? lo : plan_period_end(p, lo);
		if (lo == PLAN_BEFORE)
			continue;
		int64_t longer = any ? (hi - lo) - (*ret_hi - *ret_lo) : 1;
		if (longer < 0 || (longer == 0 && lo >= *ret_lo))
			continue;
		*ret_lo = lo;
		*ret_hi = hi;
		any = true;
	}
	return any;
}

static int add_key(struct selection *s, uint32_t task, int64_t at, struct refusal *f)
{
	if (s->n_instances == SELECT_LIST_MAX)
		return refuse(f, E_LIMIT, "args.date", "a backfill",
		              "args.date: it names more than %d instances; a backfill takes any "
		              "number",
		              SELECT_LIST_MAX);
	s->instances = mem_grow(s->instances, s->n_instances + 1, sizeof *s->instances);
	s->instances[s->n_instances++] = (struct inst_key){ at, task, 0 };
	return 0;
}

/* Every planned date in [lo, hi); without a plan, lo. What is said of hours and days is read in
 * each task's zone. */
static int add_dates(struct order *o, const struct task *t, const struct when *w, int64_t lo,
                     int64_t hi, struct refusal *f)
{
	const struct plan *p = t->plan;
	int r = 0;

	if (w) {
		lo = when_instant(w, plan_tz(p), false);
		hi = when_instant(w, plan_tz(p), true) + 1;
	}
	if (plan_unit(p) == CU_NONE && !plan_schedule(p)->cron)
		return add_key(&o->sel, t->id, lo, f);
	for (int64_t at = plan_next(p, lo - 1); at < hi && r == 0; at = plan_next(p, at))
		r = add_key(&o->sel, t->id, at, f);
	return r;
}

int start__dates(struct order *o, const struct task *const *tasks, size_t n, struct refusal *f)
{
	struct selection *s = &o->sel;
	int64_t now = o->now_us / US_PER_S, lo = now, hi = now + 1;
	char no_day[WHEN_TEXT];
	struct when w;
	int r = 0;

	if (o->date && !when_parse(o->date, now, &w))
		return refuse(f, E_INVALID, "args.date", "for example 2026-03-01",
		              "args.date: '%.60s' is no date%s", o->date,
		              when_no_day(o->date, no_day));
	o->own_second = !o->date && !last_period(tasks, n, now, &lo, &hi);
	s->has_instances = true;
	/* Of a period that has not ended those that have begun. */
	hi = hi > now + 1 ? now + 1 : hi;
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_dates(o, tasks[i], o->date ? &w : NULL, lo, hi, f);
	if (r == 0 && s->n_instances == 0)
		return refuse(f, E_INVALID, "args.date", NULL,
		              "args.date: no task of what is started has a planned date in it");
	return r;
}

/* Of those that are chosen; the caller's array. */
static const struct task **chosen_of(const struct commander *c, const struct selection *s)
{
	const struct task **all = mem_array(s->n_tasks + 1, sizeof *all);

	for (size_t i = 0; i < s->n_tasks; i++)
		all[i] = catalog_task(&c->cat, s->tasks[i])->def;
	return all;
}

int start_resolve(const struct commander *c, struct order *o, struct refusal *f)
{
	int r = keep_online(c, o, f);

	if (r == 0 && o->up_to)
		r = keep_reach(c, &o->sel, o->up_to, "args.up_to", true, f);
	if (r == 0 && o->from_task)
		r = keep_reach(c, &o->sel, o->from_task, "args.from_task", false, f);
	if (r < 0)
		return r;
	const struct task **tasks = chosen_of(c, &o->sel);
	r = start__dates(o, tasks, o->sel.n_tasks, f);
	free(tasks);
	return r;
}

/* Of its instances those of the task with the longest period: they are the run's date. */
static size_t longest_first(const struct selection *s, const struct task *const *tasks, size_t n,
                            const struct task **ret_task)
{
	int64_t longest = -1;
	size_t found = 0, of = 0; /* they come task by task */

	for (size_t i = 0; i < s->n_instances; i++) {
		while (of < n && tasks[of]->id != s->instances[i].task)
			of++;
		CHECK(of < n);
		const struct plan *p = tasks[of]->plan;
		int64_t at = s->instances[i].run_date, span = 0;
		if (plan_unit(p) != CU_NONE || plan_schedule(p)->cron)
			span = plan_period_end(p, at) - at;
		if (span > longest) {
			longest = span;
			found = i;
			*ret_task = tasks[of];
		}
	}
	return found;
}

void start__print_dates(const struct order *o, const struct task *const *tasks, size_t n,
                        struct buf *out)
{
	const struct selection *s = &o->sel;
	char label[LABEL_TEXT];

	CHECK(s->n_instances > 0);
	const struct task *t = NULL;
	size_t at = longest_first(s, tasks, n, &t), last = at;
	CHECK(t);
	while (last + 1 < s->n_instances && s->instances[last + 1].task == t->id)
		last++;
	put_open(out, "dates", '{');
	put_bool(out, "chosen", !o->date);
	put_time(out, "first_run_date", s->instances[at].run_date);
	label_of(t->plan, s->instances[at].run_date, label);
	put_text(out, "first_label", label);
	put_time(out, "last_run_date", s->instances[last].run_date);
	label_of(t->plan, s->instances[last].run_date, label);
	put_text(out, "last_label", label);
	put_close(out, '}');
}

void start_print(const struct commander *c, const struct cmd *cmd, struct buf *out)
{
	const struct task **tasks = chosen_of(c, &cmd->o.sel);

	start__print_dates(&cmd->o, tasks, cmd->o.sel.n_tasks, out);
	free(tasks);
}

/* --- a second of its own ------------------------------------------------------------------- */

static bool shares_task(const struct order *a, const struct order *b)
{
	for (size_t i = 0; i < a->sel.n_tasks; i++)
		if (place_of(&b->sel, a->sel.tasks[i]) != SIZE_MAX)
			return true;
	return false;
}

/* Has one of them an instance then, or is one about to be made? */
static bool is_taken(const struct commander *c, const struct order *o, int64_t at)
{
	for (size_t i = 0; i < c->n_cmds; i++) {
		const struct order *other = &c->cmds[i]->o;
		if (other->own_second && other->now_us / US_PER_S == at && shares_task(o, other))
			return true;
	}
	for (size_t i = 0; i < o->sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, o->sel.tasks[i]);
		const struct outcome_range *r = outcomes_find(&t->outcomes, at);
		if (catalog_live(&c->cat, (struct inst_key){ at, t->id, 0 }) ||
		    (r && (r->lo == r->hi || plan_has(t->def->plan, at))))
			return true;
	}
	return false;
}

int start__moment(const struct commander *c, const struct order *o, int64_t *ret_us,
                  struct refusal *f)
{
	int64_t now = o->now_us / US_PER_S, at = now;

	*ret_us = o->now_us;
	if (!o->own_second)
		return 0;
	while (is_taken(c, o, at))
		if (++at > now + AHEAD_MAX_S)
			return refuse(f, E_CONFLICT, "args.date", "a date",
			              "each of the next %d seconds has a run of it already; say "
			              "a date, or try again",
			              AHEAD_MAX_S);
	if (at > now)
		*ret_us = at * US_PER_S;
	return 0;
}

/* --- one instance -------------------------------------------------------------------------- */

struct verdict decide_start(const struct look *l)
{
	const struct order *o = l->o;
	struct verdict v = verdict__propose(l->done ? ASK_REDO : ASK_CREATE);

	if (!task_starts(l->it->task->row.state))
		return verdict__refuse(E_CONFLICT, "its task is offline and starts nothing");
	if (l->live && state_holds_slot(l->state))
		return verdict__refuse(E_CONFLICT, "an attempt runs: wait for its end, or kill it");
	if (l->live && (o->params || o->no_op || o->priority))
		return verdict__refuse(E_CONFLICT, "unfinished already, and would run as it was "
		                                   "made: skip it first, or wait for it");
	if (l->live)
		return verdict__join();
	v.is_new = !l->done;
	v.flags = (uint16_t)(IF_MEMBER | (o->no_op ? IF_DRY : 0));
	/* Of a redo: what a person began keeps an order only so (ledger_ask.c). */
	v.origin = l->done ? OR_BACKFILL : OR_MANUAL;
	v.reason = RE_USER;
	v.priority = (uint8_t)o->priority;
	v.due = o->now_us / US_PER_S;
	return v;
}
