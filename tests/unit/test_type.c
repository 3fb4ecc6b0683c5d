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

static void refuse(const char *text, const char *code)
{
	struct type_set *set = type_set_new();
	struct diags d;

	diags_init(&d);
	assert_int_equal(read_into(set, text, &d), E_INVALID);
	assert_string_equal(d.items[0].code, code);
	assert_int_equal(type_set_count(set), 0);
	diags_done(&d);
	type_set_free(set);
}

static void each_fault_of_a_manifest_is_named(void **state)
{
	(void)state;
	refuse("type: 9\n", "wrong_name");
	refuse("typ: x\n", "unknown_key");
	refuse("type: x\nparams: {a: 1}\n", "wrong_value");
	refuse("type: x\nparams: [{name: a, type: int}]\n", "wrong_value");
	refuse("type: x\nparams: [{name: a}, {name: a}]\n", "twice");
	refuse("type: x\nparams: [{name: a, type: choice}]\n", "missing_key");
	refuse("type: x\nparams: [{name: a, choices: [b]}]\n", "conflict");
	refuse("type: x\nparams: [{name: a, type: integer, default: b}]\n", "wrong_value");
	refuse("type: x\nparams: [{name: a, required: true, default: b}]\n", "conflict");
	refuse("type: x\none_of: [a, b]\n", "wrong_value");
	refuse("type: x\n---\ntype: y\n", "wrong_value");
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
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_true(allows(rows[i].kind, rows[i].good));
		assert_false(allows(rows[i].kind, rows[i].bad));
		assert_true(allows(rows[i].kind, "'${macro}'"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_of_a_manifest_is_named),
		cmocka_unit_test(one_type_has_one_manifest),
		cmocka_unit_test(values_are_of_their_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
