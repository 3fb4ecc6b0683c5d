/* baseserver/plan/resolver: what it says of links, with a real ledger, a store in memory and a
 * clock of its own. The rest of it the simulator judges by brute force (tests/sim/sim_rules.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/plan/resolver.h"
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

/* Of every minute: 1 and 2, and CHILD, which waits for them. */
enum { CHILD = 3, TASKS = 3, PASS_S = 60 };

struct fixture {
	struct store *store;
	struct thread *th;
	struct ledger *ledger;
	struct resolver *resolver;
	struct actor *me;
	struct task *tasks[TASKS];
	struct task_link links[2];
	struct answer last;
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
	fail_msg("%s", err->text);
}

static struct task *task_new(uint32_t id, struct task_link *links, int join)
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
		            .links = links,
		            .n_links = links ? 2 : 0,
		            .join = join,
		            .refs = 1,
		            .memory = t };
	assert_int_equal(plan_new(&s, &t->plan, NULL), 0);
	return t;
}

static void start(struct fixture *f)
{
	struct ledger_settings set = { .ring_slots = 1024,
		                       .batch_max = 100,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = 1000 * US_PER_S,
		                       .fatal = on_fatal };
	struct store_task rows[TASKS];

	for (uint32_t i = 0; i < TASKS; i++)
		rows[i] = (struct store_task){ .id = i + 1,
			                       .workflow_id = 1,
			                       .version = 1,
			                       .state = TS_ONLINE,
			                       .planned_through = INT64_MIN,
			                       .online_from = INT64_MIN };
	f->th = thread_new("test", &test_clock);
	assert_int_equal(ledger_new(&(struct ledger_start){ .thread = f->th,
	                                                    .store = f->store,
	                                                    .who = "test",
	                                                    .set = &set,
	                                                    .tasks = f->tasks,
	                                                    .rows = rows,
	                                                    .n_tasks = TASKS },
	                            &f->ledger, NULL),
	                 0);
	f->resolver = resolver_new(f->th, f->ledger);
	f->me = actor_new(f->th, &me_ops, f);
	assert_int_equal(thread_sim_start(f->th, NULL), 0);
	thread_sim_run(f->th);
}

static void stop(struct fixture *f)
{
	thread_stop(f->th);
	resolver_free(f->resolver);
	ledger_free(f->ledger);
	thread_free(f->th);
}

/* The first link may pass when its time comes. */
static void begin(struct fixture *f, int join)
{
	*f = (struct fixture){ .links = { { .parent = 1, .pass_after_s = PASS_S },
		                          { .parent = 2 } } };
	now_us = 0;
	assert_int_equal(store_open("mem:", &f->store, NULL), 0);
	f->tasks[0] = task_new(1, NULL, 0);
	f->tasks[1] = task_new(2, NULL, 0);
	f->tasks[2] = task_new(CHILD, f->links, join);
	start(f);
}

static void restart(struct fixture *f)
{
	struct store *next;

	store_mem_crash(f->store, &next);
	stop(f);
	store_close(f->store);
	f->store = next;
	start(f);
}

static void end(struct fixture *f)
{
	stop(f);
	store_close(f->store);
	for (size_t i = 0; i < TASKS; i++)
		task_unref(f->tasks[i]);
}

static void on_answers(struct letter *l, void *self)
{
	struct answers *as = (struct answers *)l;

	((struct fixture *)self)->last = as->a[0];
	free(as);
}

/* The date is one of the past: all of it is due. */
static struct inst_key key_of(uint32_t task)
{
	return (struct inst_key){ 60, task, 0 };
}

static void pass_time(struct fixture *f, int64_t s)
{
	for (int64_t i = 0; i <= s * 10; i++) {
		now_us += 100 * US_PER_MS;
		thread_sim_run(f->th);
	}
}

static void ask_as(struct fixture *f, enum ask what, uint32_t task, struct proposal how)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f->me, on_answers);
	struct proposal *p = proposals_add(ps, what, key_of(task));

	how.ask = p->ask;
	how.key = p->key;
	how.folded = UINT64_MAX;
	how.due = p->key.run_date;
	*p = how;
	f->last.code = 1;
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
	pass_time(f, 1);
	assert_int_equal(f->last.code, 0);
}

static void ask(struct fixture *f, enum ask what, uint32_t task)
{
	ask_as(f, what, task, (struct proposal){ .reason = RE_USER });
}

static void each(void *ctx, const struct instance *i, uint32_t slot)
{
	(void)slot;
	if (i->key.task == CHILD)
		*(struct instance *)ctx = *i;
}

static struct instance child(struct fixture *f)
{
	struct instance i = { 0 };

	ledger_each_instance(f->ledger, each, &i);
	return i;
}

static void all_rows(struct fixture *f)
{
	for (uint32_t id = 1; id <= TASKS; id++)
		ask(f, ASK_CREATE, id);
	assert_int_equal(child(f).state, ST_READY);
}

static void an_open_link_passes_when_its_time_comes(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 0);
	all_rows(&f);
	ask(&f, ASK_FORCE, 2);
	assert_int_equal(child(&f).state, ST_READY);
	pass_time(&f, PASS_S);
	assert_int_equal(child(&f).state, ST_DEPEND);
	end(&f);
}

static void what_is_met_when_its_time_comes_is_not_waited_for_again(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 0);
	all_rows(&f);
	ask(&f, ASK_FORCE, 1);
	pass_time(&f, PASS_S);
	ask(&f, ASK_REDO, 1);
	ask(&f, ASK_FORCE, 2);
	assert_int_equal(child(&f).state, ST_DEPEND);
	end(&f);
}

static void what_is_taken_back_before_its_time_is_waited_for_again(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 0);
	all_rows(&f);
	ask(&f, ASK_FORCE, 1);
	ask(&f, ASK_REDO, 1);
	ask(&f, ASK_FORCE, 2);
	assert_int_equal(child(&f).state, ST_READY);
	pass_time(&f, PASS_S);
	assert_int_equal(child(&f).state, ST_DEPEND);
	end(&f);
}

/* One link of two is enough; dead when its time comes, it does not pass. */
static void a_link_whose_time_came_while_it_was_dead_passes_when_it_opens(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 1);
	all_rows(&f);
	ask_as(&f, ASK_SKIP, 1, (struct proposal){ .reason = RE_LINK });
	pass_time(&f, PASS_S);
	assert_int_equal(child(&f).state, ST_READY);
	ask(&f, ASK_REDO, 1);
	assert_int_equal(child(&f).state, ST_DEPEND);
	end(&f);
}

/* A try that the machine lost is not counted, and yet it started. */
static void who_has_started_waits_for_no_parent_also_after_a_restart(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 0);
	all_rows(&f);
	ask(&f, ASK_FORCE, 1);
	ask(&f, ASK_FORCE, 2);
	ask(&f, ASK_GRANT, CHILD);
	ask_as(&f, ASK_ENDED, CHILD,
	       (struct proposal){ .token = child(&f).token, .end = AE_INFRA, .reason = RE_LOST });
	pass_time(&f, 120);
	ask(&f, ASK_RETRY, CHILD);
	assert_int_equal(child(&f).state, ST_DEPEND);
	assert_int_equal(child(&f).attempt, 0);
	ask(&f, ASK_REDO, 2);
	assert_int_equal(child(&f).state, ST_DEPEND);
	restart(&f);
	assert_int_equal(child(&f).state, ST_DEPEND);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_link_passes_when_its_time_comes),
		cmocka_unit_test(what_is_met_when_its_time_comes_is_not_waited_for_again),
		cmocka_unit_test(what_is_taken_back_before_its_time_is_waited_for_again),
		cmocka_unit_test(a_link_whose_time_came_while_it_was_dead_passes_when_it_opens),
		cmocka_unit_test(who_has_started_waits_for_no_parent_also_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
