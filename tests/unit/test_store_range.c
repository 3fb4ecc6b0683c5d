/* store: dates left out, as ranges; every implementation. */
#include "tests/store/world.h"

struct texts {
	char text[2000];
	int n;
};

static int see_range(void *ctx, const struct store_range *r)
{
	struct texts *t = ctx;
	size_t n = strlen(t->text);

	snprintf(t->text + n, sizeof t->text - n, "%llu t%u %lld..%lld %u-%u;",
	         (unsigned long long)r->number, r->task, (long long)r->lo, (long long)r->hi,
	         r->dates, r->taken);
	return 0;
}

static const char *ranges_of(struct world *w, bool unsaved, struct texts *t)
{
	t->text[0] = 0;
	assert_int_equal(store_load_ranges(w->s, unsaved, see_range, t, NULL), 0);
	return t->text;
}

/* A batch with one range and no events. */
static int leave_out(struct world *w, const struct store_range *r)
{
	struct store_range own = *r;
	own.number = ++w->number;
	struct store_batch b = { .epoch = w->epoch,
		                 .first = w->number,
		                 .last = w->number,
		                 .ranges = &own,
		                 .n_ranges = 1 };
	return store_commit(w->s, &b, NULL);
}

static void a_range_of_dates_left_out_is_one_record_until_it_is_old(void **state)
{
	struct world *w = *state;
	struct store_range a = { .task = 1,
		                 .version = 3,
		                 .lo = 600,
		                 .hi = 1200,
		                 .dates = 11,
		                 .at_us = 50,
		                 .reason = RE_CATCHUP,
		                 .priority = 7 };
	struct store_range b = a, found;
	struct texts t;

	b.task = 2;
	b.hi = 600;
	b.dates = 1;
	b.at_us = 90;
	assert_int_equal(leave_out(w, &a), 0);
	assert_int_equal(leave_out(w, &b), 0);
	assert_string_equal(ranges_of(w, false, &t), "1 t1 600..1200 11-0;2 t2 600..600 1-0;");
	assert_int_equal(store_find_range(w->s, 1, 599, &found, NULL), E_NOT_FOUND);
	assert_int_equal(store_find_range(w->s, 1, 1201, &found, NULL), E_NOT_FOUND);
	assert_int_equal(store_find_range(w->s, 3, 600, &found, NULL), E_NOT_FOUND);
	assert_int_equal(store_find_range(w->s, 1, 1200, &found, NULL), 0);
	struct instance row = store_range_row(&found, 660);
	assert_int_equal(row.key.run_date, 660);
	assert_int_equal(row.state, ST_SKIPPED);
	assert_int_equal(row.reason, RE_CATCHUP);
	assert_int_equal(row.last_number, 1);
	assert_int_equal(row.version, 3);
	assert_int_equal(row.priority, 7);
	assert_int_equal(row.ended_us, 50);

	/* Two of its dates get rows, by a redo each: their events follow the range's number. */
	struct instance i = world_instance(1, 660, 0), k = world_instance(1, 720, 0);
	const struct instance *live[] = { &i, &k };
	const struct store_taken taken = { 1, 2 };
	struct store_batch redo = { .live = live, .n_live = 2, .taken = &taken, .n_taken = 1 };
	i.last_number = k.last_number = 1;
	world_change(w, &i, EV_REDO, ST_READY);
	world_change(w, &k, EV_REDO, ST_READY);
	assert_int_equal(world_commit(w, &redo, NULL), 0);
	world_reopen(w);
	assert_string_equal(ranges_of(w, false, &t), "1 t1 600..1200 11-2;2 t2 600..600 1-0;");

	/* Like history: not before saved outcomes know it, and in order of age. */
	assert_int_equal(world_retain(w, INT64_MAX, 1000, true), 0);
	assert_string_equal(ranges_of(w, true, &t), "1 t1 600..1200 11-2;2 t2 600..600 1-0;");
	assert_int_equal(store_save_outcomes(w->s, w->epoch, NULL, 0, 1, NULL), 0);
	assert_string_equal(ranges_of(w, true, &t), "2 t2 600..600 1-0;");
	assert_int_equal(store_save_outcomes(w->s, w->epoch, NULL, 0, 2, NULL), 0);
	assert_int_equal(world_retain(w, 60, 1000, true), 1);
	assert_int_equal(world_retain(w, 60, 1000, false), 1);
	assert_string_equal(ranges_of(w, false, &t), "2 t2 600..600 1-0;");
	assert_int_equal(world_retain(w, 91, 1000, false), 1);
	assert_string_equal(ranges_of(w, false, &t), "");
}

static void a_range_that_says_nothing_or_is_taken_too_early_is_refused(void **state)
{
	struct world *w = *state;
	struct store_range r = { .task = 1, .lo = 60, .hi = 0, .dates = 1, .reason = RE_CATCHUP };
	const struct store_taken taken = { 1, 1 };
	struct store_batch b = { .epoch = w->epoch, .taken = &taken, .n_taken = 1 };
	struct texts t;

	assert_int_equal(leave_out(w, &r), E_INVALID); /* ends before it begins */
	w->number--;
	r.hi = 60;
	r.dates = 0;
	assert_int_equal(leave_out(w, &r), E_INVALID);
	w->number--;
	r.dates = 1;
	r.taken = 1;
	assert_int_equal(leave_out(w, &r), E_INVALID);
	w->number--;
	assert_int_equal(store_commit(w->s, &b, NULL),
	                 E_INVALID); /* of a range in no batch before */
	assert_string_equal(ranges_of(w, false, &t), "");
}

#define ROWS(f, setup) \
	{ \
#f, f, setup, teardown, NULL \
	}
#define BOTH(setup) \
	ROWS(a_range_of_dates_left_out_is_one_record_until_it_is_old, setup), \
		ROWS(a_range_that_says_nothing_or_is_taken_too_early_is_refused, setup)

int main(void)
{
	const struct CMUnitTest tests[] = { BOTH(setup_mem), BOTH(setup_sqlite) };
	const struct CMUnitTest tests_of_mysql[] = { BOTH(setup_mysql) };

	return world_mysql() ? cmocka_run_group_tests(tests_of_mysql, NULL, NULL)
	                     : cmocka_run_group_tests(tests, NULL, NULL);
}
