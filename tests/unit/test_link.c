/* sched/link and window: SEMANTICS section 2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/calendar.h"
#include "sched/cron.h"
#include "sched/link.h"
#include "sched/window.h"
#include "tests/unit/test_time.h"
#include "util/buf.h"

#define BERLIN   "Europe/Berlin"
#define SHANGHAI "Asia/Shanghai"

static struct task_link link_of(const char *kind, struct window_expr **ret_window)
{
	struct task_link l = { .kind = LK_WINDOW };
	struct err err = { 0 };
	int v = (int)strtol(kind, NULL, 10);

	*ret_window = NULL;
	if (strchr("[({", kind[0])) {
		if (window_parse(kind, ret_window, &err) < 0)
			fail_msg("%s", err.text);
		l.window = *ret_window;
		return l;
	}
	l.kind = v == 1 ? LK_SAME : v == 2 ? LK_LARGE : v == 3 ? LK_SMALL : LK_PREV;
	l.prev = v < 0 ? -v : 0;
	return l;
}

/* How many run_dates the link picks; the first and last of them. */
static int64_t picks(const char *kind, const struct plan *parent, const struct plan *child,
                     int64_t t, int64_t *ret_first, int64_t *ret_last)
{
	struct link_span spans[LINK_SPANS_MAX];
	struct window_expr *window;
	struct task_link l = link_of(kind, &window);
	int n = link_spans(&l, parent, child, t, spans);
	int64_t sum = 0;

	*ret_first = *ret_last = 0;
	for (int i = 0; i < n; i++) {
		assert_true(spans[i].lo < spans[i].hi);
		assert_true(i == 0 || spans[i - 1].hi <= spans[i].lo);
		int64_t in = plan_count(parent, spans[i].lo, spans[i].hi, 100000);
		if (in && !sum)
			*ret_first = plan_next(parent, spans[i].lo - 1);
		if (in)
			*ret_last = plan_prev(parent, spans[i].hi);
		sum += in;
	}
	window_free(window);
	return sum;
}

static void expect(const char *kind, const struct plan *parent, const struct plan *child,
                   const char *at, int64_t n, const char *first, const char *last)
{
	int64_t a, b;
	int64_t t = tz_first(plan_tz(child), label(at));
	int64_t got = picks(kind, parent, child, t, &a, &b);

	if (got != n)
		fail_msg("%s at %s: %lld run_dates instead of %lld", kind, at, (long long)got,
		         (long long)n);
	if (n == 0)
		return;
	if (a != tz_first(plan_tz(parent), label(first)) ||
	    b != tz_first(plan_tz(parent), label(last)))
		fail_msg("%s at %s: from %lld to %lld", kind, at, (long long)a, (long long)b);
}

struct plans {
	struct plan *minute15, *hour, *day, *week, *month, *year;
};

static struct plans plans_in(const char *tz)
{
	return (struct plans){ plan_of(every(15, CU_MINUTE, tz)), plan_of(every(1, CU_HOUR, tz)),
		               plan_of(every(1, CU_DAY, tz)),     plan_of(every(1, CU_WEEK, tz)),
		               plan_of(every(1, CU_MONTH, tz)),   plan_of(every(1, CU_YEAR, tz)) };
}

static void plans_free(struct plans *p)
{
	plan_free(p->minute15);
	plan_free(p->hour);
	plan_free(p->day);
	plan_free(p->week);
	plan_free(p->month);
	plan_free(p->year);
}

static void the_numbered_kinds(void **state)
{
	struct plans p = plans_in(BERLIN);

	(void)state;
	expect("1", p.day, p.day, "2026-06-05", 1, "2026-06-05", "2026-06-05");
	expect("1", p.hour, p.hour, "2026-06-05 07:00", 1, "2026-06-05 07:00", "2026-06-05 07:00");
	expect("2", p.hour, p.day, "2026-06-05", 24, "2026-06-05 00:00", "2026-06-05 23:00");
	expect("2", p.hour, p.day, "2026-03-29", 23, "2026-03-29 00:00", "2026-03-29 23:00");
	expect("2", p.hour, p.day, "2026-10-25", 25, "2026-10-25 00:00", "2026-10-25 23:00");
	expect("2", p.day, p.month, "2026-02-01", 28, "2026-02-01", "2026-02-28");
	expect("2", p.minute15, p.hour, "2026-06-05 07:00", 4, "2026-06-05 07:00",
	       "2026-06-05 07:45");
	expect("3", p.day, p.hour, "2026-06-05 07:00", 1, "2026-06-05", "2026-06-05");
	expect("3", p.month, p.day, "2026-06-30", 1, "2026-06-01", "2026-06-01");
	expect("-1", p.day, p.day, "2026-06-05", 1, "2026-06-04", "2026-06-04");
	expect("-3", p.day, p.day, "2026-06-05", 1, "2026-06-02", "2026-06-02");
	expect("-1", p.hour, p.hour, "2026-03-29 03:00", 1, "2026-03-29 01:00", "2026-03-29 01:00");
	expect("-1", p.month, p.day, "2026-06-15", 1, "2026-05-01", "2026-05-01");
	plans_free(&p);
}

static void the_examples_that_every_suite_holds(void **state)
{
	struct plans p = plans_in(SHANGHAI);

	(void)state;
	expect("[@day-1d, @day)", p.hour, p.day, "2026-06-05", 24, "2026-06-04 00:00",
	       "2026-06-04 23:00");
	expect("(t-24h, t]", p.hour, p.hour, "2026-06-05 07:00", 24, "2026-06-04 08:00",
	       "2026-06-05 07:00");
	expect("{@week-3d}", p.day, p.week, "2026-06-08", 1, "2026-06-05", "2026-06-05");
	expect("[@month-1M, @month)", p.day, p.month, "2026-03-01", 28, "2026-02-01", "2026-02-28");
	expect("{@month-1d}", p.day, p.day, "2026-03-20", 1, "2026-02-28", "2026-02-28");
	expect("{latest}", p.week, p.day, "2026-06-10", 1, "2026-06-08", "2026-06-08");
	plans_free(&p);
}

static void the_named_ranges_of_other_schedulers(void **state)
{
	struct plans p = plans_in(SHANGHAI);
	static const struct {
		const char *window;
		bool hours;
		int64_t n;
		const char *first, *last;
	} rows[] = {
		/* at Wednesday 2026-06-10 07:00 */
		{ "{@hour}", true, 1, "2026-06-10 07:00", "2026-06-10 07:00" },    /* currentHour */
		{ "{@hour-1h}", true, 1, "2026-06-10 06:00", "2026-06-10 06:00" }, /* last1Hour */
		{ "[@hour-3h, @hour)", true, 3, "2026-06-10 04:00", "2026-06-10 06:00" },
		{ "[t-24h, t)", true, 24, "2026-06-09 07:00", "2026-06-10 06:00" },
		{ "[@day, @day+1d)", true, 24, "2026-06-10 00:00", "2026-06-10 23:00" },
		{ "{@day}", false, 1, "2026-06-10", "2026-06-10" },          /* today */
		{ "[@day-1d, @day)", false, 1, "2026-06-09", "2026-06-09" }, /* last1Days */
		{ "[@day-7d, @day)", false, 7, "2026-06-03", "2026-06-09" },
		{ "[@week, @week+1w)", false, 7, "2026-06-08", "2026-06-14" },    /* thisWeek */
		{ "[@week-1w, @week)", false, 7, "2026-06-01", "2026-06-07" },    /* lastWeek */
		{ "{@week-1w}", false, 1, "2026-06-01", "2026-06-01" },           /* lastMonday */
		{ "{@week-1d}", false, 1, "2026-06-07", "2026-06-07" },           /* lastSunday */
		{ "[@month, @month+1M)", false, 30, "2026-06-01", "2026-06-30" }, /* thisMonth */
		{ "{@month}", false, 1, "2026-06-01", "2026-06-01" }, /* thisMonthBegin */
		{ "[@month-1M, @month)", false, 31, "2026-05-01", "2026-05-31" }, /* lastMonth */
		{ "{@month-1M}", false, 1, "2026-05-01", "2026-05-01" }, /* lastMonthBegin */
		{ "{@month-1d}", false, 1, "2026-05-31", "2026-05-31" }, /* lastMonthEnd */
		{ "[@year-1y, @year)", false, 365, "2025-01-01", "2025-12-31" },
		{ "{@day, @day-1d, @day-7d, @day}", false, 3, "2026-06-03", "2026-06-10" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		expect(rows[i].window, rows[i].hours ? p.hour : p.day, p.hour, "2026-06-10 07:00",
		       rows[i].n, rows[i].first, rows[i].last);
	plans_free(&p);
}

static void dates_are_compared_across_zones_by_what_clocks_show(void **state)
{
	struct plans berlin = plans_in(BERLIN), shanghai = plans_in(SHANGHAI);

	(void)state;
	expect("[@month-1M, @month)", shanghai.day, berlin.month, "2026-03-01", 28, "2026-02-01",
	       "2026-02-28");
	expect("1", shanghai.day, berlin.day, "2026-06-05", 1, "2026-06-05", "2026-06-05");
	expect("3", shanghai.day, berlin.hour, "2026-06-05 23:00", 1, "2026-06-05", "2026-06-05");
	expect("-1", shanghai.day, berlin.day, "2026-06-05", 1, "2026-06-04", "2026-06-04");
	/* hours are instants: a day in Berlin is 06:00 to 06:00 in Shanghai's summer */
	expect("2", shanghai.hour, berlin.day, "2026-06-05", 24, "2026-06-05 06:00",
	       "2026-06-06 05:00");
	plans_free(&berlin);
	plans_free(&shanghai);
}

static void plans_decide_and_not_what_exists(void **state)
{
	struct schedule s = every(1, CU_DAY, "UTC");
	struct plan *child = plan_of(s), *parent;
	struct calendar *c;

	(void)state;
	assert_int_equal(calendar_new(CALENDAR_WORKWEEK, NULL, 0, &c, NULL), 0);
	s.calendar = c;
	parent = plan_of(s);
	expect("1", parent, child, "2026-06-06", 0, NULL, NULL);
	expect("-1", parent, child, "2026-06-08", 1, "2026-06-05", "2026-06-05");
	expect("-1", parent, child, "2026-06-07", 1, "2026-06-04", "2026-06-04");
	expect("{latest}", parent, child, "2026-06-07", 1, "2026-06-05", "2026-06-05");
	plan_free(parent);
	s.calendar = NULL;
	s.start = label("2026-06-05");
	parent = plan_of(s);
	expect("-1", parent, child, "2026-06-05", 0, NULL, NULL); /* never planned */
	expect("[@day-7d, @day)", parent, child, "2026-06-06", 1, "2026-06-05", "2026-06-05");
	plan_free(parent);
	s = every(1, CU_NONE, "UTC");
	parent = plan_of(s);
	expect("3", parent, child, "2026-06-05", 0, NULL, NULL);
	expect("1", parent, child, "2026-06-05", 0, NULL, NULL);
	plan_free(parent);
	s = every(1, CU_ONCE, "UTC");
	s.start = label("2026-06-01 12:00");
	parent = plan_of(s);
	expect("3", parent, child, "2026-06-05", 1, "2026-06-01 12:00", "2026-06-01 12:00");
	expect("3", parent, child, "2026-06-01", 0, NULL, NULL);
	plan_free(parent);
	plan_free(child);
	calendar_free(c);
}

static void a_cron_counts_by_its_unit(void **state)
{
	struct schedule s = every(1, CU_NONE, BERLIN);
	struct plans p = plans_in(BERLIN);
	struct cron *six, *ten;

	(void)state;
	assert_int_equal(cron_parse("0 6 * * *", NULL, &six, NULL), 0);
	s.cron = six;
	struct plan *daily = plan_of(s);
	assert_int_equal(cron_parse("*/10 * * * * *", NULL, &ten, NULL), 0);
	s.cron = ten;
	struct plan *fire = plan_of(s);
	expect("1", p.day, daily, "2026-06-05 06:00", 1, "2026-06-05", "2026-06-05");
	expect("2", p.hour, daily, "2026-06-05 06:00", 24, "2026-06-05 00:00", "2026-06-05 23:00");
	expect("3", daily, p.hour, "2026-06-05 03:00", 1, "2026-06-05 06:00", "2026-06-05 06:00");
	expect("1", daily, p.day, "2026-06-05", 1, "2026-06-05 06:00", "2026-06-05 06:00");
	expect("-1", daily, p.day, "2026-06-05", 1, "2026-06-03 06:00", "2026-06-03 06:00");
	expect("1", fire, fire, "2026-06-05 06:00:10", 1, "2026-06-05 06:00:10",
	       "2026-06-05 06:00:10");
	plan_free(daily);
	plan_free(fire);
	plans_free(&p);
	cron_free(six);
	cron_free(ten);
}

static int64_t lead(const char *kind, const struct plan *parent, const struct plan *child)
{
	struct window_expr *window;
	struct task_link l = link_of(kind, &window);
	int64_t s = link_lead(&l, parent, child);

	window_free(window);
	return s;
}

static void leads_judge_cycles_of_links(void **state)
{
	struct plans p = plans_in("UTC"), s = plans_in(SHANGHAI);

	(void)state;
	assert_int_equal(lead("1", p.day, p.day), 0);
	assert_int_equal(lead("-1", p.day, p.day), -DAY_S);
	assert_int_equal(lead("-2", p.hour, p.hour), -7200);
	assert_int_equal(lead("2", p.hour, p.day), 23 * 3600);
	assert_int_equal(lead("3", p.day, p.hour), 0);
	assert_int_equal(lead("-1", p.month, p.month), -28 * DAY_S);
	assert_int_equal(lead("[@day-1d, @day)", p.hour, p.day), -3600);
	assert_int_equal(lead("1", s.day, p.day), -8 * 3600);
	assert_int_equal(lead("1", p.day, s.day), 8 * 3600);
	assert_int_equal(lead("2", p.day, p.month), 30 * DAY_S);
	plans_free(&p);
	plans_free(&s);
}

static void windows_print_as_they_parse(void **state)
{
	static const char *const good[] = { "[@day-1d, @day)",
		                            "(t-24h, t]",
		                            "{@week-3d}",
		                            "{latest}",
		                            "[@month-1M+3d, @month)",
		                            "{@week+4d, @month-1d}",
		                            "[@year-1y, @minute-30m]" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		struct window_expr *e = NULL;
		struct buf out;
		buf_init(&out);
		assert_int_equal(window_parse(good[i], &e, NULL), 0);
		window_print(e, &out);
		assert_string_equal(buf_str(&out), good[i]);
		window_free(e);
		buf_done(&out);
	}
}

static void wrong_windows_are_refused_with_their_column(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "column 1: a window begins with" },
		{ "@day", "a window begins with" },
		{ "[@day-1d @day)", "column 10: expected a comma" },
		{ "[@day-1x, @day)", "column 8: the unit is missing" },
		{ "[@day-, @day)", "a number is missing" },
		{ "[@noon, @day)", "column 2: expected t, @minute" },
		{ "[@day, t", "expected ) or ]" },
		{ "{latest", "expected } after latest" },
		{ "{}", "expected t, @minute" },
		{ "[t, t] x", "nothing may follow" },
		{ "[t-9999999d, t]", "too large" },
		{ "[t-1d-1d-1d-1d-1d, t]", "too many offsets" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct window_expr *e;
		struct err err = { 0 };
		assert_int_equal(window_parse(rows[i].text, &e, &err), E_INVALID);
		if (!strstr(err.text, rows[i].says))
			fail_msg("%s: %s", rows[i].text, err.text);
	}
}

static void extremes_are_answered(void **state)
{
	static const char *const kinds[] = { "1",
		                             "2",
		                             "3",
		                             "-1",
		                             "{latest}",
		                             "[@year-1000000y, @year+1000000y)",
		                             "{t-1000000w+1000000h}",
		                             "(@minute-1000000M, t+1000000d]" };
	static const int64_t at[] = { INT64_MIN, TIME_MIN, 0, TIME_MAX, INT64_MAX };
	struct plans p = plans_in(BERLIN);
	struct link_span spans[LINK_SPANS_MAX];

	(void)state;
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
		for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
			struct window_expr *w;
			struct task_link l = link_of(kinds[k], &w);
			assert_true(link_spans(&l, p.day, p.hour, at[i], spans) >= 0);
			assert_true(link_spans(&l, p.hour, p.month, at[i], spans) >= 0);
			assert_true(link_spans(&l, p.year, p.week, at[i], spans) >= 0);
			window_free(w);
		}
	plans_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbered_kinds),
		cmocka_unit_test(the_examples_that_every_suite_holds),
		cmocka_unit_test(the_named_ranges_of_other_schedulers),
		cmocka_unit_test(dates_are_compared_across_zones_by_what_clocks_show),
		cmocka_unit_test(plans_decide_and_not_what_exists),
		cmocka_unit_test(a_cron_counts_by_its_unit),
		cmocka_unit_test(leads_judge_cycles_of_links),
		cmocka_unit_test(windows_print_as_they_parse),
		cmocka_unit_test(wrong_windows_are_refused_with_their_column),
		cmocka_unit_test(extremes_are_answered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
