/* The boundaries of unit x step. Days and longer are counted as numbers of their unit on the local
 * calendar, so that every n-th is arithmetic; minutes and hours follow elapsed time, from each
 * local midnight where the step divides the day, else from the anchor's unit. Local dates come
 * from tz_first() and tz_reached(), which undo each other: there are no cases for clock changes
 * here. */
#include "sched/cycle.h"

#include "sched/civil.h"
#include "sched/tz.h"
#include "util/check.h"

int64_t local_day(const struct tz *tz, int64_t t)
{
	return floor_div(tz_reached(tz, t), DAY_S);
}

int64_t local_label(const struct tz *tz, int64_t t)
{
	int64_t label = tz_to_label(tz, t);
	int64_t midnight = local_day(tz, t) * DAY_S;

	return label > midnight ? label : midnight;
}

/* Days, weeks, months and years as plain numbers, so that every n-th is arithmetic. */
static int64_t number_of(enum cycle_unit unit, int64_t day)
{
	switch (unit) {
	case CU_WEEK:
		return floor_div(day + 3, 7);
	case CU_MONTH:
		return civil_month_index(day);
	case CU_YEAR:
		return civil_of_day(day).year;
	default:
		return day;
	}
}

static int64_t first_day_of(enum cycle_unit unit, int64_t number)
{
	switch (unit) {
	case CU_WEEK:
		return number * 7 - 3;
	case CU_MONTH:
		return civil_month_first(number);
	case CU_YEAR:
		return civil_to_day(number, 1, 1);
	default:
		return number;
	}
}

struct cycle cycle_make(const struct tz *tz, enum cycle_unit unit, int32_t step, int64_t anchor)
{
	struct cycle c = { .tz = tz, .unit = unit, .step = step };

	CHECK(unit >= CU_MINUTE && unit <= CU_YEAR && step >= 1);
	if (unit_is_long(unit)) {
		c.base = step == 1 ? 0 : number_of(unit, local_day(tz, anchor));
		return c;
	}
	c.step_s = (int64_t)step * (unit == CU_HOUR ? 3600 : 60);
	c.aligned = DAY_S % c.step_s == 0;
	if (!c.aligned)
		c.base = unit_floor(tz, unit, anchor);
	return c;
}

static int64_t floor_number(const struct cycle *c, int64_t day)
{
	int64_t n = number_of(c->unit, day);

	CHECK(unit_is_long(c->unit) && c->step >= 1);
	return c->step == 1 ? n : c->base + floor_div(n - c->base, c->step) * c->step;
}

int64_t cycle_floor_day(const struct cycle *c, int64_t day)
{
	return first_day_of(c->unit, floor_number(c, day));
}

int64_t cycle_next_day(const struct cycle *c, int64_t day)
{
	return first_day_of(c->unit, floor_number(c, day) + c->step);
}

/* Total because tz_reached() and tz_first() undo each other: a period whose days the zone
 * left out is never the one that t belongs to. */
int64_t cycle_floor(const struct cycle *c, int64_t t)
{
	CHECK(c->unit >= CU_MINUTE && c->unit <= CU_YEAR);
	if (!unit_is_long(c->unit) && !c->aligned)
		return c->base + floor_div(t - c->base, c->step_s) * c->step_s;
	int64_t day = local_day(c->tz, t);
	if (unit_is_long(c->unit))
		return tz_first(c->tz, cycle_floor_day(c, day) * DAY_S);
	int64_t midnight = tz_first(c->tz, day * DAY_S);
	return midnight + (t - midnight) / c->step_s * c->step_s;
}

int64_t cycle_next(const struct cycle *c, int64_t t)
{
	CHECK(c->unit >= CU_MINUTE && c->unit <= CU_YEAR);
	if (!unit_is_long(c->unit) && !c->aligned)
		return cycle_floor(c, t) + c->step_s;
	int64_t day = local_day(c->tz, t);
	if (unit_is_long(c->unit))
		return tz_first(c->tz, cycle_next_day(c, day) * DAY_S);
	int64_t midnight = tz_first(c->tz, day * DAY_S);
	int64_t next = midnight + ((t - midnight) / c->step_s + 1) * c->step_s;
	int64_t tomorrow = tz_first(c->tz, (day + 1) * DAY_S);
	return next < tomorrow ? next : tomorrow;
}

int64_t unit_floor(const struct tz *tz, enum cycle_unit unit, int64_t t)
{
	struct cycle c = cycle_make(tz, unit, 1, TIME_MIN);

	return cycle_floor(&c, time_clamp(t));
}

int64_t unit_next(const struct tz *tz, enum cycle_unit unit, int64_t t)
{
	struct cycle c = cycle_make(tz, unit, 1, TIME_MIN);

	return cycle_next(&c, time_clamp(t));
}

const char *unit_name(enum cycle_unit unit)
{
	static const char *const names[] = {
		[CU_NONE] = "none", [CU_MINUTE] = "minute", [CU_HOUR] = "hour",
		[CU_DAY] = "day",   [CU_WEEK] = "week",     [CU_MONTH] = "month",
		[CU_YEAR] = "year", [CU_ONCE] = "once",     [CU_FIRE] = "fire",
	};

	CHECK((size_t)unit < sizeof names / sizeof names[0]);
	return names[unit];
}
