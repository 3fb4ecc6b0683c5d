/* heap.h — an intrusive 4-ary min-heap by a 64-bit key.
 *
 * Embed `struct heap_node`; the heap keeps its position there, so that removal and
 * re-keying need no search.
 */
#ifndef UTIL_HEAP_H
#define UTIL_HEAP_H

#include <stddef.h>
#include <stdint.h>

#define HEAP_OUT UINT32_MAX

struct heap_node {
	int64_t key;
	uint32_t tie; /* among equal keys the smaller is first; set while in no heap */
	uint32_t at;  /* HEAP_OUT while in no heap; set by heap_node_init() */
};

struct heap {
	struct heap_node **nodes;
	size_t len, cap;
};

static inline void heap_node_init(struct heap_node *n)
{
	n->at = HEAP_OUT;
	n->tie = 0;
}

void heap_init(struct heap *h);
void heap_done(struct heap *h); /* the nodes stay their owners' */
/* Insert, or move when already in. */
void heap_set(struct heap *h, struct heap_node *n, int64_t key);
/* No-op when the node is in no heap. */
void heap_remove(struct heap *h, struct heap_node *n);
struct heap_node *heap_top(const struct heap *h); /* NULL when empty; stays in */

#endif
