/* Machines: a loader that comes and goes, a keeper that holds the jobs and the fence. */
#include <stdlib.h>
#include <string.h>

#include "sched/attempt.h"
#include "sim.h"
#include "sim_broker.h"
#include "util/check.h"

bool healing;

struct machine machines[MACHINES];
static uint32_t lanes[BROKERS]; /* the last of each */
static int current[BROKERS];    /* the place that takes work */
static uint64_t conns, lives;

static void connect_soon(int b);

int64_t wire_delay(void)
{
	if (healing)
		return 1 * MS;
	return (int64_t)(1 + rnd(swarm.slow_wire && chance(50) ? 3000 : 20)) * MS;
}

/* One direction of a connection keeps its order; a broken one delivers nothing. */
static int64_t up_clear[SEATS];

static int64_t ordered(int64_t *clear)
{
	int64_t at = now_us + wire_delay();

	if (at < *clear)
		at = *clear;
	if (at < threads_stand_until())
		at = threads_stand_until();
	*clear = at;
	return at - now_us;
}

static void arrive(void *a, uint64_t b)
{
	struct up *u = a;

	(void)b;
	if (server_up() && threads_stand_until() > now_us) { /* it waits in the socket */
		later_owned(threads_stand_until() - now_us, arrive, u);
		return;
	}
	bool kept = u->kind >= 5;
	const struct machine *m = &machines[u->broker];
	if ((kept ? m->kept_conn : m->conn) == u->conn && server_up()) {
		if (kept)
			worker_kept(u->broker, u->conn, u->sent_us, u->kind == 5, u->held, u->n);
		else if (u->kind == 0)
			worker_hello(u->broker, u->conn, u->greeter, u->held, u->n);
		else if (u->kind == 1)
			worker_credit(u->broker, u->conn, u->limit);
		else if (u->kind == 2)
			worker_beat(u->broker, u->conn, u->sent_us, u->held, u->n);
		else if (u->kind == 4)
			worker_close(u->broker, u->conn);
		else
			worker_report(u->broker, u->conn, &u->report);
	}
	free(u);
}

struct up *up_new(int b, int kind)
{
	struct up *u = calloc(1, sizeof *u);

	CHECK(u);
	u->broker = b;
	u->conn = kind >= 5 ? machines[b].kept_conn : machines[b].conn;
	u->kind = kind;
	u->sent_us = now_us;
	return u;
}

void up_send(struct up *u)
{
	int seat = u->kind >= 5 ? MACHINES + u->broker : u->broker;

	later_owned(ordered(&up_clear[seat]), arrive, u);
}

static void list_held(int b, struct up *u)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (machines[b].jobs[i].state != J_FREE)
			u->held[u->n++] = machines[b].jobs[i].token;
}

static void send_credit(int b)
{
	struct machine *m = &machines[b];
	size_t held = 0;

	if (m->retired && !m->closed) {
		m->closed = true;
		m->closed_us = now_us;
		up_send(up_new(b, 4));
	}
	if (m->leaving || m->retired || m->heir)
		return;
	struct up *u = up_new(b, 1);

	for (int i = 0; i < JOBS_MAX; i++)
		held += m->jobs[i].state == J_RUNNING;
	uint64_t limit = m->done + (held < SLOTS ? SLOTS - held : 0);
	if (limit > m->limit)
		m->limit = limit;
	u->limit = m->limit;
	up_send(u);
}

static void report(int b, struct job *j, struct report r)
{
	struct up *u = up_new(b, 3);

	r.token = j->token;
	u->report = r;
	up_send(u);
}

struct job *machine_find(int b, uint64_t token)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (machines[b].jobs[i].state != J_FREE && machines[b].jobs[i].token == token)
			return &machines[b].jobs[i];
	return NULL;
}

static void end_job(int b, struct job *j, int end, int exit_code, int reason)
{
	if (j->state != J_RUNNING)
		return;
	check_end(j->token, j->key, end == AE_OK ? 0 : exit_code ? exit_code : 1);
	j->state = J_ENDED;
	j->end = (struct report){
		.seq = ++j->seq,
		.end = end,
		.exit_code = exit_code,
		.reason = reason,
		.branch = end == AE_OK ? branch_choose(j->token, j->key) : 0,
		.wait_us = end == AE_NOT_YET ? (int64_t)rnd(3000) * MS : 0,
	};
	if (machines[b].conn && machines[b].thaws_us <= now_us)
		report(b, j, j->end);
}

/* What runs inside a frozen loader stands still with it. (Its fence is not waited for: whoever
 * thaws looks at it before anything else.) */
static bool stands_with_loader(int b, struct job *j, void (*end)(void *a, uint64_t life))
{
	int64_t thaws_us = machines[b].thaws_us;

	if (!j->in_process || thaws_us <= now_us)
		return false;
	later(thaws_us - now_us, end, j, j->life);
	return true;
}

static void natural_end(void *a, uint64_t life)
{
	struct job *j = a;
	int b = (int)(((char *)a - (char *)machines) / (long)sizeof machines[0]);
	uint32_t draw = rnd(100);

	if (j->life != life || j->state != J_RUNNING || stands_with_loader(b, j, natural_end))
		return;
	if (!healing && swarm.fatal && chance(swarm.fatal))
		draw = 99;
	if (swarm.looks && !healing && chance(400))
		end_job(b, j, AE_NOT_YET, 0, 0);
	else if (draw < 82 || healing)
		end_job(b, j, AE_OK, 0, 0);
	else if (draw < 96)
		end_job(b, j, AE_FAILED, 1, RE_EXIT);
	else
		end_job(b, j, AE_FATAL, 2, RE_FATAL);
}

static void killed_end(void *a, uint64_t life)
{
	struct job *j = a;
	int b = (int)(((char *)a - (char *)machines) / (long)sizeof machines[0]);

	if (j->life == life && !stands_with_loader(b, j, killed_end))
		end_job(b, j, AE_FAILED, -9, RE_SIGNAL);
}

static void fenced_end(void *a, uint64_t life)
{
	struct job *j = a;
	int b = (int)(((char *)a - (char *)machines) / (long)sizeof machines[0]);

	if (j->life == life)
		end_job(b, j, AE_INFRA, -9, RE_FENCED);
}

/* The fence: from the send time of the last acknowledged beat. */
static void look_at_fence(void *a, uint64_t life)
{
	struct job *j = a;

	if (j->life != life || j->state != J_RUNNING)
		return;
	if (j->deadline_us <= now_us) {
		later(rnd(KILL_US), fenced_end, j, life);
		return;
	}
	later(j->deadline_us - now_us, look_at_fence, j, life);
}

/* No keeper knows of it: forgotten with the loader. */
static void send_back(int b, struct job *j, int end, int reason)
{
	j->state = J_ENDED;
	j->in_process = true;
	j->end = (struct report){ .seq = ++j->seq, .end = end, .reason = reason };
	report(b, j, j->end);
}

static void no_start(void *a, uint64_t life)
{
	struct job *j = a;
	int b = (int)(((char *)a - (char *)machines) / (long)sizeof machines[0]);

	if (j->life == life && j->state == J_RUNNING)
		send_back(b, j, AE_RETURN, RE_NOSTART);
}

void broker_job(int b, uint64_t conn, uint64_t token, struct inst_key key)
{
	struct machine *m = &machines[b];
	int64_t proof_us = m->proof_us;
	struct job *j = NULL;

	if (m->conn != conn)
		return;
	m->done++; /* every job received counts, also one that is held already */
	if (machine_find(b, token))
		return;
	for (int i = 0; i < JOBS_MAX && !j; i++)
		if (m->jobs[i].state == J_FREE)
			j = &m->jobs[i];
	CHECK(j);
	if (swarm.keepers && m->kept_proof_us < proof_us)
		proof_us = m->kept_proof_us;
	*j = (struct job){ .state = J_RUNNING,
		           .token = token,
		           .key = key,
		           .life = ++lives,
		           .in_process = chance(300),
		           .deaf = chance(100),
		           .entered_us = now_us,
		           .deadline_us = proof_us + FENCE_US };
	/* The grant may have been long on its way: what was proven before it counts, for the
	 * answer to a later beat would have come after it. */
	if (liar_had(b, token) || j->deadline_us <= now_us || (!healing && chance(30))) {
		send_back(b, j, AE_RETURN, RE_REJECT);
		return;
	}
	if (m->leaving || m->retired) {
		send_back(b, j, AE_BACK, RE_STOPPING);
		return;
	}
	if (m->sick) {
		later((int64_t)rnd(50) * MS, no_start, j, j->life);
		return;
	}
	check_start(token, key);
	report(b, j, (struct report){ .seq = ++j->seq, .end = -1 });
	enum lie lie = liar_takes(b);
	if (lie == LIE_DONE)
		end_job(b, j, AE_OK, 0, 0);
	uint32_t long_ones = scenario == SC_VERSIONS || swarm.keepers ? 500 : 100; /* per mille */
	int64_t runs = (int64_t)rnd(chance(long_ones) ? 40000 : 3000) * MS;
	if (lie != LIE_NEVER)
		later(healing ? 50 * MS : runs, natural_end, j, j->life);
	later(j->deadline_us - now_us, look_at_fence, j, j->life);
}

void broker_kill(int b, uint64_t conn, uint64_t token)
{
	struct job *j = machine_find(b, token);

	if (machines[b].conn != conn || !j || j->state != J_RUNNING)
		return;
	report(b, j, (struct report){ .seq = ++j->seq, .end = -2 });
	machine_kill(j);
}

void machine_kill(struct job *j)
{
	if (j->killing)
		return;
	j->killing = true;
	later(j->deaf ? (int64_t)rnd(swarm.keepers ? 60000 : 8000) * MS : (int64_t)rnd(150) * MS,
	      killed_end, j, j->life);
}

void broker_ack(int b, uint64_t conn, uint64_t token, uint32_t seq, int code)
{
	struct job *j = machine_find(b, token);

	if (machines[b].conn != conn || !j || j->state != J_ENDED || seq != j->end.seq)
		return;
	check_acked(token, code);
	liar_acked(b, token, code);
	machines[b].old = j->end;
	machines[b].old.token = token;
	j->state = J_FREE;
	j->life = 0;
	send_credit(b);
}

/* A former version's loader that has nothing left, and gets nothing any more. */
static void look_for_end(int b, int64_t sent_us)
{
	struct machine *m = &machines[b];

	if (!m->retired)
		return;
	if (!m->closed || sent_us <= m->closed_us)
		return;
	for (int i = 0; i < JOBS_MAX; i++)
		if (m->jobs[i].state != J_FREE)
			return;
	note("broker %d: lane %u is over", b % BROKERS, m->lane);
	if (server_up())
		worker_gone(b, m->conn);
	m->conn = 0;
	m->exists = m->loader_up = false;
	up_clear[b] = 0;
}

void broker_beat_ack(int b, uint64_t conn, int64_t sent_us, const uint64_t *unknown, size_t n)
{
	struct machine *m = &machines[b];

	if (m->conn != conn)
		return;
	m->proof_us = sent_us;
	/* A beat from before the job came did not list it: it proves nothing of its lease. */
	for (int i = 0; i < JOBS_MAX; i++)
		if (m->jobs[i].state == J_RUNNING && (m->jobs[i].in_process || !swarm.keepers) &&
		    sent_us > m->jobs[i].entered_us && m->jobs[i].deadline_us < sent_us + FENCE_US)
			m->jobs[i].deadline_us = sent_us + FENCE_US;
	for (size_t i = 0; i < n; i++) {
		struct job *j = machine_find(b, unknown[i]);
		if (j && j->state == J_RUNNING && !j->killing) {
			j->killing = true;
			later(rnd(200) * MS, killed_end, j, j->life);
		}
	}
	look_for_end(b, sent_us);
	gray_heir_looks(b);
}

static void beat(void *a, uint64_t conn)
{
	int b = (int)((struct machine *)a - machines);

	if (machines[b].conn != conn || !conn)
		return;
	if (machines[b].thaws_us > now_us) {
		later(machines[b].thaws_us - now_us, beat, a, conn);
		return;
	}
	struct up *u = up_new(b, 2);
	list_held(b, u);
	gray_lies(&machines[b], u);
	up_send(u);
	gray_lies_of_ends(&machines[b]);
	/* Reports are repeated until they are acknowledged. */
	for (int i = 0; i < JOBS_MAX; i++)
		if (machines[b].jobs[i].state == J_ENDED)
			report(b, &machines[b].jobs[i], machines[b].jobs[i].end);
	if (swarm.replays && machines[b].old.token && chance(50)) {
		struct up *again = up_new(b, 3);
		again->report = machines[b].old;
		up_send(again);
	}
	send_credit(b);
	later(healing ? 3 * BEAT_US : BEAT_US, beat, a, conn);
}

static void do_connect(void *a, uint64_t unused)
{
	int b = (int)((struct machine *)a - machines);
	struct machine *m = &machines[b];

	(void)unused;
	if (!m->loader_up || m->conn)
		return;
	if (!server_up() || m->thaws_us > now_us || m->away_us > now_us) {
		connect_soon(b);
		return;
	}
	m->conn = ++conns;
	m->done = m->limit = 0;
	m->closed = false;
	m->proof_us = now_us;
	struct up *u = up_new(b, 0);
	u->greeter = (struct greeter){ m->incarnation, m->lane,
		                       machines[(b + BROKERS) % LOADERS].exists };
	list_held(b, u);
	gray_lies(m, u);
	up_send(u);
	gray_lies_of_ends(m);
	send_credit(b);
	for (int i = 0; i < JOBS_MAX; i++)
		if (m->jobs[i].state == J_ENDED)
			report(b, &m->jobs[i], m->jobs[i].end);
	later(BEAT_US, beat, m, m->conn);
}

static void connect_soon(int b)
{
	later((int64_t)(5 + rnd(healing || swarm.brisk ? 10 : 300)) * MS, do_connect, &machines[b],
	      0);
}

void machine_connect_soon(int b)
{
	connect_soon(b);
}

uint64_t machine_conn_new(void)
{
	return ++conns;
}

void broker_cut(int b)
{
	uint64_t conn = machines[b].conn;

	if (!conn)
		return;
	note("broker %d: connection cut", b);
	check_trouble();
	machines[b].conn = 0;
	up_clear[b] = 0;
	if (server_up())
		worker_gone(b, conn);
	connect_soon(b);
}

void broker_server_lost(void)
{
	for (int b = 0; b < MACHINES; b++) {
		if (machines[b].conn) {
			machines[b].conn = 0;
			connect_soon(b);
		}
		if (machines[b].kept_conn) {
			machines[b].kept_conn = 0;
			gray_connect_soon(b);
		}
	}
}

static void loader_back(void *a, uint64_t b)
{
	struct machine *m = a;

	(void)b;
	if (!m->exists || m->loader_up || m->quarantined)
		return;
	machine_loader_back((int)(m - machines), false);
}

void machine_loader_back(int b, bool heir)
{
	struct machine *m = &machines[b];

	m->loader_up = true;
	m->leaving = false;
	m->heir = heir;
	m->incarnation++;
	connect_soon(b);
}

void broker_loader_crash(int b)
{
	struct machine *m = &machines[b];

	if (!m->loader_up)
		return;
	note("broker %d: loader crash", b);
	check_trouble();
	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *j = &m->jobs[i];
		if (j->state == J_FREE || !j->in_process)
			continue;
		if (j->state == J_RUNNING)
			check_end(j->token, j->key, -9);
		j->state = J_FREE;
		j->life = 0;
	}
	broker_cut(b);
	m->loader_up = false;
	m->thaws_us = 0;
	m->down_us = now_us;
	if (gray_loader_down(b))
		return;
	later((int64_t)rnd(swarm.brisk ? 30 : 1000) * MS, loader_back, m, 0);
}

static void loader_leaves(void *a, uint64_t incarnation)
{
	struct machine *m = a;

	if (m->leaving && m->incarnation == incarnation)
		broker_loader_crash((int)(m - machines));
}

static bool is_busy(const struct machine *m)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (m->jobs[i].state == J_RUNNING)
			return true;
	return false;
}

/* The next version's loader is ready; the former one is told to end when its jobs have. */
void broker_switch(int b)
{
	struct machine *m = &machines[current[b]];
	int next = (current[b] + BROKERS) % LOADERS;

	if (!m->loader_up || m->leaving || machines[next].exists || (!is_busy(m) && chance(800)))
		return;
	note("broker %d: lane %u follows lane %u", b, lanes[b] + 1, m->lane);
	uint32_t incarnation = machines[next].incarnation + 1;
	memset(&machines[next], 0, sizeof machines[next]);
	machines[next].exists = machines[next].loader_up = true;
	machines[next].incarnation = incarnation;
	machines[next].lane = ++lanes[b];
	connect_soon(next);
	m->retired = true;
	current[b] = next;
	if (m->conn)
		send_credit(b == current[b] ? b + BROKERS : b);
}

int broker_place(int b)
{
	return swarm.switches && machines[b + BROKERS].exists && chance(500) ? b + BROKERS : b;
}

/* Told to end: what runs in it has a while yet, what comes is sent back. */
void broker_loader_stop(int b)
{
	struct machine *m = &machines[b];

	if (!m->loader_up || m->leaving)
		return;
	note("broker %d: loader stops", b);
	m->leaving = true;
	later((int64_t)rnd(3000) * MS, loader_leaves, m, m->incarnation);
}

/* Power off: all die; the keeper's journal still knows what it had started. */
void broker_machine_crash(int b)
{
	struct machine *m = &machines[b];

	note("broker %d: machine crash", b);
	broker_loader_crash(b);
	for (int i = 0; i < JOBS_MAX; i++)
		if (m->jobs[i].state == J_RUNNING)
			end_job(b, &m->jobs[i], AE_INFRA, -1, RE_LOST);
	if (b < BROKERS && machines[b + BROKERS].exists)
		broker_machine_crash(b + BROKERS);
}

void brokers_reset(void)
{
	memset(machines, 0, sizeof machines);
	memset(up_clear, 0, sizeof up_clear);
	healing = false;
	conns = lives = 0;
	names_reset();
	for (int b = 0; b < BROKERS; b++) {
		machines[b].exists = true;
		lanes[b] = 0;
		current[b] = b;
		machines[b].loader_up = true;
		machines[b].incarnation = 1;
		connect_soon(b);
		if (swarm.keepers)
			gray_connect_soon(b);
	}
}

bool broker_has_room(int b)
{
	const struct machine *m = &machines[current[b]];
	int n = 0;

	if (!m->conn || m->leaving || m->retired || m->heir || m->sick || m->thaws_us > now_us)
		return false;
	for (int i = 0; i < JOBS_MAX; i++)
		n += m->jobs[i].state != J_FREE;
	return n < SLOTS;
}

void brokers_heal(void)
{
	healing = true;
	gray_act_ends();
	for (int b = 0; b < MACHINES; b++)
		for (int i = 0; i < JOBS_MAX; i++) {
			struct job *j = &machines[b].jobs[i];
			if (j->state == J_RUNNING)
				later(100 * MS, natural_end, j, j->life);
		}
}
