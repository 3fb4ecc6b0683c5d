/* L1: nothing stays in a state that nobody works on. docs/liveness.md names for each state who
 * works on it and what bounds the time; here are the bounds in the simulator's own settings. They
 * count while the state could be left: no gate is closed, no process runs, no person is waited
 * for; and anew after each time that the server itself could do nothing. */
#include <inttypes.h>
#include <string.h>

#include "sched/task.h"
#include "sim.h"

enum { ROWS = 8192 };
#define LOOK_US (200 * MS)
/* Actors that are late, messages that take seconds, loaders that come and go: one more round. */
#define SLACK_US (8 * SEC)
/* A holder that can tell nobody: its lane is named no more, then its lease runs out. */
#define HELD_US ((int64_t)UNSERVED_US + LOSE_US)
/* A try of which nobody heard is made again (sorter_starts.c). */
#define TRY_US (30 * SEC)

static const struct bound {
	int64_t us;
	const char *who;
} bounds[ST_COUNT] = {
	[ST_READY] = { SLACK_US, "the resolver, or the maintainer of one that looks again" },
	[ST_DEPEND] = { 2 * SLACK_US, "the sorter" },
	[ST_RUNNING] = { HELD_US + SLACK_US, "its holder, or the maintainer when that is silent" },
	[ST_FAILED] = { SLACK_US, "the maintainer" },
	[ST_WAITKILL] = { HELD_US + SLACK_US, "the worker, or the maintainer" },
	[ST_KILLING] = { KILL_EXTRA_US + SLACK_US, "its holder, or the maintainer" },
	/* Rough, Hanged: a person. */
};

static struct {
	uint32_t revision; /* of the last change */
	bool due, runs;
	int64_t since_us;
} clocks[ROWS];
static int64_t calm_us, look_us;

void liveness_reset(void)
{
	memset(clocks, 0, sizeof clocks);
	calm_us = look_us = 0;
}

void liveness_trouble(int64_t us)
{
	if (calm_us < now_us + us)
		calm_us = now_us + us;
}

static int64_t alive_wait_us(const struct instance *i)
{
	const struct task *t = check_def_of(i);

	return t->alive_wait_us && t->version == 1 ? t->alive_wait_us : INT64_MAX;
}

/* Could somebody get it out of its state now? *ret_us: what it has beyond the state's bound. */
static bool is_due(const struct tended *t, int64_t *ret_us)
{
	const struct instance *i = t->inst;

	switch ((enum state)i->state) {
	case ST_READY:
	case ST_DEPEND:
		*ret_us = swarm.sick ? TRY_US + 2 * PAUSE_MAX_US : 0;
		return t->may_move;
	case ST_FAILED:
		return !(i->flags & IF_FROZEN) && i->retry_at_us <= wall_of(now_us) &&
		       !swarm.wall_jumps;
	case ST_RUNNING:
		if (i->flags & IF_SPREAD)
			return parts_over(i);
		*ret_us = t->runs ? alive_wait_us(i) : 0;
		return *ret_us != INT64_MAX;
	case ST_WAITKILL:
	case ST_KILLING:
		return !(i->flags & IF_SPREAD) || parts_over(i);
	default:
		return false;
	}
}

static void look_at(const struct tended *t)
{
	const struct instance *i = t->inst;
	const struct bound *b = &bounds[i->state];
	int64_t more_us = 0, from_us;
	bool due = is_due(t, &more_us);
	bool same = clocks[t->at].revision == i->revision && clocks[t->at].runs == t->runs;

	if (!due || !same || !clocks[t->at].due) {
		clocks[t->at].revision = i->revision;
		clocks[t->at].runs = t->runs;
		clocks[t->at].due = due;
		clocks[t->at].since_us = now_us;
		return;
	}
	from_us = clocks[t->at].since_us > calm_us ? clocks[t->at].since_us : calm_us;
	/* What came due meanwhile is worked off by slow threads that have not caught up since. */
	if (swarm.long_downs && threads_rested_us() <= from_us)
		more_us += 3 * SLACK_US;
	if (now_us - from_us <= b->us + more_us)
		return;
	break_invariant("L1",
	                "task %u at %" PRId64 ", part %d is %s for %" PRId64 " ms, at most %" PRId64
	                ": %s does nothing",
	                i->key.task, i->key.run_date, i->key.part, state_name((enum state)i->state),
	                (int64_t)((now_us - from_us) / MS), (int64_t)((b->us + more_us) / MS),
	                b->who);
}

void liveness_look(void)
{
	if (now_us < look_us || !server_up() || threads_stand_until() > now_us)
		return;
	look_us = now_us + LOOK_US;
	check_each_unfinished(look_at);
}
