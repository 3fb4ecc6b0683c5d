/* agree — the server's actors on one thread and a virtual clock, for one set of documents: what
 * they make of a workflow from one instant to another. agree.py compares with the offline
 * commands.
 *
 *   agree FROM_S TO_S [project/workflow/task=DURATION_US]... < arguments of an `apply`
 *
 * Prints a line per instance: task run_date due state reason satisfied_us start_us end_us.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander.h"
#include "baseserver/keep/maintainer.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/model/definitions.h"
#include "baseserver/plan/instantiator.h"
#include "baseserver/plan/resolver.h"
#include "baseserver/sort/sorter.h"
#include "rt/thread.h"
#include "sched/attempt.h"
#include "sched/task.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/heap.h"
#include "util/log.h"

enum { EPOCH_S = 1000000000, LIMIT = 1000000000 };

/* A job under way, or that was. */
struct run {
	struct heap_node node; /* wall us of its end */
	struct inst_key key;
	uint64_t token;
};

static int64_t wall_us, base_us;

static int64_t mono(void *ctx)
{
	(void)ctx;
	return wall_us - base_us + 1;
}

static int64_t wall(void *ctx)
{
	(void)ctx;
	return wall_us;
}

static const struct clock virtual = { mono, wall, NULL };

struct server {
	struct store *store;
	struct thread *th;
	struct ledger *ledger;
	struct resolver *resolver;
	struct sorter *sorter;
	struct instantiator *instantiator;
	struct maintainer *maintainer;
	struct commander *commander;
	struct definitions defs;
	struct actor *me;
	struct stream_reader *in;
	struct heap jobs;
	char **durations; /* task=us */
	size_t n_durations;
	bool applied;
};
static struct server s;

/* What became of an instance, in order of its key. */
struct story {
	struct inst_key key;
	int64_t due, satisfied_us, start_us, end_us;
	uint8_t state, reason;
};
static struct story *stories;
static size_t n_stories, stories_cap;

static _Noreturn void die(const char *what, const char *text)
{
	fprintf(stderr, "agree: %s: %s\n", what, text);
	exit(2); /* a test's own program */
}

static struct story *story_of(struct inst_key key)
{
	for (size_t i = n_stories; i > 0; i--)
		if (inst_key_eq(stories[i - 1].key, key))
			return &stories[i - 1];
	stories = mem_room(stories, &stories_cap, n_stories + 1, sizeof *stories);
	stories[n_stories] = (struct story){
		.key = key, .satisfied_us = INT64_MAX, .start_us = INT64_MAX, .end_us = INT64_MAX
	};
	return &stories[n_stories++];
}

static const char *name_of(uint32_t task);

struct named {
	uint32_t id;
	const char *name;
};

static void find_name(void *ctx, const struct ledger_task *t)
{
	struct named *n = ctx;

	if (t->def->id == n->id)
		n->name = t->def->name;
}

static const char *name_of(uint32_t task)
{
	struct named n = { task, "?" };

	ledger_each_task(s.ledger, find_name, &n);
	return n.name;
}

static int64_t duration_of(uint32_t task)
{
	const char *name = name_of(task);
	size_t len = strlen(name);

	for (size_t i = 0; i < s.n_durations; i++)
		if (strncmp(s.durations[i], name, len) == 0 && s.durations[i][len] == '=')
			return strtoll(s.durations[i] + len + 1, NULL, 10);
	return 0;
}

static void settled(struct letter *l, void *self)
{
	(void)self;
	free(l);
}

static void report(const struct run *r, enum ask ask, enum attempt_end end)
{
	struct proposals *ps = proposals_new(PR_WORKER, 1, s.me, settled);
	struct proposal *p = proposals_add(ps, ask, r->key);

	p->token = r->token;
	p->session = 1;
	p->end = (uint8_t)end;
	p->at_us = wall_us;
	CHECK(ledger_propose(s.ledger, ps) == 0);
}

static void fold(const struct transition *tr)
{
	struct story *st = story_of(tr->inst.key);

	st->due = tr->inst.due;
	st->state = tr->inst.state;
	st->reason = tr->inst.reason;
	if (tr->event == EV_SATISFY && st->satisfied_us == INT64_MAX)
		st->satisfied_us = tr->at_us;
	if (state_final((enum state)tr->to))
		st->end_us = tr->at_us;
	if (tr->event == EV_KILL && tr->to == ST_WAITKILL && !(tr->inst.flags & IF_SPREAD)) {
		struct run killed = { .key = tr->inst.key, .token = tr->inst.token };
		report(&killed, ASK_ENDED, AE_FAILED); /* dead at once; its own end is stale then */
	}
	if (tr->event != EV_GRANT)
		return;
	st->start_us = tr->at_us;
	struct inst_key key = { tr->inst.key.run_date, tr->inst.key.task, 0 };
	struct story *whole = story_of(key); /* it begins with its first part */
	if (tr->inst.key.part > 0 && whole->start_us > tr->at_us)
		whole->start_us = tr->at_us;
	struct run *r = mem_new(sizeof *r);
	heap_node_init(&r->node);
	r->key = tr->inst.key;
	r->token = tr->inst.token;
	heap_set(&s.jobs, &r->node, wall_us + duration_of(r->key.task));
	report(r, ASK_STARTED, AE_OK);
}

static void turn(void *self)
{
	(void)self;
	for (const struct transition *tr; (tr = stream_peek(s.in)); stream_next(s.in))
		if (tr->kind == TK_INSTANCE)
			fold(tr);
}

static int init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static const struct actor_ops ops = {
	.name = "agree", .letters_max = 1 << 20, .init = init, .turn = turn
};

static void on_fatal(void *ctx, const struct err *err)
{
	(void)ctx;
	die("fatal", err->text);
}

/* A loader of the type, with room for all. */
static void open_session(uint32_t number, const char *name, const char *type)
{
	struct session_news *n = mem_new(sizeof *n);

	n->session = n->broker = number;
	n->accepts = true;
	n->type = mem_str(type);
	n->broker_name = mem_str(name);
	n->groups = mem_array(1, sizeof *n->groups);
	n->limit = LIMIT;
	CHECK(sorter_session(s.sorter, n) == 0);
}

static void start(void)
{
	struct ledger_settings set = { .ring_slots = 32768,
		                       .batch_max = 4096,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = EPOCH_S * US_PER_S,
		                       .fatal = on_fatal };
	struct commander_settings cset = { 1000, "UTC" };
	struct maintainer_settings mset = { .lose_us = EPOCH_S * US_PER_S,
		                            .kill_extra_us = US_PER_S };
	struct err err = { 0 };

	s.th = thread_new("agree", &virtual);
	s.me = actor_new(s.th, &ops, &s);
	heap_init(&s.jobs);
	if (store_open("mem:", &s.store, &err) < 0 ||
	    definitions_load(s.store, "UTC", NULL, 0, &s.defs, &err) < 0 ||
	    ledger_new(&(struct ledger_start){ .thread = s.th,
	                                       .store = s.store,
	                                       .who = "agree",
	                                       .set = &set,
	                                       .tasks = s.defs.tasks,
	                                       .rows = s.defs.rows,
	                                       .n_tasks = s.defs.n },
	               &s.ledger, &err) < 0)
		die("start", err.text);
	s.resolver = resolver_new(s.th, s.ledger);
	s.sorter = sorter_new(s.th, s.ledger);
	s.instantiator = instantiator_new(s.th, s.ledger);
	s.maintainer = maintainer_new(s.th, s.ledger, &mset);
	if (commander_new(s.th, s.ledger, s.store, &cset, &s.commander, &err) < 0)
		die("start", err.text);
	s.in = stream_reader_new(ledger_stream(s.ledger), STREAM_OUTER, s.me);
	CHECK(thread_sim_start(s.th, &err) == 0);
	open_session(1, "b", "noop");
	open_session(2, "n1", "noop");
	open_session(3, "n2", "noop");
	thread_sim_run(s.th);
}

static void stop(void)
{
	thread_stop(s.th);
	commander_free(s.commander);
	maintainer_free(s.maintainer);
	instantiator_free(s.instantiator);
	sorter_free(s.sorter);
	resolver_free(s.resolver);
	ledger_free(s.ledger);
	thread_free(s.th);
	definitions_done(&s.defs);
	store_close(s.store);
	for (struct heap_node *n; (n = heap_top(&s.jobs));) {
		heap_remove(&s.jobs, n);
		free(n);
	}
	heap_done(&s.jobs);
	free(stories);
}

static void answered(struct letter *l, void *self)
{
	struct client_request *r = (struct client_request *)l;

	(void)self;
	if (r->code < 0)
		die(r->text, r->body ? r->body : "");
	s.applied = true;
	client_request_free(r);
}

static void apply(void)
{
	struct buf args;
	char part[65536];

	buf_init(&args);
	for (size_t n; (n = fread(part, 1, sizeof part, stdin)) > 0;)
		buf_put(&args, part, n);
	struct client_request *r = client_request_new("apply", buf_str(&args), args.len);
	r->reply_to = s.me;
	r->answered = answered;
	r->request_id = mem_str("apply");
	r->actor = mem_str("agree");
	CHECK(commander_command(s.commander, r) == 0);
	buf_done(&args);
	for (int i = 0; i < 100 && !s.applied; i++) {
		thread_sim_run(s.th);
		wall_us += 1000;
	}
	if (!s.applied)
		die("apply", "no answer");
}

static void play(int64_t to_us)
{
	while (wall_us < to_us) {
		struct heap_node *top = heap_top(&s.jobs);
		int64_t alarm = thread_sim_next_us(s.th), next = to_us;
		if (alarm != ALARM_OFF && alarm + base_us - 1 < next)
			next = alarm + base_us - 1;
		if (top && top->key < next)
			next = top->key;
		wall_us = next > wall_us ? next : wall_us;
		while ((top = heap_top(&s.jobs)) && top->key <= wall_us) {
			heap_remove(&s.jobs, top);
			report((struct run *)top, ASK_ENDED, AE_OK);
			free(top);
		}
		thread_sim_run(s.th);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return fprintf(stderr, "usage: agree FROM_S TO_S [TASK=US]... < apply.json\n"), 2;
	log_open("agree", LOG_ERROR);
	base_us = wall_us = strtoll(argv[1], NULL, 10) * US_PER_S;
	s.durations = argv + 3;
	s.n_durations = (size_t)argc - 3;
	start();
	apply();
	play(strtoll(argv[2], NULL, 10) * US_PER_S);
	for (size_t i = 0; i < n_stories; i++) {
		const struct story *st = &stories[i];
		if (st->key.part == 0)
			printf("%s %" PRId64 " %" PRId64 " %s %s %" PRId64 " %" PRId64 " %" PRId64
			       "\n",
			       name_of(st->key.task), st->key.run_date, st->due,
			       state_name((enum state)st->state),
			       *reason_name((enum reason)st->reason)
			               ? reason_name((enum reason)st->reason)
			               : "-",
			       st->satisfied_us, st->start_us, st->end_us);
	}
	stop();
	return 0;
}
