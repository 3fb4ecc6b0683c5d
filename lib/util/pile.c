/* Many small pieces that are freed at once. Blocks double up to 16 KiB; a large piece gets a block
 * of its own behind the one that is being filled. Pieces are zeroed, aligned, and never move. Not
 * for what comes and goes: nothing is given back before the end. */
#include "util/pile.h"

#include "util/alloc.h"
#include "util/check.h"
#include "util/utf8.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first block is small: many piles hold little. Each further one is twice the last. */
enum { FIRST_BYTES = 1 << 10, BLOCK_BYTES = 16 << 10, ALIGN = alignof(max_align_t) };

struct block {
	struct block *next;
	size_t used, cap;
	alignas(max_align_t) char bytes[];
};

struct pile {
	struct block *head;
	size_t next_bytes; /* of the next block; 0: the first */
};

struct pile *pile_new(void)
{
	return mem_new(sizeof(struct pile));
}

void pile_free(struct pile *p)
{
	if (!p)
		return;
	for (struct block *b = p->head, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(p);
}

void *pile_take(struct pile *p, size_t bytes)
{
	CHECK(bytes < SIZE_MAX / 2);
	size_t need = (bytes + ALIGN - 1) / ALIGN * ALIGN;

	if (!p->head || p->head->cap - p->head->used < need) {
		size_t next = p->next_bytes ? p->next_bytes : FIRST_BYTES;
		size_t cap = need > next / 4 ? need : next;
		struct block *b = mem_new(sizeof *b + cap);
		b->cap = cap;
		if (cap == next)
			p->next_bytes = next < BLOCK_BYTES ? next * 2 : next;
		/* A large piece has a block of its own, behind the one being filled. */
		struct block **at = cap == need && p->head ? &p->head->next : &p->head;
		b->next = *at;
		*at = b;
		b->used = need;
		return b->bytes;
	}
	void *piece = p->head->bytes + p->head->used;
	p->head->used += need;
	CHECK(p->head->used <= p->head->cap);
	return piece;
}

char *pile_strn(struct pile *p, const char *s, size_t n)
{
	char *copy = pile_take(p, n + 1);

	if (n)
		memcpy(copy, s, n);
	return copy;
}

char *pile_str(struct pile *p, const char *s)
{
	return s ? pile_strn(p, s, strlen(s)) : NULL;
}

char *pile_fmt(struct pile *p, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	CHECK(n >= 0);
	char *text = pile_take(p, (size_t)n + 1);
	vsnprintf(text, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(ap);
	utf8_clean(text); /* "%.80s" may have cut a character */
	return text;
}
