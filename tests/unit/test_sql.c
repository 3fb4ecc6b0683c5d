/* sched/sql and sched/code: the places of values in SQL, and what goes into code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/code.h"
#include "sched/macro.h"
#include "sched/sql.h"
#include "tests/unit/test_time.h"
#include "util/buf.h"

static const struct {
	const char *sql;    /* holes are ? */
	const char *places; /* f fits, q quotes, n name, c comment, j joined */
} table[] = {
	{ "SELECT ?, ? FROM t WHERE a=?", "fff" },
	{ "SELECT '?', 'it''s ?', ?", "qqf" },
	{ "SELECT \"?\", ?", "nf" },
	{ "SELECT `? `, ` ? `, ?", "jnf" },
	{ "SELECT [?], ?", "nf" },
	{ "SELECT a[?]", "n" },
	{ "SELECT 1 -- ?\n, ?", "cf" },
	{ "SELECT 1 --?\n, ?", "cf" },
	{ "SELECT 1 # ?\n, ?", "cf" },
	{ "SELECT /* ? */ ?", "cf" },
	{ "SELECT /*! ? */ 1", "c" },
	{ "SELECT /* /* */ ? */ ?", "cf" },
	{ "SELECT $$ ? $$, ?", "qf" },
	{ "SELECT $a$ ' ? $$ $a$, ?", "qq" },
	{ "SELECT 'a\\', ?", "q" },
	{ "SELECT 'a\\' ? ', 1", "q" },
	{ "SELECT E'a\\'?'", "j" },
	{ "SELECT t_?, ?_t, ?'a', 'a'?, :?, @?", "jjjjfj" },
	{ "SELECT (?)::int, -?, ?+1", "fff" },
	{ "SELECT 'open ?", "q" },
};

static void every_place_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		char *sql = strdup(table[i].sql), got[20] = "";
		enum sql_place places[20];
		size_t holes[20], n = 0;

		for (char *p = sql; *p; p++)
			if (*p == '?') {
				holes[n++] = (size_t)(p - sql);
				*p = 'x';
			}
		sql_places(sql, strlen(sql), holes, n, places);
		for (size_t k = 0; k < n; k++)
			got[k] = "fqncj"[places[k]];
		if (strcmp(got, table[i].places) != 0)
			fail_msg("%s: %s, want %s", table[i].sql, got, table[i].places);
		free(sql);
	}
}

static const char *lookup(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "up.x") == 0  ? "a'; \"${day}\\"
	       : strcmp(name, "day") == 0 ? "$[yyyyMMdd]"
	                                  : NULL;
}

struct bound {
	unsigned n;
	struct buf text;
};

static unsigned bind(void *ctx, const char *name, const char *value)
{
	struct bound *b = ctx;

	buf_printf(&b->text, "%s=%s|", name, value);
	return ++b->n;
}

static void gives(enum code_kind kind, bool json, const char *text, const char *want,
                  const char *bound)
{
	struct plan *p = plan_of(every(1, CU_DAY, "UTC"));
	struct macro_scope scope = { .plan = p, .run_date = label("2026-03-15"), .lookup = lookup };
	struct bound b = { 0 };
	struct err err = { 0 };
	struct buf out;

	buf_init(&b.text);
	buf_init(&out);
	if ((json ? code_expand_json : code_expand)(
		    kind, text, &scope, &(struct code_binder){ bind, &b }, &out, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_string_equal(buf_str(&out), want);
	assert_string_equal(buf_str(&b.text), bound);
	buf_done(&b.text);
	buf_done(&out);
	plan_free(p);
}

static void values_are_bound_and_dates_are_text(void **state)
{
	(void)state;
	gives(CODE_SHELL, false, "a '$[yyyy]' ${up.x} \"${day}\" $$x $y # ${up.x}",
	      "a '2026' \"${SIRDAR_PARAM_sirdar_data_1}\" \"${SIRDAR_PARAM_sirdar_data_2}\" $x $y "
	      "# ${SIRDAR_PARAM_sirdar_data_3}",
	      "up.x=a'; \"${day}\\|day=20260315|up.x=a'; \"${day}\\|");
	gives(CODE_SQL, false, "SELECT ${up.x} WHERE d = '$[yyyy]' AND e = ${day}",
	      "SELECT ${sirdar_data_1} WHERE d = '2026' AND e = ${sirdar_data_2}",
	      "up.x=a'; \"${day}\\|day=20260315|");
	gives(CODE_NONE, true, "[\"-x ${up.x}\",\"$[yyyy]\"]",
	      "[\"-x a'; \\\"${day}\\\\\",\"2026\"]", "");
	gives(CODE_SQL, true, "[\"SELECT ${up.x}\"]", "[\"SELECT ${sirdar_data_1}\"]",
	      "up.x=a'; \"${day}\\|");
}

static void a_refusal_says_where_and_what_instead(void **state)
{
	char hint[CODE_HINT_BYTES];
	struct err err = { 0 };

	(void)state;
	assert_int_equal(code_check(CODE_SHELL, "echo $[yyyy]\necho '${a.b}'", &err, hint),
	                 E_INVALID);
	assert_string_equal(err.text, "line 2, column 7: ${a.b} stands in single quotes");
	assert_string_equal(hint, "write \"${a.b}\" in double quotes, or '...'\"${a.b}\"'...'");
	assert_int_equal(code_check(CODE_SQL, "SELECT '${x}'", &err, hint), E_INVALID);
	assert_string_equal(err.text, "line 1, column 9: ${x} stands in quotes");
	assert_int_equal(code_check(CODE_OTHER, "print(${x})", &err, hint), E_INVALID);
	assert_int_equal(code_check(CODE_OTHER, "print('$[yyyy]', '${biz_date}')", &err, hint), 0);
	assert_int_equal(code_check(CODE_NONE, "'${x}'", &err, hint), 0);
	/* What is no macro is another check's to say. */
	assert_int_equal(code_check(CODE_SHELL, "echo '${'", &err, hint), 0);
	assert_true(code_takes("${x}") && !code_takes("$$ $x $[yyyy] ${biz_date} $${x}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_is_told),
		cmocka_unit_test(values_are_bound_and_dates_are_text),
		cmocka_unit_test(a_refusal_says_where_and_what_instead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
