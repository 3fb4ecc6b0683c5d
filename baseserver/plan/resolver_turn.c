/* Who was refused for an earlier date that is unfinished (`overlap`): the ledger says whose turn
 * has come, by TK_TURN (ledger_flow.c). */
#include "baseserver/plan/resolver_impl.h"
#include "sched/task.h"
#include "util/check.h"

static uint64_t turn_key(uint32_t id, bool is_run, int64_t first)
{
	return map_mix((uint64_t)is_run << 32 | id, (uint64_t)first);
}

static uint64_t turn_of(const struct task *def, int64_t run_date)
{
	return turn_key(def->overlap_run ? def->workflow_id : def->id, def->overlap_run,
	                task_run(def, run_date));
}

void resolver__turn_held(struct resolver *r, uint32_t waiting)
{
	struct waiting *w = waiting_at(r, waiting);
	const struct rtask *t = resolver__task(r, w->key.task);

	if (w->held || !t->def)
		return;
	w->held = true;
	map_add(&r->held, turn_of(t->def, w->key.run_date), waiting);
}

void resolver__turn_free(struct resolver *r, uint32_t waiting)
{
	struct waiting *w = waiting_at(r, waiting);

	if (!w->held)
		return;
	w->held = false;
	CHECK(map_remove(&r->held, turn_of(resolver__task(r, w->key.task)->def, w->key.run_date),
	                 waiting));
}

void resolver__turn_came(struct resolver *r, const struct transition *tr)
{
	const struct inst_key *k = &tr->inst.key;
	uint64_t key = turn_key(k->task, k->part != 0, k->run_date);

	r->turn_number = tr->number;
	for (uint32_t i; (i = map_get(&r->held, key)) != MAP_NONE; resolver__want(r, i)) {
		CHECK(waiting_at(r, i)->held);
		waiting_at(r, i)->held = false;
		map_remove(&r->held, key, i);
	}
}
