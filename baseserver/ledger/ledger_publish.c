/* What every change consists of: a record in the stream, marks of what the next commit has to
 * store, slots of tasks and pools, barriers. Nothing is decided here; ledger_apply.c decides for
 * instances, ledger_edit.c for definitions. */
#include <inttypes.h>

#include "baseserver/ledger/ledger_impl.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/log.h"

struct ltask *ledger__task_of(const struct ledger *l, uint32_t id)
{
	return id < l->tasks_cap ? l->tasks[id] : NULL;
}

static void publish_push(uint32_t **items, size_t *len, size_t *cap, uint32_t v)
{
	*items = mem_room(*items, cap, *len + 1, sizeof **items);
	(*items)[(*len)++] = v;
}

void ledger__touch(struct ledger *l, uint32_t index)
{
	struct entry *e = table_at(&l->table, index);

	CHECK(e->inst.state != ST_NONE && e->inst.slot == index); /* what is stored */
	if (e->inst.marks & EM_DIRTY)
		return;
	e->inst.marks |= EM_DIRTY;
	publish_push(&l->dirty, &l->n_dirty, &l->dirty_cap, index);
}

void ledger__touch_task(struct ledger *l, struct ltask *t)
{
	CHECK(ledger__task_of(l, t->row.id) == t);
	if (t->dirty)
		return;
	t->dirty = true;
	publish_push(&l->dirty_tasks, &l->n_dirty_tasks, &l->dirty_tasks_cap, t->row.id);
}

void ledger__count_slots(struct ltask *t, int32_t d)
{
	t->slots += d;
	CHECK(t->slots >= 0);
	for (size_t i = 0; i < t->n_takes; i++) {
		t->takes[i].pool->taken += d * t->takes[i].slots;
		CHECK(t->takes[i].pool->taken >= 0);
	}
}

static unsigned turns_to_grant(const struct transition *tr)
{
	if (tr->kind != TK_INSTANCE)
		return 0;
	if (tr->from != ST_NONE && state_final((enum state)tr->to))
		return TURNS_TO_GRANT;
	return tr->to == ST_DEPEND ? TURNS_TO_GRANT - 1 : 0;
}

uint64_t ledger__publish(struct ledger *l, const struct transition *tr)
{
	struct transition *slot = stream_slot(l->stream);

	CHECK(tr->prev <= stream_last(l->stream)); /* its chain leads back */
	*slot = *tr;
	slot->number = stream_last(l->stream) + 1;
	slot->epoch = l->epoch;
	slot->at_us = l->now_us;
	slot->mono_us = tr->event == EV_GRANT ? actor_mono_us(l->me) : 0;
	if (l->batch_since_us == 0)
		l->batch_since_us = actor_mono_us(l->me);
	unsigned brings = turns_to_grant(slot);
	if (l->brings < brings)
		l->brings = brings;
	if (slot->kind == TK_INSTANCE)
		log_debug("ledger.apply",
		          "instance=%u.%" PRId64 " event=%s from=%s to=%s reason=%s attempt=%u",
		          slot->inst.key.task, slot->inst.key.run_date,
		          event_name((enum event)slot->event), state_name((enum state)slot->from),
		          state_name((enum state)slot->to), reason_name((enum reason)slot->reason),
		          slot->inst.attempt);
	return stream_publish(l->stream);
}

void ledger__raise_barrier(struct ledger *l, struct ltask *t, uint64_t number)
{
	CHECK(number >= t->barrier);
	t->barrier = number;
	for (size_t i = 0; i < t->n_children; i++) {
		struct ltask *c = ledger__task_of(l, t->children[i]);
		if (c)
			c->barrier = number;
	}
}
