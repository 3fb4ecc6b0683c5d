/* sched/instance: names and numbers of states, events and reasons, both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sched/instance.h"
#include "sched/task.h"

static void a_state_is_found_by_its_number_and_its_name(void **state)
{
	enum state st;

	(void)state;
	for (int s = ST_NONE + 1; s < ST_COUNT; s++) {
		assert_true(state_from_number(state_number((enum state)s), &st));
		assert_int_equal(st, s);
		assert_true(state_from_name(state_name((enum state)s), &st));
		assert_int_equal(st, s);
	}
	assert_true(state_from_name("dependencefinish", &st));
	assert_int_equal(st, ST_DEPEND);
	assert_false(state_from_number(99, &st));
	assert_false(state_from_name("waiting", &st));
}

static void numbers_are_those_of_the_design(void **state)
{
	static const struct {
		int number;
		const char *name;
		bool final, slot;
	} rows[] = {
		{ -1, "Rough", false, false },
		{ 0, "Ready", false, false },
		{ 1, "DependenceFinish", false, false },
		{ 2, "Running", false, true },
		{ 3, "Succ", true, false },
		{ 4, "Failed", false, false },
		{ 5, "StopSchedule", true, false },
		{ 6, "WaitKill", false, true },
		{ 7, "Killing", false, true },
		{ 8, "Killed", true, false },
		{ 9, "Hanged", false, true },
		{ 10, "Skipped", true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		enum state st;
		assert_true(state_from_number(rows[i].number, &st));
		assert_string_equal(state_name(st), rows[i].name);
		assert_int_equal(state_final(st), rows[i].final);
		assert_int_equal(state_holds_slot(st), rows[i].slot);
	}
}

static void every_event_reason_and_origin_has_a_name(void **state)
{
	(void)state;
	for (int ev = 0; ev < EV_COUNT; ev++)
		assert_true(*event_name((enum event)ev));
	for (int re = 1; re < RE_COUNT; re++) {
		assert_true(*reason_name((enum reason)re));
		assert_true(*reason_text((enum reason)re));
	}
	/* what a newer server may have stored */
	assert_string_equal(event_name(EV_COUNT), "?");
	assert_string_equal(reason_name(RE_COUNT), "?");
	assert_string_equal(reason_text(RE_COUNT), "?");
	assert_string_equal(origin_name(OR_CYCLE), "cycle");
	assert_string_equal(origin_name(OR_MANUAL), "manual");
	assert_string_equal(origin_name(OR_BACKFILL), "backfill");
}

static void some_events_leave_the_state(void **state)
{
	static const enum event keep[] = { EV_FREEZE,   EV_UNFREEZE, EV_PRIORITY,
		                           EV_NOTIFIED, EV_PROMISE,  EV_WANTED,
		                           EV_INTENT,   EV_STARTED,  EV_DUE_NOW };

	(void)state;
	for (int s = 0; s < ST_COUNT; s++)
		for (size_t i = 0; i < sizeof keep / sizeof *keep; i++)
			assert_int_equal(fsm_next((enum state)s, keep[i]), s);
}

static void a_final_outcome_packs_into_a_byte_and_back(void **state)
{
	static const enum state finals[] = { ST_SUCC, ST_STOP, ST_KILLED, ST_SKIPPED };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (int re = 1; re < RE_COUNT; re++) {
			uint8_t packed = instance_former_pack(finals[i], (enum reason)re);
			enum state st;
			enum reason reason;
			assert_int_not_equal(packed, 0);
			instance_former(packed, &st, &reason);
			assert_int_equal(st, finals[i]);
			assert_int_equal(reason, re);
		}
	assert_int_equal(instance_former_pack(ST_READY, RE_DUE), 0);
}

static void keys_are_the_same_in_all_three_parts(void **state)
{
	struct inst_key a = { .run_date = 5, .task = 6, .part = 7 }, b = a;

	(void)state;
	assert_true(inst_key_eq(a, b));
	b.run_date++;
	assert_false(inst_key_eq(a, b));
	b = a;
	b.task++;
	assert_false(inst_key_eq(a, b));
	b = a;
	b.part++;
	assert_false(inst_key_eq(a, b));
}

static void a_spread_instance_leaves_the_slots_to_its_parts(void **state)
{
	struct instance i = { .state = ST_RUNNING };

	(void)state;
	assert_true(inst_holds_slot(&i, ST_RUNNING));
	assert_false(inst_holds_slot(&i, ST_READY));
	i.flags = IF_SPREAD;
	assert_false(inst_holds_slot(&i, ST_RUNNING));
}

static void what_is_reopened_shows_no_attempt_of_before(void **state)
{
	struct instance i = { .state = ST_READY,
		              .former = instance_former_pack(ST_STOP, RE_NONE),
		              .started_us = 5,
		              .ended_us = 7,
		              .retry_at_us = 9,
		              .exit_code = 3 };

	(void)state;
	assert_int_equal(instance_now(&i).started_us, 0);
	assert_int_equal(instance_now(&i).ended_us, 0);
	assert_int_equal(instance_now(&i).retry_at_us, 0);
	assert_int_equal(instance_now(&i).exit_code, 0);
	i.state = ST_SUCC; /* over again: these are its own */
	assert_int_equal(instance_now(&i).ended_us, 7);
	i.state = ST_RUNNING;
	i.former = 0; /* never reopened */
	assert_int_equal(instance_now(&i).started_us, 5);
}

static void one_at_a_time_is_a_limit_of_one(void **state)
{
	struct task t = { .serial = SERIAL_PARALLEL, .concurrency = 7 };

	(void)state;
	assert_int_equal(task_limit(&t), 7);
	t.serial = SERIAL_UNORDERED;
	assert_int_equal(task_limit(&t), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_is_found_by_its_number_and_its_name),
		cmocka_unit_test(numbers_are_those_of_the_design),
		cmocka_unit_test(every_event_reason_and_origin_has_a_name),
		cmocka_unit_test(some_events_leave_the_state),
		cmocka_unit_test(a_final_outcome_packs_into_a_byte_and_back),
		cmocka_unit_test(keys_are_the_same_in_all_three_parts),
		cmocka_unit_test(a_spread_instance_leaves_the_slots_to_its_parts),
		cmocka_unit_test(what_is_reopened_shows_no_attempt_of_before),
		cmocka_unit_test(one_at_a_time_is_a_limit_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
