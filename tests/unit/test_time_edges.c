/* The edges of time: the first and last years, plans without an end or a beginning, calendars
 * that allow nothing more, names that are too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/calendar.h"
#include "sched/cron.h"
#include "sched/cycle.h"
#include "sched/link.h"
#include "sched/macro.h"
#include "sched/offset.h"
#include "sched/when.h"
#include "sched/window.h"
#include "tests/unit/test_time.h"
#include "util/alloc.h"
#include "util/buf.h"

static struct cron *cron_of(const char *text)
{
	struct cron *c = NULL;

	assert_int_equal(cron_parse(text, "p/w/t", &c, NULL), 0);
	return c;
}

static void what_lies_outside_of_time_prints_as_never(void **state)
{
	char out[WHEN_TEXT];

	(void)state;
	assert_string_equal(when_print(PLAN_NEVER, out), "never");
	assert_string_equal(when_print(PLAN_BEFORE, out), "never");
	assert_string_equal(when_print(TIME_MAX, out), "9999-12-31T23:59:59Z");
	assert_string_equal(when_print(TIME_MIN, out), "0001-01-01T00:00:00Z");
}

static void days_before_1970_have_weekdays_too(void **state)
{
	(void)state;
	assert_int_equal(civil_weekday(-1), 3); /* 1969-12-31, a Wednesday */
	assert_int_equal(civil_weekday(-4), 7);
	assert_int_equal(civil_monday(-1), -3);
	assert_int_equal(label_day(-1), -1);
	struct calendar *c;
	assert_int_equal(calendar_new(CALENDAR_WORKWEEK, NULL, 0, &c, NULL), 0);
	assert_int_equal(calendar_next(c, -5), -3); /* from a Saturday */
	assert_int_equal(calendar_prev(c, -4), -6);
	assert_true(calendar_allows(c, -1));
	calendar_free(c);
}

static void a_cron_ends_with_its_last_year_and_with_time(void **state)
{
	static const char *const texts[] = { "0 0 0 1 1 ? 1999,2030",
		                             "0 0 * 1 1 ? 1999,2030",
		                             "0 30 2 * * ?",
		                             "0 0 * * * ?",
		                             "0 0 29 2 *",
		                             "0 0 0 31 12 ?" };
	static const char *const zones[] = { "UTC", "Asia/Tokyo", "America/New_York" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (size_t k = 0; k < 3; k++) {
			struct cron *c = cron_of(texts[i]);
			const struct tz *tz = zone(zones[k]);
			assert_int_equal(cron_next(c, tz, TIME_MAX), PLAN_NEVER);
			assert_int_equal(cron_prev(c, tz, TIME_MIN), PLAN_BEFORE);
			int64_t first = cron_next(c, tz, INT64_MIN);
			int64_t last = cron_prev(c, tz, INT64_MAX);
			assert_true(first >= TIME_MIN && last <= TIME_MAX && first < last);
			assert_int_equal(cron_prev(c, tz, first), PLAN_BEFORE);
			assert_int_equal(cron_next(c, tz, last), PLAN_NEVER);
			for (int64_t t = TIME_MAX - 3 * DAY_S; t < TIME_MAX; t += 3 * 3600)
				assert_true(cron_next(c, tz, t) > t);
			for (int64_t t = TIME_MIN + 3 * DAY_S; t > TIME_MIN; t -= 3 * 3600)
				assert_true(cron_prev(c, tz, t) < t);
			cron_free(c);
		}
}

static void a_cron_that_never_fires_says_so(void **state)
{
	(void)state;
	struct cron *c = cron_of("0 0 30 2 *");

	assert_int_equal(cron_next(c, zone("UTC"), 0), PLAN_NEVER);
	assert_int_equal(cron_prev(c, zone("UTC"), 0), PLAN_BEFORE);
	cron_free(c);
	cron_free(NULL);
	struct cron *a = cron_of("H H * * *"), *b = NULL;
	assert_int_equal(cron_parse("H H * * *", "p/w/other", &b, NULL), 0);
	assert_false(cron_same(a, b)); /* the same text at another time */
	cron_free(a);
	cron_free(b);
	a = cron_of("0 */1 * * *");
	b = cron_of("0 0 * * 7-2");
	assert_int_equal(cron_unit(a), CU_HOUR);
	assert_true(cron_next(b, zone("UTC"), 0) > 0);
	cron_free(a);
	cron_free(b);
}

static int refused(struct schedule s)
{
	struct err err = { 0 };
	struct plan *p;
	int r = plan_new(&s, &p, &err);

	assert_true(r < 0 && err.text[0]);
	return r;
}

static void plans_that_mean_nothing_are_refused(void **state)
{
	(void)state;
	struct cron *c = cron_of("0 6 * * *");
	struct schedule s = every(1, CU_DAY, "UTC");

	s.unit = CU_FIRE;
	refused(s);
	s = every(1, CU_NONE, "UTC");
	s.cron = c;
	s.unit = CU_ONCE;
	refused(s);
	s.unit = (enum cycle_unit)99;
	refused(s);
	s = every(0, CU_DAY, "UTC");
	refused(s);
	s.step = 100001;
	refused(s);
	s = every(1, CU_DAY, "UTC");
	s.start = TIME_MAX + 1;
	refused(s);
	s.start = INT64_MIN;
	s.end = TIME_MIN - 1;
	refused(s);
	s = every(1, CU_DAY, "UTC");
	s.offset = (struct plan_offset){ OFF_CLOCK, -1, 0 };
	refused(s);
	s.offset = (struct plan_offset){ OFF_CLOCK, 0, -1 };
	refused(s);
	s.offset = (struct plan_offset){ OFF_CLOCK, 0, INT64_C(4000) * DAY_S };
	refused(s);
	s.offset = (struct plan_offset){ OFF_CLOCK, 4000, 0 };
	refused(s);
	s.offset = (struct plan_offset){ OFF_MONTH_DAY, 5, 0 };
	refused(s);
	s.offset = (struct plan_offset){ OFF_WEEKDAY, 5, 0 };
	refused(s);
	s = every(1, CU_NONE, "UTC");
	s.cron = c;
	s.offset = (struct plan_offset){ OFF_LAST_DAY, 0, 0 };
	refused(s);
	s.offset = (struct plan_offset){ OFF_WEEKDAY, 5, 0 };
	refused(s);
	s = every(1, CU_MONTH, "UTC");
	s.offset = (struct plan_offset){ OFF_MONTH_DAY, 32, 0 };
	refused(s);
	s.offset.days = 0;
	refused(s);
	s = every(1, CU_WEEK, "UTC");
	s.offset = (struct plan_offset){ OFF_WEEKDAY, 8, 0 };
	refused(s);
	s.offset.days = 0;
	refused(s);
	cron_free(c);
	plan_free(NULL);
}

static void what_runs_once_or_when_asked_has_one_date_or_none(void **state)
{
	(void)state;
	struct schedule s = every(1, CU_ONCE, "UTC");

	s.start = 1000;
	s.fire = FIRE_END;
	struct plan *p = plan_of(s);
	assert_int_equal(plan_next(p, 0), 1000);
	assert_int_equal(plan_next(p, 1000), PLAN_NEVER);
	assert_int_equal(plan_prev(p, 2000), 1000);
	assert_int_equal(plan_prev(p, 1000), PLAN_BEFORE);
	assert_int_equal(plan_due(p, 1000), 1000);
	assert_int_equal(plan_period_end(p, 1000), PLAN_NEVER);
	plan_free(p);
	s = every(1, CU_NONE, "UTC");
	s.fire = FIRE_END;
	p = plan_of(s);
	assert_int_equal(plan_next(p, 0), PLAN_NEVER);
	assert_int_equal(plan_prev(p, 0), PLAN_BEFORE);
	assert_int_equal(plan_due(p, 77), 77);
	assert_int_equal(plan_count(p, INT64_MIN, INT64_MAX, 9), 0);
	plan_free(p);
}

static void the_last_period_of_time_has_no_end(void **state)
{
	(void)state;
	struct schedule s = every(1, CU_YEAR, "UTC");

	s.fire = FIRE_END;
	struct plan *p = plan_of(s);
	int64_t last = label("9999-01-01");
	assert_int_equal(plan_prev(p, INT64_MAX), label("9998-01-01"));
	assert_false(plan_has(p, last));
	assert_int_equal(plan_period_end(p, last), PLAN_NEVER);
	assert_int_equal(plan_due(p, last), PLAN_NEVER);
	struct macro_scope scope = { .plan = p, .run_date = last };
	struct buf out;
	buf_init(&out);
	assert_int_equal(macro_expand("${period_end} ${biz_date}", &scope, &out, NULL), 0);
	assert_string_equal(buf_str(&out), "9999-01-01 9998-12-31");
	buf_done(&out);
	plan_free(p);
	struct calendar *none;
	calendar_new(0, NULL, 0, &none, NULL);
	s.calendar = none;
	for (int on = 0; on < 2; on++)
		for (int shift = SHIFT_NONE; shift <= SHIFT_DROP; shift++) {
			s.calendar_on_due = on;
			s.shift = (enum plan_shift)shift;
			p = plan_of(s);
			assert_int_equal(plan_next(p, INT64_MIN), PLAN_NEVER);
			assert_int_equal(plan_prev(p, INT64_MAX), PLAN_BEFORE);
			(void)plan_due(p, last);
			plan_free(p);
		}
	calendar_free(none);
}

static const struct plan_offset offsets[] = {
	{ 0 },
	{ .kind = OFF_ELAPSED, .seconds = 3000 * DAY_S },
	{ .kind = OFF_CLOCK, .days = 1 },
	{ .kind = OFF_WEEKDAY, .days = 5, .seconds = 7200 },
	{ .kind = OFF_LAST_DAY, .seconds = 2 * DAY_S },
};

/* From both sides, and as many as are counted. */
static void dates_of_the_end_are_due_in_time(struct plan *p, const struct schedule *s)
{
	int64_t n = 0, back = 0, last = PLAN_BEFORE;

	for (int64_t t = plan_next(p, s->start - 1); t != PLAN_NEVER; t = plan_next(p, t), n++) {
		assert_true(plan_has(p, t) && plan_due(p, t) <= TIME_MAX);
		last = t;
	}
	assert_int_equal(plan_prev(p, INT64_MAX), last);
	for (int64_t t = plan_prev(p, INT64_MAX); t != PLAN_BEFORE; t = plan_prev(p, t), back++)
		;
	assert_int_equal(back, n);
	assert_int_equal(plan_count_all(p, s->start, TIME_MAX), n);
	int64_t out = plan_next_bare(p, last == PLAN_BEFORE ? s->start - 1 : last);
	assert_true(out == PLAN_NEVER || plan_due(p, out) > TIME_MAX);
}

static void no_date_is_planned_whose_due_time_is_past_the_end_of_time(void **state)
{
	static const char *const zones[] = { "UTC", "Europe/Berlin", "Pacific/Kiritimati" };
	enum { OFFSETS = sizeof offsets / sizeof *offsets, ALL = 3 * OFFSETS * 2 * 2 };
	int plans = 0;

	(void)state;
	for (int unit = CU_MINUTE; unit <= CU_YEAR; unit++)
		for (int k = 0; k < ALL; k++) {
			struct schedule s = every(k / 6 / OFFSETS ? 7 : 1, (enum cycle_unit)unit,
			                          zones[k % 3]);
			s.fire = k / 3 % 2 ? FIRE_END : FIRE_START;
			s.offset = offsets[k / 6 % OFFSETS];
			s.start = label(unit == CU_MINUTE ? "9999-12-31" : "9970-12-01");
			s.start = unit == CU_HOUR ? label("9999-12-01") : s.start;
			struct plan *p;
			if (plan_new(&s, &p, NULL) < 0)
				continue; /* no such offset of such a cycle */
			dates_of_the_end_are_due_in_time(p, &s);
			plan_free(p);
			plans++;
		}
	assert_true(plans > 100);
}

static void a_cron_of_the_last_year_and_what_runs_once_keep_to_the_end_of_time(void **state)
{
	struct cron *c;

	(void)state;
	assert_int_equal(cron_parse("30 2 * * *", "p/w/t", &c, NULL), 0);
	struct schedule s = every(1, CU_NONE, "Europe/Berlin");
	s.cron = c;
	s.start = label("9999-11-01");
	for (int fire = FIRE_START; fire <= FIRE_END; fire++) {
		s.fire = (enum plan_fire)fire;
		struct plan *p = plan_of(s);
		dates_of_the_end_are_due_in_time(p, &s);
		plan_free(p);
	}
	cron_free(c);
	c = cron_of("0 0 0 1 1 ? 2028-2030");
	s = every(1, CU_NONE, "UTC");
	s.cron = c;
	s.fire = FIRE_END;
	struct plan *p = plan_of(s); /* the period of its last year has no end */
	assert_int_equal(plan_prev(p, INT64_MAX), label("2029-01-01"));
	assert_int_equal(plan_next(p, label("2029-01-01")), PLAN_NEVER);
	plan_free(p);
	cron_free(c);
	s = every(1, CU_ONCE, "UTC");
	s.start = label("9999-12-31");
	s.offset = (struct plan_offset){ .kind = OFF_ELAPSED, .seconds = DAY_S };
	p = plan_of(s);
	assert_int_equal(plan_next(p, 0), PLAN_NEVER);
	assert_int_equal(plan_prev(p, TIME_MAX), PLAN_BEFORE);
	plan_free(p);
}

/* One allowed date far from the others: all that lies between is passed at once, whichever
 * date is tested and however long the cycle. */
static void a_calendar_of_one_date_is_reached_from_both_sides(void **state)
{
	static const enum cycle_unit units[] = { CU_MINUTE, CU_HOUR,  CU_DAY,
		                                 CU_WEEK,   CU_MONTH, CU_YEAR };
	struct calendar_day only = { (int32_t)civil_to_day(2030, 1, 1), true };
	struct calendar *c;

	(void)state;
	assert_int_equal(calendar_new(0, &only, 1, &c, NULL), 0);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		for (int k = 0; k < 16; k++) {
			struct schedule s = every(1, units[i], "Europe/Berlin");
			s.calendar = c;
			s.calendar_on_due = k & 1;
			s.fire = k & 2 ? FIRE_END : FIRE_START;
			s.shift = (enum plan_shift)(k >> 2);
			s.start = local("Europe/Berlin", "2029-01-01");
			s.end = local("Europe/Berlin", "2031-02-01");
			struct plan *p = plan_of(s);
			int64_t n = 0, back = 0;
			for (int64_t t = plan_next(p, 0); t != PLAN_NEVER; t = plan_next(p, t), n++)
				assert_true(plan_has(p, t));
			for (int64_t t = plan_prev(p, TIME_MAX); t != PLAN_BEFORE;
			     t = plan_prev(p, t), back++)
				assert_true(plan_has(p, t));
			assert_int_equal(n, back);
			plan_free(p);
		}
	calendar_free(c);
}

/* The last period has no end, so no due date: what the calendar says of it is about its start. */
static void the_calendar_at_the_end_of_time(void **state)
{
	struct calendar_day days[] = { { (int32_t)civil_to_day(2030, 1, 1), true },
		                       { (int32_t)civil_to_day(10000, 1, 1), true } };
	struct calendar *c;

	(void)state;
	assert_int_equal(calendar_new(0, days, 2, &c, NULL), 0);
	struct schedule s = every(1, CU_YEAR, "UTC");
	s.calendar = c;
	s.calendar_on_due = true;
	s.fire = FIRE_END;
	struct plan *p = plan_of(s);
	assert_int_equal(plan_prev(p, label("2200-01-01")), label("2029-01-01"));
	assert_int_equal(plan_prev(p, TIME_MAX), PLAN_BEFORE); /* a search ends after 400 years */
	assert_true(plan_next(p, label("2029-01-01")) > label("2029-01-01"));
	assert_int_equal(plan_next(p, label("9990-01-01")), PLAN_NEVER);
	plan_free(p);
	s = every(1, CU_ONCE, "UTC");
	s.calendar = c;
	for (int k = 0; k < 2; k++) {
		s.calendar_on_due = k;
		s.start = label("2029-01-01");
		p = plan_of(s);
		assert_int_equal(plan_next(p, 0), PLAN_NEVER);
		assert_int_equal(plan_prev(p, TIME_MAX), PLAN_BEFORE);
		plan_free(p);
		s.start = label("2030-01-01");
		p = plan_of(s);
		assert_int_equal(plan_next(p, 0), s.start);
		plan_free(p);
	}
	calendar_free(c);
}

static void a_year_of_a_plan_that_is_over_shifts_to_nothing(void **state)
{
	struct calendar_day only = { (int32_t)civil_to_day(2026, 6, 1), true };
	struct calendar *c;

	(void)state;
	assert_int_equal(calendar_new(0, &only, 1, &c, NULL), 0);
	struct schedule s = every(1, CU_MONTH, "UTC");
	s.calendar = c;
	s.shift = SHIFT_NEXT;
	struct plan *p = plan_of(s);
	assert_int_equal(plan_due(p, label("2026-07-01")), PLAN_NEVER);
	assert_int_equal(plan_due(p, label("2026-05-01")), label("2026-06-01"));
	plan_free(p);
	s.shift = SHIFT_PREVIOUS;
	p = plan_of(s);
	assert_int_equal(plan_due(p, label("2026-05-01")), PLAN_NEVER);
	assert_int_equal(plan_due(p, label("2026-07-01")), label("2026-06-01"));
	plan_free(p);
	calendar_free(c);
}

static void offsets_have_limits(void **state)
{
	struct plan_offset o = { OFF_CLOCK, 1, 2 * DAY_S + 3600 };
	struct buf out;
	int64_t s;

	(void)state;
	assert_true(duration_parse("30000d30000d", &s, NULL) < 0);
	assert_true(duration_parse("99999999999w", &s, NULL) < 0);
	assert_true(offset_parse("day 1000000 02:00", &o, NULL) < 0);
	o = (struct plan_offset){ OFF_CLOCK, 0, 2 * DAY_S + 3600 };
	buf_init(&out);
	offset_print(&o, &out);
	assert_string_equal(buf_str(&out), "+2 01:00");
	buf_done(&out);
}

static void windows_have_limits(void **state)
{
	struct window_expr *w;
	struct buf text;

	(void)state;
	buf_init(&text);
	buf_puts(&text, "{@day");
	for (int i = 0; i < LINK_SPANS_MAX; i++)
		buf_printf(&text, ",@day-%dd", i + 1);
	buf_puts(&text, "}");
	assert_int_equal(window_parse(buf_str(&text), &w, NULL), E_LIMIT);
	buf_clear(&text);
	for (int i = 0; i < WINDOW_TEXT_MAX + 1; i++)
		buf_putc(&text, ' ');
	assert_true(window_parse(buf_str(&text), &w, NULL) < 0);
	buf_done(&text);
}

static const char *large(void *ctx, const char *name)
{
	(void)name;
	return ctx;
}

static void macros_have_limits(void **state)
{
	static const char *const known[] = { "a", NULL };
	struct plan *p = plan_of(every(1, CU_DAY, "UTC"));
	char *big = mem_new(1 << 20);
	struct macro_scope scope = { p, plan_next(p, 0), large, known, big };
	struct buf text, out;

	(void)state;
	memset(big, 'x', (1 << 20) - 1);
	buf_init(&text);
	buf_init(&out);
	buf_puts(&text, "${");
	for (int i = 0; i <= MACRO_NAME_MAX; i++)
		buf_putc(&text, 'n');
	buf_puts(&text, "}");
	assert_true(macro_check(buf_str(&text), NULL, NULL, NULL, NULL) < 0);
	buf_clear(&text);
	assert_int_equal(macro_expand("${a}${a}${a}${a}${a}", &scope, &out, NULL), E_LIMIT);
	for (int i = 0; i <= MACRO_COUNT_MAX; i++)
		buf_puts(&text, "$[yyyy]");
	assert_int_equal(macro_check(buf_str(&text), NULL, NULL, NULL, NULL), E_LIMIT);
	assert_true(macro_check("$[add_months(x, 1)]", NULL, NULL, NULL, NULL) < 0);
	/* What is no amount is text, as in yyyy-MM-01. */
	static const char *const texts[] = { "99999999", "1/1000/1000", "1000000*1000",
		                             "1000000*4+1", "1/1000+1/1001" };
	scope.run_date = label("2026-03-28 10:11:12");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (int sign = 0; sign < 2; sign++) {
			char macro[60], want[60];
			snprintf(macro, sizeof macro, "$[yyyy%c%s]", "+-"[sign], texts[i]);
			snprintf(want, sizeof want, "2026%c%s", "+-"[sign], texts[i]);
			buf_clear(&out);
			int r = macro_expand(macro, &scope, &out, NULL);
			if (i < 3 && (r < 0 || strcmp(buf_str(&out), want) != 0))
				fail_msg("%s: %s", macro, buf_str(&out));
		}
	buf_clear(&out);
	assert_true(macro_expand("$[yyyy-1000000*4-1]", &scope, &out, NULL) <= 0);
	buf_clear(&out);
	assert_int_equal(macro_expand("$[timestamp(yyyyMMddHHmmss)] $[timestamp(yyyyMMddHHmm)] "
	                              "$[timestamp(MM)]",
	                              &scope, &out, NULL),
	                 0);
	buf_done(&text);
	buf_done(&out);
	plan_free(p);
	free(big);
}

static void dates_of_before_1970_are_formatted(void **state)
{
	struct plan *p = plan_of(every(1, CU_DAY, "UTC"));
	struct macro_scope scope = { .plan = p, .run_date = label("1960-02-03") };
	struct buf out;

	(void)state;
	buf_init(&out);
	assert_int_equal(macro_expand("$[week_first_day(yyyy-MM-dd)] $[yyyyMMdd-1] $[HH-1/24]",
	                              &scope, &out, NULL),
	                 0);
	assert_string_equal(buf_str(&out), "1960-02-01 19600202 23");
	buf_done(&out);
	plan_free(p);
}

static void a_macro_of_a_cron_shows_its_time(void **state)
{
	struct cron *c = cron_of("30 6 * * *");
	struct schedule s = every(1, CU_NONE, "UTC");
	struct buf out;

	(void)state;
	s.cron = c;
	struct plan *p = plan_of(s);
	struct macro_scope scope = { .plan = p, .run_date = label("2026-03-28 06:30") };
	buf_init(&out);
	assert_int_equal(macro_expand("${run_date}", &scope, &out, NULL), 0);
	assert_string_equal(buf_str(&out), "2026-03-28 06:30:00");
	buf_done(&out);
	plan_free(p);
	cron_free(c);
}

static int64_t lead(enum link_kind kind, int prev, struct schedule parent, struct schedule child)
{
	struct task_link l = { .kind = kind, .prev = prev };
	struct plan *p = plan_of(parent), *c = plan_of(child);
	int64_t most = link_lead(&l, p, c);
	struct link_span spans[LINK_SPANS_MAX];

	(void)link_spans(&l, p, c, plan_next(c, 0), spans);
	plan_free(p);
	plan_free(c);
	return most;
}

static void leads_are_of_where_both_plans_have_begun(void **state)
{
	struct schedule day = every(1, CU_DAY, "UTC"), later = day, over = day,
			once = every(1, CU_ONCE, "UTC"), none = every(1, CU_NONE, "UTC");

	(void)state;
	later.start = label("2050-01-01");
	over.start = label("2020-01-01");
	over.end = label("2020-01-05");
	once.start = label("2020-01-03");
	assert_int_equal(lead(LK_SAME, 0, later, day), 0);
	assert_int_equal(lead(LK_SAME, 0, day, later), 0);
	assert_true(lead(LK_SAME, 0, later, over) < -INT64_C(100) * 365 * DAY_S);
	assert_true(lead(LK_SAME, 0, day, none) < -INT64_C(100) * 365 * DAY_S);
	assert_true(lead(LK_SAME, 0, none, day) < -INT64_C(100) * 365 * DAY_S);
	assert_true(lead(LK_SMALL, 0, once, day) <= 0);
	assert_true(lead(LK_SMALL, 0, none, day) < 0);
	assert_int_equal(lead(LK_PREV, 1, day, day), 0 - DAY_S);
	assert_int_equal(lead(LK_SAME, 0, every(1, CU_MONTH, "UTC"), day), 0);
	struct cron *c = cron_of("0,30 0 6 * * ?");
	struct schedule fires = every(1, CU_NONE, "UTC");
	fires.cron = c;
	fires.start = label("2026-01-01");
	assert_true(lead(LK_SMALL, 0, fires, day) <= 0);
	assert_true(lead(LK_SAME, 0, day, fires) <= 0);
	/* After its end nothing holds. */
	fires.end = label("2026-01-10");
	assert_true(lead(LK_SMALL, 0, fires, day) <= 0);
	struct plan *parent = plan_of(fires), *child = plan_of(day);
	struct task_link small = { .kind = LK_SMALL };
	struct link_span spans[LINK_SPANS_MAX];
	assert_true(link_spans(&small, parent, child, label("2026-06-01"), spans) >= 0);
	assert_int_equal(link_spans(&small, parent, child, label("2025-06-01"), spans), 0);
	plan_free(parent);
	plan_free(child);
	cron_free(c);
	struct task_link l = { .kind = LK_SMALL };
	assert_int_equal(link_depend_type(&l), 3);
	l.kind = LK_LARGE;
	assert_int_equal(link_depend_type(&l), 2);
	l.kind = LK_SAME;
	assert_int_equal(link_depend_type(&l), 1);
	l.kind = LK_WINDOW;
	assert_int_equal(link_depend_type(&l), 0);
	l = (struct task_link){ .kind = LK_PREV, .prev = 4 };
	assert_int_equal(link_depend_type(&l), -4);
}

static void the_walk_of_a_zone_remembers_its_place(void **state)
{
	const struct tz *tz = zone("Europe/Berlin");
	size_t hint = 0;

	(void)state;
	for (int64_t t = 0; t < INT64_C(1700000000); t += 40 * DAY_S)
		for (int k = 0; k < 2; k++)
			assert_int_equal(tz_offset_hint(tz, t, &hint), tz_offset(tz, t));
	assert_int_equal(tz_offset_hint(tz, -INT64_C(3000000000), &hint),
	                 tz_offset(tz, -INT64_C(3000000000)));
	assert_int_equal(tz_offset_hint(tz, INT64_C(9000000000), &hint),
	                 tz_offset(tz, INT64_C(9000000000)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lies_outside_of_time_prints_as_never),
		cmocka_unit_test(days_before_1970_have_weekdays_too),
		cmocka_unit_test(a_cron_ends_with_its_last_year_and_with_time),
		cmocka_unit_test(a_cron_that_never_fires_says_so),
		cmocka_unit_test(plans_that_mean_nothing_are_refused),
		cmocka_unit_test(what_runs_once_or_when_asked_has_one_date_or_none),
		cmocka_unit_test(the_last_period_of_time_has_no_end),
		cmocka_unit_test(no_date_is_planned_whose_due_time_is_past_the_end_of_time),
		cmocka_unit_test(
			a_cron_of_the_last_year_and_what_runs_once_keep_to_the_end_of_time),
		cmocka_unit_test(a_calendar_of_one_date_is_reached_from_both_sides),
		cmocka_unit_test(the_calendar_at_the_end_of_time),
		cmocka_unit_test(a_year_of_a_plan_that_is_over_shifts_to_nothing),
		cmocka_unit_test(offsets_have_limits),
		cmocka_unit_test(windows_have_limits),
		cmocka_unit_test(macros_have_limits),
		cmocka_unit_test(dates_of_before_1970_are_formatted),
		cmocka_unit_test(a_macro_of_a_cron_shows_its_time),
		cmocka_unit_test(leads_are_of_where_both_plans_have_begun),
		cmocka_unit_test(the_walk_of_a_zone_remembers_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
