/* Jobs that are put into etcd: what they become, and what is refused in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "baseserver/lead/bridge.h"
#include "util/buf.h"
#include "util/err.h"

static int make(const char *name, const char *json, struct buf *out, struct err *err)
{
	return bridge_document("etcd", name, json, strlen(json), out, err);
}

static void a_job_becomes_a_workflow_with_one_shell_task(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out);
	assert_int_equal(make("a",
	                      "{\"name\":\"a\",\"command\":\"echo $$ ${A}\",\"cronExpr\":"
	                      "\"*/5 * * * *\"}",
	                      &out, NULL),
	                 0);
	assert_string_equal(buf_str(&out),
	                    "{\"workflow\":\"a\",\"project\":\"etcd\",\"defaults\":{\"type\":"
	                    "\"shell\",\"catchup\":{\"mode\":\"none\"},\"overlap\":\"skip\"},"
	                    "\"tasks\":{\"a\":{\"cron\":"
	                    "\"*/5 * * * *\",\"params\":{\"script\":\"echo $$$$ $${A}\"}}}}");
	buf_done(&out);
}

static void what_is_no_job_is_refused_in_clear_words(void **state)
{
	static const struct {
		const char *name, *json, *words;
	} cases[] = {
		{ "a", "", "1" },
		{ "a", "[]", "want an object" },
		{ "a", "{\"command\":\"x\"}", "cronExpr is missing" },
		{ "a", "{\"command\":\"\",\"cronExpr\":\"x\"}", "command is missing" },
		{ "a", "{\"command\":7,\"cronExpr\":\"x\"}", "command is no text" },
		{ "a", "{\"command\":\"x\",\"cronExpr\":\"x\",\"name\":\"b\"}", "name is 'b'" },
		{ "a", "{\"command\":\"x\",\"cronExpr\":\"x\",\"user\":\"b\"}", "has 'user'" },
		{ "a/b", "{\"command\":\"x\",\"cronExpr\":\"x\"}", "'/' (U+002F) is not allowed" },
		{ "", "{\"command\":\"x\",\"cronExpr\":\"x\"}", "the name is none: it is empty" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct err err = { 0 };
		struct buf out;
		buf_init(&out);
		assert_int_equal(make(cases[i].name, cases[i].json, &out, &err), E_INVALID);
		assert_non_null(strstr(err.text, cases[i].words));
		assert_int_equal(out.len, 0);
		buf_done(&out);
	}
}

static bool back(const char *text, struct bridge_job *ret)
{
	return bridge_job_of("a", text, strlen(text), ret);
}

static void what_a_key_says_comes_back_from_its_document(void **state)
{
	static const char said[] =
		"{\"name\":\"a\",\"command\":\"echo $$ ${A}\",\"cronExpr\":\"@daily\"}";
	struct bridge_job job, same;
	struct buf out, key;

	(void)state;
	buf_init(&out);
	buf_init(&key);
	assert_int_equal(make("a", said, &out, NULL), 0);
	assert_true(back(buf_str(&out), &job));
	assert_string_equal(job.command, "echo $$ ${A}");
	assert_string_equal(job.cron, "@daily");
	bridge_job_print("a", &job, &key);
	assert_string_equal(buf_str(&key), said);
	assert_true(back(buf_str(&out), &same) && bridge_job_same(&job, &same));
	bridge_job_done(&same);
	assert_false(bridge_job_same(&job, &same));
	bridge_job_done(&job);
	buf_done(&out);
	buf_done(&key);
}

static void a_workflow_that_no_key_could_say_is_no_job(void **state)
{
	static const char *const texts[] = {
		"tasks: {a: {type: shell, cron: '@daily', params: {script: x}}, b: {type: shell}}",
		"tasks: {b: {type: shell, cron: '@daily', params: {script: x}}}",
		"tasks: {a: {type: shell, cycle: day, params: {script: x}}}",
		"tasks: {a: {type: sql, cron: '@daily', params: {script: x}}}",
		"tasks: {a: {type: shell, cron: '@daily', params: {script: '${run_date}'}}}",
		"tasks: {a: {type: shell, cron: '@daily', needs: [b], params: {script: x}}}",
		"tasks: [a]",
		"tasks: {",
		"",
	};
	struct bridge_job job;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_false(back(texts[i], &job));
	assert_true(back("tasks: {a: {type: shell, cron: '@daily', params: {script: x}}}", &job));
	bridge_job_done(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_becomes_a_workflow_with_one_shell_task),
		cmocka_unit_test(what_is_no_job_is_refused_in_clear_words),
		cmocka_unit_test(what_a_key_says_comes_back_from_its_document),
		cmocka_unit_test(a_workflow_that_no_key_could_say_is_no_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
