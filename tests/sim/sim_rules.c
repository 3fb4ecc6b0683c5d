/* What should be so, worked out by brute force from definitions and outcomes: nothing here
 * is shared with the resolver but the plan and the link's window. */
#include <inttypes.h>
#include <string.h>

#include "sched/outcome.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sim.h"

static struct outcomes outcomes[TASKS + 1];

void rules_reset(void)
{
	for (size_t i = 0; i <= TASKS; i++)
		outcomes_done(&outcomes[i]);
}

void rules_follow(const struct transition *tr)
{
	const struct plan *plan = check_def(tr->inst.key.task)->plan;
	struct outcomes *o = &outcomes[tr->inst.key.task];

	if (tr->inst.key.part != 0)
		return;
	if (state_final((enum state)tr->to))
		outcomes_set(o, plan, tr->inst.key.run_date, tr->inst.generation, tr->to,
		             tr->inst.reason);
	else if (state_final((enum state)tr->from))
		outcomes_clear(o, plan, tr->inst.key.run_date);
}

static bool by_link(const struct outcome_range *o)
{
	return o->state == ST_SKIPPED &&
	       (o->reason == RE_LINK || o->reason == RE_BRANCH || o->reason == RE_PIPELINE);
}

/* (design: SEMANTICS section 2, "met, open or dead".) */
static enum met judge_date(enum link_on on, const struct outcome_range *o)
{
	if (!o)
		return OPEN;
	if (on == ON_DONE)
		return MET;
	if (on == ON_FAILURE)
		return o->state == ST_STOP || o->state == ST_KILLED ? MET : DEAD;
	if (by_link(o) || (on == ON_STRONG && o->state != ST_SUCC && o->state != ST_SKIPPED))
		return DEAD;
	return o->state == ST_SUCC || o->state == ST_SKIPPED ? MET : OPEN;
}

struct tally {
	int total, met, dead;
};

static struct tally count(const struct task *t, const struct task_link *l, int64_t run_date)
{
	struct link_span spans[LINK_SPANS_MAX];
	const struct task *p = check_def(l->parent);
	int n = link_spans(l, p->plan, t->plan, run_date, spans);
	struct tally c = { 0, 0, 0 };

	int total = 0, at = 0;
	for (int i = 0; i < n; i++)
		for (int64_t d = plan_next(p->plan, spans[i].lo - 1); d < spans[i].hi;
		     d = plan_next(p->plan, d))
			total++;
	for (int i = 0; i < n; i++)
		for (int64_t d = plan_next(p->plan, spans[i].lo - 1); d < spans[i].hi;
		     d = plan_next(p->plan, d), at++) {
			enum met m = judge_date(l->on, outcomes_find(&outcomes[p->id], d));
			if ((l->strategy == LS_FIRST && at >= l->n) ||
			    (l->strategy == LS_LAST && at < total - l->n))
				continue;
			c.total++;
			c.met += m == MET;
			c.dead += m == DEAD;
		}
	return c;
}

static enum met judge_link(const struct task *t, const struct task_link *l,
                           const struct instance *i, int64_t at_us, bool lenient)
{
	if (l->by_node)
		return MET; /* parts wait for parts: sim_parts.c */
	struct tally c = count(t, l, i->key.run_date);
	int need = l->strategy == LS_ANY && c.total ? 1 : c.total;
	if (l->strategy == LS_AT_LEAST && l->n < c.total)
		need = l->n;

	if (c.met >= need)
		return MET;
	/* A clock that jumps may have shown a later time meanwhile. What was open when its time
	 * came counts as met, whatever becomes of it: lenient takes it that it was. Who enqueued it
	 * made it due earlier than its date is. */
	int64_t due_us = check_is_due_now(i->key) ? i->eff_due_us : i->due * SEC;
	int64_t from_us = lenient ? due_us : server_due(i);
	bool passed = at_us >= from_us + l->pass_after_s * SEC || swarm.wall_jumps;
	bool dead = c.dead > c.total - need;
	if (l->pass_after_s && l->on != ON_FAILURE && passed && at_us && (lenient || !dead))
		return MET;
	return dead ? DEAD : OPEN;
}

/* An ordered task: the date before must be Succ or Skipped, for whatever reason. */
static bool its_turn(const struct task *t, int64_t run_date)
{
	int64_t before = plan_prev(t->plan, run_date);

	if (t->serial != SERIAL_ORDERED || before == PLAN_BEFORE || before < plan_begin(t->plan))
		return true;
	const struct outcome_range *o = outcomes_find(&outcomes[t->id], before);
	return o && (o->state == ST_SUCC || o->state == ST_SKIPPED);
}

static enum met judge(const struct task *t, const struct instance *i, int64_t at_us, bool lenient)
{
	int n = (int)t->n_links, met = 0, dead = 0;
	int need = t->join > 0 && t->join < n ? t->join : n;

	for (int k = 0; k < n; k++) {
		enum met m = judge_link(t, &t->links[k], i, at_us, lenient);
		met += m == MET;
		dead += m == DEAD;
	}
	if (dead > n - need)
		return DEAD;
	bool turn = its_turn(t, i->key.run_date) && !overlap_awaits_turn(t, i);
	return met >= need && turn ? MET : OPEN;
}

/* I8: judged on the committed prefix. Retries do not ask again. */
void rules_grant(const struct transition *tr, bool came_back)
{
	const struct instance *i = &tr->inst;
	const struct task *t = check_def_of(i);

	if (i->key.part != 0 || i->attempt != 1 || i->infra || came_back || (i->flags & IF_RUN_NOW))
		return;
	if (judge(t, i, tr->at_us, true) != MET)
		break_invariant("I8", "task %u at %" PRId64 " granted while a link is not met",
		                t->id, i->key.run_date);
	if (i->eff_due_us > tr->at_us && !swarm.wall_jumps)
		break_invariant("I8", "task %u at %" PRId64 " granted before it is due", t->id,
		                i->key.run_date);
}

/* I25: its time without a leader is in its effective due already. It may have been asked for just
 * before an edit. */
void rules_expire(const struct transition *tr)
{
	const struct task *t = check_def(tr->inst.key.task);
	int64_t due_us = tr->inst.eff_due_us;

	for (uint32_t v = t->version; v >= 1 && !swarm.wall_jumps; v--) {
		const struct task *was = task_version(t->id, v);
		if (was && was->expire_after_us && tr->at_us >= due_us + was->expire_after_us)
			return;
	}
	if (!swarm.wall_jumps)
		break_invariant("I25",
		                "task %u at %" PRId64 " expired %" PRId64 " us after it was due",
		                t->id, tr->inst.key.run_date, tr->at_us - due_us);
}

bool rules_may_wait(const struct instance *i)
{
	const struct task *t = check_def(i->key.task);

	if (i->key.part > 0 || (i->flags & IF_SPREAD && i->state == ST_RUNNING))
		return parts_may_wait(i);
	return i->state == ST_READY && i->key.part == 0 &&
	       (judge(t, i, wall_of(now_us), true) == OPEN ||
	        judge(t, i, wall_of(now_us), false) == OPEN);
}

bool rules_open(const struct instance *i)
{
	const struct task *t = check_def(i->key.task);

	if (i->key.part > 0)
		return !parts_may_wait(i);
	return judge(t, i, wall_of(now_us), true) == MET &&
	       judge(t, i, wall_of(now_us), false) == MET;
}

void rules_skip(const struct transition *tr)
{
	const struct task *t = check_def(tr->inst.key.task);

	if (tr->reason == RE_CATCHUP && t->catchup == CATCHUP_ALL && t->catchup_max == 0)
		break_invariant("P15", "task %u runs all it missed, %" PRId64 " was skipped", t->id,
		                tr->inst.key.run_date);
}

/* Skipped by a dead join, for as long as the join is dead. */
bool rules_skip_stands(const struct instance *i)
{
	const struct task *t = check_def(i->key.task);

	if (i->key.part != 0 || (t->n_links > 0 && t->links[0].by_node))
		return true; /* as its parts: sim_parts.c */
	return t->version != 1 || judge(t, i, 0, false) == DEAD;
}
