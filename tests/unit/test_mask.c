/* util/mask: what is found, in all writings; held against a search of every place, over all ways
 * to cut the text into two and many into more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "etcd/base64.h"
#include "util/buf.h"
#include "util/mask.h"

static struct mask *mask_of(const char *value)
{
	struct mask *m = mask_new();

	assert_true(mask_add(m, value, strlen(value)));
	return m;
}

static void shows(const struct mask *m, const char *text, const char *want)
{
	struct buf out;

	buf_init(&out);
	if (!mask_text(m, text, strlen(text), &out))
		buf_puts(&out, text);
	if (strcmp(buf_str(&out), want) != 0)
		fail_msg("%s\nshown as %s\nwant     %s", text, buf_str(&out), want);
	buf_done(&out);
}

static void a_value_is_hidden_wherever_it_stands(void **state)
{
	struct mask *m = mask_of("hunter2!");

	(void)state;
	shows(m, "hunter2!", "******");
	shows(m, "pass=hunter2!\n", "pass=******\n");
	shows(m, "hunter2!hunter2!x", "******x");
	shows(m, "hunter2 hunterhunter2!", "hunter2 hunter******");
	shows(m, "", "");
	shows(m, "nothing", "nothing");
	mask_free(m);
}

static void a_short_value_is_not_looked_for(void **state)
{
	struct mask *m = mask_new();

	(void)state;
	assert_false(mask_add(m, "abc", 3));
	assert_false(mask_add(m, "abc\r\n", 5));
	assert_false(mask_add(m, "", 0));
	assert_int_equal(mask_count(m), 0);
	shows(m, "abc", "abc");
	shows(NULL, "abc", "abc");
	assert_true(mask_add(m, "abcd", 4));
	shows(m, "abc abcd", "abc ******");
	mask_free(m);
}

static void a_string_of_json_is_hidden_in_the_writings_of_many_libraries(void **state)
{
	struct mask *m = mask_of("p<ss>&w'o/\"\\\xc3\xa9\xf0\x9f\x94\x91");

	(void)state;
	shows(m, "\"p<ss>&w'o/\\\"\\\\\xc3\xa9\xf0\x9f\x94\x91\"", "\"******\"");
	shows(m, "\"p<ss>&w'o/\\\"\\\\\\u00e9\\ud83d\\udd11\"", "\"******\""); /* Python */
	shows(m, "\"p<ss>&w'o/\\\"\\\\\\u00E9\\uD83D\\uDD11\"", "\"******\"");
	shows(m, "\"p<ss>&w'o\\/\\\"\\\\\\u00e9\\ud83d\\udd11\"", "\"******\""); /* PHP */
	shows(m, "\"p\\u003css\\u003e\\u0026w'o/\\\"\\\\\xc3\xa9\xf0\x9f\x94\x91\"",
	      "\"******\""); /* Go */
	shows(m, "\"p\\u003css\\u003e\\u0026w\\u0027o/\\\"\\\\\xc3\xa9\xf0\x9f\x94\x91\"",
	      "\"******\""); /* Gson */
	shows(m, "\"p\\u003Css\\u003E\\u0026w\\u0027o/\\u0022\\\\\\u00E9\\uD83D\\uDD11\"",
	      "\"******\"");                                                  /* .NET */
	shows(m, "'p<ss>&w\\'o/\"\\\\\xc3\xa9\xf0\x9f\x94\x91'", "'******'"); /* repr() */
	mask_free(m);
}

static void base64_is_hidden_at_its_three_places_in_both_alphabets(void **state)
{
	static const char *const values[] = { "hunter2?>~\xff\xfe", "abcd", "p4ss",
		                              "a\xfb\xff\xbf" };

	(void)state;
	for (size_t v = 0; v < sizeof values / sizeof *values; v++)
		for (size_t before = 0; before < 6; before++)
			for (size_t behind = 0; behind < 4; behind++)
				for (int url = 0; url < 2; url++) {
					char text[80] = "user:user", want[80];
					struct mask *m = mask_of(values[v]);
					struct buf b, out;
					snprintf(text + before, 60, "%s%.*s", values[v],
					         (int)behind, ":ok");
					buf_init(&b);
					buf_init(&out);
					base64_put(&b, text, strlen(text));
					for (size_t i = 0; url && i < b.len; i++)
						b.data[i] = b.data[i] == '+'   ? '-'
						            : b.data[i] == '/' ? '_'
						                               : b.data[i];
					snprintf(want, sizeof want, "%s", buf_str(&b));
					if (!mask_text(m, want, strlen(want), &out))
						fail_msg("%s of %s is shown", want, text);
					/* What stays belongs to its neighbours, too. */
					assert_true(out.len <=
					            strlen(want) + 6 - strlen(values[v]));
					buf_done(&b);
					buf_done(&out);
					mask_free(m);
				}
}

static void other_writings_are_hidden(void **state)
{
	struct mask *m = mask_of("p w/\"d'\\%é~*");

	(void)state;
	shows(m, "u:p%20w%2F%22d%27%5C%25%C3%A9~%2A@h", "u:******@h");
	shows(m, "u:p%20w%2f%22d%27%5c%25%c3%a9~%2a@h", "u:******@h");
	shows(m, "u:p%20w/%22d%27%5C%25%C3%A9~%2A@h", "u:******@h"); /* Python's quote() */
	shows(m, "u:p%20w%2F%22d'%5C%25%C3%A9~*@h", "u:******@h");   /* encodeURIComponent() */
	shows(m, "u=p+w%2F%22d%27%5C%25%C3%A9%7E*&x", "u=******&x"); /* a form's */
	shows(m, "{\"p\": \"p w/\\\"d'\\\\%é~*\"}", "{\"p\": \"******\"}");
	shows(m, "+ echo 'p w/\"d'\\''\\%é~*'", "+ echo '******'");
	mask_free(m);
}

static void lines_of_a_value_are_hidden_too(void **state)
{
	struct mask *m = mask_of("-----BEGIN KEY-----\r\nMIIEvQIBADAN\nshort\nBgkqhkiG\n");

	(void)state;
	shows(m, "x MIIEvQIBADAN short BgkqhkiG", "x ****** short ******");
	shows(m, "-----BEGIN KEY-----\r\nMIIEvQIBADAN\nshort\nBgkqhkiG.", "******.");
	mask_free(m);
}

static void values_that_overlap_are_one_run(void **state)
{
	struct mask *m = mask_of("abcd");

	(void)state;
	assert_true(mask_add(m, "cdef", 4));
	assert_true(mask_add(m, "abcdefgh", 8));
	assert_int_equal(mask_count(m), 3);
	shows(m, "abcdef", "******");
	shows(m, "xabcdcdefx", "x******x");
	shows(m, "abcdefg", "******g");
	shows(m, "abcdefghcdef.abc", "******.abc");
	mask_free(m);
}

/* --- against a search of every place ------------------------------------------------ */

static unsigned seed = 16;

static unsigned any(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static void naive(char values[][16], size_t n_values, const char *text, struct buf *out)
{
	size_t n = strlen(text);
	bool hidden[128] = { false };

	for (size_t v = 0; v < n_values; v++)
		for (size_t at = 0, len = strlen(values[v]); at + len <= n; at++)
			for (size_t i = 0; memcmp(text + at, values[v], len) == 0 && i < len; i++)
				hidden[at + i] = true;
	for (size_t i = 0; i < n; i++) {
		if (!hidden[i])
			buf_putc(out, text[i]);
		else if (i == 0 || !hidden[i - 1])
			buf_puts(out, MASK_SHOWN);
	}
}

static void in_pieces(const struct mask *m, const char *text, const size_t *cuts, size_t n_cuts,
                      struct buf *out)
{
	struct mask_stream s = { 0 };
	size_t at = 0, n = strlen(text);

	buf_clear(out);
	for (size_t i = 0; i < n_cuts; at = cuts[i++])
		mask_take(m, &s, text + at, cuts[i] - at, out);
	mask_take(m, &s, text + at, n - at, out);
	mask_end(m, &s, out);
	mask_stream_done(&s);
}

static void wherever_it_is_cut_the_same_is_shown(void **state)
{
	(void)state;
	for (size_t round = 0; round < 1500; round++) {
		char values[4][16] = { "" }, text[64];
		size_t n_values = 1 + any(4), n = any(48), cuts[8];
		struct mask *m = mask_new();
		struct buf want, got;

		buf_init(&want);
		buf_init(&got);
		for (size_t v = 0; v < n_values; v++) {
			size_t len = 4 + any(8);
			for (size_t i = 0; i < len; i++)
				values[v][i] = (char)('a' + any(2));
			assert_true(mask_add(m, values[v], len));
		}
		for (size_t i = 0; i < n; i++)
			text[i] = (char)('a' + any(any(9) ? 2 : 3));
		text[n] = '\0';
		naive(values, n_values, text, &want);
		for (size_t cut = 0; cut <= n; cut++) {
			in_pieces(m, text, &cut, 1, &got);
			assert_string_equal(buf_str(&got), buf_str(&want));
		}
		for (size_t k = 0; k < 20; k++) {
			size_t n_cuts = any(8);
			for (size_t i = 0, at = 0; i < n_cuts; i++)
				cuts[i] = at += any((unsigned)(n - at + 1));
			in_pieces(m, text, cuts, n_cuts, &got);
			assert_string_equal(buf_str(&got), buf_str(&want));
		}
		buf_done(&want);
		buf_done(&got);
		mask_free(m);
	}
}

static void what_is_held_is_no_more_than_the_beginning_of_a_value(void **state)
{
	struct mask *m = mask_of("hunter2!");
	struct mask_stream s = { 0 };
	struct buf out;

	(void)state;
	buf_init(&out);
	mask_take(m, &s, "Password: ", 10, &out);
	assert_string_equal(buf_str(&out), "Password: ");
	mask_take(m, &s, "hunt", 4, &out);
	assert_string_equal(buf_str(&out), "Password: ");
	mask_take(m, &s, "ing\n", 4, &out);
	assert_string_equal(buf_str(&out), "Password: hunting\n");
	mask_stream_done(&s);
	buf_done(&out);
	mask_free(m);
}

/* As many as one job may be given, of the longest that have other writings: keys in lines. */
static void there_is_room_for_all_values_of_a_job(void **state)
{
	enum { VALUES = 32, BYTES = 4000 };
	static char values[VALUES][BYTES + 1];
	struct mask *m = mask_new();
	uint32_t dice = 7;

	(void)state;
	for (size_t v = 0; v < VALUES; v++) {
		for (size_t i = 0; i < BYTES; i++) {
			dice = dice * 1664525 + 1013904223;
			values[v][i] =
				i % 65 == 64 ? '\n'
					     : "abcdefghijklmnopqrst01234567+/=\""[dice >> 16 & 31];
		}
		assert_true(mask_add(m, values[v], BYTES));
	}
	for (size_t v = 0; v < VALUES; v++) {
		struct buf b, out;
		shows(m, values[v], "******");
		buf_init(&b);
		buf_init(&out);
		base64_put(&b, values[v], BYTES);
		assert_true(mask_text(m, buf_str(&b), b.len, &out));
		assert_in_range(out.len, strlen("******"), strlen("******A=="));
		buf_done(&out);
		buf_done(&b);
	}
	mask_free(m);
}

static void room_for_values_has_an_end(void **state)
{
	struct mask *m = mask_new();
	char *large = malloc(MASK_BYTES_MAX + 1);

	(void)state;
	memset(large, 'x', MASK_BYTES_MAX + 1);
	assert_false(mask_add(m, large, MASK_BYTES_MAX + 1));
	assert_true(mask_add(m, large, MASK_BYTES_MAX));
	assert_false(mask_add(m, "another", 7));
	assert_int_equal(mask_count(m), 1);
	free(large);
	mask_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_hidden_wherever_it_stands),
		cmocka_unit_test(a_short_value_is_not_looked_for),
		cmocka_unit_test(a_string_of_json_is_hidden_in_the_writings_of_many_libraries),
		cmocka_unit_test(base64_is_hidden_at_its_three_places_in_both_alphabets),
		cmocka_unit_test(other_writings_are_hidden),
		cmocka_unit_test(lines_of_a_value_are_hidden_too),
		cmocka_unit_test(values_that_overlap_are_one_run),
		cmocka_unit_test(wherever_it_is_cut_the_same_is_shown),
		cmocka_unit_test(what_is_held_is_no_more_than_the_beginning_of_a_value),
		cmocka_unit_test(there_is_room_for_all_values_of_a_job),
		cmocka_unit_test(room_for_values_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
