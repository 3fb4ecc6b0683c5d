/* Days as partitions, under clocks of our own: what people, other servers and long sleeps do to
 * them. On the server of $SIRDAR_TEST_MYSQL only. */
#include <pthread.h>

#include "sched/civil.h"
#include "store/mysql/mysql.h"
#include "tests/store/world.h"

#define DAY_US (DAY_S * INT64_C(1000000))
enum { WIDE = 8 }; /* days ahead */

struct site {
	struct my_store *s;
	char url[200];
};

static struct my_store *another(const struct site *t)
{
	struct my_store *s = NULL;
	struct err err = { 0 };

	world_must(my_open_bare(t->url + strlen("mysql:"), &s, &err), &err);
	world_must(my_ready(s, &err), &err);
	return s;
}

static int setup(void **state)
{
	struct site *t = mem_new(sizeof *t);
	struct err err = { 0 };

	world_mysql_url(t->url, sizeof t->url);
	t->s = another(t);
	world_must(my_migrate(t->s, &err), &err);
	*state = t;
	return 0;
}

static int clean_up(void **state)
{
	struct site *t = *state;

	my_free(t->s);
	free(t);
	return 0;
}

static void sql(struct my_store *s, const char *text)
{
	struct err err = { 0 };

	world_must(my_run(s, text, strlen(text), &err), &err);
}

static int64_t number(struct my_store *s, const char *text)
{
	struct err err = { 0 };
	int64_t n = 0;

	world_must(my_ask_number(s, "test", &n, &err, text, ""), &err);
	return n;
}

static int64_t at(int year, int month, int day, int hour)
{
	return civil_to_day(year, month, day) * DAY_US + hour * INT64_C(3600000000);
}

/* The clock says so, and somebody looks at the days. */
static void look(struct my_store *s, int64_t now_us)
{
	struct err err = { 0 };

	s->days_ahead_us = 0;
	world_must(my_days_ahead(s, now_us, &err), &err);
}

#define OF_EVENTS \
	" FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME =" \
	" 'lb_task_event'"

static bool has(struct my_store *s, const char *name)
{
	char text[300];

	snprintf(text, sizeof text, "SELECT COUNT(*)" OF_EVENTS " AND PARTITION_NAME = '%s'", name);
	return number(s, text) == 1;
}

static int64_t days(struct my_store *s)
{
	return number(s, "SELECT COUNT(*)" OF_EVENTS " AND PARTITION_NAME REGEXP '^p[0-9]+$'");
}

static void event(struct my_store *s, int64_t n, int64_t at_us)
{
	struct err err = { 0 };

	world_must(my_do(s, &err,
	                 "INSERT INTO lb_task_event VALUES (?, 0, 1, 1, 0, ?, 1, 0, 1, 0, 0, 1, 0,"
	                 " 0, 1, 1, 1, 0, 0, 0, NULL)",
	                 "ii", n, at_us),
	           &err);
}

static int64_t rows_in(struct my_store *s, const char *partition)
{
	char text[120];

	snprintf(text, sizeof text, "SELECT COUNT(*) FROM lb_task_event PARTITION (%s)", partition);
	return number(s, text);
}

static size_t drop(struct my_store *s, int64_t before_us, bool dry_run)
{
	struct err err = { 0 };
	struct row_retain t = { .s = &s->rows, .ask = { before_us, 100000, dry_run } };

	world_must(my_drop_days(&t, &err), &err);
	return t.rows;
}

static void the_turn_of_a_month_of_a_year_and_a_leap_day_have_their_days(void **state)
{
	struct my_store *s = ((struct site *)*state)->s;
	static const char *const names[] = { "p20271229", "p20271231", "p20280101", "p20280105" };

	look(s, at(2027, 12, 29, 23));
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		assert_true(has(s, names[i]));
	look(s, at(2028, 2, 27, 12));
	assert_true(has(s, "p20280228") && has(s, "p20280229") && has(s, "p20280301"));
	assert_false(has(s, "p20280230"));
	look(s, at(2100, 2, 27, 12));
	assert_true(has(s, "p21000228") && has(s, "p21000301"));
	assert_false(has(s, "p21000229"));
	event(s, 1, at(2028, 2, 29, 0));
	event(s, 2, at(2028, 3, 1, 0) - 1);
	assert_int_equal(rows_in(s, "p20280229"), 2);
}

static void a_day_has_24_hours_whatever_clocks_do(void **state)
{
	struct my_store *s = ((struct site *)*state)->s;

	setenv("TZ", "Europe/Berlin", 1);
	for (int month = 3; month <= 10; month += 7) {
		int day = month == 3 ? 28 : 31; /* of 2027: 23 hours, and 25 */
		char name[40];

		look(s, at(2027, month, day, 0));
		for (int hour = 0; hour < 24; hour++)
			event(s, month * 100 + hour, at(2027, month, day, hour));
		snprintf(name, sizeof name, "p2027%02d%02d", month, day);
		assert_int_equal(rows_in(s, name), 24);
	}
	unsetenv("TZ");
}

static void weeks_asleep_leave_no_hole_and_no_crowd_of_empty_days(void **state)
{
	struct my_store *s = ((struct site *)*state)->s;
	int64_t then = at(2026, 11, 21, 9);

	look(s, then);
	assert_int_equal(days(s), WIDE);
	look(s, then + 40 * DAY_US);
	assert_int_equal(days(s), 2 * WIDE + 1); /* one takes the weeks between */
	look(s, then + 6000 * DAY_US);
	assert_int_equal(days(s), 3 * WIDE + 2);
	event(s, 1, then + 20 * DAY_US); /* whoever writes there finds a place */
	event(s, 2, then + 100 * DAY_US);
	event(s, 3, then + 5999 * DAY_US);
	assert_int_equal(rows_in(s, "pmax"), 0);
	assert_int_equal(rows_in(s, "p20261230"), 1);
	assert_int_equal(drop(s, then + 39 * DAY_US, false), 0);
	assert_int_equal(drop(s, then + 40 * DAY_US, false), 1);
}

/* What a copy brings: a day a partition from its first one on, but not without bound. */
static void days_of_a_copy_begin_with_its_history(void **state)
{
	struct my_store *s = ((struct site *)*state)->s;
	int64_t now = at(2026, 11, 21, 9);

	s->days_from_us = now - 30 * DAY_US;
	look(s, now);
	assert_int_equal(days(s), 30 + WIDE);
	event(s, 1, now - 31 * DAY_US);
	assert_int_equal(rows_in(s, "pold"), 1);
	event(s, 2, now - 30 * DAY_US);
	assert_int_equal(rows_in(s, "p20261022"), 1);
}

static void what_came_while_no_day_was_made_gets_its_day_later(void **state)
{
	struct my_store *s = ((struct site *)*state)->s;

	look(s, at(2027, 1, 1, 0));
	event(s, 1, at(2027, 1, 20, 5));
	event(s, 2, at(2027, 1, 21, 5));
	assert_int_equal(rows_in(s, "pmax"), 2);
	look(s, at(2027, 1, 21, 6));
	assert_int_equal(rows_in(s, "pmax"), 0);
	assert_int_equal(rows_in(s, "p20270120"), 1);
	assert_int_equal(drop(s, at(2027, 1, 21, 0), false), 1);
	assert_int_equal(number(s, "SELECT COUNT(*) FROM lb_task_event"), 1);
}

static void days_dropped_by_hand_are_made_again_or_not_missed(void **state)
{
	struct my_store *s = ((struct site *)*state)->s;
	struct err err = { 0 };

	look(s, at(2027, 1, 1, 0));
	event(s, 1, at(2027, 1, 1, 1));
	event(s, 2, at(2027, 1, 3, 1));
	sql(s, "ALTER TABLE lb_task_event DROP PARTITION p20270101");
	sql(s, "ALTER TABLE lb_task_event DROP PARTITION p20270105");
	sql(s, "ALTER TABLE lb_task_event DROP PARTITION pold");
	look(s, at(2027, 1, 4, 0));
	assert_true(has(s, "p20270105"));
	event(s, 3, at(2027, 1, 5, 1));
	assert_int_equal(rows_in(s, "p20270105"), 1);
	assert_int_equal(drop(s, at(2027, 1, 5, 0), false), 1);
	/* The last one: until it is there again a batch is told to come later. */
	sql(s, "ALTER TABLE lb_task_event DROP PARTITION pmax");
	s->days_ahead_us = INT64_MAX;
	assert_int_equal(my_do(s, &err,
	                       "INSERT INTO lb_task_event VALUES (9, 0, 1, 1, 0, ?, 1, 0, 1, 0, 0,"
	                       " 1, 0, 0, 1, 1, 1, 0, 0, 0, NULL)",
	                       "i", at(2027, 3, 1, 0)),
	                 E_BUSY);
	world_must(my_days_ahead(s, at(2027, 1, 6, 0), &err), &err);
	event(s, 9, at(2027, 3, 1, 0));
	assert_int_equal(rows_in(s, "pmax"), 1);
}

/* Retention as the server asks for it, with partitions gone that it knows by name. */
static void retention_goes_on_without_the_first_partition(void **state)
{
	struct my_store *s = ((struct site *)*state)->s;
	struct err err = { 0 };
	uint32_t epoch = 0;
	size_t rows = 0;

	look(s, at(2027, 1, 1, 0));
	sql(s, "ALTER TABLE lb_task_run_history DROP PARTITION pold");
	world_must(store_mysql_ops.take_epoch(&s->base, "t", &epoch, &err), &err);
	event(s, 1, at(2027, 1, 1, 5));
	event(s, 5, at(2027, 1, 3, 5));
	sql(s, "INSERT INTO lb_task_data VALUES (1, 1, 'a'), (5, 1, 'b')");
	world_must(row_retain(&s->base, epoch,
	                      &(struct store_retention){ at(2027, 1, 2, 0), 100, true }, &rows,
	                      &err),
	           &err);
	assert_int_equal(rows, 1);
	world_must(row_retain(&s->base, epoch,
	                      &(struct store_retention){ at(2027, 1, 2, 0), 100, false }, &rows,
	                      &err),
	           &err);
	assert_int_equal(rows, 2); /* an event and its data */
	assert_int_equal(number(s, "SELECT MIN(number) FROM lb_task_data"), 5);
}

static void partitions_of_others_are_left_alone(void **state)
{
	struct my_store *s = ((struct site *)*state)->s;
	char text[300];

	snprintf(
		text, sizeof text,
		"ALTER TABLE lb_task_event REORGANIZE PARTITION pmax INTO (PARTITION `of me` VALUES"
		" LESS THAN (%lld), PARTITION p20270102 VALUES LESS THAN (%lld), PARTITION pmax"
		" VALUES LESS THAN MAXVALUE)",
		(long long)at(2027, 1, 2, 0), (long long)at(2027, 1, 2, 12));
	sql(s, text);
	look(s, at(2027, 1, 2, 6));
	assert_true(has(s, "of me") && has(s, "p20270102") && has(s, "p2027010212"));
	assert_true(has(s, "p20270103"));
	event(s, 1, at(2027, 1, 1, 1));
	event(s, 2, at(2027, 1, 2, 11));
	event(s, 3, at(2027, 1, 2, 13));
	assert_int_equal(rows_in(s, "p2027010212"), 1);
	assert_int_equal(drop(s, at(2027, 1, 3, 0), true), 2);
	assert_int_equal(drop(s, at(2027, 1, 3, 0), false), 2);
	assert_true(has(s, "of me"));
}

static void a_clock_that_was_wrong_once_leaves_days_after_it(void **state)
{
	struct my_store *s = ((struct site *)*state)->s;

	look(s, at(2026, 12, 30, 0));
	look(s, at(2050, 1, 1, 0)); /* and mended */
	look(s, at(2027, 1, 20, 0));
	event(s, 1, at(2027, 1, 20, 5));
	assert_true(has(s, "p20270120") && has(s, "p20270121"));
	assert_int_equal(rows_in(s, "p20270120"), 1);
}

static void *look_often(void *ctx)
{
	struct my_store *s = ctx;
	intptr_t bad = 0;

	for (int n = 0; n < 12; n++) {
		struct err err = { 0 };
		int r;

		do {
			s->days_ahead_us = 0;
			r = my_days_ahead(s, at(2027, 1, 1, 0) + n * 7 * DAY_US, &err);
		} while (r == E_BUSY); /* one waits a second at most, and comes again */
		if (r < 0)
			fprintf(stderr, "# %s\n", err.text);
		bad += r < 0;
	}
	return (void *)bad;
}

static void two_servers_that_make_the_same_days_do_not_fail(void **state)
{
	struct site *t = *state;
	struct my_store *other = another(t);
	pthread_t th;
	void *bad = NULL;

	assert_int_equal(pthread_create(&th, NULL, look_often, other), 0);
	assert_null(look_often(t->s));
	pthread_join(th, &bad);
	assert_null(bad);
	assert_int_equal(days(t->s), 11 * 7 + WIDE);
	my_free(other);
}

static void a_day_that_is_read_is_dropped_another_time(void **state)
{
	struct site *t = *state;
	struct my_store *s = t->s, *reader = another(t);

	look(s, at(2027, 1, 1, 0));
	event(s, 1, at(2027, 1, 1, 1));
	event(s, 2, at(2027, 1, 2, 1));
	sql(reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
	assert_int_equal(number(reader, "SELECT COUNT(*) FROM lb_task_event"), 2);
	assert_int_equal(drop(s, at(2027, 1, 2, 0), false), 0);
	assert_int_equal(number(reader, "SELECT COUNT(*) FROM lb_task_event"), 2);
	/* Who writes is not held up, and waits for other locks as long as before. */
	event(s, 3, at(2027, 1, 3, 1));
	assert_int_equal(number(s, "SELECT @@SESSION.lock_wait_timeout"), MY_LOCK_WAIT_S);
	sql(reader, "COMMIT");
	assert_int_equal(drop(s, at(2027, 1, 2, 0), false), 1);
	assert_int_equal(number(reader, "SELECT COUNT(*) FROM lb_task_event"), 2);
	my_free(reader);
}

#define DAYS(f) cmocka_unit_test_setup_teardown(f, setup, clean_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DAYS(the_turn_of_a_month_of_a_year_and_a_leap_day_have_their_days),
		DAYS(a_day_has_24_hours_whatever_clocks_do),
		DAYS(weeks_asleep_leave_no_hole_and_no_crowd_of_empty_days),
		DAYS(days_of_a_copy_begin_with_its_history),
		DAYS(what_came_while_no_day_was_made_gets_its_day_later),
		DAYS(days_dropped_by_hand_are_made_again_or_not_missed),
		DAYS(retention_goes_on_without_the_first_partition),
		DAYS(partitions_of_others_are_left_alone),
		DAYS(a_clock_that_was_wrong_once_leaves_days_after_it),
		DAYS(two_servers_that_make_the_same_days_do_not_fail),
		DAYS(a_day_that_is_read_is_dropped_another_time),
	};

	return world_mysql() ? cmocka_run_group_tests(tests, NULL, NULL)
	                     : (puts("1..0 # SKIP no " WORLD_MYSQL_ENV), 0);
}
