/* The lease of a server that leads, and those who wait for it: mem and sqlite, or MySQL (as
 * test_store.c). */
#include "tests/store/world.h"
#include "util/clock.h"

static void a_lease_is_taken_only_from_who_shows_no_life(void **state)
{
	struct world *w = *state;
	struct store_lease seen, now, mine = { .lease_ms = 12000, .who = "b/2", .address = "h:2" };
	struct store_batch b = { .epoch = w->epoch, .first = 1, .last = 2 };
	uint32_t epoch = 0, old = w->epoch;

	assert_int_equal(store_lease(w->s, &seen, NULL), 0);
	assert_int_equal(seen.epoch, old);
	assert_int_equal(store_commit(w->s, &b, NULL), 0); /* a commit is a sign of life */
	assert_int_equal(store_take_lease(w->s, &seen, &mine, &epoch, NULL), E_CONFLICT);
	assert_int_equal(store_lease(w->s, &seen, NULL), 0);
	assert_int_equal(seen.number, 2);
	assert_int_equal(store_take_lease(w->s, &seen, &mine, &epoch, NULL), 0);
	assert_int_equal(epoch, old + 1);
	b.first = b.last = 3;
	assert_int_equal(store_commit(w->s, &b, NULL), E_EPOCH);
	assert_int_equal(store_renew_lease(w->s, old, NULL), E_EPOCH);
	assert_int_equal(store_give_lease(w->s, old, NULL), E_EPOCH);
	assert_int_equal(store_take_lease(w->s, &seen, &mine, &epoch, NULL), E_CONFLICT);
	assert_int_equal(store_lease(w->s, &now, NULL), 0);
	assert_int_equal(now.lease_ms, 12000);
	assert_string_equal(now.who, "b/2");
	assert_string_equal(now.address, "h:2");
	assert_int_equal(store_give_lease(w->s, now.epoch, NULL), 0);
	assert_int_equal(store_lease(w->s, &seen, NULL), 0);
	assert_int_equal(seen.lease_ms, 0);
	assert_true(seen.beat > now.beat);
}

/* Of sqlite the lock of the directory is the lease, nobody watches the row. */
static void a_renewed_lease_is_not_taken(void **state)
{
	struct world *w = *state;
	struct store_lease seen, mine = { .lease_ms = 100, .who = "b" };
	uint32_t epoch;

	assert_int_equal(store_lease(w->s, &seen, NULL), 0);
	assert_int_equal(store_renew_lease(w->s, w->epoch, NULL), 0);
	assert_int_equal(store_take_lease(w->s, &seen, &mine, &epoch, NULL), E_CONFLICT);
	assert_int_equal(store_lease(w->s, &seen, NULL), 0);
	assert_int_equal(store_take_lease(w->s, &seen, &mine, &epoch, NULL), 0);
	/* Its connection is ended when it is silent for long, and is made anew. */
	struct store_batch b = { .epoch = epoch, .first = 1, .last = 1 };
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
}

static int count_node(void *ctx, const struct store_node *n)
{
	assert_string_equal(n->address, "host:7420");
	assert_in_range(n->age_us, 0, 60000000);
	*(uint64_t *)ctx += n->number;
	return 0;
}

static void servers_that_wait_are_listed_until_they_lead(void **state)
{
	struct world *w = *state;
	struct store_node a = { .who = "a/1", .address = "host:7420", .number = 3 },
			  b = { .who = "b/2", .address = "host:7420", .number = 40 };
	struct store_lease seen, mine = { .lease_ms = 1, .who = "b/2" };
	uint64_t sum = 0;
	uint32_t epoch;

	assert_int_equal(store_show_node(w->s, &a, NULL), 0);
	a.number = 5;
	assert_int_equal(store_show_node(w->s, &a, NULL), 0);
	assert_int_equal(store_show_node(w->s, &b, NULL), 0);
	assert_int_equal(store_each_node(w->s, 60000000, count_node, &sum, NULL), 0);
	assert_int_equal(sum, 45);
	if (w->is_mem)
		return;
	assert_int_equal(store_lease(w->s, &seen, NULL), 0);
	assert_int_equal(store_take_lease(w->s, &seen, &mine, &epoch, NULL), 0);
	sum = 0;
	assert_int_equal(store_each_node(w->s, 60000000, count_node, &sum, NULL), 0);
	assert_int_equal(sum, 5);
}

static void only_a_store_elsewhere_has_a_clock_of_its_own(void **state)
{
	struct world *w = *state;
	int64_t now = 0, ours = clock_wall_us(&clock_machine);

	if (!world_mysql()) {
		assert_int_equal(store_now(w->s, &now, NULL), E_UNSUPPORTED);
		return;
	}
	assert_int_equal(store_now(w->s, &now, NULL), 0);
	assert_in_range(now, ours - 60 * US_PER_S, ours + 60 * US_PER_S);
}

#define EACH(f) \
	{ "mem: " #f, f, setup_mem, teardown, NULL }, \
	{ \
		"sqlite: " #f, f, setup_sqlite, teardown, NULL \
	}
#define MEM(f) \
	{ \
		"mem: " #f, f, setup_mem, teardown, NULL \
	}
#define MYSQL(f) \
	{ \
		"mysql: " #f, f, setup_mysql, teardown, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_lease_is_taken_only_from_who_shows_no_life),
		EACH(servers_that_wait_are_listed_until_they_lead),
		EACH(only_a_store_elsewhere_has_a_clock_of_its_own),
		MEM(a_renewed_lease_is_not_taken),
	};
	const struct CMUnitTest tests_of_mysql[] = {
		MYSQL(a_lease_is_taken_only_from_who_shows_no_life),
		MYSQL(servers_that_wait_are_listed_until_they_lead),
		MYSQL(a_renewed_lease_is_not_taken),
		MYSQL(only_a_store_elsewhere_has_a_clock_of_its_own),
	};

	return world_mysql() ? cmocka_run_group_tests(tests_of_mysql, NULL, NULL)
	                     : cmocka_run_group_tests(tests, NULL, NULL);
}
