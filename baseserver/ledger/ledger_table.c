/* The table of unfinished instances: rows in chunks that never move, found by key.
 *
 * A row keeps its place (its slot) until it is removed, because readers of the stream and the store
 * know the instance by it. A free place has the state ST_NONE and holds the number of the next free
 * one. A start puts rows back into the places that they had: table_restore() for each, then
 * table_restored() once, which links the free places. */
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "util/alloc.h"
#include "util/check.h"

static uint64_t hash_of(const void *owner, uint32_t index)
{
	return inst_key_hash(table_at(owner, index)->inst.key);
}

void table_init(struct table *t)
{
	*t = (struct table){ .free_head = MAP_NONE };
	index_init(&t->by_key, hash_of, t);
}

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->n_chunks; i++)
		free(t->chunks[i]);
	free(t->chunks);
	index_done(&t->by_key);
}

struct entry *table_at(const struct table *t, uint32_t index)
{
	CHECK(index < t->n_chunks * CHUNK);
	return &t->chunks[index / CHUNK][index % CHUNK];
}

struct entry *table_find(const struct table *t, struct inst_key key, uint32_t *ret_index)
{
	uint64_t h = inst_key_hash(key);
	size_t at = 0;

	for (uint32_t v = index_first(&t->by_key, h, &at); v != INDEX_NONE;
	     v = index_next(&t->by_key, &at)) {
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
		CHECK(table_at(t, index)->inst.state == ST_NONE);
		t->free_head = table_at(t, index)->inst.slot;
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

	*e = (struct entry){ .inst = { .key = key, .slot = index } };
	index_add(&t->by_key, index);
	t->len++;
	*ret_index = index;
	return e;
}

struct entry *table_restore(struct table *t, const struct instance *row)
{
	while (row->slot >= t->n_chunks * CHUNK) {
		t->chunks = mem_grow(t->chunks, t->n_chunks + 1, sizeof *t->chunks);
		t->chunks[t->n_chunks++] = mem_array(CHUNK, sizeof(struct entry));
	}
	CHECK(row->state != ST_NONE);
	struct entry *e = table_at(t, row->slot);
	if (e->inst.state != ST_NONE)
		return NULL;
	if (row->slot >= t->used)
		t->used = row->slot + 1;
	*e = (struct entry){ .inst = *row };
	e->inst.marks = 0;
	index_add(&t->by_key, row->slot);
	t->len++;
	return e;
}

void table_drop(struct table *t, uint32_t index)
{
	CHECK(table_at(t, index)->inst.state != ST_NONE);
	index_remove(&t->by_key, index);
	table_at(t, index)->inst.state = ST_NONE;
	CHECK(t->len > 0);
	t->len--;
}

void table_move(struct table *to, struct table *from)
{
	CHECK(to->len == 0);
	table_done(to);
	*to = *from;
	to->by_key.owner = to;
	table_init(from);
}

void table_restored(struct table *t)
{
	CHECK(t->free_head == MAP_NONE);
	for (uint32_t i = t->used; i-- > 0;) {
		struct entry *e = table_at(t, i);
		if (e->inst.state != ST_NONE)
			continue;
		e->inst.slot = t->free_head;
		t->free_head = i;
	}
}

void table_remove(struct table *t, uint32_t index)
{
	struct entry *e = table_at(t, index);

	CHECK(e->inst.state != ST_NONE && e->inst.slot == index);
	index_remove(&t->by_key, index);
	e->inst.state = ST_NONE;
	e->inst.slot = t->free_head;
	t->free_head = index;
	CHECK(t->len > 0);
	t->len--;
}
