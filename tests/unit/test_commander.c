/* The commander against a real ledger and the store in memory, on one thread. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "baseserver/commander.h"
#include "baseserver/definitions.h"
#include "baseserver/ledger.h"
#include "baseserver/letters.h"
#include "rt/thread.h"
#include "sched/task.h"
#include "store/mem.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

/* 2026-03-10 00:00:30 UTC */
#define NOW_S INT64_C(1773100830)
#define DAY(n) (INT64_C(1772323200) + ((n) - 1) * 86400) /* of March 2026 */

static int64_t mono_now = 1000000;

static int64_t mono(void *ctx)
{
	(void)ctx;
	return mono_now;
}

static int64_t wall(void *ctx)
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
	struct definitions defs;
	struct front front;
	struct actor *me;
	struct client_request *answer; /* the last one */
	size_t answers;
	int32_t code; /* of the last proposal */
};

static int me_init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static const struct actor_ops me_ops = { .name = "test", .letters_max = 1000, .init = me_init };

static void on_fatal(void *ctx, const struct err *err)
{
	(void)ctx;
	fail_msg("fatal: %s", err->text);
}

static void place_start(struct place *p, size_t batch)
{
	struct ledger_settings set = { .ring_slots = 16384, .batch_max = 4096, .window_us = 1000,
		                       .retry_us = 1000, .epoch_us = 1000 * US_PER_S,
		                       .fatal = on_fatal };
	struct commander_settings cset = { batch, "UTC" };
	struct err err = { 0 };

	p->th = thread_new("test", &test_clock);
	p->me = actor_new(p->th, &me_ops, p);
	if (definitions_load(p->store, "UTC", &p->defs, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(ledger_new(p->th, p->store, "test", &set, p->defs.tasks, p->defs.rows,
	                            p->defs.n, &p->ledger, &err), 0);
	if (commander_new(p->th, p->ledger, p->store, &cset, &p->commander, &err) < 0)
		fail_msg("%s", err.text);
	p->front = (struct front){ .commander = p->commander, .ledger = p->ledger };
	commander_set_front(p->commander, &p->front);
	assert_int_equal(thread_sim_start(p->th, &err), 0);
	thread_sim_run(p->th);
}

static void place_stop(struct place *p)
{
	thread_stop(p->th);
	commander_free(p->commander);
	ledger_free(p->ledger);
	thread_free(p->th);
	definitions_done(&p->defs);
}

static void place_crash(struct place *p, size_t batch)
{
	struct store *next;

	store_mem_crash(p->store, &next);
	place_stop(p);
	store_close(p->store);
	p->store = next;
	place_start(p, batch);
}

static struct place *place_new(size_t batch)
{
	struct place *p = mem_new(sizeof *p);

	assert_int_equal(store_open("mem:", &p->store, NULL), 0);
	place_start(p, batch);
	return p;
}

static void place_free(struct place *p)
{
	place_stop(p);
	store_close(p->store);
	client_request_free(p->answer);
	free(p);
}

static void answered(struct letter *l, void *self)
{
	struct place *p = self;

	client_request_free(p->answer);
	p->answer = (struct client_request *)l;
	p->answers++;
}

static void run(struct place *p)
{
	for (int i = 0; i < 100; i++) {
		thread_sim_run(p->th);
		mono_now += 11 * US_PER_MS;
	}
}

static void post(struct place *p, const char *kind, const char *args, const char *id, bool dry)
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

static const char *body(const struct place *p)
{
	return p->answer && p->answer->body ? p->answer->body : "";
}

static int command_id(struct place *p, const char *kind, const char *args, const char *id, bool dry)
{
	size_t before = p->answers;

	post(p, kind, args, id, dry);
	run(p);
	if (p->answers != before + 1)
		fail_msg("%s %s: no answer", kind, args);
	return p->answer->code;
}

static int command(struct place *p, const char *kind, const char *args)
{
	return command_id(p, kind, args, NULL, false);
}

static int dry(struct place *p, const char *kind, const char *args)
{
	return command_id(p, kind, args, NULL, true);
}

static int query(struct place *p, const char *kind, const char *args)
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

static void ok(struct place *p, int code)
{
	if (code < 0)
		fail_msg("%s: %s %s", err_name(code), p->answer->text, body(p));
}

static void has(const struct place *p, const char *part)
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

static int apply_text(struct place *p, const char *text, const char *more, bool is_dry)
{
	char args[8192];
	size_t n = (size_t)snprintf(args, sizeof args,
	                            "{%s\"documents\": [{\"name\": \"shop.yaml\", \"text\": \"", more);

	for (; *text; text++)
		n += (size_t)snprintf(args + n, sizeof args - n, *text == '\n' ? "\\n" : "%c", *text);
	snprintf(args + n, sizeof args - n, "\"}]}");
	return command_id(p, "apply", args, NULL, is_dry);
}

static void apply(struct place *p, const char *text)
{
	ok(p, apply_text(p, text, "", false));
}

static void each_state(void *ctx, const struct instance *i, uint32_t slot)
{
	size_t *counts = ctx;

	(void)slot;
	counts[i->state]++;
}

static size_t live(struct place *p, enum state st)
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

static void each_task(void *ctx, const struct ledger_task *t)
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

static struct finding look(struct place *p, const char *name, int64_t date)
{
	struct finding f = { .name = name, .date = date };

	ledger_each_task(p->ledger, each_task, &f);
	return f;
}

static struct inst_key key_of(struct place *p, const char *name, int64_t date)
{
	return (struct inst_key){ date, look(p, name, date).task, 0 };
}

static void proposed(struct letter *l, void *self)
{
	struct place *p = self;
	struct answers *as = (struct answers *)l;

	p->code = as->n ? as->a[0].code : 0;
	free(as);
}

static void propose(struct place *p, enum ask ask, struct inst_key key)
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
static struct inst_key start_one(struct place *p, const char *name, int64_t date)
{
	struct inst_key key = key_of(p, name, date);

	propose(p, ASK_CREATE, key);
	propose(p, ASK_SATISFY, key);
	propose(p, ASK_GRANT, key);
	return key;
}

static enum state state_of(struct place *p, struct inst_key key)
{
	struct instance i;

	return ledger_find(p->ledger, key, &i) ? (enum state)i.state : ST_NONE;
}

/* --- documents ------------------------------------------------------------------------- */

static void documents_make_tasks_that_outlive_a_restart(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	has(p, "\"state\":\"done\"");
	has(p, "\"name\":\"p/shop/day\",\"change\":\"create\"");
	uint32_t id = look(p, "p/shop/day", 0).task;
	assert_true(look(p, "p/shop/day", 0).online);
	place_crash(p, 1000);
	assert_int_equal(look(p, "p/shop/day", 0).task, id);
	assert_true(look(p, "p/shop/day", 0).online);
	apply(p, shop);
	has(p, "\"name\":\"p/shop\",\"change\":\"same\",\"version\":1");
	place_free(p);
}

static void documents_are_tried_without_effect(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	ok(p, apply_text(p, shop, "", true));
	has(p, "\"dry_run\":true");
	has(p, "\"change\":\"create\"");
	assert_int_equal(look(p, "p/shop/day", 0).task, 0);
	place_free(p);
}

static void documents_that_are_wrong_say_where(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	assert_int_equal(apply_text(p, "workflow: shop\ntasks:\n  a: {tipe: noop}\n", "", false),
	                 E_INVALID);
	has(p, "\"line\":3");
	has(p, "\"file\":\"shop.yaml\"");
	place_free(p);
}

static void documents_changes_are_named(void **state)
{
	static const char text[] = "workflow: shop\nproject: p\nowner: li\nstart_date: 2026-03-01\n"
	                           "tasks:\n  hours: {type: noop, cycle: hour, priority: 7}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	assert_int_equal(apply_text(p, text, "", false), E_CONFLICT);
	ok(p, apply_text(p, text, "\"retire\": true, ", false));
	has(p, "\"name\":\"p/shop/hours\",\"change\":\"update\"");
	has(p, "{\"field\":\"priority\",\"before\":null,\"after\":\"7\"}");
	has(p, "\"name\":\"p/shop/day\",\"change\":\"retire\"");
	place_crash(p, 1000);
	assert_int_equal(look(p, "p/shop/day", 0).task, 0);
	assert_int_not_equal(look(p, "p/shop/hours", 0).task, 0);
	place_free(p);
}

/* --- instances ---------------------------------------------------------------------------- */

#define DAYS_1_TO_3 "\"selection\": {\"tasks\": [\"p/shop/day\"], \"from\": \"2026-03-01\", " \
	            "\"to\": \"2026-03-03\"}"

static void force_success_makes_rows(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success", "{" DAYS_1_TO_3 "}"));
	has(p, "\"state\":\"done\"");
	has(p, "\"total\":3,\"done\":3,\"failed\":0");
	assert_int_equal(look(p, "p/shop/day", DAY(2)).state, ST_SUCC);
	assert_int_equal(look(p, "p/shop/day", DAY(4)).state, ST_NONE);
	place_free(p);
}

static void a_repeated_request_has_no_second_effect(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success", "{" DAYS_1_TO_3 "}"));
	ok(p, command_id(p, "redo", "{" DAYS_1_TO_3 "}", "once", false));
	char *first = mem_str(body(p));
	ok(p, command(p, "force-success", "{" DAYS_1_TO_3 "}"));
	ok(p, command_id(p, "redo", "{" DAYS_1_TO_3 "}", "once", false));
	assert_string_equal(body(p), first);
	assert_int_equal(look(p, "p/shop/day", DAY(1)).state, ST_SUCC);
	assert_int_equal(command_id(p, "redo", "{" DAYS_1_TO_3 ", \"priority\": 3}", "once", false),
	                 E_CONFLICT);
	place_crash(p, 1000);
	ok(p, command_id(p, "redo", "{" DAYS_1_TO_3 "}", "once", false));
	assert_string_equal(body(p), first);
	free(first);
	place_free(p);
}

static void dry_runs_count_and_change_nothing(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, dry(p, "backfill", "{" DAYS_1_TO_3 "}"));
	has(p, "\"total\":3");
	has(p, "{\"task\":\"p/shop/day\",\"owner\":\"li\",\"count\":3,\"new\":3,\"running\":0}");
	assert_int_equal(live(p, ST_READY), 0);
	start_one(p, "p/shop/day", DAY(1));
	ok(p, dry(p, "force-success", "{" DAYS_1_TO_3 "}"));
	has(p, "\"total\":2");
	has(p, "\"code\":\"CONFLICT\",\"message\":\"an attempt runs, kill it first\"");
	place_free(p);
}

static void redo_reopens_downstream(void **state)
{
	static const char all[] = "{\"selection\": {\"workflow\": \"p/shop\", \"from\": \"2026-03-01\", "
	                          "\"to\": \"2026-03-05\"}}";
	static const char hour[] = "{\"selection\": {\"tasks\": [\"p/shop/hours\"], "
	                           "\"dates\": [\"2026-03-02 05:00\"]}, \"mode\": \"with_downstream\"}";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success", all));
	has(p, "\"total\":135,\"done\":135,\"failed\":0");
	ok(p, dry(p, "redo", hour));
	has(p, "\"total\":4");
	ok(p, command(p, "redo", hour));
	has(p, "\"total\":4,\"done\":4,\"failed\":0");
	assert_int_equal(live(p, ST_READY), 4);
	assert_int_equal(state_of(p, key_of(p, "p/shop/hours", DAY(2) + 5 * 3600)), ST_READY);
	assert_int_equal(state_of(p, key_of(p, "p/shop/day", DAY(2))), ST_READY);
	assert_int_equal(state_of(p, key_of(p, "p/shop/next", DAY(2))), ST_READY);
	assert_int_equal(state_of(p, key_of(p, "p/shop/later", DAY(3))), ST_READY);
	place_free(p);
}

static void redo_of_downstream_alone_leaves_the_chosen(void **state)
{
	static const char all[] = "{\"selection\": {\"workflow\": \"p/shop\", \"from\": \"2026-03-01\", "
	                          "\"to\": \"2026-03-05\"}}";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success", all));
	ok(p, command(p, "redo", "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"dates\": "
	                         "[\"2026-03-02\"]}, \"mode\": \"downstream\"}"));
	has(p, "\"total\":2,\"done\":2");
	assert_int_equal(look(p, "p/shop/day", DAY(2)).state, ST_SUCC);
	assert_int_equal(state_of(p, key_of(p, "p/shop/next", DAY(2))), ST_READY);
	place_free(p);
}

static void backfill_makes_rows_and_redoes_the_rest(void **state)
{
	struct place *p = place_new(1000);
	struct instance i;

	(void)state;
	apply(p, shop);
	ok(p, command(p, "force-success", "{\"selection\": {\"tasks\": [\"p/shop/day\"], "
	                                  "\"dates\": [\"2026-03-02\"]}}"));
	ok(p, command(p, "backfill", "{" DAYS_1_TO_3 ", \"finished\": \"leave\", \"priority\": 9}"));
	has(p, "\"total\":2,\"done\":2");
	assert_int_equal(live(p, ST_READY), 2);
	assert_true(ledger_find(p->ledger, key_of(p, "p/shop/day", DAY(1)), &i));
	assert_int_equal(i.origin, OR_BACKFILL);
	assert_int_equal(i.priority, 9);
	ok(p, command(p, "backfill", "{" DAYS_1_TO_3 "}"));
	has(p, "\"total\":1,\"done\":1");
	assert_true(ledger_find(p->ledger, key_of(p, "p/shop/day", DAY(2)), &i));
	assert_int_equal(i.generation, 2);
	place_free(p);
}

static void backfill_holds_back_what_is_over_its_cap(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "backfill", "{" DAYS_1_TO_3 ", \"parallel\": 1}"));
	has(p, "\"state\":\"running\"");
	assert_int_equal(live(p, ST_READY), 1);
	/* It waits for hours that nobody runs: after a while one more is let go. */
	run(p);
	run(p);
	assert_int_equal(live(p, ST_READY), 2);
	place_free(p);
}

static void backfill_goes_on_when_one_ends(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\n"
	                           "tasks:\n  a: {type: noop, cycle: day}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, text);
	post(p, "backfill", "{\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": \"2026-03-01\", \"to\": "
	                    "\"2026-03-03\"}, \"parallel\": 1, \"stop_on_failure\": true}", "b", false);
	thread_sim_run(p->th);
	assert_int_equal(state_of(p, key_of(p, "p/w/a", DAY(1))), ST_READY);
	propose(p, ASK_SATISFY, key_of(p, "p/w/a", DAY(1)));
	size_t before = live(p, ST_READY);
	run(p);
	assert_int_equal(live(p, ST_READY), before); /* one is active: nothing more is let go */
	ok(p, command(p, "kill", "{\"selection\": {\"tasks\": [\"p/w/a\"], \"states\": "
	                         "[\"DependenceFinish\"]}}"));
	ok(p, command_id(p, "backfill", "{\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": "
	                 "\"2026-03-01\", \"to\": \"2026-03-03\"}, \"parallel\": 1, "
	                 "\"stop_on_failure\": true}", "b", false));
	has(p, "\"state\":\"failed\"");
	has(p, "ended as Killed");
	place_free(p);
}

static void kill_skip_priority_freeze_and_the_like(void **state)
{
	static const char one[] = "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"dates\": "
	                          "[\"2026-03-01\"]}}";
	struct place *p = place_new(1000);
	struct instance i;

	(void)state;
	apply(p, shop);
	ok(p, command(p, "enqueue", one));
	struct inst_key key = key_of(p, "p/shop/day", DAY(1));
	assert_int_equal(state_of(p, key), ST_READY);
	ok(p, command(p, "priority", "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"states\": "
	                             "[\"Ready\"]}, \"priority\": 10}"));
	ok(p, command(p, "freeze", one));
	assert_true(ledger_find(p->ledger, key, &i));
	assert_int_equal(i.priority, 10);
	assert_true(i.flags & IF_FROZEN);
	ok(p, command(p, "unfreeze", one));
	ok(p, command(p, "run-now", one));
	assert_int_equal(state_of(p, key), ST_DEPEND);
	propose(p, ASK_GRANT, key);
	ok(p, command(p, "skip", one));
	has(p, "\"done\":1,\"failed\":1");
	ok(p, command(p, "kill", one));
	assert_int_equal(state_of(p, key), ST_WAITKILL);
	ok(p, command(p, "declare-dead", one));
	has(p, "\"failed\":1");
	place_free(p);
}

static void a_hanged_one_is_declared_dead(void **state)
{
	struct place *p = place_new(1000);
	struct instance i;

	(void)state;
	apply(p, shop);
	struct inst_key key = start_one(p, "p/shop/day", DAY(1));
	assert_true(ledger_find(p->ledger, key, &i));
	struct proposals *ps = proposals_new(PR_SORTER, 1, p->me, proposed);
	proposals_add(ps, ASK_HANG, key)->token = i.token;
	assert_int_equal(ledger_propose(p->ledger, ps), 0);
	run(p);
	assert_int_equal(state_of(p, key), ST_HANGED);
	ok(p, command(p, "declare-dead", "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"states\": "
	                                 "[\"Hanged\"]}}"));
	assert_int_equal(look(p, "p/shop/day", DAY(1)).state, ST_KILLED);
	place_free(p);
}

/* --- tasks ----------------------------------------------------------------------------------- */

static void offline_skips_what_waits_and_is_refused_with_children(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	ok(p, command(p, "enqueue", "{\"selection\": {\"tasks\": [\"p/shop/later\"], \"dates\": "
	                            "[\"2026-03-01\"]}}"));
	assert_int_equal(command(p, "offline", "{\"selection\": {\"tasks\": [\"p/shop/day\"]}}"),
	                 E_CONFLICT);
	assert_non_null(strstr(p->answer->text, "p/shop/next is online and depends on p/shop/day"));
	ok(p, command(p, "offline", "{\"selection\": {\"workflow\": \"p/shop\"}}"));
	has(p, "\"state\":\"done\"");
	assert_false(look(p, "p/shop/day", 0).online);
	assert_int_equal(look(p, "p/shop/later", DAY(1)).state, ST_SKIPPED);
	ok(p, command(p, "online", "{\"selection\": {\"tasks\": [\"p/shop/*\"]}}"));
	assert_true(look(p, "p/shop/day", 0).online);
	ok(p, command(p, "freeze", "{\"selection\": {\"tasks\": [\"p/shop/day\"]}}"));
	assert_true(look(p, "p/shop/day", 0).frozen);
	place_crash(p, 1000);
	assert_true(look(p, "p/shop/day", 0).frozen);
	place_free(p);
}

static void retire_takes_tasks_out_for_good(void **state)
{
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	uint32_t id = look(p, "p/shop/later", 0).task;
	ok(p, command(p, "enqueue", "{\"selection\": {\"tasks\": [\"p/shop/later\"], \"dates\": "
	                            "[\"2026-03-01\"]}}"));
	ok(p, command(p, "retire", "{\"selection\": {\"tasks\": [\"p/shop/later\"]}}"));
	run(p);
	assert_int_equal(command(p, "freeze", "{\"selection\": {\"tasks\": [\"p/shop/later\"]}}"),
	                 E_NOT_FOUND);
	place_crash(p, 1000);
	assert_int_equal(look(p, "p/shop/later", 0).task, 0);
	apply(p, shop); /* its document still names it, unchanged: it comes back under its number */
	assert_int_equal(look(p, "p/shop/later", 0).task, id);
	place_free(p);
}

/* --- commands about commands -------------------------------------------------------------------- */

static void a_restart_goes_on_from_the_cursor(void **state)
{
	static const char all[] = "{\"selection\": {\"tasks\": [\"p/shop/hours\"], \"from\": "
	                          "\"2026-03-01\", \"to\": \"2026-03-09\"}}";
	struct place *p = place_new(10);

	(void)state;
	apply(p, shop);
	post(p, "backfill", all, "big", false);
	/* No commit after the first few: the process dies in the middle. */
	store_mem_fail(p->store, 6, 1000, E_BUSY, STORE_FAULT_BEFORE);
	run(p);
	place_crash(p, 10);
	run(p);
	assert_int_equal(live(p, ST_READY), 9 * 24);
	ok(p, command_id(p, "backfill", all, "big", false));
	has(p, "\"state\":\"done\"");
	has(p, "\"failed\":0");
	place_free(p);
}

static void pause_resume_cancel(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2026-03-01\n"
	                           "tasks:\n  a: {type: noop, cycle: day}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, text);
	post(p, "backfill", "{\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": \"2026-03-01\", \"to\": "
	                    "\"2026-03-05\"}, \"parallel\": 1}", "b", false);
	thread_sim_run(p->th);
	propose(p, ASK_SATISFY, key_of(p, "p/w/a", DAY(1)));
	ok(p, command(p, "command-pause", "{\"command\": \"2\"}"));
	ok(p, query(p, "command", "{\"command\": \"2\"}"));
	has(p, "\"state\":\"paused\"");
	ok(p, command(p, "command-resume", "{\"command\": \"2\"}"));
	ok(p, query(p, "command", "{\"command\": \"2\"}"));
	has(p, "\"state\":\"running\"");
	ok(p, command(p, "command-cancel", "{\"command\": \"2\"}"));
	ok(p, query(p, "command", "{\"command\": \"2\"}"));
	has(p, "\"state\":\"cancelled\"");
	assert_int_equal(live(p, ST_READY) + live(p, ST_DEPEND), 0);
	assert_int_equal(command(p, "command-pause", "{\"command\": \"2\"}"), E_CONFLICT);
	assert_int_equal(command(p, "command-pause", "{\"command\": \"99\"}"), E_NOT_FOUND);
	place_free(p);
}

static void many_instances_go_in_batches(void **state)
{
	static const char text[] = "workflow: w\nproject: p\nstart_date: 2024-01-01\n"
	                           "tasks:\n  a: {type: noop, cycle: hour}\n";
	struct place *p = place_new(1000);

	(void)state;
	apply(p, text);
	ok(p, command_id(p, "force-success", "{\"selection\": {\"tasks\": [\"p/w/a\"], \"from\": "
	                 "\"2024-01-01\", \"to\": \"2025-12-31\"}}", "many", false));
	for (int i = 0; i < 50 && !strstr(body(p), "\"state\":\"done\""); i++)
		ok(p, query(p, "command", "{\"command\": \"2\"}"));
	has(p, "\"total\":17544,\"done\":17544,\"failed\":0");
	place_free(p);
}

/* --- what is refused --------------------------------------------------------------------------- */

static void wrong_arguments_are_named(void **state)
{
	static const struct {
		const char *kind, *args;
		int code;
		const char *says;
	} rows[] = {
		{ "redoo", "{}", E_INVALID, "is this meant: redo" },
		{ "redo", "{", E_INVALID, "JSON, line 1" },
		{ "redo", "{\"selection\": {}, \"selection\": {}}", E_INVALID, "was there before" },
		{ "redo", "{\"selectoin\": {}}", E_INVALID, "is selection meant?" },
		{ "redo", "{}", E_INVALID, "names no task" },
		{ "redo", "{\"selection\": {\"tasks\": [\"p/shop/day\"]}}", E_INVALID,
		  "dates or states are missing" },
		{ "redo", "{\"selection\": {\"tasks\": [\"p/shop/dya\"], \"from\": \"2026-03-01\"}}",
		  E_NOT_FOUND, "is this meant: p/shop/day" },
		{ "redo", "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"from\": \"yesterday\"}}",
		  E_INVALID, "args.selection.from: 'yesterday' is no instant" },
		{ "redo", "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"states\": [\"Suc\"]}}",
		  E_INVALID, "is this meant: Succ" },
		{ "redo", "{" DAYS_1_TO_3 ", \"mode\": \"all\"}", E_INVALID,
		  "'all' is none of self, with_downstream, downstream" },
		{ "redo", "{" DAYS_1_TO_3 ", \"running\": \"wait\"}", E_UNSUPPORTED, "args.running" },
		{ "redo", "{" DAYS_1_TO_3 ", \"priority\": 11}", E_INVALID, "11 is not in 1 to 10" },
		{ "redo", "{" DAYS_1_TO_3 "}", E_NOT_FOUND, "nothing is selected" },
		{ "priority", "{" DAYS_1_TO_3 "}", E_INVALID, "args.priority: is missing" },
		{ "backfill", "{\"selection\": {\"tasks\": [\"p/shop/day\"], \"dates\": "
		              "[\"2026-03-01 05:00\"]}}", E_INVALID, "not a planned date" },
		{ "backfill", "{" DAYS_1_TO_3 ", \"off_plan\": true}", E_UNSUPPORTED, "args.off_plan" },
		{ "backfill", "{" DAYS_1_TO_3 ", \"dependencies\": \"ignore\"}", E_UNSUPPORTED, "ignore" },
		{ "kill", "{" DAYS_1_TO_3 ", \"grace_ms\": 5}", E_UNSUPPORTED, "args.grace_ms" },
		{ "offline", "{" DAYS_1_TO_3 "}", E_INVALID, "acts on tasks" },
		{ "offline", "{\"selection\": {\"workflow\": \"p/shop\"}, \"detach\": true}",
		  E_UNSUPPORTED, "args.detach" },
		{ "log-level", "{}", E_INVALID, "args.level: is missing" },
		{ "apply", "{\"documents\": []}", E_INVALID, "1 to 100 documents" },
		{ "command-pause", "{\"command\": 2}", E_INVALID, "number in quotes" },
		{ "kill", "{\"selection\": {\"instances\": [{\"id\": \"x\"}]}}", E_INVALID,
		  "'x' is no instance's id" },
		{ "kill", "{\"selection\": {\"instances\": [{\"id\": \"1.2\"}], \"tasks\": []}}",
		  E_INVALID, "excludes every other key" },
	};
	struct place *p = place_new(1000);

	(void)state;
	apply(p, shop);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int code = command(p, rows[i].kind, rows[i].args);
		if (code != rows[i].code || !strstr(p->answer->text, rows[i].says))
			fail_msg("%s %s: %s, %s", rows[i].kind, rows[i].args, err_name(code),
			         p->answer->text);
	}
	place_free(p);
}

/* --- queries ------------------------------------------------------------------------------------- */

static void queries_answer(void **state)
{
	struct place *p = place_new(1000);
	static const char *const kinds[] = { "server", "health", "metrics", "queues" };

	(void)state;
	apply(p, shop);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		ok(p, query(p, kinds[i], ""));
	ok(p, query(p, "instance", "{\"instance\": {\"task\": \"p/shop/day\", \"run_date\": "
	                           "\"2026-03-01\"}}"));
	has(p, "\"live\":false,\"planned\":true");
	start_one(p, "p/shop/day", DAY(1));
	ok(p, query(p, "instance", "{\"instance\": {\"task\": \"p/shop/day\", \"run_date\": "
	                           "\"2026-03-01\"}}"));
	has(p, "\"live\":true,\"state\":\"Running\"");
	ok(p, query(p, "why", "{\"instance\": {\"task\": \"p/shop/day\", \"run_date\": "
	                      "\"2026-03-01\"}}"));
	has(p, "\"gate\":0");
	ok(p, query(p, "why", "{\"instance\": {\"task\": \"p/shop/day\", \"run_date\": "
	                      "\"2027-03-01\"}}"));
	has(p, "\"gate\":3,\"gate_name\":\"due\",\"line\":\"due 2027-03-01T00:00:00Z\"");
	ok(p, query(p, "why", "{\"instance\": {\"task\": \"p/shop/day\", \"run_date\": "
	                      "\"2026-03-01 05:00\"}}"));
	has(p, "\"state\":\"unplanned\"");
	assert_int_equal(query(p, "instance", "{\"instance\": {\"task\": \"p/shop/x\", \"run_date\": "
	                                      "\"2026-03-01\"}}"), E_NOT_FOUND);
	assert_int_equal(query(p, "whi", "{}"), E_INVALID);
	place_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_make_tasks_that_outlive_a_restart),
		cmocka_unit_test(documents_are_tried_without_effect),
		cmocka_unit_test(documents_that_are_wrong_say_where),
		cmocka_unit_test(documents_changes_are_named),
		cmocka_unit_test(force_success_makes_rows),
		cmocka_unit_test(a_repeated_request_has_no_second_effect),
		cmocka_unit_test(dry_runs_count_and_change_nothing),
		cmocka_unit_test(redo_reopens_downstream),
		cmocka_unit_test(redo_of_downstream_alone_leaves_the_chosen),
		cmocka_unit_test(backfill_makes_rows_and_redoes_the_rest),
		cmocka_unit_test(backfill_holds_back_what_is_over_its_cap),
		cmocka_unit_test(backfill_goes_on_when_one_ends),
		cmocka_unit_test(kill_skip_priority_freeze_and_the_like),
		cmocka_unit_test(a_hanged_one_is_declared_dead),
		cmocka_unit_test(offline_skips_what_waits_and_is_refused_with_children),
		cmocka_unit_test(retire_takes_tasks_out_for_good),
		cmocka_unit_test(a_restart_goes_on_from_the_cursor),
		cmocka_unit_test(pause_resume_cancel),
		cmocka_unit_test(many_instances_go_in_batches),
		cmocka_unit_test(wrong_arguments_are_named),
		cmocka_unit_test(queries_answer),
	};

	log_open("test", LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
