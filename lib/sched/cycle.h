/* cycle.h — the boundaries of unit x step in a zone. Internal to lib/sched.
 *
 * Two families. Minutes and hours follow elapsed time from the local midnight, or, where
 * the step does not divide the day, from the unit that holds the anchor. Days and longer
 * follow local dates: a boundary is the first instant of its first local day.
 */
#ifndef SCHED_CYCLE_H
#define SCHED_CYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/civil.h"
#include "sched/plan.h"

struct cycle {
	const struct tz *tz;
	enum cycle_unit unit; /* CU_MINUTE..CU_YEAR */
	int32_t step;
	int64_t step_s; /* minute, hour: length in seconds */
	bool aligned;   /* minute, hour: starts again at each local midnight */
	int64_t base;   /* minute, hour unaligned: an instant; day..year: number of a unit */
};

/* `step` >= 1; `anchor` within TIME_MIN..TIME_MAX. */
struct cycle cycle_make(const struct tz *tz, enum cycle_unit unit, int32_t step, int64_t anchor);

/* CU_DAY .. CU_YEAR */
static inline bool unit_is_long(enum cycle_unit unit)
{
	return unit >= CU_DAY && unit <= CU_YEAR;
}

int64_t cycle_floor(const struct cycle *c, int64_t t); /* last boundary <= t */
int64_t cycle_next(const struct cycle *c, int64_t t);  /* first boundary > t */

/* Long cycles, on dates: first day of the period that holds `day`, and of the one after. */
int64_t cycle_floor_day(const struct cycle *c, int64_t day);
int64_t cycle_next_day(const struct cycle *c, int64_t day);

/* The local date that `t` belongs to. Where a clock is set back over midnight, the rest of
 * the old date belongs to the new one, which has begun. */
int64_t local_day(const struct tz *tz, int64_t t);
/* Its label; not before the date it belongs to. */
int64_t local_label(const struct tz *tz, int64_t t);

static inline int64_t label_day(int64_t label)
{
	return floor_div(label, DAY_S);
}

#endif
