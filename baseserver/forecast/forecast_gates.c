/* Gates 7 to 11 of a forecast: what the play shares out, and what never opens as things are. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/forecast/forecast.h"
#include "baseserver/ledger/pools.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

/* Who runs longer than he should goes on for a tenth of that; beyond that nobody knows. */
int64_t forecast_guess(int64_t now_us, int64_t since_us, int64_t lasts_us)
{
	int64_t took = now_us - since_us;
	int64_t more = took / 10 > US_PER_S ? took / 10 : US_PER_S;

	return took < lasts_us ? since_us + lasts_us : now_us + more;
}

/* --- what never opens ------------------------------------------------------------------------ */

/* The first limit that is smaller than what it takes; NULL: there is none. */
static const struct forecast_limit *too_small(const struct forecast *f, size_t task,
                                              int32_t *ret_slots)
{
	const struct simulate_asks *a = &f->tasks[task].asks;

	for (size_t i = 0; i < a->n_takes; i++) {
		CHECK(a->takes[i].limit < f->n_limits);
		const struct forecast_limit *m = &f->limits[a->takes[i].limit];
		*ret_slots = a->takes[i].slots;
		if (m->size != POOL_NONE && *ret_slots > m->size)
			return m;
	}
	return NULL;
}

static bool is_class_shut(const struct forecast *f, const struct forecast_task *t)
{
	CHECK(t->asks.klass == SIMULATE_NOBODY || t->asks.klass < f->n_classes);
	enum why_code code = t->asks.klass == SIMULATE_NOBODY ? WHY_STARTS
	                                                      : f->classes[t->asks.klass].why.code;

	return why_gate(code) >= 9;
}

static void say_small(const struct forecast_limit *m, int32_t slots, struct why_line *w)
{
	bool project = strncmp(m->name, POOL_PROJECT, strlen(POOL_PROJECT)) == 0;

	if (pool_gate(m->name) == 7) {
		why_set(w, project ? WHY_PROJECT_FULL : WHY_WORKFLOW_FULL);
		if (project)
			why_text(w, "project", "%s", m->name + strlen(POOL_PROJECT));
		why_number(w, "running", m->taken);
		why_number(w, "limit", m->size);
	} else if (strncmp(m->name, POOL_SERVER, strlen(POOL_SERVER)) == 0) {
		why_set(w, WHY_SERVER_FULL);
		why_text(w, "server", "%s", m->name + strlen(POOL_SERVER));
		why_number(w, "taken", m->taken);
		why_number(w, "size", m->size);
	} else {
		why_set(w, m->size == 0 ? WHY_POOL_MISSING : WHY_POOL_SMALL);
		why_text(w, "pool", "%s", m->name);
		why_number(w, "size", m->size);
		why_number(w, "slots", slots);
	}
}

bool forecast_shut(const struct forecast *f, size_t task, struct why_line *ret)
{
	int32_t slots = 0;
	const struct forecast_limit *m = too_small(f, task, &slots);

	if (m)
		say_small(m, slots, ret);
	else if (is_class_shut(f, &f->tasks[task]))
		*ret = f->classes[f->tasks[task].asks.klass].why;
	return m || is_class_shut(f, &f->tasks[task]);
}

/* --- who sits where -------------------------------------------------------------------------- */

/* The seats of one that runs are known by their broker, or as those of its class; `left`: jobs of
 * each seat that have not been placed. From 1; 0: nobody knows. */
static uint32_t seat_at(const struct forecast *f, const struct forecast_live *v, int32_t *left)
{
	const struct task *d = forecast_task_of(f, v->key.task)->def;

	for (size_t i = 0; i < f->n_seats && v->broker; i++)
		if (f->seats[i].broker == v->broker && left[i] > 0 &&
		    strcmp(f->seats[i].type, d->type) == 0) {
			left[i]--;
			return (uint32_t)i + 1;
		}
	return 0;
}

static uint32_t seat_among(const struct forecast *f, uint32_t klass, int32_t *left)
{
	const struct simulate_class *k = klass == SIMULATE_NOBODY ? NULL : &f->classes[klass].seats;

	for (size_t i = 0; k && i < k->n; i++) {
		CHECK(k->seats[i] < f->n_seats);
		if (left[k->seats[i]] > 0) {
			left[k->seats[i]]--;
			return k->seats[i] + 1;
		}
	}
	return 0;
}

static void gates_place(struct forecast *f, struct simulate_other *others)
{
	int32_t *left = mem_array(f->n_seats + 1, sizeof *left);

	for (size_t i = 0; i < f->n_seats; i++)
		left[i] = f->seats[i].running;
	for (size_t i = 0; i < f->n_lives; i++)
		if (state_holds_slot((enum state)f->lives[i].state))
			f->lives[i].seat = seat_at(f, &f->lives[i], left);
	for (size_t i = 0; i < f->n_others; i++) {
		const struct forecast_other *o = &f->others[i];
		others[i] = (struct simulate_other){
			.asks = o->asks,
			.seat = seat_among(f, o->asks.klass, left),
			.until_us = forecast_guess(f->now_us, o->since_us, o->lasts_us),
		};
	}
	free(left);
}

void forecast_gates_make(struct forecast *f, struct simulate_gates *ret)
{
	int32_t *limits = mem_array(f->n_limits + 1, sizeof *limits);
	int32_t *seats = mem_array(f->n_seats + 1, sizeof *seats);
	struct simulate_class *classes = mem_array(f->n_classes + 1, sizeof *classes);
	struct simulate_asks *asks = mem_array(f->n_tasks + 1, sizeof *asks);
	struct simulate_other *others = mem_array(f->n_others + 1, sizeof *others);

	struct simulate_desk *desks = mem_array(f->n_seats + 1, sizeof *desks);

	for (size_t i = 0; i < f->n_limits; i++)
		limits[i] = f->limits[i].size;
	for (size_t i = 0; i < f->n_seats; i++) {
		const struct forecast_seat *seat = &f->seats[i];
		seats[i] = seat->slots;
		desks[i] = (struct simulate_desk){ .broker = seat->broker,
			                           .name = seat->name,
			                           .groups = (const char *const *)seat->groups,
			                           .load = seat->load };
	}
	for (size_t i = 0; i < f->n_classes; i++)
		classes[i] = f->classes[i].seats;
	for (size_t i = 0; i < f->n_tasks; i++) {
		int32_t slots;
		struct forecast_task *t = &f->tasks[i];
		t->asks.is_closed = too_small(f, i, &slots) || is_class_shut(f, t);
		asks[i] = t->asks;
		if (task_spreads(t->def)) /* its parts take what it asks for */
			asks[i] = (struct simulate_asks){ .klass = SIMULATE_NOBODY,
				                          .is_closed = t->asks.is_closed };
	}
	gates_place(f, others);
	*ret = (struct simulate_gates){ .limits = limits,
		                        .n_limits = f->n_limits,
		                        .seats = seats,
		                        .n_seats = f->n_seats,
		                        .desks = desks,
		                        .classes = classes,
		                        .n_classes = f->n_classes,
		                        .asks = asks,
		                        .others = others,
		                        .n_others = f->n_others };
}

void forecast_gates_done(struct simulate_gates *g)
{
	free((void *)g->limits);
	free((void *)g->seats);
	free((void *)g->desks);
	free((void *)g->classes);
	free((void *)g->asks);
	free((void *)g->others);
}
