/* sched/label, sched/when: the name of an instance is read back as the same instant, in every zone,
 * cycle and change of clocks; what people write beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/cron.h"
#include "sched/label.h"
#include "sched/when.h"
#include "tests/unit/test_time.h"

static const char *printed(const char *tz, enum label_grain grain, int64_t t)
{
	static char text[LABEL_TEXT];

	return label_print(zone(tz), grain, t, text);
}

static int64_t utc(const char *text)
{
	return local("UTC", text);
}

static void a_label_is_as_coarse_as_the_cycle(void **state)
{
	static const struct {
		enum cycle_unit unit;
		int step;
		const char *at, *want;
	} cases[] = {
		{ CU_MINUTE, 5, "2026-11-03 14:05", "2026-11-03 14:05" },
		{ CU_HOUR, 1, "2026-11-03 14:00", "2026-11-03 14:00" },
		{ CU_DAY, 1, "2026-11-03", "2026-11-03" },
		{ CU_DAY, 3, "2026-11-03", "2026-11-03" },
		{ CU_WEEK, 1, "2026-11-02", "2026-W45" },
		{ CU_WEEK, 1, "2026-12-28", "2026-W53" },
		{ CU_WEEK, 2, "2027-01-04", "2027-W01" },
		{ CU_MONTH, 1, "2026-11-01", "2026-11" },
		{ CU_MONTH, 3, "2026-10-01", "2026-10" },
		{ CU_YEAR, 1, "2026-01-01", "2026" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct plan *p = plan_of(every(cases[i].step, cases[i].unit, "Asia/Shanghai"));
		assert_string_equal(printed("Asia/Shanghai", label_grain(p),
		                            local("Asia/Shanghai", cases[i].at)),
		                    cases[i].want);
		plan_free(p);
	}
}

static void a_cron_and_once_show_their_clock_time(void **state)
{
	struct schedule s = every(1, CU_NONE, "Asia/Shanghai");
	struct cron *cron = NULL;

	(void)state;
	assert_int_equal(cron_parse("15 30 2 * * ?", NULL, &cron, NULL), 0);
	s.cron = cron;
	struct plan *p = plan_of(s);
	assert_string_equal(printed("Asia/Shanghai", label_grain(p),
	                            local("Asia/Shanghai", "2026-11-03 02:30:15")),
	                    "2026-11-03 02:30:15");
	plan_free(p);
	cron_free(cron);
	s = every(1, CU_ONCE, "Asia/Shanghai");
	s.start = local("Asia/Shanghai", "2026-11-03");
	p = plan_of(s);
	assert_string_equal(printed("Asia/Shanghai", label_grain(p), s.start), "2026-11-03 00:00");
	plan_free(p);
}

/* Else the first of a minute would have a name that means all of the minute. */
static void a_cron_that_fires_twice_a_minute_shows_its_seconds_always(void **state)
{
	struct schedule s = every(1, CU_NONE, "Asia/Shanghai");
	struct cron *cron = NULL;
	struct when w;
	int64_t at[2];

	(void)state;
	assert_int_equal(cron_parse("*/20 30 2 * * ?", NULL, &cron, NULL), 0);
	s.cron = cron;
	s.start = local("Asia/Shanghai", "2026-11-01");
	struct plan *p = plan_of(s);
	int64_t first = local("Asia/Shanghai", "2026-11-03 02:30");
	const char *label = printed("Asia/Shanghai", label_grain(p), first);
	assert_string_equal(label, "2026-11-03 02:30:00");
	assert_true(when_parse(label, WHEN_NO_NOW, &w));
	assert_int_equal(label_dates(p, &w, at), 1);
	assert_int_equal(at[0], first);
	plan_free(p);
	cron_free(cron);
}

static void what_is_off_the_plan_is_named_by_its_clock_time(void **state)
{
	(void)state;
	assert_string_equal(printed("UTC", LABEL_DAY, utc("2026-11-03 14:37:12")),
	                    "2026-11-03 14:37:12");
	assert_string_equal(printed("UTC", LABEL_WEEK, utc("2026-11-03")), "2026-11-03");
	assert_string_equal(printed("UTC", LABEL_MONTH, utc("2026-11-03")), "2026-11-03");
	assert_string_equal(printed("UTC", LABEL_YEAR, utc("2026-02-01")), "2026-02-01");
	assert_string_equal(printed("UTC", LABEL_YEAR, INT64_MAX), "never");
}

static void a_clock_time_that_comes_twice_says_which(void **state)
{
	const struct tz *berlin = zone("Europe/Berlin");
	int64_t first = utc("2026-10-25 00:30"), second = utc("2026-10-25 01:30"), at[2];
	struct when w;

	(void)state;
	assert_string_equal(printed("Europe/Berlin", LABEL_CLOCK, first), "2026-10-25 02:30 (1)");
	assert_string_equal(printed("Europe/Berlin", LABEL_CLOCK, second), "2026-10-25 02:30 (2)");
	assert_true(when_parse("2026-10-25 02:30 (2)", WHEN_NO_NOW, &w));
	assert_int_equal(when_readings(&w, berlin, at), 1);
	assert_int_equal(at[0], second);
	assert_true(when_parse("2026-10-25 02:30", WHEN_NO_NOW, &w));
	assert_int_equal(when_readings(&w, berlin, at), 2);
	assert_int_equal(at[0], first);
	assert_int_equal(at[1], second);
	assert_int_equal(when_instant(&w, berlin, true), second + 59);
	assert_true(when_parse("2026-10-25 02:30 (1)", WHEN_NO_NOW, &w));
	assert_int_equal(when_instant(&w, berlin, true), first + 59);
	assert_true(when_parse("2026-10-25 12:30 (2)", WHEN_NO_NOW, &w));
	assert_int_equal(when_readings(&w, berlin, at), 0);
	assert_true(when_parse("2026-03-29 02:30", WHEN_NO_NOW, &w)); /* left out: the gap's end */
	assert_int_equal(when_readings(&w, berlin, at), 0);
	assert_int_equal(when_instant(&w, berlin, false), utc("2026-03-29 01:00"));
}

/* Every grain, each eighth of an hour around the changes of clocks, in zones with changes of all
 * kinds: at midnight (Beirut), over it (St John's), half an hour (Lord Howe), a day left out. */
static void what_is_printed_is_read_as_the_same_instant(void **state)
{
	static const struct {
		const char *tz, *from;
	} spans[] = {
		{ "Europe/Berlin", "2026-03-28" },       { "Europe/Berlin", "2026-10-24" },
		{ "Asia/Beirut", "2026-03-28" },         { "America/St_Johns", "2010-11-06" },
		{ "Australia/Lord_Howe", "2026-04-04" }, { "Pacific/Apia", "2011-12-29" },
		{ "Asia/Shanghai", "2026-12-30" },       { "America/New_York", "2026-10-31" },
		{ "Africa/Monrovia", "1972-01-06" },     { "UTC", "2027-01-01" },
	};
	int n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
		const struct tz *tz = zone(spans[i].tz);
		int64_t from = utc(spans[i].from);
		for (int64_t t = from; t < from + 4 * DAY_S; t += 450)
			for (int grain = 0; grain < LABEL_GRAINS; grain++, n++) {
				char text[LABEL_TEXT];
				struct when w;
				label_print(tz, (enum label_grain)grain, t, text);
				if (!when_parse(text, WHEN_NO_NOW, &w) ||
				    when_instant(&w, tz, false) != t)
					fail_msg("%s: %lld is '%s', read as %lld", spans[i].tz,
					         (long long)t, text,
					         (long long)when_instant(&w, tz, false));
			}
	}
	assert_int_equal(n, 10 * 4 * 192 * LABEL_GRAINS);
}

static void a_date_means_its_whole_span(void **state)
{
	static const struct {
		const char *text, *from, *to;
	} cases[] = {
		{ "2026", "2026-01-01", "2026-12-31 23:59:59" },
		{ "2026-02", "2026-02-01", "2026-02-28 23:59:59" },
		{ "2026-12", "2026-12-01", "2026-12-31 23:59:59" },
		{ "2026-W01", "2025-12-29", "2026-01-04 23:59:59" },
		{ "2026-W53", "2026-12-28", "2027-01-03 23:59:59" },
		{ "2026-11-03", "2026-11-03", "2026-11-03 23:59:59" },
		{ "2026-11-03 14:00", "2026-11-03 14:00", "2026-11-03 14:00:59" },
		{ "2026-11-03T14:00:07", "2026-11-03 14:00:07", "2026-11-03 14:00:07" },
		{ "2026-11-03T14:00:07.25Z", "2026-11-03 14:00:07", "2026-11-03 14:00:07" },
		{ "2026-11-03 14:00-0530", "2026-11-03 19:30", "2026-11-03 19:30" },
	};
	struct when w;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_true(when_parse(cases[i].text, WHEN_NO_NOW, &w));
		assert_int_equal(when_instant(&w, tz_utc(), false), utc(cases[i].from));
		assert_int_equal(when_instant(&w, tz_utc(), true), utc(cases[i].to));
	}
}

static void a_range_is_from_the_begin_of_one_to_the_end_of_the_other(void **state)
{
	const struct tz *berlin = zone("Europe/Berlin");
	struct when_span s;

	(void)state;
	assert_true(when_range("2026-10..2026-W46", WHEN_NO_NOW, &s));
	assert_int_equal(when_instant(&s.from, berlin, false), utc("2026-09-30 22:00"));
	assert_int_equal(when_instant(&s.to, berlin, true), utc("2026-11-15 22:59:59"));
	assert_false(when_is_after(&s.from, &s.to));
	assert_true(when_range("2026-10-25 02:30 (2)..2026-10-25 03:00:15", WHEN_NO_NOW, &s));
	assert_int_equal(when_instant(&s.from, berlin, false), utc("2026-10-25 01:30"));
	assert_int_equal(when_instant(&s.to, berlin, true), utc("2026-10-25 02:00:15"));
	assert_true(when_range(" -3d..yesterday", utc("2026-11-02 17:30"), &s));
	assert_int_equal(when_instant(&s.from, tz_utc(), false), utc("2026-10-30"));
	assert_int_equal(when_instant(&s.to, tz_utc(), true), utc("2026-11-01 23:59:59"));
	assert_true(when_range("2026-11-03", WHEN_NO_NOW, &s)); /* of one both are it */
	assert_int_equal(when_instant(&s.to, tz_utc(), true), utc("2026-11-03 23:59:59"));
	assert_true(when_range("2026-11-03..2026-11-02", WHEN_NO_NOW, &s));
	assert_true(when_is_after(&s.from, &s.to));
	assert_false(when_range("2026-11-03..", WHEN_NO_NOW, &s));
	assert_false(when_range("..2026-11-03", WHEN_NO_NOW, &s));
	assert_false(when_range("2026-11-03...2026-11-04", WHEN_NO_NOW, &s));
	assert_false(when_range("2026-11-03..2026-11-04..2026-11-05", WHEN_NO_NOW, &s));
}

/* Tuesday, 3 November 2026, 01:30 in Shanghai, still the 2nd in UTC. */
static void words_count_from_a_moment_in_each_zone(void **state)
{
	static const struct {
		const char *text, *tz, *from, *to;
	} cases[] = {
		{ "today", "Asia/Shanghai", "2026-11-03", "2026-11-03 23:59:59" },
		{ "today", "UTC", "2026-11-02", "2026-11-02 23:59:59" },
		{ "yesterday", "Asia/Shanghai", "2026-11-02", "2026-11-02 23:59:59" },
		{ "昨天", "Asia/Shanghai", "2026-11-02", "2026-11-02 23:59:59" },
		{ "tomorrow", "UTC", "2026-11-03", "2026-11-03 23:59:59" },
		{ "last week", "UTC", "2026-10-26", "2026-11-01 23:59:59" },
		{ "this week", "UTC", "2026-11-02", "2026-11-08 23:59:59" },
		{ "last month", "Asia/Shanghai", "2026-10-01", "2026-10-31 23:59:59" },
		{ "last year", "UTC", "2025-01-01", "2025-12-31 23:59:59" },
		{ "-3d", "Asia/Shanghai", "2026-10-31", "2026-10-31 23:59:59" },
		{ "-1w", "UTC", "2026-10-26", "2026-11-01 23:59:59" },
		{ "-6h", "UTC", "2026-11-02 11:30", "2026-11-02 11:30" },
		{ "-30m", "Asia/Shanghai", "2026-11-03 01:00", "2026-11-03 01:00" },
		{ "now", "UTC", "2026-11-02 17:30", "2026-11-02 17:30" },
	};
	int64_t now = utc("2026-11-02 17:30");
	struct when w;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tz *tz = zone(cases[i].tz);
		assert_true(when_parse(cases[i].text, now, &w));
		assert_int_equal(when_instant(&w, tz, false), local(cases[i].tz, cases[i].from));
		assert_int_equal(when_instant(&w, tz, true), local(cases[i].tz, cases[i].to));
		assert_false(when_parse(cases[i].text, WHEN_NO_NOW, &w));
	}
}

static void what_is_no_date_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"soon",
		"2026-",
		"2026-13",
		"2026-00",
		"2026-W54",
		"2025-W53",
		"2026-W00",
		"2026-W1",
		"0000",
		"2026-02-29",
		"2026-03-01T24:00",
		"2026-03-01T02:30:00Zx",
		"2026-03-01T",
		"2026-03-01 ",
		"2026-03-01Z",
		"2026-03 02:30",
		"2026-03-01 02:30 (3)",
		"2026-03-01 02:30(2)",
		"2026-03-01 02:30 (2) ",
		"2026-03-01 (2)",
		"-d",
		"-3",
		"-3x",
		"--3d",
		"-3dd",
		"-1000001d",
		"last day",
		"Today",
		"2026-03-01T02:30:00.Z",
		"2026-03-01T02:30:00+08:60",
	};
	struct when w;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (when_parse(wrong[i], 0, &w))
			fail_msg("'%s' was read", wrong[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_label_is_as_coarse_as_the_cycle),
		cmocka_unit_test(a_cron_and_once_show_their_clock_time),
		cmocka_unit_test(a_cron_that_fires_twice_a_minute_shows_its_seconds_always),
		cmocka_unit_test(what_is_off_the_plan_is_named_by_its_clock_time),
		cmocka_unit_test(a_clock_time_that_comes_twice_says_which),
		cmocka_unit_test(what_is_printed_is_read_as_the_same_instant),
		cmocka_unit_test(a_date_means_its_whole_span),
		cmocka_unit_test(a_range_is_from_the_begin_of_one_to_the_end_of_the_other),
		cmocka_unit_test(words_count_from_a_moment_in_each_zone),
		cmocka_unit_test(what_is_no_date_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
