/* baseserver/ledger: when a batch is sealed while its thread is busy and each of its turns takes
 * longer than the window of a commit. */
#include "tests/unit/sorting.h"

enum { SLOW_US = 5000, MANY = 60 }; /* the window is 1,000 us */

struct follower {
	struct fixture *f;
	struct actor *me;
	struct stream_reader *in;
	struct inst_key child;
	uint64_t ended, granted; /* commits by then */
	int64_t kill_next;       /* of task 1; 0: nothing is killed */
	uint64_t turns;
};

static uint64_t commits(const struct follower *w)
{
	struct ledger_figures all;

	ledger_figures(w->f->ledger, &all);
	return all.commits;
}

static void follower_asks(struct follower *w, enum proposer from, enum ask what,
                          struct inst_key key)
{
	struct proposals *ps = proposals_new(from, 1, w->me, on_answers);
	struct proposal *p = proposals_add(ps, what, key);

	p->folded = UINT64_MAX;
	p->session = p->broker = 1;
	p->intent = KI_USER;
	p->reason = RE_USER;
	assert_int_equal(ledger_propose(w->f->ledger, ps), 0);
}

/* As resolver and sorter are: the end, then that the child may start, then the grant. */
static void follow_one(struct follower *w, const struct transition *tr)
{
	if (tr->event == EV_FORCE && tr->inst.key.task == 1) {
		w->ended = commits(w);
		follower_asks(w, PR_RESOLVER, ASK_SATISFY, w->child);
	} else if (tr->event == EV_SATISFY && tr->inst.key.task == 2) {
		follower_asks(w, PR_SORTER, ASK_GRANT, w->child);
	} else if (tr->event == EV_GRANT) {
		w->granted = commits(w);
	}
}

static void follower_turn(void *self)
{
	struct follower *w = self;

	now_us += SLOW_US;
	for (const struct transition *tr; (tr = stream_peek(w->in)); stream_next(w->in))
		if (tr->kind == TK_INSTANCE)
			follow_one(w, tr);
	if (w->kill_next && w->kill_next <= MANY) {
		w->turns++;
		follower_asks(w, PR_COMMANDER, ASK_KILL,
		              (struct inst_key){ 60 * w->kill_next++, 1, 0 });
	}
}

static const struct actor_ops follower_ops = {
	.name = "follower", .letters_max = 1000, .init = me_init, .turn = follower_turn
};

static void begin_followed(struct fixture *f, struct follower *w)
{
	begin_still(f);
	*w = (struct follower){ .f = f, .child = { 60, 2, 0 } };
	w->me = actor_new(f->th, &follower_ops, w);
	w->in = stream_reader_new(ledger_stream(f->ledger), STREAM_INNER, w->me);
	assert_int_equal(thread_sim_start(f->th, NULL), 0);
	put(f, 1, 5, 0, DISPATCH_LEAST_LOADED);
	put(f, 2, 5, 0, DISPATCH_LEAST_LOADED);
}

static void a_grant_is_stored_with_the_end_that_it_follows(void **state)
{
	struct fixture f;
	struct follower w;

	(void)state;
	begin_followed(&f, &w);
	ask(&f, ASK_CREATE, (struct inst_key){ 60, 1, 0 }, 0);
	ask(&f, ASK_CREATE, w.child, 0);
	ask(&f, ASK_FORCE, (struct inst_key){ 60, 1, 0 }, 0);
	assert_true(w.ended > 0);
	assert_int_equal(w.granted, w.ended);
	assert_int_equal(commits(&w), w.ended + 1);
	end(&f);
}

/* Ends that never stop coming are stored all the same. */
static void a_batch_is_not_put_off_for_ever(void **state)
{
	struct fixture f;
	struct follower w;

	(void)state;
	begin_followed(&f, &w);
	for (int64_t d = 1; d <= MANY; d++)
		ask(&f, ASK_CREATE, (struct inst_key){ 60 * d, 1, 0 }, 0);
	uint64_t before = commits(&w);
	w.kill_next = 1;
	actor_wake(w.me);
	thread_sim_run(f.th);
	assert_int_equal(w.turns, MANY);
	assert_in_range(commits(&w) - before, MANY / 20, MANY);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_grant_is_stored_with_the_end_that_it_follows),
		cmocka_unit_test(a_batch_is_not_put_off_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
