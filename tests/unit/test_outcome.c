/* sched/outcome: ranges against a plain array of dates, by random operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/instance.h"
#include "sched/outcome.h"
#include "tests/unit/test_time.h"

enum { DATES = 60 };

struct naive {
	bool set;
	uint32_t generation;
	uint8_t state, reason;
};

static uint32_t seed = 99;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static struct plan *minutes(void)
{
	struct schedule s = {
		.unit = CU_MINUTE, .step = 1, .tz = zone("UTC"), .start = 0, .end = PLAN_NEVER
	};
	struct plan *p;
	struct err err = { 0 };

	assert_int_equal(plan_new(&s, &p, &err), 0);
	return p;
}

static void assert_same(const struct outcomes *o, const struct naive *want)
{
	for (int i = 0; i < DATES; i++) {
		const struct outcome_range *r = outcomes_find(o, i * 60);
		assert_int_equal(r != NULL, want[i].set);
		if (!r)
			continue;
		assert_int_equal(r->generation, want[i].generation);
		assert_int_equal(r->state, want[i].state);
		assert_int_equal(r->reason, want[i].reason);
	}
	for (size_t i = 1; i < o->len; i++)
		assert_true(o->ranges[i - 1].hi < o->ranges[i].lo);
}

/* All dates from `at` on, some way, that have no outcome and are not among the open ones. */
static void fill(struct outcomes *o, const struct plan *plan, struct naive *want, uint32_t at)
{
	uint32_t n = rnd(DATES - at);
	int64_t open[DATES];
	size_t n_open = 0;
	/* Its ends need not be planned. */
	struct outcome_range r = { (int64_t)at * 60 - rnd(60),
		                   (int64_t)(at + n) * 60 + rnd(60),
		                   1,
		                   ST_SKIPPED,
		                   RE_CATCHUP,
		                   { 0 } };

	for (uint32_t i = at > 3 ? at - 3 : 0; i < DATES; i++)
		if (rnd(8) == 0)
			open[n_open++] = i * 60;
	outcomes_fill(o, plan, &r, open, n_open);
	for (uint32_t i = at, k = 0; i <= at + n; i++) {
		while (k < n_open && open[k] < i * 60)
			k++;
		if (!want[i].set && (k == n_open || open[k] != i * 60))
			want[i] = (struct naive){ true, 1, ST_SKIPPED, RE_CATCHUP };
	}
}

static void ranges_answer_as_one_date_after_another_would(void **state)
{
	struct naive want[DATES] = { 0 };
	struct plan *plan = minutes();
	struct outcomes o;

	(void)state;
	outcomes_init(&o);
	for (int step = 0; step < 20000; step++) {
		uint32_t at = rnd(DATES);
		if (step % 50 == 49) {
			fill(&o, plan, want, at);
		} else if (rnd(3) == 0) {
			assert_int_equal(outcomes_clear(&o, plan, at * 60), want[at].set);
			want[at].set = false;
		} else {
			want[at] = (struct naive){ true, 1 + rnd(2), rnd(4) ? ST_SUCC : ST_STOP,
				                   rnd(4) ? RE_EXIT : RE_FORCED };
			outcomes_set(&o, plan, at * 60, want[at].generation, want[at].state,
			             want[at].reason);
		}
		if (step % 10 == 0)
			assert_same(&o, want);
	}
	outcomes_done(&o);
	plan_free(plan);
}

static void years_of_successes_are_one_range_until_one_is_redone(void **state)
{
	struct plan *plan = minutes();
	struct outcomes o;

	(void)state;
	outcomes_init(&o);
	for (int i = 0; i < 5000; i++)
		outcomes_set(&o, plan, i * 60, 1, ST_SUCC, RE_EXIT);
	assert_int_equal(o.len, 1);
	assert_true(outcomes_clear(&o, plan, 700 * 60));
	assert_int_equal(o.len, 2);
	assert_null(outcomes_find(&o, 700 * 60));
	assert_non_null(outcomes_find(&o, 699 * 60));
	assert_non_null(outcomes_find(&o, 701 * 60));
	outcomes_set(&o, plan, 700 * 60, 2, ST_SUCC, RE_EXIT);
	assert_int_equal(o.len, 3);
	assert_int_equal(outcomes_find(&o, 700 * 60)->generation, 2);
	outcomes_done(&o);
	plan_free(plan);
}

static void a_date_off_the_plan_joins_nothing(void **state)
{
	struct plan *plan = minutes();
	struct outcomes o;

	(void)state;
	outcomes_init(&o);
	outcomes_set(&o, plan, 60, 1, ST_SUCC, RE_EXIT);
	outcomes_set(&o, plan, 90, 1, ST_STOP, RE_EXIT);
	outcomes_set(&o, plan, 120, 1, ST_SUCC, RE_EXIT);
	assert_int_equal(outcomes_find(&o, 90)->state, ST_STOP);
	assert_int_equal(outcomes_find(&o, 60)->state, ST_SUCC);
	assert_int_equal(outcomes_find(&o, 120)->state, ST_SUCC);
	assert_true(outcomes_clear(&o, plan, 90));
	assert_null(outcomes_find(&o, 90));
	outcomes_done(&o);
	plan_free(plan);
}

static void a_date_before_the_plan_outlives_its_neighbour_that_is_redone(void **state)
{
	struct plan *plan = minutes();
	struct outcome_range joined = { -90, 60, 1, ST_SUCC, RE_EXIT, { 0 } };
	struct outcomes o;

	(void)state;
	outcomes_init(&o);
	outcomes_set(&o, plan, -90, 1, ST_SUCC, RE_EXIT);
	outcomes_set(&o, plan, 0, 1, ST_SUCC, RE_EXIT); /* the first of the plan */
	assert_null(outcomes_find(&o, -60));
	assert_true(outcomes_clear(&o, plan, 0));
	assert_non_null(outcomes_find(&o, -90));
	outcomes_done(&o);
	assert_true(outcomes_put(&o, &joined)); /* as it was saved before */
	assert_true(outcomes_clear(&o, plan, 0));
	assert_non_null(outcomes_find(&o, -90));
	assert_null(outcomes_find(&o, 0));
	assert_non_null(outcomes_find(&o, 60));
	outcomes_done(&o);
	plan_free(plan);
}

static void a_fill_joins_its_neighbours_and_leaves_what_is_off_the_plan(void **state)
{
	struct plan *plan = minutes();
	struct outcome_range r = { 120, 600, 1, ST_SKIPPED, RE_CATCHUP, { 0 } };
	struct outcomes o;

	(void)state;
	outcomes_init(&o);
	outcomes_set(&o, plan, 60, 1, ST_SKIPPED, RE_CATCHUP);
	outcomes_set(&o, plan, 660, 1, ST_SKIPPED, RE_CATCHUP);
	outcomes_fill(&o, plan, &r, NULL, 0);
	assert_int_equal(o.len, 1);
	outcomes_done(&o);
	outcomes_set(&o, plan, 330, 1, ST_SUCC, RE_EXIT); /* between two planned dates */
	outcomes_fill(&o, plan, &r, NULL, 0);
	assert_int_equal(o.len, 3);
	assert_int_equal(o.ranges[0].hi, 300);
	assert_int_equal(o.ranges[2].lo, 360);
	outcomes_done(&o);
	r = (struct outcome_range){ 61, 119, 1, ST_SKIPPED, RE_CATCHUP, { 0 } };
	outcomes_fill(&o, plan, &r, NULL, 0);
	assert_int_equal(o.len, 0); /* no date of the plan */
	outcomes_done(&o);
	plan_free(plan);
}

static void a_saved_range_is_put_only_where_nothing_is(void **state)
{
	struct outcomes o;
	struct outcome_range a = { 600, 900, 1, ST_SUCC, RE_EXIT, { 0 } };
	struct outcome_range b = { 900, 960, 1, ST_SUCC, RE_EXIT, { 0 } };
	struct outcome_range c = { 960, 990, 1, ST_SUCC, RE_EXIT, { 0 } };

	(void)state;
	outcomes_init(&o);
	assert_true(outcomes_put(&o, &a));
	assert_false(outcomes_put(&o, &b));
	assert_true(outcomes_put(&o, &c));
	assert_int_equal(outcomes_from(&o, 901), 1);
	assert_int_equal(outcomes_from(&o, 991), 2);
	outcomes_done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_answer_as_one_date_after_another_would),
		cmocka_unit_test(years_of_successes_are_one_range_until_one_is_redone),
		cmocka_unit_test(a_date_off_the_plan_joins_nothing),
		cmocka_unit_test(a_date_before_the_plan_outlives_its_neighbour_that_is_redone),
		cmocka_unit_test(a_fill_joins_its_neighbours_and_leaves_what_is_off_the_plan),
		cmocka_unit_test(a_saved_range_is_put_only_where_nothing_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
