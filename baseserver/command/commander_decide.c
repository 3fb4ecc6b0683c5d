/* What a command means for one instance. commander__decide() looks at the instance once: its row,
 * or how it ended, or that it is only planned; the function of the command's kind then says what
 * to propose, to refuse or to leave. All of it reads the catalog and changes nothing: the ledger
 * proves a proposal again, for a row may have changed meanwhile. Kinds that make something run are
 * in commander_again.c. */
#include "baseserver/command/commander_impl.h"
#include "baseserver/plan/instantiator.h"
#include "rt/actor.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/clock.h"
#include "util/err.h"

struct verdict verdict__propose(enum ask ask)
{
	return (struct verdict){ .what = VD_PROPOSE, .ask = ask };
}

struct verdict verdict__refuse(int code, const char *text)
{
	return (struct verdict){ .what = VD_REFUSE, .code = code, .text = text };
}

struct verdict verdict__leave(void)
{
	return (struct verdict){ .what = VD_LEAVE };
}

struct verdict verdict__join(void)
{
	return (struct verdict){ .what = VD_JOIN, .text = "unfinished already, left as it is" };
}

struct verdict verdict__no_row(const struct look *l)
{
	return l->planned
	               ? verdict__refuse(E_NOT_FOUND,
	                                 "planned, not made yet: `backfill` or `run-now` makes it")
	               : verdict__refuse(E_NOT_FOUND, "no such instance");
}

int64_t look__due(const struct look *l)
{
	int64_t date = l->it->key.run_date;

	return l->planned ? plan_due(l->it->task->def->plan, date) : l->o->now_us / US_PER_S;
}

/* With its task: what came due meanwhile is due anew, or left out by the catch-up mode. Who
 * unfreezes a task wants it to run: its instances that are frozen themselves are no longer. */
static struct verdict on_thaw(const struct look *l)
{
	const struct cat_task *t = l->it->task;
	int64_t date = l->it->key.run_date;
	struct verdict v = verdict__propose(ASK_THAW);
	struct verdict own = l->live && l->live->flags & IF_FROZEN && l->it->key.part <= 0
	                             ? verdict__propose(ASK_UNFREEZE)
	                             : verdict__leave();

	if (!t->row.frozen || !l->live || l->it->key.part ||
	    (l->state != ST_READY && l->state != ST_DEPEND))
		return own;
	if (l->planned && plan_due(t->def->plan, date) > l->now_s)
		return own;
	v.reason = l->planned && instantiator_leaves_out(t->def, date, l->now_s) ? RE_CATCHUP
	                                                                         : RE_USER;
	return v;
}

static struct verdict freeze(const struct look *l, enum ask ask)
{
	if (!l->live)
		return l->done ? verdict__refuse(E_CONFLICT, "has ended") : verdict__no_row(l);
	return verdict__propose(ask);
}

struct verdict decide_freeze(const struct look *l)
{
	return l->o->on_tasks ? verdict__leave() : freeze(l, ASK_FREEZE); /* not their rows */
}

struct verdict decide_unfreeze(const struct look *l)
{
	return l->o->on_tasks ? on_thaw(l) : freeze(l, ASK_UNFREEZE);
}

struct verdict decide_kill(const struct look *l)
{
	struct verdict v = verdict__propose(ASK_KILL);

	if (!l->live)
		return l->done ? verdict__refuse(E_CONFLICT, "has ended") : verdict__no_row(l);
	v.runs = state_holds_slot(l->state);
	v.intent = KI_USER;
	v.grace_ms = l->o->grace_ms;
	v.reason = RE_USER;
	return v;
}

struct verdict decide_force(const struct look *l)
{
	struct verdict v = verdict__propose(ASK_FORCE);

	if (l->live && state_holds_slot(l->state))
		return verdict__refuse(E_CONFLICT, "an attempt runs, kill it first");
	if (!l->live && !l->done && !l->planned)
		return verdict__refuse(E_NOT_FOUND, "not a planned date of this task");
	v.is_new = !l->live && !l->done;
	v.origin = OR_MANUAL;
	v.reason = RE_FORCED;
	v.due = look__due(l);
	return v;
}

struct verdict decide_skip(const struct look *l)
{
	struct verdict v = verdict__propose(l->live ? ASK_SKIP : ASK_SKIP_DATE);

	if (l->live && state_holds_slot(l->state))
		return verdict__refuse(E_CONFLICT, "an attempt runs, kill it first");
	if (l->done)
		return verdict__refuse(E_CONFLICT, "has ended");
	if (!l->live && !l->planned)
		return verdict__refuse(E_NOT_FOUND, "not a planned date of this task");
	v.is_new = !l->live;
	v.origin = OR_MANUAL;
	v.reason = RE_ASKED;
	v.due = look__due(l);
	return v;
}

struct verdict decide_priority(const struct look *l)
{
	struct verdict v = verdict__propose(ASK_PRIORITY);

	if (!l->live)
		return l->done ? verdict__refuse(E_CONFLICT, "has ended") : verdict__no_row(l);
	v.priority = (uint8_t)l->o->priority;
	return v;
}

struct verdict decide_declare(const struct look *l)
{
	if (!l->live)
		return l->done ? verdict__refuse(E_CONFLICT, "has ended") : verdict__no_row(l);
	if (l->state != ST_HANGED)
		return verdict__refuse(E_CONFLICT, "it is not hanged");
	return verdict__propose(ASK_DECLARE);
}

/* The task went offline: what waits is skipped, what runs goes on. */
struct verdict decide_offline(const struct look *l)
{
	struct verdict v = verdict__propose(ASK_SKIP);

	if (!l->live || state_holds_slot(l->state))
		return verdict__leave();
	v.reason = RE_OFFLINE;
	return v;
}

static bool is_downstream(const struct cmd *cmd, uint32_t task)
{
	for (size_t i = 0; i < cmd->n_picks; i++)
		if (cmd->picks[i].task == task)
			return cmd->picks[i].downstream;
	return false;
}

struct verdict commander__decide(const struct commander *c, const struct cmd *cmd,
                                 const struct item *it)
{
	struct look l = { .c = c, .cmd = cmd, .o = &cmd->o, .it = it, .state = ST_NONE };

	if (!it->task || catalog_retired(it->task))
		return verdict__refuse(E_NOT_FOUND, "no such task");
	if (!within__covers(&cmd->o, it->task->def->name)) /* downstream of what was chosen */
		return verdict__refuse(E_FORBIDDEN,
		                       "its project is not among those you may change");
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
	    !cmd->o.off_plan && !cmd->ops->beside_plan)
		return verdict__leave();
	/* Within a range only rows of the right kind are meant. */
	if (!it->exact && l.done && !(commander__sources(&cmd->o) & FEED_DONE))
		return verdict__leave();
	if (cmd__settled(cmd, it->key)) /* before a restart */
		return verdict__leave();
	return cmd->ops->decide ? cmd->ops->decide(&l) : verdict__leave();
}

unsigned commander__sources(const struct order *o)
{
	return FEED_LIVE | (o->ops->sources & (o->off_plan ? ~0u : ~(unsigned)FEED_BARE));
}
