/* A ring of records with numbers, one writer and a cursor for each reader. The writer fills the
 * slot after the last one, publishes it, and later says up to where the records are durable; a
 * reader sees up to one or the other, as it asked when it was made.
 *
 * A slot is used again only when every cursor is past it: stream_room() counts from the slowest.
 * Publishing never blocks; a writer without room says so and is woken by the reader that makes
 * some. `last`, `durable` and the cursors are the only fields that two threads touch. */
#include "rt/stream.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"

struct stream_reader {
	struct stream_reader *next;
	struct stream *s;
	struct actor *actor;
	enum stream_view view;
	_Atomic uint64_t seen;
	uint64_t told; /* where it last looked whether the writer waits for room */
};

struct stream {
	uint8_t *ring;
	size_t mask, slot_bytes;
	uint64_t first; /* number before the first record ever */
	void (*drop)(void *slot);
	struct stream_reader *readers;
	_Atomic uint64_t last, durable;
	_Atomic(struct actor *) wants_room; /* the writer, when it waits for readers */
};

struct stream *stream_new(size_t slots, size_t slot_bytes, uint64_t last, void (*drop)(void *slot))
{
	struct stream *s = mem_new(sizeof *s);

	CHECK(slots >= 2 && (slots & (slots - 1)) == 0 && slot_bytes > 0);
	s->ring = mem_array(slots, slot_bytes);
	s->mask = slots - 1;
	s->slot_bytes = slot_bytes;
	s->first = last;
	s->drop = drop;
	s->last = s->durable = last;
	return s;
}

void stream_set_drop(struct stream *s, void (*drop)(void *slot))
{
	s->drop = drop;
}

static void *slot_of(const struct stream *s, uint64_t number)
{
	return s->ring + ((size_t)number & s->mask) * s->slot_bytes;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	for (struct stream_reader *r = s->readers, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	uint64_t n = s->last - s->first;
	if (n > s->mask + 1)
		n = s->mask + 1;
	for (uint64_t i = 0; s->drop && i < n; i++)
		s->drop(slot_of(s, s->last - i));
	free(s->ring);
	free(s);
}

struct stream_reader *stream_reader_new(struct stream *s, enum stream_view view,
                                        struct actor *reader)
{
	struct stream_reader *r = mem_new(sizeof *r);

	CHECK(s->durable <= s->last);
	r->s = s;
	r->actor = reader;
	r->view = view;
	r->seen = view == STREAM_INNER ? s->last : s->durable;
	r->told = r->seen;
	r->next = s->readers;
	s->readers = r;
	return r;
}

static uint64_t slowest(const struct stream *s)
{
	uint64_t least = s->last;

	for (const struct stream_reader *r = s->readers; r; r = r->next) {
		uint64_t seen = atomic_load(&r->seen); /* see below: stream_want_room() */
		if (seen < least)
			least = seen;
	}
	return least;
}

size_t stream_room(const struct stream *s)
{
	uint64_t behind = s->last - slowest(s);

	CHECK(behind <= s->mask + 1);
	return s->mask + 1 - (size_t)behind;
}

/* The writer says that it waits, then looks at the cursors; a reader moves its cursor, then looks
 * whether the writer waits: in one order of all four, so that one of them sees the other. */
void stream_want_room(struct stream *s, struct actor *writer)
{
	atomic_store(&s->wants_room, writer);
}

static void tell_writer(struct stream_reader *r, uint64_t seen)
{
	CHECK(seen <= atomic_load(&r->s->last));
	atomic_store(&r->seen, seen); /* once more, in that order: stream_next() is cheaper */
	if (!atomic_load(&r->s->wants_room))
		return;
	struct actor *writer = atomic_exchange(&r->s->wants_room, NULL);
	if (writer)
		actor_wake(writer);
}

void *stream_slot(struct stream *s)
{
	uint64_t number = s->last + 1;

	CHECK(stream_room(s) > 0);
	void *slot = slot_of(s, number);
	if (s->drop && number - s->first > s->mask + 1)
		s->drop(slot);
	return slot;
}

uint64_t stream_publish(struct stream *s)
{
	uint64_t number = s->last + 1;

	CHECK(number > s->first);
	atomic_store_explicit(&s->last, number, memory_order_release);
	return number;
}

const void *stream_at(const struct stream *s, uint64_t number)
{
	CHECK(number <= s->last && s->last - number <= s->mask);
	return slot_of(s, number);
}

void stream_durable(struct stream *s, uint64_t number)
{
	CHECK(number >= s->durable && number <= s->last);
	atomic_store_explicit(&s->durable, number, memory_order_release);
}

static uint64_t limit_of(const struct stream_reader *r)
{
	return atomic_load_explicit(r->view == STREAM_INNER ? &r->s->last : &r->s->durable,
	                            memory_order_acquire);
}

void stream_wake(struct stream *s)
{
	CHECK(atomic_load(&s->durable) <= atomic_load(&s->last));
	for (struct stream_reader *r = s->readers; r; r = r->next)
		if (atomic_load_explicit(&r->seen, memory_order_relaxed) < limit_of(r))
			actor_wake(r->actor);
}

uint64_t stream_last(const struct stream *s)
{
	return atomic_load_explicit(&s->last, memory_order_acquire);
}

uint64_t stream_last_durable(const struct stream *s)
{
	return atomic_load_explicit(&s->durable, memory_order_acquire);
}

const void *stream_peek(struct stream_reader *r)
{
	uint64_t seen = atomic_load_explicit(&r->seen, memory_order_relaxed);

	if (seen < limit_of(r))
		return slot_of(r->s, seen + 1);
	if (r->told != seen) { /* it has moved, and all that it may see it has */
		r->told = seen;
		tell_writer(r, seen);
	}
	return NULL;
}

void stream_next(struct stream_reader *r)
{
	uint64_t seen = atomic_load_explicit(&r->seen, memory_order_relaxed);

	CHECK(seen < limit_of(r));
	atomic_store_explicit(&r->seen, seen + 1, memory_order_release);
}

uint64_t stream_seen(const struct stream_reader *r)
{
	return atomic_load_explicit(&r->seen, memory_order_relaxed);
}
