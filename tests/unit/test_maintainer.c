/* baseserver/keep: what the lists of sessions say after a restart of the server, when nobody knows
 * any more to which loader of a machine a job was sent. */
#include "baseserver/keep/maintainer.h"
#include "tests/unit/sorting.h"

enum { BROKER = 1, FORMER_LANE = 1, LANE = 2 };

struct house {
	struct store *store;
	struct thread *th;
	struct ledger *ledger;
	struct maintainer *maintainer;
	struct actor *me;
	struct task task;
	struct inst_key key;
	size_t resent;
};

static const struct actor_ops still_ops = { .name = "test", .letters_max = 100, .init = me_init };

static void open_house(struct house *h)
{
	struct ledger_settings set = { .ring_slots = 1024,
		                       .batch_max = 100,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = 1000000,
		                       .fatal = on_fatal };
	struct maintainer_settings keep = { .lose_us = 180 * US_PER_S, .beat_us = 10 * US_PER_S };
	struct store_task row = { .id = 1,
		                  .workflow_id = 1,
		                  .version = 1,
		                  .state = TS_ONLINE,
		                  .planned_through = INT64_MIN,
		                  .online_from = INT64_MIN };
	struct task *tasks[] = { &h->task };

	h->th = thread_new("test", &test_clock);
	assert_int_equal(ledger_new(&(struct ledger_start){ .thread = h->th,
	                                                    .store = h->store,
	                                                    .who = "test",
	                                                    .set = &set,
	                                                    .tasks = tasks,
	                                                    .rows = &row,
	                                                    .n_tasks = 1 },
	                            &h->ledger, NULL),
	                 0);
	h->maintainer = maintainer_new(h->th, h->ledger, &keep);
	h->me = actor_new(h->th, &still_ops, h);
	assert_int_equal(thread_sim_start(h->th, NULL), 0);
	thread_sim_run(h->th);
}

static void close_house(struct house *h)
{
	thread_stop(h->th);
	maintainer_free(h->maintainer);
	ledger_free(h->ledger);
	thread_free(h->th);
}

static void house_ask(struct house *h, enum ask what, uint64_t token)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, h->me, on_answers);
	struct proposal *p = proposals_add(ps, what, h->key);

	p->folded = UINT64_MAX;
	p->broker = BROKER;
	p->session = 1;
	p->lane = FORMER_LANE;
	p->token = token;
	assert_int_equal(ledger_propose(h->ledger, ps), 0);
	thread_sim_run(h->th);
}

static struct instance house_row(struct house *h)
{
	struct instance i;

	thread_sim_run(h->th);
	assert_true(ledger_find(h->ledger, h->key, &i));
	return i;
}

static void count_resent(struct letter *l, void *self)
{
	((struct house *)self)->resent += ((struct resend *)l)->n;
	free(l);
}

/* The greeting of a loader that holds nothing. */
static void greets(struct house *h, uint32_t session, uint32_t lane, bool others, bool fresh)
{
	struct held_news *n = mem_new(sizeof *n);

	*n = (struct held_news){ .worker = h->me,
		                 .resend = count_resent,
		                 .session = session,
		                 .broker = BROKER,
		                 .holder = { .machine = 7, .broker = BROKER },
		                 .lane = lane,
		                 .others = others,
		                 .loader = true,
		                 .hello = true,
		                 .fresh = fresh,
		                 .type = "t" };
	assert_int_equal(maintainer_held(h->maintainer, n), 0);
	thread_sim_run(h->th);
}

static void begin_granted(struct house *h, bool started)
{
	struct schedule s = {
		.unit = CU_MINUTE, .step = 1, .tz = zone("UTC"), .start = 0, .end = PLAN_NEVER
	};

	*h = (struct house){ .key = { 60, 1, 0 } };
	h->task = (struct task){ .id = 1,
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
		                 .refs = 1000 };
	now_us = 0;
	assert_int_equal(plan_new(&s, &h->task.plan, NULL), 0);
	assert_int_equal(store_open("mem:", &h->store, NULL), 0);
	open_house(h);
	house_ask(h, ASK_CREATE, 0);
	house_ask(h, ASK_SATISFY, 0);
	house_ask(h, ASK_GRANT, 0);
	if (started)
		house_ask(h, ASK_STARTED, house_row(h).token);
	assert_int_equal(house_row(h).state, ST_RUNNING);
}

static void end_house(struct house *h)
{
	close_house(h);
	store_close(h->store);
	plan_free(h->task.plan);
}

/* The loader that it was sent to is told apart no more, died with the job and is over; whoever is
 * alone there now never had it. To send it the same token would start one attempt twice. */
static void what_a_former_server_granted_is_lost_and_not_sent_again(void **state)
{
	struct house h;

	(void)state;
	for (int started = 0; started < 2; started++) {
		begin_granted(&h, started);
		close_house(&h);
		open_house(&h);
		greets(&h, 2, FORMER_LANE, true, true); /* another may hold it */
		greets(&h, 3, LANE, true, true);
		assert_int_equal(house_row(&h).state, ST_RUNNING);
		greets(&h, 4, LANE, false, false);
		assert_int_equal(house_row(&h).state, ST_FAILED);
		assert_int_equal(house_row(&h).reason, RE_LOST);
		assert_int_equal(h.resent, 0);
		end_house(&h);
	}
}

/* The same process under the same server: it never got it. */
static void what_this_server_granted_is_sent_again_to_its_own_loader(void **state)
{
	struct house h;

	(void)state;
	begin_granted(&h, false);
	greets(&h, 2, LANE, false, false); /* of another lane: says nothing */
	assert_int_equal(h.resent, 0);
	greets(&h, 3, FORMER_LANE, false, false);
	assert_int_equal(h.resent, 1);
	assert_int_equal(house_row(&h).state, ST_RUNNING);
	end_house(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_former_server_granted_is_lost_and_not_sent_again),
		cmocka_unit_test(what_this_server_granted_is_sent_again_to_its_own_loader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
