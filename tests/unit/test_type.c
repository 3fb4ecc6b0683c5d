/* Manifests of task types: what they say, what is refused in them, what they allow. */
#include "sched/type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/buf.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/yaml.h"

static int read_into(struct type_set *set, const char *text, struct diags *d)
{
	return type_set_read(set, text, strlen(text), "t.yaml", d);
}

static void refuse(const char *text, const char *code, const char *message)
{
	struct type_set *set = type_set_new();
	struct diags d;

	diags_init(&d);
	assert_int_equal(read_into(set, text, &d), E_INVALID);
	if (strcmp(d.items[0].code, code) != 0 || !strstr(d.items[0].message, message))
		fail_msg("%s\n%s %s", text, d.items[0].code, d.items[0].message);
	assert_int_equal(type_set_count(set), 0);
	diags_done(&d);
	type_set_free(set);
}

static void each_fault_of_a_manifest_is_named(void **state)
{
	(void)state;
	refuse("type: [\n", "syntax", "did not find");
	refuse("[a]\n", "wrong_value", "a manifest is a list, want a map");
	refuse("type: 9\n", "wrong_name", "'9' is no name of a task type");
	refuse("typ: x\n", "unknown_key", "a manifest has no key 'typ'");
	refuse("type: x\nothers: maybe\n", "wrong_value", "others is 'maybe', want true or false");
	refuse("type: x\n---\ntype: y\n", "wrong_value", "2 documents, want one manifest");
}

static void each_fault_of_a_text_for_people_is_named(void **state)
{
	(void)state;
	refuse("type: x\nlabel: [a]\n", "wrong_value", "label is a list, want a text, or {en:");
	refuse("type: x\nlabel: {de: a}\n", "unknown_key", "label has no key 'de'");
	refuse("type: x\nlabel: {en: [a]}\n", "wrong_value", "en is a list, want a text");
	refuse("type: x\nhelp: {en: a, zh: ~}\n", "wrong_value", "zh is '~', want a text");
}

static void each_fault_of_a_parameter_is_named(void **state)
{
	(void)state;
	refuse("type: x\nparams: {a: 1}\n", "wrong_value", "params is a map, want a list");
	refuse("type: x\nparams: [5]\n", "wrong_value", "a parameter is '5', want a map");
	refuse("type: x\nparams: [{name: 9a}]\n", "wrong_name", "'9a' is no name");
	refuse("type: x\nparams: [{name: a}, {name: a}]\n", "twice", "'a' is declared twice");
	refuse("type: x\nparams: [{name: a, type: int}]\n", "wrong_value", "type is 'int', want");
	refuse("type: x\nparams: [{name: a, type: integer, default: b}]\n", "wrong_value",
	       "default is 'b', want a whole number");
	refuse("type: x\nparams: [{name: a, required: true, default: b}]\n", "conflict",
	       "what is required needs no default");
}

static void each_fault_of_choices_is_named(void **state)
{
	(void)state;
	refuse("type: x\nparams: [{name: a, type: choice}]\n", "missing_key", "`choices`");
	refuse("type: x\nparams: [{name: a, type: choice, default: b}]\n", "missing_key",
	       "`choices`");
	refuse("type: x\nparams: [{name: a, choices: [b]}]\n", "conflict", "`choices`");
	refuse("type: x\nparams: [{name: a, type: choice, choices: b}]\n", "wrong_value",
	       "choices is 'b', want a list of texts");
	refuse("type: x\nparams: [{name: a, type: choice, choices: []}]\n", "wrong_value",
	       "choices is a list, want a list of texts");
	refuse("type: x\nparams: [{name: a, type: choice, choices: [b, [c]]}]\n", "wrong_value",
	       "choices is a list, want texts");
	refuse("type: x\nparams: [{name: a, type: choice, choices: [b, c, d], default: e}]\n",
	       "wrong_value", "default is 'e', want b, c or d");
}

static void each_fault_of_one_of_is_named(void **state)
{
	(void)state;
	refuse("type: x\none_of: a\nparams: [{name: a}]\n", "wrong_value",
	       "one_of is 'a', want a list of two names or more");
	refuse("type: x\none_of: [a]\nparams: [{name: a}]\n", "wrong_value",
	       "one_of is a list, want a list of two names or more");
	refuse("type: x\none_of: [a, b]\nparams: [{name: a}]\n", "wrong_value",
	       "one_of is 'b', want the name of a parameter declared here");
}

static void a_manifest_has_200_parameters_at_most(void **state)
{
	struct type_set *set = type_set_new();
	struct diags d;
	struct buf text;

	(void)state;
	buf_init(&text);
	diags_init(&d);
	buf_puts(&text, "type: x\nparams:\n");
	for (int i = 0; i < TYPE_PARAMS_MAX; i++)
		buf_printf(&text, "  - {name: a%d}\n", i);
	assert_int_equal(read_into(set, buf_str(&text), &d), 0);
	assert_int_equal(type_set_at(set, 0)->n_params, TYPE_PARAMS_MAX);
	buf_puts(&text, "  - {name: b}\n");
	refuse(buf_str(&text), "wrong_value", "want a list of at most 200 parameters");
	buf_done(&text);
	diags_done(&d);
	type_set_free(set);
	type_set_free(NULL);
}

static void one_type_has_one_manifest(void **state)
{
	struct type_set *set = type_set_new();
	struct diags d;

	(void)state;
	diags_init(&d);
	assert_int_equal(read_into(set, "type: b\n", &d), 0);
	assert_int_equal(read_into(set, "type: a\n", &d), 0);
	assert_int_equal(read_into(set, "type: b\n", &d), E_INVALID);
	assert_int_equal(type_set_count(set), 2);
	assert_string_equal(type_set_at(set, 0)->name, "a");
	assert_null(type_set_find(set, "c"));
	diags_done(&d);
	type_set_free(set);
}

static bool allows(const char *kind, const char *value)
{
	struct type_set *set = type_set_new();
	struct yaml_doc **docs;
	struct diags d;
	struct buf text;
	const char *want = NULL;
	char room[100];
	size_t n;

	buf_init(&text);
	diags_init(&d);
	buf_printf(&text, "type: x\nparams: [{name: a, type: %s%s}]\n", kind,
	           strcmp(kind, "choice") == 0 ? ", choices: [p, q]" : "");
	assert_int_equal(read_into(set, buf_str(&text), &d), 0);
	assert_int_equal(yaml_read(value, strlen(value), "v", &d, &docs, &n), 0);
	bool ok = type_value_ok(type_param_find(type_set_at(set, 0), "a"), yaml_root(docs[0]), room,
	                        sizeof room, &want);
	assert_true(ok || want);
	yaml_free(docs[0]);
	free(docs);
	buf_done(&text);
	diags_done(&d);
	type_set_free(set);
	return ok;
}

static void values_are_of_their_kind(void **state)
{
	static const struct {
		const char *kind, *good, *bad;
	} rows[] = {
		{ "integer", "-12", "1.5" },     { "integer", "'12'", "twelve" },
		{ "number", "1.5e3", "1.5x" },   { "boolean", "true", "yes" },
		{ "duration", "2h30m", "soon" }, { "choice", "q", "r" },
		{ "list", "[a, b]", "a" },       { "map", "{a: 1}", "[a]" },
		{ "text", "anything", "[a]" },   { "script", "ls", "{a: b}" },
		{ "integer", "+7", "''" },       { "integer", "0", "99999999999999999999" },
		{ "integer", "7", "7-" },        { "number", "-.5", "1e999" },
		{ "boolean", "false", "1" },     { "list", "'[1]'", "{a: 1}" },
		{ "map", "'{}'", "a" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_true(allows(rows[i].kind, rows[i].good));
		assert_false(allows(rows[i].kind, rows[i].bad));
		assert_true(allows(rows[i].kind, "'${macro}'"));
		assert_true(allows(rows[i].kind, "'$[date]'"));
	}
}

/* What a choice that is none of them is told, in a room of so many bytes. */
static void wants(size_t room_bytes, const char *expected)
{
	static const char text[] = "type: x\nparams: [{name: a, type: choice, choices: [append, "
				   "replace, skip]}]\n";
	const struct yaml_node value = { .kind = YAML_SCALAR, .text = "b", .n = 1 };
	struct type_set *set = type_set_new();
	struct diags d;
	const char *want = NULL;
	char room[100];

	diags_init(&d);
	assert_int_equal(read_into(set, text, &d), 0);
	assert_false(
		type_value_ok(&type_set_at(set, 0)->params[0], &value, room, room_bytes, &want));
	assert_string_equal(want, expected);
	diags_done(&d);
	type_set_free(set);
}

static void a_wrong_choice_is_told_the_choices_as_far_as_there_is_room(void **state)
{
	(void)state;
	wants(100, "append, replace or skip");
	wants(11, "append, re");
	wants(7, "append");
}

static void a_manifest_is_told_as_json(void **state)
{
	static const char text[] =
		"type: x\nlabel: {en: Copy, zh: 复制}\nhelp: of files\nothers: true\n"
		"one_of: [a, b]\nparams:\n"
		"  - {name: a, type: choice, choices: [p, q], default: q, help: {en: which}}\n"
		"  - {name: b, secret: true, example: dw}\n";
	struct type_set *set = type_set_new();
	struct diags d;
	struct buf out;

	(void)state;
	buf_init(&out);
	diags_init(&d);
	assert_int_equal(read_into(set, text, &d), 0);
	type_print_members(type_set_find(set, "x"), &out);
	assert_string_equal(
		buf_str(&out),
		"\"type\":\"x\",\"label\":{\"en\":\"Copy\",\"zh\":\"复制\"},"
		"\"help\":{\"en\":\"of files\",\"zh\":\"of files\"},\"others\":true,"
		"\"one_of\":[\"a\",\"b\"],\"params\":["
		"{\"name\":\"a\",\"type\":\"choice\",\"required\":false,\"secret\":false,"
		"\"default\":\"q\",\"choices\":[\"p\",\"q\"],"
		"\"help\":{\"en\":\"which\",\"zh\":\"which\"},\"example\":\"\"},"
		"{\"name\":\"b\",\"type\":\"text\",\"required\":false,\"secret\":true,"
		"\"default\":null,\"choices\":[],"
		"\"help\":{\"en\":\"\",\"zh\":\"\"},\"example\":\"dw\"}]");
	buf_done(&out);
	diags_done(&d);
	type_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_of_a_manifest_is_named),
		cmocka_unit_test(each_fault_of_a_text_for_people_is_named),
		cmocka_unit_test(each_fault_of_a_parameter_is_named),
		cmocka_unit_test(each_fault_of_choices_is_named),
		cmocka_unit_test(each_fault_of_one_of_is_named),
		cmocka_unit_test(a_manifest_has_200_parameters_at_most),
		cmocka_unit_test(one_type_has_one_manifest),
		cmocka_unit_test(values_are_of_their_kind),
		cmocka_unit_test(a_wrong_choice_is_told_the_choices_as_far_as_there_is_room),
		cmocka_unit_test(a_manifest_is_told_as_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
