/* What ten years of silence cost at the start: tasks of minutes with catch-up `latest`, on SQLite.
 *
 *   bench_silence [TASKS]
 *
 * Beside it what a mere walk over the dates of one task takes, which each of them would need
 * that had a row. */
#include <stdio.h>
#include <stdlib.h>
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

#define SILENCE_S (INT64_C(3653) * DAY_S)

struct sum {
	uint64_t records, dates;
};

static void fatal(void *ctx, const struct err *err)
{
	(void)ctx;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

/* A third each: cycles in UTC, cycles in a zone with summer time, crons. */
static struct plan *make_plan(uint32_t id, const struct tz *zone)
{
	static struct cron *cron;
	struct schedule s = {
		.unit = CU_MINUTE, .step = 1, .tz = id % 3 ? zone : tz_utc(), .end = PLAN_NEVER
	};
	struct plan *p;

	if (!cron)
		CHECK(cron_parse("* * * * *", NULL, &cron, NULL) == 0);
	if (id % 3 == 2) {
		s.unit = CU_NONE;
		s.cron = cron;
	}
	CHECK(plan_new(&s, &p, NULL) == 0);
	return p;
}

static int sum_range(void *ctx, const struct store_range *r)
{
	struct sum *s = ctx;

	s->records++;
	s->dates += r->dates;
	return 0;
}

static double ms_since(int64_t from_us)
{
	return (double)(clock_mono_us(&clock_machine) - from_us) / 1e3;
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 300;
	struct ledger_settings set = { .ring_slots = 4096,
		                       .batch_max = 1000,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = 10000000,
		                       .fatal = fatal };
	int64_t now = clock_wall_us(&clock_machine) / US_PER_S;
	struct task **tasks = mem_array(n, sizeof *tasks), *all = mem_array(n, sizeof *all);
	struct store_task *rows = mem_array(n, sizeof *rows);
	char dir[] = "/tmp/bench-silence-XXXXXX";
	const struct tz *zone;
	struct ledger *ledger;
	struct store *store;
	struct sum sum = { 0 };

	log_open("bench", LOG_WARN);
	if (zones_get("Europe/Berlin", &zone, NULL) < 0)
		zone = tz_utc();
	for (uint32_t i = 0; i < n; i++) {
		struct task *t = tasks[i] = &all[i];
		*t = (struct task){ .refs = 1,
			            .id = i + 1,
			            .version = 1,
			            .workflow_id = 1,
			            .name = "bench/w/t",
			            .type = "t",
			            .catchup = CATCHUP_LATEST,
			            .plan = make_plan(i, zone) };
		t->group = t->owner = t->run_as = t->calendar_name = "";
		rows[i] = (struct store_task){ .id = i + 1,
			                       .workflow_id = 1,
			                       .version = 1,
			                       .state = TS_ONLINE,
			                       .online_from = INT64_MIN,
			                       .planned_through = now - SILENCE_S };
	}
	CHECK(mkdtemp(dir));
	char *url = mem_fmt("sqlite:%s", dir);
	CHECK(store_open(url, &store, NULL) == 0);
	struct thread *th = thread_new("core", &clock_machine);
	CHECK(ledger_new(&(struct ledger_start){ th, store, "bench", &set, tasks, rows, n },
	                 &ledger, NULL) == 0);
	int64_t began = clock_mono_us(&clock_machine);
	struct instantiator *in = instantiator_new(th, ledger);
	CHECK(thread_sim_start(th, NULL) == 0);
	thread_sim_run(th);
	double took = ms_since(began);
	CHECK(store_load_ranges(store, false, sum_range, &sum, NULL) == 0);
	began = clock_mono_us(&clock_machine);
	int64_t walked = plan_count(all[0].plan, now - SILENCE_S, now, INT64_MAX);
	printf("%u tasks, ten years of minutes each: %llu dates as %llu records, durable in %.1f "
	       "ms, %.2f ms a task; a walk over the %lld dates of one: %.0f ms\n",
	       n, (unsigned long long)sum.dates, (unsigned long long)sum.records, took, took / n,
	       (long long)walked, ms_since(began));
	fflush(stdout);
	(void)in;
	store_close(store);
	static const char *const files[] = { "sirdar.db", "sirdar.db-wal", "sirdar.db-shm",
		                             "writer.lock" };
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		unlink(mem_fmt("%s/%s", dir, files[i]));
	rmdir(dir);
	_exit(sum.records == n ? 0 : 1);
}
