/* Tasks by their number, their links as seen, and the to-do list: what every file here looks up. */
#include "baseserver/plan/resolver_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

struct rtask *resolver__task(const struct resolver *r, uint32_t id)
{
	return id < r->tasks_cap ? r->tasks[id] : NULL;
}

bool resolver__link(const struct resolver *r, uint32_t child, uint32_t index, struct task_link *ret)
{
	const struct rtask *c = resolver__task(r, child);

	if (!c || !c->def)
		return false;
	if (index < c->def->n_links)
		*ret = c->def->links[index];
	else
		*ret = (struct task_link){ .parent = child, .kind = LK_PREV, .prev = 1 };
	const struct rtask *p = resolver__task(r, ret->parent);
	return p && p->def && p->in_force;
}

struct dependent *resolver__dependent(const struct resolver *r, uint32_t parent, uint32_t child,
                                      uint32_t link)
{
	struct rtask *p = resolver__task(r, parent);
	uint32_t at = map_get(&r->dependent_at, resolver__link_key(child, link));

	CHECK(at == MAP_NONE || (p && at < p->n_dependents && p->dependents[at].child == child));
	return at == MAP_NONE ? NULL : &p->dependents[at];
}

struct rtask *resolver__task_place(struct resolver *r, uint32_t id)
{
	if (id >= r->tasks_cap) {
		size_t cap = (size_t)id * 2 + 64;
		r->tasks = mem_grow(r->tasks, cap, sizeof *r->tasks);
		for (size_t i = r->tasks_cap; i < cap; i++)
			r->tasks[i] = NULL;
		r->tasks_cap = cap;
	}
	if (!r->tasks[id]) {
		r->tasks[id] = mem_new(sizeof *r->tasks[id]);
		r->tasks[id]->waitings = SLAB_NONE;
	}
	return r->tasks[id];
}

void resolver__work_for(const struct resolver *r, uint32_t task, enum crumb_kind kind)
{
	const struct rtask *t = resolver__task(r, task);

	if (r->meter && t && t->def)
		meter_work(r->meter, t->def, kind);
}

void resolver__want(struct resolver *r, uint32_t waiting)
{
	struct waiting *w = waiting_at(r, waiting);

	CHECK(w->state == ST_READY || w->state == ST_DEPEND);
	if (w->listed)
		return;
	r->todo = mem_room(r->todo, &r->todo_cap, r->n_todo + 1, sizeof *r->todo);
	w->listed = true;
	r->todo[r->n_todo++] = waiting;
}

bool resolver__planned(const struct plan *plan, int64_t t)
{
	return t >= plan_begin(plan) && plan_has(plan, t);
}
