/* index.h — finds items of a slab by a hash of their key; holds numbers only.
 *
 * 4 bytes a place, at most 7/8 full: the keys stay in the items. The owner says how an
 * item's key hashes, and compares the candidates itself.
 */
#ifndef UTIL_INDEX_H
#define UTIL_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define INDEX_NONE UINT32_MAX

struct index {
	uint32_t *places; /* INDEX_NONE: empty */
	size_t mask, used;
	uint64_t (*hash_of)(const void *owner, uint32_t item);
	const void *owner;
};

void index_init(struct index *x, uint64_t (*hash_of)(const void *owner, uint32_t item),
                const void *owner);
void index_done(struct index *x);
/* Candidates for a hash: not all have that very key. INDEX_NONE: no more. */
uint32_t index_first(const struct index *x, uint64_t hash, size_t *ret_at);
uint32_t index_next(const struct index *x, size_t *at);
/* The item's key must be in place already, and still be there when it is removed. */
void index_add(struct index *x, uint32_t item);
void index_remove(struct index *x, uint32_t item); /* it is in */

#endif
