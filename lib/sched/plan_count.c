/* How many dates there are, without a walk over them. */
#include "sched/civil.h"
#include "sched/cron.h"
#include "sched/plan_impl.h"
#include "sched/tz.h"
#include "util/check.h"

struct day {
	int64_t first, next; /* instants: it is [first, next) */
};

static struct day day_at(const struct tz *tz, int64_t day)
{
	return (struct day){ tz_first(tz, day * DAY_S), tz_first(tz, (day + 1) * DAY_S) };
}

/* 24 hours, at one offset then: what fires on it fires on each like it. */
static bool is_plain(const struct day *d)
{
	return d->next - d->first == DAY_S;
}

static int64_t count_walk(const struct plan *p, int64_t lo, int64_t hi)
{
	int64_t n = 0;

	for (int64_t t = plan_next(p, lo - 1); t <= hi; t = plan_next(p, t))
		n++;
	return n;
}

/* Minutes and hours that begin again at the local midnight, and crons: of these a plain day has
 * none, or as many as any other plain day that has some. So with a calendar that takes or leaves
 * whole days of them. */
static bool days_are_alike(const struct plan *p)
{
	if (p->s.calendar && (p->s.calendar_on_due || due__shifts(p)))
		return false;
	return p->s.cron || p->aligned;
}

static int64_t by_day(const struct plan *p, int64_t lo, int64_t hi)
{
	const struct tz *tz = p->s.tz;
	int64_t n = 0, of_plain = -1;

	for (int64_t at = plan_next(p, lo - 1); at <= hi;) {
		struct day d = day_at(tz, local_day(tz, at));
		int64_t last = d.next - 1 < hi ? d.next - 1 : hi;
		bool whole = lo <= d.first && last == d.next - 1 && is_plain(&d);
		if (!whole) {
			n += count_walk(p, at, last);
		} else {
			if (of_plain < 0)
				of_plain = count_walk(p, d.first, last);
			n += of_plain;
		}
		CHECK(d.first <= at && at < d.next);
		at = plan_next(p, last);
	}
	return n;
}

int64_t plan_count_all(const struct plan *p, int64_t lo, int64_t hi)
{
	struct cycle c = plan_cycle(p);
	int64_t n = 0;

	if (p->past && lo < p->past->since) {
		int64_t until = hi < p->past->since ? hi : p->past->since - 1;
		n = plan_count_all(p->past->plan, lo, until);
		lo = p->past->since;
	}
	lo = lo > p->s.start ? lo : p->s.start;
	hi = hi < p->s.end ? hi : p->s.end;
	if (lo <= hi && !due__fits(p, hi))
		hi = plan_prev(p, hi);
	if (lo > hi)
		return n;
	if (days_are_alike(p))
		return n + by_day(p, lo, hi);
	bool is_elapsed = !p->s.cron && p->has_cycle && !unit_is_long(p->unit);
	if (p->s.calendar || !is_elapsed)
		return n + count_walk(p, lo, hi);
	return n + floor_div(hi - c.base, c.step_s) - floor_div(lo - 1 - c.base, c.step_s);
}

/* Of a long one, the shortest. */
static double period_s(const struct plan *p)
{
	static const double days[] = {
		[CU_DAY] = 1, [CU_WEEK] = 7, [CU_MONTH] = 28, [CU_YEAR] = 365
	};

	int64_t fires = p->s.cron ? cron_yearly(p->s.cron) : 0;

	if (fires > 0)
		return 366.0 * DAY_S / (double)fires;
	if (p->s.cron || p->unit == CU_NONE || p->unit == CU_ONCE)
		return 1e18;
	if (!unit_is_long(p->unit))
		return (double)plan_cycle(p).step_s;
	return days[p->unit] * (double)DAY_S * p->s.step;
}

int64_t plan_about(const struct plan *p, int64_t lo, int64_t hi)
{
	lo = lo > p->s.start ? lo : p->s.start;
	hi = hi <= p->s.end ? hi : p->s.end + 1;
	if (lo >= hi || p->unit == CU_NONE)
		return 0;
	double n = (double)(hi - lo) / period_s(p);
	return n < 1 ? 1 : n > 1e15 ? (int64_t)1e15 : (int64_t)(n + 0.5);
}
