/* Instances that wait: found by the ledger's slot, listed by task. What comes is attached to the
 * window of each of its links (resolver_slice.c); what starts or ends is detached, and a window
 * that nobody waits on goes. */
#include "baseserver/plan/resolver_impl.h"
#include "sched/task.h"
#include "util/check.h"

void resolver__detach(struct resolver *r, uint32_t waiting)
{
	struct waiting *w = waiting_at(r, waiting);

	for (uint32_t i = w->edges, next; i != EDGE_END; i = next) {
		struct edge *e = edge_at(r, i);
		struct window *win = window_at(r, e->window);
		uint32_t window = e->window;
		next = e->of_waiting;
		CHECK(e->waiting == waiting);
		CHECK(e->prev != SLAB_NONE || win->edges == i);
		if (e->prev == SLAB_NONE)
			win->edges = e->next;
		else
			edge_at(r, e->prev)->next = e->next;
		if (e->next != SLAB_NONE)
			edge_at(r, e->next)->prev = e->prev;
		slab_give(&r->edges, i);
		if (win->edges == SLAB_NONE)
			resolver__window_drop(r, window);
	}
	w->edges = EDGE_END;
	w->n_links = w->met = w->dead = 0;
	w->waits_turn = w->unread = false;
	resolver__turn_free(r, waiting);
}

uint32_t resolver__of_slot(const struct resolver *r, uint32_t slot)
{
	return slot < r->by_slot_cap ? r->by_slot[slot] : SLAB_NONE;
}

void resolver__track(struct resolver *r, const struct instance *i, uint32_t slot)
{
	uint32_t index = slab_take(&r->waitings);
	struct waiting *w = waiting_at(r, index);
	struct rtask *t = resolver__task_place(r, i->key.task);

	CHECK(resolver__of_slot(r, slot) == SLAB_NONE);
	*w = (struct waiting){ .key = i->key,
		               .slot = slot,
		               .revision = i->revision,
		               .eff_due_us = i->eff_due_us,
		               .edges = EDGE_END,
		               .prev = SLAB_NONE,
		               .next = t->waitings,
		               .state = i->state };
	if (t->waitings != SLAB_NONE)
		waiting_at(r, t->waitings)->prev = index;
	t->waitings = index;
	slab_index_set(&r->by_slot, &r->by_slot_cap, slot, index);
	w->no_links = (i->flags & IF_NO_LINKS) != 0;
	if (i->flags & IF_MEMBER)
		resolver__scope_join(r, index, i->cause);
	resolver__attach(r, index);
}

static void untrack(struct resolver *r, uint32_t index)
{
	struct waiting *w = waiting_at(r, index);
	struct rtask *t = resolver__task_place(r, w->key.task);

	CHECK(resolver__of_slot(r, w->slot) == index);
	resolver__detach(r, index);
	resolver__timer_clear(r, index);
	resolver__scope_leave(r, index);
	CHECK(w->edges == EDGE_END && !w->held);
	CHECK(w->prev != SLAB_NONE || t->waitings == index);
	if (w->prev == SLAB_NONE)
		t->waitings = w->next;
	else
		waiting_at(r, w->prev)->next = w->next;
	if (w->next != SLAB_NONE)
		waiting_at(r, w->next)->prev = w->prev;
	r->by_slot[w->slot] = SLAB_NONE;
	w->state = ST_NONE; /* it may still be listed: work_off() passes over it */
	w->listed = false;
	slab_give(&r->waitings, index);
}

/* Only what has never started in this generation waits for links: a retry does not, nor does a
 * sensor that looks again. */
bool resolver__waits(const struct instance *i)
{
	if (i->flags & (IF_RUN_NOW | IF_LOOKS) || i->key.part > 0)
		return false;
	if (i->flags & IF_SPREAD)
		return i->state == ST_READY || i->state == ST_DEPEND;
	return i->state == ST_READY || (i->state == ST_DEPEND && i->attempt == 0 && i->infra == 0);
}

void resolver__follow(struct resolver *r, const struct transition *tr)
{
	const struct instance *i = &tr->inst;
	uint32_t index = resolver__of_slot(r, tr->slot);
	bool tracked = index != SLAB_NONE;
	/* Satisfied from Ready keeps being watched; what comes back to it after a start is not. */
	bool keep = !(i->flags & (IF_RUN_NOW | IF_LOOKS)) && i->key.part <= 0 &&
	            (i->state == ST_READY || (i->state == ST_DEPEND && tracked));

	CHECK(!tracked || inst_key_eq(waiting_at(r, index)->key, i->key));
	if (tracked && !keep) {
		untrack(r, index);
	} else if (tracked) {
		struct waiting *w = waiting_at(r, index);
		CHECK(i->revision >= w->revision); /* the stream is in order */
		w->revision = i->revision;
		w->state = i->state;
		w->asked = false;
		resolver__turn_free(r, index);
		if (w->eff_due_us != i->eff_due_us) {
			w->eff_due_us = i->eff_due_us;
			resolver__detach(r, index);
			resolver__timer_clear(r, index);
			resolver__attach(r, index);
		}
		resolver__want(r, index);
	} else if (keep) {
		resolver__track(r, i, tr->slot);
	}
}

void resolver__each_waiting(struct resolver *r, uint32_t task,
                            void (*each)(struct resolver *, uint32_t))
{
	const struct rtask *t = resolver__task(r, task);

	for (uint32_t i = t ? t->waitings : SLAB_NONE, next; i != SLAB_NONE; i = next) {
		next = waiting_at(r, i)->next;
		each(r, i);
	}
}

void resolver__rescope(struct resolver *r, uint32_t scope, bool leave)
{
	for (size_t i = 0; i < r->tasks_cap; i++) {
		const struct rtask *t = r->tasks[i];
		for (uint32_t k = t ? t->waitings : SLAB_NONE; k != SLAB_NONE;
		     k = waiting_at(r, k)->next) {
			if (resolver__scope_of(r, k) != scope)
				continue;
			if (leave)
				resolver__detach(r, k);
			else
				resolver__attach(r, k);
		}
	}
	r->need_mark = true;
}
