/* What a forecast is played with: pools and quotas, loaders with their slots, which of these each
 * task asks for, and who runs beside them. Nothing here scans what waits. */
#include <stdlib.h>

#include "baseserver/forecast/forecast.h"
#include "baseserver/model/why.h"
#include "baseserver/sort/sorter_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

/* Where a thing is in the copy, by its address. */
static uint32_t place_of(const struct map *places, const void *p)
{
	uint32_t at = p ? map_get(places, (uint64_t)(uintptr_t)p) : MAP_NONE;

	return at == MAP_NONE ? SIMULATE_NOBODY : at;
}

static void copy_limits(const struct sorter *s, struct forecast *f, struct map *places)
{
	f->limits = mem_array(s->n_limits + 1, sizeof *f->limits);
	f->n_limits = s->n_limits;
	for (size_t i = 0; i < s->n_limits; i++) {
		const struct limit *m = s->limits[i];
		f->limits[i].name = mem_str(m->name);
		f->limits[i].size = m->size;
		f->limits[i].taken = m->taken[SIDE_LIVE] + m->taken[SIDE_BACKFILL];
		map_add(places, (uint64_t)(uintptr_t)m, (uint32_t)i);
	}
}

static char **copy_names(char *const *names)
{
	size_t n = 0;

	while (names && names[n])
		n++;
	char **own = mem_array(n + 1, sizeof *own);
	for (size_t i = 0; i < n; i++)
		own[i] = mem_str(names[i]);
	return own;
}

/* Where starts fail nothing starts, as far as can be seen. */
static void copy_seats(const struct sorter *s, struct forecast *f, struct map *places)
{
	f->seats = mem_array(s->n_seats + 1, sizeof *f->seats);
	f->n_seats = s->n_seats;
	for (size_t i = 0; i < s->n_seats; i++) {
		const struct seat *seat = s->seats[i];
		struct forecast_seat *own = &f->seats[i];
		uint64_t open = seat->limit > seat->granted ? seat->limit - seat->granted : 0;
		own->broker = seat->broker;
		own->type = mem_str(seat->type);
		own->name = mem_str(seat->broker_name);
		own->groups = copy_names(seat->groups);
		own->load = seat->load;
		own->running = seat->running > 0 ? seat->running : 0;
		own->accepts = seat->accepts || seat->room != STARTS_ANY;
		if (seat->accepts && seat->room == STARTS_ANY)
			own->is_asked = open == 0 && own->running == 0;
		if (seat->accepts && seat->room == STARTS_ANY)
			own->slots = own->running +
			             (open < INT32_MAX / 2 ? (int32_t)open : INT32_MAX / 2);
		map_add(places, (uint64_t)(uintptr_t)seat, (uint32_t)i);
	}
}

/* Which gate it is that none of its seats opens, the registrar says: it knows the brokers. */
static void say_shut(const struct sorter *s, const struct klass *k, const struct task *def,
                     struct why_line *w)
{
	bool takes = false;

	for (size_t i = 0; i < k->n_sessions; i++)
		takes = takes || (k->sessions[i]->accepts && k->sessions[i]->room == STARTS_ANY);
	if (takes || sorter__starts_explain(s, k, w))
		return;
	if (k->n_sessions == 0 && sorter__bound_explain(s, k, def, w))
		return;
	why_set(w, k->n_sessions == 0 ? WHY_NO_BROKER : WHY_SLOTS);
	why_text(w, "where", "%s", k->machines ? "its machines" : k->group);
	why_text(w, "type", "%s", k->type);
}

static uint32_t class_of(const struct sorter *s, struct forecast *f, struct map *places,
                         const struct klass *k, uint32_t task)
{
	uint32_t at = place_of(places, k);

	if (!k || at != SIMULATE_NOBODY)
		return at;
	at = (uint32_t)f->n_classes++;
	struct forecast_class *own = &f->classes[at];
	own->of_task = task;
	own->seats.seats = mem_array(k->n_sessions + 1, sizeof(uint32_t));
	own->seats.n = k->n_sessions;
	for (size_t i = 0; i < k->n_sessions; i++)
		own->seats.seats[i] = place_of(places, k->sessions[i]);
	why_set(&own->why, WHY_STARTS);
	say_shut(s, k, f->tasks[task].def, &own->why);
	map_add(places, (uint64_t)(uintptr_t)k, at);
	return at;
}

static void copy_takes(const struct queue *q, const struct map *places, struct simulate_asks *ret)
{
	ret->takes = mem_array(q->n_takes + 1, sizeof *ret->takes);
	ret->n_takes = q->n_takes;
	for (size_t i = 0; i < q->n_takes; i++)
		ret->takes[i] = (struct simulate_take){ place_of(places, q->takes[i].limit),
			                                q->takes[i].slots };
}

static void add_others(const struct sorter *s, struct forecast *f, const struct queue *q,
                       const struct map *places)
{
	bool spreads = q->def && task_spreads(q->def);

	for (const struct ready *r = q->oldest; r; r = r->run.next) {
		if (!spreads && forecast_plays(f, r->key))
			continue;
		f->others = mem_room(f->others, &f->others_cap, f->n_others + 1, sizeof *f->others);
		struct forecast_other *o = &f->others[f->n_others++];
		*o = (struct forecast_other){ .since_us = r->run.since_us,
			                      .lasts_us = sorter_median_us(s, q->id) };
		copy_takes(q, places, &o->asks);
		o->asks.klass = place_of(places, q->klass);
	}
}

void sorter_forecast(struct sorter *s, struct forecast *f)
{
	struct map places;

	CHECK(actor_here(s->me));
	map_init(&places);
	f->has_gates = true;
	copy_limits(s, f, &places);
	copy_seats(s, f, &places);
	f->classes = mem_array(s->n_classes + 1, sizeof *f->classes);
	for (size_t i = 0; i < f->n_tasks; i++) {
		struct forecast_task *t = &f->tasks[i];
		const struct queue *q = t->def->id < s->queues_cap ? s->queues[t->def->id] : NULL;
		if (!q || !q->def)
			continue;
		copy_takes(q, &places, &t->asks);
		t->asks.klass = class_of(s, f, &places, q->klass, (uint32_t)i);
	}
	for (size_t i = 0; i < s->queues_cap; i++)
		if (s->queues[i] && s->queues[i]->oldest)
			add_others(s, f, s->queues[i], &places);
	map_done(&places);
}
