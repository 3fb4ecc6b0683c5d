/* Instances that wait, each in its lane. One that is frozen, rests, or has a grant under way stays
 * of its lane and is out of the lane's order. */
#include "baseserver/sort/sorter_impl.h"
#include "sched/civil.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

/* Those that came due at once (rows of one command) go by date: quarters of a minute would
 * do, 4 s are kept, which 32 bits hold for 272 years both ways. */
static uint32_t tie_of(int64_t run_date)
{
	return (uint32_t)(floor_div(run_date, 4) + (INT64_C(1) << 31));
}

void sorter__enqueue(struct sorter *s, struct ready *r)
{
	CHECK(r->lane && !r->runs); /* its node is the list's while it runs */
	if (r->asked || r->frozen || r->rests_us)
		heap_remove(&r->lane->ready, &r->node);
	else
		heap_set(&r->lane->ready, &r->node, r->eff_due_us);
	sorter__lane_moved(s, r->lane);
}

static void set_frozen(struct sorter *s, struct ready *r, bool frozen)
{
	CHECK(s->blocked[2] >= r->frozen);
	s->blocked[2] += (size_t)frozen - (size_t)r->frozen;
	r->frozen = frozen;
}

static void set_rest(struct sorter *s, struct ready *r, int64_t until_us)
{
	CHECK(s->blocked[10] >= (r->rests_us != 0));
	s->blocked[10] += (size_t)(until_us != 0) - (size_t)(r->rests_us != 0);
	r->rests_us = until_us;
}

void sorter__rest(struct sorter *s, struct ready *r, int64_t until_us)
{
	CHECK(until_us > 0);
	set_rest(s, r, until_us);
	s->rests = mem_grow(s->rests, s->n_rests + 1, sizeof *s->rests);
	s->rests[s->n_rests++] = r->slot;
	sorter__enqueue(s, r);
}

int64_t sorter__rests_look(struct sorter *s, int64_t now_us)
{
	int64_t next = ALARM_OFF;
	size_t n = 0;

	for (size_t i = 0; i < s->n_rests; i++) {
		uint32_t index = sorter_of_slot(s, s->rests[i]);
		struct ready *r = index == SLAB_NONE ? NULL : sorter_ready(s, index);
		if (!r || !r->rests_us)
			continue;
		if (r->rests_us <= now_us) {
			set_rest(s, r, 0);
			sorter__enqueue(s, r);
			continue;
		}
		s->rests[n++] = s->rests[i];
		next = r->rests_us < next ? r->rests_us : next;
	}
	s->n_rests = n;
	return next;
}

void sorter__set_asked(struct sorter *s, struct ready *r, bool asked)
{
	if (r->asked == asked)
		return;
	r->asked = asked;
	/* Whose parts take slots takes none itself. */
	if (!asked && !r->counted)
		return;
	r->counted = asked;
	sorter__count_asked(s, r->queue, r->side, asked ? 1 : -1);
}

void sorter__leave_lane(struct sorter *s, struct ready *r)
{
	struct lane *l = r->lane;

	if (!l)
		return;
	CHECK(!r->runs && l->queue == r->queue);
	heap_remove(&l->ready, &r->node);
	set_frozen(s, r, false);
	set_rest(s, r, 0);
	r->lane = NULL;
	sorter__lane_moved(s, l);
}

void sorter__wait(struct sorter *s, struct ready *r, const struct instance *i)
{
	const struct task *def = r->queue->def;
	bool parts = def && task_spreads(def);
	struct lane like = { .priority = i->priority,
		             .side = r->side,
		             .test = i->key.part < 0,
		             .spread = parts && i->key.part == 0,
		             .part = i->key.part > 0 ? i->key.part : 0,
		             .broker = i->key.part > 0 ? i->broker : 0 };
	struct lane *l = sorter__lane(s, r->queue, &like);

	if (!r->lane)
		sorter__came(s, r);
	CHECK(!r->runs && l->side == r->side);
	if (r->lane != l) {
		sorter__leave_lane(s, r);
		heap_node_init(&r->node);
		r->node.tie = tie_of(r->key.run_date);
		r->lane = l;
	}
	r->revision = i->revision;
	r->eff_due_us = i->eff_due_us;
	set_frozen(s, r, i->flags & IF_FROZEN);
	sorter__enqueue(s, r);
}
