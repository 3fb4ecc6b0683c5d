/* Shared by the tests of plans, links and macros: plans in one line, instants as text. */
#ifndef TESTS_UNIT_TEST_TIME_H
#define TESTS_UNIT_TEST_TIME_H

#include <stdio.h>

#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/plan.h"
#include "sched/tz.h"
#include "util/err.h"

static inline const struct tz *zone(const char *name)
{
	const struct tz *tz = NULL;

	assert_int_equal(zones_get(name, &tz, NULL), 0);
	return tz;
}

/* Clock time as a label: "2026-03-29 02:30" */
static inline int64_t label(const char *text)
{
	int y, mo, d, h = 0, mi = 0, s = 0;

	assert_true(sscanf(text, "%d-%d-%d %d:%d:%d", &y, &mo, &d, &h, &mi, &s) >= 3);
	return civil_to_day(y, mo, d) * DAY_S + h * 3600 + mi * 60 + s;
}

/* The same in a zone: the first such instant. */
static inline int64_t local(const char *tz, const char *text)
{
	return tz_first(zone(tz), label(text));
}

static inline struct schedule every(int step, enum cycle_unit unit, const char *tz)
{
	return (struct schedule){ .unit = unit,
		                  .step = step,
		                  .tz = zone(tz),
		                  .start = TIME_MIN,
		                  .end = PLAN_NEVER,
		                  .anchor = local(tz, "2026-01-01") };
}

static inline struct plan *plan_of(struct schedule s)
{
	struct plan *p = NULL;
	struct err err = { 0 };

	if (plan_new(&s, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

#endif
