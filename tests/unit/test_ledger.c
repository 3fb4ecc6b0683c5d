/* baseserver/ledger: what it grants, refuses and answers, over a store in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "rt/thread.h"
#include "sched/task.h"
#include "store/mem.h"
#include "tests/unit/test_time.h"
#include "util/alloc.h"
#include "util/clock.h"

static int64_t now_us;

static int64_t mono(void *ctx)
{
	(void)ctx;
	return now_us + 1000;
}

static int64_t wall(void *ctx)
{
	(void)ctx;
	return now_us + 3600 * US_PER_S;
}

static const struct clock test_clock = { mono, wall, NULL };

/* A ledger with two tasks of every minute: 1, and 2 that waits for it. */
struct fixture {
	struct store *store;
	struct thread *th, *store_th; /* store_th: NULL without a writer */
	struct ledger *ledger;
	struct actor *me;
	struct stream_reader *in;
	struct answer last; /* the last answer by name, and how many */
	int answers, fatal;
};

static struct task_link link_to_1 = { .parent = 1, .kind = LK_SAME };

static struct task *task_new(uint32_t id, int concurrency)
{
	struct schedule s = {
		.unit = CU_MINUTE, .step = 1, .tz = zone("UTC"), .start = 0, .end = PLAN_NEVER
	};
	struct task *t = mem_new(sizeof *t);

	*t = (struct task){ .id = id,
		            .version = 1,
		            .workflow_id = 1,
		            .name = "p/w/t",
		            .type = "t",
		            .group = "",
		            .owner = "",
		            .run_as = "",
		            .priority = 5,
		            .max_attempts = 2,
		            .infra_max = 5,
		            .concurrency = concurrency };
	t->refs = 1;
	t->memory = t;
	t->links = &link_to_1;
	t->n_links = id == 2;
	assert_int_equal(plan_new(&s, &t->plan, NULL), 0);
	return t;
}

/* Both threads, until neither has anything to do. */
static void run(struct fixture *f)
{
	do {
		thread_sim_run(f->th);
		if (f->store_th)
			thread_sim_run(f->store_th);
	} while (f->store_th && thread_sim_busy(f->th));
}

static void put(struct fixture *f, const struct task *t, enum task_state state, bool frozen)
{
	struct edit *e = mem_new(sizeof *e);

	e->tasks = mem_array(1, sizeof *e->tasks);
	e->rows = mem_array(1, sizeof *e->rows);
	e->tasks[0] = task_ref(t);
	e->rows[0] = (struct store_task){ .id = t->id,
		                          .workflow_id = 1,
		                          .version = t->version,
		                          .state = (uint8_t)state,
		                          .frozen = frozen,
		                          .planned_through = INT64_MIN,
		                          .online_from = INT64_MIN };
	e->n_tasks = 1;
	assert_int_equal(ledger_edit(f->ledger, e), 0);
	run(f);
}

static int me_init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static void me_turn(void *self)
{
	struct fixture *f = self;

	while (stream_peek(f->in))
		stream_next(f->in);
}

static const struct actor_ops me_ops = {
	.name = "test", .letters_max = 1000, .init = me_init, .turn = me_turn
};

static void on_fatal(void *ctx, const struct err *err)
{
	(void)err;
	((struct fixture *)ctx)->fatal++;
}

static bool with_writer; /* the store is called on a thread of its own, f->store_th */

static void begin(struct fixture *f)
{
	struct ledger_settings set = { .ring_slots = 1024,
		                       .batch_max = 100,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = 1000000,
		                       .fatal = on_fatal,
		                       .fatal_ctx = f };
	struct task *one = task_new(1, 1), *two = task_new(2, 0);

	*f = (struct fixture){ 0 };
	now_us = 0;
	assert_int_equal(store_open("mem:", &f->store, NULL), 0);
	f->th = thread_new("test", &test_clock);
	if ((set.waits = with_writer))
		set.writer = f->store_th = thread_new("store", &test_clock);
	struct ledger_start from = { f->th, f->store, "test", &set, NULL, NULL, 0 };
	assert_int_equal(ledger_new(&from, &f->ledger, NULL), 0);
	f->me = actor_new(f->th, &me_ops, f);
	f->in = stream_reader_new(ledger_stream(f->ledger), STREAM_INNER, f->me);
	assert_int_equal(thread_sim_start(f->th, NULL), 0);
	if (with_writer)
		assert_int_equal(thread_sim_start(f->store_th, NULL), 0);
	put(f, one, TS_ONLINE, false);
	put(f, two, TS_ONLINE, false);
	task_unref(one);
	task_unref(two);
}

static void end(struct fixture *f)
{
	if (f->store_th)
		thread_stop(f->store_th);
	thread_stop(f->th);
	ledger_free(f->ledger);
	thread_free(f->store_th);
	thread_free(f->th);
	store_close(f->store);
}

static void on_answers(struct letter *l, void *self)
{
	struct fixture *f = self;
	struct answers *as = (struct answers *)l;

	for (size_t i = 0; i < as->n; i++) {
		f->last = as->a[i];
		f->answers++;
	}
	free(as);
}

/* Answered by name, as those outside are. */
static struct answer ask_full(struct fixture *f, struct proposal p)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f->me, on_answers);
	int before = f->answers;

	*proposals_add(ps, (enum ask)p.ask, p.key) = p;
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
	run(f);
	assert_int_equal(f->answers, before + 1);
	return f->last;
}

static struct inst_key key_of(uint32_t task, int64_t date)
{
	return (struct inst_key){ date, task, 0 };
}

static struct answer ask(struct fixture *f, enum ask what, struct inst_key key)
{
	return ask_full(f, (struct proposal){ .ask = (uint8_t)what,
	                                      .key = key,
	                                      .folded = UINT64_MAX,
	                                      .intent = KI_USER,
	                                      .reason = RE_USER,
	                                      .priority = 7,
	                                      .due = key.run_date });
}

struct finding {
	struct inst_key key;
	struct instance found;
};

static void each(void *ctx, const struct instance *i, uint32_t slot)
{
	struct finding *fi = ctx;

	(void)slot;
	if (inst_key_eq(i->key, fi->key))
		fi->found = *i;
}

static struct instance look(struct fixture *f, struct inst_key key)
{
	struct finding fi = { .key = key };

	ledger_each_instance(f->ledger, each, &fi);
	return fi.found;
}

static uint64_t token_of(struct fixture *f, struct inst_key key)
{
	return look(f, key).token;
}

static struct answer end_it(struct fixture *f, struct inst_key key, uint64_t token,
                            enum attempt_end how)
{
	return ask_full(f, (struct proposal){ .ask = ASK_ENDED,
	                                      .key = key,
	                                      .token = token,
	                                      .end = (uint8_t)how,
	                                      .reason = RE_EXIT });
}

static void an_instance_goes_its_way(void **state)
{
	struct inst_key k = key_of(1, 60);
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(ask(&f, ASK_CREATE, k).state, ST_READY);
	assert_int_equal(ask(&f, ASK_CREATE, k).code, E_EXISTS);
	assert_int_equal(ask(&f, ASK_SATISFY, k).state, ST_DEPEND);
	struct answer granted = ask(&f, ASK_GRANT, k);
	assert_int_equal(granted.state, ST_RUNNING);
	assert_true(granted.number > 0);
	uint64_t token = token_of(&f, k);
	assert_int_equal(end_it(&f, k, token + 1, AE_OK).code, E_STALE);
	assert_int_equal(end_it(&f, k, token, AE_FAILED).state, ST_FAILED);
	assert_int_equal(end_it(&f, k, token, AE_OK).code, E_STALE);
	assert_int_equal(ask(&f, ASK_RETRY, k).state, ST_DEPEND);
	assert_int_equal(ask(&f, ASK_GRANT, k).state, ST_RUNNING);
	assert_true(token_of(&f, k) > token);
	assert_int_equal(end_it(&f, k, token_of(&f, k), AE_OK).code, 0);
	assert_int_equal(store_mem_count_live(f.store), 0);
	assert_int_equal(store_mem_count_done(f.store), 1);
	assert_int_equal(ask(&f, ASK_CREATE, k).code, E_EXISTS);
	assert_int_equal(ask(&f, ASK_REDO, k).state, ST_READY);
	assert_int_equal(look(&f, k).generation, 2);
	assert_int_equal(store_mem_count_done(f.store), 0);
	end(&f);
}

/* What each state answers to each ask of a person: '+' done, '=' nothing to do, '-' refused. */
static void each_state_answers_people_by_the_table(void **state)
{
	static const enum ask asks[] = { ASK_KILL, ASK_FORCE, ASK_SKIP, ASK_REDO, ASK_DECLARE };
	static const struct {
		enum state st;
		const char *want;
	} rows[] = {
		{ ST_READY, "+++=-" },  { ST_DEPEND, "+++=-" },   { ST_RUNNING, "+----" },
		{ ST_FAILED, "++++-" }, { ST_WAITKILL, "=----" }, { ST_KILLING, "=----" },
		{ ST_HANGED, "+---+" }, { ST_SUCC, "-=-+-" },     { ST_KILLED, "-+-+-" },
	};
	struct fixture f;

	(void)state;
	for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
		for (size_t a = 0; a < 5; a++) {
			struct inst_key k = key_of(1, 60);
			begin(&f);
			ask(&f, ASK_CREATE, k);
			if (rows[r].st == ST_KILLED)
				ask(&f, ASK_KILL, k);
			else if (rows[r].st != ST_READY)
				ask(&f, ASK_SATISFY, k);
			if (rows[r].st > ST_DEPEND && rows[r].st != ST_KILLED)
				ask(&f, ASK_GRANT, k);
			uint64_t token = token_of(&f, k);
			if (rows[r].st == ST_FAILED)
				end_it(&f, k, token, AE_FAILED);
			if (rows[r].st == ST_SUCC)
				end_it(&f, k, token, AE_OK);
			if (rows[r].st == ST_WAITKILL || rows[r].st == ST_KILLING)
				ask(&f, ASK_KILL, k);
			if (rows[r].st == ST_KILLING)
				ask_full(&f, (struct proposal){ .ask = ASK_KILL_ACK,
				                                .key = k,
				                                .token = token });
			if (rows[r].st == ST_HANGED)
				ask_full(&f, (struct proposal){
						     .ask = ASK_HANG, .key = k, .token = token });
			struct answer got = ask(&f, asks[a], k);
			char is = got.code < 0 ? '-' : got.number ? '+' : '=';
			if (is != rows[r].want[a])
				fail_msg("%s, ask %d: '%c', not '%c' (%s)", state_name(rows[r].st),
				         asks[a], is, rows[r].want[a], err_name(got.code));
			end(&f);
		}
}

static void a_cap_holds_whoever_asks(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (int d = 1; d <= 2; d++) {
		ask(&f, ASK_CREATE, key_of(1, d * 60));
		ask(&f, ASK_SATISFY, key_of(1, d * 60));
	}
	assert_int_equal(ask(&f, ASK_GRANT, key_of(1, 60)).code, 0);
	assert_int_equal(ask(&f, ASK_GRANT, key_of(1, 120)).code, E_LIMIT);
	end_it(&f, key_of(1, 60), token_of(&f, key_of(1, 60)), AE_OK);
	assert_int_equal(ask(&f, ASK_GRANT, key_of(1, 120)).code, 0);
	end(&f);
}

static void news_from_before_a_parents_redo_start_and_skip_nothing(void **state)
{
	struct inst_key parent = key_of(1, 60), child = key_of(2, 60);
	struct fixture f;

	(void)state;
	begin(&f);
	ask(&f, ASK_FORCE, parent);
	ask(&f, ASK_CREATE, child);
	uint64_t before = stream_last(ledger_stream(f.ledger));
	uint64_t barrier = ask(&f, ASK_REDO, parent).number;
	struct proposal p = { .ask = ASK_SATISFY, .key = child, .folded = before };
	assert_int_equal(ask_full(&f, p).code, E_BARRIER);
	p.ask = ASK_SKIP;
	p.reason = RE_LINK;
	assert_int_equal(ask_full(&f, p).code, E_BARRIER);
	p.ask = ASK_SATISFY;
	p.folded = barrier;
	assert_int_equal(ask_full(&f, p).code, 0);
	p.ask = ASK_GRANT;
	p.folded = before;
	assert_int_equal(ask_full(&f, p).code, E_BARRIER);
	p.folded = barrier;
	assert_int_equal(ask_full(&f, p).code, 0);
	end(&f);
}

static void a_proposal_about_another_revision_is_returned(void **state)
{
	struct inst_key k = key_of(1, 60);
	struct fixture f;

	(void)state;
	begin(&f);
	uint32_t revision = ask(&f, ASK_CREATE, k).revision;
	struct proposal p = { .ask = ASK_KILL, .key = k, .intent = KI_USER };
	p.revision = revision + 1;
	assert_int_equal(ask_full(&f, p).code, E_REVISION);
	p.revision = revision;
	assert_int_equal(ask_full(&f, p).code, 0);
	end(&f);
}

/* The resolver's mark follows what it withdraws: that may be behind, and yet it holds. */
static void who_may_not_start_is_withdrawn_also_by_news_that_are_behind(void **state)
{
	struct proposal late = { .ask = ASK_WITHDRAW, .revision = 1, .folded = UINT64_MAX };
	struct inst_key parent = key_of(1, 60);
	struct fixture f;

	(void)state;
	begin(&f);
	late.key = key_of(2, 60);
	ask(&f, ASK_CREATE, late.key);
	ask(&f, ASK_SATISFY, late.key);
	ask(&f, ASK_PRIORITY, late.key);
	assert_int_equal(ask_full(&f, late).state, ST_READY);
	ask(&f, ASK_SATISFY, late.key);
	ask(&f, ASK_CREATE, parent);
	ask(&f, ASK_FORCE, parent);
	ask(&f, ASK_REDO, parent);
	late = (struct proposal){ .ask = ASK_SKIP,
		                  .key = late.key,
		                  .reason = RE_LINK,
		                  .revision = look(&f, late.key).revision,
		                  .folded = 1 };
	assert_int_equal(ask_full(&f, late).state, ST_READY);
	ask(&f, ASK_SATISFY, late.key);
	late.reason = RE_ASKED; /* not the resolver's */
	assert_int_equal(ask_full(&f, late).code, E_REVISION);
	end(&f);
}

/* Also of what never ran; a job's own end is when its machine saw it. */
static void every_end_has_its_time(void **state)
{
	static const enum ask ends[] = { ASK_KILL, ASK_FORCE, ASK_SKIP };
	const int64_t seen_us = 7 * US_PER_S;
	struct fixture f;
	struct instance i;

	(void)state;
	begin(&f);
	for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
		struct inst_key key = key_of(1, 60 + (int64_t)k * 60);
		ask(&f, ASK_CREATE, key);
		now_us += US_PER_S;
		ask(&f, ends[k], key);
		assert_int_equal(store_find_done(f.store, key, &i, NULL), 0);
		assert_int_equal(i.ended_us, wall(NULL));
	}
	struct inst_key ran = key_of(1, 600);
	ask(&f, ASK_CREATE, ran);
	ask(&f, ASK_SATISFY, ran);
	ask(&f, ASK_GRANT, ran);
	ask_full(&f, (struct proposal){ .ask = ASK_ENDED,
	                                .key = ran,
	                                .token = token_of(&f, ran),
	                                .at_us = seen_us,
	                                .end = AE_OK });
	assert_int_equal(store_find_done(f.store, ran, &i, NULL), 0);
	assert_int_equal(i.ended_us, seen_us);
	end(&f);
}

static void a_kills_reason_only_grows(void **state)
{
	struct inst_key k = key_of(1, 60);
	struct fixture f;

	(void)state;
	begin(&f);
	ask(&f, ASK_CREATE, k);
	ask(&f, ASK_SATISFY, k);
	ask(&f, ASK_GRANT, k);
	struct proposal p = { .ask = ASK_KILL, .key = k, .intent = KI_TIMEOUT };
	assert_int_equal(ask_full(&f, p).state, ST_WAITKILL);
	p.intent = KI_USER;
	assert_true(ask_full(&f, p).number > 0);
	p.intent = KI_REDO;
	assert_int_equal(ask_full(&f, p).number, 0);
	assert_int_equal(look(&f, k).intent, KI_USER);
	p = (struct proposal){ .ask = ASK_STARTED, .key = k, .token = token_of(&f, k) };
	assert_int_equal(ask_full(&f, p).state, ST_WAITKILL); /* late */
	assert_int_equal(end_it(&f, k, token_of(&f, k), AE_FAILED).code, 0);
	assert_int_equal(ask(&f, ASK_REDO, k).state, ST_READY); /* it was final */
	end(&f);
}

static void a_frozen_or_offline_task_grants_nothing(void **state)
{
	struct inst_key k = key_of(1, 60);
	struct task *t = task_new(1, 1);
	struct fixture f;

	(void)state;
	begin(&f);
	ask(&f, ASK_CREATE, k);
	ask(&f, ASK_SATISFY, k);
	put(&f, t, TS_ONLINE, true);
	assert_int_equal(ask(&f, ASK_GRANT, k).code, E_CONFLICT);
	put(&f, t, TS_OFFLINE, false);
	assert_int_equal(ask(&f, ASK_GRANT, k).code, E_CONFLICT);
	put(&f, t, TS_ONLINE, false);
	ask(&f, ASK_FREEZE, k);
	assert_int_equal(ask(&f, ASK_GRANT, k).code, E_CONFLICT);
	ask(&f, ASK_UNFREEZE, k);
	assert_int_equal(ask(&f, ASK_GRANT, k).code, 0);
	task_unref(t);
	end(&f);
}

static void only_what_a_dead_join_skipped_is_reopened(void **state)
{
	struct inst_key k = key_of(2, 60);
	struct fixture f;

	(void)state;
	begin(&f);
	ask(&f, ASK_CREATE, k);
	struct proposal skip = { .ask = ASK_SKIP, .key = k, .reason = RE_ASKED };
	skip.folded = UINT64_MAX;
	assert_int_equal(ask_full(&f, skip).code, 0);
	assert_int_equal(ask(&f, ASK_REOPEN, k).code, E_CONFLICT);
	ask(&f, ASK_REDO, k);
	skip.reason = RE_LINK;
	assert_int_equal(ask_full(&f, skip).code, 0);
	assert_int_equal(ask(&f, ASK_REOPEN, k).state, ST_READY);
	end(&f);
}

static void what_is_reopened_early_is_still_due_at_its_time(void **state)
{
	struct inst_key k = key_of(2, 7200); /* an hour from now */
	struct proposal skip = { .ask = ASK_SKIP, .key = k, .reason = RE_LINK };
	struct instance i;
	struct fixture f;

	(void)state;
	begin(&f);
	ask_full(&f, (struct proposal){ .ask = ASK_CREATE,
	                                .key = k,
	                                .due = 7200,
	                                .flags = IF_RUN_NOW | IF_MEMBER });
	skip.folded = UINT64_MAX;
	assert_int_equal(ask_full(&f, skip).code, 0);
	assert_int_equal(ask(&f, ASK_REOPEN, k).state, ST_READY);
	assert_true(ledger_find(f.ledger, k, &i));
	assert_int_equal(i.eff_due_us, 7200 * US_PER_S);
	assert_int_equal(i.flags, IF_MEMBER); /* of its command still, but not run at once */
	end(&f);
}

static void an_older_definition_does_not_replace_a_newer(void **state)
{
	struct task *old = task_new(1, 1), *new = task_new(1, 0);
	struct fixture f;

	(void)state;
	begin(&f);
	new->version = 2;
	put(&f, new, TS_ONLINE, false);
	uint64_t last = stream_last(ledger_stream(f.ledger));
	put(&f, old, TS_OFFLINE, false);
	assert_int_equal(stream_last(ledger_stream(f.ledger)), last);
	task_unref(old);
	task_unref(new);
	end(&f);
}

static void nothing_leaves_while_the_store_is_full_and_all_leaves_after(void **state)
{
	struct fixture f;

	(void)state;
	for (int when = STORE_FAULT_BEFORE; when <= STORE_FAULT_AFTER; when++) {
		begin(&f);
		store_mem_fail(f.store, 0, 3, E_FULL, (enum store_fault_when)when);
		struct proposals *ps = proposals_new(PR_COMMANDER, 1, f.me, on_answers);
		proposals_add(ps, ASK_CREATE, key_of(1, 60))->due = 60;
		assert_int_equal(ledger_propose(f.ledger, ps), 0);
		run(&f);
		assert_int_equal(f.answers, 0);
		for (int i = 0; i < 5; i++) {
			now_us += 1000;
			run(&f);
		}
		assert_int_equal(f.answers, 1);
		assert_int_equal(f.last.code, 0);
		assert_int_equal(store_mem_count_live(f.store), 1);
		assert_int_equal(f.fatal, 0);
		end(&f);
	}
}

static void a_deposed_leader_says_nothing_more(void **state)
{
	struct store *other;
	struct fixture f;
	uint32_t epoch;

	(void)state;
	begin(&f);
	store_mem_share(f.store, &other);
	assert_int_equal(store_take_epoch(other, "other", &epoch, NULL), 0);
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f.me, on_answers);
	proposals_add(ps, ASK_CREATE, key_of(1, 60));
	assert_int_equal(ledger_propose(f.ledger, ps), 0);
	run(&f);
	assert_int_equal(f.answers, 0);
	assert_int_equal(f.fatal, 1);
	assert_int_equal(store_mem_count_live(f.store), 0);
	now_us += 10 * US_PER_S;
	assert_false(ledger_may_speak(f.ledger, mono(NULL)));
	store_close(other);
	end(&f);
}

/* A store that does not answer: letters are taken, and answered once it does. */

static void propose(struct fixture *f, enum proposer from, enum ask what, struct inst_key key)
{
	struct proposals *ps = proposals_new(from, 1, f->me, on_answers);
	struct proposal *p = proposals_add(ps, what, key);

	p->folded = UINT64_MAX;
	p->due = key.run_date;
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
	thread_sim_run(f->th); /* the store's thread stands still */
}

static int with_a_writer(void **state)
{
	(void)state;
	with_writer = true;
	return 0;
}

static int without(void **state)
{
	(void)state;
	with_writer = false;
	return 0;
}

static void while_a_commit_waits_letters_are_applied_and_nothing_is_shown(void **state)
{
	struct ledger_figures was, now;
	struct fixture f;
	struct instance i;

	(void)state;
	begin(&f);
	ledger_figures(f.ledger, &was);
	propose(&f, PR_COMMANDER, ASK_CREATE, key_of(1, 60)); /* on its way to the store */
	propose(&f, PR_SORTER, ASK_SATISFY, key_of(1, 60));
	propose(&f, PR_SORTER, ASK_GRANT, key_of(1, 60));
	ledger_figures(f.ledger, &now);
	assert_true(ledger_find(f.ledger, key_of(1, 60), &i));
	assert_int_equal(i.state, ST_RUNNING);
	assert_int_equal(f.answers, 0);
	assert_int_equal(now.durable, was.durable);
	assert_int_equal(store_mem_count_live(f.store), 0);
	thread_sim_run(f.store_th); /* the first one is in, as it was then */
	thread_sim_run(f.th);
	assert_int_equal(f.answers, 1);
	ledger_figures(f.ledger, &now);
	assert_int_equal(now.durable, was.durable + 1);
	run(&f);
	ledger_figures(f.ledger, &now);
	assert_int_equal(now.durable, now.last);
	end(&f);
}

static void what_ends_and_begins_anew_while_its_end_is_on_the_way_is_stored_as_it_is(void **state)
{
	struct inst_key key = key_of(1, 60);
	struct fixture f;
	struct instance i;

	(void)state;
	begin(&f);
	ask(&f, ASK_FORCE, key);
	assert_int_equal(store_mem_count_done(f.store), 1);
	propose(&f, PR_COMMANDER, ASK_CREATE, key_of(1, 120));
	run(&f);
	propose(&f, PR_COMMANDER, ASK_FORCE, key_of(1, 120)); /* its end is on the way */
	propose(&f, PR_COMMANDER, ASK_REDO, key_of(1, 120));
	assert_true(ledger_find(f.ledger, key_of(1, 120), &i));
	assert_int_equal(store_mem_count_done(f.store), 1);
	run(&f);
	assert_int_equal(store_mem_count_done(f.store), 1);
	assert_int_equal(store_mem_count_live(f.store), 1);
	assert_true(ledger_find(f.ledger, key_of(1, 120), &i));
	assert_int_equal(i.generation, 2);
	end(&f);
}

static void a_row_of_history_is_waited_for_and_order_stays(void **state)
{
	struct inst_key key = key_of(1, 60);
	struct fixture f;
	struct instance i;

	(void)state;
	begin(&f);
	ask(&f, ASK_FORCE, key);
	f.answers = 0;
	propose(&f, PR_COMMANDER, ASK_REDO, key); /* its row must be read */
	propose(&f, PR_COMMANDER, ASK_SATISFY, key);
	assert_false(ledger_find(f.ledger, key, &i));
	run(&f);
	assert_int_equal(f.answers, 2);
	assert_int_equal(f.last.code, 0);
	assert_true(ledger_find(f.ledger, key, &i));
	assert_int_equal(i.state, ST_DEPEND);
	/* One that is not there is answered so. */
	assert_int_equal(ask(&f, ASK_REDO, key_of(1, 6000)).code, E_NOT_FOUND);
	end(&f);
}

static void an_edit_waits_until_all_before_it_is_kept(void **state)
{
	struct task *one = task_new(1, 1);
	struct fixture f;
	struct instance i;

	(void)state;
	begin(&f);
	propose(&f, PR_COMMANDER, ASK_CREATE, key_of(1, 60));
	one->version = 2;
	struct thread *store = f.store_th;
	f.store_th = NULL; /* put() runs the ledger only */
	put(&f, one, TS_OFFLINE, false);
	propose(&f, PR_COMMANDER, ASK_CREATE, key_of(1, 120)); /* behind the edit */
	assert_false(ledger_find(f.ledger, key_of(1, 120), &i));
	f.store_th = store;
	run(&f);
	assert_true(ledger_find(f.ledger, key_of(1, 120), &i));
	assert_int_equal(i.version, 2);
	assert_true(ledger_find(f.ledger, key_of(1, 60), &i));
	assert_int_equal(i.version, 1);
	task_unref(one);
	end(&f);
}

static void who_ends_while_a_commit_is_on_its_way_leaves_nothing_behind(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	propose(&f, PR_COMMANDER, ASK_FORCE, key_of(1, 60));
	propose(&f, PR_COMMANDER, ASK_REDO, key_of(1, 600));
	end(&f);
}

static void a_large_letter_waits_for_the_ring_and_not_for_ever(void **state)
{
	enum { MANY = 400 };
	struct fixture f;

	(void)state;
	begin(&f);
	struct proposals *ps = proposals_new(PR_COMMANDER, MANY, f.me, on_answers);
	for (int k = 0; k < MANY; k++) {
		struct proposal *p = proposals_add(ps, ASK_CREATE, key_of(1, 60 * (k + 1)));
		p->due = 60 * (k + 1);
	}
	assert_int_equal(ledger_propose(f.ledger, ps), 0);
	run(&f);
	assert_int_equal(f.answers, MANY);
	assert_int_equal(ask(&f, ASK_CREATE, key_of(1, 60 * (MANY + 1))).code, 0);
	end(&f);
}

int main(void)
{
#define WITH_WRITER(f) cmocka_unit_test_setup_teardown(f, with_a_writer, without)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_instance_goes_its_way),
		cmocka_unit_test(each_state_answers_people_by_the_table),
		cmocka_unit_test(a_cap_holds_whoever_asks),
		cmocka_unit_test(news_from_before_a_parents_redo_start_and_skip_nothing),
		cmocka_unit_test(a_proposal_about_another_revision_is_returned),
		cmocka_unit_test(who_may_not_start_is_withdrawn_also_by_news_that_are_behind),
		cmocka_unit_test(every_end_has_its_time),
		cmocka_unit_test(a_kills_reason_only_grows),
		cmocka_unit_test(a_frozen_or_offline_task_grants_nothing),
		cmocka_unit_test(only_what_a_dead_join_skipped_is_reopened),
		cmocka_unit_test(what_is_reopened_early_is_still_due_at_its_time),
		cmocka_unit_test(an_older_definition_does_not_replace_a_newer),
		cmocka_unit_test(nothing_leaves_while_the_store_is_full_and_all_leaves_after),
		cmocka_unit_test(a_large_letter_waits_for_the_ring_and_not_for_ever),
		cmocka_unit_test(a_deposed_leader_says_nothing_more),
		WITH_WRITER(an_instance_goes_its_way),
		WITH_WRITER(each_state_answers_people_by_the_table),
		WITH_WRITER(a_cap_holds_whoever_asks),
		WITH_WRITER(news_from_before_a_parents_redo_start_and_skip_nothing),
		WITH_WRITER(a_kills_reason_only_grows),
		WITH_WRITER(only_what_a_dead_join_skipped_is_reopened),
		WITH_WRITER(an_older_definition_does_not_replace_a_newer),
		WITH_WRITER(a_deposed_leader_says_nothing_more),
		WITH_WRITER(while_a_commit_waits_letters_are_applied_and_nothing_is_shown),
		WITH_WRITER(
			what_ends_and_begins_anew_while_its_end_is_on_the_way_is_stored_as_it_is),
		WITH_WRITER(a_row_of_history_is_waited_for_and_order_stays),
		WITH_WRITER(an_edit_waits_until_all_before_it_is_kept),
		WITH_WRITER(who_ends_while_a_commit_is_on_its_way_leaves_nothing_behind),
		WITH_WRITER(nothing_leaves_while_the_store_is_full_and_all_leaves_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
