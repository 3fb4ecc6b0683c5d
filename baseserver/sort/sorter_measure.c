/* How long instances waited for their grant, and which gate held them last. Nothing here looks at
 * more than one lane: whether a gate was closed while an instance waited is told by when that
 * gate opened. */
#include "baseserver/sort/sorter_impl.h"

static uint32_t ms_of(const struct sorter *s, int64_t wall_us)
{
	return (uint32_t)((wall_us - s->began_us) / US_PER_MS);
}

void sorter__came(struct sorter *s, struct ready *r)
{
	r->since_ms = ms_of(s, s->now_us);
}

void sorter__gate_moved(const struct sorter *s, struct lane *l, uint8_t was)
{
	if (was == 0)
		return;
	l->held_by = was;
	l->held_us = s->now_us;
}

void sorter__credit_moved(const struct sorter *s, struct klass *k)
{
	if (k->open == 0) {
		k->held_by = k->n_sessions ? 11 : 10;
		k->held_us = INT64_MAX;
	} else if (k->held_us == INT64_MAX) {
		k->held_us = s->now_us;
	}
}

void sorter__went(struct sorter *s, const struct ready *r)
{
	const struct lane *l = r->lane;
	uint32_t ms = ms_of(s, s->now_us) - r->since_ms;
	uint8_t gate = 0;

	if (!l)
		return; /* it ran before this sorter was there */
	int64_t waited_us = ms > INT32_MAX ? 0 : ms * US_PER_MS; /* a clock that was set back */
	int64_t since_us = s->now_us - waited_us;
	if (l->held_by && l->held_us > since_us)
		gate = l->held_by;
	else if (l->klass && l->klass->held_by && l->klass->held_us > since_us)
		gate = l->klass->held_by;
	timing_add(&s->waited[gate], waited_us);
}

const struct timing *sorter_waited(const struct sorter *s, int gate)
{
	return &s->waited[gate];
}
