/* sched/cron: the three forms, their rules, the clock's changes, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/cron.h"
#include "sched/tz.h"
#include "util/err.h"

static int64_t at(const char *text)
{
	int y, mo, d, h = 0, mi = 0, s = 0;

	assert_true(sscanf(text, "%d-%d-%d %d:%d:%d", &y, &mo, &d, &h, &mi, &s) >= 3);
	return civil_to_day(y, mo, d) * DAY_S + h * 3600 + mi * 60 + s;
}

/* Fires after `from` (UTC) are `want`, a NULL-ended list (UTC), both ways. */
static void fires(const char *cron, const char *tz_name, const char *from, const char *const *want)
{
	const struct tz *tz;
	struct cron *c = NULL;
	struct err err = { 0 };
	int64_t t = at(from), last = PLAN_BEFORE;

	assert_int_equal(zones_get(tz_name, &tz, &err), 0);
	if (cron_parse(cron, "p/w/t", &c, &err) < 0)
		fail_msg("%s", err.text);
	for (; *want; want++) {
		t = cron_next(c, tz, t);
		if (t != at(*want))
			fail_msg("%s: %lld instead of %s", cron, (long long)t, *want);
		if (last != PLAN_BEFORE)
			assert_int_equal(cron_prev(c, tz, t), last);
		last = t;
	}
	cron_free(c);
}

#define FIRES(cron, tz, from, ...) fires(cron, tz, from, (const char *const[]){ __VA_ARGS__, NULL })

static void five_fields_take_either_of_day_and_weekday(void **state)
{
	(void)state;
	FIRES("0 0 13 * FRI", "UTC", "2026-02-01", "2026-02-06", "2026-02-13", "2026-02-20");
	FIRES("0 0 1,15 * 1", "UTC", "2026-06-28", "2026-06-29", "2026-07-01", "2026-07-06");
	/* a field that begins with * is no restriction */
	FIRES("0 0 */2 * 1", "UTC", "2026-06-01", "2026-06-15", "2026-06-29", "2026-07-13");
	FIRES("0 0 * * 7", "UTC", "2026-06-01", "2026-06-07", "2026-06-14");
}

static void six_fields_count_weekdays_from_sunday_one(void **state)
{
	(void)state;
	FIRES("0 0 6 1 * ?", "UTC", "2026-01-15", "2026-02-01 06:00", "2026-03-01 06:00");
	FIRES("30 0 12 ? * 6", "UTC", "2026-01-01", "2026-01-02 12:00:30", "2026-01-09 12:00:30");
	FIRES("0 0 12 ? * 6L", "UTC", "2026-01-01", "2026-01-30 12:00", "2026-02-27 12:00");
	FIRES("0 0 0 29 2 ? 2024-2032", "UTC", "2024-03-01", "2028-02-29", "2032-02-29");
	FIRES("*/10 * * * * * *", "UTC", "2026-01-01", "2026-01-01 00:00:10",
	      "2026-01-01 00:00:20");
}

static void last_days_and_nearest_workdays(void **state)
{
	(void)state;
	FIRES("0 0 L * *", "UTC", "2026-01-01", "2026-01-31", "2026-02-28");
	FIRES("0 0 L-2 * *", "UTC", "2026-01-01", "2026-01-29", "2026-02-26");
	FIRES("0 0 LW * *", "UTC", "2026-01-01", "2026-01-30", "2026-02-27", "2026-03-31");
	/* 15 Feb 2026 is a Sunday, 1 Feb as well: one fire a month, at the hour that was asked */
	FIRES("0 0 12 15W * ?", "UTC", "2026-02-01", "2026-02-16 12:00", "2026-03-16 12:00");
	FIRES("0 0 12 1W * ?", "UTC", "2026-01-31", "2026-02-02 12:00", "2026-03-02 12:00");
	FIRES("0 0 12 1W 8 ?", "UTC", "2026-01-31", "2026-08-03 12:00");
	FIRES("0 6 * * FRI#2", "UTC", "2026-01-01", "2026-01-09 06:00", "2026-02-13 06:00");
	FIRES("0 6 * * MON#5", "UTC", "2026-01-01", "2026-03-30 06:00", "2026-06-29 06:00");
}

static void ranges_wrap_around_and_step(void **state)
{
	(void)state;
	FIRES("0 22-2 * * *", "UTC", "2026-01-01 02:00", "2026-01-01 22:00", "2026-01-01 23:00",
	      "2026-01-02 00:00", "2026-01-02 01:00", "2026-01-02 02:00", "2026-01-02 22:00");
	FIRES("0 0 * * FRI-MON", "UTC", "2026-01-05", "2026-01-09", "2026-01-10", "2026-01-11",
	      "2026-01-12", "2026-01-16");
	FIRES("5/20 10 * * *", "UTC", "2026-01-01", "2026-01-01 10:05", "2026-01-01 10:25",
	      "2026-01-01 10:45", "2026-01-02 10:05");
	FIRES("0 0 1 NOV-FEB *", "UTC", "2026-02-02", "2026-11-01", "2026-12-01", "2027-01-01");
	FIRES("  @daily ", "UTC", "2026-01-01", "2026-01-02");
	FIRES("@weekly", "UTC", "2026-01-01", "2026-01-04");
	FIRES("@yearly", "UTC", "2026-01-01", "2027-01-01");
}

static void a_fixed_hour_runs_once_on_days_of_23_and_25_hours(void **state)
{
	(void)state;
	FIRES("30 2 * * *", "Europe/Berlin", "2026-03-28 02:00", "2026-03-29 01:00",
	      "2026-03-30 00:30");
	FIRES("0,15,30 2 * * *", "Europe/Berlin", "2026-03-28 02:00", "2026-03-29 01:00",
	      "2026-03-30 00:00");
	FIRES("30 2 * * *", "Europe/Berlin", "2026-10-24 02:00", "2026-10-25 00:30",
	      "2026-10-26 01:30");
	FIRES("0 2,3 * * *", "Europe/Berlin", "2026-03-28 03:00", "2026-03-29 01:00",
	      "2026-03-30 00:00");
}

static void an_open_hour_follows_elapsed_time(void **state)
{
	(void)state;
	FIRES("30 * * * *", "Europe/Berlin", "2026-03-28 23:40", "2026-03-29 00:30",
	      "2026-03-29 01:30");
	FIRES("30 * * * *", "Europe/Berlin", "2026-10-24 23:40", "2026-10-25 00:30",
	      "2026-10-25 01:30", "2026-10-25 02:30");
	FIRES("*/30 * * * *", "Australia/Lord_Howe", "2026-04-04 14:00", "2026-04-04 14:30",
	      "2026-04-04 15:00", "2026-04-04 15:30");
}

static void hashed_fields_are_stable_and_differ_by_name(void **state)
{
	struct cron *a, *b, *c;
	int differ = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "p/w/task%d", i);
		assert_int_equal(cron_parse("H H * * *", "p/w/t", &a, NULL), 0);
		assert_int_equal(cron_parse("H H * * *", "p/w/t", &b, NULL), 0);
		assert_int_equal(cron_parse("H H * * *", name, &c, NULL), 0);
		assert_int_equal(cron_next(a, tz_utc(), 0), cron_next(b, tz_utc(), 0));
		differ += cron_next(a, tz_utc(), 0) != cron_next(c, tz_utc(), 0);
		assert_true(cron_next(c, tz_utc(), 0) <= DAY_S);
		cron_free(a);
		cron_free(b);
		cron_free(c);
	}
	assert_true(differ > 15);
	assert_int_equal(cron_parse("H(10-12)/2 3 H * *", "p/w/t", &a, NULL), 0);
	int64_t t = cron_next(a, tz_utc(), 0) % 3600 / 60;
	assert_true(t == 10 || t == 11);
	cron_free(a);
	assert_int_equal(cron_parse("H * * * *", NULL, &a, NULL), E_INVALID);
}

static void what_never_happens_ends(void **state)
{
	struct cron *c;

	(void)state;
	assert_int_equal(cron_parse("0 0 30 2 *", NULL, &c, NULL), 0);
	assert_int_equal(cron_next(c, tz_utc(), 0), PLAN_NEVER);
	assert_int_equal(cron_prev(c, tz_utc(), at("2026-01-01")), PLAN_BEFORE);
	cron_free(c);
	assert_int_equal(cron_parse("0 0 0 1 1 ? 2020", NULL, &c, NULL), 0);
	assert_int_equal(cron_next(c, tz_utc(), at("2026-01-01")), PLAN_NEVER);
	assert_int_equal(cron_prev(c, tz_utc(), INT64_MAX), at("2020-01-01"));
	assert_int_equal(cron_next(c, tz_utc(), INT64_MIN), at("2020-01-01"));
	cron_free(c);
	assert_int_equal(cron_parse("* * * * *", NULL, &c, NULL), 0);
	assert_int_equal(cron_next(c, tz_utc(), INT64_MAX), PLAN_NEVER);
	assert_int_equal(cron_next(c, tz_utc(), TIME_MAX), PLAN_NEVER);
	assert_int_equal(cron_prev(c, tz_utc(), INT64_MIN), PLAN_BEFORE);
	assert_int_equal(cron_next(c, tz_utc(), INT64_MIN), TIME_MIN);
	cron_free(c);
}

static void the_unit_is_the_largest_that_holds_one_fire(void **state)
{
	static const struct {
		const char *cron;
		enum cycle_unit unit;
	} rows[] = {
		{ "*/10 * * * * *", CU_FIRE }, { "* * * * *", CU_MINUTE },
		{ "0 * * * *", CU_HOUR },      { "30 2 * * *", CU_DAY },
		{ "0 0 * * 1", CU_WEEK },      { "0 0 1 * *", CU_MONTH },
		{ "0 0 1 1 *", CU_YEAR },      { "0 0 1,15 * *", CU_WEEK },
		{ "0 0 1,5 * *", CU_DAY },     { "0 0 6 1 * ?", CU_MONTH },
		{ "0 0 29 2 *", CU_YEAR },     { "0 2,3 * * *", CU_HOUR },
		{ "0 6 * * FRI#2", CU_MONTH }, { "0 0 * * 1-5", CU_DAY },
		{ "@hourly", CU_HOUR },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct cron *c;
		assert_int_equal(cron_parse(rows[i].cron, NULL, &c, NULL), 0);
		if (cron_unit(c) != rows[i].unit)
			fail_msg("%s: %s", rows[i].cron, unit_name(cron_unit(c)));
		cron_free(c);
	}
}

static void wrong_expressions_are_refused_with_their_column(void **state)
{
	static const struct {
		const char *cron, *says;
	} rows[] = {
		{ "", "fields" },
		{ "* * * *", "4 fields" },
		{ "* * * * * * * *", "fields" },
		{ "60 * * * *", "column 1 (minute): 60 is out of range, it is 0 to 59" },
		{ "0 24 * * *", "column 3 (hour)" },
		{ "0 0 0 * *", "column 5 (day of the month)" },
		{ "0 0 32 * *", "column 5" },
		{ "0 0 1 13 *", "column 7 (month)" },
		{ "0 0 1 FOO *", "column 7 (month): expected a number or a name" },
		{ "0 0 * * 8", "column 9 (weekday)" },
		{ "0 0 0 ? * 0", "column 11 (weekday): 0 is out of range, it is 1 to 7" },
		{ "*/0 * * * *", "column 3 (minute): a step is at least 1" },
		{ "*/90 * * * *", "larger than the field" },
		{ "0 0 12 1 * MON", "cannot both be restricted" },
		{ "0 0 * * FRI#6", "# takes 1 to 5" },
		{ "1,,2 * * * *", "column 3" },
		{ "5x * * * *", "column 2 (minute): unexpected letter" },
		{ "? * * * *", "? is for the day" },
		{ "0 0 0 1 1 ? 1969", "1969 is out of range" },
		{ "@reboot", "known are @yearly" },
		{ "99999999999999999999 * * * *", "out of range" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct cron *c = NULL;
		struct err err = { 0 };
		assert_int_equal(cron_parse(rows[i].cron, "p/w/t", &c, &err), E_INVALID);
		if (!strstr(err.text, rows[i].says))
			fail_msg("\"%s\" says: %s", rows[i].cron, err.text);
	}
}

static void any_text_is_parsed_or_refused_and_next_moves_on(void **state)
{
	static const char letters[] = "0123456789*/-,?LWH#()  SUNFRIJAN@";
	uint32_t seed = 99;

	(void)state;
	for (int i = 0; i < 60000; i++) {
		char text[24];
		struct cron *c;
		size_t n = 0;
		for (; n < 9 + (size_t)i % 14; n++) {
			seed = seed * 1664525u + 1013904223u;
			text[n] = letters[(seed >> 8) % (sizeof letters - 1)];
			if (i % 2 && n % 2)
				text[n] = ' ';
		}
		text[n] = 0;
		if (cron_parse(text, "n", &c, NULL) < 0)
			continue;
		int64_t t = cron_next(c, tz_utc(), i * INT64_C(86399));
		assert_true(t > i * INT64_C(86399));
		assert_true(t == PLAN_NEVER || cron_prev(c, tz_utc(), t + 1) == t);
		cron_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(five_fields_take_either_of_day_and_weekday),
		cmocka_unit_test(six_fields_count_weekdays_from_sunday_one),
		cmocka_unit_test(last_days_and_nearest_workdays),
		cmocka_unit_test(ranges_wrap_around_and_step),
		cmocka_unit_test(a_fixed_hour_runs_once_on_days_of_23_and_25_hours),
		cmocka_unit_test(an_open_hour_follows_elapsed_time),
		cmocka_unit_test(hashed_fields_are_stable_and_differ_by_name),
		cmocka_unit_test(what_never_happens_ends),
		cmocka_unit_test(the_unit_is_the_largest_that_holds_one_fire),
		cmocka_unit_test(wrong_expressions_are_refused_with_their_column),
		cmocka_unit_test(any_text_is_parsed_or_refused_and_next_moves_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
