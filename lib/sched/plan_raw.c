/* The dates of a plan's cycle or cron alone. plan.c asks here and leaves out what calendar, start
 * and end deny. A period goes from one such date to the next, also where the calendar denies it: a
 * calendar stretches no period. Only plan_period_end() asks the versions before this one. */
#include "sched/cron.h"
#include "sched/plan_impl.h"
#include "util/check.h"

int64_t raw__next(const struct plan *p, int64_t t)
{
	struct cycle c = plan_cycle(p);
	if (p->s.cron)
		return cron_next(p->s.cron, p->s.tz, t);
	if (p->has_cycle)
		return cycle_next(&c, t);
	return p->unit == CU_ONCE && t < p->s.start ? p->s.start : PLAN_NEVER;
}

int64_t raw__prev(const struct plan *p, int64_t t)
{
	struct cycle c = plan_cycle(p);
	if (p->s.cron)
		return cron_prev(p->s.cron, p->s.tz, t);
	if (p->has_cycle)
		return cycle_floor(&c, t - 1);
	return p->unit == CU_ONCE ? p->s.start : PLAN_BEFORE; /* t is behind the start */
}

bool raw__has(const struct plan *p, int64_t t)
{
	struct cycle c = plan_cycle(p);
	if (p->has_cycle && !p->s.cron)
		return cycle_floor(&c, t) == t;
	return raw__next(p, t - 1) == t;
}

int64_t plan_period_end(const struct plan *p, int64_t run_date)
{
	int64_t end;

	if (p->past && run_date < p->past->since)
		return plan_period_end(p->past->plan, run_date);
	run_date = time_clamp(run_date);
	if (!p->s.cron && !p->has_cycle)
		return PLAN_NEVER;
	end = raw__next(p, run_date);
	CHECK(end > run_date);
	return end > TIME_MAX ? PLAN_NEVER : end;
}
