#include "baseserver/sorter.h"

#include <stdlib.h>

#include "baseserver/ledger.h"
#include "baseserver/sorter_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { PRIORITY_MAX = 10 };
#define AGE_STEP_US     (600 * US_PER_S) /* effective priority = min(10, p + waited / 10 min) */
#define WALL_RECHECK_US (60 * US_PER_S)

static struct ready *ready_at(const struct sorter *s, uint32_t i)
{
	return slab_at(&s->ready, i);
}

/* Priority first, then effective due: one number, smaller starts first. */
static int64_t rank_of(const struct ready *r)
{
	return (int64_t)(PRIORITY_MAX - r->effective) << 58 | (r->eff_due_us & ((1LL << 58) - 1));
}

static bool quota_full(const struct queue *q)
{
	int32_t cap = q->def->workflow_cap;

	return cap > 0 && q->quota && q->quota->slots + q->quota->asked >= cap;
}

static bool may_start(const struct queue *q)
{
	if (!q->def || !heap_top(&q->ready) || q->held)
		return false;
#ifdef BUG_4
	if (q->state == TS_ONLINE && !q->frozen)
		return (q->def->concurrency == 0 || q->slots + q->asked <= q->def->concurrency) &&
		       !quota_full(q);
#endif
	if (q->state == TS_ONLINE && !q->frozen)
		return (q->def->concurrency == 0 || q->slots + q->asked < q->def->concurrency) &&
		       !quota_full(q);
	/* Test runs of a draft ask no gate of the task. */
	const struct heap_node *top = heap_top(&q->ready);
	return ((const struct ready *)top)->key.part < 0;
}

void sorter_class_moved(struct sorter *s, struct klass *k)
{
	const struct heap_node *top = heap_top(&k->queues);

	if (top && k->open > 0)
		heap_set(&s->open, &k->node, top->key);
	else
		heap_remove(&s->open, &k->node);
}

static void queue_moved(struct sorter *s, struct queue *q)
{
	if (!q->klass)
		return;
	if (may_start(q))
		heap_set(&q->klass->queues, &q->node, heap_top(&q->ready)->key);
	else
		heap_remove(&q->klass->queues, &q->node);
	sorter_class_moved(s, q->klass);
}

/* A slot of a workflow came free or was taken: its other tasks may move too. */
static void quota_moved(struct sorter *s, const struct queue *of)
{
	if (!of->def || !of->quota || of->def->workflow_cap == 0)
		return;
	for (struct queue *q = of->quota->queues; q; q = q->next_of_quota)
		if (q->n > 0)
			queue_moved(s, q);
}

static void quota_join(struct queue *q, struct quota *quota)
{
	if (q->quota == quota)
		return;
	if (q->quota) {
		struct queue **at = &q->quota->queues;
		while (*at != q)
			at = &(*at)->next_of_quota;
		*at = q->next_of_quota;
		q->quota->slots -= q->slots;
		q->quota->asked -= q->asked;
	}
	q->quota = quota;
	q->next_of_quota = quota->queues;
	quota->queues = q;
	quota->slots += q->slots;
	quota->asked += q->asked;
}

static struct quota *quota_of(struct sorter *s, uint32_t workflow)
{
	if (workflow >= s->quotas_cap) {
		size_t cap = (size_t)workflow * 2 + 16;
		s->quotas = mem_grow(s->quotas, cap, sizeof *s->quotas);
		for (size_t i = s->quotas_cap; i < cap; i++)
			s->quotas[i] = NULL;
		s->quotas_cap = cap;
	}
	if (!s->quotas[workflow]) {
		s->quotas[workflow] = mem_new(sizeof *s->quotas[workflow]);
		s->quotas[workflow]->workflow = workflow;
	}
	return s->quotas[workflow];
}

static struct queue *queue_place(struct sorter *s, uint32_t id)
{
	if (id >= s->queues_cap) {
		size_t cap = (size_t)id * 2 + 64;
		s->queues = mem_grow(s->queues, cap, sizeof *s->queues);
		for (size_t i = s->queues_cap; i < cap; i++)
			s->queues[i] = NULL;
		s->queues_cap = cap;
	}
	if (!s->queues[id]) {
		struct queue *q = mem_new(sizeof *q);
		heap_node_init(&q->node);
		heap_init(&q->ready);
		q->id = id;
		s->queues[id] = q;
	}
	return s->queues[id];
}

static void promote(struct sorter *s, struct ready *r)
{
	int64_t waited = actor_wall_us(s->me) - r->eff_due_us;
	int64_t steps = waited > 0 ? waited / AGE_STEP_US : 0;
	int64_t effective = r->priority + steps;

	r->effective = (uint8_t)(effective < PRIORITY_MAX ? effective : PRIORITY_MAX);
	if (r->effective < PRIORITY_MAX)
		heap_set(&s->promos, &r->promo, r->eff_due_us + (steps + 1) * AGE_STEP_US);
	else
		heap_remove(&s->promos, &r->promo);
}

static void enqueue(struct sorter *s, struct ready *r)
{
	if (r->asked || r->frozen)
		heap_remove(&r->queue->ready, &r->node);
	else
		heap_set(&r->queue->ready, &r->node, rank_of(r));
	queue_moved(s, r->queue);
}

static uint32_t of_slot(const struct sorter *s, uint32_t slot)
{
	return slot < s->by_slot_cap ? s->by_slot[slot] : SLAB_NONE;
}

static void set_slot(struct sorter *s, uint32_t slot, uint32_t ready)
{
	if (slot >= s->by_slot_cap) {
		size_t cap = (size_t)slot + slot / 4 + 1024;
		s->by_slot = mem_grow(s->by_slot, cap, sizeof *s->by_slot);
		for (size_t i = s->by_slot_cap; i < cap; i++)
			s->by_slot[i] = SLAB_NONE;
		s->by_slot_cap = cap;
	}
	s->by_slot[slot] = ready;
}

static void take_in(struct sorter *s, const struct instance *i, uint32_t slot)
{
	uint32_t index = slab_take(&s->ready);
	struct ready *r = ready_at(s, index);

	heap_node_init(&r->node);
	heap_node_init(&r->promo);
	r->queue = queue_place(s, i->key.task);
	r->queue->n++;
	r->key = i->key;
	r->slot = slot;
	set_slot(s, slot, index);
}

static void refresh(struct sorter *s, struct ready *r, const struct instance *i)
{
	r->revision = i->revision;
	r->eff_due_us = i->eff_due_us;
	r->priority = i->priority;
	r->frozen = i->flags & IF_FROZEN;
	promote(s, r);
	enqueue(s, r);
}

static void let_go(struct sorter *s, uint32_t index)
{
	struct ready *r = ready_at(s, index);
	struct queue *q = r->queue;

	heap_remove(&q->ready, &r->node);
	heap_remove(&s->promos, &r->promo);
	if (r->asked) {
		q->asked--;
		if (q->quota)
			q->quota->asked--;
	}
	q->n--;
	s->by_slot[r->slot] = SLAB_NONE;
	slab_give(&s->ready, index);
	queue_moved(s, q);
}

static void count_slots(struct sorter *s, struct queue *q, int d)
{
	if (d == 0)
		return;
	q->slots += d;
	q->moves++;
	if (q->quota) {
		q->quota->slots += d;
		q->quota->moves++;
	}
	q->held = false;
	queue_moved(s, q);
	quota_moved(s, q);
}

static void fold_instance(struct sorter *s, const struct transition *tr)
{
	const struct instance *i = &tr->inst;
	struct queue *q = queue_place(s, i->key.task);
	uint32_t index = of_slot(s, tr->slot);
	bool queued = i->state == ST_DEPEND || i->state == ST_ROUGH;

	if (!queued && index != SLAB_NONE)
		let_go(s, index);
	count_slots(s, q,
	            (int)state_holds_slot((enum state)i->state) -
	                    (int)state_holds_slot((enum state)tr->from));
	if (!queued)
		return;
	if (index == SLAB_NONE) {
		take_in(s, i, tr->slot);
		index = of_slot(s, tr->slot);
	}
	refresh(s, ready_at(s, index), i);
}

static void count_seat(struct sorter *s, const struct transition *tr)
{
	struct seat *seat = tr->session ? sorter_seat(s, tr->session) : NULL;

	if (seat)
		seat->running += (int)state_holds_slot((enum state)tr->inst.state) -
		                 (int)state_holds_slot((enum state)tr->from);
}

static void put_def(struct sorter *s, const struct task *def, uint8_t state, bool frozen)
{
	struct queue *q = queue_place(s, def->id);

	if (q->klass)
		heap_remove(&q->klass->queues, &q->node);
	if (q->klass)
		sorter_class_moved(s, q->klass);
	task_ref(def);
	task_unref(q->def);
	q->def = def;
	q->state = state;
	q->frozen = frozen;
	q->moves++;
	q->held = false;
	q->klass = sorter_class_of(s, def);
	quota_join(q, quota_of(s, def->workflow_id));
	queue_moved(s, q);
}

static void release_held(struct sorter *s)
{
	for (size_t i = 0; s->any_held && i < s->queues_cap; i++)
		if (s->queues[i] && s->queues[i]->held) {
			s->queues[i]->held = false;
			queue_moved(s, s->queues[i]);
		}
	s->any_held = false;
}

static void fold(struct sorter *s)
{
	for (const struct transition *tr; (tr = stream_peek(s->in)); stream_next(s->in)) {
		if (tr->kind == TK_INSTANCE) {
			fold_instance(s, tr);
			count_seat(s, tr);
		} else if (tr->kind == TK_TASK) {
			const struct store_task *row = tr->row;
			put_def(s, tr->ref, row->state, row->frozen);
		} else if (tr->kind == TK_MARK) {
			s->mark = tr->inst.token;
			s->marks++;
			release_held(s);
		}
	}
}

/* Counts all that may have opened a gate of the queue. */
static uint32_t moves_of(const struct sorter *s, const struct queue *q)
{
	return q->moves + s->marks + (q->quota ? q->quota->moves : 0);
}

static void grant(struct sorter *s, struct klass *k)
{
	struct queue *q = (struct queue *)heap_top(&k->queues);
	struct ready *r = (struct ready *)heap_top(&q->ready);
	struct seat *seat = sorter_choose(s, k, r);

	CHECK(seat);
	struct proposal *p = outbox_add(&s->out, ASK_GRANT, r->key);
	p->revision = r->revision;
	p->folded = s->mark;
	p->session = seat->session;
	p->broker = seat->broker;
	p->cookie = (uint64_t)seat->session << 32 | r->slot;
	r->asked = true;
	r->moves = moves_of(s, q);
	q->asked++;
	if (q->quota)
		q->quota->asked++;
	enqueue(s, r);
	quota_moved(s, q);
	sorter_spend(s, seat);
}

static void start_what_may(struct sorter *s)
{
	struct heap_node *top;

	while (outbox_room(&s->out) > 0 && (top = heap_top(&s->open)))
		grant(s, (struct klass *)top);
}

static void look_at_ages(struct sorter *s)
{
	int64_t now = actor_wall_us(s->me);
	struct heap_node *top;

	while ((top = heap_top(&s->promos)) && top->key <= now) {
		struct ready *r = (struct ready *)((char *)top - offsetof(struct ready, promo));
		promote(s, r);
		enqueue(s, r);
	}
	if (!top)
		return actor_alarm(s->me, ALARM_OFF);
	int64_t wait = top->key - now;
	actor_alarm(s->me,
	            actor_mono_us(s->me) + (wait < WALL_RECHECK_US ? wait : WALL_RECHECK_US));
}

static void turn(void *self)
{
	struct sorter *s = self;

	fold(s);
	look_at_ages(s);
	start_what_may(s);
	outbox_flush(&s->out);
}

static void on_alarm(void *self)
{
	(void)self; /* turn() follows */
}

/* A returned grant: the credit it spent is given back, the instance waits again. */
static void returned(struct sorter *s, const struct answer *a)
{
	uint32_t index = of_slot(s, (uint32_t)a->cookie);
	struct seat *seat = sorter_seat(s, (uint32_t)(a->cookie >> 32));

	if (seat)
		sorter_regain(s, seat);
	if (index == SLAB_NONE || !inst_key_eq(ready_at(s, index)->key, a->key))
		return;
	struct ready *r = ready_at(s, index);
	struct queue *q = r->queue;
	if (!r->asked)
		return;
	r->asked = false;
	q->asked--;
	if (q->quota)
		q->quota->asked--;
	/* What opens the gate may have been folded before the answer came: then ask again. */
	if (a->code != E_REVISION && moves_of(s, q) == r->moves) {
		q->held = true;
		s->any_held = true;
	}
	enqueue(s, r);
}

static void answered(struct letter *letter, void *self)
{
	struct sorter *s = self;
	struct answers *as = (struct answers *)letter;

	outbox_settled(&s->out, as);
	for (size_t i = 0; i < as->n; i++)
		returned(s, &as->a[i]);
	free(as);
}

static void on_session(struct letter *letter, void *self)
{
	struct session_news *n = (struct session_news *)letter;

	sorter_seat_news(self, n);
	session_news_free(n);
}

static void session_discard(struct letter *letter)
{
	session_news_free((struct session_news *)letter);
}

int sorter_session(struct sorter *s, struct session_news *n)
{
	n->letter.deliver = on_session;
	n->letter.discard = session_discard;
	return actor_post_credit(s->me, &n->letter);
}

static int init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static const struct actor_ops ops = {
	.name = "sorter", .letters_max = 65536, .init = init, .turn = turn, .alarm = on_alarm
};

static void load_task(void *ctx, const struct ledger_task *t)
{
	put_def(ctx, t->def, t->row->state, t->row->frozen);
}

static void load_instance(void *ctx, const struct instance *i, uint32_t slot)
{
	struct sorter *s = ctx;

	count_slots(s, queue_place(s, i->key.task), state_holds_slot((enum state)i->state));
	if (i->state != ST_DEPEND && i->state != ST_ROUGH)
		return;
	take_in(s, i, slot);
	refresh(s, ready_at(s, of_slot(s, slot)), i);
}

struct sorter *sorter_new(struct thread *th, struct ledger *ledger)
{
	struct sorter *s = mem_new(sizeof *s);

	s->ledger = ledger;
	s->random = 2463534242u;
	slab_init(&s->ready, sizeof(struct ready));
	heap_init(&s->open);
	heap_init(&s->promos);
	s->me = actor_new(th, &ops, s);
	s->in = stream_reader_new(ledger_stream(ledger), STREAM_INNER, s->me);
	s->out = (struct outbox){
		.ledger = ledger, .me = s->me, .from = PR_SORTER, .answered = answered
	};
	ledger_each_task(ledger, load_task, s);
	ledger_each_instance(ledger, load_instance, s);
	return s;
}

void sorter_free(struct sorter *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->queues_cap; i++)
		if (s->queues[i]) {
			task_unref(s->queues[i]->def);
			heap_done(&s->queues[i]->ready);
			free(s->queues[i]);
		}
	for (size_t i = 0; i < s->quotas_cap; i++)
		free(s->quotas[i]);
	sorter_seats_free(s);
	slab_done(&s->ready);
	heap_done(&s->open);
	heap_done(&s->promos);
	outbox_done(&s->out);
	free(s->queues);
	free(s->quotas);
	free(s->by_slot);
	free(s);
}

struct actor *sorter_actor(struct sorter *s)
{
	return s->me;
}

static struct ready *find(struct sorter *s, struct inst_key key)
{
	for (uint32_t i = 0; i < s->by_slot_cap; i++)
		if (s->by_slot[i] != SLAB_NONE && inst_key_eq(ready_at(s, s->by_slot[i])->key, key))
			return ready_at(s, s->by_slot[i]);
	return NULL;
}

bool sorter_explain(struct sorter *s, struct inst_key key, struct buf *out)
{
	const struct ready *r = find(s, key);

	if (!r)
		return false;
	const struct queue *q = r->queue;
	if (q->state != TS_ONLINE)
		buf_puts(out, "its task is not online");
	else if (q->frozen || r->frozen)
		buf_printf(out, "frozen: %s; opens by unfreeze", q->frozen ? "task" : "instance");
	else if (q->def->concurrency && q->slots + q->asked >= q->def->concurrency)
		buf_printf(out, "task concurrency: %d of %d run; opens when one ends", q->slots,
		           q->def->concurrency);
	else if (quota_full(q))
		buf_printf(out, "workflow quota: %d of %d run; opens when one ends",
		           q->quota->slots, q->def->workflow_cap);
	else if (q->klass->n_sessions == 0)
		buf_printf(out, "no broker of group '%s' has task type %s online", q->klass->group,
		           q->klass->type);
	else if (q->klass->open == 0)
		buf_printf(out, "all slots for task type %s are taken; opens when a job ends",
		           q->klass->type);
	else
		buf_puts(out, "its turn comes by priority");
	return true;
}

void sorter_each_class(const struct sorter *s,
                       void (*each)(void *ctx, const struct sorter_class *c), void *ctx)
{
	for (size_t i = 0; i < s->n_classes; i++) {
		const struct klass *k = s->classes[i];
		struct sorter_class c = { k->type, k->group, 0, k->n_sessions, k->open };
		for (size_t j = 0; j < s->queues_cap; j++)
			if (s->queues[j] && s->queues[j]->klass == k)
				c.queued += s->queues[j]->n;
		each(ctx, &c);
	}
}
