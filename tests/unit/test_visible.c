/* util/visible, util/log: text of others neither steers a terminal nor forges a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/buf.h"
#include "util/log.h"
#include "util/visible.h"

static const struct {
	const char *text;
	enum visible how;
	const char *want;
} rows[] = {
	{ "plain, \"quoted\" \\u001b", VISIBLE_LINE, "plain, \"quoted\" \\u001b" },
	{ "失败 é 😀", VISIBLE_LINE, "失败 é 😀" },
	{ "\033]0;title\007", VISIBLE_LINES, "\\u001b]0;title\\u0007" },
	{ "a\tb\nc", VISIBLE_LINES, "a\tb\nc" },
	{ "a\tb\nc", VISIBLE_LINE, "a\\u0009b\\u000ac" },
	{ "100%\r  0%\r\n", VISIBLE_LINES, "100%\\u000d  0%\\u000d\n" },
	{ "100%\r  0%\r\n", VISIBLE_COLOURS, "100%\\u000d  0%\r\n" },
	{ "\177 \302\200 \302\237 \302\240", VISIBLE_LINE, "\\u007f \\u0080 \\u009f \302\240" },
	{ "\342\200\256 \342\200\252 \342\201\246 \342\201\251 \342\200\250", VISIBLE_LINE,
	  "\\u202e \\u202a \\u2066 \\u2069 \\u2028" },
	{ "\342\200\252\342\200\257\342\201\245\342\201\252", VISIBLE_LINE,
	  "\\u202a\342\200\257\342\201\245\342\201\252" },
	{ "\233[2J \300\233 \355\240\200", VISIBLE_LINE,
	  "\\x9b[2J \\xc0\\x9b \\xed\\xa0\\x80" }, /* C1 as a byte, overlong, a surrogate */
	{ "cut \345\244", VISIBLE_LINE, "cut \\xe5\\xa4" },
	{ "\033[1;31mred\033[0m", VISIBLE_COLOURS, "\033[1;31mred\033[0m" },
	{ "\033[1;31mred", VISIBLE_LINES, "\\u001b[1;31mred" },
	{ "\033[2J\033[1;1H\033[?1049h", VISIBLE_COLOURS, "\\u001b[2J\\u001b[1;1H\\u001b[?1049h" },
	{ "\033[31", VISIBLE_COLOURS, "\\x1b[31" },
	{ "\033[1111111111111111111111111111111111111m", VISIBLE_COLOURS,
	  "\\u001b[1111111111111111111111111111111111111m" },
};

static void what_steers_a_terminal_becomes_its_number(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_clear(&out);
		visible_put(rows[i].text, strlen(rows[i].text), rows[i].how, &out);
		assert_string_equal(buf_str(&out), rows[i].want);
		if (rows[i].how == VISIBLE_COLOURS)
			continue;
		char *once = strdup(buf_str(&out));
		buf_clear(&out);
		visible_put(once, strlen(once), rows[i].how, &out);
		assert_string_equal(buf_str(&out), once);
		free(once);
	}
	buf_done(&out);
}

/* As a stream meets it: what is cut off is tried again with what follows. */
static void text_in_pieces_reads_as_in_one(void **state)
{
	char all[64], whole[400], out[400];
	size_t taken;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n = strlen(rows[i].text), len, at, to = 0, from = 0;

		memcpy(all, rows[i].text, n);
		len = visible_copy(all, n, rows[i].how, whole, sizeof whole, &at);
		for (size_t end = 1; end <= n; end++) {
			to += visible_copy(all + from, end - from, rows[i].how, out + to,
			                   sizeof out - to, &taken);
			from += taken;
			assert_true(end - from <= VISIBLE_HELD);
		}
		assert_int_equal(from, at);
		assert_int_equal(to, len);
		assert_memory_equal(out, whole, len);
	}
}

static void a_full_buffer_never_holds_half_an_escape(void **state)
{
	char out[8];
	size_t taken;

	(void)state;
	assert_int_equal(visible_copy("abc\033d", 5, VISIBLE_LINE, out, sizeof out, &taken), 3);
	assert_int_equal(taken, 3);
}

static void a_log_line_stays_one_line_and_is_text(void **state)
{
	char text[4000];
	int saved = dup(STDERR_FILENO);
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	dup2(fileno(f), STDERR_FILENO);
	log_open("test", LOG_INFO);
	log_info("job.seen", "name=%s",
	         "a\n0.0 test error forged\r\033]0;x\007\302\233\342\200\256");
	char longer[3000];
	memset(longer, '\n', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	log_info("job.seen", "name=%s", longer);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(f);
	size_t n = fread(text, 1, sizeof text - 1, f), lines = 0;
	text[n] = 0;
	for (size_t i = 0; i < n; i++) {
		lines += text[i] == '\n';
		assert_true(text[i] == '\n' || (text[i] >= 0x20 && text[i] < 0x7f));
	}
	assert_int_equal(lines, 2);
	assert_non_null(strstr(text, "name=a\\u000a0.0 test error forged\\u000d\\u001b]0;x\\u0007"
	                             "\\u009b\\u202e\n"));
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_steers_a_terminal_becomes_its_number),
		cmocka_unit_test(text_in_pieces_reads_as_in_one),
		cmocka_unit_test(a_full_buffer_never_holds_half_an_escape),
		cmocka_unit_test(a_log_line_stays_one_line_and_is_text),
	};
	return cmocka_run_group_tests_name("visible", tests, NULL, NULL);
}
