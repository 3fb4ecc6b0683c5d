#include "baseserver/maintainer.h"

#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger.h"
#include "baseserver/outbox.h"
#include "rt/stream.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"
#include "util/map.h"
#include "util/slab.h"

/* Wall times (retry, expiry) are looked at again at least this often: clocks get set. */
#define WALL_RECHECK_US (10 * US_PER_S)

/* An instance that time will do something to. */
struct watch {
	struct heap_node node; /* mono us of the next look */
	struct instance inst;
	uint32_t slot;
	uint32_t session;     /* that has it, 0: none yet (after a restart) */
	int64_t granted_us;   /* mono: the attempt's start as far as known */
	int64_t lose_us;      /* mono: lost when not heard by then */
	int64_t kill_us;      /* mono: the kill was asked; 0: none */
	uint8_t absent;       /* lists of its session it was not in, in a row */
	bool present;         /* it was in one */
	bool gone;            /* known to be lost; it may take more than one proposal to say so */
	bool asked;           /* a proposal is under way */
	bool killed_for_time; /* alive_wait's kill was proposed */
};

struct mtask {
	const struct task *def; /* counted */
	struct store_task row;
	int64_t through;
	size_t unfinished;
	bool offline_asked;
};

struct maintainer {
	struct actor *me;
	struct ledger *ledger;
	struct maintainer_settings set;
	struct stream_reader *in;
	struct outbox out;
	struct slab watches;
	uint32_t *by_slot;
	size_t by_slot_cap;
	struct map by_token;
	struct heap times;
	struct mtask **tasks; /* by id */
	size_t tasks_cap;
	int64_t keep_us; /* mono: the next slice of housekeeping */
	bool keeping, saved;
};

static struct watch *watch_at(const struct maintainer *m, uint32_t i)
{
	return slab_at(&m->watches, i);
}

static struct mtask *task_place(struct maintainer *m, uint32_t id)
{
	if (id >= m->tasks_cap) {
		size_t cap = (size_t)id * 2 + 64;
		m->tasks = mem_grow(m->tasks, cap, sizeof *m->tasks);
		for (size_t i = m->tasks_cap; i < cap; i++)
			m->tasks[i] = NULL;
		m->tasks_cap = cap;
	}
	if (!m->tasks[id])
		m->tasks[id] = mem_new(sizeof *m->tasks[id]);
	return m->tasks[id];
}

static const struct task *def_of(const struct maintainer *m, uint32_t task)
{
	return task < m->tasks_cap && m->tasks[task] ? m->tasks[task]->def : NULL;
}

/* A wall time as a monotonic one, never further away than the recheck. */
static int64_t mono_of_wall(const struct maintainer *m, int64_t wall_us)
{
	int64_t wait = wall_us - actor_wall_us(m->me);

	if (wait > WALL_RECHECK_US)
		wait = WALL_RECHECK_US;
	return actor_mono_us(m->me) + (wait > 0 ? wait : 0);
}

static int64_t expiry_us(const struct maintainer *m, const struct instance *i)
{
	const struct task *d = def_of(m, i->key.task);

	if (!d || d->expire_after_us == 0)
		return INT64_MAX;
	if (d->expire_after_us > 0)
		return i->eff_due_us + d->expire_after_us;
	return unit_next(plan_tz(d->plan), CU_DAY, i->eff_due_us / US_PER_S) * US_PER_S;
}

static int64_t grace_of(const struct maintainer *m, const struct watch *w)
{
	const struct task *d = def_of(m, w->inst.key.task);

	int64_t grace_us = w->inst.grace_ms ? w->inst.grace_ms * US_PER_MS : d ? d->grace_us : 0;

	return grace_us + m->set.kill_extra_us;
}

static int64_t next_look(const struct maintainer *m, const struct watch *w)
{
	const struct task *d = def_of(m, w->inst.key.task);
	int64_t at = w->lose_us;

	switch ((enum state)w->inst.state) {
	case ST_READY:
	case ST_DEPEND:
		return mono_of_wall(m, expiry_us(m, &w->inst));
	case ST_FAILED:
		return mono_of_wall(m, w->inst.retry_at_us);
	case ST_RUNNING:
		if (d && d->alive_wait_us && w->granted_us + d->alive_wait_us < at &&
		    !w->killed_for_time)
			at = w->granted_us + d->alive_wait_us;
		return at;
	case ST_KILLING:
		return w->kill_us + grace_of(m, w) < at ? w->kill_us + grace_of(m, w) : at;
	default:
		return at;
	}
}

static uint32_t of_slot(const struct maintainer *m, uint32_t slot)
{
	return slot < m->by_slot_cap ? m->by_slot[slot] : SLAB_NONE;
}

static void set_slot(struct maintainer *m, uint32_t slot, uint32_t watch)
{
	if (slot >= m->by_slot_cap) {
		size_t cap = (size_t)slot + slot / 4 + 1024;
		m->by_slot = mem_grow(m->by_slot, cap, sizeof *m->by_slot);
		for (size_t i = m->by_slot_cap; i < cap; i++)
			m->by_slot[i] = SLAB_NONE;
		m->by_slot_cap = cap;
	}
	m->by_slot[slot] = watch;
}

/* Ready and DependenceFinish only concern us when they can expire. */
static bool watched(const struct maintainer *m, const struct instance *i)
{
	if (i->state == ST_READY || i->state == ST_DEPEND)
		return expiry_us(m, i) != INT64_MAX;
	return i->state == ST_FAILED || state_holds_slot((enum state)i->state);
}

static void drop(struct maintainer *m, uint32_t index)
{
	struct watch *w = watch_at(m, index);

	heap_remove(&m->times, &w->node);
	if (w->inst.token)
		map_remove(&m->by_token, w->inst.token, index);
	m->by_slot[w->slot] = SLAB_NONE;
	slab_give(&m->watches, index);
}

static uint32_t take(struct maintainer *m, uint32_t slot)
{
	uint32_t index = slab_take(&m->watches);
	struct watch *w = watch_at(m, index);

	heap_node_init(&w->node);
	w->slot = slot;
	set_slot(m, slot, index);
	return index;
}

static void set_image(struct maintainer *m, uint32_t index, const struct instance *i)
{
	struct watch *w = watch_at(m, index);

	if (w->inst.token != i->token) {
		if (w->inst.token)
			map_remove(&m->by_token, w->inst.token, index);
		if (i->token)
			map_add(&m->by_token, i->token, index);
	}
	w->inst = *i;
	w->asked = false;
}

static void begin_lease(struct maintainer *m, struct watch *w, uint32_t session)
{
	int64_t now = actor_mono_us(m->me);

	w->session = session;
	w->granted_us = now;
	w->lose_us = now + m->set.lose_us;
	w->kill_us = 0;
	w->absent = 0;
	w->present = w->gone = w->killed_for_time = false;
}

/* How far the plan has come: rows that a command made ahead of it do not say. */
static void follow_plan(struct mtask *t, const struct instance *i)
{
	if (i->key.part != 0 || i->key.run_date <= t->through || !t->def)
		return;
	if (i->origin == OR_CYCLE || plan_next(t->def->plan, t->through) == i->key.run_date)
		t->through = i->key.run_date;
}

static void fold_instance(struct maintainer *m, const struct transition *tr)
{
	const struct instance *i = &tr->inst;
	uint32_t index = of_slot(m, tr->slot);
	struct mtask *t = task_place(m, i->key.task);
	bool was = tr->from != ST_NONE && !state_final((enum state)tr->from);
	bool is = !state_final((enum state)i->state);

	t->unfinished = t->unfinished + is - was;
	if (tr->from == ST_NONE)
		follow_plan(t, i);
	if (!watched(m, i)) {
		if (index != SLAB_NONE)
			drop(m, index);
		return;
	}
	if (index == SLAB_NONE)
		index = take(m, tr->slot);
	set_image(m, index, i);
	struct watch *w = watch_at(m, index);
	if (tr->event == EV_GRANT)
		begin_lease(m, w, tr->session);
	else if (tr->event == EV_STARTED)
		w->granted_us = actor_mono_us(m->me);
	else if (tr->event == EV_KILL || tr->event == EV_KILL_ACK)
		w->kill_us = actor_mono_us(m->me);
	heap_set(&m->times, &w->node, next_look(m, w));
}

/* A task whose plan is exhausted goes offline once nothing of it is left. */
static void retire_if_over(struct maintainer *m, struct mtask *t)
{
	if (!t->def || t->row.state != TS_ONLINE || t->unfinished || t->offline_asked ||
	    plan_unit(t->def->plan) == CU_NONE || t->through == INT64_MIN ||
	    plan_next(t->def->plan, t->through) != PLAN_NEVER)
		return;
	struct edit *e = mem_new(sizeof *e);
	e->tasks = mem_array(1, sizeof *e->tasks);
	e->rows = mem_array(1, sizeof *e->rows);
	e->tasks[0] = task_ref(t->def);
	e->rows[0] = t->row;
	e->rows[0].state = TS_OFFLINE;
	e->n_tasks = 1;
	e->keep_links = true;
	if (ledger_edit(m->ledger, e) < 0)
		edit_free(e);
	else
		t->offline_asked = true;
}

static void fold_task(struct maintainer *m, const struct transition *tr)
{
	struct mtask *t = task_place(m, tr->inst.key.task);

	task_ref(tr->ref);
	task_unref(t->def);
	t->def = tr->ref;
	t->row = *(const struct store_task *)tr->row;
	t->offline_asked = false;
	if (t->row.planned_through > t->through || t->through == 0)
		t->through = t->row.planned_through;
}

static void fold(struct maintainer *m)
{
	for (const struct transition *tr; (tr = stream_peek(m->in)); stream_next(m->in)) {
		if (tr->kind == TK_TASK)
			fold_task(m, tr);
		else if (tr->kind == TK_INSTANCE)
			fold_instance(m, tr);
		else
			continue;
		struct mtask *t = m->tasks[tr->inst.key.task];
		if (t->unfinished == 0)
			retire_if_over(m, t);
	}
}

static struct proposal *propose(struct maintainer *m, struct watch *w, enum ask ask)
{
	struct proposal *p = outbox_add(&m->out, ask, w->inst.key);

	p->revision = w->inst.revision;
	p->token = w->inst.token;
	p->cookie = w->slot;
	w->asked = true;
	return p;
}

static void lose(struct maintainer *m, struct watch *w)
{
	struct proposal *p = propose(m, w, ASK_ENDED);

	w->gone = true; /* not to be sent again while this is on its way */
	p->end = AE_INFRA;
	p->reason = RE_LOST;
	p->session = w->session;
	p->exit_code = -1;
	log_warn("attempt.lost", "task=%u run_date=%lld token=%llx broker=%u", w->inst.key.task,
	         (long long)w->inst.key.run_date, (unsigned long long)w->inst.token,
	         w->inst.broker);
}

static void look_running(struct maintainer *m, struct watch *w, int64_t now)
{
	const struct task *d = def_of(m, w->inst.key.task);

	if (w->lose_us <= now && w->inst.state != ST_HANGED) {
		lose(m, w);
	} else if (w->inst.state == ST_RUNNING && d && d->alive_wait_us &&
	           w->granted_us + d->alive_wait_us <= now && !w->killed_for_time) {
		struct proposal *p = propose(m, w, ASK_KILL);
		p->intent = KI_TIMEOUT;
		p->reason = RE_TIMEOUT;
		w->killed_for_time = true;
	} else if (w->inst.state == ST_KILLING && w->kill_us + grace_of(m, w) <= now) {
		propose(m, w, ASK_HANG);
	}
}

static void look(struct maintainer *m, struct watch *w)
{
	int64_t now = actor_mono_us(m->me), wall = actor_wall_us(m->me);

	if (w->asked)
		return;
	if (w->inst.state == ST_FAILED) {
		if (w->inst.retry_at_us <= wall)
			propose(m, w, ASK_RETRY);
	} else if (w->inst.state == ST_READY || w->inst.state == ST_DEPEND) {
		if (expiry_us(m, &w->inst) <= wall)
			propose(m, w, ASK_EXPIRE);
	} else {
		look_running(m, w, now);
	}
}

static void look_at_times(struct maintainer *m)
{
	int64_t now = actor_mono_us(m->me);
	struct heap_node *top;

	while ((top = heap_top(&m->times)) && top->key <= now && outbox_room(&m->out) > 0) {
		struct watch *w = (struct watch *)top;
		look(m, w);
		int64_t next = next_look(m, w);
		/* What was asked is answered soon; an answer looks again. */
		if (w->asked || next == INT64_MAX)
			heap_remove(&m->times, &w->node);
		else
			heap_set(&m->times, &w->node, next > now ? next : now + US_PER_MS);
	}
	int64_t next = top ? top->key : ALARM_OFF;
	if (m->set.retention_us && !m->keeping && m->keep_us < next)
		next = m->keep_us;
	actor_alarm(m->me, next);
}

#define KEEP_EVERY_US (3600 * US_PER_S)
#define KEEP_STEP_US  (50 * US_PER_MS) /* between two slices: the ledger breathes */

static void kept(struct letter *letter, void *self)
{
	struct maintainer *m = self;
	const struct ledger_keep *k = ledger_kept(letter);
	bool more = k->code == 0 && k->rows >= m->set.retention_rows;

	m->keeping = false;
	m->saved = k->code == 0 && more;
	m->keep_us = actor_mono_us(m->me) + (more ? KEEP_STEP_US : KEEP_EVERY_US);
	free(letter);
}

/* The first slice of a round saves the outcomes: history may go once they are kept. */
static void keep_house(struct maintainer *m)
{
	struct ledger_keep ask = { .reply_to = m->me,
		                   .answered = kept,
		                   .save = !m->saved,
		                   .before_us = actor_wall_us(m->me) - m->set.retention_us,
		                   .rows_max = m->set.retention_rows };

	if (m->set.retention_us == 0 || m->keeping || actor_mono_us(m->me) < m->keep_us)
		return;
	m->keeping = ledger_keep(m->ledger, &ask) == 0;
}

static void turn(void *self)
{
	struct maintainer *m = self;

	fold(m);
	keep_house(m);
	look_at_times(m);
	outbox_flush(&m->out);
}

static void on_alarm(void *self)
{
	(void)self; /* turn() follows */
}

static void answered(struct letter *letter, void *self)
{
	struct maintainer *m = self;
	struct answers *as = (struct answers *)letter;

	outbox_settled(&m->out, as);
	for (size_t i = 0; i < as->n; i++) {
		uint32_t index = of_slot(m, (uint32_t)as->a[i].cookie);
		if (index == SLAB_NONE)
			continue;
		struct watch *w = watch_at(m, index);
		w->asked = w->killed_for_time = false;
		heap_set(&m->times, &w->node, actor_mono_us(m->me) + US_PER_MS);
	}
	free(as);
}

static bool same_holder(const struct maintainer *m, const struct watch *w,
                        const struct held_news *n)
{
	const struct task *d = def_of(m, w->inst.key.task);

	return state_holds_slot((enum state)w->inst.state) && w->inst.broker == n->broker && d &&
	       strcmp(d->type, n->type) == 0;
}

static void heard(struct maintainer *m, const struct held_news *n, uint64_t token, int64_t now)
{
	uint32_t index = map_get(&m->by_token, token);

	if (index == MAP_NONE)
		return;
	struct watch *w = watch_at(m, index);
	w->lose_us = now + m->set.lose_us;
	if (n->loader) {
		w->session = n->session;
		w->present = true;
		w->gone = false;
		w->absent = 0;
	}
	heap_set(&m->times, &w->node, next_look(m, w));
}

static int token_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* (design: SEMANTICS section 3, "Leases".) Granted and absent twice: sent again. Once
 * present and now absent: lost. Another process answers: what it does not list died with
 * the former one. */
static bool absent(struct maintainer *m, struct watch *w, const struct held_news *n)
{
	bool moved = w->session != n->session;

	w->session = n->session;
	/* What was granted to this very session came after its greeting. */
#ifdef BUG_18 /* lost because its session's greeting does not list it */
	moved = true;
#endif
	if (w->gone || w->present || (n->hello && n->fresh && moved)) {
		w->gone = true;
		if (outbox_room(&m->out) > 0 && !w->asked)
			lose(m, w);
		return false;
	}
	if (++w->absent < 2 && !moved)
		return false;
	w->absent = 0;
	return true;
}

static void send_again(const struct maintainer *m, const struct held_news *n,
                       const struct instance *insts, size_t count)
{
	struct resend *r = mem_new(sizeof *r + count * sizeof r->inst[0]);

	r->made_us = actor_mono_us(m->me);
	r->session = n->session;
	r->n = count;
	memcpy(r->inst, insts, count * sizeof r->inst[0]);
	r->letter.discard = (void (*)(struct letter *))free;
	r->letter.deliver = n->resend;
	if (actor_post_credit(n->worker, &r->letter) < 0)
		free(r);
}

static void on_held(struct letter *letter, void *self)
{
	struct maintainer *m = self;
	struct held_news *n = (struct held_news *)letter;
	int64_t now = actor_mono_us(m->me);
	struct instance *again = NULL;
	size_t n_again = 0;

	fold(m); /* grants that this list may already hold */
	for (size_t i = 0; i < n->n; i++)
		heard(m, n, n->tokens[i], now);
	qsort(n->tokens, n->n, sizeof n->tokens[0], token_order);
	for (uint32_t i = 0; n->loader && i < m->watches.used; i++) {
		struct watch *w = watch_at(m, i);
		if (of_slot(m, w->slot) != i || !same_holder(m, w, n))
			continue;
		bool listed = bsearch(&w->inst.token, n->tokens, n->n, sizeof n->tokens[0],
		                      token_order) != NULL;
		bool kill = n->hello && listed && w->inst.state != ST_RUNNING;
		bool resend = !listed && absent(m, w, n);
		/* A grant sent again begins anew: its holder counts from this session's proofs.
		 * A kill sent again renews nothing: what never arrived is lost in time. */
		bool renew = resend && w->inst.state == ST_RUNNING;
#ifdef BUG_13 /* sent again under the old lease */
		renew = false;
		if (resend)
			heap_set(&m->times, &w->node, next_look(m, w));
#endif
		if (renew) {
			w->lose_us = now + m->set.lose_us;
			heap_set(&m->times, &w->node, next_look(m, w));
		}
		if (kill || resend) {
			again = mem_grow(again, n_again + 1, sizeof *again);
			again[n_again++] = w->inst;
		}
	}
	if (n_again)
		send_again(m, n, again, n_again);
	free(again);
	free(n);
}

int maintainer_held(struct maintainer *m, struct held_news *n)
{
	n->letter.deliver = on_held;
	n->letter.discard = (void (*)(struct letter *))free;
	return actor_post_credit(m->me, &n->letter);
}

static int init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static const struct actor_ops ops = {
	.name = "maintainer", .letters_max = 65536, .init = init, .turn = turn, .alarm = on_alarm
};

static void load_task(void *ctx, const struct ledger_task *lt)
{
	struct mtask *t = task_place(ctx, lt->def->id);

	t->def = task_ref(lt->def);
	t->row = *lt->row;
	t->through = lt->row->planned_through;
}

static void load_instance(void *ctx, const struct instance *i, uint32_t slot)
{
	struct maintainer *m = ctx;

	task_place(m, i->key.task)->unfinished++;
	if (!watched(m, i))
		return;
	uint32_t index = take(m, slot);
	set_image(m, index, i);
	struct watch *w = watch_at(m, index);
	begin_lease(m, w, 0);
#ifdef BUG_6 /* the clocks of leases do not start anew */
	w->lose_us = actor_mono_us(m->me);
#endif
	if (i->state == ST_KILLING || i->state == ST_WAITKILL)
		w->kill_us = actor_mono_us(m->me);
	heap_set(&m->times, &w->node, next_look(m, w));
}

struct maintainer *maintainer_new(struct thread *th, struct ledger *ledger,
                                  const struct maintainer_settings *set)
{
	struct maintainer *m = mem_new(sizeof *m);

	m->ledger = ledger;
	m->set = *set;
	slab_init(&m->watches, sizeof(struct watch));
	map_init(&m->by_token);
	heap_init(&m->times);
	m->me = actor_new(th, &ops, m);
	m->keep_us = actor_mono_us(m->me) + KEEP_EVERY_US / 12;
	m->in = stream_reader_new(ledger_stream(ledger), STREAM_INNER, m->me);
	m->out = (struct outbox){
		.ledger = ledger, .me = m->me, .from = PR_MAINTAINER, .answered = answered
	};
	ledger_each_task(ledger, load_task, m);
	ledger_each_instance(ledger, load_instance, m);
	return m;
}

void maintainer_free(struct maintainer *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->tasks_cap; i++)
		if (m->tasks[i]) {
			task_unref(m->tasks[i]->def);
			free(m->tasks[i]);
		}
	slab_done(&m->watches);
	map_done(&m->by_token);
	heap_done(&m->times);
	outbox_done(&m->out);
	free(m->by_slot);
	free(m->tasks);
	free(m);
}

struct actor *maintainer_actor(struct maintainer *m)
{
	return m->me;
}

size_t maintainer_leases(const struct maintainer *m)
{
	return m->watches.len;
}
