/* What holds an instance back, when that ends by all we have measured, and the counters of who
 * waits for what.
 *
 * The answer is the first closed gate of the instance's lane, in words, with who holds it closed:
 * the same function that decides (sorter__gate) is asked, so the explanation cannot differ from the
 * decision. "When" is a guess from the median of the last runs of what occupies the slots; where
 * the oldest has run longer already there is none. Nothing here scans instances: all is read off
 * lanes, limits and classes. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/pools.h"
#include "baseserver/model/why.h"
#include "baseserver/sort/sorter_impl.h"
#include "sched/task.h"
#include "util/alloc.h"

enum { USERS_LOOKED_AT = 1000 };

/* --- how long runs take ------------------------------------------------------------------ */

void sorter__lasted(struct queue *q, const struct instance *i)
{
	int64_t ms = (i->ended_us - i->started_us) / US_PER_MS;

	if (i->started_us == 0 || ms < 0)
		return;
	if (!q->lasts)
		q->lasts = mem_new(sizeof *q->lasts);
	struct lasts *l = q->lasts;
	l->ms[l->at] = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
	l->at = (uint8_t)((l->at + 1) % LASTS_KEPT);
	l->n = (uint8_t)(l->n < LASTS_KEPT ? l->n + 1 : l->n);
}

static int by_length(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int64_t median_us(const struct queue *q)
{
	struct lasts l;

	if (!q->lasts || q->lasts->n == 0)
		return 0;
	l = *q->lasts;
	qsort(l.ms, l.n, sizeof l.ms[0], by_length);
	return (int64_t)l.ms[l.n / 2] * US_PER_MS;
}

int64_t sorter_median_us(const struct sorter *s, uint32_t task)
{
	return task < s->queues_cap && s->queues[task] ? median_us(s->queues[task]) : 0;
}

/* When the oldest of a task ends, if it runs as long as it does; 0: nobody knows, also when
 * it has run longer already. */
static int64_t end_of(const struct sorter *s, const struct queue *q)
{
	int64_t lasts = median_us(q);

	if (!q->oldest || lasts == 0)
		return 0;
	int64_t end = q->oldest->run.since_us + lasts;
	return end > s->now_us ? end : 0;
}

static int64_t explain_earlier(int64_t a, int64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static int64_t end_of_users(const struct sorter *s, const struct limit *m)
{
	const struct take *t = m->users;
	int64_t end = 0;

	for (int n = 0; t && n < USERS_LOOKED_AT; n++, t = t->next)
		end = explain_earlier(end, end_of(s, t->queue));
	return end;
}

static int64_t end_in_class(const struct sorter *s, const struct klass *k)
{
	const struct queue *q = k->users;
	int64_t end = 0;

	for (int n = 0; q && n < USERS_LOOKED_AT; n++, q = q->next_user)
		end = explain_earlier(end, end_of(s, q));
	return end;
}

/* --- one instance ---------------------------------------------------------------------------- */

static void say_quota(const struct limit *m, struct why_line *w)
{
	bool project = strncmp(m->name, POOL_PROJECT, strlen(POOL_PROJECT)) == 0;

	why_set(w, project ? WHY_PROJECT_FULL : WHY_WORKFLOW_FULL);
	if (project)
		why_text(w, "project", "%s", m->name + strlen(POOL_PROJECT));
	why_number(w, "running", m->taken[SIDE_LIVE] + m->taken[SIDE_BACKFILL]);
	why_number(w, "limit", m->size);
}

static void say_server(const struct limit *m, struct why_line *w)
{
	why_set(w, WHY_SERVER_FULL);
	why_text(w, "server", "%s", m->name + strlen(POOL_SERVER));
	why_number(w, "taken", m->taken[SIDE_LIVE] + m->taken[SIDE_BACKFILL]);
	why_number(w, "size", m->size);
}

static void say_pool(const struct limit *m, const struct lane *l, int32_t slots, struct why_line *w)
{
	int32_t taken = m->taken[SIDE_LIVE] + m->taken[SIDE_BACKFILL];
	enum why_code code = m->size == 0              ? WHY_POOL_MISSING
	                     : slots > m->size         ? WHY_POOL_SMALL
	                     : taken + slots > m->size ? WHY_POOL_FULL
	                                               : WHY_POOL_KEPT;

	why_set(w, code);
	why_text(w, "pool", "%s", m->name);
	why_number(w, "size", m->size);
	if (code == WHY_POOL_FULL)
		why_number(w, "taken", taken);
	if (code == WHY_POOL_FULL || code == WHY_POOL_SMALL)
		why_number(w, "slots", slots);
	if (code == WHY_POOL_KEPT)
		why_text(w, "whom", "%s",
		         l->side == SIDE_BACKFILL ? "live work or who waits longer"
		                                  : "backfills or who waits longer");
}

static void say_limit(const struct sorter *s, const struct lane *l, const struct take *t,
                      struct why_line *w)
{
	const struct limit *m = t->limit;

	if (m->gate == 7)
		say_quota(m, w);
	else if (strncmp(m->name, POOL_SERVER, strlen(POOL_SERVER)) == 0)
		say_server(m, w);
	else
		say_pool(m, l, t->slots, w);
	if (w->code != WHY_POOL_SMALL && w->code != WHY_POOL_MISSING)
		w->expected_us = end_of_users(s, m);
}

static void say_task(const struct sorter *s, const struct queue *q, int gate, struct why_line *w)
{
	why_set(w, gate == 5 ? WHY_UNORDERED : WHY_TASK_FULL);
	if (gate == 6) {
		why_number(w, "running", q->slots + q->asked);
		why_number(w, "limit", q->def->concurrency);
	}
	w->expected_us = end_of(s, q);
}

static bool takes_none(const struct klass *k)
{
	for (size_t i = 0; i < k->n_sessions; i++)
		if (k->sessions[i]->accepts)
			return false;
	return true;
}

static void say_turns(const struct lane *l, struct why_line *w)
{
	const char *task = l->queue->def->name;

	why_number(w, "projects", (int64_t)l->klass->lanes.n_busy);
	why_number(w, "waiting", (int64_t)l->party->waiting);
	why_text(w, "project", "%.*s", (int)strcspn(task, "/"), task);
}

/* Which brokers there are is the registrar's to say: registrar_explain(). `l`: in the class and in
 * its turn with others; NULL: it stands in none. */
static void say_class(const struct sorter *s, const struct klass *k, const struct lane *l,
                      const struct task *def, struct why_line *w)
{
	bool said = k->n_sessions == 0 ? sorter__bound_explain(s, k, def, w)
	                               : sorter__starts_explain(s, k, w);
	bool has_turns = l && l->open && k->lanes.n_busy > 1;

	if (said)
		return;
	if (k->n_sessions == 0) {
		why_set(w, WHY_NO_BROKER);
		why_text(w, "where", "%s", k->machines ? "its machines" : k->group);
		why_text(w, "type", "%s", k->type);
	} else if (k->open == 0) {
		struct why_line kept;
		bool no_taker = takes_none(k), by_turns = has_turns && !no_taker;
		why_set(w, by_turns ? WHY_SLOTS_TURN : WHY_SLOTS);
		why_text(w, "type", "%s", k->type);
		if (by_turns)
			say_turns(l, w);
		w->expected_us = end_in_class(s, k);
		w->is_narrow = no_taker && sorter__bound_explain(s, k, def, &kept);
	} else if (l && sorter__kept_explain(s, l, w)) {
		w->expected_us = end_in_class(s, k);
	} else if (has_turns) {
		why_set(w, WHY_PROJECT_TURN);
		say_turns(l, w);
	} else {
		why_set(w, WHY_TURN);
		why_number(w, "waiting", (int64_t)k->waiting);
	}
}

bool sorter_explain(struct sorter *s, struct inst_key key, uint32_t slot, struct why_line *w)
{
	uint32_t index = sorter_of_slot(s, slot);
	const struct ready *r = index == SLAB_NONE ? NULL : sorter_ready(s, index);
	size_t take = 0;

	if (!r || r->runs || !inst_key_eq(r->key, key) || !r->queue->klass)
		return false;
	const struct queue *q = r->queue;
	s->now_us = actor_wall_us(s->me);
	s->mono_us = actor_mono_us(s->me);
	int gate = sorter__gate(s, r->lane, &take);
	if (gate == 1)
		why_set(w, WHY_OFFLINE);
	else if (gate == 2 || r->frozen)
		why_set(w, gate == 2 ? WHY_TASK_FROZEN : WHY_FROZEN);
	else if (gate == 5 || gate == 6)
		say_task(s, q, gate, w);
	else if (gate)
		say_limit(s, r->lane, &q->takes[take], w);
	else if (s->no_room) {
		why_set(w, WHY_SERVER_DISK);
		why_number(w, "free", (int64_t)s->disk_free);
		why_number(w, "min", (int64_t)s->disk_min);
	} else if (r->no_user)
		sorter__no_user_explain(s, r, w);
	else
		say_class(s, r->lane->klass ? r->lane->klass : q->klass,
		          r->lane->klass ? r->lane : NULL, q->def, w);
	return true;
}

/* --- all of them ---------------------------------------------------------------------------- */

/* One row a type and group: many sessions serve more than one of its classes. */
static void add_class(struct sorter_class *c, const struct klass *k)
{
	c->queued += k->waiting;
	c->running += k->running;
	c->open = k->open > c->open ? k->open : c->open;
	c->sessions = k->n_sessions > c->sessions ? k->n_sessions : c->sessions;
	c->oldest_us = explain_earlier(c->oldest_us, shelf__oldest_us(&k->lanes));
}

void sorter_each_class(const struct sorter *s,
                       void (*each)(void *ctx, const struct sorter_class *c), void *ctx)
{
	for (size_t i = 0; i < s->n_classes; i++) {
		const struct klass *k = s->classes[i];
		struct sorter_class c = { .type = k->type, .group = k->group };
		for (size_t j = i; j < s->n_classes && k->alike == k; j++)
			if (s->classes[j]->alike == k)
				add_class(&c, s->classes[j]);
		if (k->alike == k)
			each(ctx, &c);
	}
}

void sorter_each_pool(const struct sorter *s, void (*each)(void *ctx, const struct sorter_pool *p),
                      void *ctx)
{
	for (size_t i = 0; i < s->n_limits; i++) {
		const struct limit *m = s->limits[i];
		struct sorter_pool p = { .name = m->name,
			                 .size = m->size,
			                 .taken = m->taken[SIDE_LIVE] + m->taken[SIDE_BACKFILL],
			                 .backfill = m->taken[SIDE_BACKFILL],
			                 .waiting = m->waiting };
		for (size_t k = 0; k < m->n_stands; k++)
			p.oldest_us = explain_earlier(p.oldest_us,
			                              shelf__oldest_us(&m->stands[k]->parked));
		each(ctx, &p);
	}
}

void sorter_blocked(const struct sorter *s, size_t ret_gates[SORTER_GATES])
{
	memset(ret_gates, 0, SORTER_GATES * sizeof *ret_gates);
	for (int g = 1; g < GATES; g++)
		ret_gates[g] = s->blocked[g];
	for (size_t i = 0; i < s->n_classes; i++) {
		const struct klass *k = s->classes[i];
		ret_gates[k->n_sessions == 0 ? 10 : k->open == 0 ? 11 : 12] += k->waiting;
	}
}
