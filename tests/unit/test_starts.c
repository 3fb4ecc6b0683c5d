/* baseserver/sort/sorter_starts: brokers on which nothing starts: left alone, tried, taken back. */
#include "baseserver/model/why.h"
#include "baseserver/sort/sorter.h"
#include "tests/unit/sorting.h"

enum { TASK = 1, PAUSE_S = 1, PAUSE_MAX_S = 4 };

static void start(struct fixture *f)
{
	begin_still(f);
	sorter_set_starts(f->sorter, NULL, PAUSE_S * US_PER_S, PAUSE_MAX_S * US_PER_S);
	assert_int_equal(thread_sim_start(f->th, NULL), 0);
	put(f, TASK, 5, 0, DISPATCH_LEAST_LOADED);
}

/* Of the n-th grant, from 1. */
static void says(struct fixture *f, int n, enum ask what, enum attempt_end how, enum reason reason)
{
	struct proposals *ps = proposals_new(PR_WORKER, 1, f->me, on_answers);
	struct proposal *p = proposals_add(ps, what, f->granted[n - 1]);

	p->token = (uint64_t)1 << 40 | (uint64_t)n;
	p->session = f->session[n - 1];
	p->end = (uint8_t)how;
	p->reason = (uint8_t)reason;
	p->note = what == ASK_ENDED ? mem_str("no directory") : NULL;
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
	thread_sim_run(f->th);
}

static void tells(struct fixture *f, int n, enum ask what, enum reason reason)
{
	says(f, n, what, AE_RETURN, reason);
}

static void fails(struct fixture *f, int n)
{
	tells(f, n, ASK_ENDED, RE_NOSTART);
}

static void begins(struct fixture *f, int n)
{
	tells(f, n, ASK_STARTED, RE_NONE);
}

static void pass(struct fixture *f, int64_t us)
{
	now_us += us;
	thread_sim_run(f->th);
}

static enum why_code why(struct fixture *f, struct inst_key key)
{
	struct why_line w = { .code = WHY_COUNT };

	for (uint32_t slot = 0; slot < 64; slot++)
		if (sorter_explain(f->sorter, key, slot, &w))
			return w.code;
	return WHY_COUNT;
}

static void after_three_failed_starts_it_gets_one_at_a_time_with_growing_pauses(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	seat(&f, 1, 100, true);
	for (int i = 0; i < 12; i++)
		ready(&f, TASK, 60 * i);
	assert_int_equal(f.n, 12);
	fails(&f, 1);
	fails(&f, 2);
	assert_int_equal(f.n, 14); /* at once: it might be the job */
	for (int i = 3; i <= 14; i++)
		fails(&f, i);
	assert_int_equal(f.n, 14);
	assert_int_equal(why(&f, f.granted[5]), WHY_STARTS_FAIL);
	pass(&f, PAUSE_S * US_PER_S - 1);
	assert_int_equal(f.n, 14);
	pass(&f, 1);
	assert_int_equal(f.n, 15);
	struct inst_key tried = f.granted[14];
	fails(&f, 15);
	pass(&f, 2 * PAUSE_S * US_PER_S - 1);
	assert_int_equal(f.n, 15);
	pass(&f, 1);
	assert_int_equal(f.n, 16);
	/* Another one: what starts nowhere must not have all the tries. */
	assert_false(inst_key_eq(tried, f.granted[15]));
	assert_int_equal(why(&f, tried), WHY_STARTS_FAIL);
	begins(&f, 16);
	assert_int_equal(f.n, 18);
	for (int i = 17; i <= f.n && i < 24; i++)
		begins(&f, i);
	pass(&f, 2 * PAUSE_MAX_S * US_PER_S);
	assert_int_equal(f.n, 27); /* all twelve */
	end(&f);
}

static void the_pause_grows_to_its_most_and_no_further(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	seat(&f, 1, 100, true);
	for (int i = 0; i < 3; i++)
		ready(&f, TASK, 60 * i);
	for (int i = 1; i <= f.n; i++)
		fails(&f, i);
	/* 1, 2, 4 s, then 4 s for ever; one that rests may be a second late. */
	for (int i = 0; i < 20; i++) {
		int was = f.n;
		pass(&f, (PAUSE_MAX_S + PAUSE_S) * US_PER_S);
		assert_true(f.n > was);
		while (was < f.n)
			fails(&f, ++was);
	}
	end(&f);
}

static void a_try_whose_outcome_nobody_tells_is_made_again(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	seat(&f, 1, 100, true);
	for (int i = 0; i < 5; i++)
		ready(&f, TASK, 60 * i);
	for (int i = 1; i <= 5; i++)
		fails(&f, i);
	int was = f.n;
	for (int i = 6; i <= was; i++)
		fails(&f, i);
	pass(&f, PAUSE_S * US_PER_S);
	assert_int_equal(f.n, was + 1);
	pass(&f, 60 * US_PER_S);
	assert_int_equal(f.n, was + 2);
	end(&f);
}

static void a_try_that_never_came_there_is_made_again_at_once(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	seat(&f, 1, 100, true);
	for (int i = 0; i < 5; i++)
		ready(&f, TASK, 60 * i);
	for (int i = 1; i <= 5; i++)
		fails(&f, i);
	int was = f.n;
	for (int i = 6; i <= was; i++)
		fails(&f, i);
	pass(&f, PAUSE_S * US_PER_S);
	assert_int_equal(f.n, was + 1);
	tells(&f, was + 1, ASK_ENDED, RE_UNSENT);
	assert_int_equal(f.n, was + 2);
	end(&f);
}

static void seat_of_first(struct fixture *f, uint32_t session, uint64_t limit, bool gone)
{
	struct session_news *n = mem_new(sizeof *n);

	n->session = session;
	n->broker = 1;
	n->gone = gone;
	n->accepts = true;
	n->type = mem_str("t");
	n->broker_name = mem_str("b");
	n->groups = mem_array(1, sizeof *n->groups);
	n->limit = limit;
	assert_int_equal(sorter_session(f->sorter, n), 0);
	thread_sim_run(f->th);
}

/* Its loader ended and was begun anew: the try waits for nobody who is gone. */
static void a_loader_that_comes_while_its_machine_is_tried_gets_the_try(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	seat(&f, 1, 3, true);
	for (int i = 0; i < 5; i++)
		ready(&f, TASK, 60 * i);
	for (int i = 1; i <= 3; i++)
		fails(&f, i);
	assert_int_equal(f.n, 3); /* no more credit */
	seat_of_first(&f, 1, 3, true);
	pass(&f, PAUSE_S * US_PER_S);
	assert_int_equal(f.n, 3);
	seat_of_first(&f, 2, 100, false);
	assert_int_equal(f.n, 4);
	begins(&f, 4);
	assert_int_equal(f.n, 6); /* two more, as after any try that began */
	end(&f);
}

static void what_did_not_start_goes_to_another_broker_first(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	seat(&f, 1, 10, true);
	ready(&f, TASK, 0);
	assert_int_equal(f.session[0], 1);
	seat(&f, 2, 10, true);
	fails(&f, 1); /* the first has nothing to do, and is chosen otherwise */
	assert_int_equal(f.n, 2);
	assert_int_equal(f.session[1], 2);
	end(&f);
}

static void what_a_full_machine_sends_back_is_no_failed_start(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	seat(&f, 1, 100, true);
	ready(&f, TASK, 0);
	for (int i = 1; i <= 10; i++) {
		says(&f, i, ASK_ENDED, AE_BACK, RE_FULL);
		assert_int_equal(f.n, i + 1);
	}
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			after_three_failed_starts_it_gets_one_at_a_time_with_growing_pauses),
		cmocka_unit_test(the_pause_grows_to_its_most_and_no_further),
		cmocka_unit_test(a_try_whose_outcome_nobody_tells_is_made_again),
		cmocka_unit_test(a_try_that_never_came_there_is_made_again_at_once),
		cmocka_unit_test(a_loader_that_comes_while_its_machine_is_tried_gets_the_try),
		cmocka_unit_test(what_did_not_start_goes_to_another_broker_first),
		cmocka_unit_test(what_a_full_machine_sends_back_is_no_failed_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
