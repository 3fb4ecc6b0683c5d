/* Codes of invites: who has one, until when, and that a peer has one at most. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "baseserver/model/invites.h"
#include "util/err.h"
#include "wire/enrol.h"

#define SECRET "0123456789abcdef0123456789abcdef"
#define OTHER  "ffffffffffffffffffffffffffffffff"

static bool finds(struct invites *v, const char *id, int64_t now_us)
{
	uint8_t key[INVITE_SECRET_BYTES];
	int r = invites_find(v, id, now_us, key);

	assert_true(r == 0 || r == E_NOT_FOUND);
	return r == 0;
}

static void a_code_is_found_until_its_time_has_come(void **state)
{
	struct invites *v = invites_new();
	uint8_t key[INVITE_SECRET_BYTES];

	(void)state;
	invites_add(v, "aaaaaaaaaaaa", SECRET, "etl-1", 1000);
	assert_int_equal(invites_find(v, "aaaaaaaaaaaa", 999, key), 0);
	assert_memory_equal(key, SECRET, sizeof key);
	assert_false(finds(v, "aaaaaaaaaaaa", 1000));
	assert_false(finds(v, "aaaaaaaaaaab", 0));
	invites_free(v);
}

static void a_peer_has_one_code_and_none_when_it_has_ended(void **state)
{
	struct invites *v = invites_new();

	(void)state;
	invites_add(v, "aaaaaaaaaaaa", SECRET, "etl-1", 1000);
	invites_add(v, "cccccccccccc", SECRET, "etl-2", 1000);
	invites_add(v, "bbbbbbbbbbbb", OTHER, "etl-1", 1000);
	assert_false(finds(v, "aaaaaaaaaaaa", 0));
	assert_true(finds(v, "bbbbbbbbbbbb", 0) && finds(v, "cccccccccccc", 0));
	invites_end(v, "etl-1");
	invites_end(v, "nobody");
	assert_false(finds(v, "bbbbbbbbbbbb", 0));
	assert_true(finds(v, "cccccccccccc", 0));
	invites_free(v);
}

static void the_oldest_code_goes_where_there_are_too_many(void **state)
{
	struct invites *v = invites_new();
	char id[INVITE_ID_TEXT], peer[20];

	(void)state;
	for (int i = 0; i <= INVITES_MAX; i++) {
		snprintf(id, sizeof id, "%012d", i);
		snprintf(peer, sizeof peer, "p%d", i);
		invites_add(v, id, SECRET, peer, 1000);
	}
	assert_false(finds(v, "000000000000", 0));
	assert_true(finds(v, "000000000001", 0) && finds(v, id, 0));
	invites_free(v);
}

static void a_code_is_read_as_it_is_printed_and_not_otherwise(void **state)
{
	static const char *const wrong[] = { "",
		                             "aaaaaaaaaaaa",
		                             "aaaaaaaaaaaa-",
		                             "aaaaaaaaaaaa-" SECRET "0",
		                             "aaaaaaaaaaa-0" SECRET,
		                             "AAAAAAAAAAAA-" SECRET,
		                             "aaaaaaaaaaaa " SECRET,
		                             "aaaaaaaaaaag-" SECRET };
	char id[INVITE_ID_TEXT];
	uint8_t key[KEY_BYTES];

	(void)state;
	assert_true(enrol_code_parse("aaaaaaaaaaaa-" SECRET, id, key));
	assert_string_equal(id, "aaaaaaaaaaaa");
	assert_memory_equal(key, SECRET, sizeof key);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_false(enrol_code_parse(wrong[i], id, key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_code_is_found_until_its_time_has_come),
		cmocka_unit_test(a_peer_has_one_code_and_none_when_it_has_ended),
		cmocka_unit_test(the_oldest_code_goes_where_there_are_too_many),
		cmocka_unit_test(a_code_is_read_as_it_is_printed_and_not_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
