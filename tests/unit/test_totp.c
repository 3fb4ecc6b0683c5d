/* util/totp: the codes of RFC 6238, how far a clock may be wrong, that a code is good once; the
 * clock is handed in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/totp.h"

static const unsigned char rfc[TOTP_SECRET_BYTES + 1] = "12345678901234567890";

/* RFC 6238, appendix B, SHA-1: of eight digits the last six. */
static const struct {
	int64_t at_s;
	const char *code;
} vectors[] = {
	{ 59, "287082" },         { 1111111109, "081804" }, { 1111111111, "050471" },
	{ 1234567890, "005924" }, { 2000000000, "279037" }, { 20000000000, "353130" },
};

static void the_codes_are_those_of_the_rfc(void **state)
{
	char code[TOTP_CODE_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
		totp_code(rfc, vectors[i].at_s / TOTP_STEP_S, code);
		assert_string_equal(code, vectors[i].code);
		assert_int_equal(totp_step(rfc, vectors[i].code, vectors[i].at_s, 0),
		                 vectors[i].at_s / TOTP_STEP_S);
	}
}

static void a_clock_may_be_one_step_wrong_and_no_more(void **state)
{
	int64_t step = 41152263; /* of 1234567890 s */

	(void)state;
	/* to the second, at both edges */
	assert_int_equal(totp_step(rfc, "005924", (step - 1) * 30 - 1, 0), -1);
	assert_int_equal(totp_step(rfc, "005924", (step - 1) * 30, 0), step);
	assert_int_equal(totp_step(rfc, "005924", step * 30, 0), step);
	assert_int_equal(totp_step(rfc, "005924", (step + 2) * 30 - 1, 0), step);
	assert_int_equal(totp_step(rfc, "005924", (step + 2) * 30, 0), -1);
}

static void a_code_is_good_once_and_so_is_none_before_it(void **state)
{
	int64_t now = 1234567890, step = now / TOTP_STEP_S;
	char code[TOTP_CODE_TEXT];

	(void)state;
	for (int64_t of = step - 1; of <= step + 1; of++) {
		totp_code(rfc, of, code);
		assert_int_equal(totp_step(rfc, code, now, of - 1), of);
		assert_int_equal(totp_step(rfc, code, now, of), -1);
		assert_int_equal(totp_step(rfc, code, now, of + 1), -1);
	}
}

static void what_is_no_code_is_none(void **state)
{
	static const char *const wrong[] = { "",        "05924",  "0059244", "00592x",
		                             " 005924", "+05924", "-05924",  "005925" };

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_int_equal(totp_step(rfc, wrong[i], 1234567890, 0), -1);
}

static void a_secret_comes_back_from_base32(void **state)
{
	unsigned char bytes[TOTP_SECRET_BYTES];
	char text[TOTP_SECRET_TEXT];

	(void)state;
	totp_secret_text(rfc, text);
	assert_string_equal(text, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
	assert_true(totp_secret_bytes(text, bytes));
	assert_memory_equal(bytes, rfc, sizeof bytes);
	assert_false(totp_secret_bytes("", bytes));
	assert_false(totp_secret_bytes("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ", bytes));
	assert_false(totp_secret_bytes("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ1", bytes));
	assert_false(totp_secret_bytes("gezdgnbvgy3tqojqgezdgnbvgy3tqojq", bytes));
}

static void a_recovery_code_reads_however_it_is_typed(void **state)
{
	char text[TOTP_RECOVERY_TEXT], one[TOTP_HASH_TEXT], other[TOTP_HASH_TEXT];

	(void)state;
	totp_recovery_text(rfc, text);
	assert_string_equal(text, "GEZD-GNBV-GY3T-QOJQ");
	assert_true(totp_recovery_hash(text, one));
	assert_int_equal(strlen(one), 64);
	assert_true(totp_recovery_hash(" gezd gnbvgy3t-qojq ", other));
	assert_string_equal(one, other);
	assert_true(totp_recovery_hash("GEZD-GNBV-GY3T-QOJA", other));
	assert_string_not_equal(one, other);
	assert_false(totp_recovery_hash("GEZD-GNBV-GY3T-QOJ", other));
	assert_false(totp_recovery_hash("GEZD-GNBV-GY3T-QOJQQ", other));
	assert_false(totp_recovery_hash("005924", other));
	assert_false(totp_recovery_hash("GEZD-GNBV-GY3T-QOJ1", other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_codes_are_those_of_the_rfc),
		cmocka_unit_test(a_clock_may_be_one_step_wrong_and_no_more),
		cmocka_unit_test(a_code_is_good_once_and_so_is_none_before_it),
		cmocka_unit_test(what_is_no_code_is_none),
		cmocka_unit_test(a_secret_comes_back_from_base32),
		cmocka_unit_test(a_recovery_code_reads_however_it_is_typed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
