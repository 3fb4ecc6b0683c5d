/* The POSIX rule at the end of a TZif file ("CET-1CEST,M3.5.0,M10.5.0/3"), read and asked for the
 * span of one offset around an instant. The changes of five years around it are looked at, for a
 * change may lie a week outside its year. A rule is plain data without memory of its own. */
#include "sched/tz_rule.h"

#include <string.h>

#include "sched/civil.h"
#include "util/check.h"

#define RULE_HOURS_MAX   167 /* RFC 9636: a week either way */
#define OFFSET_HOURS_MAX 24

/* --- parsing: each takes what it reads from *p; false: not there ------------------------ */

static bool take_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

static bool take_number(const char **p, int32_t min, int32_t max, int32_t *ret)
{
	int32_t v = 0;
	int digits = 0;

	for (; **p >= '0' && **p <= '9' && digits < 4; (*p)++, digits++)
		v = v * 10 + (**p - '0');
	if (digits == 0 || v < min || v > max)
		return false;
	*ret = v;
	return true;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool take_name(const char **p)
{
	const char *from = *p;

	if (take_char(p, '<')) {
		while (**p && **p != '>')
			(*p)++;
		return take_char(p, '>');
	}
	while (is_letter(**p))
		(*p)++;
	return *p - from >= 3;
}

static bool take_time(const char **p, int32_t hours_max, int32_t *ret_seconds)
{
	int32_t h, m = 0, s = 0, sign = 1;

	if (take_char(p, '-'))
		sign = -1;
	else
		(void)take_char(p, '+');
	if (!take_number(p, 0, hours_max, &h))
		return false;
	if (take_char(p, ':')) {
		if (!take_number(p, 0, 59, &m))
			return false;
		if (take_char(p, ':') && !take_number(p, 0, 59, &s))
			return false;
	}
	*ret_seconds = sign * (h * 3600 + m * 60 + s);
	return true;
}

static bool take_day(const char **p, struct tz_date *d)
{
	if (take_char(p, 'M')) {
		d->kind = TD_MONTH;
		return take_number(p, 1, 12, &d->month) && take_char(p, '.') &&
		       take_number(p, 1, 5, &d->week) && take_char(p, '.') &&
		       take_number(p, 0, 6, &d->day);
	}
	if (take_char(p, 'J')) {
		d->kind = TD_JULIAN;
		return take_number(p, 1, 365, &d->day);
	}
	d->kind = TD_DAY;
	return take_number(p, 0, 365, &d->day);
}

static bool take_date(const char **p, struct tz_date *d)
{
	d->time = 2 * 3600;
	if (!take_char(p, ',') || !take_day(p, d))
		return false;
	return !take_char(p, '/') || take_time(p, RULE_HOURS_MAX, &d->time);
}

bool tz_rule_parse(const char *text, struct tz_rule *ret_rule)
{
	struct tz_rule r;
	const char *p = text;

	memset(&r, 0, sizeof r);
	if (!take_name(&p) || !take_time(&p, OFFSET_HOURS_MAX, &r.standard))
		return false;
	r.standard = -r.standard; /* POSIX counts west */
	r.summer = r.standard + 3600;
	if (*p) {
		r.has_summer = true;
		if (!take_name(&p))
			return false;
		if (*p != ',') {
			if (!take_time(&p, OFFSET_HOURS_MAX, &r.summer))
				return false;
			r.summer = -r.summer;
		}
		if (!take_date(&p, &r.begin) || !take_date(&p, &r.end) || *p)
			return false;
	}
	*ret_rule = r;
	return true;
}

/* --- evaluating -------------------------------------------------------------------------- */

/* Label of the change in that year. */
static int64_t date_label(const struct tz_date *d, int64_t year)
{
	int64_t day = civil_to_day(year, 1, 1);

	if (d->kind == TD_MONTH) {
		int32_t length = civil_month_days(year, d->month);
		int64_t first = civil_to_day(year, d->month, 1);
		int64_t in = floor_mod(d->day - civil_weekday(first), 7) + (d->week - 1) * 7;
		day = first + (in >= length ? in - 7 : in);
	} else if (d->kind == TD_JULIAN) {
		day += d->day - 1 + (d->day >= 60 && civil_month_days(year, 2) == 29);
	} else {
		day += d->day;
	}
	return day * DAY_S + d->time;
}

struct tz_span tz_rule_span(const struct tz_rule *rule, int64_t t)
{
	struct tz_span s = { INT64_MIN, INT64_MAX, rule->standard };

	if (!rule->has_summer)
		return s;
	int64_t year = civil_of_day(floor_div(t, DAY_S)).year;
	/* A change may be a week outside its year. Where summer time ends and begins at one
	 * instant it is summer: all the year. */
	for (int64_t y = year - 2; y <= year + 2; y++) {
		int64_t begin = date_label(&rule->begin, y) - rule->standard;
		int64_t end = date_label(&rule->end, y) - rule->summer;
		if (end <= t && end > s.from) {
			s.from = end;
			s.offset = rule->standard;
		}
		if (begin <= t && begin >= s.from) {
			s.from = begin;
			s.offset = rule->summer;
		}
		if (begin > t && begin < s.to)
			s.to = begin;
		if (end > t && end < s.to)
			s.to = end;
	}
	CHECK(s.from <= t && t < s.to);
	return s;
}
