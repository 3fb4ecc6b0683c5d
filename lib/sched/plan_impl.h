/* plan_impl.h — inside of a plan. For plan*.c and link.c only. */
#ifndef SCHED_PLAN_IMPL_H
#define SCHED_PLAN_IMPL_H

#include "sched/cycle.h"
#include "sched/plan.h"

/* What a plan was before an edit. Owns all of it. */
struct plan_past {
	int64_t since;   /* the first instant of the version after it */
	uint32_t serial; /* how many edits there were */
	bool was_off;    /* offline between what had come due and `since` */
	struct plan *plan;
	struct cron *cron;
	struct calendar *calendar;
};

struct plan {
	struct schedule s;    /* start and end within TIME_MIN..TIME_MAX; offset normal */
	enum cycle_unit unit; /* a cron's: declared or judged */
	bool has_cycle;       /* of minute..year; of a cron: one unit, as links count it */
	bool aligned;         /* its cycle's; plan_cycle() makes the rest up */
	int64_t base;
	int64_t begin;          /* for links: dates before it are not planned; INT64_MIN: none is */
	struct plan_past *past; /* before its `since` that plan counts; NULL: always this one */
};

static inline struct cycle plan_cycle(const struct plan *p)
{
	int64_t unit_s = p->unit == CU_HOUR ? 3600 : 60; /* of long ones it does not count */

	return (struct cycle){ .tz = p->s.tz,
		               .unit = p->unit,
		               .step = p->s.step,
		               .step_s = unit_s * p->s.step,
		               .aligned = p->aligned,
		               .base = p->base };
}

void plan__past_free(struct plan_past *past); /* NULL is fine */

/* plan_raw.c: the dates before calendar, start and end. */
int64_t raw__next(const struct plan *p, int64_t t); /* PLAN_NEVER: none follows t */
int64_t raw__prev(const struct plan *p, int64_t t); /* t is behind the start */
bool raw__has(const struct plan *p, int64_t t);

/* Check the offset against the unit, and make it the kind the unit has. */
int due__normalise(struct plan *p, struct err *err);

/* The calendar's word on a run_date. */
bool due__allowed(const struct plan *p, int64_t run_date);
/* Is it due before the end of time (year 9999)? What is not has no due time: it is no date of the
 * plan, nor is any date after it. */
bool due__fits(const struct plan *p, int64_t run_date);
/* None that begins at this instant or later fits. */
int64_t due__fits_until(const struct plan *p);
/* The local date that the calendar tests. */
int64_t due__tested_day(const struct plan *p, int64_t run_date);
/* Does the calendar move due times instead of dropping run_dates? */
bool due__shifts(const struct plan *p);

#endif
