/* baseserver/sort/sorter: the order of grants and the choice of sessions, with a real ledger. */
#include "tests/unit/sorting.h"

static void the_higher_priority_starts_first_then_the_earlier_due(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 3, 0, DISPATCH_LEAST_LOADED);
	put(&f, 2, 9, 0, DISPATCH_LEAST_LOADED);
	now_us += US_PER_S;
	ready(&f, 1, 60);
	now_us += US_PER_S;
	ready(&f, 2, 120);
	now_us += US_PER_S;
	ready(&f, 1, 180);
	ready(&f, 2, 60);
	assert_int_equal(f.n, 0);
	seat(&f, 1, 4, true);
	assert_int_equal(f.n, 4);
	assert_true(f.granted[0].task == 2 && f.granted[0].run_date == 120);
	assert_true(f.granted[1].task == 2 && f.granted[1].run_date == 60);
	assert_true(f.granted[2].task == 1 && f.granted[2].run_date == 60);
	assert_true(f.granted[3].task == 1 && f.granted[3].run_date == 180);
	end(&f);
}

static void of_those_that_came_due_at_once_the_earlier_date_starts_first(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t id = 1; id <= 3; id++)
		put(&f, id, 11 - (int)id, 0, DISPATCH_LEAST_LOADED);
	ready(&f, 1, 180);
	ready(&f, 2, 60);
	ready(&f, 3, 120);
	now_us += 30 * 60 * US_PER_S; /* by now they are as important as can be, all three */
	seat(&f, 1, 3, true);
	assert_int_equal(f.n, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(f.granted[i].run_date, 60 * (i + 1));
	end(&f);
}

static void what_waits_long_enough_comes_before_what_is_important(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 1, 0, DISPATCH_LEAST_LOADED);
	put(&f, 2, 8, 0, DISPATCH_LEAST_LOADED);
	ready(&f, 1, 60);
	now_us += 69 * 60 * US_PER_S; /* six steps: 7 */
	ready(&f, 2, 60);
	seat(&f, 1, 1, true);
	assert_int_equal(f.granted[0].task, 2);
	now_us += 2 * 60 * US_PER_S; /* seven: 8, and it is due earlier */
	ready(&f, 2, 120);
	seat(&f, 1, 2, true);
	assert_int_equal(f.granted[1].task, 1);
	end(&f);
}

static void a_priority_given_later_counts(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 5, 0, DISPATCH_LEAST_LOADED);
	ready(&f, 1, 60);
	now_us += US_PER_S;
	struct inst_key late = ready(&f, 1, 120);
	ask(&f, ASK_PRIORITY, late, 9);
	seat(&f, 1, 1, true);
	assert_int_equal(f.granted[0].run_date, 120);
	end(&f);
}

static void a_capped_task_holds_nobody_back(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 9, 1, DISPATCH_LEAST_LOADED);
	put(&f, 2, 2, 0, DISPATCH_LEAST_LOADED);
	struct inst_key first = ready(&f, 1, 60);
	ready(&f, 1, 120);
	ready(&f, 2, 60);
	seat(&f, 1, 10, true);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.granted[0].task, 1);
	assert_int_equal(f.granted[1].task, 2);
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f.me, on_answers);
	struct proposal *p = proposals_add(ps, ASK_ENDED, first);
	p->token = (uint64_t)ledger_epoch(f.ledger) << 40 | 1;
	p->end = AE_OK;
	assert_int_equal(ledger_propose(f.ledger, ps), 0);
	thread_sim_run(f.th);
	assert_int_equal(f.n, 3);
	assert_true(f.granted[2].task == 1 && f.granted[2].run_date == 120);
	end(&f);
}

static void credit_is_never_overdrawn_and_a_full_session_gets_nothing(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 5, 0, DISPATCH_LEAST_LOADED);
	for (int d = 1; d <= 6; d++)
		ready(&f, 1, d * 60);
	seat(&f, 1, 2, true);
	assert_int_equal(f.n, 2);
	seat(&f, 2, 9, false); /* does not accept */
	assert_int_equal(f.n, 2);
	seat(&f, 1, 3, true); /* a running total: one more */
	assert_int_equal(f.n, 3);
	seat(&f, 2, 9, true);
	assert_int_equal(f.n, 6);
	end(&f);
}

/* Two types of one broker, with more slots than it takes jobs. */
static void seats_of_one(struct fixture *f, uint32_t jobs_max)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct session_news *n = mem_new(sizeof *n);
		*n = (struct session_news){ .session = 1 + i,
			                    .broker = 1,
			                    .accepts = true,
			                    .limit = 20,
			                    .jobs_max = jobs_max,
			                    .type = mem_str(i ? "other" : "t"),
			                    .broker_name = mem_str("b") };
		assert_int_equal(sorter_session(f->sorter, n), 0);
	}
	thread_sim_run(f->th);
}

static void all_types_of_a_machine_together_get_jobs_max_jobs(void **state)
{
	struct task other = { .id = 2, .type = "other" };
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 5, 0, DISPATCH_LEAST_LOADED);
	put_task(&f, &other);
	for (int d = 1; d <= 8; d++)
		ready(&f, 1 + (uint32_t)d % 2, d * 60);
	seats_of_one(&f, 3);
	assert_int_equal(f.n, 3);
	over(&f, f.granted[1]);
	assert_int_equal(f.n, 4);
	ask(&f, ASK_KILL, f.granted[2], 0); /* it runs on, and has its place */
	assert_int_equal(f.n, 4);
	seats_of_one(&f, 5);
	assert_int_equal(f.n, 6);
	seats_of_one(&f, 0); /* a release ago: it did not say */
	assert_int_equal(f.n, 8);
	end(&f);
}

/* A session with one place; and what the ledger is asked before the sorter's first grant comes. */
static void seat_and_ask(struct fixture *f, enum ask what, struct inst_key key)
{
	struct session_news *n = mem_new(sizeof *n);
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f->me, on_answers);

	*n = (struct session_news){ .session = 1,
		                    .broker = 1,
		                    .accepts = true,
		                    .limit = 1,
		                    .type = mem_str("t"),
		                    .broker_name = mem_str("b") };
	proposals_add(ps, what, key)->intent = KI_USER;
	assert_int_equal(sorter_session(f->sorter, n), 0);
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
	while (thread_sim_busy(f->th))
		thread_sim_step(f->th, 1);
}

static void a_refused_grant_gives_its_credit_back(void **state)
{
	struct inst_key a;
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 5, 0, DISPATCH_LEAST_LOADED);
	a = ready(&f, 1, 60);
	seat_and_ask(&f, ASK_FREEZE, a);
	assert_int_equal(f.n, 0);
	ready(&f, 1, 120);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.granted[0].run_date, 120);
	end(&f);
}

static void a_grant_that_is_refused_takes_no_place_of_the_machine(void **state)
{
	struct inst_key a;
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 5, 0, DISPATCH_LEAST_LOADED);
	a = ready(&f, 1, 60);
	seat_and_ask(&f, ASK_FREEZE, a);
	assert_int_equal(f.n, 0);
	for (int d = 2; d <= 5; d++)
		ready(&f, 1, d * 60);
	seats_of_one(&f, 3);
	assert_int_equal(f.n, 3);
	end(&f);
}

static void what_is_frozen_while_it_is_asked_for_holds_nobody_back(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 5, 0, DISPATCH_LEAST_LOADED);
	struct inst_key frozen = ready(&f, 1, 60);
	ready(&f, 1, 120);
	seat_and_ask(&f, ASK_FREEZE, frozen);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.granted[0].run_date, 120);
	end(&f);
}

static void what_ends_while_it_is_asked_for_leaves_its_place_to_any_priority(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 5, 1, DISPATCH_LEAST_LOADED);
	struct inst_key killed = ready(&f, 1, 60), other = ready(&f, 1, 120);
	ask(&f, ASK_PRIORITY, other, 3);
	seat_and_ask(&f, ASK_KILL, killed);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.granted[0].run_date, 120);
	end(&f);
}

static bool disk_room(void *ctx, uint64_t *ret_free, uint64_t *ret_min)
{
	*ret_free = *ret_min = 1;
	return *(bool *)ctx;
}

static void a_disk_that_was_full_is_looked_at_again_without_a_word_from_anybody(void **state)
{
	struct fixture f;
	bool room = false;

	(void)state;
	begin(&f);
	sorter_set_room(f.sorter, disk_room, &room);
	put(&f, 1, 5, 0, DISPATCH_LEAST_LOADED);
	seat(&f, 1, 10, true);
	ready(&f, 1, 60);
	assert_int_equal(f.n, 0);
	room = true;
	now_us += 2 * US_PER_S;
	thread_sim_run(f.th);
	assert_int_equal(f.n, 1);
	end(&f);
}

static void sessions_are_chosen_by_the_tasks_policy(void **state)
{
	struct fixture f;
	int per[4] = { 0 };

	(void)state;
	begin(&f);
	put(&f, 1, 5, 0, DISPATCH_ROUND_ROBIN);
	put(&f, 2, 5, 0, DISPATCH_HASH);
	put(&f, 3, 5, 0, DISPATCH_LEAST_LOADED);
	for (uint32_t s = 1; s <= 3; s++)
		seat(&f, s, 20, true);
	for (int d = 1; d <= 9; d++)
		ready(&f, 1, d * 60);
	for (int i = 0; i < 9; i++)
		per[f.session[i]]++;
	assert_true(per[1] == 3 && per[2] == 3 && per[3] == 3);
	for (int d = 1; d <= 9; d++)
		ready(&f, 3, d * 60);
	memset(per, 0, sizeof per);
	for (int i = 9; i < 18; i++)
		per[f.session[i]]++;
	assert_true(per[1] == 3 && per[2] == 3 && per[3] == 3);
	ready(&f, 2, 60);
	uint32_t chosen = f.session[18];
	ask(&f, ASK_KILL, (struct inst_key){ 60, 2, 0 }, 0);
	end(&f);
	begin(&f); /* the same broker another time */
	put(&f, 2, 5, 0, DISPATCH_HASH);
	for (uint32_t s = 3; s >= 1; s--)
		seat(&f, s, 20, true);
	ready(&f, 2, 60);
	assert_int_equal(f.session[0], chosen);
	end(&f);
}

/* It lives as long as the test: put_task() copies what it points to not. */
static struct expr *least_of(const char *text)
{
	struct expr_wrong wrong;
	struct expr *e;

	assert_int_equal(rank_read(text, &e, &wrong), 0);
	return e;
}

static void put_least(struct fixture *f, uint32_t id, const struct expr *least)
{
	struct task t = { .id = id, .priority = 5, .dispatch = DISPATCH_LEAST, .least = least };

	put_task(f, &t);
}

static void the_broker_with_the_smallest_value_of_the_tasks_expression_is_chosen(void **state)
{
	struct rank_load small = { .is_told = true, .slots = 2, .cpu_permille = 100 };
	struct rank_load large = { .is_told = true, .slots = 8, .cpu_permille = 900 };
	struct expr *share = least_of("running / slots"), *cpu = least_of("cpu");
	struct expr *etl = least_of("\"etl\" in groups ? 0 : 1 / 0");
	struct fixture f;
	int per[4] = { 0 };

	(void)state;
	begin(&f);
	put_least(&f, 1, share);
	put_least(&f, 2, cpu);
	put_least(&f, 3, etl);
	seat_of(&f, 1, "small", "web", small, 20);
	seat_of(&f, 2, "large", "etl", large, 20);
	for (int d = 1; d <= 10; d++)
		ready(&f, 1, d * 60);
	for (int i = 0; i < 10; i++)
		per[f.session[i]]++;
	assert_true(per[1] == 2 && per[2] == 8);
	for (int d = 1; d <= 5; d++)
		ready(&f, 2, d * 60);
	for (int i = 10; i < 15; i++)
		assert_int_equal(f.session[i], 1);
	seat_of(&f, 1, "small", "web", large, 20); /* its load is another now: they are equal */
	seat_of(&f, 2, "large", "etl", small, 20);
	ready(&f, 2, 6 * 60);
	assert_int_equal(f.session[15], 2);
	ready(&f, 3, 60); /* what is not known for one comes after the other */
	assert_int_equal(f.session[16], 2);
	end(&f);
	free(share);
	free(cpu);
	free(etl);
}

static void jobs_on_their_way_to_a_broker_count_for_the_next_choice(void **state)
{
	struct expr *e = least_of("running");
	struct rank_load load = { .is_told = true, .slots = 9 };
	struct fixture f;
	int per[4] = { 0 };

	(void)state;
	begin(&f);
	put_least(&f, 1, e);
	put(&f, 2, 5, 0, DISPATCH_LEAST_LOADED);
	for (int d = 1; d <= 9; d++) {
		ready(&f, 1, d * 60);
		ready(&f, 2, d * 60);
	}
	/* All wait, and are granted in one turn. */
	struct session_news *n[3];
	for (uint32_t s = 1; s <= 3; s++) {
		n[s - 1] = mem_new(sizeof *n[0]);
		*n[s - 1] = (struct session_news){ .session = s,
			                           .broker = s,
			                           .accepts = true,
			                           .type = mem_str("t"),
			                           .broker_name = mem_fmt("b%u", s),
			                           .groups = mem_array(1, sizeof(char *)),
			                           .load = load,
			                           .limit = 20 };
	}
	for (int s = 0; s < 3; s++)
		assert_int_equal(sorter_session(f.sorter, n[s]), 0);
	thread_sim_run(f.th);
	for (int i = 0; i < 18; i++)
		per[f.session[i]]++;
	assert_true(per[1] == 6 && per[2] == 6 && per[3] == 6);
	end(&f);
	free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_higher_priority_starts_first_then_the_earlier_due),
		cmocka_unit_test(of_those_that_came_due_at_once_the_earlier_date_starts_first),
		cmocka_unit_test(what_waits_long_enough_comes_before_what_is_important),
		cmocka_unit_test(a_priority_given_later_counts),
		cmocka_unit_test(a_capped_task_holds_nobody_back),
		cmocka_unit_test(credit_is_never_overdrawn_and_a_full_session_gets_nothing),
		cmocka_unit_test(all_types_of_a_machine_together_get_jobs_max_jobs),
		cmocka_unit_test(a_refused_grant_gives_its_credit_back),
		cmocka_unit_test(a_grant_that_is_refused_takes_no_place_of_the_machine),
		cmocka_unit_test(what_is_frozen_while_it_is_asked_for_holds_nobody_back),
		cmocka_unit_test(what_ends_while_it_is_asked_for_leaves_its_place_to_any_priority),
		cmocka_unit_test(
			a_disk_that_was_full_is_looked_at_again_without_a_word_from_anybody),
		cmocka_unit_test(sessions_are_chosen_by_the_tasks_policy),
		cmocka_unit_test(
			the_broker_with_the_smallest_value_of_the_tasks_expression_is_chosen),
		cmocka_unit_test(jobs_on_their_way_to_a_broker_count_for_the_next_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
