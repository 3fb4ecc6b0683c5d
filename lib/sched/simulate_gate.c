/* What a start takes in a simulation, and whose turn it is: slots of the task, of quotas and pools,
 * and one seat of its class; by priority with age, then by due. A task waits at the first limit
 * that has no room for it and is looked at again when that has some, so that nobody is held back by
 * who waits for something else. (design: SEMANTICS section 4.) */
#include "sched/simulate_impl.h"
#include "util/alloc.h"
#include "util/check.h"

#include <stdlib.h>

#define AGING_US INT64_C(600000000)

/* --- order */

static int64_t priority_of(const struct sim *s, uint32_t row)
{
	const struct sim_row *r = &s->rows[row];
	int64_t waited = s->now_us - r->row.due * 1000000;
	int64_t p = s->tasks[r->row.task].def->priority + (waited > 0 ? waited / AGING_US : 0);

	return p < SIM_PRIORITY_MAX ? p : SIM_PRIORITY_MAX;
}

static bool goes_first(const struct sim *s, uint32_t a, uint32_t b)
{
	int64_t x = priority_of(s, a), y = priority_of(s, b);

	if (x != y)
		return x > y;
	if (s->rows[a].row.due != s->rows[b].row.due)
		return s->rows[a].row.due < s->rows[b].row.due;
	return a < b;
}

/* Among rows of one task the earlier due has waited longer, so that aging changes nothing. */
static bool ready_before(const struct sim *s, uint32_t a, uint32_t b)
{
	int64_t x = s->rows[a].row.due, y = s->rows[b].row.due;

	return x != y ? x < y : a < b;
}

static void ready_push(struct sim *s, struct sim_task *t, uint32_t row)
{
	t->ready = mem_room(t->ready, &t->room, t->n_ready + 1, sizeof *t->ready);
	size_t at = t->n_ready++;
	for (; at && ready_before(s, row, t->ready[(at - 1) / 2]); at = (at - 1) / 2)
		t->ready[at] = t->ready[(at - 1) / 2];
	t->ready[at] = row;
}

static uint32_t ready_pop(struct sim *s, struct sim_task *t)
{
	CHECK(t->n_ready > 0);
	CHECK(t->n_ready > 0);
	uint32_t top = t->ready[0], last = t->ready[--t->n_ready];
	size_t at = 0;

	for (size_t child; (child = at * 2 + 1) < t->n_ready; at = child) {
		if (child + 1 < t->n_ready && ready_before(s, t->ready[child + 1], t->ready[child]))
			child++;
		if (!ready_before(s, t->ready[child], last))
			break;
		t->ready[at] = t->ready[child];
	}
	t->ready[at] = last;
	return top;
}

/* --- shelves */

static void shelf_put(struct sim *s, struct sim_shelf *sh, struct sim_task *t)
{
	int p = t->def->priority;

	CHECK(!t->shelf && t->n_ready > 0);
	t->at_priority = (uint8_t)(p < 0 ? 0 : p < SIM_PRIORITY_MAX ? p : SIM_PRIORITY_MAX);
	t->node.tie = t->ready[0];
	heap_set(&sh->tasks[t->at_priority], &t->node, s->rows[t->ready[0]].row.due);
	sh->some |= 1u << t->at_priority;
	t->shelf = sh;
}

static void shelf_take(struct sim_task *t)
{
	struct heap *h;

	if (!t->shelf)
		return;
	h = &t->shelf->tasks[t->at_priority];
	heap_remove(h, &t->node);
	if (h->len == 0)
		t->shelf->some &= ~(1u << t->at_priority);
	t->shelf = NULL;
}

static struct sim_task *first_of(const struct sim *s, const struct sim_shelf *sh,
                                 struct sim_task *best)
{
	for (uint32_t some = sh->some; some; some &= some - 1) {
		struct sim_task *t = (struct sim_task *)heap_top(&sh->tasks[__builtin_ctz(some)]);
		if (!best || goes_first(s, t->ready[0], best->ready[0]))
			best = t;
	}
	return best;
}

static void shelf_done(struct sim_shelf *sh)
{
	for (int p = 0; p <= SIM_PRIORITY_MAX; p++)
		heap_done(&sh->tasks[p]);
}

/* --- limits */

/* The seat with the most room, from 1; 0: none has any. */
static uint32_t seat_of(const struct sim *s, const struct simulate_class *k)
{
	uint32_t best = 0;
	int32_t best_room = 0;

	for (size_t i = 0; i < k->n; i++) {
		const struct sim_seat *seat = &s->seats[k->seats[i]];
		if (seat->slots - seat->taken > best_room) {
			best_room = seat->slots - seat->taken;
			best = k->seats[i] + 1;
		}
	}
	return best;
}

/* As seat_of(), by the task's own expression where it has one. */
static uint32_t seat_for(const struct sim *s, const struct sim_task *t)
{
	const struct simulate_class *k = t->klass->klass;
	const struct simulate_desk *desks = s->in->gates->desks;
	struct rank best_rank = { 0 };
	uint32_t best = 0;

	if (!t->def->least || !desks)
		return seat_of(s, k);
	for (size_t i = 0; i < k->n; i++) {
		const struct sim_seat *seat = &s->seats[k->seats[i]];
		const struct simulate_desk *d = &desks[k->seats[i]];
		if (seat->slots <= seat->taken)
			continue;
		struct rank rank = rank_of(t->def->least,
		                           &(struct rank_broker){
						   .name = d->name,
						   .groups = d->groups,
						   .load = &d->load,
						   .running = s->seats[seat->desk].running,
					   });
		if (!best || rank_before(&rank, &best_rank)) {
			best = k->seats[i] + 1;
			best_rank = rank;
		}
	}
	return best;
}

/* More or fewer jobs on a seat, from 1; 0: on none that is known. */
static void sit(struct sim *s, uint32_t seat, int32_t more)
{
	CHECK(seat <= s->n_seats);
	if (!seat)
		return;
	s->seats[seat - 1].taken += more;
	s->seats[s->seats[seat - 1].desk].running += more;
}

static bool fits(const struct sim *s, const struct sim_limit *m, int32_t slots)
{
	if (m->klass)
		return seat_of(s, m->klass) != 0;
	return m->size < 0 || m->taken + slots <= m->size;
}

static void freed(struct sim *s, struct sim_limit *m, uint32_t by)
{
	CHECK(m->is_dirty || s->n_dirty < s->n_limits);
	m->last_end = by;
	if (!m->is_dirty)
		s->dirty[s->n_dirty++] = m;
	m->is_dirty = true;
}

static void free_seat(struct sim *s, uint32_t seat, uint32_t by)
{
	struct sim_seat *at = seat ? &s->seats[seat - 1] : NULL;

	if (!at)
		return;
	sit(s, seat, -1);
	for (size_t i = 0; i < at->n_limits; i++)
		freed(s, &s->limits[at->limits[i]], by);
}

static bool task_has_room(const struct sim_task *t)
{
	if (t->def->concurrency && t->running >= t->def->concurrency)
		return false;
	return t->def->serial == SERIAL_PARALLEL || t->running == 0;
}

/* The limit that has no room for it is where it waits; NULL: it has its slots. */
static struct sim_stand *closed_at(struct sim *s, struct sim_task *t)
{
	for (size_t i = 0; i < t->n_takes; i++) {
		if (fits(s, &s->limits[t->takes[i].limit], t->takes[i].slots))
			continue;
		t->held_by = t->takes[i].limit + 1;
		return t->stands[i];
	}
	return NULL;
}

void sim__mark(struct sim *s, struct sim_task *t)
{
	while (t->n_ready && s->rows[t->ready[0]].phase != SIM_READY)
		ready_pop(s, t); /* it was replaced */
	shelf_take(t);
	if (t->n_ready && task_has_room(t))
		shelf_put(s, &s->marked, t);
}

void sim__ready(struct sim *s, uint32_t row)
{
	CHECK(s->rows[row].phase == SIM_READY);
	struct sim_task *t = &s->tasks[s->rows[row].row.task];

	ready_push(s, t, row);
	sim__mark(s, t);
}

void sim__hold(struct sim *s, uint32_t row)
{
	struct sim_task *t = &s->tasks[s->rows[row].row.task];
	uint32_t seat = s->rows[row].seat;

	t->running++;
	for (size_t i = 0; i < t->n_takes; i++)
		s->limits[t->takes[i].limit].taken += t->takes[i].slots;
	sit(s, seat, 1);
}

void sim__free_slots(struct sim *s, uint32_t row)
{
	struct sim_task *t = &s->tasks[s->rows[row].row.task];

	CHECK(t->running > 0);
	t->running--;
	t->last_end = row + 1;
	for (size_t i = 0; i < t->n_takes; i++) {
		struct sim_limit *m = &s->limits[t->takes[i].limit];
		m->taken -= t->takes[i].slots;
		CHECK(m->taken >= 0);
		freed(s, m, row + 1);
	}
	free_seat(s, s->rows[row].seat, row + 1);
}

void sim__free_other(struct sim *s, uint32_t other)
{
	CHECK(other < s->in->gates->n_others);
	const struct simulate_other *o = &s->in->gates->others[other];

	for (size_t i = 0; i < o->asks.n_takes; i++) {
		struct sim_limit *m = &s->limits[o->asks.takes[i].limit];
		CHECK(m->taken >= o->asks.takes[i].slots);
		m->taken -= o->asks.takes[i].slots;
		freed(s, m, 0);
	}
	free_seat(s, o->seat, 0);
}

static void take_start(struct sim *s, struct sim_task *t, uint32_t row)
{
	struct sim_row *r = &s->rows[row];
	uint32_t by = t->held_by ? s->limits[t->held_by - 1].last_end : t->last_end;

	if (s->now_us > r->ready_us && by)
		r->cause = by - 1;
	t->held_by = 0;
	r->seat = t->klass ? seat_for(s, t) : 0;
	sim__hold(s, row);
}

/* Of who may start now, and of who waits where there is room again. */
static struct sim_task *best_of(const struct sim *s)
{
	struct sim_task *best = first_of(s, &s->marked, NULL);

	for (size_t i = 0; i < s->n_dirty; i++) {
		const struct sim_limit *m = s->dirty[i];
		for (size_t k = 0; k < m->n_stands; k++)
			if (m->stands[k]->waits.some && fits(s, m, m->stands[k]->slots))
				best = first_of(s, &m->stands[k]->waits, best);
	}
	return best;
}

uint32_t sim__next(struct sim *s)
{
	for (struct sim_task *t; (t = best_of(s));) {
		shelf_take(t);
		struct sim_stand *at = closed_at(s, t);
		if (at) {
			shelf_put(s, &at->waits, t);
			continue;
		}
		uint32_t row = ready_pop(s, t);
		take_start(s, t, row);
		sim__mark(s, t);
		return row;
	}
	while (s->n_dirty) {
		CHECK(s->dirty[s->n_dirty - 1]->is_dirty);
		s->dirty[--s->n_dirty]->is_dirty = false;
	}
	return UINT32_MAX;
}

/* --- made */

static struct sim_stand *stand_of(struct sim_limit *m, int32_t slots)
{
	for (size_t i = 0; i < m->n_stands; i++)
		if (m->stands[i]->slots == slots)
			return m->stands[i];
	struct sim_stand *stand = mem_new(sizeof *stand);
	stand->slots = slots;
	m->stands = mem_grow(m->stands, m->n_stands + 1, sizeof *m->stands);
	return m->stands[m->n_stands++] = stand;
}

static void add_take(struct sim *s, struct sim_task *t, uint32_t limit, int32_t slots)
{
	t->takes[t->n_takes] = (struct simulate_take){ limit, slots };
	t->stands[t->n_takes++] = stand_of(&s->limits[limit], slots);
}

static void take_room(struct sim_task *t, size_t n)
{
	heap_node_init(&t->node);
	t->takes = mem_array(n, sizeof *t->takes);
	t->stands = mem_array(n, sizeof(struct sim_stand *));
}

/* Tasks of a workflow with a cap share it. */
static void make_caps(struct sim *s)
{
	struct map by_workflow;

	map_init(&by_workflow);
	s->limits = mem_array(s->in->n + 1, sizeof *s->limits);
	for (size_t i = 0; i < s->in->n; i++) {
		struct sim_task *t = &s->tasks[i];
		uint32_t at = map_get(&by_workflow, t->def->workflow_id);
		take_room(t, 1);
		if (!t->def->workflow_cap)
			continue;
		if (at == MAP_NONE) {
			at = (uint32_t)s->n_limits++;
			map_add(&by_workflow, t->def->workflow_id, at);
		}
		s->limits[at].size = t->def->workflow_cap;
		add_take(s, t, at, 1);
	}
	map_done(&by_workflow);
}

static void make_seats(struct sim *s, const struct simulate_gates *g)
{
	s->seats = mem_array(g->n_seats + 1, sizeof *s->seats);
	s->n_seats = g->n_seats;
	for (size_t i = 0; i < g->n_seats; i++) {
		s->seats[i].slots = g->seats[i];
		while (g->desks && g->desks[s->seats[i].desk].broker != g->desks[i].broker)
			s->seats[i].desk++;
	}
	for (size_t i = 0; i < g->n_classes; i++) {
		const struct simulate_class *k = &g->classes[i];
		s->limits[g->n_limits + i].klass = k;
		for (size_t j = 0; j < k->n; j++) {
			struct sim_seat *seat = &s->seats[k->seats[j]];
			seat->limits = mem_grow(seat->limits, seat->n_limits + 1,
			                        sizeof *seat->limits);
			seat->limits[seat->n_limits++] = (uint32_t)(g->n_limits + i);
		}
	}
}

static void make_given(struct sim *s, const struct simulate_gates *g)
{
	s->n_limits = g->n_limits + g->n_classes;
	s->limits = mem_array(s->n_limits + 1, sizeof *s->limits);
	for (size_t i = 0; i < g->n_limits; i++)
		s->limits[i].size = g->limits[i];
	make_seats(s, g);
	for (size_t i = 0; i < s->in->n; i++) {
		struct sim_task *t = &s->tasks[i];
		const struct simulate_asks *a = &g->asks[i];
		take_room(t, a->n_takes + 1);
		t->is_closed = a->is_closed;
		for (size_t k = 0; k < a->n_takes; k++)
			add_take(s, t, a->takes[k].limit, a->takes[k].slots);
		if (a->klass == SIMULATE_NOBODY)
			continue;
		t->klass = &s->limits[g->n_limits + a->klass];
		add_take(s, t, (uint32_t)(g->n_limits + a->klass), 0);
	}
	for (size_t i = 0; i < g->n_others; i++) {
		const struct simulate_other *o = &g->others[i];
		for (size_t k = 0; k < o->asks.n_takes; k++)
			s->limits[o->asks.takes[k].limit].taken += o->asks.takes[k].slots;
		sit(s, o->seat, 1);
	}
}

void sim__gates_make(struct sim *s)
{
	if (s->in->gates)
		make_given(s, s->in->gates);
	else
		make_caps(s);
	s->dirty = mem_array(s->n_limits + 1, sizeof(struct sim_limit *));
}

void sim__gates_done(struct sim *s)
{
	for (size_t i = 0; i < s->in->n && s->tasks; i++) {
		free(s->tasks[i].takes);
		free(s->tasks[i].stands);
	}
	for (size_t i = 0; i < s->n_limits; i++) {
		for (size_t k = 0; k < s->limits[i].n_stands; k++) {
			shelf_done(&s->limits[i].stands[k]->waits);
			free(s->limits[i].stands[k]);
		}
		free(s->limits[i].stands);
	}
	for (size_t i = 0; i < s->n_seats; i++)
		free(s->seats[i].limits);
	shelf_done(&s->marked);
	free(s->seats);
	free(s->limits);
	free(s->dirty);
}
