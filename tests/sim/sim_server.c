/* The server's process under the simulator: real actors, and a worker of ours that speaks
 * to the simulated brokers instead of sockets. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/instantiator.h"
#include "baseserver/ledger.h"
#include "baseserver/letters.h"
#include "baseserver/maintainer.h"
#include "baseserver/resolver.h"
#include "baseserver/sorter.h"
#include "rt/stream.h"
#include "rt/thread.h"
#include "sched/task.h"
#include "sim.h"
#include "store/mem.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/map.h"

static struct thread *th;
static struct store *store;
static struct ledger *ledger;
static struct resolver *resolver;
static struct sorter *sorter;
static struct instantiator *instantiator;
static struct maintainer *maintainer;
static struct actor *worker;
static struct stream_reader *out;
static struct task *tasks[TASKS];
static size_t n_tasks;
static bool dying;

/* What the real worker keeps of each session and lease. */
static struct {
	uint64_t conn;
	uint32_t session;
	uint64_t limit, resent;
} seats[BROKERS];
static uint32_t sessions;
static struct map live;        /* token -> index below */
static struct {
	uint64_t token;
	struct inst_key key;
	uint32_t session;
} leases[65536];
static uint32_t n_leases;

static int broker_of(uint32_t session)
{
	for (int b = 0; b < BROKERS; b++)
		if (seats[b].session == session && session)
			return b;
	return -1;
}

/* Down the wire: delivered later, in order, unless the connection has gone by then. */
struct down {
	int broker;
	uint64_t conn, token;
	int kind; /* 0 job 1 kill 2 ack 3 beat ack */
	struct inst_key key;
	int64_t us;
	uint32_t seq;
	int code;
	size_t n;
	uint64_t unknown[];
};

static int64_t clear_at[BROKERS];

static void arrive(void *a, uint64_t unused)
{
	struct down *d = a;

	(void)unused;
	if (d->kind == 0)
		broker_job(d->broker, d->conn, d->token, d->key, d->us);
	else if (d->kind == 1)
		broker_kill(d->broker, d->conn, d->token);
	else if (d->kind == 2)
		broker_ack(d->broker, d->conn, d->token, d->seq, d->code);
	else
		broker_beat_ack(d->broker, d->conn, d->us, d->unknown, d->n);
	free(d);
}

static void down_send(struct down *d)
{
	int64_t at = now_us + (healing ? 1 * MS : (int64_t)(1 + rnd(chance(50) ? 3000 : 20)) * MS);

	if (at < clear_at[d->broker])
		at = clear_at[d->broker];
	clear_at[d->broker] = at;
	later(at - now_us, arrive, d, 0);
}

static struct down *down_new(int b, int kind, size_t n)
{
	struct down *d = mem_new(sizeof *d + n * sizeof d->unknown[0]);

	d->broker = b;
	d->conn = seats[b].conn;
	d->kind = kind;
	return d;
}

static void on_answers(struct letter *l, void *self)
{
	struct answers *as = (struct answers *)l;

	(void)self;
	for (size_t i = 0; i < as->n; i++) {
		int b = broker_of((uint32_t)(as->a[i].cookie >> 32));
		if (b < 0 || !(uint32_t)as->a[i].cookie)
			continue;
		struct down *d = down_new(b, 2, 0);
		d->token = as->a[i].token;
		d->seq = (uint32_t)as->a[i].cookie;
		d->code = as->a[i].code;
		note("  answer token %llx seq %u code %d", (unsigned long long)d->token, d->seq, d->code);
		down_send(d);
	}
	free(as);
}

static struct proposal *propose_one(enum proposer from, enum ask ask, struct inst_key key,
                                    struct proposals **ret)
{
	*ret = proposals_new(from, 1, worker, on_answers);
	return proposals_add(*ret, ask, key);
}

static void post(struct proposals *ps)
{
	if (ledger_propose(ledger, ps) < 0)
		proposals_free(ps);
}

static void send_job(int b, const struct instance *i)
{
	struct down *d = down_new(b, 0, 0);

	d->token = i->token;
	d->key = i->key;
	down_send(d);
}

static void send_kill(int b, const struct instance *i)
{
	struct down *d = down_new(b, 1, 0);

	d->token = i->token;
	down_send(d);
}

static void lease_add(const struct instance *i, uint32_t session)
{
	CHECK(n_leases < 65536);
	leases[n_leases].token = i->token;
	leases[n_leases].key = i->key;
	leases[n_leases].session = session;
	map_add(&live, i->token, n_leases++);
}

static void effects(const struct transition *tr)
{
	bool had = tr->from != ST_NONE && state_holds_slot((enum state)tr->from);
	bool has = state_holds_slot((enum state)tr->inst.state);
	uint32_t at = map_get(&live, tr->inst.token);

	if (!had && has) {
		lease_add(&tr->inst, tr->session);
	} else if (had && !has && at != MAP_NONE) {
		map_remove(&live, tr->inst.token, at);
	}
	if (tr->event == EV_GRANT) {
		int b = broker_of(tr->session);
		struct proposals *ps;
		if (b >= 0) {
			send_job(b, &tr->inst);
			return;
		}
		struct proposal *p = propose_one(PR_WORKER, ASK_ENDED, tr->inst.key, &ps);
		p->token = tr->inst.token;
		p->end = AE_RETURN;
		p->reason = RE_NOSTART;
		post(ps);
	} else if (tr->inst.state == ST_WAITKILL && tr->from != ST_WAITKILL && at != MAP_NONE) {
		int b = broker_of(leases[at].session);
		if (b >= 0)
			send_kill(b, &tr->inst);
	}
}

static void worker_turn(void *self)
{
	(void)self;
	for (const struct transition *tr; (tr = stream_peek(out)); stream_next(out)) {
		check_record(tr);
		if (tr->kind == TK_INSTANCE)
			effects(tr);
	}
}

static int worker_init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static const struct actor_ops worker_ops = { .name = "sim-worker", .letters_max = 1 << 20,
	.init = worker_init, .turn = worker_turn };

static void on_fatal(void *ctx, const struct err *err)
{
	(void)ctx;
	note("fatal: %s", err->text);
	dying = true;
}

static void load_lease(void *ctx, const struct instance *i, uint32_t slot)
{
	(void)ctx;
	(void)slot;
	if (state_holds_slot((enum state)i->state))
		lease_add(i, 0);
}

static int each_row(void *ctx, const struct store_task *t)
{
	struct store_task *rows = ctx;

	CHECK(t->id >= 1 && t->id <= TASKS);
	rows[t->id - 1] = *t;
	return 0;
}

static void publish_tasks(void)
{
	struct edit *e = mem_new(sizeof *e);

	e->tasks = mem_array(n_tasks, sizeof *e->tasks);
	e->rows = mem_array(n_tasks, sizeof *e->rows);
	for (size_t i = 0; i < n_tasks; i++) {
		e->tasks[i] = task_ref(tasks[i]);
		e->rows[i] = (struct store_task){ .id = tasks[i]->id, .workflow_id = 1, .version = 1,
			.state = TS_ONLINE, .planned_through = INT64_MIN, .online_from = INT64_MIN };
	}
	e->n_tasks = n_tasks;
	if (ledger_edit(ledger, e) < 0)
		edit_free(e);
}

void server_start(void)
{
	struct ledger_settings set = { .ring_slots = 32768, .batch_max = 200, .window_us = 1000,
		.retry_us = 100 * MS, .epoch_us = 1000 * MS, .fatal = on_fatal };
	struct maintainer_settings mset = { .lose_us = LOSE_US, .kill_extra_us = SEC };
	struct store_task rows[TASKS] = { 0 };
	struct err err = { 0 };

	if (!store) {
		CHECK(store_open("mem:", &store, &err) == 0);
		n_tasks = tasks_make(tasks);
		check_reset(tasks, n_tasks);
	}
	CHECK(store_load_tasks(store, each_row, rows, &err) == 0);
	bool first = rows[0].id == 0;
	if (!first)
		check_restart(store);
	th = thread_new("sim", &sim_clock);
	dying = false;
	map_init(&live);
	n_leases = 0;
	if (ledger_new(th, store, "sim", &set, tasks, rows, first ? 0 : n_tasks, &ledger, &err) < 0) {
		break_invariant("P9", "the server does not start: %s", err.text);
		abort();
	}
	resolver = resolver_new(th, ledger);
	sorter = sorter_new(th, ledger);
	instantiator = instantiator_new(th, ledger);
	maintainer = maintainer_new(th, ledger, &mset);
	worker = actor_new(th, &worker_ops, NULL);
	out = stream_reader_new(ledger_stream(ledger), STREAM_OUTER, worker);
	ledger_each_instance(ledger, load_lease, NULL);
	CHECK(thread_sim_start(th, &err) == 0);
	if (first)
		publish_tasks();
	note("server: epoch %u", ledger_epoch(ledger));
	server_run();
}

static void stop(void)
{
	thread_stop(th);
	maintainer_free(maintainer);
	instantiator_free(instantiator);
	sorter_free(sorter);
	resolver_free(resolver);
	ledger_free(ledger);
	thread_free(th);
	map_done(&live);
	th = NULL;
	memset(seats, 0, sizeof seats);
}

static void back(void *a, uint64_t b)
{
	(void)a;
	(void)b;
	if (!th)
		server_start();
}

void server_crash(void)
{
	struct store *next;

	if (!th)
		return;
	note("server: crash");
	stop();
	store_mem_crash(store, &next);
	store_close(store);
	store = next;
	broker_server_lost();
	later((int64_t)rnd(healing ? 100 : 4000) * MS, back, NULL, 0);
}

void server_end(void)
{
	if (th)
		stop();
	store_close(store);
	store = NULL;
	for (size_t i = 0; i < n_tasks; i++)
		task_unref(tasks[i]);
	n_tasks = 0;
}

bool server_up(void)
{
	return th != NULL;
}

struct store *server_store(void)
{
	return store;
}

void server_run(void)
{
	if (!th)
		return;
	thread_sim_run(th);
	if (dying)
		server_crash();
}

int64_t server_next_us(void)
{
	return th ? thread_sim_next_us(th) - 1 : INT64_MAX;
}

static void send_again(struct letter *l, void *self)
{
	struct resend *r = (struct resend *)l;
	int b = broker_of(r->session);

	(void)self;
	for (size_t i = 0; b >= 0 && i < r->n; i++) {
		if (map_get(&live, r->inst[i].token) == MAP_NONE)
			continue;
		if (r->inst[i].state == ST_RUNNING) {
			seats[b].resent++;
			send_job(b, &r->inst[i]);
		} else {
			send_kill(b, &r->inst[i]);
		}
	}
	free(r);
}

static void tell_held(int b, bool hello, bool fresh, const uint64_t *held, size_t n)
{
	struct held_news *h = mem_new(sizeof *h + n * sizeof h->tokens[0]);

	for (size_t i = 0; i < n; i++) {
		uint32_t at = map_get(&live, held[i]);
		if (at != MAP_NONE)
			leases[at].session = seats[b].session;
	}
	h->worker = worker;
	h->resend = send_again;
	h->session = seats[b].session;
	h->broker = (uint32_t)b + 1;
	h->loader = true;
	h->hello = hello;
	h->fresh = fresh;
	h->type[0] = 't';
	h->n = n;
	memcpy(h->tokens, held, n * sizeof held[0]);
	if (maintainer_held(maintainer, h) < 0)
		free(h);
}

static void tell_sorter(int b, bool gone)
{
	struct session_news *n = mem_new(sizeof *n);

	n->session = seats[b].session;
	n->broker = (uint32_t)b + 1;
	n->gone = gone;
	n->accepts = true;
	n->type = mem_str("t");
	n->broker_name = mem_fmt("b%d", b);
	n->groups = mem_array(1, sizeof *n->groups);
	n->limit = seats[b].limit > seats[b].resent ? seats[b].limit - seats[b].resent : 0;
	if (sorter_session(sorter, n) < 0)
		session_news_free(n);
}

/* After a restart the registrar does not know the process: whoever greets is fresh. */
static bool known[BROKERS];
static uint32_t known_epoch;

void server_hello(int b, uint64_t conn, bool fresh, const uint64_t *held, size_t n)
{
	if (known_epoch != ledger_epoch(ledger)) {
		known_epoch = ledger_epoch(ledger);
		memset(known, 0, sizeof known);
	}
	if (seats[b].session)
		tell_sorter(b, true);
	seats[b].conn = conn;
	seats[b].session = ++sessions;
	seats[b].limit = seats[b].resent = 0;
	clear_at[b] = 0;
	tell_held(b, true, fresh || !known[b], held, n);
	known[b] = true;
	tell_sorter(b, false);
}

void server_gone(int b, uint64_t conn)
{
	if (seats[b].conn != conn || !seats[b].session)
		return;
	tell_sorter(b, true);
	seats[b].session = 0;
	seats[b].conn = 0;
}

void server_credit(int b, uint64_t conn, uint64_t limit)
{
	if (seats[b].conn != conn)
		return;
	seats[b].limit = limit;
	tell_sorter(b, false);
}

void server_beat(int b, uint64_t conn, int64_t sent_us, const uint64_t *held, size_t n)
{
	if (seats[b].conn != conn || !ledger_may_speak(ledger, now_us + 1))
		return;
	tell_held(b, false, false, held, n);
	struct down *d = down_new(b, 3, n);
	d->us = sent_us;
	for (size_t i = 0; i < n; i++)
		if (map_get(&live, held[i]) == MAP_NONE)
			d->unknown[d->n++] = held[i];
	down_send(d);
}

void server_report(int b, uint64_t conn, const struct report *r)
{
	struct proposals *ps;
	uint32_t at = map_get(&live, r->token);

	if (seats[b].conn != conn)
		return;
	if (at == MAP_NONE) {
		struct down *d = down_new(b, 2, 0);
		d->token = r->token;
		d->seq = r->seq;
		d->code = E_STALE;
		down_send(d);
		return;
	}
	enum ask ask = r->end == -1 ? ASK_STARTED : r->end == -2 ? ASK_KILL_ACK
	               : r->end == -3 ? ASK_HANG : ASK_ENDED;
	struct proposal *p = propose_one(PR_WORKER, ask, leases[at].key, &ps);
	p->token = r->token;
	p->cookie = (uint64_t)seats[b].session << 32 | r->seq;
	p->session = seats[b].session;
	p->end = (uint8_t)(r->end < 0 ? 0 : r->end);
	p->exit_code = r->exit_code;
	p->reason = (uint8_t)r->reason;
	post(ps);
}

/* A person's hand on a random instance of the recent past. */
void server_operator(void)
{
	static const enum ask asks[] = { ASK_KILL, ASK_REDO, ASK_FORCE, ASK_FREEZE, ASK_UNFREEZE,
		                         ASK_PRIORITY, ASK_RUN_NOW, ASK_SKIP, ASK_DECLARE };
	struct proposals *ps;

	if (!th)
		return;
	const struct task *t = tasks[rnd(TASKS)];
	int64_t date = plan_prev(t->plan, wall_of(now_us) / SEC - (int64_t)rnd(600));
	if (date == PLAN_BEFORE)
		return;
	enum ask ask = asks[rnd(sizeof asks / sizeof asks[0])];
	struct proposal *p = propose_one(PR_COMMANDER, ask, (struct inst_key){ date, t->id, 0 }, &ps);
	p->intent = KI_USER;
	p->reason = ask == ASK_SKIP ? RE_ASKED : RE_USER;
	p->priority = ask == ASK_PRIORITY ? (uint8_t)(1 + rnd(10)) : 0;
	p->kill_running = chance(500);
	p->due = date;
	p->origin = OR_MANUAL;
	post(ps);
	server_run();
}

static void unfreeze(void *ctx, const struct instance *i, uint32_t slot)
{
	struct proposals *ps;

	(void)ctx;
	(void)slot;
	if (i->flags & IF_FROZEN) {
		propose_one(PR_COMMANDER, ASK_UNFREEZE, i->key, &ps);
		post(ps);
	}
}

void server_operators_done(void)
{
	if (th)
		ledger_each_instance(ledger, unfreeze, NULL);
	server_run();
}
