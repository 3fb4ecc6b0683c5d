/* A leader that writes to one node of a Galera cluster and is deposed by way of another. The urls
 * of two nodes are in $SIRDAR_TEST_NODES, split by a blank; run by tests/e2e/test_galera.py. */
#include "store/mysql/mysql.h"
#include "tests/store/world.h"

struct two {
	struct my_store *a, *b;
	uint32_t epoch;
};

static struct my_store *node(const char *url, size_t len)
{
	struct my_store *s = NULL;
	struct err err = { 0 };
	char *text = mem_strn(url, len);

	assert_true(strncmp(text, "mysql:", 6) == 0);
	world_must(my_open_bare(text + 6, &s, &err), &err);
	world_must(my_ready(s, &err), &err);
	world_must(my_migrate(s, &err), &err);
	free(text);
	return s;
}

static int setup(void **state)
{
	const char *urls = getenv("SIRDAR_TEST_NODES");
	size_t first = strcspn(urls, " ");
	struct two *t = mem_new(sizeof *t);
	struct err err = { 0 };

	t->a = node(urls, first);
	t->b = node(urls + first + 1, strlen(urls + first + 1));
	world_must(store_mysql_ops.take_epoch(&t->a->base, "a", &t->epoch, &err), &err);
	*state = t;
	return 0;
}

static int clean_up(void **state)
{
	struct two *t = *state;

	my_free(t->a);
	my_free(t->b);
	free(t);
	return 0;
}

/* Between a's proof and its COMMIT. On b, which knows a's epoch first. */
static void depose(struct two *t)
{
	struct err err = { 0 };
	uint32_t epoch = 0;

	world_must(my_cluster_catch_up(t->b->db, &t->b->url, false, &err), &err);
	world_must(store_mysql_ops.take_epoch(&t->b->base, "b", &epoch, &err), &err);
	assert_int_equal(epoch, t->epoch + 1);
}

/* The transaction is a's; it is refused, and so is all that a tries afterwards. */
static void is_refused(struct two *t, int r)
{
	struct err err = { 0 };

	r = my_end(t->a, r, &err);
	assert_int_equal(r, E_BUSY); /* nothing is in: read back, do it again */
	world_must(my_cluster_catch_up(t->a->db, &t->a->url, false, &err), &err);
	assert_int_equal(my_renew_lease(&t->a->base, t->epoch, 0, NULL), E_EPOCH);
}

static void what_writes_nothing_else_is_refused_after_another_took_over(void **state)
{
	struct two *t = *state;
	struct err err = { 0 };
	int r;

	world_must(my_begin(t->a, t->epoch, NULL, &err), &err);
	depose(t);
	r = my_do(t->a, NULL, "INSERT INTO lb_meta VALUES (?, 'of who was deposed')", "t", "x");
	is_refused(t, r < 0 ? r : my_stamp(t->a, NULL));
	assert_int_equal(my_ask_number(t->b, "lb_meta", &(int64_t){ 0 }, NULL,
	                               "SELECT 1 FROM lb_meta WHERE name = 'x'", ""),
	                 E_NOT_FOUND);
}

static void transitions_are_refused_after_another_took_over(void **state)
{
	struct two *t = *state;
	struct err err = { 0 };
	uint64_t number = 0;

	world_must(my_begin(t->a, t->epoch, &number, &err), &err);
	depose(t);
	is_refused(t, my_do(t->a, NULL, "UPDATE lb_leader SET number = ? WHERE id = 1", "i",
	                    (int64_t)number + 1));
}

static void two_that_take_over_at_once_do_not_both_lead(void **state)
{
	struct two *t = *state;
	struct store_lease seen = { 0 }, mine = { .lease_ms = 1000, .who = "a", .address = "x" };
	struct err err = { 0 };
	uint32_t one = 0, other = 0;
	int a, b;

	world_must(my_cluster_catch_up(t->b->db, &t->b->url, false, &err), &err);
	world_must(row_lease(&t->a->base, &seen, &err), &err);
	a = my_take_lease(&t->a->base, &seen, &mine, &one, NULL);
	b = my_take_lease(&t->b->base, &seen, &mine, &other, NULL);
	assert_int_equal(a, 0);
	assert_true(b == E_CONFLICT || b == E_BUSY);
}

#define TWO(f) cmocka_unit_test_setup_teardown(f, setup, clean_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TWO(what_writes_nothing_else_is_refused_after_another_took_over),
		TWO(transitions_are_refused_after_another_took_over),
		TWO(two_that_take_over_at_once_do_not_both_lead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
