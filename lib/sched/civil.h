/* civil.h — days and the proleptic Gregorian calendar.
 *
 * A day is a number: days since 1970-01-01. A label is local clock time written as
 * seconds since 1970-01-01 00:00 of that clock: label = day * 86400 + time of day. Pure.
 */
#ifndef SCHED_CIVIL_H
#define SCHED_CIVIL_H
#include <stdint.h>

#define DAY_S 86400

/* What this software schedules within: years 1 to 9999, UTC seconds. */
#define TIME_MIN INT64_C(-62135596800)
#define TIME_MAX INT64_C(253402300799)

struct civil {
	int64_t year;
	int32_t month; /* 1..12 */
	int32_t day;   /* 1..31 */
};

/* Total for years within +-10^9; `month` and `day` must be in range. */
int64_t civil_to_day(int64_t year, int32_t month, int32_t day);
struct civil civil_of_day(int64_t day);
int32_t civil_month_days(int64_t year, int32_t month);
/* Days of month number `index` = year * 12 + month - 1. */
int64_t civil_month_first(int64_t index);
int64_t civil_month_index(int64_t day);
/* `day` moved by whole months, clipped to the month's end. */
int64_t civil_add_months(int64_t day, int64_t months);

static inline int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static inline int64_t floor_mod(int64_t a, int64_t b)
{
	int64_t m = a % b;

	return m < 0 ? m + b : m;
}

/* 1 Monday .. 7 Sunday */
static inline int32_t civil_weekday(int64_t day)
{
	return (int32_t)floor_mod(day + 3, 7) + 1;
}

/* The Monday of the week that holds `day`. */
static inline int64_t civil_monday(int64_t day)
{
	return day - floor_mod(day + 3, 7);
}

static inline int64_t time_clamp(int64_t t)
{
	return t < TIME_MIN ? TIME_MIN : t > TIME_MAX ? TIME_MAX : t;
}

#endif
