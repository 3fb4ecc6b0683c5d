/* Which run_dates of a parent an instance waits for, as spans of the parent's plan: never as rows,
 * which may be gone or not made yet. Each kind of link is one span or some; they come ordered,
 * without overlaps, empty ones dropped.
 *
 * A parent that counts days or longer is found by what clocks show, others by instants, so that a
 * link between two zones means the same date. link_spans() leaves out what lies before the
 * parent's plan began, link_spans_ever() does not. */
#include "sched/link.h"

#include <stdlib.h>

#include "sched/civil.h"
#include "sched/plan_impl.h"
#include "sched/tz.h"
#include "sched/window.h"
#include "util/check.h"

static const struct link_span none = { 0, 0 };

/* A parent that counts days or longer is found by what clocks show, others by instants. */
static bool by_label(const struct plan *parent)
{
	return unit_is_long(parent->unit);
}

/* What the child's clock shows at `t`. A date is shown as its midnight, even where that
 * midnight was left out. */
static int64_t child_label(const struct plan *child, int64_t t)
{
	struct cycle of_child = plan_cycle(child);
	if (unit_is_long(child->unit) && !child->s.cron && cycle_floor(&of_child, t) == t)
		return local_day(child->s.tz, t) * DAY_S;
	return local_label(child->s.tz, t);
}

/* First instant whose run_date, if there is one, has a label at or after `label`. The run_dates
 * of long cycles are dates; those of crons have a time of day. */
static int64_t parent_instant(const struct plan *parent, int64_t label)
{
	if (!parent->s.cron)
		label = floor_div(label + DAY_S - 1, DAY_S) * DAY_S;
	return tz_first(parent->s.tz, label);
}

static struct link_span span_between(const struct plan *parent, struct window_point lo,
                                     struct window_point hi)
{
	if (!by_label(parent))
		return (struct link_span){ lo.instant, hi.instant };
	return (struct link_span){ parent_instant(parent, lo.label),
		                   parent_instant(parent, hi.label) };
}

/* The period of the child's cycle that holds t; of a cron's unit; else the instant. */
static struct link_span same_cycle(const struct plan *parent, const struct plan *child, int64_t t)
{
	struct cycle of_child = plan_cycle(child);
	struct window_point lo = { t, 0 }, hi = { t + 1, 0 };

	if (!child->has_cycle) {
		lo.label = local_label(child->s.tz, t);
		hi.label = lo.label + 1;
		return span_between(parent, lo, hi);
	}
	lo.instant = cycle_floor(&of_child, t);
	hi.instant = cycle_next(&of_child, t);
	if (unit_is_long(child->unit)) {
		int64_t day = local_day(child->s.tz, t);
		lo.label = cycle_floor_day(&of_child, day) * DAY_S;
		hi.label = cycle_next_day(&of_child, day) * DAY_S;
	} else {
		lo.label = local_label(child->s.tz, lo.instant);
		hi.label = local_label(child->s.tz, hi.instant);
	}
	return span_between(parent, lo, hi);
}

/* The parent's period that holds a point: one run_date at most, except for a cron that
 * declares a unit it does not keep to. */
static struct link_span holding(const struct plan *parent, struct window_point at)
{
	struct cycle of_parent = plan_cycle(parent);
	int64_t t = at.instant, p;

	if (by_label(parent)) {
		int64_t day = label_day(at.label);
		return (struct link_span){
			tz_first(parent->s.tz, cycle_floor_day(&of_parent, day) * DAY_S),
			tz_first(parent->s.tz, cycle_next_day(&of_parent, day) * DAY_S),
		};
	}
	if (parent->has_cycle)
		return (struct link_span){ cycle_floor(&of_parent, t), cycle_next(&of_parent, t) };
	if (parent->unit == CU_NONE)
		return none;
	/* From fire to fire; what runs once holds for good. */
	p = plan_prev(parent, t + 1);
	if (p == PLAN_BEFORE || t >= plan_period_end(parent, p))
		return none;
	return (struct link_span){ p, p + 1 };
}

/* The n-th planned run_date before the last one at or before t. */
static struct link_span nth_before(const struct plan *parent, struct window_point at, int64_t n)
{
	int64_t p = by_label(parent) ? parent_instant(parent, at.label + 1) : at.instant + 1;

	CHECK(n >= 0);
	for (n = n + 1; n > 0 && p != PLAN_BEFORE; n--)
		p = plan_prev(parent, p);
	if (p == PLAN_BEFORE)
		return none;
	return (struct link_span){ p, p + 1 };
}

static struct link_span item_span(const struct plan *parent, const struct window_expr *e, size_t i,
                                  const struct plan *child, int64_t t)
{
	CHECK(i < window_count(e));
	struct window_item item = window_eval(e, i, child, t);

	if (window_form(e) == WF_LIST)
		return holding(parent, item.lo);
	item.lo.instant += item.after_lo;
	item.lo.label += item.after_lo;
	item.hi.instant += item.with_hi;
	item.hi.label += item.with_hi;
	return span_between(parent, item.lo, item.hi);
}

static int by_lo(const void *a, const void *b)
{
	const struct link_span *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* In order, overlaps joined, empty ones dropped. */
static int tidy(struct link_span *spans, int n)
{
	int kept = 0;

	CHECK(n >= 0 && n <= LINK_SPANS_MAX);
	qsort(spans, (size_t)n, sizeof *spans, by_lo);
	for (int i = 0; i < n; i++) {
		struct link_span *last = kept ? &spans[kept - 1] : NULL;
		if (spans[i].lo >= spans[i].hi)
			continue;
		if (last && spans[i].lo < last->hi)
			last->hi = spans[i].hi > last->hi ? spans[i].hi : last->hi;
		else
			spans[kept++] = spans[i];
	}
	return kept;
}

static int window_spans(const struct task_link *l, const struct plan *parent,
                        const struct plan *child, int64_t t, struct link_span *ret_spans)
{
	struct window_point at = { t, child_label(child, t) };
	size_t n = window_count(l->window);

	CHECK(n <= LINK_SPANS_MAX);
	if (window_form(l->window) == WF_LATEST) {
		ret_spans[0] = nth_before(parent, at, 0);
		return tidy(ret_spans, 1);
	}
	for (size_t i = 0; i < n; i++)
		ret_spans[i] = item_span(parent, l->window, i, child, t);
	return tidy(ret_spans, (int)n);
}

int link_spans_ever(const struct task_link *l, const struct plan *parent, const struct plan *child,
                    int64_t t, struct link_span ret_spans[LINK_SPANS_MAX])
{
	struct window_point at;

	t = time_clamp(t);
	at.instant = t;
	at.label = child_label(child, t);
	switch (l->kind) {
	case LK_SAME:
	case LK_LARGE:
		ret_spans[0] = same_cycle(parent, child, t);
		break;
	case LK_SMALL:
		ret_spans[0] = holding(parent, at);
		break;
	case LK_PREV:
		ret_spans[0] = nth_before(parent, at, l->prev);
		break;
	case LK_WINDOW:
		return window_spans(l, parent, child, t, ret_spans);
	}
	return tidy(ret_spans, 1);
}

int link_spans(const struct task_link *l, const struct plan *parent, const struct plan *child,
               int64_t t, struct link_span ret_spans[LINK_SPANS_MAX])
{
	int n = link_spans_ever(l, parent, child, t, ret_spans);

	for (int i = 0; i < n; i++)
		if (ret_spans[i].lo < parent->begin)
			ret_spans[i].lo = parent->begin;
	return tidy(ret_spans, n);
}

int link_spans_of_row(const struct task_link *l, const struct plan *parent,
                      const struct plan *child, int64_t t,
                      struct link_span ret_spans[LINK_SPANS_MAX])
{
	return t < child->begin ? link_spans_ever(l, parent, child, t, ret_spans)
	                        : link_spans(l, parent, child, t, ret_spans);
}

int32_t link_depend_type(const struct task_link *l)
{
	switch (l->kind) {
	case LK_SAME:
		return 1;
	case LK_LARGE:
		return 2;
	case LK_SMALL:
		return 3;
	case LK_PREV:
		return -l->prev;
	default:
		return 0;
	}
}

/* --- lead ------------------------------------------------------------------------------------ */

#define LEAD_YEARS   6   /* a leap year is among them */
#define LEAD_STRETCH 30  /* run_dates looked at around each turn of a month */
#define LEAD_STRIDE  100 /* further back is counted in strides of so many */
#define LEAD_NOTHING (-TIME_MAX)

static int64_t lead_at(const struct task_link *l, const struct plan *parent,
                       const struct plan *child, int64_t t)
{
	struct link_span spans[LINK_SPANS_MAX];
	int n = link_spans_ever(l, parent, child, t, spans);

	for (; n > 0; n--) {
		int64_t p = plan_prev(parent, spans[n - 1].hi);
		if (p != PLAN_BEFORE && p >= spans[n - 1].lo)
			return p - t;
	}
	return LEAD_NOTHING;
}

/* Where both plans have begun, and zones have the offsets of our time. */
static int64_t lead_from(const struct plan *parent, const struct plan *child)
{
	int64_t first = plan_next(child, INT64_MIN), other = plan_next(parent, INT64_MIN);
	int64_t from = first > 0 ? first : 0;

	if (other != PLAN_NEVER && other > from)
		from = other;
	return plan_next(child, from - 1) != PLAN_NEVER ? from : first;
}

/* Plans repeat themselves but for months of unequal length and changed clocks: looking at
 * each turn of a month and its middle, over six years, finds the largest. */
static int64_t lead_walked(const struct task_link *l, const struct plan *parent,
                           const struct plan *child)
{
	int64_t first = lead_from(parent, child), lead = LEAD_NOTHING;

	if (first == PLAN_NEVER)
		return lead;
	int64_t month = civil_month_index(floor_div(first, DAY_S));
	for (int64_t i = -1; i < LEAD_YEARS * 24; i++) {
		int64_t day = civil_month_first(month + floor_div(i, 2)) + (i & 1 ? 13 : -2);
		int64_t t = i < 0 ? first - 1 : day * DAY_S;
		for (int k = 0; k < LEAD_STRETCH; k++) {
			t = plan_next(child, t);
			if (t == PLAN_NEVER)
				break;
			int64_t here = lead_at(l, parent, child, t);
			lead = here > lead ? here : lead;
		}
	}
	return lead;
}

/* So far back in strides: what is walked over adds up to no less. */
int64_t link_lead(const struct task_link *l, const struct plan *parent, const struct plan *child)
{
	struct task_link stride = *l, rest = *l;

	if (l->kind != LK_PREV || l->prev <= LEAD_STRIDE)
		return lead_walked(l, parent, child);
	stride.prev = LEAD_STRIDE;
	rest.prev = l->prev % LEAD_STRIDE;
	int64_t lead = lead_walked(&stride, parent, child);
	if (lead == LEAD_NOTHING)
		return lead;
	lead *= l->prev / LEAD_STRIDE;
	return rest.prev ? lead + lead_walked(&rest, parent, child) : lead;
}
