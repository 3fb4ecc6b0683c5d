/* The run_dates of a task: the dates of its cycle or cron (plan_raw.c), within start and end, that
 * the calendar allows and that are due before the end of time (plan_due.c). An edit leaves the
 * plan before it behind (`past`): what is earlier than `since` is asked of that one.
 *
 * Every question is answered for every instant, and plan_next(t) is later than t. A search gives
 * up after 400 years, when the Gregorian calendar has repeated itself. A plan is immutable once
 * others have it. */
#include "sched/plan.h"

#include <stdlib.h>

#include "sched/calendar.h"
#include "sched/civil.h"
#include "sched/cron.h"
#include "sched/plan_impl.h"
#include "sched/tz.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

#define STEP_MAX 100000
/* A calendar may leave nothing of a cycle. The Gregorian calendar repeats in 400 years:
 * what did not happen in them is taken as never. */
#define LOOK_S (INT64_C(146097) * DAY_S)

static int check_schedule(const struct schedule *s, struct err *err)
{
	if (s->cron && (s->unit == CU_ONCE || s->unit > CU_FIRE))
		return err_set(err, E_INVALID, "a cron has a unit of minute to year");
	if (!s->cron && s->unit >= CU_FIRE)
		return err_set(err, E_INVALID, "the unit fire needs a cron");
	if (!s->cron && (s->step < 1 || s->step > STEP_MAX))
		return err_set(err, E_INVALID, "a step of %d; it is 1 to %d", s->step, STEP_MAX);
	if (s->start > s->end)
		return err_set(err, E_INVALID, "the end is before the start");
	if (s->start > TIME_MAX || s->end < TIME_MIN)
		return err_set(err, E_INVALID, "start and end are outside the years 1 to 9999");
	return 0;
}

static void set_cycle(struct plan *p, struct cycle c)
{
	CHECK(p->has_cycle);
	p->aligned = c.aligned;
	p->base = c.base;
}

int plan_new(const struct schedule *s, struct plan **ret_plan, struct err *err)
{
	struct plan *p;
	int r = check_schedule(s, err);

	if (r < 0)
		return r;
	p = mem_new(sizeof *p);
	p->s = *s;
	p->begin = INT64_MIN;
	p->s.start = time_clamp(s->start);
	p->s.end = time_clamp(s->end);
	if (s->cron)
		p->s.step = 1;
	p->unit = s->cron && s->unit == CU_NONE ? cron_unit(s->cron) : s->unit;
	p->has_cycle = p->unit >= CU_MINUTE && p->unit <= CU_YEAR;
	if (p->has_cycle)
		set_cycle(p, cycle_make(s->tz, p->unit, p->s.step, time_clamp(s->anchor)));
	r = due__normalise(p, err);
	if (r < 0) {
		plan_free(p);
		return r;
	}
	*ret_plan = p;
	return 0;
}

void plan__past_free(struct plan_past *past)
{
	if (!past)
		return;
	plan_free(past->plan);
	cron_free(past->cron);
	calendar_free(past->calendar);
	free(past);
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	plan__past_free(p->past);
	free(p);
}

enum cycle_unit plan_unit(const struct plan *p)
{
	return p->unit;
}

int32_t plan_step(const struct plan *p)
{
	return p->s.step;
}

const struct tz *plan_tz(const struct plan *p)
{
	return p->s.tz;
}

const struct schedule *plan_schedule(const struct plan *p)
{
	return &p->s;
}

int64_t plan_begin(const struct plan *p)
{
	return p->begin;
}

int64_t plan_first(const struct plan *p)
{
	return plan_next(p, p->begin > INT64_MIN ? p->begin - 1 : INT64_MIN);
}

void plan_begin_at(struct plan *p, int64_t begin)
{
	p->begin = begin;
}

/* --- the calendar ------------------------------------------------------------------------ */

/* How far the tested date of one run_date may run ahead of, or lag behind, what the same
 * distance gives for another: clipped months, clocks set back, uneven periods. */
static int64_t slack_s(const struct plan *p, int64_t t)
{
	int64_t end = plan_period_end(p, t);
	int64_t length = end == PLAN_NEVER ? LOOK_S : end - t;

	return 2 * length + (unit_is_long(p->unit) ? 40 : 2) * DAY_S;
}

/* `t` is denied: an instant from which to look for the next, having left out only denied
 * ones. PLAN_NEVER: none follows. */
static int64_t skip_forward(const struct plan *p, int64_t t)
{
	int64_t to, at;

	CHECK(p->s.calendar);
	if (due__shifts(p))
		return t;
	to = calendar_next(p->s.calendar, due__tested_day(p, t));
	if (to == CALENDAR_NEVER)
		return PLAN_NEVER;
	at = tz_first(p->s.tz, to * DAY_S) - 1;
	if (p->s.calendar_on_due)
		at -= plan_due(p, t) == PLAN_NEVER ? LOOK_S : plan_due(p, t) - t + slack_s(p, t);
	return at > t ? at : t;
}

static int64_t skip_back(const struct plan *p, int64_t t)
{
	int64_t to, at;

	CHECK(p->s.calendar);
	if (due__shifts(p))
		return t;
	to = calendar_prev(p->s.calendar, due__tested_day(p, t));
	if (to == CALENDAR_BEFORE)
		return PLAN_BEFORE;
	at = tz_first(p->s.tz, (to + 1) * DAY_S);
	if (p->s.calendar_on_due)
		at += plan_due(p, t) == PLAN_NEVER ? LOOK_S : slack_s(p, t) - (plan_due(p, t) - t);
	return at < t ? at : t;
}

/* --- the plan ------------------------------------------------------------------------------ */

bool plan_has(const struct plan *p, int64_t t)
{
	if (p->past && t < p->past->since)
		return plan_has(p->past->plan, t);
	return t >= p->s.start && t <= p->s.end && raw__has(p, t) && due__allowed(p, t) &&
	       due__fits(p, t);
}

static int64_t own_next(const struct plan *p, int64_t t)
{
	int64_t limit;

	if (t >= p->s.end)
		return PLAN_NEVER;
	if (t < p->s.start - 1)
		t = p->s.start - 1;
	limit = t + LOOK_S;
	while (t < p->s.end && t < limit) {
		int64_t next = raw__next(p, t);
		CHECK(next > t);
		t = next;
		if (t > p->s.end)
			break;
		if (due__allowed(p, t))
			return due__fits(p, t) ? t : PLAN_NEVER;
		t = skip_forward(p, t);
	}
	return PLAN_NEVER;
}

int64_t plan_next(const struct plan *p, int64_t t)
{
	if (p->past && t < p->past->since - 1) {
		int64_t next = plan_next(p->past->plan, t);
		if (next < p->past->since)
			return next;
		t = p->past->since - 1;
	}
	return own_next(p, t);
}

int64_t plan_next_bare(const struct plan *p, int64_t t)
{
	if (p->past && t < p->past->since - 1) {
		int64_t next = plan_next_bare(p->past->plan, t);
		if (next < p->past->since)
			return next;
		t = p->past->since - 1;
	}
	t = raw__next(p, time_clamp(t));
	return t > TIME_MAX ? PLAN_NEVER : t;
}

/* From one that has no due time over those whose time is known to be past the end. */
static int64_t unfit_back(const struct plan *p, int64_t t)
{
	int64_t until = due__fits_until(p);

	return until < t ? until : t;
}

static int64_t own_prev(const struct plan *p, int64_t t)
{
	int64_t limit;

	if (t <= p->s.start)
		return PLAN_BEFORE;
	if (t > p->s.end)
		t = p->s.end + 1;
	limit = t - LOOK_S;
	while (t > p->s.start && t > limit) {
		int64_t prev = raw__prev(p, t);
		CHECK(prev < t);
		t = prev;
		if (t < p->s.start)
			break;
		bool fits = due__fits(p, t);
		if (fits && due__allowed(p, t))
			return t;
		t = fits ? skip_back(p, t) : unfit_back(p, t);
		limit = fits ? limit : t - LOOK_S;
	}
	return PLAN_BEFORE;
}

int64_t plan_prev(const struct plan *p, int64_t t)
{
	int64_t prev;

	if (!p->past)
		return own_prev(p, t);
	if (t > p->past->since) {
		prev = own_prev(p, t);
		if (prev >= p->past->since)
			return prev;
		t = p->past->since;
	}
	return plan_prev(p->past->plan, t);
}

int64_t plan_count(const struct plan *p, int64_t lo, int64_t hi, int64_t max)
{
	int64_t n = 0, t;

	CHECK(max >= 0);
	if (lo == INT64_MIN)
		lo++;
	for (t = plan_next(p, lo - 1); t < hi && n < max; t = plan_next(p, t))
		n++;
	return n;
}
