/* Expressions by which a task says which broker it likes: what they compute, what is unknown
 * and what that means, how they are bounded, and in which order equal brokers go. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/expr.h"
#include "sched/rank.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"

static const char *const groups[] = { "etl", "数据", NULL };
static const struct rank_load told = { .is_told = true,
	                               .cpu_permille = 250,
	                               .load_permille = 1500,
	                               .memory_permille = 500,
	                               .slots = 8,
	                               .disk_free_bytes = 2000000000 };

static double value(const char *text, const struct rank_broker *b)
{
	struct expr_wrong wrong = { 0 };
	struct expr *e = NULL;

	if (rank_read(text, &e, &wrong) < 0)
		fail_msg("%s: %zu: %s", text, wrong.at, wrong.text);
	double got = rank_of(e, b).value;
	free(e);
	return got;
}

static void gives(const char *text, double want)
{
	struct rank_broker b = { "etl-1", groups, &told, 2 };
	double got = value(text, &b);

	if (got != want)
		fail_msg("%s: %g, want %g", text, got, want);
}

static void is_unknown(const char *text, const struct rank_load *load)
{
	struct rank_broker b = { "etl-1", groups, load, 2 };

	if (!isnan(value(text, &b)))
		fail_msg("%s: known", text);
}

static void figures_of_a_broker_are_reckoned_with_as_people_do(void **state)
{
	(void)state;
	gives("running / slots + cpu", 0.5);
	gives("1 + 2 * 3 - 4 / 2", 5);
	gives("(1 + 2) * 3", 9);
	gives("10 - 3 - 2", 5);
	gives("16 / 4 / 2", 2);
	gives("1 / 2", 0.5);
	gives("--2 - -.5", 2.5);
	gives("free", 6);
	gives("load * 2", 3);
	gives("memory", 0.5);
	gives("disk_free / 1e9", 2);
	gives("\"etl\" in groups ? 1 : 2", 1);
	gives("'数据' in groups ? 1 : 2", 1);
	gives("name in groups ? 1 : 2", 2);
	gives("name == 'etl-1' ? 1 : name != 'etl-1' ? 2 : 3", 1);
	gives("cpu < 0.5 && !(load < 1) ? 1 : 2", 1);
	gives("cpu > 0.5 || load >= 1.5 && slots == 8 ? 1 : 2", 1);
	gives("(cpu <= 0.25 ? 1 : 0) + (slots != 8 ? 1 : 0) * 10", 1);
	gives(" running\t+\n slots ", 10);
}

static void what_is_not_known_stays_so_unless_it_does_not_matter(void **state)
{
	struct rank_load silent = { 0 }, old = told;
	struct rank_broker b = { "etl-1", groups, &silent, 2 };

	(void)state;
	is_unknown("1 / 0", &told);
	is_unknown("0 / 0", &told);
	is_unknown("1e308 * 10", &told);
	is_unknown("running / slots + cpu", &silent);
	is_unknown("cpu < 1 ? 1 : 1", &silent);
	is_unknown("!(cpu < 1) ? 1 : 1", &silent);
	is_unknown("cpu < 1 && running == 2 ? 1 : 1", &silent);
	is_unknown("free", &silent);
	is_unknown("disk_free", &silent);
	assert_true(value("running == 2 || cpu < 1 ? 1 : 2", &b) == 1);
	assert_true(value("cpu < 1 && running == 3 ? 1 : 2", &b) == 2);
	assert_true(value("running == 2 ? 7 : cpu", &b) == 7);
	old.slots = 0;
	old.disk_free_bytes = UINT64_MAX;
	is_unknown("running / slots", &old);
	is_unknown("disk_free", &old);
}

static void refused(const char *text, size_t at, const char *says, const char *hint)
{
	struct expr_wrong wrong = { 0 };
	struct expr *e = NULL;

	if (rank_read(text, &e, &wrong) != E_INVALID)
		fail_msg("%s: taken", text);
	assert_null(e);
	if (!strstr(wrong.text, says) || !strstr(wrong.hint, hint) || (at && wrong.at != at))
		fail_msg("%s: %zu: %s (%s)", text, wrong.at, wrong.text, wrong.hint);
}

static void a_bad_expression_is_refused_with_the_place_and_what_would_be_right(void **state)
{
	(void)state;
	refused("", 1, "a value is missing", "a number, a name");
	refused("runing / slots", 1, "no name 'runing'", "did you mean 'running'?");
	refused("cpu + zzzzzzzz", 7, "no name 'zzzzzzzz'", "its names are running, slots");
	refused("cpu +", 6, "a value is missing", "");
	refused("cpu cpu", 5, "nothing can follow", "a sign such as +");
	refused("(cpu", 5, "where ')' is missing", "close");
	refused("cpu)", 4, "nothing can follow", "");
	refused("cpu < 0.5", 1, "wants a number, this is true or false", "? 1 : 0");
	refused("name", 1, "wants a number, this is a text", "==");
	refused("groups", 1, "this is a list of texts", "in groups");
	refused("cpu + name", 7, "+ wants a number, this is a text", "");
	refused("'数据' + 1", 1, "+ wants a number", "");
	refused("'数据' in group ? 1 : 2", 9, "no name 'group'", "did you mean 'groups'?");
	refused("'a' in name ? 1 : 2", 8, "in wants a list of texts", "");
	refused("cpu in groups ? 1 : 2", 1, "in wants a text", "");
	refused("cpu ? 1 : 2", 1, "? wants true or false", "");
	refused("cpu < 1 ? name : 2", 11, "? wants a number", "");
	refused("cpu < 1 ? 1 : name", 15, ": wants a number", "");
	refused("cpu < 1 ? 1", 12, "where ':' is missing", "condition ?");
	refused("1 < 2 < 3", 7, "nothing can follow", "");
	refused("cpu % 2", 5, "'%' is no sign", "");
	refused("cpu = 2 ? 1 : 2", 5, "'=' is no sign", "==");
	refused("cpu && 1 ? 1 : 2", 1, "&& wants true or false", "");
	refused("!cpu ? 1 : 2", 1, "! wants true or false", "");
	refused("0x10", 1, "is not a number", "1e9");
	refused("5u", 1, "is not a number", "");
	refused("1.2.3", 1, "is not a number", "");
	refused("1e999", 1, "too large", "");
	refused("name == 'etl ? 1 : 2", 9, "has no end", "quote");
	refused("name == '' ? 1 : 2", 9, "is empty", "");
	refused("name == 'a\\n' ? 1 : 2", 11, "has no \\", "");
	refused("in", 1, "want a value", "");
	refused("max(cpu, load)", 1, "no name 'max'", "");
}

/* n times `part`, and `last`. */
static char *many(size_t n, const char *part, const char *last)
{
	struct buf all;

	buf_init(&all);
	for (size_t i = 0; i < n; i++)
		buf_puts(&all, part);
	buf_puts(&all, last);
	char *text = mem_str(buf_str(&all));
	buf_done(&all);
	return text;
}

static void an_expression_is_bounded_in_length_steps_and_depth(void **state)
{
	char *all = many(31, "1+", "1"), *steps = many(32, "1+", "1");
	char *bytes = many(EXPR_BYTES_MAX, " ", "1"), *deep = many(EXPR_DEEP_MAX, "(", "1");
	char *turns = many(EXPR_DEEP_MAX, "1<2?1:", "1");

	(void)state;
	gives(all, 32);
	refused(steps, 0, "at most 64", "");
	refused(bytes, 1, "at most 499 bytes", "");
	refused(deep, 0, "more than 32 deep", "take some out");
	refused(turns, 0, "", "");
	free(all);
	free(steps);
	free(bytes);
	free(deep);
	free(turns);
}

static bool goes_before(const char *text, struct rank_broker a, struct rank_broker b)
{
	struct expr_wrong wrong;
	struct expr *e = NULL;

	assert_int_equal(rank_read(text, &e, &wrong), 0);
	struct rank x = rank_of(e, &a), y = rank_of(e, &b);
	free(e);
	if (strcmp(a.name, b.name) != 0) /* one of two, ever */
		assert_true(rank_before(&x, &y) != rank_before(&y, &x));
	return rank_before(&x, &y);
}

static void equal_ones_go_by_jobs_then_load_then_name_and_unknown_ones_come_last(void **state)
{
	static const struct rank_load silent, busy = { .is_told = true, .load_permille = 2000 };
	struct rank_broker a = { "a", NULL, &told, 3 }, b = { "b", NULL, &told, 3 };
	struct rank_broker idle = { "z", NULL, &told, 1 }, hot = { "0", NULL, &busy, 3 };
	struct rank_broker quiet = { "0", NULL, &silent, 0 };

	(void)state;
	assert_true(goes_before("1", idle, a));
	assert_true(goes_before("-running", a, idle));
	assert_true(goes_before("1", a, hot));
	assert_true(goes_before("1", a, b));
	assert_false(goes_before("1", b, a));
	assert_true(goes_before("cpu", b, quiet));
	assert_true(goes_before("1 / 0", quiet, a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_of_a_broker_are_reckoned_with_as_people_do),
		cmocka_unit_test(what_is_not_known_stays_so_unless_it_does_not_matter),
		cmocka_unit_test(
			a_bad_expression_is_refused_with_the_place_and_what_would_be_right),
		cmocka_unit_test(an_expression_is_bounded_in_length_steps_and_depth),
		cmocka_unit_test(
			equal_ones_go_by_jobs_then_load_then_name_and_unknown_ones_come_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
