/* baseserver/worker: which grants leave as jobs and when, and what slow clients are told; the real
 * worker, sorter, maintainer, registrar and ledger, on one thread with a clock of its own. Below
 * the worker's frames there is no session: the functions of wire/session.h are ours. */
#include "baseserver/front.h"
#include "baseserver/maintainer.h"
#include "baseserver/registrar.h"
#include "baseserver/router.h"
#include "baseserver/settings.h"
#include "baseserver/worker.h"
#include "baseserver/worker_client.h"
#include "sirdar.pb-c.h"
#include "store/mem.h"
#include "tests/unit/sorting.h"
#include "util/err.h"
#include "util/log.h"
#include "util/param.h"
#include "wire/protocol.h"
#include "wire/session.h"

enum {
	BROKER = 1,
	LOADER = 2,
	CLIENT = 3,
	QUEUE_BYTES = 65536,
	RING = 8192,
	TASK = 1,
	TOKENS = 16
};
/* T_lose - T_fence - T_kill: so long after its grant a job may leave. */
enum { MARGIN_MS = 100 };
static const char *const sets[] = {
	"beat_ms=50", "lose_ms=700", "fence_ms=400", "kill_ms=200", "session_queue_bytes_max=65536",
	NULL
};

/* One connection, and all that the worker sent on it. */
struct session {
	const struct session_ops *ops;
	void *ctx;
	size_t queued; /* what the worker is told is still to be written */
	bool is_welcome;
	uint32_t beat_ms, fence_ms, kill_ms; /* as it was told */
	uint64_t tokens[TOKENS];
	size_t jobs, kills, unknown; /* unknown: tokens that the answer to a beat refuses */
	int32_t answer;              /* the last one to a report, or a chunk of a log */
	uint64_t first, last;        /* numbers of events */
	size_t events, gaps, news;
	bool has_holes;
	int32_t state; /* where the last event led from Running, and why */
	uint32_t reason;
	char told[80];  /* the last news of a command */
	uint64_t taken; /* of pieces: as the last acknowledgement has it */
	int32_t code;   /* of the last answer */
};

static struct session *newest;

int session_accept(struct ev_loop *loop, int fd, session_key_fn key, void *key_ctx,
                   const struct session_ops *ops, void *ctx, const struct session_limits *limits,
                   struct session **ret_session, struct err *err)
{
	(void)loop;
	(void)fd;
	(void)key;
	(void)key_ctx;
	(void)limits;
	(void)err;
	newest = mem_new(sizeof *newest);
	newest->ops = ops;
	newest->ctx = ctx;
	*ret_session = newest;
	return 0;
}

static void keep_welcome(struct session *s, const Sirdar__Welcome *m)
{
	s->is_welcome = true;
	s->beat_ms = m->beat_ms;
	s->fence_ms = m->fence_ms;
	s->kill_ms = m->kill_ms;
}

static void keep_events(struct session *s, const Sirdar__Events *m)
{
	s->gaps += m->gap;
	s->news += m->n_command;
	for (size_t i = 0; i < m->n_command; i++)
		snprintf(s->told, sizeof s->told, "%d %s %d of %d", (int)m->command[i]->id,
		         m->command[i]->state, (int)m->command[i]->done, (int)m->command[i]->total);
	for (size_t i = 0; i < m->n_event; i++) {
		uint64_t number = m->event[i]->number;
		if (s->events++ == 0)
			s->first = number;
		else if (number != s->last + 1)
			s->has_holes = true;
		s->last = number;
		if (m->event[i]->from == state_number(ST_RUNNING)) {
			s->state = m->event[i]->to;
			s->reason = m->event[i]->reason;
		}
	}
}

int session_send(struct session *s, enum frame_kind kind, const void *message, struct err *err)
{
	const Sirdar__Jobs *jobs = message;

	(void)err;
	if (kind == FR_WELCOME)
		keep_welcome(s, message);
	if (kind == FR_BEAT_ACK)
		s->unknown = ((const Sirdar__BeatAck *)message)->n_unknown;
	if (kind == FR_REPORT_ACKS)
		s->answer = ((const Sirdar__ReportAcks *)message)->ack[0]->code;
	if (kind == FR_LOG_ACK)
		s->answer = ((const Sirdar__LogAck *)message)->code;
	if (kind == FR_PARAM_GIVE)
		s->answer = ((const Sirdar__ParamGive *)message)->code;
	for (size_t i = 0; kind == FR_JOBS && i < jobs->n_job && s->jobs < TOKENS; i++)
		s->tokens[s->jobs++] = jobs->job[i]->token;
	if (kind == FR_KILLS)
		s->kills++;
	if (kind == FR_EVENTS)
		keep_events(s, message);
	if (kind == FR_PIECE_ACK)
		s->taken = ((const Sirdar__PieceAck *)message)->taken;
	if (kind == FR_ANSWER)
		s->code = ((const Sirdar__Answer *)message)->code;
	return 0;
}

size_t session_queued(const struct session *s)
{
	return s->queued;
}

void session_greeted(struct session *s)
{
	(void)s;
}

void session_end(struct session *s, int code, const char *why)
{
	(void)s;
	fail_msg("%d: %s", code, why);
}

void session_drop(struct session *s)
{
	free(s);
}

void router_release(struct router *r, uint32_t door, uint64_t origin)
{
	(void)r;
	(void)door;
	(void)origin;
}

struct place {
	struct fixture f;
	struct registrar *registrar;
	struct maintainer *maintainer;
	struct worker *worker;
};

/* `more`: a setting besides those of all tests; NULL: none. */
static void start_with(struct place *p, const char *more)
{
	struct param_baseserver param;
	struct fixture *f = &p->f;

	param_init(&param_baseserver_table, &param);
	for (const char *const *s = sets; *s; s++)
		assert_int_equal(param_set(&param_baseserver_table, &param, *s, NULL), 0);
	if (more)
		assert_int_equal(param_set(&param_baseserver_table, &param, more, NULL), 0);
	struct maintainer_settings mset = { .lose_us = param.lose_ms * US_PER_MS,
		                            .kill_extra_us = US_PER_S };
	struct worker_settings set = settings_of_worker(&param);
	set.index = 1;
	param_done(&param_baseserver_table, &param);
	begin_still(f);
	assert_int_equal(registrar_new(f->th, f->ledger, f->store, &p->registrar, NULL), 0);
	p->maintainer = maintainer_new(f->th, f->ledger, &mset);
	struct worker_peers peers = { .ledger = f->ledger,
		                      .sorter = f->sorter,
		                      .maintainer = p->maintainer,
		                      .registrar = p->registrar };
	p->worker = worker_new(f->th, &set, &peers);
	assert_int_equal(thread_sim_start(f->th, NULL), 0);
	thread_sim_run(f->th);
	put(f, TASK, 5, 0, DISPATCH_LEAST_LOADED);
}

static void start(struct place *p)
{
	start_with(p, NULL);
}

static void stop(struct place *p)
{
	thread_stop(p->f.th);
	worker_free(p->worker);
	maintainer_free(p->maintainer);
	registrar_free(p->registrar);
	sorter_free(p->f.sorter);
	ledger_free(p->f.ledger);
	thread_free(p->f.th);
	store_close(p->f.store);
}

/* What was published until now is durable, and leaves. */
static void pass(struct place *p, int64_t ms)
{
	now_us += ms * US_PER_MS;
	thread_sim_run(p->f.th);
}

static void hear(struct place *p, struct session *s, enum frame_kind kind, const void *message)
{
	assert_int_equal(s->ops->on_frame(s->ctx, s, kind, message), 0);
	actor_wake(worker_actor(p->worker));
	thread_sim_run(p->f.th);
}

/* token: what it says that it holds already; 0: nothing. */
static struct session *greet_holding(struct place *p, uint32_t role, const char *name,
                                     uint64_t token)
{
	Sirdar__Hello m = SIRDAR__HELLO__INIT;

	m.protocol_min = protocol_min;
	m.protocol_max = protocol_max;
	m.role = role;
	m.name = (char *)(uintptr_t)name;
	m.type = (char *)(uintptr_t)(role == LOADER ? "t" : "");
	m.incarnation = 1;
	m.held = &token;
	m.n_held = token != 0;
	assert_int_equal(worker_accept(p->worker, -1, name, NULL, 0, 0), 0);
	thread_sim_run(p->f.th);
	struct session *s = newest;
	s->ops->on_open(s->ctx, s, name);
	hear(p, s, FR_HELLO, &m);
	pass(p, 2);
	assert_true(s->is_welcome);
	return s;
}

static struct session *greet(struct place *p, uint32_t role, const char *name)
{
	return greet_holding(p, role, name, 0);
}

static void credit(struct place *p, struct session *s, uint64_t limit)
{
	Sirdar__Credit m = SIRDAR__CREDIT__INIT;

	m.limit = limit;
	hear(p, s, FR_CREDIT, &m);
}

static void leave(struct session *s)
{
	struct err err = { 0 };

	s->ops->on_end(s->ctx, s, &err);
	free(s);
}

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

static struct session *subscriber(struct place *p)
{
	Sirdar__Subscribe m = SIRDAR__SUBSCRIBE__INIT;
	struct session *s = greet(p, CLIENT, "cgi");

	hear(p, s, FR_SUBSCRIBE, &m);
	return s;
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
	{ RE_EXIT, NOT_YET, BY_CODE, 0, ST_FAILED, RE_NONE, 0, 0 },
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
	assert_int_equal(s->answer, E_STALE);
	s->answer = 0;
	hear(p, s, FR_PARAM_ASK, &ask);
	assert_int_equal(s->answer, E_STALE);
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
		assert_int_equal(liar->answer, E_STALE);
	}
	asks_for_its_log_and_parameters(&p, liar);
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

/* --- slow clients ------------------------------------------------------------------------- */

static void happens(struct place *p, int64_t n)
{
	struct inst_key key = { 0, TASK, 0 };

	for (int64_t i = 0; i < n; i++) {
		key.run_date += 60;
		ask(&p->f, ASK_CREATE, key, 0);
		if (i % 50 == 0)
			pass(p, 2);
	}
	pass(p, 2);
	pass(p, 2);
}

static void who_reads_slowly_gets_all_that_is_still_kept(void **state)
{
	enum { MANY = 3000 };
	struct place p;

	(void)state;
	start(&p);
	struct session *s = subscriber(&p);
	s->queued = QUEUE_BYTES;
	happens(&p, MANY);
	assert_int_equal(s->events, 0);
	s->queued = 0;
	pass(&p, 100); /* nobody says that it has read: the worker looks again */
	assert_int_equal(s->events, MANY);
	assert_int_equal(s->gaps, 0);
	assert_false(s->has_holes);
	stop(&p);
}

static void what_waits_to_be_written_holds_events_back_by_session_queue_bytes_max(void **state)
{
	struct place p;

	(void)state;
	start_with(&p, "session_queue_bytes_max=1M");
	struct session *s = subscriber(&p);
	s->queued = QUEUE_BYTES;
	happens(&p, 10);
	assert_int_equal(s->events, 10);
	stop(&p);
}

static void who_falls_behind_too_far_is_told_of_the_gap_and_has_no_other(void **state)
{
	enum { MISSED = 300 };
	struct place p;

	(void)state;
	start(&p);
	struct session *s = subscriber(&p);
	uint64_t before = stream_last(ledger_stream(p.f.ledger));
	s->queued = QUEUE_BYTES;
	happens(&p, RING + MISSED);
	s->queued = 0;
	pass(&p, 100);
	assert_int_equal(s->gaps, 1);
	assert_int_equal(s->events, RING);
	assert_int_equal(s->first, before + MISSED + 1);
	assert_false(s->has_holes);
	stop(&p);
}

static void a_number_from_another_past_is_a_gap(void **state)
{
	Sirdar__Subscribe m = SIRDAR__SUBSCRIBE__INIT;
	struct place p;

	(void)state;
	start(&p);
	struct session *s = greet(&p, CLIENT, "cgi");
	m.from_number = 1000000;
	hear(&p, s, FR_SUBSCRIBE, &m);
	assert_true(s->gaps == 1 && s->events == 0);
	happens(&p, 1);
	assert_true(s->gaps == 1 && s->events == 1);
	stop(&p);
}

/* --- how far commands are ----------------------------------------------------------------- */

static void news(struct place *p, uint64_t id, enum command_state state, int64_t done)
{
	const struct command_news n = { id, 100, done, 0, state };

	worker_news(p->worker, &n);
	thread_sim_run(p->f.th);
}

static void a_new_state_is_told_at_once_and_progress_together(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	struct session *s = subscriber(&p);
	news(&p, 1, CS_RUNNING, 0);
	assert_string_equal(s->told, "1 running 0 of 100");
	news(&p, 1, CS_RUNNING, 10);
	news(&p, 1, CS_RUNNING, 20);
	assert_int_equal(s->news, 1);
	for (int i = 0; i < 30; i++)
		pass(&p, 10);
	assert_int_equal(s->news, 2);
	assert_string_equal(s->told, "1 running 20 of 100");
	news(&p, 1, CS_RUNNING, 30);
	news(&p, 1, CS_DONE, 100);
	assert_int_equal(s->news, 3);
	assert_string_equal(s->told, "1 done 100 of 100");
	stop(&p);
}

static void who_subscribes_hears_what_ended_meanwhile(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	news(&p, 7, CS_DONE, 100);
	struct session *s = subscriber(&p);
	assert_string_equal(s->told, "7 done 100 of 100");
	struct session *other = greet(&p, CLIENT, "notifier");
	news(&p, 8, CS_FAILED, 3);
	assert_int_equal(other->news, 0);
	assert_string_equal(s->told, "8 failed 3 of 100");
	stop(&p);
}

/* --- arguments in pieces ------------------------------------------------------------------ */

static int piece(struct session *s, uint64_t id, uint64_t total, uint64_t offset, size_t bytes)
{
	static uint8_t data[1000];
	Sirdar__Piece m = SIRDAR__PIECE__INIT;

	m.id = id;
	m.total = total;
	m.offset = offset;
	m.data.data = data;
	m.data.len = bytes;
	return s->ops->on_frame(s->ctx, s, FR_PIECE, &m);
}

static int command(struct session *s, uint64_t id, uint64_t args_bytes)
{
	Sirdar__Command m = SIRDAR__COMMAND__INIT;

	m.id = id;
	m.kind = (char *)(uintptr_t) "apply";
	m.args_bytes = args_bytes;
	return s->ops->on_frame(s->ctx, s, FR_COMMAND, &m);
}

static void pieces_out_of_order_or_of_another_size_than_said_are_a_fault(void **state)
{
	struct place p = { 0 };

	(void)state;
	start(&p);
	struct session *s = greet(&p, CLIENT, "face");
	assert_int_equal(piece(s, 1, 3000, 0, 1000), 0);
	assert_int_equal(piece(s, 1, 3000, 1000, 1000), 0);
	assert_int_equal(s->taken, 2000);
	assert_int_equal(piece(s, 1, 3000, 1000, 1000), E_PROTOCOL); /* once more */
	assert_int_equal(piece(s, 1, 3001, 2000, 1000), E_PROTOCOL);
	assert_int_equal(piece(s, 1, 3000, 2500, 500), E_PROTOCOL); /* one is left out */
	assert_int_equal(piece(s, 1, 3000, 2000, 0), E_PROTOCOL);
	assert_int_equal(piece(s, 2, 900, 0, 1000), E_PROTOCOL);  /* more than was said */
	assert_int_equal(piece(s, 3, 900, 100, 800), E_PROTOCOL); /* of nothing that began */
	assert_int_equal(command(s, 1, 3000), E_PROTOCOL);        /* one is missing */
	assert_int_equal(piece(s, 1, 3000, 2000, 1000), 0);
	assert_int_equal(command(s, 1, 2999), E_PROTOCOL);
	assert_int_equal(command(s, 4, 10), E_PROTOCOL); /* there are none */
	leave(s);
	stop(&p);
}

static void pieces_are_bounded_by_command_by_session_and_in_all(void **state)
{
	enum { HALF = SESSION_ARGS_BYTES_MAX / 2 };
	struct place p = { 0 };

	(void)state;
	start(&p);
	struct session *a = greet(&p, CLIENT, "a"), *b = greet(&p, CLIENT, "b");
	struct session *c = greet(&p, CLIENT, "c");
	assert_int_equal(piece(a, 1, ARGS_BYTES_MAX + 1, 0, 1000), 0);
	assert_int_equal(a->code, E_TOO_BIG);
	assert_int_equal(piece(a, 1, ARGS_BYTES_MAX + 1, 1000, 1000), 0); /* was under way */
	assert_int_equal(command(a, 1, ARGS_BYTES_MAX + 1), 0);           /* answered already */
	assert_int_equal(piece(a, 2, HALF, 0, 1000), 0);
	assert_int_equal(piece(a, 3, HALF, 0, 1000), 0);
	assert_int_equal(a->taken, 1000);
	assert_int_equal(piece(a, 4, 1000, 0, 1000), 0);
	assert_int_equal(a->code, E_BUSY);
	assert_int_equal(piece(b, 1, HALF, 0, 1000), 0);
	assert_int_equal(piece(b, 2, HALF, 0, 1000), 0);
	assert_int_equal(piece(c, 1, 1000, 0, 1000), 0);
	assert_int_equal(c->code, E_BUSY);
	assert_int_equal(piece(b, 2, 0, 0, 0), 0); /* not wanted any more */
	assert_int_equal(piece(c, 2, HALF, 0, 1000), 0);
	assert_int_equal(c->taken, 1000);
	leave(a); /* in the middle */
	assert_int_equal(piece(b, 3, HALF, 0, 1000), 0);
	b->taken = c->taken = 0;
	assert_int_equal(piece(c, 3, HALF, 0, 1000), 0);
	assert_int_equal(c->taken, 1000);
	leave(b);
	leave(c);
	stop(&p);
}

static void who_stops_in_the_middle_of_his_pieces_makes_room_for_others(void **state)
{
	enum { HALF = SESSION_ARGS_BYTES_MAX / 2 };
	struct place p = { 0 };

	(void)state;
	start(&p);
	struct session *a = greet(&p, CLIENT, "a"), *b = greet(&p, CLIENT, "b");
	struct session *c = greet(&p, CLIENT, "c");
	for (uint64_t id = 1; id <= 2; id++) {
		assert_int_equal(piece(a, id, HALF, 0, 1000), 0);
		assert_int_equal(piece(b, id, HALF, 0, 1000), 0);
	}
	pass(&p, 29000);
	assert_int_equal(piece(b, 1, HALF, 1000, 1000), 0);
	assert_int_equal(piece(c, 1, 1000, 0, 1000), 0);
	assert_int_equal(c->code, E_BUSY);
	pass(&p, 2000);
	assert_int_equal(piece(c, 2, 1000, 0, 1000), 0);
	assert_int_equal(c->taken, 1000);
	assert_int_equal(a->code, E_TIMEOUT);
	assert_int_equal(piece(a, 1, HALF, 1000, 1000), 0); /* was under way */
	assert_int_equal(piece(b, 1, HALF, 2000, 1000), 0); /* goes on */
	assert_int_equal(b->taken, 3000);
	leave(a);
	leave(b);
	leave(c);
	stop(&p);
}

int main(void)
{
	log_open("test", LOG_ERROR);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_state_is_told_at_once_and_progress_together),
		cmocka_unit_test(who_subscribes_hears_what_ended_meanwhile),
		cmocka_unit_test(a_machine_is_told_how_often_to_beat_and_how_long_a_kill_may_take),
		cmocka_unit_test(the_longer_a_kill_may_take_the_sooner_a_job_must_leave),
		cmocka_unit_test(each_reason_of_a_loader_has_the_verdict_that_the_table_says),
		cmocka_unit_test(
			a_machine_that_sends_back_as_full_gets_nothing_until_it_says_its_load),
		cmocka_unit_test(a_kill_is_sent_with_each_beat_until_it_is_acknowledged),
		cmocka_unit_test(who_claims_a_token_of_another_machine_is_not_believed),
		cmocka_unit_test(a_lease_is_renewed_by_its_holder_alone),
		cmocka_unit_test(a_grant_within_the_margin_leaves_as_a_job),
		cmocka_unit_test(a_grant_that_is_durable_too_late_never_leaves_and_is_made_again),
		cmocka_unit_test(a_grant_whose_session_went_goes_to_another),
		cmocka_unit_test(who_reads_slowly_gets_all_that_is_still_kept),
		cmocka_unit_test(
			what_waits_to_be_written_holds_events_back_by_session_queue_bytes_max),
		cmocka_unit_test(who_falls_behind_too_far_is_told_of_the_gap_and_has_no_other),
		cmocka_unit_test(a_number_from_another_past_is_a_gap),
		cmocka_unit_test(pieces_out_of_order_or_of_another_size_than_said_are_a_fault),
		cmocka_unit_test(pieces_are_bounded_by_command_by_session_and_in_all),
		cmocka_unit_test(who_stops_in_the_middle_of_his_pieces_makes_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
