/* The mark of Sirdar's lines: nothing that a job prints looks so, in pieces neither, and the line
 * can be had back. And executions of attempts, counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "baseserver/net/logkeeper_executions.h"
#include "util/buf.h"
#include "util/logmark.h"

/* The line as it is shown when it comes in pieces of so many bytes. */
static const char *shown(const char *line, size_t piece)
{
	static char text[200];
	struct buf out;
	bool begins = true;

	buf_init(&out);
	for (size_t at = 0, n; at < strlen(line); at += n) {
		n = strlen(line) - at < piece ? strlen(line) - at : piece;
		begins = logmark_put(line + at, n, begins, &out);
	}
	assert_true(out.len < sizeof text);
	memcpy(text, buf_str(&out), out.len + 1);
	buf_done(&out);
	return text;
}

static void a_line_that_looks_like_ours_is_quoted(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "fine\n", "fine\n" },
		{ "[sirdar] ended\n", ">[sirdar] ended\n" },
		{ "[sirdar]\n", ">[sirdar]\n" },
		{ ">[sirdar] ended\n", ">>[sirdar] ended\n" },
		{ "\033[1m[sirdar] x\n", ">\033[1m[sirdar] x\n" },
		{ "a\r[sirdar] x\n", "a\r>[sirdar] x\n" },
		{ "a [sirdar] x\n", "a [sirdar] x\n" },
		{ "[sirdir] x\n", "[sirdir] x\n" },
		{ "[info] x\n", "[info] x\n" },
		{ "> quoted\n", "> quoted\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_string_equal(shown(cases[i].line, 100), cases[i].want);
}

/* What is to be seen of a line after its last carriage return. */
static bool looks_so(const char *text)
{
	const char *p = strrchr(text, '\r');

	p = p ? p + 1 : text;
	while (strncmp(p, "\033[1m", 4) == 0)
		p += 4;
	return strncmp(p, LOGMARK, strlen(LOGMARK) - 1) == 0;
}

static void no_cutting_of_a_line_makes_it_look_so(void **state)
{
	static const char *const lines[] = {
		"[sirdar] x",    "\033[1m[sirdar] x", "\033[1m\033[1m[sirdar] x",
		"a\r[sirdar] x", "\r\r[sirdar] x",    ">>[sirdar] x"
	};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		for (size_t piece = 1; piece < 20; piece++)
			assert_false(looks_so(shown(lines[i], piece)));
}

static struct log_facts fact(uint32_t attempt, uint64_t token, uint32_t stream, uint64_t bytes)
{
	return (struct log_facts){ .id = { { 60, 1, 0 }, 1, attempt, token, stream },
		                   .broker = (uint32_t)token,
		                   .bytes = bytes,
		                   .is_ended = stream == 3 };
}

static void executions_are_counted_by_their_grants(void **state)
{
	const struct log_facts all[] = { fact(1, 5, 0, 0),  fact(1, 5, 3, 10), fact(1, 9, 0, 0),
		                         fact(2, 12, 1, 7), fact(2, 12, 2, 8), fact(2, 20, 3, 4) };
	enum { N = sizeof all / sizeof all[0] };
	struct log_name name = { .key = { 60, 1, 0 } };
	struct log_known *known;

	(void)state;
	assert_int_equal(log_executions_list(all, N, &name, &known), 4);
	assert_true(known[0].attempt == 1 && known[0].execution == 1 && !known[0].counts &&
	            known[0].is_ended && known[0].bytes[2] == 10 && known[0].broker == 5);
	assert_true(known[1].execution == 2 && known[1].counts && !known[1].is_ended &&
	            known[1].bytes[2] == 0);
	assert_true(known[2].attempt == 2 && known[2].execution == 1 && known[2].bytes[0] == 7 &&
	            known[2].bytes[1] == 8 && !known[2].counts);
	assert_true(known[3].execution == 2 && known[3].counts);
	free(known);
	name.attempt = 1;
	assert_int_equal(log_executions_list(all, N, &name, &known), 2);
	free(known);
	assert_true(log_execution_find(all, N, &name, 2) && name.token == 9 &&
	            name.generation == 1);
	name = (struct log_name){ .key = { 60, 1, 0 } };
	assert_true(log_execution_find(all, N, &name, 1) && name.token == 12 && name.attempt == 2);
	name = (struct log_name){ .key = { 60, 1, 0 } };
	assert_false(log_execution_find(all, N, &name, 3));
	name = (struct log_name){ .key = { 60, 1, 0 }, .attempt = 7 };
	assert_false(log_execution_find(all, N, &name, 1));
	assert_int_equal(log_executions_list(all, 0, &name, &known), 0);
	assert_null(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_that_looks_like_ours_is_quoted),
		cmocka_unit_test(no_cutting_of_a_line_makes_it_look_so),
		cmocka_unit_test(executions_are_counted_by_their_grants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
