/* baseserver/sort/sorter, gates 5 to 12: pools, quotas, shares, age, and why something waits; with
 * a real ledger, which proves the caps again. */
#include "baseserver/ledger/pools.h"
#include "baseserver/model/why.h"
#include "baseserver/sort/sorter.h"
#include "broker/taskbroker/threshold.h"
#include "tests/unit/sorting.h"
#include "util/buf.h"

static void put_taking(struct fixture *f, uint32_t id, int priority, struct task_pool *pools,
                       size_t n)
{
	put_task(f, &(struct task){ .id = id, .priority = priority, .pools = pools, .n_pools = n });
}

static void started(struct fixture *f, struct inst_key key)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f->me, on_answers);
	struct proposal *p = proposals_add(ps, ASK_STARTED, key);
	struct instance i;

	assert_true(ledger_find(f->ledger, key, &i));
	p->token = i.token;
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
	thread_sim_run(f->th);
}

static const struct why_line *why(struct fixture *f, struct inst_key key)
{
	static struct why_line w;
	struct instance i;

	assert_true(ledger_find(f->ledger, key, &i));
	w = (struct why_line){ 0 };
	assert_true(sorter_explain(f->sorter, key, i.slot, &w));
	return &w;
}

static void says(struct fixture *f, struct inst_key key, enum why_code code, const char *line)
{
	const struct why_line *w = why(f, key);
	struct buf out;

	buf_init(&out);
	why_print_line(w, &out);
	if (w->code != code || strcmp(buf_str(&out), line) != 0)
		fail_msg("%d: %s", (int)w->code, buf_str(&out));
	buf_done(&out);
}

/* --- pools ------------------------------------------------------------------- */

static void a_pool_of_two_never_holds_three(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct inst_key k[5];
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 2);
	put_taking(&f, 1, 5, &dw, 1);
	for (int d = 0; d < 5; d++)
		k[d] = ready(&f, 1, (d + 1) * 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 2);
	says(&f, k[2], WHY_POOL_FULL, "pool dw: 2 of 2 slots are taken, it takes 1");
	over(&f, k[0]);
	assert_int_equal(f.n, 3);
	over(&f, k[1]);
	over(&f, k[2]);
	assert_int_equal(f.n, 5);
	end(&f);
}

static void who_takes_no_slot_is_not_held_back_by_who_waits_for_one(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 1);
	put_taking(&f, 1, 10, &dw, 1);
	put(&f, 2, 1, 0, DISPATCH_LEAST_LOADED);
	ready(&f, 1, 60);
	ready(&f, 1, 120);
	ready(&f, 2, 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 2);
	assert_true(f.granted[0].task == 1 && f.granted[1].task == 2);
	end(&f);
}

static void several_pools_are_taken_at_once_or_not_at_all(void **state)
{
	struct task_pool ab[] = { { "a", 1 }, { "b", 1 } }, ba[] = { { "b", 1 }, { "a", 1 } };
	struct inst_key k[4];
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "a", 1);
	pool(&f, "b", 1);
	put_taking(&f, 1, 5, ab, 2);
	put_taking(&f, 2, 5, ba, 2);
	put_taking(&f, 3, 1, &ab[1], 1);
	for (uint32_t t = 1; t <= 3; t++)
		k[t] = ready(&f, t, 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 1); /* task 2 holds neither a nor b while it waits */
	over(&f, f.granted[0]);
	assert_int_equal(f.n, 2);
	over(&f, f.granted[1]);
	assert_int_equal(f.n, 3);
	assert_int_equal(f.granted[2].task, 3);
	(void)k;
	end(&f);
}

static void a_pool_that_shrinks_stops_new_starts_and_one_that_grows_lets_them_in(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct inst_key k[6];
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 3);
	put_taking(&f, 1, 5, &dw, 1);
	for (int d = 0; d < 6; d++)
		k[d] = ready(&f, 1, (d + 1) * 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 3);
	pool(&f, "dw", 1);
	over(&f, k[0]);
	over(&f, k[1]);
	assert_int_equal(f.n, 3); /* one still runs */
	over(&f, k[2]);
	assert_int_equal(f.n, 4);
	pool(&f, "dw", 3);
	assert_int_equal(f.n, 6);
	end(&f);
}

static void a_definition_that_takes_more_counts_for_what_runs(void **state)
{
	struct task_pool one = { "dw", 1 }, two = { "dw", 2 };
	struct inst_key k[3];
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 4);
	put_taking(&f, 1, 5, &one, 1);
	for (int d = 0; d < 3; d++)
		k[d] = ready(&f, 1, (d + 1) * 60);
	seat(&f, 1, 2, true);
	assert_int_equal(f.n, 2);
	put_task(&f, &(struct task){ .id = 1, .version = 2, .pools = &two, .n_pools = 1 });
	seat(&f, 1, 100, true);
	says(&f, k[2], WHY_POOL_FULL, "pool dw: 4 of 4 slots are taken, it takes 2");
	over(&f, k[0]);
	assert_int_equal(f.n, 3);
	over(&f, k[1]);
	over(&f, k[2]);
	put_task(&f, &(struct task){ .id = 1, .version = 3 });
	ready(&f, 1, 600);
	assert_int_equal(f.n, 4);
	end(&f);
}

static void a_pool_that_is_not_there_or_too_small_says_so(void **state)
{
	struct task_pool dw = { "dw", 3 };
	struct inst_key k;
	struct fixture f;

	(void)state;
	begin(&f);
	put_taking(&f, 1, 5, &dw, 1);
	seat(&f, 1, 100, true);
	k = ready(&f, 1, 60);
	says(&f, k, WHY_POOL_MISSING, "there is no pool dw");
	pool(&f, "dw", 2);
	says(&f, k, WHY_POOL_SMALL, "it takes 3 slots of pool dw, which has 2");
	pool(&f, "dw", 3);
	assert_int_equal(f.n, 1);
	end(&f);
}

static void pools_and_what_is_taken_of_them_outlive_the_sorter(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 2);
	put_taking(&f, 1, 5, &dw, 1);
	for (int d = 0; d < 4; d++)
		ready(&f, 1, (d + 1) * 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 2);
	struct thread *th = thread_new("next", &test_clock);
	struct sorter *next = sorter_new(th, f.ledger);
	struct why_line w;
	struct instance i;
	assert_true(ledger_find(f.ledger, (struct inst_key){ 240, 1, 0 }, &i));
	assert_true(sorter_explain(next, i.key, i.slot, &w));
	assert_int_equal(w.code, WHY_POOL_FULL);
	sorter_free(next);
	thread_free(th);
	end(&f);
}

/* --- shares ------------------------------------------------------------------ */

static int granted_of(const struct fixture *f, uint32_t task, int from)
{
	int n = 0;

	for (int i = from; i < f->n; i++)
		n += f->granted[i].task == task;
	return n;
}

static void backfills_get_their_tenth_while_live_work_waits(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 20);
	put_taking(&f, 1, 9, &dw, 1);
	put_taking(&f, 2, 1, &dw, 1);
	for (int d = 0; d < 25; d++)
		ready(&f, 1, (d + 1) * 60);
	for (int d = 0; d < 5; d++)
		backfilled(&f, 2, (d + 1) * 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 20);
	assert_int_equal(granted_of(&f, 2, 0), 2);
	end(&f);
}

static void live_work_gets_half_while_a_great_backfill_waits(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 10);
	put_taking(&f, 1, 2, &dw, 1);
	put_taking(&f, 2, 9, &dw, 1);
	for (int d = 0; d < 20; d++)
		backfilled(&f, 2, (d + 1) * 60);
	for (int d = 0; d < 20; d++)
		ready(&f, 1, (d + 1) * 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 10);
	assert_int_equal(granted_of(&f, 1, 0), 5);
	end(&f);
}

static void nothing_is_kept_for_who_has_no_broker_to_go_to(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct inst_key k;
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 2);
	put_taking(&f, 1, 5, &dw, 1);
	put_task(&f, &(struct task){ .id = 2, .pools = &dw, .n_pools = 1, .type = "rare" });
	k = backfilled(&f, 2, 60);
	ready(&f, 1, 60);
	ready(&f, 1, 120);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 2);
	assert_int_equal(granted_of(&f, 1, 0), 2);
	over(&f, f.granted[0]);
	says(&f, k, WHY_NO_BROKER, "no broker of  has task type rare online");
	end(&f);
}

static void what_was_kept_is_given_when_who_it_was_for_has_gone(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct inst_key last;
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 10);
	put_taking(&f, 1, 2, &dw, 1);
	put_taking(&f, 2, 9, &dw, 1);
	last = ready(&f, 1, 60);
	for (int d = 0; d < 20; d++)
		backfilled(&f, 2, (d + 1) * 60);
	seat(&f, 1, 100, true);
	/* Half is kept while one of them waits; once it runs, the rest is the backfill's. */
	assert_int_equal(f.n, 10);
	assert_int_equal(granted_of(&f, 1, 0), 1);
	(void)last;
	end(&f);
}

static void who_takes_much_is_not_passed_for_ever_by_who_takes_little(void **state)
{
	struct task_pool much = { "dw", 2 }, little = { "dw", 1 };
	struct inst_key big;
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 2);
	put_taking(&f, 1, 8, &much, 1);
	put_taking(&f, 2, 8, &little, 1);
	ready(&f, 2, 60);
	seat(&f, 1, 1000, true);
	big = ready(&f, 1, 60);
	for (int d = 2; d <= 4; d++) { /* while it is young, one slot does not lie idle */
		ready(&f, 2, d * 60);
		over(&f, f.granted[f.n - 1]);
	}
	now_us += 30 * 60 * US_PER_S;
	ready(&f, 2, 600);
	int n = f.n;
	for (int i = 0; i < n; i++) {
		struct instance inst;
		if (ledger_find(f.ledger, f.granted[i], &inst))
			over(&f, f.granted[i]);
	}
	assert_true(inst_key_eq(f.granted[n], big));
	end(&f);
}

/* --- quotas, one at a time --------------------------------------------------- */

static void a_projects_quota_counts_all_its_workflows(void **state)
{
	struct inst_key k;
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, POOL_PROJECT "p", 2);
	put_task(&f, &(struct task){ .id = 1, .name = "p/a/t" });
	put_task(&f, &(struct task){ .id = 2, .name = "p/b/t" });
	put_task(&f, &(struct task){ .id = 3, .name = "q/a/t" });
	for (int64_t d = 60; d <= 120; d += 60)
		for (uint32_t t = 1; t <= 3; t++)
			k = ready(&f, t, d);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 4);
	assert_int_equal(granted_of(&f, 3, 0), 2);
	k = (struct inst_key){ 120, 1, 0 };
	says(&f, k, WHY_PROJECT_FULL, "quota of project p: 2 of 2 run");
	pool(&f, POOL_PROJECT "p", -1);
	assert_int_equal(f.n, 6);
	end(&f);
}

static void a_workflows_quota_counts_all_its_tasks(void **state)
{
	struct inst_key k;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t t = 1; t <= 3; t++) {
		put_task(&f, &(struct task){ .id = t, .name = "p/w/t", .workflow_cap = 2 });
		k = ready(&f, t, 60);
	}
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 2);
	k.task = 6 - f.granted[0].task - f.granted[1].task;
	says(&f, k, WHY_WORKFLOW_FULL, "workflow quota: 2 of 2 run");
	over(&f, f.granted[0]);
	assert_int_equal(f.n, 3);
	end(&f);
}

static void an_unordered_task_runs_one_date_at_a_time(void **state)
{
	struct inst_key k[2];
	struct fixture f;

	(void)state;
	begin(&f);
	put_task(&f, &(struct task){ .id = 1, .serial = SERIAL_UNORDERED, .concurrency = 7 });
	k[0] = ready(&f, 1, 60);
	k[1] = ready(&f, 1, 120);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 1);
	says(&f, inst_key_eq(f.granted[0], k[0]) ? k[1] : k[0], WHY_UNORDERED,
	     "one at a time: another date of the task runs");
	over(&f, f.granted[0]);
	assert_int_equal(f.n, 2);
	end(&f);
}

/* --- why --------------------------------------------------------------------- */

static void each_gate_of_the_sorter_has_its_line(void **state)
{
	struct inst_key k[4];
	struct fixture f;

	(void)state;
	begin(&f);
	put_task(&f, &(struct task){ .id = 1, .concurrency = 1, .group = "etl" });
	k[0] = ready(&f, 1, 60);
	says(&f, k[0], WHY_NO_BROKER, "no broker of etl has task type t online");
	put_task(&f, &(struct task){ .id = 1, .version = 2, .concurrency = 1 });
	seat(&f, 1, 1, true);
	assert_int_equal(f.n, 1);
	k[1] = ready(&f, 1, 120);
	says(&f, k[1], WHY_TASK_FULL, "task concurrency: 1 of 1 run");
	ask(&f, ASK_FREEZE, k[1], 0);
	put_task(&f, &(struct task){ .id = 1, .version = 3 });
	says(&f, k[1], WHY_FROZEN, "it is frozen");
	ask(&f, ASK_UNFREEZE, k[1], 0);
	says(&f, k[1], WHY_SLOTS, "all slots for task type t are taken");
	size_t gates[SORTER_GATES];
	sorter_blocked(f.sorter, gates);
	assert_int_equal(gates[11], 1);
	assert_int_equal(gates[2] + gates[6] + gates[10] + gates[12], 0);
	end(&f);
}

static void an_opening_is_expected_by_the_median_of_the_last_runs(void **state)
{
	static const int64_t lasted_s[] = { 10, 500, 30, 20, 30 };
	struct inst_key k = { 0 };
	struct fixture f;

	(void)state;
	begin(&f);
	put_task(&f, &(struct task){ .id = 1, .concurrency = 1 });
	seat(&f, 1, 100, true);
	for (int i = 0; i < 5; i++) {
		k = ready(&f, 1, (i + 1) * 60);
		started(&f, k);
		now_us += lasted_s[i] * US_PER_S;
		over(&f, k);
	}
	assert_int_equal(sorter_median_us(f.sorter, 1), 30 * US_PER_S);
	k = ready(&f, 1, 600);
	started(&f, k);
	int64_t since = wall(NULL);
	now_us += 10 * US_PER_S;
	k = ready(&f, 1, 660);
	assert_int_equal(why(&f, k)->expected_us, since + 30 * US_PER_S);
	now_us += 100 * US_PER_S; /* longer than ever but once: nobody knows */
	assert_int_equal(why(&f, k)->expected_us, 0);
	end(&f);
}

/* --- work that comes back ---------------------------------------------------- */

static void rejected_work_burns_no_attempt_until_its_own_cap_is_used_up(void **state)
{
	struct inst_key k;
	struct instance i;
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 5, 0, DISPATCH_LEAST_LOADED);
	seat(&f, 1, 100, true);
	k = ready(&f, 1, 60);
	for (int n = 1; n <= 5; n++) {
		assert_true(ledger_find(f.ledger, k, &i));
		assert_int_equal(i.state, ST_RUNNING);
		assert_int_equal(i.attempt, 1);
		struct proposals *ps = proposals_new(PR_COMMANDER, 1, f.me, on_answers);
		struct proposal *p = proposals_add(ps, ASK_ENDED, k);
		p->token = i.token;
		p->end = AE_RETURN;
		p->reason = RE_REJECT;
		assert_int_equal(ledger_propose(f.ledger, ps), 0);
		thread_sim_run(f.th);
		assert_true(ledger_find(f.ledger, k, &i));
		assert_int_equal(i.infra, n);
	}
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f.me, on_answers);
	struct proposal *p = proposals_add(ps, ASK_ENDED, k);
	p->token = i.token;
	p->end = AE_RETURN;
	p->reason = RE_REJECT;
	assert_int_equal(ledger_propose(f.ledger, ps), 0);
	thread_sim_run(f.th);
	assert_false(ledger_find(f.ledger, k, &i)); /* StopSchedule */
	assert_int_equal(f.n, 6);
	end(&f);
}

static void a_line_is_filled_from_its_arguments(void **state)
{
	struct why_line w;
	struct buf out;

	(void)state;
	why_set(&w, WHY_TURN);
	why_number(&w, "waiting", 7);
	buf_init(&out);
	why_print_line(&w, &out);
	assert_string_equal(buf_str(&out), "its turn comes by priority, 7 wait for the same slots");
	assert_int_equal(why_gate(w.code), 12);
	buf_done(&out);
	for (int c = 0; c < WHY_COUNT; c++)
		assert_true(why_gate((enum why_code)c) >= 0 && why_gate((enum why_code)c) <= 12);
}

static void a_load_about_its_limit_does_not_flicker(void **state)
{
	bool over = false;

	(void)state;
	assert_false(threshold_passed(&over, 400, 400, 10, false));
	assert_true(threshold_passed(&over, 401, 400, 10, false));
	assert_true(threshold_passed(&over, 399, 400, 10, false));
	assert_true(threshold_passed(&over, 361, 400, 10, false));
	assert_false(threshold_passed(&over, 360, 400, 10, false));
	assert_false(threshold_passed(&over, 399, 400, 10, false));
	over = false;
	assert_false(threshold_passed(&over, 1000, 1000, 10, true));
	assert_true(threshold_passed(&over, 999, 1000, 10, true));
	assert_true(threshold_passed(&over, 1099, 1000, 10, true));
	assert_false(threshold_passed(&over, 1100, 1000, 10, true));
	assert_false(threshold_passed(&over, UINT64_MAX, UINT64_MAX / 2, 90, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_of_two_never_holds_three),
		cmocka_unit_test(who_takes_no_slot_is_not_held_back_by_who_waits_for_one),
		cmocka_unit_test(several_pools_are_taken_at_once_or_not_at_all),
		cmocka_unit_test(
			a_pool_that_shrinks_stops_new_starts_and_one_that_grows_lets_them_in),
		cmocka_unit_test(a_definition_that_takes_more_counts_for_what_runs),
		cmocka_unit_test(a_pool_that_is_not_there_or_too_small_says_so),
		cmocka_unit_test(pools_and_what_is_taken_of_them_outlive_the_sorter),
		cmocka_unit_test(backfills_get_their_tenth_while_live_work_waits),
		cmocka_unit_test(live_work_gets_half_while_a_great_backfill_waits),
		cmocka_unit_test(nothing_is_kept_for_who_has_no_broker_to_go_to),
		cmocka_unit_test(what_was_kept_is_given_when_who_it_was_for_has_gone),
		cmocka_unit_test(who_takes_much_is_not_passed_for_ever_by_who_takes_little),
		cmocka_unit_test(a_projects_quota_counts_all_its_workflows),
		cmocka_unit_test(a_workflows_quota_counts_all_its_tasks),
		cmocka_unit_test(an_unordered_task_runs_one_date_at_a_time),
		cmocka_unit_test(each_gate_of_the_sorter_has_its_line),
		cmocka_unit_test(an_opening_is_expected_by_the_median_of_the_last_runs),
		cmocka_unit_test(rejected_work_burns_no_attempt_until_its_own_cap_is_used_up),
		cmocka_unit_test(a_line_is_filled_from_its_arguments),
		cmocka_unit_test(a_load_about_its_limit_does_not_flicker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
