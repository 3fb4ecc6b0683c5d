#include "store/rows.h"

#include <stdlib.h>

#include "util/alloc.h"
#include "util/check.h"

void rows_init(struct rows *r)
{
	*r = (struct rows){ .next_id = 1 };
}

void rows_done(struct rows *r)
{
	free(r->places);
	rows_init(r);
}

/* Four tasks with ids in a row are neighbours: runs are made, changed and loaded in that
 * order, and then share a cache line or two. More would make long chains. */
static size_t home_of(const struct rows *r, struct inst_key key)
{
	struct inst_key group = { key.run_date, key.task / 4, key.part };

	return (inst_key_hash(group) * 4 + key.task % 4) & r->mask;
}

/* The place of the key, or the empty one where it would go. */
static size_t place_of(const struct rows *r, struct inst_key key)
{
	size_t at = home_of(r, key);

	while (r->places[at].id && !inst_key_eq(r->places[at].key, key))
		at = (at + 1) & r->mask;
	return at;
}

int64_t rows_find(const struct rows *r, struct inst_key key)
{
	return r->mask ? r->places[place_of(r, key)].id : 0;
}

static void grow(struct rows *r)
{
	struct rows_place *old = r->places;
	size_t n = r->mask ? r->mask + 1 : 0;

	r->mask = (n ? n * 2 : 1024) - 1;
	r->places = mem_array(r->mask + 1, sizeof *r->places);
	for (size_t i = 0; i < n; i++)
		if (old[i].id)
			r->places[place_of(r, old[i].key)] = old[i];
	free(old);
}

bool rows_add(struct rows *r, struct inst_key key, int64_t id)
{
	size_t at;

	CHECK(id > 0);
	if (!r->mask || (r->used + 1) * 4 > (r->mask + 1) * 3)
		grow(r);
	at = place_of(r, key);
	if (r->places[at].id)
		return false;
	r->places[at] = (struct rows_place){ key, id };
	r->used++;
	if (id >= r->next_id)
		r->next_id = id + 1;
	return true;
}

bool rows_remove(struct rows *r, struct inst_key key)
{
	size_t hole, at;

	if (!r->mask)
		return false;
	hole = at = place_of(r, key);
	if (!r->places[at].id)
		return false;
	/* Close the gap: later ones of the same chain move back, so that no tombstones stay. */
	for (;;) {
		at = (at + 1) & r->mask;
		if (!r->places[at].id)
			break;
		size_t home = home_of(r, r->places[at].key);

		if (((at - home) & r->mask) >= ((at - hole) & r->mask)) {
			r->places[hole] = r->places[at];
			hole = at;
		}
	}
	r->places[hole].id = 0;
	r->used--;
	return true;
}
