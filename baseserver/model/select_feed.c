/* One instance after the other: a walk per task over its plan, its unfinished rows, its
 * outcomes and the dates that were named; a heap puts the walks in order.
 *
 * A feed is made ready in pieces, a turn after the other, for a task may have a million unfinished
 * rows and a plan as many dates. Rows of a task that has few are found in its list at once. Lists
 * change between two pieces, so rows of tasks that have many are found by their slots, of all such
 * tasks in one pass. What comes or goes meanwhile may be found or not. */
#include <stdlib.h>

#include "baseserver/model/catalog.h"
#include "baseserver/model/select.h"
#include "sched/civil.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/heap.h"

struct dates {
	int64_t *at;
	size_t n, cap, i;
};

/* Instants, the first one on top: filled and emptied one by one. */
struct pile {
	int64_t *at;
	size_t n, cap;
};

struct walk {
	struct heap_node node;
	const struct cat_task *task;
	int64_t rank;
	int64_t lo, hi; /* range, both included; lo > hi: none */
	int64_t last;   /* last date given */
	int64_t head;   /* next date to give */
	bool head_exact;
	struct pile rows;
	bool by_slots; /* its rows are too many for one piece */
	struct dates exact;
	const struct pick *pick; /* else */
	size_t range;
};

struct feed {
	const struct catalog *cat;
	const struct selection *s;
	unsigned sources;
	enum feed_order order;
	struct walk *walks;
	size_t n;
	struct heap heap;
	size_t index;      /* of instances */
	bool is_open;      /* its walks have all they need ... */
	bool is_ready;     /* ... and all is listed that has to be */
	size_t n_filled;   /* walks, so far */
	uint32_t slot;     /* the next one to look at; of walks by slots: */
	uint32_t *walk_of; /* by task, walk_cap of them; NULL: there are none */
	size_t walk_cap;
	struct item *all; /* FEED_BY_DATE_DESC: what is left, the next one last */
	size_t n_all, all_cap;
};

enum { LIST_MAX = 1000, SLOTS_A_STEP = 16 };

static void spend(size_t *budget, size_t n)
{
	*budget -= n < *budget ? n : *budget;
}

static int by_date(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void dates_add(struct dates *d, int64_t at)
{
	d->at = mem_room(d->at, &d->cap, d->n + 1, sizeof *d->at);
	d->at[d->n++] = at;
}

static void pile_add(struct pile *p, int64_t at)
{
	size_t i = p->n++;

	p->at = mem_room(p->at, &p->cap, p->n, sizeof *p->at);
	for (; i > 0 && p->at[(i - 1) / 2] > at; i = (i - 1) / 2)
		p->at[i] = p->at[(i - 1) / 2];
	p->at[i] = at;
}

static void pile_pop(struct pile *p)
{
	CHECK(p->n > 0);
	int64_t last = p->at[--p->n];
	size_t i = 0;

	for (size_t k = 1; k < p->n; k = 2 * i + 1) {
		k += k + 1 < p->n && p->at[k + 1] < p->at[k];
		if (p->at[k] >= last)
			break;
		p->at[i] = p->at[k];
		i = k;
	}
	p->at[i] = last;
}

/* First date > t; those before it are given back. */
static int64_t pile_after(struct pile *p, int64_t t)
{
	while (p->n > 0 && p->at[0] <= t)
		pile_pop(p);
	return p->n > 0 ? p->at[0] : PLAN_NEVER;
}

/* First date > t of a sorted list that is only walked forward. */
static int64_t dates_after(struct dates *d, int64_t t)
{
	while (d->i < d->n && d->at[d->i] <= t)
		d->i++;
	return d->i < d->n ? d->at[d->i] : PLAN_NEVER;
}

/* First finished date > t in one of the states asked for. */
static int64_t done_after(const struct walk *w, uint32_t states, int64_t t)
{
	const struct outcomes *o = &w->task->outcomes;
	size_t i = t == INT64_MIN ? 0 : outcomes_from(o, t == INT64_MAX ? t : t + 1);

	for (; i < o->len; i++) {
		const struct outcome_range *r = &o->ranges[i];
		if (r->lo > w->hi)
			break;
		if (states && !(states & 1u << r->state))
			continue;
		if (r->lo > t)
			return r->lo;
		int64_t next = plan_next(w->task->def->plan, t);
		if (next <= r->hi)
			return next;
	}
	return PLAN_NEVER;
}

static int64_t plan_after(const struct feed *f, const struct walk *w, int64_t t)
{
	const struct plan *p = w->task->def->plan;
	int64_t next = f->sources & FEED_BARE ? plan_next_bare(p, t) : plan_next(p, t);

	return next > w->hi ? PLAN_NEVER : next;
}

static int64_t pick_after(struct walk *w, int64_t t)
{
	for (; w->range < w->pick->n; w->range++) {
		const struct pick_range *r = &w->pick->ranges[w->range];
		if (r->lo > t)
			return r->lo;
		int64_t next = plan_next(w->task->def->plan, t);
		if (next <= r->hi)
			return next;
	}
	return PLAN_NEVER;
}

/* Is the local day of the date one that was asked for? */
static bool day_wanted(const struct selection *s, const struct plan *plan, int64_t t)
{
	if (!s || (!s->weekdays && !s->month_days))
		return true;
	int64_t day = floor_div(tz_to_label(plan_tz(plan), t), DAY_S);
	struct civil c = civil_of_day(day), next = civil_of_day(day + 1);
	unsigned weekday = (unsigned)(((day + 3) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */

	return (s->weekdays & 1u << weekday) || (s->month_days & 1u << c.day) ||
	       ((s->month_days & 1) && next.day == 1);
}

static int64_t any_after(const struct feed *f, struct walk *w, int64_t t)
{
	uint32_t states = f->s && f->s->has_states ? f->s->states : 0;
	int64_t best = PLAN_NEVER, next;

	if (w->lo > w->hi)
		return PLAN_NEVER;
	if (t < w->lo)
		t = w->lo == INT64_MIN ? t : w->lo - 1;
	/* A planned date without a row is in no state. */
	if ((f->sources & FEED_PLAN) && f->s && !f->s->has_states && selection_has_dates(f->s))
		best = plan_after(f, w, t);
	if (f->sources & FEED_LIVE && (next = pile_after(&w->rows, t)) < best)
		best = next;
	if (f->sources & FEED_DONE && (next = done_after(w, states, t)) < best)
		best = next;
	return best > w->hi ? PLAN_NEVER : best;
}

static int64_t key_of(const struct feed *f, const struct walk *w)
{
	if (f->order == FEED_BY_TASK)
		return w->rank;
	bool has_period = f->sources & FEED_BARE || plan_has(w->task->def->plan, w->head);
	int64_t end = has_period ? plan_period_end(w->task->def->plan, w->head) : w->head;
	if (end == PLAN_NEVER)
		end = w->head;
	return end * 131072 + w->rank;
}

static int64_t range_after(const struct feed *f, struct walk *w, int64_t t)
{
	int64_t next = any_after(f, w, t);

	while (next != PLAN_NEVER && !day_wanted(f->s, w->task->def->plan, next))
		next = any_after(f, w, next);
	return next;
}

static void feed_advance(struct feed *f, struct walk *w)
{
	int64_t exact = dates_after(&w->exact, w->last);
	int64_t next = w->pick ? pick_after(w, w->last) : range_after(f, w, w->last);

	w->head_exact = exact <= next && exact != PLAN_NEVER;
	w->head = w->head_exact ? exact : next;
	CHECK(w->head > w->last); /* walks only go forward: so a feed ends */
	if (w->head == PLAN_NEVER)
		heap_remove(&f->heap, &w->node);
	else
		heap_set(&f->heap, &w->node, key_of(f, w));
}

/* Of each task of the catalog, UINT32_MAX: it has none. The caller's. */
static uint32_t *index_of_walks(const struct feed *f)
{
	size_t cap = f->cat->tasks_cap;
	uint32_t *index = mem_array(cap + 1, sizeof *index);

	for (size_t i = 0; i < cap; i++)
		index[i] = UINT32_MAX;
	for (size_t i = 0; i < f->n; i++)
		index[f->walks[i].task->id] = (uint32_t)i;
	return index;
}

/* Parents before children, as far as links allow; ties by id. */
struct ranking {
	uint32_t *index; /* of a task's walk, by task id; UINT32_MAX: none */
	size_t cap;      /* of index */
	int64_t *ranks;  /* by walk */
	int64_t next;    /* rank to give */
};

enum { RANK_NONE = -1, RANK_VISITED = -2, RANK_DEPTH_MAX = 10000 };

static void rank_visit(const struct feed *f, struct ranking *k, uint32_t task, int depth)
{
	const struct cat_task *t = catalog_task(f->cat, task);

	if (task >= k->cap || k->index[task] == UINT32_MAX || !t)
		return;
	int64_t *rank = &k->ranks[k->index[task]];
	CHECK(k->index[task] < f->n);
	if (*rank != RANK_NONE)
		return;
	*rank = RANK_VISITED;
	for (size_t i = 0; i < t->def->n_links && depth < RANK_DEPTH_MAX; i++)
		rank_visit(f, k, t->def->links[i].parent, depth + 1);
	*rank = k->next++;
}

static void rank_all(struct feed *f)
{
	struct ranking k = { .cap = f->cat->tasks_cap, .index = index_of_walks(f) };

	k.ranks = mem_array(f->n + 1, sizeof *k.ranks);
	for (size_t i = 0; i < f->n; i++)
		k.ranks[i] = RANK_NONE;
	for (size_t i = 0; i < f->n; i++)
		rank_visit(f, &k, f->walks[i].task->id, 0);
	for (size_t i = 0; i < f->n; i++)
		f->walks[i].rank = k.ranks[i];
	free(k.index);
	free(k.ranks);
}

static void fill_row(const struct feed *f, struct walk *w, const struct cat_inst *c)
{
	CHECK(f->s); /* what was picked by hand has no rows to look for */
	if (c->key.part != 0 || c->key.run_date < w->lo || c->key.run_date > w->hi)
		return;
	if (!f->s->has_states || (f->s->states & 1u << c->state))
		pile_add(&w->rows, c->key.run_date);
}

/* Few are taken from the task's list; else all are left to fill_by_slots(). */
static void fill_rows(struct feed *f, struct walk *w, size_t *budget)
{
	uint32_t n = 0;

	for (uint32_t i = w->task->live; i != SLAB_NONE && n < LIST_MAX; n++) {
		const struct cat_inst *c = catalog_inst(f->cat, i);
		i = c->next;
		fill_row(f, w, c);
		w->by_slots = i != SLAB_NONE && n + 1 == LIST_MAX;
	}
	spend(budget, n);
	if (!w->by_slots)
		return;
	w->rows.n = 0;
	if (f->walk_of)
		return;
	f->walk_of = index_of_walks(f);
	f->walk_cap = f->cat->tasks_cap;
}

/* True: all slots were looked at. */
static bool fill_by_slots(struct feed *f, size_t *budget)
{
	uint32_t end = catalog_slots(f->cat);

	for (; *budget > 0 && f->walk_of && f->slot < end; f->slot++) {
		const struct cat_inst *c = catalog_inst(f->cat, f->slot);
		if (f->slot % SLOTS_A_STEP == 0)
			spend(budget, 1);
		uint32_t at = c && c->key.task < f->walk_cap ? f->walk_of[c->key.task] : UINT32_MAX;
		if (at == UINT32_MAX || !f->walks[at].by_slots)
			continue;
		fill_row(f, &f->walks[at], c);
		spend(budget, 1);
	}
	return !f->walk_of || f->slot >= end;
}

/* A named date counts where it is planned or has a row; where it is neither for any task,
 * it was refused before, or is allowed off the plan: then its first instant is meant. */
static void fill_date(const struct feed *f, struct walk *w, const struct when_span *when)
{
	const struct plan *plan = w->task->def->plan;
	int64_t lo = when_instant(&when->from, plan_tz(plan), false);
	int64_t hi = when_instant(&when->to, plan_tz(plan), true);
	int64_t t = plan_next(plan, lo - 1);

	if (t > hi || select_date_counts(f->cat, w->task, lo))
		dates_add(&w->exact, lo);
	for (size_t n = 0; t <= hi && n < SELECT_DATE_MAX; t = plan_next(plan, t), n++)
		if (t != lo)
			dates_add(&w->exact, t);
}

static void fill_exact(const struct feed *f, struct walk *w)
{
	for (size_t i = 0; i < f->s->n_dates; i++)
		fill_date(f, w, &f->s->dates[i]);
	if (w->exact.n)
		qsort(w->exact.at, w->exact.n, sizeof *w->exact.at, by_date);
}

static void feed_fill(struct feed *f, struct walk *w, size_t *budget)
{
	const struct selection *s = f->s;
	const struct tz *tz = plan_tz(w->task->def->plan);

	CHECK(s);
	if (s->has_dates && !s->has_from && !s->has_to) {
		w->lo = 1;
		w->hi = 0;
	} else {
		w->lo = s->has_from ? when_instant(&s->from, tz, false) : INT64_MIN;
		w->hi = s->has_to ? when_instant(&s->to, tz, true) : INT64_MAX - 1;
	}
	if (f->sources & FEED_LIVE)
		fill_rows(f, w, budget);
	if (s->has_dates)
		fill_exact(f, w);
}

static struct feed *open_walks(const struct catalog *c, size_t n)
{
	struct feed *f = mem_new(sizeof *f);

	f->cat = c;
	f->walks = mem_array(n + 1, sizeof *f->walks);
	heap_init(&f->heap);
	return f;
}

static struct walk *add_walk(struct feed *f, uint32_t task)
{
	const struct cat_task *t = catalog_task(f->cat, task);

	if (!t)
		return NULL;
	struct walk *w = &f->walks[f->n++];
	heap_node_init(&w->node);
	w->task = t;
	w->last = INT64_MIN;
	return w;
}

static void feed_start(struct feed *f)
{
	rank_all(f);
	for (size_t i = 0; i < f->n; i++)
		feed_advance(f, &f->walks[i]);
}

struct feed *feed_open(const struct catalog *c, const struct selection *s, unsigned sources,
                       enum feed_order order)
{
	struct feed *f = open_walks(c, s->n_tasks);

	f->s = s;
	f->sources = sources;
	f->order = order;
	for (size_t i = 0; i < s->n_tasks; i++)
		add_walk(f, s->tasks[i]);
	return f;
}

struct feed *feed_open_picks(const struct catalog *c, const struct pick *picks, size_t n)
{
	struct feed *f = open_walks(c, n);

	f->order = FEED_BY_TASK;
	for (size_t i = 0; i < n; i++) {
		struct walk *w = add_walk(f, picks[i].task);
		if (w)
			w->pick = &picks[i];
	}
	feed_start(f);
	f->is_open = f->is_ready = true;
	return f;
}

void feed_close(struct feed *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++) {
		free(f->walks[i].rows.at);
		free(f->walks[i].exact.at);
	}
	heap_done(&f->heap);
	free(f->all);
	free(f->walk_of);
	free(f->walks);
	free(f);
}

static bool walk_next(struct feed *f, struct item *ret)
{
	if (f->s && f->s->has_instances) {
		if (f->index >= f->s->n_instances)
			return false;
		struct inst_key key = f->s->instances[f->index++];
		*ret = (struct item){ key, catalog_task(f->cat, key.task), true };
		return true;
	}
	struct walk *w = (struct walk *)heap_top(&f->heap);
	if (!w)
		return false;
	CHECK(w->head != PLAN_NEVER); /* else it is not in the heap */
	*ret = (struct item){ { w->head, w->task->id, 0 }, w->task, w->head_exact };
	w->last = w->head;
	feed_advance(f, w);
	return true;
}

bool feed_next(struct feed *f, struct item *ret)
{
	CHECK(f->is_ready);
	if (f->order != FEED_BY_DATE_DESC || !f->s || f->s->has_instances)
		return walk_next(f, ret);
	if (f->n_all == 0)
		return false;
	*ret = f->all[--f->n_all];
	return true;
}

/* Walks only go forward: all of them are listed first. True: they are. */
static bool list_all(struct feed *f, size_t *budget)
{
	struct item it;

	for (; *budget > 0; spend(budget, 1)) {
		if (!walk_next(f, &it))
			return true;
		f->all = mem_room(f->all, &f->all_cap, f->n_all + 1, sizeof *f->all);
		f->all[f->n_all++] = it;
	}
	return false;
}

static bool open_some(struct feed *f, size_t *budget)
{
	for (; *budget > 0 && f->n_filled < f->n; f->n_filled++) {
		spend(budget, 1);
		feed_fill(f, &f->walks[f->n_filled], budget);
	}
	if (f->n_filled < f->n || !fill_by_slots(f, budget))
		return false;
	feed_start(f);
	return true;
}

bool feed_ready(struct feed *f, size_t *budget)
{
	bool lists = f->order == FEED_BY_DATE_DESC && f->s && !f->s->has_instances;

	if (!f->is_open)
		f->is_open = open_some(f, budget);
	if (f->is_open && !f->is_ready)
		f->is_ready = !lists || list_all(f, budget);
	return f->is_ready;
}

/* By task: everything of lower rank is done. By date: everything of a lower key is. */
void feed_skip(struct feed *f, struct inst_key last, size_t index)
{
	struct item it;

	f->index = index;
	if (f->s && (f->s->has_instances || f->order == FEED_BY_DATE_DESC))
		return; /* last first: what is settled is passed over */
	struct walk *at = NULL;
	for (size_t i = 0; i < f->n; i++)
		if (f->walks[i].task->id == last.task)
			at = &f->walks[i];
	if (!at)
		return;
	if (f->order == FEED_BY_TASK) {
		for (size_t i = 0; i < f->n; i++)
			if (f->walks[i].rank < at->rank)
				heap_remove(&f->heap, &f->walks[i].node);
		at->last = last.run_date;
		feed_advance(f, at);
		return;
	}
	struct walk mark = { .task = at->task, .rank = at->rank, .head = last.run_date };
	int64_t key = key_of(f, &mark);
	for (struct walk *w; (w = (struct walk *)heap_top(&f->heap)) && w->node.key <= key;)
		feed_next(f, &it);
}
