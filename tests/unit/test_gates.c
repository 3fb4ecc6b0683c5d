/* baseserver/sorter, gates 5 to 12: pools, quotas, shares, age, and why something waits; with
 * a real ledger, which proves the caps again. */
#include "baseserver/pools.h"
#include "baseserver/sorter.h"
#include "baseserver/why.h"
#include "broker/taskbroker/threshold.h"
#include "tests/unit/sorting.h"
#include "util/buf.h"

static void pool(struct fixture *f, const char *name, int32_t size)
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

static void put_taking(struct fixture *f, uint32_t id, int priority, struct task_pool *pools,
                       size_t n)
{
	put_task(f, &(struct task){ .id = id, .priority = priority, .pools = pools, .n_pools = n });
}

/* A row of a backfill that could start. */
static struct inst_key backfilled(struct fixture *f, uint32_t task, int64_t date)
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

static void over(struct fixture *f, struct inst_key key)
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

static void started(struct fixture *f, struct inst_key key)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f->me, on_answers);
	struct proposal *p = proposals_add(ps, ASK_STARTED, key);
	struct instance i;

	assert_true(ledger_find(f->ledger, key, &i));
	p->token = i.token;
	assert_int_equal(ledger_propose(f->ledger, ps), 0);
	thread_sim_run(f->th);
}

static const struct why_line *why(struct fixture *f, struct inst_key key)
{
	static struct why_line w;
	struct instance i;

	assert_true(ledger_find(f->ledger, key, &i));
	w = (struct why_line){ 0 };
	assert_true(sorter_explain(f->sorter, key, i.slot, &w));
	return &w;
}

static void says(struct fixture *f, struct inst_key key, enum why_code code, const char *line)
{
	const struct why_line *w = why(f, key);
	struct buf out;

	buf_init(&out);
	why_print_line(w, &out);
	if (w->code != code || strcmp(buf_str(&out), line) != 0)
		fail_msg("%d: %s", (int)w->code, buf_str(&out));
	buf_done(&out);
}

/* --- pools --------------------------------------------------------------------------- */

static void a_pool_of_two_never_holds_three(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct inst_key k[5];
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 2);
	put_taking(&f, 1, 5, &dw, 1);
	for (int d = 0; d < 5; d++)
		k[d] = ready(&f, 1, (d + 1) * 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 2);
	says(&f, k[2], WHY_POOL_FULL, "pool dw: 2 of 2 slots are taken, it takes 1");
	over(&f, k[0]);
	assert_int_equal(f.n, 3);
	over(&f, k[1]);
	over(&f, k[2]);
	assert_int_equal(f.n, 5);
	end(&f);
}

static void who_takes_no_slot_is_not_held_back_by_who_waits_for_one(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 1);
	put_taking(&f, 1, 10, &dw, 1);
	put(&f, 2, 1, 0, DISPATCH_LEAST_LOADED);
	ready(&f, 1, 60);
	ready(&f, 1, 120);
	ready(&f, 2, 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 2);
	assert_true(f.granted[0].task == 1 && f.granted[1].task == 2);
	end(&f);
}

static void several_pools_are_taken_at_once_or_not_at_all(void **state)
{
	struct task_pool ab[] = { { "a", 1 }, { "b", 1 } }, ba[] = { { "b", 1 }, { "a", 1 } };
	struct inst_key k[4];
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "a", 1);
	pool(&f, "b", 1);
	put_taking(&f, 1, 5, ab, 2);
	put_taking(&f, 2, 5, ba, 2);
	put_taking(&f, 3, 1, &ab[1], 1);
	for (uint32_t t = 1; t <= 3; t++)
		k[t] = ready(&f, t, 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 1); /* task 2 holds neither a nor b while it waits */
	over(&f, f.granted[0]);
	assert_int_equal(f.n, 2);
	over(&f, f.granted[1]);
	assert_int_equal(f.n, 3);
	assert_int_equal(f.granted[2].task, 3);
	(void)k;
	end(&f);
}

static void a_pool_that_shrinks_stops_new_starts_and_one_that_grows_lets_them_in(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct inst_key k[6];
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 3);
	put_taking(&f, 1, 5, &dw, 1);
	for (int d = 0; d < 6; d++)
		k[d] = ready(&f, 1, (d + 1) * 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 3);
	pool(&f, "dw", 1);
	over(&f, k[0]);
	over(&f, k[1]);
	assert_int_equal(f.n, 3); /* one still runs */
	over(&f, k[2]);
	assert_int_equal(f.n, 4);
	pool(&f, "dw", 3);
	assert_int_equal(f.n, 6);
	end(&f);
}

static void a_definition_that_takes_more_counts_for_what_runs(void **state)
{
	struct task_pool one = { "dw", 1 }, two = { "dw", 2 };
	struct inst_key k[3];
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 4);
	put_taking(&f, 1, 5, &one, 1);
	for (int d = 0; d < 3; d++)
		k[d] = ready(&f, 1, (d + 1) * 60);
	seat(&f, 1, 2, true);
	assert_int_equal(f.n, 2);
	put_task(&f, &(struct task){ .id = 1, .version = 2, .pools = &two, .n_pools = 1 });
	seat(&f, 1, 100, true);
	says(&f, k[2], WHY_POOL_FULL, "pool dw: 4 of 4 slots are taken, it takes 2");
	over(&f, k[0]);
	assert_int_equal(f.n, 3);
	over(&f, k[1]);
	over(&f, k[2]);
	put_task(&f, &(struct task){ .id = 1, .version = 3 });
	ready(&f, 1, 600);
	assert_int_equal(f.n, 4);
	end(&f);
}

static void a_pool_that_is_not_there_or_too_small_says_so(void **state)
{
	struct task_pool dw = { "dw", 3 };
	struct inst_key k;
	struct fixture f;

	(void)state;
	begin(&f);
	put_taking(&f, 1, 5, &dw, 1);
	seat(&f, 1, 100, true);
	k = ready(&f, 1, 60);
	says(&f, k, WHY_POOL_MISSING, "there is no pool dw");
	pool(&f, "dw", 2);
	says(&f, k, WHY_POOL_SMALL, "it takes 3 slots of pool dw, which has 2");
	pool(&f, "dw", 3);
	assert_int_equal(f.n, 1);
	end(&f);
}

static void pools_and_what_is_taken_of_them_outlive_the_sorter(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 2);
	put_taking(&f, 1, 5, &dw, 1);
	for (int d = 0; d < 4; d++)
		ready(&f, 1, (d + 1) * 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 2);
	struct thread *th = thread_new("next", &test_clock);
	struct sorter *next = sorter_new(th, f.ledger);
	struct why_line w;
	struct instance i;
	assert_true(ledger_find(f.ledger, (struct inst_key){ 240, 1, 0 }, &i));
	assert_true(sorter_explain(next, i.key, i.slot, &w));
	assert_int_equal(w.code, WHY_POOL_FULL);
	sorter_free(next);
	thread_free(th);
	end(&f);
}

/* --- shares -------------------------------------------------------------------------- */

static int granted_of(const struct fixture *f, uint32_t task, int from)
{
	int n = 0;

	for (int i = from; i < f->n; i++)
		n += f->granted[i].task == task;
	return n;
}

static void backfills_get_their_tenth_while_live_work_waits(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 20);
	put_taking(&f, 1, 9, &dw, 1);
	put_taking(&f, 2, 1, &dw, 1);
	for (int d = 0; d < 25; d++)
		ready(&f, 1, (d + 1) * 60);
	for (int d = 0; d < 5; d++)
		backfilled(&f, 2, (d + 1) * 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 20);
	assert_int_equal(granted_of(&f, 2, 0), 2);
	end(&f);
}

static void live_work_gets_half_while_a_great_backfill_waits(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 10);
	put_taking(&f, 1, 2, &dw, 1);
	put_taking(&f, 2, 9, &dw, 1);
	for (int d = 0; d < 20; d++)
		backfilled(&f, 2, (d + 1) * 60);
	for (int d = 0; d < 20; d++)
		ready(&f, 1, (d + 1) * 60);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 10);
	assert_int_equal(granted_of(&f, 1, 0), 5);
	end(&f);
}

static void nothing_is_kept_for_who_has_no_broker_to_go_to(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct inst_key k;
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 2);
	put_taking(&f, 1, 5, &dw, 1);
	put_task(&f, &(struct task){ .id = 2, .pools = &dw, .n_pools = 1, .type = "rare" });
	k = backfilled(&f, 2, 60);
	ready(&f, 1, 60);
	ready(&f, 1, 120);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 2);
	assert_int_equal(granted_of(&f, 1, 0), 2);
	over(&f, f.granted[0]);
	says(&f, k, WHY_NO_BROKER, "no broker of  has task type rare online");
	end(&f);
}

static void what_was_kept_is_given_when_who_it_was_for_has_gone(void **state)
{
	struct task_pool dw = { "dw", 1 };
	struct inst_key last;
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 10);
	put_taking(&f, 1, 2, &dw, 1);
	put_taking(&f, 2, 9, &dw, 1);
	last = ready(&f, 1, 60);
	for (int d = 0; d < 20; d++)
		backfilled(&f, 2, (d + 1) * 60);
	seat(&f, 1, 100, true);
	/* Half is kept while one of them waits; once it runs, the rest is the backfill's. */
	assert_int_equal(f.n, 10);
	assert_int_equal(granted_of(&f, 1, 0), 1);
	(void)last;
	end(&f);
}

static void who_takes_much_is_not_passed_for_ever_by_who_takes_little(void **state)
{
	struct task_pool much = { "dw", 2 }, little = { "dw", 1 };
	struct inst_key big;
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 2);
	put_taking(&f, 1, 8, &much, 1);
	put_taking(&f, 2, 8, &little, 1);
	ready(&f, 2, 60);
	seat(&f, 1, 1000, true);
	big = ready(&f, 1, 60);
	for (int d = 2; d <= 4; d++) { /* while it is young, one slot does not lie idle */
		ready(&f, 2, d * 60);
		over(&f, f.granted[f.n - 1]);
	}
	now_us += 30 * 60 * US_PER_S;
	ready(&f, 2, 600);
	int n = f.n;
	for (int i = 0; i < n; i++) {
		struct instance inst;
		if (ledger_find(f.ledger, f.granted[i], &inst))
			over(&f, f.granted[i]);
	}
	assert_true(inst_key_eq(f.granted[n], big));
	end(&f);
}

/* --- quotas, one at a time ----------------------------------------------------------- */

static void a_projects_quota_counts_all_its_workflows(void **state)
{
	struct inst_key k;
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, POOL_PROJECT "p", 2);
	put_task(&f, &(struct task){ .id = 1, .name = "p/a/t" });
	put_task(&f, &(struct task){ .id = 2, .name = "p/b/t" });
	put_task(&f, &(struct task){ .id = 3, .name = "q/a/t" });
	for (int64_t d = 60; d <= 120; d += 60)
		for (uint32_t t = 1; t <= 3; t++)
			k = ready(&f, t, d);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 4);
	assert_int_equal(granted_of(&f, 3, 0), 2);
	k = (struct inst_key){ 120, 1, 0 };
	says(&f, k, WHY_PROJECT_FULL, "quota of project p: 2 of 2 run");
	pool(&f, POOL_PROJECT "p", -1);
	assert_int_equal(f.n, 6);
	end(&f);
}

static void a_workflows_quota_counts_all_its_tasks(void **state)
{
	struct inst_key k;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t t = 1; t <= 3; t++) {
		put_task(&f, &(struct task){ .id = t, .name = "p/w/t", .workflow_cap = 2 });
		k = ready(&f, t, 60);
	}
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 2);
	k.task = 6 - f.granted[0].task - f.granted[1].task;
	says(&f, k, WHY_WORKFLOW_FULL, "workflow quota: 2 of 2 run");
	over(&f, f.granted[0]);
	assert_int_equal(f.n, 3);
	end(&f);
}

static void an_unordered_task_runs_one_date_at_a_time(void **state)
{
	struct inst_key k[2];
	struct fixture f;

	(void)state;
	begin(&f);
	put_task(&f, &(struct task){ .id = 1, .serial = SERIAL_UNORDERED, .concurrency = 7 });
	k[0] = ready(&f, 1, 60);
	k[1] = ready(&f, 1, 120);
	seat(&f, 1, 100, true);
	assert_int_equal(f.n, 1);
	says(&f, inst_key_eq(f.granted[0], k[0]) ? k[1] : k[0], WHY_UNORDERED,
	     "one at a time: another date of the task runs");
	over(&f, f.granted[0]);
	assert_int_equal(f.n, 2);
	end(&f);
}

/* --- why ----------------------------------------------------------------------------- */

static void each_gate_of_the_sorter_has_its_line(void **state)
{
	struct inst_key k[4];
	struct fixture f;

	(void)state;
	begin(&f);
	put_task(&f, &(struct task){ .id = 1, .concurrency = 1, .group = "etl" });
	k[0] = ready(&f, 1, 60);
	says(&f, k[0], WHY_NO_BROKER, "no broker of etl has task type t online");
	put_task(&f, &(struct task){ .id = 1, .version = 2, .concurrency = 1 });
	seat(&f, 1, 1, true);
	assert_int_equal(f.n, 1);
	k[1] = ready(&f, 1, 120);
	says(&f, k[1], WHY_TASK_FULL, "task concurrency: 1 of 1 run");
	ask(&f, ASK_FREEZE, k[1], 0);
	put_task(&f, &(struct task){ .id = 1, .version = 3 });
	says(&f, k[1], WHY_FROZEN, "it is frozen");
	ask(&f, ASK_UNFREEZE, k[1], 0);
	says(&f, k[1], WHY_SLOTS, "all slots for task type t are taken");
	size_t gates[SORTER_GATES];
	sorter_blocked(f.sorter, gates);
	assert_int_equal(gates[11], 1);
	assert_int_equal(gates[2] + gates[6] + gates[10] + gates[12], 0);
	end(&f);
}

static void an_opening_is_expected_by_the_median_of_the_last_runs(void **state)
{
	static const int64_t lasted_s[] = { 10, 500, 30, 20, 30 };
	struct inst_key k = { 0 };
	struct fixture f;

	(void)state;
	begin(&f);
	put_task(&f, &(struct task){ .id = 1, .concurrency = 1 });
	seat(&f, 1, 100, true);
	for (int i = 0; i < 5; i++) {
		k = ready(&f, 1, (i + 1) * 60);
		started(&f, k);
		now_us += lasted_s[i] * US_PER_S;
		over(&f, k);
	}
	assert_int_equal(sorter_median_us(f.sorter, 1), 30 * US_PER_S);
	k = ready(&f, 1, 600);
	started(&f, k);
	int64_t since = wall(NULL);
	now_us += 10 * US_PER_S;
	k = ready(&f, 1, 660);
	assert_int_equal(why(&f, k)->expected_us, since + 30 * US_PER_S);
	now_us += 100 * US_PER_S; /* longer than ever but once: nobody knows */
	assert_int_equal(why(&f, k)->expected_us, 0);
	end(&f);
}

/* --- work that comes back ----------------------------------------------------------------------- */

static void rejected_work_burns_no_attempt_until_its_own_cap_is_used_up(void **state)
{
	struct inst_key k;
	struct instance i;
	struct fixture f;

	(void)state;
	begin(&f);
	put(&f, 1, 5, 0, DISPATCH_LEAST_LOADED);
	seat(&f, 1, 100, true);
	k = ready(&f, 1, 60);
	for (int n = 1; n <= 5; n++) {
		assert_true(ledger_find(f.ledger, k, &i));
		assert_int_equal(i.state, ST_RUNNING);
		assert_int_equal(i.attempt, 1);
		struct proposals *ps = proposals_new(PR_COMMANDER, 1, f.me, on_answers);
		struct proposal *p = proposals_add(ps, ASK_ENDED, k);
		p->token = i.token;
		p->end = AE_RETURN;
		p->reason = RE_REJECT;
		assert_int_equal(ledger_propose(f.ledger, ps), 0);
		thread_sim_run(f.th);
		assert_true(ledger_find(f.ledger, k, &i));
		assert_int_equal(i.infra, n);
	}
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, f.me, on_answers);
	struct proposal *p = proposals_add(ps, ASK_ENDED, k);
	p->token = i.token;
	p->end = AE_RETURN;
	p->reason = RE_REJECT;
	assert_int_equal(ledger_propose(f.ledger, ps), 0);
	thread_sim_run(f.th);
	assert_false(ledger_find(f.ledger, k, &i)); /* StopSchedule */
	assert_int_equal(f.n, 6);
	end(&f);
}

static void a_line_is_filled_from_its_arguments(void **state)
{
	struct why_line w;
	struct buf out;

	(void)state;
	why_set(&w, WHY_TURN);
	why_number(&w, "waiting", 7);
	buf_init(&out);
	why_print_line(&w, &out);
	assert_string_equal(buf_str(&out), "its turn comes by priority, 7 wait for the same slots");
	assert_int_equal(why_gate(w.code), 12);
	buf_done(&out);
	for (int c = 0; c < WHY_COUNT; c++)
		assert_true(why_gate((enum why_code)c) >= 0 && why_gate((enum why_code)c) <= 12);
}

static void a_load_about_its_limit_does_not_flicker(void **state)
{
	bool over = false;

	(void)state;
	assert_false(threshold_passed(&over, 400, 400, 10, false));
	assert_true(threshold_passed(&over, 401, 400, 10, false));
	assert_true(threshold_passed(&over, 399, 400, 10, false));
	assert_true(threshold_passed(&over, 361, 400, 10, false));
	assert_false(threshold_passed(&over, 360, 400, 10, false));
	assert_false(threshold_passed(&over, 399, 400, 10, false));
	over = false;
	assert_false(threshold_passed(&over, 1000, 1000, 10, true));
	assert_true(threshold_passed(&over, 999, 1000, 10, true));
	assert_true(threshold_passed(&over, 1099, 1000, 10, true));
	assert_false(threshold_passed(&over, 1100, 1000, 10, true));
	assert_false(threshold_passed(&over, UINT64_MAX, UINT64_MAX / 2, 90, true));
}

/* --- against a picker that looks at everything --------------------------------------- */

enum { M_TASKS = 10, M_POOLS = 3, M_TYPES = 2, M_INSTANCES = 400, M_TAKES = 2 };

struct model {
	struct task tasks[M_TASKS + 1];
	struct task_pool takes[M_TASKS + 1][M_TAKES];
	int32_t size[M_POOLS];
	int32_t quota; /* of project p, -1 none */
	uint64_t credit[M_TYPES];
	uint64_t limit[M_TYPES];
	struct mi {
		struct inst_key key;
		int64_t due_us;
		int priority;
		bool backfill;
		enum { MI_READY, MI_RUNS, MI_OVER } state;
	} inst[M_INSTANCES];
	int n, checked;
	bool shares;
};

static const char *const pool_names[M_POOLS] = { "a", "b", "c" };
static const char *const type_names[M_TYPES] = { "t", "u" };
static uint32_t luck;

static uint32_t rnd(uint32_t n)
{
	luck = luck * 1664525u + 1013904223u;
	return (luck >> 8) % n;
}

static int pool_index(const char *name)
{
	return name[0] - 'a';
}

static int type_index(const struct model *m, const struct mi *i)
{
	return m->tasks[i->key.task].type[0] - 't';
}

/* Slots of a pool, or with pool -1: of the quota of project p; with -2: of the task. */
static int32_t taken(const struct model *m, int pool, uint32_t task)
{
	int32_t n = 0;

	for (int i = 0; i < m->n; i++) {
		const struct task *t = &m->tasks[m->inst[i].key.task];
		if (m->inst[i].state != MI_RUNS)
			continue;
		if (pool == -2)
			n += t->id == task;
		else if (pool == -1)
			n += t->name[0] == 'p';
		for (size_t k = 0; pool >= 0 && k < t->n_pools; k++)
			if (pool_index(t->pools[k].name) == pool)
				n += t->pools[k].slots;
	}
	return n;
}

static bool could_start(const struct model *m, const struct mi *i)
{
	const struct task *t = &m->tasks[i->key.task];

	if (i->state != MI_READY || m->credit[type_index(m, i)] == 0)
		return false;
	if (t->concurrency && taken(m, -2, t->id) >= t->concurrency)
		return false;
	if (t->name[0] == 'p' && m->quota >= 0 && taken(m, -1, 0) >= m->quota)
		return false;
	for (size_t k = 0; k < t->n_pools; k++) {
		int p = pool_index(t->pools[k].name);
		if (taken(m, p, 0) + t->pools[k].slots > m->size[p])
			return false;
	}
	return true;
}

static int64_t effective(const struct mi *i)
{
	int64_t waited = wall(NULL) - i->due_us;
	int64_t e = i->priority + waited / (600 * US_PER_S);

	return e < 10 ? e : 10;
}

static struct mi *brute_pick(struct model *m)
{
	struct mi *best = NULL;

	for (int i = 0; i < m->n; i++) {
		struct mi *c = &m->inst[i];
		if (!could_start(m, c))
			continue;
		if (!best || effective(c) > effective(best) ||
		    (effective(c) == effective(best) && c->due_us < best->due_us))
			best = c;
	}
	return best;
}

static struct mi *of_key(struct model *m, struct inst_key key)
{
	for (int i = 0; i < m->n; i++)
		if (inst_key_eq(m->inst[i].key, key))
			return &m->inst[i];
	fail_msg("granted what is not there");
	return NULL;
}

static void compare(struct fixture *f, struct model *m)
{
	for (; m->checked < f->n; m->checked++) {
		struct mi *got = of_key(m, f->granted[m->checked]);
		struct mi *want = brute_pick(m);
		if (m->shares && !could_start(m, got))
			fail_msg("task %u starts with a closed gate", got->key.task);
		if (!m->shares && want != got)
			fail_msg("granted %u@%d, brute force says %u@%d", got->key.task,
			         (int)got->key.run_date, want ? want->key.task : 0,
			         want ? (int)want->key.run_date : 0);
		got->state = MI_RUNS;
		m->credit[type_index(m, got)]--;
	}
	if (!m->shares && brute_pick(m))
		fail_msg("task %u could start and does not", brute_pick(m)->key.task);
}

static void give_credit(struct fixture *f, struct model *m, int type, uint64_t n)
{
	struct session_news *news = mem_new(sizeof *news);

	m->limit[type] += n;
	m->credit[type] += n;
	news->session = news->broker = (uint32_t)type + 1;
	news->accepts = true;
	news->type = mem_str(type_names[type]);
	news->broker_name = mem_str("b");
	news->groups = mem_array(1, sizeof *news->groups);
	news->limit = m->limit[type];
	assert_int_equal(sorter_session(f->sorter, news), 0);
	thread_sim_run(f->th);
}

static void make_tasks(struct fixture *f, struct model *m, int32_t slots_max)
{
	for (int p = 0; p < M_POOLS; p++) {
		m->size[p] = 1 + (int32_t)rnd(4);
		pool(f, pool_names[p], m->size[p]);
	}
	m->quota = -1;
	for (uint32_t id = 1; id <= M_TASKS; id++) {
		struct task *t = &m->tasks[id];
		*t = (struct task){ .id = id,
			            .name = rnd(2) ? "p/w/t" : "q/w/t",
			            .type = type_names[rnd(M_TYPES)],
			            .priority = 1 + (int32_t)rnd(10),
			            .concurrency = rnd(3) ? 0 : 1 + (int32_t)rnd(2),
			            .pools = m->takes[id],
			            .n_pools = rnd(M_TAKES + 1) };
		uint32_t first = rnd(M_POOLS);
		for (size_t k = 0; k < t->n_pools; k++)
			t->pools[k] = (struct task_pool){ pool_names[(first + k) % M_POOLS],
				                          1 + (int32_t)rnd((uint32_t)slots_max) };
		put_task(f, t);
	}
}

static void becomes_ready(struct fixture *f, struct model *m)
{
	struct mi *i = &m->inst[m->n];
	uint32_t task = 1 + rnd(M_TASKS);

	if (m->n == M_INSTANCES)
		return;
	now_us += US_PER_MS;
	i->key = (struct inst_key){ m->n + 1, task, 0 };
	i->due_us = wall(NULL);
	i->priority = m->tasks[task].priority;
	i->backfill = m->shares && rnd(2);
	i->state = MI_READY;
	m->n++;
	if (i->backfill)
		backfilled(f, task, i->key.run_date);
	else
		ready(f, task, i->key.run_date);
}

static bool one_ends(struct fixture *f, struct model *m)
{
	int from = (int)rnd((uint32_t)m->n + 1);

	for (int k = 0; k < m->n; k++) {
		struct mi *i = &m->inst[(from + k) % m->n];
		if (i->state != MI_RUNS)
			continue;
		i->state = MI_OVER;
		over(f, i->key);
		return true;
	}
	return false;
}

static void resize(struct fixture *f, struct model *m)
{
	uint32_t p = rnd(M_POOLS + 1);

	if (p < M_POOLS) {
		m->size[p] = 1 + (int32_t)rnd(5);
		pool(f, pool_names[p], m->size[p]);
	} else {
		m->quota = rnd(3) ? 1 + (int32_t)rnd(4) : -1;
		pool(f, POOL_PROJECT "p", m->quota);
	}
}

static void scenario(uint32_t seed, int32_t slots_max, bool ages, bool shares)
{
	struct fixture f;
	static struct model m;

	luck = seed;
	m = (struct model){ .shares = shares };
	begin(&f);
	make_tasks(&f, &m, slots_max);
	for (int step = 0; step < 120; step++) {
		uint32_t what = rnd(10);
		now_us += ages ? rnd(1200) * US_PER_S : 0;
		if (what < 5)
			becomes_ready(&f, &m);
		else if (what < 7)
			one_ends(&f, &m);
		else if (what < 9)
			give_credit(&f, &m, (int)rnd(M_TYPES), rnd(3));
		else
			resize(&f, &m);
		compare(&f, &m);
	}
	/* All of it comes to its end. */
	for (int p = 0; p < M_POOLS; p++) {
		m.size[p] = 3;
		pool(&f, pool_names[p], 3);
		compare(&f, &m);
	}
	for (int t = 0; t < M_TYPES; t++) {
		give_credit(&f, &m, t, 1000);
		compare(&f, &m);
	}
	while (one_ends(&f, &m))
		compare(&f, &m);
	for (int i = 0; i < m.n; i++)
		if (m.inst[i].state != MI_OVER)
			fail_msg("seed %u: task %u never started", seed, m.inst[i].key.task);
	end(&f);
}

static void what_starts_is_what_brute_force_picks(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 60; seed++)
		scenario(seed, 3, false, false);
}

static void age_orders_as_brute_force_does(void **state)
{
	(void)state;
	for (uint32_t seed = 1000; seed <= 1060; seed++)
		scenario(seed, 1, true, false);
}

static void shares_and_age_together_keep_every_cap_and_starve_nobody(void **state)
{
	(void)state;
	for (uint32_t seed = 2000; seed <= 2060; seed++)
		scenario(seed, 3, true, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_of_two_never_holds_three),
		cmocka_unit_test(who_takes_no_slot_is_not_held_back_by_who_waits_for_one),
		cmocka_unit_test(several_pools_are_taken_at_once_or_not_at_all),
		cmocka_unit_test(
			a_pool_that_shrinks_stops_new_starts_and_one_that_grows_lets_them_in),
		cmocka_unit_test(a_definition_that_takes_more_counts_for_what_runs),
		cmocka_unit_test(a_pool_that_is_not_there_or_too_small_says_so),
		cmocka_unit_test(pools_and_what_is_taken_of_them_outlive_the_sorter),
		cmocka_unit_test(backfills_get_their_tenth_while_live_work_waits),
		cmocka_unit_test(live_work_gets_half_while_a_great_backfill_waits),
		cmocka_unit_test(nothing_is_kept_for_who_has_no_broker_to_go_to),
		cmocka_unit_test(what_was_kept_is_given_when_who_it_was_for_has_gone),
		cmocka_unit_test(who_takes_much_is_not_passed_for_ever_by_who_takes_little),
		cmocka_unit_test(a_projects_quota_counts_all_its_workflows),
		cmocka_unit_test(a_workflows_quota_counts_all_its_tasks),
		cmocka_unit_test(an_unordered_task_runs_one_date_at_a_time),
		cmocka_unit_test(each_gate_of_the_sorter_has_its_line),
		cmocka_unit_test(an_opening_is_expected_by_the_median_of_the_last_runs),
		cmocka_unit_test(rejected_work_burns_no_attempt_until_its_own_cap_is_used_up),
		cmocka_unit_test(a_line_is_filled_from_its_arguments),
		cmocka_unit_test(a_load_about_its_limit_does_not_flicker),
		cmocka_unit_test(what_starts_is_what_brute_force_picks),
		cmocka_unit_test(age_orders_as_brute_force_does),
		cmocka_unit_test(shares_and_age_together_keep_every_cap_and_starve_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
