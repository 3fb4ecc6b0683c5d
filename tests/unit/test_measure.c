/* Durations in buckets: exact where small, 1 in 32 beyond, summed without loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "sched/measure.h"
#include "util/timing.h"

static void small_durations_are_exact(void **state)
{
	(void)state;
	for (int us = 0; us < 32; us++)
		assert_int_equal(measure_value(measure_bucket(us)), us);
	assert_int_equal(measure_bucket(-5), 0);
}

static void every_duration_is_known_to_one_in_thirty_two(void **state)
{
	int last = 0;

	(void)state;
	for (int64_t us = 1; us < INT64_MAX / 3; us += us / 7 + 1) {
		int b = measure_bucket(us);
		assert_true(b >= last && b < MEASURE_BUCKETS);
		int64_t v = measure_value(b), off = v > us ? v - us : us - v;
		assert_true(off <= us / 32);
		last = b;
	}
	assert_int_equal(measure_bucket(INT64_MAX), MEASURE_BUCKETS - 1);
	assert_true(measure_value(MEASURE_BUCKETS - 1) > INT64_MAX / 32 * 31);
}

static void percentiles_are_those_of_a_sorted_list(void **state)
{
	static const unsigned asked[] = { 1, 500, 900, 990, 1000 };
	struct measure *m = calloc(1, sizeof *m);

	(void)state;
	assert_int_equal(measure_percentile(m, 500), 0);
	assert_int_equal(measure_mean(m), 0);
	for (int64_t i = 1; i <= 1000; i++)
		measure_add(m, measure_bucket(i * 1000), 1, i * 1000);
	for (int k = 0; k < 5; k++) {
		int64_t want = (int64_t)asked[k] * 1000, got = measure_percentile(m, asked[k]);
		assert_true(llabs(got - want) <= want / 32);
	}
	assert_int_equal(measure_mean(m), 500500);
	measure_add(m, measure_bucket(1), 1, 1);
	assert_int_equal(measure_percentile(m, 0), 1);
	free(m);
}

static void a_timing_falls_into_the_first_class_that_reaches_it(void **state)
{
	struct timing t = { 0 };
	struct timing_view v;

	(void)state;
	for (int c = 0; c < TIMING_CLASSES - 1; c++) {
		assert_int_equal(timing_class(timing_limit_us(c)), c);
		assert_int_equal(timing_class(timing_limit_us(c) + 1), c + 1);
	}
	assert_int_equal(timing_limit_us(0), 16);
	assert_int_equal(timing_limit_us(1), 24);
	assert_int_equal(timing_limit_us(2), 32);
	assert_int_equal(timing_class(-1), 0);
	assert_int_equal(timing_class(INT64_MAX), TIMING_CLASSES - 1);
	timing_add(&t, 20);
	timing_share(&t, 20);
	timing_add(&t, -9);
	timing_read(&t, &v);
	assert_int_equal(v.counts[1], 2);
	assert_int_equal(v.n, 3);
	assert_int_equal(v.sum_us, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_durations_are_exact),
		cmocka_unit_test(every_duration_is_known_to_one_in_thirty_two),
		cmocka_unit_test(percentiles_are_those_of_a_sorted_list),
		cmocka_unit_test(a_timing_falls_into_the_first_class_that_reaches_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
