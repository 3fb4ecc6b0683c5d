/* Regular expressions of searches: what they find is what the C library finds, and neither the time
 * nor the memory grows with how odd an expression is. */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/alloc.h"
#include "util/err.h"
#include "util/rex.h"

static bool found(const char *text, bool folds, const char *line)
{
	struct rex *r;
	struct err err = { 0 };

	if (rex_new(text, folds, &r, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	bool is = rex_finds(r, line, strlen(line));
	assert_int_equal(is, rex_finds(r, line, strlen(line)));
	rex_free(r);
	return is;
}

static void an_expression_finds_what_it_says(void **state)
{
	static const struct {
		const char *text, *line;
		bool folds, fits;
	} cases[] = {
		{ "error", "an error of it", 0, 1 },
		{ "error", "an Error of it", 0, 0 },
		{ "error", "an ERROR of it", 1, 1 },
		{ "^error", "an error", 0, 0 },
		{ "error$", "error ", 0, 0 },
		{ "^$", "", 0, 1 },
		{ "^$", "x", 0, 0 },
		{ "a*$", "bbb", 0, 1 },
		{ "[0-9]{3,5} rows", "12 rows", 0, 0 },
		{ "[0-9]{3,5} rows", "123 rows", 0, 1 },
		{ "\\d+\\.\\d+s", "took 12.5s", 0, 1 },
		{ "\\d+\\.\\d+s", "took 12x5s", 0, 0 },
		{ "a.b",
		  "a\xe6\xb5\xb7"
		  "b",
		  0, 1 },
		{ "^.$", "\xe6\xb5\xb7", 0, 1 },
		{ "^.$", "\xff", 0, 1 },
		{ "^[^x]$", "\xe6\xb5\xb7", 0, 1 },
		{ "\xe6\xb5\xb7+$", "\xe6\xb5\xb7\xb7", 0, 0 },
		{ "[[:upper:]]x", "Ax", 0, 1 },
		{ "[]a]", "]", 0, 1 },
		{ "(foo|bar)+ baz", "foobar baz", 0, 1 },
		{ "x{0}y", "y", 0, 1 },
		{ "^(ab?){2}$", "aab", 0, 1 },
		{ "^a{2,}$", "a", 0, 0 },
		{ "^a{2,}$", "aaaa", 0, 1 },
		{ "a{,3}", "a{,3}", 0, 1 },
		{ "(a*)*b", "aaab", 0, 1 },
		{ "\\[sirdar\\]", "[sirdar] ended", 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (found(cases[i].text, cases[i].folds, cases[i].line) != cases[i].fits)
			fail_msg("%s in %s", cases[i].text, cases[i].line);
}

static void what_is_no_expression_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "empty" },
		{ "a(b", "not closed" },
		{ "a)b", "was not opened" },
		{ "[a", "no end" },
		{ "*a", "nothing stands" },
		{ "a\\", "backslash" },
		{ "a\\bc", "character 2" },
		{ "(?=a)", "look-around" },
		{ "[z-a]", "backwards" },
		{ "a{300}", "255" },
		{ "a{5,2}", "fewer" },
		{ "((a{200}){200}){200}", "too large" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rex *r;
		struct err err = { 0 };
		assert_int_equal(rex_new(cases[i].text, false, &r, &err), E_INVALID);
		if (!strstr(err.text, cases[i].says))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

enum { TEXT_MAX = 4000 };

static uint32_t seed = 4711;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void text_add(char *to, const char *more)
{
	size_t n = strlen(to);

	snprintf(to + n, TEXT_MAX - n, "%s", more);
}

static void draw_text(char *to, unsigned depth)
{
	static const char *const atoms[] = { "a", "b", "c", ".", "[ab]", "[^a]" };
	static const char *const more[] = { "", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}" };
	unsigned n = 1 + draw(3);

	for (unsigned i = 0; i < n; i++) {
		if (depth < 3 && draw(3) == 0) {
			text_add(to, "(");
			draw_text(to, depth + 1);
			if (draw(2)) {
				text_add(to, "|");
				draw_text(to, depth + 1);
			}
			text_add(to, ")");
		} else {
			text_add(to, atoms[draw(6)]);
		}
		text_add(to, more[draw(9)]);
	}
}

/* Anchors stand at its ends only: within groups the C library finds what is not there. */
static void it_finds_what_the_c_library_finds(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		char text[TEXT_MAX] = "", line[12];
		struct err err = { 0 };
		struct rex *r;
		regex_t other;

		text_add(text, draw(4) ? "" : "^");
		draw_text(text, 0);
		text_add(text, draw(4) ? "" : "$");
		if (strlen(text) > 60 || rex_new(text, false, &r, &err) < 0)
			continue;
		assert_int_equal(regcomp(&other, text, REG_EXTENDED | REG_NOSUB), 0);
		for (int k = 0; k < 20; k++) {
			unsigned n = draw(9);
			for (unsigned i = 0; i < n; i++)
				line[i] = (char)('a' + draw(3));
			line[n] = '\0';
			bool want = regexec(&other, line, 0, NULL, 0) == 0;
			if (rex_finds(r, line, n) != want)
				fail_msg("%s in '%s': the C library says %d", text, line, want);
		}
		regfree(&other);
		rex_free(r);
	}
}

/* Each would take a backtracking matcher for ever, or a table of all states gigabytes. */
static void odd_expressions_end(void **state)
{
	static const char *const texts[] = {
		"(a*)*c",   "(a|aa)+$",           "(a|a?)+c",
		"(x+x+)+y", "(a|b)*a(a|b){200}c", "(.*)(.*)(.*)(.*)(.*)[^x]z$"
	};
	size_t n = 200000;
	char *line = mem_new(n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		line[i] = (char)('a' + draw(2));
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct err err = { 0 };
		struct rex *r;
		if (rex_new(texts[i], false, &r, &err) < 0)
			fail_msg("%s: %s", texts[i], err.text);
		rex_finds(r, line, n);
		rex_free(r);
	}
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_expression_finds_what_it_says),
		cmocka_unit_test(what_is_no_expression_is_refused_with_its_place),
		cmocka_unit_test(it_finds_what_the_c_library_finds),
		cmocka_unit_test(odd_expressions_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
