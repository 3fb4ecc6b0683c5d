/* Members of one command: what a link of theirs looks at is the command's own dates, alone
 * (`dependencies: inside`) or beside the plan's (`off_plan`). (design: SEMANTICS section 3,
 * "Manual runs", and section 5, backfill.) */
#include <stdlib.h>

#include "baseserver/model/select.h"
#include "baseserver/plan/resolver_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

static struct scope *scope_at(const struct resolver *r, uint32_t number)
{
	CHECK(number <= r->n_scopes);
	return number ? &r->scopes[number - 1] : NULL;
}

/* The one of that command, or a free place for it. */
uint32_t resolver__scope_place(struct resolver *r, uint64_t command)
{
	uint32_t free_one = 0;

	for (uint32_t i = 1; i <= r->n_scopes; i++) {
		if (scope_at(r, i)->command == command)
			return i;
		if (!scope_at(r, i)->command)
			free_one = i;
	}
	if (!free_one) {
		r->scopes = mem_grow(r->scopes, r->n_scopes + 1, sizeof *r->scopes);
		free_one = (uint32_t)++r->n_scopes;
	}
	*scope_at(r, free_one) = (struct scope){ .command = command };
	return free_one;
}

static void scope_free(struct scope *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->picks[i].ranges);
	free(s->picks);
	*s = (struct scope){ 0 };
}

uint32_t resolver__scope_of(const struct resolver *r, uint32_t waiting)
{
	uint32_t v = waiting_at(r, waiting)->member ? map_get(&r->scope_of, waiting) : MAP_NONE;

	return v == MAP_NONE ? 0 : v;
}

void resolver__scope_join(struct resolver *r, uint32_t waiting, uint64_t command)
{
	uint32_t number = resolver__scope_place(r, command);

	CHECK(!waiting_at(r, waiting)->member);
	scope_at(r, number)->users++;
	waiting_at(r, waiting)->member = true;
	map_add(&r->scope_of, waiting, number);
}

bool resolver__scope_held(const struct resolver *r, uint32_t waiting)
{
	const struct scope *s = scope_at(r, resolver__scope_of(r, waiting));

	return s && !s->told && !r->all_told;
}

bool resolver__by_rows(const struct resolver *r, uint32_t scope)
{
	const struct scope *s = scope_at(r, scope);

	return s && !s->told;
}

void resolver__scope_leave(struct resolver *r, uint32_t waiting)
{
	uint32_t number = resolver__scope_of(r, waiting);
	struct scope *s = scope_at(r, number);

	if (!s)
		return;
	CHECK(map_remove(&r->scope_of, waiting, number) && s->users > 0);
	if (--s->users == 0 && (s->over || !s->told))
		scope_free(s);
}

void resolver__scopes_done(struct resolver *r)
{
	for (size_t i = 0; i < r->n_scopes; i++)
		scope_free(&r->scopes[i]);
	free(r->scopes);
	map_done(&r->scope_of);
}

static const struct pick *pick_of(const struct resolver *r, uint32_t number, uint32_t task)
{
	const struct scope *s = scope_at(r, number);

	for (size_t i = 0; s && i < s->n; i++)
		if (s->picks[i].task == task)
			return &s->picks[i];
	return NULL;
}

/* Index of the first range that ends at t or later. */
static size_t range_from(const struct pick *p, int64_t t)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (p->ranges[mid].hi < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int64_t pick_next(const struct pick *p, const struct plan *plan, int64_t t)
{
	for (size_t i = p && t < INT64_MAX ? range_from(p, t + 1) : SIZE_MAX; p && i < p->n; i++) {
		if (p->ranges[i].lo > t)
			return p->ranges[i].lo;
		int64_t next = plan_next(plan, t);
		if (next <= p->ranges[i].hi)
			return next;
	}
	return PLAN_NEVER;
}

static bool pick_has(const struct pick *p, const struct plan *plan, int64_t t)
{
	size_t i = p ? range_from(p, t) : 0;

	return p && i < p->n && p->ranges[i].lo <= t && (p->ranges[i].lo == t || plan_has(plan, t));
}

/* Links see the plan from its begin on. */
static int64_t planned_next(const struct plan *plan, int64_t t)
{
	return plan_next(plan, t < plan_begin(plan) ? plan_begin(plan) - 1 : t);
}

static int64_t planned_prev(const struct plan *plan, int64_t t)
{
	int64_t before = plan_prev(plan, t);

	return before < plan_begin(plan) ? PLAN_BEFORE : before;
}

int64_t resolver__next(const struct resolver *r, uint32_t scope, uint32_t task, int64_t t)
{
	const struct plan *plan = resolver__task(r, task)->def->plan;
	const struct scope *s = scope_at(r, scope);
	int64_t next = s && s->inside ? PLAN_NEVER : planned_next(plan, t);
	int64_t own = !s        ? PLAN_NEVER
	              : s->told ? pick_next(pick_of(r, scope, task), plan, t)
	                        : resolver__next_row(r, task, t);

	return own < next ? own : next;
}

bool resolver__has(const struct resolver *r, uint32_t scope, uint32_t task, int64_t t)
{
	const struct plan *plan = resolver__task(r, task)->def->plan;
	const struct scope *s = scope_at(r, scope);

	return (!(s && s->inside) && resolver__planned(plan, t)) ||
	       (s && pick_has(pick_of(r, scope, task), plan, t));
}

/* The n-th before the last p <= t, over the plan and the command's dates. */
int resolver__prev_span(const struct resolver *r, uint32_t scope, const struct task_link *l,
                        int64_t t, struct link_span *ret)
{
	const struct plan *plan = resolver__task(r, l->parent)->def->plan;
	const struct pick *p = pick_of(r, scope, l->parent);
	int64_t at = resolver__has(r, scope, l->parent, t) ? t : t + 1;

	for (int32_t n = at == t ? l->prev : l->prev + 1; n > 0; n--) {
		int64_t before = planned_prev(plan, at);
		for (size_t i = 0; p && i < p->n && p->ranges[i].lo < at; i++) {
			const struct pick_range *k = &p->ranges[i];
			int64_t last = k->hi < at ? k->hi : plan_prev(plan, at);
			before = last > before ? last : before;
		}
		if (before == PLAN_BEFORE)
			return 0;
		at = before;
	}
	*ret = (struct link_span){ at, at + 1 };
	return 1;
}

bool resolver__extends(const struct resolver *r, uint32_t scope)
{
	return scope && scope_at(r, scope)->n > 0;
}

void resolver__scope_learn(struct resolver *r, uint32_t number, struct scope_news *n)
{
	struct scope *s = scope_at(r, number), was = *s;

	CHECK(s->command == n->command);
	*s = (struct scope){ .command = was.command,
		             .picks = n->picks,
		             .n = n->n,
		             .users = was.users,
		             .inside = n->inside,
		             .over = was.over,
		             .told = true };
	n->picks = NULL;
	n->n = 0;
	scope_free(&was);
}

void resolver__scope_over(struct resolver *r, uint32_t number)
{
	struct scope *s = scope_at(r, number);

	CHECK(s->command);
	s->over = true;
	if (s->users == 0)
		scope_free(s);
}
