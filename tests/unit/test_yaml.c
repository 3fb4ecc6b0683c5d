/* The YAML that we take: nodes with their places, what is refused because it could mean two
 * things, limits of depth and size, strict numbers, durations, JSON, and that what is printed
 * reads back the same. */
#include "util/buf.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct diags d;
static struct yaml_doc **docs;
static size_t n_docs;

static int setup(void **state)
{
	(void)state;
	diags_init(&d);
	docs = NULL;
	n_docs = 0;
	return 0;
}

static void drop_docs(void)
{
	for (size_t i = 0; i < n_docs; i++)
		yaml_free(docs[i]);
	free(docs);
	docs = NULL;
	n_docs = 0;
}

static int teardown(void **state)
{
	(void)state;
	drop_docs();
	diags_done(&d);
	return 0;
}

static const struct yaml_node *read_one(const char *text)
{
	drop_docs();
	if (yaml_read(text, strlen(text), "f.yaml", &d, &docs, &n_docs) < 0)
		fail_msg("%s:%d:%d %s", text, d.items[0].at.line, d.items[0].at.column,
		         d.items[0].message);
	assert_int_equal(n_docs, 1);
	return yaml_root(docs[0]);
}

static void refused(const char *text, int line, int column, const char *code)
{
	diags_done(&d);
	diags_init(&d);
	assert_int_equal(yaml_read(text, strlen(text), "f.yaml", &d, &docs, &n_docs), E_INVALID);
	assert_true(d.n >= 1);
	if (d.items[0].at.line != line || d.items[0].at.column != column)
		fail_msg("'%s' refused at %d:%d (%s), want %d:%d", text, d.items[0].at.line,
		         d.items[0].at.column, d.items[0].message, line, column);
	assert_string_equal(d.items[0].code, code);
	assert_string_equal(d.items[0].at.file, "f.yaml");
}

static void nodes_know_where_they_stood(void **state)
{
	(void)state;
	const struct yaml_node *root = read_one("a: 1\nb:\n  - x\n  - {c: 'y'}\n");
	const struct yaml_node *b = yaml_get(root, "b");

	assert_int_equal(root->n, 2);
	assert_int_equal(b->kind, YAML_LIST);
	assert_int_equal(b->line, 3);
	assert_int_equal(b->column, 3);
	assert_int_equal(root->keys[1]->line, 2);
	const struct yaml_node *c = yaml_get(b->items[1], "c");
	assert_int_equal(c->line, 4);
	assert_int_equal(c->column, 9);
	assert_false(c->is_plain);
	assert_string_equal(c->text, "y");
	assert_null(yaml_get(root, "z"));
}

static void what_means_two_things_is_refused(void **state)
{
	(void)state;
	refused("a: &x 1\n", 1, 4, "syntax");
	refused("a: 1\nb: *x\n", 2, 4, "syntax");
	refused("a: !!int 1\n", 1, 4, "syntax");
	refused("<<: {a: 1}\n", 1, 1, "syntax");
	refused("? [a]\n: 1\n", 1, 3, "syntax");
	refused("a: 1\nb: 2\na: 3\n", 3, 1, "duplicate_key");
	refused("{\"x\": 1, \"y\": {\"k\": 1,\n \"k\": 2}}", 2, 2, "duplicate_key");
	refused("a: \"x\\0y\"\n", 1, 4, "syntax");
	refused("a: [1, 2\nb: 3\n", 2, 2, "syntax");
	refused("\tx: 1\n", 1, 1, "syntax");
}

static void depth_and_size_have_limits(void **state)
{
	char deep[200] = { 0 };

	(void)state;
	memset(deep, '[', 100);
	refused(deep, 1, YAML_DEPTH_MAX + 1, "too_deep");

	char *big = malloc(YAML_BYTES_MAX + 2);
	memset(big, ' ', YAML_BYTES_MAX + 1);
	big[YAML_BYTES_MAX + 1] = '\0';
	refused(big, 0, 0, "too_big");
	char *p = big;
	*p++ = '[';
	for (int i = 0; i < YAML_NODES_MAX + 10; i++, p += 2)
		memcpy(p, "1,", 2);
	memcpy(p, "1]", 3);
	refused(big, 1, 2 * (YAML_NODES_MAX - 1) + 2, "too_big");
	free(big);
}

static void a_text_may_hold_several_documents(void **state)
{
	(void)state;
	const char text[] = "a: 1\n---\n# nothing\n---\nb: 2\n...\n---\nc: 3\n";

	assert_int_equal(yaml_read(text, strlen(text), "f", &d, &docs, &n_docs), 0);
	assert_int_equal(n_docs, 3);
	assert_true(yaml_is(yaml_get(yaml_root(docs[2]), "c"), "3"));
	assert_int_equal(yaml_root(docs[1])->line, 5);
	drop_docs();
	assert_int_equal(yaml_read("# only\n", 7, "f", &d, &docs, &n_docs), 0);
	assert_int_equal(n_docs, 0);
}

static void json_is_taken_with_all_its_escapes(void **state)
{
	(void)state;
	const struct yaml_node *root = read_one(
		"{\"a\":1,\"b\":[true,null,-5,\"\\u00e9\\ud83d\\ude00\\/"
		"\\n\"],\n\t\"c\":{\"d\":\"\\\\ud83d\\\\ude00\"}}");
	const struct yaml_node *b = yaml_get(root, "b");

	assert_string_equal(b->items[3]->text, "\xc3\xa9\xf0\x9f\x98\x80/\n");
	assert_string_equal(yaml_get(yaml_get(root, "c"), "d")->text, "\\ud83d\\ude00");
	struct buf out;
	buf_init(&out);
	yaml_print_json(root, &out);
	assert_string_equal(buf_str(&out),
	                    "{\"a\":1,\"b\":[true,null,-5,\"\xc3\xa9\xf0\x9f\x98\x80/\\n\"],"
	                    "\"c\":{\"d\":\"\\\\ud83d\\\\ude00\"}}");
	buf_done(&out);
}

static void numbers_and_truths_are_read_strictly(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool good;
		int64_t value;
	} numbers[] = {
		{ "0", true, 0 },
		{ "-7", true, -7 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "007", false, 0 },
		{ "1.0", false, 0 },
		{ "0x10", false, 0 },
		{ "+1", false, 0 },
		{ "1_000", false, 0 },
		{ "-", false, 0 },
		{ "\"5\"", false, 0 },
		{ "[5]", false, 0 },
		{ "99999999999999999999999999", false, 0 },
	};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		int64_t value = -1;
		bool good = yaml_int(read_one(numbers[i].text), INT64_MIN, INT64_MAX, &value);
		assert_int_equal(good, numbers[i].good);
		if (good)
			assert_true(value == numbers[i].value);
	}
	int64_t value;
	assert_false(yaml_int(read_one("11"), 1, 10, &value));
	assert_false(yaml_int(read_one("0"), 1, 10, &value));
	assert_true(yaml_int(read_one("10"), 1, 10, &value));
	bool truth = false;
	assert_true(yaml_bool(read_one("true"), &truth) && truth);
	assert_false(yaml_bool(read_one("yes"), &truth));
	assert_false(yaml_bool(read_one("\"true\""), &truth));
	assert_true(yaml_is_null(yaml_get(read_one("a:\n"), "a")));
	assert_false(yaml_is_null(yaml_get(read_one("a: \"\"\n"), "a")));
}

static void durations_have_units_in_falling_order(void **state)
{
	(void)state;
	int64_t us = -1;

	assert_true(duration_parse_us("90s", &us) && us == 90000000);
	assert_true(duration_parse_us("2h30m", &us) && us == 9000000000);
	assert_true(duration_parse_us("1w1d1ms", &us) && us == 691200001000);
	assert_true(duration_parse_us("0", &us) && us == 0);
	static const char *const bad[] = { "",     "5",   "5x",   "m",   "30m2h",
		                           "5m5m", "-5m", "1.5h", "5 m", "999999999999w",
		                           "1h " };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(duration_parse_us(bad[i], &us));
}

static void print_reads_back_as_the_same(void **state)
{
	static const char *const texts[] = {
		"a: 1\nb: \"1\"\nc: 'true'\nd: true\ne: null\nf: \"\"\ng: ~\nh: {}\ni: []\n",
		"- - 1\n  - 2\n- {a: {b: [x, {c: d}]}}\n- []\n- [[], {}]\n",
		"s: |\n  #!/bin/sh\n  echo hi\n\n    deep\nt: |-\n  one\n  two\nu: \"x\\n\\n\"\nv: "
		"\"\\n\"\n",
		"s: \" lead\\nx\"\nt: \"a \\nb\"\nu: \"tab\\tx\\ny\"\nv: \"nel\\u0085x \\u2028 "
		"\\ufeff\"\n",
		"'a: b': x\n'- q': '#no'\n\"k\\n\": 'it''s'\n'': empty\n\"5\": n\n5a: '*x'\n",
		"zh: \xe8\xaf\xa5\xe4\xbb\xbb\xe5\x8a\xa1\xef\xbc\x8c\nen: \"[@day-1d, @day)\"\nt: "
		"'08:00'\n",
		"p: a\n  folded plain\nq: 'x  y'\nr: 'end:'\ns: \"on\"\nt: on\nu: '...'\nv: "
		"'---'\n",
		"plain",
		"|\n  block\n  at top\n",
		"\"5\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct buf first, second;
		struct yaml_doc **again;
		size_t n;
		buf_init(&first);
		buf_init(&second);
		const struct yaml_node *root = read_one(texts[i]);
		yaml_print(root, 0, &first);
		const char *printed = buf_str(&first);
		if (yaml_read(printed, first.len, "again", &d, &again, &n) < 0)
			fail_msg("%s\n%d:%d %s", printed, d.items[0].at.line, d.items[0].at.column,
			         d.items[0].message);
		assert_int_equal(n, 1);
		if (!yaml_same(root, yaml_root(again[0])))
			fail_msg("not the same: %s", printed);
		yaml_print(yaml_root(again[0]), 0, &second);
		assert_string_equal(printed, buf_str(&second));
		yaml_free(again[0]);
		free(again);
		buf_done(&first);
		buf_done(&second);
	}
}

static void a_quoted_number_is_not_a_number(void **state)
{
	(void)state;
	struct yaml_doc **other;
	size_t n;
	const struct yaml_node *root = read_one("a: 5\nb: x\n");

	assert_int_equal(yaml_read("b: \"x\"\na: 5\n", 12, "f", &d, &other, &n), 0);
	assert_true(yaml_same(root, yaml_root(other[0])));
	yaml_free(other[0]);
	free(other);
	assert_int_equal(yaml_read("b: x\na: '5'\n", 12, "f", &d, &other, &n), 0);
	assert_false(yaml_same(root, yaml_root(other[0])));
	yaml_free(other[0]);
	free(other);
}

static void json_is_escaped_and_nested(void **state)
{
	(void)state;
	struct buf out;

	buf_init(&out);
	put_open(&out, NULL, '{');
	put_text(&out, "t", "a\"\\\n\x01\xff\xc3\xa9\xc2\x85");
	put_int(&out, "n", INT64_MIN);
	put_open(&out, "l", '[');
	put_bool(&out, NULL, true);
	put_null(&out, NULL);
	put_open(&out, NULL, '{');
	put_close(&out, '}');
	put_close(&out, ']');
	put_close(&out, '}');
	assert_string_equal(buf_str(&out),
	                    "{\"t\":\"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9\\u0085\","
	                    "\"n\":-9223372036854775808,\"l\":[true,null,{}]}");
	buf_done(&out);
}

static void the_nearest_name_is_found_if_near(void **state)
{
	(void)state;
	struct nearest near = nearest_to("Prioritty");

	nearest_try(&near, "params");
	nearest_try(&near, "priority");
	assert_string_equal(nearest_name(&near), "priority");
	near = nearest_to("zebra");
	nearest_try(&near, "priority");
	assert_null(nearest_name(&near));
}

static void findings_beyond_the_limit_are_counted(void **state)
{
	(void)state;
	for (int i = 0; i < DIAGS_MAX + 5; i++)
		diag_error(&d, (struct place){ .file = "f", .line = i }, "x", NULL, "no. %d", i);
	diag_warning(&d, (struct place){ 0 }, "x", NULL, "w");
	assert_int_equal(d.n, DIAGS_MAX);
	assert_int_equal(d.errors, DIAGS_MAX + 5);
	assert_int_equal(d.dropped, 6);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nodes_know_where_they_stood),
		T(what_means_two_things_is_refused),
		T(depth_and_size_have_limits),
		T(a_text_may_hold_several_documents),
		T(json_is_taken_with_all_its_escapes),
		T(numbers_and_truths_are_read_strictly),
		T(durations_have_units_in_falling_order),
		T(print_reads_back_as_the_same),
		T(a_quoted_number_is_not_a_number),
		T(json_is_escaped_and_nested),
		T(the_nearest_name_is_found_if_near),
		T(findings_beyond_the_limit_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
