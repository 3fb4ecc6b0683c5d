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

/* What the links of an instance look at beside the plan from its begin on: those of members of one
 * command look at dates before that too, as if the parent had always been planned. A backfill's
 * look at the dates that it names, and at no other unless it says `all`. A redo's look at those
 * that have a row: what was run in order once is run again in order. So does a backfill's that
 * begins again when its command is over. */
struct sight {
	bool by_rows;
	const struct order_of *named;
	const struct instance *before; /* not at rows that came after this began */
};

static bool names(const struct order_of *o, struct inst_key key)
{
	for (size_t i = 0; i < o->n_keys; i++)
		if (inst_key_eq(o->keys[i].key, key))
			return true;
	return false;
}

static bool has_row(const struct sight *s, struct inst_key key)
{
	struct instance i;

	return check_find(key, &i) && i.state != ST_NONE &&
	       (!s->before || check_was_there(key, s->before->key));
}

static bool sees(const struct sight *s, const struct task *p, int64_t d)
{
	struct inst_key key = { d, p->id, 0 };
	bool planned = d >= plan_begin(p->plan);

	if (s->named)
		return names(s->named, key) || (planned && s->named->all);
	return planned || (s->by_rows && has_row(s, key));
}

/* The last date before d of the plan, and of what a backfill names. */
static int64_t date_before(const struct sight *s, const struct task *p, int64_t d)
{
	do
		d = plan_prev(p->plan, d);
	while (d != PLAN_BEFORE && d < plan_begin(p->plan) && !sees(s, p, d));
	return d;
}

static int spans_of(const struct sight *s, const struct task *t, const struct task_link *l,
                    int64_t run_date, struct link_span *spans)
{
	const struct task *p = check_def(l->parent);

	if (!s->named && !s->by_rows)
		return link_spans(l, p->plan, t->plan, run_date, spans);
	if (l->kind != LK_PREV || !s->named)
		return link_spans_ever(l, p->plan, t->plan, run_date, spans);
	int64_t d = date_before(s, p, run_date + 1);
	for (int32_t n = l->prev; n > 0 && d != PLAN_BEFORE; n--)
		d = date_before(s, p, d);
	spans[0] = (struct link_span){ d, d + 1 };
	return d != PLAN_BEFORE;
}

struct tally {
	int total, met, dead;
};

static struct tally count(const struct sight *s, const struct task *t, const struct task_link *l,
                          int64_t run_date)
{
	struct link_span spans[LINK_SPANS_MAX];
	const struct task *p = check_def(l->parent);
	int n = spans_of(s, t, l, run_date, spans);
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
			    (l->strategy == LS_LAST && at < total - l->n) || !sees(s, p, d))
				continue;
			c.total++;
			c.met += m == MET;
			c.dead += m == DEAD;
		}
	return c;
}

static enum met judge_link(const struct sight *s, const struct task *t, const struct task_link *l,
                           const struct instance *i, int64_t at_us, bool lenient)
{
	if (l->by_node)
		return MET; /* parts wait for parts: sim_parts.c */
	struct tally c = count(s, t, l, i->key.run_date);
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
static bool its_turn(const struct sight *s, const struct task *t, int64_t run_date)
{
	int64_t before = t->serial == SERIAL_ORDERED ? s->named ? date_before(s, t, run_date)
	                                                        : plan_prev(t->plan, run_date)
	                                             : PLAN_BEFORE;

	if (before == PLAN_BEFORE || !sees(s, t, before))
		return true;
	const struct outcome_range *o = outcomes_find(&outcomes[t->id], before);
	return o && (o->state == ST_SUCC || o->state == ST_SKIPPED);
}

static enum met judge_by(const struct sight *s, const struct task *t, const struct instance *i,
                         int64_t at_us, bool lenient)
{
	int n = (int)t->n_links, met = 0, dead = 0;
	int need = t->join > 0 && t->join < n ? t->join : n;

	for (int k = 0; k < n; k++) {
		enum met m = judge_link(s, t, &t->links[k], i, at_us, lenient);
		met += m == MET;
		dead += m == DEAD;
	}
	if (dead > n - need)
		return DEAD;
	bool turn = its_turn(s, t, i->key.run_date) && !overlap_awaits_turn(t, i);
	return met >= need && turn ? MET : OPEN;
}

/* By what it may look at. What a command names whose first answer is still on its way nobody knows
 * here: then anything may be. */
static bool may_be(enum met what, const struct task *t, const struct instance *i, int64_t at_us,
                   bool lenient)
{
	bool is_member = i->flags & IF_MEMBER;
	const struct order_of *o = is_member ? commands_by_id(i->cause) : NULL;
	struct sight rows = { .by_rows = is_member, .before = lenient ? i : NULL },
		     dates = { .named = o };

	if (is_member && !o)
		return true;
	if (judge_by(&rows, t, i, at_us, lenient) == what)
		return true;
	rows.before = NULL; /* a start counts anew for a redo: rows that came meanwhile, too */
	if (is_member && o->kind != W_BACKFILL && judge_by(&rows, t, i, at_us, lenient) == what)
		return true;
	return is_member && o->kind == W_BACKFILL && judge_by(&dates, t, i, at_us, lenient) == what;
}

static bool may_be_now(enum met what, const struct task *t, const struct instance *i)
{
	return may_be(what, t, i, wall_of(now_us), true) ||
	       may_be(what, t, i, wall_of(now_us), false);
}

/* I8: judged on the committed prefix. Retries and further looks do not ask again. */
void rules_grant(const struct transition *tr, bool came_back)
{
	const struct instance *i = &tr->inst;
	const struct task *t = check_def_of(i);

	if (i->key.part != 0 || i->attempt != 1 || i->infra || i->looks || came_back ||
	    (i->flags & IF_RUN_NOW))
		return;
	if (!may_be(MET, t, i, tr->at_us, true))
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

	if (inst_looks_again(i))
		return false;
	if (i->key.part > 0 || (i->flags & IF_SPREAD && i->state == ST_RUNNING))
		return parts_may_wait(i);
	return i->state == ST_READY && i->key.part == 0 && may_be_now(OPEN, t, i);
}

bool rules_open(const struct instance *i)
{
	const struct task *t = check_def(i->key.task);

	if (inst_looks_again(i))
		return i->retry_at_us <= wall_of(now_us);
	if (i->key.part > 0)
		return !parts_may_wait(i);
	return !may_be_now(OPEN, t, i) && !may_be_now(DEAD, t, i);
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
	return t->version != 1 || may_be(DEAD, t, i, 0, false);
}
