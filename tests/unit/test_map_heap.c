/* util/map and util/heap against plain arrays, by random operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "util/alloc.h"
#include "util/heap.h"
#include "util/map.h"
#include "util/slab.h"

static uint32_t seed = 12345;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void map_finds_what_was_added_and_nothing_else(void **state)
{
	enum { KEYS = 500 };
	static uint32_t want[KEYS];
	struct map m;

	(void)state;
	map_init(&m);
	for (int i = 0; i < KEYS; i++)
		want[i] = MAP_NONE;
	for (int step = 0; step < 100000; step++) {
		uint32_t k = rnd(KEYS);
		if (want[k] == MAP_NONE) {
			want[k] = rnd(1000000);
			map_add(&m, (uint64_t)k << 32, want[k]);
		} else if (rnd(2)) {
			assert_true(map_remove(&m, (uint64_t)k << 32, want[k]));
			want[k] = MAP_NONE;
		}
		uint32_t q = rnd(KEYS);
		assert_int_equal(map_get(&m, (uint64_t)q << 32), want[q]);
	}
	map_done(&m);
}

static void map_keeps_several_values_of_one_key(void **state)
{
	struct map m;
	size_t at;
	unsigned sum = 0;

	(void)state;
	map_init(&m);
	for (uint32_t v = 1; v <= 3; v++)
		map_add(&m, 7, v);
	assert_true(map_remove(&m, 7, 2));
	assert_false(map_remove(&m, 7, 2));
	for (uint32_t v = map_first(&m, 7, &at); v != MAP_NONE; v = map_next(&m, 7, &at))
		sum += v;
	assert_int_equal(sum, 4);
	map_done(&m);
}

static void heap_gives_the_least_key_under_moves_and_removals(void **state)
{
	enum { NODES = 300 };
	static struct heap_node nodes[NODES];
	struct heap h;

	(void)state;
	heap_init(&h);
	for (int i = 0; i < NODES; i++)
		heap_node_init(&nodes[i]);
	for (int step = 0; step < 50000; step++) {
		struct heap_node *n = &nodes[rnd(NODES)];
		if (rnd(3) == 0)
			heap_remove(&h, n);
		else
			heap_set(&h, n, (int64_t)rnd(1000));
		int64_t least = INT64_MAX;
		for (int i = 0; i < NODES; i++)
			if (nodes[i].at != HEAP_OUT && nodes[i].key < least)
				least = nodes[i].key;
		struct heap_node *top = heap_top(&h);
		assert_true(top ? top->key == least : least == INT64_MAX);
	}
	heap_done(&h);
}

static void an_array_has_room_for_what_is_asked(void **state)
{
	uint32_t *items = NULL;
	size_t cap = 0;

	(void)state;
	assert_null(mem_room(items, &cap, 0, sizeof *items));
	for (uint32_t i = 0; i < 1000; i++) {
		size_t was = cap;
		items = mem_room(items, &cap, i + 1, sizeof *items);
		assert_true(cap > i && (cap == was || cap >= was * 2));
		items[i] = i;
	}
	items = mem_room(items, &cap, 5000, sizeof *items);
	assert_true(cap >= 5000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	free(items);
}

static void an_index_holds_what_was_put_and_nothing_else(void **state)
{
	uint32_t *at = NULL;
	size_t cap = 0;

	(void)state;
	slab_index_set(&at, &cap, 5000, 7);
	slab_index_set(&at, &cap, 3, 9);
	assert_true(cap > 5000);
	for (uint32_t i = 0; i < cap; i++)
		assert_int_equal(at[i], i == 5000 ? 7 : i == 3 ? 9 : SLAB_NONE);
	free(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_has_room_for_what_is_asked),
		cmocka_unit_test(an_index_holds_what_was_put_and_nothing_else),
		cmocka_unit_test(map_finds_what_was_added_and_nothing_else),
		cmocka_unit_test(map_keeps_several_values_of_one_key),
		cmocka_unit_test(heap_gives_the_least_key_under_moves_and_removals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
