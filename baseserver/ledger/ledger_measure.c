/* How long instances waited and ran, counted as the ledger changes them. */
#include "baseserver/ledger/ledger_impl.h"

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* It waits for its time first, then for its parents; a row that began anew has another past. */
static void satisfied(struct ledger *l, const struct instance *i)
{
	int64_t due = i->eff_due_us < l->now_us ? i->eff_due_us : l->now_us;

	if (i->generation != 1 || i->attempt != 0 || i->looks || i->key.part != 0)
		return;
	timing_add(&l->timings.due, later(due - i->created_us, 0));
	timing_add(&l->timings.link, later(l->now_us - later(due, i->created_us), 0));
}

static void started(struct ledger *l, const struct instance *i, int64_t at_us)
{
	if (i->generation == 1 && i->attempt == 1 && !i->looks && i->origin == OR_CYCLE &&
	    i->key.part >= 0)
		timing_add(&l->timings.due_to_start, at_us - i->eff_due_us);
}

/* What is over as soon as it begins tells no start. */
static void measure_ended(struct ledger *l, const struct instance *i, struct timing *t)
{
	int64_t began_us = i->started_us ? i->started_us : i->ended_us;

	if (!i->started_us)
		started(l, i, began_us);
	timing_add(t, i->ended_us - began_us);
}

void ledger__measure(struct ledger *l, const struct instance *i, enum event ev, enum reason reason)
{
	tally(&l->timings.events[ev], 1);
	if (reason == RE_LOST)
		tally(&l->timings.lost, 1);
	if (ev == EV_SATISFY)
		satisfied(l, i);
	else if (ev == EV_STARTED)
		started(l, i, i->started_us);
	else if (ev == EV_RETRY)
		timing_add(&l->timings.due, l->now_us - i->ended_us);
	else if (ev == EV_EXIT_OK)
		measure_ended(l, i, &l->timings.ran_well);
	else if (ev == EV_FAIL_RETRY || ev == EV_FAIL_FINAL || ev == EV_DEAD_KILLED ||
	         ev == EV_DEAD_RETRY || ev == EV_DEAD_FINAL)
		measure_ended(l, i, &l->timings.ran_badly);
}

const struct ledger_timings *ledger_timings(const struct ledger *l)
{
	return &l->timings;
}
