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
	assert_int_equal(store_renew_lease(w->s, old, 0, NULL), E_EPOCH);
	assert_int_equal(store_give_lease(w->s, old, 0, NULL), E_EPOCH);
	assert_int_equal(store_take_lease(w->s, &seen, &mine, &epoch, NULL), E_CONFLICT);
	assert_int_equal(store_lease(w->s, &now, NULL), 0);
	assert_int_equal(now.lease_ms, 12000);
	assert_string_equal(now.who, "b/2");
	assert_string_equal(now.address, "h:2");
	assert_int_equal(store_give_lease(w->s, now.epoch, 0, NULL), 0);
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
	assert_int_equal(store_renew_lease(w->s, w->epoch, 0, NULL), 0);
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

static int64_t last_sign(const struct world *w)
{
	struct store_lease now;

	assert_int_equal(store_lease(w->s, &now, NULL), 0);
	return now.renewed_us;
}

static void a_sign_of_life_is_a_commit_a_renewal_or_the_lease_given_back(void **state)
{
	struct world *w = *state;
	struct store_batch b = { .epoch = w->epoch, .at_us = 5000, .first = 1, .last = 1 };
	struct store_lease seen, mine = { .lease_ms = 100, .who = "b" };
	uint32_t epoch;

	assert_int_equal(last_sign(w), 0);
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	assert_int_equal(last_sign(w), 5000);
	assert_int_equal(store_renew_lease(w->s, w->epoch, 9000, NULL), 0);
	assert_int_equal(last_sign(w), 9000);
	assert_int_equal(store_renew_lease(w->s, w->epoch, 0, NULL), 0);
	assert_int_equal(last_sign(w), 9000);
	assert_int_equal(store_give_lease(w->s, w->epoch, 12000, NULL), 0);
	assert_int_equal(last_sign(w), 12000);
	/* Who takes it has not been the leader meanwhile. */
	assert_int_equal(store_lease(w->s, &seen, NULL), 0);
	assert_int_equal(store_take_lease(w->s, &seen, &mine, &epoch, NULL), 0);
	assert_int_equal(last_sign(w), 12000);
}

struct seen_gaps {
	struct store_gap items[4];
	size_t n;
};

static int see_gap(void *ctx, const struct store_gap *g)
{
	struct seen_gaps *s = ctx;

	if (s->n < 4)
		s->items[s->n] = *g;
	s->n++;
	return 0;
}

static void times_without_a_leader_are_kept_while_they_are_needed(void **state)
{
	struct world *w = *state;
	const struct store_gap gaps[] = { { 4, 100, 200 }, { 4, 300, 400 }, { 7, 500, 600 } };
	struct seen_gaps s = { .n = 0 };

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(store_add_gap(w->s, w->epoch, &gaps[i], 3, NULL), 0);
	assert_int_equal(last_sign(w), 600);
	world_reopen(w);
	assert_int_equal(store_load_gaps(w->s, 4, see_gap, &s, NULL), 0);
	assert_int_equal(s.n, 3);
	assert_memory_equal(s.items, gaps, sizeof gaps);
	s.n = 0;
	assert_int_equal(store_load_gaps(w->s, 5, see_gap, &s, NULL), 0);
	assert_int_equal(s.n, 1);
	/* No row is older than 5: what was before is over for all. */
	const struct store_gap last = { 9, 700, 800 };
	assert_int_equal(store_add_gap(w->s, w->epoch - 1, &last, 5, NULL), E_EPOCH);
	assert_int_equal(store_add_gap(w->s, w->epoch, &last, 5, NULL), 0);
	s.n = 0;
	assert_int_equal(store_load_gaps(w->s, 0, see_gap, &s, NULL), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.items[0].number, 7);
}

static void of_very_many_times_without_a_leader_the_oldest_go(void **state)
{
	struct world *w = *state;
	struct seen_gaps s = { .n = 0 };

	for (int i = 1; i <= STORE_GAPS_MAX + 2; i++) {
		const struct store_gap g = { 1, i * 10, i * 10 + 5 };
		assert_int_equal(store_add_gap(w->s, w->epoch, &g, 0, NULL), 0);
	}
	assert_int_equal(store_load_gaps(w->s, 0, see_gap, &s, NULL), 0);
	assert_int_equal(s.n, STORE_GAPS_MAX);
	assert_int_equal(s.items[0].from_us, 30);
}

static int64_t moved(int64_t due_us, enum state st, uint16_t flags, uint64_t last_number)
{
	const struct store_gap g = { 10, 1000, 1400 };
	struct instance i = { .eff_due_us = due_us, .flags = flags, .last_number = last_number };

	i.state = (uint8_t)st;
	store_gap_apply(&g, &i);
	return i.eff_due_us;
}

static void what_waited_through_it_is_due_so_much_later(void **state)
{
	(void)state;
	assert_int_equal(moved(600, ST_READY, 0, 10), 1000);   /* it had waited 400 */
	assert_int_equal(moved(1100, ST_DEPEND, 0, 10), 1400); /* came due meanwhile */
	assert_int_equal(moved(1400, ST_READY, 0, 10), 1400);
	assert_int_equal(moved(2000, ST_READY, 0, 10), 2000); /* not due yet */
	assert_int_equal(moved(600, ST_FAILED, 0, 10), 1000);
	assert_int_equal(moved(600, ST_RUNNING, 0, 10), 1000); /* granted, may come back */
	assert_int_equal(moved(600, ST_RUNNING, IF_STARTED, 10), 600);
	assert_int_equal(moved(600, ST_SUCC, 0, 10), 600);
	assert_int_equal(moved(600, ST_READY, 0, 11), 600); /* changed since: stored as it is */
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
		EACH(a_sign_of_life_is_a_commit_a_renewal_or_the_lease_given_back),
		EACH(times_without_a_leader_are_kept_while_they_are_needed),
		EACH(of_very_many_times_without_a_leader_the_oldest_go),
		cmocka_unit_test(what_waited_through_it_is_due_so_much_later),
		MEM(a_renewed_lease_is_not_taken),
	};
	const struct CMUnitTest tests_of_mysql[] = {
		MYSQL(a_lease_is_taken_only_from_who_shows_no_life),
		MYSQL(servers_that_wait_are_listed_until_they_lead),
		MYSQL(a_renewed_lease_is_not_taken),
		MYSQL(only_a_store_elsewhere_has_a_clock_of_its_own),
		MYSQL(a_sign_of_life_is_a_commit_a_renewal_or_the_lease_given_back),
		MYSQL(times_without_a_leader_are_kept_while_they_are_needed),
	};

	return world_mysql() ? cmocka_run_group_tests(tests_of_mysql, NULL, NULL)
	                     : cmocka_run_group_tests(tests, NULL, NULL);
}
