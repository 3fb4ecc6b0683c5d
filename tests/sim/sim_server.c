/* The server's process under the simulator: real actors on our threads, over a store in
 * memory that outlives them. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander.h"
#include "baseserver/keep/maintainer.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/ledger/warm.h"
#include "baseserver/plan/instantiator.h"
#include "baseserver/plan/resolver.h"
#include "baseserver/sort/sorter.h"
#include "rt/thread.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sim.h"
#include "store/mem.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

static bool up, dying;
static struct store *store;
static struct ledger *ledger;
static struct resolver *resolver;
static struct sorter *sorter;
static struct instantiator *instantiator;
static struct maintainer *maintainer;
static struct commander *commander;
static struct front front;

/* A standby's picture of the store; every so many steps it looks at a few rows. */
enum { FOLLOW_STEPS = 97, FOLLOW_ROWS = 9 };
static struct warm *warm;
static unsigned follow_at;

static void on_fatal(void *ctx, const struct err *err)
{
	(void)ctx;
	note("fatal: %s", err->text);
	dying = true;
}

static int each_row(void *ctx, const struct store_task *t)
{
	struct store_task *rows = ctx;

	CHECK(t->id >= 1 && t->id <= TASKS);
	rows[t->id - 1] = *t;
	return 0;
}

static void publish_tasks(void)
{
	struct edit *e = mem_new(sizeof *e);

	e->tasks = mem_array(TASKS, sizeof *e->tasks);
	e->rows = mem_array(TASKS, sizeof *e->rows);
	for (uint32_t i = 0; i < TASKS; i++) {
		e->tasks[i] = task_ref(task_now(i + 1));
		e->rows[i] = (struct store_task){ .id = i + 1,
			                          .workflow_id = 1,
			                          .name = task_now(i + 1)->name,
			                          .version = 1,
			                          .state = TS_ONLINE,
			                          .planned_through = INT64_MIN,
			                          .online_from = plan_begin(
							  task_now(i + 1)->plan) };
	}
	e->n_tasks = TASKS;
	if (ledger_edit(ledger, e) < 0)
		edit_free(e);
}

/* The definitions that the store's rows speak of. */
static size_t load_tasks(struct task *ret_tasks[TASKS], struct store_task rows[TASKS])
{
	struct err err = { 0 };

	CHECK(store_load_tasks(store, each_row, rows, &err) == 0);
	if (rows[0].id == 0)
		return 0;
	for (uint32_t i = 0; i < TASKS; i++) {
		const struct task *t = task_version(i + 1, rows[i].version);
		CHECK(t);
		check_task(t, &rows[i]);
		t = task_version(i + 1, rows[i].version); /* by the begin of its row */
		ret_tasks[i] = (struct task *)(uintptr_t)t;
		rows[i].name = t->name;
	}
	return TASKS;
}

static void follow(void)
{
	struct store_lease now;
	struct store *beside;
	struct err err = { 0 };

	if (++follow_at % FOLLOW_STEPS)
		return;
	if (!warm)
		warm = warm_new(FOLLOW_ROWS);
	store_mem_share(store, &beside);
	CHECK(store_lease(beside, &now, &err) == 0);
	CHECK(warm_follow(warm, beside, now.number, 0, &err) == 0);
	store_close(beside);
}

/* When no server led, by our own notes: what waited then is due so much later. A server's last
 * sign of life may be as old as who waits for it lets it be, or as its disk is full; less than a
 * second is not minded. */
static struct away {
	uint64_t number;
	int64_t from_us, to_us, unseen_us;
} * aways;
static size_t n_aways;
static bool disk_fails; /* this server's did */
enum { UNSEEN_US = EPOCH_US + LEAD_US, FULL_US = 10 * SEC, UNMINDED_US = SEC };

static void away_begins(void)
{
	uint32_t epoch;
	struct away a = { .from_us = wall_of(now_us),
		          .unseen_us = UNSEEN_US + (disk_fails ? FULL_US : 0) };

	CHECK(store_position(store, &a.number, &epoch, NULL) == 0);
	aways = mem_grow(aways, n_aways + 1, sizeof *aways);
	aways[n_aways++] = a;
}

/* The effective due that a row of the store has by now: at least, or at most. */
static int64_t away_due(const struct instance *i, bool at_most)
{
	bool waits = i->state == ST_READY || i->state == ST_DEPEND || i->state == ST_FAILED ||
	             (i->state == ST_RUNNING && !(i->flags & IF_STARTED));
	int64_t due = i->eff_due_us;

	for (size_t k = 0; waits && k < n_aways; k++) {
		const struct away *a = &aways[k];
		int64_t from = at_most ? a->from_us - a->unseen_us : a->from_us;
		if (a->number < i->last_number || (!at_most && a->to_us - from <= UNMINDED_US))
			continue;
		if (due < from)
			due += a->to_us - from;
		else if (due < a->to_us)
			due = a->to_us;
	}
	return due;
}

int64_t server_due(const struct instance *i)
{
	return away_due(i, true);
}

static bool due_is_right(const struct instance *stored, int64_t due_us)
{
	return swarm.wall_jumps ||
	       (due_us >= away_due(stored, false) && due_us <= away_due(stored, true));
}

static int each_stored(void *ctx, const struct instance *row)
{
	struct instance now = { 0 };
	bool is_same = ledger_find(ledger, row->key, &now);

	(void)ctx;
	if (is_same && !due_is_right(row, now.eff_due_us))
		break_invariant("I25",
		                "after a take-over task %u at %lld, part %d is due %lld us later",
		                row->key.task, (long long)row->key.run_date, row->key.part,
		                (long long)(now.eff_due_us - row->eff_due_us));
	now.eff_due_us = row->eff_due_us;
#define COL(column, member, lo, hi) is_same = is_same && now.member == row->member;
#include "store/instance_cols.def"
#undef COL
	if (!is_same || now.slot != row->slot || now.state != row->state)
		break_invariant("I24",
		                "after a take-over task %u at %lld, part %d is not as stored",
		                row->key.task, (long long)row->key.run_date, row->key.part);
	return 0;
}

/* What the next leader took over from the picture is what the store has. */
static void check_warm(void)
{
	CHECK(store_load_live(store, each_stored, NULL, NULL) == 0);
	warm_free(warm);
	warm = NULL;
}

static bool open_ledger(void)
{
	struct ledger_settings set = { .ring_slots = swarm.ring_slots,
		                       .batch_max = 200,
		                       .window_us = 1000,
		                       .retry_us = 100 * MS,
		                       .epoch_us = EPOCH_US,
		                       .warm = warm,
		                       .writer = swarm.writer ? thread_of(AT_STORE) : NULL,
		                       .waits = swarm.writer,
		                       .fatal = on_fatal };
	struct store_task rows[TASKS] = { 0 };
	struct task *tasks[TASKS];
	struct err err = { 0 };
	size_t n = load_tasks(tasks, rows);

	if (n_aways)
		aways[n_aways - 1].to_us = wall_of(now_us);
	if (n)
		check_restart(store);
	if (ledger_new(&(struct ledger_start){ .thread = thread_of(AT_LEDGER),
	                                       .store = store,
	                                       .who = "sim",
	                                       .set = &set,
	                                       .tasks = tasks,
	                                       .rows = rows,
	                                       .n_tasks = n },
	               &ledger, &err) < 0) {
		break_invariant("P9", "the server does not start: %s", err.text);
		abort();
	}
	check_warm();
	return n == 0;
}

void server_start(void)
{
	struct maintainer_settings mset = { .lose_us = LOSE_US,
		                            .kill_extra_us = KILL_EXTRA_US,
		                            .save_numbers = 700,
		                            .beat_us = BEAT_US };
	struct err err = { 0 };

	if (!store)
		CHECK(store_open("mem:", &store, &err) == 0);
	threads_new();
	names_restarted();
	/* After minutes without a server slow threads have much to work off. */
	liveness_trouble(swarm.long_downs && swarm.apart ? 20 * SEC : 0);
	dying = disk_fails = false;
	bool first = open_ledger();
	resolver = resolver_new(thread_of(AT_RESOLVER), ledger);
	sorter = sorter_new(thread_of(AT_SORTER), ledger);
	if (swarm.sick) /* in no other story: those stay as they are */
		sorter_set_starts(sorter, NULL, PAUSE_US, PAUSE_MAX_US);
	instantiator = instantiator_new(thread_of(AT_PLAN), ledger);
	instantiator_set_rows_max(instantiator, swarm.rows_max);
	maintainer = maintainer_new(thread_of(AT_MAINTAIN), ledger, &mset);
	struct commander_settings cset = { .batch = 1 + rnd(chance(500) ? 4 : 60),
		                           .timezone = "UTC" };
	CHECK(commander_new(thread_of(AT_COMMAND), ledger, store, &cset, &commander, &err) == 0);
	front = (struct front){ .resolver = resolver }; /* it hears which dates a backfill has */
	commander_set_front(commander, &front);
	worker_start(thread_of(AT_WORKER));
	if (swarm.stands) /* in no other story: those stay as they are */
		maintainer_listens(maintainer, worker_actor());
	CHECK(threads_start(&err) == 0);
	up = true;
	if (first) {
		pools_make();
		publish_tasks();
	}
	note("server: epoch %u", ledger_epoch(ledger));
	check_epoch_taken(ledger_epoch(ledger));
	commands_restarted();
	server_run();
}

void server_stands(int64_t us)
{
	if (!up)
		return;
	note("server: stands still for %d ms", (int)(us / MS));
	threads_stand(us);
	liveness_trouble(us);
}

static void stop(void)
{
	threads_stop();
	commander_free(commander);
	maintainer_free(maintainer);
	instantiator_free(instantiator);
	sorter_free(sorter);
	resolver_free(resolver);
	ledger_free(ledger);
	threads_free();
	worker_stop();
	up = false;
}

static void back(void *a, uint64_t b)
{
	(void)a;
	(void)b;
	if (!up)
		server_start();
}

void server_crash(void)
{
	struct store *next;
	int64_t away = (int64_t)rnd(healing ? 100 : 4000) * MS;

	if (!up)
		return;
	if (!healing && swarm.long_downs && chance(scenario == SC_SILENCES ? 700 : 150))
		away = (1 + rnd(5)) * MINUTE;
	note("server: crash");
	check_trouble();
	stop();
	store_mem_crash(store, &next);
	store_close(store);
	store = next;
	away_begins();
	broker_server_lost();
	later(away, back, NULL, 0);
}

/* A standby on the same disk thought that we were dead. It does no more than that. */
void server_takeover(void)
{
	struct store *other;
	struct err err = { 0 };
	uint32_t epoch;

	store_mem_share(store, &other);
	CHECK(store_take_epoch(other, "standby", &epoch, &err) == 0);
	store_close(other);
	liveness_trouble(10 * SEC);
	note("epoch %u is taken by another", epoch);
	check_trouble();
	check_epoch_taken(epoch);
}

/* Who is away is followed by itself: only a server that is up and shows nothing is deposed here. */
bool server_lawful_takeover(void)
{
	static struct store_lease seen;
	static int64_t seen_us;
	struct store_lease now, mine = { .lease_ms = 1, .who = "standby" };
	struct store *other;
	struct err err = { 0 };
	uint32_t epoch = 0;
	bool took = false;

	if (!up)
		return false;
	store_mem_share(store, &other);
	CHECK(store_lease(other, &now, &err) == 0);
	if (now.epoch != seen.epoch || now.beat != seen.beat || now.number != seen.number ||
	    now_us < seen_us)
		seen_us = now_us;
	seen = now;
	if (now_us - seen_us > LEAD_US && now.epoch == ledger_epoch(ledger)) {
		took = store_take_lease(other, &seen, &mine, &epoch, &err) == 0;
		note("epoch %u is taken by a standby", epoch);
		if (ledger_may_speak(ledger, now_us))
			break_invariant("I23", "the lease of epoch %u was free while it spoke",
			                ledger_epoch(ledger));
		check_trouble();
		check_epoch_taken(epoch);
	}
	store_close(other);
	return took;
}

void server_end(void)
{
	if (up)
		stop();
	store_close(store);
	store = NULL;
	warm_free(warm);
	warm = NULL;
	follow_at = 0;
	free(aways);
	aways = NULL;
	n_aways = 0;
}

void server_disk_fails(void)
{
	disk_fails = true;
}

bool server_up(void)
{
	return up;
}

struct store *server_store(void)
{
	return store;
}

struct ledger *server_ledger(void)
{
	return ledger;
}

struct maintainer *server_maintainer(void)
{
	return maintainer;
}

struct sorter *server_sorter(void)
{
	return sorter;
}

struct commander *server_commander(void)
{
	return commander;
}

uint32_t ledger_epoch_now(void)
{
	return ledger_epoch(ledger);
}

void server_run(void)
{
	if (!up)
		return;
	threads_run(&dying);
	follow();
	if (dying)
		server_crash();
}

int64_t server_next_us(void)
{
	return up ? threads_next_us() : INT64_MAX;
}
