/* A calendar's document read into dates. Holidays, workdays and dates are lists of dates or
 * ranges, with a year, below a year, or for all `years`; which weekdays count is said by
 * `weekends` or `working`. Everything that is wrong is told with its place, and a document with an
 * error makes no calendar. The document stays as it was written, for whoever asks. */
#include "sched/calendar_doc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/calendar.h"
#include "sched/civil.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/yaml.h"

enum { YEAR_LOW = 1 };

struct calendar_doc {
	struct yaml_doc *doc;
	char *file;
	const char *name, *description;
	int line;
	struct calendar *days;
};

/* --- places ----------------------------------------------------------------------------- */

struct reader {
	struct diags *d;
	const char *file;
	const struct yaml_node *root;
	char path[100]; /* of what is being read */
	struct calendar_doc *c;
	uint8_t weekdays;
	int32_t first_year, last_year; /* `years`; 0: not said */
	struct calendar_day *days;
	size_t n, cap;
	bool full;
};

static struct place doc_here(const struct reader *r, const struct yaml_node *n)
{
	return (struct place){ r->file, n->line, n->column, r->path };
}

static void doc_at(struct reader *r, const char *key)
{
	snprintf(r->path, sizeof r->path, "%s", key);
}

static void at_item(struct reader *r, const char *key, size_t i)
{
	snprintf(r->path, sizeof r->path, "%s[%zu]", key, i);
}

static void doc_wrong(struct reader *r, const struct yaml_node *n, const char *want)
{
	if (n->kind == YAML_SCALAR && !yaml_is_null(n))
		diag_error(r->d, doc_here(r, n), "wrong_value", NULL, "%s is '%.80s', want %s",
		           r->path, n->text, want);
	else
		diag_error(r->d, doc_here(r, n), "wrong_value", NULL, "%s is %s, want %s", r->path,
		           yaml_kind_name(n), want);
}

/* --- dates ------------------------------------------------------------------------------ */

/* A date as written; year 0: none was. */
struct written {
	int32_t year, month, day;
};

static const char *doc_number(const char *p, size_t digits, int32_t *ret)
{
	if (!p || strspn(p, "0123456789") != digits)
		return NULL;
	*ret = 0;
	for (size_t i = 0; i < digits; i++)
		*ret = *ret * 10 + (p[i] - '0');
	return p + digits;
}

static const char *dash(const char *p)
{
	return p && *p == '-' ? p + 1 : NULL;
}

/* 2026-10-01 or 10-01. NULL: neither. */
static const char *doc_date(const char *p, struct written *ret)
{
	*ret = (struct written){ 0 };
	if (strspn(p, "0123456789") == 4) {
		p = dash(doc_number(p, 4, &ret->year));
		if (ret->year < YEAR_LOW)
			return NULL;
	}
	p = doc_number(dash(doc_number(p, 2, &ret->month)), 2, &ret->day);
	bool is_real = p && ret->month >= 1 && ret->month <= 12 && ret->day >= 1 &&
	               ret->day <= civil_month_days(ret->year ? ret->year : 2000, ret->month);
	return is_real ? p : NULL;
}

static int doc_compare(const struct written *a, const struct written *b)
{
	int x = a->month * 32 + a->day, y = b->month * 32 + b->day;

	return a->year != b->year ? (a->year > b->year) - (a->year < b->year) : (x > y) - (x < y);
}

static void add_day(struct reader *r, int64_t day, bool allowed)
{
	if (r->n >= CALENDAR_DAYS_MAX) {
		r->full = true;
		return;
	}
	r->days = mem_room(r->days, &r->cap, r->n + 1, sizeof *r->days);
	r->days[r->n++] = (struct calendar_day){ (int32_t)day, allowed };
}

static int64_t day_of(const struct written *w, int32_t year)
{
	CHECK(w->month >= 1 && w->month <= 12 && w->day >= 1 && w->day <= 31);
	return civil_to_day(year, w->month, w->day);
}

/* The 29th of February only in years that have it: a range to it ends a day earlier. */
static void add_in_year(struct reader *r, const struct written *lo, const struct written *hi,
                        int32_t year, bool allowed)
{
	bool leap = civil_month_days(year, 2) == 29;
	int64_t from = day_of(lo, year), to = day_of(hi, year);

	if (!leap && hi->month == 2 && hi->day == 29)
		to--;
	for (int64_t day = from; day <= to && !r->full; day++)
		add_day(r, day, allowed);
}

/* "2026-10-01", "2026-10-01..2026-10-07", the same without years. */
static bool read_span(const char *text, struct written *lo, struct written *hi)
{
	const char *p = doc_date(text, lo);

	*hi = *lo;
	if (p && strncmp(p, "..", 2) == 0)
		p = doc_date(p + 2, hi);
	return p && !*p;
}

static void read_dates(struct reader *r, const struct yaml_node *n, int32_t year, bool allowed)
{
	struct written lo, hi;

	if (n->kind != YAML_SCALAR || !read_span(n->text, &lo, &hi) || !lo.year != !hi.year ||
	    (year && lo.year)) {
		doc_wrong(r, n,
		          year ? "a date of that year, 10-01 or 10-01..10-07"
		               : "a date or a range: 2026-10-01, 2026-10-01..2026-10-07, 12-25");
		return;
	}
	if (doc_compare(&lo, &hi) > 0) {
		diag_error(r->d, doc_here(r, n), "wrong_value", NULL,
		           "%s is '%.80s', which ends before it begins", r->path, n->text);
		return;
	}
	if (lo.year) {
		int64_t to = day_of(&hi, hi.year);
		for (int64_t day = day_of(&lo, lo.year); day <= to && !r->full; day++)
			add_day(r, day, allowed);
		return;
	}
	if (!year && !r->first_year) {
		diag_error(r->d, doc_here(r, n), "missing_key", "years: 2020..2035, for one",
		           "%s is '%.80s' without a year; say for which `years`", r->path, n->text);
		return;
	}
	if (year && lo.month == 2 && lo.day == 29 && civil_month_days(year, 2) == 28) {
		diag_error(r->d, doc_here(r, n), "wrong_value", NULL,
		           "%s is '%.80s'; %d has no such day", r->path, n->text, year);
		return;
	}
	for (int32_t y = year ? year : r->first_year; y <= (year ? year : r->last_year); y++)
		add_in_year(r, &lo, &hi, y, allowed);
}

static void read_list(struct reader *r, const char *key, const struct yaml_node *n, int32_t year,
                      bool allowed);

/* {on: DATES, name: TEXT} */
static void read_named(struct reader *r, const char *key, const struct yaml_node *n, int32_t year,
                       bool allowed)
{
	const struct yaml_node *on = yaml_get(n, "on");

	for (size_t i = 0; i < n->n; i++)
		if (strcmp(n->keys[i]->text, "on") != 0 && strcmp(n->keys[i]->text, "name") != 0)
			diag_error(r->d, doc_here(r, n->keys[i]), "unknown_key", "on, name",
			           "a named date has no key '%.80s'", n->keys[i]->text);
	if (!on)
		diag_error(r->d, doc_here(r, n), "missing_key", "on: 2026-10-01..2026-10-07",
		           "%s: a named date needs `on`", r->path);
	else if (on->kind == YAML_LIST)
		read_list(r, key, on, year, allowed);
	else
		read_dates(r, on, year, allowed);
}

static void read_list(struct reader *r, const char *key, const struct yaml_node *n, int32_t year,
                      bool allowed)
{
	if (n->kind != YAML_LIST) {
		doc_wrong(r, n, "a list of dates");
		return;
	}
	for (size_t i = 0; i < n->n; i++) {
		const struct yaml_node *item = n->items[i];
		at_item(r, key, i);
		if (item->kind == YAML_MAP)
			read_named(r, key, item, year, allowed);
		else
			read_dates(r, item, year, allowed);
	}
}

/* A list, or lists by year. */
static void read_days(struct reader *r, const char *key, bool allowed)
{
	const struct yaml_node *n = yaml_get(r->root, key);

	if (!n)
		return;
	doc_at(r, key);
	if (n->kind != YAML_MAP) {
		read_list(r, key, n, 0, allowed);
		return;
	}
	for (size_t i = 0; i < n->n; i++) {
		int32_t year;
		char below[40];
		const char *end = doc_number(n->keys[i]->text, 4, &year);
		doc_at(r, key);
		if (!end || *end || year < YEAR_LOW) {
			doc_wrong(r, n->keys[i], "a year of four digits");
			continue;
		}
		snprintf(below, sizeof below, "%s.%d", key, (int)year);
		doc_at(r, below);
		read_list(r, below, n->items[i], year, allowed);
	}
}

/* --- the other keys --------------------------------------------------------------------- */

static void read_years(struct reader *r)
{
	const struct yaml_node *n = yaml_get(r->root, "years");
	const char *p;

	if (!n)
		return;
	doc_at(r, "years");
	p = doc_number(n->text, 4, &r->first_year);
	r->last_year = r->first_year;
	if (p && strncmp(p, "..", 2) == 0)
		p = doc_number(p + 2, 4, &r->last_year);
	if (n->kind == YAML_SCALAR && p && !*p && r->first_year >= YEAR_LOW &&
	    r->first_year <= r->last_year)
		return;
	doc_wrong(r, n, "2026 or 2020..2035");
	r->first_year = r->last_year = 2000; /* no second complaint about each date */
}

const char *const calendar_weekdays[CALENDAR_WEEK] = { "monday",   "tuesday", "wednesday",
	                                               "thursday", "friday",  "saturday",
	                                               "sunday" };

/* 0 Monday .. 6 Sunday; -1 none. */
static int weekday_of(const char *text)
{
	for (int i = 0; i < CALENDAR_WEEK; i++)
		if (strcmp(text, calendar_weekdays[i]) == 0 ||
		    (strlen(text) == CALENDAR_SHORT &&
		     strncmp(text, calendar_weekdays[i], CALENDAR_SHORT) == 0))
			return i;
	return -1;
}

static uint8_t read_weekdays(struct reader *r, const char *key, const struct yaml_node *n)
{
	uint8_t days = 0;

	doc_at(r, key);
	if (n->kind != YAML_LIST) {
		doc_wrong(r, n, "a list of weekdays: monday .. sunday");
		return 0;
	}
	for (size_t i = 0; i < n->n; i++) {
		int day = n->items[i]->kind == YAML_SCALAR ? weekday_of(n->items[i]->text) : -1;
		at_item(r, key, i);
		if (day < 0)
			doc_wrong(r, n->items[i], "a weekday: monday .. sunday");
		else
			days |= (uint8_t)(1u << day);
	}
	return days;
}

static void conflict(struct reader *r, const char *key, const char *other)
{
	const struct yaml_node *n = yaml_get(r->root, key);

	doc_at(r, key);
	diag_error(r->d, doc_here(r, n), "conflict", NULL, "`%s` does not go with `%s`", key,
	           other);
}

/* Which weekdays count; `dates` stand alone. */
static void read_week(struct reader *r)
{
	const struct yaml_node *off = yaml_get(r->root, "weekends");
	const struct yaml_node *on = yaml_get(r->root, "working");
	const struct yaml_node *dates = yaml_get(r->root, "dates");
	static const char *const others[] = { "weekends", "working", "holidays", "workdays" };

	for (size_t i = 0; dates && i < sizeof others / sizeof *others; i++)
		if (yaml_get(r->root, others[i]))
			conflict(r, others[i], "dates");
	if (off && on)
		conflict(r, "working", "weekends");
	r->path[0] = '\0';
	if (!off && !on && !dates)
		diag_error(r->d, doc_here(r, r->root), "missing_key",
		           "weekends: [saturday, sunday]",
		           "a calendar needs `weekends`, `working` or `dates`");
	if (on)
		r->weekdays = read_weekdays(r, "working", on);
	else if (off)
		r->weekdays = CALENDAR_ALL_WEEK & ~read_weekdays(r, "weekends", off);
}

static void read_names(struct reader *r)
{
	const struct yaml_node *name = yaml_get(r->root, "calendar");
	const struct yaml_node *text = yaml_get(r->root, "description");

	doc_at(r, "calendar");
	r->c->line = name->line;
	char why[NAME_WHY_BYTES];
	if (name->kind != YAML_SCALAR)
		doc_wrong(r, name, "a name");
	else if (word_wrong(name->text, why))
		diag_error(r->d, doc_here(r, name), "wrong_name", NULL, "'%.*s' is not a name: %s",
		           name_shown(name->text), name->text, why);
	else
		r->c->name = name->text;
	r->c->description = "";
	if (!text)
		return;
	doc_at(r, "description");
	if (text->kind == YAML_SCALAR && text->n <= CALENDAR_TEXT_MAX)
		r->c->description = text->text;
	else
		doc_wrong(r, text, "a text of at most 10000 bytes");
}

static void check_keys(struct reader *r)
{
	static const char *const keys[] = {
#define CALENDAR_KEY(key, shape, help) key,
#include "sched/calendar_keys.def"
	};
	size_t n = sizeof keys / sizeof *keys;

	for (size_t i = 0; i < r->root->n; i++) {
		const struct yaml_node *key = r->root->keys[i];
		struct nearest near = nearest_to(key->text);
		char hint[NEAREST_HINT_BYTES];
		size_t k = 0;
		while (k < n && strcmp(keys[k], key->text) != 0)
			nearest_try(&near, keys[k++]);
		if (k < n)
			continue;
		doc_at(r, key->text);
		diag_error(r->d, doc_here(r, key), "unknown_key", nearest_hint(&near, hint),
		           "a calendar has no key '%.80s'", key->text);
	}
}

static void make_days(struct reader *r)
{
	struct err err = { 0 };

	r->path[0] = '\0';
	if (r->full) {
		diag_error(r->d, doc_here(r, r->root), "limit", NULL,
		           "a calendar of more than %d dates", CALENDAR_DAYS_MAX);
		return;
	}
	CHECK(r->n <= CALENDAR_DAYS_MAX);
	if (calendar_new(r->weekdays, r->days, r->n, &r->c->days, &err) < 0)
		diag_error(r->d, doc_here(r, r->root), "conflict", NULL, "%s", err.text);
}

bool calendar_doc_is(const struct yaml_node *root)
{
	static const char *const others[] = { "workflow", "pipeline", "tasks", "steps" };

	if (root->kind != YAML_MAP || !yaml_get(root, "calendar"))
		return false;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (yaml_get(root, others[i]))
			return false;
	return true;
}

int calendar_doc_read(struct yaml_doc *doc, const char *file, struct diags *d,
                      struct calendar_doc **ret_doc)
{
	struct calendar_doc *c = mem_new(sizeof *c);
	struct reader r = { .d = d, .root = yaml_root(doc), .c = c };
	size_t errors = d->errors;

	c->doc = doc;
	r.file = c->file = mem_str(file);
	read_names(&r);
	check_keys(&r);
	read_years(&r);
	read_week(&r);
	read_days(&r, "holidays", false);
	read_days(&r, "workdays", true);
	read_days(&r, "dates", true);
	make_days(&r);
	free(r.days);
	if (d->errors != errors) {
		calendar_doc_free(c);
		return E_INVALID;
	}
	*ret_doc = c;
	return 0;
}

void calendar_doc_free(struct calendar_doc *c)
{
	if (!c)
		return;
	yaml_free(c->doc);
	free(c->file);
	calendar_free(c->days);
	free(c);
}

const char *calendar_doc_name(const struct calendar_doc *c)
{
	return c->name;
}

const char *calendar_doc_file(const struct calendar_doc *c)
{
	return c->file;
}

const char *calendar_doc_description(const struct calendar_doc *c)
{
	return c->description;
}

const struct calendar *calendar_doc_days(const struct calendar_doc *c)
{
	return c->days;
}

int calendar_doc_line(const struct calendar_doc *c)
{
	return c->line;
}

void calendar_doc_print(const struct calendar_doc *c, struct buf *out)
{
	yaml_print(yaml_root(c->doc), 0, out);
}
