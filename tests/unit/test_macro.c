/* sched/macro: SEMANTICS section 6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/macro.h"
#include "tests/unit/test_time.h"
#include "util/buf.h"

static const char *const known[] = { "db", "table", "loop", "wide", NULL };

static const char *lookup(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "db") == 0             ? "dw"
	       : strcmp(name, "table") == 0        ? "${db}.t_$[yyyyMMdd]"
	       : strcmp(name, "loop") == 0         ? "${loop}"
	       : strcmp(name, "wide") == 0         ? "${db}${db}${db}${db}${db}${db}${db}${db}"
	       : strcmp(name, "rollup.count") == 0 ? "7 $$ ${db}"
	                                           : NULL;
}

static struct err err;

static int run(const char *text, struct schedule s, const char *at, struct buf *out)
{
	struct plan *p = plan_of(s);
	struct macro_scope scope = {
		.plan = p, .run_date = tz_first(s.tz, label(at)), .lookup = lookup, .known = known
	};

	buf_init(out);
	memset(&err, 0, sizeof err);
	int r = macro_expand(text, &scope, out, &err);
	plan_free(p);
	return r;
}

static void gives(const char *text, struct schedule s, const char *at, const char *want)
{
	struct buf out;

	if (run(text, s, at, &out) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_string_equal(buf_str(&out), want);
	buf_done(&out);
}

static void refuses(const char *text, int code, const char *says)
{
	struct buf out;

	assert_int_equal(run(text, every(1, CU_DAY, "UTC"), "2026-03-15", &out), code);
	if (!strstr(err.text, says))
		fail_msg("%s: %s", text, err.text);
	buf_done(&out);
}

static void dates_of_the_run(void **state)
{
	struct schedule day = every(1, CU_DAY, "Europe/Berlin"),
			hour = every(1, CU_HOUR, "Europe/Berlin");

	(void)state;
	gives("${run_date} ${biz_date}", day, "2026-03-29", "2026-03-29 2026-03-28");
	gives("${period_start}/${period_end}", day, "2026-03-29", "2026-03-29/2026-03-30");
	gives("${run_date}", hour, "2026-03-29 07:00", "2026-03-29 07:00:00");
	day.fire = FIRE_END;
	gives("${biz_date}", day, "2026-03-29", "2026-03-29");
}

static void patterns_and_their_arithmetic(void **state)
{
	struct schedule day = every(1, CU_DAY, "UTC"), hour = every(1, CU_HOUR, "Europe/Berlin");

	(void)state;
	gives("$[yyyyMMdd] $[yyyy-MM-dd-1] $[yyyyMMdd+7*2]", day, "2026-03-01",
	      "20260301 2026-02-28 20260315");
	gives("$[HHmmss-1/24]", day, "2026-03-01", "230000");
	gives("$[yyyy-MM-dd HH:mm:ss-30/24/60]", day, "2026-03-01", "2026-02-28 23:30:00");
	gives("$[yyyy-MM-01]", day, "2026-03-15", "2026-03-01");
	gives("$[add_months(yyyyMMdd,-1)]", day, "2026-03-31", "20260228");
	gives("$[add_months(yyyy-MM, 12*1)]", day, "2026-03-31", "2027-03");
	gives("$[month_first_day(yyyyMMdd)] $[month_last_day(yyyyMMdd,-1)]", day, "2026-03-15",
	      "20260301 20260228");
	gives("$[week_first_day(yyyyMMdd)] $[week_last_day(yyyyMMdd, 1)]", day, "2026-06-10",
	      "20260608 20260621");
	gives("$[year_first_day(yyyyMMdd,-1)] $[year_last_day(yyyyMMdd)]", day, "2026-06-10",
	      "20250101 20261231");
	gives("$[timestamp(yyyyMMdd)]", day, "2026-06-10", "1781049600");
	/* parts of a day are elapsed: an hour before 03:00 summer time is 01:00 */
	gives("$[HH-1/24] $[yyyyMMddHH-1]", hour, "2026-03-29 03:00", "01 2026032803");
}

static void names_are_looked_up_and_expanded_in_turn(void **state)
{
	struct schedule day = every(1, CU_DAY, "UTC");

	(void)state;
	gives("select * from ${table}", day, "2026-03-01", "select * from dw.t_20260301");
	gives("${rollup.count}", day, "2026-03-01",
	      "7 $$ ${db}"); /* data, not text of the author */
	gives("$$ $${db} $5 $", day, "2026-03-01", "$ ${db} $5 $");
	gives("", day, "2026-03-01", "");
}

static void what_is_unknown_or_malformed_is_named(void **state)
{
	(void)state;
	refuses("${tabel}", E_INVALID, "unknown name ${tabel}: did you mean ${table}?");
	refuses("${run_dat}", E_INVALID, "did you mean ${run_date}?");
	refuses("${nothing_like_it}", E_INVALID, "unknown name ${nothing_like_it}");
	refuses("ab ${db", E_INVALID, "column 4");
	refuses("${}", E_INVALID, "empty");
	refuses("$[hello]", E_INVALID, "none of yyyy");
	refuses("$[frob(yyyy)]", E_INVALID, "unknown function");
	refuses("$[add_months(yyyyMMdd,1/2)]", E_INVALID, "whole number");
	refuses("$[add_months(yyyyMMdd,1]", E_INVALID, "expected )");
	refuses("${loop}", E_LIMIT, "deep");
}

static bool is_known(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "db") == 0;
}

static void letters_of_dates_that_stand_for_nothing_are_refused_with_a_hint(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "$[YYYYMMDD]", "YYYY stands for nothing; did you mean yyyyMMdd?" },
		{ "$[yyyMMdd]", "yyy stands for nothing; did you mean yyyyMMdd?" },
		{ "$[yyyy-M-d]", "M stands for nothing; did you mean yyyy-MM-dd?" },
		{ "$[yyyyMMddhh-1/24]", "hh stands for nothing; did you mean yyyyMMddHH?" },
		{ "$[YYYY]", "did you mean yyyy?" },
		{ "$[yyyy-MM-ddTHH]", "T stands for nothing; plain letters go outside" },
		{ "$[add_months(YYYYMM,-1)]", "did you mean yyyyMM?" },
		{ "$[timestamp(yyyyMMDD)]", "did you mean yyyyMMdd?" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {

		assert_int_equal(macro_check(rows[i].text, NULL, NULL, NULL, &err), E_INVALID);
		if (!strstr(err.text, rows[i].says))
			fail_msg("%s: %s", rows[i].text, err.text);
	}
	assert_int_equal(macro_check("$[yyyy-MM-dd]T$[HH:mm:ss] $[yy/MM]", NULL, NULL, NULL, NULL),
	                 0);
}

static void checking_knows_names_without_values(void **state)
{
	(void)state;
	assert_int_equal(
		macro_check("${db} ${run_date} $[yyyyMMdd-1] $$", is_known, known, NULL, &err), 0);
	assert_int_equal(macro_check("${dc}", is_known, known, NULL, &err), E_INVALID);
	assert_non_null(strstr(err.text, "did you mean ${db}?"));
	assert_int_equal(macro_check("$[nope]", is_known, known, NULL, &err), E_INVALID);
	assert_int_equal(macro_check("${db}", NULL, NULL, NULL, &err), E_INVALID);
}

static void extreme_dates_and_numbers_are_answered(void **state)
{
	static const char *const texts[] = { "$[yyyyMMdd-1000000]",
		                             "$[yyyyMMdd+4000000]",
		                             "$[yyyy+1/86400]",
		                             "$[add_months(yyyyMMdd,-1000000)]",
		                             "$[yyyy+9999999]",
		                             "$[yyyy+1000000*1000000]",
		                             "$[yyyy+1/0]",
		                             "$[yyyy+1/99999/99999]",
		                             "$[year_last_day(yyyy,1000000)]",
		                             "$[yyyy-1/99999-1/99991-1/99989]" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct buf out;
		(void)run(texts[i], every(1, CU_DAY, "Europe/Berlin"), "9999-12-31", &out);
		buf_done(&out);
		(void)run(texts[i], every(1, CU_DAY, "Europe/Berlin"), "0001-01-02", &out);
		buf_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_of_the_run),
		cmocka_unit_test(patterns_and_their_arithmetic),
		cmocka_unit_test(names_are_looked_up_and_expanded_in_turn),
		cmocka_unit_test(what_is_unknown_or_malformed_is_named),
		cmocka_unit_test(letters_of_dates_that_stand_for_nothing_are_refused_with_a_hint),
		cmocka_unit_test(checking_knows_names_without_values),
		cmocka_unit_test(extreme_dates_and_numbers_are_answered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
