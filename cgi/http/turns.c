/* Turns between people at the readers of the store. Three rules: a person has one reader at a time,
 * whatever else is free; of the people whose calls wait the one who has cost least comes first, of
 * equals the one who waits longest; the last free reader is for people who have cost little. So a
 * person with one heavy read after the other holds one reader, many such people hold all but one,
 * and a short read of somebody else finds a free one. A person is kept here only while calls of
 * theirs wait or are read: what they have cost is their budget's (cgi/who/budget.c). */
#include "cgi/http/turns.h"

#include <stdlib.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

struct waiting {
	struct waiting *next; /* who came later */
	const void *who;
	int64_t spent_us;
	bool is_read; /* has a reader */
	struct turn *first, **last;
};

struct turns {
	struct waiting *people;
	size_t free, waiting, waiting_max;
};

struct turns *turns_new(size_t readers, size_t waiting_max)
{
	struct turns *t = mem_new(sizeof *t);

	CHECK(readers >= 2 && waiting_max > 0); /* of one, nobody could have the last */
	t->free = readers;
	t->waiting_max = waiting_max;
	return t;
}

void turns_free(struct turns *t)
{
	CHECK(!t || !t->people);
	free(t);
}

/* Their place in the list, or its end. */
static struct waiting **place_of(struct turns *t, const void *who)
{
	struct waiting **at = &t->people;

	while (*at && (*at)->who != who)
		at = &(*at)->next;
	return at;
}

static void forget_if_idle(struct turns *t, const void *who)
{
	struct waiting **at = place_of(t, who), *p = *at;

	if (p->first || p->is_read)
		return;
	*at = p->next;
	free(p);
}

void turns_again(struct turns *t, struct turn *it, const void *who, int64_t spent_us)
{
	struct waiting **at = place_of(t, who), *p = *at;

	if (!p) {
		*at = p = mem_new(sizeof *p);
		p->who = who;
		p->last = &p->first;
	}
	p->spent_us = spent_us;
	*it = (struct turn){ .who = who };
	*p->last = it;
	p->last = &it->next;
	t->waiting++;
}

int turns_put(struct turns *t, struct turn *it, const void *who, int64_t spent_us)
{
	if (t->waiting >= t->waiting_max)
		return E_BUSY;
	turns_again(t, it, who, spent_us);
	return 0;
}

static struct waiting *find_next(const struct turns *t)
{
	struct waiting *best = NULL;

	if (t->free == 0)
		return NULL;
	for (struct waiting *p = t->people; p; p = p->next) {
		if (!p->first || p->is_read || (t->free == 1 && p->spent_us >= TURNS_LIGHT_US))
			continue;
		if (!best || p->spent_us < best->spent_us)
			best = p;
	}
	return best;
}

bool turns_has_next(const struct turns *t)
{
	return find_next(t) != NULL;
}

static struct turn *take_first(struct turns *t, struct waiting *p)
{
	struct turn *it = p->first;

	p->first = it->next;
	if (!p->first)
		p->last = &p->first;
	CHECK(t->waiting > 0);
	t->waiting--;
	it->next = NULL;
	return it;
}

struct turn *turns_take(struct turns *t)
{
	struct waiting *p = find_next(t);

	if (!p)
		return NULL;
	p->is_read = true;
	CHECK(t->free > 0);
	t->free--;
	return take_first(t, p);
}

/* Behind all who waited meanwhile: of equals, who waits longest is first. */
void turns_end(struct turns *t, const void *who, int64_t spent_us)
{
	struct waiting **at = place_of(t, who), *p = *at;

	CHECK(p);
	CHECK(p->is_read);
	p->is_read = false;
	p->spent_us = spent_us;
	t->free++;
	*at = p->next;
	p->next = NULL;
	while (*at)
		at = &(*at)->next;
	*at = p;
	forget_if_idle(t, who);
}

struct turn *turns_drain(struct turns *t)
{
	while (t->people) {
		struct waiting *p = t->people;
		struct turn *it = p->first ? take_first(t, p) : NULL;

		CHECK(!p->is_read);
		forget_if_idle(t, p->who);
		if (it)
			return it;
	}
	return NULL;
}
