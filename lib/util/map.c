/* A 64-bit key to a 32-bit number, in open places, at most 3/4 full. Several numbers may stand
 * under one key. Removing shifts back what came after it: there are no tombstones, and a search
 * ends at the first empty place, of which there is always one. */
#include "util/map.h"

#include <stdlib.h>

#include "util/alloc.h"
#include "util/check.h"

enum { PLACES_MIN = 64 };

void map_init(struct map *m)
{
	*m = (struct map){ 0 };
}

void map_done(struct map *m)
{
	free(m->keys);
	free(m->values);
	map_init(m);
}

uint64_t map_text(const char *text)
{
	uint64_t h = 1469598103934665603ULL;

	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		h = (h ^ *p) * 1099511628211ULL;
	return map_mix(h, 0);
}

static size_t home_of(const struct map *m, uint64_t key)
{
	return (size_t)map_mix(key, 0) & m->mask;
}

static void map_put(struct map *m, uint64_t key, uint32_t value)
{
	size_t i = home_of(m, key);

	while (m->values[i] != MAP_NONE)
		i = (i + 1) & m->mask;
	m->keys[i] = key;
	m->values[i] = value;
}

static void map_grow(struct map *m)
{
	struct map was = *m;
	size_t places = was.keys ? (was.mask + 1) * 2 : PLACES_MIN;

	m->keys = mem_array(places, sizeof *m->keys);
	m->values = mem_array(places, sizeof *m->values);
	CHECK((places & (places - 1)) == 0 && m->used < places);
	m->mask = places - 1;
	for (size_t i = 0; i < places; i++)
		m->values[i] = MAP_NONE;
	for (size_t i = 0; was.keys && i <= was.mask; i++)
		if (was.values[i] != MAP_NONE)
			map_put(m, was.keys[i], was.values[i]);
	free(was.keys);
	free(was.values);
}

uint32_t map_first(const struct map *m, uint64_t key, size_t *ret_at)
{
	if (!m->keys)
		return MAP_NONE;
	size_t i = home_of(m, key);
	for (; m->values[i] != MAP_NONE; i = (i + 1) & m->mask)
		if (m->keys[i] == key)
			break;
	*ret_at = i;
	return m->values[i];
}

uint32_t map_next(const struct map *m, uint64_t key, size_t *at)
{
	CHECK(*at <= m->mask);
	size_t i = (*at + 1) & m->mask;

	for (; m->values[i] != MAP_NONE; i = (i + 1) & m->mask)
		if (m->keys[i] == key)
			break;
	*at = i;
	return m->values[i];
}

uint32_t map_get(const struct map *m, uint64_t key)
{
	size_t at;

	return map_first(m, key, &at);
}

void map_add(struct map *m, uint64_t key, uint32_t value)
{
	CHECK(value != MAP_NONE);
	if (!m->keys || (m->used + 1) * 4 > (m->mask + 1) * 3)
		map_grow(m);
	map_put(m, key, value);
	m->used++;
	CHECK(m->used <= m->mask); /* one place is always empty */
}

/* Backward-shift deletion: no tombstones, so long-lived maps stay fast. */
static void close_gap(struct map *m, size_t gap)
{
	size_t i = gap;

	CHECK(gap <= m->mask);
	CHECK(m->values[gap] != MAP_NONE);
	for (;;) {
		i = (i + 1) & m->mask;
		if (m->values[i] == MAP_NONE)
			break;
		size_t home = home_of(m, m->keys[i]);
		if (((i - home) & m->mask) >= ((i - gap) & m->mask)) {
			m->keys[gap] = m->keys[i];
			m->values[gap] = m->values[i];
			gap = i;
		}
	}
	m->values[gap] = MAP_NONE;
}

bool map_remove(struct map *m, uint64_t key, uint32_t value)
{
	size_t at = 0;

	for (uint32_t v = map_first(m, key, &at); v != MAP_NONE; v = map_next(m, key, &at))
		if (v == value) {
			CHECK(m->used > 0);
			close_gap(m, at);
			m->used--;
			return true;
		}
	return false;
}
