/* baseserver/sort/sorter: projects take turns, in their class, at a pool, and between classes. */
#include "baseserver/model/why.h"
#include "tests/unit/sorting.h"

#define STEP_US (600 * US_PER_S) /* of age */

static void put_of(struct fixture *f, uint32_t id, const char *name, int priority,
                   struct task_pool *pool)
{
	put_task(f, &(struct task){ .id = id,
	                            .name = name,
	                            .priority = priority,
	                            .pools = pool,
	                            .n_pools = pool != NULL });
}

/* One after the other, as with one slot: each grant is over before the next. */
static void grant_more(struct fixture *f, int n)
{
	for (int to = f->n + n; f->n < to;) {
		int was = f->n;
		seat(f, 1, (uint64_t)f->n + 1, true);
		assert_int_equal(f->n, was + 1);
		over(f, f->granted[was]);
	}
}

static int count_of(const struct fixture *f, int from, uint32_t task)
{
	int n = 0;

	for (int i = from; i < f->n; i++)
		n += f->granted[i].task == task;
	return n;
}

static void ready_many(struct fixture *f, uint32_t task, int n)
{
	for (int i = 1; i <= n; i++)
		ready(f, task, i * 60);
}

static void the_few_of_one_project_start_between_the_many_of_another(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put_of(&f, 1, "many/w/t", 5, NULL);
	put_of(&f, 2, "few/w/t", 5, NULL);
	ready_many(&f, 1, 100);
	now_us += US_PER_S;
	ready_many(&f, 2, 5);
	grant_more(&f, 11);
	assert_int_equal(count_of(&f, 0, 2), 5);
	end(&f);
}

static void nobodys_oldest_waits_for_more_turns_than_there_are_projects(void **state)
{
	enum { PROJECTS = 7, ROUNDS = 12 };
	char names[PROJECTS + 1][16];
	int last[PROJECTS + 1] = { 0 };
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t id = 1; id <= PROJECTS; id++) {
		snprintf(names[id], sizeof names[id], "p%u/w/t", id);
		put_of(&f, id, names[id], 5, NULL);
		ready_many(&f, id, id == 1 ? 200 : ROUNDS + (int)id);
		now_us += US_PER_S;
	}
	for (int i = 0; i < PROJECTS * ROUNDS; i++) {
		grant_more(&f, 1);
		last[f.granted[i].task] = i + 1;
		for (uint32_t id = 1; id <= PROJECTS; id++)
			assert_true(i + 1 - last[id] <= PROJECTS);
	}
	end(&f);
}

static void a_mass_that_has_aged_goes_before_nobody_of_its_own_priority(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put_of(&f, 1, "many/w/t", 5, NULL);
	put_of(&f, 2, "few/w/t", 5, NULL);
	put_of(&f, 3, "high/w/t", 8, NULL);
	put_of(&f, 4, "low/w/t", 4, NULL);
	ready_many(&f, 1, 50);
	now_us += 5 * STEP_US;
	ready_many(&f, 2, 4);
	ready_many(&f, 3, 4);
	ready_many(&f, 4, 4);
	grant_more(&f, 12);
	assert_int_equal(count_of(&f, 0, 2), 4);
	assert_int_equal(count_of(&f, 0, 3), 4);
	assert_int_equal(count_of(&f, 0, 1), 4);
	assert_int_equal(count_of(&f, 0, 4), 0); /* it was given less, and is young */
	end(&f);
}

static void priority_stays_above_turns_until_age_lifts_what_waits(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put_of(&f, 1, "high/w/t", 9, NULL);
	put_of(&f, 2, "low/w/t", 5, NULL);
	ready_many(&f, 2, 20);
	now_us += US_PER_S;
	ready_many(&f, 1, 20);
	grant_more(&f, 5);
	assert_int_equal(count_of(&f, 0, 2), 0);
	now_us += 5 * STEP_US; /* both at the top now: turns */
	grant_more(&f, 10);
	assert_int_equal(count_of(&f, 5, 2), 5);
	end(&f);
}

static void more_priorities_are_not_more_turns(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t id = 1; id <= 5; id++) {
		put_of(&f, id, "many/w/t", 4 + (int)id, NULL);
		ready_many(&f, id, 20);
	}
	put_of(&f, 9, "few/w/t", 5, NULL);
	ready_many(&f, 9, 10);
	now_us += 6 * STEP_US;
	grant_more(&f, 21);
	assert_int_equal(count_of(&f, 0, 9), 10);
	end(&f);
}

static void at_a_pool_projects_take_turns_that_are_the_pools_own(void **state)
{
	struct task_pool one = { "dw", 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	pool(&f, "dw", 1);
	put_of(&f, 1, "many/w/t", 5, &one);
	put_of(&f, 2, "few/w/t", 5, &one);
	put_of(&f, 3, "few/w/free", 5, NULL); /* the same project has turns enough elsewhere */
	ready_many(&f, 1, 60);
	now_us += US_PER_S;
	ready_many(&f, 2, 5);
	ready_many(&f, 3, 40);
	seat(&f, 1, 1000, true); /* slots for all: the pool alone is short */
	assert_int_equal(count_of(&f, 0, 3), 40);
	for (int i = 0; i < f.n && i < 55; i++) {
		struct instance inst;
		if (f.granted[i].task != 3 && ledger_find(f.ledger, f.granted[i], &inst))
			over(&f, f.granted[i]);
	}
	assert_int_equal(count_of(&f, 0, 2), 5);
	assert_true(count_of(&f, 0, 1) < 20);
	end(&f);
}

static void seats_of_two_types(struct fixture *f, uint64_t limit, uint32_t jobs_max)
{
	for (uint32_t session = 1; session <= 2; session++) {
		struct session_news *n = mem_new(sizeof *n);
		n->session = session;
		n->broker = 7;
		n->accepts = true;
		n->type = mem_str(session == 1 ? "t" : "u");
		n->broker_name = mem_str("b");
		n->groups = mem_array(1, sizeof *n->groups);
		n->limit = limit;
		n->jobs_max = jobs_max;
		assert_int_equal(sorter_session(f->sorter, n), 0);
	}
	thread_sim_run(f->th);
}

/* One machine with one place for both types: who stands behind the mass in one class is not kept
 * from it by the mass of the other. */
static void a_mass_in_one_class_keeps_nobody_from_a_machine_that_others_share(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put_of(&f, 1, "many/w/t", 5, NULL);
	put_task(&f, &(struct task){ .id = 2, .name = "many/w/u", .type = "u" });
	put_task(&f, &(struct task){ .id = 3, .name = "few/w/u", .type = "u" });
	ready_many(&f, 1, 80);
	now_us += US_PER_S;
	ready_many(&f, 2, 40);
	now_us += US_PER_S;
	ready_many(&f, 3, 5);
	seats_of_two_types(&f, 1000, 1);
	while (f.n < 20)
		over(&f, f.granted[f.n - 1]);
	assert_int_equal(count_of(&f, 0, 3), 5);
	end(&f);
}

static void says(struct fixture *f, struct inst_key key, const char *line)
{
	struct why_line w = { 0 };
	struct instance i;
	struct buf out;

	assert_true(ledger_find(f->ledger, key, &i));
	assert_true(sorter_explain(f->sorter, key, i.slot, &w));
	buf_init(&out);
	why_print_line(&w, &out);
	assert_string_equal(buf_str(&out), line);
	buf_done(&out);
}

static void why_names_the_projects_that_take_turns_and_who_of_its_own_waits(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put_of(&f, 1, "many/w/t", 5, NULL);
	put_of(&f, 2, "few/w/t", 5, NULL);
	ready_many(&f, 1, 30);
	seat(&f, 1, 1, true);
	struct inst_key last = { 30 * 60, 1, 0 };
	says(&f, last, "all slots for task type t are taken");
	struct inst_key one = ready(&f, 2, 60);
	says(&f, last,
	     "all slots for task type t are taken; then 2 projects take turns, and 29 of project "
	     "many wait for its turns");
	says(&f, one,
	     "all slots for task type t are taken; then 2 projects take turns, and 1 of project "
	     "few "
	     "wait for its turns");
	seat(&f, 1, 2, true);
	assert_int_equal(f.granted[1].task, 2);
	says(&f, last, "all slots for task type t are taken");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_few_of_one_project_start_between_the_many_of_another),
		cmocka_unit_test(nobodys_oldest_waits_for_more_turns_than_there_are_projects),
		cmocka_unit_test(a_mass_that_has_aged_goes_before_nobody_of_its_own_priority),
		cmocka_unit_test(priority_stays_above_turns_until_age_lifts_what_waits),
		cmocka_unit_test(more_priorities_are_not_more_turns),
		cmocka_unit_test(at_a_pool_projects_take_turns_that_are_the_pools_own),
		cmocka_unit_test(a_mass_in_one_class_keeps_nobody_from_a_machine_that_others_share),
		cmocka_unit_test(why_names_the_projects_that_take_turns_and_who_of_its_own_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
