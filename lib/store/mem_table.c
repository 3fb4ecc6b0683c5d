/* Instances by their key, copied in and out: the live ones, or the finished ones, of the store in
 * memory. Each key is there at most once. Lists by number are made when they are asked for and are
 * the caller's. */
#include "store/mem_table.h"

#include <stdlib.h>

#include "util/alloc.h"
#include "util/check.h"

void mem_table_init(struct mem_table *t)
{
	*t = (struct mem_table){ 0 };
	map_init(&t->at);
}

void mem_table_done(struct mem_table *t)
{
	free(t->rows);
	map_done(&t->at);
}

static uint32_t index_of(const struct mem_table *t, struct inst_key key)
{
	size_t place;
	uint32_t i = map_first(&t->at, inst_key_hash(key), &place);

	while (i != MAP_NONE && !inst_key_eq(t->rows[i].key, key))
		i = map_next(&t->at, inst_key_hash(key), &place);
	return i;
}

const struct instance *mem_table_find(const struct mem_table *t, struct inst_key key)
{
	uint32_t i = index_of(t, key);

	return i == MAP_NONE ? NULL : &t->rows[i];
}

static void append(struct mem_table *t, const struct instance *i)
{
	CHECK(i->state != ST_NONE);
	CHECK(t->n < MAP_NONE);
	t->rows = mem_room(t->rows, &t->cap, t->n + 1, sizeof *t->rows);
	t->rows[t->n] = *i;
	map_add(&t->at, inst_key_hash(i->key), (uint32_t)t->n++);
	t->used++;
}

void mem_table_copy(const struct mem_table *from, struct mem_table *ret)
{
	mem_table_init(ret);
	for (size_t i = 0; i < from->n; i++)
		if (from->rows[i].state != ST_NONE)
			append(ret, &from->rows[i]);
}

void mem_table_put(struct mem_table *t, const struct instance *i)
{
	uint32_t at = index_of(t, i->key);

	CHECK(i->state != ST_NONE);
	if (at == MAP_NONE)
		append(t, i);
	else
		t->rows[at] = *i;
}

void mem_table_drop(struct mem_table *t, struct inst_key key)
{
	uint32_t at = index_of(t, key);

	if (at == MAP_NONE)
		return;
	map_remove(&t->at, inst_key_hash(key), at);
	t->rows[at].state = ST_NONE;
	CHECK(t->used > 0 && t->used <= t->n);
	t->used--;
	if (t->n > 64 && t->used < t->n / 2) {
		struct mem_table dense;

		mem_table_copy(t, &dense);
		mem_table_done(t);
		*t = dense;
	}
}

static int by_number(const void *a, const void *b)
{
	const struct instance *x = *(const struct instance *const *)a;
	const struct instance *y = *(const struct instance *const *)b;

	return x->last_number < y->last_number ? -1 : x->last_number > y->last_number;
}

const struct instance **mem_table_by_number(const struct mem_table *t, size_t *ret_n)
{
	const struct instance **list = mem_array(t->used + 1, sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].state != ST_NONE)
			list[n++] = &t->rows[i];
	CHECK(n == t->used);
	qsort(list, n, sizeof *list, by_number);
	*ret_n = n;
	return list;
}
