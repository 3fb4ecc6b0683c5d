/* A child skipped for a dead join is reopened when the parent that killed it is (design:
 * SEMANTICS section 2): when that parent's outcome is taken back, or forced. */
#include <stdlib.h>

#include "baseserver/plan/resolver_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

static bool join_dead(struct resolver *r, const struct task *child, int64_t t)
{
	size_t n = child->n_links, dead = 0;
	size_t need = child->join > 0 && (size_t)child->join < n ? (size_t)child->join : n;

	for (size_t k = 0; k < n; k++) {
		uint32_t index = resolver__window(r, child->id, (uint32_t)k, t, 0);
		if (index == SLAB_NONE)
			continue;
		dead += window_at(r, index)->state == WS_DEAD;
		if (window_at(r, index)->edges == SLAB_NONE)
			resolver__window_drop(r, index);
	}
	return dead > n - need;
}

static void want_reopened(struct resolver *r, uint32_t child, int64_t t)
{
	r->reopens = mem_room(r->reopens, &r->reopens_cap, r->n_reopens + 1, sizeof *r->reopens);
	r->reopens[r->n_reopens++] = (struct inst_key){ t, child, 0 };
}

static void keep_doubt(struct resolver *r, struct inst_key key)
{
	r->doubts = mem_room(r->doubts, &r->doubts_cap, r->n_doubts + 1, sizeof *r->doubts);
	r->doubts[r->n_doubts++] = key;
}

static void reopen_one(struct resolver *r, struct inst_key key)
{
	const struct rtask *c = resolver__task(r, key.task);

	if (resolver__enough(r))
		keep_doubt(r, key);
	else if (c && c->def && !join_dead(r, c->def, key.run_date))
		want_reopened(r, key.task, key.run_date);
}

/* Where the window of t lies: all before p (-1), all after it (1), or around it (0). */
static int side_of(const struct task_link *l, const struct plan *parent, const struct plan *child,
                   int64_t t, int64_t p)
{
	struct link_span spans[LINK_SPANS_MAX];
	int n = link_spans_ever(l, parent, child, t, spans);

	if (n <= 0) /* none for want of enough dates before, or outside the parent's plan */
		return l->kind == LK_PREV || t <= p ? -1 : 1;
	if (spans[n - 1].hi <= p)
		return -1;
	return spans[0].lo > p;
}

/* The first planned date of the child in [lo, hi] whose window reaches p: windows rise with
 * their dates, except that an empty one of an expression does not say where it lies. */
static int64_t first_reaching(const struct task_link *l, const struct plan *parent,
                              const struct plan *child, const struct outcome_range *in, int64_t p)
{
	int64_t a = in->lo, b = in->hi;

	while (l->kind != LK_WINDOW && a < b) {
		int64_t mid = a + (b - a) / 2, t = plan_next(child, mid - 1);
		if (t <= in->hi && side_of(l, parent, child, t, p) < 0)
			a = t + 1;
		else
			b = mid;
	}
	return plan_next(child, a - 1);
}

static void reopen_in(struct resolver *r, const struct task *child, const struct task_link *l,
                      const struct outcome_range *in, int64_t p)
{
	const struct plan *parent = resolver__task(r, l->parent)->def->plan;
	int64_t t = first_reaching(l, parent, child->plan, in, p);

	for (; t <= in->hi; t = plan_next(child->plan, t)) {
		int side = side_of(l, parent, child->plan, t, p);
		if (side > 0 && l->kind != LK_WINDOW)
			break;
		if (side == 0)
			reopen_one(r, (struct inst_key){ t, child->id, 0 });
		r->spent++;
	}
}

void resolver__reopen(struct resolver *r, uint32_t parent, int64_t p)
{
	const struct rtask *pt = resolver__task(r, parent);
	struct task_link l;

	for (size_t k = 0; k < pt->n_dependents; k++) {
		const struct dependent *d = &pt->dependents[k];
		const struct rtask *c = resolver__task(r, d->child);
		if (!c->skipped || d->link == c->def->n_links ||
		    !resolver__link(r, d->child, d->link, &l) || l.by_node)
			continue;
		resolver__work_for(r, d->child, CRUMB_DATES);
		for (size_t i = 0; i < c->outcomes.len; i++) {
			struct outcome_range in = c->outcomes.ranges[i];
			if (resolver_was_skipped(in.state, in.reason))
				reopen_in(r, c->def, &l, &in, p);
		}
	}
}

void resolver__look_at_skip(struct resolver *r, uint32_t child, int64_t t)
{
	reopen_one(r, (struct inst_key){ t, child, 0 });
}

void resolver__look_at_doubts(struct resolver *r)
{
	for (; r->next_doubt < r->n_doubts && !resolver__enough(r); r->next_doubt++) {
		resolver__work_for(r, r->doubts[r->next_doubt].task, CRUMB_DATES);
		reopen_one(r, r->doubts[r->next_doubt]);
	}
	if (r->next_doubt == r->n_doubts) {
		free(r->doubts);
		r->doubts = NULL;
		r->next_doubt = r->n_doubts = r->doubts_cap = 0;
	}
}

void resolver__load_reopens(struct resolver *r)
{
	for (size_t id = 0; id < r->tasks_cap; id++) {
		const struct rtask *t = r->tasks[id];
		if (!t || !t->def || t->n_dependents == 0)
			continue;
		for (size_t i = 0; i < t->outcomes.len; i++) {
			const struct outcome_range o = t->outcomes.ranges[i];
			for (int64_t p = o.lo; o.reason == RE_FORCED && p <= o.hi;
			     p = plan_next(t->def->plan, p))
				resolver__reopen(r, (uint32_t)id, p);
		}
	}
}

void resolver__reopen_again(struct resolver *r, struct inst_key key, int64_t from_us)
{
	want_reopened(r, key.task, key.run_date);
	r->reopens_from_us = from_us;
}

bool resolver__propose_reopens(struct resolver *r)
{
	size_t n = 0;

	if (r->n_reopens == 0 || actor_mono_us(r->me) < r->reopens_from_us)
		return r->n_reopens == 0;
	r->reopens_from_us = 0;

	for (; n < r->n_reopens && outbox_room(&r->out) > 0; n++)
		outbox_add(&r->out, ASK_REOPEN, r->reopens[n])->cookie = SLAB_NONE;
	for (size_t i = n; i < r->n_reopens && n > 0; i++)
		r->reopens[i - n] = r->reopens[i];
	CHECK(n <= r->n_reopens);
	r->n_reopens -= n;
	return r->n_reopens == 0;
}
