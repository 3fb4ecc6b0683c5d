/* Cycles among tasks with links that may look into the past: small cases by hand, and small
 * graphs against a slow search that tries every cycle. */
#include "sched/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { DAY = 86400 };

static size_t cycle(size_t nodes, const struct graph_edge *e, size_t n, uint32_t *ret)
{
	return graph_cycle(nodes, e, n, ret);
}

static void a_circle_on_the_same_date_is_found_in_order(void **state)
{
	(void)state;
	const struct graph_edge e[] = {
		{ 0, 1, 0 }, { 3, 4, 0 }, { 4, 5, 0 }, { 5, 3, 0 }, { 1, 2, 0 }
	};
	uint32_t got[6];

	assert_int_equal(cycle(6, e, 5, got), 3);
	assert_int_equal(got[0], 3);
	assert_int_equal(got[1], 4);
	assert_int_equal(got[2], 5);
}

static void waiting_for_the_past_is_no_circle(void **state)
{
	(void)state;
	struct graph_edge e[] = { { 0, 1, 0 }, { 1, 0, -1 }, { 2, 2, -DAY } };
	uint32_t got[3];

	assert_int_equal(cycle(3, e, 3, got), 0);
	e[1].lead = 0;
	assert_int_equal(cycle(3, e, 3, got), 2);
	e[1].lead = -DAY;
	e[0].lead = DAY; /* one day ahead and one back */
	assert_int_equal(cycle(3, e, 3, got), 2);
	e[0].lead = DAY - 1;
	assert_int_equal(cycle(3, e, 3, got), 0);
	e[0].lead = INT64_MAX; /* as far as there is, both ways */
	assert_int_equal(cycle(3, e, 3, got), 2);
	e[0].lead = DAY - 1;
	e[1].lead = INT64_MIN;
	assert_int_equal(cycle(3, e, 3, got), 0);
	e[1].lead = -DAY;
	assert_int_equal(cycle(3, e, 3, got), 0);
	e[2].lead = 0;
	assert_int_equal(cycle(3, e, 3, got), 1);
	assert_int_equal(got[0], 2);
}

static void no_cycle_hides_behind_harmless_ones(void **state)
{
	(void)state;
	/* 0 and 1 wait for each other's past; the long way round sums to zero */
	const struct graph_edge e[] = { { 0, 1, -5 }, { 1, 0, -5 }, { 1, 2, 3 },
		                        { 2, 3, 4 },  { 3, 0, -2 }, { 3, 2, -9 } };
	uint32_t got[4];

	assert_int_equal(cycle(4, e, 6, got), 4);
	assert_int_equal(cycle(4, e, 4, got), 0);
	assert_int_equal(cycle(0, NULL, 0, got), 0);
}

/* As the definition says: try all simple cycles of a small graph. */
static int walk(size_t nodes, const struct graph_edge *e, size_t n, uint32_t at, uint32_t root,
                unsigned seen, int64_t sum)
{
	for (size_t i = 0; i < n; i++) {
		if (e[i].child != at)
			continue;
		if (e[i].parent == root && sum + e[i].lead >= 0)
			return 1;
		if (e[i].parent > root && !(seen & 1u << e[i].parent) &&
		    walk(nodes, e, n, e[i].parent, root, seen | 1u << e[i].parent, sum + e[i].lead))
			return 1;
	}
	return 0;
}

static void it_agrees_with_trying_every_cycle(void **state)
{
	unsigned seed = 1;
	int found = 0;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct graph_edge e[12];
		uint32_t got[6];
		size_t n = 1 + (size_t)rand_r(&seed) % 12;
		for (size_t i = 0; i < n; i++)
			e[i] = (struct graph_edge){ (uint32_t)rand_r(&seed) % 6,
				                    (uint32_t)rand_r(&seed) % 6,
				                    rand_r(&seed) % 7 - 5 };
		int expect = 0;
		for (uint32_t v = 0; v < 6 && !expect; v++)
			expect = walk(6, e, n, v, v, 1u << v, 0);
		size_t size = cycle(6, e, n, got);
		assert_int_equal(size > 0, expect);
		found += expect;
		int64_t sum = 0;
		for (size_t i = 0; i < size; i++) {
			int64_t best = INT64_MIN;
			for (size_t k = 0; k < n; k++)
				if (e[k].child == got[i] && e[k].parent == got[(i + 1) % size] &&
				    e[k].lead > best)
					best = e[k].lead;
			assert_true(best != INT64_MIN); /* there is such an edge */
			sum += best;
		}
		assert_true(size == 0 || sum >= 0);
	}
	assert_true(found > 300 && found < 2700);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void five_thousand_tasks_of_one_tangle_are_judged(void **state)
{
	enum { NODES = 5000, EDGES = 20000 };
	struct graph_edge *e = calloc(EDGES, sizeof *e);
	uint32_t *got = calloc(NODES, sizeof *got);
	unsigned seed = 7;
	double begin = seconds();

	(void)state;
	for (size_t i = 0; i < EDGES; i++) { /* one great tangle into the past */
		e[i].child = i < NODES ? (uint32_t)i : (uint32_t)rand_r(&seed) % NODES;
		e[i].parent = i < NODES ? (uint32_t)(i + 1) % NODES
		                        : (uint32_t)rand_r(&seed) % NODES;
		e[i].lead = i < NODES ? 0 : -DAY;
	}
	e[NODES - 1].lead = -1;
	assert_int_equal(graph_cycle(NODES, e, EDGES, got), 0);
	e[NODES - 1].lead = 0;
	assert_int_equal(graph_cycle(NODES, e, EDGES, got), NODES);
	print_message("# %d tasks, %d links, twice: %.3f s\n", NODES, EDGES, seconds() - begin);
	free(e);
	free(got);
}

static void order_puts_parents_first(void **state)
{
	(void)state;
	const struct graph_edge e[] = { { 0, 1, 0 }, { 1, 2, 0 }, { 0, 2, 0 }, { 3, 0, 0 } };
	uint32_t order[4];

	assert_int_equal(graph_order(4, e, 4, order), 4);
	assert_int_equal(order[0], 2);
	assert_int_equal(order[1], 1);
	assert_int_equal(order[2], 0);
	assert_int_equal(order[3], 3);
	const struct graph_edge circle[] = { { 0, 1, 0 }, { 1, 0, 0 } };
	assert_int_equal(graph_order(3, circle, 2, order), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_circle_on_the_same_date_is_found_in_order),
		cmocka_unit_test(waiting_for_the_past_is_no_circle),
		cmocka_unit_test(no_cycle_hides_behind_harmless_ones),
		cmocka_unit_test(it_agrees_with_trying_every_cycle),
		cmocka_unit_test(five_thousand_tasks_of_one_tangle_are_judged),
		cmocka_unit_test(order_puts_parents_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
