/* A workflow played without a server, in virtual time: each test compiles a small text, plays
 * it and looks at when each instance starts and how it ends. Limits, overlaps, serial tasks,
 * skipped chains, parents outside the set, and forecasts from a given state. */
#include "sched/simulate.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "sched/workflow.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/json_put.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DAY0 INT64_C(1772323200) /* 2026-03-01 */

static struct diags d;
static struct workflow_set *set;
static struct task **tasks;
static size_t n_tasks, n_rows;
static struct simulate_row *rows;
static struct link_span spans[16];
static int64_t durations[16];

static int setup(void **state)
{
	(void)state;
	diags_init(&d);
	set = workflow_set_new();
	tasks = NULL;
	rows = NULL;
	n_tasks = n_rows = 0;
	memset(durations, 0, sizeof durations);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(rows);
	for (size_t i = 0; i < n_tasks; i++)
		task_unref(tasks[i]);
	free(tasks);
	workflow_set_free(set);
	diags_done(&d);
	return 0;
}

static struct simulate_input input(int64_t seconds)
{
	for (size_t i = 0; i < n_tasks; i++)
		spans[i] = (struct link_span){ DAY0, DAY0 + seconds };
	return (struct simulate_input){ tasks, n_tasks, spans, durations };
}

static void compile(const char *text)
{
	struct workflow_world world = { 0 };

	workflow_set_read(set, text, strlen(text), "f", &d);
	if (!d.errors)
		workflow_compile(set, &world, &d, &tasks, &n_tasks);
	if (d.n)
		fail_msg("%d:%d %s", d.items[0].at.line, d.items[0].at.column, d.items[0].message);
}

/* minutes[i]: how long task i takes */
static void run(const char *text, int64_t seconds, const int *minutes)
{
	struct err err;

	compile(text);
	for (size_t i = 0; i < n_tasks && minutes; i++)
		durations[i] = minutes[i] * INT64_C(60000000);
	struct simulate_input in = input(seconds);
	assert_int_equal(simulate_run(&in, &rows, &n_rows, &err), 0);
}

static const struct simulate_row *row(const char *task, int64_t after)
{
	for (size_t i = 0; i < n_rows; i++) {
		const char *name = strrchr(tasks[rows[i].task]->name, '/') + 1;
		if (strcmp(name, task) == 0 && rows[i].run_date == DAY0 + after)
			return &rows[i];
	}
	fail_msg("no row of %s", task);
	return NULL;
}

/* Minutes from DAY0, -1 never. */
static int started(const char *task, int64_t after)
{
	int64_t us = row(task, after)->start_us;

	return us == INT64_MAX ? -1 : (int)((us / 1000000 - DAY0) / 60);
}

static void children_start_when_parents_end(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n"
	    "  a: {type: t, cycle: hour, offset: 5m}\n"
	    "  b: {type: t, cycle: hour, needs: [a]}\n"
	    "  c: {type: t, cycle: day, needs: [b]}\n",
	    86400, (int[]){ 10, 20, 1 });
	assert_int_equal(n_rows, 49);
	assert_int_equal(started("a", 0), 5);
	assert_int_equal(started("b", 0), 15);
	assert_int_equal(started("b", 3600), 75);
	assert_int_equal(started("c", 0), 23 * 60 + 35);
	assert_int_equal(rows[0].due, DAY0);
	for (size_t i = 1; i < n_rows; i++)
		assert_true(rows[i - 1].due <= rows[i].due);
}

static void limits_are_kept_and_priority_goes_first(void **state)
{
	(void)state;
	run("workflow: w\nquota: {running: 2}\ntasks:\n"
	    "  low: {type: t, cycle: day, priority: 1}\n"
	    "  high: {type: t, cycle: day, priority: 9}\n"
	    "  mid: {type: t, cycle: day, priority: 5}\n"
	    "  one: {type: t, cycle: hour, concurrency: 1, priority: 10}\n",
	    7200, (int[]){ 10, 10, 10, 90 });
	assert_int_equal(started("one", 0), 0);
	assert_int_equal(started("high", 0), 0);
	assert_int_equal(started("mid", 0), 10);
	assert_int_equal(started("low", 0), 20);
	assert_int_equal(started("one", 3600), 90);
}

static void serial_ordered_goes_by_date(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n"
	    "  p: {type: t, cycle: hour, offset: 0s}\n"
	    "  a: {type: t, cycle: 15 minute, serial: ordered}\n"
	    "  b: {type: t, cycle: 15 minute, serial: unordered, needs: [{task: p, depend: 3}]}\n"
	    "  c: {type: t, cycle: 15 minute}\n",
	    3600, (int[]){ 25, 20, 10, 20 });
	assert_int_equal(started("a", 0), 0);
	assert_int_equal(started("a", 900), 20);
	assert_int_equal(started("a", 1800), 40);
	assert_int_equal(started("a", 2700), 60);
	assert_int_equal(started("b", 0), 25);
	assert_int_equal(started("b", 900), 35);
	assert_int_equal(started("c", 900), 15);
}

static void failure_links_end_as_skipped(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n"
	    "  a: {type: t, cycle: day}\n"
	    "  alarm: {type: t, cycle: day, needs: [{task: a, on: failure}]}\n"
	    "  after: {type: t, cycle: day, needs: [alarm]}\n"
	    "  weak: {type: t, cycle: day, needs: [{task: alarm, on: done}]}\n"
	    "  either: {type: t, cycle: day, join: any, needs: [alarm, a]}\n"
	    "  both: {type: t, cycle: day, join: 2, needs: [alarm, a, weak]}\n",
	    86400, (int[]){ 5, 1, 1, 1, 1, 1 });
	assert_true(row("alarm", 0)->is_skipped);
	assert_int_equal(row("alarm", 0)->reason, SIM_LINK);
	assert_true(row("after", 0)->is_skipped);
	assert_int_equal(started("weak", 0), 5);
	assert_int_equal(started("either", 0), 5);
	assert_int_equal(started("both", 0), 6);
	assert_int_equal(started("alarm", 0), -1);
}

static void strategies_and_pass_after_open_links(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n"
	    "  h: {type: t, cycle: hour}\n"
	    "  any: {type: t, cycle: day, needs: [{task: h, depend: 2, strategy: any}]}\n"
	    "  first: {type: t, cycle: day, needs: [{task: h, depend: 2, strategy: first 2}]}\n"
	    "  last: {type: t, cycle: day, needs: [{task: h, depend: 2, strategy: last 2}]}\n"
	    "  some: {type: t, cycle: day, needs: [{task: h, depend: 2, strategy: at_least 3}]}\n"
	    "  all: {type: t, cycle: day, needs: [h]}\n"
	    "  passed: {type: t, cycle: day, needs: [{task: h, pass_after: 3h}]}\n",
	    86400, (int[]){ 10, 1, 1, 1, 1, 1, 1 });
	assert_int_equal(started("any", 0), 10);
	assert_int_equal(started("first", 0), 70);
	assert_int_equal(started("last", 0), 23 * 60 + 10);
	assert_int_equal(started("some", 0), 130);
	assert_int_equal(started("all", 0), 23 * 60 + 10);
	assert_int_equal(started("passed", 0), 180);
}

static void drafts_and_frozen_tasks(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n"
	    "  draft: {type: t, cycle: day, state: draft}\n"
	    "  ice: {type: t, cycle: day, state: frozen}\n"
	    "  free: {type: t, cycle: day, needs: [draft]}\n"
	    "  stuck: {type: t, cycle: day, needs: [ice]}\n",
	    86400, NULL);
	assert_int_equal(n_rows, 3);
	assert_int_equal(started("free", 0), 0);
	assert_int_equal(started("ice", 0), -1);
	assert_int_equal(row("ice", 0)->reason, SIM_FROZEN);
	assert_false(row("ice", 0)->is_skipped);
	assert_int_equal(started("stuck", 0), -1);
}

static void dates_before_the_span_are_done(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n  a: {type: t, cycle: day, needs: [{task: a, depend: -1}]}\n",
	    3 * 86400, (int[]){ 36 * 60 });
	assert_int_equal(started("a", 0), 0);
	assert_int_equal(started("a", 86400), 36 * 60);
	assert_int_equal(started("a", 2 * 86400), 72 * 60);
}

static void overlapping_pipelines_are_skipped_whole(void **state)
{
	(void)state;
	run("pipeline: p\ncron: \"*/10 * * * *\"\noverlap: false\nsteps:\n"
	    "  - {name: a, type: t}\n  - {name: b, type: t}\nfinished: {type: t}\n---\n"
	    "workflow: w\ntasks:\n"
	    "  c: {type: t, cycle: 10 minute, needs: [{task: p/b, window: \"[t, t]\"}]}\n",
	    1800, (int[]){ 5, 10, 0, 1 });
	assert_int_equal(started("b", 0), 5);
	assert_true(row("a", 600)->is_skipped && row("b", 600)->is_skipped);
	assert_int_equal(row("finished", 600)->reason, SIM_OVERLAP);
	assert_int_equal(started("c", 600), 10); /* a skip of that kind meets links */
	assert_int_equal(started("a", 1200), 20);
}

static void dates_wait_for_their_turn_or_replace_the_earlier_one(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n  a: {type: t, cycle: 10 minute, overlap: queue}\n"
	    "  b: {type: t, cycle: 10 minute, overlap: replace}\n"
	    "  c: {type: t, cycle: 10 minute, overlap: skip}\n",
	    1800, (int[]){ 15, 15, 15 });
	assert_int_equal(started("a", 600), 15);
	assert_int_equal(started("a", 1200), 30);
	assert_int_equal(started("b", 600), 10);
	assert_int_equal(row("b", 0)->reason, SIM_REPLACED);
	assert_true(row("b", 0)->is_bad && row("b", 0)->end_us == row("b", 600)->start_us);
	assert_true(row("c", 600)->is_skipped && row("c", 600)->reason == SIM_OVERLAP);
	assert_int_equal(started("c", 1200), 20);
}

static void a_long_chain_of_skips_needs_no_deep_stack(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n"
	    "  slow: {type: t, cycle: day, offset: 23h}\n"
	    "  x: {type: t, cycle: minute, needs: [{task: slow, depend: 3, on: failure}, {task: x, "
	    "depend: -1}],"
	    " join: all}\n",
	    86400, NULL);
	assert_int_equal(n_rows, 1441);
	for (int i = 0; i < 1440; i++)
		assert_true(row("x", i * 60)->is_skipped);
}

/* A simulation of some of the tasks: of the others every date is done. */
static void parents_outside_the_span_or_the_set_are_done(void **state)
{
	struct err err;

	(void)state;
	compile("workflow: w\ntasks:\n  a: {type: t, cycle: day, offset: 3h}\n"
	        "  b: {type: t, cycle: day, needs: [a]}\n"
	        "  c: {type: t, cycle: day, needs: [{task: a, depend: 1, on: failure}]}\n");
	struct simulate_input in = input(86400);
	spans[0] = (struct link_span){ DAY0 - 86400, DAY0 };
	assert_int_equal(simulate_run(&in, &rows, &n_rows, &err), 0);
	assert_int_equal(started("b", 0), 0);
	assert_int_equal(row("c", 0)->reason, SIM_LINK); /* who is done did not fail */
	free(rows);
	rows = NULL;
	in = (struct simulate_input){ tasks + 1, 2, spans + 1, durations };
	assert_int_equal(simulate_run(&in, &rows, &n_rows, &err), 0);
	assert_int_equal(n_rows, 2);
	for (size_t i = 0; i < n_rows; i++)
		assert_int_equal(rows[i].start_us, DAY0 * 1000000);
}

static void two_workflows_have_two_quotas(void **state)
{
	(void)state;
	run("workflow: v\nquota: {running: 1}\ntasks:\n  a: {type: t, cycle: day}\n"
	    "  b: {type: t, cycle: day, offset: 5m}\n  c: {type: t, cycle: day, offset: 1m}\n---\n"
	    "workflow: w\nquota: {running: 1}\ntasks:\n  d: {type: t, cycle: day}\n"
	    "  e: {type: t, cycle: day}\n---\nworkflow: x\ntasks:\n  f: {type: t, cycle: day}\n"
	    "---\nworkflow: y\nquota: {running: 1}\ntasks:\n  g: {type: t, cycle: day}\n",
	    86400, (int[]){ 30, 30, 30, 30, 30, 30, 30 });
	assert_int_equal(started("a", 0), 0);
	assert_int_equal(started("c", 0), 30); /* due before b */
	assert_int_equal(started("b", 0), 60);
	assert_int_equal(started("d", 0), 0);
	assert_int_equal(started("e", 0), 30);
	assert_int_equal(started("f", 0), 0);
	assert_int_equal(started("g", 0), 0);
}

static void a_later_date_that_is_ready_waits_for_its_turn(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n  a: {type: t, cycle: day, offset: 30m}\n"
	    "  o: {type: t, cycle: hour, serial: ordered, needs: [{task: a, window: \"[@hour, "
	    "@hour+1h)\"}]}\n",
	    3 * 3600, (int[]){ 150, 10 });
	assert_int_equal(started("o", 0), 180); /* its parent ends at 03:00 */
	assert_int_equal(started("o", 3600), 190);
	assert_int_equal(started("o", 7200), 200);
}

static void of_those_that_wait_the_earliest_due_goes_first(void **state)
{
	(void)state;
	/* hours 0 to 5 become ready late and in another order: hour 0 last */
	run("workflow: w\ntasks:\n  p: {type: t, cycle: hour}\n"
	    "  late: {type: t, cron: \"0 0 * * *\"}\n"
	    "  o: {type: t, cycle: hour, concurrency: 1, needs: [{task: late, window: \"[t, "
	    "t]\"}]}\n"
	    "  q: {type: t, cycle: hour, serial: unordered, needs: [{task: late, window: \"[t, "
	    "t]\"}]}\n",
	    6 * 3600, (int[]){ 1, 150, 100, 100 });
	assert_int_equal(started("o", 3600), 60);
	assert_int_equal(started("o", 0), 160); /* ready at 02:30, due before 02:00 */
	assert_int_equal(started("o", 2 * 3600), 260);
	assert_int_equal(started("o", 3 * 3600), 360);
	assert_int_equal(started("q", 0), 160);
}

static void two_dates_of_a_task_may_be_due_together(void **state)
{
	(void)state;
	/* a calendar without the first two Mondays moves both to the third */
	run("calendar: c\nweekends: [saturday, sunday]\nholidays: [2026-03-01..2026-03-15]\n---\n"
	    "workflow: w\ncalendar: c\nshift: next\ntasks:\n  a: {type: t, cycle: week}\n"
	    "  b: {type: t, cycle: week}\n",
	    21 * 86400, (int[]){ 10, 10 });
	assert_int_equal(n_rows, 6);
	for (size_t i = 1; i < n_rows; i++) {
		const struct simulate_row *x = &rows[i - 1], *y = &rows[i];
		assert_true(
			x->due < y->due ||
			(x->due == y->due &&
		         (x->task < y->task || (x->task == y->task && x->run_date < y->run_date))));
	}
	assert_int_equal(rows[0].due, rows[5].due);
}

static void a_hook_that_is_not_wanted_lets_the_next_occurrence_go(void **state)
{
	(void)state;
	run("pipeline: p\ncron: \"*/10 * * * *\"\noverlap: false\nsteps:\n  - {name: a, type: t}\n"
	    "failed: {type: t}\n---\npipeline: q\ncron: \"*/10 * * * *\"\noverlap: false\nsteps:\n"
	    "  - {name: b, type: t}\n",
	    1800, (int[]){ 5, 0, 15 });
	for (int i = 0; i < 3; i++) {
		assert_int_equal(started("a", i * 600), i * 10);
		assert_int_equal(row("failed", i * 600)->reason, SIM_LINK);
	}
	assert_true(row("b", 600)->is_skipped); /* q is late, p is not */
	assert_int_equal(started("b", 1200), 20);
}

static void too_much_is_refused(void **state)
{
	struct simulate_row *none;
	struct err err;
	size_t n;

	(void)state;
	compile("workflow: w\ntasks:\n  a: {type: t, cycle: minute}\n");
	struct simulate_input in = input(INT64_C(61000000) * 60);
	assert_int_equal(simulate_run(&in, &none, &n, &err), E_LIMIT);
	assert_non_null(strstr(err.text, "shorter span"));
}

static void count_edge(void *ctx, const struct simulate_edge *e)
{
	(void)e;
	++*(size_t *)ctx;
}

static void too_many_edges_are_refused(void **state)
{
	struct simulate_row *none;
	struct err err;
	size_t n, seen = 0;

	(void)state;
	compile("workflow: w\ntasks:\n  a: {type: t, cycle: minute}\n"
	        "  b: {type: t, cycle: minute, needs: [{task: a, window: \"(t-24h, t]\"}, "
	        "{task: a, depend: 1}]}\n  c: {type: t, cycle: minute, needs: [a]}\n");
	struct simulate_input in = input(5 * 86400);
	assert_int_equal(simulate_run(&in, &none, &n, &err), E_LIMIT);
	assert_non_null(strstr(err.text, "edges"));
	assert_int_equal(simulate_edges(&in, NULL, count_edge, &seen, &err), E_LIMIT);
	assert_true(seen > 0 && seen < 8000);
	/* and so are too many instances that have them */
	in = input(INT64_C(61000000));
	in.tasks += 2;
	in.spans += 2;
	in.n = 1;
	seen = 0;
	assert_int_equal(simulate_edges(&in, NULL, count_edge, &seen, &err), E_LIMIT);
	assert_int_equal(seen, SIMULATE_ROWS_MAX);
}

static const struct task *first_task(void *ctx, uint32_t id)
{
	(void)ctx;
	return id == tasks[0]->id ? tasks[0] : NULL;
}

struct note_seen {
	char note[2][80];
	size_t n;
};

static void keep_note(void *ctx, const struct simulate_edge *e)
{
	struct note_seen *s = ctx;

	if (s->n < 2)
		snprintf(s->note[s->n], sizeof s->note[0], "%s %zu %s", e->parent, e->n_dates,
		         e->note);
	s->n++;
}

static void edges_tell_of_parents_that_are_drafts_unknown_or_elsewhere(void **state)
{
	struct note_seen s = { .n = 0 };
	struct err err;

	(void)state;
	compile("workflow: w\ntasks:\n  a: {type: t, cycle: day}\n"
	        "  d: {type: t, cycle: day, state: draft, needs: [a]}\n"
	        "  b: {type: t, cycle: day, needs: [a, d]}\n  c: {type: t, cycle: day}\n");
	struct simulate_input in = input(86400);
	in = (struct simulate_input){ tasks + 1, 3, spans + 1, NULL };
	assert_int_equal(simulate_edges(&in, NULL, keep_note, &s, &err), 0);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.note[0], " 0 unknown parent");
	assert_string_equal(s.note[1], "default/w/d 0 link not in force: the parent is a draft");
	s.n = 0;
	assert_int_equal(simulate_edges(&in, first_task, keep_note, &s, &err), 0);
	assert_string_equal(s.note[0], "default/w/a 1 ");
	/* a span that begins between two dates begins with the next */
	s.n = 0;
	for (int i = 0; i < 4; i++)
		spans[i].lo += 3600;
	assert_int_equal(simulate_edges(&in, first_task, keep_note, &s, &err), 0);
	assert_int_equal(s.n, 0);
}

struct json_edges {
	const struct simulate_input *in;
	struct buf *out;
};

static void put_edge(void *ctx, const struct simulate_edge *e)
{
	struct json_edges *x = ctx;

	simulate_edge_json(x->in, e, x->out);
}

static void json_has_the_documented_shape(void **state)
{
	struct buf out;
	struct json_edges x;
	struct err err;

	(void)state;
	run("workflow: w\nstart_date: 2026-03-01\ntasks:\n"
	    "  a: {type: t, cycle: day}\n"
	    "  b: {type: t, cycle: day, offset: 1h, needs: [a, {task: a, depend: -1}]}\n",
	    86400, (int[]){ 90, 1 });
	struct simulate_input in = input(86400);
	buf_init(&out);
	simulate_json(&in, rows, n_rows, &out);
	assert_string_equal(
		buf_str(&out),
		"[{\"task\":\"default/w/"
		"a\",\"run_date\":\"2026-03-01T00:00:00Z\",\"label\":\"2026-03-01\",\"due\":\"2026-"
		"03-01T00:00:00Z\","
		"\"state\":\"planned\",\"reason\":\"\",\"start\":\"2026-03-01T00:00:00Z\",\"end\":"
		"\"2026-03-01T01:30:00Z\"},"
		"{\"task\":\"default/w/"
		"b\",\"run_date\":\"2026-03-01T00:00:00Z\",\"label\":\"2026-03-01\",\"due\":\"2026-"
		"03-01T01:00:00Z\","
		"\"state\":\"planned\",\"reason\":\"\",\"start\":\"2026-03-01T01:30:00Z\",\"end\":"
		"\"2026-03-01T01:31:00Z\"}]");
	buf_clear(&out);
	put_open(&out, NULL, '[');
	x = (struct json_edges){ &in, &out };
	assert_int_equal(simulate_edges(&in, NULL, put_edge, &x, &err), 0);
	put_close(&out, ']');
	assert_string_equal(buf_str(&out), "[{\"child\":\"default/w/"
	                                   "b\",\"run_date\":\"2026-03-01T00:00:00Z\",\"label\":"
	                                   "\"2026-03-01\",\"link\":0,\"parents\":"
	                                   "[{\"parent\":\"default/w/"
	                                   "a\",\"run_date\":\"2026-03-01T00:00:00Z\",\"label\":"
	                                   "\"2026-03-01\"}],\"note\":\"\"},"
	                                   "{\"child\":\"default/w/"
	                                   "b\",\"run_date\":\"2026-03-01T00:00:00Z\",\"label\":"
	                                   "\"2026-03-01\",\"link\":1,\"parents\":[],"
	                                   "\"note\":\"before its begin\"}]");
	buf_done(&out);
}

static void instants_are_read_in_a_zone_or_with_an_offset(void **state)
{
	static const struct {
		const char *text;
		bool good;
		int64_t t;
	} cases[] = {
		{ "2026-03-01", true, DAY0 },
		{ "2026-03-01 02:30", true, DAY0 + 9000 },
		{ "2026-03-01T02:30:05", true, DAY0 + 9005 },
		{ "2026-03-01T02:30:05Z", true, DAY0 + 9005 },
		{ "2026-03-01T08:00+08:00", true, DAY0 },
		{ "2026-02-28 18:30:00-0530", true, DAY0 },
		{ "2026-02-29", false, 0 },
		{ "2024-02-29", true, 1709164800 },
		{ "2026-3-1", false, 0 },
		{ "2026-03-01 24:00", false, 0 },
		{ "2026-03-01 ", false, 0 },
		{ "2026-03-01Z", false, 0 },
		{ "2026-03-01 02:30x", false, 0 },
		{ "", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct when got = { .kind = WHEN_INSTANT };
		if (when_parse(cases[i].text, WHEN_NO_NOW, &got) != cases[i].good ||
		    when_instant(&got, tz_utc(), false) != cases[i].t)
			fail_msg("'%s'", cases[i].text);
	}
	char text[WHEN_TEXT];
	assert_string_equal(when_print(DAY0 + 1, text), "2026-03-01T00:00:01Z");
	assert_string_equal(when_print(INT64_MAX, text), "never");
	assert_string_equal(when_print(-1, text), "1969-12-31T23:59:59Z");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Half past: a ran since ten past, b failed for good, c is held by a person. */
static void half_past(void *ctx, uint32_t task, int64_t run_date, struct simulate_state *ret)
{
	const char *name = strrchr(tasks[task]->name, '/') + 1;
	int64_t now = (DAY0 + 1800) * 1000000;

	(void)ctx;
	(void)run_date;
	if (strcmp(name, "a") == 0)
		*ret = (struct simulate_state){ SIM_RUNNING, now - 1200000000, now + 300000000 };
	else if (strcmp(name, "b") == 0)
		*ret = (struct simulate_state){ .is = SIM_OVER_BAD };
	else if (strcmp(name, "c") == 0)
		*ret = (struct simulate_state){ .is = SIM_HELD };
	else if (strcmp(name, "d") == 0)
		*ret = (struct simulate_state){ .is = SIM_AGAIN, .at_us = now + 60000000 };
}

static const char *cause(const char *task)
{
	const struct simulate_row *r = row(task, 0);

	return r->cause == SIMULATE_NOBODY ? "" : strrchr(tasks[r->cause]->name, '/') + 1;
}

static void a_forecast_begins_with_how_things_are_and_knows_who_is_to_blame(void **state)
{
	struct err err;

	(void)state;
	compile("workflow: w\ntasks:\n"
	        "  a: {type: t, cycle: day}\n"
	        "  b: {type: t, cycle: day}\n"
	        "  c: {type: t, cycle: day}\n"
	        "  d: {type: t, cycle: day, needs: [b]}\n"
	        "  after_a: {type: t, cycle: day, needs: [a]}\n"
	        "  after_b: {type: t, cycle: day, needs: [b]}\n"
	        "  done_b: {type: t, cycle: day, needs: [{task: b, on: done}]}\n"
	        "  if_b: {type: t, cycle: day, needs: [{task: b, on: failure}]}\n"
	        "  after_c: {type: t, cycle: day, needs: [c, a]}\n");
	struct simulate_input in = input(86400);
	in.state = half_past;
	in.now_us = (DAY0 + 1800) * 1000000;
	assert_int_equal(simulate_run(&in, &rows, &n_rows, &err), 0);
	assert_int_equal(started("a", 0), 10);
	assert_int_equal(row("a", 0)->end_us, in.now_us + 300000000);
	assert_int_equal(started("after_a", 0), 35);
	assert_string_equal(cause("after_a"), "a");
	assert_true(row("b", 0)->was_over && row("b", 0)->is_bad);
	assert_true(row("after_b", 0)->is_skipped);
	assert_string_equal(cause("after_b"), "b");
	assert_int_equal(started("done_b", 0), 30);
	assert_int_equal(started("if_b", 0), 30);
	assert_int_equal(started("d", 0), 31); /* its links held already */
	assert_int_equal(started("c", 0), -1);
	assert_int_equal(started("after_c", 0), -1);
	assert_string_equal(cause("after_c"), "c");
}

/* What is over already, in each way; and a pipeline that lets nothing overlap. */
static void all_over(void *ctx, uint32_t task, int64_t run_date, struct simulate_state *ret)
{
	const char *name = strrchr(tasks[task]->name, '/') + 1;

	(void)ctx;
	ret->at_us = (run_date + 60) * 1000000;
	if (strcmp(name, "good") == 0 || strcmp(name, "step") == 0)
		ret->is = SIM_OVER;
	else if (strcmp(name, "bad") == 0)
		ret->is = SIM_OVER_BAD;
	else if (strcmp(name, "dead") == 0 || strcmp(name, "lost") == 0)
		ret->is = SIM_OVER_DEAD;
}

static void what_is_over_meets_links_as_it_ended(void **state)
{
	struct err err;

	(void)state;
	compile("workflow: w\ntasks:\n"
	        "  good: {type: t, cycle: day}\n  bad: {type: t, cycle: day}\n"
	        "  dead: {type: t, cycle: day}\n  lost: {type: t, cycle: day, needs: [dead]}\n"
	        "  a: {type: t, cycle: day, needs: [good]}\n"
	        "  b: {type: t, cycle: day, needs: [{task: dead, on: done}]}\n"
	        "  c: {type: t, cycle: day, needs: [{task: dead, on: failure}]}\n"
	        "  d: {type: t, cycle: day, needs: [dead, bad, good]}\n"
	        "  e: {type: t, cycle: day, needs: [{task: good, on: failure}]}\n"
	        "  f: {type: t, cycle: day, needs: [{task: good, on: failure}, e]}\n---\n"
	        "pipeline: p\ncycle: hour\noverlap: false\nsteps:\n  - {name: step, type: t}\n"
	        "  - {name: next, type: t}\n---\npipeline: q\ncycle: day\nsteps:\n"
	        "  - {name: bad, type: t}\n  - {name: after, type: t}\nfailed: {type: t}\n");
	struct simulate_input in = input(7200);
	in.state = all_over;
	in.now_us = (DAY0 + 1800) * 1000000;
	assert_int_equal(simulate_run(&in, &rows, &n_rows, &err), 0);
	assert_int_equal(started("a", 0), 30);
	assert_int_equal(started("b", 0), 30); /* a skip is an end too */
	assert_true(row("c", 0)->is_skipped);
	assert_true(row("d", 0)->is_skipped);
	assert_string_equal(cause("d"), "dead");
	assert_true(row("e", 0)->is_skipped);
	assert_string_equal(cause("e"), ""); /* who ended well is to blame for nothing */
	assert_true(row("f", 0)->is_skipped);
	assert_string_equal(cause("f"), "e");
	assert_true(row("lost", 0)->was_over);
	assert_int_equal(started("next", 0), 30);
	assert_int_equal(started("next", 3600), 60);
	assert_true(row("after", 0)->is_skipped); /* a strong step ended badly */
	assert_int_equal(started("failed", 0), 30);
}

static void a_turn_that_is_waited_for_may_pass_by_a_skip(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n  slow: {type: t, cycle: day}\n"
	    "  if_slow: {type: t, cycle: day, needs: [{task: slow, on: failure}]}\n"
	    "  o: {type: t, cycle: hour, serial: ordered, needs: [{task: if_slow, window: \"[t, "
	    "t]\"}]}\n",
	    2 * 3600, (int[]){ 180, 0, 10 });
	assert_true(row("o", 0)->is_skipped);
	assert_int_equal(started("o", 3600), 180);
	assert_ptr_equal(&rows[row("o", 3600)->cause], row("o", 0));
}

/* The contract speaks of the previous date alone: that it was skipped is enough. */
static void a_turn_looks_at_the_date_before_alone(void **state)
{
	(void)state;
	run("workflow: w\ntasks:\n  slow: {type: t, cycle: day}\n  odd: {type: t, cycle: 2 hour, "
	    "offset: 1m}\n"
	    "  o: {type: t, cycle: hour, serial: ordered, needs: [{task: slow, window: \"[t, "
	    "t]\"}, "
	    "{task: odd, window: \"[t-1h, t-1h]\", on: failure}]}\n",
	    3 * 3600, (int[]){ 9000, 0, 10 });
	assert_int_equal(started("o", 0), 9000);
	assert_true(row("o", 3600)->is_skipped);
	assert_int_equal(started("o", 7200), 120); /* minutes */
}

/* The first date ended badly: the next has no turn, and those after it neither. */
static void first_is_bad(void *ctx, uint32_t task, int64_t run_date, struct simulate_state *ret)
{
	(void)ctx;
	(void)task;
	if (run_date == DAY0)
		*ret = (struct simulate_state){ .is = SIM_OVER_BAD, .at_us = DAY0 * 1000000 };
}

static void a_turn_is_not_come_after_a_date_that_ended_badly(void **state)
{
	struct err err;

	(void)state;
	compile("workflow: w\ntasks:\n  o: {type: t, cycle: hour, serial: ordered}\n");
	struct simulate_input in = input(3 * 3600);
	in.state = first_is_bad;
	in.now_us = (DAY0 + 1800) * 1000000;
	assert_int_equal(simulate_run(&in, &rows, &n_rows, &err), 0);
	assert_int_equal(started("o", 3600), -1);
	assert_int_equal(started("o", 7200), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_turn_looks_at_the_date_before_alone),
		T(a_turn_is_not_come_after_a_date_that_ended_badly),
		T(children_start_when_parents_end),
		T(limits_are_kept_and_priority_goes_first),
		T(serial_ordered_goes_by_date),
		T(failure_links_end_as_skipped),
		T(strategies_and_pass_after_open_links),
		T(drafts_and_frozen_tasks),
		T(dates_before_the_span_are_done),
		T(overlapping_pipelines_are_skipped_whole),
		T(dates_wait_for_their_turn_or_replace_the_earlier_one),
		T(a_long_chain_of_skips_needs_no_deep_stack),
		T(what_is_over_meets_links_as_it_ended),
		T(a_turn_that_is_waited_for_may_pass_by_a_skip),
		T(a_forecast_begins_with_how_things_are_and_knows_who_is_to_blame),
		T(parents_outside_the_span_or_the_set_are_done),
		T(two_workflows_have_two_quotas),
		T(a_later_date_that_is_ready_waits_for_its_turn),
		T(of_those_that_wait_the_earliest_due_goes_first),
		T(two_dates_of_a_task_may_be_due_together),
		T(a_hook_that_is_not_wanted_lets_the_next_occurrence_go),
		T(too_much_is_refused),
		T(too_many_edges_are_refused),
		T(edges_tell_of_parents_that_are_drafts_unknown_or_elsewhere),
		T(json_has_the_documented_shape),
		T(instants_are_read_in_a_zone_or_with_an_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
