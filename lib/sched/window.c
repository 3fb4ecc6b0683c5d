/* Windows of links: [t-1d, t), {t-1d, @week}, {latest}, read, printed and evaluated for one
 * instant of the child. A bound is an anchor and offsets, applied in their order; minutes and
 * hours move the instant, longer units the local date and keep its clock time. A window says
 * points; which dates of the parent lie in them is link.c's. */
#include "sched/window.h"

#include <stdlib.h>
#include <string.h>

#include "sched/civil.h"
#include "sched/plan_impl.h"
#include "sched/tz.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"

struct offset {
	int32_t amount; /* signed */
	char unit;      /* m h d w M y */
};

struct bound {
	enum cycle_unit anchor; /* CU_NONE: t */
	size_t n;
	struct offset offsets[WINDOW_OFFSETS_MAX];
};

struct item {
	struct bound lo, hi;
	bool after_lo, with_hi;
};

struct window_expr {
	enum window_form form;
	size_t n;
	struct item items[];
};

/* --- parsing ------------------------------------------------------------------------------ */

struct text {
	const char *all, *p;
	struct err *err;
};

static int window_wrong(const struct text *x, const char *what)
{
	return err_set(x->err, E_INVALID, "window \"%.120s\", column %d: %s", x->all,
	               (int)(x->p - x->all) + 1, what);
}

static void skip_blanks(struct text *x)
{
	while (*x->p == ' ' || *x->p == '\t')
		x->p++;
}

static bool window_take(struct text *x, const char *word)
{
	size_t n = strlen(word);

	skip_blanks(x);
	if (strncmp(x->p, word, n) != 0)
		return false;
	x->p += n;
	return true;
}

static int take_offset(struct text *x, int sign, struct bound *b)
{
	int32_t v = 0;

	skip_blanks(x);
	if (*x->p < '0' || *x->p > '9')
		return window_wrong(x, "a number is missing after the sign");
	for (; *x->p >= '0' && *x->p <= '9'; x->p++) {
		v = v * 10 + (*x->p - '0');
		if (v > WINDOW_AMOUNT_MAX)
			return window_wrong(x, "the number is too large");
	}
	skip_blanks(x);
	if (!*x->p || !strchr("mhdwMy", *x->p))
		return window_wrong(x, "the unit is missing: m minutes, h hours, d days, w weeks, "
		                       "M months, y years");
	if (b->n == WINDOW_OFFSETS_MAX)
		return window_wrong(x, "too many offsets in one bound");
	b->offsets[b->n++] = (struct offset){ sign * v, *x->p++ };
	return 0;
}

static int take_bound(struct text *x, struct bound *b)
{
	static const struct {
		const char *word;
		enum cycle_unit unit;
	} anchors[] = {
		{ "@minute", CU_MINUTE }, { "@hour", CU_HOUR },   { "@day", CU_DAY },
		{ "@week", CU_WEEK },     { "@month", CU_MONTH }, { "@year", CU_YEAR },
		{ "t", CU_NONE },
	};
	size_t i = 0, n = sizeof anchors / sizeof anchors[0];
	int r = 0;

	while (i < n && !window_take(x, anchors[i].word))
		i++;
	if (i == n)
		return window_wrong(x, "expected t, @minute, @hour, @day, @week, @month or @year");
	b->anchor = anchors[i].unit;
	while (r == 0) {
		if (window_take(x, "+"))
			r = take_offset(x, 1, b);
		else if (window_take(x, "-"))
			r = take_offset(x, -1, b);
		else
			break;
	}
	return r;
}

static int take_range(struct text *x, struct item *item)
{
	int r;

	item->after_lo = x->p[-1] == '(';
	r = take_bound(x, &item->lo);
	if (r < 0)
		return r;
	if (!window_take(x, ","))
		return window_wrong(x, "expected a comma between the two bounds");
	r = take_bound(x, &item->hi);
	if (r < 0)
		return r;
	if (window_take(x, "]"))
		item->with_hi = true;
	else if (!window_take(x, ")"))
		return window_wrong(x, "expected ) or ] at the end of the range");
	return 0;
}

static int take_list(struct text *x, struct window_expr *e)
{
	int r = 0;

	e->form = WF_LIST;
	if (window_take(x, "latest")) {
		e->form = WF_LATEST;
		e->n = 1;
		return window_take(x, "}") ? 0 : window_wrong(x, "expected } after latest");
	}
	do {
		if (e->n == LINK_SPANS_MAX)
			return err_set(x->err, E_LIMIT, "a window of more than %d items",
			               LINK_SPANS_MAX);
		r = take_bound(x, &e->items[e->n++].lo);
		if (r < 0)
			return r;
	} while (window_take(x, ","));
	return window_take(x, "}") ? 0 : window_wrong(x, "expected a comma or } in the list");
}

int window_parse(const char *text, struct window_expr **ret_expr, struct err *err)
{
	struct text x = { text, text, err };
	struct window_expr *e;
	int r;

	if (strlen(text) > WINDOW_TEXT_MAX)
		return err_set(err, E_INVALID, "a window is at most %d letters long",
		               WINDOW_TEXT_MAX);
	e = mem_new(sizeof *e + LINK_SPANS_MAX * sizeof e->items[0]);
	if (window_take(&x, "[") || window_take(&x, "(")) {
		e->form = WF_RANGE;
		e->n = 1;
		r = take_range(&x, &e->items[0]);
	} else if (window_take(&x, "{")) {
		r = take_list(&x, e);
	} else {
		r = window_wrong(&x, "a window begins with [, ( or {");
	}
	skip_blanks(&x);
	if (r == 0 && *x.p)
		r = window_wrong(&x, "nothing may follow the window");
	if (r < 0) {
		free(e);
		return r;
	}
	CHECK(e->n >= 1 && e->n <= LINK_SPANS_MAX);
	*ret_expr = mem_grow(e, 1, sizeof *e + e->n * sizeof e->items[0]);
	return 0;
}

void window_free(struct window_expr *e)
{
	free(e);
}

/* --- printing ------------------------------------------------------------------------------ */

static void print_bound(const struct bound *b, struct buf *out)
{
	if (b->anchor == CU_NONE)
		buf_puts(out, "t");
	else
		buf_printf(out, "@%s", unit_name(b->anchor));
	for (size_t i = 0; i < b->n; i++)
		buf_printf(out, "%+d%c", b->offsets[i].amount, b->offsets[i].unit);
}

void window_print(const struct window_expr *e, struct buf *out)
{
	if (e->form == WF_LATEST) {
		buf_puts(out, "{latest}");
		return;
	}
	buf_putc(out, e->form == WF_LIST ? '{' : e->items[0].after_lo ? '(' : '[');
	for (size_t i = 0; i < e->n; i++) {
		if (i)
			buf_puts(out, ", ");
		print_bound(&e->items[i].lo, out);
	}
	if (e->form == WF_RANGE) {
		buf_puts(out, ", ");
		print_bound(&e->items[0].hi, out);
	}
	buf_putc(out, e->form == WF_LIST ? '}' : e->items[0].with_hi ? ']' : ')');
}

enum window_form window_form(const struct window_expr *e)
{
	return e->form;
}

size_t window_count(const struct window_expr *e)
{
	return e->n;
}

/* --- evaluating ------------------------------------------------------------------------------ */

/* A floor of a day or longer is a date: its label is midnight even where that was left out,
 * so that a day before it is a midnight again. */
static struct window_point anchor_point(const struct plan *child, enum cycle_unit unit, int64_t t)
{
	struct cycle of_child = plan_cycle(child);
	const struct tz *tz = child->s.tz;
	struct window_point at = { t, 0 };

	if (unit_is_long(unit)) {
		struct cycle c = cycle_make(tz, unit, 1, TIME_MIN);
		at.label = cycle_floor_day(&c, local_day(tz, t)) * DAY_S;
		at.instant = tz_first(tz, at.label);
		return at;
	}
	if (unit != CU_NONE)
		at.instant = unit_floor(tz, unit, t);
	else if (unit_is_long(child->unit) && !child->s.cron && cycle_floor(&of_child, t) == t) {
		at.label = local_day(tz, t) * DAY_S;
		return at;
	}
	at.label = local_label(tz, at.instant);
	return at;
}

static struct window_point move(const struct tz *tz, struct window_point at, struct offset by)
{
	int64_t day = label_day(at.label), clock = at.label - day * DAY_S;

	if (by.unit == 'm' || by.unit == 'h') {
		at.instant += by.amount * INT64_C(60) * (by.unit == 'h' ? 60 : 1);
		at.label = local_label(tz, at.instant);
		return at;
	}
	switch (by.unit) {
	case 'd':
		day += by.amount;
		break;
	case 'w':
		day += INT64_C(7) * by.amount;
		break;
	case 'M':
		day = civil_add_months(day, by.amount);
		break;
	default:
		CHECK(by.unit == 'y');
		day = civil_add_months(day, INT64_C(12) * by.amount);
		break;
	}
	at.label = day * DAY_S + clock;
	at.instant = tz_first(tz, at.label);
	return at;
}

static struct window_point bound_point(const struct bound *b, const struct plan *child, int64_t t)
{
	struct window_point at = anchor_point(child, b->anchor, t);

	CHECK(b->n <= WINDOW_OFFSETS_MAX);
	for (size_t i = 0; i < b->n; i++)
		at = move(child->s.tz, at, b->offsets[i]);
	return at;
}

struct window_item window_eval(const struct window_expr *e, size_t i, const struct plan *child,
                               int64_t t)
{
	CHECK(i < e->n);
	const struct item *item = &e->items[i];
	struct window_item r = { .after_lo = item->after_lo, .with_hi = item->with_hi };

	r.lo = bound_point(&item->lo, child, t);
	r.hi = e->form == WF_RANGE ? bound_point(&item->hi, child, t) : r.lo;
	return r;
}
