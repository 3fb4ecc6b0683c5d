/* What a command means for one instance: one function per kind, chosen by a table. The
 * ledger proves it again; a row may have changed meanwhile. */
#include "baseserver/command/commander_impl.h"
#include "baseserver/plan/instantiator.h"
#include "rt/actor.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/clock.h"
#include "util/err.h"

struct look {
	const struct commander *c;
	const struct cmd *cmd;
	const struct order *o;
	const struct item *it;
	const struct cat_inst *live;      /* or */
	const struct outcome_range *done; /* or neither */
	bool planned, downstream;
	enum state state;
	int64_t now_s;
};

static struct verdict propose(enum ask ask)
{
	return (struct verdict){ .what = VD_PROPOSE, .ask = ask };
}

static struct verdict no(int code, const char *text)
{
	return (struct verdict){ .what = VD_REFUSE, .code = code, .text = text };
}

static struct verdict leave(void)
{
	return (struct verdict){ .what = VD_LEAVE };
}

static struct verdict no_row(const struct look *l)
{
	return l->planned
	               ? no(E_NOT_FOUND, "planned, not made yet: `backfill` or `run-now` makes it")
	               : no(E_NOT_FOUND, "no such instance");
}

static int64_t due_of(const struct look *l)
{
	int64_t date = l->it->key.run_date;

	return l->planned ? plan_due(l->it->task->def->plan, date) : l->o->now_us / US_PER_S;
}

/* With its task: what came due meanwhile is due anew, or left out by the catch-up mode. */
static struct verdict on_thaw(const struct look *l)
{
	const struct cat_task *t = l->it->task;
	int64_t date = l->it->key.run_date;
	struct verdict v = propose(ASK_THAW);

	if (!t->row.frozen || !l->live || l->it->key.part ||
	    (l->state != ST_READY && l->state != ST_DEPEND))
		return leave();
	if (l->planned && plan_due(t->def->plan, date) > l->now_s)
		return leave();
	v.reason = l->planned && instantiator_leaves_out(t->def, date, l->now_s) ? RE_CATCHUP
	                                                                         : RE_USER;
	return v;
}

static struct verdict on_freeze(const struct look *l)
{
	if (l->o->on_tasks)
		return l->o->kind == CK_UNFREEZE ? on_thaw(l) : leave(); /* not their rows */
	if (!l->live)
		return l->done ? no(E_CONFLICT, "has ended") : no_row(l);
	return propose(l->o->kind == CK_FREEZE ? ASK_FREEZE : ASK_UNFREEZE);
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

static uint16_t flags_of(const struct look *l)
{
	const struct order *o = l->o;

	if (o->kind == CK_REDO)
		return (o->old_body ? IF_OLD_BODY : 0) | (redo_is_member(l) ? IF_MEMBER : 0);
	if (o->kind != CK_BACKFILL)
		return 0;
	if (o->dependencies == DEPEND_IGNORE)
		return IF_NO_LINKS;
	return o->dependencies == DEPEND_INSIDE || o->off_plan || o->before_begin ? IF_MEMBER : 0;
}

/* Somebody took it out of force: what is put in or reopened would wait for ever. */
static bool is_put_off(const struct look *l)
{
	return !task_starts(l->it->task->row.state);
}

static struct verdict no_start(void)
{
	return no(E_CONFLICT, "its task is offline and starts nothing; put it online first "
	                      "(`sirdar online`), or test-run it");
}

/* Only where there is something to mend: the ledger sees whether there are parts. */
static struct verdict mend(const struct look *l, struct verdict v)
{
	if (l->it->key.part == 0 && !task_spreads(l->it->task->def))
		return no(E_INVALID, "it has no parts");
	if (l->state == ST_SUCC)
		return leave(); /* all its parts are well */
	v.mend = true;
	return v;
}

static struct verdict redo(const struct look *l, bool kill)
{
	struct verdict v = propose(ASK_REDO);

	/* Of parts that are over only the ledger knows. */
	if (!l->live && !l->done && l->it->key.part <= 0)
		return no_row(l);
	if (is_put_off(l))
		return no_start();
	v.runs = l->live && state_holds_slot(l->state);
	if (v.runs && l->state == ST_HANGED)
		return no(E_CONFLICT, "it is hanged, declare it dead first");
	if (v.runs && l->o->wait_running)
		return (struct verdict){ .what = VD_WAIT };
	if (v.runs && !kill)
		return no(E_CONFLICT, "an attempt runs, kill it first");
	v.kill_running = kill;
	v.flags = flags_of(l);
	v.origin = l->o->kind == CK_BACKFILL ? OR_BACKFILL : OR_MANUAL;
	v.priority = (uint8_t)l->o->priority;
	return l->o->failed_parts ? mend(l, v) : v;
}

static struct verdict on_redo(const struct look *l)
{
	if (!l->downstream)
		return redo(l, l->o->kill_running);
	if (l->live && !state_holds_slot(l->state) && l->state != ST_FAILED)
		return leave(); /* its parent's reopening takes back what it waits for */
	if (l->live && state_holds_slot(l->state) && !l->o->kill_downstream && !l->o->wait_running)
		return leave();
	if ((l->done && l->state == ST_SKIPPED) || (!l->live && !l->done))
		return leave();
	return redo(l, l->o->kill_downstream);
}

static struct verdict on_backfill(const struct look *l)
{
	struct verdict v = propose(ASK_CREATE);

	if (is_put_off(l))
		return no_start();
	if (l->live && state_holds_slot(l->state))
		return l->o->kill_running ? redo(l, true) : leave();
	if (l->live || (l->done && l->o->leave_finished))
		return leave();
	if (l->done)
		return redo(l, false);
	if (!l->planned && !l->o->off_plan)
		return no(E_INVALID, "not a planned date of this task");
	v.is_new = true;
	v.flags = flags_of(l);
	v.origin = OR_BACKFILL;
	v.reason = RE_BACKFILL;
	v.priority = (uint8_t)l->o->priority;
	v.due = due_of(l);
	return v;
}

static struct verdict on_kill(const struct look *l)
{
	struct verdict v = propose(ASK_KILL);

	if (!l->live)
		return l->done ? no(E_CONFLICT, "has ended") : no_row(l);
	v.runs = state_holds_slot(l->state);
	v.intent = KI_USER;
	v.grace_ms = l->o->grace_ms;
	v.reason = RE_USER;
	return v;
}

static struct verdict on_force(const struct look *l)
{
	struct verdict v = propose(ASK_FORCE);

	if (l->live && state_holds_slot(l->state))
		return no(E_CONFLICT, "an attempt runs, kill it first");
	if (!l->live && !l->done && !l->planned)
		return no(E_NOT_FOUND, "not a planned date of this task");
	v.is_new = !l->live && !l->done;
	v.origin = OR_MANUAL;
	v.reason = RE_FORCED;
	v.due = due_of(l);
	return v;
}

static struct verdict on_skip(const struct look *l)
{
	struct verdict v = propose(l->live ? ASK_SKIP : ASK_SKIP_DATE);

	if (l->live && state_holds_slot(l->state))
		return no(E_CONFLICT, "an attempt runs, kill it first");
	if (l->done)
		return no(E_CONFLICT, "has ended");
	if (!l->live && !l->planned)
		return no(E_NOT_FOUND, "not a planned date of this task");
	v.is_new = !l->live;
	v.origin = OR_MANUAL;
	v.reason = RE_ASKED;
	v.due = due_of(l);
	return v;
}

static struct verdict on_priority(const struct look *l)
{
	struct verdict v = propose(ASK_PRIORITY);

	if (!l->live)
		return l->done ? no(E_CONFLICT, "has ended") : no_row(l);
	v.priority = (uint8_t)l->o->priority;
	return v;
}

static struct verdict on_run_now(const struct look *l)
{
	struct verdict v = propose(l->live && l->state == ST_FAILED ? ASK_RETRY : ASK_RUN_NOW);

	if (is_put_off(l))
		return no_start();
	if (l->live && state_holds_slot(l->state))
		return no(E_CONFLICT, "an attempt runs");
	if (!l->live && !l->done && !l->planned && !l->o->off_plan)
		return no(E_NOT_FOUND, "not a planned date of this task");
	v.is_new = !l->live && !l->done;
	v.origin = OR_MANUAL;
	v.reason = RE_USER;
	v.due = due_of(l);
	return v;
}

static struct verdict on_enqueue(const struct look *l)
{
	struct verdict v = propose(ASK_CREATE);

	if (is_put_off(l))
		return no_start();
	if (l->live && l->state == ST_FAILED)
		return propose(ASK_RETRY);
	if (l->live)
		return state_holds_slot(l->state) ? no(E_CONFLICT, "an attempt runs")
		                                  : propose(ASK_DUE);
	if (l->done)
		return no(E_CONFLICT, "has ended; redo runs it again");
	if (!l->planned && !l->o->off_plan)
		return no(E_NOT_FOUND, "not a planned date of this task");
	v.is_new = true;
	v.origin = OR_MANUAL;
	v.reason = RE_USER;
	v.due = l->o->now_us / US_PER_S;
	return v;
}

static struct verdict on_declare(const struct look *l)
{
	if (!l->live)
		return l->done ? no(E_CONFLICT, "has ended") : no_row(l);
	if (l->state != ST_HANGED)
		return no(E_CONFLICT, "it is not hanged");
	return propose(ASK_DECLARE);
}

/* The task went offline: what waits is skipped, what runs goes on. */
static struct verdict on_offline(const struct look *l)
{
	struct verdict v = propose(ASK_SKIP);

	if (!l->live || state_holds_slot(l->state))
		return leave();
	v.reason = RE_OFFLINE;
	return v;
}

/* Beside the instance, whether there is one or not: a row of its own that satisfies nobody. */
static struct verdict on_test_run(const struct look *l)
{
	struct verdict v = propose(ASK_CREATE);

	v.is_new = true;
	v.part = -1; /* or the next that is free: the ledger sees */
	v.version = l->cmd->draft;
	v.origin = OR_MANUAL;
	v.reason = RE_USER;
	v.due = l->o->now_us / US_PER_S;
	return v;
}

static struct verdict (*const kinds[CK_COUNT])(const struct look *l) = {
	[CK_FREEZE] = on_freeze,
	[CK_UNFREEZE] = on_freeze,
	[CK_REDO] = on_redo,
	[CK_BACKFILL] = on_backfill,
	[CK_KILL] = on_kill,
	[CK_FORCE_SUCCESS] = on_force,
	[CK_PRIORITY] = on_priority,
	[CK_SKIP] = on_skip,
	[CK_RUN_NOW] = on_run_now,
	[CK_ENQUEUE] = on_enqueue,
	[CK_DECLARE_DEAD] = on_declare,
	[CK_TEST_RUN] = on_test_run,
	[CK_OFFLINE] = on_offline,
	[CK_RETIRE] = on_offline,
};

static bool is_downstream(const struct cmd *cmd, uint32_t task)
{
	for (size_t i = 0; i < cmd->n_picks; i++)
		if (cmd->picks[i].task == task)
			return cmd->picks[i].downstream;
	return false;
}

struct verdict commander_decide(const struct commander *c, const struct cmd *cmd,
                                const struct item *it)
{
	struct look l = { .c = c, .cmd = cmd, .o = &cmd->o, .it = it, .state = ST_NONE };

	if (!it->task || catalog_retired(it->task))
		return no(E_NOT_FOUND, "no such task");
	if (!within(&cmd->o, it->task->def->name)) /* downstream of what was chosen */
		return no(E_FORBIDDEN, "its project is not among those you may change");
	l.live = catalog_live(&c->cat, it->key);
	if (!l.live && it->key.part == 0)
		l.done = outcomes_find(&it->task->outcomes, it->key.run_date);
	if (l.done && l.done->lo != l.done->hi && !plan_has(it->task->def->plan, it->key.run_date))
		l.done = NULL; /* between two dates of a range */
	l.state = (enum state)(l.live ? l.live->state : l.done ? l.done->state : ST_NONE);
	l.planned = it->key.part == 0 && plan_has(it->task->def->plan, it->key.run_date);
	l.downstream = is_downstream(cmd, it->key.task);
	l.now_s = actor_wall_us(c->me) / US_PER_S;
	/* A named date that this task does not plan is another task's. */
	if (it->exact && !cmd->o.sel.has_instances && !l.live && !l.done && !l.planned &&
	    !cmd->o.off_plan && cmd->kind != CK_TEST_RUN)
		return leave();
	/* Within a range only rows of the right kind are meant. */
	if (!it->exact && l.done && !(commander_sources(&cmd->o) & FEED_DONE))
		return leave();
	if (cmd_settled(cmd, it->key)) /* before a restart */
		return leave();
	return kinds[cmd->kind] ? kinds[cmd->kind](&l) : leave();
}

unsigned commander_sources(const struct order *o)
{
	switch (o->kind) {
	case CK_BACKFILL:
	case CK_RUN_NOW:
		return FEED_PLAN | FEED_LIVE | FEED_DONE | (o->off_plan ? FEED_BARE : 0);
	case CK_FORCE_SUCCESS:
	case CK_TEST_RUN:
		return FEED_PLAN | FEED_LIVE | FEED_DONE;
	case CK_SKIP:
	case CK_ENQUEUE:
		return FEED_PLAN | FEED_LIVE;
	case CK_REDO:
		return FEED_LIVE | FEED_DONE;
	default:
		return FEED_LIVE;
	}
}
