/* The gates of a grant that the ledger proves again. The sorter has looked at all of them, and some
 * may have closed since. */
#include "baseserver/ledger/ledger_impl.h"
#include "sched/task.h"
#include "util/check.h"

static bool pools_have_room(const struct ltask *t)
{
	for (size_t k = 0; k < t->n_takes; k++) {
		const struct pool *p = t->takes[k].pool;
		if (p->size != POOL_NONE && p->taken + t->takes[k].slots > p->size)
			return false;
	}
	return true;
}

int ledger__gates_closed(struct ledger *l, const struct ltask *t, const struct instance *i,
                         const struct proposal *p)
{
	const struct task *d = t->def;

	CHECK(t->row.id == i->key.task);
	if (p->folded < t->barrier)
		return E_BARRIER;
	if (i->key.part < 0)
		return d ? 0 : E_NOT_FOUND;
	if (!d || !task_starts(t->row.state) || t->row.frozen || (i->flags & IF_FROZEN))
		return E_CONFLICT;
	if (i->key.part == 0 && task_spreads(d))
		return E_CONFLICT; /* its parts are granted */
	if (i->key.part > 0 && d->n_machines == 0 && i->broker != p->broker)
		return E_CONFLICT;
	int r = i->key.part > 0 ? ledger__part_may_start(l, i) : 0;
	if (r < 0)
		return r;
	int32_t limit = task_limit(d);
	if (limit > 0 && t->slots >= limit)
		return E_LIMIT;
	if (!pools_have_room(t))
		return E_LIMIT;
	return 0;
}
