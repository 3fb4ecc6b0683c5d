/* arena.h — memory that is taken piece by piece and given back at once, with a cap.
 *
 * Also a ProtobufCAllocator: unpacking from it cannot grow past the cap, whatever a
 * peer sends.
 */
#ifndef WIRE_ARENA_H
#define WIRE_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_new(size_t cap_bytes);
void arena_free(struct arena *a); /* NULL is fine */
/* NULL when the cap is reached. 16-byte aligned, not zeroed. */
void *arena_take(struct arena *a, size_t bytes);
void arena_reset(struct arena *a); /* everything taken is gone; keeps one block */

#endif
