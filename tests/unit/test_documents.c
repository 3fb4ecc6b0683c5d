/* sched/workflow: documents beside what exists: circles through tasks outside, dates, limits. */
#include "tests/unit/documents.h"

/* --- names that nobody knows */

static void unknown_tasks_have_the_nearest_for_a_hint(void **state)
{
	static const char set_of_four[] =
		"workflow: load\nproject: p\ntasks:\n  orders: {type: t, cycle: day}\n---\n"
		"workflow: load\nproject: q\ntasks:\n  orders: {type: t, cycle: day}\n---\n"
		"workflow: w\nproject: p\ntasks:\n  users: {type: t, cycle: day}\n"
		"  a: {type: t, cycle: day, needs: [%s]}\n";
	static const struct {
		const char *need, *hint;
	} rows[] = {
		{ "user", "did you mean 'users'?" },
		{ "order", "give the file it is in as well" }, /* of another workflow */
		{ "load/order", "did you mean 'load/orders'?" },
		{ "q/load/order", "did you mean 'q/load/orders'?" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[600];
		snprintf(text, sizeof text, set_of_four, rows[i].need);
		bad(text, 15, 36, "unknown_task", rows[i].need);
		assert_string_equal(d.items[0].hint, rows[i].hint);
	}
	/* after many errors nobody looks for the nearest any more */
	struct buf text;
	buf_init(&text);
	buf_puts(&text, "workflow: w\ntasks:\n");
	for (int i = 0; i < 60; i++)
		buf_printf(&text, "  task%d: {type: t, cycle: day, needs: [tasq%d]}\n", i, i);
	again();
	assert_int_equal(try(buf_str(&text)), E_INVALID);
	assert_int_equal(d.errors, 60);
	assert_non_null(strstr(d.items[0].hint, "did you mean"));
	assert_null(strstr(d.items[59].hint, "did you mean"));
	buf_done(&text);
}

static void a_wrong_name_is_told_where_it_stands(void **state)
{
	(void)state;
	bad("workflow: w\ndefaults: {params: {x: \"1\"}}\ntasks:\n  a: {type: t, cycle: day, "
	    "params: "
	    "{s: \"${nam}\", r: \"${mon}\"}}\n",
	    4, 40, "macro", "nam");
	assert_string_equal(d.items[0].at.path, "tasks.a.params.s");
	assert_string_equal(d.items[1].at.path, "tasks.a.params.r");
	again();
	good("pipeline: p\ncycle: day\nsteps: [{name: a, type: t, environment: {A: b}, params: {s: "
	     "\"${A}\"}}]\n");
}

static void baselines_may_name_tasks_of_other_workflows(void **state)
{
	(void)state;
	good("workflow: w\nbaselines: [{task: other/a, committed: \"08:00\"}, {task: a, committed: "
	     "\"08:00\"}]\ntasks:\n  a: {type: t, cycle: day}\n");
	bad("workflow: w\nbaselines: [{task: a}]\ntasks:\n  a: {type: t, cycle: day}\n", 2, 13,
	    "missing_key", "a baseline says `task` and `committed`");
	bad("workflow: w\nbaselines: [{committed: \"08:00\"}]\ntasks:\n  a: {type: t, cycle: "
	    "day}\n",
	    2, 13, "missing_key", "a baseline says");
}

/* --- circles beyond the set */

static void circles_run_through_tasks_outside(void **state)
{
	struct buf text;

	(void)state;
	/* a chain of 40 outside, each waits for the next, the last for two others of the set */
	buf_init(&text);
	buf_puts(&text, "workflow: far\ntasks:\n");
	for (int i = 0; i < 40; i++)
		buf_printf(&text,
		           "  a_task_with_a_long_name_%d: {type: t, cycle: day, needs: "
		           "[a_task_with_a_long_name_%d]}\n",
		           i, i + 1);
	buf_puts(&text, "  a_task_with_a_long_name_40: {type: t, cycle: day, needs: [old, "
	                "{task: old, depend: -1}, gone]}\n"
	                "  old: {type: t, cycle: day}\n  gone: {type: t, cycle: day}\n");
	exists(buf_str(&text));
	buf_done(&text);
	/* `gone` is known to nobody now, `old` belongs to the set and waits for the first */
	uint32_t gone = others[n_others - 1]->id;
	others[n_others - 1]->id = UINT32_MAX;
	assert_true(gone > 0);
	const char back[] = "workflow: w\ntasks:\n  n: {type: t, cycle: day, needs: "
			    "[far/a_task_with_a_long_name_0, far/a_task_with_a_long_name_1]}\n";
	good(back); /* without task_by_id nothing is followed */
	again();
	world.task_by_id = find_by_id;
	good(back);
}

static uint32_t closing; /* the id that the parent outside waits for */

static void closing_number(void *ctx, const char *name, struct workflow_start *start)
{
	(void)ctx;
	if (strcmp(name, "default/w/n") == 0)
		start->id = closing;
	else
		number_from_1000(ctx, name, start);
}

static void a_long_circle_is_named_in_part(void **state)
{
	struct buf text;

	(void)state;
	buf_init(&text);
	buf_puts(&text, "workflow: far\ntasks:\n");
	for (int i = 0; i < 40; i++)
		buf_printf(&text,
		           "  a_task_with_a_long_name_%d: {type: t, cycle: day, needs: "
		           "[a_task_with_a_long_name_%d]}\n",
		           i, i + 1);
	buf_puts(&text, "  a_task_with_a_long_name_40: {type: t, cycle: day}\n");
	exists(buf_str(&text));
	buf_done(&text);
	closing = others[40]->id; /* n of the set is what the last of the chain was */
	world.task_by_id = find_by_id;
	world.known = closing_number;
	bad("workflow: w\ntasks:\n  n: {type: t, cycle: day, needs: "
	    "[far/a_task_with_a_long_name_0]}\n",
	    3, 35, "cycle",
	    "a cycle of needs: default/w/n -> default/far/a_task_with_a_long_name_0 -> ");
	assert_non_null(strstr(d.items[0].message, " -> ..."));
}

/* One task between many of all kinds: each pair waits for the other's past. */
static void hub(struct buf *text, const char *last_need)
{
	static const char *const kinds[] = {
		"cron: \"0 4 * * *\", cycle: day",
		"cycle: day",
		"cron: \"0 5 * * *\", cycle: day",
		"cycle: day, start_date: 2026-01-02",
		"cycle: day, end_date: 2026-12-31",
		"cycle: day, timezone: Asia/Shanghai",
		"cycle: 2 day, start_date: 2026-01-03",
		"cycle: 3 day, start_date: 2026-01-03",
		"cycle: 3 day, start_date: 2026-01-03",
		"cycle: hour",
		"cron: \"0 3 * * *\"",
		"cycle: day, calendar: cal",
		"cycle: day",
	};
	size_t n = sizeof kinds / sizeof *kinds;

	buf_puts(text, "calendar: cal\nweekends: [saturday, sunday]\n---\nworkflow: w\ntasks:\n"
	               "  a: {type: t, cycle: day, needs: [");
	for (size_t i = 0; i < n; i++)
		buf_printf(text, "%s{task: t%zu, depend: -1}", i ? ", " : "", i);
	buf_puts(text, "]}\n");
	for (size_t i = 0; i < n; i++)
		buf_printf(text,
		           "  t%zu: {type: t, %s, needs: [{task: a, %s}, {task: t%zu, depend: -2}, "
		           "{task: t%zu, window: \"[@day-2d, @day)\"}]}\n",
		           i, kinds[i], i + 1 == n ? last_need : "depend: -1", (i + 1) % n,
		           (i + 2) % n);
}

static void leads_are_told_apart_by_what_makes_dates(void **state)
{
	struct buf text;

	(void)state;
	/* with -1 a date may wait for itself: all of these see the day that is the child's */
	buf_init(&text);
	hub(&text, "depend: -2");
	try(buf_str(&text));
	if (d.errors)
		assert_string_equal(d.items[0].code, "cycle");
	buf_done(&text);
	again();
	/* the anchors of n-day cycles tell two plans apart as well */
	world.known = number_from_1000;
	n_anchors = 8;
	for (int i = 0; i < 8; i++)
		anchors[i] = FROM - i * 86400;
	good("workflow: w\nstart_date: 2026-02-01\ntasks:\n"
	     "  a: {type: t, cycle: 3 day, needs: [{task: b, depend: -2}, {task: c, depend: -2}]}\n"
	     "  b: {type: t, cycle: 3 day, needs: [{task: a, depend: -2}]}\n"
	     "  c: {type: t, cycle: 3 day, needs: [{task: a, depend: -2}]}\n");
}

static void a_circle_of_many_kinds_of_links_is_judged(void **state)
{
	struct buf text;

	(void)state;
	buf_init(&text);
	buf_puts(&text, "workflow: w\ntasks:\n  a: {type: t, cycle: day, needs: [");
	for (int i = 0; i < 100; i++)
		buf_printf(&text, "%s{task: b, depend: -%d}", i ? ", " : "", i + 2);
	buf_puts(&text, "]}\n  b: {type: t, cycle: day, needs: [a]}\n");
	good(buf_str(&text));
	buf_done(&text);
	again();
	bad("workflow: w\ntasks:\n  a: {type: t, cycle: day, needs: [{task: b, depend: 1}]}\n"
	    "  b: {type: t, cycle: day, needs: [a]}\n",
	    3, 35, "cycle", "default/w/a -> default/w/b -> default/w/a");
}

/* --- which cycles end together */

static void cycles_that_end_together_need_no_word(void **state)
{
	static const struct {
		const char *longer, *shorter;
		bool nest;
	} rows[] = {
		{ "cycle: 36 hour", "cycle: day", false },
		{ "cycle: 48 hour", "cycle: day", true },
		{ "cycle: 2 week", "cycle: week", true },
		{ "cycle: 3 week", "cycle: 2 week", false },
		{ "cycle: year", "cycle: week", false },
		{ "cycle: 100 year", "cycle: 50 year", true },
		{ "cycle: day, timezone: Asia/Shanghai", "cycle: hour", true },
		{ "cycle: day, timezone: Asia/Kolkata", "cycle: hour", false },
		{ "cycle: month, timezone: Asia/Kolkata", "cycle: day", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[300];
		again();
		snprintf(text, sizeof text,
		         "workflow: w\nstart_date: 2024-01-01\ntasks:\n  a: {type: t, %s, needs: "
		         "[b]}\n  b: {type: t, %s}\n",
		         rows[i].longer, rows[i].shorter);
		if ((try(text) == 0) != rows[i].nest)
			fail_msg("%s on %s", rows[i].longer, rows[i].shorter);
	}
}

/* --- dates and zones */

static void dates_of_a_workflow_are_read_even_where_no_task_takes_them(void **state)
{
	(void)state;
	bad("workflow: w\nstart_date: someday\ntasks:\n"
	    "  a: {type: t, cycle: day, start_date: 2026-01-01}\n",
	    2, 13, "wrong_value", "start_date is 'someday'");
	bad("workflow: w\nend_date: someday\ntasks:\n"
	    "  a: {type: t, cycle: day, end_date: 2026-01-01}\n",
	    2, 11, "wrong_value", "end_date is 'someday'");
	bad("workflow: w\nend_date: 2026-01-10 12:00\ntasks:\n"
	    "  a: {type: t, cycle: day, end_date: 2026-01-10}\n",
	    4, 38, "conflict", "a task may only narrow it");
	again();
	good("workflow: w\nstart_date: 2026-01-01\nend_date: 2026-01-10\ntasks:\n"
	     "  a: {type: t, cycle: day, start_date: 2026-01-02, end_date: 2026-01-10 12:00}\n");
	bad("workflow: w\ntasks:\n  a: {type: t, cron: \"0 3 * * *\", start_date: 2026-02-02, "
	    "end_date: 2026-02-01}\n",
	    3, 22, "schedule", "the end is before the start");
	/* a parent whose own plan is wrong is one error, not two */
	bad("workflow: w\ntasks:\n  a: {type: t, cycle: day, needs: [b]}\n"
	    "  b: {type: t, cycle: day, start_date: never, needs: [a]}\n",
	    4, 40, "wrong_value", "start_date is 'never'");
	assert_int_equal(d.errors, 1);
}

static void without_zones_there_is_utc(void **state)
{
	(void)state;
	world.zone = NULL;
	good("workflow: w\ntasks:\n  a: {type: t, cycle: day, timezone: UTC}\n");
	bad("workflow: w\ntasks:\n  a: {type: t, cycle: day, timezone: Asia/Tokyo}\n", 3, 38,
	    "timezone", "only UTC is known here");
	/* the zone of the server stands nowhere: the task is shown */
	world.timezone = "Asia/Tokyo";
	bad("workflow: w\ntasks:\n  a: {type: t, cycle: day}\n", 3, 6, "timezone", "only UTC");
	/* what is inherited is wrong where it stands */
	world.timezone = NULL;
	bad("workflow: w\ntimezone: Asia/Tokyo\ntasks:\n  a: {type: t, cycle: day}\n", 2, 11,
	    "timezone", "only UTC");
	assert_string_equal(d.items[0].at.path, "timezone");
	bad("workflow: w\ndefaults: {timezone: Asia/Tokyo}\ntasks:\n  a: {type: t, cycle: day}\n",
	    2, 22, "timezone", "only UTC");
	assert_string_equal(d.items[0].at.path, "defaults.timezone");
	bad("pipeline: p\ncycle: day\ntimezone: Asia/Tokyo\nsteps: [{name: a, type: t}]\n", 3, 11,
	    "timezone", "only UTC");
}

/* --- single keys and limits */

static void values_of_odd_shapes_have_their_place(void **state)
{
	static const struct {
		const char *text;
		int line, column;
		const char *code, *message;
	} rows[] = {
		{ "foo: 1", 1, 1, "missing_key", "a document is a `workflow`" },
		{ "hello", 1, 1, "wrong_value", "the document is 'hello', want a map" },
		{ "pipeline: p\ncycle: day\nsteps: [5]\n", 3, 9, "wrong_value",
		  "is '5', want a map" },
		{ "pipeline: p\ncycle: day\nsteps: [{name: finished, type: t}]\n", 3, 16,
		  "duplicate_name", "or that is a hook" },
		{ "pipeline: p\ncycle: day\nsteps: [{name: a, type: t}, {name: failed, type: t}]\n",
		  3, 36, "duplicate_name", "or that is a hook" },
		{ "workflow: w\nshift: sideways\ntasks: {a: {type: t, cycle: day}}\n", 2, 8,
		  "wrong_value", "want next | previous | drop" },
		{ "workflow: w\nbaselines: [{task: a, committed: \"08-00\"}]\ntasks: {a: {type: t, "
		  "cycle: day}}\n",
		  2, 34, "wrong_value", "committed is '08-00'" },
		{ "workflow: w\nbaselines: [{task: a, committed: \"08:0x\"}]\ntasks: {a: {type: t, "
		  "cycle: day}}\n",
		  2, 34, "wrong_value", "committed is '08:0x'" },
		{ "workflow: w\nbaselines: [{task: a, committed: \"8:000\"}]\ntasks: {a: {type: t, "
		  "cycle: day}}\n",
		  2, 34, "wrong_value", "committed is '8:000'" },
		{ "workflow: w\nbaselines: [{task: a, committed: \"08:60\"}]\ntasks: {a: {type: t, "
		  "cycle: day}}\n",
		  2, 34, "wrong_value", "committed is '08:60'" },
		{ "workflow: w\nalerts: [{when: [failed], to: [\"mail:\"]}]\ntasks: {a: {type: t, "
		  "cycle: day}}\n",
		  2, 32, "wrong_value", "'mail:' is nobody to tell" },
		{ "workflow: w\nalerts: [{when: [failed], to: [\"maul:a@x\"]}]\ntasks: {a: {type: "
		  "t, cycle: day}}\n",
		  2, 32, "wrong_value", "'maul:a@x' is nobody to tell" },
		{ "workflow: w\nalerts: [{when: [failed], to: [\"mail:a@x\\nBcc: b@x\"]}]\ntasks: "
		  "{a: {type: t, cycle: day}}\n",
		  2, 32, "wrong_value", "is nobody to tell" },
		{ "workflow: w\ntasks:\n  a: {type: t, cycle: 100000 day}\n", 3, 23, "wrong_value",
		  "cycle is '100000 day'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		bad(rows[i].text, rows[i].line, rows[i].column, rows[i].code, rows[i].message);
	again();
	good("workflow: w\ncalendar_on: due\nshift: previous\nparameters: {k: 1}\ntasks:\n"
	     "  a: {type: t, cycle: week, params: {environment: {x: [1]}, argv: [[1], 2]}}\n"
	     "  b: {type: t, cycle: day, params: {k: 2}}\n---\n"
	     "pipeline: p\ncycle: day\nparameters: {directory: /a, environment: {c: d}}\n"
	     "steps: [{name: s, type: t, directory: /b, environment: {e: f}, params: {directory: "
	     "/c}}]\n");
	const struct task *a = task("default/w/a"), *b = task("default/w/b"),
			  *s = task("default/p/s");
	assert_string_equal(a->params[1].value, "{\"x\":[1]}"); /* k, environment, argv */
	assert_string_equal(a->params[2].value, "[[1],2]");
	assert_int_equal(b->n_params, 1);
	assert_string_equal(b->params[0].value, "2");
	for (size_t i = 0; i < s->n_params; i++)
		if (strcmp(s->params[i].name, "directory") == 0)
			assert_string_equal(s->params[i].value, "/b");
}

static void long_lists_have_a_limit(void **state)
{
	struct buf text;

	(void)state;
	buf_init(&text);
	buf_puts(&text, "workflow: w\ntasks:\n");
	for (int i = 0; i <= WORKFLOW_TASKS_MAX; i++)
		buf_printf(&text, "  a%d: {}\n", i);
	bad(buf_str(&text), 3, 3, "wrong_value", "a map of 1 to 20000 tasks");
	buf_clear(&text);
	buf_puts(&text, "workflow: w\ntasks:\n  a: {type: t, cycle: day, pools: {p0: 1");
	for (int i = 1; i <= 1000; i++)
		buf_printf(&text, ", p%d: 1", i);
	buf_puts(&text, "}}\n");
	bad(buf_str(&text), 3, 35, "wrong_value", "pools is a map, want");
	buf_clear(&text);
	buf_puts(&text, "workflow: w\ntasks:\n  a: {type: t, cycle: day, needs: [");
	for (int i = 0; i < 70; i++)
		buf_puts(&text, "x");
	buf_puts(&text, "]}\n");
	bad(buf_str(&text), 3, 36, "wrong_name", "it has 70 bytes, at most 64 are allowed");
	buf_clear(&text);
	for (int i = 0; i < 20; i++)
		buf_printf(&text, "%sworkflow: w%d\ntasks:\n  a: {type: t, cycle: day}\n",
		           i ? "---\n" : "", i);
	again();
	good(buf_str(&text));
	assert_int_equal(workflow_set_count(set), 20);
	buf_done(&text);
}

static void a_promise_belongs_to_the_task_it_names(void **state)
{
	static const char text[] =
		"workflow: w\nproject: p\nbaselines:\n  - {task: up, committed: \"08:00\", margin: "
		"30m}\n"
		"  - {task: w/b, committed: \"09:00\"}\n  - {task: p/w/c, committed: \"10:00\"}\n"
		"  - {task: a_project_with_a_long_name/of_another/workflow, committed: \"11:00\"}\n"
		"tasks:\n  up: {type: t, cycle: day}\n  rollup: {type: t, cycle: day}\n"
		"  b: {type: t, cycle: day}\n  c: {type: t, cycle: day, late_after: 15m}\n";

	(void)state;
	good(text);
	assert_true(task("p/w/up")->has_promise);
	assert_int_equal(task("p/w/up")->promised_s, 8 * 3600);
	assert_int_equal(task("p/w/up")->margin_us, INT64_C(1800000000));
	assert_false(task("p/w/rollup")->has_promise);
	assert_int_equal(task("p/w/b")->promised_s, 9 * 3600);
	assert_int_equal(task("p/w/b")->margin_us, 0);
	assert_int_equal(task("p/w/c")->promised_s, 10 * 3600);
	const struct workflow *wf = workflow_set_at(set, 0);
	assert_int_equal(workflow_late_after_us(wf, "p/w/c"), INT64_C(900000000));
	assert_int_equal(workflow_late_after_us(wf, "p/w/x"), 0);
}

static void alerts_are_told_to_all_who_asked(void **state)
{
	(void)state;
	good("workflow: w\nalerts:\n  - {when: [failed, late], to: [\"mail:a@x\", \"mail:b@x\"]}\n"
	     "  - {when: [killed], to: [\"mail:c@x\"]}\n  - {when: [late], to: [\"webhook:d\"]}\n"
	     "tasks:\n  a: {type: t, cycle: day}\n");
	const struct wf_alerts *all = workflow_alerts(workflow_set_at(set, 0));
	int64_t after = 0;
	assert_string_equal(wf_alert_recipient(all, "p/w/a", "late", 0, &after), "mail:a@x");
	assert_string_equal(wf_alert_recipient(all, "p/w/a", "late", 1, &after), "mail:b@x");
	assert_string_equal(wf_alert_recipient(all, "p/w/a", "late", 2, &after), "webhook:d");
	assert_null(wf_alert_recipient(all, "p/w/a", "late", 3, &after));
	assert_null(wf_alert_recipient(all, "p/w/a", "failed", 2, &after));
	assert_null(wf_alert_recipient(all, "p/w/a", "succeeded", 0, &after));
	assert_int_equal(after, 0);
}

static void an_alert_may_be_of_some_tasks_and_wait(void **state)
{
	(void)state;
	good("workflow: w\nproject: p\nalerts:\n  - {when: [failed], tasks: [b], after: 30m, to: "
	     "[\"oncall:d\"]}\n"
	     "tasks:\n  a: {type: t, cycle: day, long_after: 2h}\n  b: {type: t, cycle: day}\n");
	const struct workflow *wf = workflow_set_at(set, 0);
	const struct wf_alerts *all = workflow_alerts(wf);
	int64_t after = 0;
	assert_null(wf_alert_recipient(all, "p/w/a", "failed", 0, &after));
	assert_string_equal(wf_alert_recipient(all, "p/w/b", "failed", 0, &after), "oncall:d");
	assert_int_equal(after, INT64_C(1800000000));
	assert_int_equal(workflow_long_after_us(wf, "p/w/a"), INT64_C(7200000000));
	assert_int_equal(workflow_long_after_us(wf, "p/w/b"), 0);
	assert_int_equal(workflow_long_after_us(wf, "p/w/x"), 0);
}

static void the_alerts_of_a_project_name_workflows_or_tasks(void **state)
{
	int64_t after = 0;

	(void)state;
	good("project: p\nalerts:\n  - {when: [failed], tasks: [w/a, v], to: [\"mail:a@x\"]}\n");
	const struct wf_alerts *all = workflow_scope_alerts(workflow_set_scope(set, 0));
	assert_non_null(wf_alert_recipient(all, "p/w/a", "failed", 0, &after));
	assert_non_null(wf_alert_recipient(all, "p/v/x", "failed", 0, &after));
	assert_null(wf_alert_recipient(all, "p/w/b", "failed", 0, &after));
	assert_null(wf_alert_recipient(all, "p/w/x", "failed", 0, &after));
	assert_null(wf_alert_recipient(all, "p/vv/x", "failed", 0, &after));
	bad("workflow: w\nalerts: [{when: [failed], tasks: [c], to: [\"mail:a@x\"]}]\ntasks: {a: "
	    "{type: t, cycle: day}}\n",
	    2, 35, "unknown_task", "there is no task 'default/w/c'");
}

static void a_silence_has_its_time_its_tasks_and_its_events(void **state)
{
	(void)state;
	good("project: p\nsilences:\n"
	     "  - {from: \"2026-03-01T22:00:00Z\", until: \"2026-03-02T08:00:00+08:00\", reason: "
	     "move}\n"
	     "  - {until: \"2026-04-01T00:00:00Z\", tasks: [w/a], when: [late], reason: slow}\n");
	const struct workflow_scope *s = workflow_set_scope(set, 0);
	const int64_t begin = 1772402400, end = 1772409600;
	assert_null(workflow_scope_silence(s, "p/w/b", "failed", begin - 1));
	assert_string_equal(workflow_scope_silence(s, "p/w/b", "failed", begin), "move");
	assert_string_equal(workflow_scope_silence(s, "p/w/b", "failed", end - 1), "move");
	assert_null(workflow_scope_silence(s, "p/w/b", "failed", end));
	assert_string_equal(workflow_scope_silence(s, "p/w/a", "late", 0), "slow");
	assert_null(workflow_scope_silence(s, "p/w/a", "failed", 0));
	bad("project: p\nsilences: [{until: \"2026-03-01\", reason: x}]\n", 2, 20, "wrong_value",
	    "no instant with its offset");
	bad("project: p\nsilences: [{until: soon, reason: x}]\n", 2, 20, "wrong_value",
	    "'soon' is no instant");
	bad("project: p\nsilences: [{until: \"2026-03-01T00:00:00Z\"}]\n", 2, 12, "missing_key",
	    "a silence says `until` when, and the `reason`");
	bad("project: p\nsilences: [{from: \"2026-03-02T00:00:00Z\", until: "
	    "\"2026-03-01T00:00:00Z\", "
	    "reason: x}]\n",
	    2, 50, "wrong_value", "it ends before it begins");
	bad("project: p\nsilences: [x]\n", 2, 12, "wrong_value", "want a map");
	bad("project: p\nsilences: x\n", 2, 11, "wrong_value", "want a list");
}

static void a_word_of_an_alert_has_the_nearest_for_a_hint(void **state)
{
	(void)state;
	bad("workflow: w\nalerts: [{when: [faild], to: [\"mail:a@x\"]}]\ntasks: {a: {type: t, "
	    "cycle: day}}\n",
	    2, 18, "wrong_value", "'faild' is nothing to be told of");
	assert_string_equal(d.items[0].hint, "did you mean 'failed'?");
	bad("workflow: w\nalerts: [{when: [thunderstorm], to: [\"mail:a@x\"]}]\ntasks: {a: "
	    "{type: t, cycle: day}}\n",
	    2, 18, "wrong_value", "'thunderstorm' is nothing to be told of");
	assert_string_equal(d.items[0].hint, "");
}

static void one_document_is_parsed_by_itself(void **state)
{
	static const char text[] = "workflow: w\nowner: li.wei\ndescription: Orders\ntasks:\n"
				   "  a: {type: t, cycle: day}\n",
			  bare[] = "workflow: w\ntasks:\n  a: {type: t, cycle: day}\n";
	struct workflow *wf = NULL;

	(void)state;
	assert_int_equal(workflow_parse(text, strlen(text), "f", &d, &wf), 0);
	assert_string_equal(workflow_owner(wf), "li.wei");
	assert_string_equal(workflow_description(wf), "Orders");
	workflow_free(wf);
	assert_int_equal(workflow_parse(bare, strlen(bare), "f", &d, &wf), 0);
	assert_string_equal(workflow_owner(wf), "");
	assert_string_equal(workflow_description(wf), "");
	workflow_free(wf);
	wf = NULL;
	assert_int_equal(workflow_parse("a: [", 4, "f", &d, &wf), E_INVALID);
	assert_int_equal(workflow_parse("workflow: w\n", 12, "f", &d, &wf), E_INVALID);
	assert_null(wf);
	workflow_free(NULL);
	workflow_set_free(NULL);
}

/* --- warnings */

static void warnings_look_a_year_ahead(void **state)
{
	static const char text[] =
		"workflow: w\nstart_date: 2026-01-01\ntasks:\n"
		"  minutes: {type: t, cycle: minute, needs: [{task: far/day, window: \"[@day+1h, "
		"@day+2h)\"}]}\n"
		"  few: {type: t, cycle: day, end_date: 2026-01-02, needs: [far/day]}\n"
		"  late: {type: t, cycle: day, needs: [far/night]}\n"
		"  over: {type: t, cycle: day, end_date: 2026-01-01, needs: [far/day]}\n---\n"
		"pipeline: p\ncycle: day\nsteps: [{name: a, type: t}, {name: b, type: t}]\n";

	(void)state;
	exists("workflow: far\nstart_date: 2026-01-01\ntasks:\n  day: {type: t, cycle: day}\n"
	       "  night: {type: t, cycle: day, offset: 20h}\n");
	assert_int_equal(workflow_set_read(set, text, strlen(text), "f.yaml", &d), 0);
	assert_int_equal(workflow_check(set, &world, FROM + 86400, &d), 0);
	assert_int_equal(d.errors, 0);
	assert_int_equal(d.n, 2);
	assert_string_equal(d.items[0].code, "empty_window");
	assert_non_null(strstr(d.items[0].message, "far/day"));
	assert_string_equal(d.items[1].code, "late_parent");
	assert_string_equal(d.items[1].at.path, "tasks.late.needs[0]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(unknown_tasks_have_the_nearest_for_a_hint),
		T(a_wrong_name_is_told_where_it_stands),
		T(baselines_may_name_tasks_of_other_workflows),
		T(circles_run_through_tasks_outside),
		T(a_long_circle_is_named_in_part),
		T(leads_are_told_apart_by_what_makes_dates),
		T(a_circle_of_many_kinds_of_links_is_judged),
		T(cycles_that_end_together_need_no_word),
		T(dates_of_a_workflow_are_read_even_where_no_task_takes_them),
		T(without_zones_there_is_utc),
		T(values_of_odd_shapes_have_their_place),
		T(long_lists_have_a_limit),
		T(a_promise_belongs_to_the_task_it_names),
		T(alerts_are_told_to_all_who_asked),
		T(an_alert_may_be_of_some_tasks_and_wait),
		T(the_alerts_of_a_project_name_workflows_or_tasks),
		T(a_silence_has_its_time_its_tasks_and_its_events),
		T(a_word_of_an_alert_has_the_nearest_for_a_hint),
		T(one_document_is_parsed_by_itself),
		T(warnings_look_a_year_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
