/* Commands on documents, tasks and commands; restarts; queries. */
#include "place.h"

/* --- documents ------------------------------------------------------------------------- */

static void documents_make_tasks_that_outlive_a_restart(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	has(p, "\"state\":\"done\"");
	has(p, "\"name\":\"p/shop/day\",\"change\":\"create\"");
	uint32_t id = look(p, "p/shop/day", 0).task;
	assert_true(look(p, "p/shop/day", 0).online);
	place_crash(p, 1000);
	assert_int_equal(look(p, "p/shop/day", 0).task, id);
	assert_true(look(p, "p/shop/day", 0).online);
	apply(p, shop);
	has(p, "\"name\":\"p/shop\",\"change\":\"same\",\"version\":1");
	place_free(p);
}

static void documents_are_tried_without_effect(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	ok(p, apply_text(p, shop, "", true));
	has(p, "\"dry_run\":true");
	has(p, "\"change\":\"create\"");
	assert_int_equal(look(p, "p/shop/day", 0).task, 0);
	place_free(p);
}

static void documents_that_are_wrong_say_where(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	assert_int_equal(apply_text(p, "workflow: shop\ntasks:\n  a: {tipe: noop}\n", "", false),
	                 E_INVALID);
	has(p, "\"line\":3");
	has(p, "\"file\":\"shop.yaml\"");
	place_free(p);
}

static void documents_changes_are_named(void **state)
{
	static const char text[] = "workflow: shop\nproject: p\nowner: li\nstart_date: 2026-03-01\n"
				   "tasks:\n  hours: {type: noop, cycle: hour, priority: 7}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	assert_int_equal(apply_text(p, text, "", false), E_CONFLICT);
	ok(p, apply_text(p, text, "\"retire\": true, ", false));
	has(p, "\"name\":\"p/shop/hours\",\"change\":\"update\"");
	has(p, "{\"field\":\"priority\",\"before\":null,\"after\":\"7\"}");
	has(p, "\"name\":\"p/shop/day\",\"change\":\"retire\"");
	place_crash(p, 1000);
	assert_int_equal(look(p, "p/shop/day", 0).task, 0);
	assert_int_not_equal(look(p, "p/shop/hours", 0).task, 0);
	place_free(p);
}

/* --- tasks ----------------------------------------------------------------------------------- */

static void offline_skips_what_waits_and_is_refused_with_children(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "enqueue",
	              "{\"selection\": {\"tasks\": [\"p/shop/later\"], \"dates\": "
	              "[\"2026-03-01\"]}}"));
	assert_int_equal(command(p, "offline", "{\"selection\": {\"tasks\": [\"p/shop/day\"]}}"),
	                 E_CONFLICT);
	assert_non_null(strstr(p->answer->text, "p/shop/next is online and depends on p/shop/day"));
	ok(p, command(p, "offline", "{\"selection\": {\"workflow\": \"p/shop\"}}"));
	has(p, "\"state\":\"done\"");
	assert_false(look(p, "p/shop/day", 0).online);
	assert_int_equal(look(p, "p/shop/later", DAY(1)).state, ST_SKIPPED);
	ok(p, command(p, "online", "{\"selection\": {\"tasks\": [\"p/shop/*\"]}}"));
	assert_true(look(p, "p/shop/day", 0).online);
	ok(p, command(p, "freeze", "{\"selection\": {\"tasks\": [\"p/shop/day\"]}}"));
	assert_true(look(p, "p/shop/day", 0).frozen);
	place_crash(p, 1000);
	assert_true(look(p, "p/shop/day", 0).frozen);
	place_free(p);
}

static struct instance row(struct place *p, const char *name, int day)
{
	struct instance i = { .state = ST_NONE };

	ledger_find(p->ledger, key_of(p, name, DAY(day)), &i);
	return i;
}

static const char icy[] = "workflow: icy\nproject: p\nstart_date: 2026-03-01\ntimezone: UTC\n"
			  "tasks:\n"
			  "  all: {type: noop, cycle: day, catchup: {mode: all}}\n"
			  "  two: {type: noop, cycle: day, catchup: {mode: all, max: 2}}\n"
			  "  latest: {type: noop, cycle: day, catchup: {mode: latest}}\n"
			  "  none: {type: noop, cycle: day, catchup: {mode: none}}\n";

/* Rows of the 8th and 9th came due while they were frozen; the 10th is due for 30 s: that is
 * not missed. */
static struct place *thawed(int64_t *ret_before_us)
{
	static const char *const names[] = { "p/icy/all", "p/icy/two", "p/icy/latest",
		                             "p/icy/none" };
	struct place *p;

	mono_now = 1000000; /* each run() takes a second: the 10th came due more than two ago */
	p = place_new(2);
	apply(p, icy);
	ok(p, command(p, "freeze", "{\"selection\": {\"workflow\": \"p/icy\"}}"));
	for (size_t i = 0; i < 4; i++)
		for (int day = 8; day <= 10; day++)
			propose(p, ASK_CREATE, key_of(p, names[i], DAY(day)));
	*ret_before_us = wall(NULL);
	ok(p, command(p, "unfreeze", "{\"selection\": {\"workflow\": \"p/icy\"}}"));
	for (int n = 0; n < 20 && look(p, "p/icy/none", 0).frozen; n++)
		run(p);
	assert_false(look(p, "p/icy/none", 0).frozen);
	return p;
}

struct ahead {
	int64_t next, off_until;
};

static void ahead_of(void *ctx, const struct ledger_task *t)
{
	if (strcmp(t->def->name, "p/w/b") == 0)
		*(struct ahead *)ctx = (struct ahead){ plan_next(t->def->plan,
			                                         t->row->planned_through),
			                               plan_off_until(t->def->plan) };
}

static void end_at(struct place *p, struct inst_key key, const char *branch)
{
	struct proposals *ps = proposals_new(PR_WORKER, 1, p->me, proposed);
	struct proposal *q = proposals_add(ps, ASK_ENDED, key);
	struct instance i;

	assert_true(ledger_find(p->ledger, key, &i));
	q->token = i.token;
	q->end = AE_OK;
	q->branch = mem_str(branch);
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	run(p);
	assert_int_equal(p->code, 0);
}

/* A parent that ran early left out a date of its child that is still to come: the child's plan is
 * no further for it, and the dates before are made, or left out with a reason, when it is online
 * again. */
static void what_a_branch_leaves_out_ahead_moves_no_plan(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2026-03-10T00:00\n"
				   "timezone: UTC\ndefaults: {type: noop, cycle: hour}\n"
				   "tasks:\n  a: {}\n  b: {needs: [a]}\n";
	struct place *p = place_new(1000);
	struct ahead b = { 0 };

	(void)state;
	apply(p, text);
	struct proposals *ps = proposals_new(PR_INSTANTIATOR, 1, p->me, proposed);
	proposals_add(ps, ASK_CREATE, key_of(p, "p/w/b", DAY(10)))->plan = true;
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	run(p);
	ok(p, command(p, "offline", "{\"selection\": {\"tasks\": [\"p/w/b\"]}}"));
	end_at(p, start_one(p, "p/w/a", DAY(10) + 5 * 3600), "[]");
	assert_int_equal(look(p, "p/w/b", DAY(10) + 5 * 3600).state, ST_SKIPPED);
	mono_now += 2 * 3600 * US_PER_S;
	ok(p, command(p, "online", "{\"selection\": {\"tasks\": [\"p/w/b\"]}}"));
	ledger_each_task(p->ledger, ahead_of, &b);
	assert_int_equal(b.next, DAY(10) + 3600);
	assert_in_range(b.off_until, DAY(10) + 2 * 3600 + 1, DAY(10) + 3 * 3600);
	place_free(p);
}

static void unfreeze_leaves_out_what_the_catch_up_mode_does(void **state)
{
	int64_t before_us;
	struct place *p = thawed(&before_us);

	(void)state;
	for (int day = 8; day <= 10; day++)
		assert_int_equal(row(p, "p/icy/all", day).state, ST_READY);
	assert_int_equal(look(p, "p/icy/two", DAY(8)).state, ST_SKIPPED);
	for (int day = 9; day <= 10; day++)
		assert_int_equal(row(p, "p/icy/two", day).state, ST_READY);
	assert_int_equal(look(p, "p/icy/latest", DAY(8)).state, ST_SKIPPED);
	assert_int_equal(look(p, "p/icy/latest", DAY(9)).state, ST_SKIPPED);
	assert_int_equal(row(p, "p/icy/latest", 10).state, ST_READY);
	assert_int_equal(look(p, "p/icy/none", DAY(8)).state, ST_SKIPPED);
	assert_int_equal(look(p, "p/icy/none", DAY(9)).state, ST_SKIPPED);
	assert_int_equal(look(p, "p/icy/none", DAY(10)).state, ST_SKIPPED);
	place_free(p);
}

static void unfreeze_makes_due_anew(void **state)
{
	int64_t before_us, after_us;
	struct place *p = thawed(&before_us);

	(void)state;
	assert_true(row(p, "p/icy/all", 8).eff_due_us >= before_us);
	after_us = wall(NULL);
	ok(p, command(p, "unfreeze", "{\"selection\": {\"workflow\": \"p/icy\"}}"));
	assert_true(row(p, "p/icy/all", 8).eff_due_us <= after_us); /* it was not frozen */
	place_free(p);
}

static void what_people_asked_for_is_not_left_out(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, icy);
	ok(p, command(p, "freeze", "{\"selection\": {\"workflow\": \"p/icy\"}}"));
	ok(p, command(p, "enqueue",
	              "{\"selection\": {\"tasks\": [\"p/icy/none\"], \"dates\": "
	              "[\"2026-03-07\"]}}"));
	ok(p, command(p, "unfreeze", "{\"selection\": {\"workflow\": \"p/icy\"}}"));
	assert_int_equal(row(p, "p/icy/none", 7).state, ST_READY);
	assert_false(look(p, "p/icy/none", 0).frozen);
	place_free(p);
}

static void retire_takes_tasks_out_for_good(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	uint32_t id = look(p, "p/shop/later", 0).task;
	ok(p, command(p, "enqueue",
	              "{\"selection\": {\"tasks\": [\"p/shop/later\"], \"dates\": "
	              "[\"2026-03-01\"]}}"));
	ok(p, command(p, "retire", "{\"selection\": {\"tasks\": [\"p/shop/later\"]}}"));
	run(p);
	assert_int_equal(command(p, "freeze", "{\"selection\": {\"tasks\": [\"p/shop/later\"]}}"),
	                 E_NOT_FOUND);
	place_crash(p, 1000);
	assert_int_equal(look(p, "p/shop/later", 0).task, 0);
	apply(p, shop); /* its document still names it, unchanged: it comes back under its number */
	assert_int_equal(look(p, "p/shop/later", 0).task, id);
	place_free(p);
}

/* --- commands about commands ---------------------------------------------------------------- */

static void a_restart_goes_on_from_the_cursor(void **state)
{
	static const char all[] = "{\"selection\": {\"tasks\": [\"p/shop/hours\"], \"from\": "
				  "\"2026-03-01\", \"to\": \"2026-03-09\"}}";
	struct place *p = place_new(10);

	(void)state;
	apply(p, shop);
	post(p, "backfill", all, "big", false);
	/* No commit after the first few: the process dies in the middle. */
	store_mem_fail(p->store, 6, 1000, E_BUSY, STORE_FAULT_BEFORE);
	run(p);
	place_crash(p, 10);
	run(p);
	assert_int_equal(live(p, ST_READY), 9 * 24);
	ok(p, command_id(p, "backfill", all, "big", false));
	has(p, "\"state\":\"done\"");
	has(p, "\"failed\":0");
	place_free(p);
}

static void a_restart_repeats_nothing_that_is_recorded(void **state)
{
	static const char all[] = "{\"selection\": {\"tasks\": [\"p/shop/hours\"], \"from\": "
				  "\"2026-03-01\", \"to\": \"2026-03-09\"}}";
	struct place *p = place_new(10);
	int done, total;

	(void)state;
	apply(p, shop);
	post(p, "force-success", all, "big", false);
	store_mem_fail(p->store, 8, 1000, E_BUSY, STORE_FAULT_BEFORE);
	run(p);
	place_crash(p, 10);
	run(p);
	ok(p, command_id(p, "force-success", all, "big", false));
	has(p, "\"state\":\"done\"");
	const char *at = strstr(body(p), "\"total\":");
	assert_int_equal(sscanf(at, "\"total\":%d,\"done\":%d", &total, &done), 2);
	/* What was applied and not yet recorded when it died is asked once more: one letter. */
	assert_in_range(done, 9 * 24, 9 * 24 + 10);
	place_free(p);
}

static void pause_resume_cancel(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\n"
				   "tasks:\n  a: {type: noop, cycle: day}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, text);
	post(p, "backfill",
	     "{\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": \"2026-03-01\", \"to\": "
	     "\"2026-03-05\"}, \"parallel\": 1}",
	     "b", false);
	thread_sim_run(p->th);
	propose(p, ASK_SATISFY, key_of(p, "p/w/a", DAY(1)));
	ok(p, command(p, "command-pause", "{\"command\": \"2\"}"));
	ok(p, query(p, "command", "{\"command\": \"2\"}"));
	has(p, "\"state\":\"paused\"");
	ok(p, command(p, "command-resume", "{\"command\": \"2\"}"));
	ok(p, query(p, "command", "{\"command\": \"2\"}"));
	has(p, "\"state\":\"running\"");
	ok(p, command(p, "command-cancel", "{\"command\": \"2\"}"));
	ok(p, query(p, "command", "{\"command\": \"2\"}"));
	has(p, "\"state\":\"cancelled\"");
	assert_int_equal(live(p, ST_READY) + live(p, ST_DEPEND), 0);
	assert_int_equal(command(p, "command-pause", "{\"command\": \"2\"}"), E_CONFLICT);
	assert_int_equal(command(p, "command-pause", "{\"command\": \"99\"}"), E_NOT_FOUND);
	place_free(p);
}

static void many_instances_go_in_batches(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2024-01-01\n"
				   "tasks:\n  a: {type: noop, cycle: hour}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, text);
	ok(p, command_id(p, "force-success",
	                 "{\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": "
	                 "\"2024-01-01\", \"to\": \"2025-12-31\"}}",
	                 "many", false));
	for (int i = 0; i < 50 && !strstr(body(p), "\"state\":\"done\""); i++)
		ok(p, query(p, "command", "{\"command\": \"2\"}"));
	has(p, "\"total\":17544,\"done\":17544,\"failed\":0");
	place_free(p);
}

/* --- queries -------------------------------------------------------------------------------- */

static void queries_answer(void **state)
{
	struct place *p = place_new(1000);
	static const char *const kinds[] = { "server", "health", "metrics", "queues" };

	(void)state;
	apply(p, shop);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		ok(p, query(p, kinds[i], ""));
	ok(p, query(p, "instance",
	            "{\"instance\": {\"task\": \"p/shop/day\", \"run_date\": "
	            "\"2026-03-01\"}}"));
	has(p, "\"live\":false,\"planned\":true");
	start_one(p, "p/shop/day", DAY(1));
	ok(p, query(p, "instance",
	            "{\"instance\": {\"task\": \"p/shop/day\", \"run_date\": "
	            "\"2026-03-01\"}}"));
	has(p, "\"live\":true,\"state\":\"Running\"");
	ok(p, query(p, "why",
	            "{\"instance\": {\"task\": \"p/shop/day\", \"run_date\": "
	            "\"2026-03-01\"}}"));
	has(p, "\"gate\":0");
	ok(p, query(p, "why",
	            "{\"instance\": {\"task\": \"p/shop/day\", \"run_date\": "
	            "\"2027-03-01\"}}"));
	has(p, "\"gate\":3,\"gate_name\":\"due\",\"code\":\"due\"");
	ok(p, query(p, "why",
	            "{\"instance\": {\"task\": \"p/shop/day\", \"run_date\": "
	            "\"2026-03-01 05:00\"}}"));
	has(p, "\"state\":\"unplanned\"");
	assert_int_equal(query(p, "instance",
	                       "{\"instance\": {\"task\": \"p/shop/x\", \"run_date\": "
	                       "\"2026-03-01\"}}"),
	                 E_NOT_FOUND);
	assert_int_equal(query(p, "whi", "{}"), E_INVALID);
	place_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_make_tasks_that_outlive_a_restart),
		cmocka_unit_test(documents_are_tried_without_effect),
		cmocka_unit_test(documents_that_are_wrong_say_where),
		cmocka_unit_test(documents_changes_are_named),
		cmocka_unit_test(offline_skips_what_waits_and_is_refused_with_children),
		cmocka_unit_test(what_a_branch_leaves_out_ahead_moves_no_plan),
		cmocka_unit_test(unfreeze_leaves_out_what_the_catch_up_mode_does),
		cmocka_unit_test(unfreeze_makes_due_anew),
		cmocka_unit_test(what_people_asked_for_is_not_left_out),
		cmocka_unit_test(retire_takes_tasks_out_for_good),
		cmocka_unit_test(a_restart_goes_on_from_the_cursor),
		cmocka_unit_test(a_restart_repeats_nothing_that_is_recorded),
		cmocka_unit_test(pause_resume_cancel),
		cmocka_unit_test(many_instances_go_in_batches),
		cmocka_unit_test(queries_answer),
	};

	log_open("test", LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
