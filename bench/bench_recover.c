/* bench_recover — a server dies with many unfinished instances: how long until its successor
 * dispatches, and what an instance that waits costs in memory.
 *
 *   bench_recover [INSTANCES] [DIR]
 *
 * Every instance waits for its own predecessor (-1 on itself), as long backlogs do.
 */
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

enum { TASKS = 10 };

struct server {
	struct store *store;
	struct thread *core, *net;
	struct ledger *ledger;
	struct resolver *resolver;
	struct sorter *sorter;
	struct instantiator *instantiator;
	struct maintainer *maintainer;
	struct stream_reader *in;
	uint64_t created, want;
	int64_t granted_us;
	sem_t all, first;
};

static void turn(void *self)
{
	struct server *s = self;

	for (const struct transition *tr; (tr = stream_peek(s->in)); stream_next(s->in)) {
		if (tr->kind != TK_INSTANCE)
			continue;
		if (tr->event == EV_CREATE && ++s->created == s->want)
			sem_post(&s->all);
		if (tr->event == EV_GRANT && !s->granted_us) {
			s->granted_us = clock_mono_us(&clock_machine);
			sem_post(&s->first);
		}
	}
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
	t->links = mem_new(sizeof *t->links);
	t->links[0] = (struct task_link){ .parent = id, .kind = LK_PREV, .prev = 1 };
	t->n_links = 1;
	return t;
}

static int each_row(void *ctx, const struct store_task *row)
{
	struct store_task *rows = ctx;

	rows[row->id - 1] = *row;
	return 0;
}

static void start(struct server *s, const char *url, struct task **tasks, bool again)
{
	struct ledger_settings set = { .ring_slots = 32768,
		                       .batch_max = 8192,
		                       .window_us = 500,
		                       .retry_us = 100000,
		                       .epoch_us = 10000000,
		                       .fatal = fatal };
	struct maintainer_settings mset = { 180000000, 10000000, 0, 500 };
	struct store_task rows[TASKS] = { 0 };
	struct err err = { 0 };

	CHECK(store_open(url, &s->store, &err) == 0);
	CHECK(store_load_tasks(s->store, each_row, rows, &err) == 0);
	s->core = thread_new("core", &clock_machine);
	s->net = thread_new("net", &clock_machine);
	CHECK(ledger_new(&(struct ledger_start){ .thread = s->core,
	                                         .store = s->store,
	                                         .who = "bench",
	                                         .set = &set,
	                                         .tasks = tasks,
	                                         .rows = rows,
	                                         .n_tasks = again ? TASKS : 0 },
	                 &s->ledger, &err) == 0);
	s->resolver = resolver_new(s->core, s->ledger);
	s->sorter = sorter_new(s->core, s->ledger);
	s->instantiator = instantiator_new(s->core, s->ledger);
	s->maintainer = maintainer_new(s->core, s->ledger, &mset);
	s->in = stream_reader_new(ledger_stream(s->ledger), STREAM_OUTER,
	                          actor_new(s->net, &ops, s));
	CHECK(sem_init(&s->all, 0, 0) == 0 && sem_init(&s->first, 0, 0) == 0);
	CHECK(thread_start(s->core, &err) == 0 && thread_start(s->net, &err) == 0);
}

static void stop(struct server *s)
{
	thread_stop(s->core);
	thread_stop(s->net);
	maintainer_free(s->maintainer);
	instantiator_free(s->instantiator);
	sorter_free(s->sorter);
	resolver_free(s->resolver);
	ledger_free(s->ledger);
	thread_free(s->core);
	thread_free(s->net);
	store_close(s->store);
}

static void define(struct server *s, struct task **tasks)
{
	struct edit *e = mem_new(sizeof *e);

	e->tasks = mem_array(TASKS, sizeof *e->tasks);
	e->rows = mem_array(TASKS, sizeof *e->rows);
	e->n_tasks = TASKS;
	for (size_t i = 0; i < TASKS; i++) {
		e->tasks[i] = task_ref(tasks[i]);
		e->rows[i] = (struct store_task){ .id = tasks[i]->id,
			                          .workflow_id = 1,
			                          .version = 1,
			                          .state = TS_ONLINE,
			                          .planned_through = INT64_MIN,
			                          .online_from = INT64_MIN };
	}
	CHECK(ledger_edit(s->ledger, e) == 0);
}

static void give_credit(struct server *s)
{
	struct session_news *n = mem_new(sizeof *n);

	n->session = n->broker = 1;
	n->accepts = true;
	n->type = mem_str("noop");
	n->broker_name = mem_str("b");
	n->groups = mem_array(1, sizeof *n->groups);
	n->limit = 1;
	CHECK(sorter_session(s->sorter, n) == 0);
}

static long rss_bytes(void)
{
	long pages = 0, total = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%ld %ld", &total, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
	char url[4200], dir[] = "/tmp/bench_recover.XXXXXX";
	int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
	static struct server one, two;
	struct task *tasks[TASKS];

	log_open("bench", LOG_WARN);
	CHECK(argc > 2 || mkdtemp(dir));
	snprintf(url, sizeof url, "sqlite:%s", argc > 2 ? argv[2] : dir);
	int64_t now = clock_wall_us(&clock_machine) / US_PER_S;
	int64_t from = (now / 60 - n / TASKS) * 60;
	for (uint32_t i = 0; i < TASKS; i++)
		tasks[i] = task_of(i + 1, from, from + (n / TASKS - 1) * 60);
	one.want = (uint64_t)(n / TASKS * TASKS);
	start(&one, url, tasks, false);
	int64_t began = clock_mono_us(&clock_machine);
	define(&one, tasks);
	CHECK(sem_wait(&one.all) == 0);
	printf("%" PRIu64 " instances created, durable, in %.2f s\n", one.want,
	       (double)(clock_mono_us(&clock_machine) - began) / 1e6);
	stop(&one);
	long before = rss_bytes();
	began = clock_mono_us(&clock_machine);
	start(&two, url, tasks, true);
	int64_t loaded = clock_mono_us(&clock_machine);
	give_credit(&two);
	CHECK(sem_wait(&two.first) == 0);
	printf("restart: loaded in %.2f s, first dispatch after %.2f s; %.0f bytes of memory "
	       "each\n",
	       (double)(loaded - began) / 1e6, (double)(two.granted_us - began) / 1e6,
	       (double)(rss_bytes() - before) / (double)one.want);
	fflush(stdout);
	_exit(0);
}
