/* What programs of neighbouring releases may do together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "store/schema.h"
#include "util/err.h"
#include "wire/protocol.h"

static void the_newest_that_both_speak_is_agreed_on(void **state)
{
	(void)state;
	assert_int_equal(protocol_agree(protocol_min, protocol_max), protocol_max);
	assert_int_equal(protocol_agree(protocol_max, protocol_max + 1), protocol_max);
	assert_int_equal(protocol_agree(0, protocol_min), protocol_min);
	assert_int_equal(protocol_agree(protocol_max + 1, protocol_max + 2), 0);
	assert_int_equal(protocol_agree(0, protocol_min - 1), 0);
	assert_int_equal(protocol_agree(3, 2), 0); /* nonsense */
}

static void check(int64_t version, int64_t lowest, size_t have, int want, const char *words)
{
	struct err err = { 0 };

	assert_int_equal(schema_check(version, lowest, have, &err), want);
	if (words)
		assert_non_null(strstr(err.text, words));
}

static void a_store_one_release_ahead_is_taken_and_no_other(void **state)
{
	(void)state;
	check(7, 7, 7, 0, NULL);
	check(9, 7, 7, 0, NULL);
	check(9, 7, 8, 0, NULL);
	check(9, 8, 7, E_VERSION, "from schema 8 on, this program knows up to 7");
	check(9, 0, 7, E_VERSION, "the store has schema 9, this program knows up to 7");
	check(7, 7, 9, E_VERSION, "has to have it first");
}

/* A floor above what this release has would promise what nobody keeps. */
static void the_floor_is_one_of_the_migrations(void **state)
{
	(void)state;
	assert_in_range(store_schema_floor, 0, store_schema_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_that_both_speak_is_agreed_on),
		cmocka_unit_test(a_store_one_release_ahead_is_taken_and_no_other),
		cmocka_unit_test(the_floor_is_one_of_the_migrations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
