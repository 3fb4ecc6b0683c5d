/* Numbers of items found by a hash of their key, in open places, at most 7/8 full. Keys stay in
 * the items: the owner hashes them, so an item's key may not change while it is in. Removing
 * shifts back what came after, so that a search ends at the first empty place. */
#include "util/index.h"

#include <stdlib.h>

#include "util/alloc.h"
#include "util/check.h"

enum { PLACES_MIN = 64 };

void index_init(struct index *x, uint64_t (*hash_of)(const void *owner, uint32_t item),
                const void *owner)
{
	*x = (struct index){ .hash_of = hash_of, .owner = owner };
}

void index_done(struct index *x)
{
	free(x->places);
	index_init(x, x->hash_of, x->owner);
}

static void index_put(struct index *x, uint32_t item)
{
	size_t i = (size_t)x->hash_of(x->owner, item) & x->mask;

	while (x->places[i] != INDEX_NONE)
		i = (i + 1) & x->mask;
	x->places[i] = item;
}

static void index_grow(struct index *x)
{
	uint32_t *was = x->places;
	size_t n = was ? x->mask + 1 : 0, places = was ? n * 2 : PLACES_MIN;

	x->places = mem_array(places, sizeof *x->places);
	CHECK((places & (places - 1)) == 0 && x->used < places);
	x->mask = places - 1;
	for (size_t i = 0; i < places; i++)
		x->places[i] = INDEX_NONE;
	for (size_t i = 0; i < n; i++)
		if (was[i] != INDEX_NONE)
			index_put(x, was[i]);
	free(was);
}

uint32_t index_first(const struct index *x, uint64_t hash, size_t *ret_at)
{
	if (!x->places)
		return INDEX_NONE;
	*ret_at = (size_t)hash & x->mask;
	return x->places[*ret_at];
}

uint32_t index_next(const struct index *x, size_t *at)
{
	CHECK(*at <= x->mask);
	*at = (*at + 1) & x->mask;
	return x->places[*at];
}

void index_add(struct index *x, uint32_t item)
{
	CHECK(item != INDEX_NONE);
	if (!x->places || (x->used + 1) * 8 > (x->mask + 1) * 7)
		index_grow(x);
	index_put(x, item);
	x->used++;
	CHECK(x->used <= x->mask); /* one place is always empty */
}

/* Backward shift: no tombstones. */
void index_remove(struct index *x, uint32_t item)
{
	size_t gap = (size_t)x->hash_of(x->owner, item) & x->mask;

	CHECK(x->used > 0);
	while (x->places[gap] != item) {
		CHECK(x->places[gap] != INDEX_NONE);
		gap = (gap + 1) & x->mask;
	}
	for (size_t i = (gap + 1) & x->mask; x->places[i] != INDEX_NONE; i = (i + 1) & x->mask) {
		size_t home = (size_t)x->hash_of(x->owner, x->places[i]) & x->mask;
		if (((i - home) & x->mask) >= ((i - gap) & x->mask)) {
			x->places[gap] = x->places[i];
			gap = i;
		}
	}
	x->places[gap] = INDEX_NONE;
	x->used--;
}
