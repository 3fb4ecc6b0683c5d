/* Turns of people at the readers of the store: who is next, by what each has cost. The costs are
 * told, so no clock is in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgi/http/turns.h"
#include "util/err.h"

#define HEAVY_US (4 * TURNS_LIGHT_US)

static const char bad[] = "bad", worse[] = "worse", good[] = "good";

static int turns_setup(void **state)
{
	*state = turns_new(2, 8);
	return 0;
}

static int turns_teardown(void **state)
{
	turns_free(*state);
	return 0;
}

static void a_short_read_begins_while_another_persons_heavy_one_is_read(void **state)
{
	struct turn heavy[2], brief;

	assert_int_equal(turns_put(*state, &heavy[0], bad, HEAVY_US), 0);
	assert_int_equal(turns_put(*state, &heavy[1], bad, HEAVY_US), 0);
	assert_ptr_equal(turns_take(*state), &heavy[0]);
	assert_null(turns_take(*state));
	assert_int_equal(turns_put(*state, &brief, good, 0), 0);
	assert_true(turns_has_next(*state));
	assert_ptr_equal(turns_take(*state), &brief);
	turns_end(*state, good, 1000);
	assert_null(turns_take(*state)); /* the heavy one still has its reader */
	turns_end(*state, bad, 2 * HEAVY_US);
	assert_ptr_equal(turns_take(*state), &heavy[1]);
	turns_end(*state, bad, 3 * HEAVY_US);
}

static void a_person_has_one_reader_though_others_are_free(void **state)
{
	struct turn first, second;

	turns_put(*state, &first, good, 0);
	turns_put(*state, &second, good, 0);
	assert_ptr_equal(turns_take(*state), &first);
	assert_false(turns_has_next(*state));
	assert_null(turns_take(*state));
	turns_end(*state, good, 10);
	assert_ptr_equal(turns_take(*state), &second);
	turns_end(*state, good, 20);
}

static void the_last_free_reader_is_for_people_who_have_cost_little(void **state)
{
	struct turn first, second, brief;

	turns_put(*state, &first, bad, HEAVY_US);
	turns_put(*state, &second, worse, TURNS_LIGHT_US);
	assert_ptr_equal(turns_take(*state), &second); /* has cost less */
	assert_null(turns_take(*state));
	turns_put(*state, &brief, good, TURNS_LIGHT_US - 1);
	assert_ptr_equal(turns_take(*state), &brief);
	turns_end(*state, worse, HEAVY_US);
	assert_null(turns_take(*state)); /* one is free again, but it is the last */
	turns_end(*state, good, TURNS_LIGHT_US);
	assert_ptr_equal(turns_take(*state), &first);
	turns_end(*state, bad, 2 * HEAVY_US);
}

static void who_has_cost_least_comes_first_and_of_equals_who_waits_longest(void **state)
{
	struct turn of_bad[2], of_good[2], of_worse;

	turns_put(*state, &of_bad[0], bad, 0);
	turns_put(*state, &of_bad[1], bad, 0);
	turns_put(*state, &of_worse, worse, 500);
	turns_put(*state, &of_good[0], good, 0);
	turns_put(*state, &of_good[1], good, 0);
	assert_ptr_equal(turns_take(*state), &of_bad[0]);
	turns_end(*state, bad, 0); /* it cost nothing, and yet others are before its next */
	assert_ptr_equal(turns_take(*state), &of_good[0]);
	turns_end(*state, good, 400);
	assert_ptr_equal(turns_take(*state), &of_bad[1]);
	turns_end(*state, bad, 900);
	assert_ptr_equal(turns_take(*state), &of_good[1]);
	turns_end(*state, good, 600);
	assert_ptr_equal(turns_take(*state), &of_worse);
	turns_end(*state, worse, 700);
	assert_false(turns_has_next(*state));
}

static void more_than_may_wait_are_refused_and_what_waits_can_be_given_back(void **state)
{
	struct turn waits[8], one_more;
	size_t n = 0;

	for (size_t i = 0; i < 8; i++)
		assert_int_equal(turns_put(*state, &waits[i], i % 2 ? bad : NULL, 0), 0);
	assert_int_equal(turns_put(*state, &one_more, good, 0), E_BUSY);
	assert_non_null(turns_take(*state));
	assert_int_equal(turns_put(*state, &one_more, good, 0), 0);
	turns_end(*state, NULL, 0);
	while (turns_drain(*state))
		n++;
	assert_int_equal(n, 8);
}

int main(void)
{
#define TURNS_TEST(name) cmocka_unit_test_setup_teardown(name, turns_setup, turns_teardown)
	const struct CMUnitTest tests[] = {
		TURNS_TEST(a_short_read_begins_while_another_persons_heavy_one_is_read),
		TURNS_TEST(a_person_has_one_reader_though_others_are_free),
		TURNS_TEST(the_last_free_reader_is_for_people_who_have_cost_little),
		TURNS_TEST(who_has_cost_least_comes_first_and_of_equals_who_waits_longest),
		TURNS_TEST(more_than_may_wait_are_refused_and_what_waits_can_be_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
