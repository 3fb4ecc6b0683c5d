/* What each kind of command does to instances, and what is refused. */
#include "place.h"

/* --- instances ---------------------------------------------------------------------------- */

static void force_success_makes_rows(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success", "{" DAYS_1_TO_3 "}"));
	has(p, "\"state\":\"done\"");
	has(p, "\"total\":3,\"done\":3,\"failed\":0");
	assert_int_equal(look(p, "p/shop/day", DAY(2)).state, ST_SUCC);
	assert_int_equal(look(p, "p/shop/day", DAY(4)).state, ST_NONE);
	place_free(p);
}

static void a_repeated_request_has_no_second_effect(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success", "{" DAYS_1_TO_3 "}"));
	ok(p, command_id(p, "redo", "{" DAYS_1_TO_3 "}", "once", false));
	char *first = mem_str(body(p));
	ok(p, command(p, "force-success", "{" DAYS_1_TO_3 "}"));
	ok(p, command_id(p, "redo", "{" DAYS_1_TO_3 "}", "once", false));
	assert_string_equal(body(p), first);
	assert_int_equal(look(p, "p/shop/day", DAY(1)).state, ST_SUCC);
	assert_int_equal(command_id(p, "redo", "{" DAYS_1_TO_3 ", \"priority\": 3}", "once", false),
	                 E_CONFLICT);
	place_crash(p, 1000);
	ok(p, command_id(p, "redo", "{" DAYS_1_TO_3 "}", "once", false));
	assert_string_equal(body(p), first);
	free(first);
	place_free(p);
}

static void dry_runs_count_and_change_nothing(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, dry(p, "backfill", "{" DAYS_1_TO_3 "}"));
	has(p, "\"total\":3");
	has(p, "{\"task\":\"p/shop/day\",\"owner\":\"li\",\"count\":3,\"new\":3,\"running\":0}");
	has(p, "\"days\":[{\"day\":\"2026-03-01\",\"count\":1,\"new\":1,\"refusals\":0,"
	       "\"unchanged\":0},{\"day\":\"2026-03-02\"");
	assert_int_equal(live(p, ST_READY), 0);
	start_one(p, "p/shop/day", DAY(1));
	ok(p, dry(p, "force-success", "{" DAYS_1_TO_3 "}"));
	has(p, "\"total\":2");
	has(p, "{\"day\":\"2026-03-01\",\"count\":0,\"new\":0,\"refusals\":1,\"unchanged\":0}");
	has(p, "\"code\":\"CONFLICT\",\"message\":\"an attempt runs, kill it first\"");
	place_free(p);
}

static void redo_reopens_downstream(void **state)
{
	static const char all[] =
		"{\"selection\": {\"workflow\": \"p/shop\", \"from\": \"2026-03-01\", "
		"\"to\": \"2026-03-05\"}}";
	static const char hour[] =
		"{\"selection\": {\"tasks\": [\"p/shop/hours\"], "
		"\"dates\": [\"2026-03-02 05:00\"]}, \"mode\": \"with_downstream\"}";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success", all));
	has(p, "\"total\":135,\"done\":135,\"failed\":0");
	ok(p, dry(p, "redo", hour));
	has(p, "\"total\":4");
	ok(p, command(p, "redo", hour));
	has(p, "\"total\":4,\"done\":4,\"failed\":0");
	assert_int_equal(live(p, ST_READY), 4);
	assert_int_equal(state_of(p, key_of(p, "p/shop/hours", DAY(2) + 5 * 3600)), ST_READY);
	assert_int_equal(state_of(p, key_of(p, "p/shop/day", DAY(2))), ST_READY);
	assert_int_equal(state_of(p, key_of(p, "p/shop/next", DAY(2))), ST_READY);
	assert_int_equal(state_of(p, key_of(p, "p/shop/later", DAY(3))), ST_READY);
	place_free(p);
}

static void redo_of_downstream_alone_leaves_the_chosen(void **state)
{
	static const char all[] =
		"{\"selection\": {\"workflow\": \"p/shop\", \"from\": \"2026-03-01\", "
		"\"to\": \"2026-03-05\"}}";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success", all));
	ok(p, command(p, "redo",
	              "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"dates\": "
	              "[\"2026-03-02\"]}, \"mode\": \"downstream\"}"));
	has(p, "\"total\":2,\"done\":2");
	assert_int_equal(look(p, "p/shop/day", DAY(2)).state, ST_SUCC);
	assert_int_equal(state_of(p, key_of(p, "p/shop/next", DAY(2))), ST_READY);
	place_free(p);
}

static void redo_downstream_leaves_what_lies_between(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success",
	              "{\"selection\": {\"workflow\": \"p/shop\", \"from\": "
	              "\"2026-03-01\", \"to\": \"2026-03-06\"}}"));
	ok(p, command(p, "redo",
	              "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"dates\": "
	              "[\"2026-03-01\", \"2026-03-04\"]}, \"mode\": \"downstream\"}"));
	has(p, "\"total\":4,\"done\":4");
	assert_int_equal(look(p, "p/shop/next", DAY(2)).state, ST_SUCC);
	assert_int_equal(look(p, "p/shop/next", DAY(3)).state, ST_SUCC);
	assert_int_equal(state_of(p, key_of(p, "p/shop/next", DAY(4))), ST_READY);
	place_free(p);
}

/* Its own instances are counted in three turns of 2,000; what depends on them is found in others,
 * and in each of these somebody else's short preview is answered. */
static void others_are_answered_while_what_depends_on_many_is_found(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\ndefaults: "
				   "{type: noop, cycle: minute}\n"
				   "tasks:\n  a: {}\n  b: {needs: [a]}\n  c: {}\n";
	static const char days[] = "{\"selection\": {\"tasks\": [\"p/w/a\", \"p/w/b\"], "
				   "\"from\": \"2026-03-01\", \"to\": \"2026-03-03\"}}";
	static const char of_a[] = "{\"selection\": {\"tasks\": [\"p/w/a\"], "
				   "\"from\": \"2026-03-01\", \"to\": \"2026-03-03\"}}";
	static const char brief[] = "{\"selection\": {\"tasks\": [\"p/w/c\"], "
				    "\"dates\": [\"2026-03-02T00:00\"]}}";
	struct place *p = place_new(1000);
	size_t others = 0;

	(void)state;
	apply(p, text);
	ok(p, command(p, "force-success", days));
	run(p);
	assert_int_equal(look(p, "p/w/b", DAY(3)).state, ST_SUCC);
	post(p, "redo", of_a, NULL, true);
	for (size_t seen = p->answers;; seen = p->answers) {
		post(p, "backfill", brief, NULL, true);
		while (p->answers == seen)
			thread_sim_step(p->th, 1000);
		if (strstr(body(p), "\"total\":4320"))
			break;
		has(p, "\"total\":1");
		others++;
	}
	has(p, "{\"task\":\"p/w/b\",\"owner\":\"\",\"count\":4320,\"depth\":1}");
	assert_in_range(others, 8, 100);
	run(p);
	place_free(p);
}

/* What is made in one step is one commit at most, and all else waits for that. */
static void commands_share_what_may_change_in_one_step(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\ndefaults: "
				   "{type: noop, cycle: minute}\ntasks:\n  a: {}\n  b: {}\n";
	struct place *p = place_new(8);

	(void)state;
	apply(p, text);
	for (int i = 0; i < 2; i++) {
		char args[160];
		snprintf(args, sizeof args,
		         "{\"selection\": {\"tasks\": [\"p/w/%c\"], \"from\": "
		         "\"2026-03-01T00:00\", \"to\": \"2026-03-01T01:39\"}}",
		         'a' + i);
		post(p, "backfill", args, NULL, false);
	}
	for (size_t made = 0; made < 200;) {
		size_t before = made;
		thread_sim_step(p->th, 1000);
		made = live(p, ST_READY);
		assert_in_range(made - before, 0, 8);
	}
	run(p);
	place_free(p);
}

/* A grant that the commander sees before whatever is posted next. */
static void starts_now(struct place *p, struct inst_key key)
{
	propose(p, ASK_CREATE, key);
	propose(p, ASK_SATISFY, key);
	struct proposals *ps = proposals_new(PR_SORTER, 1, p->me, proposed);
	struct proposal *q = proposals_add(ps, ASK_GRANT, key);
	q->folded = UINT64_MAX;
	q->session = q->broker = 1;
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	thread_sim_run(p->th);
}

/* Whose project starts jobs meanwhile does not wait for steps of the full size. */
static void steps_are_small_beside_what_others_start(void **state)
{
	static const char text[] = "workflow: w\nproject: %s\nstart_date: 2026-03-01\ndefaults: "
				   "{type: noop, cycle: minute}\ntasks:\n  a: {}\n  b: {}\n";
	static const char *const who[] = { "p/w/a", "other/w/a" };
	struct place *p = place_new(64);
	char doc[256];

	(void)state;
	for (int other = 0; other < 2; other++) {
		snprintf(doc, sizeof doc, text, other ? "other" : "p");
		apply(p, doc);
	}
	for (int other = 0; other < 2; other++) {
		size_t most = 0;
		starts_now(p, key_of(p, who[other], DAY(1)));
		post(p, "backfill",
		     other ? "{\"selection\": {\"tasks\": [\"p/w/b\"], \"from\": "
		             "\"2026-03-02T00:00\", \"to\": \"2026-03-02T01:39\"}}"
		           : "{\"selection\": {\"tasks\": [\"p/w/b\"], \"from\": "
		             "\"2026-03-01T00:00\", \"to\": \"2026-03-01T01:39\"}}",
		     NULL, false);
		for (size_t from = live(p, ST_READY), made = from; made < from + 100;) {
			size_t before = made;
			thread_sim_step(p->th, 1000);
			made = live(p, ST_READY);
			most = made - before > most ? made - before : most;
		}
		assert_in_range(most, other ? 1 : 33, other ? 2 : 64);
		run(p);
	}
	place_free(p);
}

/* It takes no more than a quarter of the thread; who asks for little does not wait for it. */
static void a_long_count_rests_while_jobs_start(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\ndefaults: "
				   "{type: noop, cycle: minute}\ntasks:\n  a: {}\n  b: {}\n";
	static const char days[] = "{\"selection\": {\"tasks\": [\"p/w/b\"], "
				   "\"from\": \"2026-03-02\", \"to\": \"2026-03-06\"}}";
	static const char brief[] = "{\"selection\": {\"tasks\": [\"p/w/b\"], "
				    "\"dates\": [\"2026-03-02T00:00\"]}}";
	struct place *p = place_new(64);

	(void)state;
	apply(p, text);
	for (int starts = 0; starts < 2; starts++) {
		mono_now += 2 * US_PER_S; /* what started before is long ago */
		if (starts)
			starts_now(p, key_of(p, "p/w/a", DAY(1)));
		size_t seen = p->answers;
		post(p, "backfill", days, NULL, true);
		mono_tick = 100;
		thread_sim_step(p->th, 1000);
		mono_tick = 0;
		thread_sim_run(p->th);
		assert_int_equal(p->answers, starts ? seen : seen + 1);
		post(p, "backfill", brief, NULL, true);
		thread_sim_run(p->th);
		has(p, "\"total\":1,");
		run(p);
		assert_int_equal(p->answers, seen + 2);
	}
	place_free(p);
}

static void backfill_makes_rows_and_redoes_the_rest(void **state)
{
	struct place *p = place_new(1000);
	struct instance i;

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success",
	              "{\"selection\": {\"tasks\": [\"p/shop/day\"], "
	              "\"dates\": [\"2026-03-02\"]}}"));
	ok(p,
	   command(p, "backfill", "{" DAYS_1_TO_3 ", \"finished\": \"leave\", \"priority\": 9}"));
	has(p, "\"total\":2,\"done\":2");
	assert_int_equal(live(p, ST_READY), 2);
	assert_true(ledger_find(p->ledger, key_of(p, "p/shop/day", DAY(1)), &i));
	assert_int_equal(i.origin, OR_BACKFILL);
	assert_int_equal(i.priority, 9);
	ok(p, command(p, "backfill", "{" DAYS_1_TO_3 "}"));
	has(p, "\"total\":1,\"done\":1");
	assert_true(ledger_find(p->ledger, key_of(p, "p/shop/day", DAY(2)), &i));
	assert_int_equal(i.generation, 2);
	place_free(p);
}

static void what_is_so_already_is_no_failure(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "backfill", "{" DAYS_1_TO_3 "}"));
	ok(p, command(p, "backfill", "{" DAYS_1_TO_3 "}"));
	has(p, "\"state\":\"done\"");
	has(p, "\"total\":0,\"done\":0,\"failed\":0");
	place_free(p);
}

static void backfill_holds_back_what_is_over_its_cap(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "backfill", "{" DAYS_1_TO_3 ", \"parallel\": 1}"));
	has(p, "\"state\":\"running\"");
	assert_int_equal(live(p, ST_READY), 1);
	/* It waits for hours that nobody runs: after a while one more is let go. */
	run(p);
	run(p);
	assert_int_equal(live(p, ST_READY), 2);
	place_free(p);
}

static void backfill_goes_on_when_one_ends(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\n"
				   "tasks:\n  a: {type: noop, cycle: day}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, text);
	post(p, "backfill",
	     "{\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": \"2026-03-01\", \"to\": "
	     "\"2026-03-03\"}, \"parallel\": 1, \"stop_on_failure\": true}",
	     "b", false);
	thread_sim_run(p->th);
	assert_int_equal(state_of(p, key_of(p, "p/w/a", DAY(1))), ST_READY);
	propose(p, ASK_SATISFY, key_of(p, "p/w/a", DAY(1)));
	size_t before = live(p, ST_READY);
	run(p);
	assert_int_equal(live(p, ST_READY), before); /* one is active: nothing more is let go */
	ok(p, command(p, "kill",
	              "{\"selection\": {\"tasks\": [\"p/w/a\"], \"states\": "
	              "[\"DependenceFinish\"]}}"));
	ok(p, command_id(p, "backfill",
	                 "{\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": "
	                 "\"2026-03-01\", \"to\": \"2026-03-03\"}, \"parallel\": 1, "
	                 "\"stop_on_failure\": true}",
	                 "b", false));
	has(p, "\"state\":\"failed\"");
	has(p, "ended as Killed");
	place_free(p);
}

static void kill_skip_priority_freeze_and_the_like(void **state)
{
	static const char one[] = "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"dates\": "
				  "[\"2026-03-01\"]}}";
	struct place *p = place_new(1000);
	struct instance i;

	(void)state;
	apply(p, shop);
	ok(p, command(p, "enqueue", one));
	struct inst_key key = key_of(p, "p/shop/day", DAY(1));
	assert_int_equal(state_of(p, key), ST_READY);
	ok(p, command(p, "priority",
	              "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"states\": "
	              "[\"Ready\"]}, \"priority\": 10}"));
	ok(p, command(p, "freeze", one));
	assert_true(ledger_find(p->ledger, key, &i));
	assert_int_equal(i.priority, 10);
	assert_true(i.flags & IF_FROZEN);
	ok(p, command(p, "unfreeze", one));
	ok(p, command(p, "run-now", one));
	assert_int_equal(state_of(p, key), ST_DEPEND);
	propose(p, ASK_GRANT, key);
	ok(p, command(p, "skip", one));
	has(p, "\"done\":1,\"failed\":1");
	ok(p, command(p, "kill", one));
	assert_int_equal(state_of(p, key), ST_WAITKILL);
	ok(p, command(p, "declare-dead", one));
	has(p, "\"failed\":1");
	place_free(p);
}

static void a_hanged_one_is_declared_dead(void **state)
{
	struct place *p = place_new(1000);
	struct instance i;

	(void)state;
	apply(p, shop);
	struct inst_key key = start_one(p, "p/shop/day", DAY(1));
	assert_true(ledger_find(p->ledger, key, &i));
	struct proposals *ps = proposals_new(PR_SORTER, 1, p->me, proposed);
	proposals_add(ps, ASK_HANG, key)->token = i.token;
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	run(p);
	assert_int_equal(state_of(p, key), ST_HANGED);
	ok(p, command(p, "declare-dead",
	              "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"states\": "
	              "[\"Hanged\"]}}"));
	assert_int_equal(look(p, "p/shop/day", DAY(1)).state, ST_KILLED);
	place_free(p);
}

/* --- what is refused ------------------------------------------------------------------------ */

static void wrong_arguments_are_named(void **state)
{
	static const struct {
		const char *kind, *args;
		int code;
		const char *says;
	} rows[] = {
		{ "redoo", "{}", E_INVALID, "is this meant: redo" },
		{ "redo", "{", E_INVALID, "JSON, line 1" },
		{ "redo", "{\"selection\": {}, \"selection\": {}}", E_INVALID, "was there before" },
		{ "redo", "{\"selectoin\": {}}", E_INVALID, "is selection meant?" },
		{ "redo", "{}", E_INVALID, "names no task" },
		{ "redo", "{\"selection\": {\"tasks\": [\"p/shop/day\"]}}", E_INVALID,
		  "dates or states are missing" },
		{ "redo",
		  "{\"selection\": {\"tasks\": [\"p/shop/dya\"], \"from\": \"2026-03-01\"}}",
		  E_NOT_FOUND, "is this meant: p/shop/day" },
		{ "redo", "{\"selection\": {\"tasks\": [\"p/shop\"], \"from\": \"2026-03-01\"}}",
		  E_NOT_FOUND, "'p/shop' is a workflow, not a task; all its tasks: p/shop/*" },
		{ "redo",
		  "{\"selection\": {\"instances\": [{\"task\": \"p/shop\", \"run_date\": "
		  "\"2026-03-01\"}]}}",
		  E_NOT_FOUND, "'p/shop' is a workflow, not a task; a task of it: p/shop/" },
		{ "redo",
		  "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"from\": \"2026-03-02\", "
		  "\"to\": \"2026-03-01\"}}",
		  E_INVALID, "args.selection.from: 2026-03-02 is after to, 2026-03-01" },
		{ "redo", "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"from\": \"soon\"}}",
		  E_INVALID, "args.selection.from: 'soon' is no date" },
		{ "redo", "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"states\": [\"Suc\"]}}",
		  E_INVALID, "is this meant: Succ" },
		{ "redo", "{" DAYS_1_TO_3 ", \"mode\": \"all\"}", E_INVALID,
		  "'all' is none of self, with_downstream, downstream" },
		{ "redo", "{" DAYS_1_TO_3 ", \"priority\": 11}", E_INVALID,
		  "11 is not in 1 to 10" },
		{ "redo", "{" DAYS_1_TO_3 "}", E_NOT_FOUND, "nothing is selected" },
		{ "priority", "{" DAYS_1_TO_3 "}", E_INVALID, "args.priority: is missing" },
		{ "backfill",
		  "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"dates\": "
		  "[\"2026-03-01 05:00\"]}}",
		  E_INVALID, "not a planned date" },
		{ "offline", "{" DAYS_1_TO_3 "}", E_INVALID, "acts on tasks" },
		{ "log-level", "{}", E_INVALID, "args.level: is missing" },
		{ "apply", "{\"documents\": []}", E_INVALID, "1 to 10000 documents" },
		{ "command-pause", "{\"command\": 2}", E_INVALID, "number in quotes" },
		{ "kill", "{\"selection\": {\"instances\": [{\"id\": \"x\"}]}}", E_INVALID,
		  "'x' is no instance's id" },
		{ "kill", "{\"selection\": {\"instances\": [{\"id\": \"1.2\"}], \"tasks\": []}}",
		  E_INVALID, "excludes every other key" },
	};
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int code = command(p, rows[i].kind, rows[i].args);
		if (code != rows[i].code || !strstr(p->answer->text, rows[i].says))
			fail_msg("%s %s: %s, %s", rows[i].kind, rows[i].args, err_name(code),
			         p->answer->text);
	}
	place_free(p);
}

static char told[400];

static void hear(struct worker *w, const struct command_news *n)
{
	size_t at = strlen(told);

	(void)w;
	snprintf(told + at, sizeof told - at, "%d %s %d/%d of %d;", (int)n->id,
	         command_state_name(n->state), (int)n->done, (int)n->failed, (int)n->total);
}

static void workers_hear_how_far_a_command_is(void **state)
{
	struct place *p = place_new(1);

	(void)state;
	p->front.news = hear;
	p->front.n_workers = 1;
	apply(p, shop);
	assert_string_equal(told, "1 running 0/0 of -1;1 done 0/0 of 0;");
	told[0] = '\0';
	ok(p, command(p, "backfill", "{" DAYS_1_TO_3 "}"));
	assert_memory_equal(told, "2 running 0/0 of 3;", strlen("2 running 0/0 of 3;"));
	assert_non_null(strstr(told, ";2 running 1/0 of 3;"));
	assert_string_equal(told + strlen(told) - strlen(";2 done 3/0 of 3;"), ";2 done 3/0 of 3;");
	told[0] = '\0';
	ok(p, dry(p, "skip", "{" DAYS_1_TO_3 "}"));
	assert_string_equal(told, "");
	place_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(force_success_makes_rows),
		cmocka_unit_test(a_repeated_request_has_no_second_effect),
		cmocka_unit_test(dry_runs_count_and_change_nothing),
		cmocka_unit_test(redo_reopens_downstream),
		cmocka_unit_test(redo_of_downstream_alone_leaves_the_chosen),
		cmocka_unit_test(redo_downstream_leaves_what_lies_between),
		cmocka_unit_test(others_are_answered_while_what_depends_on_many_is_found),
		cmocka_unit_test(commands_share_what_may_change_in_one_step),
		cmocka_unit_test(steps_are_small_beside_what_others_start),
		cmocka_unit_test(a_long_count_rests_while_jobs_start),
		cmocka_unit_test(backfill_makes_rows_and_redoes_the_rest),
		cmocka_unit_test(what_is_so_already_is_no_failure),
		cmocka_unit_test(backfill_holds_back_what_is_over_its_cap),
		cmocka_unit_test(backfill_goes_on_when_one_ends),
		cmocka_unit_test(kill_skip_priority_freeze_and_the_like),
		cmocka_unit_test(a_hanged_one_is_declared_dead),
		cmocka_unit_test(wrong_arguments_are_named),
		cmocka_unit_test(workers_hear_how_far_a_command_is),
	};

	log_open("test", LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
