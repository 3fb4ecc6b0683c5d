/* The digest of a failure: its texts, its words, and the patterns it is found by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/failure.h"
#include "util/pattern.h"
#include "util/utf8.h"

static void words_of_an_end_name_the_signal(void **state)
{
	static const struct {
		int32_t code;
		const char *words;
	} ends[] = {
		{ 0, "exit code 0" },
		{ 3, "exit code 3" },
		{ 126, "exit code 126: the command cannot be run" },
		{ 127, "exit code 127: command not found" },
		{ 137, "exit code 137: killed by signal 9 (KILL)" },
		{ 255, "exit code 255" },
		{ -15, "killed by signal 15 (TERM)" },
		{ -64, "killed by signal 64 (?)" },
		{ INT32_MAX, "exit code 2147483647" },
		{ INT32_MIN + 1, "killed by signal 2147483647 (?)" },
	};
	char text[FAILURE_EXIT_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		failure_exit_words(ends[i].code, text);
		assert_string_equal(text, ends[i].words);
	}
}

static void a_line_is_text_of_its_size_whatever_it_was(void **state)
{
	static const struct {
		const char *from, *to;
	} lines[] = {
		{ "", "" },
		{ " \t\r\n", "" },
		{ "  plain \r", "plain" },
		{ "a\tb\x01\x7f", "a b" },
		{ "\x1b[1;31mred\x1b[0m", "red" },
		{ "\x1b[1;31", "" },
		{ "\x1b", "" },
		{ "a\x1b]0;x\x07", "a]0;x" },
		{ "\xff\xfe x", "?? x" },
		{ "\xc2\x9b csi", "csi" },
		{ "0123456789", "0123456789" },
		{ "0123456789a", "0123456..." },
		{ "012345\xc3\xa4\xc3\xa4\xc3\xa4", "012345..." },
	};
	char to[11];

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		failure_set_line(to, sizeof to, lines[i].from, strlen(lines[i].from));
		assert_string_equal(to, lines[i].to);
		assert_true(strlen(to) < sizeof to && utf8_is_text((uint8_t *)to, strlen(to)));
	}
}

static void random_bytes_become_text_within_its_bytes(void **state)
{
	char from[4096], tail[FAILURE_TAIL_BYTES + 1], line[FAILURE_LINE_BYTES + 1];
	unsigned seed = 17;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		size_t n = (size_t)rand_r(&seed) % sizeof from;
		for (size_t i = 0; i < n; i++)
			from[i] = (char)(rand_r(&seed) % 8 ? rand_r(&seed) % 256 : '\n');
		failure_set_tail(tail, from, n);
		failure_set_line(line, sizeof line, from, n);
		assert_true(utf8_is_text((uint8_t *)tail, strlen(tail)));
		assert_true(utf8_is_text((uint8_t *)line, strlen(line)));
		size_t lines = 1;
		for (const char *p = tail; *p; p++) {
			lines += *p == '\n';
			assert_true((unsigned char)*p >= ' ' || *p == '\n');
		}
		assert_true(lines <= FAILURE_TAIL_LINES && strlen(tail) <= FAILURE_TAIL_BYTES);
	}
}

static void the_tail_is_the_last_lines_that_are_not_blank(void **state)
{
	char tail[FAILURE_TAIL_BYTES + 1], *text = mem_new(5000);

	(void)state;
	failure_set_tail(tail, "a\nb\n\n \nc\nd\r\ne\nf\n\n",
	                 strlen("a\nb\n\n \nc\nd\r\ne\nf\n\n"));
	assert_string_equal(tail, "b\nc\nd\ne\nf");
	failure_set_tail(tail, NULL, 0);
	assert_string_equal(tail, "");
	memset(text, 'x', 5000);
	text[4000] = '\n';
	failure_set_tail(tail, text, 5000);
	assert_true(strlen(tail) > FAILURE_TAIL_BYTES / 2 && strlen(tail) <= FAILURE_TAIL_BYTES);
	free(text);
}

static void what_a_reason_says_alone_needs_no_digest(void **state)
{
	struct failure f;

	(void)state;
	assert_int_equal(failure_of_reason(30), FC_RESOURCE); /* oom */
	assert_int_equal(failure_of_reason(4711), FC_NONE);
	failure_guess(4, 0, &f); /* lost */
	assert_int_equal(f.class, FC_MACHINE);
	assert_string_equal(f.exit, "lost: the broker was not heard in time");
	failure_guess(1, 3, &f);
	assert_int_equal(f.class, FC_USER);
	assert_string_equal(f.exit, "exit code 3");
	assert_int_equal(failure_from_name("target"), FC_TARGET);
	assert_int_equal(failure_from_name(""), -1);
	assert_string_equal(failure_name(4711), "");
}

static void a_pattern_finds_what_it_says(void **state)
{
	static const struct {
		const char *pattern, *line;
		int at; /* -1: it does not fit */
	} cases[] = {
		{ "refused", "it was refused", 7 },
		{ "refused", "it was refuse", -1 },
		{ "^it", "it was", 0 },
		{ "^was", "it was", -1 },
		{ "was$", "it was", 3 },
		{ "it$", "it was", -1 },
		{ "^it was$", "it was", 0 },
		{ "^it was$", "it was it was", -1 },
		{ "a*c", "xabc", 1 },
		{ "a*c", "cba", -1 },
		{ "a*c*c$", "ac bc c", 0 },
		{ "a*bc$", "abc", 0 },
		{ "ab*bc$", "abc", -1 },
		{ "^a*$", "a", 0 },
		{ "^~Error: ", "ValueError: x", 5 },
		{ "^~Error: ", "  raise ValueError: x", -1 },
		{ "^~Error: ", "Error: x", -1 },
		{ "^~Error$", "shop.StockError", 10 },
		{ "^~Error$", "no StockError", -1 },
		{ "Table '*' doesn't exist", "Table 'a.b' doesn't exist", 0 },
		{ "x", "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t at = 0;
		char *line = mem_strn(cases[i].line, strlen(cases[i].line));
		bool fits = pattern_fits(cases[i].pattern, line, strlen(line), &at);

		if (fits != (cases[i].at >= 0) || (fits && at != (size_t)cases[i].at))
			fail_msg("'%s' in '%s': %d at %zu", cases[i].pattern, line, fits, at);
		assert_true(pattern_ok(cases[i].pattern));
		free(line);
	}
	assert_false(pattern_ok(""));
	assert_false(pattern_ok("^"));
	assert_false(pattern_ok("^~$"));
	assert_false(pattern_ok("***"));
}

static void a_pattern_is_linear_in_the_line(void **state)
{
	size_t n = 1 << 20, at;
	char *line = mem_new(n);

	(void)state;
	memset(line, 'a', n);
	/* What a backtracking matcher does not come back from; the deadline is the test's own. */
	assert_false(pattern_fits("a*a*a*a*a*a*a*a*a*a*a*a*b", line, n, &at));
	assert_false(pattern_fits("^a*a*a*a*a*a*a*a*a*a*a*ab$", line, n, &at));
	free(line);
}

static void every_known_pattern_has_something_to_look_for(void **state)
{
	static const char *const known[] = {
#define FAILURE_PATTERN(pattern, class) pattern,
#include "tbl/failure_pattern.def"
#undef FAILURE_PATTERN
	};

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		assert_true(pattern_ok(known[i]));
}

static void one_cause_has_one_name_whatever_its_numbers(void **state)
{
	static const struct {
		const char *line, *folded;
	} lines[] = {
		{ "no such shop: 17", "no such shop: #" },
		{ "connect 10.0.0.17:5432 refused", "connect # refused" },
		{ "at 2026-11-03T02:14:05.123Z it  ended", "at #T#Z it ended" },
		{ "took 1,000.5 s, -3 left", "took # s, -# left" },
		{ "0x7ffd8a10 and 0XAF", "# and #" },
		{ "id 5d41402abc4b2a76b9719d911017c592.", "id #." },
		{ "job a8f3k2x9z died", "job # died" },
		{ "f81d4fae-7dec-11d0-a765-00a0c91e6bf6 is gone", "# is gone" },
		{ "abcdefab-abcd-abcd-abcd-abcdefabcdef is gone", "# is gone" },
		{ "/tmp/job.8213/run.sh: line 7: foo: not found",
		  ".../run.sh: line #: foo: not found" },
		{ "open '/data/in/part-0001.csv'", "open '.../part-#.csv'" },
		{ "http://warehouse:8080/api/17", "http://warehouse:#/api/#" },
		{ "/tmp is full; a/b", "/tmp is full; a/b" },
		{ "// and / and /", "// and / and /" },
		{ "t_20261103 dead cafe", "t_# dead cafe" },
		{ "sh: 1: pyhton3: not found", "sh: #: pyhton3: not found" },
		{ "python3.11 and utf8, host17, part_3, 7s, x86_64",
		  "python3.# and utf8, host#, part_#, #s, x#_#" },
		{ "\xe8\xa1\xa8 t7 \xe4\xb8\x8d\xe5\xad\x98\xe5\x9c\xa8",
		  "\xe8\xa1\xa8 t7 \xe4\xb8\x8d\xe5\xad\x98\xe5\x9c\xa8" },
	};
	struct failure_cause a, b;

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		failure_fold("user", lines[i].line, "exit code 1", &a);
		assert_string_equal(a.line, lines[i].folded);
		failure_fold("user", a.line, "", &b);
		assert_string_equal(a.id, b.id);
	}
	failure_fold("user", "", "ran longer than 600 s", &a);
	assert_string_equal(a.line, "ran longer than # s");
	failure_fold("data", "x", "", &a);
	failure_fold("user", "x", "", &b);
	assert_string_not_equal(a.id, b.id);
	failure_fold("target", "no such shop: 17", "exit code 1", &a);
	assert_string_equal(a.id, "88aea5c16dabab51"); /* links and scripts have it */
}

static void a_folded_line_is_text_of_its_size(void **state)
{
	char line[4 * FAILURE_LINE_BYTES];
	struct failure_cause c;

	(void)state;
	for (unsigned seed = 1; seed < 20000; seed++) {
		static const char *const parts[] = { "/",  "a", "7", "\xc3\xa4",
			                             " ",  "-", ".", "f81d4fae-7dec",
			                             "0x", ":", "#", "/b/c" };
		size_t n = 0;

		for (unsigned x = seed; n + 16 < sizeof line; x = x * 1103515245u + 12345u) {
			const char *p = parts[(x >> 16) % (sizeof parts / sizeof parts[0])];
			memcpy(line + n, p, strlen(p));
			n += strlen(p);
			if ((x >> 20) % 600 == 0)
				break;
		}
		line[n] = '\0';
		failure_fold("user", line, "", &c);
		assert_true(strlen(c.line) <= FAILURE_LINE_BYTES);
		assert_true(utf8_is_text((const uint8_t *)c.line, strlen(c.line)));
	}
}

static void cleaned(const char *from, size_t n, char apart, const char *want)
{
	char text[64];

	memcpy(text, from, n);
	assert_int_equal(failure_clean(text, n, apart), strlen(want));
	assert_memory_equal(text, want, strlen(want));
}

static void colours_and_controls_are_taken_out_and_leave_a_mark_where_it_is_wanted(void **state)
{
	(void)state;
	cleaned("a\33[31;1mb\33[0mc\td\n\xff", 18, '\0', "abc\td\n\xff");
	cleaned("a\33[31mb\0c\r\xc2\x85", 12, '\0', "abc");
	cleaned("a\33[31mb\0c\r", 10, ' ', "a b c ");
	cleaned("a\33[31", 5, '\0', "a");
	cleaned("", 0, ' ', "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_an_end_name_the_signal),
		cmocka_unit_test(a_line_is_text_of_its_size_whatever_it_was),
		cmocka_unit_test(random_bytes_become_text_within_its_bytes),
		cmocka_unit_test(the_tail_is_the_last_lines_that_are_not_blank),
		cmocka_unit_test(one_cause_has_one_name_whatever_its_numbers),
		cmocka_unit_test(a_folded_line_is_text_of_its_size),
		cmocka_unit_test(what_a_reason_says_alone_needs_no_digest),
		cmocka_unit_test(a_pattern_finds_what_it_says),
		cmocka_unit_test(a_pattern_is_linear_in_the_line),
		cmocka_unit_test(every_known_pattern_has_something_to_look_for),
		cmocka_unit_test(
			colours_and_controls_are_taken_out_and_leave_a_mark_where_it_is_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
