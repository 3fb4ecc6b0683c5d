/* A test run of what is drawn and not saved: it runs as drawn, and nothing comes into force. */
#include "place.h"

#define MORE  "  more: {type: noop, cycle: day}\n"
#define HEAD  "workflow: w\nproject: p\nstart_date: 2026-03-01\ntimezone: UTC\ntasks:\n"
#define SAVED HEAD "  a: {type: noop, cycle: day}\n"
#define DRAWN HEAD "  a: {type: noop, cycle: day, retry: {attempts: 5}}\n" MORE

static int try_it(struct place *p, const char *text, const char *selection, const char *more,
                  bool is_dry)
{
	char args[4096];
	size_t n = (size_t)snprintf(args, sizeof args, "{%s\"selection\": {%s}, \"document\": \"",
	                            more, selection);

	for (; *text; text++)
		n += (size_t)snprintf(args + n, sizeof args - n, *text == '\n' ? "\\n" : "%c",
		                      *text);
	snprintf(args + n, sizeof args - n, "\"}");
	return command_id(p, "test-run", args, NULL, is_dry);
}

#define A_2 "\"tasks\": [\"p/w/a\"], \"dates\": [\"2026-03-02\"]"

#define A_2_TO_3 "\"tasks\": [\"p/w/a\"], \"from\": \"2026-03-02\", \"to\": \"2026-03-03\""

static struct instance image(struct place *p, struct inst_key key)
{
	struct instance i = { 0 };

	assert_true(ledger_find(p->ledger, key, &i));
	return i;
}

static struct inst_key tried(struct place *p, int32_t part)
{
	struct inst_key key = key_of(p, "p/w/a", DAY(2));

	key.part = part;
	return key;
}

static void end(struct place *p, struct inst_key key, enum attempt_end how)
{
	struct proposals *ps = proposals_new(PR_WORKER, 1, p->me, proposed);
	struct proposal *q = proposals_add(ps, ASK_ENDED, key);

	q->token = image(p, key).token;
	q->end = (uint8_t)how;
	q->exit_code = 1;
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	run(p);
	assert_int_equal(p->code, 0);
}

static const struct task *saved(struct place *p)
{
	return p->defs.tasks[0];
}

static void what_is_drawn_runs_and_nothing_comes_into_force(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, SAVED);
	ok(p, try_it(p, DRAWN, A_2, "", false));
	has(p, "\"total\":1,\"done\":1,\"failed\":0");
	struct instance i = image(p, tried(p, -1));
	assert_int_equal(i.state, ST_ROUGH);
	assert_int_equal(i.version, VERSION_DRAFT + 1);
	propose(p, ASK_GRANT, i.key);
	assert_int_equal(image(p, i.key).version, VERSION_DRAFT + 1);
	i = image(p, i.key);
	assert_int_equal(ledger_body(p->ledger, &i)->max_attempts, 5);
	assert_int_equal(look(p, "p/w/more", 0).task, 0); /* it is no task */
	place_crash(p, 1000);                             /* it was durable before */
	assert_int_equal(saved(p)->max_attempts, 1);
	assert_int_equal(p->defs.n, 1);
	i = image(p, i.key);
	assert_int_equal(ledger_body(p->ledger, &i)->max_attempts, 5);
	end(p, i.key, AE_FAILED); /* by the saved one this was the last attempt */
	assert_int_equal(state_of(p, i.key), ST_FAILED);
	ok(p, try_it(p, DRAWN, A_2, "", false)); /* a draft of its own */
	assert_int_equal(image(p, tried(p, -2)).version, VERSION_DRAFT + 2);
	ok(p, command(p, "apply",
	              "{\"documents\": [{\"text\": \""
	              "workflow: w\\nproject: p\\nstart_date: 2026-03-01\\n"
	              "timezone: UTC\\ntasks:\\n  a: {type: noop, cycle: day, "
	              "retry: {attempts: 7}}\\n\"}]}"));
	has(p, "\"version\":2");
	propose(p, ASK_GRANT, tried(p, -2)); /* what was saved since changes nothing */
	i = image(p, tried(p, -2));
	assert_int_equal(i.version, VERSION_DRAFT + 2);
	assert_int_equal(ledger_body(p->ledger, &i)->max_attempts, 5);
	place_free(p);
}

static void a_redo_runs_what_was_drawn(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, SAVED);
	ok(p, try_it(p, DRAWN, A_2, "", false));
	struct inst_key key = tried(p, -1);
	propose(p, ASK_GRANT, key);
	end(p, key, AE_FATAL);
	assert_int_equal(state_of(p, key), ST_NONE);
	propose(p, ASK_REDO, key);
	assert_int_equal(state_of(p, key), ST_READY);
	propose(p, ASK_SATISFY, key);
	propose(p, ASK_GRANT, key);
	assert_int_equal(image(p, key).version, VERSION_DRAFT + 1);
	place_free(p);
}

/* Another type is saved meanwhile: its loaders cannot run what was drawn. */
static void what_can_no_longer_run_as_drawn_ends(void **state)
{
	struct place *p = place_new(1000);
	struct proposals *ps;

	(void)state;
	apply(p, SAVED);
	ok(p, try_it(p, DRAWN, A_2, "", false));
	apply(p, HEAD "  a: {type: other, cycle: day}\n");
	struct inst_key key = tried(p, -1);
	ps = proposals_new(PR_SORTER, 1, p->me, proposed);
	struct proposal *q = proposals_add(ps, ASK_GRANT, key);
	q->folded = UINT64_MAX;
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	run(p);
	assert_int_equal(p->code, E_CONFLICT);
	assert_int_equal(state_of(p, key), ST_NONE);
	place_free(p);
}

static void refused(struct place *p, int code, int want, const char *part)
{
	assert_int_equal(code, want);
	if (!strstr(p->answer->text, part) && !strstr(body(p), part))
		fail_msg("not found: %s\nin: %s\n%s", part, p->answer->text, body(p));
	assert_int_equal(live(p, ST_ROUGH), 0);
}

static void a_document_is_judged_as_by_apply(void **state)
{
	static const char wrong[] = HEAD "  a: {type: noop, cycle: dya}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, SAVED);
	assert_int_equal(apply_text(p, wrong, "", false), E_INVALID);
	char *said = mem_str(strstr(body(p), "\"line\""));
	refused(p, try_it(p, wrong, A_2, "", false), E_INVALID, "\"file\":\"document\"");
	assert_string_equal(strstr(body(p), "\"line\""), said);
	free(said);
	refused(p, try_it(p, wrong, A_2, "", true), E_INVALID, "\"file\":\"document\"");
	refused(p, try_it(p, "", A_2, "", false), E_INVALID, "is empty");
	refused(p, try_it(p, HEAD "  b: {type: noop, cycle: day}\n", A_2, "", false), E_INVALID,
	        "p/w/a is not in the document");
	refused(p, try_it(p, HEAD "  a: {type: other, cycle: day}\n", A_2, "", false), E_CONFLICT,
	        "saved as noop");
	refused(p, try_it(p, DRAWN, "\"tasks\": [\"p/w/more\"]", "", false), E_NOT_FOUND,
	        "never saved");
	refused(p, try_it(p, DRAWN, A_2_TO_3, "", false), E_INVALID, "one date");
	refused(p, try_it(p, DRAWN, A_2, "\"within\": [\"other\"], ", false), E_FORBIDDEN, "p/w");
	refused(p, try_it(p, SAVED "---\n" HEAD "  a: {type: noop, cycle: day}\n", A_2, "", false),
	        E_INVALID, "");
	ok(p, try_it(p, DRAWN, A_2, "", true));
	has(p, "\"dry_run\":true");
	assert_int_equal(live(p, ST_ROUGH), 0);
	ok(p, try_it(p, DRAWN, "\"tasks\": [\"p/w/a\"]", "", false));
	assert_int_equal(live(p, ST_ROUGH), 1);
	place_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_drawn_runs_and_nothing_comes_into_force),
		cmocka_unit_test(a_redo_runs_what_was_drawn),
		cmocka_unit_test(what_can_no_longer_run_as_drawn_ends),
		cmocka_unit_test(a_document_is_judged_as_by_apply),
	};

	log_level_set(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
