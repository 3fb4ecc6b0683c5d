/* bench_core — the scheduling actors over a real store, without the network: instances per
 * second from plan to durable Succ, when jobs end as soon as they are granted.
 *
 *   bench_core [URL] [CHAINS] [LENGTH] [each|narrow]
 *
 * CHAINS dates of a chain of LENGTH tasks; `each`: resolver and sorter on threads of their own.
 * `narrow`: of LENGTH tasks in rows of 28, each with links to four of the row before; a date begins
 * when the one before it has ended. Beside it the limit, from the same run: packed.h.
 */
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "baseserver/keep/maintainer.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/plan/instantiator.h"
#include "baseserver/plan/resolver.h"
#include "baseserver/sort/sorter.h"
#include "rt/thread.h"
#include "rt/zones.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

#include "bench/packed.h"

static struct ledger *ledger;
static struct stream_reader *in;
static struct actor *worker;
static sem_t over; /* posted by the last success */
static uint64_t done, want;

static void answered(struct letter *l, void *self)
{
	(void)self;
	free(l);
}

static void turn(void *self)
{
	struct proposals *ps = NULL;

	(void)self;
	for (const struct transition *tr; (tr = stream_peek(in)); stream_next(in)) {
		if (tr->kind != TK_INSTANCE)
			continue;
		if (tr->inst.state == ST_SUCC && ++done == want)
			sem_post(&over);
		if (tr->event != EV_GRANT)
			continue;
		if (ps && ps->n == ps->cap) {
			CHECK(ledger_propose(ledger, ps) == 0);
			ps = NULL;
		}
		if (!ps)
			ps = proposals_new(PR_WORKER, 1024, worker, answered);
		struct proposal *p = proposals_add(ps, ASK_ENDED, tr->inst.key);
		p->token = tr->inst.token;
		p->end = AE_OK;
		p->session = 1;
	}
	if (ps)
		CHECK(ledger_propose(ledger, ps) == 0);
}

static int init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
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

enum { ROW = 28, LINKS = 4 };

/* To the four tasks from above it on; of the first row: to the last task, a date before. */
static void link_narrow(struct task *t, uint32_t length)
{
	t->links = mem_array(LINKS, sizeof *t->links);
	if (t->id <= ROW) {
		t->links[t->n_links++] = (struct task_link){ .parent = length,
			                                     .kind = LK_PREV,
			                                     .prev = 1 };
		return;
	}
	for (uint32_t i = 0; i < LINKS; i++)
		t->links[t->n_links++] = (struct task_link){ .parent = t->id - ROW + i,
			                                     .kind = LK_SAME };
}

static void link_chain(struct task *t)
{
	if (t->id == 1)
		return;
	t->links = mem_new(sizeof *t->links);
	t->links[0] = (struct task_link){ .parent = t->id - 1, .kind = LK_SAME };
	t->n_links = 1;
}

static struct task *task_of(uint32_t id, int64_t start, int64_t end)
{
	struct task *t = mem_new(sizeof *t);
	const struct tz *tz;

	CHECK(zones_get("UTC", &tz, NULL) == 0);
	struct schedule s = {
		.unit = CU_MINUTE, .step = 1, .tz = tz, .start = start, .end = end, .anchor = start
	};
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
	t->infra_max = 5;
	return t;
}

static struct edit *edit_of(uint32_t length, int64_t start, int64_t end, bool narrow)
{
	struct edit *e = mem_new(sizeof *e);

	e->tasks = mem_array(length, sizeof *e->tasks);
	e->rows = mem_array(length, sizeof *e->rows);
	e->n_tasks = length;
	for (uint32_t i = 0; i < length; i++) {
		e->tasks[i] = task_of(i + 1, start, end);
		if (narrow)
			link_narrow(e->tasks[i], length);
		else
			link_chain(e->tasks[i]);
		e->rows[i] = (struct store_task){ .id = i + 1,
			                          .workflow_id = 1,
			                          .version = 1,
			                          .state = TS_ONLINE,
			                          .planned_through = INT64_MIN,
			                          .online_from = INT64_MIN };
	}
	return e;
}

/* What an instance cost, beside the limit. */
static void tell(const char *url, double took)
{
	struct ledger_figures f;
	struct rusage use;
	const double n = (double)want;

	ledger_figures(ledger, &f);
	getrusage(RUSAGE_SELF, &use);
	const double cpu = (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec / 1e6 +
	                   (double)use.ru_stime.tv_sec + (double)use.ru_stime.tv_usec / 1e6;
	const double cpu_us = (cpu - packed.cpu_s) * 1e6 / n;
	printf("%" PRIu64 " instances in %.2f s = %.0f/s, %.1f us CPU each, %" PRIu64
	       " commits (%.0f us each), %.0f bytes, %.4f syncs, %" PRIu64
	       " transitions, refused %" PRIu64 ", peak %ld MB\n",
	       want, took, n / took, cpu_us, f.commits, (double)f.commit_us_sum / (double)f.commits,
	       (double)counted(COUNT_BYTES) / n, (double)counted(COUNT_SYNCS) / n, f.last,
	       f.refused, use.ru_maxrss / 1024);
	if (strncmp(url, "sqlite:", 7) == 0)
		packed_tell(url + 7, n, n / took, cpu_us);
}

int main(int argc, char **argv)
{
	char url[4200], dir[] = "/tmp/bench_core.XXXXXX";
	int64_t chains = argc > 2 ? strtoll(argv[2], NULL, 10) : 10000;
	uint32_t length = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 10;
	const char *shape = argc > 4 ? argv[4] : "";
	bool each = strcmp(shape, "each") == 0, narrow = strcmp(shape, "narrow") == 0;
	struct ledger_settings set = { .ring_slots = 32768,
		                       .batch_max = 8192,
		                       .window_us = 500,
		                       .retry_us = 100000,
		                       .epoch_us = 10000000,
		                       .fatal = fatal };
	struct maintainer_settings mset = { 180000000, 10000000, 0, 500 };
	struct err err = { 0 };
	struct store *store;

	CHECK(sem_init(&over, 0, 0) == 0);
	log_open("bench", LOG_WARN);
	snprintf(url, sizeof url, "%s", argc > 1 ? argv[1] : "");
	if (!url[0] || strcmp(url, "-") == 0) {
		CHECK(mkdtemp(dir));
		snprintf(url, sizeof url, "sqlite:%s", dir);
	}
	if (store_open(url, &store, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	int64_t now = clock_wall_us(&clock_machine) / US_PER_S;
	int64_t start = (now / 60 - chains) * 60;
	struct edit *e = edit_of(length, start, start + (chains - 1) * 60, narrow);
	struct thread *core = thread_new("core", &clock_machine);
	struct thread *t2 = each ? thread_new("resolver", &clock_machine) : core;
	struct thread *t3 = each ? thread_new("sorter", &clock_machine) : core;
	struct thread *net = thread_new("net", &clock_machine);
	CHECK(ledger_new(&(struct ledger_start){ core, store, "bench", &set, NULL, NULL, 0 },
	                 &ledger, &err) == 0);
	resolver_new(t2, ledger);
	struct sorter *sorter = sorter_new(t3, ledger);
	instantiator_new(t2, ledger);
	maintainer_new(core, ledger, &mset);
	worker = actor_new(net, &ops, NULL);
	in = stream_reader_new(ledger_stream(ledger), STREAM_OUTER, worker);
	want = (uint64_t)chains * length;
	CHECK(thread_start(core, &err) == 0);
	CHECK(!each || (thread_start(t2, &err) == 0 && thread_start(t3, &err) == 0));
	CHECK(thread_start(net, &err) == 0);
	struct session_news *n = mem_new(sizeof *n);
	n->session = n->broker = 1;
	n->accepts = true;
	n->type = mem_str("noop");
	n->broker_name = mem_str("b");
	n->groups = mem_array(1, sizeof *n->groups);
	n->limit = UINT64_MAX / 2;
	CHECK(sorter_session(sorter, n) == 0);
	counted_begin();
	int64_t began = clock_mono_us(&clock_machine);
	CHECK(ledger_edit(ledger, e) == 0);
	CHECK(sem_wait(&over) == 0);
	tell(url, (double)(clock_mono_us(&clock_machine) - began) / 1e6);
	fflush(stdout);
	_exit(0);
}
