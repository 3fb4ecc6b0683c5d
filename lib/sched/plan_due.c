/* When a run_date is due, and what the calendar says of it.
 *
 * A date is due at its own begin or at the end of its cycle, moved by the plan's offset, on the
 * local clock. A calendar tests the day of the date, or the day on which it is due; a day that is
 * not allowed drops the date, or, of cycles of a week and longer, moves it to the next or the
 * previous allowed day. due__fits() keeps arithmetic away from the ends of time: a plan whose dates
 * could overflow is refused when it is made, so that nothing here checks for it again. */
#include "sched/calendar.h"
#include "sched/civil.h"
#include "sched/plan_impl.h"
#include "sched/tz.h"
#include "util/check.h"
#include "util/err.h"

#define OFFSET_DAYS_MAX 3660
/* Further from the end of time than any due time of a cycle of few steps is from its date. */
#define EDGE_S    (INT64_C(146097) * DAY_S)
#define FEW_STEPS 100

static int check_range(const struct plan_offset *o, struct err *err)
{
	bool days_ok = o->days >= 0 && o->days <= OFFSET_DAYS_MAX;

	if (o->kind == OFF_MONTH_DAY)
		days_ok = o->days >= 1 && o->days <= 31;
	if (o->kind == OFF_WEEKDAY)
		days_ok = o->days >= 1 && o->days <= 7;
	if (o->seconds < 0 || o->days < 0)
		return err_set(err, E_INVALID, "the offset is negative");
	if (!days_ok || o->seconds > (int64_t)OFFSET_DAYS_MAX * DAY_S)
		return err_set(err, E_INVALID, "the offset is out of range (%d days at most)",
		               OFFSET_DAYS_MAX);
	return 0;
}

static int check_kind(const struct plan *p, struct err *err)
{
	bool cron = p->s.cron != NULL;

	switch (p->s.offset.kind) {
	case OFF_MONTH_DAY:
	case OFF_LAST_DAY:
		if (cron || (p->unit != CU_MONTH && p->unit != CU_YEAR))
			return err_set(err, E_INVALID,
			               "an offset to a day of the month needs a cycle of months "
			               "or years, this one is %s",
			               cron ? "cron" : unit_name(p->unit));
		return 0;
	case OFF_WEEKDAY:
		if (cron || p->unit != CU_WEEK)
			return err_set(err, E_INVALID,
			               "an offset to a weekday needs a cycle of weeks, "
			               "this one is %s",
			               cron ? "cron" : unit_name(p->unit));
		return 0;
	default:
		return 0;
	}
}

int due__normalise(struct plan *p, struct err *err)
{
	struct plan_offset *o = &p->s.offset;
	int r = check_kind(p, err);

	if (r == 0)
		r = check_range(o, err);
	if (r < 0)
		return r;
	if (o->kind != OFF_ELAPSED && o->kind != OFF_CLOCK)
		return 0;
	if (o->kind == OFF_CLOCK)
		o->seconds += (int64_t)o->days * DAY_S;
	o->kind = unit_is_long(p->unit) ? OFF_CLOCK : OFF_ELAPSED;
	o->days = 0; /* from here on all of it is in seconds */
	return 0;
}

static int64_t base_of(const struct plan *p, int64_t run_date)
{
	int64_t end;

	if (p->s.fire == FIRE_START || p->unit == CU_ONCE || p->unit == CU_NONE)
		return run_date;
	end = plan_period_end(p, run_date);
	return end;
}

/* Local clock time at which the offset points, counted from `base`. */
static int64_t due_label(const struct plan *p, int64_t base)
{
	struct cycle c = plan_cycle(p);
	const struct plan_offset *o = &p->s.offset;
	const struct tz *tz = p->s.tz;
	int64_t day = local_day(tz, base), first;
	int32_t length;

	switch (o->kind) {
	case OFF_MONTH_DAY:
		first = civil_month_first(civil_month_index(day));
		length = (int32_t)(civil_month_first(civil_month_index(day) + 1) - first);
		day = first + (o->days < length ? o->days : length) - 1;
		break;
	case OFF_LAST_DAY:
		day = cycle_next_day(&c, day) - 1;
		break;
	case OFF_WEEKDAY:
		day = civil_monday(day) + o->days - 1;
		break;
	default:
		if (p->s.cron) /* a fire has a time of day of its own */
			return local_label(tz, base) + o->seconds;
		break;
	}
	return day * DAY_S + o->seconds;
}

bool due__shifts(const struct plan *p)
{
	return p->s.calendar && p->unit >= CU_WEEK && p->unit <= CU_YEAR &&
	       (p->s.shift == SHIFT_NEXT || p->s.shift == SHIFT_PREVIOUS);
}

/* Due, before any shift. */
static int64_t plain_due(const struct plan *p, int64_t base)
{
	if (p->s.offset.kind == OFF_ELAPSED)
		return base + p->s.offset.seconds;
	return tz_first(p->s.tz, due_label(p, base));
}

int64_t due__tested_day(const struct plan *p, int64_t run_date)
{
	int64_t base;

	if (!p->s.calendar_on_due)
		return local_day(p->s.tz, run_date);
	base = base_of(p, run_date);
	if (base == PLAN_NEVER)
		base = run_date;
	return local_day(p->s.tz, plain_due(p, base));
}

static int64_t shifted_day(const struct plan *p, int64_t day)
{
	CHECK(due__shifts(p));
	return p->s.shift == SHIFT_NEXT ? calendar_next(p->s.calendar, day)
	                                : calendar_prev(p->s.calendar, day);
}

bool due__allowed(const struct plan *p, int64_t run_date)
{
	int64_t day;

	if (!p->s.calendar)
		return true;
	day = due__tested_day(p, run_date);
	if (due__shifts(p)) {
		day = shifted_day(p, day);
		return day != CALENDAR_NEVER && day != CALENDAR_BEFORE;
	}
	return calendar_allows(p->s.calendar, day);
}

static int64_t own_due(const struct plan *p, int64_t run_date)
{
	int64_t base, from, to;

	base = base_of(p, time_clamp(run_date));
	if (base == PLAN_NEVER)
		return PLAN_NEVER;
	if (!due__shifts(p))
		return plain_due(p, base);
	from = due__tested_day(p, run_date);
	to = shifted_day(p, from);
	if (to == CALENDAR_NEVER || to == CALENDAR_BEFORE)
		return PLAN_NEVER;
	return tz_first(p->s.tz, due_label(p, base) + (to - from) * DAY_S);
}

int64_t plan_due(const struct plan *p, int64_t run_date)
{
	if (p->past && run_date < p->past->since)
		return plan_due(p->past->plan, run_date);
	return own_due(p, run_date);
}

bool due__fits(const struct plan *p, int64_t run_date)
{
	bool may_end = p->s.cron && p->s.fire == FIRE_END; /* its last fire has no period */

	if (!may_end && run_date < TIME_MAX - EDGE_S && p->s.step <= FEW_STEPS)
		return true;
	return own_due(p, run_date) <= TIME_MAX;
}

int64_t due__fits_until(const struct plan *p)
{
	const struct plan_offset *o = &p->s.offset;

	return TIME_MAX - o->seconds + (o->kind == OFF_ELAPSED ? 1 : 2 * DAY_S);
}
