#include "baseserver/command/keyset.h"

#include <stdlib.h>

#include "util/alloc.h"
#include "util/check.h"

static uint32_t keyset_find(const struct keyset *s, struct inst_key key)
{
	size_t at = 0;
	uint64_t h = inst_key_hash(key);

	if (s->cap == 0)
		return MAP_NONE;
	for (uint32_t v = map_first(&s->by_key, h, &at); v != MAP_NONE;
	     v = map_next(&s->by_key, h, &at))
		if (inst_key_eq(s->at[v], key))
			return v;
	return MAP_NONE;
}

bool keyset_has(const struct keyset *s, struct inst_key key)
{
	return keyset_find(s, key) != MAP_NONE;
}

bool keyset_add(struct keyset *s, struct inst_key key)
{
	if (keyset_find(s, key) != MAP_NONE)
		return false;
	if (s->cap == 0)
		map_init(&s->by_key);
	s->at = mem_room(s->at, &s->cap, s->n + 1, sizeof *s->at);
	map_add(&s->by_key, inst_key_hash(key), (uint32_t)s->n);
	s->at[s->n++] = key;
	return true;
}

/* The last one takes its place. */
bool keyset_remove(struct keyset *s, struct inst_key key)
{
	uint32_t i = keyset_find(s, key);

	if (i == MAP_NONE)
		return false;
	CHECK(map_remove(&s->by_key, inst_key_hash(key), i));
	s->n--;
	if (i != s->n) {
		uint64_t h = inst_key_hash(s->at[s->n]);
		CHECK(map_remove(&s->by_key, h, (uint32_t)s->n));
		map_add(&s->by_key, h, i);
		s->at[i] = s->at[s->n];
	}
	return true;
}

void keyset_done(struct keyset *s)
{
	if (s->cap)
		map_done(&s->by_key);
	free(s->at);
	*s = (struct keyset){ 0 };
}
