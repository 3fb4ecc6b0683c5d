/* The ledger's actor: its mailbox, its turn, its start and its end.
 *
 * The ledger applies a letter (proposals, an edit, a record, a mark) when it comes. It keeps the
 * letter in `waiting`, in the order of arrival, while the ring is short of room, the last commit
 * has failed, a row of history is being read, or an edit needs a commit to itself. Actors of the
 * process may fill the ring; proposals from outside leave half of it to them. What the ledger
 * applies becomes a batch. Its commit begins when the thread is quiet, or the batch is large or
 * old. ledger_ask.c judges proposals, ledger_apply.c changes instances. */
#include "baseserver/ledger/ledger.h"

#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "baseserver/ledger/pack.h"
#include "rt/actor.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

#define SLOW_US (2 * US_PER_S) /* a store that takes longer is told as down */

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
	if (tr->kind == TK_TASK)
		pack_free(tr->row);
	else
		free(tr->row);
	tr->row = NULL;
}

static bool is_outside(enum proposer from)
{
	return from == PR_WORKER || from == PR_COMMANDER;
}

/* Somebody needs the store as it will be when all that is applied is in, or rows of it: order
 * stays, so that nothing more is applied before. Likewise after a commit that failed: a batch
 * whose outcome is unknown is repeated as it was, and nothing joins it. */
static bool stands_still(const struct ledger *l)
{
	return l->hold || l->lent || l->half.ps || ledger_awaits_rows(l);
}

/* Those inside always get through while a slot is free: they never wait for the outside.
 * Those outside leave half of the ring to them. */
static bool has_room(struct ledger *l, const struct proposals *ps)
{
	size_t room = stream_room(l->stream), more = 0;

	if (l->down || stands_still(l))
		return false;
	if (is_outside(ps->from)) {
		size_t want = l->set.ring_slots / 2 + 2 * ps->n; /* a part, and its whole */
		return room > want || room == l->set.ring_slots; /* all of it must do */
	}
	for (size_t i = 0; i < ps->n; i++)
		more += ps->p[i].n_brokers;
	more += ledger__may_replace(l, ps);
	/* Whose end, or word, gives others their turn has a record more. */
	size_t waits = l->flows.n_held + l->flows.n_asked, turns = waits < ps->n ? waits : ps->n;
	return room > ps->n + more + turns + 1 ||
	       (turns > 0 && room == l->set.ring_slots && room > ps->n + more + 1);
}

static void answer_all(struct ledger *l, struct proposals *ps, const int *codes,
                       const uint64_t *numbers)
{
	bool outside = is_outside(ps->from);
	struct answers *as = mem_new(sizeof *as + ps->n * sizeof as->a[0]);

	as->letter.discard = letter_free;
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
	if (outside)
		letters_push(&l->answers, &as->letter);
	else if (actor_post_credit(ps->reply_to, &as->letter) < 0)
		free(as);
}

/* Where one of them waits for rows, the rest waits with it, and no commit begins: answers are
 * kept with what they answer. */
static void apply_half(struct ledger *l)
{
	struct half h = l->half;

	l->half.ps = NULL;
	l->now_us = actor_wall_us(l->me);
	for (; h.at < h.ps->n; h.at++) {
		int r = ledger__ask(l, &h.ps->p[h.at], &h.numbers[h.at]);
		if (r == E_AGAIN && ledger_awaits_rows(l)) {
			l->half = h;
			return;
		}
		h.codes[h.at] = r;
		if (r == E_STALE)
			l->f_stale++;
		else if (r < 0)
			l->f_refused++;
	}
	answer_all(l, h.ps, h.codes, h.numbers);
	free(h.codes);
	free(h.numbers);
	proposals_free(h.ps);
}

static void apply_proposals(struct ledger *l, struct proposals *ps)
{
	CHECK(!l->half.ps);
	l->half = (struct half){ .ps = ps,
		                 .codes = mem_array(ps->n, sizeof(int)),
		                 .numbers = mem_array(ps->n, sizeof(uint64_t)) };
	apply_half(l);
}

/* For the row of history that ledger__ask() will need, where that is plain to see. */
static void ask_ahead(struct ledger *l, const struct proposal *p)
{
	static const bool reads[ASK_COUNT] = { [ASK_FORCE] = true,
		                               [ASK_REDO] = true,
		                               [ASK_REOPEN] = true,
		                               [ASK_RUN_NOW] = true,
		                               [ASK_NOTIFIED] = true };
	const struct ltask *t = ledger__task_of(l, p->key.task);
	uint32_t index;

	if (t && reads[p->ask] && !table_find(&l->table, p->key, &index) &&
	    (p->key.part != 0 || outcomes_find(&t->outcomes, p->key.run_date)))
		ledger__knows_done(l, p->key);
}

/* All rows that it is sure to need are asked for at once. */
static bool rows_are_there(struct ledger *l, const struct proposals *ps)
{
	for (size_t i = 0; l->set.waits && i < ps->n; i++)
		ask_ahead(l, &ps->p[i]);
	return !ledger_awaits_rows(l);
}

static void on_proposals(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct proposals *ps = (struct proposals *)letter;

	if (has_room(l, ps) && (!is_outside(ps->from) || !l->waiting.head) && rows_are_there(l, ps))
		apply_proposals(l, ps);
	else
		letters_push(&l->waiting, letter);
}

static void on_edit(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct edit *e = (struct edit *)letter;

	/* All or nothing: an edit has a commit to itself. */
	if (l->down || l->waiting.head || stands_still(l) || !ledger__is_still(l) ||
	    stream_room(l->stream) < ledger_edit_records(e) + 1) {
		letters_push(&l->waiting, letter);
		return;
	}
	l->now_us = actor_wall_us(l->me);
	if (!ledger__edit_is_current(l, e)) {
		e->code = E_REVISION;
		e->letter.deliver = e->answered;
		if (!e->reply_to || actor_post_credit(e->reply_to, letter) < 0)
			edit_free(e);
		return;
	}
	ledger__apply_edit(l, e);
	letters_push(&l->edits, letter);
	l->hold = l->replanned; /* saved right after it: see save_replanned() */
	ledger__commit(l);
}

static void on_record(struct letter *letter, void *self)
{
	struct ledger *l = self;

	/* It says what came before it: it overtakes nothing that waits. */
	bool waits = l->down || l->waiting.head || stands_still(l);
	letters_push(waits ? &l->waiting : &l->records, letter);
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
	if (!l->down && !stands_still(l) && stream_room(l->stream) > 1 && !withdrawals_wait(l)) {
		struct transition tr = { .kind = TK_MARK, .inst = { .token = m->number } };
		ledger__publish(l, &tr);
		free(m);
	} else {
		letters_push(&l->waiting, letter);
	}
}

static void on_keep(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct keep *k = (struct keep *)letter;

	/* Outcomes are saved up to a durable number, and no further. */
	bool is_still = ledger__is_still(l);
	if (l->down || l->dead) {
		ledger__keep_answer(k, E_BUSY);
	} else if (!is_still) {
		letters_push(&l->waiting, letter);
	} else {
		ledger__housework(l, k);
	}
}

/* Letters that had to wait, in order, until one must wait again. */
static void take_waiting(struct ledger *l)
{
	struct letters was = l->waiting;

	if (l->down || ledger_awaits_rows(l) || (l->hold && l->busy))
		return;
	l->hold = false; /* who needs it asks again */
	if (!was.head)
		return;
	if (was.tail == &l->waiting.head)
		was.tail = &was.head;
	letters_init(&l->waiting);
	for (struct letter *at; (at = letters_pop(&was));)
		at->deliver(at, l);
}

/* Questions take turns with commits and reads of rows: a job that waits for its values must not
 * wait until a command of a million instances is over. */
static bool answer_next(struct ledger *l)
{
	bool has_others = ledger__has_work(l) || ledger_awaits_rows(l);

	l->answered = !(l->answered && has_others) && ledger__answer_questions(l);
	return l->answered;
}

/* While the thread is busy a batch goes once it is large, or old; not between an end and the grant
 * that follows it, which would wait for two commits then: where the thread lost the processor for
 * the time of a window, every batch is old. */
static bool is_ripe(struct ledger *l)
{
	uint64_t n = stream_last(l->stream) - stream_seen(l->keep);

	if (!l->batch_since_us)
		return false;
	if (n >= l->set.batch_max || stream_room(l->stream) < l->set.ring_slots / 4)
		return true;
	if (actor_mono_us(l->me) - l->batch_since_us <= l->set.window_us)
		return false;
	if (!l->brings || l->put_off == PUT_OFF_MAX)
		return true;
	l->put_off++;
	actor_wake(l->me);
	return false;
}

static void ledger_turn(void *self)
{
	struct ledger *l = self;

	if (l->waiting.head || l->parts.n > 0)
		stream_want_room(l->stream, l->me);
	if (l->half.ps && !ledger_awaits_rows(l))
		apply_half(l);
	if (!l->half.ps)
		take_waiting(l);
	if (l->parts.n > 0 && !l->down && !stands_still(l)) {
		l->now_us = actor_wall_us(l->me);
		ledger__work_parts(l);
	}
	if (!stands_still(l) && !l->waiting.head && l->parts.n == 0)
		ledger__rows_rest(l);
	if (!l->down && !l->busy && is_ripe(l) && !answer_next(l))
		ledger__commit(l);
	l->brings -= l->brings > 0;
	stream_wake(l->stream);
}

static void on_alarm(void *self)
{
	struct ledger *l = self;
	int64_t now = actor_mono_us(l->me);

	if (l->dead)
		return;
	if (!l->busy && !l->down)
		ledger_keep_anchor(l, false);
	if (l->down)
		ledger__commit(l);
	else if (!l->busy && (l->doubted || now - l->proof_us >= l->set.renew_us))
		ledger__renew_proof(l);
	if (l->down)
		return; /* it is set when the answer is there */
	if (ledger_awaits_rows(l) || l->parts.n > 0)
		actor_wake(l->me);
	ledger__set_alarm(l);
}

static bool ledger_rest(void *self)
{
	struct ledger *l = self;

	if (l->down || l->dead || l->busy)
		return false;
	if (answer_next(l) || ledger__fetch_rows(l) || ledger__fetch_version(l))
		return !l->busy;
	if (!ledger__has_work(l)) {
		if (!l->set.waits)
			store_idle(l->store);
		return false;
	}
	if (l->half.ps && !l->flight.is_out)
		return false; /* a row of history cannot be read now: an alarm is set */
	ledger__commit(l);
	return !l->busy;
}

static int ledger_init(void *self, struct actor *me, struct err *err)
{
	struct ledger *l = self;

	(void)err;
	l->me = me;
	l->running = true;
	actor_alarm(me, l->proof_us + l->set.renew_us);
	if (l->parts.n > 0 || l->batch_since_us)
		actor_wake(me);
	return 0;
}

static const struct actor_ops ops = { .name = "ledger",
	                              .letters_max = 65536,
	                              .init = ledger_init,
	                              .turn = ledger_turn,
	                              .alarm = on_alarm,
	                              .rest = ledger_rest };

/* Nobody waits for them: they go with the first commit. */
static void touch_stale(struct ledger *l)
{
	for (size_t i = 0; i < l->tasks_cap; i++) {
		struct ltask *t = l->tasks[i];
		if (!t || !t->row.stale)
			continue;
		t->row.stale = false;
		ledger__touch_task(l, t);
		l->batch_since_us = actor_mono_us(l->me);
	}
}

int ledger_new(const struct ledger_start *from, struct ledger **ret_ledger, struct err *err)
{
	const struct ledger_settings *set = from->set;
	struct ledger *l = mem_new(sizeof *l);

	CHECK(from->thread && from->store && (from->n_tasks == 0 || (from->tasks && from->rows)));
	l->store = from->store;
	l->anchor.fd = -1;
	l->set = *set;
	if (!l->set.renew_us)
		l->set.renew_us = set->epoch_us / 3;
	table_init(&l->table);
	pools_init(&l->pools);
	ledger__flows_init(l);
	letters_init(&l->edits);
	letters_init(&l->records);
	letters_init(&l->answers);
	letters_init(&l->waiting);
	letters_init(&l->questions);
	letters_init(&l->flight.edits);
	letters_init(&l->flight.records);
	letters_init(&l->flight.answers);
	l->writer = writer__new(set->writer, l);
	for (size_t i = 0; i < from->n_tasks; i++)
		ledger__put_task(l, from->tasks[i], &from->rows[i]);
	int r = ledger__load(l, from->who, err);
	if (r < 0) {
		ledger_free(l);
		return r;
	}
	stream_set_drop(l->stream, slot_drop);
	l->me = actor_new(from->thread, &ops, l);
	l->keep = stream_reader_new(l->stream, STREAM_OUTER, l->me);
	l->now_us = actor_wall_us(l->me);
	touch_stale(l);
	r = ledger__leave_gaps(l, err);
	if (r < 0) {
		ledger_free(l);
		return r;
	}
	/* Loading may have taken long. */
	l->proof_us = actor_mono_us(l->me);
	r = store_renew_lease(l->store, l->epoch, l->now_us, err);
	if (r == E_EPOCH) {
		ledger_free(l);
		return r;
	}
	if (r < 0)
		l->proof_us = l->proof_us - l->set.epoch_us; /* silent until the next try */
	r = ledger__anchor_open(l, err);
	if (r < 0) {
		ledger_free(l);
		return r;
	}
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

static void free_half(struct half *h)
{
	if (!h->ps)
		return;
	free(h->codes);
	free(h->numbers);
	proposals_free(h->ps);
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
	discard_all(&l->questions, NULL);
	discard_all(&l->flight.edits, NULL);
	discard_all(&l->flight.records, NULL);
	discard_all(&l->flight.answers, NULL);
	ledger__flight_done(&l->flight);
	ledger__rows_free(l);
	ledger__version_free(l);
	ledger__keep_free(l);
	ledger__data_free(l);
	free_half(&l->half);
	writer__free(l->writer);
	anchor_close(&l->anchor);
	for (size_t i = 0; i < l->tasks_cap; i++) {
		struct ltask *t = l->tasks[i];
		if (!t)
			continue;
		task_unref(t->def);
		ledger__forget_versions(t);
		outcomes_done(&t->outcomes);
		free(t->children);
		free(t->takes);
		free(t);
	}
	table_done(&l->table);
	free(l->tasks);
	pools_done(&l->pools);
	free(l->parts.keys);
	ledger__flows_done(l);
	ledger__next_done(l);
	free(l->dirty);
	free(l->dirty_tasks);
	free(l->taken);
	free(l->fresh);
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

uint64_t ledger_next_token(const struct ledger *l)
{
	CHECK(actor_here(l->me));
	return l->next_token;
}

int ledger_propose(struct ledger *l, struct proposals *ps)
{
	ps->letter.deliver = on_proposals;
	return is_outside(ps->from) ? actor_post(l->me, &ps->letter)
	                            : actor_post_credit(l->me, &ps->letter);
}

int ledger_edit(struct ledger *l, struct edit *e)
{
	e->letter = (struct letter){ .deliver = on_edit, .discard = edit_discard };
	return actor_post(l->me, &e->letter);
}

int ledger_record(struct ledger *l, struct record *r)
{
	r->letter = (struct letter){ .deliver = on_record, .discard = record_discard };
	return actor_post(l->me, &r->letter);
}

int ledger_mark(struct ledger *l, uint64_t number)
{
	struct mark *m = mem_new(sizeof *m);

	m->number = number;
	m->letter = (struct letter){ .deliver = on_mark, .discard = letter_free };
	int r = actor_post_credit(l->me, &m->letter);
	if (r < 0)
		free(m);
	return r;
}

int ledger_keep(struct ledger *l, const struct ledger_keep *ask)
{
	struct keep *k = mem_new(sizeof *k);

	k->ask = *ask;
	k->letter = (struct letter){ .deliver = on_keep, .discard = letter_free };
	int r = actor_post_credit(l->me, &k->letter);
	if (r < 0)
		free(k);
	return r;
}

const struct ledger_keep *ledger_kept(const struct letter *letter)
{
	return &((const struct keep *)letter)->ask;
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

bool ledger_find_now(const struct ledger *l, struct inst_key key, struct instance *ret)
{
	const struct ltask *t = ledger__task_of(l, key.task);
	const struct outcome_range *o = t ? outcomes_find(&t->outcomes, key.run_date) : NULL;
	uint32_t index;
	const struct entry *e = table_find(&l->table, key, &index);

	if (e)
		*ret = e->inst;
	else if (o)
		*ret = (struct instance){ .key = key, .state = o->state, .reason = o->reason };
	return e || o;
}

void ledger_figures(const struct ledger *l, struct ledger_figures *ret)
{
	int64_t busy_us = l->f_busy_us;

	*ret = (struct ledger_figures){
		.last = stream_last(l->stream),
		.durable = stream_last_durable(l->stream),
		.commits = l->f_commits,
		.refused = l->f_refused,
		.stale = l->f_stale,
		.retries = l->f_retries,
		.claims_unproven = l->f_claims_unproven,
		.claims_false = l->f_claims_false,
		.unfinished = l->f_unfinished,
		.commit_us_last = l->f_commit_us,
		.commit_us_sum = l->f_commit_us_sum,
		.store_down = l->f_down || (busy_us && actor_mono_us(l->me) - busy_us > SLOW_US),
		.lacks_days = store_lacks_days(l->store),
		.store_code = l->f_code,
	};
}

/* The rest is for what others have in the ring meanwhile. */
size_t ledger_edit_max(const struct ledger *l)
{
	return l->set.ring_slots / 4 * 3;
}

bool ledger_is_full(const struct ledger *l)
{
	return l->f_down && l->f_code == E_FULL;
}

bool ledger_may_speak(const struct ledger *l, int64_t mono_us)
{
	return !l->doubted && !l->silent && mono_us - l->proof_us < l->set.epoch_us &&
	       (!l->set.until_us || mono_us < *l->set.until_us);
}

int64_t ledger_proof_us(const struct ledger *l)
{
	return l->proof_us;
}
