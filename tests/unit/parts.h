/* parts.h — a ledger, a resolver and a sorter for instances with parts; what became of them. */
#ifndef TESTS_UNIT_PARTS_H
#define TESTS_UNIT_PARTS_H

#include "baseserver/plan/resolver.h"
#include "store/mem.h"
#include "tests/unit/sorting.h"
#include "util/err.h"

#define HELPER __attribute__((unused)) static

enum { SESSIONS = 4 };

/* What became of the work: filled by hand, one row per part. */
struct scene {
	struct fixture f;
	struct resolver *resolver;
	struct stream_reader *in;
	struct instance rows[256];
	size_t n;
};

HELPER void see(struct scene *s)
{
	thread_sim_run(s->f.th);
	for (const struct transition *tr; (tr = stream_peek(s->in)); stream_next(s->in)) {
		size_t i = 0;
		if (tr->kind != TK_INSTANCE)
			continue;
		while (i < s->n && !inst_key_eq(s->rows[i].key, tr->inst.key))
			i++;
		assert_true(i < 256);
		s->rows[i] = tr->inst;
		s->n += i == s->n;
		assert_int_equal(fsm_next((enum state)tr->from, (enum event)tr->event), tr->to);
	}
	thread_sim_run(s->f.th);
	if (stream_peek(s->in))
		see(s);
}

HELPER const struct instance *at(struct scene *s, uint32_t task, int32_t part)
{
	see(s);
	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].key.task == task && s->rows[i].key.part == part)
			return &s->rows[i];
	return NULL;
}

HELPER int state_at(struct scene *s, uint32_t task, int32_t part)
{
	const struct instance *i = at(s, task, part);

	return i ? i->state : ST_NONE;
}

static const struct actor_ops reader_ops = { .name = "see", .letters_max = 10, .init = me_init };

HELPER void open_scene(struct scene *s, struct store *store)
{
	struct ledger_settings set = { .ring_slots = 4096,
		                       .batch_max = 100,
		                       .window_us = 1000,
		                       .retry_us = 1000,
		                       .epoch_us = 1000000,
		                       .fatal = on_fatal };
	struct fixture *f = &s->f;

	memset(s, 0, sizeof *s);
	f->store = store;
	f->th = thread_new("test", &test_clock);
	assert_int_equal(ledger_new(&(struct ledger_start){ .thread = f->th,
	                                                    .store = f->store,
	                                                    .who = "test",
	                                                    .set = &set },
	                            &f->ledger, NULL),
	                 0);
	s->resolver = resolver_new(f->th, f->ledger);
	f->sorter = sorter_new(f->th, f->ledger);
	f->me = actor_new(f->th, &me_ops, f);
	f->in = stream_reader_new(ledger_stream(f->ledger), STREAM_INNER, f->me);
	s->in = stream_reader_new(ledger_stream(f->ledger), STREAM_INNER,
	                          actor_new(f->th, &reader_ops, s));
	assert_int_equal(thread_sim_start(f->th, NULL), 0);
}

HELPER void scene_begin(struct scene *s)
{
	struct store *store;

	now_us = 0;
	assert_int_equal(store_open("mem:", &store, NULL), 0);
	open_scene(s, store);
}

HELPER void scene_end(struct scene *s)
{
	thread_stop(s->f.th);
	resolver_free(s->resolver);
	sorter_free(s->f.sorter);
	ledger_free(s->f.ledger);
	thread_free(s->f.th);
	store_close(s->f.store);
}

HELPER void sit(struct scene *s, uint32_t session, const char *name, bool gone)
{
	struct session_news *n = mem_new(sizeof *n);

	n->session = session;
	n->broker = session;
	n->gone = gone;
	n->accepts = true;
	n->type = mem_str("t");
	n->broker_name = mem_str(name);
	n->limit = 100;
	assert_int_equal(sorter_session(s->f.sorter, n), 0);
	see(s);
}

HELPER void told(struct letter *l, void *self)
{
	int *code = self;

	(void)code;
	free(l);
}

HELPER void say(struct scene *s, enum ask what, struct inst_key key,
                void (*also)(struct proposal *p, void *ctx), void *ctx)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, s->f.me, told);
	struct proposal *p = proposals_add(ps, what, key);

	p->folded = UINT64_MAX;
	p->due = key.run_date;
	p->reason = RE_USER;
	if (also)
		also(p, ctx);
	assert_int_equal(ledger_propose(s->f.ledger, ps), 0);
	see(s);
}

HELPER void with_end(struct proposal *p, void *ctx)
{
	const struct instance *i = ctx;

	p->token = i->token;
	p->end = (uint8_t)i->exit_code; /* as: enum attempt_end */
	p->reason = RE_EXIT;
}

HELPER void ended(struct scene *s, uint32_t task, int32_t part, enum attempt_end as)
{
	struct instance i = *at(s, task, part);

	i.exit_code = (int32_t)as;
	say(s, ASK_ENDED, i.key, with_end, &i);
}

HELPER void with_intent(struct proposal *p, void *ctx)
{
	(void)ctx;
	p->intent = KI_USER;
}

HELPER void with_plan(struct proposal *p, void *ctx)
{
	(void)ctx;
	p->plan = true;
	p->reason = RE_DUE;
}

HELPER void with_mend(struct proposal *p, void *ctx)
{
	(void)ctx;
	p->mend = true;
}

HELPER void with_branch(struct proposal *p, void *ctx)
{
	struct instance i = *(const struct instance *)ctx;

	p->token = i.token;
	p->end = AE_OK;
	p->branch = mem_str("[\"b\"]");
}

HELPER void create(struct scene *s, uint32_t task)
{
	say(s, ASK_CREATE, (struct inst_key){ 60, task, 0 }, with_plan, NULL);
}

HELPER int grants(struct scene *s, uint32_t task, int32_t part)
{
	int n = 0;

	see(s);
	for (int i = 0; i < s->f.n; i++)
		n += s->f.granted[i].task == task && s->f.granted[i].part == part;
	return n;
}

/* --- broadcast --- */

HELPER void broadcast(struct scene *s)
{
	scene_begin(s);
	sit(s, 1, "one", false);
	sit(s, 2, "two", false);
	put(&s->f, 1, 5, 0, DISPATCH_BROADCAST);
	create(s, 1);
}

/* --- pipelines --- */

HELPER const char *const nodes[] = { "one", "two" };

HELPER struct task_link strong_1 = {
	.parent = 1, .kind = LK_SAME, .on = ON_STRONG, .by_node = true
};
HELPER struct task_link failed_1 = {
	.parent = 1, .kind = LK_SAME, .on = ON_FAILURE, .strategy = LS_ANY, .by_node = true
};
HELPER struct task_link strong_2 = {
	.parent = 2, .kind = LK_SAME, .on = ON_STRONG, .by_node = true
};

HELPER void put_step_from(struct scene *s, uint32_t id, struct task_link *link, int64_t begin)
{
	struct task t = { .id = id,
		          .workflow_id = 9,
		          .dispatch = DISPATCH_BROADCAST,
		          .machines = nodes,
		          .n_machines = 2,
		          .links = link,
		          .n_links = link != NULL,
		          .pipeline = true,
		          .overlap = OVERLAP_SKIP,
		          .overlap_run = true,
		          .fails_only = link == &failed_1 };

	put_task_from(&s->f, &t, begin);
}

HELPER void put_step(struct scene *s, uint32_t id, struct task_link *link)
{
	put_step_from(s, id, link, INT64_MIN);
}

/* Steps 1 and 2, 3 after 2; 4 is `failed`. */
#endif
