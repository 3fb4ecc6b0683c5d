/* What a forecast is made from, copied out of the catalog.
 *
 * The copy is made on the core thread, which everything waits for, so it must be small and quick:
 * tasks that are asked about and what they wait for, the newest outcomes, unfinished instances. The
 * forecaster's own thread does the rest with the copy alone. What only the ledger knows of a live
 * instance (its start, its next try, its broker) it fills in on its own turn. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/forecast/forecast.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/catalog.h"
#include "sched/simulate.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

enum { OVER_MAX = 4096, OVER_DAYS = 40 };

void forecast_init(struct forecast *f, int64_t now_us)
{
	*f = (struct forecast){ .now_us = now_us };
	map_init(&f->by_id);
	map_init(&f->by_key);
}

void forecast_done(struct forecast *f)
{
	for (size_t i = 0; i < f->n_tasks; i++) {
		task_unref(f->tasks[i].def);
		free(f->tasks[i].over);
		free(f->tasks[i].asks.takes);
	}
	for (size_t i = 0; i < f->n_limits; i++)
		free(f->limits[i].name);
	for (size_t i = 0; i < f->n_seats; i++) {
		free(f->seats[i].type);
		free(f->seats[i].name);
		for (char **g = f->seats[i].groups; g && *g; g++)
			free(*g);
		free(f->seats[i].groups);
	}
	for (size_t i = 0; i < f->n_classes; i++)
		free(f->classes[i].seats.seats);
	for (size_t i = 0; i < f->n_others; i++)
		free(f->others[i].asks.takes);
	free(f->limits);
	free(f->seats);
	free(f->classes);
	free(f->others);
	free(f->tasks);
	free(f->lives);
	free(f->rows);
	free(f->slow);
	free(f->day_lo);
	free(f->day_hi);
	free(f->promises);
	map_done(&f->by_id);
	map_done(&f->by_key);
	*f = (struct forecast){ 0 };
}

/* The newest outcomes: of older dates nothing is asked any more. */
static void copy_over(struct forecast *f, struct forecast_task *t, const struct outcomes *o)
{
	size_t from = outcomes_from(o, f->now_us / US_PER_S - OVER_DAYS * INT64_C(86400));

	CHECK(from <= o->len);
	if (o->len - from > OVER_MAX)
		from = o->len - OVER_MAX;
	t->n_over = o->len - from;
	t->over = mem_array(t->n_over + 1, sizeof *t->over);
	if (t->n_over)
		memcpy(t->over, o->ranges + from, t->n_over * sizeof *t->over);
}

static void add_task(struct forecast *f, const struct cat_task *t, bool is_asked)
{
	uint32_t at = map_get(&f->by_id, t->id);

	if (at != MAP_NONE) {
		f->tasks[at].is_asked |= is_asked;
		return;
	}
	f->tasks = mem_room(f->tasks, &f->tasks_cap, f->n_tasks + 1, sizeof *f->tasks);
	map_add(&f->by_id, t->id, (uint32_t)f->n_tasks);
	struct forecast_task *own = &f->tasks[f->n_tasks++];
	int64_t through = t->row.planned_through;
	/* What was due before it went online comes by a backfill alone: nobody promised it. */
	if (t->row.online_from > INT64_MIN && through < t->row.online_from - 1)
		through = t->row.online_from - 1;
	*own = (struct forecast_task){ .def = task_ref(t->def),
		                       .is_asked = is_asked,
		                       .is_online = task_starts(t->row.state),
		                       .is_frozen = t->row.frozen,
		                       .asks.klass = SIMULATE_NOBODY,
		                       .through = through };
	copy_over(f, own, &t->outcomes);
}

const struct forecast_task *forecast_task_of(const struct forecast *f, uint32_t id)
{
	uint32_t at = map_get(&f->by_id, id);

	CHECK(at < f->n_tasks);
	return &f->tasks[at];
}

const struct forecast_live *forecast_live_of(const struct forecast *f, struct inst_key key)
{
	size_t at;

	for (uint32_t i = map_first(&f->by_key, inst_key_hash(key), &at); i != MAP_NONE;
	     i = map_next(&f->by_key, inst_key_hash(key), &at))
		if (inst_key_eq(f->lives[i].key, key))
			return f->lives[i].state == ST_NONE ? NULL : &f->lives[i];
	return NULL;
}

bool forecast_plays(const struct forecast *f, struct inst_key key)
{
	uint32_t at = map_get(&f->by_id, key.task);
	int64_t oldest = f->now_us / US_PER_S - FORECAST_DAYS_MAX * INT64_C(86400);

	return at != MAP_NONE && f->tasks[at].is_online && key.run_date >= oldest &&
	       forecast_live_of(f, key);
}

void forecast_ask_task(struct forecast *f, const struct catalog *cat, uint32_t task)
{
	const struct cat_task *t = catalog_task(cat, task);

	if (t && !catalog_retired(t))
		add_task(f, t, true);
}

static void add_lives(struct forecast *f, const struct catalog *cat, const struct cat_task *t)
{
	for (uint32_t k = t->live; k != SLAB_NONE;) {
		const struct cat_inst *in = catalog_inst(cat, k);
		k = in->next;
		if (in->key.part != 0)
			continue;
		f->lives = mem_room(f->lives, &f->lives_cap, f->n_lives + 1, sizeof *f->lives);
		map_add(&f->by_key, inst_key_hash(in->key), (uint32_t)f->n_lives);
		f->lives[f->n_lives++] = (struct forecast_live){ .key = in->key,
			                                         .state = in->state,
			                                         .flags = in->flags };
	}
}

void forecast_collect(struct forecast *f, const struct catalog *cat)
{
	/* All that those depend on: the list grows while it is gone through. */
	for (size_t i = 0; i < f->n_tasks; i++) {
		const struct task *d = f->tasks[i].def;
		for (size_t k = 0; k < d->n_links; k++) {
			const struct cat_task *p = catalog_task(cat, d->links[k].parent);
			if (p && !catalog_retired(p))
				add_task(f, p, false);
		}
	}
	for (size_t i = 0; i < f->n_tasks; i++)
		add_lives(f, cat, catalog_task(cat, f->tasks[i].def->id));
}

void forecast_fill_live(struct forecast *f, const struct ledger *l)
{
	struct instance now;

	for (size_t i = 0; i < f->n_lives; i++) {
		struct forecast_live *v = &f->lives[i];
		if (!ledger_find_now(l, v->key, &now))
			now = (struct instance){ .state = ST_NONE };
		v->state = now.state;
		v->reason = now.reason;
		v->flags = now.flags;
		v->at_us = v->state == ST_FAILED || inst_looks_again(&now) ? now.retry_at_us
		                                                           : now.started_us;
		if (v->at_us == 0)
			v->at_us = f->now_us;
		v->broker = now.broker;
	}
}
