/* Windows: what a link waits for, counted once for all who wait for the same.
 *
 * A window is a range of the parent's dates, as one link of one task sees it. It counts how many
 * of these dates are met and dead; its state follows from the counts and the link's strategy. It is
 * made, and counted once, when the first instance waits on it, and dropped with the last. In
 * between each outcome of the parent moves the counts of the windows that hold its date. A window
 * of a single date is found by hash, the others in the link's list, sorted by `lo`. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/plan/resolver_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

enum { WINDOW_DATES_MAX = 1000000 };

enum date_state { DATE_OPEN, DATE_MET, DATE_DEAD };

/* (design: SEMANTICS section 2, "met, open or dead".) */
static enum date_state window_judge(const struct task_link *l, bool turn,
                                    const struct outcome_range *o)
{
	if (!o)
		return DATE_OPEN;
	if (turn || l->on == ON_SUCCESS || l->on == ON_STRONG) {
		if (o->state == ST_SUCC)
			return DATE_MET;
		if (l->on == ON_STRONG && o->state != ST_SKIPPED)
			return DATE_DEAD;
		if (o->state != ST_SKIPPED)
			return DATE_OPEN;
		return !turn && (o->reason == RE_LINK || o->reason == RE_BRANCH ||
		                 o->reason == RE_PIPELINE)
		               ? DATE_DEAD
		               : DATE_MET;
	}
	if (l->on == ON_DONE)
		return DATE_MET;
	return o->state == ST_STOP || o->state == ST_KILLED ? DATE_MET : DATE_DEAD;
}

static enum window_state window_verdict(const struct task_link *l, const struct window *w)
{
	uint32_t need = w->total;

	if (l->strategy == LS_ANY)
		need = 1;
	else if (l->strategy == LS_AT_LEAST && (uint32_t)l->n < w->total)
		need = (uint32_t)l->n;
	if (w->met >= need)
		return WS_MET;
	return w->dead > w->total - need ? WS_DEAD : WS_OPEN;
}

static void count_date(struct window *w, enum date_state s, int d)
{
	if (s == DATE_MET)
		w->met = (uint32_t)((int)w->met + d);
	else if (s == DATE_DEAD)
		w->dead = (uint32_t)((int)w->dead + d);
	CHECK(w->met + w->dead <=
	      w->total); /* each date is one of them at most, and none is negative */
}

/* The first n dates of the spans: how many spans are left. */
static int keep_first(const struct plan *plan, struct link_span *spans, int n_spans, int32_t n)
{
	for (int i = 0; i < n_spans; i++)
		for (int64_t p = plan_next(plan, spans[i].lo - 1); p < spans[i].hi;
		     p = plan_next(plan, p))
			if (--n == 0) {
				spans[i].hi = p + 1;
				return i + 1;
			}
	return n_spans;
}

/* The last n: the first span that is left. */
static int keep_last(const struct plan *plan, struct link_span *spans, int n_spans, int32_t n)
{
	for (int i = n_spans; i-- > 0;)
		for (int64_t p = plan_prev(plan, spans[i].hi); p >= spans[i].lo && p != PLAN_BEFORE;
		     p = plan_prev(plan, p))
			if (--n == 0) {
				spans[i].lo = p;
				return i;
			}
	return 0;
}

/* first n and last n are `all` over a smaller window: the plan fixes which dates they are. The
 * spans ascend; a list has holes between them. */
static int narrow(const struct task_link *l, const struct plan *plan, struct link_span *spans,
                  int n)
{
	int from = 0;

	if (l->strategy == LS_FIRST)
		n = keep_first(plan, spans, n, l->n);
	else if (l->strategy == LS_LAST)
		from = keep_last(plan, spans, n, l->n);
	if (from > 0)
		memmove(spans, spans + from, (size_t)(n - from) * sizeof *spans);
	return n - from;
}

/* t: of who waits. */
static void count_all(struct resolver *r, struct window *w, const struct task_link *l,
                      const struct link_span *spans, int n, int64_t t)
{
	const struct rtask *parent = resolver__task(r, l->parent);
	bool turn = w->link == resolver__task(r, w->child)->def->n_links;
	bool beside = resolver__by_rows(r, w->scope) && resolver__row_beside(r, l->parent, t);

	for (int i = 0; i < n; i++)
		for (int64_t p = resolver__next(r, w->scope, l->parent, spans[i].lo - 1);
		     p < spans[i].hi && w->total < WINDOW_DATES_MAX;
		     p = resolver__next(r, w->scope, l->parent, p)) {
			w->total++;
			count_date(w, window_judge(l, turn, outcomes_find(&parent->outcomes, p)),
			           1);
		}
	r->spent += w->total;
	for (int i = 0; i < n && beside; i++)
		if (t >= spans[i].lo && t < spans[i].hi) {
			w->total++;
			count_date(w, window_judge(l, turn, outcomes_find(&parent->outcomes, t)),
			           1);
		}
}

static uint64_t exact_hash(uint32_t child, uint32_t link, int64_t lo)
{
	return map_mix((uint64_t)child << LINK_BITS | link, (uint64_t)lo);
}

uint64_t resolver__window_hash(const void *resolver, uint32_t window)
{
	const struct window *w = window_at(resolver, window);

	return exact_hash(w->child, w->link, w->lo);
}

static uint32_t find_exact(const struct resolver *r, uint32_t child, uint32_t link, int64_t lo,
                           uint32_t scope)
{
	size_t at = 0;
	uint64_t h = exact_hash(child, link, lo);

	for (uint32_t v = index_first(&r->exact, h, &at); v != INDEX_NONE;
	     v = index_next(&r->exact, &at)) {
		const struct window *w = window_at(r, v);
		if (w->child == child && w->link == link && w->lo == lo && w->scope == scope)
			return v;
	}
	return SLAB_NONE;
}

/* Index of the first listed window with lo >= `lo`. */
static size_t span_from(const struct resolver *r, const struct dependent *d, int64_t lo)
{
	size_t a = 0, b = d->n_spans;

	while (a < b) {
		size_t mid = a + (b - a) / 2;
		if (window_at(r, d->spans[mid])->lo < lo)
			a = mid + 1;
		else
			b = mid;
	}
	return a;
}

/* The place of a window in the list: by lo, then hi, so that those that hold a date are
 * neighbours; then by scope, for members of a redo have one each of the same dates. */
struct span_key {
	int64_t lo, hi;
	uint32_t scope, index; /* index: 0 finds the first that is alike */
};

static struct span_key span_key(const struct resolver *r, uint32_t index)
{
	const struct window *w = window_at(r, index);

	return (struct span_key){ w->lo, window_hi(w), w->scope, index };
}

static bool span_before(const struct span_key *a, const struct span_key *b)
{
	if (a->lo != b->lo)
		return a->lo < b->lo;
	if (a->hi != b->hi)
		return a->hi < b->hi;
	return a->scope != b->scope ? a->scope < b->scope : a->index < b->index;
}

/* Index of the first listed window that is not before the key. */
static size_t span_place(const struct resolver *r, const struct dependent *d,
                         const struct span_key *key)
{
	size_t a = 0, b = d->n_spans;

	while (a < b) {
		size_t mid = a + (b - a) / 2;
		struct span_key at = span_key(r, d->spans[mid]);
		if (span_before(&at, key))
			a = mid + 1;
		else
			b = mid;
	}
	return a;
}

static uint32_t find_span(const struct resolver *r, const struct dependent *d, int64_t lo,
                          int64_t hi, uint32_t scope)
{
	size_t at = span_place(r, d, &(struct span_key){ lo, hi, scope, 0 });

	if (at == d->n_spans)
		return SLAB_NONE;
	struct span_key is = span_key(r, d->spans[at]);
	return is.lo == lo && is.hi == hi && is.scope == scope ? is.index : SLAB_NONE;
}

static void list_span(const struct resolver *r, struct dependent *d, uint32_t index)
{
	struct span_key key = span_key(r, index);
	size_t at = span_place(r, d, &key);

	d->spans = mem_room(d->spans, &d->spans_cap, d->n_spans + 1, sizeof *d->spans);
	memmove(d->spans + at + 1, d->spans + at, (d->n_spans - at) * sizeof *d->spans);
	d->spans[at] = index;
	d->n_spans++;
}

static uint32_t width_of(int64_t lo, int64_t hi)
{
	return hi - lo > UINT32_MAX ? UINT32_MAX : (uint32_t)(hi - lo);
}

/* `of` says whose it is: child, link, scope, exact. `t`: the child's date. */
static uint32_t window_make(struct resolver *r, const struct window *of, const struct task_link *l,
                            const struct link_span *spans, int n, int64_t t)
{
	uint32_t index = slab_take(&r->windows);
	struct window *w = window_at(r, index);

	CHECK(n > 0 && n <= LINK_SPANS_MAX);
	*w = *of;
	w->lo = spans[0].lo;
	w->width = width_of(spans[0].lo, spans[n - 1].hi);
	w->edges = SLAB_NONE;
	count_all(r, w, l, spans, n, t);
	if (w->total == 0) {
		slab_give(&r->windows, index);
		return SLAB_NONE;
	}
	w->state = (uint8_t)window_verdict(l, w);
	if (of->exact)
		index_add(&r->exact, index);
	else
		list_span(r, resolver__dependent(r, l->parent, of->child, of->link), index);
	return index;
}

/* Members of a command look at its dates before the parent's begin too. */
static int spans_of(const struct resolver *r, const struct task_link *l, uint32_t child, int64_t t,
                    uint32_t scope, struct link_span *spans)
{
	const struct plan *parent = resolver__task(r, l->parent)->def->plan;
	const struct plan *own = resolver__task(r, child)->def->plan;

	return resolver__extends(r, scope) || resolver__by_rows(r, scope)
	               ? link_spans_ever(l, parent, own, t, spans)
	               : link_spans(l, parent, own, t, spans);
}

uint32_t resolver__window(struct resolver *r, uint32_t child, uint32_t link, int64_t t,
                          uint32_t scope)
{
	struct window fresh = { .child = child, .link = link, .scope = scope };
	struct link_span spans[LINK_SPANS_MAX];
	struct task_link l;

	/* Parts wait for parts: the ledger counts those (ledger_parts.c). */
	if (!resolver__link(r, child, link, &l) || l.by_node)
		return SLAB_NONE;
	const struct plan *plan = resolver__task(r, l.parent)->def->plan;
	int n = l.kind == LK_PREV && resolver__extends(r, scope)
	                ? resolver__prev_span(r, scope, &l, t, spans)
	                : spans_of(r, &l, child, t, scope, spans);
	if (n <= 0)
		return SLAB_NONE;
	n = narrow(&l, plan, spans, n);
	/* What has a row changes: counted for each who waits. */
	if (resolver__by_rows(r, scope))
		return window_make(r, &fresh, &l, spans, n, t);
	int64_t first = resolver__next(r, scope, l.parent, spans[0].lo - 1);
	if (n == 1 && first >= spans[0].hi)
		return SLAB_NONE;
	bool exact = n == 1 && resolver__next(r, scope, l.parent, first) >= spans[0].hi;
	fresh.exact = exact;
	if (exact)
		spans[0] = (struct link_span){ first, first + 1 };
	uint32_t found = exact ? find_exact(r, child, link, first, scope)
	                       : find_span(r, resolver__dependent(r, l.parent, child, link),
	                                   spans[0].lo,
	                                   spans[0].lo + width_of(spans[0].lo, spans[n - 1].hi),
	                                   scope);
	return found != SLAB_NONE ? found : window_make(r, &fresh, &l, spans, n, t);
}

static void unlist_span(const struct resolver *r, struct dependent *d, uint32_t index)
{
	struct span_key key = span_key(r, index);
	size_t at = span_place(r, d, &key);

	CHECK(at < d->n_spans && d->spans[at] == index);
	d->n_spans--;
	memmove(d->spans + at, d->spans + at + 1, (d->n_spans - at) * sizeof *d->spans);
}

void resolver__window_drop(struct resolver *r, uint32_t index)
{
	struct window *w = window_at(r, index);
	struct task_link l;

	CHECK(w->edges == SLAB_NONE);
	if (w->exact) {
		index_remove(&r->exact, index);
	} else {
		bool known = resolver__link(r, w->child, w->link, &l);
		struct dependent *d = known ? resolver__dependent(r, l.parent, w->child, w->link)
		                            : NULL;
		if (d)
			unlist_span(r, d, index);
	}
	slab_give(&r->windows, index);
}

/* A list window has holes: is p really in it? */
static bool window_holds(const struct resolver *r, const struct task_link *l,
                         const struct window *w, int64_t p)
{
	if (l->kind != LK_WINDOW || w->exact)
		return p >= w->lo && p < window_hi(w);
	const struct edge *e = edge_at(r, w->edges);
	struct link_span spans[LINK_SPANS_MAX];
	int n = spans_of(r, l, w->child, waiting_at(r, e->waiting)->key.run_date, w->scope, spans);
	for (int i = 0; i < n; i++)
		if (p >= spans[i].lo && p < spans[i].hi)
			return p >= w->lo && p < window_hi(w);
	return false;
}

static void recount_rows(struct resolver *r, uint32_t index, const struct task_link *l)
{
	struct window *w = window_at(r, index);
	enum window_state before = (enum window_state)w->state;
	int64_t t = waiting_at(r, edge_at(r, w->edges)->waiting)->key.run_date;
	struct link_span spans[LINK_SPANS_MAX];
	int n = spans_of(r, l, w->child, t, w->scope, spans);

	n = narrow(l, resolver__task(r, l->parent)->def->plan, spans, n);
	w->total = w->met = w->dead = 0;
	count_all(r, w, l, spans, n, t);
	w->state = (uint8_t)window_verdict(l, w);
	if (w->state != before)
		resolver__window_changed(r, index, before);
}

/* What a parent's date says changed. */
struct outcome_change {
	int64_t p; /* the date */
	const struct outcome_range *was, *is;
};

static void recount(struct resolver *r, uint32_t index, const struct task_link *l, bool turn,
                    const struct outcome_change *to)
{
	struct window *w = window_at(r, index);

	if (resolver__by_rows(r, w->scope)) {
		recount_rows(r, index, l);
		return;
	}
	if (!window_holds(r, l, w, to->p) || !resolver__has(r, w->scope, l->parent, to->p))
		return;
	enum window_state before = (enum window_state)w->state;
	count_date(w, window_judge(l, turn, to->was), -1);
	count_date(w, window_judge(l, turn, to->is), 1);
	w->state = (uint8_t)window_verdict(l, w);
	if (w->state != before)
		resolver__window_changed(r, index, before);
}

void resolver__outcome(struct resolver *r, uint32_t parent, int64_t p,
                       const struct outcome_range *was, const struct outcome_range *is)
{
	const struct outcome_change to = { p, was, is };
	struct rtask *pt = resolver__task(r, parent);
	struct task_link l;

	/* Off-plan rows satisfy no link, except among members of one command. */
	if (pt->n_dependents == 0 || !pt->def || (r->n_scopes == 0 && !plan_has(pt->def->plan, p)))
		return;
	r->walked += pt->n_dependents;
	for (size_t k = 0; k < pt->n_dependents; k++) {
		struct dependent *d = &pt->dependents[k];
		if (!resolver__link(r, d->child, d->link, &l))
			continue;
		resolver__work_for(r, d->child, CRUMB_RECORDS);
		bool turn = d->link == resolver__task(r, d->child)->def->n_links;
		size_t at = 0;
		for (uint32_t v = index_first(&r->exact, exact_hash(d->child, d->link, p), &at);
		     v != INDEX_NONE; v = index_next(&r->exact, &at)) {
			const struct window *w = window_at(r, v);
			if (w->child == d->child && w->link == d->link && w->lo == p)
				recount(r, v, &l, turn, &to);
		}
		/* lo and hi both rise: those that hold p are neighbours. Only a window that the
		 * begin cuts off may hide one of a member that is not cut off, and ends later. */
		for (size_t i = span_from(r, d, p + 1); i-- > 0;) {
			const struct window *w = window_at(r, d->spans[i]);
			r->walked++;
			if (window_hi(w) > p)
				recount(r, d->spans[i], &l, turn, &to);
			else if (w->lo != plan_begin(pt->def->plan))
				break;
		}
	}
}
