/* baseserver/model/select_feed: a feed is made ready in pieces, while rows come and go. */
#include "baseserver/model/catalog.h"
#include "baseserver/model/select.h"
#include "tests/unit/sorting.h"

enum { MANY = 2500, FEW = 20, TASK_MANY = 1, TASK_FEW = 2, TASK_OTHER = 3 };

struct world {
	struct fixture f;
	struct catalog cat;
	struct stream_reader *in;
	uint32_t tasks[3];
	struct selection sel;
};

static void feed_begin(struct world *w)
{
	static const int n[] = { MANY, FEW, 40 };

	begin(&w->f);
	for (uint32_t t = TASK_MANY; t <= TASK_OTHER; t++)
		put(&w->f, t, 5, 0, DISPATCH_LEAST);
	for (uint32_t t = TASK_MANY; t <= TASK_OTHER; t++)
		for (int i = n[t - 1]; i > 0; i--) /* a list has them the other way round */
			ask(&w->f, ASK_CREATE, (struct inst_key){ i * 60, t, 0 }, 0);
	catalog_init(&w->cat);
	catalog_restore(&w->cat, w->f.ledger);
	w->tasks[0] = TASK_MANY;
	w->tasks[1] = TASK_FEW;
	w->sel = (struct selection){ .tasks = w->tasks, .n_tasks = 2 };
}

static void feed_end(struct world *w)
{
	catalog_done(&w->cat);
	end(&w->f);
}

/* -> how many calls it took. */
static int make_ready(struct feed *f, size_t piece)
{
	int calls = 0;

	for (bool is_ready = false; !is_ready; calls++) {
		size_t left = piece;
		is_ready = feed_ready(f, &left);
		assert_true(calls < 100000);
	}
	return calls;
}

static void rows_of_a_task_that_has_many_are_found_in_pieces_and_in_order(void **state)
{
	struct world w = { 0 };
	struct item it;

	(void)state;
	feed_begin(&w);
	for (size_t piece = 1; piece <= 1000; piece *= 10) {
		struct feed *f = feed_open(&w.cat, &w.sel, FEED_LIVE, FEED_BY_TASK);
		int calls = make_ready(f, piece);
		assert_true(calls > MANY / 2 / (int)piece); /* none is longer than it may be */
		for (uint32_t t = TASK_MANY; t <= TASK_FEW; t++)
			for (int i = 1; i <= (t == TASK_MANY ? MANY : FEW); i++) {
				assert_true(feed_next(f, &it));
				assert_int_equal(it.key.task, t);
				assert_int_equal(it.key.run_date, i * 60);
			}
		assert_false(feed_next(f, &it));
		feed_close(f);
	}
	feed_end(&w);
}

static void dates_with_the_last_first_are_listed_in_pieces(void **state)
{
	struct world w = { 0 };
	struct item it;

	(void)state;
	feed_begin(&w);
	w.sel.n_tasks = 1;
	struct feed *f = feed_open(&w.cat, &w.sel, FEED_LIVE, FEED_BY_DATE_DESC);
	assert_true(make_ready(f, 100) >= 2 * MANY / 100);
	for (int i = MANY; i > 0; i--) {
		assert_true(feed_next(f, &it));
		assert_int_equal(it.key.run_date, i * 60);
	}
	assert_false(feed_next(f, &it));
	feed_close(f);
	feed_end(&w);
}

/* A piece may cost a whole list of few, never one of many. */
static void a_selection_of_few_is_ready_at_once_beside_a_task_that_has_many(void **state)
{
	struct world w = { 0 };
	size_t left = 100;
	struct item it;

	(void)state;
	feed_begin(&w);
	w.tasks[0] = TASK_FEW;
	w.sel.n_tasks = 1;
	struct feed *f = feed_open(&w.cat, &w.sel, FEED_LIVE, FEED_BY_TASK);
	assert_true(feed_ready(f, &left));
	assert_int_equal(left, 100 - FEW - 1);
	assert_true(feed_next(f, &it));
	feed_close(f);
	feed_end(&w);
}

static void what_stays_is_found_though_others_go_between_two_pieces(void **state)
{
	struct world w = { 0 };
	bool seen[MANY + 1] = { false };
	struct item it;
	size_t left;

	(void)state;
	feed_begin(&w);
	w.in = stream_reader_new(ledger_stream(w.f.ledger), STREAM_INNER, w.f.me);
	struct feed *f = feed_open(&w.cat, &w.sel, FEED_LIVE, FEED_BY_TASK);
	for (int i = 1; left = 50, !feed_ready(f, &left); i += 2) {
		if (i <= MANY)
			ask(&w.f, ASK_SKIP, (struct inst_key){ i * 60, TASK_MANY, 0 }, 0);
		for (const struct transition *tr; (tr = stream_peek(w.in)); stream_next(w.in))
			catalog_fold(&w.cat, tr);
	}
	while (feed_next(f, &it))
		if (it.key.task == TASK_MANY)
			seen[it.key.run_date / 60] = true;
	for (int i = 2; i <= MANY; i += 2)
		assert_true(seen[i]);
	feed_close(f);
	feed_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_a_task_that_has_many_are_found_in_pieces_and_in_order),
		cmocka_unit_test(dates_with_the_last_first_are_listed_in_pieces),
		cmocka_unit_test(a_selection_of_few_is_ready_at_once_beside_a_task_that_has_many),
		cmocka_unit_test(what_stays_is_found_though_others_go_between_two_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
