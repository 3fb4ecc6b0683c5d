/* Cron fires: first on labels, by walking bit masks; then from labels to instants.
 *
 * A label is a local clock time without a zone. Which labels match is arithmetic on masks of
 * months, days and times of a day, so the next one is found without looking at each minute; years
 * that cannot match are skipped. Instants come after: a cron of fixed local times fires once for
 * each label that matches, and tz_first() says when where the clock skips or repeats it; a cron
 * that counts time (every ten minutes) fires at each instant whose label matches, span by span of
 * equal offset, so a repeated hour fires twice. Everything works in both directions, because plans
 * are walked backwards too. */
#include "sched/cron.h"

#include <stdlib.h>
#include <string.h>

#include "sched/civil.h"
#include "sched/cron_impl.h"
#include "sched/tz.h"
#include "util/check.h"

#define YEAR_MAX   9999
#define LOOK_YEARS 400 /* the Gregorian calendar repeats */

/* --- which days of a month ------------------------------------------------------------ */

/* Days 1, 8, 15, 22, 29: one weekday of a month that begins with it. */
#define EVERY_SEVENTH 0x20408102u

static uint32_t weekday_days(int32_t first, int32_t weekday, uint32_t all)
{
	return (EVERY_SEVENTH << ((weekday - first + 7) % 7)) & all;
}

/* The working day nearest to `day`, inside the month. `first`: weekday of day 1. */
static uint32_t nearest_work(int32_t first, int32_t day, int32_t length)
{
	int32_t weekday = (first + day - 1) % 7;

	CHECK(day >= 1 && day <= length);
	if (weekday == 6)
		day = day == 1 ? 3 : day - 1;
	else if (weekday == 0)
		day = day == length ? day - 2 : day + 1;
	return 1u << (day & 31);
}

static uint32_t by_day(const struct cron *c, int32_t first, int32_t length, uint32_t all)
{
	uint32_t days = c->days & all;

	if (!(c->last_days | c->last_work | c->near_work))
		return days;
	for (int32_t n = 0; n < length; n++) {
		if (c->last_days >> n & 1)
			days |= 1u << (length - n);
		if (c->last_work >> n & 1)
			days |= nearest_work(first, length - n, length);
		if (c->near_work >> (n + 1) & 1)
			days |= nearest_work(first, n + 1, length);
	}
	return days;
}

static uint32_t by_weekday(const struct cron *c, int32_t first, uint32_t all)
{
	uint32_t days = 0;

	if (c->weekdays == 0x7f)
		return all;
	for (int32_t w = 0; w < 7; w++) {
		uint32_t own = weekday_days(first, w, all);
		if (c->weekdays >> w & 1)
			days |= own;
		if (c->last_weekdays >> w & 1)
			days |= 1u << (31 - __builtin_clz(own));
		for (int n = 1; n <= 5; n++)
			if (c->nth_weekdays[n] >> w & 1)
				days |= own & (0x7fu << (n * 7 - 6));
	}
	return days;
}

/* Bit d: day d of the month matches. */
static uint32_t month_days(const struct cron *c, int64_t year, int32_t month)
{
	int32_t length = civil_month_days(year, month);
	int32_t first = civil_weekday(civil_to_day(year, month, 1)) % 7;
	uint32_t all = (uint32_t)((UINT64_C(2) << length) - 2);
	uint32_t a = by_day(c, first, length, all), b = by_weekday(c, first, all);

	return c->either ? a | b : a & b;
}

int64_t cron_yearly(const struct cron *c)
{
	int64_t days = 0, times = (int64_t)__builtin_popcount(c->hours) *
	                          __builtin_popcountll(c->minutes) *
	                          __builtin_popcountll(c->seconds);

	for (int32_t month = 1; month <= 12 && !c->is_never; month++)
		if (c->months >> month & 1)
			days += __builtin_popcount(month_days(c, 2024, month));
	return days * times;
}

static bool year_ok(const struct cron *c, int64_t year)
{
	if (!c->has_years)
		return true;
	if (year < CRON_YEAR_MIN || year > CRON_YEAR_MAX)
		return false;
	return c->years[(year - CRON_YEAR_MIN) / 64] >> ((year - CRON_YEAR_MIN) % 64) & 1;
}

/* --- times of a day ---------------------------------------------------------------------- */

static int lowest(uint64_t bits)
{
	CHECK(bits != 0);
	return __builtin_ctzll(bits);
}

static int highest(uint64_t bits)
{
	CHECK(bits != 0);
	return 63 - __builtin_clzll(bits);
}

static int64_t first_time(const struct cron *c)
{
	return lowest(c->hours) * 3600 + lowest(c->minutes) * 60 + lowest(c->seconds);
}

static int64_t last_time(const struct cron *c)
{
	return highest(c->hours) * 3600 + highest(c->minutes) * 60 + highest(c->seconds);
}

/* Bits of `from` and above; below and including `to`. */
static uint64_t from_bit(uint64_t bits, int from)
{
	return from > 63 ? 0 : bits >> from << from;
}

static uint64_t to_bit(uint64_t bits, int to)
{
	return to < 0 ? 0 : bits << (63 - to) >> (63 - to);
}

/* First time of day >= from, or -1. */
static int64_t next_time(const struct cron *c, int64_t from)
{
	int h = (int)(from / 3600), m = (int)(from / 60 % 60), s = (int)(from % 60);
	uint64_t bits;

	CHECK(from >= 0 && from < DAY_S);
	if (c->hours >> h & 1) {
		if ((c->minutes >> m & 1) && (bits = from_bit(c->seconds, s)))
			return h * 3600 + m * 60 + lowest(bits);
		if ((bits = from_bit(c->minutes, m + 1)))
			return h * 3600 + lowest(bits) * 60 + lowest(c->seconds);
	}
	bits = from_bit(c->hours, h + 1);
	if (!bits)
		return -1;
	return lowest(bits) * 3600 + lowest(c->minutes) * 60 + lowest(c->seconds);
}

/* Last time of day <= to, or -1. */
static int64_t prev_time(const struct cron *c, int64_t to)
{
	int h = (int)(to / 3600), m = (int)(to / 60 % 60), s = (int)(to % 60);
	uint64_t bits;

	CHECK(to >= 0 && to < DAY_S);
	if (c->hours >> h & 1) {
		if ((c->minutes >> m & 1) && (bits = to_bit(c->seconds, s)))
			return h * 3600 + m * 60 + highest(bits);
		if ((bits = to_bit(c->minutes, m - 1)))
			return h * 3600 + highest(bits) * 60 + highest(c->seconds);
	}
	bits = to_bit(c->hours, h - 1);
	if (!bits)
		return -1;
	return highest(bits) * 3600 + highest(c->minutes) * 60 + highest(c->seconds);
}

/* --- labels ------------------------------------------------------------------------------- */

/* First day >= the date that matches, within LOOK_YEARS; INT64_MAX if none. */
static int64_t next_day(const struct cron *c, struct civil d)
{
	int64_t last_year = d.year + LOOK_YEARS < YEAR_MAX ? d.year + LOOK_YEARS : YEAR_MAX;
	uint64_t days;

	while (d.year <= last_year) {
		uint64_t months = year_ok(c, d.year) ? from_bit(c->months, d.month) : 0;
		if (!months) {
			d = (struct civil){ d.year + 1, 1, 1 };
			continue;
		}
		if (lowest(months) != d.month)
			d = (struct civil){ d.year, lowest(months), 1 };
		days = from_bit(month_days(c, d.year, d.month), d.day);
		if (days)
			return civil_to_day(d.year, d.month, lowest(days));
		d = d.month == 12 ? (struct civil){ d.year + 1, 1, 1 }
		                  : (struct civil){ d.year, d.month + 1, 1 };
	}
	return INT64_MAX;
}

static int64_t prev_day(const struct cron *c, struct civil d)
{
	int64_t first_year = d.year - LOOK_YEARS > 1 ? d.year - LOOK_YEARS : 1;
	uint64_t days;

	while (d.year >= first_year) {
		uint64_t months = year_ok(c, d.year) ? to_bit(c->months, d.month) : 0;
		if (!months) {
			d = (struct civil){ d.year - 1, 12, 31 };
			continue;
		}
		if (highest(months) != d.month)
			d = (struct civil){ d.year, highest(months), 31 };
		days = to_bit(month_days(c, d.year, d.month), d.day);
		if (days)
			return civil_to_day(d.year, d.month, highest(days));
		d = d.month == 1 ? (struct civil){ d.year - 1, 12, 31 }
		                 : (struct civil){ d.year, d.month - 1, 31 };
	}
	return INT64_MIN;
}

/* Years that cannot match are not walked through one look at a time. */
static struct civil clip_up(const struct cron *c, struct civil d)
{
	if (c->has_years && d.year < CRON_YEAR_MIN)
		return (struct civil){ CRON_YEAR_MIN, 1, 1 };
	return d.year < 1 ? (struct civil){ 1, 1, 1 } : d;
}

static struct civil clip_down(const struct cron *c, struct civil d)
{
	int32_t max = c->has_years ? CRON_YEAR_MAX : YEAR_MAX;

	return d.year > max ? (struct civil){ max, 12, 31 } : d;
}

static int64_t cron_label_next(const struct cron *c, int64_t from)
{
	int64_t day = floor_div(from, DAY_S), time = -1;
	struct civil asked = civil_of_day(day), d = clip_up(c, asked);
	int64_t found = next_day(c, d);

	if (asked.year == d.year && found == day) {
		time = next_time(c, from - day * DAY_S);
		if (time < 0)
			found = next_day(c, clip_up(c, civil_of_day(day + 1)));
	}
	if (found == INT64_MAX)
		return PLAN_NEVER;
	return found * DAY_S + (time >= 0 ? time : first_time(c));
}

/* First label >= `from` that matches, or PLAN_NEVER; last one <= `to`, or PLAN_BEFORE. */
static int64_t cron_label_prev(const struct cron *c, int64_t to)
{
	int64_t day = floor_div(to, DAY_S), time = -1;
	struct civil asked = civil_of_day(day), d = clip_down(c, asked);
	int64_t found = prev_day(c, d);

	if (asked.year == d.year && found == day) {
		time = prev_time(c, to - day * DAY_S);
		if (time < 0)
			found = prev_day(c, clip_down(c, civil_of_day(day - 1)));
	}
	if (found == INT64_MIN)
		return PLAN_BEFORE;
	return found * DAY_S + (time >= 0 ? time : last_time(c));
}

/* --- instants ----------------------------------------------------------------------------- */

#define TURN_S (2 * TZ_OFFSET_MAX) /* what a clock set back shows again is over by then */

/* All instants whose label matches: span by span of equal offset. */
static int64_t elapsed_next(const struct cron *c, const struct tz *tz, int64_t t)
{
	int64_t at = t + 1;

	for (;;) {
		struct tz_span s = tz_span_at(tz, at);
		int64_t from = at > s.from ? at : s.from;
		int64_t label = cron_label_next(c, from + s.offset);
		bool is_long = s.to == INT64_MAX || s.to - from > TURN_S;
		if (label != PLAN_NEVER && label - s.offset < s.to)
			return label - s.offset;
		if (s.to > TIME_MAX || (label == PLAN_NEVER && is_long))
			return PLAN_NEVER;
		at = s.to;
		if (is_long && label - TZ_OFFSET_MAX > at)
			at = label - TZ_OFFSET_MAX;
	}
}

static int64_t elapsed_prev(const struct cron *c, const struct tz *tz, int64_t t)
{
	int64_t at = t - 1;

	for (;;) {
		struct tz_span s = tz_span_at(tz, at);
		int64_t label = cron_label_prev(c, at + s.offset);
		bool is_long = s.from == INT64_MIN || at - s.from > TURN_S;
		if (label != PLAN_BEFORE && label - s.offset >= s.from)
			return label - s.offset;
		if (s.from < TIME_MIN || (label == PLAN_BEFORE && is_long))
			return PLAN_BEFORE;
		at = s.from - 1;
		if (is_long && label + TZ_OFFSET_MAX < at)
			at = label + TZ_OFFSET_MAX;
	}
}

/* Fixed local times: labels not shown yet at t are those above tz_reached(t), and
 * tz_first() is the rule for gaps and repeats. */
int64_t cron_next(const struct cron *c, const struct tz *tz, int64_t t)
{
	int64_t label, at;

	if (c->is_never || t >= TIME_MAX)
		return PLAN_NEVER;
	if (t < TIME_MIN)
		t = TIME_MIN - 1;
	if (c->elapsed) {
		at = elapsed_next(c, tz, t);
	} else {
		label = cron_label_next(c, tz_reached(tz, t) + 1);
		at = label == PLAN_NEVER ? PLAN_NEVER : tz_first(tz, label);
	}
	return at > TIME_MAX ? PLAN_NEVER : at;
}

int64_t cron_prev(const struct cron *c, const struct tz *tz, int64_t t)
{
	int64_t label, at;

	if (c->is_never || t <= TIME_MIN)
		return PLAN_BEFORE;
	if (t > TIME_MAX)
		t = TIME_MAX + 1;
	if (c->elapsed) {
		at = elapsed_prev(c, tz, t);
	} else {
		label = cron_label_prev(c, tz_reached(tz, t - 1));
		at = label == PLAN_BEFORE ? PLAN_BEFORE : tz_first(tz, label);
	}
	return at < TIME_MIN ? PLAN_BEFORE : at;
}

/* --- the unit ------------------------------------------------------------------------------- */

/* No week, month, year holds two of the days: bits of 1 << unit. */
static unsigned long_units(const struct cron *c)
{
	unsigned units = 1u << CU_WEEK | 1u << CU_MONTH | 1u << CU_YEAR;
	int64_t begin = CRON_YEAR_MIN, last_week = INT64_MIN, last_year = INT64_MIN;

	for (int64_t y = begin; y < begin + LOOK_YEARS && units; y++)
		for (int32_t m = 1; m <= 12 && units; m++) {
			uint32_t days = 0;
			if (year_ok(c, y) && (c->months >> m & 1))
				days = month_days(c, y, m);
			if (days & (days - 1))
				units &= ~(1u << CU_MONTH);
			for (; days; days &= days - 1) {
				int64_t week = civil_monday(civil_to_day(y, m, lowest(days)));
				if (week == last_week)
					units &= ~(1u << CU_WEEK);
				if (y == last_year)
					units &= ~(1u << CU_YEAR);
				last_week = week;
				last_year = y;
			}
		}
	return units;
}

static bool single(uint64_t bits)
{
	return (bits & (bits - 1)) == 0;
}

static enum cycle_unit cron_judge(const struct cron *c)
{
	unsigned units;

	if (!single(c->seconds))
		return CU_FIRE;
	if (!single(c->minutes))
		return CU_MINUTE;
	if (!single(c->hours))
		return CU_HOUR;
	units = long_units(c);
	return units ? (enum cycle_unit)(31 - __builtin_clz(units)) : CU_DAY;
}

void cron__judge(struct cron *c)
{
	struct civil begin = { c->has_years ? CRON_YEAR_MIN : 2000, 1, 1 };

	c->is_never = next_day(c, begin) == INT64_MAX;
	c->unit = cron_judge(c);
}

enum cycle_unit cron_unit(const struct cron *c)
{
	return c->unit;
}

const char *cron_text(const struct cron *c)
{
	return c->text;
}

void cron_free(struct cron *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
		return;
	free(c->text);
	free(c);
}

struct cron *cron_ref(const struct cron *c)
{
	/* The count is not part of what is immutable. */
	struct cron *own = (struct cron *)(uintptr_t)c;

	CHECK(atomic_fetch_add_explicit(&own->refs, 1, memory_order_relaxed) > 0);
	return own;
}

bool cron_same(const struct cron *a, const struct cron *b)
{
	size_t from = offsetof(struct cron, seconds);

	return strcmp(a->text, b->text) == 0 &&
	       memcmp((const char *)a + from, (const char *)b + from, sizeof *a - from) == 0;
}

uint64_t cron_hash(const struct cron *c)
{
	uint64_t h = c->seconds ^ c->minutes * 31 ^ ((uint64_t)c->hours << 32 | c->days);

	for (const char *p = c->text; *p; p++)
		h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
	return h;
}
