/* map.h — a hash from a 64-bit key to a 32-bit number (an index into the owner's slab).
 *
 * Open addressing, at most 3/4 full; 12 bytes a place. For wider keys hash them to
 * 64 bits with map_mix() and compare in the owner's slab through `map_next`.
 */
#ifndef UTIL_MAP_H
#define UTIL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map {
	uint64_t *keys;
	uint32_t *values; /* MAP_NONE: empty */
	size_t mask;      /* places - 1, or 0 before the first insert */
	size_t used;
};

void map_init(struct map *m);
void map_done(struct map *m);
/* The value under `key`, or MAP_NONE. Several values may stand under one key (different
 * objects of one hash): map_get gives the first, map_next the ones after `*at`. */
uint32_t map_get(const struct map *m, uint64_t key);
uint32_t map_first(const struct map *m, uint64_t key, size_t *ret_at);
uint32_t map_next(const struct map *m, uint64_t key, size_t *at);
/* Insert another value under the key; never replaces. `value` is not MAP_NONE. */
void map_add(struct map *m, uint64_t key, uint32_t value);
/* Remove the pair. True if it was there. */
bool map_remove(struct map *m, uint64_t key, uint32_t value);

/* A text as a key: what stands under it may have another text, so compare in the owner's slab. */
uint64_t map_text(const char *text);

/* A good 64-bit mix of two words. */
static inline uint64_t map_mix(uint64_t a, uint64_t b)
{
	uint64_t x = a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2));

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	return x;
}

#endif
