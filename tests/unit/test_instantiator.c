/* baseserver/plan/instantiator: which dates become rows, after how long a silence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/resource.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/plan/instantiator.h"
#include "rt/thread.h"
#include "sched/cron.h"
#include "sched/task.h"
#include "store/mem.h"
#include "store/store.h"
#include "tests/unit/test_time.h"
#include "util/alloc.h"
#include "util/clock.h"

static int64_t wall_s, mono_s;

static int64_t mono(void *ctx)
{
	(void)ctx;
	return mono_s * US_PER_S + 1;
}

static int64_t wall(void *ctx)
{
	(void)ctx;
	return wall_s * US_PER_S;
}

static const struct clock test_clock = { mono, wall, NULL };

struct fixture {
	struct store *store;
	struct thread *th;
	struct ledger *ledger;
	struct instantiator *plan;
	struct actor *me;
	struct stream_reader *in;
	int made, skipped, total;
	int64_t ranges, left_out; /* records, and the dates of them */
	uint8_t ask_at_once;      /* an ask for the first date of a record, before it is stored */
	int came_from;            /* the state in which that found it */
	int64_t first_made, last;
};

static int me_init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static void answered(struct letter *l, void *self)
{
	(void)self;
	assert_int_equal(((struct answers *)l)->n, 0); /* inside, only who is refused is named */
	free(l);
}

static void ask_at_once(struct fixture *f, int64_t date)
{
	struct proposals *ps = proposals_new(PR_MAINTAINER, 1, f->me, answered);

	proposals_add(ps, (enum ask)f->ask_at_once, (struct inst_key){ date, 1, 0 });
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
}

static void me_turn(void *self)
{
	struct fixture *f = self;

	for (const struct transition *tr; (tr = stream_peek(f->in)); stream_next(f->in)) {
		if (tr->kind == TK_RANGE) {
			f->ranges++;
			f->left_out += ((const struct date_range *)tr->row)->dates;
			if (f->ask_at_once)
				ask_at_once(f, tr->inst.key.run_date);
		}
		if (tr->kind != TK_INSTANCE)
			continue;
		if (tr->event == EV_FORCE || tr->event == EV_REDO)
			f->came_from = tr->from;
		bool made = tr->event == EV_CREATE;
		if (made && f->made == 0)
			f->first_made = tr->inst.key.run_date;
		f->made += made;
		f->skipped += tr->event == EV_CREATE_SKIP && tr->reason == RE_CATCHUP;
		f->last = tr->inst.key.run_date;
		f->total++;
	}
}

static const struct actor_ops me_ops = {
	.name = "test", .letters_max = 1000, .init = me_init, .turn = me_turn
};

static void on_fatal(void *ctx, const struct err *err)
{
	(void)ctx;
	fail_msg("%s", err->text);
}

static struct task *minutes_since(int64_t start, enum catchup_mode mode, int max)
{
	struct schedule s = {
		.unit = CU_MINUTE, .step = 1, .tz = zone("UTC"), .start = start, .end = PLAN_NEVER
	};
	struct task *t = mem_new(sizeof *t);

	*t = (struct task){ .id = 1,
		            .version = 1,
		            .workflow_id = 1,
		            .name = "p/w/t",
		            .type = "t",
		            .group = "",
		            .owner = "",
		            .run_as = "",
		            .max_attempts = 1,
		            .catchup = mode,
		            .catchup_max = max };
	t->refs = 1;
	t->memory = t;
	assert_int_equal(plan_new(&s, &t->plan, NULL), 0);
	return t;
}

static struct task *minutes(enum catchup_mode mode, int max)
{
	return minutes_since(0, mode, max);
}

static void put(struct fixture *f, const struct task *t, enum task_state state)
{
	struct edit *e = mem_new(sizeof *e);

	e->tasks = mem_array(1, sizeof *e->tasks);
	e->rows = mem_array(1, sizeof *e->rows);
	e->tasks[0] = task_ref(t);
	e->rows[0] = (struct store_task){ .id = 1,
		                          .workflow_id = 1,
		                          .version = 1,
		                          .state = (uint8_t)state,
		                          .planned_through = INT64_MIN };
	e->n_tasks = 1;
	assert_int_equal(ledger_edit(f->ledger, e), 0);
	thread_sim_run(f->th);
}

static void go_to(struct fixture *f, int64_t at_s)
{
	if (at_s > wall_s)
		mono_s += at_s - wall_s;
	wall_s = at_s;
	thread_sim_run(f->th);
}

/* The task is known, through date 60 all is done, and the clock says `now`. */
static void begin(struct fixture *f, const struct task *t, int64_t now)
{
	struct ledger_settings set = { .ring_slots = 4096,
		                       .batch_max = 100,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = 1000000,
		                       .fatal = on_fatal };
	struct store_task row = { .id = 1,
		                  .workflow_id = 1,
		                  .version = 1,
		                  .state = TS_ONLINE,
		                  .online_from = INT64_MIN,
		                  .planned_through = 60 };
	struct task *tasks[1] = { (struct task *)(uintptr_t)t };

	*f = (struct fixture){ 0 };
	wall_s = mono_s = now;
	assert_int_equal(store_open("mem:", &f->store, NULL), 0);
	f->th = thread_new("test", &test_clock);
	assert_int_equal(ledger_new(&(struct ledger_start){ .thread = f->th,
	                                                    .store = f->store,
	                                                    .who = "test",
	                                                    .set = &set,
	                                                    .tasks = tasks,
	                                                    .rows = &row,
	                                                    .n_tasks = 1 },
	                            &f->ledger, NULL),
	                 0);
	f->plan = instantiator_new(f->th, f->ledger);
	f->me = actor_new(f->th, &me_ops, f);
	f->in = stream_reader_new(ledger_stream(f->ledger), STREAM_INNER, f->me);
	assert_int_equal(thread_sim_start(f->th, NULL), 0);
	thread_sim_run(f->th);
}

static void end(struct fixture *f, struct task *t)
{
	thread_stop(f->th);
	instantiator_free(f->plan);
	ledger_free(f->ledger);
	thread_free(f->th);
	store_close(f->store);
	task_unref(t);
}

static void after_a_silence_each_policy_keeps_its_dates_and_records_the_others(void **state)
{
	/* 120, 180, ... 660: nobody led. */
	static const struct {
		enum catchup_mode mode;
		int max, made, skipped;
		int64_t first;
	} rows[] = {
		{ CATCHUP_ALL, 0, 10, 0, 120 },   { CATCHUP_LATEST, 0, 1, 9, 660 },
		{ CATCHUP_NONE, 0, 0, 10, 0 },    { CATCHUP_ALL, 3, 3, 7, 540 },
		{ CATCHUP_ALL, 100, 10, 0, 120 },
	};
	struct fixture f;

	(void)state;
	for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
		struct task *t = minutes(rows[k].mode, rows[k].max);
		begin(&f, t, 660);
		assert_int_equal(f.made, rows[k].made);
		assert_int_equal(f.skipped, rows[k].skipped);
		assert_int_equal(f.first_made, rows[k].first);
		assert_int_equal(f.last, 660);
		end(&f, t);
	}
}

/* The thread stands still from second 90 on; 120, 180 and 240 come due meanwhile. */
static void a_stall_misses_what_came_due_more_than_two_seconds_ago(void **state)
{
	static const struct {
		enum catchup_mode mode;
		int64_t again;
		int made, skipped;
	} rows[] = {
		{ CATCHUP_NONE, 122, 1, 0 },   { CATCHUP_NONE, 123, 0, 1 },
		{ CATCHUP_NONE, 242, 1, 2 },   { CATCHUP_NONE, 243, 0, 3 },
		{ CATCHUP_LATEST, 242, 2, 1 }, { CATCHUP_LATEST, 243, 1, 2 },
		{ CATCHUP_ALL, 243, 3, 0 },
	};
	struct fixture f;

	(void)state;
	for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
		struct task *t = minutes(rows[k].mode, 0);
		begin(&f, t, 61);
		go_to(&f, 90);
		go_to(&f, rows[k].again);
		assert_int_equal(f.made, rows[k].made);
		assert_int_equal(f.skipped, rows[k].skipped);
		go_to(&f, 300); /* in time */
		assert_int_equal(f.last, 300);
		end(&f, t);
	}
}

/* Set forward by an hour: nothing stood still, every date of it is simply due. */
static void a_clock_that_is_set_forward_misses_nothing(void **state)
{
	struct task *t = minutes(CATCHUP_NONE, 0);
	struct fixture f;

	(void)state;
	begin(&f, t, 61);
	wall_s += 3600;
	mono_s += 10;
	thread_sim_run(f.th);
	assert_int_equal(f.made, 60);
	assert_int_equal(f.skipped, 0);
	end(&f, t);
}

static void a_date_is_made_when_it_is_due_and_once(void **state)
{
	struct task *t = minutes(CATCHUP_ALL, 0);
	struct fixture f;

	(void)state;
	begin(&f, t, 61);
	assert_int_equal(f.total, 0);
	go_to(&f, 119);
	assert_int_equal(f.total, 0);
	go_to(&f, 120);
	assert_int_equal(f.total, 1);
	go_to(&f, 179);
	assert_int_equal(f.total, 1);
	put(&f, t, TS_ONLINE); /* an edit makes no second row */
	assert_int_equal(f.total, 1);
	end(&f, t);
}

static void a_clock_that_is_set_back_makes_nothing_twice_and_loses_nothing(void **state)
{
	struct task *t = minutes(CATCHUP_ALL, 0);
	struct fixture f;

	(void)state;
	begin(&f, t, 61);
	go_to(&f, 3600);
	assert_int_equal(f.made, 59);
	wall_s = 120;
	mono_s += 20;
	thread_sim_run(f.th);
	assert_int_equal(f.made, 59);
	go_to(&f, 3660);
	assert_int_equal(f.made, 60);
	assert_int_equal(f.last, 3660);
	end(&f, t);
}

/* Midnight came at 00:01:00 by the rules of then; by those of now it comes at 01:00 UTC. */
static void new_rules_of_a_zone_make_no_second_row_for_a_date(void **state)
{
	struct schedule s = { .unit = CU_DAY,
		              .step = 1,
		              .tz = zone("Etc/GMT+1"),
		              .start = -DAY_S,
		              .end = PLAN_NEVER };
	struct task *t = minutes(CATCHUP_ALL, 0);
	struct fixture f;

	(void)state;
	plan_free(t->plan);
	assert_int_equal(plan_new(&s, &t->plan, NULL), 0);
	begin(&f, t, 61);
	go_to(&f, 3700);
	assert_int_equal(f.total, 0);
	go_to(&f, DAY_S + 3600);
	assert_int_equal(f.made, 1);
	assert_int_equal(f.last, DAY_S + 3600);
	end(&f, t);
}

static void an_offline_task_makes_nothing_and_catches_up_when_it_is_back(void **state)
{
	struct task *t = minutes(CATCHUP_ALL, 0);
	struct fixture f;

	(void)state;
	begin(&f, t, 61);
	put(&f, t, TS_OFFLINE);
	go_to(&f, 300);
	assert_int_equal(f.total, 0);
	put(&f, t, TS_ONLINE);
	assert_int_equal(f.made, 4);
	end(&f, t);
}

static void weeks_of_minutes_are_made_within_the_credit_of_a_small_ring(void **state)
{
	struct task *t = minutes(CATCHUP_LATEST, 0);
	struct fixture f;

	(void)state;
	t->catchup = CATCHUP_ALL;
	begin(&f, t, 60 + 30000 * 60);
	assert_int_equal(f.made, 30000);
	end(&f, t);
}

/* Who did not stop there would look at two thousand million minutes. */
static void a_large_catch_up_looks_no_further_back_than_what_was_missed(void **state)
{
	struct rlimit cpu = { 10, RLIM_INFINITY };
	struct task *t = minutes_since(-INT64_C(200000000000), CATCHUP_ALL, INT32_MAX);
	struct fixture f;

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_CPU, &cpu), 0);
	begin(&f, t, 660);
	assert_int_equal(f.made, 10);
	assert_int_equal(f.skipped, 0);
	end(&f, t);
}

static size_t rows_of(struct store *s)
{
	return store_mem_count_live(s) + store_mem_count_done(s);
}

static int sum_ranges(void *ctx, const struct store_range *r)
{
	*(int64_t *)ctx += r->dates;
	return 0;
}

/* Ten years of minutes: 5,260,320 dates. */
static void ten_years_of_silence_are_one_record(void **state)
{
	static const struct {
		enum catchup_mode mode;
		int max, made;
	} rows[] = { { CATCHUP_LATEST, 0, 1 }, { CATCHUP_NONE, 0, 0 }, { CATCHUP_ALL, 5, 5 } };
	enum { DATES = 5260320 };
	struct fixture f;

	(void)state;
	for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
		struct task *t = minutes(rows[k].mode, rows[k].max);
		int64_t stored = 0;
		begin(&f, t, 60 + DATES * INT64_C(60));
		assert_int_equal(f.made, rows[k].made);
		assert_int_equal(f.skipped, 0);
		assert_int_equal(f.ranges, 1);
		assert_int_equal(f.made + f.left_out, DATES);
		assert_int_equal(rows_of(f.store), rows[k].made);
		assert_int_equal(store_load_ranges(f.store, false, sum_ranges, &stored, NULL), 0);
		assert_int_equal(stored, f.left_out);
		go_to(&f, wall_s + 60);
		assert_int_equal(f.made, rows[k].made + 1);
		end(&f, t);
	}
}

static int sum_taken(void *ctx, const struct store_range *r)
{
	*(int64_t *)ctx += r->taken;
	return 0;
}

static void a_date_is_known_before_its_record_is_stored(void **state)
{
	static const enum ask asks[] = { ASK_FORCE, ASK_REDO };
	struct fixture f;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct task *t = minutes(CATCHUP_LATEST, 0);
		int64_t taken = 0;
		begin(&f, t, 61);
		f.ask_at_once = (uint8_t)asks[k];
		put(&f, t, TS_OFFLINE);
		go_to(&f, 61 + 200 * INT64_C(60));
		put(&f, t, TS_ONLINE);
		thread_sim_run(f.th);
		assert_int_equal(f.ranges, 1);
		assert_int_equal(f.came_from, ST_SKIPPED);
		assert_int_equal(store_load_ranges(f.store, false, sum_taken, &taken, NULL), 0);
		assert_int_equal(taken, 1);
		end(&f, t);
	}
}

/* 100 dates are rows; one more is a record. */
static void few_dates_left_out_have_rows(void **state)
{
	struct fixture f;

	(void)state;
	for (int more = 0; more < 2; more++) {
		struct task *t = minutes(CATCHUP_NONE, 0);
		begin(&f, t, 60 + (INSTANTIATOR_ROWS_MAX + more) * INT64_C(60));
		assert_int_equal(f.skipped, more ? 0 : INSTANTIATOR_ROWS_MAX);
		assert_int_equal(f.left_out, more ? INSTANTIATOR_ROWS_MAX + 1 : 0);
		assert_int_equal(f.ranges, more);
		end(&f, t);
	}
}

static int64_t walk_back(const struct plan *p, int64_t now)
{
	int64_t t = plan_prev(p, now + 1);

	while (t != PLAN_BEFORE && plan_due(p, t) > now)
		t = plan_prev(p, t);
	return t;
}

static void what_came_due_last_is_what_a_walk_finds(void **state)
{
	struct schedule some[] = { every(7, CU_MINUTE, "Europe/Berlin"), every(1, CU_HOUR, "UTC"),
		                   every(1, CU_DAY, "Europe/Berlin"),
		                   every(1, CU_MONTH, "America/New_York"),
		                   every(2, CU_YEAR, "UTC") };
	const int64_t offsets[] = { 0, 59, 3 * DAY_S, 40 * DAY_S };

	(void)state;
	for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
		for (size_t k = 0; k < sizeof offsets / sizeof offsets[0]; k++) {
			struct schedule s = some[i];
			bool is_long = s.unit >= CU_DAY;
			s.fire = k % 2 ? FIRE_END : FIRE_START;
			s.offset.kind = is_long ? OFF_CLOCK : OFF_ELAPSED;
			s.offset.days = is_long ? (int32_t)(offsets[k] / DAY_S) : 0;
			s.offset.seconds = is_long ? 5400 : offsets[k];
			s.start = local("UTC", "2026-02-10 08:00");
			struct plan *p = plan_of(s);
			for (int64_t at = local("UTC", "2026-02-09"), n = 0; n < 400; n++) {
				assert_int_equal(instantiator_last_due(p, at), walk_back(p, at));
				at += 86400 + n * 37;
			}
			int64_t back = local("Europe/Berlin", "2026-10-25 01:00");
			for (int64_t at = back; at < back + 6 * 3600; at += 300)
				assert_int_equal(instantiator_last_due(p, at), walk_back(p, at));
			plan_free(p);
		}
}

/* A walk over them would take minutes: there are 315 million, in each of a hundred calls. */
static void what_came_due_last_is_found_behind_years_of_seconds(void **state)
{
	struct schedule s = every(1, CU_MINUTE, "UTC");
	struct cron *each = NULL;

	(void)state;
	assert_int_equal(cron_parse("* * * * * *", NULL, &each, NULL), 0);
	s.cron = each;
	s.unit = CU_NONE;
	s.offset.seconds = 3650 * DAY_S;
	struct plan *p = plan_of(s);
	int64_t now = local("UTC", "2026-06-01 12:00");
	for (int i = 0; i < 100; i++)
		assert_int_equal(instantiator_last_due(p, now + i), now + i - 3650 * DAY_S);
	plan_free(p);
	cron_free(each);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			after_a_silence_each_policy_keeps_its_dates_and_records_the_others),
		cmocka_unit_test(a_stall_misses_what_came_due_more_than_two_seconds_ago),
		cmocka_unit_test(a_clock_that_is_set_forward_misses_nothing),
		cmocka_unit_test(a_date_is_made_when_it_is_due_and_once),
		cmocka_unit_test(a_clock_that_is_set_back_makes_nothing_twice_and_loses_nothing),
		cmocka_unit_test(new_rules_of_a_zone_make_no_second_row_for_a_date),
		cmocka_unit_test(an_offline_task_makes_nothing_and_catches_up_when_it_is_back),
		cmocka_unit_test(what_came_due_last_is_what_a_walk_finds),
		cmocka_unit_test(what_came_due_last_is_found_behind_years_of_seconds),
		cmocka_unit_test(weeks_of_minutes_are_made_within_the_credit_of_a_small_ring),
		cmocka_unit_test(a_large_catch_up_looks_no_further_back_than_what_was_missed),
		cmocka_unit_test(ten_years_of_silence_are_one_record),
		cmocka_unit_test(few_dates_left_out_have_rows),
		cmocka_unit_test(a_date_is_known_before_its_record_is_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
