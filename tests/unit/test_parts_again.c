/* Parts that begin anew: alone, with their whole, after an edit, after a cancel. */
#include "tests/unit/parts.h"

static void a_part_that_its_whole_has_no_more_does_not_begin_again(void **state)
{
	struct scene s;
	struct task one = { .id = 1,
		            .workflow_id = 9,
		            .dispatch = DISPATCH_BROADCAST,
		            .machines = nodes,
		            .n_machines = 1 };

	(void)state;
	scene_begin(&s);
	sit(&s, 1, "one", false);
	sit(&s, 2, "two", false);
	put_step(&s, 1, NULL);
	create(&s, 1);
	ended(&s, 1, 1, AE_OK);
	ended(&s, 1, 2, AE_FATAL);
	put_task(&s.f, &one);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 0 }, NULL, NULL);
	ended(&s, 1, 1, AE_OK);
	assert_int_equal(state_at(&s, 1, 0), ST_SUCC);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 2 }, NULL, NULL);
	assert_int_equal(state_at(&s, 1, 2), ST_STOP);
	assert_int_equal(state_at(&s, 1, 0), ST_SUCC);
	scene_end(&s);
}

/* In one letter: nobody looks at what the first ones did before the last is done. */
static void say_all(struct scene *s, const enum ask *asks, const struct inst_key *keys, size_t n,
                    const struct instance *ends)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, n, s->f.me, told);

	for (size_t i = 0; i < n; i++) {
		struct proposal *p = proposals_add(ps, asks[i], keys[i]);
		p->folded = UINT64_MAX;
		p->due = keys[i].run_date;
		p->reason = RE_USER;
		if (asks[i] == ASK_ENDED)
			with_end(p, (void *)(uintptr_t)ends);
	}
	assert_int_equal(ledger_propose(s->f.ledger, ps), 0);
	see(s);
}

static void a_part_that_began_anew_ends_with_a_whole_that_has_no_more_of_it(void **state)
{
	static const enum ask asks[] = { ASK_REDO, ASK_FORCE, ASK_REDO };
	static const struct inst_key keys[] = { { 60, 1, 2 }, { 60, 1, 0 }, { 60, 1, 0 } };
	struct scene s;
	struct task one = { .id = 1,
		            .workflow_id = 9,
		            .dispatch = DISPATCH_BROADCAST,
		            .machines = nodes,
		            .n_machines = 1 };

	(void)state;
	scene_begin(&s);
	sit(&s, 1, "one", false);
	sit(&s, 2, "two", false);
	put_step(&s, 1, NULL);
	create(&s, 1);
	ended(&s, 1, 1, AE_OK);
	ended(&s, 1, 2, AE_FATAL);
	put_task(&s.f, &one);
	say_all(&s, asks, keys, 3, NULL);
	assert_int_equal(state_at(&s, 1, 2), ST_SKIPPED);
	assert_int_equal(at(&s, 1, 2)->reason, RE_EDIT);
	ended(&s, 1, 1, AE_OK);
	assert_int_equal(state_at(&s, 1, 0), ST_SUCC);
	scene_end(&s);
}

static void with_cause(struct proposal *p, void *ctx)
{
	p->cause = *(const uint64_t *)ctx;
}

static void a_part_begins_anew_once_a_command_that_has_its_whole_too(void **state)
{
	struct scene s;
	uint64_t cause = 7, other = 8;

	(void)state;
	broadcast(&s);
	ended(&s, 1, 1, AE_FATAL);
	ended(&s, 1, 2, AE_OK);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 0 }, with_cause, &cause);
	assert_int_equal(at(&s, 1, 1)->generation, 2);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 1 }, with_cause, &cause);
	assert_int_equal(state_at(&s, 1, 1), ST_RUNNING); /* not killed */
	ended(&s, 1, 1, AE_OK);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 1 }, with_cause, &cause);
	assert_int_equal(at(&s, 1, 1)->generation, 2);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 1 }, with_cause, &other);
	assert_int_equal(at(&s, 1, 1)->generation, 3);
	scene_end(&s);
}

static void what_a_cancel_gives_back_in_a_pipeline_is_judged_again(void **state)
{
	static struct task_link strong = { .parent = 1, .kind = LK_SAME, .on = ON_STRONG };
	static const enum ask again[] = { ASK_REDO, ASK_REDO }, then[] = { ASK_ENDED, ASK_CANCEL };
	static const struct inst_key keys[] = { { 60, 1, 0 }, { 60, 2, 0 } };
	struct task first = { .id = 1, .workflow_id = 9, .pipeline = true };
	struct task second = {
		.id = 2, .workflow_id = 9, .pipeline = true, .links = &strong, .n_links = 1
	};
	struct scene s;

	(void)state;
	scene_begin(&s);
	sit(&s, 1, "one", false);
	put_task(&s.f, &first);
	put_task(&s.f, &second);
	create(&s, 1);
	create(&s, 2);
	ended(&s, 1, 0, AE_FATAL);
	assert_int_equal(state_at(&s, 2, 0), ST_SKIPPED);
	assert_int_equal(at(&s, 2, 0)->reason, RE_PIPELINE);
	say_all(&s, again, keys, 2, NULL);
	assert_int_equal(state_at(&s, 1, 0), ST_RUNNING);
	assert_int_equal(state_at(&s, 2, 0), ST_READY);
	/* Its step ends well, and a cancel gives back that it was left out, before any looks. */
	struct instance ends = *at(&s, 1, 0);
	ends.exit_code = AE_OK;
	say_all(&s, then, keys, 2, &ends);
	assert_int_equal(state_at(&s, 1, 0), ST_SUCC);
	assert_int_equal(state_at(&s, 2, 0), ST_RUNNING);
	scene_end(&s);
}

/* Put offline before anything of its plan came due, step 1 goes online again and begins later. */
static void parts_wait_no_longer_for_a_step_that_begins_after_their_date(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s);
	sit(&s, 1, "one", false);
	sit(&s, 2, "two", false);
	put_step(&s, 1, NULL);
	put_step(&s, 2, &strong_1);
	create(&s, 2);
	assert_int_equal(state_at(&s, 2, 1), ST_READY);
	put_step_from(&s, 1, NULL, 120);
	assert_int_equal(state_at(&s, 2, 1), ST_RUNNING);
	assert_int_equal(state_at(&s, 2, 2), ST_RUNNING);
	scene_end(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_that_its_whole_has_no_more_does_not_begin_again),
		cmocka_unit_test(a_part_that_began_anew_ends_with_a_whole_that_has_no_more_of_it),
		cmocka_unit_test(a_part_begins_anew_once_a_command_that_has_its_whole_too),
		cmocka_unit_test(what_a_cancel_gives_back_in_a_pipeline_is_judged_again),
		cmocka_unit_test(parts_wait_no_longer_for_a_step_that_begins_after_their_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
