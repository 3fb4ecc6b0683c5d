#include "util/slab.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"

void slab_init(struct slab *s, size_t item_bytes)
{
	CHECK(item_bytes >= sizeof(uint32_t));
	*s = (struct slab){ .item_bytes = item_bytes, .free_head = SLAB_NONE };
}

void slab_done(struct slab *s)
{
	for (size_t i = 0; i < s->n_chunks; i++)
		free(s->chunks[i]);
	free(s->chunks);
	slab_init(s, s->item_bytes);
}

uint32_t slab_take(struct slab *s)
{
	s->len++;
	if (s->free_head != SLAB_NONE) {
		uint32_t index = s->free_head;
		CHECK(index < s->used);
		memcpy(&s->free_head, slab_at(s, index), sizeof s->free_head);
		memset(slab_at(s, index), 0, s->item_bytes);
		return index;
	}
	if (s->used == s->n_chunks * SLAB_CHUNK_ITEMS) {
		s->chunks = mem_grow(s->chunks, s->n_chunks + 1, sizeof *s->chunks);
		s->chunks[s->n_chunks++] = mem_array(SLAB_CHUNK_ITEMS, s->item_bytes);
	}
	CHECK(s->used < SLAB_NONE && s->len <= s->used + 1u);
	return s->used++;
}

void slab_give(struct slab *s, uint32_t index)
{
	CHECK(index < s->used && s->len > 0);
	memcpy(slab_at(s, index), &s->free_head, sizeof s->free_head);
	s->free_head = index;
	s->len--;
}

void slab_index_set(uint32_t **at, size_t *cap, uint32_t key, uint32_t number)
{
	if (key >= *cap) {
		size_t more = (size_t)key + key / 4 + 1024;
		*at = mem_grow(*at, more, sizeof **at);
		for (size_t i = *cap; i < more; i++)
			(*at)[i] = SLAB_NONE;
		*cap = more;
	}
	CHECK(key < *cap);
	(*at)[key] = number;
}
