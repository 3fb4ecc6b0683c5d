/* I26: what overlaps, by how its task is judged; what a person asked for is not. */
#include <inttypes.h>

#include "sched/task.h"
#include "sim.h"

/* A date of the same task, or run of the same pipeline, that came before. */
static bool is_earlier(const struct task *t, const struct instance *e, const struct instance *i)
{
	bool alike = t->overlap_run ? flow_has(e->key.task) : e->key.task == t->id;

	return alike && e->key.part == 0 && e->key.run_date < i->key.run_date &&
	       e->origin != OR_BACKFILL && !(e->flags & IF_MEMBER);
}

/* One that is not over. */
static const struct instance *earlier_of(const struct task *t, const struct instance *i)
{
	const struct instance *e;

	for (uint32_t at = 0; (e = check_next(&at));)
		if (is_earlier(t, e, i) && !state_final((enum state)e->state))
			return e;
	return NULL;
}

/* One that is, and ended after i came due: it ran when a server began, which waited for that. */
static bool ended_after(const struct task *t, const struct instance *i)
{
	const struct instance *e;

	for (uint32_t at = 0; (e = check_next(&at));)
		if (is_earlier(t, e, i) && state_final((enum state)e->state) &&
		    e->ended_us > i->due * SEC)
			return true;
	return false;
}

/* Of before this server, and over before i came due: its holder has not been waited for. */
static bool was_over(const struct instance *e, const struct transition *tr)
{
	return state_holds_slot((enum state)e->state) && e->state != ST_HANGED &&
	       e->token >> 40 < tr->epoch && check_ended_at(e->token) < tr->inst.due * SEC;
}

bool overlap_awaits_turn(const struct task *t, const struct instance *i)
{
	return t->overlap >= OVERLAP_QUEUE && i->key.part == 0 && i->origin == OR_CYCLE &&
	       !(i->flags & (IF_RUN_NOW | IF_NO_LINKS | IF_MEMBER)) && earlier_of(t, i);
}

void overlap_check(const struct transition *tr)
{
	const struct instance *i = &tr->inst;
	const struct task *t = check_def(i->key.task);
	bool starts = tr->event == EV_GRANT || tr->event == EV_SPREAD;
	bool first = !i->infra && !i->looks && (tr->event == EV_SPREAD || i->attempt == 1);

	if (i->key.part != 0 || i->origin != OR_CYCLE || t->overlap == OVERLAP_ALLOW ||
	    i->flags & (IF_RUN_NOW | IF_NO_LINKS | IF_MEMBER))
		return;
	const struct instance *e = earlier_of(t, i);
	bool is_skip = t->overlap == OVERLAP_SKIP && !t->overlap_run;
	if (t->overlap >= OVERLAP_QUEUE && starts && (first || i->flags & IF_SPREAD) && e)
		break_invariant("I26", "task %u at %" PRId64 " starts while %" PRId64 " is %s",
		                t->id, i->key.run_date, e->key.run_date,
		                state_name((enum state)e->state));
	if (is_skip && tr->event == EV_CREATE && e)
		break_invariant("I26", "task %u at %" PRId64 " is made while %" PRId64 " is %s",
		                t->id, i->key.run_date, e->key.run_date,
		                state_name((enum state)e->state));
	if (is_skip && tr->event == EV_CREATE_SKIP && tr->reason == RE_OVERLAP &&
	    (e ? was_over(e, tr) : !ended_after(t, i)))
		break_invariant("I26", "task %u at %" PRId64 " is left out for nothing", t->id,
		                i->key.run_date);
}
