/* Instances with parts: broadcast, steps of a pipeline by node, branches, overlap; over the
 * ledger, the resolver and the sorter. */
#include "tests/unit/parts.h"

static void a_broadcast_runs_once_on_each_broker_and_succeeds_when_all_did(void **state)
{
	struct scene s;

	(void)state;
	broadcast(&s);
	assert_int_equal(state_at(&s, 1, 0), ST_RUNNING);
	assert_int_equal(at(&s, 1, 0)->parts, 2);
	assert_int_equal(at(&s, 1, 0)->token, 0);
	assert_int_equal(state_at(&s, 1, 1), ST_RUNNING);
	assert_int_equal(state_at(&s, 1, 2), ST_RUNNING);
	assert_int_not_equal(at(&s, 1, 1)->broker, at(&s, 1, 2)->broker);
	ended(&s, 1, 1, AE_OK);
	assert_int_equal(state_at(&s, 1, 0), ST_RUNNING);
	ended(&s, 1, 2, AE_OK);
	assert_int_equal(state_at(&s, 1, 0), ST_SUCC);
	assert_int_equal(s.f.n, 2);
	scene_end(&s);
}

static void a_broker_that_comes_later_gets_no_part(void **state)
{
	struct scene s;

	(void)state;
	broadcast(&s);
	sit(&s, 3, "three", false);
	assert_null(at(&s, 1, 3));
	scene_end(&s);
}

static void a_part_that_is_retried_stays_on_its_broker(void **state)
{
	struct scene s;

	(void)state;
	broadcast(&s);
	uint32_t broker = at(&s, 1, 1)->broker;
	ended(&s, 1, 1, AE_RETURN);
	assert_int_equal(grants(&s, 1, 1), 2);
	assert_int_equal(at(&s, 1, 1)->broker, broker);
	scene_end(&s);
}

static void the_whole_is_as_its_worst_part(void **state)
{
	struct scene s;

	(void)state;
	broadcast(&s);
	ended(&s, 1, 1, AE_FATAL);
	assert_int_equal(state_at(&s, 1, 0), ST_RUNNING);
	ended(&s, 1, 2, AE_OK);
	assert_int_equal(state_at(&s, 1, 0), ST_STOP);
	assert_int_equal(at(&s, 1, 0)->reason, RE_FATAL);
	scene_end(&s);
}

static void a_kill_of_the_whole_kills_each_part(void **state)
{
	struct scene s;
	struct inst_key key = { 60, 1, 0 };

	(void)state;
	broadcast(&s);
	ended(&s, 1, 1, AE_OK);
	say(&s, ASK_KILL, key, with_intent, NULL);
	assert_int_equal(state_at(&s, 1, 0), ST_WAITKILL);
	assert_int_equal(state_at(&s, 1, 2), ST_WAITKILL);
	ended(&s, 1, 2, AE_FAILED);
	assert_int_equal(state_at(&s, 1, 2), ST_KILLED);
	assert_int_equal(state_at(&s, 1, 0), ST_KILLED);
	assert_int_equal(state_at(&s, 1, 1), ST_SUCC);
	scene_end(&s);
}

static void a_redo_does_all_parts_again_or_those_that_failed(void **state)
{
	struct scene s;
	struct inst_key key = { 60, 1, 0 };

	(void)state;
	broadcast(&s);
	ended(&s, 1, 1, AE_FATAL);
	ended(&s, 1, 2, AE_OK);
	say(&s, ASK_REDO, key, with_mend, NULL);
	assert_int_equal(state_at(&s, 1, 0), ST_RUNNING);
	assert_int_equal(state_at(&s, 1, 1), ST_RUNNING);
	assert_int_equal(state_at(&s, 1, 2), ST_SUCC);
	ended(&s, 1, 1, AE_OK);
	assert_int_equal(state_at(&s, 1, 0), ST_SUCC);
	say(&s, ASK_REDO, key, NULL, NULL);
	assert_int_equal(state_at(&s, 1, 1), ST_RUNNING);
	assert_int_equal(state_at(&s, 1, 2), ST_RUNNING);
	assert_int_equal(grants(&s, 1, 2), 2);
	scene_end(&s);
}

static void wait_a_while(struct scene *s)
{
	for (int i = 0; i < 10; i++) {
		now_us += 50 * 1000;
		see(s);
	}
}

static void a_part_that_cannot_be_read_is_not_made_anew(void **state)
{
	struct scene s;

	(void)state;
	broadcast(&s);
	ended(&s, 1, 1, AE_OK);
	ended(&s, 1, 2, AE_OK);
	store_mem_fail_reads(s.f.store, 1, 1, E_BUSY); /* the whole is read, part 1 is not */
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 0 }, NULL, NULL);
	wait_a_while(&s);
	for (int32_t part = 1; part <= 2; part++) {
		assert_int_equal(state_at(&s, 1, part), ST_RUNNING);
		assert_int_equal(at(&s, 1, part)->generation, 2);
	}
	scene_end(&s);
}

static void the_whole_waits_for_parts_that_cannot_be_read(void **state)
{
	struct scene s;

	(void)state;
	broadcast(&s);
	ended(&s, 1, 1, AE_FATAL);
	store_mem_fail_reads(s.f.store, 0, 1, E_IO);
	ended(&s, 1, 2, AE_OK);
	wait_a_while(&s);
	assert_int_equal(state_at(&s, 1, 0), ST_STOP);
	scene_end(&s);
}

static void a_redo_that_cannot_be_read_changes_nothing(void **state)
{
	struct scene s;

	(void)state;
	broadcast(&s);
	ended(&s, 1, 1, AE_FATAL);
	ended(&s, 1, 2, AE_OK);
	store_mem_fail_reads(s.f.store, 1, 1, E_IO); /* the part is read, the whole is not */
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 1 }, NULL, NULL);
	wait_a_while(&s);
	assert_int_equal(state_at(&s, 1, 0), ST_STOP);
	assert_int_equal(state_at(&s, 1, 1), ST_STOP);
	scene_end(&s);
}

static void a_redo_of_one_part_leaves_the_others(void **state)
{
	struct scene s;

	(void)state;
	broadcast(&s);
	ended(&s, 1, 1, AE_FATAL);
	ended(&s, 1, 2, AE_FATAL);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 2 }, NULL, NULL);
	assert_int_equal(state_at(&s, 1, 0), ST_RUNNING);
	assert_int_equal(state_at(&s, 1, 1), ST_STOP);
	assert_int_equal(state_at(&s, 1, 2), ST_RUNNING);
	ended(&s, 1, 2, AE_OK);
	assert_int_equal(state_at(&s, 1, 0), ST_STOP);
	scene_end(&s);
}

static void a_forced_success_is_one_of_all_parts(void **state)
{
	struct scene s;
	struct inst_key key = { 60, 1, 0 };

	(void)state;
	broadcast(&s);
	say(&s, ASK_FORCE, key, NULL, NULL);
	assert_int_equal(state_at(&s, 1, 0), ST_RUNNING); /* refused while it runs */
	ended(&s, 1, 1, AE_FATAL);
	ended(&s, 1, 2, AE_OK);
	say(&s, ASK_FORCE, key, NULL, NULL);
	assert_int_equal(state_at(&s, 1, 0), ST_SUCC);
	assert_int_equal(state_at(&s, 1, 1), ST_SUCC);
	scene_end(&s);
}

static void a_slot_is_counted_per_part(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s);
	sit(&s, 1, "one", false);
	sit(&s, 2, "two", false);
	put(&s.f, 1, 5, 1, DISPATCH_BROADCAST);
	create(&s, 1);
	assert_int_equal(s.f.n, 1);
	ended(&s, 1, s.f.granted[0].part, AE_OK);
	assert_int_equal(s.f.n, 2);
	scene_end(&s);
}

/* --- pipelines --- */

static void pipeline(struct scene *s)
{
	scene_begin(s);
	put_step(s, 1, NULL);
	put_step(s, 2, &strong_1);
	put_step(s, 3, &strong_2);
	put_step(s, 4, &failed_1);
	sit(s, 1, "one", false);
	sit(s, 2, "two", false);
	for (uint32_t id = 1; id <= 4; id++)
		create(s, id);
}

static void a_step_follows_the_one_before_on_its_node(void **state)
{
	struct scene s;

	(void)state;
	pipeline(&s);
	assert_int_equal(state_at(&s, 1, 1), ST_RUNNING);
	assert_int_equal(state_at(&s, 1, 2), ST_RUNNING);
	assert_int_equal(state_at(&s, 2, 1), ST_READY);
	ended(&s, 1, 1, AE_OK);
	assert_int_equal(state_at(&s, 2, 1), ST_RUNNING);
	assert_int_equal(at(&s, 2, 1)->broker, 1);
	assert_int_equal(state_at(&s, 2, 2), ST_READY);
	ended(&s, 2, 1, AE_OK);
	assert_int_equal(state_at(&s, 3, 1), ST_RUNNING);
	ended(&s, 1, 2, AE_OK);
	assert_int_equal(state_at(&s, 2, 2), ST_RUNNING);
	assert_int_equal(at(&s, 2, 2)->broker, 2);
	assert_int_equal(state_at(&s, 4, 0), ST_SKIPPED);
	assert_int_equal(at(&s, 4, 0)->reason, RE_LINK);
	scene_end(&s);
}

static void a_bad_strong_step_skips_the_later_ones_there_and_runs_failed(void **state)
{
	struct scene s;

	(void)state;
	pipeline(&s);
	ended(&s, 1, 1, AE_FATAL);
	assert_int_equal(state_at(&s, 2, 1), ST_SKIPPED);
	assert_int_equal(at(&s, 2, 1)->reason, RE_PIPELINE);
	assert_int_equal(state_at(&s, 3, 1), ST_SKIPPED);
	assert_int_equal(state_at(&s, 4, 1), ST_RUNNING);
	assert_int_equal(state_at(&s, 4, 2), ST_READY);
	ended(&s, 1, 2, AE_OK);
	ended(&s, 2, 2, AE_OK);
	assert_int_equal(state_at(&s, 2, 0), ST_SKIPPED);
	assert_int_equal(at(&s, 2, 0)->reason, RE_PIPELINE);
	assert_int_equal(state_at(&s, 3, 2), ST_RUNNING);
	scene_end(&s);
}

static void the_redo_of_a_step_reopens_the_later_ones(void **state)
{
	struct scene s;

	(void)state;
	pipeline(&s);
	ended(&s, 1, 1, AE_FATAL);
	ended(&s, 1, 2, AE_OK);
	ended(&s, 2, 2, AE_OK);
	ended(&s, 3, 2, AE_OK);
	assert_int_equal(state_at(&s, 3, 0), ST_SKIPPED);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 1 }, NULL, NULL);
	assert_int_equal(state_at(&s, 1, 1), ST_RUNNING);
	assert_int_equal(state_at(&s, 2, 0), ST_RUNNING);
	assert_int_equal(state_at(&s, 2, 1), ST_READY);
	assert_int_equal(state_at(&s, 2, 2), ST_SUCC);
	ended(&s, 1, 1, AE_OK);
	ended(&s, 2, 1, AE_OK);
	ended(&s, 3, 1, AE_OK);
	assert_int_equal(state_at(&s, 3, 0), ST_SUCC);
	assert_int_equal(grants(&s, 3, 2), 1);
	scene_end(&s);
}

static void a_node_that_is_absent_is_waited_for(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s);
	put_step(&s, 1, NULL);
	sit(&s, 1, "one", false);
	create(&s, 1);
	assert_int_equal(state_at(&s, 1, 1), ST_RUNNING);
	assert_int_equal(state_at(&s, 1, 2), ST_DEPEND);
	sit(&s, 2, "two", false);
	assert_int_equal(state_at(&s, 1, 2), ST_RUNNING);
	scene_end(&s);
}

static void an_occurrence_due_while_the_former_is_unfinished_is_skipped_whole(void **state)
{
	struct scene s;

	(void)state;
	pipeline(&s);
	say(&s, ASK_CREATE, (struct inst_key){ 120, 1, 0 }, with_plan, NULL);
	assert_int_equal(s.rows[s.n - 1].key.run_date, 120);
	assert_int_equal(s.rows[s.n - 1].state, ST_SKIPPED);
	assert_int_equal(s.rows[s.n - 1].reason, RE_OVERLAP);
	for (int32_t part = 1; part <= 2; part++) {
		ended(&s, 1, part, AE_OK);
		ended(&s, 2, part, AE_OK);
		ended(&s, 3, part, AE_OK);
	}
	/* It is over by now: the others of that occurrence are skipped all the same. */
	say(&s, ASK_CREATE, (struct inst_key){ 120, 2, 0 }, with_plan, NULL);
	assert_int_equal(s.rows[s.n - 1].reason, RE_OVERLAP);
	now_us = 200 * US_PER_S;
	say(&s, ASK_CREATE, (struct inst_key){ 180, 1, 0 }, with_plan, NULL);
	for (size_t i = 0; i < s.n; i++)
		if (s.rows[i].key.run_date == 180 && s.rows[i].key.part == 0)
			assert_int_equal(s.rows[i].state, ST_RUNNING);
	scene_end(&s);
}

/* --- branch --- */

static struct task_link plain_1 = { .parent = 1, .kind = LK_SAME };
static struct task_link plain_3 = { .parent = 3, .kind = LK_SAME };

static void a_branch_skips_the_children_it_does_not_name(void **state)
{
	struct scene s;
	static const struct task tasks[] = {
		{ .id = 1, .name = "p/w/a" },
		{ .id = 2, .name = "p/w/b", .links = &plain_1, .n_links = 1 },
		{ .id = 3, .name = "p/w/c", .links = &plain_1, .n_links = 1 },
		{ .id = 4, .name = "p/w/d", .links = &plain_3, .n_links = 1 },
	};

	(void)state;
	scene_begin(&s);
	sit(&s, 1, "one", false);
	for (size_t i = 0; i < 4; i++)
		put_task(&s.f, &tasks[i]);
	create(&s, 1);
	create(&s, 2);
	create(&s, 4);
	struct instance i = *at(&s, 1, 0);
	say(&s, ASK_ENDED, i.key, with_branch, &i);
	assert_int_equal(state_at(&s, 2, 0), ST_RUNNING);
	assert_int_equal(state_at(&s, 3, 0), ST_SKIPPED);
	assert_int_equal(at(&s, 3, 0)->reason, RE_BRANCH);
	assert_int_equal(state_at(&s, 4, 0), ST_SKIPPED);
	assert_int_equal(at(&s, 4, 0)->reason, RE_LINK);
	scene_end(&s);
}

/* Tasks a and e branch; b, c are children of a, c also of e. */
static void fork_begin(struct scene *s)
{
	static struct task_link both[] = { { .parent = 1, .kind = LK_SAME },
		                           { .parent = 5, .kind = LK_SAME } };
	static const struct task tasks[] = {
		{ .id = 1, .name = "p/w/a" },
		{ .id = 5, .name = "p/w/e" },
		{ .id = 2, .name = "p/w/b", .links = &plain_1, .n_links = 1 },
		{ .id = 3, .name = "p/w/c", .links = both, .n_links = 2 },
	};

	scene_begin(s);
	sit(s, 1, "one", false);
	for (size_t i = 0; i < 4; i++)
		put_task(&s->f, &tasks[i]);
	create(s, 1);
	create(s, 5);
}

static void chooses(struct scene *s, uint32_t task, const char *branch)
{
	struct instance i = *at(s, task, 0);
	struct proposals *ps = proposals_new(PR_WORKER, 1, s->f.me, told);
	struct proposal *p = proposals_add(ps, ASK_ENDED, i.key);

	p->token = i.token;
	p->end = AE_OK;
	p->branch = mem_str(branch);
	assert_int_equal(ledger_propose(s->f.ledger, ps), 0);
	see(s);
}

static void one_branch_that_leaves_a_child_out_is_enough(void **state)
{
	struct scene s;

	(void)state;
	fork_begin(&s);
	chooses(&s, 1, "b");
	assert_int_equal(state_at(&s, 3, 0), ST_SKIPPED);
	chooses(&s, 5, "c");
	assert_int_equal(state_at(&s, 3, 0), ST_SKIPPED);
	say(&s, ASK_REDO, (struct inst_key){ 60, 5, 0 }, NULL, NULL);
	chooses(&s, 5, "c"); /* nor does its redo want back whom another left out */
	assert_int_equal(state_at(&s, 3, 0), ST_SKIPPED);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 0 }, NULL, NULL);
	chooses(&s, 1, "b, c");
	assert_int_equal(state_at(&s, 3, 0), ST_RUNNING);
	scene_end(&s);
}

static void a_child_that_a_redo_wants_back_is_read_until_that_works(void **state)
{
	struct scene s;

	(void)state;
	fork_begin(&s);
	ended(&s, 5, 0, AE_OK);
	chooses(&s, 1, "b");
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 0 }, NULL, NULL);
	store_mem_fail_reads(s.f.store, 0, 3, E_IO);
	chooses(&s, 1, "c");
	for (int i = 0; i < 20; i++)
		wait_a_while(&s);
	assert_int_equal(state_at(&s, 1, 0), ST_SUCC);
	assert_int_equal(state_at(&s, 3, 0), ST_RUNNING);
	scene_end(&s);
}

static void what_was_to_run_at_once_and_is_wanted_back_waits_for_its_links(void **state)
{
	struct scene s;

	(void)state;
	fork_begin(&s);
	sit(&s, 1, "one", true);
	create(&s, 3);
	say(&s, ASK_RUN_NOW, (struct inst_key){ 60, 3, 0 }, NULL, NULL);
	assert_int_equal(state_at(&s, 3, 0), ST_DEPEND);
	chooses(&s, 1, "b");
	assert_int_equal(state_at(&s, 3, 0), ST_SKIPPED);
	sit(&s, 1, "one", false);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 0 }, NULL, NULL);
	chooses(&s, 1, "c");
	ended(&s, 5, 0, AE_OK);
	assert_int_equal(state_at(&s, 3, 0), ST_RUNNING);
	scene_end(&s);
}

static void with_params(struct proposal *p, void *ctx)
{
	(void)ctx;
	p->data = mem_str("{\"n\":\"1\"}");
	p->data_kind = ID_PARAMS;
}

static void read_params(struct letter *l, void *self)
{
	struct data_question *q = (struct data_question *)l;

	(void)self;
	assert_string_equal(q->params, "{\"n\":\"1\"}");
	data_question_done(q);
	free(q);
}

static void parts_get_the_parameters_of_their_instance(void **state)
{
	struct scene s;

	(void)state;
	broadcast(&s);
	ended(&s, 1, 1, AE_OK);
	ended(&s, 1, 2, AE_OK);
	say(&s, ASK_REDO, (struct inst_key){ 60, 1, 0 }, with_params, NULL);
	assert_true(at(&s, 1, 1)->flags & IF_PARAMS);
	wait_a_while(&s);
	struct data_question *q = mem_new(sizeof *q);
	q->reply_to = s.f.me;
	q->answered = read_params;
	q->key = (struct inst_key){ 60, 1, 1 };
	q->wants_params = true;
	assert_int_equal(ledger_ask_data(s.f.ledger, q), 0);
	wait_a_while(&s);
	scene_end(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_broadcast_runs_once_on_each_broker_and_succeeds_when_all_did),
		cmocka_unit_test(a_broker_that_comes_later_gets_no_part),
		cmocka_unit_test(a_part_that_is_retried_stays_on_its_broker),
		cmocka_unit_test(the_whole_is_as_its_worst_part),
		cmocka_unit_test(a_kill_of_the_whole_kills_each_part),
		cmocka_unit_test(a_redo_does_all_parts_again_or_those_that_failed),
		cmocka_unit_test(a_redo_of_one_part_leaves_the_others),
		cmocka_unit_test(a_part_that_cannot_be_read_is_not_made_anew),
		cmocka_unit_test(the_whole_waits_for_parts_that_cannot_be_read),
		cmocka_unit_test(a_redo_that_cannot_be_read_changes_nothing),
		cmocka_unit_test(a_forced_success_is_one_of_all_parts),
		cmocka_unit_test(a_slot_is_counted_per_part),
		cmocka_unit_test(a_step_follows_the_one_before_on_its_node),
		cmocka_unit_test(a_bad_strong_step_skips_the_later_ones_there_and_runs_failed),
		cmocka_unit_test(the_redo_of_a_step_reopens_the_later_ones),
		cmocka_unit_test(a_node_that_is_absent_is_waited_for),
		cmocka_unit_test(an_occurrence_due_while_the_former_is_unfinished_is_skipped_whole),
		cmocka_unit_test(a_branch_skips_the_children_it_does_not_name),
		cmocka_unit_test(one_branch_that_leaves_a_child_out_is_enough),
		cmocka_unit_test(a_child_that_a_redo_wants_back_is_read_until_that_works),
		cmocka_unit_test(what_was_to_run_at_once_and_is_wanted_back_waits_for_its_links),
		cmocka_unit_test(parts_get_the_parameters_of_their_instance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
