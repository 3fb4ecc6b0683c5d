/* What a run of the simulator comes to: a hash of all that was told, and which edges were taken. */
#include <string.h>

#include "sim.h"

static uint64_t hash;
static uint64_t seen[ST_COUNT][EV_COUNT];

void story_reset(void)
{
	hash = 14695981039346656037u;
}

static void mix(uint64_t v)
{
	hash = (hash ^ v) * 1099511628211u;
	hash ^= hash >> 29;
}

void story_follow(const struct transition *tr)
{
	if (tr->kind == TK_INSTANCE)
		seen[tr->from][tr->event]++;
	mix(tr->number);
	mix((uint64_t)tr->at_us);
	mix((uint64_t)tr->kind << 32 | (uint64_t)tr->event << 16 | (uint64_t)tr->to << 8 |
	    tr->reason);
	mix((uint64_t)tr->inst.key.run_date << 8 ^ tr->inst.key.task);
	mix(tr->inst.token);
	mix((uint64_t)tr->inst.attempt << 32 | tr->inst.revision);
}

uint64_t check_hash(void)
{
	return hash;
}

void check_coverage(uint64_t counts[ST_COUNT][EV_COUNT])
{
	for (int s = 0; s < ST_COUNT; s++)
		for (int e = 0; e < EV_COUNT; e++)
			counts[s][e] += seen[s][e];
	memset(seen, 0, sizeof seen);
}
