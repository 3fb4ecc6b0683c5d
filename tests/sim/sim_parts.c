/* Instances with parts, by the rules (design: SEMANTICS sections 3 and 6), from the log alone:
 * where a part runs and after whom, what is left out, and what the whole ends as. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sched/plan.h"
#include "sched/task.h"
#include "sim.h"

static bool is_final(const struct instance *i)
{
	return state_final((enum state)i->state);
}

static bool is_bad(const struct instance *i)
{
	return i->state == ST_STOP || i->state == ST_KILLED;
}

static struct inst_key part_of(struct inst_key key, int32_t part)
{
	return (struct inst_key){ key.run_date, key.task, part };
}

static bool by_node(const struct task *t)
{
	return t->n_links > 0 && t->links[0].by_node;
}

/* The whole begins anew, and this part with it: what it gave is taken back. */
static bool taken_back(const struct instance *whole, const struct instance *part)
{
	if (whole->state != ST_READY && whole->state != ST_DEPEND)
		return false;
	return !(whole->flags & IF_KEEP) || (whole->flags & IF_MEND && is_bad(part));
}

/* How a step ended on this node. One that never had a part there ended as its whole did. */
static bool ended_there(struct inst_key key, struct instance *ret)
{
	struct instance whole;

	if (!check_find(part_of(key, 0), &whole))
		return false;
	if (!check_find(key, ret)) {
		*ret = whole;
		return is_final(&whole);
	}
	return is_final(ret) && !taken_back(&whole, ret);
}

static enum met judge_link(const struct task_link *l, struct inst_key key)
{
	struct inst_key before = { key.run_date, l->parent, key.part };
	struct instance was;

	/* Never planned: its step before went online later, and nobody has asked for that date. */
	if (before.run_date < plan_begin(check_def(l->parent)->plan) &&
	    !check_find(part_of(before, 0), &was))
		return MET;
	if (!ended_there(before, &was))
		return OPEN;
	bool left_out = was.state == ST_SKIPPED &&
	                (was.reason == RE_LINK || was.reason == RE_BRANCH ||
	                 was.reason == RE_PIPELINE);
	switch (l->on) {
	case ON_DONE:
		return MET;
	case ON_FAILURE:
		return is_bad(&was) ? MET : DEAD;
	default:
		return is_bad(&was) || left_out ? DEAD : MET;
	}
}

static enum met judge_part(const struct task *t, struct inst_key key)
{
	size_t met = 0, dead = 0, n = by_node(t) ? t->n_links : 0;
	size_t need = t->join > 0 && (size_t)t->join < n ? (size_t)t->join : n;

	for (size_t k = 0; k < n; k++) {
		enum met m = judge_link(&t->links[k], key);
		met += m == MET;
		dead += m == DEAD;
	}
	return dead > n - need ? DEAD : met >= need ? MET : OPEN;
}

bool parts_may_wait(const struct instance *i)
{
	struct instance part;

	for (int32_t k = 1; i->key.part == 0 && k <= i->parts; k++)
		if (check_find(part_of(i->key, k), &part) && parts_may_wait(&part))
			return i->state == ST_RUNNING;
	/* Begun anew alone, it waits with the whole for what that waits for. */
	if (inst_looks_again(i))
		return false;
	if (i->key.part > 0 && i->state == ST_READY && check_find(part_of(i->key, 0), &part) &&
	    part.state == ST_READY)
		return rules_may_wait(&part);
	return i->key.part > 0 && i->state == ST_READY &&
	       judge_part(check_def(i->key.task), i->key) == OPEN;
}

/* A part runs on its own node: the one with its number, or where it was spread to. */
static void check_home(const struct transition *tr, const struct task *t)
{
	struct inst_key key = tr->inst.key;
	struct instance was;
	char name[16];

	snprintf(name, sizeof name, "b%u", tr->inst.broker - 1);
	if (t->n_machines &&
	    ((size_t)key.part > t->n_machines || strcmp(t->machines[key.part - 1], name) != 0))
		break_invariant("N1", "part %d of task %u goes to %s, which is not its node",
		                key.part, key.task, name);
	if (!t->n_machines && check_find(key, &was) && was.broker != tr->inst.broker)
		break_invariant("N1", "part %d of task %u moves from broker %u to %u", key.part,
		                key.task, was.broker, tr->inst.broker);
}

void parts_grant(const struct transition *tr, bool came_back)
{
	const struct instance *i = &tr->inst;
	const struct task *t = check_def_of(i);
	struct instance whole;

	if (i->key.part <= 0)
		return;
	check_home(tr, t);
	if (i->attempt != 1 || i->infra || i->looks || came_back ||
	    (check_find(part_of(i->key, 0), &whole) && whole.flags & IF_RUN_NOW))
		return;
	if (judge_part(t, i->key) != MET)
		break_invariant("N1",
		                "part %d of task %u at %" PRId64
		                " starts before its step's turn on that node",
		                i->key.part, t->id, i->key.run_date);
}

/* Left out for a step before it: only while that is so. */
void parts_skip(const struct transition *tr)
{
	const struct instance *i = &tr->inst;
	const struct task *t = check_def(i->key.task);
	enum reason says = t->fails_only ? RE_LINK : RE_PIPELINE;
	struct instance whole;

	if (i->key.part <= 0 || (tr->reason != RE_LINK && tr->reason != RE_PIPELINE))
		return;
	if (check_find(part_of(i->key, 0), &whole) && whole.state == ST_SKIPPED &&
	    whole.reason == tr->reason)
		return; /* with its whole */
	if (tr->reason != says || judge_part(t, i->key) != DEAD)
		break_invariant("N2",
		                "part %d of task %u at %" PRId64
		                " is left out (%s), and no step before it ended so",
		                i->key.part, t->id, i->key.run_date,
		                reason_name((enum reason)tr->reason));
}

struct tally {
	int n, over, stopped, killed, skipped;
};

static struct tally count(const struct instance *whole)
{
	struct tally c = { 0 };
	struct instance i;

	for (int32_t k = 1; k <= whole->parts; k++) {
		if (!check_find(part_of(whole->key, k), &i))
			continue;
		c.n++;
		c.over += is_final(&i);
		c.stopped += i.state == ST_STOP;
		c.killed += i.state == ST_KILLED;
		c.skipped += i.state == ST_SKIPPED;
	}
	return c;
}

static enum state worst(const struct tally *c)
{
	return c->stopped ? ST_STOP : c->killed ? ST_KILLED : c->skipped ? ST_SKIPPED : ST_SUCC;
}

/* Of those that begin anew none is over, of those that stay none was begun again. */
static void check_spread(const struct transition *tr)
{
	const struct task *t = check_def(tr->inst.key.task);
	struct inst_key key = tr->inst.key;
	struct instance whole, i;

	if (t->n_machines && (!check_find(key, &whole) || !(whole.flags & IF_KEEP)) &&
	    tr->inst.parts != t->n_machines)
		break_invariant("N1", "task %u has %u parts and %zu nodes", key.task,
		                tr->inst.parts, t->n_machines);
	for (key.part = 1; key.part <= tr->inst.parts; key.part++) {
		if (!check_find(key, &i))
			break_invariant("I22", "task %u has no part %d", key.task, key.part);
		else if (is_final(&i) && check_find(part_of(key, 0), &whole) &&
		         taken_back(&whole, &i))
			break_invariant("I22", "task %u begins anew, its part %d does not",
			                key.task, key.part);
	}
}

/* I22: the whole ends when all its parts have, as the worst of them. */
void parts_whole(const struct transition *tr, bool unclear)
{
	struct tally c = count(&tr->inst);
	enum state to = (enum state)tr->to;
	bool ends = state_holds_slot((enum state)tr->from) && state_final(to);

	if (tr->event == EV_SPREAD && !unclear)
		check_spread(tr);
	if (!ends || tr->event == EV_FORCE)
		return;
	if (c.over != tr->inst.parts)
		break_invariant("I22", "task %u ended before its parts: %d of %d",
		                tr->inst.key.task, c.over, tr->inst.parts);
	/* A person killed it: that is what it ends as, unless all of it was well. */
	enum state want = tr->from == ST_WAITKILL && worst(&c) != ST_SUCC ? ST_KILLED : worst(&c);
	if (to != want)
		break_invariant("I22", "task %u ends as %s, the worst of its parts is %s",
		                tr->inst.key.task, state_name(to), state_name(want));
}

bool parts_over(const struct instance *i)
{
	struct tally c = count(i);

	return c.over == i->parts;
}

static bool is_left_out(const struct instance *i)
{
	return i->state == ST_SKIPPED && (i->reason == RE_PIPELINE || i->reason == RE_LINK);
}

/* At the end: what was left out is so still, unless its whole did not want it any more; and what
 * succeeded did so everywhere. */
void parts_quiet(const struct instance *i)
{
	const struct task *t = check_def(i->key.task);
	struct instance whole;
	struct tally c;

	if (t->version != 1)
		return; /* links and nodes were others then */
	if (by_node(t) && i->key.part > 0 && is_left_out(i) && judge_part(t, i->key) != DEAD &&
	    (!check_find(part_of(i->key, 0), &whole) || whole.attempt > 0 ||
	     !state_final((enum state)whole.state) || is_left_out(&whole)))
		break_invariant("N2",
		                "part %d of task %u at %" PRId64
		                " was left out for a step that began anew",
		                i->key.part, t->id, i->key.run_date);
	if (i->key.part != 0 || !(i->flags & IF_SPREAD) || i->state != ST_SUCC ||
	    i->reason != RE_EXIT)
		return;
	c = count(i);
	if (worst(&c) != ST_SUCC)
		break_invariant("I22", "task %u at %" PRId64 " succeeded, a part of it is %s",
		                t->id, i->key.run_date, state_name(worst(&c)));
}
