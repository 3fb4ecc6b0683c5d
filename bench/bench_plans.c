/* What a million plans cost to hold: bytes a task, and the processor while nothing is due.
 *
 *   bench_plans [TASKS [SECONDS]]
 *
 * Cycles of all units and crons (as a compiled workflow has them: one of each), in three zones,
 * held by the real instantiator. Bytes: what malloc gave for the plans, their crons, and all
 * the instantiator keeps. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/plan/instantiator.h"
#include "rt/thread.h"
#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/cron.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { CRONS = 1440, BYTES_LIMIT = 200 };

static const struct tz *tz[3];
static struct cron *crons[CRONS];

static double held_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return (double)m.uordblks + (double)m.hblkhd;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void make_crons(void)
{
	char text[40];

	for (int i = 0; i < CRONS; i++) {
		snprintf(text, sizeof text, "%d %d * * *", i % 60, i / 60);
		CHECK(cron_parse(text, NULL, &crons[i], NULL) == 0);
	}
}

/* A third of them crons; nothing is due for the next days. */
static struct plan *make_plan(uint32_t id, int64_t from)
{
	static const enum cycle_unit units[] = { CU_DAY,  CU_HOUR,  CU_MINUTE,
		                                 CU_WEEK, CU_MONTH, CU_YEAR };
	struct schedule s = { .unit = units[id % 6],
		              .step = id % 5 ? 1 : 7,
		              .tz = tz[id % 3],
		              .start = from + id % 86400,
		              .end = PLAN_NEVER };
	struct plan *p;

	s.anchor = s.start;
	if (id % 3 == 1) {
		s.unit = CU_NONE;
		s.cron = crons[id / 3 % CRONS];
	}
	CHECK(plan_new(&s, &p, NULL) == 0);
	return p;
}

static void fatal(void *ctx, const struct err *err)
{
	(void)ctx;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static int figures(double bytes, double cpu, double seconds, size_t held, uint32_t n)
{
	printf("%u tasks, %zu in the heap: %.0f bytes each for their plans (limit %d), "
	       "idle %.3f %% of a core (limit 0.5)\n",
	       n, held, bytes / n, BYTES_LIMIT, cpu / seconds * 100);
	return bytes / n <= BYTES_LIMIT && cpu / seconds <= 0.005 && held == n ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const char *const zones[] = { "UTC", "Europe/Berlin", "Asia/Shanghai" };
	uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
	long seconds = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
	struct ledger_settings set = { .ring_slots = 4096,
		                       .batch_max = 100,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = 10000000,
		                       .fatal = fatal };
	int64_t from = clock_wall_us(&clock_machine) / US_PER_S + INT64_C(10) * DAY_S;
	struct task **tasks = mem_array(n, sizeof *tasks), *all = mem_array(n, sizeof *all);
	struct store_task *rows = mem_array(n, sizeof *rows);
	struct ledger *ledger;
	struct store *store;

	log_open("bench", LOG_WARN);
	for (int i = 0; i < 3; i++)
		if (zones_get(zones[i], &tz[i], NULL) < 0)
			tz[i] = tz_utc();
	double before = held_bytes();
	make_crons();
	for (uint32_t i = 0; i < n; i++)
		all[i].plan = make_plan(i + 1, from);
	double plans = held_bytes() - before;
	for (uint32_t i = 0; i < n; i++) {
		struct task *t = tasks[i] = &all[i];
		t->refs = 1;
		t->id = i + 1;
		t->version = t->workflow_id = 1;
		t->name = "bench/w/t";
		t->type = t->group = t->owner = t->run_as = t->calendar_name = "";
		rows[i] = (struct store_task){ .id = i + 1,
			                       .workflow_id = 1,
			                       .version = 1,
			                       .state = TS_ONLINE,
			                       .online_from = INT64_MIN,
			                       .planned_through = INT64_MIN };
	}
	CHECK(store_open("mem:", &store, NULL) == 0);
	struct thread *th = thread_new("core", &clock_machine);
	CHECK(ledger_new(&(struct ledger_start){ .thread = th,
	                                         .store = store,
	                                         .who = "bench",
	                                         .set = &set,
	                                         .tasks = tasks,
	                                         .rows = rows,
	                                         .n_tasks = n },
	                 &ledger, NULL) == 0);
	before = held_bytes();
	double t0 = cpu_s();
	struct instantiator *in = instantiator_new(th, ledger);
	printf("taken up in %.2f s of the processor\n", cpu_s() - t0);
	plans += held_bytes() - before;
	CHECK(thread_start(th, NULL) == 0);
	nanosleep(&(struct timespec){ 1, 0 }, NULL);
	t0 = cpu_s();
	nanosleep(&(struct timespec){ seconds, 0 }, NULL);
	double idle = cpu_s() - t0;
	int code = figures(plans, idle, (double)seconds, instantiator_scheduled(in), n);
	fflush(stdout);
	_exit(code);
}
