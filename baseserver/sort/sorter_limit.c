/* Pools and quotas: who fits, what is kept for whom, and which of them may have room now.
 *
 * A limit has slots, taken by what runs and by grants that are under way. While live work and
 * backfills both wait at a pool, each side keeps a share of it. A lane that takes more slots than
 * are free would wait for good while smaller ones pass it; once age can raise it no further the
 * pool reserves for it. Lanes that do not fit stand at the limit, grouped by class, side and slots
 * (struct stand), for all of one stand fit or none does. What may have made room marks the limit
 * dirty, and each turn looks at the dirty ones only. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/pools.h"
#include "baseserver/sort/sorter_impl.h"
#include "util/alloc.h"
#include "util/check.h"

struct limit *sorter__limit(struct sorter *s, const char *name)
{
	uint64_t h = pool_name_hash(name);
	size_t at = 0;

	for (uint32_t i = map_first(&s->limit_by_name, h, &at); i != MAP_NONE;
	     i = map_next(&s->limit_by_name, h, &at))
		if (strcmp(s->limits[i]->name, name) == 0)
			return s->limits[i];
	struct limit *m = mem_new(sizeof *m);
	m->name = mem_str(name);
	m->size = pool_size_unset(name);
	m->gate = (uint8_t)pool_gate(name);
	s->limits = mem_grow(s->limits, s->n_limits + 1, sizeof *s->limits);
	map_add(&s->limit_by_name, h, (uint32_t)s->n_limits);
	s->limits[s->n_limits++] = m;
	return m;
}

void sorter__limit_look(struct sorter *s, struct limit *m)
{
	if (m->parked == 0 || m->dirty)
		return;
	m->dirty = true;
	s->dirty = mem_room(s->dirty, &s->dirty_cap, s->n_dirty + 1, sizeof *s->dirty);
	s->dirty[s->n_dirty++] = m;
}

void sorter__limit_size(struct sorter *s, struct limit *m, int32_t size)
{
	if (m->size == size)
		return;
	m->size = size;
	m->moves++;
	sorter__limit_look(s, m);
}

struct stand *sorter__stand(struct limit *m, struct klass *k, uint8_t side, int32_t slots)
{
	for (size_t i = 0; i < m->n_stands; i++) {
		struct stand *t = m->stands[i];
		if (t->klass == k && t->side == side && t->slots == slots)
			return t;
	}
	struct stand *t = mem_new(sizeof *t);
	*t = (struct stand){ .limit = m, .klass = k, .side = side, .slots = slots };
	m->stands = mem_grow(m->stands, m->n_stands + 1, sizeof *m->stands);
	m->stands[m->n_stands++] = t;
	return t;
}

/* What a side of a pool has while the other one waits too. (design: SEMANTICS section 4:
 * backfills max(1, 10 %); the other way round we give live work half.) */
static int32_t share_of(const struct limit *m, uint8_t side)
{
	int32_t tenth = m->size / 10 > 1 ? m->size / 10 : 1;

	return side == SIDE_BACKFILL ? tenth : (m->size + 1) / 2;
}

/* Slots kept free for a side: what it lacks of its share, while some of it waits for nothing
 * else. Of a pool with one slot there is nothing to share; its order is by age. */
static int32_t kept_for(const struct limit *m, uint8_t side)
{
	int32_t lacks = share_of(m, side) - m->taken[side];

	if (m->gate != 8 || m->size < 2 || lacks <= 0)
		return 0;
	for (size_t i = 0; i < m->n_stands; i++) {
		const struct stand *t = m->stands[i];
		if (t->side == side && t->slots <= lacks && t->klass->open > 0 &&
		    (t->open > 0 || t->parked.some))
			return lacks;
	}
	return 0;
}

/* It has waited so long that age can do no more for it. */
static bool is_aged(const struct sorter *s, const struct lane *l)
{
	return s->now_us - l->key >= AGE_STEP_US && sorter__effective(s, l) == PRIORITY_MAX;
}

/* Is there one that takes more, and would wait for good if smaller ones passed it for ever?
 * Who has aged to the highest priority is not passed by who came later. */
static bool would_pass(const struct sorter *s, const struct limit *m, const struct lane *l,
                       int32_t slots)
{
	for (size_t i = 0; i < m->n_stands; i++) {
		const struct stand *t = m->stands[i];
		if (t->slots <= slots || t->slots > m->size || t->klass->open == 0)
			continue;
		const struct lane *top = sorter__eldest(s, &t->parked);
		if (top && top != l && is_aged(s, top) &&
		    (top->key < l->key || sorter__effective(s, l) < PRIORITY_MAX))
			return true;
	}
	return false;
}

static void set_reserving(struct sorter *s, struct limit *m, bool is)
{
	s->n_reserving += (size_t)is - (size_t)m->reserving;
	CHECK(s->n_reserving <= s->n_limits);
	m->reserving = is;
}

void sorter__limit_looked(struct sorter *s, struct limit *m)
{
	CHECK(m->dirty);
	m->dirty = false;
	set_reserving(s, m, false);
}

bool sorter__limit_fits(struct sorter *s, struct limit *m, const struct lane *l, int32_t slots)
{
	int32_t taken = m->taken[SIDE_LIVE] + m->taken[SIDE_BACKFILL];
	uint8_t other = SIDES - 1 - l->side;

	CHECK(l->side < SIDES && sorter_takes(l));
	if (m->size == POOL_NONE)
		return true;
	if (taken + slots > m->size)
		return false;
	/* Who takes too much to fit beside a share has its turn by age. */
	bool apart = slots + share_of(m, other) > m->size && is_aged(s, l);
	if ((apart || taken + slots + kept_for(m, other) <= m->size) && !would_pass(s, m, l, slots))
		return true;
	set_reserving(s, m, true);
	return false;
}

void sorter__reserves_moved(struct sorter *s)
{
	for (size_t i = 0; s->n_reserving > 0 && i < s->n_limits; i++)
		if (s->limits[i]->reserving)
			sorter__limit_look(s, s->limits[i]);
}

void sorter__limits_free(struct sorter *s)
{
	for (size_t i = 0; i < s->n_limits; i++) {
		struct limit *m = s->limits[i];
		for (size_t k = 0; k < m->n_stands; k++) {
			shelf__done(&m->stands[k]->parked);
			free(m->stands[k]);
		}
		free(m->stands);
		free(m->name);
		free(m);
	}
	free(s->limits);
	free(s->dirty);
	map_done(&s->limit_by_name);
}
