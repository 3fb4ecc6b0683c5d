/* $[...]: a pattern of date letters, an amount of days before or after the run_date, and functions
 * of months, weeks and years. Amounts are fractions with bounds, so that no product leaves 64
 * bits. With a zone the text is made; without one it is only judged: letters that stand for
 * nothing are refused at save, and still formatted in what was saved before. */
#include "sched/macro_date.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sched/civil.h"
#include "sched/cycle.h"
#include "sched/tz.h"
#include "util/buf.h"
#include "util/check.h"

#define FACTOR_MAX 1000000
#define AMOUNT_MAX INT64_C(4000000) /* days, months: more than 9999 years */
#define PARTS_MAX  INT64_C(100000)  /* of a day: finer than seconds */

struct text {
	const char *p;
	size_t len;
};

/* A number of days as a fraction. */
struct amount {
	int64_t num, den;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct text trim(struct text x)
{
	while (x.len && *x.p == ' ') {
		x.p++;
		x.len--;
	}
	while (x.len && x.p[x.len - 1] == ' ')
		x.len--;
	return x;
}

/* --- amounts: [+-]n[*n|/n]..., summed -------------------------------------------------------- */

static bool take_factor(struct text *x, int64_t *ret)
{
	int64_t v = 0;
	size_t n = 0;

	while (n < x->len && is_digit(x->p[n]) && v <= FACTOR_MAX)
		v = v * 10 + (x->p[n++] - '0');
	if (n == 0 || v > FACTOR_MAX || (n > 1 && *x->p == '0'))
		return false;
	x->p += n;
	x->len -= n;
	*ret = v;
	return true;
}

static bool take_term(struct text *x, struct amount *sum)
{
	struct amount t = { 1, 1 };
	int64_t v;
	int sign = 1;
	char op = '*';

	*x = trim(*x);
	if (x->len && (*x->p == '+' || *x->p == '-')) {
		sign = *x->p == '-' ? -1 : 1;
		x->p++;
		x->len--;
	}
	for (;;) {
		*x = trim(*x);
		if (!take_factor(x, &v) || (op == '/' && v == 0))
			return false;
		if (op == '*')
			t.num *= v;
		else
			t.den *= v;
		if (t.num > AMOUNT_MAX || t.den > PARTS_MAX)
			return false;
		*x = trim(*x);
		if (!x->len || (*x->p != '*' && *x->p != '/'))
			break;
		op = *x->p++;
		x->len--;
	}
	/* The bounds keep every product inside 64 bits. */
	sum->num = sum->num * t.den + sign * t.num * sum->den;
	sum->den *= t.den;
	return sum->den <= PARTS_MAX && sum->num <= AMOUNT_MAX * sum->den &&
	       sum->num >= -AMOUNT_MAX * sum->den;
}

static bool parse_amount(struct text x, struct amount *ret)
{
	struct amount sum = { 0, 1 };

	do {
		if (!take_term(&x, &sum))
			return false;
	} while (x.len && (*x.p == '+' || *x.p == '-'));
	*ret = sum;
	return x.len == 0;
}

/* Cut "+-amount" off the end of a pattern, if there is one. */
static struct amount cut_amount(struct text *pattern)
{
	struct amount a = { 0, 1 };

	for (size_t i = 0; i < pattern->len; i++)
		if (pattern->p[i] == '+' || pattern->p[i] == '-') {
			struct text rest = { pattern->p + i, pattern->len - i };
			if (!parse_amount(rest, &a))
				continue;
			pattern->len = i;
			return a;
		}
	return (struct amount){ 0, 1 };
}

/* --- patterns ---------------------------------------------------------------------------- */

enum letter { L_YEAR, L_YEAR2, L_MONTH, L_DAY, L_HOUR, L_MINUTE, L_SECOND, LETTERS };

static const char *const letters[LETTERS] = { "yyyy", "yy", "MM", "dd", "HH", "mm", "ss" };

/* The letter that stands at p, or LETTERS. */
static enum letter letter_at(struct text x)
{
	enum letter l = 0;

	for (; l < LETTERS; l++)
		if (strlen(letters[l]) <= x.len &&
		    strncmp(x.p, letters[l], strlen(letters[l])) == 0)
			break;
	return l;
}

static unsigned letters_in(struct text x)
{
	unsigned seen = 0;

	while (x.len) {
		enum letter l = letter_at(x);
		size_t n = l < LETTERS ? strlen(letters[l]) : 1;
		if (l < LETTERS)
			seen |= 1u << l;
		x.p += n;
		x.len -= n;
	}
	return seen;
}

static void put_letter(enum letter l, int64_t label, struct buf *out)
{
	int64_t day = label_day(label), clock = label - day * DAY_S;
	struct civil d = civil_of_day(day);
	const int64_t values[LETTERS] = { d.year,       d.year % 100,    d.month,   d.day,
		                          clock / 3600, clock / 60 % 60, clock % 60 };

	CHECK(l < LETTERS);
	buf_printf(out, l == L_YEAR ? "%04lld" : "%02lld", (long long)values[l]);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What a run of a letter that is none of ours was meant to be, or NULL. */
static const char *meant(char c, size_t n)
{
	switch (c) {
	case 'Y':
	case 'y':
		return n > 2 ? "yyyy" : "yy";
	case 'D':
	case 'd':
		return "dd";
	case 'h':
	case 'H':
		return "HH";
	case 'S':
	case 's':
		return "ss";
	case 'M':
		return "MM";
	case 'm':
		return "mm";
	default:
		return NULL;
	}
}

/* A pattern says what each of its letters stands for. NULL: it does; else why not. */
static const char *wrong_letters(struct text x)
{
	static _Thread_local char why[160];
	char hint[80] = "", bad[8] = "";
	size_t h = 0;

	for (size_t i = 0, n; i < x.len && h < sizeof hint - 8; i += n) {
		for (n = 1; i + n < x.len && x.p[i + n] == x.p[i]; n++)
			;
		if (!is_letter(x.p[i])) {
			n = 1;
			hint[h++] = x.p[i];
			continue;
		}
		const char *want = meant(x.p[i], n);
		size_t len = want ? strlen(want) : 0;
		if (!bad[0] && (!want || n != len || x.p[i] != want[0]))
			snprintf(bad, sizeof bad, "%.*s", (int)n, x.p + i);
		if (!want)
			continue;
		for (size_t k = 0; k < len; k++)
			hint[h++] = want[k];
	}
	if (!bad[0])
		return NULL;
	if (!meant(bad[0], 1))
		snprintf(why, sizeof why,
		         "%s stands for nothing; plain letters go outside: "
		         "$[yyyyMMdd]T$[HHmmss]",
		         bad);
	else
		snprintf(why, sizeof why, "%s stands for nothing; did you mean %.*s?", bad, (int)h,
		         hint);
	return why;
}

void macro_format(const char *pattern, size_t len, int64_t label, struct buf *out)
{
	struct text x = { pattern, len };

	while (x.len) {
		enum letter l = letter_at(x);
		size_t n = l < LETTERS ? strlen(letters[l]) : 1;
		if (l < LETTERS)
			put_letter(l, label, out);
		else
			buf_putc(out, *x.p);
		x.p += n;
		x.len -= n;
	}
}

/* --- functions --------------------------------------------------------------------------- */

static int64_t add_months(int64_t label, int64_t n)
{
	int64_t day = label_day(label);

	return civil_add_months(day, n) * DAY_S + (label - day * DAY_S);
}

static int64_t month_first(int64_t label, int64_t n)
{
	return civil_month_first(civil_month_index(label_day(label)) + n) * DAY_S;
}

static int64_t month_last(int64_t label, int64_t n)
{
	return month_first(label, n + 1) - DAY_S;
}

static int64_t week_first(int64_t label, int64_t n)
{
	return (civil_monday(label_day(label)) + 7 * n) * DAY_S;
}

static int64_t week_last(int64_t label, int64_t n)
{
	return week_first(label, n + 1) - DAY_S;
}

static int64_t year_first(int64_t label, int64_t n)
{
	return civil_to_day(civil_of_day(label_day(label)).year + n, 1, 1) * DAY_S;
}

static int64_t year_last(int64_t label, int64_t n)
{
	return year_first(label, n + 1) - DAY_S;
}

static const struct {
	const char *name;
	int64_t (*label)(int64_t label, int64_t n);
} functions[] = {
	{ "add_months", add_months },     { "month_first_day", month_first },
	{ "month_last_day", month_last }, { "week_first_day", week_first },
	{ "week_last_day", week_last },   { "year_first_day", year_first },
	{ "year_last_day", year_last },
};

static int64_t in_years(int64_t label)
{
	int64_t min = TIME_MIN, max = TIME_MAX;

	return label < min ? min : label > max ? max : label;
}

/* pattern, or pattern, amount. With tz NULL it is only judged: what was saved once is formatted. */
static const char *date_call(size_t f, struct text args, const struct tz *tz, int64_t run_date,
                             struct buf *out)
{
	struct amount n = { 0, 1 };
	const char *comma = memrchr(args.p, ',', args.len);
	struct text pattern = args;

	CHECK(f < sizeof functions / sizeof functions[0]);
	if (comma) {
		struct text rest = { comma + 1, (size_t)(args.p + args.len - comma - 1) };
		pattern.len = (size_t)(comma - args.p);
		if (!parse_amount(rest, &n) || n.num % n.den != 0)
			return "the second argument is not a whole number";
	}
	pattern = trim(pattern);
	if (!letters_in(pattern) && (tz || !wrong_letters(pattern)))
		return "the pattern has none of yyyy yy MM dd HH mm ss";
	if (!tz)
		return wrong_letters(pattern);
	macro_format(pattern.p, pattern.len,
	             in_years(functions[f].label(local_label(tz, run_date), n.num / n.den)), out);
	return NULL;
}

/* run_date moved: whole days on the calendar, else by elapsed time. */
static int64_t moved_label(const struct tz *tz, int64_t run_date, struct amount days)
{
	CHECK(days.den > 0);
	if (days.num % days.den == 0)
		return in_years(local_label(tz, run_date) + days.num / days.den * DAY_S);
	int64_t by = floor_div(days.num * DAY_S, days.den);
	return in_years(tz_to_label(tz, time_clamp(run_date) + by));
}

/* What the pattern does not show is taken as its least. */
static int64_t shown_only(int64_t label, unsigned seen)
{
	int64_t day = label_day(label), clock = label - day * DAY_S;
	struct civil d = civil_of_day(day);

	if (!(seen >> L_DAY & 1))
		d.day = 1;
	if (!(seen >> L_MONTH & 1))
		d.month = 1;
	if (!(seen >> L_HOUR & 1))
		clock = 0;
	if (!(seen >> L_MINUTE & 1))
		clock -= clock % 3600;
	if (!(seen >> L_SECOND & 1))
		clock -= clock % 60;
	return civil_to_day(d.year, d.month, d.day) * DAY_S + clock;
}

static const char *date_plain(struct text pattern, bool as_seconds, const struct tz *tz,
                              int64_t run_date, struct buf *out)
{
	struct amount days = cut_amount(&pattern);
	unsigned seen;

	pattern = trim(pattern);
	seen = letters_in(pattern);
	if (!seen && (tz || !wrong_letters(pattern)))
		return "the pattern has none of yyyy yy MM dd HH mm ss";
	if (!tz)
		return wrong_letters(pattern);
	int64_t label = moved_label(tz, run_date, days);
	if (as_seconds)
		buf_printf(out, "%lld", (long long)tz_first(tz, shown_only(label, seen)));
	else
		macro_format(pattern.p, pattern.len, label, out);
	return NULL;
}

static bool is_name(struct text x, size_t n, const char *name)
{
	return strlen(name) == n && strncmp(x.p, name, n) == 0;
}

const char *macro_date(const char *text, size_t len, const struct tz *tz, int64_t run_date,
                       struct buf *out)
{
	struct text x = trim((struct text){ text, len });
	const char *open = memchr(x.p, '(', x.len);

	if (!open)
		return date_plain(x, false, tz, run_date, out);
	if (x.p[x.len - 1] != ')')
		return "expected ) at the end";
	size_t n = (size_t)(open - x.p);
	struct text args = { open + 1, x.len - n - 2 };
	if (is_name(x, n, "timestamp"))
		return date_plain(trim(args), true, tz, run_date, out);
	for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++)
		if (is_name(x, n, functions[f].name))
			return date_call(f, args, tz, run_date, out);
	return "unknown function: there are add_months, month_first_day, month_last_day, "
	       "week_first_day, week_last_day, year_first_day, year_last_day, timestamp";
}
