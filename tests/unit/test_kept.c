/* baseserver/sort/sorter_kept.c: an eighth of a class's slots is kept for who starts little. */
#include "baseserver/model/why.h"
#include "tests/unit/sorting.h"

enum { SLOTS = 32, KEPT = SLOTS / 8, MANY = 1, FEW = 2 };

static void put_of(struct fixture *f, uint32_t id, const char *name, int priority)
{
	put_task(f, &(struct task){ .id = id, .name = name, .priority = priority });
}

static void ready_many(struct fixture *f, uint32_t task, int from, int n)
{
	for (int i = from; i < from + n; i++)
		ready(f, task, i * 60);
}

/* As a loader tells it: what is over is granted anew, up to its slots. */
static void seat_with(struct fixture *f, uint32_t slots, uint64_t limit)
{
	struct session_news *n = mem_new(sizeof *n);

	n->session = n->broker = 1;
	n->accepts = true;
	n->slots = slots;
	n->type = mem_str("t");
	n->broker_name = mem_str("b");
	n->groups = mem_array(1, sizeof *n->groups);
	n->limit = limit;
	assert_int_equal(sorter_session(f->sorter, n), 0);
	thread_sim_run(f->th);
}

static int count_of(const struct fixture *f, int from, uint32_t task)
{
	int n = 0;

	for (int i = from; i < f->n; i++)
		n += f->granted[i].task == task;
	return n;
}

/* `few` has started one job; then `many` has a hundred ready and the loader room for all slots. */
static void begin_beside(struct fixture *f, int priority)
{
	begin(f);
	put_of(f, MANY, "many/w/t", priority);
	put_of(f, FEW, "few/w/t", 5);
	seat_with(f, SLOTS, SLOTS);
	over(f, ready(f, FEW, 60));
	assert_int_equal(f->n, 1);
	ready_many(f, MANY, 1, 100);
	seat_with(f, SLOTS, SLOTS + 1);
}

/* A round of the loader: all that runs of `many` ends at once, as its no-ops do. */
static void round_over(struct fixture *f)
{
	int n = f->n;

	for (int i = 0; i < n; i++) {
		struct instance inst;
		if (ledger_find(f->ledger, f->granted[i], &inst) && inst.state == ST_RUNNING)
			over(f, f->granted[i]);
	}
	seat_with(f, SLOTS, (uint64_t)n + SLOTS);
}

static void a_mass_leaves_an_eighth_to_who_started_little(void **state)
{
	struct fixture f;

	(void)state;
	begin_beside(&f, 5);
	assert_int_equal(count_of(&f, 1, MANY), SLOTS - KEPT);
	for (int i = 2; i < 2 + KEPT; i++) { /* nothing of the mass stands before it, ever */
		int was = f.n;
		ready(&f, FEW, i * 60);
		assert_int_equal(f.n, was + 1);
		assert_int_equal(f.granted[was].task, FEW);
	}
	ready(&f, FEW, 60 * 60); /* the slots are taken now */
	assert_int_equal(count_of(&f, 1, FEW), KEPT);
	assert_int_equal(count_of(&f, 1, MANY), SLOTS - KEPT);
	end(&f);
}

/* Its ends and its children's starts are seldom in one turn: credit comes before. */
static void each_link_of_a_chain_is_granted_at_once_beside_rounds_of_a_mass(void **state)
{
	struct fixture f;

	(void)state;
	begin_beside(&f, 5);
	for (int link = 2; link < 5; link++) {
		round_over(&f);
		int was = f.n;
		struct inst_key k = ready(&f, FEW, link * 60);
		assert_int_equal(f.n, was + 1);
		assert_true(inst_key_eq(f.granted[was], k));
	}
	end(&f);
}

static void a_mass_of_the_highest_priority_takes_no_more(void **state)
{
	struct fixture f;

	(void)state;
	begin_beside(&f, 10);
	assert_int_equal(count_of(&f, 1, MANY), SLOTS - KEPT);
	ready(&f, FEW, 2 * 60);
	assert_int_equal(count_of(&f, 1, FEW), 1);
	end(&f);
}

static void after_a_minute_without_another_project_all_slots_are_given(void **state)
{
	struct fixture f;

	(void)state;
	begin_beside(&f, 5);
	assert_int_equal(count_of(&f, 1, MANY), SLOTS - KEPT);
	now_us += 60 * US_PER_S - 1;
	seat_with(&f, SLOTS, SLOTS + 1);
	assert_int_equal(count_of(&f, 1, MANY), SLOTS - KEPT);
	now_us += 1;
	thread_sim_run(f.th); /* by an alarm of its own: nothing else happens here */
	assert_int_equal(count_of(&f, 1, MANY), SLOTS);
	end(&f);
}

static void who_is_alone_has_all_slots(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put_of(&f, MANY, "many/w/t", 5);
	seat_with(&f, SLOTS, SLOTS);
	over(&f, ready(&f, MANY, 60)); /* it started little itself: that keeps it from nothing */
	ready_many(&f, MANY, 2, 100);
	seat_with(&f, SLOTS, SLOTS + 1);
	assert_int_equal(count_of(&f, 1, MANY), SLOTS);
	end(&f);
}

static void two_masses_have_all_slots_between_them(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put_of(&f, MANY, "many/w/t", 5);
	put_of(&f, FEW, "lots/w/t", 5);
	ready_many(&f, MANY, 1, 100);
	ready_many(&f, FEW, 1, 100);
	seat_with(&f, SLOTS, SLOTS);
	round_over(&f);
	assert_int_equal(f.n, 2 * SLOTS);
	assert_int_equal(count_of(&f, 0, FEW), SLOTS);
	end(&f);
}

static void of_few_slots_none_is_kept(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	put_of(&f, MANY, "many/w/t", 5);
	put_of(&f, FEW, "few/w/t", 5);
	seat_with(&f, 7, 7);
	over(&f, ready(&f, FEW, 60));
	ready_many(&f, MANY, 1, 20);
	seat_with(&f, 7, 8);
	assert_int_equal(count_of(&f, 1, MANY), 7);
	end(&f);
}

static void why_says_what_is_kept_and_for_whom(void **state)
{
	struct inst_key last = { 100 * 60, MANY, 0 };
	struct why_line w = { 0 };
	struct instance i;
	struct fixture f;
	struct buf out;

	(void)state;
	begin_beside(&f, 5);
	assert_true(ledger_find(f.ledger, last, &i));
	assert_true(sorter_explain(f.sorter, last, i.slot, &w));
	assert_int_equal(w.code, WHY_SLOTS_KEPT);
	buf_init(&out);
	why_print_line(&w, &out);
	assert_string_equal(
		buf_str(&out),
		"the free slots for task type t, at most 4 of 32, are kept for projects "
		"that start little; 28 of project many run");
	buf_done(&out);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mass_leaves_an_eighth_to_who_started_little),
		cmocka_unit_test(each_link_of_a_chain_is_granted_at_once_beside_rounds_of_a_mass),
		cmocka_unit_test(a_mass_of_the_highest_priority_takes_no_more),
		cmocka_unit_test(after_a_minute_without_another_project_all_slots_are_given),
		cmocka_unit_test(who_is_alone_has_all_slots),
		cmocka_unit_test(two_masses_have_all_slots_between_them),
		cmocka_unit_test(of_few_slots_none_is_kept),
		cmocka_unit_test(why_says_what_is_kept_and_for_whom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
