/* Dates and instants as people write them in documents: 2026-03-01, with a clock time, with an
 * offset. Without an offset the zone decides, and a local time that was left out is the first
 * instant after it. The whole text must be one; ranges are checked, years are 1 to 9999. */
#include "sched/instant.h"

#include "sched/civil.h"
#include "sched/tz.h"
#include "util/check.h"

#include <stdio.h>

/* Exactly `digits` digits; moves on. */
static bool take_number(const char **text, int digits, int32_t min, int32_t max, int32_t *ret)
{
	int32_t value = 0;

	CHECK(digits > 0 && digits <= 9);
	for (int i = 0; i < digits; i++, (*text)++) {
		if (**text < '0' || **text > '9')
			return false;
		value = value * 10 + (**text - '0');
	}
	*ret = value;
	return value >= min && value <= max;
}

static bool take_char(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

static bool take_date(const char **text, int64_t *ret_day)
{
	int32_t year, month, day;

	if (!take_number(text, 4, 1, 9999, &year) || !take_char(text, '-') ||
	    !take_number(text, 2, 1, 12, &month) || !take_char(text, '-') ||
	    !take_number(text, 2, 1, 31, &day) || day > civil_month_days(year, month))
		return false;
	*ret_day = civil_to_day(year, month, day);
	return true;
}

static bool take_clock(const char **text, int64_t *ret_seconds)
{
	int32_t hour, minute, second = 0;

	if (!take_number(text, 2, 0, 23, &hour) || !take_char(text, ':') ||
	    !take_number(text, 2, 0, 59, &minute))
		return false;
	if (take_char(text, ':') && !take_number(text, 2, 0, 59, &second))
		return false;
	*ret_seconds = hour * 3600 + minute * 60 + second;
	return true;
}

/* Z or +hh:mm or +hhmm, to the end of the text. */
static bool take_offset(const char **text, int64_t *ret_seconds)
{
	int32_t hour, minute;

	if (take_char(text, 'Z')) {
		*ret_seconds = 0;
		return true;
	}
	int sign = **text == '-' ? -1 : 1;
	if (!take_char(text, '+') && !take_char(text, '-'))
		return false;
	if (!take_number(text, 2, 0, 23, &hour))
		return false;
	take_char(text, ':');
	if (!take_number(text, 2, 0, 59, &minute))
		return false;
	*ret_seconds = sign * (hour * 3600 + minute * 60);
	return true;
}

bool instant_parse(const char *text, const struct tz *tz, struct instant *ret)
{
	struct instant got = { .is_date = true };
	int64_t seconds = 0, offset = 0;

	if (!take_date(&text, &got.day))
		return false;
	bool is_blank = *text == ' ' && text[1]; /* one at the end is none */
	if (is_blank || *text == 'T') {
		text++;
		got.is_date = false;
		if (!take_clock(&text, &seconds))
			return false;
		got.has_offset = *text != '\0';
		if (got.has_offset && !take_offset(&text, &offset))
			return false;
	}
	if (*text)
		return false;
	int64_t label = got.day * DAY_S + seconds;
	got.t = got.has_offset ? label - offset : tz_first(tz, label);
	*ret = got;
	return true;
}

const char *instant_print(int64_t t, char out[static INSTANT_TEXT_MAX])
{
	if (t < TIME_MIN || t > TIME_MAX) {
		snprintf(out, INSTANT_TEXT_MAX, "never");
		return out;
	}
	struct civil c = civil_of_day(floor_div(t, DAY_S));
	int s = (int)floor_mod(t, DAY_S);
	snprintf(out, INSTANT_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)c.year, (int)c.month,
	         (int)c.day, s / 3600, s / 60 % 60, s % 60);
	return out;
}
