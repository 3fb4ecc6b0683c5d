/* The maintainer: what time does to instances. Leases that run out, jobs that run too long, kills
 * that nobody acknowledges, retries and looks that are due, rows that expire.
 *
 * Each such instance is a watch, folded from the inner stream, with the time of its next look in a
 * heap; a task knows how far its plan has come and how many of its instances are unfinished. A
 * look proposes, one proposal of a watch at a time, and the ledger decides; its answer looks
 * again. Silence is judged only when every ear has been heard since (maintainer_roll.c). What
 * sessions list is in maintainer_held.c, housekeeping in maintainer_keep.c, the end of plans in
 * maintainer_retire.c. */
#include "baseserver/keep/maintainer.h"

#include <stdlib.h>
#include <string.h>

#include "baseserver/keep/maintainer_impl.h"
#include "baseserver/ledger/pack.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/log.h"

/* What could not be decided: who waits for an ear that stands may be many. */
#define LOOK_AGAIN_US(m) ((m)->n_ears ? 20 * US_PER_MS : US_PER_MS)

/* The plan passes over rows that are there when it comes to them, and no record says so. */
static void made_ahead(struct mtask *t, int64_t date)
{
	if (t->ahead_lo == INT64_MIN || plan_next(t->def->plan, t->ahead_hi) != date)
		t->ahead_lo = date;
	t->ahead_hi = date;
}

/* How far the plan has come: rows that a command or a branch made ahead of it do not say. */
static void follow_plan(struct mtask *t, const struct transition *tr)
{
	int64_t date = tr->inst.key.run_date;

	if (tr->inst.key.part != 0 || date <= t->through || !t->def)
		return;
	if (transition_is_planned(tr) || plan_next(t->def->plan, t->through) == date)
		t->through = date;
	else
		made_ahead(t, date);
	if (t->through < t->ahead_lo && plan_next(t->def->plan, t->through) == t->ahead_lo)
		t->through = t->ahead_hi;
}

static void fold_instance(struct maintainer *m, const struct transition *tr)
{
	const struct instance *i = &tr->inst;
	uint32_t index = watch__of_slot(m, tr->slot);
	struct mtask *t = maintainer__task(m, i->key.task);
	bool was = tr->from != ST_NONE && !state_final((enum state)tr->from);
	bool is = !state_final((enum state)i->state);

	CHECK(t->unfinished >= (size_t)was);
	t->unfinished = t->unfinished + is - was;
	if (tr->from == ST_NONE)
		follow_plan(t, tr);
	if (!watch__wanted(m, i)) {
		if (index != SLAB_NONE)
			watch__drop(m, index);
		return;
	}
	if (index == SLAB_NONE)
		index = watch__take(m, tr->slot);
	watch__set_image(m, index, i);
	struct watch *w = watch_at(m, index);
	if (tr->event == EV_GRANT) {
		watch__begin_lease(m, w, tr);
		watch__set_body(w, tr->ref ? tr->ref : maintainer__def(m, tr->inst.key.task));
	} else if (tr->event == EV_STARTED)
		w->granted_us = actor_mono_us(m->me);
	else if (tr->event == EV_KILL || tr->event == EV_KILL_ACK)
		w->kill_us = actor_mono_us(m->me);
	heap_set(&m->times, &w->node, watch__next_look(m, w));
}

static void look_if_over(struct maintainer *m, uint32_t task)
{
	CHECK(task < m->tasks_cap && m->tasks[task]);
	struct mtask *t = m->tasks[task];

	if (t->unfinished == 0)
		maintainer__retire_if_over(m, t);
}

static void fold_task(struct maintainer *m, const struct packed_task *new)
{
	struct mtask *t = maintainer__task(m, new->def->id);

	task_ref(new->def);
	task_unref(t->def);
	t->def = new->def;
	t->row = new->row;
	t->offline_asked = false;
	if (t->row.planned_through > t->through || t->through == 0)
		t->through = t->row.planned_through;
	look_if_over(m, new->def->id);
}

static void fold_tasks(struct maintainer *m, const struct task_pack *p)
{
	for (size_t i = 0; i < p->n; i++)
		fold_task(m, &p->items[i]);
}

void maintainer__fold(struct maintainer *m)
{
	for (const struct transition *tr; (tr = stream_peek(m->in)); stream_next(m->in)) {
		if (tr->kind == TK_TASK) {
			fold_tasks(m, tr->row);
		} else if (tr->kind == TK_INSTANCE) {
			fold_instance(m, tr);
			look_if_over(m, tr->inst.key.task);
		}
	}
}

static struct proposal *maintainer_propose(struct maintainer *m, struct watch *w, enum ask ask)
{
	CHECK(!w->asked && outbox_room(&m->out) > 0);
	log_debug("maintainer.propose", "instance=%u.%lld ask=%d token=%llx", w->inst.key.task,
	          (long long)w->inst.key.run_date, (int)ask, (unsigned long long)w->inst.token);
	struct proposal *p = outbox_add(&m->out, ask, w->inst.key);

	p->revision = w->inst.revision;
	p->token = w->inst.token;
	p->cookie = w->slot;
	w->asked = true;
	return p;
}

void maintainer__lose(struct maintainer *m, struct watch *w)
{
	struct proposal *p = maintainer_propose(m, w, ASK_ENDED);

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
	const struct task *d = watch__def(m, w);

	watch__begin_anew(m, w);
	if (w->lose_us <= now && w->inst.state != ST_HANGED) {
		if (maintainer__may_judge(m, w->lose_us))
			maintainer__lose(m, w);
	} else if (w->inst.state == ST_RUNNING && d && d->alive_wait_us &&
	           w->granted_us + d->alive_wait_us <= now && !w->killed_for_time) {
		struct proposal *p = maintainer_propose(m, w, ASK_KILL);
		p->intent = KI_TIMEOUT;
		p->reason = RE_TIMEOUT;
		w->killed_for_time = true;
	} else if (w->inst.state == ST_KILLING && w->kill_us + watch__grace_us(m, w) <= now) {
		if (maintainer__may_judge(m, w->kill_us + watch__grace_us(m, w)))
			maintainer_propose(m, w, ASK_HANG);
	}
}

static void maintainer_look(struct maintainer *m, struct watch *w)
{
	int64_t now = actor_mono_us(m->me), wall = actor_wall_us(m->me);

	if (w->asked)
		return;
	if (w->inst.state == ST_FAILED) {
		if (w->inst.retry_at_us <= wall)
			maintainer_propose(m, w, ASK_RETRY);
	} else if (w->inst.state == ST_READY || w->inst.state == ST_DEPEND) {
		if (watch__expiry_us(m, &w->inst) <= wall)
			maintainer_propose(m, w, ASK_EXPIRE);
		else if (inst_looks_again(&w->inst) && w->inst.retry_at_us <= wall)
			maintainer_propose(m, w, ASK_RETRY);
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
		maintainer_look(m, w);
		int64_t next = watch__next_look(m, w);
		/* What was asked is answered soon; an answer looks again. */
		if (w->asked || next == INT64_MAX)
			heap_remove(&m->times, &w->node);
		else
			heap_set(&m->times, &w->node, next > now ? next : now + LOOK_AGAIN_US(m));
	}
	int64_t next = maintainer__call(m);
	if (top && top->key < next)
		next = top->key;
	if (m->set.retention_us && !m->keeping && m->keep_us < next)
		next = m->keep_us;
	if (m->n_over && !m->retiring && m->retire_us < next)
		next = m->retire_us;
	actor_alarm(m->me, next);
}

static void maintainer_turn(void *self)
{
	struct maintainer *m = self;

	maintainer__fold(m);
	maintainer__keep_house(m);
	maintainer__retire(m);
	look_at_times(m);
	outbox_flush(&m->out);
}

static void maintainer_answered(struct letter *letter, void *self)
{
	struct maintainer *m = self;
	struct answers *as = (struct answers *)letter;

	CHECK(actor_here(m->me));
	outbox_settled(&m->out, as);
	for (size_t i = 0; i < as->n; i++) {
		uint32_t index = watch__of_slot(m, (uint32_t)as->a[i].cookie);
		if (index == SLAB_NONE)
			continue;
		struct watch *w = watch_at(m, index);
		w->asked = w->killed_for_time = false;
		heap_set(&m->times, &w->node, actor_mono_us(m->me) + US_PER_MS);
	}
	free(as);
}

static const struct actor_ops ops = { .name = "maintainer",
	                              .letters_max = 65536,
	                              .turn = maintainer_turn };

static void load_task(void *ctx, const struct ledger_task *lt)
{
	struct mtask *t = maintainer__task(ctx, lt->def->id);

	t->def = task_ref(lt->def);
	t->row = *lt->row;
	t->through = lt->row->planned_through;
}

static void load_instance(void *ctx, const struct instance *i, uint32_t slot)
{
	struct maintainer *m = ctx;

	maintainer__task(m, i->key.task)->unfinished++;
	if (!watch__wanted(m, i))
		return;
	uint32_t index = watch__take(m, slot);
	watch__set_image(m, index, i);
	struct watch *w = watch_at(m, index);
	watch__begin_lease(m, w, &(struct transition){ .lane = LANE_UNKNOWN });
	if (state_holds_slot((enum state)i->state))
		watch__set_body(w, ledger_body(m->ledger, i));
	w->lose_us += m->set.grace_us;
	if (i->state == ST_KILLING || i->state == ST_WAITKILL)
		w->kill_us = actor_mono_us(m->me);
	heap_set(&m->times, &w->node, watch__next_look(m, w));
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
	m->keep_us = actor_mono_us(m->me) + MAINTAINER_KEEP_EVERY_US / 12;
	m->saved_at = stream_last(ledger_stream(ledger));
	m->in = stream_reader_new(ledger_stream(ledger), STREAM_INNER, m->me);
	m->out = (struct outbox){ .ledger = ledger,
		                  .me = m->me,
		                  .from = PR_MAINTAINER,
		                  .answered = maintainer_answered };
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
	for (uint32_t i = 0; i < m->watches.used; i++)
		task_unref(watch_at(m, i)->body);
	slab_done(&m->watches);
	map_done(&m->by_token);
	heap_done(&m->times);
	outbox_done(&m->out);
	free(m->by_slot);
	free(m->over);
	free(m->ears);
	free(m->tasks);
	free(m);
}
