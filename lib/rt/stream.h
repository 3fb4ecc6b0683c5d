/* stream.h — one ordered stream of records, one writer, a cursor per reader.
 *
 * A fixed ring of fixed-size slots. Publishing never blocks: the writer asks for room
 * first. Numbers count up from any start and never repeat. Inner readers see a record
 * as soon as it is published; outer readers (whose effects leave the process) only
 * once the writer has called it durable.
 */
#ifndef RT_STREAM_H
#define RT_STREAM_H
#include <stddef.h>
#include <stdint.h>

struct actor;
struct stream;
struct stream_reader;

enum stream_view { STREAM_INNER, STREAM_OUTER };

/*   slots       power of two
 *   last        number of the last record before the first one published
 *   drop(slot)  called on the writer's thread before a slot is used again; may be NULL */
struct stream *stream_new(size_t slots, size_t slot_bytes, uint64_t last, void (*drop)(void *slot));
void stream_free(struct stream *s);
void stream_set_drop(struct stream *s, void (*drop)(void *slot)); /* before the first record */

/* Add a reader, woken by actor_wake(). Before the writer's first record, or on the
 * writer's thread. Freed with the stream. */
struct stream_reader *stream_reader_new(struct stream *s, enum stream_view view,
                                        struct actor *reader);

/* Writer's thread. */
size_t stream_room(const struct stream *s); /* records that fit before the slowest cursor */
void *stream_slot(struct stream *s);        /* the next record's place; room > 0 */
uint64_t stream_publish(struct stream *s);  /* it counts now; its number */
void stream_durable(struct stream *s, uint64_t number); /* all up to number are durable */
void stream_wake(struct stream *s);                     /* wake every reader that is behind */

/* The writer waits for room: from now on a reader that has caught up wakes it, once. To be said
 * before stream_room() is looked at, so that no reader slips between. */
void stream_want_room(struct stream *s, struct actor *writer);

/* A record still in the ring, by number. Borrowed while the writer does not publish. */
const void *stream_at(const struct stream *s, uint64_t number);

/* Any thread. */
uint64_t stream_last(const struct stream *s);
uint64_t stream_last_durable(const struct stream *s);

/* Reader's thread: the next record, or NULL when it has seen all it may. Borrowed until
 * stream_next() of the same reader. */
const void *stream_peek(struct stream_reader *r);
void stream_next(struct stream_reader *r);           /* done with the record of stream_peek() */
uint64_t stream_seen(const struct stream_reader *r); /* number of the last one done with */

#endif
