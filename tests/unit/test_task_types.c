/* sched/workflow: the parameters of tasks against what their types declare. */
#include "sched/type.h"
#include "tests/unit/documents.h"

static struct type_set *types;

static void declare(const char *text)
{
	assert_int_equal(type_set_read(types, text, strlen(text), "t.yaml", &d), 0);
}

static int setup_types(void **state)
{
	setup(state);
	types = type_set_new();
	world.types = types;
	declare("type: copy\nparams:\n  - {name: from, required: true, help: which table}\n"
	        "  - {name: rows, type: integer}\n  - {name: columns, type: list}\n");
	declare("type: run\nothers: true\none_of: [command, script, argv]\n"
	        "params: [{name: command}, {name: script}, {name: argv, type: list}]\n");
	declare("type: list\nparams: [{name: directory, required: true}]\n");
	return 0;
}

static int teardown_types(void **state)
{
	teardown(state);
	type_set_free(types);
	return 0;
}

/* A workflow of one task; the parameters of a type of four letters are at column 39. */
static const char *one(const char *type, const char *params)
{
	static char text[800];

	snprintf(text, sizeof text,
	         "workflow: w\ntasks:\n  a: {cycle: day, type: %s, params: %s}\n", type, params);
	return text;
}

static void a_parameter_that_is_not_declared_has_the_nearest_for_a_hint(void **state)
{
	(void)state;
	bad(one("copy", "{from: t, row: 5}"), 3, 54, "unknown_parameter",
	    "the task type 'copy' has no parameter 'row'");
	assert_string_equal(d.items[0].hint, "did you mean 'rows'?");
	assert_string_equal(d.items[0].at.path, "tasks.a.params.row");
	bad(one("copy", "{from: t, thunderstorm: 5}"), 3, 63, "unknown_parameter", "thunderstorm");
	assert_string_equal(d.items[0].hint, "");
	again();
	good(one("run", "{command: ls, row: 5}"));
}

static void defaults_are_for_tasks_of_all_types(void **state)
{
	(void)state;
	good("workflow: w\ndefaults: {params: {from: t, colour: red}}\ntasks:\n"
	     "  a: {type: copy, cycle: day}\n  b: {type: copy, cycle: day, params: {rows: 5}}\n"
	     "  c: {type: run, cycle: day, params: {command: ls}}\n");
	bad("workflow: w\ndefaults: {params: {from: t, rows: many}}\ntasks:\n"
	    "  a: {type: copy, cycle: day}\n",
	    2, 36, "wrong_value", "rows");
}

static void a_value_is_of_the_kind_that_is_declared(void **state)
{
	(void)state;
	good(one("copy", "{from: t, rows: 5, columns: [a, b]}"));
	bad(one("copy", "{from: t, rows: many}"), 3, 55, "wrong_value",
	    "parameter rows of the task type 'copy' is 'many', want a whole number");
	bad(one("copy", "{from: t, rows: [5]}"), 3, 55, "wrong_value",
	    "parameter rows of the task type 'copy' is a list, want a whole number");
}

static bool knows_from(void *ctx, const char *project, const char *name)
{
	(void)ctx;
	return strcmp(project, "default") == 0 && strcmp(name, "from") == 0;
}

static void what_is_required_may_be_given_anywhere(void **state)
{
#define TASKS "tasks: {a: {type: copy, cycle: day}}\n"
	static const char *const rows[] = {
		"workflow: w\nparameters: {from: t}\n" TASKS,
		"project: default\nparameters: {x: y, from: t}\n---\nworkflow: w\n" TASKS,
		"global: {x: y, from: t}\n---\nworkflow: w\n" TASKS,
		"project: default\nparameters: {x: y}\n---\nglobal: {from: t}\n---\nworkflow: "
		"w\n" TASKS,
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		again();
		good(rows[i]);
	}
	again();
	good("pipeline: p\ncycle: day\nsteps: [{name: a, type: list, directory: /data}]\n");
	world.parameter = knows_from;
	again();
	good(one("copy", "{}"));
	bad(one("list", "{}"), 3, 39, "missing_parameter", "needs the parameter 'directory'");
}

static void what_is_required_and_given_nowhere_is_missed(void **state)
{
	(void)state;
	bad("pipeline: p\ncycle: day\nsteps:\n"
	    "  - {name: a, type: copy, directory: /data, params: {rows: 5}}\n",
	    4, 53, "missing_parameter", "the task type 'copy' needs the parameter 'from'");
	assert_string_equal(d.items[0].hint, "which table");
	bad("global: {x: y}\n---\nproject: default\nparameters: {x: y}\n---\n"
	    "workflow: w\nparameters: {x: y}\ntasks:\n  a: {type: copy, cycle: day}\n",
	    9, 6, "missing_parameter", "needs the parameter 'from'");
}

static void exactly_one_of_some_is_given(void **state)
{
	(void)state;
	good(one("run", "{script: ls}"));
	bad(one("run", "{}"), 3, 38, "missing_parameter",
	    "needs exactly one of the parameters command, script, argv, here are 0");
	bad(one("run", "{command: ls, argv: [ls]}"), 3, 38, "conflict",
	    "needs exactly one of the parameters command, script, argv, here are 2");
}

static void many_long_names_of_which_one_is_given_are_told_in_part(void **state)
{
	struct buf text;
	char name[WORKFLOW_NAME_MAX + 1];

	(void)state;
	buf_init(&text);
	buf_puts(&text, "type: long\nparams:\n");
	for (int i = 0; i < 5; i++) {
		memset(name, 'a' + i, WORKFLOW_NAME_MAX);
		name[WORKFLOW_NAME_MAX] = '\0';
		buf_printf(&text, "  - {name: %s}\n", name);
	}
	buf_puts(&text, "one_of:\n");
	for (int i = 0; i < 5; i++) {
		memset(name, 'a' + i, WORKFLOW_NAME_MAX);
		buf_printf(&text, "  - %s\n", name);
	}
	declare(buf_str(&text));
	bad(one("long", "{}"), 3, 39, "missing_parameter", "ccc, d, here are 0");
	buf_done(&text);
}

static const char *only_dw(void *ctx, const char *project, const char *name, bool secret)
{
	(void)ctx;
	(void)project;
	return strcmp(name, "dw") != 0 ? "is unknown" : secret ? "has no password" : NULL;
}

static void durations_have_a_least_and_a_most(void **state)
{
	(void)state;
	declare("type: base\nparams: [{name: every, type: duration, min: 1s, max: 7d}]\n");
	good(one("base", "{every: 1s}"));
	again();
	good(one("base", "{every: 7d}"));
	again();
	bad(one("base", "{every: 500ms}"), 3, 47, "wrong_value", "at least 1s, at most 7d");
	bad(one("base", "{every: 8d}"), 3, 47, "wrong_value", "at least 1s, at most 7d");
}

static void a_target_server_is_named_plainly_known_and_its_slot_taken(void **state)
{
	(void)state;
	declare("type: base\nparams: [{name: db, type: server}, {name: key, secret: true}]\n");
	good(one("base", "{db: dw}"));
	assert_int_equal(tasks[0]->n_pools, 1);
	assert_string_equal(tasks[0]->pools[0].name, "server:dw");
	assert_true(tasks[0]->asks && tasks[0]->params[0].server);
	again();
	world.server = only_dw;
	bad(one("base", "{db: other}"), 3, 44, "unknown_server", "'other' is unknown");
	bad(one("base", "{key: 'dw'}"), 3, 45, "unknown_server", "'dw' has no password");
	bad(one("base", "{db: '${run_date}'}"), 3, 44, "wrong_value", "without macros");
	world.server = NULL;
}

static void slots_are(const char *text, size_t n, const char *last)
{
	again();
	good(text);
	assert_int_equal(tasks[0]->n_pools, n);
	assert_string_equal(tasks[0]->pools[n - 1].name, last);
}

static void a_target_server_that_is_named_twice_has_one_slot(void **state)
{
	(void)state;
	declare("type: two\nparams: [{name: db, type: server}, {name: to, type: server}, {name: "
	        "note}]\n");
	slots_are(one("two", "{db: dw, to: dw}"), 1, "server:dw");
	slots_are(one("two", "{db: dw, to: other}"), 2, "server:other");
	slots_are(one("two", "{note: dw, db: dw}"), 1, "server:dw");
	slots_are("workflow: w\nparameters: {db: shared}\ntasks:\n  a: {cycle: day, type: two, "
	          "params: "
	          "{db: dw}}\n",
	          1, "server:dw");
	slots_are("workflow: w\nparameters: {to: dw}\ntasks:\n  a: {cycle: day, type: two, params: "
	          "{db: dw}}\n",
	          1, "server:dw");
	slots_are("workflow: w\nparameters: {to: dw, db: dw, x: dw}\ntasks:\n  a: {cycle: day, "
	          "type: two}\n",
	          1, "server:dw");
	assert_true(tasks[0]->asks);
}

static void what_was_judged_when_it_was_saved_is_not_judged_again(void **state)
{
	(void)state;
	declare("type: base\nparams: [{name: db, type: server}, {name: key, secret: true}]\n");
	world.server = only_dw;
	bad(one("base", "{key: '${run_date}'}"), 3, 45, "wrong_value",
	    "names of secrets, without macros");
	again();
	world.saved = true;
	good(one("base", "{key: '${run_date}'}")); /* saved before that was refused */
	again();
	good(one("base", "{db: gone}"));
	assert_int_equal(tasks[0]->n_pools, 1);
}

static bool runs_other(void *ctx, const char *type)
{
	(void)ctx;
	return strcmp(type, "other") == 0;
}

static void types_without_a_manifest_take_all(void **state)
{
	(void)state;
	world.runs = runs_other;
	good(one("other", "{row: 5}"));
	again();
	world.types = NULL;
	again();
	good(one("copy", "{row: 5}"));
}

static void a_type_that_nobody_has_is_refused_but_of_a_draft(void **state)
{
	(void)state;
	bad(one("otehr", "{row: 5}"), 3, 25, "unknown_type", "there is no task type 'otehr'");
	bad("workflow: w\ntasks:\n  a: {type: bsae, cycle: day}\n", 3, 13, "unknown_type", "bsae");
	again();
	good("workflow: w\nstate: draft\ntasks:\n  a: {type: other, cycle: day}\n");
}

#define TT(name) cmocka_unit_test_setup_teardown(name, setup_types, teardown_types)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TT(a_parameter_that_is_not_declared_has_the_nearest_for_a_hint),
		TT(defaults_are_for_tasks_of_all_types),
		TT(a_value_is_of_the_kind_that_is_declared),
		TT(what_is_required_may_be_given_anywhere),
		TT(what_is_required_and_given_nowhere_is_missed),
		TT(exactly_one_of_some_is_given),
		TT(many_long_names_of_which_one_is_given_are_told_in_part),
		TT(durations_have_a_least_and_a_most),
		TT(a_target_server_is_named_plainly_known_and_its_slot_taken),
		TT(a_target_server_that_is_named_twice_has_one_slot),
		TT(what_was_judged_when_it_was_saved_is_not_judged_again),
		TT(types_without_a_manifest_take_all),
		TT(a_type_that_nobody_has_is_refused_but_of_a_draft),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
