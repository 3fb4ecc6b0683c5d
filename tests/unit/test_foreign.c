/* runners/foreign: what a guest may say, what it is told, and what is said of nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sirdar/runner.h>

#include "runners/foreign/message.c"

static void refused(const char *line, const char *why)
{
	char got[FOREIGN_WHY_BYTES];
	struct message m;

	assert_int_equal(message_read(line, strlen(line), &m, got), -1);
	if (!strstr(got, why))
		fail_msg("%s: '%s', want '%s'", line, got, why);
	message_done(&m);
}

static struct message taken(const char *line)
{
	char why[FOREIGN_WHY_BYTES] = "";
	struct message m;

	if (message_read(line, strlen(line), &m, why) < 0)
		fail_msg("%s: %s", line, why);
	return m;
}

static void each_message_has_its_fields_and_defaults(void **state)
{
	(void)state;
	struct message m = taken("{\"op\":\"hello\",\"protocol\":1,\"beats\":false,\"more\":[1]} ");
	assert_int_equal(m.op, OP_HELLO);
	assert_int_equal(m.protocol, 1);
	assert_int_equal(m.concurrency, 1);
	assert_false(m.beats);
	message_done(&m);
	m = taken("{\"op\":\"done\",\"job\":7,\"exit_code\":-15,\"verdict\":\"not_yet\",\"text\":"
	          "null}");
	assert_int_equal(m.exit_code, -15);
	assert_int_equal(message_verdict(m.verdict), RUNNER_NOT_YET);
	assert_null(m.text);
	message_done(&m);
	m = taken("{\"op\":\"log\",\"job\":9007199254740991,\"text\":\"\",\"stream\":\"err\"}");
	assert_true(m.job == 9007199254740991);
	assert_string_equal(m.text, "");
	message_done(&m);
}

static void nonsense_is_named_with_what_is_allowed(void **state)
{
	(void)state;
	refused("", "want one JSON object a line");
	refused("[]", "want one JSON object a line");
	refused("{\"op\":\"pong\",\"n\":1} x", "want one JSON object a line");
	refused("\x01\x02{", "it said `??{`");
	refused("{}", "no op, want hello progress log output done pong");
	refused("{\"op\":\"run\"}", "op is 'run', want hello");
	refused("{\"op\":\"hello\"}", "`hello`: protocol is missing");
	refused("{\"op\":\"log\",\"job\":1,\"text\":null}", "text is missing");
	refused("{\"op\":\"done\",\"job\":0}", "job must be a whole number, 1 to");
	refused("{\"op\":\"done\",\"job\":1.5}", "job must be a whole number");
	refused("{\"op\":\"done\",\"job\":\"1\"}", "job must be a whole number");
	refused("{\"op\":\"done\",\"job\":1e300}", "job must be a whole number");
	refused("{\"op\":\"done\",\"job\":1,\"verdict\":\"cod\"}",
	        "is 'cod', want one of code retry");
	refused("{\"op\":\"done\",\"job\":1,\"verdict\":\"code retry\"}", "want one of code");
	refused("{\"op\":\"log\",\"job\":1,\"text\":5}", "text must be a text");
	refused("{\"op\":\"hello\",\"protocol\":1,\"beats\":1}", "beats must be true or false");
	refused("{\"op\":\"hello\",\"protocol\":1,\"concurrency\":2000}", "1 to 1024");
}

static void a_text_is_told_as_json_and_wiped(void **state)
{
	struct text t = { 0 };

	(void)state;
	text_word(&t, "{\"a\":1");
	text_field(&t, "b", "x\"\\\n\x7f\xc3\xa4");
	text_number(&t, "c", -5);
	text_word(&t, "}");
	text_put(&t, "", 1);
	assert_string_equal(t.at,
	                    "{\"a\":1,\"b\":\"x\\u0022\\u005c\\u000a\\u007f\xc3\xa4\",\"c\":-5}");
	text_drop(&t, 6);
	assert_memory_equal(t.at, ",\"b\"", 4);
	for (int i = 0; i < 10000; i++)
		text_word(&t, "0123456789");
	assert_memory_equal(t.at, ",\"b\"", 4);
	text_done(&t);
	assert_null(t.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_has_its_fields_and_defaults),
		cmocka_unit_test(nonsense_is_named_with_what_is_allowed),
		cmocka_unit_test(a_text_is_told_as_json_and_wiped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
