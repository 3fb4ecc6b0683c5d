/* A machine has jobs_max places for all its types together, and a loader knows the slots of its own
 * type only: here its jobs are counted, those that it runs and those it is about to get, so that
 * it is granted no more than it takes. What it holds besides (attempts that were declared lost) it
 * sends back as full, which burns nothing. */
#include <stdlib.h>

#include "baseserver/sort/sorter_impl.h"
#include "util/alloc.h"
#include "util/check.h"

uint32_t sorter__machine(struct sorter *s, uint32_t broker)
{
	uint32_t at = map_get(&s->machine_of, broker);

	if (at != MAP_NONE)
		return at;
	at = (uint32_t)s->n_machines++;
	s->machines = mem_grow(s->machines, s->n_machines, sizeof *s->machines);
	s->machines[at] = (struct machine){ 0 };
	map_add(&s->machine_of, broker, at);
	return at;
}

bool sorter__machine_is_full(const struct sorter *s, uint32_t machine)
{
	const struct machine *m = &s->machines[machine];

	CHECK(machine < s->n_machines);
	return m->jobs_max && m->taken >= m->jobs_max;
}

bool sorter__machine_jobs_max(struct sorter *s, uint32_t machine, uint32_t jobs_max)
{
	bool was = sorter__machine_is_full(s, machine);

	s->machines[machine].jobs_max = jobs_max;
	return sorter__machine_is_full(s, machine) != was;
}

bool sorter__machine_count(struct sorter *s, uint32_t machine, int more)
{
	bool was = sorter__machine_is_full(s, machine);

	CHECK(more > 0 || s->machines[machine].taken > 0);
	s->machines[machine].taken += (uint32_t)more;
	return sorter__machine_is_full(s, machine) != was;
}

void sorter__machines_free(struct sorter *s)
{
	map_done(&s->machine_of);
	free(s->machines);
}
