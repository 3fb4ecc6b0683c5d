/* slab.h — many items of one size, named by 32-bit numbers that stay put.
 *
 * Items live in chunks: pointers stay valid until the item is freed. Zeroed when taken.
 */
#ifndef UTIL_SLAB_H
#define UTIL_SLAB_H

#include <stddef.h>
#include <stdint.h>

#define SLAB_NONE UINT32_MAX

struct slab {
	uint8_t **chunks;
	size_t n_chunks, item_bytes;
	uint32_t used;      /* places ever used: 0 .. used-1 */
	uint32_t free_head; /* SLAB_NONE: none; the list runs through the freed items */
	size_t len;
};

void slab_init(struct slab *s, size_t item_bytes); /* at least 4 bytes */
void slab_done(struct slab *s);
uint32_t slab_take(struct slab *s);
void slab_give(struct slab *s, uint32_t index);

enum { SLAB_CHUNK_ITEMS = 1024 };

static inline void *slab_at(const struct slab *s, uint32_t index)
{
	return s->chunks[index / SLAB_CHUNK_ITEMS] +
	       (size_t)(index % SLAB_CHUNK_ITEMS) * s->item_bytes;
}

/* An index of slabs' numbers by another's: at[key] = number. It grows to hold `key`; what was
 * never put is SLAB_NONE. *at and *cap begin as NULL and 0; *at is the caller's: free(). */
void slab_index_set(uint32_t **at, size_t *cap, uint32_t key, uint32_t number);

#endif
