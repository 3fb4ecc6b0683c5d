#include "baseserver/ledger.h"

#include <stdlib.h>

#include "baseserver/ledger_impl.h"
#include "rt/actor.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

struct mark {
	struct letter letter;
	uint64_t number;
};

static void slot_drop(void *slot)
{
	struct transition *tr = slot;

	free(tr->note);
	tr->note = NULL;
	free(tr->data);
	tr->data = NULL;
	if (tr->ref)
		task_unref(tr->ref);
	tr->ref = NULL;
	free(tr->row);
	tr->row = NULL;
}

static bool is_outside(enum proposer from)
{
	return from == PR_WORKER || from == PR_COMMANDER;
}

/* Those inside always get through while a slot is free: they never wait for the outside.
 * Those outside leave half of the ring to them. */
static bool has_room(const struct ledger *l, const struct proposals *ps)
{
	size_t room = stream_room(l->stream), more = 0;

	/* A batch whose outcome is unknown is repeated as it was: nothing may join it. */
	if (l->down)
		return false;
	if (is_outside(ps->from))
		return room > l->set.ring_slots / 2 + 2 * ps->n; /* a part, and its whole */
	for (size_t i = 0; i < ps->n; i++)
		more += ps->p[i].n_brokers;
	return room > ps->n + more + 1;
}

static void answers_discard(struct letter *l)
{
	free(l);
}

static void answer_all(struct ledger *l, struct proposals *ps, const int *codes,
                       const uint64_t *numbers)
{
	bool outside = is_outside(ps->from);
	struct answers *as = mem_new(sizeof *as + ps->n * sizeof as->a[0]);

	as->letter.discard = answers_discard;
	as->letter.deliver = ps->answered;
	as->letter.to = ps->reply_to;
	as->command = outside ? ps->command : 0;
	as->proposals = ps->n;
	for (size_t i = 0; i < ps->n; i++) {
		const struct proposal *p = &ps->p[i];
		uint32_t index;
		if (codes[i] == 0 && !outside)
			continue;
		const struct entry *e = table_find(&l->table, p->key, &index);
		as->a[as->n++] = (struct answer){ .key = p->key,
			                          .cookie = p->cookie,
			                          .token = p->token,
			                          .number = numbers[i],
			                          .code = codes[i],
			                          .revision = e ? e->inst.revision : 0,
			                          .ask = p->ask,
			                          .state = e ? e->inst.state : ST_NONE };
	}
#ifdef BUG_2 /* acknowledged before it is durable */
	outside = false;
#endif
	if (outside)
		letters_push(&l->answers, &as->letter);
	else if (actor_post_credit(ps->reply_to, &as->letter) < 0)
		free(as);
}

static void apply_proposals(struct ledger *l, struct proposals *ps)
{
	int *codes = mem_array(ps->n, sizeof *codes);
	uint64_t *numbers = mem_array(ps->n, sizeof *numbers);

	l->now_us = actor_wall_us(l->me);
	for (size_t i = 0; i < ps->n; i++) {
		codes[i] = ledger_ask(l, &ps->p[i], &numbers[i]);
		if (codes[i] == E_STALE)
			l->f_stale++;
		else if (codes[i] < 0)
			l->f_refused++;
	}
	answer_all(l, ps, codes, numbers);
	free(codes);
	free(numbers);
	proposals_free(ps);
}

static void on_proposals(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct proposals *ps = (struct proposals *)letter;

	if (has_room(l, ps) && (!is_outside(ps->from) || !l->waiting.head))
		apply_proposals(l, ps);
	else
		letters_push(&l->waiting, letter);
}

static void on_edit(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct edit *e = (struct edit *)letter;

	/* All or nothing: an edit has a commit to itself. */
	if (!l->down && ledger_has_work(l))
		ledger_commit(l);
	if (l->down || l->waiting.head || stream_room(l->stream) < e->n_tasks + e->n_docs + 1) {
		letters_push(&l->waiting, letter);
		return;
	}
	l->now_us = actor_wall_us(l->me);
	if (!ledger_edit_is_current(l, e)) {
		e->code = E_REVISION;
		e->letter.deliver = e->answered;
		if (!e->reply_to || actor_post_credit(e->reply_to, letter) < 0)
			edit_free(e);
		return;
	}
	ledger_apply_edit(l, e);
	letters_push(&l->edits, letter);
	ledger_commit(l);
	/* Saved ranges may cover dates that are planned anew. If this fails, the next save does. */
	if (l->replanned && !l->down && ledger_save_outcomes(l, NULL) == 0)
		l->replanned = false;
}

static void on_record(struct letter *letter, void *self)
{
	struct ledger *l = self;

	/* It says what came before it: it overtakes nothing that waits. */
	letters_push(l->down || l->waiting.head ? &l->waiting : &l->records, letter);
}

/* A mark says that the withdrawals before it are in: it may not overtake them. */
static bool withdrawals_wait(const struct ledger *l)
{
	for (const struct letter *at = l->waiting.head; at; at = at->next)
		if (at->deliver == on_proposals &&
		    ((const struct proposals *)at)->from == PR_RESOLVER)
			return true;
	return false;
}

static void on_mark(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct mark *m = (struct mark *)letter;

	l->now_us = actor_wall_us(l->me);
	if (!l->down && stream_room(l->stream) > 1 && !withdrawals_wait(l)) {
		struct transition tr = { .kind = TK_MARK, .inst = { .token = m->number } };
		ledger_publish(l, &tr);
		free(m);
	} else {
		letters_push(&l->waiting, letter);
	}
}

/* Letters that had to wait, in order, until one must wait again. */
static void take_waiting(struct ledger *l)
{
	struct letters was = l->waiting;

	if (!was.head || l->down)
		return;
	if (was.tail == &l->waiting.head)
		was.tail = &was.head;
	letters_init(&l->waiting);
	for (struct letter *at; (at = letters_pop(&was));)
		at->deliver(at, l);
}

static void turn(void *self)
{
	struct ledger *l = self;

	take_waiting(l);
	if (l->parts.n > 0) {
		l->now_us = actor_wall_us(l->me);
		ledger_work_parts(l);
	}
	uint64_t n = stream_last(l->stream) - stream_seen(l->keep);
	if (!l->down && l->batch_since_us &&
	    (n >= l->set.batch_max || stream_room(l->stream) < l->set.ring_slots / 4 ||
	     actor_mono_us(l->me) - l->batch_since_us > l->set.window_us))
		ledger_commit(l);
	stream_wake(l->stream);
}

static void renew_proof(struct ledger *l)
{
	int64_t began = actor_mono_us(l->me);
	struct err err = { 0 };
	uint64_t number;
	uint32_t epoch;

	if (store_position(l->store, &number, &epoch, &err) < 0)
		return; /* the next commit says what is wrong */
	if (epoch != l->epoch) {
		l->dead = true;
		err_set(&err, E_EPOCH, "epoch %u leads now, this server has %u", epoch, l->epoch);
		l->set.fatal(l->set.fatal_ctx, &err);
		return;
	}
	l->proof_us = began;
}

static void on_alarm(void *self)
{
	struct ledger *l = self;
	int64_t now = actor_mono_us(l->me);

	if (l->dead)
		return;
	if (l->down)
		ledger_commit(l);
	else if (now - l->proof_us > l->set.epoch_us / 3) {
		renew_proof(l);
		store_quiet(l->store);
	}
	if (!l->down)
		actor_alarm(l->me, now + l->set.epoch_us / 3);
}

static bool rest(void *self)
{
	struct ledger *l = self;

	if (l->down || l->dead)
		return false;
	if (!ledger_has_work(l)) {
		store_idle(l->store);
		return false;
	}
	ledger_commit(l);
	return true;
}

static int init(void *self, struct actor *me, struct err *err)
{
	struct ledger *l = self;

	(void)err;
	l->me = me;
	l->proof_us = actor_mono_us(me);
	actor_alarm(me, l->proof_us + l->set.epoch_us / 3);
	if (l->parts.n > 0)
		actor_wake(me);
	return 0;
}

static const struct actor_ops ops = { .name = "ledger",
	                              .letters_max = 65536,
	                              .init = init,
	                              .turn = turn,
	                              .alarm = on_alarm,
	                              .rest = rest };

int ledger_new(struct thread *th, struct store *store, const char *who,
               const struct ledger_settings *set, struct task *const *tasks,
               const struct store_task *rows, size_t n_tasks, struct ledger **ret_ledger,
               struct err *err)
{
	struct ledger *l = mem_new(sizeof *l);

	l->store = store;
	l->set = *set;
	table_init(&l->table);
	pools_init(&l->pools);
	map_init(&l->flows);
	letters_init(&l->edits);
	letters_init(&l->records);
	letters_init(&l->answers);
	letters_init(&l->waiting);
	for (size_t i = 0; i < n_tasks; i++)
		ledger_put_task(l, tasks[i], &rows[i]);
	int r = ledger_load(l, who, err);
	if (r < 0) {
		ledger_free(l);
		return r;
	}
	stream_set_drop(l->stream, slot_drop);
	l->me = actor_new(th, &ops, l);
	l->keep = stream_reader_new(l->stream, STREAM_OUTER, l->me);
	*ret_ledger = l;
	return 0;
}

static void discard_all(struct letters *q, void (*discard)(struct letter *))
{
	for (struct letter *at; (at = letters_pop(q));)
		if (discard)
			discard(at);
		else if (at->discard)
			at->discard(at);
}

static void edit_discard(struct letter *l)
{
	edit_free((struct edit *)l);
}

static void record_discard(struct letter *l)
{
	record_free((struct record *)l);
}

static void mark_discard(struct letter *l)
{
	free(l);
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	stream_free(l->stream);
	discard_all(&l->edits, NULL);
	discard_all(&l->records, NULL);
	discard_all(&l->answers, NULL);
	discard_all(&l->waiting, NULL);
	for (size_t i = 0; i < l->tasks_cap; i++) {
		struct ltask *t = l->tasks[i];
		if (!t)
			continue;
		task_unref(t->def);
		ledger_forget_versions(t);
		outcomes_done(&t->outcomes);
		free(t->children);
		free(t->takes);
		free(t);
	}
	table_done(&l->table);
	free(l->tasks);
	pools_done(&l->pools);
	free(l->parts.keys);
	ledger_flows_done(l);
	ledger_next_done(l);
	free(l->dirty);
	free(l->dirty_tasks);
	free(l->events);
	free(l->live);
	free(l->done);
	free(l->reopened);
	free(l);
}

struct actor *ledger_actor(struct ledger *l)
{
	return l->me;
}

struct stream *ledger_stream(struct ledger *l)
{
	return l->stream;
}

uint32_t ledger_epoch(const struct ledger *l)
{
	return l->epoch;
}

int ledger_propose(struct ledger *l, struct proposals *ps)
{
	ps->letter.deliver = on_proposals;
	return is_outside(ps->from) ? actor_post(l->me, &ps->letter)
	                            : actor_post_credit(l->me, &ps->letter);
}

int ledger_edit(struct ledger *l, struct edit *e)
{
	e->letter.deliver = on_edit;
	e->letter.discard = edit_discard;
	return actor_post(l->me, &e->letter);
}

int ledger_record(struct ledger *l, struct record *r)
{
	r->letter.deliver = on_record;
	r->letter.discard = record_discard;
	return actor_post(l->me, &r->letter);
}

int ledger_mark(struct ledger *l, uint64_t number)
{
	struct mark *m = mem_new(sizeof *m);

	m->number = number;
	m->letter.deliver = on_mark;
	m->letter.discard = mark_discard;
	int r = actor_post_credit(l->me, &m->letter);
	if (r < 0)
		free(m);
	return r;
}

void ledger_each_task(const struct ledger *l, void (*each)(void *ctx, const struct ledger_task *t),
                      void *ctx)
{
	for (size_t i = 0; i < l->tasks_cap; i++)
		if (l->tasks[i] && l->tasks[i]->def) {
			struct ledger_task t = { l->tasks[i]->def, &l->tasks[i]->row,
				                 &l->tasks[i]->outcomes };
			each(ctx, &t);
		}
}

void ledger_each_instance(const struct ledger *l,
                          void (*each)(void *ctx, const struct instance *i, uint32_t slot),
                          void *ctx)
{
	for (uint32_t i = 0; i < l->table.used; i++) {
		const struct entry *e = table_at(&l->table, i);
		if (e->inst.state != ST_NONE)
			each(ctx, &e->inst, i);
	}
}

void ledger_each_pool(const struct ledger *l,
                      void (*each)(void *ctx, const char *name, int32_t size), void *ctx)
{
	for (size_t i = 0; i < l->pools.n; i++)
		each(ctx, l->pools.items[i]->name, l->pools.items[i]->size);
}

bool ledger_find(const struct ledger *l, struct inst_key key, struct instance *ret)
{
	uint32_t index;
	const struct entry *e = table_find(&l->table, key, &index);

	if (!e || state_final((enum state)e->inst.state))
		return false;
	*ret = e->inst;
	return true;
}

void ledger_figures(const struct ledger *l, struct ledger_figures *ret)
{
	*ret = (struct ledger_figures){
		.last = stream_last(l->stream),
		.durable = stream_last_durable(l->stream),
		.commits = l->f_commits,
		.refused = l->f_refused,
		.stale = l->f_stale,
		.retries = l->f_retries,
		.unfinished = l->f_unfinished,
		.commit_us_last = l->f_commit_us,
		.commit_us_sum = l->f_commit_us_sum,
		.store_down = l->f_down,
	};
}

bool ledger_may_speak(const struct ledger *l, int64_t mono_us)
{
	return mono_us - l->proof_us < l->set.epoch_us;
}
