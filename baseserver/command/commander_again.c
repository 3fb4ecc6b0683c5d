/* Kinds that make instances run: redo and backfill with their arguments, run-now, enqueue,
 * test-run. What is there is reopened, what is only planned is created; whether it then starts is
 * the ledger's and the sorter's affair. Links pass over dates that a plan does not have: where
 * they are to count all the same (a date off the plan, or before its begin) the instance becomes a
 * member (IF_MEMBER), which looks at the other members of its command. */
#include "baseserver/command/commander_impl.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { PARALLEL_MAX = 1000 };

/* Somebody took it out of force: what is put in or reopened would wait for ever. */
static bool is_put_off(const struct look *l)
{
	return !task_starts(l->it->task->row.state);
}

static struct verdict no_start(void)
{
	return verdict__refuse(E_CONFLICT,
	                       "its task is offline and starts nothing; put it online first "
	                       "(`sirdar online`), or test-run it");
}

/* Of redo and of backfill: its row, or how it ended, once more. */
static struct verdict again_reopen(const struct look *l, bool kill)
{
	struct verdict v = verdict__propose(ASK_REDO);

	/* Of parts that are over only the ledger knows. */
	if (!l->live && !l->done && l->it->key.part <= 0)
		return verdict__no_row(l);
	if (is_put_off(l))
		return no_start();
	v.runs = l->live && state_holds_slot(l->state);
	if (v.runs && l->state == ST_HANGED)
		return verdict__refuse(E_CONFLICT, "it is hanged, declare it dead first");
	if (v.runs && l->o->wait_running)
		return (struct verdict){ .what = VD_WAIT };
	if (v.runs && !kill)
		return verdict__refuse(E_CONFLICT, "an attempt runs, kill it first");
	v.kill_running = kill;
	v.priority = (uint8_t)l->o->priority;
	return v;
}

/* An attempt that runs is no dry run, and what follows it runs as it did. */
static int no_op_check(const struct order *o, struct refusal *f)
{
	if (!o->no_op || (!o->kill_running && !o->wait_running && !o->failed_parts))
		return 0;
	return refuse(f, E_INVALID, "args.no_op", "running: leave",
	              "args.no_op: goes with `running: leave` and with whole instances");
}

/* --- redo ----------------------------------------------------------------------------- */

int redo_parse(struct order *o, struct refusal *f)
{
	static const char *const modes[] = { "self", "with_downstream", "downstream", NULL };
	static const char *const scopes[] = { "workflow", "project", "all", NULL };
	static const char *const runnings[] = { "leave", "wait", "kill", NULL };
	static const char *const bodies[] = { "current", "old", NULL };
	static const char *const depends[] = { "all", "inside", "ignore", NULL };
	int running = 0, body = 0, depend = 0, r;

	if ((r = arg_choice(o->args, "args", "mode", modes, &o->mode, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "scope", scopes, &o->scope, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "running", runnings, &running, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "body", bodies, &body, f)) < 0 ||
	    (r = arg_choice(o->args, "args", "dependencies", depends, &depend, f)) < 0 ||
	    (r = arg_truth(o->args, "args", "failed_parts", &o->failed_parts, f)) < 0)
		return r;
	if (depend != 0 && (o->failed_parts || o->mode != REDO_SELF))
		return refuse(f, E_INVALID, "args.dependencies", "mode: self",
		              "args.dependencies: %s goes with `mode: self` and with whole "
		              "instances",
		              depends[depend]);
	o->members = depend == 1;
	o->dependencies = depend == 2 ? DEPEND_IGNORE : DEPEND_INSIDE;
	if (o->failed_parts && (running == 2 || o->mode != REDO_SELF))
		return refuse(f, E_INVALID, "args.failed_parts",
		              "mode: self, running: leave or wait",
		              "args.failed_parts: with %s the parts that are well would run again",
		              running == 2 ? "running: kill" : "a mode that takes downstream");
	o->wait_running = running == 1;
	o->old_body = body == 1;
	o->kill_running = o->kill_downstream = running == 2;
	return no_op_check(o, f);
}

/* Does one of its links reach before the begin of the parent? */
static bool reaches_before_begin(const struct look *l)
{
	const struct task *def = l->it->task->def;
	struct link_span spans[LINK_SPANS_MAX];

	for (size_t k = 0; k < def->n_links; k++) {
		const struct cat_task *p = catalog_task(&l->c->cat, def->links[k].parent);
		if (p &&
		    link_spans_ever(&def->links[k], p->def->plan, def->plan, l->it->key.run_date,
		                    spans) > 0 &&
		    spans[0].lo < plan_begin(p->def->plan))
			return true;
	}
	return false;
}

/* Links pass over dates that the plan does not have, unless both are members: what was run in
 * order once is run again in order. */
static bool redo_is_member(const struct look *l)
{
	const struct plan *plan = l->it->task->def->plan;
	int64_t t = l->it->key.run_date;

	return t < plan_begin(plan) || !plan_has(plan, t) ||
	       (l->downstream && reaches_before_begin(l));
}

static uint16_t redo_flags(const struct look *l)
{
	bool free = l->o->dependencies == DEPEND_IGNORE;
	bool member = !free && (l->o->members || redo_is_member(l));

	return (l->o->old_body ? IF_OLD_BODY : 0) | (free ? IF_NO_LINKS : 0) |
	       (member ? IF_MEMBER : 0) | (l->o->no_op ? IF_DRY : 0);
}

/* Only where there is something to mend: the ledger sees whether there are parts. */
static struct verdict mend(const struct look *l, struct verdict v)
{
	if (l->it->key.part == 0 && !task_spreads(l->it->task->def))
		return verdict__refuse(E_INVALID, "it has no parts");
	if (l->state == ST_SUCC)
		return verdict__leave(); /* all its parts are well */
	v.mend = true;
	return v;
}

static struct verdict redo(const struct look *l, bool kill)
{
	struct verdict v = again_reopen(l, kill);

	if (v.what != VD_PROPOSE)
		return v;
	v.flags = redo_flags(l);
	/* What has an order of its own is a member only so (ledger_ask.c: flags_asked). */
	v.origin = l->o->members ? OR_BACKFILL : OR_MANUAL;
	return l->o->failed_parts ? mend(l, v) : v;
}

/* It was satisfied, and waits for the time of its next attempt or look. */
static bool again_waits(const struct look *l)
{
	return l->live &&
	       (l->state == ST_FAILED || (l->state == ST_READY && l->live->flags & IF_LOOKS));
}

struct verdict decide_redo(const struct look *l)
{
	if (!l->downstream)
		return redo(l, l->o->kill_running);
	if (l->live && !state_holds_slot(l->state) && !again_waits(l))
		return verdict__join(); /* its parent's reopening takes back what it waits for */
	if (l->live && state_holds_slot(l->state) && !l->o->kill_downstream && !l->o->wait_running)
		return verdict__join();
	if ((l->done && l->state == ST_SKIPPED) || (!l->live && !l->done))
		return verdict__leave();
	return redo(l, l->o->kill_downstream);
}

/* --- backfill ------------------------------------------------------------------------- */

int backfill_parse(struct order *o, struct refusal *f)
{
	static const char *const orders[] = { "asc", "desc", "free", NULL };
	static const char *const depends[] = { "inside", "all", "ignore", NULL };
	static const char *const finisheds[] = { "redo", "leave", NULL };
	static const char *const runnings[] = { "leave", "kill", NULL };
	int depend = 0, finished = 0, running = 0, r;

	if ((r = arg_number(o->args, "args", (struct arg_range){ "parallel", 0, PARALLEL_MAX },
	                    &o->parallel, f)) < 0 ||
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
	return no_op_check(o, f);
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
			if (when_instant(&s->dates[k].from, tz, false) < plan_begin(plan))
				return true;
	}
	return false;
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

int backfill_resolve(const struct commander *c, struct order *o, struct refusal *f)
{
	o->before_begin = looks_before_begin(c, &o->sel);
	return o->order == ORDER_DESC && o->dependencies != DEPEND_IGNORE ? check_desc(c, o, f) : 0;
}

static uint16_t backfill_flags(const struct order *o)
{
	uint16_t dry = o->no_op ? IF_DRY : 0;

	if (o->dependencies == DEPEND_IGNORE)
		return IF_NO_LINKS | dry;
	return (o->dependencies == DEPEND_INSIDE || o->off_plan || o->before_begin ? IF_MEMBER
	                                                                           : 0) |
	       dry;
}

static struct verdict backfill_again(const struct look *l, bool kill)
{
	struct verdict v = again_reopen(l, kill);

	v.flags = backfill_flags(l->o);
	v.origin = OR_BACKFILL;
	return v;
}

struct verdict decide_backfill(const struct look *l)
{
	struct verdict v = verdict__propose(ASK_CREATE);

	if (is_put_off(l))
		return no_start();
	if (l->live && state_holds_slot(l->state))
		return l->o->kill_running ? backfill_again(l, true) : verdict__join();
	if (l->live)
		return verdict__join();
	if (l->done && l->o->leave_finished)
		return verdict__leave();
	if (l->done)
		return backfill_again(l, false);
	if (!l->planned && !l->o->off_plan)
		return verdict__refuse(E_INVALID, "not a planned date of this task");
	v.is_new = true;
	v.flags = backfill_flags(l->o);
	v.origin = OR_BACKFILL;
	v.reason = RE_BACKFILL;
	v.priority = (uint8_t)l->o->priority;
	v.due = look__due(l);
	return v;
}

/* --- one that is named ---------------------------------------------------------------- */

/* Beside the plan a workflow runs as one: its links hold. Tasks that each run for a date of their
 * plan begin at once. */
int run_now_resolve(const struct commander *c, struct order *o, struct refusal *f)
{
	(void)c;
	(void)f;
	o->members = o->off_plan && o->sel.n_tasks > 1;
	return 0;
}

struct verdict decide_run_now(const struct look *l)
{
	if (l->o->members)
		return decide_start(l);
	struct verdict v = verdict__propose(again_waits(l) ? ASK_RETRY : ASK_RUN_NOW);

	if (is_put_off(l))
		return no_start();
	if (l->live && state_holds_slot(l->state))
		return verdict__refuse(E_CONFLICT, "an attempt runs");
	if (!l->live && !l->done && !l->planned && !l->o->off_plan)
		return verdict__refuse(E_NOT_FOUND, "not a planned date of this task");
	v.is_new = !l->live && !l->done;
	v.origin = OR_MANUAL;
	v.reason = RE_USER;
	v.due = look__due(l);
	return v;
}

struct verdict decide_enqueue(const struct look *l)
{
	struct verdict v = verdict__propose(ASK_CREATE);

	if (is_put_off(l))
		return no_start();
	if (again_waits(l))
		return verdict__propose(ASK_RETRY);
	if (l->live)
		return state_holds_slot(l->state) ? verdict__refuse(E_CONFLICT, "an attempt runs")
		                                  : verdict__propose(ASK_DUE);
	if (l->done)
		return verdict__refuse(E_CONFLICT, "has ended; redo runs it again");
	if (!l->planned && !l->o->off_plan)
		return verdict__refuse(E_NOT_FOUND, "not a planned date of this task");
	v.is_new = true;
	v.origin = OR_MANUAL;
	v.reason = RE_USER;
	v.due = l->o->now_us / US_PER_S;
	return v;
}

/* Beside the instance, whether there is one or not: a row of its own that satisfies nobody. */
struct verdict decide_test_run(const struct look *l)
{
	struct verdict v = verdict__propose(ASK_CREATE);

	CHECK(l->cmd->ops->beside_plan); /* cmd__settled() knows it by that part */
	v.is_new = true;
	v.part = -1; /* or the next that is free: the ledger sees */
	v.version = l->cmd->draft;
	v.origin = OR_MANUAL;
	v.reason = RE_USER;
	v.due = l->o->now_us / US_PER_S;
	return v;
}
