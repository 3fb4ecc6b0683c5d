/* sched/plan, offset, calendar: SEMANTICS section 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/calendar.h"
#include "sched/cron.h"
#include "sched/offset.h"
#include "sched/task.h"
#include "tests/unit/test_time.h"
#include "util/buf.h"

#define BERLIN "Europe/Berlin"

static void days_of_23_and_25_hours_have_as_many_hours(void **state)
{
	struct plan *p = plan_of(every(1, CU_HOUR, BERLIN));

	(void)state;
	assert_int_equal(
		plan_count(p, local(BERLIN, "2026-03-29"), local(BERLIN, "2026-03-30"), 99), 23);
	assert_int_equal(
		plan_count(p, local(BERLIN, "2026-10-25"), local(BERLIN, "2026-10-26"), 99), 25);
	plan_free(p);
	p = plan_of(every(6, CU_HOUR, BERLIN));
	int64_t t = plan_prev(p, local(BERLIN, "2026-03-30"));
	assert_int_equal(t, local(BERLIN, "2026-03-29 19:00")); /* elapsed since midnight */
	assert_int_equal(plan_period_end(p, t), local(BERLIN, "2026-03-30"));
	assert_int_equal(
		plan_count(p, local(BERLIN, "2026-10-25"), local(BERLIN, "2026-10-26"), 99), 5);
	plan_free(p);
	p = plan_of(every(30, CU_MINUTE, "Australia/Lord_Howe"));
	assert_int_equal(plan_count(p, local("Australia/Lord_Howe", "2026-04-05"),
	                            local("Australia/Lord_Howe", "2026-04-06"), 99),
	                 49);
	plan_free(p);
}

/* However the days are, a count is what a walk counts. */
static void a_count_is_what_a_walk_counts(void **state)
{
	static const char *const zones[] = { "UTC", BERLIN, "Australia/Lord_Howe",
		                             "America/Sao_Paulo", "Asia/Gaza" };
	static const char *const crons[] = { "* * * * *", "*/7 3-23/2 * * 1-5", "15 0 31 * *",
		                             "30 2 * * *", "0 */11 29 2 *" };
	struct calendar *work;
	uint32_t seed = 5;

	(void)state;
	assert_int_equal(calendar_new(CALENDAR_WORKWEEK, NULL, 0, &work, NULL), 0);
	for (int k = 0; k < 400; k++) {
		const char *name = zones[k % 5];
		int32_t steps[] = { 1, 7, 20, 90, 1000 };
		struct schedule s = every(k % 10 < 5 ? steps[k % 7 % 5] : 1 + k % 13,
		                          k % 3 == 0    ? CU_HOUR
		                          : k % 11 == 1 ? CU_DAY
		                                        : CU_MINUTE,
		                          name);
		struct cron *c = NULL;
		if (k % 4 == 0) {
			assert_int_equal(cron_parse(crons[k / 4 % 5], "p/w/t", &c, NULL), 0);
			s.cron = c;
			s.unit = CU_NONE;
			s.step = 1;
		}
		if (k % 5 == 1) {
			s.calendar = work;
			s.calendar_on_due = k % 2;
		}
		seed = seed * 1664525u + 1013904223u;
		int64_t lo = label("2017-01-01") + seed % (3 * 365 * 86400), hi;
		seed = seed * 1664525u + 1013904223u;
		hi = lo + seed % (9 * 86400) - 3600;
		if (k % 9 == 0)
			s.start = lo + 40000;
		if (k % 8 == 0)
			s.end = hi - 90000;
		struct plan *p = plan_of(s);
		int64_t want = plan_count(p, lo, hi + 1, INT64_MAX);
		if (hi < lo)
			want = 0;
		if (plan_count_all(p, lo, hi) != want)
			fail_msg("case %d: %lld, a walk counts %lld", k,
			         (long long)plan_count_all(p, lo, hi), (long long)want);
		plan_free(p);
		cron_free(c);
	}
	calendar_free(work);
}

static void check_count(struct schedule s, int64_t lo, int64_t hi)
{
	struct plan *p = plan_of(s);

	assert_int_equal(plan_count_all(p, lo, hi), plan_count(p, lo, hi + 1, INT64_MAX));
	plan_free(p);
}

static void every_kind_of_plan_can_be_counted(void **state)
{
	int64_t lo = label("2026-02-20"), hi = label("2026-04-20");
	struct schedule s = every(1, CU_WEEK, BERLIN), once = every(1, CU_ONCE, BERLIN);
	struct calendar *work;
	struct cron *c;

	(void)state;
	assert_int_equal(calendar_new(CALENDAR_WORKWEEK, NULL, 0, &work, NULL), 0);
	s.calendar = work;
	s.shift = SHIFT_NEXT;
	check_count(s, lo, hi);
	once.start = lo + 5;
	check_count(once, lo, hi);
	once.start = hi + 5;
	check_count(once, lo, hi);
	s = every(7, CU_MINUTE, BERLIN); /* not from midnight */
	s.calendar = work;
	check_count(s, lo, hi);
	assert_int_equal(cron_parse("0 * * * *", "p/w/t", &c, NULL), 0);
	s = every(1, CU_NONE, BERLIN);
	s.cron = c;
	s.calendar = work;
	check_count(s, lo, hi);
	s.calendar_on_due = true;
	check_count(s, lo, hi);

	/* Before an edit it is what it was. */
	int64_t since = label("2026-03-10 12:00");
	struct plan *was = plan_of(every(1, CU_HOUR, BERLIN)),
		    *is = plan_of(every(1, CU_MINUTE, BERLIN));
	plan_follow(is, was, since, 1);
	assert_int_equal(plan_count_all(is, lo, hi), plan_count(is, lo, hi + 1, INT64_MAX));
	assert_int_equal(plan_count_all(is, lo, since - 9),
	                 plan_count(is, lo, since - 8, INT64_MAX));
	assert_int_equal(plan_count_all(is, since, hi), plan_count(is, since, hi + 1, INT64_MAX));
	plan_free(is);
	plan_free(was);
	calendar_free(work);
	cron_free(c);
}

static void ten_years_of_minutes_are_counted_by_the_day(void **state)
{
	struct plan *p = plan_of(every(1, CU_MINUTE, BERLIN));

	(void)state;
	assert_int_equal(
		plan_count_all(p, local(BERLIN, "2016-01-01"), local(BERLIN, "2026-01-01") - 1),
		3653 * 1440);
	plan_free(p);
}

static void steps_that_do_not_divide_count_from_the_anchor(void **state)
{
	struct schedule s = every(7, CU_MINUTE, "UTC");

	(void)state;
	s.anchor = label("2026-01-01 10:03:30");
	struct plan *p = plan_of(s);
	assert_true(plan_has(p, label("2026-01-01 10:03")));
	assert_int_equal(plan_next(p, label("2026-01-01 10:03")), label("2026-01-01 10:10"));
	assert_int_equal(plan_next(p, label("2026-01-02")), label("2026-01-02 00:03"));
	plan_free(p);
	p = plan_of(every(90, CU_MINUTE, "UTC")); /* divides the day: from midnight */
	assert_int_equal(plan_next(p, label("2026-01-02 00:10")), label("2026-01-02 01:30"));
	plan_free(p);
	s = every(3, CU_DAY, "Asia/Shanghai");
	s.anchor = local("Asia/Shanghai", "2026-01-05 15:00");
	s.start = local("Asia/Shanghai", "2026-01-06");
	p = plan_of(s);
	assert_int_equal(plan_next(p, 0), local("Asia/Shanghai", "2026-01-08"));
	plan_free(p);
	s = every(3, CU_MONTH, "UTC");
	s.anchor = label("2026-02-10");
	p = plan_of(s);
	assert_int_equal(plan_next(p, label("2026-02-02")), label("2026-05-01"));
	assert_int_equal(plan_period_end(p, label("2026-05-01")), label("2026-08-01"));
	plan_free(p);
}

static void weeks_begin_on_monday_months_and_years_on_the_first(void **state)
{
	struct plan *p = plan_of(every(1, CU_WEEK, "UTC"));

	(void)state;
	assert_int_equal(plan_next(p, label("2026-06-03")), label("2026-06-08"));
	assert_int_equal(plan_prev(p, label("2026-06-08")), label("2026-06-01"));
	plan_free(p);
	p = plan_of(every(1, CU_MONTH, BERLIN));
	assert_int_equal(plan_next(p, local(BERLIN, "2026-03-15")), local(BERLIN, "2026-04-01"));
	plan_free(p);
	p = plan_of(every(1, CU_YEAR, BERLIN));
	assert_int_equal(plan_next(p, local(BERLIN, "2026-03-15")), local(BERLIN, "2027-01-01"));
	plan_free(p);
}

static void a_left_out_midnight_and_a_left_out_day(void **state)
{
	struct plan *p = plan_of(every(1, CU_DAY, "Asia/Beirut"));

	(void)state;
	/* 2026-03-29 00:00 does not exist there: the day begins at 01:00 */
	int64_t t = plan_next(p, local("Asia/Beirut", "2026-03-28"));
	assert_int_equal(tz_to_label(zone("Asia/Beirut"), t), label("2026-03-29 01:00"));
	assert_int_equal(plan_period_end(p, t) - t, 23 * 3600);
	plan_free(p);
	p = plan_of(every(1, CU_DAY, "Pacific/Apia"));
	t = plan_next(p, local("Pacific/Apia", "2011-12-29"));
	assert_int_equal(tz_to_label(zone("Pacific/Apia"), t), label("2011-12-31"));
	assert_int_equal(plan_prev(p, t), local("Pacific/Apia", "2011-12-29"));
	plan_free(p);
}

static int64_t due_of(struct schedule s, const char *offset, int64_t run_date)
{
	struct err err = { 0 };

	if (offset_parse(offset, &s.offset, &err) < 0)
		fail_msg("%s", err.text);
	struct plan *p = plan_of(s);
	int64_t due = plan_due(p, run_date);
	plan_free(p);
	return due;
}

static void due_times_of_long_cycles_are_on_the_wall(void **state)
{
	struct schedule day = every(1, CU_DAY, BERLIN), week = every(1, CU_WEEK, "UTC"),
			month = every(1, CU_MONTH, "UTC");

	(void)state;
	day.fire = FIRE_END;
	assert_int_equal(due_of(day, "2h30m", local(BERLIN, "2026-01-05")),
	                 local(BERLIN, "2026-01-06 02:30"));
	/* in the gap: at its end; twice: the first */
	assert_int_equal(due_of(day, "02:30", local(BERLIN, "2026-03-28")),
	                 label("2026-03-29 01:00"));
	assert_int_equal(due_of(day, "02:30", local(BERLIN, "2026-10-24")),
	                 label("2026-10-25 00:30"));
	assert_int_equal(due_of(day, "+1 02:30", local(BERLIN, "2026-01-05")),
	                 local(BERLIN, "2026-01-07 02:30"));
	assert_int_equal(due_of(week, "tuesday 06:00", label("2026-06-01")),
	                 label("2026-06-02 06:00"));
	assert_int_equal(due_of(month, "day 5 02:00", label("2026-02-01")),
	                 label("2026-02-05 02:00"));
	assert_int_equal(due_of(month, "day 31 02:00", label("2026-02-01")),
	                 label("2026-02-28 02:00"));
	assert_int_equal(due_of(month, "last-day 02:30", label("2026-02-01")),
	                 label("2026-02-28 02:30"));
	month.fire = FIRE_END;
	assert_int_equal(due_of(month, "day 31", label("2026-02-01")), label("2026-03-31"));
}

static void due_times_of_short_cycles_are_elapsed(void **state)
{
	struct schedule hour = every(1, CU_HOUR, BERLIN);

	(void)state;
	assert_int_equal(due_of(hour, "5m", label("2026-03-29 00:00")), label("2026-03-29 00:05"));
	hour.fire = FIRE_END;
	assert_int_equal(due_of(hour, "5m", label("2026-03-29 00:00")), label("2026-03-29 01:05"));
	assert_int_equal(due_of(hour, "90m", label("2026-10-25 00:00")), label("2026-10-25 02:30"));
}

static void wrong_schedules_are_refused(void **state)
{
	struct schedule s = every(0, CU_DAY, "UTC");
	struct plan *p;

	(void)state;
	assert_int_equal(plan_new(&s, &p, NULL), E_INVALID);
	s = every(1, CU_DAY, "UTC");
	s.offset.kind = OFF_LAST_DAY;
	assert_int_equal(plan_new(&s, &p, NULL), E_INVALID);
	s = every(1, CU_DAY, "UTC");
	s.offset.seconds = -1;
	assert_int_equal(plan_new(&s, &p, NULL), E_INVALID);
	s = every(1, CU_DAY, "UTC");
	s.start = 10;
	s.end = 9;
	assert_int_equal(plan_new(&s, &p, NULL), E_INVALID);
}

static void start_and_end_are_included(void **state)
{
	struct schedule s = every(1, CU_DAY, "UTC");

	(void)state;
	s.start = label("2026-01-02");
	s.end = label("2026-01-04");
	struct plan *p = plan_of(s);
	assert_int_equal(plan_count(p, INT64_MIN, INT64_MAX, 99), 3);
	assert_int_equal(plan_next(p, INT64_MIN), label("2026-01-02"));
	assert_int_equal(plan_prev(p, INT64_MAX), label("2026-01-04"));
	assert_int_equal(plan_next(p, label("2026-01-04")), PLAN_NEVER);
	assert_int_equal(plan_prev(p, label("2026-01-02")), PLAN_BEFORE);
	plan_free(p);
	s.start++; /* inside a period: begins with the next one */
	p = plan_of(s);
	assert_int_equal(plan_next(p, INT64_MIN), label("2026-01-03"));
	plan_free(p);
}

static void once_and_none(void **state)
{
	struct schedule s = every(1, CU_ONCE, "UTC");

	(void)state;
	s.start = label("2026-01-02 03:04:05");
	s.fire = FIRE_END;
	s.offset.seconds = 60;
	struct plan *p = plan_of(s);
	assert_int_equal(plan_next(p, 0), s.start);
	assert_int_equal(plan_next(p, s.start), PLAN_NEVER);
	assert_int_equal(plan_prev(p, INT64_MAX), s.start);
	assert_true(plan_has(p, s.start));
	assert_int_equal(plan_due(p, s.start), s.start + 60);
	plan_free(p);
	s.unit = CU_NONE;
	p = plan_of(s);
	assert_int_equal(plan_next(p, 0), PLAN_NEVER);
	assert_int_equal(plan_prev(p, INT64_MAX), PLAN_BEFORE);
	assert_false(plan_has(p, s.start));
	plan_free(p);
}

static void a_calendar_removes_run_dates_and_does_not_stretch(void **state)
{
	const struct calendar_day days[] = { { (int32_t)civil_to_day(2026, 6, 10), false },
		                             { (int32_t)civil_to_day(2026, 6, 13), true } };
	struct schedule s = every(1, CU_DAY, "UTC");
	struct calendar *c;

	(void)state;
	assert_int_equal(calendar_new(CALENDAR_WORKWEEK, days, 2, &c, NULL), 0);
	s.calendar = c;
	struct plan *p = plan_of(s);
	assert_int_equal(plan_next(p, label("2026-06-09")), label("2026-06-11"));
	assert_int_equal(plan_next(p, label("2026-06-12")), label("2026-06-13"));
	assert_int_equal(plan_next(p, label("2026-06-13")), label("2026-06-15"));
	assert_int_equal(plan_prev(p, label("2026-06-11")), label("2026-06-09"));
	assert_int_equal(plan_period_end(p, label("2026-06-12")), label("2026-06-13"));
	plan_free(p);
	s.calendar_on_due = true;
	s.fire = FIRE_END;
	p = plan_of(s);
	assert_false(plan_has(p, label("2026-06-09")));
	assert_true(plan_has(p, label("2026-06-10")));
	plan_free(p);
	calendar_free(c);
}

static void long_cycles_shift_or_drop(void **state)
{
	struct schedule s = every(1, CU_MONTH, "UTC");
	struct calendar *c;

	(void)state;
	assert_int_equal(calendar_new(CALENDAR_WORKWEEK, NULL, 0, &c, NULL), 0);
	s.calendar = c;
	s.offset.kind = OFF_CLOCK;
	s.offset.seconds = 2 * 3600;
	s.shift = SHIFT_NEXT; /* 1 August 2026 is a Saturday */
	struct plan *p = plan_of(s);
	assert_true(plan_has(p, label("2026-08-01")));
	assert_int_equal(plan_due(p, label("2026-08-01")), label("2026-08-03 02:00"));
	plan_free(p);
	s.shift = SHIFT_PREVIOUS;
	p = plan_of(s);
	assert_int_equal(plan_due(p, label("2026-08-01")), label("2026-07-31 02:00"));
	plan_free(p);
	s.shift = SHIFT_DROP;
	p = plan_of(s);
	assert_int_equal(plan_next(p, label("2026-07-02")), label("2026-09-01"));
	plan_free(p);
	calendar_free(c);
}

static void a_calendar_that_allows_nothing_ends(void **state)
{
	struct schedule s = every(1, CU_MINUTE, "UTC");
	struct calendar *c;

	(void)state;
	assert_int_equal(calendar_new(0, NULL, 0, &c, NULL), 0);
	s.calendar = c;
	for (int on = 0; on < 2; on++) {
		s.calendar_on_due = on;
		struct plan *p = plan_of(s);
		assert_int_equal(plan_next(p, 0), PLAN_NEVER);
		assert_int_equal(plan_prev(p, 0), PLAN_BEFORE);
		plan_free(p);
	}
	calendar_free(c);
	assert_int_equal(calendar_new(1 << 5, NULL, 0, &c, NULL), 0); /* Saturdays, of Mondays */
	s = every(1, CU_WEEK, "UTC");
	s.calendar = c;
	struct plan *p = plan_of(s);
	assert_int_equal(plan_next(p, 0), PLAN_NEVER);
	assert_int_equal(plan_prev(p, 0), PLAN_BEFORE);
	plan_free(p);
	calendar_free(c);
}

static void a_cron_fires_at_its_instants_and_periods_reach_to_the_next(void **state)
{
	struct schedule s = every(1, CU_NONE, "UTC");
	struct cron *c;

	(void)state;
	assert_int_equal(cron_parse("0 6 * * 1-5", NULL, &c, NULL), 0);
	s.cron = c;
	struct plan *p = plan_of(s);
	assert_int_equal(plan_unit(p), CU_DAY);
	assert_int_equal(plan_next(p, label("2026-06-05 06:00")), label("2026-06-08 06:00"));
	assert_int_equal(plan_period_end(p, label("2026-06-05 06:00")), label("2026-06-08 06:00"));
	plan_free(p);
	s.fire = FIRE_END;
	s.offset.seconds = 600;
	p = plan_of(s);
	assert_int_equal(plan_due(p, label("2026-06-05 06:00")), label("2026-06-08 06:10"));
	plan_free(p);
	cron_free(c);
}

static void next_always_moves_on_to_the_ends_of_time(void **state)
{
	static const int steps[] = { 1, 2, 7, 100000 };
	static const int64_t at[] = {
		INT64_MIN,    INT64_MIN + 1, TIME_MIN - 1, TIME_MIN,      -1,       0, 1,
		TIME_MAX - 1, TIME_MAX,      TIME_MAX + 1, INT64_MAX - 1, INT64_MAX
	};

	(void)state;
	for (int u = CU_MINUTE; u <= CU_YEAR; u++)
		for (size_t s = 0; s < 4; s++) {
			struct schedule sch = every(steps[s], (enum cycle_unit)u, BERLIN);
			sch.fire = FIRE_END;
			sch.offset.seconds = DAY_S;
			sch.start = s & 1 ? INT64_MIN : TIME_MIN;
			sch.anchor = s & 2 ? INT64_MAX : INT64_MIN;
			struct plan *p = plan_of(sch);
			for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
				int64_t next = plan_next(p, at[i]), prev = plan_prev(p, at[i]);
				assert_true(next > at[i] || next == PLAN_NEVER);
				assert_true(prev < at[i] || prev == PLAN_BEFORE);
				assert_true(next == PLAN_NEVER || plan_prev(p, next) < next);
				(void)plan_due(p, at[i]);
				(void)plan_period_end(p, at[i]);
				(void)plan_has(p, at[i]);
				(void)unit_floor(zone(BERLIN), (enum cycle_unit)u, at[i]);
				(void)unit_next(zone(BERLIN), (enum cycle_unit)u, at[i]);
				(void)plan_count(p, at[i], INT64_MAX, 3);
			}
			plan_free(p);
		}
}

static void offsets_read_back_as_they_are_printed(void **state)
{
	static const char *const same[] = { "90s",         "1m30s",          "2h30m",
		                            "1d",          "1w2d",           "0s",
		                            "02:30",       "02:30:15",       "+1 02:30",
		                            "day 5 02:00", "last-day 02:30", "tuesday 6:00" };
	static const char *const bad[] = {
		"",       "-5m",         "5",       "5x",  "24:00",
		"2:60",   "day 0 02:00", "day 32",  "day", "friday 25:00",
		"02:30x", "last-dayx",   "someday", "m",   "99999999999w",
		"02:",    ":30",         "-02:30"
	};

	(void)state;
	for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
		struct plan_offset a, b;
		struct buf out;
		buf_init(&out);
		assert_int_equal(offset_parse(same[i], &a, NULL), 0);
		offset_print(&a, &out);
		assert_int_equal(offset_parse(buf_str(&out), &b, NULL), 0);
		assert_true(a.kind == b.kind && a.days == b.days && a.seconds == b.seconds);
		buf_done(&out);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct plan_offset a;
		if (offset_parse(bad[i], &a, NULL) != E_INVALID)
			fail_msg("\"%s\" is taken", bad[i]);
	}
}

/* expire_after: end of local day. Of days of 23 and 25 hours, of zones of half an hour, of one
 * whose day begins at 01:00. */
static void what_has_not_started_is_over_at_the_end_of_its_own_day(void **state)
{
	static const struct {
		const char *zone, *due, *end;
	} rows[] = {
		{ "UTC", "2026-03-29 02:30", "2026-03-30" },
		{ "Europe/Berlin", "2026-03-29 00:00", "2026-03-30" },
		{ "Europe/Berlin", "2026-10-25 02:30", "2026-10-26" },
		{ "Asia/Kolkata", "2026-03-01 23:59:59", "2026-03-02" },
		{ "Asia/Kathmandu", "2026-03-01 00:00", "2026-03-02" },
		{ "Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-06" },
		{ "America/Asuncion", "2019-10-05 12:00", "2019-10-06 01:00" },
	};
	struct task t = { .expire_after_us = -1 };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		t.plan = plan_of(every(1, CU_DAY, rows[i].zone));
		int64_t due = local(rows[i].zone, rows[i].due),
			end = local(rows[i].zone, rows[i].end);
		assert_int_equal(task_expiry_us(&t, due * 1000000 + 999999), end * 1000000);
		plan_free(t.plan);
	}
	assert_int_equal(local("Europe/Berlin", "2026-03-30") -
	                         local("Europe/Berlin", "2026-03-29"),
	                 23 * 3600);
	t.expire_after_us = 5000;
	assert_int_equal(task_expiry_us(&t, 7), 5007);
	t.expire_after_us = 0;
	assert_int_equal(task_expiry_us(&t, 7), INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_not_started_is_over_at_the_end_of_its_own_day),
		cmocka_unit_test(days_of_23_and_25_hours_have_as_many_hours),
		cmocka_unit_test(a_count_is_what_a_walk_counts),
		cmocka_unit_test(every_kind_of_plan_can_be_counted),
		cmocka_unit_test(ten_years_of_minutes_are_counted_by_the_day),
		cmocka_unit_test(steps_that_do_not_divide_count_from_the_anchor),
		cmocka_unit_test(weeks_begin_on_monday_months_and_years_on_the_first),
		cmocka_unit_test(a_left_out_midnight_and_a_left_out_day),
		cmocka_unit_test(due_times_of_long_cycles_are_on_the_wall),
		cmocka_unit_test(due_times_of_short_cycles_are_elapsed),
		cmocka_unit_test(wrong_schedules_are_refused),
		cmocka_unit_test(start_and_end_are_included),
		cmocka_unit_test(once_and_none),
		cmocka_unit_test(a_calendar_removes_run_dates_and_does_not_stretch),
		cmocka_unit_test(long_cycles_shift_or_drop),
		cmocka_unit_test(a_calendar_that_allows_nothing_ends),
		cmocka_unit_test(a_cron_fires_at_its_instants_and_periods_reach_to_the_next),
		cmocka_unit_test(next_always_moves_on_to_the_ends_of_time),
		cmocka_unit_test(offsets_read_back_as_they_are_printed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
