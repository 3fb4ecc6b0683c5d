/* bench_links — what a parent of a link costs: children that wait for 1 parent each beside
 * children that wait for 1,100, through ledger, instantiator and resolver over a store in
 * memory, on one thread. Rows are made, then every parent succeeds in turn. What a run
 * without children takes is taken off; the rest is divided by (child, parent) pairs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/plan/instantiator.h"
#include "baseserver/plan/resolver.h"
#include "rt/thread.h"
#include "rt/zones.h"
#include "sched/task.h"
#include "sched/window.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

#define START_S INT64_C(1767225600) /* 2026-01-01 */
enum { LETTER = 1024, WIDE = 1100, PARENTS = 110000, ROLLING = 11000 };

static int64_t wall_us;

static int64_t mono(void *ctx)
{
	(void)ctx;
	return wall_us - (START_S - 3600) * US_PER_S;
}

static int64_t wall(void *ctx)
{
	(void)ctx;
	return wall_us;
}

static const struct clock steady = { mono, wall, NULL };

static struct thread *th;
static struct ledger *ledger;
static struct stream_reader *in;
static struct actor *me;
static uint64_t satisfied; /* children */

static void answered(struct letter *l, void *self)
{
	(void)self;
	free(l);
}

static void turn(void *self)
{
	(void)self;
	for (const struct transition *tr; (tr = stream_peek(in)); stream_next(in))
		satisfied += tr->kind == TK_INSTANCE && tr->event == EV_SATISFY &&
		             tr->inst.key.task == 2;
}

static int init(void *self, struct actor *actor, struct err *err)
{
	(void)self;
	(void)actor;
	(void)err;
	return 0;
}

static const struct actor_ops ops = {
	.name = "bench", .letters_max = 65536, .init = init, .turn = turn
};

static void fatal(void *ctx, const struct err *err)
{
	(void)ctx;
	fprintf(stderr, "fatal: %s\n", err->text);
	_exit(1);
}

static struct task *task_new(uint32_t id, int32_t step, int64_t n, const char *window)
{
	struct task *t = mem_new(sizeof *t);
	const struct tz *tz;

	CHECK(zones_get("UTC", &tz, NULL) == 0);
	struct schedule s = { .unit = CU_MINUTE,
		              .step = step,
		              .tz = tz,
		              .start = START_S,
		              .end = START_S + (n - 1) * 60,
		              .anchor = START_S };
	CHECK(plan_new(&s, &t->plan, NULL) == 0);
	t->refs = 1;
	t->id = id;
	t->version = t->workflow_id = 1;
	t->state = TS_ONLINE;
	t->memory = mem_fmt("bench/w/t%u", id);
	t->name = t->memory;
	t->type = "noop";
	t->group = t->owner = t->run_as = "";
	t->priority = 5;
	t->max_attempts = 1;
	if (window) {
		struct window_expr *w = NULL;
		CHECK(window_parse(window, &w, NULL) == 0);
		t->links = mem_new(sizeof *t->links);
		t->links[0] = (struct task_link){ .parent = 1, .kind = LK_WINDOW, .window = w };
		t->n_links = 1;
	}
	return t;
}

static void put(struct task *const *tasks, size_t n)
{
	struct edit *e = mem_new(sizeof *e);

	e->tasks = mem_array(n, sizeof *e->tasks);
	e->rows = mem_array(n, sizeof *e->rows);
	e->n_tasks = n;
	for (size_t i = 0; i < n; i++) {
		e->tasks[i] = tasks[i];
		e->rows[i] = (struct store_task){ .id = tasks[i]->id,
			                          .workflow_id = 1,
			                          .name = tasks[i]->name,
			                          .version = 1,
			                          .state = TS_ONLINE,
			                          .planned_through = INT64_MIN,
			                          .online_from = INT64_MIN };
	}
	CHECK(ledger_edit(ledger, e) == 0);
}

static void succeed(int64_t n)
{
	for (int64_t k = 0; k < n;) {
		struct proposals *ps = proposals_new(PR_COMMANDER, LETTER, me, answered);
		for (; k < n && ps->n < LETTER; k++)
			proposals_add(ps, ASK_FORCE, (struct inst_key){ START_S + k * 60, 1, 0 })
				->reason = RE_FORCED;
		CHECK(ledger_propose(ledger, ps) == 0);
		thread_sim_run(th);
		wall_us += US_PER_MS;
	}
	thread_sim_run(th);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* CPU seconds of a world in which `parents` dates succeed. step 0: no child. */
static double play(int64_t parents, int32_t step, const char *window, uint64_t *ret_children)
{
	struct ledger_settings set = { .ring_slots = 32768,
		                       .batch_max = 8192,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = INT64_C(1000000) * US_PER_S,
		                       .fatal = fatal };
	struct task *tasks[2] = { task_new(1, 1, parents, NULL) };
	struct store *store;
	struct err err = { 0 };

	satisfied = 0;
	wall_us = (START_S - 60) * US_PER_S;
	th = thread_new("bench", &steady);
	me = actor_new(th, &ops, NULL);
	CHECK(store_open("mem:", &store, &err) == 0);
	CHECK(ledger_new(
		      &(struct ledger_start){
			      .thread = th, .store = store, .who = "bench", .set = &set },
		      &ledger, &err) == 0);
	struct resolver *resolver = resolver_new(th, ledger);
	struct instantiator *instantiator = instantiator_new(th, ledger);
	in = stream_reader_new(ledger_stream(ledger), STREAM_OUTER, me);
	CHECK(thread_sim_start(th, &err) == 0);
	if (step)
		tasks[1] = task_new(2, step, parents, window);
	put(tasks, step ? 2 : 1);
	thread_sim_run(th);
	double began = cpu_s();
	wall_us = (START_S + parents * 60) * US_PER_S;
	thread_sim_run(th);
	succeed(parents);
	double took = cpu_s() - began;
	*ret_children = satisfied;
	thread_stop(th);
	instantiator_free(instantiator);
	resolver_free(resolver);
	ledger_free(ledger);
	thread_free(th);
	store_close(store);
	return took;
}

static double each_ns(const char *what, int64_t parents, int32_t step, const char *window,
                      double pairs)
{
	uint64_t children;
	double bare = play(parents, 0, NULL, &children),
	       with = play(parents, step, window, &children);
	double ns = (with - bare) * 1e9 / pairs;

	printf("%-44s %9.1f ns a parent   (%" PRIu64
	       " children, %.0f pairs, %.3f s; alone %.3f s)\n",
	       what, ns, children, pairs, with, bare);
	return ns;
}

int main(void)
{
	log_open("bench", LOG_WARN);
	double one = each_ns("links of 1 parent", PARENTS, 1, "[t, t]", PARENTS);
	double wide = each_ns("links of 1,100, one after the other", PARENTS, WIDE, "[t, t+1099m]",
	                      PARENTS);
	/* Each outcome is in 1,100 windows at once. */
	double rolling = each_ns("links of 1,100, rolling", ROLLING, 1, "(t-1100m, t]",
	                         (double)ROLLING * WIDE - (double)WIDE * (WIDE - 1) / 2);
	bool good = wide <= one && rolling <= one;
	printf("%s: a parent of a wide link costs %.2f and %.2f of one of a link of 1\n",
	       good ? "good" : "FALLS SHORT", wide / one, rolling / one);
	return good ? 0 : 1;
}
