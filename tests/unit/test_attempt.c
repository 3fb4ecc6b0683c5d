/* sched/attempt: every cell of "what the end of an attempt means". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sched/attempt.h"
#include "sched/task.h"

static const struct task two = { .max_attempts = 2, .retry_delay_us = 5000, .infra_max = 3 };
static const struct task hold = { .max_attempts = 2, .infra_max = 3, .on_lost_hold = true };

static struct attempt_verdict judge(const struct task *t, enum state st, enum kill_intent intent,
                                    int attempt, enum attempt_end end, enum reason reason)
{
	struct instance i = { .state = st, .attempt = (uint16_t)attempt, .intent = intent };

	return attempt_judge(t, &i, end, reason, 7000);
}

static void a_running_attempt_ends_as_the_table_says(void **state)
{
	/* end, reason; first attempt of two, last attempt of two; does it burn? */
	static const struct {
		enum attempt_end end;
		enum reason reason;
		enum event first, last;
		bool burns;
	} rows[] = {
		{ AE_OK, RE_EXIT, EV_EXIT_OK, EV_EXIT_OK, true },
		{ AE_FAILED, RE_EXIT, EV_FAIL_RETRY, EV_FAIL_FINAL, true },
		{ AE_FATAL, RE_FATAL, EV_FAIL_FINAL, EV_FAIL_FINAL, true },
		{ AE_INFRA, RE_LOST, EV_FAIL_RETRY, EV_FAIL_RETRY, false },
		{ AE_INFRA, RE_FENCED, EV_FAIL_RETRY, EV_FAIL_RETRY, false },
		{ AE_RETURN, RE_REJECT, EV_RETURN, EV_RETURN, false },
		{ AE_NOT_YET, RE_NONE, EV_LOOK, EV_LOOK, false },
		{ AE_BACK, RE_STOPPING, EV_RETURN, EV_RETURN, false },
		{ AE_WITHOUT, RE_PARAMS, EV_FAIL_RETRY, EV_FAIL_RETRY, false },
	};

	(void)state;
	for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
		struct attempt_verdict a = judge(&two, ST_RUNNING, KI_NONE, 1, rows[k].end,
		                                 rows[k].reason);
		struct attempt_verdict b = judge(&two, ST_RUNNING, KI_NONE, 2, rows[k].end,
		                                 rows[k].reason);
		assert_int_equal(a.event, rows[k].first);
		assert_int_equal(b.event, rows[k].last);
		assert_int_equal(a.burns, rows[k].burns);
	}
}

static void a_try_where_nothing_starts_burns_nothing_however_often(void **state)
{
	struct instance i = { .state = ST_RUNNING, .attempt = 1, .infra = 3, .flags = IF_PROBE };

	(void)state;
	struct attempt_verdict v = attempt_judge(&two, &i, AE_RETURN, RE_NOSTART, 0);
	assert_int_equal(v.event, EV_RETURN);
	assert_false(v.infra);
	i.flags = 0;
	assert_int_equal(attempt_judge(&two, &i, AE_RETURN, RE_NOSTART, 0).event, EV_FAIL_FINAL);
	i.flags = IF_PROBE; /* it ran: an end like others */
	assert_int_equal(attempt_judge(&two, &i, AE_INFRA, RE_LOST, 0).event, EV_FAIL_FINAL);
}

static void what_comes_back_untouched_counts_nowhere_however_often(void **state)
{
	struct instance i = { .state = ST_RUNNING, .attempt = 1, .infra = 3 };

	(void)state;
	assert_int_equal(attempt_judge(&two, &i, AE_BACK, RE_UNSENT, 0).event, EV_RETURN);
	i.infra = 0;
	assert_false(attempt_judge(&two, &i, AE_BACK, RE_UNSENT, 0).infra);
	assert_true(attempt_judge(&two, &i, AE_RETURN, RE_REJECT, 0).infra);
	assert_true(attempt_judge(&two, &i, AE_INFRA, RE_LOST, 0).infra);
	assert_false(attempt_judge(&two, &i, AE_NOT_YET, RE_NONE, 0).infra);
}

static void what_lacks_what_it_needs_waits_as_told_and_ends_after_infra_max(void **state)
{
	struct instance i = { .state = ST_RUNNING, .attempt = 1 };
	struct attempt_verdict v = attempt_judge(&two, &i, AE_WITHOUT, RE_PARAMS, 9000);

	(void)state;
	assert_int_equal(v.event, EV_FAIL_RETRY);
	assert_int_equal(v.retry_after_us, 9000);
	assert_true(v.infra && !v.burns);
	i.infra = (uint16_t)two.infra_max;
	v = attempt_judge(&two, &i, AE_WITHOUT, RE_PARAMS, 9000);
	assert_int_equal(v.event, EV_FAIL_FINAL);
	assert_int_equal(v.reason, RE_INFRA);
}

static void a_kill_ends_by_its_intent_whatever_the_exit(void **state)
{
	static const enum state killing[] = { ST_WAITKILL, ST_KILLING, ST_HANGED };
	static const enum attempt_end ends[] = { AE_FAILED,  AE_FATAL, AE_INFRA,  AE_RETURN,
		                                 AE_NOT_YET, AE_BACK,  AE_WITHOUT };

	(void)state;
	for (int s = 0; s < 3; s++)
		for (int e = 0; e < 7; e++) {
			enum attempt_end end = ends[e];
			assert_int_equal(judge(&two, killing[s], KI_USER, 1, end, RE_SIGNAL).event,
			                 EV_DEAD_KILLED);
			assert_int_equal(judge(&two, killing[s], KI_REDO, 1, end, RE_SIGNAL).event,
			                 EV_DEAD_REDO);
			struct attempt_verdict r = judge(&two, killing[s], KI_REPLACE, 1, end,
			                                 RE_SIGNAL);
			assert_int_equal(r.event, EV_DEAD_KILLED);
			assert_int_equal(r.reason, RE_REPLACED);
			assert_int_equal(
				judge(&two, killing[s], KI_TIMEOUT, 1, end, RE_SIGNAL).event,
				EV_DEAD_RETRY);
			assert_int_equal(
				judge(&two, killing[s], KI_TIMEOUT, 2, end, RE_SIGNAL).event,
				EV_DEAD_FINAL);
		}
}

static void who_replaces_comes_after_a_redo_and_before_a_person(void **state)
{
	static const enum kill_intent weakest_first[] = { KI_NONE, KI_TIMEOUT, KI_REDO, KI_REPLACE,
		                                          KI_USER };

	(void)state;
	for (size_t i = 1; i < 5; i++)
		assert_true(kill_rank(weakest_first[i - 1]) < kill_rank(weakest_first[i]));
}

static void an_exit_0_before_the_signal_is_a_success(void **state)
{
	(void)state;
	assert_int_equal(judge(&two, ST_WAITKILL, KI_USER, 1, AE_OK, RE_EXIT).event, EV_EXIT_OK);
	assert_int_equal(judge(&two, ST_KILLING, KI_TIMEOUT, 1, AE_OK, RE_EXIT).event, EV_EXIT_OK);
	assert_int_equal(judge(&two, ST_HANGED, KI_NONE, 1, AE_OK, RE_EXIT).event, EV_EXIT_OK);
}

static void what_is_held_when_lost_waits_for_a_person(void **state)
{
	(void)state;
	assert_int_equal(judge(&hold, ST_RUNNING, KI_NONE, 1, AE_INFRA, RE_LOST).event, EV_HANG);
	assert_int_equal(judge(&hold, ST_KILLING, KI_USER, 1, AE_INFRA, RE_LOST).event, EV_HANG);
	assert_int_equal(judge(&hold, ST_HANGED, KI_NONE, 1, AE_INFRA, RE_LOST).event, EV_NONE);
	/* without `hold` a kill that loses its broker is over */
	assert_int_equal(judge(&two, ST_KILLING, KI_USER, 1, AE_INFRA, RE_LOST).event,
	                 EV_DEAD_KILLED);
	/* a crash that was seen is no loss */
	assert_int_equal(judge(&hold, ST_RUNNING, KI_NONE, 1, AE_INFRA, RE_PLUGIN).event,
	                 EV_FAIL_RETRY);
}

static void a_hanged_attempt_that_nobody_killed_ends_as_what_it_was(void **state)
{
	struct attempt_verdict v;

	(void)state;
	v = judge(&hold, ST_HANGED, KI_NONE, 2, AE_INFRA, RE_FENCED);
	assert_int_equal(v.event, EV_DEAD_RETRY);
	assert_int_equal(v.reason, RE_FENCED);
	assert_false(v.burns);
	v = judge(&hold, ST_HANGED, KI_NONE, 1, AE_FAILED, RE_EXIT);
	assert_int_equal(v.event, EV_DEAD_RETRY);
	assert_true(v.burns);
	v = judge(&hold, ST_HANGED, KI_NONE, 2, AE_FAILED, RE_EXIT);
	assert_int_equal(v.event, EV_DEAD_FINAL);
	v = judge(&hold, ST_HANGED, KI_NONE, 1, AE_NOT_YET, RE_NONE);
	assert_int_equal(v.event, EV_LOOK);
	assert_int_equal(v.retry_after_us, 7000);
	v = judge(&hold, ST_HANGED, KI_NONE, 1, AE_FATAL, RE_EXIT);
	assert_int_equal(v.event, EV_DEAD_FINAL);
	assert_int_equal(v.reason, RE_FATAL);
	for (int end = AE_INFRA; end <= AE_BACK; end++) {
		struct instance i = { .state = ST_HANGED, .attempt = 1, .infra = 3 };
		if (end == AE_NOT_YET)
			continue;
		assert_int_equal(
			attempt_judge(&hold, &i, (enum attempt_end)end, RE_FENCED, 0).event,
			EV_DEAD_FINAL);
		i.infra = 2;
		v = attempt_judge(&hold, &i, (enum attempt_end)end, RE_FENCED, 0);
		assert_int_equal(v.event, EV_DEAD_RETRY);
		assert_true(v.infra);
	}
}

static void the_last_failure_says_why_there_is_no_next(void **state)
{
	static const struct task one = { .max_attempts = 1, .infra_max = 3 };

	(void)state;
	assert_int_equal(judge(&two, ST_RUNNING, KI_NONE, 2, AE_FAILED, RE_EXIT).reason,
	                 RE_ATTEMPTS);
	assert_int_equal(judge(&one, ST_RUNNING, KI_NONE, 1, AE_FAILED, RE_EXIT).reason, RE_EXIT);
	assert_int_equal(judge(&two, ST_RUNNING, KI_NONE, 1, AE_FATAL, RE_PARAMS).reason,
	                 RE_PARAMS);
	assert_int_equal(judge(&two, ST_RUNNING, KI_NONE, 1, AE_FATAL, RE_EXIT).reason, RE_FATAL);
}

static void infrastructure_failures_have_a_cap_of_their_own(void **state)
{
	struct instance i = { .state = ST_RUNNING, .attempt = 1, .infra = 2 };

	(void)state;
	assert_int_equal(attempt_judge(&two, &i, AE_INFRA, RE_LOST, 0).event, EV_FAIL_RETRY);
	i.infra = 3;
	assert_int_equal(attempt_judge(&two, &i, AE_INFRA, RE_LOST, 0).event, EV_FAIL_FINAL);
	assert_int_equal(attempt_judge(&two, &i, AE_RETURN, RE_REJECT, 0).event, EV_FAIL_FINAL);
}

static void what_does_not_run_cannot_end(void **state)
{
	(void)state;
	for (int s = 0; s < ST_COUNT; s++) {
		if (s && state_holds_slot((enum state)s))
			continue;
		assert_int_equal(judge(&two, (enum state)s, KI_NONE, 1, AE_OK, RE_EXIT).event,
		                 EV_NONE);
	}
}

static void a_retry_waits_as_told(void **state)
{
	struct task t = { .max_attempts = 9,
		          .retry_delay_us = 1000,
		          .retry_cap_us = 5000,
		          .retry_exponential = true };

	(void)state;
	assert_int_equal(judge(&two, ST_RUNNING, KI_NONE, 1, AE_FAILED, RE_EXIT).retry_after_us,
	                 5000);
	assert_int_equal(judge(&two, ST_RUNNING, KI_NONE, 1, AE_NOT_YET, RE_NONE).retry_after_us,
	                 7000);
	assert_int_equal(task_retry_delay_us(&t, 1), 1000);
	assert_int_equal(task_retry_delay_us(&t, 2), 2000);
	assert_int_equal(task_retry_delay_us(&t, 3), 4000);
	assert_int_equal(task_retry_delay_us(&t, 4), 5000);
	assert_int_equal(task_retry_delay_us(&t, 200), 5000);
	t.retry_delay_us = 0;
	assert_int_equal(task_retry_delay_us(&t, 200), 0);
	t.retry_delay_us = 3;
	t.retry_cap_us = 0; /* without a cap it grows to the end of time, not past it */
	assert_int_equal(task_retry_delay_us(&t, 200), INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_running_attempt_ends_as_the_table_says),
		cmocka_unit_test(a_try_where_nothing_starts_burns_nothing_however_often),
		cmocka_unit_test(what_comes_back_untouched_counts_nowhere_however_often),
		cmocka_unit_test(what_lacks_what_it_needs_waits_as_told_and_ends_after_infra_max),
		cmocka_unit_test(a_kill_ends_by_its_intent_whatever_the_exit),
		cmocka_unit_test(who_replaces_comes_after_a_redo_and_before_a_person),
		cmocka_unit_test(an_exit_0_before_the_signal_is_a_success),
		cmocka_unit_test(what_is_held_when_lost_waits_for_a_person),
		cmocka_unit_test(a_hanged_attempt_that_nobody_killed_ends_as_what_it_was),
		cmocka_unit_test(the_last_failure_says_why_there_is_no_next),
		cmocka_unit_test(infrastructure_failures_have_a_cap_of_their_own),
		cmocka_unit_test(what_does_not_run_cannot_end),
		cmocka_unit_test(a_retry_waits_as_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
