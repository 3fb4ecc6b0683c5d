/* Cron expressions into bit masks. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sched/cron_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/map.h"

enum part { P_SECOND, P_MINUTE, P_HOUR, P_DAY, P_MONTH, P_WEEKDAY, P_YEAR, PARTS };

struct part_rule {
	const char *name;
	int32_t min, max;
	int32_t hash_max;  /* largest that H gives */
	const char *names; /* three letters each, the first is `first` */
	int32_t first;
};

/* Weekdays are 0 Sunday .. 6 here, whatever the form counts them by. */
static const struct part_rule rules[PARTS] = {
	[P_SECOND] = { "second", 0, 59, 59, "", 0 },
	[P_MINUTE] = { "minute", 0, 59, 59, "", 0 },
	[P_HOUR] = { "hour", 0, 23, 23, "", 0 },
	[P_DAY] = { "day of the month", 1, 31, 28, "", 0 },
	[P_MONTH] = { "month", 1, 12, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", 1 },
	[P_WEEKDAY] = { "weekday", 0, 6, 6, "SUNMONTUEWEDTHUFRISAT", 0 },
	[P_YEAR] = { "year", CRON_YEAR_MIN, CRON_YEAR_MAX, CRON_YEAR_MAX, "", 0 },
};

static const struct {
	const char *word, *text;
} words[] = {
	{ "@yearly", "0 0 1 1 *" }, { "@annually", "0 0 1 1 *" }, { "@monthly", "0 0 1 * *" },
	{ "@weekly", "0 0 * * 0" }, { "@daily", "0 0 * * *" },    { "@midnight", "0 0 * * *" },
	{ "@hourly", "0 * * * *" },
};

struct parser {
	const char *text;    /* all of it */
	const char *p, *end; /* rest of the field */
	enum part part;
	bool quartz;
	uint64_t hash;
	bool has_name;
	uint64_t bits[4]; /* of the field: bit value - origin */
	struct cron *c;
	struct err *err;
};

static int wrong_at(const struct parser *x, const char *at, const char *what)
{
	return err_set(x->err, E_INVALID, "cron \"%s\", column %d (%s): %s", x->text,
	               (int)(at - x->text) + 1, rules[x->part].name, what);
}

static int parse_wrong(const struct parser *x, const char *what)
{
	return wrong_at(x, x->p, what);
}

static bool parse_see(const struct parser *x, char c)
{
	return x->p < x->end && (*x->p == c || (c >= 'A' && *x->p == c + 'a' - 'A'));
}

static bool parse_take(struct parser *x, char c)
{
	if (!parse_see(x, c))
		return false;
	x->p++;
	return true;
}

static bool see_digit(const struct parser *x)
{
	return x->p < x->end && *x->p >= '0' && *x->p <= '9';
}

static int take_number(struct parser *x, int32_t *ret)
{
	int32_t v = 0;

	if (!see_digit(x))
		return parse_wrong(x, "a number is missing");
	for (; see_digit(x); x->p++) {
		v = v * 10 + (*x->p - '0');
		if (v > 99999)
			return parse_wrong(x, "the number is out of range");
	}
	*ret = v;
	return 0;
}

/* A number or name of the field. *ret may be 7 for the Sunday of Unix. */
static int take_value(struct parser *x, int32_t *ret)
{
	const struct part_rule *rule = &rules[x->part];
	const char *at = x->p;
	int32_t min = rule->min, max = rule->max;

	for (int i = 0; rule->names[i * 3]; i++)
		if (x->end - x->p >= 3 && strncasecmp(x->p, rule->names + i * 3, 3) == 0) {
			x->p += 3;
			*ret = rule->first + i;
			return 0;
		}
	if (!see_digit(x))
		return parse_wrong(x, rule->names[0] ? "expected a number or a name"
		                                     : "expected a number");
	if (take_number(x, ret) < 0)
		return E_INVALID;
	if (x->part == P_WEEKDAY) {
		min = x->quartz ? 1 : 0;
		max = 7;
	}
	if (*ret < min || *ret > max)
		return err_set(x->err, E_INVALID,
		               "cron \"%s\", column %d (%s): %d is out of range, it is %d to %d",
		               x->text, (int)(at - x->text) + 1, rule->name, *ret, min, max);
	if (x->part == P_WEEKDAY && x->quartz)
		(*ret)--;
	return 0;
}

static void set_bit(struct parser *x, int32_t value)
{
	int32_t i = x->part == P_YEAR ? value - CRON_YEAR_MIN : value;

	if (x->part == P_WEEKDAY)
		i %= 7;
	CHECK(i >= 0 && (size_t)i / 64 < sizeof x->bits / sizeof x->bits[0]);
	x->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

/* lo, lo + step ... hi; where lo > hi through the field's end. */
static int set_range(struct parser *x, const char *at, int32_t lo, int32_t hi, int32_t step)
{
	const struct part_rule *rule = &rules[x->part];
	int32_t size = rule->max - rule->min + 1;

	CHECK(step >= 1);
	if (lo > hi && x->part == P_YEAR)
		return wrong_at(x, at, "the range of years runs backwards");
	if (lo > hi && x->part == P_WEEKDAY && lo == 7)
		lo = 0;
	if (lo > hi)
		hi += size;
	for (int32_t v = lo; v <= hi; v += step)
		set_bit(x, v > rule->max && x->part != P_WEEKDAY ? v - size : v);
	return 0;
}

/* "/n", or 1 if there is none. */
static int take_step(struct parser *x, int32_t *ret_step, bool *ret_given)
{
	const struct part_rule *rule = &rules[x->part];
	const char *at;

	*ret_step = 1;
	*ret_given = parse_take(x, '/');
	if (!*ret_given)
		return 0;
	at = x->p;
	if (take_number(x, ret_step) < 0)
		return E_INVALID;
	if (*ret_step < 1)
		return wrong_at(x, at, "a step is at least 1");
	if (*ret_step > rule->max - rule->min + 1)
		return wrong_at(x, at,
		                "the step is larger than the field: write out what is meant");
	return 0;
}

/* H, H/n, H(a-b), H(a-b)/n: the name decides where it begins. */
static int take_hash(struct parser *x)
{
	const struct part_rule *rule = &rules[x->part];
	const char *at = x->p - 1;
	uint64_t hash = map_mix(x->hash, (uint64_t)x->part);
	int32_t lo = rule->min, hi = rule->hash_max, step = 1;
	bool given;

	if (!x->has_name)
		return wrong_at(x, at, "H needs a task, whose name decides it");
	if (x->part == P_YEAR)
		return wrong_at(x, at, "H is not for years");
	if (parse_take(x, '(')) {
		if (take_value(x, &lo) < 0)
			return E_INVALID;
		if (!parse_take(x, '-'))
			return parse_wrong(x, "expected - in the range of H");
		if (take_value(x, &hi) < 0)
			return E_INVALID;
		if (!parse_take(x, ')'))
			return parse_wrong(x, "expected ) after the range of H");
		if (lo > hi)
			return wrong_at(x, at, "the range of H runs backwards");
	}
	if (take_step(x, &step, &given) < 0)
		return E_INVALID;
	uint64_t room = (uint64_t)(hi - lo) + 1;
	if (!given) {
		set_bit(x, lo + (int32_t)(hash % room));
		return 0;
	}
	if ((uint64_t)step > room)
		return wrong_at(x, at, "the step is larger than the range of H");
	return set_range(x, at, lo + (int32_t)(hash % (uint64_t)step), hi, step);
}

/* After L in the day field: L, LW, L-n, L-nW. */
static int take_last_day(struct parser *x)
{
	const char *at = x->p;
	int32_t back = 0;

	if (parse_take(x, '-') && take_number(x, &back) < 0)
		return E_INVALID;
	if (back > 30)
		return wrong_at(x, at, "L-n goes back 30 days at most");
	if (parse_take(x, 'W'))
		x->c->last_work |= 1u << back;
	else
		x->c->last_days |= 1u << back;
	return 0;
}

/* What may stand behind a single value: 15W, FRI#2, FRIL. *ret_done: it did. */
static int take_suffix(struct parser *x, int32_t value, bool *ret_done)
{
	int32_t n = 0;

	CHECK(value >= 0 && value <= CRON_YEAR_MAX);
	*ret_done = true;
	if (x->part == P_DAY && parse_take(x, 'W')) {
		x->c->near_work |= 1u << value;
		return 0;
	}
	if (x->part == P_WEEKDAY && parse_take(x, 'L')) {
		x->c->last_weekdays |= (uint8_t)(1u << (value % 7));
		return 0;
	}
	if (x->part == P_WEEKDAY && parse_take(x, '#')) {
		const char *at = x->p;
		if (take_number(x, &n) < 0)
			return E_INVALID;
		if (n < 1 || n > 5)
			return wrong_at(x, at, "# takes 1 to 5");
		x->c->nth_weekdays[n] |= (uint8_t)(1u << (value % 7));
		return 0;
	}
	*ret_done = false;
	return 0;
}

/* value, value-value, value/step, value-value/step */
static int take_values(struct parser *x)
{
	const struct part_rule *rule = &rules[x->part];
	const char *at = x->p;
	int32_t lo = 0, hi, step = 1;
	bool done, stepped, ranged;
	int r;

	if (take_value(x, &lo) < 0)
		return E_INVALID;
	r = take_suffix(x, lo, &done);
	if (r < 0 || done)
		return r;
	hi = lo;
	ranged = parse_take(x, '-');
	if (ranged && take_value(x, &hi) < 0)
		return E_INVALID;
	if (take_step(x, &step, &stepped) < 0)
		return E_INVALID;
	if (stepped && !ranged)
		hi = lo > rule->max ? lo : rule->max;
	return set_range(x, at, lo, hi, step);
}

static int take_item(struct parser *x)
{
	const struct part_rule *rule = &rules[x->part];
	const char *at = x->p;
	int32_t step;
	bool given;

	if (parse_take(x, '*') || parse_take(x, '?')) {
		if (*at == '?' && x->part != P_DAY && x->part != P_WEEKDAY)
			return wrong_at(x, at, "? is for the day and the weekday only");
		if (take_step(x, &step, &given) < 0)
			return E_INVALID;
		return set_range(x, at, rule->min, rule->max, step);
	}
	if (parse_take(x, 'H'))
		return take_hash(x);
	if (x->part == P_DAY && parse_take(x, 'L'))
		return take_last_day(x);
	if (x->part == P_WEEKDAY && parse_take(x, 'L')) {
		set_bit(x, 6);
		return 0;
	}
	return take_values(x);
}

static int take_field(struct parser *x)
{
	int r;

	memset(x->bits, 0, sizeof x->bits);
	do {
		r = take_item(x);
		if (r < 0)
			return r;
	} while (parse_take(x, ','));
	if (x->p < x->end)
		return parse_wrong(x, "unexpected letter");
	return 0;
}

static void store_field(struct parser *x)
{
	struct cron *c = x->c;

	CHECK(x->part < PARTS);
	switch (x->part) {
	case P_SECOND:
		c->seconds = x->bits[0];
		break;
	case P_MINUTE:
		c->minutes = x->bits[0];
		break;
	case P_HOUR:
		c->hours = (uint32_t)x->bits[0];
		break;
	case P_DAY:
		c->days = (uint32_t)x->bits[0];
		break;
	case P_MONTH:
		c->months = (uint32_t)x->bits[0];
		break;
	case P_WEEKDAY:
		c->weekdays = (uint8_t)x->bits[0];
		break;
	default:
		c->has_years = true;
		memcpy(c->years, x->bits, sizeof c->years);
		break;
	}
}

/* --- the whole ------------------------------------------------------------------------------ */

struct field {
	const char *p;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Fields of the text, up to `max` + 1. */
static size_t parse_split(const char *text, struct field *ret_fields, size_t max)
{
	size_t n = 0;

	for (const char *p = text; *p && n <= max;) {
		while (is_blank(*p))
			p++;
		if (!*p)
			break;
		ret_fields[n].p = p;
		while (*p && !is_blank(*p))
			p++;
		ret_fields[n].len = (size_t)(p - ret_fields[n].p);
		n++;
	}
	return n;
}

static bool is_word(struct field f, const char *word)
{
	return strlen(word) == f.len && strncasecmp(f.p, word, f.len) == 0;
}

static bool is_any(struct field f)
{
	return f.len == 1 && (*f.p == '*' || *f.p == '?');
}

/* Day and weekday together, by the rule of the form. */
static int combine_days(struct parser *x, struct field day, struct field weekday)
{
	if (!x->quartz) {
		x->c->either = !strchr("*?", *day.p) && !strchr("*?", *weekday.p);
		return 0;
	}
	if (is_any(day) || is_any(weekday))
		return 0;
	x->part = P_WEEKDAY;
	return wrong_at(x, weekday.p,
	                "with seconds, the day or the weekday must be ? or *: they cannot both "
	                "be restricted");
}

static int parse_fields(struct parser *x, const struct field *fields, size_t n)
{
	enum part first = n == 5 ? P_MINUTE : P_SECOND;
	int r;

	CHECK(n >= 5 && n <= PARTS);
	x->quartz = n > 5;
	x->c->seconds = 1;
	for (size_t i = 0; i < n; i++) {
		x->part = first + i;
		x->p = fields[i].p;
		x->end = fields[i].p + fields[i].len;
		r = take_field(x);
		if (r < 0)
			return r;
		store_field(x);
	}
	const struct field *hour = &fields[P_HOUR - first];
	x->c->elapsed = is_word(*hour, "*") || is_word(*hour, "*/1");
	return combine_days(x, fields[P_DAY - first], fields[P_WEEKDAY - first]);
}

static uint64_t name_hash(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a: the same on every machine */

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return h;
}

static int split_text(const char *text, struct field fields[PARTS + 1], size_t *ret_n,
                      struct err *err)
{
	size_t n;

	if (strlen(text) > CRON_TEXT_MAX)
		return err_set(err, E_INVALID, "a cron is at most %d letters long", CRON_TEXT_MAX);
	n = parse_split(text, fields, PARTS);
	if (n == 1 && *fields[0].p == '@') {
		for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
			if (is_word(fields[0], words[i].word)) {
				*ret_n = parse_split(words[i].text, fields, PARTS);
				return 0;
			}
		return err_set(err, E_INVALID,
		               "cron \"%s\", column %d: known are @yearly, @annually, @monthly, "
		               "@weekly, @daily, @midnight, @hourly",
		               text, (int)(fields[0].p - text) + 1);
	}
	if (n < 5 || n > PARTS)
		return err_set(err, E_INVALID,
		               "cron \"%s\", column %d: %zu%s fields; it takes 5 (minute hour day "
		               "month weekday), 6 (seconds first) or 7 (year last)",
		               text, (int)strlen(text) + 1, n, n > PARTS ? " or more" : "");
	*ret_n = n;
	return 0;
}

int cron_parse(const char *text, const char *name, struct cron **ret_cron, struct err *err)
{
	struct field fields[PARTS + 1] = { 0 };
	struct parser x = { .text = text, .err = err };
	size_t n = 0;
	int r = split_text(text, fields, &n, err);

	if (r < 0)
		return r;
	x.has_name = name != NULL;
	x.hash = name ? name_hash(name) : 0;
	x.c = mem_new(sizeof *x.c);
	atomic_init(&x.c->refs, 1);
	x.c->text = mem_str(text);
	r = parse_fields(&x, fields, n);
	if (r < 0) {
		cron_free(x.c);
		return r;
	}
	cron__judge(x.c);
	*ret_cron = x.c;
	return 0;
}
