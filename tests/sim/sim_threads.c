/* Where the actors run: all on one thread, or one each, stepped in an order and with delays
 * that come from the seed: so one actor may act on old news while another is behind. */
#include <stdlib.h>

#include "rt/actor.h"
#include "rt/thread.h"
#include "sim.h"

enum { STEPS_AT_ONCE = 2000000 };

static const char *const names[PLACES] = {
	"sim-ledger",   "sim-resolver", "sim-sorter", "sim-plan",
	"sim-maintain", "sim-command",  "sim-worker", "sim-store"
};

static struct place {
	struct thread *th;
	int64_t from_us; /* the world's time of its next step */
	bool waits;      /* from_us is drawn */
	int64_t idle_us; /* the last time that it had nothing to do */
} places[PLACES];
static size_t n_places;
static int64_t stand_us, rested_us;

void threads_new(void)
{
	n_places = swarm.apart ? PLACES : 1;
	stand_us = 0;
	rested_us = now_us;
	for (size_t i = 0; i < n_places; i++)
		places[i] = (struct place){ .th = thread_new(names[i], &sim_clock) };
}

void threads_stand(int64_t us)
{
	if (stand_us < now_us + us) /* never shorter: what waits in the sockets keeps its order */
		stand_us = now_us + us;
}

int64_t threads_stand_until(void)
{
	return stand_us;
}

struct thread *thread_of(enum place_of who)
{
	return places[n_places == 1 ? 0 : who].th;
}

int threads_start(struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n_places && r == 0; i++)
		r = thread_sim_start(places[i].th, err);
	return r;
}

/* Behind, it takes all that has come meanwhile at once. */
static bool is_late(const struct place *p)
{
	return swarm.late_us && n_places > 1 && p == &places[swarm.late];
}

static int64_t lag(const struct place *p)
{
	if (n_places == 1 || healing)
		return 0;
	if (is_late(p))
		return (int64_t)rnd((uint32_t)swarm.late_us);
	if (!chance(swarm.lag_per_mille))
		return 0;
	return (int64_t)rnd((uint32_t)swarm.lag_us);
}

static bool may_step(struct place *p)
{
	if (stand_us > now_us || !thread_sim_busy(p->th))
		return false;
	if (!p->waits) {
		p->waits = true;
		p->from_us = now_us + lag(p);
	}
	return p->from_us <= now_us || healing;
}

static bool is_busy(void)
{
	bool busy = stand_us > now_us;

	for (size_t i = 0; i < n_places; i++)
		busy = busy || thread_sim_busy(places[i].th);
	return busy;
}

int64_t threads_rested_us(void)
{
	return rested_us;
}

int64_t threads_idle_us(enum place_of who)
{
	return places[n_places == 1 ? 0 : who].idle_us;
}

static void note_idle(void)
{
	for (size_t i = 0; i < n_places; i++)
		if (!thread_sim_busy(places[i].th))
			places[i].idle_us = now_us;
}

void threads_run(const bool *stop)
{
	for (int64_t steps = 0; !*stop; steps++) {
		struct place *may[PLACES];
		uint32_t n = 0;
		for (size_t i = 0; i < n_places; i++)
			if (may_step(&places[i]))
				may[n++] = &places[i];
		if (n == 0) {
			rested_us = is_busy() ? rested_us : now_us;
			note_idle();
			return;
		}
		struct place *p = may[n == 1 ? 0 : rnd(n)];
		p->waits = false;
		bool one = n_places > 1 && !chance(300) && !is_late(p);
		thread_sim_step(p->th, one ? 1 : SIZE_MAX);
		if (steps == STEPS_AT_ONCE) {
			break_invariant("I17", "the threads never come to rest");
			return;
		}
	}
}

int64_t threads_next_us(void)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < n_places; i++) {
		int64_t at = thread_sim_next_us(places[i].th);
		if (at != ALARM_OFF)
			at--; /* the actors' clock is one ahead of the world's: see mono() */
		if (thread_sim_busy(places[i].th))
			at = places[i].waits ? places[i].from_us : now_us;
		if (at < least)
			least = at;
	}
	return least < stand_us ? stand_us : least;
}

void threads_stop(void)
{
	for (size_t i = n_places; i-- > 0;)
		thread_stop(places[i].th);
}

void threads_free(void)
{
	for (size_t i = 0; i < n_places; i++)
		thread_free(places[i].th);
	n_places = 0;
}
