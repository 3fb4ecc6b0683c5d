/* sched/plan, versions; outcomes under a new version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/zones.h"
#include "sched/calendar.h"
#include "sched/civil.h"
#include "sched/cron.h"
#include "sched/instance.h"
#include "sched/outcome.h"
#include "sched/plan.h"
#include "tests/unit/test_time.h"
#include "util/buf.h"
#include "util/err.h"

#define AT(y, m, d) (civil_to_day(y, m, d) * DAY_S)

static struct schedule daily(void)
{
	return (struct schedule){ .unit = CU_DAY,
		                  .step = 1,
		                  .tz = zone("UTC"),
		                  .start = AT(2026, 1, 1),
		                  .anchor = AT(2026, 1, 1),
		                  .end = PLAN_NEVER };
}

static struct plan *made(const struct schedule *s)
{
	struct plan *p;

	assert_int_equal(plan_new(s, &p, NULL), 0);
	return p;
}

static struct plan *hourly(void)
{
	struct schedule s = daily();

	s.unit = CU_HOUR;
	return made(&s);
}

static void before_an_edit_the_plan_is_what_it_was(void **state)
{
	(void)state;
	struct schedule s = daily();
	struct plan *was = made(&s), *p = hourly();
	int64_t since = AT(2026, 3, 2) + 1; /* the 2nd has come due */

	plan_follow(p, was, since, 1);
	plan_free(was);
	assert_int_equal(plan_since(p), since);
	assert_int_equal(plan_versions(p), 1);
	assert_true(plan_has(p, AT(2026, 3, 1)));
	assert_false(plan_has(p, AT(2026, 3, 1) + 3600));
	assert_true(plan_has(p, AT(2026, 3, 2) + 3600));
	assert_int_equal(plan_next(p, AT(2026, 3, 1)), AT(2026, 3, 2));
	assert_int_equal(plan_next(p, AT(2026, 3, 2)), AT(2026, 3, 2) + 3600);
	assert_int_equal(plan_prev(p, AT(2026, 3, 2) + 7200), AT(2026, 3, 2) + 3600);
	assert_int_equal(plan_prev(p, AT(2026, 3, 2) + 3600), AT(2026, 3, 2));
	assert_int_equal(plan_prev(p, AT(2026, 3, 2)), AT(2026, 3, 1));
	assert_int_equal(plan_period_end(p, AT(2026, 3, 1)), AT(2026, 3, 2));
	assert_int_equal(plan_period_end(p, AT(2026, 3, 3)), AT(2026, 3, 3) + 3600);
	assert_int_equal(plan_due(p, AT(2026, 3, 1)), AT(2026, 3, 1));
	assert_int_equal(plan_count(p, AT(2026, 3, 1), AT(2026, 3, 3), 100), 2 + 23);
	plan_free(p);
}

static void bare_dates_know_neither_calendar_nor_start_nor_end_but_versions(void **state)
{
	(void)state;
	struct schedule s = daily();
	s.end = AT(2026, 2, 1);
	struct plan *was = made(&s), *p = hourly();
	int64_t since = AT(2026, 3, 2) + 1;

	assert_int_equal(plan_next(was, AT(2026, 3, 1)), PLAN_NEVER);
	assert_int_equal(plan_next_bare(was, AT(2026, 3, 1)), AT(2026, 3, 2));
	assert_int_equal(plan_next_bare(was, AT(2025, 3, 1)), AT(2025, 3, 2));
	plan_follow(p, was, since, 1);
	plan_free(was);
	assert_int_equal(plan_next_bare(p, AT(2026, 3, 1)), AT(2026, 3, 2));
	assert_int_equal(plan_next_bare(p, AT(2026, 3, 2) - 1), AT(2026, 3, 2));
	assert_int_equal(plan_next_bare(p, AT(2026, 3, 2)), AT(2026, 3, 2) + 3600);
	assert_int_equal(plan_next_bare(p, AT(2026, 3, 2) + 1), AT(2026, 3, 2) + 3600);
	plan_free(p);
	/* The old version's next one lies behind the edit: the new one's counts. */
	s = daily();
	was = made(&s);
	p = hourly();
	plan_follow(p, was, AT(2026, 3, 2) - 1800, 1);
	plan_free(was);
	assert_int_equal(plan_next_bare(p, AT(2026, 3, 1)), AT(2026, 3, 2));
	plan_free(p);
	s.unit = CU_ONCE;
	p = made(&s);
	assert_int_equal(plan_next_bare(p, s.start), PLAN_NEVER);
	plan_free(p);
}

static void a_version_that_begins_earlier_takes_the_later_ones_away(void **state)
{
	(void)state;
	struct schedule s = daily();
	struct plan *first = made(&s), *second = hourly(), *third, *fourth;

	plan_follow(second, first, AT(2026, 3, 1), 1);
	s.step = 2;
	third = made(&s);
	plan_follow(third, second, AT(2026, 4, 1), 2);
	assert_int_equal(plan_versions(third), 2);
	assert_true(plan_has(third, AT(2026, 2, 1)));
	assert_true(plan_has(third, AT(2026, 3, 5) + 3600));
	s.step = 3;
	fourth = made(&s);
	plan_follow(fourth, third, AT(2026, 2, 10), 3);
	assert_true(plan_has(fourth, AT(2026, 2, 9)));
	assert_false(plan_has(fourth, AT(2026, 3, 5) + 3600));
	assert_int_equal(plan_since(fourth), AT(2026, 2, 10));
	/* An edit that changes no date keeps the past. */
	struct plan *same = made(&s), *fresh = made(&s);
	plan_take_past(same, fourth);
	assert_int_equal(plan_since(same), AT(2026, 2, 10));
	plan_take_past(fresh, first);
	assert_int_equal(plan_since(fresh), INT64_MIN);
	assert_int_equal(plan_versions(fresh), 0);
	plan_free(first);
	plan_free(second);
	plan_free(third);
	plan_free(fourth);
	plan_free(same);
	plan_free(fresh);
}

static void old_versions_are_let_go_one_by_one(void **state)
{
	(void)state;
	struct schedule s = daily();
	struct plan *p = made(&s);

	for (int i = 1; i <= 60; i++) {
		s.step = i % 7 + 1;
		struct plan *next = made(&s);
		plan_follow(next, p, AT(2026, 1, 1) + i * DAY_S, (uint32_t)i);
		plan_free(p);
		p = next;
	}
	struct buf text;
	buf_init(&text);
	plan_past_print(p, &text);
	size_t lines = 0;
	for (const char *c = buf_str(&text); *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 50);
	buf_done(&text);
	plan_free(p);
}

static int by_name(void *ctx, const char *name, const struct tz **ret_tz, struct err *err)
{
	(void)ctx;
	return zones_get(name, ret_tz, err);
}

static void the_past_is_text_and_reads_back(void **state)
{
	(void)state;
	const struct calendar_day off[] = { { (int32_t)civil_to_day(2026, 2, 3), false },
		                            { (int32_t)civil_to_day(2026, 2, 7), true } };
	struct schedule s = daily();
	struct calendar *days;
	struct cron *c;
	struct buf text, again;

	assert_int_equal(calendar_new(CALENDAR_WORKWEEK, off, 2, &days, NULL), 0);
	assert_int_equal(cron_parse("0\t6 * * *", NULL, &c, NULL), 0);
	struct plan *first = made(&s);
	s = (struct schedule){
		.cron = c, .calendar = days, .tz = zone("Europe/Berlin"), .end = PLAN_NEVER
	};
	struct plan *second = made(&s), *p = hourly(), *q = hourly();
	plan_follow(second, first, AT(2026, 2, 1), 1);
	plan_follow(p, second, AT(2026, 3, 1), 2);
	calendar_free(days);
	cron_free(c);
	buf_init(&text);
	plan_past_print(p, &text);
	assert_int_equal(plan_past_parse(q, buf_str(&text), "p/w/t", by_name, NULL, NULL), 0);
	buf_init(&again);
	plan_past_print(q, &again);
	assert_string_equal(buf_str(&text), buf_str(&again));
	for (int64_t t = AT(2026, 1, 20); t < AT(2026, 3, 3); t = plan_next(p, t))
		assert_int_equal(plan_next(p, t), plan_next(q, t));
	assert_false(plan_has(q, AT(2026, 2, 3) + 5 * 3600));
	assert_true(plan_has(q, AT(2026, 2, 7) + 5 * 3600));
	buf_done(&text);
	buf_done(&again);
	plan_free(first);
	plan_free(second);
	plan_free(p);
	plan_free(q);
}

static void a_past_that_does_not_read_back_is_told(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"x",
		"1 2 3\tUTC\t\t\n",
		"1 2 3 1 0 0 0 0 0 0 0 0 0",
		"1 2 3 1 0 9 0 0 0 0 0 0 0\tNo/Zone\t\t\n",
		"1 2 3 1 0 9 0 0 0 0 0 0 0\tUTC\t99 * * * *\t\n",
		"1 2 3 1 0 9 0 0 0 0 0 0 0\tUTC\t\tx\n",
		"1 2 3 1 0 9 0 0 0 0 0 0 0\tUTC\t\t31 x5\n",
		"1 2 3 1 0 9 0 0 0 0 0 0 0\tUTC\t\t31 +x\n",
		"1 2 3 1 0 9 0 0 0 0 0 0 0\tUTC\t\t31 +5 ~5\n",
		"1 2 3 1 0 9 0 0 0 0 0 0 0\tUTC\t\t31x\n",
		"1 2 3 1 0 9 0 0 0 0 0 0 0\tUTC\t\t200\n",
		"1 2 3 1 0 9 0 0 0 0 0 0 0\tUTC\t\t-1\n",
		"1 2 3 0 0 9 0 0 0 0 0 0 0\tUTC\t\t\n",
		"x\ny\n",
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct plan *p = hourly();
		struct err err = { 0 };
		if (plan_past_parse(p, bad[i], "p/w/t", by_name, NULL, &err) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_true(err.text[0] != '\0');
		plan_free(p);
	}
}

static bool same_after(struct schedule a, struct schedule b)
{
	struct plan *x = made(&a), *y = made(&b);
	bool same = plan_same_dates(x, y);

	plan_free(x);
	plan_free(y);
	return same;
}

static void what_changes_dates_is_told_from_what_does_not(void **state)
{
	(void)state;
	struct calendar *work, *all;
	struct cron *c1, *c2, *c3;
	struct schedule a = daily(), b = a;

	calendar_new(CALENDAR_WORKWEEK, NULL, 0, &work, NULL);
	calendar_new(CALENDAR_ALL_WEEK, NULL, 0, &all, NULL);
	cron_parse("0 6 * * *", NULL, &c1, NULL);
	cron_parse("0 7 * * *", NULL, &c2, NULL);
	cron_parse("0 6 * * *", "x", &c3, NULL);
	assert_true(same_after(a, b));
	b.offset.kind = OFF_CLOCK;
	b.offset.seconds = 60;
	assert_true(same_after(a, b)); /* due elsewhere, the same dates */
	b.fire = FIRE_END;
	assert_true(same_after(a, b));
	b = a, b.unit = CU_HOUR;
	assert_false(same_after(a, b));
	b = a, b.step = 2;
	assert_false(same_after(a, b));
	b = a, b.start++;
	assert_false(same_after(a, b));
	b = a, b.end = AT(2030, 1, 1);
	assert_false(same_after(a, b));
	b = a, b.anchor++;
	assert_false(same_after(a, b));
	b = a, b.tz = zone("Europe/Berlin");
	assert_false(same_after(a, b));
	b = a, b.calendar = work;
	assert_false(same_after(a, b));
	b.calendar = all;
	assert_true(same_after(a, b));
	a.unit = b.unit = CU_NONE;
	a.cron = c1, b.cron = c2;
	a.calendar = b.calendar = NULL;
	a.end = PLAN_NEVER, b.end = PLAN_NEVER;
	assert_false(same_after(a, b));
	b.cron = c3;
	assert_true(same_after(a, b));
	b = daily(), b.unit = CU_DAY;
	assert_false(same_after(a, b));
	a = b = daily();
	a.unit = b.unit = CU_WEEK;
	a.calendar = b.calendar = work;
	b.shift = SHIFT_NEXT;
	assert_false(same_after(a, b));
	b.shift = a.shift, b.calendar_on_due = true;
	assert_false(same_after(a, b));
	a.calendar_on_due = true;
	assert_true(same_after(a, b));
	b.fire = FIRE_END;
	assert_false(same_after(a, b));
	b.fire = a.fire, b.offset.seconds = 7200, b.offset.kind = a.offset.kind = OFF_CLOCK;
	assert_false(same_after(a, b));
	b.offset = a.offset, b.offset.days = 1;
	assert_false(same_after(a, b));
	b.offset.kind = OFF_WEEKDAY;
	assert_false(same_after(a, b));
	a.offset = b.offset, a.offset.days = 2;
	assert_false(same_after(a, b));
	assert_true(cron_same(c1, c3));
	assert_false(cron_same(c1, c2));
	assert_int_equal(cron_hash(c1), cron_hash(c3));
	calendar_free(work);
	calendar_free(all);
	cron_free(c1);
	cron_free(c2);
	cron_free(c3);
}

static void an_outcome_does_not_cover_dates_that_are_planned_later(void **state)
{
	(void)state;
	struct schedule s = daily();
	struct plan *was = made(&s), *is = hourly(), *later = hourly();
	struct outcomes o;

	outcomes_init(&o);
	for (int64_t t = AT(2026, 3, 1); t <= AT(2026, 3, 5); t += DAY_S)
		outcomes_set(&o, was, t, 1, ST_SUCC, RE_NONE);
	assert_int_equal(o.len, 1);
	plan_follow(later, was, AT(2026, 3, 5) + 1, 1);
	assert_false(outcomes_replan(&o, was, later, plan_since(later)));
	s.step = 2;
	struct plan *fewer = made(&s);
	plan_follow(fewer, was, AT(2026, 3, 3), 1);
	assert_false(outcomes_replan(&o, was, fewer, plan_since(fewer)));
	plan_free(fewer);
	struct outcome_range turned = { 9, 8, 1, ST_SUCC, RE_NONE, { 0 } };
	assert_false(outcomes_put(&o, &turned));
	turned.lo = AT(2026, 2, 1), turned.hi = AT(2026, 3, 2);
	assert_false(outcomes_put(&o, &turned));
	turned.hi = AT(2026, 2, 2);
	assert_true(outcomes_put(&o, &turned));
	turned.lo = turned.hi = AT(2027, 2, 2);
	assert_true(outcomes_put(&o, &turned));
	outcomes_set(&o, NULL, AT(2027, 2, 3), 1, ST_SUCC, RE_NONE);
	plan_follow(is, was, AT(2026, 3, 3), 1);
	assert_true(outcomes_replan(&o, was, is, plan_since(is)));
	assert_non_null(outcomes_find(&o, AT(2026, 3, 1)));
	assert_non_null(outcomes_find(&o, AT(2026, 3, 5)));
	assert_null(outcomes_find(&o, AT(2026, 3, 4) + 3600));
	assert_non_null(outcomes_find(&o, AT(2026, 3, 4)));
	outcomes_done(&o);
	plan_free(was);
	plan_free(is);
	plan_free(later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_an_edit_the_plan_is_what_it_was),
		cmocka_unit_test(bare_dates_know_neither_calendar_nor_start_nor_end_but_versions),
		cmocka_unit_test(a_version_that_begins_earlier_takes_the_later_ones_away),
		cmocka_unit_test(old_versions_are_let_go_one_by_one),
		cmocka_unit_test(the_past_is_text_and_reads_back),
		cmocka_unit_test(a_past_that_does_not_read_back_is_told),
		cmocka_unit_test(what_changes_dates_is_told_from_what_does_not),
		cmocka_unit_test(an_outcome_does_not_cover_dates_that_are_planned_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
