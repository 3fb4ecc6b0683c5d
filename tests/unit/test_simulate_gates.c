/* What a simulation shares out where it is told what there is: pools, seats, what is shut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/simulate.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/diag.h"
#include "util/err.h"

#define DAY0   INT64_C(1772323200) /* 2026-03-01 */
#define MINUTE INT64_C(60000000)

#define TEXT(b) \
	"workflow: w\ntasks:\n" \
	"  a: {type: t, cycle: day, priority: 1}\n" \
	"  b: {type: t, cycle: day, priority: 9" b "}\n" \
	"  c: {type: t, cycle: day, priority: 5}\n" \
	"  after_a: {type: t, cycle: day, needs: [a]}\n"
static const char *text = TEXT("");
enum { TASKS = 4 };

/* A day of them, ten minutes each. Minutes after midnight when each starts; -1: never. */
static int starts[TASKS];
static uint32_t waited_for[TASKS]; /* SIMULATE_NOBODY: for none */

static void play(const struct simulate_gates *gates)
{
	struct workflow_set *set = workflow_set_new();
	struct link_span spans[TASKS];
	int64_t durations[TASKS];
	struct workflow_world world = { 0 };
	struct simulate_row *rows = NULL;
	struct task **tasks = NULL;
	struct diags d;
	struct err err;
	size_t n = 0, n_rows = 0;

	diags_init(&d);
	workflow_set_read(set, text, strlen(text), "f", &d);
	workflow_compile(set, &world, &d, &tasks, &n);
	assert_int_equal(d.n, 0);
	assert_int_equal(n, TASKS);
	for (size_t i = 0; i < n; i++) {
		spans[i] = (struct link_span){ DAY0, DAY0 + 86400 };
		durations[i] = 10 * MINUTE;
	}
	struct simulate_input in = {
		.tasks = tasks, .n = n, .spans = spans, .durations_us = durations, .gates = gates
	};
	assert_int_equal(simulate_run(&in, &rows, &n_rows, &err), 0);
	assert_int_equal(n_rows, TASKS);
	for (size_t i = 0; i < n_rows; i++) {
		int64_t us = rows[i].start_us;
		starts[rows[i].task] = us == INT64_MAX ? -1 : (int)(us / MINUTE - DAY0 / 60);
		waited_for[rows[i].task] = rows[i].cause;
	}
	free(rows);
	for (size_t i = 0; i < n; i++)
		task_unref(tasks[i]);
	free(tasks);
	workflow_set_free(set);
	diags_done(&d);
}

static void starts_are(int a, int b, int c)
{
	assert_int_equal(starts[0], a);
	assert_int_equal(starts[1], b);
	assert_int_equal(starts[2], c);
}

static void slots_of_a_pool_are_shared_by_priority_and_freed_by_others(void **state)
{
	struct simulate_take one = { 0, 1 }, two = { 0, 2 };
	struct simulate_asks asks[TASKS] = { { &one, 1, SIMULATE_NOBODY, false },
		                             { &one, 1, SIMULATE_NOBODY, false },
		                             { &one, 1, SIMULATE_NOBODY, false },
		                             { NULL, 0, SIMULATE_NOBODY, false } };
	struct simulate_other other = { asks[0], 0, DAY0 * 1000000 + 30 * MINUTE };
	int32_t size = 1;
	struct simulate_gates gates = { .limits = &size, .n_limits = 1, .asks = asks };

	(void)state;
	play(&gates);
	starts_are(20, 0, 10);
	assert_int_equal(waited_for[0], 2);
	size = 2;
	play(&gates);
	starts_are(10, 0, 0);
	asks[1].takes = &two; /* who takes one does not wait for who takes two */
	gates.others = &other;
	gates.n_others = 1;
	play(&gates);
	starts_are(10, 30, 0);
	size = -1;
	play(&gates);
	starts_are(0, 0, 0);
}

static void a_seat_serves_all_classes_that_have_it(void **state)
{
	struct simulate_asks asks[TASKS] = { { NULL, 0, 0, false },
		                             { NULL, 0, 1, false },
		                             { NULL, 0, 1, false },
		                             { NULL, 0, SIMULATE_NOBODY, false } };
	uint32_t both[] = { 0, 1 };
	struct simulate_class classes[] = { { both, 1 }, { both, 2 } };
	int32_t seats[] = { 1, 1 };
	struct simulate_gates gates = {
		.seats = seats, .n_seats = 2, .classes = classes, .n_classes = 2, .asks = asks
	};
	struct simulate_other other = { asks[1], 2, DAY0 * 1000000 + 30 * MINUTE };

	(void)state;
	play(&gates);
	starts_are(10, 0, 0);
	gates.others = &other;
	gates.n_others = 1;
	play(&gates);
	starts_are(20, 0, 10);
}

/* Both seats have room for b; the first is the only one for a, which has the lower priority. */
static void a_task_sits_where_its_own_expression_says(void **state)
{
	struct simulate_asks asks[TASKS] = { { NULL, 0, 0, false },
		                             { NULL, 0, 1, false },
		                             { NULL, 0, SIMULATE_NOBODY, false },
		                             { NULL, 0, SIMULATE_NOBODY, false } };
	uint32_t both[] = { 0, 1 };
	struct simulate_class classes[] = { { both, 1 }, { both, 2 } };
	struct simulate_desk desks[] = { { 7, "x", NULL, { true, 900, 0, 0, 1, 0 } },
		                         { 8, "y", NULL, { true, 100, 0, 0, 1, 0 } } };
	int32_t seats[] = { 1, 1 };
	struct simulate_gates gates = { .seats = seats,
		                        .n_seats = 2,
		                        .desks = desks,
		                        .classes = classes,
		                        .n_classes = 2,
		                        .asks = asks };

	(void)state;
	play(&gates);
	starts_are(10, 0, 0);
	text = TEXT(", dispatch: {least: cpu}");
	play(&gates);
	starts_are(0, 0, 0);
	desks[1].load.cpu_permille = 950;
	play(&gates);
	starts_are(10, 0, 0);
	text = TEXT("");
}

static void what_is_shut_never_starts_nor_what_needs_it(void **state)
{
	struct simulate_asks asks[TASKS] = { { NULL, 0, SIMULATE_NOBODY, true },
		                             { NULL, 0, SIMULATE_NOBODY, false },
		                             { NULL, 0, SIMULATE_NOBODY, false },
		                             { NULL, 0, SIMULATE_NOBODY, false } };
	struct simulate_gates gates = { .asks = asks };

	(void)state;
	play(&gates);
	starts_are(-1, 0, 0);
	assert_int_equal(starts[3], -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_of_a_pool_are_shared_by_priority_and_freed_by_others),
		cmocka_unit_test(a_seat_serves_all_classes_that_have_it),
		cmocka_unit_test(a_task_sits_where_its_own_expression_says),
		cmocka_unit_test(what_is_shut_never_starts_nor_what_needs_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
