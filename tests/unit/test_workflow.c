/* Documents of workflows: each test compiles a text. What a task takes from where, every
 * mistake with its line and its hint, cycles by name, sets of documents, and that the examples
 * are good and print back to themselves. The world has this machine's zones and whatever the
 * test adds. */
#include "rt/zones.h"
#include "sched/rank.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "sched/workflow.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct diags d;
static struct workflow_set *set;
static struct task **tasks;
static size_t n_tasks;

static int zone(void *ctx, const char *name, const struct tz **ret_tz, struct err *err)
{
	(void)ctx;
	return zones_get(name, ret_tz, err);
}

static struct workflow_world world = { .zone = zone };

static int setup(void **state)
{
	(void)state;
	diags_init(&d);
	set = workflow_set_new();
	tasks = NULL;
	n_tasks = 0;
	world = (struct workflow_world){ .zone = zone };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_tasks; i++)
		task_unref(tasks[i]);
	free(tasks);
	workflow_set_free(set);
	diags_done(&d);
	return 0;
}

static void again(void)
{
	teardown(NULL);
	diags_init(&d);
	set = workflow_set_new();
	tasks = NULL;
	n_tasks = 0;
}

static void no_complaint(const char *of)
{
	if (d.n)
		fail_msg("%s: %s:%d:%d %s", of, d.items[0].at.file, d.items[0].at.line,
		         d.items[0].at.column, d.items[0].message);
}

static void compile(const char *text)
{
	workflow_set_read(set, text, strlen(text), "f.yaml", &d);
	if (!d.errors)
		workflow_compile(set, &world, &d, &tasks, &n_tasks);
	no_complaint(text);
}

static const struct task *task(const char *name)
{
	for (size_t i = 0; i < n_tasks; i++)
		if (strcmp(tasks[i]->name, name) == 0)
			return tasks[i];
	fail_msg("no task %s", name);
	return NULL;
}

static void a_task_says_by_an_expression_which_broker_it_likes(void **state)
{
	(void)state;
	compile("workflow: w\ndefaults: {type: t, cycle: day, dispatch: {least: cpu}}\ntasks:\n"
	        "  a: {}\n  b: {dispatch: hash}\n  c: {dispatch: {least: \"load * 2\"}}\n");
	const struct task *a = task("default/w/a"), *b = task("default/w/b");
	const struct task *c = task("default/w/c");
	struct rank_load load = { .is_told = true, .cpu_permille = 500, .load_permille = 700 };
	struct rank_broker broker = { .name = "b", .load = &load };

	assert_int_equal(a->dispatch, DISPATCH_LEAST);
	assert_true(rank_of(a->least, &broker).value == 0.5);
	assert_int_equal(b->dispatch, DISPATCH_HASH);
	assert_null(b->least);
	assert_true(rank_of(c->least, &broker).value == 1.4);
}

/* Documents: `tasks:` of workflow w are given from line 3 on. */
#define W "workflow: w\ntasks:\n"

static const struct {
	const char *text;
	int line, column;
	const char *code, *message;
} wrong[] = {
	/* the choice of a broker */
	{ W "  a: {type: t, cycle: day, dispatch: best}\n", 3, 38, "wrong_value",
	  "hash | broadcast | {least: EXPRESSION}" },
	{ W "  a: {type: t, cycle: day, dispatch: {}}\n", 3, 38, "missing_key",
	  "dispatch needs `least`" },
	{ W "  a: {type: t, cycle: day, dispatch: {most: cpu}}\n", 3, 39, "unknown_key",
	  "dispatch has no key 'most'" },
	{ W "  a: {type: t, cycle: day, dispatch: {least: cpu +}}\n", 3, 46, "wrong_expression",
	  "least is 'cpu +', character 6: it ends where a value is missing" },
	/* the document */
	{ "[]", 1, 1, "wrong_value", "want a map that begins with" },
	{ "tasks: {}", 1, 1, "missing_key", "a document is a `workflow`, a `pipeline`" },
	{ "workflow: a\npipeline: b\n", 1, 1, "conflict",
	  "a document is a `workflow`, a `pipeline`" },
	{ "workflow: a\n", 1, 1, "missing_key", "needs `tasks`" },
	{ "workflow: a\ntasks: []\n", 2, 8, "wrong_value", "tasks is a list" },
	{ "workflow: a\ntasks: {}\n", 2, 8, "wrong_value", "a map of 1 to" },
	{ "workflow: 9a\ntasks: {a: {type: t, cycle: day}}\n", 1, 11, "wrong_name",
	  "'9a' is not a name: it begins with '9'" },
	{ "workflow: a/b\ntasks: {a: {type: t, cycle: day}}\n", 1, 11, "wrong_name",
	  "'a/b' is not a name: '/' (U+002F) is not allowed" },
	{ W "  a: {type: t, cycle: day}\ntsaks: {}\n", 4, 1, "unknown_key",
	  "a workflow has no key 'tsaks'" },
	{ "pipeline: p\ntasks: {}\ncycle: day\nsteps: [{name: a, type: t}]\n", 2, 1, "unknown_key",
	  "a pipeline has no key 'tasks'" },
	{ "workflow: w\nstate: on\ntasks: {a: {type: t, cycle: day}}\n", 2, 8, "wrong_value",
	  "want online | draft | offline | frozen" },
	{ "workflow: w\nquota: {running: 0}\ntasks: {a: {type: t, cycle: day}}\n", 2, 18,
	  "wrong_value", "running is '0', want a number from 1 to 1000000" },
	{ "workflow: w\nalerts: [{when: [failed]}]\ntasks: {a: {type: t, cycle: day}}\n", 2, 10,
	  "missing_key", "an alert says `when` and `to`" },
	{ "workflow: w\nalerts: [{when: [failed], to: [me]}]\ntasks: {a: {type: t, cycle: day}}\n",
	  2, 32, "wrong_value", "'me' is nobody to tell" },
	{ "workflow: w\nalerts: [{when: [faild], to: [mail:me]}]\ntasks: {a: {type: t, cycle: "
	  "day}}\n",
	  2, 18, "wrong_value", "'faild' is nothing to be told of" },
	{ "workflow: w\nbaselines: [{task: a, committed: 25:00}]\ntasks: {a: {type: t, cycle: "
	  "day}}\n",
	  2, 34, "wrong_value", "committed is '25:00'" },
	{ "workflow: w\nbaselines: [{task: b, committed: \"08:00\"}]\ntasks: {a: {type: t, cycle: "
	  "day}}\n",
	  2, 20, "unknown_task", "there is no task 'default/w/b'" },
	{ "workflow: w\nparameters: {x: }\ntasks: {a: {type: t, cycle: day}}\n", 2, 17,
	  "wrong_value", "x has no value" },
	{ "workflow: w\ndefaults: {typo: 1}\ntasks: {a: {type: t, cycle: day}}\n", 2, 12,
	  "unknown_key", "a task has no key 'typo'" },
	/* tasks */
	{ W "  9a: {type: t}\n", 3, 3, "wrong_name", "'9a' is not the name of a task" },
	{ W "  p\u0430y: {type: t, cycle: day}\n", 3, 3, "wrong_name",
	  "mixes letters of Latin and Cyrillic" },
	{ W "  a: {type: t, cycle: day, calendar: \u8282\u65e5}\n", 3, 38, "wrong_name",
	  "is not the name of a calendar: only letters of ASCII" },
	{ W "  Load: {type: t, cycle: day}\n  load: {type: t, cycle: day}\n", 4, 3, "alike_name",
	  "'default/w/load' and 'default/w/Load' look the same" },
	{ W "  \uff76\uff9e: {type: t, cycle: day}\n  \u30ac: {type: t, cycle: day}\n", 4, 3,
	  "alike_name", "look the same" },
	{ "pipeline: p\ncycle: day\nsteps: [{name: A, type: t}, {name: a, type: t}]\n", 3, 36,
	  "alike_name", "'default/p/a' and 'default/p/A' look the same" },
	{ W "  a: {type: t, cycle: day}\n---\nworkflow: W\ntasks: {a: {type: t, cycle: day}}\n", 5,
	  11, "alike_name", "'default/W' and 'default/w' look the same" },
	{ "workflow: v\nproject: x\ntasks: {a: {type: t, cycle: day}}\n---\n"
	  "workflow: w\nproject: X\ntasks: {a: {type: t, cycle: day}}\n",
	  6, 10, "alike_name", "'X' and 'x' look the same" },
	{ W "  a: 5\n", 3, 6, "wrong_value", "a is '5', want a map" },
	{ W "  a: {cycle: day}\n", 3, 6, "missing_key", "a task needs a `type`" },
	{ W "  a: {type: t}\n", 3, 6, "missing_key", "a task needs a `cycle` or a `cron`" },
	{ W "  a: {type: t, cycle: day, prioriti: 5}\n", 3, 28, "unknown_key",
	  "no key 'prioriti'" },
	{ W "  a: {type: t, cycle: day, priority: 11}\n", 3, 38, "wrong_value",
	  "priority is '11', want a number from 1 to 10" },
	{ W "  a: {type: t, cycle: day, priority: \"5\"}\n", 3, 38, "wrong_value",
	  "priority is '5'" },
	{ W "  a: {type: t, cycle: 0 day}\n", 3, 23, "wrong_value", "cycle is '0 day'" },
	{ W "  a: {type: t, cycle: 2 once}\n", 3, 23, "wrong_value", "cycle is '2 once'" },
	{ W "  a: {type: t, cycle: fortnight}\n", 3, 23, "wrong_value", "minute|hour|day" },
	{ W "  a: {type: t, cron: \"61 * * * *\"}\n", 3, 22, "cron", "61" },
	{ W "  a: {type: t, cron: \"0 1 * * *\", cycle: 2 day}\n", 3, 42, "conflict",
	  "the unit of its periods alone" },
	{ W "  a: {type: t, cron: \"0 1 * * *\", cycle: none}\n", 3, 42, "conflict",
	  "the cron says when it runs" },
	{ W "  a: {type: t, cron: \"0 1 * * *\", cycle: once}\n", 3, 42, "conflict",
	  "the cron says when it runs" },
	{ "workflow: w\ndefaults: {cycle: none, cron: \"0 1 * * *\"}\ntasks:\n  a: {type: t}\n", 2,
	  19, "conflict", "the cron says when it runs" },
	{ W "  a: {type: t, cycle: day, timezone: Mars/Base}\n", 3, 38, "timezone", "Mars/Base" },
	{ W "  a: {type: t, cycle: day, start_date: 2026-02-30}\n", 3, 40, "wrong_value",
	  "start_date is '2026-02-30'" },
	{ W "  a: {type: t, cycle: day, start_date: 2026-02-02, end_date: 2026-02-01}\n", 3, 23,
	  "schedule", "the end is before the start" },
	{ "workflow: w\nstart_date: 2026-01-02\ntasks:\n  a: {type: t, cycle: day, start_date: "
	  "2026-01-01}\n",
	  4, 40, "conflict", "a task may only narrow it" },
	{ "workflow: w\nend_date: 2026-01-02\ntasks:\n  a: {type: t, cycle: day, end_date: "
	  "2026-01-03}\n",
	  4, 38, "conflict", "a task may only narrow it" },
	{ W "  a: {type: t, cycle: day, offset: -5m}\n", 3, 36, "offset", "-5m" },
	{ W "  a: {type: t, cycle: hour, offset: tuesday 06:00}\n", 3, 23, "schedule", "weekday" },
	{ W "  a: {type: t, cycle: day, alive_wait: 5}\n", 3, 40, "wrong_value",
	  "alive_wait is '5'" },
	{ W "  a: {type: t, cycle: day, late_after: 367d}\n", 3, 40, "wrong_value", "to 366 days" },
	{ W "  a: {type: t, cycle: day, retry: {attempts: 0}}\n", 3, 46, "wrong_value",
	  "attempts" },
	{ W "  a: {type: t, cycle: day, retry: 3}\n", 3, 35, "wrong_value",
	  "retry is '3', want a map" },
	{ W "  a: {type: t, cycle: day, retry: {delay: 5m, cap: 1m}}\n", 3, 52, "conflict", "cap" },
	{ W "  a: {type: t, cycle: day, catchup: {mode: some}}\n", 3, 44, "wrong_value",
	  "want all | latest | none" },
	{ W "  a: {type: t, cycle: day, group: g, machines: [m]}\n", 3, 48, "conflict",
	  "has both" },
	{ W "  a: {type: t, cycle: day, machines: [m, 1/2]}\n", 3, 42, "wrong_name",
	  "'1/2' is not a name: only letters of ASCII" },
	{ W "  a: {type: t, cycle: day, on_server_lost: keep}\n", 3, 44, "conflict",
	  "keep is not safe" },
	{ W "  a: {type: t, cycle: day, pools: {p: 0}}\n", 3, 39, "wrong_value", "1 or more" },
	{ W "  a: {type: t, cycle: day, expire_after: midnight}\n", 3, 42, "wrong_value",
	  "end of local day" },
	{ W
	  "  a: {type: t, cycle: day, join: 2}\n  b: {type: t, cycle: day, needs: [a], join: 2}\n",
	  4, 46, "wrong_value", "join is 2, and the task has 1 needs" },
	{ W "  a: {type: t, cycle: day, params: {1x: y}}\n", 3, 37, "wrong_name",
	  "'1x' is not the name of a parameter" },
	{ W "  a: {type: t, cycle: day, params: [x]}\n", 3, 36, "wrong_value", "params is a list" },
	{ W "  a: {type: t, cycle: day, params: {s: \"${nam}\"}}\n", 3, 40, "macro", "nam" },
	{ W "  a: {type: t, cycle: day, params: {s: [1, {x: \"${nam}\"}]}}\n", 3, 48, "macro",
	  "nam" },
	{ W "  a: {type: t, cycle: day, params: {s: \"${b.rows}\"}}\n", 3, 40, "macro", "b.rows" },
	/* needs */
	{ W "  a: {type: t, cycle: day, needs: b}\n", 3, 35, "wrong_value", "want a list" },
	{ W "  a: {type: t, cycle: day, needs: [b]}\n", 3, 36, "unknown_task", "'default/w/b'" },
	{ W "  a: {type: t, cycle: day, needs: [x/y/b]}\n", 3, 36, "unknown_task", "'x/y/b'" },
	{ W "  a: {type: t, cycle: day, needs: [a/b/c/d]}\n", 3, 36, "wrong_value",
	  "want task, workflow" },
	{ W "  a: {type: t, cycle: day, needs: [{depend: 1}]}\n", 3, 36, "missing_key",
	  "which `task`" },
	{ W "  a: {type: t, cycle: day, needs: [{task: a, depend: 4}]}\n", 3, 54, "wrong_value",
	  "depend is '4', want 1, 2, 3 or -n" },
	{ W "  a: {type: t, cycle: day, needs: [{task: a, depend: 0}]}\n", 3, 54, "wrong_value",
	  "depend" },
	{ W "  a: {type: t, cycle: day, needs: [{task: a, depend: -1, window: \"{latest}\"}]}\n", 3,
	  66, "conflict", "not both" },
	{ W "  a: {type: t, cycle: day, needs: [{task: a, window: \"[@day\"}]}\n", 3, 54, "window",
	  "column" },
	{ W "  a: {type: t, cycle: day, needs: [{task: a, depend: -1, strategy: first}]}\n", 3, 68,
	  "wrong_value", "strategy is 'first'" },
	{ W "  a: {type: t, cycle: day, needs: [{task: a, depend: -1, strategy: all 2}]}\n", 3, 68,
	  "wrong_value", "strategy is 'all 2'" },
	{ W "  a: {type: t, cycle: day, needs: [{task: a, depend: -1, on: failure, pass_after: "
	    "2h}]}\n",
	  3, 83, "conflict", "cannot pass" },
	{ W "  a: {type: t, cycle: 15 minute, needs: [b]}\n  b: {type: t, cycle: 10 minute}\n", 3,
	  42, "unclear_link", "periods of 15 minute and of 10 minute" },
	{ W "  a: {type: t, cycle: month, needs: [b]}\n  b: {type: t, cycle: week}\n", 3, 38,
	  "unclear_link", "do not end together" },
	{ W "  a: {type: t, cycle: day, needs: [b]}\n  b: {type: t, cycle: once}\n", 3, 36,
	  "unclear_link", "the parent has the cycle 'once'" },
	{ W "  a: {type: t, cycle: none, needs: [b]}\n  b: {type: t, cycle: day}\n", 3, 37,
	  "unclear_link", "the task has the cycle 'none'" },
	{ W "  a: {type: t, cron: \"*/7 * * * * ?\", needs: [b]}\n  b: {type: t, cycle: day}\n", 3,
	  47, "unclear_link", "the task has the cycle 'fire'" },
	/* pipelines */
	{ "pipeline: p\ncycle: day\n", 1, 1, "missing_key", "a pipeline needs `steps`" },
	{ "pipeline: p\ncycle: day\nsteps: [{type: t}]\n", 3, 9, "missing_key",
	  "a step needs a `name`" },
	{ "pipeline: p\ncycle: day\nsteps: [{name: a, type: t}, {name: a, type: t}]\n", 3, 36,
	  "duplicate_name", "called 'a' already" },
	{ "pipeline: p\ncycle: day\nsteps: [{name: failed, type: t}]\n", 3, 16, "duplicate_name",
	  "hook" },
	{ "pipeline: p\ncycle: day\nsteps: [{name: a, type: t, needs: [b]}]\n", 3, 28,
	  "unknown_key", "a step has no key 'needs'" },
	{ "pipeline: p\ncycle: day\nsteps: [{name: a, type: t, dependence: weak}]\nfailed: {type: "
	  "t}\n",
	  4, 9, "conflict", "no step is strong" },
};

static void every_mistake_is_told_with_its_place(void **state)
{
	size_t good = 0;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		again();
		workflow_set_read(set, wrong[i].text, strlen(wrong[i].text), "f.yaml", &d);
		if (!d.errors)
			workflow_compile(set, &world, &d, &tasks, &n_tasks);
		static const struct diag none = { .code = "-", .message = "nothing" };
		const struct diag *x = d.n ? &d.items[0] : &none;
		if (d.n != 1 || x->at.line != wrong[i].line || x->at.column != wrong[i].column ||
		    strcmp(x->code, wrong[i].code) != 0 || !strstr(x->message, wrong[i].message))
			print_error("%s\n-> %zu: %d:%d %s: %s\n", wrong[i].text, d.n, x->at.line,
			            x->at.column, x->code, x->message);
		else
			good++;
	}
	assert_int_equal(good, sizeof wrong / sizeof *wrong);
}

static void paths_and_hints_help(void **state)
{
	(void)state;
	const char text[] = W "  rollup: {type: t, cycle: day}\n  b:\n    type: t\n    cycle: day\n"
			      "    retry: {atempts: 2}\n    needs:\n      - rollup\n      - {task: "
			      "b, depnd: -1}\n";

	workflow_set_read(set, text, strlen(text), "f.yaml", &d);
	assert_int_equal(d.n, 2);
	assert_string_equal(d.items[0].at.path, "tasks.b.retry.atempts");
	assert_string_equal(d.items[0].hint, "did you mean 'attempts'?");
	assert_string_equal(d.items[1].at.path, "tasks.b.needs[1].depnd");
	again();
	const char typo[] = W
		"  rollup: {type: t, cycle: day}\n  b: {type: t, cycle: day, needs: [rollpu]}\n";
	workflow_set_read(set, typo, strlen(typo), "f.yaml", &d);
	workflow_compile(set, &world, &d, &tasks, &n_tasks);
	assert_string_equal(d.items[0].hint, "did you mean 'rollup'?");
	assert_string_equal(d.items[0].at.path, "tasks.b.needs[0]");
}

static void a_circle_is_named_in_order(void **state)
{
	(void)state;
	const char text[] = W
		"  a: {type: t, cycle: day, needs: [b]}\n"
		"  b: {type: t, cycle: day, needs: [{task: c, depend: -1}, d]}\n"
		"  c: {type: t, cycle: day, needs: [a]}\n"
		"  d: {type: t, cycle: day, needs: [{task: a, window: \"[@day, @day+1d)\"}]}\n";

	workflow_set_read(set, text, strlen(text), "f.yaml", &d);
	assert_int_equal(workflow_compile(set, &world, &d, &tasks, &n_tasks), E_INVALID);
	assert_int_equal(d.n, 1);
	assert_string_equal(d.items[0].code, "cycle");
	assert_string_equal(d.items[0].message, "a cycle of needs: default/w/a -> default/w/b -> "
	                                        "default/w/d -> default/w/a");
	assert_int_equal(d.items[0].at.line, 3);
	assert_int_equal(d.items[0].at.column, 35);
	again();
	compile(W "  a: {type: t, cycle: day, needs: [b, {task: a, depend: -1}]}\n"
	          "  b: {type: t, cycle: day, needs: [{task: a, depend: -1}]}\n");
	again();
	const char by_hand[] = W "  a: {type: t, cycle: none, needs: [{task: b, depend: 1}]}\n"
				 "  b: {type: t, cycle: none, needs: [{task: a, depend: 1}]}\n";
	workflow_set_read(set, by_hand, strlen(by_hand), "f.yaml", &d);
	assert_int_equal(workflow_compile(set, &world, &d, &tasks, &n_tasks), E_INVALID);
	again();
	const char self[] = W "  a: {type: t, cycle: day, needs: [a]}\n";
	workflow_set_read(set, self, strlen(self), "f.yaml", &d);
	assert_int_equal(workflow_compile(set, &world, &d, &tasks, &n_tasks), E_INVALID);
	assert_string_equal(d.items[0].message, "a cycle of needs: default/w/a -> default/w/a");
}

static void the_short_form_picks_by_the_two_cycles(void **state)
{
	static const struct {
		const char *child, *parent;
		int32_t depend;
	} pairs[] = {
		{ "cycle: day", "cycle: day", 1 },
		{ "cycle: 7 minute", "cycle: 7 minute", 1 },
		{ "cycle: hour", "cycle: 60 minute", 1 },
		{ "cycle: day", "cycle: hour", 2 },
		{ "cycle: week", "cycle: day", 2 },
		{ "cycle: month", "cycle: day", 2 },
		{ "cycle: year", "cycle: month", 2 },
		{ "cycle: year", "cycle: 3 month", 2 },
		{ "cycle: day", "cycle: 15 minute", 2 },
		{ "cycle: 30 minute", "cycle: 15 minute", 2 },
		{ "cycle: 7 minute", "cycle: minute", 2 },
		{ "cycle: hour", "cycle: day", 3 },
		{ "cycle: day", "cycle: month", 3 },
		{ "cycle: 5 minute", "cycle: 15 minute", 3 },
		{ "cron: \"0 3 * * *\"", "cycle: hour", 2 },
		{ "cron: \"0 3 * * *\"", "cycle: day", 1 },
		{ "cron: \"0 6 1 * *\"", "cycle: day", 2 },
		{ "cycle: hour", "cron: \"0 3 * * *\"", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		char text[400];
		again();
		snprintf(text, sizeof text,
		         W "  a: {type: t, %s, needs: [b]}\n  b: {type: t, %s}\n", pairs[i].child,
		         pairs[i].parent);
		compile(text);
		if (link_depend_type(&task("default/w/a")->links[0]) != pairs[i].depend)
			fail_msg("%s on %s: %d", pairs[i].child, pairs[i].parent,
			         link_depend_type(&task("default/w/a")->links[0]));
	}
}

static void compile_all_keys(void)
{
	compile("workflow: w\nproject: p\nowner: me\ntimezone: Asia/Shanghai\nstart_date: "
	        "2026-01-01\n"
	        "end_date: 2026-01-31\nstate: frozen\nquota: {running: 7}\n"
	        "parameters: {db: dw, keep: 30}\n"
	        "defaults: {type: shell, cycle: day, group: etl, priority: 3, params: {x: 1, y: "
	        "2},\n"
	        "  retry: {attempts: 3, delay: 2m, backoff: exponential, cap: 10m}}\n"
	        "tasks:\n"
	        "  a: {}\n"
	        "  b:\n    type: sql\n    cron: \"0 5 * * *\"\n    machines: [m1, m2]\n    "
	        "priority: 9\n"
	        "    retry: {attempts: 5}\n    alive_wait: 2h\n    kill_grace: 2m\n    "
	        "expire_after: end of local day\n"
	        "    late_after: 15m\n    concurrency: 2\n    dispatch: hash\n    serial: ordered\n"
	        "    on_lost: hold\n    on_server_lost: keep\n    run_as: dw\n    pools: {s: 2}\n"
	        "    catchup: {mode: none, max: 4}\n    join: any\n    state: draft\n"
	        "    params: {db: mine, y: 3, argv: [sleep, 5], environment: {A: 1, B: x}, m: {k: "
	        "[1, true]}}\n"
	        "    needs:\n      - a\n      - {task: a, depend: -2, on: done, pass_after: 90s}\n"
	        "      - {task: w/a, on: failure}\n"
	        "      - {task: p/w/a, window: \"[@day-1d, @day)\", strategy: at_least 20}\n");
}

static void a_task_takes_from_its_workflow_and_defaults(void **state)
{
	(void)state;
	compile_all_keys();
	const struct task *a = task("p/w/a");

	assert_int_equal(a->state, TS_ONLINE);
	assert_true(a->frozen);
	assert_string_equal(a->owner, "me");
	assert_string_equal(a->group, "etl");
	assert_string_equal(a->type, "shell");
	assert_int_equal(a->priority, 3);
	assert_int_equal(a->workflow_cap, 7);
	assert_int_equal(a->max_attempts, 3);
	assert_true(a->retry_exponential);
	assert_int_equal(task_retry_delay_us(a, 1), 120000000);
	assert_int_equal(task_retry_delay_us(a, 2), 240000000);
	assert_int_equal(task_retry_delay_us(a, 3), 480000000);
	assert_int_equal(task_retry_delay_us(a, 4), 600000000);
	assert_int_equal(task_retry_delay_us(a, 100), 600000000);
	assert_int_equal(a->catchup, CATCHUP_ALL);
	assert_int_equal(a->serial, SERIAL_PARALLEL);
	assert_int_equal(a->n_params, 4);
	assert_string_equal(a->params[0].name, "db");
	assert_string_equal(a->params[0].value, "dw");
	struct when w;
	int64_t first = 1767196800; /* 2025-12-31T16:00Z */
	assert_int_equal(plan_next(a->plan, first - 1), first);
	assert_true(when_parse("2026-01-31", WHEN_NO_NOW, &w));
	assert_int_equal(plan_prev(a->plan, INT64_C(4000000000)),
	                 when_instant(&w, plan_tz(a->plan), false));
}

static void a_task_carries_all_that_was_written(void **state)
{
	(void)state;
	compile_all_keys();
	const struct task *b = task("p/w/b");

	assert_int_equal(b->state, TS_DRAFT);
	assert_false(b->frozen);
	assert_int_equal(plan_unit(b->plan), CU_DAY); /* judged: the default cycle is not its own */
	assert_string_equal(b->group, "");
	assert_int_equal(b->n_machines, 2);
	assert_string_equal(b->machines[1], "m2");
	assert_int_equal(b->max_attempts, 5);
	assert_int_equal(b->retry_delay_us, 120000000);
	assert_int_equal(b->alive_wait_us, INT64_C(7200000000));
	assert_int_equal(b->grace_us, 120000000);
	assert_int_equal(b->expire_after_us, -1);
	assert_int_equal(b->late_after_us, 900000000);
	assert_int_equal(b->concurrency, 2);
	assert_int_equal(b->dispatch, DISPATCH_HASH);
	assert_int_equal(b->serial, SERIAL_ORDERED);
	assert_true(b->on_lost_hold && b->on_server_lost_keep);
	assert_string_equal(b->run_as, "dw");
	assert_int_equal(b->n_pools, 1);
	assert_int_equal(b->pools[0].slots, 2);
	assert_int_equal(b->catchup, CATCHUP_NONE);
	assert_int_equal(b->catchup_max, 4);
	assert_int_equal(b->join, 1);
}

static void a_task_may_fail_for_its_machines_as_often_as_the_setting_says(void **state)
{
	(void)state;
	compile_all_keys();
	assert_int_equal(task("p/w/a")->infra_max, INFRA_MAX_DEFAULT);
	again();
	world.infra_max = 3;
	compile_all_keys();
	assert_int_equal(task("p/w/a")->infra_max, 3);
}

static void links_and_params_carry_all_that_was_written(void **state)
{
	(void)state;
	compile_all_keys();
	const struct task *a = task("p/w/a"), *b = task("p/w/b");

	assert_int_equal(b->n_links, 4);
	assert_int_equal(b->links[0].parent, a->id);
	assert_int_equal(link_depend_type(&b->links[1]), -2);
	assert_int_equal(b->links[1].on, ON_DONE);
	assert_int_equal(b->links[1].pass_after_s, 90);
	assert_int_equal(b->links[2].on, ON_FAILURE);
	assert_int_equal(b->links[2].strategy, LS_ANY);
	assert_int_equal(b->links[3].kind, LK_WINDOW);
	assert_int_equal(b->links[3].strategy, LS_AT_LEAST);
	assert_int_equal(b->links[3].n, 20);
	static const char *const want[][2] = { { "keep", "30" },
		                               { "x", "1" },
		                               { "y", "3" },
		                               { "db", "mine" },
		                               { "argv", "[\"sleep\",\"5\"]" },
		                               { "environment", "A=1\nB=x" },
		                               { "m", "{\"k\":[1,true]}" } };
	assert_int_equal(b->n_params, 7);
	for (size_t i = 0; i < 7; i++) {
		assert_string_equal(b->params[i].name, want[i][0]);
		assert_string_equal(b->params[i].value, want[i][1]);
	}
}

static void what_a_task_says_drops_what_means_the_same(void **state)
{
	(void)state;
	compile("workflow: w\ndefaults: {type: t, cron: \"0 5 * * *\", machines: [m]}\ntasks:\n"
	        "  a: {cycle: hour, group: g}\n  b: {}\n");
	assert_int_equal(plan_unit(task("default/w/a")->plan), CU_HOUR);
	assert_null(task("default/w/a")->cron);
	assert_int_equal(task("default/w/a")->n_machines, 0);
	assert_string_equal(task("default/w/a")->group, "g");
	assert_non_null(task("default/w/b")->cron);
	assert_int_equal(task("default/w/b")->n_machines, 1);
}

static void macros_know_parameters_and_outputs_of_parents(void **state)
{
	(void)state;
	compile("workflow: w\nparameters: {db: dw, both: \"${db}.x\"}\ntasks:\n"
	        "  a: {type: t, cycle: day, outputs: [rows]}\n"
	        "  b: {type: t, cycle: day, needs: [a], params: {own: 1, s: \"${a.rows} ${db} "
	        "${own} "
	        "${biz_date} ${server.x.host} $${HOME} $[yyyyMMdd-1]\"}}\n");
}

static void a_workflow_that_says_overlap_is_judged_by_runs_of_its_default_cycle(void **state)
{
	(void)state;
	compile("workflow: w\noverlap: queue\ndefaults: {type: shell, cycle: day}\ntasks:\n"
	        "  a: {}\n  b: {cycle: hour}\n---\n"
	        "workflow: v\ntasks:\n  a: {type: shell, cycle: hour, overlap: replace}\n"
	        "  b: {type: shell, cycle: hour}\n---\n"
	        "pipeline: p\ncycle: hour\noverlap: true\nsteps: [{name: one, type: shell}]\n");
	const struct task *a = task("default/w/a"), *b = task("default/w/b");

	assert_true(a->overlap == OVERLAP_QUEUE && a->overlap_run && b->overlap_run);
	assert_int_equal(task_run(b, 86400 + 7200), 86400);
	assert_int_equal(task_run_end(b, 86400 + 7200), 2 * 86400);
	assert_int_equal(task_run(a, 86400), 86400);
	a = task("default/v/a");
	assert_true(a->overlap == OVERLAP_REPLACE && !a->overlap_run);
	assert_int_equal(task_run(a, 7200), 7200);
	assert_int_equal(task_run_end(a, 7200), 7201);
	assert_int_equal(task("default/v/b")->overlap, OVERLAP_ALLOW);
	assert_int_equal(task("default/p/one")->overlap, OVERLAP_ALLOW);
}

static void a_pipeline_is_tasks_in_a_row(void **state)
{
	(void)state;
	compile("pipeline: p\ncron: \"*/10 * * * * * *\"\nnodes: [n1, n2]\noverlap: false\nsteps:\n"
	        "  - {name: one, type: shell, params: {script: x}, timeout: 30s, interval: 5s, "
	        "retries: 2,"
	        " directory: /srv, user: dns, environment: {A: \"1\", B: 2}}\n"
	        "  - {name: two, type: shell, dependence: weak}\n"
	        "  - {name: three, type: shell}\n"
	        "finished: {type: shell}\nfailed: {type: http}\n");
	const struct task *one = task("default/p/one"), *two = task("default/p/two"),
			  *three = task("default/p/three"), *finished = task("default/p/finished"),
			  *failed = task("default/p/failed");

	assert_int_equal(n_tasks, 5);
	assert_true(one->pipeline && one->overlap == OVERLAP_SKIP && one->overlap_run);
	assert_int_equal(one->dispatch, DISPATCH_BROADCAST);
	assert_int_equal(one->n_machines, 2);
	assert_int_equal(one->max_attempts, 3);
	assert_int_equal(one->retry_delay_us, 5000000);
	assert_int_equal(one->alive_wait_us, 30000000);
	assert_string_equal(one->run_as, "dns");
	assert_int_equal(one->catchup, CATCHUP_LATEST);
	assert_int_equal(one->n_params, 3);
	assert_string_equal(one->params[1].value, "/srv");
	assert_string_equal(one->params[2].value, "A=1\nB=2");
	assert_int_equal(two->max_attempts, 1);
	assert_int_equal(one->n_links, 0);
	assert_int_equal(two->n_links, 1);
	assert_int_equal(two->links[0].on, ON_STRONG);
	/* whatever became of the weak one, but only if the strong one was good */
	assert_int_equal(three->n_links, 2);
	assert_int_equal(three->links[0].parent, two->id);
	assert_int_equal(three->links[0].on, ON_DONE);
	assert_int_equal(three->links[1].parent, one->id);
	assert_int_equal(three->links[1].on, ON_STRONG);
	assert_int_equal(finished->n_links, 1);
	assert_int_equal(finished->links[0].parent, three->id);
	assert_int_equal(failed->n_links, 2);
	assert_int_equal(failed->join, 1);
	assert_int_equal(failed->links[1].on, ON_FAILURE);
}

/* --- the world outside */

static const struct task *elsewhere;

static const struct task *find_outside(void *ctx, const char *name)
{
	(void)ctx;
	return elsewhere && strcmp(name, elsewhere->name) == 0 ? elsewhere : NULL;
}

static const struct task *find_by_id(void *ctx, uint32_t id)
{
	(void)ctx;
	return elsewhere && id == elsewhere->id ? elsewhere : NULL;
}

static void known(void *ctx, const char *name, struct workflow_start *start)
{
	(void)ctx;
	start->id = strcmp(name, "default/w/a") == 0 ? 100 : 101;
	start->anchor = 1767225600; /* 2026-01-01 */
}

static void number(void *ctx, const char *name, uint32_t *ret_id, uint32_t *ret_version)
{
	(void)ctx;
	(void)name;
	*ret_id = 9;
	*ret_version = 4;
}

static void ids_anchors_and_other_tasks_come_from_outside(void **state)
{
	(void)state;
	world.known = known;
	world.workflow = number;
	const char first[] =
		"workflow: w\nstart_date: 2026-01-10\ntasks:\n  a: {type: t, cycle: 4 day}\n";
	compile(first);
	const struct task *a = task("default/w/a");
	assert_int_equal(a->id, 100);
	assert_int_equal(a->workflow_id, 9);
	assert_int_equal(a->version, 4);
	assert_int_equal(plan_next(a->plan, 0), 1767225600 + 12 * 86400); /* 1 + 3 * 4 */

	/* a child of it in another set, and then a circle through both */
	elsewhere = task_ref(a);
	again();
	world.task = find_outside;
	world.task_by_id = find_by_id;
	compile("workflow: v\nstart_date: 2026-01-10\ntasks:\n  b: {type: t, cycle: 4 day, needs: "
	        "[w/a]}\n");
	assert_int_equal(tasks[0]->links[0].parent, 100);
	task_unref(elsewhere);
	elsewhere = task_ref(tasks[0]);
	again();
	const char back[] = "workflow: w\nstart_date: 2026-01-10\ntasks:\n"
			    "  a: {type: t, cycle: 4 day, needs: [v/b]}\n";
	workflow_set_read(set, back, strlen(back), "f.yaml", &d);
	assert_int_equal(workflow_compile(set, &world, &d, &tasks, &n_tasks), E_INVALID);
	assert_string_equal(d.items[0].message,
	                    "a cycle of needs: default/w/a -> default/v/b -> default/w/a");
	task_unref(elsewhere);
	elsewhere = NULL;
}

static void one_name_stands_once_in_a_set(void **state)
{
	(void)state;
	const char text[] = W "  a: {type: t, cycle: day}\n---\n" W "  b: {type: t, cycle: day}\n";

	assert_int_equal(workflow_set_read(set, text, strlen(text), "f.yaml", &d), E_INVALID);
	assert_string_equal(d.items[0].code, "duplicate_name");
	assert_int_equal(d.items[0].at.line, 5);
	assert_int_equal(workflow_set_count(set), 0);
	struct workflow *wf;
	assert_int_equal(workflow_parse(text, strlen(text), "f.yaml", &d, &wf), E_INVALID);
}

#define TASK "start_date: 2026-01-01\ntasks:\n  a: {type: t, cycle: day}\n"

static void a_set_finds_what_it_has_and_not_what_was_refused(void **state)
{
	const char *one = "workflow: one\n" TASK, *two = "workflow: two\n" TASK;
	const char *both = "workflow: two\n" TASK "---\nworkflow: one\n" TASK;

	(void)state;
	assert_int_equal(workflow_set_read(set, one, strlen(one), "a", &d), 0);
	assert_int_equal(workflow_set_read(set, both, strlen(both), "b", &d), E_INVALID);
	assert_int_equal(workflow_set_find(set, "default/one"), 0);
	assert_int_equal(workflow_set_find(set, "default/two"), workflow_set_count(set));
	assert_int_equal(workflow_set_read(set, two, strlen(two), "c", &d), 0);
	assert_int_equal(workflow_set_find(set, "default/two"), 1);
}

static void check_example(const char *path)
{
	struct buf text, printed;
	struct err err;

	again();
	buf_init(&text);
	assert_int_equal(fs_read(path, 1 << 20, &text, &err), 0);
	assert_int_equal(workflow_set_read(set, buf_str(&text), text.len, path, &d), 0);
	workflow_check(set, &world, 1767225600, &d);
	no_complaint(path);
	for (size_t i = 0; i < workflow_set_count(set); i++) {
		const struct workflow *wf = workflow_set_at(set, i);
		struct workflow *copy;
		for (int json = 0; json < 2; json++) {
			buf_init(&printed);
			(json ? workflow_print_json : workflow_print)(wf, &printed);
			if (workflow_parse(buf_str(&printed), printed.len, "printed", &d, &copy) <
			    0)
				no_complaint(buf_str(&printed));
			assert_true(workflow_same(wf, copy));
			workflow_free(copy);
			buf_done(&printed);
		}
	}
	buf_done(&text);
}

static void the_examples_are_good_and_print_reads_back(void **state)
{
	(void)state;
	check_example("docs/examples/shop_daily.yaml");
	check_example("docs/examples/dns_refresh.yaml");
}

static void what_is_odd_is_a_warning(void **state)
{
	(void)state;
	const char text[] = "workflow: w\nstart_date: 2026-01-01\ntasks:\n"
			    "  a: {type: t, cycle: day, offset: 5h}\n"
			    "  b: {type: t, cycle: day, needs: [a, {task: c, window: \"[@day+1h, "
			    "@day+2h)\"}]}\n"
			    "  c: {type: t, cycle: day}\n";

	workflow_set_read(set, text, strlen(text), "f.yaml", &d);
	assert_int_equal(workflow_check(set, &world, 1767225600, &d), 0);
	assert_int_equal(d.errors, 0);
	assert_int_equal(d.n, 2);
	assert_string_equal(d.items[0].code, "late_parent");
	assert_int_equal(d.items[0].at.column, 36);
	assert_string_equal(d.items[1].code, "empty_window");
	assert_string_equal(d.items[1].at.path, "tasks.b.needs[1]");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_task_says_by_an_expression_which_broker_it_likes),
		T(every_mistake_is_told_with_its_place),
		T(paths_and_hints_help),
		T(a_circle_is_named_in_order),
		T(the_short_form_picks_by_the_two_cycles),
		T(a_task_takes_from_its_workflow_and_defaults),
		T(a_task_may_fail_for_its_machines_as_often_as_the_setting_says),
		T(links_and_params_carry_all_that_was_written),
		T(a_task_carries_all_that_was_written),
		T(what_a_task_says_drops_what_means_the_same),
		T(macros_know_parameters_and_outputs_of_parents),
		T(a_workflow_that_says_overlap_is_judged_by_runs_of_its_default_cycle),
		T(a_pipeline_is_tasks_in_a_row),
		T(ids_anchors_and_other_tasks_come_from_outside),
		T(one_name_stands_once_in_a_set),
		T(a_set_finds_what_it_has_and_not_what_was_refused),
		T(the_examples_are_good_and_print_reads_back),
		T(what_is_odd_is_a_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
