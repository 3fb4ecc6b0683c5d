/* Tasks, their lanes, and where a lane stands.
 *
 * A lane holds the ready instances of one task that are alike: same priority, side, part, class.
 * It stands in at most one place: in its class while all its gates are open (then its first
 * instance may start), parked at the pool or quota that is full, or nowhere while a gate of the
 * task itself is closed. Whoever changes a gate calls sorter__lane_moved() or _queue_moved(), which
 * finds the place anew; nothing is polled. The counters that `why`, queues and metrics show
 * (sorter.blocked, klass.waiting, limit.waiting) change in count_anew() alone, from what
 * lane.counted says was counted before, so that they cannot drift.
 *
 * Which of two lanes goes first is sorter_shelf.c; whether a pool has room is sorter_limit.c; which
 * broker gets the job is sorter_seat.c. */
#include <stdlib.h>

#include "baseserver/ledger/pools.h"
#include "baseserver/sort/sorter_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

/* --- gates ------------------------------------------------------------------------------ */

static bool task_full(const struct queue *q)
{
	int32_t limit = task_limit(q->def);

	return limit > 0 && q->slots + q->asked >= limit;
}

/* The first closed gate of 1, 2, 5 to 8; 0: none. *ret_take: which pool, for 7 and 8. */
uint8_t sorter__gate(struct sorter *s, const struct lane *l, size_t *ret_take)
{
	const struct queue *q = l->queue;

	if (l->test)
		return 0; /* test runs of a draft ask no gate of the task */
	if (!task_starts(q->state))
		return 1;
	if (q->frozen)
		return 2;
	if (l->spread)
		return 0; /* the others are its parts' */
	if (task_full(q))
		return q->def->serial == SERIAL_UNORDERED ? 5 : 6;
	for (size_t i = 0; i < q->n_takes; i++) {
		const struct take *t = &q->takes[i];
		if (sorter__limit_fits(s, t->limit, l, t->slots))
			continue;
		*ret_take = i;
		return t->limit->gate;
	}
	return 0;
}

/* --- where a lane stands ------------------------------------------------------------------- */

static void count_anew(struct sorter *s, struct lane *l)
{
	size_t n = l->ready.len;

	CHECK(l->gate < GATES && s->blocked[l->counted.gate] >= l->counted.n);
	CHECK(!l->counted.limit || l->counted.limit->waiting >= l->counted.n);
	CHECK(!l->counted.klass || l->counted.klass->waiting >= l->counted.n);
	s->blocked[l->counted.gate] -= l->counted.n;
	if (l->counted.limit)
		l->counted.limit->waiting -= l->counted.n;
	if (l->counted.klass)
		l->counted.klass->waiting -= l->counted.n;
	if (l->counted.party)
		l->counted.party->waiting -= l->counted.n;
	l->counted.gate = l->gate;
	l->counted.limit = l->parked ? l->parked->limit : NULL;
	l->counted.klass = l->open ? l->klass : NULL;
	l->counted.party = l->open ? l->party : NULL;
	l->counted.n = n;
	s->blocked[l->gate] += n;
	if (l->counted.limit)
		l->counted.limit->waiting += n;
	if (l->counted.klass)
		l->counted.klass->waiting += n;
	if (l->counted.party)
		l->counted.party->waiting += n;
}

static size_t takes_of(const struct lane *l)
{
	return sorter_takes(l) ? l->queue->n_takes : 0;
}

/* The lane has left these limits' queues (all but `but`). Look at each again: slots reserved for
 * it, or for the lane behind it, may now be free. */
static void left(struct sorter *s, const struct lane *l, const struct stand *but)
{
	for (size_t i = 0; i < takes_of(l); i++)
		if (l->stands[i] != but)
			sorter__limit_look(s, l->queue->takes[i].limit);
}

static void leave_class(struct sorter *s, struct lane *l)
{
	struct klass *k = l->klass;

	CHECK(l->open);
	shelf__take(&k->lanes, l);
	for (size_t i = 0; i < takes_of(l); i++) {
		CHECK(l->stands[i]->open > 0);
		l->stands[i]->open--;
	}
	l->open = false;
	sorter__class_moved(s, k);
}

static void enter_class(struct sorter *s, struct lane *l)
{
	struct klass *k = l->klass;

	shelf__put(&k->lanes, l);
	if (l->open)
		return;
	for (size_t i = 0; i < takes_of(l); i++)
		l->stands[i]->open++;
	l->open = true;
	sorter__class_moved(s, k);
}

static void leave_stand(struct lane *l)
{
	CHECK(l->parked->limit->parked > 0);
	shelf__take(&l->parked->parked, l);
	l->parked->limit->parked--;
	l->parked = NULL;
}

static void look_up_stands(struct lane *l)
{
	const struct queue *q = l->queue;

	CHECK(l->klass); /* stands are a class's: without one it stands nowhere */
	l->party = shelf__party(&l->klass->lanes, q->project);
	l->stands = mem_array(q->n_takes + 1, sizeof *l->stands);
	for (size_t i = 0; i < q->n_takes; i++)
		l->stands[i] = sorter__stand(q->takes[i].limit, l->klass, l->side,
		                             q->takes[i].slots);
}

/* To `stand`, to its class (open), or out. */
static void stand_at(struct sorter *s, struct lane *l, struct stand *stand, bool open)
{
	struct stand *was = l->parked;

	CHECK(!stand || !open); /* at one place, or nowhere */
	if (was && was != stand) {
		leave_stand(l);
		if (!open && was->limit->reserving)
			sorter__limit_look(s, was->limit);
	}
	if (l->open && !open) {
		leave_class(s, l);
		left(s, l, stand);
	}
	if (open)
		enter_class(s, l);
	if (!stand)
		return;
	shelf__put(&stand->parked, l);
	if (l->parked != stand)
		stand->limit->parked++;
	l->parked = stand;
}

void sorter__lane_moved(struct sorter *s, struct lane *l)
{
	const struct queue *q = l->queue;
	/* What has named machines is spread by the ledger. */
	bool some = l->ready.len > 0 && l->klass && !(l->spread && q->def->n_machines);
	size_t take = 0;

	if (some && !l->stands)
		look_up_stands(l);
	if (some) {
		l->key = heap_top(&l->ready)->key;
		l->tie = heap_top(&l->ready)->tie;
	}
	uint8_t was = l->gate;
	l->gate = some ? sorter__gate(s, l, &take) : 0;
	sorter__gate_moved(s, l, was);
	bool held = q->held && !l->test;
	bool parks = some && !held && (l->gate == 7 || l->gate == 8);
	stand_at(s, l, parks ? l->stands[take] : NULL, some && !held && l->gate == 0);
	count_anew(s, l);
}

enum { ROUNDS_MAX = 8 };

/* The best of a stand, as many as there is room for. They do not take it yet: who else of
 * their class comes first is the class's to say. */
static void let_go(struct sorter *s, struct stand *t)
{
	const struct limit *m = t->limit;
	int32_t room = m->size - m->taken[SIDE_LIVE] - m->taken[SIDE_BACKFILL];
	int32_t left = m->size == POOL_NONE ? INT32_MAX : room / t->slots;

	while (left > 0) {
		struct lane *l = sorter__next_of(s, &t->parked);
		if (!l)
			return;
		sorter__lane_moved(s, l);
		if (l->parked == t)
			return;
		left -= l->open;
	}
}

void sorter__limits_settle(struct sorter *s)
{
	for (int round = 0; s->n_dirty > 0 && round < ROUNDS_MAX; round++) {
		struct limit **was = s->dirty;
		size_t n = s->n_dirty;
		s->dirty = NULL;
		s->n_dirty = s->dirty_cap = 0;
		for (size_t i = 0; i < n; i++) {
			sorter__limit_looked(s, was[i]);
			for (size_t k = 0; k < was[i]->n_stands; k++)
				let_go(s, was[i]->stands[k]);
		}
		free(was);
	}
}

void sorter__queue_moved(struct sorter *s, struct queue *q)
{
	for (struct lane *l = q->lanes; l; l = l->next)
		sorter__lane_moved(s, l);
}

static struct klass *class_of(struct sorter *s, const struct lane *l)
{
	const struct queue *q = l->queue;

	return l->part > 0 && q->def ? sorter__class_of_part(s, q->def, l->part, l->broker)
	                             : q->klass;
}

struct lane *sorter__lane(struct sorter *s, struct queue *q, const struct lane *like)
{
	for (struct lane *l = q->lanes; l; l = l->next)
		if (l->priority == like->priority && l->side == like->side &&
		    l->test == like->test && l->spread == like->spread && l->part == like->part &&
		    l->broker == like->broker)
			return l;
	struct lane *l = mem_new(sizeof *l);
	*l = *like;
	l->queue = q;
	l->next = q->lanes;
	l->klass = class_of(s, l);
	heap_node_init(&l->node);
	heap_init(&l->ready);
	q->lanes = l;
	return l;
}

/* Between classes: projects take turns here, too, and the classes of one project do, for who stands
 * behind it in one of them waits for that class. */
static bool has_turn_before(const struct sorter *s, const struct lane *a, const struct lane *b)
{
	uint64_t x = s->project_turns[a->queue->project], y = s->project_turns[b->queue->project];

	return x != y ? x < y : a->klass->last < b->klass->last;
}

struct lane *sorter__first(struct sorter *s)
{
	struct lane *own = NULL, *turn = NULL; /* by the order of one project, and by turns */
	struct bar bar = { .effective = -1 };
	bool is_alone = true;

	for (const struct klass *k = s->startable; k; k = k->next) {
		CHECK(k->lanes.some && k->open > 0); /* what makes a class startable */
		if (sorter__keeps(s, k))
			sorter__kept_bar(s, k, &bar);
		else
			sorter__bar(s, &k->lanes, &bar);
	}
	for (const struct klass *k = s->startable; k; k = k->next) {
		struct lane *l = sorter__keeps(s, k) ? sorter__kept_next(s, k, &bar)
		                                     : sorter__next(s, &k->lanes, &bar);
		if (!l)
			continue;
		is_alone = is_alone && k->lanes.n_busy == 1 &&
		           (!own || own->queue->project == l->queue->project);
		if (!own || sorter__goes_first(s, l, own))
			own = l;
		if (!turn || has_turn_before(s, l, turn))
			turn = l;
	}
	return is_alone ? own : turn;
}

/* --- what is taken ---------------------------------------------------------------------- */

static void link_users(struct queue *q)
{
	for (size_t i = 0; i < q->n_takes; i++) {
		struct take *t = &q->takes[i];
		CHECK(!t->at);
		t->at = &t->limit->users;
		t->next = *t->at;
		if (t->next)
			t->next->at = &t->next;
		*t->at = t;
	}
	if (!q->klass)
		return;
	CHECK(!q->at_user);
	q->at_user = &q->klass->users;
	q->next_user = *q->at_user;
	if (q->next_user)
		q->next_user->at_user = &q->next_user;
	*q->at_user = q;
}

static void unlink_users(struct queue *q)
{
	for (size_t i = 0; i < q->n_takes; i++) {
		struct take *t = &q->takes[i];
		if (t->at)
			*t->at = t->next;
		if (t->at && t->next)
			t->next->at = t->at;
		t->at = NULL;
	}
	if (q->at_user)
		*q->at_user = q->next_user;
	if (q->at_user && q->next_user)
		q->next_user->at_user = q->at_user;
	q->at_user = NULL;
}

static void lane_take(struct sorter *s, struct queue *q, uint8_t side, int32_t d)
{
	q->taken[side] += d;
	for (size_t i = 0; i < q->n_takes; i++) {
		struct limit *m = q->takes[i].limit;
		m->taken[side] += d * q->takes[i].slots;
		CHECK(m->taken[side] >= 0); /* each gives back what it took */
		if (d < 0)
			sorter__limit_look(s, m);
	}
}

static void count_held(struct queue *q, int32_t d)
{
	if (!q->party)
		return;
	q->party->holds += d;
	CHECK(q->party->holds >= 0);
}

void sorter__count_asked(struct sorter *s, struct queue *q, uint8_t side, int32_t d)
{
	q->asked += d;
	CHECK(q->asked >= 0);
	count_held(q, d);
	lane_take(s, q, side, d);
}

void sorter__count_slots(struct sorter *s, struct queue *q, uint8_t side, int32_t d)
{
	if (d == 0)
		return;
	if (q->slots == 0)
		link_users(q);
	q->slots += d;
	CHECK(q->slots >= 0);
	if (q->slots == 0)
		unlink_users(q);
	if (q->klass)
		q->klass->running += d;
	count_held(q, d);
	q->moves++;
	for (size_t i = 0; i < q->n_takes; i++)
		q->takes[i].limit->moves++;
	lane_take(s, q, side, d);
	q->held = false;
	sorter__queue_moved(s, q);
}

/* --- definitions --------------------------------------------------------------------------- */

struct queue *sorter__queue(struct sorter *s, uint32_t id)
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
		q->id = id;
		s->queues[id] = q;
	}
	return s->queues[id];
}

/* What runs takes nothing of the old pools any more; `d` 1: but of the new ones. */
static void retake(struct sorter *s, struct queue *q, int d)
{
	int32_t taken[SIDES] = { q->taken[0], q->taken[1] };

	for (int side = 0; side < SIDES; side++) {
		lane_take(s, q, (uint8_t)side, d * taken[side]);
		q->taken[side] = taken[side];
	}
}

struct wanting {
	struct sorter *s;
	struct queue *q;
};

static void add_take(void *ctx, const struct pool_want *w)
{
	struct wanting *a = ctx;
	struct limit *m = sorter__limit(a->s, w->name);

	if (w->size != POOL_NONE)
		sorter__limit_size(a->s, m, w->size);
	a->q->takes = mem_grow(a->q->takes, a->q->n_takes + 1, sizeof *a->q->takes);
	a->q->takes[a->q->n_takes++] = (struct take){ .limit = m,
		                                      .queue = a->q,
		                                      .slots = w->slots };
}

static void drop_def(struct sorter *s, struct queue *q)
{
	for (struct lane *l = q->lanes; l; l = l->next) {
		stand_at(s, l, NULL, false);
		l->gate = 0;
		count_anew(s, l);
		free(l->stands);
		l->stands = NULL;
		l->party = NULL;
		l->klass = NULL;
	}
	retake(s, q, -1);
	if (q->slots > 0)
		unlink_users(q);
	if (q->klass)
		q->klass->running -= q->slots;
	count_held(q, -(q->slots + q->asked));
	q->party = NULL;
	CHECK(!q->at_user); /* nobody finds its takes any more */
	task_unref(q->def);
	free(q->takes);
	q->takes = NULL;
	q->n_takes = 0;
	q->klass = NULL;
}

void sorter__put_def(struct sorter *s, const struct task *def, uint8_t state, bool frozen)
{
	struct queue *q = sorter__queue(s, def->id);

	CHECK(q->id == def->id);
	task_ref(def);
	drop_def(s, q);
	q->def = def;
	q->project = sorter__project(s, def->name);
	q->state = state;
	q->frozen = frozen;
	q->moves++;
	q->held = false;
	q->klass = sorter__class_of(s, def);
	q->klass->running += q->slots;
	q->party = shelf__party(&q->klass->lanes, q->project);
	count_held(q, q->slots + q->asked);
	for (struct lane *l = q->lanes; l; l = l->next) {
		l->spread = task_spreads(def) && !l->test && l->part == 0;
		l->klass = class_of(s, l);
	}
	pool_each_want(def, add_take, &(struct wanting){ s, q });
	retake(s, q, 1);
	if (q->slots > 0)
		link_users(q);
	sorter__queue_moved(s, q);
}

void sorter__queues_free(struct sorter *s)
{
	for (size_t i = 0; i < s->queues_cap; i++) {
		struct queue *q = s->queues[i];
		if (!q)
			continue;
		while (q->lanes) {
			struct lane *l = q->lanes;
			q->lanes = l->next;
			heap_done(&l->ready);
			free(l->stands);
			free(l);
		}
		task_unref(q->def);
		free(q->takes);
		free(q->lasts);
		free(q);
	}
	free(s->queues);
}
