/* Memory for one unpacked message, with a cap. A piece that would go beyond it is NULL: an answer
 * to the peer, never the end of the process. Blocks double; a reset keeps the first one, unless it
 * is large. Under AddressSanitizer it keeps none, so that a pointer kept too long is found. */
#include "wire/arena.h"

#include <stdint.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/check.h"

enum {
	ALIGN = 16,
	BLOCK_MIN = 4096,
	BLOCK_MAX = 256 * 1024, /* pieces larger than this get a block of their own size */
};

struct block {
	struct block *older;
	size_t bytes, used;
	_Alignas(ALIGN) uint8_t data[];
};

struct arena {
	struct block *top;
	size_t cap, held; /* bytes: the most the blocks may have, what they have */
};

/* Under AddressSanitizer no block survives a reset, so that a pointer kept too long is found. */
#if defined(__SANITIZE_ADDRESS__)
enum { BLOCKS_KEPT = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { BLOCKS_KEPT = 0 };
#else
enum { BLOCKS_KEPT = 1 };
#endif
#else
enum { BLOCKS_KEPT = 1 };
#endif

struct arena *arena_new(size_t cap_bytes)
{
	struct arena *a = mem_new(sizeof *a);

	CHECK(cap_bytes > 0);
	a->cap = cap_bytes;
	return a;
}

static void blocks_free(struct arena *a, size_t keep)
{
	size_t left = 0;

	for (const struct block *b = a->top; b; b = b->older)
		left++;
	while (left > keep) {
		struct block *b = a->top;
		CHECK(a->held >= b->bytes);
		a->top = b->older;
		a->held -= b->bytes;
		free(b);
		left--;
	}
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	blocks_free(a, 0);
	free(a);
}

static struct block *block_add(struct arena *a, size_t need)
{
	CHECK(a->held <= a->cap);
	size_t bytes = a->top ? a->top->bytes * 2 : BLOCK_MIN;
	size_t left = a->cap - a->held;

	if (bytes > BLOCK_MAX)
		bytes = BLOCK_MAX;
	if (bytes < need)
		bytes = need;
	if (bytes > left)
		bytes = left & ~(size_t)(ALIGN - 1);
	if (bytes < need)
		return NULL;
	struct block *b = malloc(sizeof *b + bytes);
	if (!b)
		return NULL;
	b->older = a->top;
	b->bytes = bytes;
	b->used = 0;
	a->top = b;
	a->held += bytes;
	return b;
}

void *arena_take(struct arena *a, size_t bytes)
{
	if (bytes > a->cap)
		return NULL;
	size_t need = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (need == 0)
		need = ALIGN;
	struct block *b = a->top;
	if (!b || b->bytes - b->used < need)
		b = block_add(a, need);
	if (!b)
		return NULL;
	void *p = b->data + b->used;
	b->used += need;
	CHECK(b->used <= b->bytes && a->held <= a->cap);
	return p;
}

/* The block kept is the first one: at most BLOCK_MIN, unless the first piece was larger. */
void arena_reset(struct arena *a)
{
	blocks_free(a, BLOCKS_KEPT);
	if (a->top && a->top->bytes > BLOCK_MAX)
		blocks_free(a, 0);
	if (a->top)
		a->top->used = 0;
}
