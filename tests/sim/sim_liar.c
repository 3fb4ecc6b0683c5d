/* A broker that lies (scenario `liars`): one of three, with a key and work of its own. It lists
 * jobs that it does not hold, reports their starts and ends, names tokens of nobody, greets with
 * the number of another's machine, tells an end of its own a second time with another verdict, and
 * does not end some of what it has. It obeys its fence: a machine that does not is for people.
 *
 * What it says of others' leases must change nothing, which the other invariants show. I30: who
 * spoke of others' three times within the hour has no session for a minute, and nobody else is
 * counted. What it was given is bounded by its lease once it is out; after healing its machine is
 * set up anew, and all of it must get done. */
#include <stdlib.h>
#include <string.h>

#include "sched/attempt.h"
#include "sim.h"
#include "sim_broker.h"

enum { LIAR = BROKERS - 1, STRIKES = 3, REFUSED = 64 };
#define OUT_US (60 * SEC)

static int alias;           /* whose machine number it greets with: a place */
static uint32_t strikes;    /* the world's own count ... */
static int64_t cut_us;      /* ... and when that was three; 0: never with this server */
static uint64_t last_token; /* of an end that was acknowledged */
static uint64_t refused[REFUSED];
static uint32_t n_refused;

void liar_reset(void)
{
	alias = LIAR;
	liar_restarted();
	last_token = 0;
	memset(refused, 0, sizeof refused);
}

/* Strikes are in memory only. */
void liar_restarted(void)
{
	strikes = 0;
	cut_us = 0;
}

static bool is_liar(int place)
{
	return swarm.liar && place == LIAR && !healing;
}

bool liar_has(uint32_t broker)
{
	return swarm.liar && broker == LIAR + 1;
}

int liar_number(int place)
{
	return is_liar(place) ? alias : place;
}

/* --- lies -------------------------------------------------------------------------------- */

/* With another's number it speaks of what that one has: nobody counts it. */
static int aim(void)
{
	return alias != LIAR ? alias : (int)rnd(LIAR);
}

/* A job of another's that runs; NULL: by luck. */
static const struct job *aim_job(void)
{
	const struct job *j = &machines[aim()].jobs[rnd(JOBS_MAX)];

	for (int i = 0; i < JOBS_MAX && j->state != J_RUNNING; i++)
		j = &machines[aim()].jobs[i];
	return j->state == J_RUNNING ? j : NULL;
}

/* Of the next server's: one of its own that is on the way would be true by then. */
static uint64_t guess(uint64_t token)
{
	return token + (UINT64_C(1) << 40) + rnd(5);
}

void liar_lists(int place, struct up *u)
{
	if (!is_liar(place) || !chance(alias != LIAR ? 500 : 30))
		return;
	const struct machine *m = &machines[aim()];

	for (int i = 0; i < JOBS_MAX && u->n < JOBS_MAX; i++)
		if (m->jobs[i].state == J_RUNNING)
			u->held[u->n++] = m->jobs[i].token;
	if (u->n && chance(300))
		u->held[u->n] = guess(u->held[u->n - 1]), u->n++;
}

static void say_of(uint64_t token, const struct report *r)
{
	struct up *u = up_new(LIAR, 3);

	u->report = *r;
	u->report.token = token;
	up_send(u);
}

static struct report lie_draw(void)
{
	static const struct report lies[] = {
		{ .end = AE_OK },
		{ .end = AE_FAILED, .exit_code = 1, .reason = RE_EXIT },
		{ .end = AE_FATAL, .exit_code = 2, .reason = RE_FATAL },
		{ .end = AE_INFRA, .reason = RE_LOST },
		{ .end = AE_BACK, .reason = RE_STOPPING },
		{ .end = AE_RETURN, .reason = RE_REJECT },
		{ .end = -1 },
		{ .end = -2 },
		{ .end = -3 },
	};
	struct report r = lies[rnd(sizeof lies / sizeof lies[0])];

	r.seq = 1 + rnd(4);
	return r;
}

void liar_reports(int place)
{
	if (!is_liar(place))
		return;
	const struct job *j = chance(alias != LIAR ? 500 : 20) ? aim_job() : NULL;
	struct report r = lie_draw();

	if (j)
		say_of(chance(200) ? guess(j->token) : j->token, &r);
	if (last_token && chance(200)) {
		r = lie_draw();
		say_of(last_token, &r);
	}
}

/* Its own, over and acknowledged: it tells other ends of it later. Refused, for it had another
 * number meanwhile: sent to it again, it does not run again. */
void liar_acked(int place, uint64_t token, int code)
{
	if (is_liar(place) && code == 0)
		last_token = token;
	else if (is_liar(place))
		refused[n_refused++ % REFUSED] = token;
}

bool liar_had(int place, uint64_t token)
{
	for (int i = 0; swarm.liar && place == LIAR && i < REFUSED; i++)
		if (refused[i] == token)
			return true;
	return false;
}

/* What it is given: some it says is done at once, some it never ends. */
enum lie liar_takes(int place)
{
	if (!is_liar(place) || chance(400))
		return LIE_NONE;
	return chance(500) ? LIE_DONE : LIE_NEVER;
}

/* It comes again with another number, or its own. */
void liar_acts(void)
{
	if (!is_liar(LIAR) || !chance(200))
		return;
	alias = chance(400) ? LIAR : (int)rnd(LIAR);
	note("the liar greets as machine %d", alias);
	check_trouble();
	broker_cut(LIAR);
}

/* People find out, and set its machine up anew. */
void liar_ends(void)
{
	if (!swarm.liar)
		return;
	note("the liar is honest from now on");
	broker_machine_crash(LIAR);
}

/* --- I30 ----------------------------------------------------------------------------------- */

/* A forgery was counted against a name; `cut`: it is out by the registrar's word. */
void liar_counted(int name, bool cut)
{
	if (name != LIAR)
		break_invariant("I30", "b%d is honest and was counted as a liar", name);
	strikes++;
	note("the liar is found out, %u", strikes);
	if (cut != (strikes >= STRIKES))
		break_invariant("I30", "the liar spoke of others' leases %u times and is %s",
		                strikes, cut ? "out" : "not out");
	if (!cut)
		return;
	check_trouble();
	strikes = 0;
	cut_us = now_us;
}

void liar_admitted(int name)
{
	if (name == LIAR && cut_us && now_us - cut_us < OUT_US)
		break_invariant("I30", "the liar is let in %d ms after it was put out",
		                (int)((now_us - cut_us) / MS));
}
