/* sorting.h — a sorter and a ledger on one thread, with the store in memory and a clock of
 * their own; for tests of the sorter and its neighbours only. */
#ifndef TESTS_UNIT_SORTING_H
#define TESTS_UNIT_SORTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/ledger/pools.h"
#include "baseserver/sort/sorter.h"
#include "rt/thread.h"
#include "sched/task.h"
#include "store/store.h"
#include "tests/unit/test_time.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"

static int64_t now_us;

static inline int64_t mono(void *ctx)
{
	(void)ctx;
	return now_us + 1000;
}

static inline int64_t wall(void *ctx)
{
	(void)ctx;
	return now_us + 3600 * US_PER_S;
}

static const struct clock test_clock = { mono, wall, NULL };

enum { GRANTS = 2048 };

struct fixture {
	struct store *store;
	struct thread *th;
	struct ledger *ledger;
	struct sorter *sorter;
	struct actor *me;
	struct stream_reader *in;
	struct inst_key granted[GRANTS];
	uint32_t session[GRANTS];
	int n;
};

static inline int me_init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static inline void me_turn(void *self)
{
	struct fixture *f = self;

	for (const struct transition *tr; (tr = stream_peek(f->in)); stream_next(f->in))
		if (tr->kind == TK_INSTANCE && tr->event == EV_GRANT && f->n < GRANTS) {
			f->granted[f->n] = tr->inst.key;
			f->session[f->n++] = tr->session;
		}
}

static const struct actor_ops me_ops = {
	.name = "test", .letters_max = 1000, .init = me_init, .turn = me_turn
};

static inline void on_answers(struct letter *l, void *self)
{
	(void)self;
	free(l);
}

static inline void on_fatal(void *ctx, const struct err *err)
{
	(void)ctx;
	fail_msg("%s", err->text);
}

/* Without its thread running: others may be put on it. */
static inline void begin_still(struct fixture *f)
{
	struct ledger_settings set = { .ring_slots = 1024,
		                       .batch_max = 100,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = 1000000,
		                       .fatal = on_fatal };

	*f = (struct fixture){ 0 };
	now_us = 0;
	assert_int_equal(store_open("mem:", &f->store, NULL), 0);
	f->th = thread_new("test", &test_clock);
	assert_int_equal(ledger_new(&(struct ledger_start){ .thread = f->th,
	                                                    .store = f->store,
	                                                    .who = "test",
	                                                    .set = &set },
	                            &f->ledger, NULL),
	                 0);
	f->sorter = sorter_new(f->th, f->ledger);
	f->me = actor_new(f->th, &me_ops, f);
	f->in = stream_reader_new(ledger_stream(f->ledger), STREAM_INNER, f->me);
}

static inline void begin(struct fixture *f)
{
	begin_still(f);
	assert_int_equal(thread_sim_start(f->th, NULL), 0);
}

static inline void end(struct fixture *f)
{
	thread_stop(f->th);
	sorter_free(f->sorter);
	ledger_free(f->ledger);
	thread_free(f->th);
	store_close(f->store);
}

/* Ledger and sorter take it over; its barrier is passed. `t`: what is not the same for all. */
/* Online, its plan begins at `begin`. */
static inline void put_task_from(struct fixture *f, const struct task *t, int64_t begin)
{
	struct schedule s = {
		.unit = CU_MINUTE, .step = 1, .tz = zone("UTC"), .start = 0, .end = PLAN_NEVER
	};
	struct task *own = mem_new(sizeof *own);
	struct edit *e = mem_new(sizeof *e);

	*own = *t;
	own->version = t->version ? t->version : 1;
	own->workflow_id = t->workflow_id ? t->workflow_id : t->id;
	own->name = t->name ? t->name : "p/w/t";
	own->type = t->type ? t->type : "t";
	own->group = t->group ? t->group : "";
	own->owner = own->run_as = "";
	own->priority = t->priority ? t->priority : 5;
	own->max_attempts = 2;
	own->infra_max = 5;
	own->refs = 1;
	own->memory = own;
	assert_int_equal(plan_new(&s, &own->plan, NULL), 0);
	plan_begin_at(own->plan, begin);
	e->tasks = mem_array(1, sizeof *e->tasks);
	e->rows = mem_array(1, sizeof *e->rows);
	e->tasks[0] = own;
	e->rows[0] = (struct store_task){ .id = t->id,
		                          .workflow_id = own->workflow_id,
		                          .version = own->version,
		                          .state = TS_ONLINE,
		                          .planned_through = INT64_MIN,
		                          .online_from = begin };
	e->n_tasks = 1;
	assert_int_equal(ledger_edit(f->ledger, e), 0);
	thread_sim_run(f->th);
	assert_int_equal(ledger_mark(f->ledger, stream_last(ledger_stream(f->ledger))), 0);
	thread_sim_run(f->th);
}

static inline void put_task(struct fixture *f, const struct task *t)
{
	put_task_from(f, t, INT64_MIN);
}

/* A task of every minute, online. */
static inline void put(struct fixture *f, uint32_t id, int priority, int cap,
                       enum task_dispatch how)
{
	struct task t = { .id = id, .priority = priority, .concurrency = cap, .dispatch = how };

	put_task(f, &t);
}

static inline void ask(struct fixture *f, enum ask what, struct inst_key key, int end_as)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f->me, on_answers);
	struct proposal *p = proposals_add(ps, what, key);

	p->folded = UINT64_MAX;
	p->due = key.run_date;
	p->end = (uint8_t)end_as;
	p->reason = RE_USER;
	p->priority = (uint8_t)(what == ASK_PRIORITY ? end_as : 0);
	p->token = what == ASK_ENDED ? (uint64_t)1 << 40 | (uint64_t)f->n : 0;
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
	thread_sim_run(f->th);
}

static inline struct inst_key ready(struct fixture *f, uint32_t task, int64_t date)
{
	struct inst_key k = { date, task, 0 };

	ask(f, ASK_CREATE, k, 0);
	ask(f, ASK_SATISFY, k, 0);
	return k;
}

/* A loader's session with room for `limit` grants in all. */
static inline void seat(struct fixture *f, uint32_t session, uint64_t limit, bool accepts)
{
	struct session_news *n = mem_new(sizeof *n);

	n->session = session;
	n->broker = session;
	n->accepts = accepts;
	n->type = mem_str("t");
	n->broker_name = mem_str("b");
	n->groups = mem_array(1, sizeof *n->groups);
	n->limit = limit;
	assert_int_equal(sorter_session(f->sorter, n), 0);
	thread_sim_run(f->th);
}

/* As seat(), of a broker with a name, groups and a load of its own. */
static inline void seat_of(struct fixture *f, uint32_t session, const char *name, const char *group,
                           struct rank_load load, uint64_t limit)
{
	struct session_news *n = mem_new(sizeof *n);

	n->session = n->broker = session;
	n->accepts = true;
	n->type = mem_str("t");
	n->broker_name = mem_str(name);
	n->groups = mem_array(2, sizeof *n->groups);
	n->groups[0] = mem_str(group);
	n->limit = limit;
	n->load = load;
	assert_int_equal(sorter_session(f->sorter, n), 0);
	thread_sim_run(f->th);
}

/* A pool or quota; size -1: removed. */
static inline void pool(struct fixture *f, const char *name, int32_t size)
{
	struct edit *e = mem_new(sizeof *e);
	static uint32_t id;
	struct buf body;

	buf_init(&body);
	pool_print(size, &body);
	e->docs = mem_array(1, sizeof *e->docs);
	e->n_docs = 1;
	e->docs[0] = (struct store_doc){ .kind = DOC_POOL,
		                         .id = ++id,
		                         .version = 1,
		                         .retired = size < 0,
		                         .name = mem_str(name),
		                         .body = mem_str(buf_str(&body)),
		                         .body_len = body.len,
		                         .actor = mem_str("t") };
	buf_done(&body);
	assert_int_equal(ledger_edit(f->ledger, e), 0);
	thread_sim_run(f->th);
}

/* A row of a backfill that could start. */
static inline struct inst_key backfilled(struct fixture *f, uint32_t task, int64_t date)
{
	struct inst_key k = { date, task, 0 };
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f->me, on_answers);
	struct proposal *p = proposals_add(ps, ASK_CREATE, k);

	p->due = date;
	p->origin = OR_BACKFILL;
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
	thread_sim_run(f->th);
	ask(f, ASK_SATISFY, k, 0);
	return k;
}

/* It ended well. */
static inline void over(struct fixture *f, struct inst_key key)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f->me, on_answers);
	struct proposal *p = proposals_add(ps, ASK_ENDED, key);
	struct instance i;

	assert_true(ledger_find(f->ledger, key, &i));
	p->token = i.token;
	p->end = AE_OK;
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
	thread_sim_run(f->th);
}

#endif
