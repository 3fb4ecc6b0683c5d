/* sim — one seed: chaos, heal, liveness. `sim --seed N [--seeds K] [--steps S] [--verbose]` */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "store/mem.h"
#include "util/err.h"
#include "util/log.h"


/* Each seed has its own kinds of bad luck (swarm testing). */
struct swarm {
	bool cuts, loader_crashes, machine_crashes, server_crashes, store_faults, operators;
};

static void misfortune(const struct swarm *s)
{
	int b = (int)rnd(BROKERS);

	switch (rnd(12)) {
	case 0:
		if (s->cuts)
			broker_cut(b);
		break;
	case 1:
		if (s->loader_crashes)
			broker_loader_crash(b);
		break;
	case 2:
		if (s->machine_crashes && chance(300))
			broker_machine_crash(b);
		break;
	case 3:
		if (s->server_crashes && chance(400))
			server_crash();
		break;
	case 4:
		if (s->store_faults && server_up())
			store_mem_fail(server_store(), rnd(5), 1 + rnd(4),
			               chance(500) ? E_BUSY : E_AGAIN,
			               chance(500) ? STORE_FAULT_AFTER : STORE_FAULT_BEFORE);
		break;
	default:
		if (s->operators)
			server_operator();
	}
}

static void luck_runs_out(void *a, uint64_t b)
{
	if (healing)
		return;
	misfortune(a);
	later((int64_t)(1 + rnd(1500)) * MS, luck_runs_out, a, b);
}

static bool run_seed(uint64_t seed, uint64_t counts[ST_COUNT][EV_COUNT])
{
	struct swarm swarm;

	world_reset(seed);
	swarm = (struct swarm){ chance(600), chance(600), chance(400), chance(600), chance(500),
		                chance(700) };
	brokers_reset();
	server_start();
	later(2 * SEC, luck_runs_out, &swarm, 0);
	for (int64_t i = 0; i < opt.steps && !broken && now_us < 20 * MINUTE; i++)
		if (!world_step())
			break;
	/* Heal: no faults any more; then all that is due must get done. */
	brokers_heal();
	if (server_up())
		store_mem_fail(server_store(), 0, 0, 0, STORE_FAULT_BEFORE);
	note("healing");
	int64_t until = now_us + 60 * MINUTE;
	for (int64_t i = 0; !broken && now_us < until; i++) {
		if (!world_step())
			break;
		if (i % 2000 == 0)
			server_operators_done();
		if (now_us > 25 * MINUTE && i % 500 == 0 && server_up() && check_unfinished(false) == 0)
			break;
	}
	if (!broken && !server_up())
		break_invariant("I17", "the server never came back");
	if (!broken) {
		check_quiet(true);
		check_store(server_store());
	}
	check_coverage(counts);
	if (broken)
		printf("seed %" PRIu64 ": %s\n", seed, broken);
	bool good = !broken;
	server_end();
	return good;
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
	static uint64_t counts[ST_COUNT][EV_COUNT];
	uint64_t seeds = 1, bad = 0;

	log_open("sim", LOG_ERROR);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			opt.seed = number(argv[++i]);
		else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
			seeds = number(argv[++i]);
		else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
			opt.steps = (int64_t)number(argv[++i]);
		else if (strcmp(argv[i], "--verbose") == 0)
			opt.verbose = true;
		else
			return fprintf(stderr, "usage: sim [--seed N] [--seeds K] [--steps S] [--verbose]\n"),
			       2;
	}
	if (opt.verbose)
		log_level_set(LOG_DEBUG);
	for (uint64_t s = opt.seed; s < opt.seed + seeds && bad < 5; s++)
		bad += !run_seed(s, counts);
	for (int s = 0; s < ST_COUNT && seeds > 50; s++)
		for (int e = 1; e < EV_COUNT; e++)
			if (s && fsm_next((enum state)s, (enum event)e) != ST_NONE && !counts[s][e] &&
			    fsm_next((enum state)s, (enum event)e) != (enum state)s)
				printf("# never seen: %s %s\n", state_name((enum state)s),
				       event_name((enum event)e));
	printf("sim: %" PRIu64 " seeds, %" PRIu64 " broken\n", seeds, bad);
	return bad ? 1 : 0;
}
