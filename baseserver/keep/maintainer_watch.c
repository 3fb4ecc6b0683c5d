/* What is watched, and when to look at it next.
 *
 * A watch is one unfinished instance that time may change: a lease that runs out, an end of
 * `alive_wait`, a retry that is due, an expiry, a sensor that looks again. The heap holds each by
 * the monotonic instant of its next look. Retry and expiry are wall times; as somebody may set the
 * clock, those are looked at again at least every RECHECK. Ready and waiting instances are watched
 * only when they can expire or look again, so a million of them cost nothing here. */
#include <stdlib.h>

#include "baseserver/keep/maintainer_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

/* Wall times (retry, expiry) are looked at again at least this often: clocks get set. */
#define WALL_RECHECK_US (10 * US_PER_S)

struct mtask *maintainer__task(struct maintainer *m, uint32_t id)
{
	if (id >= m->tasks_cap) {
		size_t cap = (size_t)id * 2 + 64;
		m->tasks = mem_grow(m->tasks, cap, sizeof *m->tasks);
		for (size_t i = m->tasks_cap; i < cap; i++)
			m->tasks[i] = NULL;
		m->tasks_cap = cap;
	}
	if (!m->tasks[id]) {
		m->tasks[id] = mem_new(sizeof *m->tasks[id]);
		m->tasks[id]->ahead_lo = INT64_MIN; /* none */
	}
	return m->tasks[id];
}

const struct task *maintainer__def(const struct maintainer *m, uint32_t task)
{
	return task < m->tasks_cap && m->tasks[task] ? m->tasks[task]->def : NULL;
}

const struct task *watch__def(const struct maintainer *m, const struct watch *w)
{
	return w->body ? w->body : maintainer__def(m, w->inst.key.task);
}

void watch__set_body(struct watch *w, const struct task *body)
{
	const struct task *was = w->body;

	w->body = body ? task_ref(body) : NULL;
	task_unref(was);
}

/* A wall time as a monotonic one, never further away than the recheck. */
static int64_t mono_of_wall(const struct maintainer *m, int64_t wall_us)
{
	int64_t wait = wall_us - actor_wall_us(m->me);

	if (wait > WALL_RECHECK_US)
		wait = WALL_RECHECK_US;
	return actor_mono_us(m->me) + (wait > 0 ? wait : 0);
}

int64_t watch__expiry_us(const struct maintainer *m, const struct instance *i)
{
	const struct task *d = maintainer__def(m, i->key.task);

	return d ? task_expiry_us(d, i->eff_due_us) : INT64_MAX;
}

int64_t watch__grace_us(const struct maintainer *m, const struct watch *w)
{
	const struct task *d = watch__def(m, w);

	int64_t grace_us = w->inst.grace_ms ? w->inst.grace_ms * US_PER_MS : d ? d->grace_us : 0;

	return grace_us + m->set.kill_extra_us;
}

int64_t watch__next_look(const struct maintainer *m, const struct watch *w)
{
	const struct task *d = watch__def(m, w);
	int64_t at = w->lose_us;

	switch ((enum state)w->inst.state) {
	case ST_READY:
	case ST_DEPEND:
		at = watch__expiry_us(m, &w->inst);
		if (inst_looks_again(&w->inst) && w->inst.retry_at_us < at)
			at = w->inst.retry_at_us;
		return mono_of_wall(m, at);
	case ST_FAILED:
		return mono_of_wall(m, w->inst.retry_at_us);
	case ST_RUNNING:
		if (d && d->alive_wait_us && w->granted_us + d->alive_wait_us < at &&
		    !w->killed_for_time)
			at = w->granted_us + d->alive_wait_us;
		return at;
	case ST_KILLING:
		return w->kill_us + watch__grace_us(m, w) < at ? w->kill_us + watch__grace_us(m, w)
		                                               : at;
	default:
		return at;
	}
}

uint32_t watch__of_slot(const struct maintainer *m, uint32_t slot)
{
	return slot < m->by_slot_cap ? m->by_slot[slot] : SLAB_NONE;
}

/* Ready and DependenceFinish only concern us when they can expire, or look again. */
bool watch__wanted(const struct maintainer *m, const struct instance *i)
{
	if (i->state == ST_READY || i->state == ST_DEPEND)
		return inst_looks_again(i) || watch__expiry_us(m, i) != INT64_MAX;
	return i->state == ST_FAILED || inst_holds_slot(i, (enum state)i->state);
}

void watch__drop(struct maintainer *m, uint32_t index)
{
	struct watch *w = watch_at(m, index);

	CHECK(watch__of_slot(m, w->slot) == index);
	heap_remove(&m->times, &w->node);
	if (w->inst.token)
		map_remove(&m->by_token, w->inst.token, index);
	m->by_slot[w->slot] = SLAB_NONE;
	watch__set_body(w, NULL);
	slab_give(&m->watches, index);
}

uint32_t watch__take(struct maintainer *m, uint32_t slot)
{
	CHECK(watch__of_slot(m, slot) == SLAB_NONE); /* a slot has one watch */
	uint32_t index = slab_take(&m->watches);
	struct watch *w = watch_at(m, index);

	heap_node_init(&w->node);
	w->slot = slot;
	slab_index_set(&m->by_slot, &m->by_slot_cap, slot, index);
	return index;
}

void watch__set_image(struct maintainer *m, uint32_t index, const struct instance *i)
{
	struct watch *w = watch_at(m, index);

	CHECK(watch__of_slot(m, w->slot) == index);
	if (w->inst.token != i->token) {
		if (w->inst.token)
			map_remove(&m->by_token, w->inst.token, index);
		if (i->token)
			map_add(&m->by_token, i->token, index);
	}
	w->inst = *i;
	w->asked = false;
}

void watch__begin_lease(struct maintainer *m, struct watch *w, const struct transition *tr)
{
	int64_t now = actor_mono_us(m->me);

	w->session = tr->session;
	w->lane = tr->lane;
	w->machine = tr->machine;
	w->granted_us = now;
	w->lose_us = now + m->set.lose_us;
	CHECK(!w->asked); /* its image is new */
	w->kill_us = 0;
	w->absent = 0;
	w->present = w->gone = w->killed_for_time = false;
}

/* A silence that began before we stood still says nothing. */
void watch__begin_anew(const struct maintainer *m, struct watch *w)
{
	if (w->lose_us < m->anew_us + m->set.lose_us)
		w->lose_us = m->anew_us + m->set.lose_us;
	if (w->kill_us && w->kill_us < m->anew_us)
		w->kill_us = m->anew_us;
}
