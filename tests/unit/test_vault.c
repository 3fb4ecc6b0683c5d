/* Secrets at rest: what is sealed opens for the same thing with the same key only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "baseserver/model/vault.h"
#include "util/err.h"
#include "util/fs.h"

#define HEX32 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define OTHER "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static const char path[] = "vault.keys";

static void put_keys(const char *text)
{
	assert_int_equal(fs_write(path, text, strlen(text), 0600, NULL), 0);
}

static void what_is_sealed_opens_for_the_same_thing_only(void **state)
{
	struct vault *v = vault_new(path);
	char *sealed = NULL, *again = NULL, *text = NULL;

	(void)state;
	put_keys("# keys\none:" HEX32 "\n");
	assert_int_equal(vault_seal(v, "server a", "s3cret", &sealed, NULL), 0);
	assert_int_equal(vault_seal(v, "server a", "s3cret", &again, NULL), 0);
	assert_string_not_equal(sealed, again);
	assert_null(strstr(sealed, "s3cret"));
	assert_int_equal(vault_open(v, "server a", sealed, &text, NULL), 0);
	assert_string_equal(text, "s3cret");
	vault_forget(text);
	assert_int_equal(vault_open(v, "server b", sealed, &text, NULL), E_CORRUPT);
	sealed[strlen(sealed) - 6] ^= 1;
	assert_int_equal(vault_open(v, "server a", sealed, &text, NULL), E_CORRUPT);
	free(sealed);
	free(again);
	vault_free(v);
}

static void another_first_key_seals_anew_and_the_old_one_still_opens(void **state)
{
	struct vault *v = vault_new(path);
	char *sealed = NULL, *text = NULL;
	struct err err = { 0 };
	bool current;

	(void)state;
	put_keys("one:" HEX32 "\n");
	assert_int_equal(vault_seal(v, "x", "", &sealed, NULL), 0);
	put_keys("two:" OTHER "\none:" HEX32 "\n");
	assert_int_equal(vault_is_current(v, sealed, &current, NULL), 0);
	assert_false(current);
	assert_int_equal(vault_open(v, "x", sealed, &text, NULL), 0);
	assert_string_equal(text, "");
	vault_forget(text);
	put_keys("two:" OTHER "\n");
	assert_int_equal(vault_open(v, "x", sealed, &text, &err), E_CORRUPT);
	assert_non_null(strstr(err.text, "'one'"));
	free(sealed);
	vault_free(v);
}

static void wrong_files_are_refused_and_their_keys_are_not_told(void **state)
{
	static const char *const wrong[] = { "",        "one:" HEX32 "0\n",
		                             "one\n",   "one:" HEX32 "\none:" OTHER,
		                             ":" HEX32, "one:zz" };
	char *sealed = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct vault *v = vault_new(path);
		struct err err = { 0 };
		put_keys(wrong[i]);
		assert_int_equal(vault_seal(v, "x", "y", &sealed, &err), E_INVALID);
		assert_null(strstr(err.text, "0001"));
		vault_free(v);
	}
	struct vault *none = vault_new(NULL), *open = vault_new(path);
	assert_int_equal(vault_seal(none, "x", "y", &sealed, NULL), E_FORBIDDEN);
	put_keys("one:" HEX32 "\n");
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(vault_seal(open, "x", "y", &sealed, NULL), E_FORBIDDEN);
	vault_free(none);
	vault_free(open);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sealed_opens_for_the_same_thing_only),
		cmocka_unit_test(another_first_key_seals_anew_and_the_old_one_still_opens),
		cmocka_unit_test(wrong_files_are_refused_and_their_keys_are_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
