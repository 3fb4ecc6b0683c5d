/* baseserver/sort/sorter against a picker that looks at everything each time: random tasks, pools,
 * quotas, credit, ends and edits. What one project's order picks is compared with pools and several
 * types; projects' turns with one type and no pools, where they are those of one class; both with
 * shares by caps and ends alone. */
#include "tests/unit/sorting.h"

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
	enum { ALONE, TURNS, SHARES } mode;
	uint32_t turns, last[128]; /* by the letter of a project: which turn was its last */
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

static bool goes_first(const struct mi *a, const struct mi *b)
{
	return effective(a) > effective(b) ||
	       (effective(a) == effective(b) && a->due_us < b->due_us);
}

static struct mi *brute_pick(struct model *m)
{
	struct mi *best = NULL;

	for (int i = 0; i < m->n; i++) {
		struct mi *c = &m->inst[i];
		if (!could_start(m, c))
			continue;
		if (!best || goes_first(c, best))
			best = c;
	}
	return best;
}

static uint32_t *last_of(struct model *m, const struct mi *i)
{
	return &m->last[(unsigned char)m->tasks[i->key.task].name[0]];
}

/* Rule 8 of baseserver/sort, by its words: the bar, the longest without a turn, its own first. */
static void check_turn(struct model *m, const struct mi *got)
{
	int64_t highest = -1;
	int bar = 0;

	if (!could_start(m, got))
		fail_msg("task %u starts with a closed gate", got->key.task);
	for (int i = 0; i < m->n; i++) {
		const struct mi *c = &m->inst[i];
		if (!could_start(m, c) || effective(c) < highest)
			continue;
		bar = effective(c) > highest || c->priority < bar ? c->priority : bar;
		highest = effective(c);
	}
	for (int i = 0; i < m->n; i++) {
		const struct mi *c = &m->inst[i];
		bool own = last_of(m, c) == last_of(m, got);
		if (!could_start(m, c))
			continue;
		if (own && goes_first(c, got))
			fail_msg("task %u@%d goes before %u@%d of its project", c->key.task,
			         (int)c->key.run_date, got->key.task, (int)got->key.run_date);
		if (!own && c->priority >= bar && *last_of(m, c) < *last_of(m, got))
			fail_msg("it is the turn of %u@%d, not of %u@%d", c->key.task,
			         (int)c->key.run_date, got->key.task, (int)got->key.run_date);
	}
	*last_of(m, got) = ++m->turns;
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
		if (m->mode == TURNS)
			check_turn(m, got);
		if (m->mode == SHARES && !could_start(m, got))
			fail_msg("task %u starts with a closed gate", got->key.task);
		if (m->mode == ALONE && want != got)
			fail_msg("granted %u@%d, brute force says %u@%d", got->key.task,
			         (int)got->key.run_date, want ? want->key.task : 0,
			         want ? (int)want->key.run_date : 0);
		got->state = MI_RUNS;
		m->credit[type_index(m, got)]--;
	}
	if (m->mode != SHARES && brute_pick(m))
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
	static const char *const names[] = { "p/w/t", "q/w/t", "r/w/t" };

	for (int p = 0; p < M_POOLS; p++) {
		m->size[p] = 1 + (int32_t)rnd(4);
		pool(f, pool_names[p], m->size[p]);
	}
	m->quota = -1;
	for (uint32_t id = 1; id <= M_TASKS; id++) {
		struct task *t = &m->tasks[id];
		*t = (struct task){ .id = id,
			            .name = names[m->mode == ALONE ? 0 : rnd(3)],
			            .type = type_names[m->mode == TURNS ? 0 : rnd(M_TYPES)],
			            .priority = 1 + (int32_t)rnd(10),
			            .concurrency = rnd(3) ? 0 : 1 + (int32_t)rnd(2),
			            .pools = m->takes[id],
			            .n_pools = m->mode == TURNS ? 0 : rnd(M_TAKES + 1) };
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
	i->backfill = m->mode == SHARES && rnd(2);
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

static void scenario(uint32_t seed, int32_t slots_max, bool ages, int mode)
{
	struct fixture f;
	static struct model m;

	luck = seed;
	m = (struct model){ .mode = mode };
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
		scenario(seed, 3, false, ALONE);
}

static void age_orders_as_brute_force_does(void **state)
{
	(void)state;
	for (uint32_t seed = 1000; seed <= 1060; seed++)
		scenario(seed, 1, true, ALONE);
}

static void projects_take_turns_as_brute_force_says(void **state)
{
	(void)state;
	for (uint32_t seed = 3000; seed <= 3060; seed++)
		scenario(seed, 1, seed % 2, TURNS);
}

static void shares_and_age_together_keep_every_cap_and_starve_nobody(void **state)
{
	(void)state;
	for (uint32_t seed = 2000; seed <= 2060; seed++)
		scenario(seed, 3, true, SHARES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_starts_is_what_brute_force_picks),
		cmocka_unit_test(age_orders_as_brute_force_does),
		cmocka_unit_test(projects_take_turns_as_brute_force_says),
		cmocka_unit_test(shares_and_age_together_keep_every_cap_and_starve_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
