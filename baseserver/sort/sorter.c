/* The actor: a turn folds the stream, looks again at queues that were held, grants the best
 * lane of a class as long as the ledger's letter has room, and sends. Each grant spends a slot
 * of credit at once; if the ledger returns it, the credit is given back and the instance waits
 * again. A queue whose grant was returned for a gate that is not known here is held until one
 * of its gates has moved, so that the same grant is never asked for in a circle. Lanes,
 * classes, pools and sessions have their own files; here is only when they are looked at. */
#include "baseserver/sort/sorter.h"

#include <inttypes.h>
#include <stdlib.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/pack.h"
#include "baseserver/ledger/pools.h"
#include "baseserver/sort/sorter_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { UNREAD_US = 100 * 1000 };

static uint8_t side_of(const struct instance *i)
{
	return i->origin == OR_BACKFILL ? SIDE_BACKFILL : SIDE_LIVE;
}

static struct ready *take_in(struct sorter *s, const struct instance *i, uint32_t slot)
{
	CHECK(sorter_of_slot(s, slot) == SLAB_NONE);
	uint32_t index = slab_take(&s->ready);
	struct ready *r = sorter_ready(s, index);

	heap_node_init(&r->node);
	r->queue = sorter__queue(s, i->key.task);
	r->key = i->key;
	r->slot = slot;
	r->side = side_of(i);
	slab_index_set(&s->by_slot, &s->by_slot_cap, slot, index);
	return r;
}

static void give_back(struct sorter *s, struct ready *r)
{
	CHECK(sorter_ready(s, s->by_slot[r->slot]) == r);
	CHECK(!r->lane && !r->runs && !r->asked && !r->place); /* nothing counts it any more */
	slab_give(&s->ready, s->by_slot[r->slot]);
	s->by_slot[r->slot] = SLAB_NONE;
}

/* --- what runs ----------------------------------------------------------------------------- */

static void sorter_run(struct sorter *s, struct ready *r, const struct instance *i)
{
	struct queue *q = r->queue;
	bool was = r->runs;

	if (!was) {
		sorter__went(s, r);
		sorter__set_asked(s, r, false);
		sorter__leave_lane(s, r);
		CHECK(!r->lane && !r->asked);
		r->runs = true;
		r->run.next = NULL;
		r->run.prev = q->newest;
		*(q->newest ? &q->newest->run.next : &q->oldest) = r;
		q->newest = r;
	}
	sorter__place(s, r, i->broker);
	r->run.since_us = i->started_us ? i->started_us : s->now_us;
}

static void run_no_more(struct ready *r)
{
	struct queue *q = r->queue;

	if (!r->runs)
		return;
	CHECK(q->oldest && q->newest);
	*(r->run.prev ? &r->run.prev->run.next : &q->oldest) = r->run.next;
	*(r->run.next ? &r->run.next->run.prev : &q->newest) = r->run.prev;
	r->runs = false;
	heap_node_init(&r->node);
}

static void sorter_follow(struct sorter *s, const struct instance *i, enum state from,
                          uint32_t slot)
{
	uint32_t index = sorter_of_slot(s, slot);
	struct ready *r = index == SLAB_NONE ? NULL : sorter_ready(s, index);
	bool waits = i->state == ST_DEPEND || i->state == ST_ROUGH;
	bool holds = inst_holds_slot(i, (enum state)i->state);
	struct queue *q = sorter__queue(s, i->key.task);
	bool was_asked = r && r->asked;

	if (!r && (waits || holds))
		r = take_in(s, i, slot);
	if (r && !holds)
		run_no_more(r);
	if (r && holds)
		sorter_run(s, r, i);
	else if (r && !waits)
		sorter__set_asked(s, r, false);
	sorter__count_slots(s, q, side_of(i), (int32_t)holds - (int32_t)inst_holds_slot(i, from));
	if (r && !holds && !r->asked)
		sorter__place(s, r, 0);
	if (r && waits)
		sorter__wait(s, r, i);
	if (!r || waits || holds)
		return;
	sorter__leave_lane(s, r);
	give_back(s, r);
	if (was_asked)
		sorter__queue_moved(s, q);
}

static void fold_instance(struct sorter *s, const struct transition *tr)
{
	sorter_follow(s, &tr->inst, (enum state)tr->from, tr->slot);
	if (tr->event == EV_EXIT_OK)
		sorter__lasted(sorter__queue(s, tr->inst.key.task), &tr->inst);
}

static void count_seat(struct sorter *s, const struct transition *tr)
{
	struct seat *seat = tr->session ? sorter__seat(s, tr->session) : NULL;

	if (!seat)
		return;
	sorter__seat_runs(seat, (int)inst_holds_slot(&tr->inst, (enum state)tr->inst.state) -
	                                (int)inst_holds_slot(&tr->inst, (enum state)tr->from));
	sorter__starts_fold(s, seat, tr);
}

static void sorter_fold(struct sorter *s)
{
	for (const struct transition *tr; (tr = stream_peek(s->in)); stream_next(s->in)) {
		if (tr->kind == TK_INSTANCE) {
			fold_instance(s, tr);
			count_seat(s, tr);
		} else if (tr->kind == TK_TASK) {
			const struct task_pack *p = tr->row;
			for (size_t i = 0; i < p->n; i++)
				sorter__put_def(s, p->items[i].def, p->items[i].row.state,
				                p->items[i].row.frozen);
		} else if (tr->kind == TK_POOL) {
			const struct pool__change *c = tr->row;
			sorter__limit_size(s, sorter__limit(s, c->name), c->size);
		} else if (tr->kind == TK_MARK) {
			s->mark = tr->inst.token;
			s->marks++;
		}
	}
}

/* Counts all that may have opened a gate of the queue. */
static uint32_t moves_of(const struct sorter *s, const struct queue *q)
{
	uint32_t n = q->moves + s->marks;

	for (size_t i = 0; i < q->n_takes; i++)
		n += q->takes[i].limit->moves;
	return n;
}

/* The ledger returned a grant of it, for a gate that is not known here yet: it is not asked
 * again before one of its gates has moved. */
static void sorter_hold(struct sorter *s, struct queue *q)
{
	q->held = true;
	q->held_moves = moves_of(s, q);
	if (q->held_listed)
		return;
	q->held_listed = true;
	s->held = mem_grow(s->held, s->n_held + 1, sizeof *s->held);
	s->held[s->n_held++] = q;
}

static void look_at_held(struct sorter *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_held; i++) {
		struct queue *q = s->held[i];
		CHECK(q->held_listed);
		if (q->held && moves_of(s, q) == q->held_moves) {
			s->held[n++] = q;
			continue;
		}
		q->held_listed = false;
		if (q->held) {
			q->held = false;
			sorter__queue_moved(s, q);
		}
	}
	s->n_held = n;
}

static void sorter_spread(struct sorter *s, struct lane *l)
{
	struct queue *q = l->queue;
	struct ready *r = (struct ready *)heap_top(&l->ready);

	CHECK(r->key.part == 0 && !r->asked);
	outbox_flush(&s->out); /* a letter of its own: the ledger needs room for all of it */
	struct proposal *p = outbox_add(&s->out, ASK_SPREAD, r->key);
	p->revision = r->revision;
	p->folded = s->mark;
	p->cookie = r->slot;
	p->n_brokers = (uint32_t)sorter__brokers(l->klass, &p->brokers);
	outbox_flush(&s->out);
	r->moves = moves_of(s, q);
	r->asked = true;
	heap_remove(&r->lane->ready, &r->node);
	sorter__queue_moved(s, q);
}

static void grant(struct sorter *s, struct lane *l)
{
	struct queue *q = l->queue;
	struct ready *r = (struct ready *)heap_top(&l->ready);
	struct seat *seat = sorter__choose(s, l->klass, r);

	CHECK(seat && !r->asked && !r->runs);
	struct proposal *p = outbox_add(&s->out, ASK_GRANT, r->key);
	p->revision = r->revision;
	p->folded = s->mark;
	p->session = seat->session;
	p->lane = seat->lane;
	p->machine = seat->machine;
	p->keeps_proofs = seat->keeps_proofs;
	p->broker = seat->broker;
	p->probe = seat->room != STARTS_ANY;
	p->cookie = (uint64_t)seat->session << 32 | r->slot;
	log_debug("sorter.grant",
	          "instance=%u.%" PRId64 " broker=%s lane=%u of=%zu running=%d load_permille=%u "
	          "open=%" PRIu64 " waiting=%zu why=\"best of those with open slots\"",
	          r->key.task, r->key.run_date, seat->broker_name, seat->lane, l->klass->n_sessions,
	          seat->running, seat->load.load_permille, seat->limit - seat->granted,
	          l->klass->waiting);
	r->moves = moves_of(s, q);
	sorter__set_asked(s, r, true);
	heap_remove(&r->lane->ready, &r->node);
	sorter__queue_moved(s, q);
	sorter__spend(s, seat);
	sorter__place(s, r, seat->broker);
	sorter__kept_note(s, l, seat);
}

/* The turns at a pool are its own: who waits there for the same slots may have the next one, or has
 * aged past who was let in. NULL: what waits there has moved, look again. */
static struct lane *who_goes(struct sorter *s, struct lane *l)
{
	for (size_t i = 0; i < l->queue->n_takes && sorter_takes(l); i++) {
		const struct stand *t = l->stands[i];
		struct lane *first = t->limit->parked ? sorter__next_of(s, &t->parked) : NULL;
		if (!first || !sorter__passes(s, &t->parked, first, l) ||
		    sorter__kept_from(s, l->klass, first->party))
			continue;
		sorter__lane_moved(s, first);
		if (first->parked != t)
			return first->open ? first : NULL;
	}
	return l;
}

void sorter_set_room(struct sorter *s,
                     bool (*room)(void *ctx, uint64_t *ret_free, uint64_t *ret_min), void *ctx)
{
	s->room = room;
	s->room_ctx = ctx;
}

/* A disk that is nearly full is for what runs: its reports, its logs. */
static bool has_room(struct sorter *s)
{
	int64_t now = actor_mono_us(s->me);
	bool was = s->no_room;

	if (!s->room || (now < s->room_us && !was))
		return true;
	if (now >= s->room_us) {
		s->no_room = !s->room(s->room_ctx, &s->disk_free, &s->disk_min);
		s->room_us = now + US_PER_S;
	}
	if (s->no_room != was)
		log_warn(s->no_room ? "disk.low" : "disk.enough",
		         "free=%" PRIu64 " disk_free_min_bytes=%" PRIu64, s->disk_free,
		         s->disk_min);
	return !s->no_room; /* sorter_turn() looks again */
}

static void start_one(struct sorter *s, struct lane *l)
{
	CHECK(l->open && l->klass->open > 0);
	sorter__had_turn(s, l);
	(l->spread ? sorter_spread : grant)(s, l);
}

/* Who stands in a class may have been let in with more than there is room for. */
static void start_what_may(struct sorter *s)
{
	struct lane *l;

	if (!has_room(s))
		return;
	for (sorter__limits_settle(s); outbox_room(&s->out) > 0 && (l = sorter__first(s));
	     sorter__limits_settle(s)) {
		sorter__lane_moved(s, l);
		l = l->open ? who_goes(s, l) : NULL;
		if (l)
			start_one(s, l);
	}
	if (s->n_dirty > 0)
		actor_wake(s->me);
}

static void sorter_turn(void *self)
{
	struct sorter *s = self;

	s->now_us = actor_wall_us(s->me);
	s->mono_us = actor_mono_us(s->me);
	sorter_fold(s);
	look_at_held(s);
	int64_t next = sorter__starts_look(s);
	start_what_may(s);
	outbox_flush(&s->out);
	if (s->unread_us && s->unread_us < next)
		next = s->unread_us;
	int64_t kept = sorter__kept_until(s);
	if (kept < next)
		next = kept;
	if (s->no_room && s->room_us < next)
		next = s->room_us;
	actor_alarm(s->me, next);
}

/* Others are the store's: nobody knows, and nothing will say when it is over. */
static bool says_which_gate(int code)
{
	return code == E_CONFLICT || code == E_LIMIT || code == E_BARRIER || code == E_NOT_FOUND;
}

/* A returned grant: the credit it spent is given back, the instance waits again. */
static void returned(struct sorter *s, const struct answer *a)
{
	uint32_t index = sorter_of_slot(s, (uint32_t)a->cookie);
	struct seat *seat = sorter__seat(s, (uint32_t)(a->cookie >> 32));
	struct ready *r = index == SLAB_NONE ? NULL : sorter_ready(s, index);

	if (seat)
		sorter__regain(s, seat);
	if (!r || !inst_key_eq(r->key, a->key) || !r->asked)
		return;
	struct queue *q = r->queue;
	sorter__set_asked(s, r, false);
	sorter__place(s, r, 0);
	/* What opens the gate may have been folded before the answer came: then ask again. */
	if (a->code != E_REVISION && moves_of(s, q) == r->moves)
		sorter_hold(s, q);
	if (a->code != E_REVISION && !says_which_gate(a->code))
		s->unread_us = actor_mono_us(s->me) + UNREAD_US;
	sorter__enqueue(s, r);
	sorter__queue_moved(s, q);
}

static void sorter_answered(struct letter *letter, void *self)
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
	struct sorter *s = self;
	struct session_news *n = (struct session_news *)letter;
	struct seat *seat = sorter__seat(s, n->session);

	if (!seat && !n->gone) {
		seat = sorter__seat_enter(s, n);
		sorter__starts_enter(s, seat);
	}
	if (seat && n->gone)
		sorter__seat_gone(s, seat);
	else if (seat)
		sorter__seat_news(s, seat, n);
	session_news_free(n);
}

static void session_discard(struct letter *letter)
{
	session_news_free((struct session_news *)letter);
}

int sorter_session(struct sorter *s, struct session_news *n)
{
	n->letter = (struct letter){ .deliver = on_session, .discard = session_discard };
	return actor_post_credit(s->me, &n->letter);
}

/* What could not be read may be so now: all that are held are tried again. */
static void on_alarm(void *self)
{
	struct sorter *s = self;

	if (!s->unread_us || s->unread_us > actor_mono_us(s->me))
		return; /* what rests, and brokers that are tried again: sorter_turn() */
	s->unread_us = 0;
	s->marks++;
}

static const struct actor_ops ops = {
	.name = "sorter", .letters_max = 65536, .turn = sorter_turn, .alarm = on_alarm
};

static void load_pool(void *ctx, const char *name, int32_t size)
{
	sorter__limit(ctx, name)->size = size;
}

static void load_task(void *ctx, const struct ledger_task *t)
{
	sorter__put_def(ctx, t->def, t->row->state, t->row->frozen);
}

static void load_instance(void *ctx, const struct instance *i, uint32_t slot)
{
	sorter_follow(ctx, i, ST_NONE, slot);
}

struct sorter *sorter_new(struct thread *th, struct ledger *ledger)
{
	struct sorter *s = mem_new(sizeof *s);

	s->ledger = ledger;
	s->random = 2463534242u;
	slab_init(&s->ready, sizeof(struct ready));
	map_init(&s->limit_by_name);
	map_init(&s->machine_of);
	map_init(&s->project_of);
	sorter__bounds_init(s);
	s->me = actor_new(th, &ops, s);
	s->in = stream_reader_new(ledger_stream(ledger), STREAM_INNER, s->me);
	s->out = (struct outbox){
		.ledger = ledger, .me = s->me, .from = PR_SORTER, .answered = sorter_answered
	};
	s->began_us = s->now_us = actor_wall_us(s->me);
	s->mono_us = actor_mono_us(s->me);
	ledger_each_pool(ledger, load_pool, s);
	ledger_each_task(ledger, load_task, s);
	ledger_each_instance(ledger, load_instance, s);
	return s;
}

void sorter_free(struct sorter *s)
{
	if (!s)
		return;
	sorter__queues_free(s);
	sorter__limits_free(s);
	sorter__seats_free(s);
	sorter__machines_free(s);
	sorter__bounds_free(s);
	sorter__starts_free(s);
	slab_done(&s->ready);
	outbox_done(&s->out);
	map_done(&s->project_of);
	free(s->project_turns);
	free(s->by_slot);
	free(s->held);
	free(s);
}

struct actor *sorter_actor(struct sorter *s)
{
	return s->me;
}
