/* Instants as programs write them (RFC 3339, with parts of a second, with or without an offset),
 * and printed back, also as JSON. What has no offset is a local time: when_instant() asks the
 * zone. A bare date as the end of something means the end of that day. */
#include "sched/when.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "sched/civil.h"
#include "sched/tz.h"
#include "util/check.h"
#include "util/json_put.h"

/* Exactly n digits. */
static bool when_digits(const char **p, int n, int32_t *ret)
{
	int32_t v = 0;

	CHECK(n > 0 && n <= 9);
	for (int i = 0; i < n; i++, (*p)++) {
		if (**p < '0' || **p > '9')
			return false;
		v = v * 10 + (**p - '0');
	}
	*ret = v;
	return true;
}

static bool when_skip(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

static bool when_date(const char **p, int64_t *ret_day)
{
	int32_t y, m, d;

	if (!when_digits(p, 4, &y) || !when_skip(p, '-') || !when_digits(p, 2, &m) ||
	    !when_skip(p, '-') || !when_digits(p, 2, &d))
		return false;
	if (y < 1 || m < 1 || m > 12 || d < 1 || d > civil_month_days(y, m))
		return false;
	*ret_day = civil_to_day(y, m, d);
	return true;
}

static bool clock_time(const char **p, int64_t *ret_s)
{
	int32_t h, m, s = 0;

	if (!when_digits(p, 2, &h) || !when_skip(p, ':') || !when_digits(p, 2, &m))
		return false;
	if (when_skip(p, ':') && !when_digits(p, 2, &s))
		return false;
	if (h > 23 || m > 59 || s > 59)
		return false;
	*ret_s = h * 3600 + m * 60 + s;
	return true;
}

/* Parts of a second are taken and dropped: run_dates have none. */
static bool fraction(const char **p)
{
	int n = 0;

	if (!when_skip(p, '.'))
		return true;
	for (; **p >= '0' && **p <= '9'; (*p)++)
		n++;
	return n > 0 && n <= 9;
}

static bool offset(const char **p, int64_t *ret_s)
{
	int sign = **p == '-' ? -1 : 1;
	int32_t h, m;

	if (when_skip(p, 'Z') || when_skip(p, 'z')) {
		*ret_s = 0;
		return true;
	}
	if (!when_skip(p, '+') && !when_skip(p, '-'))
		return false;
	if (!when_digits(p, 2, &h) || !when_skip(p, ':') || !when_digits(p, 2, &m) || h > 23 ||
	    m > 59)
		return false;
	*ret_s = sign * (h * 3600 + m * 60);
	return true;
}

bool when_parse(const char *text, struct when *ret)
{
	struct when w = { .is_local = true };
	int64_t day, time = 0, off = 0;
	const char *p = text;

	if (!when_date(&p, &day))
		return false;
	if (*p == 0) {
		w.is_date = true;
	} else {
		if (!when_skip(&p, 'T') && !when_skip(&p, 't') && !when_skip(&p, ' '))
			return false;
		if (!clock_time(&p, &time) || !fraction(&p))
			return false;
		if (*p && !offset(&p, &off))
			return false;
		w.is_local = *p == 0 && (p[-1] >= '0' && p[-1] <= '9') && off == 0;
	}
	if (*p)
		return false;
	w.label = day * DAY_S + time;
	w.at = w.label - off;
	/* "+00:00" ends in a digit as well */
	for (const char *q = text + 10; w.is_local && *q; q++)
		if (*q == '+' || *q == '-')
			w.is_local = false;
	*ret = w;
	return true;
}

int64_t when_instant(const struct when *w, const struct tz *tz, bool as_end)
{
	if (!w->is_local)
		return w->at;
	if (as_end && w->is_date)
		return tz_first(tz, w->label + DAY_S) - 1;
	return tz_first(tz, w->label);
}

static void sched_when_print(int64_t s, int64_t us, bool with_us, char ret[WHEN_TEXT])
{
	int64_t day = floor_div(s, DAY_S), in_day = floor_mod(s, DAY_S);
	struct civil c = civil_of_day(day);
	char part[16] = "";

	CHECK(us >= 0 && us < 1000000);
	if (with_us)
		snprintf(part, sizeof part, ".%06d", (int)us);
	snprintf(ret, WHEN_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d%sZ", (int)c.year, c.month, c.day,
	         (int)(in_day / 3600), (int)(in_day / 60 % 60), (int)(in_day % 60), part);
}

void when_print(int64_t s, char ret[WHEN_TEXT])
{
	sched_when_print(time_clamp(s), 0, false, ret);
}

void when_print_us(int64_t us, char ret[WHEN_TEXT])
{
	sched_when_print(time_clamp(floor_div(us, 1000000)), floor_mod(us, 1000000), true, ret);
}

void put_time(struct buf *b, const char *key, int64_t s)
{
	char text[WHEN_TEXT];

	when_print(s, text);
	put_text(b, key, s < TIME_MIN || s > TIME_MAX ? NULL : text);
}

void put_time_us(struct buf *b, const char *key, int64_t us)
{
	char text[WHEN_TEXT];
	int64_t s = floor_div(us, 1000000);

	when_print_us(us, text);
	put_text(b, key, us == 0 || s < TIME_MIN || s > TIME_MAX ? NULL : text);
}
