/* Durations in buckets: exact where small, 1 in 32 beyond, summed without loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "sched/measure.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_durations_are_exact),
		cmocka_unit_test(every_duration_is_known_to_one_in_thirty_two),
		cmocka_unit_test(percentiles_are_those_of_a_sorted_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
