/* Two cycles against each other: which is longer, and do their boundaries agree? */
#include "sched/cycle.h"
#include "sched/plan_impl.h"
#include "sched/workflow_impl.h"
#include "util/check.h"

enum { SAMPLES = 400 };

/* Seconds, for comparison only. */
static int64_t length_of(const struct cycle *c)
{
	static const int64_t seconds[] = {
		[CU_MINUTE] = 60,      [CU_HOUR] = 3600,     [CU_DAY] = DAY_S,
		[CU_WEEK] = 7 * DAY_S, [CU_MONTH] = 2629746, [CU_YEAR] = 12 * 2629746
	};

	CHECK(c->unit >= CU_MINUTE && c->unit <= CU_YEAR);
	return seconds[c->unit] * c->step;
}

int wf__cycles_compare(const struct plan *a, const struct plan *b)
{
	struct cycle of_a = plan_cycle(a), of_b = plan_cycle(b);
	int64_t x = length_of(&of_a), y = length_of(&of_b);

	return (x > y) - (x < y);
}

static bool is_boundary(const struct cycle *c, const struct cycle *of, int64_t t)
{
	/* Two units of a day and longer go by dates, each in its own zone. */
	if (unit_is_long(c->unit) && unit_is_long(of->unit)) {
		int64_t day = local_day(of->tz, t);
		return cycle_floor_day(c, day) == day;
	}
	return cycle_floor(c, t) == t;
}

bool wf__cycles_nest(const struct plan *longer, const struct plan *shorter)
{
	struct cycle of_longer = plan_cycle(longer), of_shorter = plan_cycle(shorter);
	const struct cycle *l = &of_longer, *s = &of_shorter;
	bool weeks = s->unit == CU_WEEK && l->unit > CU_WEEK;

	if (weeks)
		return false;
	if (s->step == 1 && s->unit <= l->unit && (l->tz == s->tz || unit_is_long(s->unit)))
		return true;
	int64_t from = longer->s.anchor > shorter->s.anchor ? longer->s.anchor : shorter->s.anchor;
	int64_t t = cycle_next(l, time_clamp(from));
	for (int i = 0; i < SAMPLES && t < TIME_MAX; i++, t = cycle_next(l, t))
		if (!is_boundary(s, l, t))
			return false;
	return true;
}
