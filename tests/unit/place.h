/* place.h — a commander and a ledger on one thread, with the store in memory and clocks of
 * their own; for test_command*.c only. */
#ifndef TESTS_UNIT_PLACE_H
#define TESTS_UNIT_PLACE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "baseserver/command/commander.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/model/definitions.h"
#include "baseserver/plan/resolver.h"
#include "baseserver/query/query.h"
#include "rt/thread.h"
#include "sched/task.h"
#include "store/mem.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

/* 2026-03-10 00:00:30 UTC */
#define NOW_S  INT64_C(1773100830)
#define DAY(n) (INT64_C(1772323200) + ((n)-1) * 86400) /* of March 2026 */

static int64_t mono_now = 1000000, mono_tick; /* tick: what passes with each look */
static bool place_resolves;                   /* set before place_new(): with a resolver */

static inline int64_t mono(void *ctx)
{
	(void)ctx;
	return mono_now += mono_tick;
}

static inline int64_t wall(void *ctx)
{
	(void)ctx;
	return NOW_S * US_PER_S + mono_now;
}

static const struct clock test_clock = { mono, wall, NULL };

struct place {
	struct store *store;
	struct thread *th;
	struct ledger *ledger;
	struct commander *commander;
	struct resolver *resolver;
	struct definitions defs;
	struct front front;
	struct actor *me;
	struct client_request *answer; /* the last one */
	size_t answers;
	int32_t code; /* of the last proposal */
};

static inline int me_init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static const struct actor_ops me_ops = { .name = "test", .letters_max = 1000, .init = me_init };

static inline void on_fatal(void *ctx, const struct err *err)
{
	(void)ctx;
	fail_msg("fatal: %s", err->text);
}

static inline void place_start(struct place *p, size_t batch)
{
	struct ledger_settings set = { .ring_slots = 16384,
		                       .batch_max = 4096,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = 1000 * US_PER_S,
		                       .fatal = on_fatal };
	struct commander_settings cset = { batch, "UTC", .guests = &query_guests };
	struct err err = { 0 };

	p->th = thread_new("test", &test_clock);
	p->me = actor_new(p->th, &me_ops, p);
	if (definitions_load(p->store, "UTC", NULL, 0, &p->defs, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(ledger_new(&(struct ledger_start){ .thread = p->th,
	                                                    .store = p->store,
	                                                    .who = "test",
	                                                    .set = &set,
	                                                    .tasks = p->defs.tasks,
	                                                    .rows = p->defs.rows,
	                                                    .n_tasks = p->defs.n },
	                            &p->ledger, &err),
	                 0);
	if (commander_new(p->th, p->ledger, p->store, &cset, &p->commander, &err) < 0)
		fail_msg("%s", err.text);
	p->resolver = place_resolves ? resolver_new(p->th, p->ledger) : NULL;
	p->front = (struct front){ .commander = p->commander,
		                   .ledger = p->ledger,
		                   .resolver = p->resolver };
	commander_set_front(p->commander, &p->front);
	assert_int_equal(thread_sim_start(p->th, &err), 0);
	thread_sim_run(p->th);
}

static inline void place_stop(struct place *p)
{
	thread_stop(p->th);
	commander_free(p->commander);
	resolver_free(p->resolver);
	ledger_free(p->ledger);
	thread_free(p->th);
	definitions_done(&p->defs);
}

static inline void place_crash(struct place *p, size_t batch)
{
	struct store *next;

	store_mem_crash(p->store, &next);
	place_stop(p);
	store_close(p->store);
	p->store = next;
	place_start(p, batch);
}

static inline struct place *place_new(size_t batch)
{
	struct place *p = mem_new(sizeof *p);

	assert_int_equal(store_open("mem:", &p->store, NULL), 0);
	place_start(p, batch);
	return p;
}

static inline void place_free(struct place *p)
{
	place_stop(p);
	store_close(p->store);
	client_request_free(p->answer);
	free(p);
}

static inline void answered(struct letter *l, void *self)
{
	struct place *p = self;

	client_request_free(p->answer);
	p->answer = (struct client_request *)l;
	p->answers++;
}

static inline void run(struct place *p)
{
	for (int i = 0; i < 100; i++) {
		thread_sim_run(p->th);
		mono_now += 11 * US_PER_MS;
	}
}

static inline void post(struct place *p, const char *kind, const char *args, const char *id,
                        bool dry)
{
	struct client_request *r = client_request_new(kind, args, strlen(args));
	static int count;

	r->reply_to = p->me;
	r->answered = answered;
	r->request_id = id ? mem_str(id) : mem_fmt("r%d", ++count);
	r->actor = mem_str("tester");
	r->dry_run = dry;
	assert_int_equal(commander_command(p->commander, r), 0);
}

static inline const char *body(const struct place *p)
{
	return p->answer && p->answer->body ? p->answer->body : "";
}

static inline int command_id(struct place *p, const char *kind, const char *args, const char *id,
                             bool dry)
{
	size_t before = p->answers;

	post(p, kind, args, id, dry);
	run(p);
	if (p->answers != before + 1)
		fail_msg("%s %s: no answer", kind, args);
	return p->answer->code;
}

static inline int command(struct place *p, const char *kind, const char *args)
{
	return command_id(p, kind, args, NULL, false);
}

static inline int dry(struct place *p, const char *kind, const char *args)
{
	return command_id(p, kind, args, NULL, true);
}

static inline int query(struct place *p, const char *kind, const char *args)
{
	struct client_request *r = client_request_new(kind, args, strlen(args));

	r->reply_to = p->me;
	r->answered = answered;
	size_t before = p->answers;
	assert_int_equal(commander_query(p->commander, r), 0);
	run(p);
	assert_int_equal(p->answers, before + 1);
	return p->answer->code;
}

static inline void ok(struct place *p, int code)
{
	if (code < 0)
		fail_msg("%s: %s %s", err_name(code), p->answer->text, body(p));
}

static inline void has(const struct place *p, const char *part)
{
	if (!strstr(body(p), part))
		fail_msg("not found: %s\nin: %s", part, body(p));
}

static const char shop[] =
	"workflow: shop\nproject: p\nowner: li\nstart_date: 2026-03-01\ntimezone: UTC\n"
	"tasks:\n"
	"  hours: {type: noop, cycle: hour}\n"
	"  day: {type: noop, cycle: day, needs: [hours]}\n"
	"  next: {type: noop, cycle: day, needs: [{task: day, depend: 1}]}\n"
	"  later: {type: noop, cycle: day, needs: [{task: next, depend: -1}]}\n";

static inline int apply_text(struct place *p, const char *text, const char *more, bool is_dry)
{
	char args[8192];
	size_t n = (size_t)snprintf(args, sizeof args,
	                            "{%s\"documents\": [{\"name\": \"shop.yaml\", \"text\": \"",
	                            more);

	for (; *text; text++)
		n += (size_t)snprintf(args + n, sizeof args - n, *text == '\n' ? "\\n" : "%c",
		                      *text);
	snprintf(args + n, sizeof args - n, "\"}]}");
	return command_id(p, "apply", args, NULL, is_dry);
}

static inline void apply(struct place *p, const char *text)
{
	ok(p, apply_text(p, text, "", false));
}

static inline void each_state(void *ctx, const struct instance *i, uint32_t slot)
{
	size_t *counts = ctx;

	(void)slot;
	counts[i->state]++;
}

static inline size_t live(struct place *p, enum state st)
{
	size_t counts[ST_COUNT] = { 0 };

	ledger_each_instance(p->ledger, each_state, counts);
	return counts[st];
}

struct finding {
	uint32_t task;
	int64_t date;
	int state;
	uint32_t generation;
	bool online, frozen;
	const char *name;
};

static inline void each_task(void *ctx, const struct ledger_task *t)
{
	struct finding *f = ctx;

	if (f->name ? strcmp(t->def->name, f->name) != 0 : t->def->id != f->task)
		return;
	f->task = t->def->id;
	f->online = t->row->state == TS_ONLINE;
	f->frozen = t->row->frozen;
	const struct outcome_range *r = outcomes_find(t->outcomes, f->date);
	f->state = r ? r->state : ST_NONE;
	f->generation = r ? r->generation : 0;
}

static inline struct finding look(struct place *p, const char *name, int64_t date)
{
	struct finding f = { .name = name, .date = date };

	ledger_each_task(p->ledger, each_task, &f);
	return f;
}

static inline struct inst_key key_of(struct place *p, const char *name, int64_t date)
{
	return (struct inst_key){ date, look(p, name, date).task, 0 };
}

static inline void proposed(struct letter *l, void *self)
{
	struct place *p = self;
	struct answers *as = (struct answers *)l;

	p->code = as->n ? as->a[0].code : 0;
	free(as);
}

static inline void propose(struct place *p, enum ask ask, struct inst_key key)
{
	struct proposals *ps = proposals_new(PR_SORTER, 1, p->me, proposed);
	struct proposal *q = proposals_add(ps, ask, key);

	q->folded = UINT64_MAX;
	q->session = 1;
	q->broker = 1;
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	run(p);
	assert_int_equal(p->code, 0);
}

/* A row that runs. */
static inline struct inst_key start_one(struct place *p, const char *name, int64_t date)
{
	struct inst_key key = key_of(p, name, date);

	propose(p, ASK_CREATE, key);
	propose(p, ASK_SATISFY, key);
	propose(p, ASK_GRANT, key);
	return key;
}

static inline enum state state_of(struct place *p, struct inst_key key)
{
	struct instance i;

	return ledger_find(p->ledger, key, &i) ? (enum state)i.state : ST_NONE;
}

#define DAYS_1_TO_3 \
	"\"selection\": {\"tasks\": [\"p/shop/day\"], \"from\": \"2026-03-01\", " \
	"\"to\": \"2026-03-03\"}"

#endif
