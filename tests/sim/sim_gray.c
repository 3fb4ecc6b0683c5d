/* What looks well from one side: a loader that is frozen while its taskbroker beats on, or not
 * begun again while the keeper holds its jobs; a second machine with a name; a sick machine. */
#include "sched/attempt.h"
#include "sim.h"
#include "sim_broker.h"

/* --- the taskbroker's own session: it names what the keeper holds --------------------------- */

bool machine_holds(const struct machine *m, bool kept)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (m->jobs[i].state != J_FREE && (!kept || !m->jobs[i].in_process))
			return true;
	return false;
}

/* Nobody reports its jobs, or carries out their kills: their leases run out. */
static bool is_unserved(const struct machine *m)
{
	return !m->loader_up && now_us - m->down_us > UNSERVED_US;
}

/* A clone of a disk, or anybody who guesses tokens: what runs on the first machine is named as its
 * own, or told as lost. Both are of the same name. */
void gray_lies(const struct machine *m, struct up *u)
{
	const struct machine *first = &machines[(m - machines) % BROKERS];

	for (int i = 0; m->lies && i < JOBS_MAX; i++)
		if (first->jobs[i].state == J_RUNNING)
			u->held[u->n++] = first->jobs[i].token;
	liar_lists((int)(m - machines), u);
}

void gray_lies_of_ends(const struct machine *m)
{
	const struct machine *first = &machines[(m - machines) % BROKERS];

	for (int i = 0; m->lies && i < JOBS_MAX; i++) {
		if (first->jobs[i].state != J_RUNNING || chance(500))
			continue;
		struct up *u = up_new((int)(m - machines), 3);
		u->report = (struct report){
			.token = first->jobs[i].token, .seq = 1, .end = AE_INFRA, .reason = RE_LOST
		};
		up_send(u);
	}
	liar_reports((int)(m - machines));
}

static void list_kept(const struct machine *m, struct up *u)
{
	for (int i = 0; i < JOBS_MAX && !is_unserved(m); i++)
		if (m->jobs[i].state != J_FREE && !m->jobs[i].in_process)
			u->held[u->n++] = m->jobs[i].token;
	gray_lies(m, u);
}

static void say(int place, int kind)
{
	struct up *u = up_new(place, kind);

	list_kept(&machines[place], u);
	up_send(u);
}

static void kept_beat(void *a, uint64_t conn)
{
	struct machine *m = a;

	if (!conn || m->kept_conn != conn)
		return;
	say((int)(m - machines), 6);
	later(healing ? 3 * BEAT_US : BEAT_US, kept_beat, m, conn);
}

static void kept_connect(void *a, uint64_t b)
{
	struct machine *m = a;

	(void)b;
	if (m->kept_conn || !m->exists)
		return;
	if (!server_up() || m->away_us > now_us) {
		gray_connect_soon((int)(m - machines));
		return;
	}
	m->kept_conn = machine_conn_new();
	m->kept_proof_us = now_us;
	say((int)(m - machines), 5);
	later(BEAT_US, kept_beat, m, m->kept_conn);
}

void gray_connect_soon(int place)
{
	later((int64_t)(5 + rnd(healing ? 10 : 300)) * MS, kept_connect, &machines[place], 0);
}

/* The keeper's fence, from what the taskbroker has an answer to. */
void broker_kept_ack(int place, uint64_t conn, int64_t sent_us, const uint64_t *unknown, size_t n)
{
	struct machine *m = &machines[place];

	if (m->kept_conn != conn)
		return;
	m->kept_proof_us = sent_us;
	for (int i = 0; i < JOBS_MAX && !is_unserved(m); i++) {
		struct job *j = &m->jobs[i];
		if (j->state == J_RUNNING && !j->in_process && sent_us > j->entered_us &&
		    j->deadline_us < sent_us + FENCE_US)
			j->deadline_us = sent_us + FENCE_US;
	}
	for (size_t i = 0; i < n; i++) {
		struct job *j = machine_find(place, unknown[i]);
		if (j && j->state == J_RUNNING)
			machine_kill(j);
	}
}

static void kept_cut(int place)
{
	uint64_t conn = machines[place].kept_conn;

	machines[place].kept_conn = 0;
	if (conn && server_up())
		worker_gone(MACHINES + place, conn);
	if (conn)
		gray_connect_soon(place);
}

/* --- frozen ----------------------------------------------------------------------------------- */

int64_t broker_thaws_us(int place)
{
	return machines[place].thaws_us;
}

static void end_frozen(void *a, uint64_t incarnation)
{
	struct machine *m = a;

	if (m->incarnation == incarnation && m->thaws_us > now_us)
		broker_loader_crash((int)(m - machines));
}

/* It thaws soon, or not in this world's time: its taskbroker ends it. */
static void freeze(int place)
{
	struct machine *m = &machines[place];

	if (!m->loader_up || m->thaws_us > now_us)
		return;
	m->thaws_us = now_us + (chance(300) ? (int64_t)rnd(SILENT_US / MS) * MS : 60 * MINUTE);
	note("broker %d: its loader is frozen", place);
	check_trouble();
	later(SILENT_US + (int64_t)rnd(200) * MS, end_frozen, m, m->incarnation);
}

/* --- not begun again -------------------------------------------------------------------------- */

static void heir_begins(void *a, uint64_t unused)
{
	struct machine *m = a;

	(void)unused;
	if (!m->exists || m->loader_up || !m->quarantined || !machine_holds(m, true))
		return;
	note("broker %d: an heir begins", (int)(m - machines));
	machine_loader_back((int)(m - machines), true);
}

static void release(void *a, uint64_t unused)
{
	struct machine *m = a;

	(void)unused;
	if (!m->quarantined)
		return;
	note("broker %d: its type is released", (int)(m - machines));
	if (m->heir && m->loader_up)
		broker_loader_crash((int)(m - machines));
	m->quarantined = false;
	if (!m->loader_up)
		machine_loader_back((int)(m - machines), false);
}

bool gray_loader_down(int place)
{
	struct machine *m = &machines[place];

	if (!m->quarantined && (!swarm.quarantines || healing || chance(400)))
		return false;
	if (!m->quarantined) {
		note("broker %d: quarantined", place);
		later((int64_t)(5 + rnd(60)) * SEC, release, m, 0);
	}
	m->quarantined = true;
	if (chance(700)) /* else none can be started */
		later((int64_t)rnd(2000) * MS, heir_begins, m, 0);
	return true;
}

void gray_heir_looks(int place)
{
	struct machine *m = &machines[place];

	if (!m->heir || machine_holds(m, false))
		return;
	note("broker %d: its heir has nothing left", place);
	broker_loader_crash(place);
}

/* --- two machines with one name --------------------------------------------------------------- */

/* The server only hears nothing any more. */
static void seat_ends(void *a, uint64_t conn)
{
	int seat = (int)((struct machine *)a - machines);

	if (server_up()) {
		worker_gone(seat, conn);
		worker_gone(MACHINES + seat, conn);
	}
}

static void go_away(int place)
{
	struct machine *m = &machines[place];

	if (!m->exists || m->away_us > now_us)
		return;
	m->away_us = now_us + (int64_t)(100 + rnd(6000)) * MS;
	note("broker %d: cut off for %d ms", place, (int)((m->away_us - now_us) / MS));
	check_trouble();
	if (m->conn)
		later(LOSE_US, seat_ends, m, m->conn);
	if (m->kept_conn)
		later(LOSE_US, seat_ends, m, m->kept_conn);
	m->conn = m->kept_conn = 0;
	machine_connect_soon(place);
	gray_connect_soon(place);
}

static void twin_comes(int place)
{
	struct machine *m = &machines[place];
	uint32_t incarnation = m->incarnation + 1000;

	note("broker %d: a second machine has the name of %d", place, place % BROKERS);
	*m = (struct machine){ .exists = true, .loader_up = true, .incarnation = incarnation };
	m->lies = chance(500);
	machine_connect_soon(place);
	gray_connect_soon(place);
}

static void twin_goes(int place)
{
	struct machine *m = &machines[place];

	note("broker %d: the second machine is switched off", place);
	broker_machine_crash(place);
	kept_cut(place);
	m->exists = m->loader_up = false;
	for (int i = 0; i < JOBS_MAX; i++)
		m->jobs[i] = (struct job){ .state = J_FREE };
}

static void act_twins(int b)
{
	int twin = LOADERS + b;

	if (!machines[twin].exists)
		twin_comes(twin);
	else if (chance(100))
		twin_goes(twin);
	else
		go_away(chance(500) ? b : twin);
}

/* The server's end: this connection is over, and why was said. */
void broker_refused(int seat, uint64_t conn)
{
	int place = seat % MACHINES;
	struct machine *m = &machines[place];

	if (seat >= MACHINES && m->kept_conn == conn) {
		m->kept_conn = 0;
		gray_connect_soon(place);
	} else if (seat < MACHINES && m->conn == conn) {
		m->conn = 0;
		machine_connect_soon(place);
	}
}

/* --- sick ------------------------------------------------------------------------- */

static void mend(void *a, uint64_t unused)
{
	struct machine *m = a;

	(void)unused;
	m->sick = false;
	note("broker %d: is mended", (int)(m - machines));
}

static void fall_sick(int b)
{
	uint32_t n = 0;

	for (int k = 0; k < BROKERS; k++)
		n += machines[k].sick;
	if (machines[b].sick || n >= swarm.sick)
		return;
	note("broker %d: is sick", b);
	machines[b].sick = true;
	later((int64_t)(1 + rnd(120)) * SEC, mend, &machines[b], 0);
}

void gray_acts(int b)
{
	if (swarm.liar)
		liar_acts();
	else if (swarm.twins)
		act_twins(b);
	else if (swarm.sick)
		fall_sick(b);
	else if (swarm.freezes && chance(600))
		freeze(b);
	else if (chance(200))
		kept_cut(b);
	else
		broker_loader_crash(b);
}

void gray_act_ends(void)
{
	liar_ends();
	for (int b = 0; b < MACHINES; b++) {
		struct machine *m = &machines[b];
		if (b >= LOADERS && m->exists)
			twin_goes(b);
		m->away_us = 0;
		m->sick = false;
		release(m, 0);
	}
}
