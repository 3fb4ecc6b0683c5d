/* sched/name: which texts are names, why others are none, and which look alike. */
#include "sched/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#define T(f) cmocka_unit_test(f)
#define A60  "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff"
#define HAN7 "\u96f6\u552e\u65e5\u62a5\u6c47\u603b\u8868" /* 21 bytes */

/* --- the judge */

static const char *const good_names[] = {
	"a",
	"_",
	"_9",
	"a-b.c_d",
	A60 "ffff",
	"\u6c47\u603b",                                     /* Han */
	"\u65e5\u62a5_2024-03.v2",                          /* with digits and separators */
	"\u9500\u552eETL\u65e5\u62a5",                      /* Han with Latin */
	"\u58f2\u4e0a\u30c7\u30fc\u30bf\u306e\u96c6\u8a08", /* Han, Katakana, Hiragana */
	"\u30b3\u30fc\u30d2\u30fcA",                        /* the long mark is of all scripts */
	"\ub9e4\ucd9cA\u5408\u8a08",                        /* Hangul, Latin, Han */
	"\u3105\u3106\u5b57",                               /* Bopomofo with Han */
	"\u4e8c\u3007\u4e8c\u56db",                         /* 〇 is a number of letters */
	"\u4eba\u3005",                                     /* the mark of repetition */
	"\u041e\u0442\u0447\u0451\u0442",                   /* Cyrillic alone */
	"sales_\u041e\u0442\u0447\u0451\u0442",             /* words may differ in script */
	"\u03b1\u03b2\u03b3",                               /* Greek */
	"\u05d3\u05d5\u05d7",                               /* Hebrew */
	"\u062a\u0642\u0631\u064a\u0631",                   /* Arabic */
	"\u0930\u093f\u092a\u094b\u0930\u094d\u091f", /* Devanagari has vowels that are marks */
	"\u0e23\u0e32\u0e22\u0e07\u0e32\u0e19",       /* Thai */
	"caf\u00e9",                                  /* one letter, not e and an accent */
	"\uff21\uff22\uff23",                         /* wide letters are letters */
	"\U00020000\u8868",                           /* beyond the first plane */
	HAN7 HAN7 HAN7 "a",                           /* 64 bytes */
};

static const struct {
	const char *text, *why;
} bad_names[] = {
	{ "", "it is empty" },
	{ A60 "fffff", "it has 65 bytes, at most 64 are allowed" },
	{ HAN7 HAN7 HAN7 "\u8868", "it has 66 bytes, at most 64 are allowed" },
	{ "9a", "it begins with '9' (U+0039), not with a letter or _" },
	{ "-a", "it begins with '-' (U+002D)" },
	{ ".a", "it begins with '.' (U+002E)" },
	{ "\u0661\u0662", "not with a letter or _" },
	{ "\u0301a", "it begins with U+0301" },
	{ "a b", "U+0020 is not allowed: it cannot be seen" },
	{ "a/b", "'/' (U+002F) is not allowed: it is neither" },
	{ "a\tb", "U+0009 is not allowed: it cannot be seen" },
	{ "a%20b", "'%' (U+0025) is not allowed" },
	{ "\u65e5\u62a5\uff01", "'\uff01' (U+FF01) is not allowed: it is neither" },
	{ "\u65e5\u3000\u62a5", "U+3000 is not allowed: it cannot be seen" },
	{ "a\u00a0b", "U+00A0 is not allowed: it cannot be seen" },
	{ "a\u200bb", "U+200B is not allowed: it cannot be seen" },     /* zero width space */
	{ "a\u200db", "U+200D is not allowed: it cannot be seen" },     /* zero width joiner */
	{ "a\u202eb", "U+202E is not allowed: it cannot be seen" },     /* right to left override */
	{ "a\u2066b", "U+2066 is not allowed: it cannot be seen" },     /* isolate */
	{ "a\u200fb", "U+200F is not allowed: it cannot be seen" },     /* right to left mark */
	{ "a\u00adb", "U+00AD is not allowed: it cannot be seen" },     /* soft hyphen */
	{ "a\ufeffb", "U+FEFF is not allowed: it cannot be seen" },     /* byte order mark */
	{ "\u65e5\ufe00", "U+FE00 is not allowed: it cannot be seen" }, /* variation selector */
	{ "\u3164\u3164",
	  "U+3164 is not allowed: it cannot be seen" }, /* Hangul filler, a letter */
	{ "\u115f", "U+115F is not allowed: it cannot be seen" },
	{ "\ue000", "U+E000 is not allowed: it cannot be seen" },       /* private use */
	{ "a\U000e0041", "U+E0041 is not allowed: it cannot be seen" }, /* a tag */
	{ "a\u0378", "U+0378 is not allowed: no character is assigned to it" },
	{ "a\U0001f600", "(U+1F600) is not allowed: it is neither" },
	{ "\u2603", "(U+2603) is not allowed" },
	{ "\xff", "byte 1 is not UTF-8" },
	{ "ab\xe6\xb1", "byte 3 is not UTF-8" },
	{ "a\xed\xa0\x80", "byte 2 is not UTF-8" }, /* half of a surrogate pair */
	{ "a\xc0\xaf", "byte 2 is not UTF-8" },     /* / in two bytes */
	{ "p\u0430ypal", "mixes letters of Latin and Cyrillic (at '\u0430' (U+0430))" },
	{ "\u041e\u03b1", "mixes letters of Cyrillic and Greek" },
	{ "\u65e5\u041e", "mixes letters of Han and Cyrillic" },
	{ "\u304b\ub9e4", "mixes letters of Hiragana and Hangul" },
	{ "\u3105\u30c7", "mixes letters of Bopomofo and Katakana" },
	{ "a\u0967", "mixes letters and digits of Latin and Devanagari" },
	{ "a1\u0662", "mixes two kinds of digits (at '\u0662' (U+0662))" },
	{ "q\u0300\u0301\u0302\u0303\u0304", "more than 4 marks in a row" },
	{ "\u0628\u0661\u06f1", "mixes two kinds of digits" },
	{ "cafe\u0301", "its letters are not in Unicode's normal form C" },
	{ "\uf900", "its letters are not in Unicode's normal form C" }, /* a second U+8C48 */
};

static void names_of_any_script_are_names(void **state)
{
	char why[NAME_WHY_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof good_names / sizeof good_names[0]; i++) {
		const char *wrong = name_wrong(good_names[i], why);
		if (wrong)
			fail_msg("'%s': %s", good_names[i], wrong);
		assert_true(name_ok(good_names[i]));
		assert_null(name_nfc(good_names[i]));
	}
}

static void what_is_no_name_is_told_why(void **state)
{
	char why[NAME_WHY_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof bad_names / sizeof bad_names[0]; i++) {
		const char *wrong = name_wrong(bad_names[i].text, why);
		if (!wrong)
			fail_msg("row %zu, '%s', is taken", i, bad_names[i].text);
		else if (!strstr(wrong, bad_names[i].why))
			fail_msg("row %zu, '%s': %s", i, bad_names[i].text, wrong);
		assert_int_equal(u8_check((const uint8_t *)wrong, strlen(wrong)) != NULL, 0);
		assert_false(name_ok(bad_names[i].text));
	}
}

static void words_of_machines_stay_ascii(void **state)
{
	char why[NAME_WHY_BYTES];

	(void)state;
	assert_true(word_ok("shell"));
	assert_true(word_ok("_9.a-b"));
	assert_string_equal(
		word_wrong("\u6c47\u603b", why),
		"only letters of ASCII, digits, _ . - are allowed, a letter or _ first");
	assert_string_equal(word_wrong(A60 "fffff", why),
	                    "it has 65 bytes, at most 64 are allowed");
	assert_false(word_ok(""));
	assert_false(word_ok("9a"));
	assert_false(word_ok("a b"));
}

/* --- forms */

static void normal(const char *text, const char *want)
{
	char *nfc = name_nfc(text);

	assert_string_equal(nfc ? nfc : text, want);
	free(nfc);
}

static void names_are_put_into_normal_form(void **state)
{
	(void)state;
	normal("cafe\u0301", "caf\u00e9");
	normal("\u304b\u3099", "\u304c");
	normal("\u1106\u1162", "\ub9e4");
	normal("\uf900", "\u8c48");
	normal("\uff21", "\uff21"); /* wide stays: C, not KC */
	normal("plain", "plain");
	normal("\xff", "\xff"); /* no text: the judge says so */
}

static void alike(const char *a, const char *b, bool want)
{
	char *x = name_fold(a), *y = name_fold(b);

	if ((strcmp(x, y) == 0) != want)
		fail_msg("'%s' is '%s', '%s' is '%s'", a, x, b, y);
	free(x);
	free(y);
}

static void names_that_look_the_same_have_one_fold(void **state)
{
	(void)state;
	alike("Load", "load", true);
	alike("\uff21\uff22", "ab", true);     /* wide */
	alike("\uff76\uff9e", "\u30ac", true); /* half-width Katakana */
	alike("STRASSE", "stra\u00dfe", true);
	alike("\u0391\u03a3", "\u03b1\u03c2", true); /* Greek final sigma */
	alike("\u65e5\u62a5", "\u6708\u62a5", false);
	alike("\u6c49", "\u6f22", false); /* simplified and traditional are two letters */
	alike("shop/Load", "SHOP/load", true);
}

static void made(const char *text, size_t max, const char *want)
{
	char name[NAME_BYTES_MAX + 1];

	name_make(text, max, name);
	assert_string_equal(name, want);
	assert_true(!*name || name_ok(name));
}

static void a_name_is_made_of_any_text(void **state)
{
	(void)state;
	made("daily report!", 64, "daily_report_");
	made("\u6bcf\u65e5 \u6c47\u603b\uff01", 64, "\u6bcf\u65e5_\u6c47\u603b_");
	made("2024\u5e74", 64, "_2024\u5e74");
	made("  x", 64, "x");
	made("\u6c47\u603b\u8868", 8, "\u6c47\u603b"); /* never half a letter */
	made("cafe\u0301", 64, "caf\u00e9");
	made("p\u0430ypal", 64, "p_ypal"); /* a mixture: ASCII alone */
	made("!!!", 64, "");
	made("- _", 64, "");
	made("\xff\xfe"
	     "a",
	     64, "a");
	made(HAN7 HAN7 HAN7 HAN7, 200, HAN7 HAN7 HAN7);
}

static void what_is_shown_of_a_long_name_ends_with_a_whole_letter(void **state)
{
	char text[400] = "";

	(void)state;
	for (size_t i = 0; i < 60; i++)
		memcpy(text + 3 * i, "\u6c47", 4);
	assert_int_equal(name_shown(text), 78);
	assert_int_equal(name_shown("\u6c47"), 3);
	memset(text, 0x80, 300);
	assert_int_equal(name_shown(text), 80);
}

/* --- anything at all */

static uint64_t seed = 0x9e3779b97f4a7c15;

static unsigned draw(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % below);
}

/* Of a block of 256 as often as of anywhere, so that many are names. */
static size_t draw_text(char text[100])
{
	size_t n = 0, letters = 1 + draw(12);
	unsigned block = draw(0x300) << 8;

	for (size_t i = 0; i < letters; i++) {
		ucs4_t c = draw(4) ? block + draw(256) : draw(0x110000);
		int len = u8_uctomb((uint8_t *)text + n, c ? c : 'a', (ptrdiff_t)(99 - n));
		n += len > 0 ? (size_t)len : 0;
	}
	if (draw(10) == 0 && n)
		text[draw((unsigned)n)] = (char)(1 + draw(255));
	text[n] = '\0';
	return n;
}

static void any_text_is_judged_and_a_name_is_its_own_normal_form(void **state)
{
	size_t taken = 0;
	char text[100], why[NAME_WHY_BYTES];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		draw_text(text);
		const char *wrong = name_wrong(text, why);
		char *nfc = name_nfc(text), *fold = name_fold(text);
		if (!wrong) {
			taken++;
			assert_null(nfc);
			assert_true(strlen(text) <= NAME_BYTES_MAX);
			assert_null(strpbrk(text, "/%?#&=+:,;'\"\\<>@*[]{}()|~ \t\r\n"));
		}
		if (nfc)
			assert_null(name_nfc(nfc)); /* it is its own normal form */
		char *again = name_fold(fold);
		if (!wrong)
			assert_string_equal(again, fold);
		char name[NAME_BYTES_MAX + 1];
		name_make(text, 1 + draw(NAME_BYTES_MAX), name);
		assert_true(!*name || name_ok(name));
		free(nfc);
		free(fold);
		free(again);
	}
	assert_true(taken > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(names_of_any_script_are_names),
		T(what_is_no_name_is_told_why),
		T(words_of_machines_stay_ascii),
		T(names_are_put_into_normal_form),
		T(names_that_look_the_same_have_one_fold),
		T(a_name_is_made_of_any_text),
		T(what_is_shown_of_a_long_name_ends_with_a_whole_letter),
		T(any_text_is_judged_and_a_name_is_its_own_normal_form),
	};

	return cmocka_run_group_tests_name("name", tests, NULL, NULL);
}
