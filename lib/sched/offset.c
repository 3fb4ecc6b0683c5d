/* Durations (2h30m) and offsets of due times (02:30, +1 02:30, day 5 02:00, last-day, tuesday
 * 06:00) as text, both ways. What is read is the whole text and within its limits; whether an
 * offset goes with a cycle is the plan's to say (plan_due.c). */
#include "sched/offset.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "sched/civil.h"
#include "util/buf.h"
#include "util/err.h"

#define DURATION_MAX (INT64_C(100) * 366 * DAY_S)

static const struct {
	char letter;
	int64_t seconds;
} units[] = { { 'w', 7 * DAY_S }, { 'd', DAY_S }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };

static const char *const weekdays[] = { "monday", "tuesday",  "wednesday", "thursday",
	                                "friday", "saturday", "sunday" };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int64_t unit_seconds(char letter)
{
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (units[i].letter == letter)
			return units[i].seconds;
	return 0;
}

int duration_parse(const char *text, int64_t *ret_seconds, struct err *err)
{
	const char *p = text;
	int64_t sum = 0;

	if (*p == '-')
		return err_set(err, E_INVALID, "\"%.60s\" is negative", text);
	do {
		int64_t v = 0, unit;
		int digits = 0;
		for (; is_digit(*p) && digits < 11; p++, digits++)
			v = v * 10 + (*p - '0');
		unit = unit_seconds(*p);
		if (digits == 0 || unit == 0)
			return err_set(err, E_INVALID,
			               "\"%.60s\" is not a duration such as 90s 5m 2h30m 1d 1w",
			               text);
		p++;
		if (v > DURATION_MAX / unit)
			return err_set(err, E_INVALID, "\"%.60s\" is longer than 100 years", text);
		sum += v * unit;
	} while (*p);
	if (sum > DURATION_MAX)
		return err_set(err, E_INVALID, "\"%.60s\" is longer than 100 years", text);
	*ret_seconds = sum;
	return 0;
}

void duration_print(int64_t seconds, struct buf *out)
{
	if (seconds == 0)
		buf_puts(out, "0s");
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		int64_t n = seconds / units[i].seconds;
		if (n)
			buf_printf(out, "%lld%c", (long long)n, units[i].letter);
		seconds -= n * units[i].seconds;
	}
}

/* Two digits, 00 to max. */
static bool take_two(const char **p, int32_t max, int32_t *ret)
{
	if (!is_digit((*p)[0]) || !is_digit((*p)[1]))
		return false;
	*ret = ((*p)[0] - '0') * 10 + ((*p)[1] - '0');
	*p += 2;
	return *ret <= max;
}

/* "02:30" or "02:30:15", all of the text; blanks before it. Nothing at all is midnight. */
static bool time_of_day(const char *p, int64_t *ret_seconds)
{
	int32_t h = 0, m = 0, s = 0;

	while (*p == ' ')
		p++;
	if (*p) {
		if (is_digit(p[0]) && p[1] == ':')
			h = *p++ - '0';
		else if (!take_two(&p, 23, &h))
			return false;
		if (*p++ != ':' || !take_two(&p, 59, &m))
			return false;
		if (*p == ':' && (p++, !take_two(&p, 59, &s)))
			return false;
	}
	*ret_seconds = h * 3600 + m * 60 + s;
	return *p == 0;
}

/* The word at *p, if it is that one, and no letter follows. */
static bool take_word(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncasecmp(*p, word, n) != 0 || ((*p)[n] && (*p)[n] != ' '))
		return false;
	*p += n;
	while (**p == ' ')
		(*p)++;
	return true;
}

static bool take_days(const char **p, int32_t *ret)
{
	int32_t v = 0;

	if (!is_digit(**p))
		return false;
	for (; is_digit(**p) && v < 100000; (*p)++)
		v = v * 10 + (**p - '0');
	*ret = v;
	return **p == ' ' || !**p;
}

/* What stands before the time of day, if anything: the kind, and its days. */
static bool take_kind(const char **p, struct plan_offset *o)
{
	for (int32_t i = 0; i < 7; i++)
		if (take_word(p, weekdays[i])) {
			o->kind = OFF_WEEKDAY;
			o->days = i + 1;
			return true;
		}
	if (take_word(p, "last-day")) {
		o->kind = OFF_LAST_DAY;
		return true;
	}
	if (take_word(p, "day")) {
		o->kind = OFF_MONTH_DAY;
		return take_days(p, &o->days) && o->days >= 1 && o->days <= 31;
	}
	if (**p != '+')
		return true;
	(*p)++;
	return take_days(p, &o->days);
}

int offset_parse(const char *text, struct plan_offset *ret_offset, struct err *err)
{
	struct plan_offset o = { .kind = OFF_CLOCK };
	const char *p = text;
	int r = 0;

	if (is_digit(*p) && !strchr(p, ':')) {
		o.kind = OFF_ELAPSED;
		r = duration_parse(text, &o.seconds, err);
	} else if (!*p || !take_kind(&p, &o) || !time_of_day(p, &o.seconds)) {
		r = err_set(err, E_INVALID,
		            "\"%.60s\" is not an offset such as 2h30m, 02:30, +1 02:30, "
		            "day 5 02:00, last-day 02:30 or tuesday 06:00",
		            text);
	}
	if (r == 0)
		*ret_offset = o;
	return r;
}

void offset_print(const struct plan_offset *o, struct buf *out)
{
	int64_t s = o->seconds;

	switch (o->kind) {
	case OFF_ELAPSED:
		duration_print(s, out);
		return;
	case OFF_CLOCK:
		if (o->days || s >= DAY_S)
			buf_printf(out, "+%lld ", (long long)o->days + (long long)(s / DAY_S));
		s %= DAY_S;
		break;
	case OFF_MONTH_DAY:
		buf_printf(out, "day %d ", o->days);
		break;
	case OFF_LAST_DAY:
		buf_puts(out, "last-day ");
		break;
	case OFF_WEEKDAY:
		buf_printf(out, "%s ", weekdays[(o->days + 6) % 7]);
		break;
	}
	buf_printf(out, "%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60));
	if (s % 60)
		buf_printf(out, ":%02d", (int)(s % 60));
}
