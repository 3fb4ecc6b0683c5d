/* How the run_dates of a task ended, as ranges: ascending, without overlaps, from the first date
 * to the last, both included. Two ranges that say the same are joined when the plan has no date
 * between them; to change one date cuts a range in two. What lies in no range has not ended. The
 * plan decides what is next to what, so that it must be the one the dates are of. */
#include "sched/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "sched/plan.h"
#include "util/alloc.h"
#include "util/check.h"

void outcomes_init(struct outcomes *o)
{
	*o = (struct outcomes){ 0 };
}

void outcomes_done(struct outcomes *o)
{
	free(o->ranges);
	outcomes_init(o);
}

size_t outcomes_from(const struct outcomes *o, int64_t run_date)
{
	size_t lo = 0, hi = o->len;

	/* Finishing in order is the common case: look at the end first. */
	if (o->len && o->ranges[o->len - 1].hi < run_date)
		return o->len;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (o->ranges[mid].hi < run_date)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct outcome_range *outcomes_find(const struct outcomes *o, int64_t run_date)
{
	size_t at = outcomes_from(o, run_date);

	return at < o->len && o->ranges[at].lo <= run_date ? &o->ranges[at] : NULL;
}

static void insert_at(struct outcomes *o, size_t at, struct outcome_range r)
{
	CHECK(at <= o->len);
	CHECK(r.lo <= r.hi);
	o->ranges = mem_room(o->ranges, &o->cap, o->len + 1, sizeof *o->ranges);
	memmove(o->ranges + at + 1, o->ranges + at, (o->len - at) * sizeof *o->ranges);
	o->ranges[at] = r;
	o->len++;
}

static void remove_at(struct outcomes *o, size_t at)
{
	CHECK(at < o->len);
	o->len--;
	memmove(o->ranges + at, o->ranges + at + 1, (o->len - at) * sizeof *o->ranges);
}

static bool outcome_same(const struct outcome_range *a, const struct outcome_range *b)
{
	return a->generation == b->generation && a->state == b->state && a->reason == b->reason;
}

/* Join range `at` with the one after it if the plan has nothing between. What is off the plan
 * stays by itself: a range that it begins would be cut where the plan has nothing before. */
static void join_next(struct outcomes *o, const struct plan *plan, size_t at)
{
	if (!plan || at + 1 >= o->len)
		return;
	struct outcome_range *a = &o->ranges[at], *b = a + 1;
	if (!outcome_same(a, b) || plan_next(plan, a->hi) != b->lo || !plan_has(plan, a->hi))
		return;
	a->hi = b->hi;
	remove_at(o, at + 1);
}

/* What is left of a range on both sides of a date. Its ends have ended, planned or not: a range
 * that an older server saved may begin off the plan. */
static int64_t left_end(const struct outcome_range *r, const struct plan *plan, int64_t run_date)
{
	int64_t t = plan_prev(plan, run_date);

	return t > r->lo ? t : r->lo;
}

static int64_t right_end(const struct outcome_range *r, const struct plan *plan, int64_t run_date)
{
	int64_t t = plan_next(plan, run_date);

	return t < r->hi ? t : r->hi;
}

bool outcomes_clear(struct outcomes *o, const struct plan *plan, int64_t run_date)
{
	size_t at = outcomes_from(o, run_date);

	if (at >= o->len || o->ranges[at].lo > run_date)
		return false;
	struct outcome_range *r = &o->ranges[at];
	if (r->lo == r->hi) {
		remove_at(o, at);
	} else if (run_date == r->lo) {
		r->lo = right_end(r, plan, run_date);
	} else if (run_date == r->hi) {
		r->hi = left_end(r, plan, run_date);
	} else {
		struct outcome_range right = *r;
		right.lo = right_end(r, plan, run_date);
		r->hi = left_end(r, plan, run_date);
		insert_at(o, at + 1, right);
	}
	return true;
}

void outcomes_set(struct outcomes *o, const struct plan *plan, int64_t run_date,
                  uint32_t generation, uint8_t state, uint8_t reason)
{
	struct outcome_range r = { run_date, run_date, generation, state, reason, { 0 } };
	size_t at = outcomes_from(o, run_date);

	if (at < o->len && o->ranges[at].lo <= run_date) {
		if (outcome_same(&o->ranges[at], &r))
			return;
		outcomes_clear(o, plan, run_date);
		at = outcomes_from(o, run_date);
	}
	insert_at(o, at, r);
	join_next(o, plan, at);
	if (at > 0)
		join_next(o, plan, at - 1);
}

bool outcomes_put(struct outcomes *o, const struct outcome_range *r)
{
	size_t at = outcomes_from(o, r->lo);

	if (r->lo > r->hi || (at < o->len && o->ranges[at].lo <= r->hi))
		return false;
	insert_at(o, at, *r);
	return true;
}

/* [lo, hi] has no outcome yet: its planned dates get one. */
static void fill_gap(struct outcomes *o, const struct plan *plan, struct outcome_range r)
{
	if (!plan_has(plan, r.lo))
		r.lo = plan_next(plan, r.lo);
	if (!plan_has(plan, r.hi))
		r.hi = plan_prev(plan, r.hi);
	if (r.lo > r.hi)
		return;
	size_t at = outcomes_from(o, r.lo);
	insert_at(o, at, r);
	join_next(o, plan, at);
	if (at > 0)
		join_next(o, plan, at - 1);
}

void outcomes_fill(struct outcomes *o, const struct plan *plan, const struct outcome_range *r,
                   const int64_t *open, size_t n)
{
	struct outcome_range gap = *r;

	for (size_t k = 0; gap.lo <= r->hi; gap.lo = gap.hi + 1) {
		size_t i = outcomes_from(o, gap.lo);
		int64_t next = i < o->len ? o->ranges[i].lo : INT64_MAX;
		while (k < n && open[k] < gap.lo)
			k++;
		if (next <= gap.lo) {
			gap.hi = o->ranges[i].hi;
		} else if (k < n && open[k] == gap.lo) {
			gap.hi = gap.lo;
		} else {
			gap.hi = next <= r->hi ? next - 1 : r->hi;
			if (k < n && open[k] <= gap.hi)
				gap.hi = open[k] - 1;
			fill_gap(o, plan, gap);
		}
	}
}

static bool has_new_date(const struct outcome_range *r, const struct plan *was,
                         const struct plan *is)
{
	for (int64_t t = plan_next(is, r->lo); t < r->hi; t = plan_next(is, t))
		if (!plan_has(was, t))
			return true;
	return false;
}

bool outcomes_replan(struct outcomes *o, const struct plan *was, const struct plan *is,
                     int64_t since)
{
	bool changed = false;

	for (size_t i = outcomes_from(o, since); i < o->len; i++) {
		struct outcome_range r = o->ranges[i];
		if (!has_new_date(&r, was, is))
			continue;
		changed = true;
		remove_at(o, i);
		for (int64_t t = r.lo; t <= r.hi; t = plan_next(was, t))
			outcomes_set(o, is, t, r.generation, r.state, r.reason);
		i = outcomes_from(o, r.hi);
	}
	return changed;
}
