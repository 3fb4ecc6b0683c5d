/* A worker of ours: the sessions, leases and effects of the real one, without sockets. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/keep/maintainer.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/sort/sorter.h"
#include "rt/stream.h"
#include "rt/thread.h"
#include "sim.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/map.h"

enum { LEASES_MAX = 65536 };

static struct actor *worker;
static struct stream_reader *out;

/* What the real worker keeps of each session and lease. */
static struct {
	uint64_t conn;
	uint32_t session;
	uint64_t limit, resent, unsent;
	bool refuses; /* sent a job back: nothing until new credit */
	bool is_ending;
	bool closed, others;
	bool listed_forged; /* a list of its named another's, which was told */
	struct holder holder;
	uint32_t lane;
} seats[SEATS];
static uint32_t sessions;
/* Incarnations, as the registrar knows them: after a restart whoever greets is fresh. */
static uint32_t known[SEATS];
static struct map live; /* token -> index below */
static struct {
	uint64_t token;
	struct inst_key key;
	uint64_t machine; /* as in struct holder */
	uint32_t session, broker;
	bool given_back; /* returned as never started: must not be sent any more */
	bool is_former;  /* of before the start: whoever lists it twice has it still */
	uint32_t listed;
} leases[LEASES_MAX];
static uint32_t n_leases;

/* Only the machine that holds a lease is believed, as in worker.c: worker__own(). */
static uint32_t own(int b, uint64_t token)
{
	uint32_t at = map_get(&live, token);

	if (at == MAP_NONE ||
	    !holder_has(&seats[b].holder, leases[at].machine, leases[at].broker, token))
		return MAP_NONE;
	leases[at].machine = seats[b].holder.machine;
	return at;
}

/* As worker_claim.c: judge() and worker__forged(). */
static void look_for_lies(int b, uint64_t token, const char *frame, bool is_list)
{
	uint32_t at = map_get(&live, token);

	if (at == MAP_NONE || (is_list && seats[b].listed_forged) ||
	    !holder_forges(&seats[b].holder, leases[at].machine, leases[at].broker))
		return;
	seats[b].listed_forged |= is_list;
	names_forged(b, frame, leases[at].broker);
}

static int broker_of(uint32_t session)
{
	for (int b = 0; b < SEATS; b++)
		if (seats[b].session == session && session)
			return b;
	return -1;
}

/* Down the wire: delivered later, in order, unless the connection has gone by then. */
struct down {
	int broker;
	uint64_t conn, token;
	enum { DOWN_JOB, DOWN_KILL, DOWN_ACK, DOWN_BEAT, DOWN_REFUSED } kind;
	struct inst_key key;
	int64_t us;
	uint32_t seq;
	int code;
	size_t n;
	uint64_t unknown[];
};

static int64_t clear_at[SEATS];

static void arrive(void *a, uint64_t unused)
{
	struct down *d = a;

	(void)unused;
	if (d->broker < MACHINES && broker_thaws_us(d->broker) > now_us) {
		later_owned(broker_thaws_us(d->broker) - now_us, arrive, d); /* unread */
		return;
	}
	if (d->kind == DOWN_REFUSED)
		broker_refused(d->broker, d->conn);
	else if (d->kind == DOWN_JOB)
		broker_job(d->broker, d->conn, d->token, d->key);
	else if (d->kind == DOWN_KILL)
		broker_kill(d->broker, d->conn, d->token);
	else if (d->kind == DOWN_ACK)
		broker_ack(d->broker, d->conn, d->token, d->seq, d->code);
	else if (d->broker >= MACHINES)
		broker_kept_ack(d->broker - MACHINES, d->conn, d->us, d->unknown, d->n);
	else
		broker_beat_ack(d->broker, d->conn, d->us, d->unknown, d->n);
	free(d);
}

static void down_send(struct down *d)
{
	int64_t at = now_us + wire_delay();

	if (at < clear_at[d->broker])
		at = clear_at[d->broker];
	clear_at[d->broker] = at;
	later_owned(at - now_us, arrive, d);
}

static struct down *down_new(int b, int kind, uint64_t token, size_t n)
{
	struct down *d = mem_new(sizeof *d + n * sizeof d->unknown[0]);

	d->broker = b;
	d->conn = seats[b].conn;
	d->kind = kind;
	d->token = token;
	return d;
}

void worker_answered(struct letter *l, void *self)
{
	struct answers *as = (struct answers *)l;

	(void)self;
	for (size_t i = 0; i < as->n; i++) {
		int b = broker_of((uint32_t)(as->a[i].cookie >> 32));
		if (b < 0 || !(uint32_t)as->a[i].cookie)
			continue;
		struct down *d = down_new(b, DOWN_ACK, as->a[i].token, 0);
		d->seq = (uint32_t)as->a[i].cookie;
		d->code = as->a[i].code;
		note("  answer token %llx seq %u code %d", (unsigned long long)d->token, d->seq,
		     d->code);
		down_send(d);
	}
	free(as);
}

static struct proposal *propose_one(struct inst_key key, enum ask ask, struct proposals **ret)
{
	*ret = proposals_new(PR_WORKER, 1, worker, worker_answered);
	return proposals_add(*ret, ask, key);
}

static void post(struct proposals *ps)
{
	if (ledger_propose(server_ledger(), ps) < 0)
		proposals_free(ps);
}

static void send_job(int b, const struct instance *i)
{
	struct down *d = down_new(b, DOWN_JOB, i->token, 0);

	d->key = i->key;
	down_send(d);
}

static void lease_add(const struct instance *i, uint32_t session, uint64_t machine)
{
	CHECK(n_leases < LEASES_MAX);
	leases[n_leases].token = i->token;
	leases[n_leases].key = i->key;
	leases[n_leases].session = session;
	leases[n_leases].machine = machine;
	leases[n_leases].broker = i->broker;
	leases[n_leases].given_back = leases[n_leases].is_former = false;
	leases[n_leases].listed = 0;
	map_add(&live, i->token, n_leases++);
}

static bool too_late(int64_t granted_us)
{
	return actor_mono_us(worker) - granted_us >= LOSE_US - FENCE_US - KILL_US;
}

static void granted(const struct transition *tr)
{
	int b = broker_of(tr->session);
	struct proposals *ps;

	if (b >= 0 && !seats[b].closed && !too_late(tr->mono_us)) {
		send_job(b, &tr->inst);
		return;
	}
	seats[b < 0 ? 0 : b].unsent += b >= 0; /* its credit is still open */
	leases[map_get(&live, tr->inst.token)].given_back = true;
	struct proposal *p = propose_one(tr->inst.key, ASK_ENDED, &ps);
	p->token = tr->inst.token;
	p->session = tr->session;
	p->end = AE_BACK;
	p->reason = RE_UNSENT;
	post(ps);
}

static void effects(const struct transition *tr)
{
	bool had = tr->from != ST_NONE && inst_holds_slot(&tr->inst, (enum state)tr->from);
	bool has = inst_holds_slot(&tr->inst, (enum state)tr->inst.state);
	uint32_t at = map_get(&live, tr->inst.token);

	if (!had && has)
		lease_add(&tr->inst, tr->session, tr->machine);
	else if (had && !has && at != MAP_NONE)
		map_remove(&live, tr->inst.token, at);
	if (tr->event == EV_GRANT) {
		granted(tr);
	} else if (tr->inst.state == ST_WAITKILL && tr->from != ST_WAITKILL && at != MAP_NONE) {
		int b = broker_of(leases[at].session);
		if (b >= 0)
			down_send(down_new(b, DOWN_KILL, tr->inst.token, 0));
	}
}

/* What is durable leaves only while the right to lead is proven, as in the real worker. */
static void turn(void *self)
{
	(void)self;
	if (stream_peek(out) && !ledger_may_speak(server_ledger(), actor_mono_us(worker))) {
		actor_alarm(worker, actor_mono_us(worker) + 10 * MS);
		return;
	}
	for (const struct transition *tr; (tr = stream_peek(out)); stream_next(out)) {
		check_record(tr);
		if (tr->kind != TK_INSTANCE)
			continue; /* on to the next record: see the loop's head */
		effects(tr);
		operator_sees(tr);
	}
	commands_settle();
}

bool worker_behind(void)
{
	return stream_peek(out) != NULL;
}

static int init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static void on_alarm(void *self)
{
	(void)self; /* turn() follows */
}

static const struct actor_ops ops = {
	.name = "sim-worker", .letters_max = 1 << 20, .init = init, .turn = turn, .alarm = on_alarm
};

static void load_lease(void *ctx, const struct instance *i, uint32_t slot)
{
	(void)ctx;
	(void)slot;
	if (!inst_holds_slot(i, (enum state)i->state))
		return;
	lease_add(i, 0, 0);
	leases[n_leases - 1].is_former = true;
}

void worker_start(struct thread *th)
{
	map_init(&live);
	n_leases = sessions = 0;
	memset(known, 0, sizeof known);
	worker = actor_new(th, &ops, NULL);
	out = stream_reader_new(ledger_stream(server_ledger()), STREAM_OUTER, worker);
	ledger_each_instance(server_ledger(), load_lease, NULL);
}

void worker_stop(void)
{
	map_done(&live);
	memset(seats, 0, sizeof seats);
}

struct actor *worker_actor(void)
{
	return worker;
}

static void send_again(struct letter *l, void *self)
{
	struct resend *r = (struct resend *)l;
	int b = broker_of(r->session);

	(void)self;
	for (size_t i = 0; b >= 0 && i < r->n; i++) {
		uint32_t at = map_get(&live, r->inst[i].token);
		if (at == MAP_NONE || leases[at].given_back)
			continue;
		if (r->inst[i].state == ST_RUNNING && too_late(r->made_us))
			continue;
		if (r->inst[i].state == ST_RUNNING) {
			seats[b].resent++;
			send_job(b, &r->inst[i]);
		} else {
			down_send(down_new(b, DOWN_KILL, r->inst[i].token, 0));
		}
	}
	free(r);
}

static void listed(uint32_t at, uint32_t session)
{
	struct proposals *ps;

	if (leases[at].is_former && leases[at].listed == session) {
		propose_one(leases[at].key, ASK_HELD, &ps)->token = leases[at].token;
		post(ps);
	}
	leases[at].listed = session;
}

static void tell_held(int b, bool hello, bool fresh, const uint64_t *held, size_t n)
{
	struct held_news *h = mem_new(sizeof *h + n * sizeof h->tokens[0]);

	for (size_t i = 0; i < n; i++) {
		uint32_t at = own(b, held[i]);
		if (at == MAP_NONE) {
			look_for_lies(b, held[i], hello ? "HELLO" : "BEAT", true);
			continue;
		}
		check_heard(held[i]);
		if (b >= MACHINES)
			continue;
		leases[at].session = seats[b].session;
		if (!hello)
			listed(at, seats[b].session);
	}
	h->worker = worker;
	h->resend = send_again;
	h->session = seats[b].session;
	h->broker = (uint32_t)b % BROKERS + 1;
	h->lane = seats[b].lane;
	h->others = seats[b].others;
	h->loader = b < MACHINES;
	h->hello = hello;
	h->fresh = fresh;
	h->holder = seats[b].holder;
	if (h->loader)
		h->type[0] = 't';
	h->n = n;
	memcpy(h->tokens, held, n * sizeof held[0]);
	if (maintainer_held(server_maintainer(), h) < 0)
		free(h);
}

static void tell_sorter(int b, bool gone)
{
	if (b >= MACHINES)
		return; /* a taskbroker's own: nothing starts there */
	struct session_news *n = mem_new(sizeof *n);

	n->session = seats[b].session;
	n->broker = (uint32_t)b % BROKERS + 1;
	n->machine = seats[b].holder.machine;
	n->lane = seats[b].lane;
	n->gone = gone;
	n->slots = scenario == SC_NEIGHBOURS ? 24 : SLOTS; /* three of six are kept then: many */
	n->accepts = !seats[b].refuses;
	n->type = mem_str("t");
	n->broker_name = mem_fmt("b%d", b % BROKERS);
	n->groups = mem_array(1, sizeof *n->groups);
	uint64_t total = seats[b].limit + seats[b].unsent;
	n->limit = total > seats[b].resent ? total - seats[b].resent : 0;
	if (sorter_session(server_sorter(), n) < 0)
		session_news_free(n);
}

static void refuse(int b, uint64_t conn)
{
	struct down *d = down_new(b, DOWN_REFUSED, 0, 0);

	d->conn = conn;
	down_send(d);
}

/* Another machine has its name from now on. */
void worker_evicts(uint32_t session)
{
	int b = broker_of(session);

	if (b < 0)
		return;
	refuse(b, seats[b].conn);
	worker_gone(b, seats[b].conn);
}

/* By the registrar, before anything that a session says counts. */
static bool admit(int b, uint64_t conn)
{
	struct holder holder = { .broker = (uint32_t)b % BROKERS + 1 };

	if ((!swarm.twins && !swarm.liar) || names_admit(b, sessions + 1, &holder)) {
		seats[b].holder = holder;
		return true;
	}
	refuse(b, conn);
	return false;
}

static void take_list(int b, int64_t sent_us, const uint64_t *held, size_t n)
{
	names_heard(b);
	tell_held(b, false, false, held, n);
	struct down *d = down_new(b, DOWN_BEAT, 0, n);
	d->us = sent_us;
	for (size_t i = 0; i < n; i++)
		if (own(b, held[i]) == MAP_NONE)
			d->unknown[d->n++] = held[i];
	down_send(d);
}

void worker_kept(int place, uint64_t conn, int64_t sent_us, bool hello, const uint64_t *held,
                 size_t n)
{
	int b = MACHINES + place;

	if (hello && admit(b, conn)) {
		seats[b].conn = conn;
		seats[b].session = ++sessions;
		seats[b].listed_forged = false;
		clear_at[b] = 0;
		names_heard(b);
		tell_held(b, true, false, held, n);
	} else if (!hello && seats[b].conn == conn &&
	           ledger_may_speak(server_ledger(), now_us + 1)) {
		take_list(b, sent_us, held, n);
	}
}

void worker_hello(int b, uint64_t conn, struct greeter g, const uint64_t *held, size_t n)
{
	if (!admit(b, conn))
		return;
	if (seats[b].session)
		tell_sorter(b, true);
	seats[b].conn = conn;
	seats[b].session = ++sessions;
	seats[b].limit = seats[b].resent = seats[b].unsent = 0;
	seats[b].refuses = seats[b].is_ending = seats[b].closed = false;
	seats[b].listed_forged = false;
	seats[b].lane = g.lane;
	seats[b].others = g.others;
	clear_at[b] = 0;
	tell_held(b, true, known[b] != g.incarnation, held, n);
	known[b] = g.incarnation;
	names_heard(b);
	tell_sorter(b, false);
}

void worker_gone(int b, uint64_t conn)
{
	if (seats[b].conn != conn || !seats[b].session)
		return;
	tell_sorter(b, true);
	seats[b].session = 0;
	seats[b].conn = 0;
}

void worker_credit(int b, uint64_t conn, uint64_t limit)
{
	if (seats[b].conn != conn || seats[b].closed)
		return;
	seats[b].refuses = seats[b].refuses && limit <= seats[b].limit;
	seats[b].is_ending &= seats[b].refuses;
	seats[b].limit = limit;
	tell_sorter(b, false);
}

void worker_close(int b, uint64_t conn)
{
	if (seats[b].conn != conn)
		return;
	seats[b].closed = seats[b].refuses = seats[b].is_ending = true;
	tell_sorter(b, false);
}

void worker_beat(int b, uint64_t conn, int64_t sent_us, const uint64_t *held, size_t n)
{
	if (seats[b].conn != conn || !ledger_may_speak(server_ledger(), now_us + 1))
		return;
	take_list(b, sent_us, held, n);
	if (seats[b].refuses && !seats[b].is_ending) {
		seats[b].refuses = false;
		tell_sorter(b, false);
	}
}

void worker_report(int b, uint64_t conn, const struct report *r)
{
	struct proposals *ps;
	uint32_t at = own(b, r->token);

	if (seats[b].conn != conn)
		return;
	if (at == MAP_NONE) {
		look_for_lies(b, r->token, "REPORTS", false);
		struct down *d = down_new(b, DOWN_ACK, r->token, 0);
		d->seq = r->seq;
		d->code = E_STALE;
		down_send(d);
		return;
	}
	bool rejects = r->end == AE_BACK || (r->end == AE_RETURN && r->reason != RE_NOSTART);
	if (rejects && !leases[at].given_back) {
		leases[at].given_back = seats[b].refuses = true;
		seats[b].is_ending |= r->end == AE_BACK;
		tell_sorter(b, false);
	}
	enum ask ask = r->end == -1   ? ASK_STARTED
	               : r->end == -2 ? ASK_KILL_ACK
	               : r->end == -3 ? ASK_HANG
	                              : ASK_ENDED;
	struct proposal *p = propose_one(leases[at].key, ask, &ps);
	p->token = r->token;
	p->cookie = (uint64_t)seats[b].session << 32 | r->seq;
	p->session = seats[b].session;
	p->end = (uint8_t)(r->end < 0 ? 0 : r->end);
	p->exit_code = r->exit_code;
	p->reason = (uint8_t)r->reason;
	p->wait_us = r->wait_us;
	p->branch = r->end == AE_OK ? branch_text(r->branch, r->token) : NULL;
	post(ps);
}
