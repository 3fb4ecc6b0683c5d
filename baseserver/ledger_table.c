#include <stdlib.h>

#include "baseserver/ledger_impl.h"
#include "util/alloc.h"
#include "util/check.h"

void table_init(struct table *t)
{
	*t = (struct table){ .free_head = MAP_NONE };
	map_init(&t->by_key);
}

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->n_chunks; i++)
		free(t->chunks[i]);
	free(t->chunks);
	map_done(&t->by_key);
}

struct entry *table_at(const struct table *t, uint32_t index)
{
	return &t->chunks[index / CHUNK][index % CHUNK];
}

struct entry *table_find(const struct table *t, struct inst_key key, uint32_t *ret_index)
{
	uint64_t h = inst_key_hash(key);
	size_t at = 0;

	for (uint32_t v = map_first(&t->by_key, h, &at); v != MAP_NONE;
	     v = map_next(&t->by_key, h, &at)) {
		struct entry *e = table_at(t, v);
		if (inst_key_eq(e->inst.key, key)) {
			*ret_index = v;
			return e;
		}
	}
	return NULL;
}

static uint32_t take_place(struct table *t)
{
	if (t->free_head != MAP_NONE) {
		uint32_t index = t->free_head;
		t->free_head = table_at(t, index)->next_free;
		return index;
	}
	if (t->used == t->n_chunks * CHUNK) {
		t->chunks = mem_grow(t->chunks, t->n_chunks + 1, sizeof *t->chunks);
		t->chunks[t->n_chunks++] = mem_array(CHUNK, sizeof(struct entry));
	}
	return t->used++;
}

struct entry *table_add(struct table *t, struct inst_key key, uint32_t *ret_index)
{
	uint32_t index = take_place(t);
	struct entry *e = table_at(t, index);

	*e = (struct entry){ .inst = { .key = key } };
	map_add(&t->by_key, inst_key_hash(key), index);
	t->len++;
	*ret_index = index;
	return e;
}

void table_remove(struct table *t, uint32_t index)
{
	struct entry *e = table_at(t, index);

	CHECK(map_remove(&t->by_key, inst_key_hash(e->inst.key), index));
	e->inst.state = ST_NONE;
	e->next_free = t->free_head;
	t->free_head = index;
	t->len--;
}
