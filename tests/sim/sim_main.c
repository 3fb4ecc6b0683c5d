/* sim — one seed: chaos, heal, liveness. `sim --seed N [--seeds K] [--steps S] [--verbose]` */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "sched/plan.h"
#include "sim.h"
#include "store/mem.h"
#include "util/err.h"
#include "util/log.h"

bool parts;
static bool all_parts, all_begins;

enum scenario scenario;

/* What a scenario has in place of what was drawn; all of them: threads that act on old news. */
static const struct swarm bent[] = {
	[SC_STALE] = { .hasty = 400, .edits = true },
	[SC_PASSES] = { .hasty = 150, .loader_crashes = true, .fatal = 300 },
	[SC_RESTARTS] = { .hasty = 400, .edits = true, .server_crashes = true },
	[SC_FORCES] = { .hasty = 400, .forces = true, .fatal = 400 },
	[SC_PARTS] = { .hasty = 300, .spreads = true, .loader_crashes = true },
	[SC_BACKFILLS] = { .commands = true, .backfills = true },
	[SC_SESSIONS] = { .hasty = 400,
	                  .brisk = true,
	                  .loader_crashes = true,
	                  .lag_us = 20 * MS,
	                  .late = AT_MAINTAIN,
	                  .late_us = 1500 * MS },
	[SC_VERSIONS] = { .switches = true,
	                  .server_crashes = true,
	                  .cuts = true,
	                  .slow_wire = true,
	                  .lag_us = 100 * MS },
	[SC_STANDS] = { .stands = true },
	[SC_RETURNS] = { .server_crashes = true, .long_downs = true },
	[SC_FROZEN] = { .keepers = true, .freezes = true, .cuts = true },
	[SC_QUARANTINES] = { .keepers = true, .quarantines = true, .cuts = true },
	[SC_TWINS] = { .keepers = true, .twins = true, .server_crashes = true, .lag_us = 20 * MS },
	[SC_SICK] = { .sick = BROKERS },
	[SC_LIARS] = { .liar = true,
	               .loader_crashes = true,
	               .server_crashes = true,
	               .hasty = 100,
	               .lag_us = 20 * MS },
	[SC_LOOKS] = { .looks = true,
	               .hasty = 100,
	               .commands = true,
	               .loader_crashes = true,
	               .server_crashes = true,
	               .cuts = true },
	[SC_NEIGHBOURS] = { .hasty = 150,
	                    .edits = true,
	                    .loader_crashes = true,
	                    .server_crashes = true,
	                    .cuts = true },
	[SC_MEMBERS] = { .hasty = 100,
	                 .edits = true,
	                 .commands = true,
	                 .backfills = true,
	                 .loader_crashes = true,
	                 .server_crashes = true,
	                 .cuts = true },
	[SC_SILENCES] = { .hasty = 400,
	                  .edits = true,
	                  .commands = true,
	                  .server_crashes = true,
	                  .long_downs = true },
};

static void bend(struct swarm *s)
{
	if (scenario == SC_NONE)
		return;
	struct swarm drawn = *s;
	*s = bent[scenario];
	s->rows_max = drawn.rows_max;
	s->flows = drawn.flows && scenario != SC_NEIGHBOURS; /* of one project */
	s->branches = drawn.branches && scenario != SC_NEIGHBOURS;
	s->begins = drawn.begins;
	s->writer = scenario == SC_SILENCES && drawn.writer;
	s->apart = true;
	s->operators = scenario != SC_SICK;
	if (scenario == SC_SICK && chance(500))
		s->sick = BROKERS - 1; /* one is well at any time */
	s->lag_per_mille = 320;
	s->lag_us = s->lag_us ? s->lag_us : 400 * MS;
	s->ring_slots = 1024;
	parts = parts || scenario == SC_PARTS;
}

static const size_t rings[] = { 256, 1024, 32768 };

static struct swarm draw_swarm(uint64_t seed)
{
	struct swarm s = { .apart = chance(750) };

	s.lag_per_mille = s.apart ? 20 + rnd(300) : 0;
	s.lag_us = (int64_t)(1 + rnd(chance(300) ? 400 : 20)) * MS;
	s.slow_wire = chance(500);
	s.replays = chance(500);
	s.cuts = chance(600);
	s.loader_crashes = chance(600);
	s.machine_crashes = chance(400);
	s.server_crashes = chance(600);
	s.store_faults = chance(500);
	s.operators = chance(800);
	s.hasty = !s.operators || chance(500) ? 0 : chance(500) ? 80 : 400;
	s.commands = s.operators && chance(600);
	s.edits = chance(500);
	s.wall_jumps = chance(150);
	s.takeovers = chance(200);
	s.long_downs = chance(200);
	s.ring_slots = rings[rnd(3)];
	s.writer = seed % 2 == 1; /* not drawn: the stories of the other seeds stay */
	s.standby = seed % 4 >= 2;
	s.rows_max = seed / 4 % 3 * 2;
	s.flows = all_parts || seed % 5 == 1 || seed % 5 == 4;
	s.branches = all_parts ? seed % 2 : seed % 5 >= 3;
	s.switches = seed % 3 == 0;
	s.begins = all_begins || seed % 8 >= 5; /* not drawn, as the writer */
	s.looks = seed % 7 == 3;                /* not drawn, as the writer */
	parts = all_parts || chance(250);
	bend(&s);
	return s;
}

static void fault(void)
{
	int code = chance(500) ? E_BUSY : chance(500) ? E_AGAIN : E_FULL;
	unsigned n = 1 + rnd(code == E_FULL ? 40 : 4);

	check_trouble();
	liveness_trouble(10 * SEC);
	if (chance(300)) {
		/* Each is tried again by late threads; who waits for rows holds up all. */
		liveness_trouble(10 * SEC + n * (500 * MS));
		store_mem_fail_reads(server_store(), rnd(5), n, code == E_FULL ? E_IO : code);
		return;
	}
	server_disk_fails();
	store_mem_fail(server_store(), rnd(5), n, code,
	               chance(500) ? STORE_FAULT_AFTER : STORE_FAULT_BEFORE);
}

static void deposed_must_be_gone(void *a, uint64_t epoch)
{
	(void)a;
	if (server_up() && ledger_epoch(server_ledger()) == epoch)
		break_invariant("I12", "epoch %u still leads after another took over",
		                (unsigned)epoch);
}

static void takeover(void)
{
	uint32_t was = ledger_epoch(server_ledger());

	server_takeover();
	later(2 * EPOCH_US + 40 * 100 * MS, deposed_must_be_gone, NULL, was);
}

/* A standby as standby.c is one: it looks at the lease and waits. */
static void watch(void *a, uint64_t b)
{
	uint32_t was = server_up() ? ledger_epoch(server_ledger()) : 0;

	if (healing)
		return;
	if (server_lawful_takeover())
		later(2 * EPOCH_US + 40 * 100 * MS, deposed_must_be_gone, NULL, was);
	later(LEAD_US / 8, watch, a, b);
}

static void jump(void)
{
	static const int64_t steps[] = { -60, -5, 0, 0, 5, 60 };

	wall_shift(steps[rnd(6)] * MINUTE);
}

static void go_down(void *a, uint64_t b)
{
	(void)a;
	(void)b;
	if (server_up() && !healing)
		server_crash();
}

static void misfortune(void)
{
	int b = (int)rnd(BROKERS);

	if (swarm.switches && chance(150)) {
		broker_switch(b);
		if (scenario == SC_VERSIONS && chance(500))
			later((int64_t)rnd(1000) * MS, go_down, NULL, 0);
		return;
	}
	if (swarm.stands && chance(300)) {
		server_stands((int64_t)(100 + rnd(2 * LOSE_US / MS)) * MS);
		return;
	}
	if ((swarm.keepers || swarm.sick || swarm.liar) && chance(300)) {
		gray_acts(b);
		return;
	}
	b = broker_place(b);

	if (scenario == SC_RESTARTS && chance(500)) {
		operator_acts();
		later((int64_t)rnd(300) * MS, go_down, NULL, 0);
		return;
	}
	if (swarm.brisk && chance(300)) {
		broker_loader_crash(b);
		return;
	}
	switch (rnd(14)) {
	case 0:
		return swarm.cuts ? broker_cut(b) : (void)0;
	case 1:
		if (swarm.loader_crashes && chance(500))
			return broker_loader_stop(b);
		return swarm.loader_crashes ? broker_loader_crash(b) : (void)0;
	case 2:
		return swarm.machine_crashes && chance(300) ? broker_machine_crash(b) : (void)0;
	case 3:
		return swarm.server_crashes && chance(400) ? server_crash() : (void)0;
	case 4:
		return swarm.store_faults && server_up() ? fault() : (void)0;
	case 5:
		return swarm.takeovers && server_up() && chance(200) ? takeover() : (void)0;
	case 6:
		return swarm.wall_jumps && chance(150) ? jump() : (void)0;
	default:
		return swarm.operators ? operator_acts() : (void)0;
	}
}

static void luck_runs_out(void *a, uint64_t b)
{
	if (healing)
		return;
	misfortune();
	later((int64_t)(1 + rnd(1500)) * MS, luck_runs_out, a, b);
}

static void chaos(void)
{
	brokers_reset();
	server_start();
	later(2 * SEC, luck_runs_out, NULL, 0);
	if (swarm.standby)
		later(2 * SEC, watch, NULL, 0);
	for (int64_t i = 0; i < opt.steps && !broken && now_us < PLANNED_US - MINUTE; i++) {
		if (!world_step())
			break;
		liveness_look();
	}
}

static bool all_done(void)
{
	bool gaps = false;

	for (uint32_t id = 1; id <= TASKS && !gaps; id++)
		gaps = check_first_gap(id) != PLAN_NEVER;
	return !gaps && check_unfinished(false) == 0 && commands_pending(false) == 0;
}

/* No faults any more; then all that is due must get done. */
static void heal(void)
{
	int64_t until = now_us + 90 * MINUTE;

	note("healing");
	brokers_heal();
	wall_shift(0);
	if (server_up())
		store_mem_fail(server_store(), 0, 0, 0, STORE_FAULT_BEFORE);
	if (server_up())
		store_mem_fail_reads(server_store(), 0, 0, 0);
	for (int64_t i = 0; !broken && now_us < until && world_step(); i++) {
		liveness_look();
		if (i % 1000 == 0)
			operator_mends();
		if (now_us > PLANNED_US + MINUTE && i % 500 == 0 && server_up() && all_done())
			break;
	}
	if (!broken && !server_up())
		break_invariant("I17", "the server never came back");
}

static bool run_seed(uint64_t seed, uint64_t *ret_hash, uint64_t counts[ST_COUNT][EV_COUNT])
{
	world_reset(seed);
	check_reset();
	swarm = draw_swarm(seed);
	tasks_make();
	chaos();
	if (!broken)
		heal();
	if (!broken)
		check_quiet(server_store());
	check_coverage(counts);
	if (broken)
		printf("seed %" PRIu64 ": %s\n", seed, broken);
	*ret_hash = check_hash();
	server_end();
	tasks_free();
	return !broken;
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

static enum scenario scenario_named(const char *name)
{
	static const char *const names[] = {
#define X(name, text, what) text,
		SCENARIOS(X)
#undef X
	};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(names[i], name) == 0)
			return (enum scenario)i;
	fprintf(stderr, "sim: no scenario '%s':", name);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		fprintf(stderr, " %s", names[i]);
	fputc('\n', stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static uint64_t counts[ST_COUNT][EV_COUNT];
	uint64_t seeds = 1, bad = 0, bad_max = 5, all = 0, hash;

	log_open("sim", LOG_ERROR);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			opt.seed = number(argv[++i]);
		else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
			seeds = number(argv[++i]);
		else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
			opt.steps = (int64_t)number(argv[++i]);
		else if (strcmp(argv[i], "--bad") == 0 && i + 1 < argc)
			bad_max = number(argv[++i]);
		else if (strcmp(argv[i], "--scenario") == 0 && i + 1 < argc)
			scenario = scenario_named(argv[++i]);
		else if (strcmp(argv[i], "--parts") == 0)
			all_parts = true;
		else if (strcmp(argv[i], "--begins") == 0)
			all_begins = true;
		else if (strcmp(argv[i], "--verbose") == 0)
			opt.verbose = true;
		else
			return fprintf(stderr, "usage: sim [--seed N] [--seeds K] [--steps S] "
			                       "[--bad K] [--parts] [--begins] [--scenario NAME] "
			                       "[--verbose]\n"),
			       2;
	}
	if (opt.verbose)
		log_level_set(LOG_DEBUG);
	for (uint64_t s = opt.seed; s < opt.seed + seeds && bad < bad_max; s++) {
		bad += !run_seed(s, &hash, counts);
		all = all * 31 + hash;
	}
	for (int s = 0; s < ST_COUNT && seeds > 50; s++)
		for (int e = 1; e < EV_COUNT; e++)
			if (s && fsm_next((enum state)s, (enum event)e) != ST_NONE &&
			    !counts[s][e] &&
			    fsm_next((enum state)s, (enum event)e) != (enum state)s)
				printf("# never seen: %s %s\n", state_name((enum state)s),
				       event_name((enum event)e));
	printf("sim: %" PRIu64 " seeds, %" PRIu64 " broken, hash %016" PRIx64 "\n", seeds, bad,
	       all);
	world_reset(0);
	check_reset();
	return bad ? 1 : 0;
}
