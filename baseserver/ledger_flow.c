/* Pipelines that do not overlap: an occurrence that comes due while another is unfinished is
 * Skipped(overlap), all its steps alike (design: SEMANTICS section 6). */
#include "baseserver/ledger_impl.h"
#include "sched/task.h"

void ledger_flow_put(struct ledger *l, const struct task *def)
{
	size_t at = 0;

	if (!def->skip_overlap)
		return;
	for (uint32_t v = map_first(&l->flows, def->workflow_id, &at); v != MAP_NONE;
	     v = map_next(&l->flows, def->workflow_id, &at))
		if (v == def->id)
			return;
	map_add(&l->flows, def->workflow_id, def->id);
}

/* The first step to come due decides; the others follow what it became. */
bool ledger_overlaps(const struct ledger *l, const struct ltask *t, int64_t run_date)
{
	int64_t unfinished = 0;
	size_t at = 0;
	uint32_t index;

	if (!t->def || !t->def->skip_overlap)
		return false;
	for (uint32_t v = map_first(&l->flows, t->def->workflow_id, &at); v != MAP_NONE;
	     v = map_next(&l->flows, t->def->workflow_id, &at)) {
		const struct ltask *s = ledger_task_of(l, v);
		if (!s || !s->def || s->def->workflow_id != t->def->workflow_id)
			continue;
		const struct outcome_range *o = outcomes_find(&s->outcomes, run_date);
		if (o)
			return o->state == ST_SKIPPED && o->reason == RE_OVERLAP;
		if (table_find(&l->table, (struct inst_key){ run_date, v, 0 }, &index))
			return false;
		unfinished += s->unfinished;
	}
	return unfinished > 0;
}

void ledger_flows_done(struct ledger *l)
{
	map_done(&l->flows);
}
