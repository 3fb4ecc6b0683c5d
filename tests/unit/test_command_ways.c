/* The ways a command can be asked: waiting, order, dependencies, stopping, taking back. */
#include "place.h"

static const char one_task[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\ntimezone: UTC\n"
			       "tasks:\n  a: {type: noop, cycle: day}\n";

#define OF_A       "\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": \"2026-03-01\", "
#define A_1_TO_3   OF_A "\"to\": \"2026-03-03\"}"
#define A_ON(day)  "\"selection\": {\"tasks\": [\"p/w/a\"], \"dates\": [\"2026-03-0" day "\"]}"
#define CANCEL(id) "{\"command\": \"" id "\"}"

static void finish(struct place *p, struct inst_key key, int exit_code)
{
	struct instance i;

	assert_true(ledger_find(p->ledger, key, &i));
	struct proposals *ps = proposals_new(PR_WORKER, 2, p->me, proposed);
	proposals_add(ps, ASK_STARTED, key)->token = i.token;
	struct proposal *q = proposals_add(ps, ASK_ENDED, key);
	q->token = i.token;
	q->end = exit_code ? AE_FATAL : AE_OK;
	q->exit_code = exit_code;
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	run(p);
	assert_int_equal(p->code, 0);
}

static void redo_waits_for_what_runs(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, one_task);
	ok(p, command(p, "force-success", "{" A_1_TO_3 "}"));
	struct inst_key key = start_one(p, "p/w/a", DAY(4));
	ok(p, command(p, "redo", "{" OF_A "\"to\": \"2026-03-04\"}, \"running\": \"wait\"}"));
	has(p, "\"state\":\"running\",\"dry_run\":false");
	assert_int_equal(live(p, ST_READY), 3);
	assert_int_equal(state_of(p, key), ST_RUNNING);
	place_crash(p, 1000); /* what it waits for outlives a restart */
	assert_int_equal(state_of(p, key), ST_RUNNING);
	finish(p, key, 0);
	struct instance i;
	assert_true(ledger_find(p->ledger, key, &i));
	assert_int_equal(i.state, ST_READY);
	assert_int_equal(i.generation, 2);
	place_free(p);
}

static void redo_waits_and_then_is_done(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, one_task);
	struct inst_key key = start_one(p, "p/w/a", DAY(4));
	ok(p, command_id(p, "redo", "{" A_ON("4") ", \"running\": \"wait\"}", "w", false));
	has(p, "\"state\":\"running\"");
	finish(p, key, 0);
	ok(p, command_id(p, "redo", "{" A_ON("4") ", \"running\": \"wait\"}", "w", false));
	has(p, "\"state\":\"done\"");
	has(p, "\"total\":1,\"done\":1,\"failed\":0");
	place_free(p);
}

static void cancel_gives_outcomes_back(void **state)
{
	struct place *p = place_new(1000);
	struct instance i;

	(void)state;
	apply(p, one_task);
	ok(p, command(p, "force-success", "{" A_ON("1") "}"));
	ok(p, command(p, "skip", "{" A_ON("2") "}"));
	ok(p, command(p, "backfill", "{" A_1_TO_3 ", \"parallel\": 3, \"stop_on_failure\": true}"));
	has(p, "\"command\":\"4\"");
	assert_int_equal(live(p, ST_READY), 3);
	place_crash(p, 1000); /* what they were is stored */
	assert_true(ledger_find(p->ledger, key_of(p, "p/w/a", DAY(1)), &i));
	assert_int_equal(i.generation, 2);
	ok(p, command(p, "command-cancel", CANCEL("4")));
	run(p);
	assert_int_equal(live(p, ST_READY), 0);
	assert_int_equal(look(p, "p/w/a", DAY(1)).state, ST_SUCC);
	assert_int_equal(look(p, "p/w/a", DAY(2)).state, ST_SKIPPED);
	assert_int_equal(look(p, "p/w/a", DAY(3)).state, ST_SKIPPED);
	place_free(p);
}

static struct instance done(struct place *p, struct inst_key key)
{
	struct instance i;

	assert_int_equal(store_find_done(p->store, key, &i, NULL), 0);
	return i;
}

/* An attempt from its grant to an end with this status; -> its row in history. */
static struct instance run_once(struct place *p, struct inst_key key, int exit_code)
{
	propose(p, ASK_SATISFY, key);
	propose(p, ASK_GRANT, key);
	finish(p, key, exit_code);
	return done(p, key);
}

static void cancel_gives_back_status_attempt_and_times(void **state)
{
	struct place *p = place_new(1000);
	struct instance was, i;

	(void)state;
	apply(p, one_task);
	ok(p, command(p, "backfill", "{" A_1_TO_3 "}"));
	struct inst_key key = key_of(p, "p/w/a", DAY(1)), other = key_of(p, "p/w/a", DAY(2));
	was = run_once(p, key, 7);
	run_once(p, other, 7);
	assert_int_equal(was.state, ST_STOP);
	assert_int_equal(was.exit_code, 7);
	assert_int_equal(was.attempt, 1);
	assert_true(was.started_us && was.ended_us);
	mono_now += 5000000;
	ok(p, command(p, "backfill", "{" A_1_TO_3 ", \"parallel\": 3, \"stop_on_failure\": true}"));
	has(p, "\"command\":\"3\"");
	place_crash(p, 1000);
	assert_true(ledger_find(p->ledger, key, &i));
	assert_int_equal(i.state, ST_READY);
	assert_int_equal(instance_now(&i).ended_us, 0);
	assert_int_equal(i.attempt, 0);
	ok(p, command(p, "skip", "{" A_ON("2") "}")); /* goes its own way: nothing of then stays */
	ok(p, command(p, "command-cancel", CANCEL("3")));
	run(p);
	i = done(p, key);
	assert_int_equal(i.state, ST_STOP);
	assert_int_equal(i.exit_code, 7);
	assert_int_equal(i.attempt, 1);
	assert_int_equal(i.started_us, was.started_us);
	assert_int_equal(i.ended_us, was.ended_us);
	i = done(p, other);
	assert_int_equal(i.state, ST_SKIPPED);
	assert_int_equal(i.exit_code, 0);
	assert_int_equal(i.started_us, 0);
	place_free(p);
}

static void cancel_takes_back_nothing_that_ran(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, one_task);
	ok(p, command(p, "backfill", "{" A_1_TO_3 ", \"stop_on_failure\": true}"));
	struct inst_key key = key_of(p, "p/w/a", DAY(1));
	propose(p, ASK_SATISFY, key);
	propose(p, ASK_GRANT, key);
	ok(p, command(p, "command-cancel", CANCEL("2")));
	run(p);
	assert_int_equal(state_of(p, key), ST_RUNNING);
	assert_int_equal(look(p, "p/w/a", DAY(2)).state, ST_SKIPPED);
	place_free(p);
}

static void one_bad_end_stops_a_backfill_that_asked_for_it(void **state)
{
	struct place *p = place_new(1000);
	static const char args[] = "{" A_1_TO_3 ", \"stop_on_failure\": true}";

	(void)state;
	apply(p, one_task);
	ok(p, command_id(p, "backfill", args, "b", false));
	has(p, "\"state\":\"running\"");
	struct inst_key key = key_of(p, "p/w/a", DAY(2));
	propose(p, ASK_SATISFY, key);
	propose(p, ASK_GRANT, key);
	finish(p, key, 1);
	ok(p, command_id(p, "backfill", args, "b", false));
	has(p, "\"state\":\"failed\"");
	has(p, "ended as StopSchedule");
	assert_int_equal(look(p, "p/w/a", DAY(1)).state, ST_SKIPPED);
	assert_int_equal(look(p, "p/w/a", DAY(3)).state, ST_SKIPPED);
	place_free(p);
}

static void one_bad_end_stops_nothing_else(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, one_task);
	ok(p, command(p, "backfill", "{" A_1_TO_3 "}"));
	struct inst_key key = key_of(p, "p/w/a", DAY(2));
	propose(p, ASK_SATISFY, key);
	propose(p, ASK_GRANT, key);
	finish(p, key, 1);
	assert_int_equal(live(p, ST_READY), 2);
	place_free(p);
}

static void last_dates_come_first_when_asked(void **state)
{
	struct place *p = place_new(1000);
	struct instance i, k;

	(void)state;
	apply(p, one_task);
	ok(p, command(p, "backfill", "{" A_1_TO_3 ", \"parallel\": 1, \"order\": \"desc\"}"));
	assert_int_equal(state_of(p, key_of(p, "p/w/a", DAY(3))), ST_READY);
	assert_int_equal(state_of(p, key_of(p, "p/w/a", DAY(2))), ST_NONE);
	apply(p, shop);
	ok(p, command(p, "backfill", "{" DAYS_1_TO_3 ", \"order\": \"desc\"}"));
	assert_true(ledger_find(p->ledger, key_of(p, "p/shop/day", DAY(3)), &i));
	assert_true(ledger_find(p->ledger, key_of(p, "p/shop/day", DAY(1)), &k));
	assert_true(i.last_number < k.last_number);
	place_free(p);
}

static void last_first_is_refused_where_a_date_waits_for_the_one_before(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\n"
				   "tasks:\n  a: {type: noop, cycle: day, serial: ordered}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, text);
	assert_int_equal(command(p, "backfill", "{" A_1_TO_3 ", \"order\": \"desc\"}"), E_INVALID);
	assert_non_null(strstr(p->answer->text, "p/w/a waits for its own previous dates"));
	ok(p, command(p, "backfill",
	              "{" A_1_TO_3 ", \"order\": \"desc\", \"dependencies\": \"ignore\"}"));
	struct instance i;
	assert_true(ledger_find(p->ledger, key_of(p, "p/w/a", DAY(1)), &i));
	assert_true(i.flags & IF_NO_LINKS);
	place_free(p);
}

static void a_kill_can_bring_its_own_grace(void **state)
{
	struct place *p = place_new(1000);
	struct instance i;

	(void)state;
	apply(p, one_task);
	struct inst_key key = start_one(p, "p/w/a", DAY(1));
	ok(p, command(p, "kill", "{" A_ON("1") ", \"grace_ms\": 1500}"));
	place_crash(p, 1000);
	assert_true(ledger_find(p->ledger, key, &i));
	assert_int_equal(i.state, ST_WAITKILL);
	assert_int_equal(i.grace_ms, 1500);
	place_free(p);
}

static void offline_detaches_children_when_asked(void **state)
{
	static const char args[] =
		"{\"selection\": {\"tasks\": [\"p/shop/day\"]}, \"detach\": true}";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, dry(p, "offline", args));
	has(p, "\"detached\":[{\"task\":\"p/shop/next\",\"parent\":\"p/shop/day\"}]");
	assert_true(look(p, "p/shop/day", 0).online);
	ok(p, command(p, "offline", args));
	assert_false(look(p, "p/shop/day", 0).online);
	assert_true(look(p, "p/shop/next", 0).online);
	place_crash(p, 1000);
	assert_false(look(p, "p/shop/day", 0).online);
	ok(p, command(p, "online", "{\"selection\": {\"tasks\": [\"p/shop/day\"]}}"));
	assert_true(look(p, "p/shop/day", 0).online);
	place_free(p);
}

static void a_test_run_is_a_row_beside_the_plan(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\nstate: draft\n"
				   "timezone: UTC\ntasks:\n  a: {type: noop, cycle: day}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, text);
	assert_false(look(p, "p/w/a", 0).online);
	ok(p, command(p, "test-run", "{\"selection\": {\"tasks\": [\"p/w/a\"]}}"));
	has(p, "\"total\":1,\"done\":1,\"failed\":0");
	struct inst_key key = key_of(p, "p/w/a", DAY(10)); /* the last that is planned */
	key.part = -1;
	assert_int_equal(state_of(p, key), ST_ROUGH);
	ok(p, command(p, "test-run", "{" A_ON("2") "}"));
	ok(p, command(p, "test-run", "{" A_ON("2") "}"));
	key.run_date = DAY(2);
	assert_int_equal(state_of(p, key), ST_ROUGH);
	key.part = -2;
	assert_int_equal(state_of(p, key), ST_ROUGH);
	place_free(p);
}

static void a_manual_run_without_a_date_is_of_the_last_planned(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, one_task);
	ok(p, command(p, "run-now", "{\"selection\": {\"tasks\": [\"p/w/a\"]}}"));
	assert_int_equal(state_of(p, key_of(p, "p/w/a", DAY(10))), ST_DEPEND);
	ok(p,
	   command(p, "run-now", "{\"selection\": {\"tasks\": [\"p/w/a\"]}, \"off_plan\": true}"));
	assert_int_equal(live(p, ST_DEPEND), 2);
	place_free(p);
}

/* --- previews and selections ---------------------------------------------------------------- */

static void a_preview_says_states_owners_downstream_and_why_not(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success",
	              "{\"selection\": {\"workflow\": \"p/shop\", \"from\": \"2026-03-01\", "
	              "\"to\": \"2026-03-02\"}}"));
	start_one(p, "p/shop/day", DAY(3));
	ok(p, dry(p, "redo", "{" DAYS_1_TO_3 "}"));
	has(p, "\"total\":2,");
	has(p, "\"states\":{\"Succ\":2}");
	has(p, "\"owners\":[{\"owner\":\"li\",\"count\":2}]");
	has(p, "{\"task\":\"p/shop/next\",\"owner\":\"li\",\"count\":2,\"depth\":1}");
	has(p, "{\"task\":\"p/shop/later\",\"owner\":\"li\",\"count\":1,\"depth\":2}");
	has(p, "\"refusals\":1,\"unchanged\":0,\"reasons\":[{\"code\":\"CONFLICT\",\"message\":"
	       "\"an attempt runs, kill it first\",\"count\":1}]");
	ok(p, dry(p, "backfill", "{" DAYS_1_TO_3 "}"));
	has(p, "\"states\":{\"Succ\":2}");
	has(p, "\"unchanged\":1");
	ok(p, dry(p, "skip",
	          "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"dates\": "
	          "[\"2026-03-09\"]}}"));
	has(p, "\"states\":{\"planned\":1}");
	place_free(p);
}

static void a_range_can_be_narrowed_to_days(void **state)
{
#define MARCH \
	"\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": \"2026-03-01\", \"to\": " \
	"\"2026-03-31\", \"every\": "
	static const struct {
		const char *args, *total;
	} rows[] = {
		{ "{" MARCH "[\"monday\"]}}", "\"total\":5," }, /* 2, 9, 16, 23, 30 */
		{ "{" MARCH "[\"sunday\"]}}", "\"total\":5," },
		{ "{" MARCH "[1, \"last\"]}}", "\"total\":2," },
		{ "{" MARCH "[\"tuesday\", 31]}}", "\"total\":5," }, /* the 31st is a Tuesday */
	};
	struct place *p = place_new(1000);

	(void)state;
	apply(p, one_task);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		ok(p, dry(p, "backfill", rows[i].args));
		has(p, rows[i].total);
	}
	assert_int_equal(dry(p, "backfill", "{" MARCH "[\"moonday\"]}}"), E_INVALID);
	assert_non_null(strstr(p->answer->text, "is this meant: monday"));
	place_free(p);
}

/* Every argument of every kind: of the wrong kind it is refused in its place. */
static void every_argument_has_its_refusal(void **state)
{
#define SEL   "\"selection\": {\"tasks\": [\"p/w/a\"], \"dates\": [\"2026-03-01\"]}"
#define TASKS "\"selection\": {\"tasks\": [\"p/w/a\"]}"
	static const struct {
		const char *kind, *base, *keys;
	} rows[] = {
		{ "apply", "", "documents retire detach from retire_calendars message" },
		{ "retire", TASKS, "selection detach message" },
		{ "online", TASKS, "selection from message" },
		{ "offline", TASKS, "selection detach message" },
		{ "freeze", SEL, "selection message" },
		{ "unfreeze", SEL, "selection message" },
		{ "redo", SEL, "selection mode scope running body priority no_op message" },
		{ "backfill", SEL,
		  "selection parallel order dependencies finished running priority "
		  "stop_on_failure off_plan no_op message" },
		{ "kill", SEL, "selection grace_ms message" },
		{ "force-success", SEL, "selection message" },
		{ "priority", SEL ", \"message\": \"m\"", "priority" },
		{ "skip", SEL, "selection message" },
		{ "run-now", SEL, "selection off_plan message" },
		{ "run-start", TASKS, "selection date up_to from_task no_op message" },
		{ "enqueue", SEL, "selection message" },
		{ "test-run", SEL, "selection document message" },
		{ "declare-dead", SEL, "selection message" },
		{ "log-level", "", "level brokers message" },
		{ "broker-drain", "", "brokers message" },
		{ "command-pause", "", "command message" },
		{ "command-resume", "", "command message" },
		{ "command-cancel", "", "command message" },
	};
	static const char *const wrong[] = { "-1", "[[]]", "{\"x\": 1}" };
	struct place *p = place_new(1000);

	(void)state;
	apply(p, one_task);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char keys[200], args[400], place[80], *rest = NULL;
		snprintf(keys, sizeof keys, "%s", rows[i].keys);
		for (char *key = strtok_r(keys, " ", &rest); key; key = strtok_r(NULL, " ", &rest))
			for (size_t k = 0; k < 3; k++) {
				bool own = strcmp(key, "selection") == 0;
				bool level = strcmp(rows[i].kind, "log-level") == 0 &&
				             strcmp(key, "level") != 0;
				snprintf(args, sizeof args, "{%s%s%s\"%s\": %s}",
				         own     ? ""
				         : level ? "\"level\": \"info\""
				                 : rows[i].base,
				         !own && (level || rows[i].base[0]) ? ", " : "", "", key,
				         wrong[k]);
				snprintf(place, sizeof place, "args.%s", key);
				int code = command(p, rows[i].kind, args);
				if (code != E_INVALID || !strstr(p->answer->text, place))
					fail_msg("%s %s: %s %s", rows[i].kind, args, err_name(code),
					         p->answer->text);
			}
	}
	place_free(p);
}

/* --- dependencies: with the resolver ------------------------------------------------------ */

static struct place *place_with_links(const char *text)
{
	place_resolves = true;
	struct place *p = place_new(1000);
	place_resolves = false;
	apply(p, text);
	ok(p, command(p, "online",
	              "{\"selection\": {\"workflow\": \"p/w\"}, \"from\": \"2026-03-01\"}"));
	return p;
}

static const char chain[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\ntimezone: UTC\n"
			    "tasks:\n  far: {type: noop, cycle: day}\n"
			    "  a: {type: noop, cycle: day, needs: [far]}\n"
			    "  b: {type: noop, cycle: day, needs: [a, {task: b, depend: -1}]}\n";

static const char a_and_b[] = "\"selection\": {\"tasks\": [\"p/w/a\", \"p/w/b\"], \"from\": "
			      "\"2026-03-02\", \"to\": \"2026-03-03\"}";

static void force(struct place *p, const char *task, int day)
{
	propose(p, ASK_FORCE, key_of(p, task, DAY(day)));
}

static void backfill_ways(const char *dependencies, enum state a, enum state b)
{
	struct place *p = place_with_links(chain);
	char args[300];

	snprintf(args, sizeof args, "{%s, \"dependencies\": \"%s\"}", a_and_b, dependencies);
	ok(p, command(p, "backfill", args));
	assert_int_equal(state_of(p, key_of(p, "p/w/a", DAY(2))), a);
	assert_int_equal(state_of(p, key_of(p, "p/w/b", DAY(2))), b);
	place_free(p);
}

static void dependencies_all_wait_for_whatever_is_outside(void **state)
{
	(void)state;
	backfill_ways("all", ST_READY, ST_READY);
}

static void dependencies_inside_wait_for_the_set_alone(void **state)
{
	(void)state;
	backfill_ways("inside", ST_DEPEND, ST_READY);
	place_resolves = true;
	struct place *p = place_new(1000);
	apply(p, chain);
	char args[300];
	snprintf(args, sizeof args, "{%s, \"dependencies\": \"inside\"}", a_and_b);
	ok(p, command(p, "backfill", args));
	force(p, "p/w/a", 2);
	assert_int_equal(state_of(p, key_of(p, "p/w/b", DAY(2))), ST_DEPEND);
	force(p, "p/w/a", 3);
	assert_int_equal(state_of(p, key_of(p, "p/w/b", DAY(3))), ST_READY); /* of the 2nd */
	place_crash(p, 1000); /* whose dates count outlives a restart */
	run(p);
	assert_int_equal(state_of(p, key_of(p, "p/w/b", DAY(2))), ST_DEPEND);
	assert_int_equal(state_of(p, key_of(p, "p/w/b", DAY(3))), ST_READY);
	force(p, "p/w/b", 2);
	assert_int_equal(state_of(p, key_of(p, "p/w/b", DAY(3))), ST_DEPEND);
	place_resolves = false;
	place_free(p);
}

static void dependencies_ignored_wait_for_nothing(void **state)
{
	(void)state;
	backfill_ways("ignore", ST_DEPEND, ST_DEPEND);
}

static void off_plan_members_wait_for_each_other_alone(void **state)
{
	struct place *p = place_with_links(chain);
	struct inst_key b = key_of(p, "p/w/b", DAY(2) + 3600), later = b;

	(void)state;
	ok(p, command(p, "backfill",
	              "{\"selection\": {\"tasks\": [\"p/w/b\"], \"dates\": [\"2026-03-02 "
	              "01:00\", \"2026-03-02 02:00\"]}, \"off_plan\": true, "
	              "\"dependencies\": \"inside\"}"));
	later.run_date += 3600;
	assert_int_equal(state_of(p, b), ST_DEPEND);
	assert_int_equal(state_of(p, later), ST_READY); /* -1: the member before */
	propose(p, ASK_FORCE, b);
	assert_int_equal(state_of(p, later), ST_DEPEND);
	/* Those of the plan pass them over. */
	force(p, "p/w/b", 1);
	force(p, "p/w/a", 2);
	ok(p, command(p, "enqueue",
	              "{\"selection\": {\"tasks\": [\"p/w/b\"], \"dates\": [\"2026-03-02\"]}}"));
	assert_int_equal(state_of(p, key_of(p, "p/w/b", DAY(2))), ST_DEPEND);
	place_free(p);
}

static void off_plan_a_range_is_walked_without_calendar_start_and_end(void **state)
{
	struct place *p = place_new(1000);
	static const char range[] = "{\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": "
				    "\"2026-02-26\", \"to\": \"2026-03-09\"}, \"off_plan\": %s}";
	char args[300];

	(void)state;
	apply(p, "calendar: days\nweekends: [saturday, sunday]\n---\n"
	         "workflow: w\nproject: p\nstart_date: 2026-03-01\nend_date: 2026-03-06\n"
	         "timezone: UTC\ntasks:\n  a: {type: noop, cycle: day, calendar: days}\n");
	snprintf(args, sizeof args, range, "false");
	ok(p, dry(p, "backfill", args));
	has(p, "\"total\":5,"); /* Monday 2 to Friday 6 */
	snprintf(args, sizeof args, range, "true");
	ok(p, dry(p, "backfill", args));
	has(p, "\"total\":12,");
	ok(p, command(p, "backfill", args));
	place_crash(p, 1000);
	run(p);
	assert_int_equal(live(p, ST_DEPEND) + live(p, ST_READY), 12);
	assert_int_not_equal(state_of(p, key_of(p, "p/w/a", DAY(1))), ST_NONE);
	assert_int_not_equal(state_of(p, key_of(p, "p/w/a", DAY(9))), ST_NONE);
	place_free(p);
}

static void what_is_detached_holds_no_child(void **state)
{
	struct place *p = place_with_links(chain);

	(void)state;
	ok(p, command(p, "enqueue",
	              "{\"selection\": {\"tasks\": [\"p/w/a\"], \"dates\": [\"2026-03-02\"]}}"));
	assert_int_equal(state_of(p, key_of(p, "p/w/a", DAY(2))), ST_READY);
	ok(p,
	   command(p, "offline", "{\"selection\": {\"tasks\": [\"p/w/far\"]}, \"detach\": true}"));
	run(p);
	assert_int_equal(state_of(p, key_of(p, "p/w/a", DAY(2))), ST_DEPEND);
	place_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(redo_waits_for_what_runs),
		cmocka_unit_test(redo_waits_and_then_is_done),
		cmocka_unit_test(cancel_gives_outcomes_back),
		cmocka_unit_test(cancel_gives_back_status_attempt_and_times),
		cmocka_unit_test(cancel_takes_back_nothing_that_ran),
		cmocka_unit_test(one_bad_end_stops_a_backfill_that_asked_for_it),
		cmocka_unit_test(one_bad_end_stops_nothing_else),
		cmocka_unit_test(last_dates_come_first_when_asked),
		cmocka_unit_test(last_first_is_refused_where_a_date_waits_for_the_one_before),
		cmocka_unit_test(a_kill_can_bring_its_own_grace),
		cmocka_unit_test(offline_detaches_children_when_asked),
		cmocka_unit_test(a_test_run_is_a_row_beside_the_plan),
		cmocka_unit_test(a_manual_run_without_a_date_is_of_the_last_planned),
		cmocka_unit_test(a_preview_says_states_owners_downstream_and_why_not),
		cmocka_unit_test(a_range_can_be_narrowed_to_days),
		cmocka_unit_test(every_argument_has_its_refusal),
		cmocka_unit_test(dependencies_all_wait_for_whatever_is_outside),
		cmocka_unit_test(dependencies_inside_wait_for_the_set_alone),
		cmocka_unit_test(dependencies_ignored_wait_for_nothing),
		cmocka_unit_test(off_plan_members_wait_for_each_other_alone),
		cmocka_unit_test(off_plan_a_range_is_walked_without_calendar_start_and_end),
		cmocka_unit_test(what_is_detached_holds_no_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
