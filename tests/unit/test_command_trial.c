/* A drawn workflow that is tried: its command saves it, runs it, takes it away again, whenever the
 * server dies meanwhile. */
#include "place.h"

#define DRAWN \
	"workflow: w\nproject: p\nstart_date: 2026-03-01\ntimezone: UTC\ntasks:\n" \
	"  a: {type: noop, cycle: day}\n" \
	"  b: {type: noop, cycle: day, needs: [a]}\n" \
	"  c: {type: noop, cycle: day, needs: [p/w/b]}\n"

static void try_args(const char *text, const char *more, char *args, size_t size)
{
	size_t n = (size_t)snprintf(args, size, "{\"date\": \"2026-03-02\", %s\"document\": \"",
	                            more);

	for (; *text; text++)
		n += (size_t)snprintf(args + n, size - n, *text == '\n' ? "\\n" : "%c", *text);
	snprintf(args + n, size - n, "\"}");
}

static int try_it(struct place *p, const char *more)
{
	char args[4096];

	try_args(DRAWN, more, args, sizeof args);
	return command(p, "test-start", args);
}

/* Is there a task of it, or an instance? */
struct left {
	size_t tasks, ever;
};

static void each_left(void *ctx, const struct ledger_task *t)
{
	struct left *l = ctx;
	bool is_test = strchr(t->def->name, '~') != NULL;

	l->ever += is_test;
	l->tasks += is_test && t->row->state != TS_RETIRED;
}

static struct left left_of(struct place *p)
{
	struct left l = { 0 };

	ledger_each_task(p->ledger, each_left, &l);
	return l;
}

static size_t unfinished(struct place *p)
{
	size_t counts[ST_COUNT] = { 0 }, n = 0;

	ledger_each_instance(p->ledger, each_state, counts);
	for (int st = ST_NONE + 1; st < ST_COUNT; st++)
		n += counts[st];
	return n;
}

static void run_long(struct place *p)
{
	for (int i = 0; i < 12; i++)
		run(p);
}

static struct inst_key tried(struct place *p, const char *task)
{
	char name[40];

	snprintf(name, sizeof name, "p/w~1/%s", task);
	return key_of(p, name, DAY(2));
}

/* What a broker would report of it. */
static void end(struct place *p, struct inst_key key, int exit_code)
{
	struct instance i;

	propose(p, ASK_GRANT, key);
	assert_true(ledger_find(p->ledger, key, &i));
	assert_int_equal(i.origin, OR_TEST);
	struct proposals *ps = proposals_new(PR_WORKER, 2, p->me, proposed);
	proposals_add(ps, ASK_STARTED, key)->token = i.token;
	struct proposal *q = proposals_add(ps, ASK_ENDED, key);
	q->token = i.token;
	q->end = exit_code ? AE_FATAL : AE_OK;
	q->exit_code = exit_code;
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	run(p);
}

static void its_links_hold_and_it_goes_when_the_last_is_over(void **state)
{
	(void)state;
	place_resolves = true;
	struct place *p = place_new(1000);

	ok(p, try_it(p, ""));
	has(p, "\"name\":\"p/w~1\"");
	assert_int_equal(state_of(p, tried(p, "a")), ST_DEPEND);
	assert_int_equal(state_of(p, tried(p, "b")), ST_READY);
	end(p, tried(p, "a"), 0);
	assert_int_equal(state_of(p, tried(p, "b")), ST_DEPEND);
	end(p, tried(p, "b"), 0);
	assert_int_equal(left_of(p).tasks, 3);
	end(p, tried(p, "c"), 0);
	run_long(p);
	assert_int_equal(left_of(p).tasks, 0);
	assert_int_equal(unfinished(p), 0);
	/* The next one in its place takes its numbers over, and runs the same date again. */
	uint32_t a = tried(p, "a").task;
	ok(p, try_it(p, ""));
	assert_int_equal(tried(p, "a").task, a);
	assert_int_equal(left_of(p).ever, 3);
	assert_int_equal(state_of(p, tried(p, "a")), ST_DEPEND);
	place_free(p);
}

static void what_waits_for_what_failed_is_skipped(void **state)
{
	(void)state;
	place_resolves = true;
	struct place *p = place_new(1000);

	ok(p, try_it(p, ""));
	end(p, tried(p, "a"), 1);
	run(p);
	assert_int_equal(state_of(p, tried(p, "b")), ST_READY);
	run_long(p);
	assert_int_equal(left_of(p).tasks, 0);
	assert_int_equal(unfinished(p), 0);
	assert_int_equal(look(p, "p/w~1/b", DAY(2)).state, ST_SKIPPED);
	place_free(p);
}

/* A crash after each letter, with and without a cancel before it: all of it, or nothing, and
 * nothing stays. */
static void crash_after(int letters, bool cancels)
{
	struct place *p = place_new(1000);
	char args[4096];

	try_args(DRAWN, "\"no_op\": true, ", args, sizeof args);
	post(p, "test-start", args, "the-one", false);
	for (int i = 0; i < letters; i++) {
		if (cancels && i == letters / 2)
			post(p, "command-cancel", "{\"command\": \"1\"}", NULL, false);
		thread_sim_step(p->th, 1);
		mono_now += US_PER_MS / 2;
	}
	place_crash(p, 1000);
	run_long(p);
	assert_int_equal(left_of(p).tasks, 0);
	assert_int_equal(unfinished(p), 0);
	bool begun = left_of(p).ever > 0;
	enum state last = (enum state)(begun ? look(p, "p/w~1/c", DAY(2)).state : ST_NONE);
	if (begun && !cancels)
		assert_int_equal(last, ST_SUCC);
	if (begun && cancels)
		assert_true(last == ST_SUCC || last == ST_SKIPPED || last == ST_NONE);
	command(p, "command-cancel", "{\"command\": \"1\"}");
	if (begun && !strstr(p->answer->text, "command 1 is ")) /* it is over */
		fail_msg("after %d letters: %s %s", letters, p->answer->text, body(p));
	place_free(p);
}

static void a_crash_at_any_moment_leaves_all_or_nothing_of_it(void **state)
{
	(void)state;
	place_resolves = true;
	for (int letters = 0; letters < 120; letters++) {
		crash_after(letters, false);
		crash_after(letters, true);
	}
}

static void one_that_is_cancelled_ends_what_runs(void **state)
{
	(void)state;
	place_resolves = true;
	struct place *p = place_new(1000);

	ok(p, try_it(p, ""));
	propose(p, ASK_GRANT, tried(p, "a"));
	ok(p, command(p, "command-cancel", "{\"command\": \"1\"}"));
	run(p);
	assert_int_equal(state_of(p, tried(p, "a")), ST_WAITKILL);
	assert_int_equal(state_of(p, tried(p, "b")), ST_NONE);
	place_crash(p, 1000); /* that it is to end is durable */
	run_long(p);
	assert_int_equal(left_of(p).tasks, 3);
	struct instance i;
	assert_true(ledger_find(p->ledger, tried(p, "a"), &i));
	struct proposals *ps = proposals_new(PR_WORKER, 1, p->me, proposed);
	struct proposal *q = proposals_add(ps, ASK_ENDED, tried(p, "a"));
	q->token = i.token;
	q->end = AE_FAILED;
	q->exit_code = -15;
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	run_long(p);
	assert_int_equal(left_of(p).tasks, 0);
	assert_int_equal(look(p, "p/w~1/a", DAY(2)).state, ST_KILLED);
	place_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_links_hold_and_it_goes_when_the_last_is_over),
		cmocka_unit_test(what_waits_for_what_failed_is_skipped),
		cmocka_unit_test(a_crash_at_any_moment_leaves_all_or_nothing_of_it),
		cmocka_unit_test(one_that_is_cancelled_ends_what_runs),
	};

	log_level_set(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
