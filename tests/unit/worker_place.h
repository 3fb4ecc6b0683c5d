/* worker_place.h — the real worker, sorter, maintainer, registrar and ledger, on one thread with a
 * clock of its own; for tests of the worker only, one of each program. Below the worker's frames
 * there is no session: the functions of wire/session.h are ours. */
#ifndef TESTS_UNIT_WORKER_PLACE_H
#define TESTS_UNIT_WORKER_PLACE_H

#include <unistd.h>

#include "baseserver/keep/maintainer.h"
#include "baseserver/model/front.h"
#include "baseserver/net/router.h"
#include "baseserver/net/worker.h"
#include "baseserver/net/worker_client.h"
#include "baseserver/settings.h"
#include "baseserver/sort/registrar.h"
#include "sirdar.pb-c.h"
#include "store/mem.h"
#include "tests/unit/sorting.h"
#include "util/err.h"
#include "util/log.h"
#include "util/param.h"
#include "wire/keys.h"
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
enum { LOSE_MS = 700, MARGIN_MS = 100 }; /* as of the settings below */
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
	uint8_t proofs[TOKENS][LEASE_PROOF];
	bool has_proofs;             /* they came with its jobs */
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
	bool may_end;   /* else the test fails, but for a lie */
	int ended;      /* the worker ended it for this */
	const struct session_door *door;
	void *door_ctx;
};

static struct session *newest;

int session_accept(const struct session_owner *owner, int fd, const struct session_door *door,
                   void *door_ctx, struct session **ret_session, struct err *err)
{
	(void)fd;
	(void)err;
	newest = mem_new(sizeof *newest);
	newest->ops = owner->ops;
	newest->ctx = owner->ctx;
	newest->door = door;
	newest->door_ctx = door_ctx;
	*ret_session = newest;
	return 0;
}

static inline void keep_welcome(struct session *s, const Sirdar__Welcome *m)
{
	s->is_welcome = true;
	s->beat_ms = m->beat_ms;
	s->fence_ms = m->fence_ms;
	s->kill_ms = m->kill_ms;
}

static inline void keep_events(struct session *s, const Sirdar__Events *m)
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
	for (size_t i = 0; kind == FR_JOBS && i < jobs->n_job && s->jobs < TOKENS; i++) {
		const Sirdar__Job *job = jobs->job[i];
		s->has_proofs = job->lease_proof.len == LEASE_PROOF;
		if (s->has_proofs)
			memcpy(s->proofs[s->jobs], job->lease_proof.data, LEASE_PROOF);
		s->tokens[s->jobs++] = job->token;
	}
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

int session_proof(const struct session *s, uint8_t ret[SESSION_PROOF_BYTES], struct err *err)
{
	(void)err;
	memset(ret, s->is_welcome, SESSION_PROOF_BYTES);
	return 0;
}

size_t session_queued(const struct session *s)
{
	return s->queued;
}

void session_known(struct session *s)
{
	(void)s;
}

void session_greeted(struct session *s)
{
	(void)s;
}

void session_end(struct session *s, int code, const char *why)
{
	if (!s->may_end && code != E_FORGED)
		fail_msg("%d: %s", code, why);
	s->ended = code; /* and goes on: what comes meanwhile is judged all the same */
}

void session_drop(struct session *s)
{
	free(s);
}

static inline void released(struct router *r, uint32_t door, uint64_t origin)
{
	(void)r;
	(void)door;
	(void)origin;
}

/* The peers of all tests. */
static inline struct keys *keys_of_tests(void)
{
	static const struct {
		const char *name;
		enum peer_kind kind;
	} peers[] = { { "b1", PEER_BROKER },  { "b2", PEER_BROKER },
		      { "a", PEER_FACE },     { "b", PEER_FACE },
		      { "c", PEER_FACE },     { "cgi", PEER_FACE },
		      { "face", PEER_FACE },  { "notifier", PEER_NOTIFIER },
		      { "tool", PEER_CLIENT } };
	const char *dir = getenv("TMPDIR");
	uint8_t key[KEY_BYTES];
	char path[200], lock[220];
	struct keys *keys = NULL;

	snprintf(path, sizeof path, "%s/sirdar-test-%d.keys", dir ? dir : "/tmp", (int)getpid());
	snprintf(lock, sizeof lock, "%s.lock", path);
	for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++)
		assert_int_equal(keys_add(path, peers[i].name, peers[i].kind, key, NULL), 0);
	assert_int_equal(keys_open(path, &keys, NULL), 0);
	unlink(path);
	unlink(lock);
	return keys;
}

struct place {
	struct fixture f;
	struct keys *keys;
	struct registrar *registrar;
	struct maintainer *maintainer;
	struct worker *worker;
};

/* `more`: a setting besides those of all tests; NULL: none. */
static inline void start_with(struct place *p, const char *more)
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
	p->keys = keys_of_tests();
	struct worker_peers peers = { .ledger = f->ledger,
		                      .keys = p->keys,
		                      .sorter = f->sorter,
		                      .maintainer = p->maintainer,
		                      .registrar = p->registrar,
		                      .release = released };
	p->worker = worker_new(f->th, &set, &peers);
	assert_int_equal(thread_sim_start(f->th, NULL), 0);
	thread_sim_run(f->th);
	put(f, TASK, 5, 0, DISPATCH_LEAST_LOADED);
}

static inline void start(struct place *p)
{
	start_with(p, NULL);
}

static inline void stop(struct place *p)
{
	thread_stop(p->f.th);
	worker_free(p->worker);
	maintainer_free(p->maintainer);
	registrar_free(p->registrar);
	sorter_free(p->f.sorter);
	ledger_free(p->f.ledger);
	thread_free(p->f.th);
	store_close(p->f.store);
	keys_close(p->keys);
}

/* What was published until now is durable, and leaves. */
static inline void pass(struct place *p, int64_t ms)
{
	now_us += ms * US_PER_MS;
	thread_sim_run(p->f.th);
}

static inline void hear(struct place *p, struct session *s, enum frame_kind kind,
                        const void *message)
{
	assert_int_equal(s->ops->on_frame(s->ctx, s, kind, message), 0);
	actor_wake(worker_actor(p->worker));
	thread_sim_run(p->f.th);
}

/* token: what it says that it holds already; 0: nothing. proves: of leases, as brokers of today.
 * lane: which of its type's loaders; beside 0 it is one of several. */
static inline struct session *greet_as(struct place *p, uint32_t role, const char *name,
                                       uint64_t token, bool proves, uint32_t lane)
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
	m.proves = m.keeps_proofs = proves;
	m.lane = lane;
	m.others = lane != 0;
	assert_int_equal(worker_accept(p->worker, -1, name, NULL, 0, 0), 0);
	thread_sim_run(p->f.th);
	struct session *s = newest;
	uint8_t key[KEY_BYTES];
	assert_int_equal(s->door->key(s->door_ctx, name, key), 0);
	s->ops->on_open(s->ctx, s, name);
	hear(p, s, FR_HELLO, &m);
	pass(p, 2);
	assert_true(s->is_welcome);
	return s;
}

static inline struct session *greet_holding(struct place *p, uint32_t role, const char *name,
                                            uint64_t token)
{
	return greet_as(p, role, name, token, false, 0);
}

static inline struct session *greet(struct place *p, uint32_t role, const char *name)
{
	return greet_holding(p, role, name, 0);
}

static inline void credit(struct place *p, struct session *s, uint64_t limit)
{
	Sirdar__Credit m = SIRDAR__CREDIT__INIT;

	m.limit = limit;
	hear(p, s, FR_CREDIT, &m);
}

static inline void leave(struct session *s)
{
	struct err err = { 0 };

	s->ops->on_end(s->ctx, s, &err);
	free(s);
}

static inline struct session *subscriber(struct place *p)
{
	Sirdar__Subscribe m = SIRDAR__SUBSCRIBE__INIT;
	struct session *s = greet(p, CLIENT, "cgi");

	hear(p, s, FR_SUBSCRIBE, &m);
	return s;
}

#endif
