/* A min-heap of four ways over nodes that lie in their owners' structs. nodes[n->at] is n for
 * every node that is in: that makes removal and a new key find their place without a search. Nodes
 * of one key come by `tie`, so that the order never depends on how they came in. */
#include "util/heap.h"
#include "util/check.h"

#include <stdbool.h>
#include <stdlib.h>

#include "util/alloc.h"

enum { WAYS = 4 };

void heap_init(struct heap *h)
{
	*h = (struct heap){ 0 };
}

void heap_done(struct heap *h)
{
	free(h->nodes);
	heap_init(h);
}

static void heap_place(struct heap *h, size_t at, struct heap_node *n)
{
	CHECK(at < h->len);
	h->nodes[at] = n;
	n->at = (uint32_t)at;
}

static bool before(const struct heap_node *a, const struct heap_node *b)
{
	return a->key < b->key || (a->key == b->key && a->tie < b->tie);
}

static void rise(struct heap *h, struct heap_node *n)
{
	size_t at = n->at;

	while (at > 0) {
		size_t up = (at - 1) / WAYS;
		if (!before(n, h->nodes[up]))
			break;
		heap_place(h, at, h->nodes[up]);
		at = up;
	}
	heap_place(h, at, n);
}

static void sink(struct heap *h, struct heap_node *n)
{
	size_t at = n->at;

	for (;;) {
		size_t first = at * WAYS + 1, least = first;
		if (first >= h->len)
			break;
		for (size_t i = first + 1; i < first + WAYS && i < h->len; i++)
			if (before(h->nodes[i], h->nodes[least]))
				least = i;
		if (!before(h->nodes[least], n))
			break;
		heap_place(h, at, h->nodes[least]);
		at = least;
	}
	heap_place(h, at, n);
}

void heap_set(struct heap *h, struct heap_node *n, int64_t key)
{
	CHECK(n->at == HEAP_OUT || (n->at < h->len && h->nodes[n->at] == n));
	if (n->at == HEAP_OUT) {
		h->nodes = mem_room(h->nodes, &h->cap, h->len + 1, sizeof *h->nodes);
		heap_place(h, h->len++, n);
	}
	n->key = key;
	rise(h, n);
	sink(h, n);
}

void heap_remove(struct heap *h, struct heap_node *n)
{
	if (n->at == HEAP_OUT)
		return;
	CHECK(n->at < h->len && h->nodes[n->at] == n);
	size_t at = n->at;
	CHECK(h->len > 0);
	struct heap_node *last = h->nodes[--h->len];
	n->at = HEAP_OUT;
	if (last == n)
		return;
	heap_place(h, at, last);
	rise(h, last);
	sink(h, last);
}

struct heap_node *heap_top(const struct heap *h)
{
	CHECK(!h->len || h->nodes[0]->at == 0);
	return h->len ? h->nodes[0] : NULL;
}
