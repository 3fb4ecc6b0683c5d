/* baseserver/net/worker: which grants leave as jobs and when, and what becomes of them. */
#include "baseserver/model/params.h"
#include "sched/task.h"
#include "tests/unit/worker_place.h"

/* --- grants that are too late ------------------------------------------------------------- */

/* Granted to it, but the store does not take that at the first try. */
static struct inst_key granted_but_not_kept(struct place *p, struct session *s)
{
	struct inst_key key = ready(&p->f, TASK, 60);

	pass(p, 2);
	store_mem_fail(p->f.store, 0, 1, E_BUSY, STORE_FAULT_BEFORE);
	credit(p, s, 1);
	assert_int_equal(p->f.n, 1);
	return key;
}

static uint64_t token_now(struct place *p, struct inst_key key)
{
	struct instance i;

	return ledger_find(p->f.ledger, key, &i) ? i.token : 0;
}

static void a_grant_within_the_margin_leaves_as_a_job(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	struct session *s = greet(&p, LOADER, "b1");
	struct inst_key key = granted_but_not_kept(&p, s);
	assert_int_equal(s->jobs, 0);
	pass(&p, MARGIN_MS - 1);
	assert_int_equal(s->jobs, 1);
	assert_int_equal(s->tokens[0], token_now(&p, key));
	assert_int_equal(p.f.n, 1);
	stop(&p);
}

/* Its holder would count from a later moment than the server does. The place is still free. */
static void a_grant_that_is_durable_too_late_never_leaves_and_is_made_again(void **state)
{
	struct place p;
	struct instance i;

	(void)state;
	start(&p);
	struct session *s = greet(&p, LOADER, "b1");
	struct inst_key key = granted_but_not_kept(&p, s);
	uint64_t first = token_now(&p, key);
	pass(&p, MARGIN_MS);
	pass(&p, 2);
	pass(&p, 2);
	assert_int_equal(p.f.n, 2);
	assert_int_equal(s->jobs, 1);
	assert_true(s->tokens[0] > first && s->tokens[0] == token_now(&p, key));
	assert_true(ledger_find(p.f.ledger, key, &i));
	assert_true(i.attempt == 1 && i.infra == 0);
	stop(&p);
}

static void the_longer_a_kill_may_take_the_sooner_a_job_must_leave(void **state)
{
	struct place p;

	(void)state;
	start_with(&p, "kill_ms=150"); /* 50 ms more than the others have */
	struct session *s = greet(&p, LOADER, "b1");
	granted_but_not_kept(&p, s);
	pass(&p, MARGIN_MS + 20);
	assert_int_equal(s->jobs, 1);
	assert_int_equal(p.f.n, 1);
	stop(&p);
}

static void a_machine_is_told_how_often_to_beat_and_how_long_a_kill_may_take(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	struct session *s = greet(&p, LOADER, "b1");
	assert_true(s->beat_ms == 50 && s->fence_ms == 400 && s->kill_ms == 200);
	stop(&p);
	start_with(&p, "beat_ms=70");
	assert_int_equal(greet(&p, BROKER, "b1")->beat_ms, 70);
	stop(&p);
}

static void a_grant_whose_session_went_goes_to_another(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	struct session *gone = greet(&p, LOADER, "b1"), *other = greet(&p, LOADER, "b2");
	struct inst_key key = granted_but_not_kept(&p, gone);
	uint64_t first = token_now(&p, key);
	leave(gone);
	credit(&p, other, 1);
	pass(&p, 2);
	pass(&p, 2);
	assert_int_equal(other->jobs, 1);
	assert_true(other->tokens[0] > first && other->tokens[0] == token_now(&p, key));
	stop(&p);
}

/* --- how attempts end: from a loader's report to the verdict -------------------------------- */

enum { ENDED = 3, REJECTED = 4, NOT_STARTED = 5, HANGED = 7, NOT_YET = 8, LOST = 9 };
enum { BY_CODE, RETRYABLE, FATAL, INFRA };

/* Every reason that a loader gives, as it gives it (broker/loader: run.c, process.c, grants.c), and
 * what becomes of the first of two attempts. */
static const struct {
	enum reason reason;
	uint32_t kind, verdict;
	int32_t exit_code;
	enum state then;
	enum reason shown;
	uint32_t attempt, infra; /* how many count afterwards: burnt, and against infra_max */
} ends[] = {
	{ RE_EXIT, ENDED, BY_CODE, 0, ST_SUCC, RE_EXIT, 1, 0 },
	{ RE_EXIT, ENDED, BY_CODE, 3, ST_FAILED, RE_EXIT, 1, 0 },
	{ RE_EXIT, ENDED, RETRYABLE, 3, ST_FAILED, RE_EXIT, 1, 0 },
	{ RE_EXIT, ENDED, FATAL, 3, ST_STOP, RE_FATAL, 1, 0 },
	{ RE_EXIT, ENDED, INFRA, 3, ST_FAILED, RE_EXIT, 0, 1 },
	{ RE_EXIT, NOT_YET, BY_CODE, 0, ST_READY, RE_NOT_YET, 0, 0 },
	{ RE_SIGNAL, ENDED, BY_CODE, -9, ST_FAILED, RE_SIGNAL, 1, 0 },
	{ RE_OOM, ENDED, BY_CODE, -9, ST_FAILED, RE_OOM, 1, 0 },
	{ RE_FENCED, ENDED, INFRA, -15, ST_FAILED, RE_FENCED, 0, 1 },
	{ RE_FENCED, ENDED, INFRA, 0, ST_FAILED, RE_FENCED, 0, 1 },
	{ RE_HALTED, ENDED, INFRA, -15, ST_FAILED, RE_HALTED, 0, 1 },
	{ RE_PLUGIN, ENDED, INFRA, 0, ST_FAILED, RE_PLUGIN, 0, 1 },
	{ RE_LOST, LOST, BY_CODE, 0, ST_FAILED, RE_LOST, 0, 1 },
	{ RE_NOSTART, NOT_STARTED, INFRA, 0, ST_DEPEND, RE_NOSTART, 0, 1 },
	{ RE_NOSTART, ENDED, FATAL, 127, ST_STOP, RE_FATAL, 1, 0 },
	{ RE_REJECT, REJECTED, BY_CODE, 0, ST_DEPEND, RE_REJECT, 0, 1 },
	{ RE_STOPPING, REJECTED, BY_CODE, 0, ST_DEPEND, RE_STOPPING, 0, 0 },
	{ RE_FULL, REJECTED, BY_CODE, 0, ST_DEPEND, RE_FULL, 0, 0 },
	{ RE_UNKILLABLE, HANGED, BY_CODE, 0, ST_HANGED, RE_UNKILLABLE, 1, 0 },
	{ RE_NO_USER, NOT_STARTED, INFRA, 0, ST_DEPEND, RE_NO_USER, 0, 0 },
};

/* No loader gives these: the server has its own grounds for them. */
static const bool is_servers[RE_COUNT] = {
	[RE_TIMEOUT] = true,  [RE_INFRA] = true,      [RE_ATTEMPTS] = true, [RE_FATAL] = true,
	[RE_EXPIRED] = true,  [RE_USER] = true,       [RE_REDO] = true,     [RE_FORCED] = true,
	[RE_DRYRUN] = true,   [RE_CATCHUP] = true,    [RE_LINK] = true,     [RE_BRANCH] = true,
	[RE_PIPELINE] = true, [RE_OVERLAP] = true,    [RE_OFFLINE] = true,  [RE_CANCELLED] = true,
	[RE_ASKED] = true,    [RE_BACKFILL] = true,   [RE_DUE] = true,      [RE_EDIT] = true,
	[RE_PARENT] = true,   [RE_QUARANTINE] = true, [RE_PARAMS] = true,   [RE_UNSENT] = true,
	[RE_SAFE] = true,     [RE_AT_RISK] = true,    [RE_BREACHED] = true, [RE_REPLACED] = true,
	[RE_NOT_YET] = true,
};

static void report(struct place *p, struct session *s, uint64_t token, size_t row)
{
	Sirdar__Report r = SIRDAR__REPORT__INIT, *one = &r;
	Sirdar__Reports m = SIRDAR__REPORTS__INIT;

	r.token = token;
	r.seq = 7;
	r.kind = ends[row].kind;
	r.reason = ends[row].reason;
	r.exit_code = ends[row].exit_code;
	r.verdict = ends[row].verdict;
	m.report = &one;
	m.n_report = 1;
	hear(p, s, FR_REPORTS, &m);
	pass(p, 2);
}

static void each_reason_of_a_loader_has_the_verdict_that_the_table_says(void **state)
{
	bool has[RE_COUNT] = { false };
	struct instance i;

	(void)state;
	for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
		struct place p;

		start(&p);
		struct session *client = subscriber(&p), *s = greet(&p, LOADER, "b1");
		struct inst_key key = ready(&p.f, TASK, 60);
		credit(&p, s, 1);
		pass(&p, 2);
		assert_int_equal(s->jobs, 1);
		report(&p, s, s->tokens[0], k);
		assert_int_equal(client->state, state_number(ends[k].then));
		assert_int_equal(client->reason, ends[k].shown);
		if (ledger_find(p.f.ledger, key, &i)) { /* else it is over */
			assert_int_equal(i.attempt, ends[k].attempt);
			assert_int_equal(i.infra, ends[k].infra);
		}
		has[ends[k].reason] = true;
		stop(&p);
	}
	for (int r = RE_NONE + 1; r < RE_COUNT; r++)
		assert_int_equal(has[r] + is_servers[r],
		                 strcmp(reason_name((enum reason)r), "?") != 0);
}

static void a_machine_that_sends_back_as_full_gets_nothing_until_it_says_its_load(void **state)
{
	Sirdar__Load load = SIRDAR__LOAD__INIT;
	struct place p;
	size_t row = 0;

	(void)state;
	while (ends[row].reason != RE_FULL)
		row++;
	start(&p);
	struct session *b = greet(&p, BROKER, "b1"), *s = greet(&p, LOADER, "b1");
	load.accepts = true;
	hear(&p, b, FR_LOAD, &load);
	ready(&p.f, TASK, 60);
	credit(&p, s, 1);
	pass(&p, 2);
	assert_int_equal(s->jobs, 1);
	report(&p, s, s->tokens[0], row);
	credit(&p, s, 2);
	pass(&p, 2);
	assert_int_equal(s->jobs, 1);
	hear(&p, b, FR_LOAD, &load);
	pass(&p, 2);
	assert_int_equal(s->jobs, 2);
	stop(&p);
}

static void beat(struct place *p, struct session *s)
{
	Sirdar__Beat m = SIRDAR__BEAT__INIT;

	m.held = s->tokens;
	m.n_held = s->jobs;
	hear(p, s, FR_BEAT, &m);
	pass(p, 2);
}

static void a_kill_is_sent_with_each_beat_until_it_is_acknowledged(void **state)
{
	enum { KILL_ACK = 6 };
	Sirdar__Report r = SIRDAR__REPORT__INIT, *one = &r;
	Sirdar__Reports m = SIRDAR__REPORTS__INIT;
	struct place p;

	(void)state;
	start(&p);
	struct session *s = greet(&p, LOADER, "b1");
	struct inst_key key = ready(&p.f, TASK, 60);
	credit(&p, s, 1);
	pass(&p, 2);
	beat(&p, s);
	assert_int_equal(s->kills, 0);
	ask(&p.f, ASK_KILL, key, 0);
	pass(&p, 2);
	assert_int_equal(s->kills, 1);
	beat(&p, s);
	assert_int_equal(s->kills, 2);
	r.token = s->tokens[0];
	r.seq = 1;
	r.kind = KILL_ACK;
	m.report = &one;
	m.n_report = 1;
	hear(&p, s, FR_REPORTS, &m);
	pass(&p, 2);
	beat(&p, s);
	assert_int_equal(s->kills, 2);
	stop(&p);
}

/* --- whose a lease is: tokens can be guessed ------------------------------------------------- */

static void asks_for_its_log_and_parameters(struct place *p, struct session *s)
{
	Sirdar__LogChunk chunk = SIRDAR__LOG_CHUNK__INIT;
	Sirdar__ParamAsk ask = SIRDAR__PARAM_ASK__INIT;

	chunk.token = ask.token = s->tokens[0];
	s->answer = 0;
	hear(p, s, FR_LOG_CHUNK, &chunk);
	assert_int_equal(s->answer, E_FORGED);
	s->answer = 0;
	hear(p, s, FR_PARAM_ASK, &ask);
	assert_int_equal(s->answer, E_FORGED);
}

/* It has a key, of another name, and claims what b1 runs. */
static void who_claims_a_token_of_another_machine_is_not_believed(void **state)
{
	struct instance i;
	struct place p;

	(void)state;
	start(&p);
	struct session *s = greet(&p, LOADER, "b1");
	struct inst_key key = ready(&p.f, TASK, 60);
	credit(&p, s, 1);
	pass(&p, 2);
	assert_int_equal(s->jobs, 1);
	struct session *liar = greet_holding(&p, LOADER, "b2", s->tokens[0]);
	liar->tokens[liar->jobs++] = s->tokens[0];
	beat(&p, liar);
	assert_int_equal(liar->unknown, 1);
	for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
		liar->answer = 0;
		report(&p, liar, s->tokens[0], k);
		assert_int_equal(liar->answer, E_FORGED);
	}
	asks_for_its_log_and_parameters(&p, liar);
	assert_true(liar->ended == E_FORGED && !s->ended);
	assert_true(ledger_find(p.f.ledger, key, &i) && i.state == ST_RUNNING);
	ask(&p.f, ASK_KILL, key, 0); /* is told to who holds it */
	pass(&p, 2);
	assert_true(s->kills == 1 && liar->kills == 0);
	beat(&p, s);
	assert_int_equal(s->unknown, 0);
	report(&p, s, s->tokens[0], 0);
	assert_int_equal(s->answer, 0);
	stop(&p);
}

/* Else it would run for ever by the word of somebody who does not have it. */
static void a_lease_is_renewed_by_its_holder_alone(void **state)
{
	struct instance i;
	struct place p;

	(void)state;
	start(&p);
	struct session *s = greet(&p, LOADER, "b1");
	struct inst_key key = ready(&p.f, TASK, 60);
	credit(&p, s, 1);
	pass(&p, 2);
	struct session *liar = greet_holding(&p, LOADER, "b2", s->tokens[0]);
	liar->tokens[liar->jobs++] = s->tokens[0];
	for (int64_t ms = 0; ms < LOSE_MS + 10; ms += 10) {
		pass(&p, 8);
		beat(&p, liar);
	}
	assert_true(ledger_find(p.f.ledger, key, &i));
	assert_true(i.state != ST_RUNNING || i.token != s->tokens[0]);
	stop(&p);
}

/* --- a job whose values take their time: the params actor is ours ----------------------------- */

static struct param_question *asked; /* the last one, not answered yet */
static size_t n_asked;

int params_ask(struct params *p, struct param_question *q)
{
	(void)p;
	assert_null(asked);
	asked = q;
	n_asked++;
	return 0;
}

void param_question_clear(struct param_question *q)
{
	(void)q;
}

void param_question_free(struct param_question *q)
{
	task_unref(q->def);
	free(q);
}

int params_tell(struct params *p, const struct store_doc *d)
{
	(void)p;
	(void)d;
	return 0;
}

static void values_come(struct place *p)
{
	struct param_question *q = asked;

	asked = NULL;
	q->letter.deliver = q->answered;
	assert_int_equal(actor_post_credit(q->reply_to, &q->letter), 0);
	pass(p, 2);
}

/* One slot, and a job for it that has asked for its values. */
static struct session *has_asked(struct place *p)
{
	struct task t = { .id = TASK + 1, .priority = 5, .asks = true };

	start(p);
	n_asked = 0;
	put_task(&p->f, &t);
	struct session *s = greet(p, LOADER, "b1");
	ready(&p->f, TASK + 1, 60);
	credit(p, s, 1);
	pass(p, 2);
	assert_int_equal(n_asked, 1);
	return s;
}

static void a_job_that_waits_for_its_values_is_asked_for_once_and_leaves_once(void **state)
{
	struct place p;

	(void)state;
	struct session *s = has_asked(&p);
	for (size_t n = 0; n < 5; n++)
		beat(&p, s); /* does not have it, each time */
	assert_int_equal(n_asked, 1);
	values_come(&p);
	assert_int_equal(s->jobs, 1);
	stop(&p);
}

static void values_that_come_too_late_leave_the_slot_free(void **state)
{
	struct place p;

	(void)state;
	struct session *s = has_asked(&p);
	for (size_t n = 0; n < 5; n++)
		beat(&p, s);
	ready(&p.f, TASK, 60); /* waits for the slot, and needs no values */
	pass(&p, MARGIN_MS);
	while (asked)
		values_come(&p);
	pass(&p, 2);
	assert_true(s->jobs + (asked != NULL) == 1); /* either of the two has it */
	stop(&p);
}

/* --- and there to who shows what came with it ------------------------------------------------ */

/* The store of these tests keeps no key. */
static void start_proving(struct place *p, const char *rule)
{
	char set[32];

	snprintf(set, sizeof set, "lease_proof=%s", rule);
	start_with(p, set);
	char *key = ((struct store_tip *)(uintptr_t)ledger_begin(p->f.ledger))->key;
	memset(key, 'k', 32);
}

/* proof: of the token; NULL: none. */
static void prove(struct place *p, struct session *s, uint64_t token, const uint8_t *proof)
{
	Sirdar__Prove m = SIRDAR__PROVE__INIT;

	m.token = &token;
	m.n_token = proof != NULL;
	m.proof = (ProtobufCBinaryData){ proof ? LEASE_PROOF : 0, (uint8_t *)(uintptr_t)proof };
	m.last = true;
	hear(p, s, FR_PROVE, &m);
}

static struct session *holder_of_one(struct place *p, bool proves)
{
	struct session *s = greet_as(p, LOADER, "b1", 0, proves, 0);

	if (proves)
		prove(p, s, 0, NULL);
	ready(&p->f, TASK, 60);
	credit(p, s, 1);
	pass(p, 2);
	assert_true(s->jobs == 1 && s->has_proofs);
	beat(p, s); /* what is given in a session needs no word in it */
	assert_int_equal(s->unknown, 0);
	return s;
}

/* Another loader of that broker and machine, with a proof or none: is it believed? */
static bool is_believed(struct place *p, const struct session *holder, const uint8_t *proof)
{
	struct session *s = greet_as(p, LOADER, "b1", holder->tokens[0], proof != NULL, 5);
	Sirdar__Report r = SIRDAR__REPORT__INIT, *one = &r;
	Sirdar__Reports m = SIRDAR__REPORTS__INIT;

	if (proof)
		prove(p, s, holder->tokens[0], proof);
	s->tokens[s->jobs++] = holder->tokens[0];
	beat(p, s);
	r.token = holder->tokens[0];
	r.seq = r.kind = 1; /* that it has begun */
	m.report = &one;
	m.n_report = 1;
	hear(p, s, FR_REPORTS, &m);
	pass(p, 2);
	assert_int_equal(s->answer, s->unknown ? E_STALE : 0);
	bool believed = !s->unknown;
	leave(s);
	return believed;
}

static void without_a_proof_the_setting_says_who_is_believed(void **state)
{
	static const struct {
		const char *rule;
		bool of_today, of_before; /* the lease's holder keeps proofs, or does not */
	} rules[] = { { "observe", true, true },
		      { "require", false, true },
		      { "always", false, false } };

	(void)state;
	for (size_t k = 0; k < 6; k++) {
		bool today = k % 2;
		struct place p;

		start_proving(&p, rules[k / 2].rule);
		struct session *s = holder_of_one(&p, today);
		assert_int_equal(is_believed(&p, s, NULL),
		                 today ? rules[k / 2].of_today : rules[k / 2].of_before);
		assert_true(is_believed(&p, s, s->proofs[0]));
		stop(&p);
	}
}

static void a_wrong_proof_is_a_lie_whatever_the_setting_says(void **state)
{
	static const char *const rules[] = { "observe", "require", "always" };

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct place p;
		int cut = 0;

		start_proving(&p, rules[k]);
		struct session *s = holder_of_one(&p, true);
		for (size_t bit = 0; bit < 3; bit++) {
			struct session *liar = greet_as(&p, LOADER, "b1", 0, true, 5);
			liar->may_end = true;
			uint8_t wrong[LEASE_PROOF];
			memcpy(wrong, s->proofs[0], sizeof wrong);
			wrong[5 * bit] ^= 1;
			prove(&p, liar, s->tokens[0], wrong);
			pass(&p, 2);
			cut += liar->ended == E_FORGED;
		}
		assert_int_equal(cut, 1); /* the third, and all there are with it */
		stop(&p);
	}
}

/* Its list is judged with its proofs, and not before: else what it cannot name yet were lost. */
static void who_says_that_it_proves_does_so_before_its_first_beat(void **state)
{
	Sirdar__Beat m = SIRDAR__BEAT__INIT;
	struct place p;

	(void)state;
	start_proving(&p, "always");
	struct session *s = greet_as(&p, LOADER, "b1", 0, true, 5);
	assert_int_equal(s->ops->on_frame(s->ctx, s, FR_BEAT, &m), E_PROTOCOL);
	Sirdar__Prove odd = SIRDAR__PROVE__INIT;
	uint64_t token = 1;
	odd.token = &token;
	odd.n_token = 1;
	assert_int_equal(s->ops->on_frame(s->ctx, s, FR_PROVE, &odd), E_PROTOCOL);
	stop(&p);
}

int main(void)
{
	log_open("test", LOG_ERROR);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_is_told_how_often_to_beat_and_how_long_a_kill_may_take),
		cmocka_unit_test(the_longer_a_kill_may_take_the_sooner_a_job_must_leave),
		cmocka_unit_test(each_reason_of_a_loader_has_the_verdict_that_the_table_says),
		cmocka_unit_test(
			a_machine_that_sends_back_as_full_gets_nothing_until_it_says_its_load),
		cmocka_unit_test(a_kill_is_sent_with_each_beat_until_it_is_acknowledged),
		cmocka_unit_test(who_claims_a_token_of_another_machine_is_not_believed),
		cmocka_unit_test(a_lease_is_renewed_by_its_holder_alone),
		cmocka_unit_test(without_a_proof_the_setting_says_who_is_believed),
		cmocka_unit_test(a_wrong_proof_is_a_lie_whatever_the_setting_says),
		cmocka_unit_test(who_says_that_it_proves_does_so_before_its_first_beat),
		cmocka_unit_test(a_grant_within_the_margin_leaves_as_a_job),
		cmocka_unit_test(a_grant_that_is_durable_too_late_never_leaves_and_is_made_again),
		cmocka_unit_test(a_grant_whose_session_went_goes_to_another),
		cmocka_unit_test(a_job_that_waits_for_its_values_is_asked_for_once_and_leaves_once),
		cmocka_unit_test(values_that_come_too_late_leave_the_slot_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
