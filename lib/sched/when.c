/* Dates and instants as they are written, read and printed back, also as JSON. A text becomes a
 * span of local clock time first; when_instant() asks the zone. Words count from the moment that
 * the caller gives, so that reading stays pure. */
#include "sched/when.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sched/cycle.h"
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

static void when_days(struct when *w, int64_t from, int64_t to)
{
	CHECK(from < to);
	w->is_date = true;
	w->label = from * DAY_S;
	w->label_end = to * DAY_S;
}

/* Week 1 holds the year's first Thursday, so 4 January (ISO 8601); a year has 52 or 53. */
static bool read_week(const char **p, int32_t year, struct when *w)
{
	int64_t first = civil_monday(civil_to_day(year, 1, 4)), monday;
	int32_t week;

	if (!when_digits(p, 2, &week) || week < 1)
		return false;
	monday = first + (week - 1) * 7;
	if (monday >= civil_monday(civil_to_day(year + 1, 1, 4)))
		return false;
	when_days(w, monday, monday + 7);
	return true;
}

/* 2026, 2026-W10, 2026-03, 2026-03-01 */
static bool read_date(const char **p, struct when *w)
{
	int32_t y, m, d;
	int64_t day;

	if (!when_digits(p, 4, &y) || y < 1)
		return false;
	if (!when_skip(p, '-')) {
		when_days(w, civil_to_day(y, 1, 1), civil_to_day(y + 1, 1, 1));
		return true;
	}
	if (when_skip(p, 'W'))
		return read_week(p, y, w);
	if (!when_digits(p, 2, &m) || m < 1 || m > 12)
		return false;
	day = civil_to_day(y, m, 1);
	if (!when_skip(p, '-')) {
		when_days(w, day, civil_add_months(day, 1));
		return true;
	}
	if (!when_digits(p, 2, &d) || d < 1 || d > civil_month_days(y, m))
		return false;
	when_days(w, day + d - 1, day + d);
	return true;
}

/* hh:mm is a minute, hh:mm:ss a second. Parts of a second are taken and dropped: run_dates have
 * none. */
static bool read_clock(const char **p, struct when *w)
{
	int32_t h, m, s = 0;
	int n = 0;

	if (!when_digits(p, 2, &h) || !when_skip(p, ':') || !when_digits(p, 2, &m))
		return false;
	bool has_seconds = when_skip(p, ':');
	if (has_seconds && !when_digits(p, 2, &s))
		return false;
	if (h > 23 || m > 59 || s > 59)
		return false;
	if (has_seconds && when_skip(p, '.')) {
		for (; **p >= '0' && **p <= '9'; (*p)++)
			n++;
		if (n < 1 || n > 9)
			return false;
	}
	w->is_date = false;
	w->label += h * 3600 + m * 60 + s;
	w->label_end = w->label + (has_seconds ? 1 : 60);
	return true;
}

/* Z, +hh:mm, +hhmm */
static bool read_offset(const char **p, struct when *w)
{
	int sign = **p == '-' ? -1 : 1;
	int32_t h = 0, m = 0;

	if (!when_skip(p, 'Z') && !when_skip(p, 'z')) {
		if (!when_skip(p, '+') && !when_skip(p, '-'))
			return false;
		if (!when_digits(p, 2, &h) || (when_skip(p, ':'), !when_digits(p, 2, &m)) ||
		    h > 23 || m > 59)
			return false;
	}
	w->kind = WHEN_INSTANT;
	w->at = w->label - sign * (h * 3600 + m * 60);
	return true;
}

static bool read_copy(const char **p, struct when *w)
{
	if ((*p)[0] != ' ' || (*p)[1] != '(' || ((*p)[2] != '1' && (*p)[2] != '2') ||
	    (*p)[3] != ')')
		return false;
	w->copy = (uint8_t)((*p)[2] - '0');
	*p += 4;
	return true;
}

static bool read_written(const char *p, struct when *ret)
{
	struct when w = { .kind = WHEN_LOCAL };

	if (!read_date(&p, &w))
		return false;
	if (*p && w.label_end - w.label == DAY_S) {
		if (!when_skip(&p, 'T') && !when_skip(&p, 't') && !when_skip(&p, ' '))
			return false;
		if (!read_clock(&p, &w))
			return false;
		if (*p && !read_copy(&p, &w) && !read_offset(&p, &w))
			return false;
	}
	*ret = w;
	return *p == '\0';
}

/* `now` is an instant, the rest are spans of each zone. */
static bool read_word(const char *text, int64_t now, struct when *ret)
{
	static const struct {
		const char *word;
		enum cycle_unit unit;
		int32_t n;
	} words[] = {
		{ "today", CU_DAY, 0 },        { "yesterday", CU_DAY, 1 },
		{ "tomorrow", CU_DAY, -1 },    { "this week", CU_WEEK, 0 },
		{ "last week", CU_WEEK, 1 },   { "this month", CU_MONTH, 0 },
		{ "last month", CU_MONTH, 1 }, { "this year", CU_YEAR, 0 },
		{ "last year", CU_YEAR, 1 },   { "今天", CU_DAY, 0 },
		{ "昨天", CU_DAY, 1 },         { "前天", CU_DAY, 2 },
		{ "明天", CU_DAY, -1 },        { "本周", CU_WEEK, 0 },
		{ "上周", CU_WEEK, 1 },        { "本月", CU_MONTH, 0 },
		{ "上月", CU_MONTH, 1 },       { "今年", CU_YEAR, 0 },
		{ "去年", CU_YEAR, 1 },
	};

	*ret = (struct when){ .kind = WHEN_INSTANT, .at = now };
	if (strcmp(text, "now") == 0)
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(text, words[i].word) != 0)
			continue;
		ret->kind = WHEN_AGO;
		ret->is_date = true;
		ret->ago = words[i].unit;
		ret->n = words[i].n;
		return true;
	}
	return false;
}

/* -3d, -2w, -6h, -30m */
static bool read_ago(const char *text, int64_t now, struct when *ret)
{
	int32_t n = 0;
	const char *p = text;

	if (!when_skip(&p, '-') || *p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		n = n * 10 + (*p - '0');
		if (n > 1000000)
			return false;
	}
	if (p[0] == '\0' || p[1] != '\0')
		return false;
	*ret = (struct when){ .kind = WHEN_AGO, .is_date = true, .n = n, .at = now };
	if (*p == 'd' || *p == 'w') {
		ret->ago = *p == 'd' ? CU_DAY : CU_WEEK;
		return true;
	}
	if (*p != 'h' && *p != 'm')
		return false;
	*ret = (struct when){ .kind = WHEN_INSTANT, .at = now - n * (*p == 'h' ? 3600LL : 60LL) };
	return true;
}

bool when_parse(const char *text, int64_t now, struct when *ret)
{
	struct when w;

	text += strspn(text, " ");
	if (!read_written(text, &w) &&
	    (now == WHEN_NO_NOW || (!read_word(text, now, &w) && !read_ago(text, now, &w))))
		return false;
	*ret = w;
	return true;
}

const char *when_no_day(const char *text, char ret[WHEN_TEXT])
{
	ret[0] = '\0';
	for (; text && !ret[0]; text = (text = strstr(text, "..")) ? text + 2 : NULL) {
		const char *p = text + strspn(text, " ");
		int32_t y, m, d;

		if (!when_digits(&p, 4, &y) || y < 1 || !when_skip(&p, '-') ||
		    !when_digits(&p, 2, &m) || !when_skip(&p, '-') || !when_digits(&p, 2, &d))
			continue;
		if (m < 1 || m > 12)
			snprintf(ret, WHEN_TEXT, ": there is no month %02d", (int)m);
		else if (d < 1 || d > civil_month_days(y, m))
			snprintf(ret, WHEN_TEXT, ": %04d-%02d has %d days", (int)y, (int)m,
			         (int)civil_month_days(y, m));
	}
	return ret;
}

bool when_range(const char *text, int64_t now, struct when_span *ret)
{
	const char *dots = strstr(text, "..");
	char from[WHEN_TEXT];

	if (!dots) {
		if (!when_parse(text, now, &ret->from))
			return false;
		ret->to = ret->from;
		return true;
	}
	if ((size_t)(dots - text) >= sizeof from)
		return false;
	snprintf(from, sizeof from, "%.*s", (int)(dots - text), text);
	return when_parse(from, now, &ret->from) &&
	       when_parse(dots[2] ? dots + 2 : "now", now, &ret->to);
}

/* What a clock may be set back by: two clock times that close may be in either order. */
#define SET_BACK_MAX (3 * 3600)

bool when_is_after(const struct when *from, const struct when *to)
{
	if (when_is_local(from) != when_is_local(to))
		return false;
	int64_t slack = when_is_local(from) && !from->is_date && !to->is_date ? SET_BACK_MAX : 0;
	return when_instant(from, tz_utc(), false) > when_instant(to, tz_utc(), true) + slack;
}

/* The span of days that a word means in this zone. */
static void ago_days(const struct when *w, const struct tz *tz, int64_t *ret_from, int64_t *ret_to)
{
	struct cycle c = cycle_make(tz, w->ago, 1, TIME_MIN);
	int64_t day = cycle_floor_day(&c, local_day(tz, time_clamp(w->at)));

	CHECK(unit_is_long(w->ago));
	if (w->ago == CU_DAY || w->ago == CU_WEEK)
		day -= w->n * (w->ago == CU_DAY ? 1 : 7);
	else
		day = civil_add_months(day, -(int64_t)w->n * (w->ago == CU_MONTH ? 1 : 12));
	*ret_from = day * DAY_S;
	*ret_to = cycle_next_day(&c, day) * DAY_S;
}

int64_t when_instant(const struct when *w, const struct tz *tz, bool as_end)
{
	int64_t from = w->label, to = w->label_end;

	if (w->kind == WHEN_INSTANT)
		return w->at;
	if (w->kind == WHEN_AGO)
		ago_days(w, tz, &from, &to);
	if (w->copy == 2)
		return tz_from_label(tz, as_end ? to - 1 : from).last;
	if (w->is_date)
		return as_end ? tz_first(tz, to) - 1 : tz_first(tz, from);
	/* A clock time as an end: both of those that come twice, unless one was named. */
	struct tz_local end = tz_from_label(tz, to - 1);
	return !as_end ? tz_first(tz, from) : w->copy == 1 ? end.first : end.last;
}

size_t when_readings(const struct when *w, const struct tz *tz, int64_t ret[static 2])
{
	ret[0] = ret[1] = when_instant(w, tz, false);
	if (w->kind != WHEN_LOCAL || w->is_date)
		return 1;
	struct tz_local both = tz_from_label(tz, w->label);
	ret[1] = both.last;
	if (both.kind == TZ_TWICE)
		return w->copy == 0 ? 2 : 1;
	return both.kind == TZ_ONCE && w->copy != 2;
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

const char *when_print(int64_t s, char ret[WHEN_TEXT])
{
	if (s < TIME_MIN || s > TIME_MAX)
		snprintf(ret, WHEN_TEXT, "never");
	else
		sched_when_print(s, 0, false, ret);
	return ret;
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
