/* The list of instances with parts that the ledger looks at in its next turn (ledger_parts.c). What
 * changes puts itself on it: the whole of a part, and the steps that follow it by node. */
#include "baseserver/ledger/ledger_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

static void put_on_list(struct ledger *l, struct inst_key key)
{
	struct parts_list *p = &l->parts;
	uint32_t index;
	struct entry *e = key.part == 0 ? table_find(&l->table, key, &index) : NULL;

	CHECK(key.part >= 0);
	if (e && e->inst.marks & EM_LISTED)
		return;
	if (e)
		e->inst.marks |= EM_LISTED;
	p->keys = mem_room(p->keys, &p->cap, p->n + 1, sizeof *p->keys);
	p->keys[p->n++] = key;
}

static bool follows_by_node(const struct task *child, uint32_t parent)
{
	for (size_t i = 0; child && i < child->n_links; i++)
		if (child->links[i].by_node && child->links[i].parent == parent)
			return true;
	return false;
}

/* The steps after it: judged again; reopened where its end was taken back. */
static void tell_children(struct ledger *l, const struct ltask *t, const struct instance *i,
                          enum state from)
{
	for (size_t k = 0; k < t->n_children; k++) {
		const struct ltask *c = ledger__task_of(l, t->children[k]);
		if (!c || !follows_by_node(c->def, i->key.task))
			continue;
		struct inst_key whole = { i->key.run_date, c->def->id, 0 };
		put_on_list(l, whole);
		if (!state_final(from))
			continue;
		if (i->key.part > 0)
			put_on_list(l, part_key(whole, i->key.part));
		for (int32_t j = 1; i->key.part == 0 && !(i->flags & IF_SPREAD) &&
		                    j <= (int32_t)c->def->n_machines;
		     j++)
			put_on_list(l, part_key(whole, j));
	}
}

void ledger__parts_changed(struct ledger *l, const struct ltask *t, const struct instance *i,
                           enum state from)
{
	if (i->key.part < 0)
		return;
	put_on_list(l, part_key(i->key, 0));
	/* A date that was passed over, as never planned, and is asked for now, is waited for. */
	if (from == ST_NONE || state_final(from) || state_final((enum state)i->state))
		tell_children(l, t, i, from);
}

void ledger__list_parts(struct ledger *l, uint32_t task)
{
	for (uint32_t k = 0; k < l->table.used; k++) {
		const struct instance *i = &table_at(&l->table, k)->inst;
		const struct ltask *t = ledger__task_of(l, i->key.task);
		if (i->state == ST_NONE || i->key.part < 0 || (task && i->key.task != task))
			continue;
		if (i->key.part > 0 || i->flags & IF_SPREAD || (t->def && task_spreads(t->def)))
			ledger__parts_changed(l, t, i, i->key.part ? ST_SUCC : ST_NONE);
	}
}

void ledger__parts_left_out(struct ledger *l, const struct ltask *t)
{
	for (size_t k = 0; k < t->n_children; k++) {
		const struct ltask *c = ledger__task_of(l, t->children[k]);
		if (c && follows_by_node(c->def, t->row.id))
			ledger__list_parts(l, c->row.id);
	}
}
