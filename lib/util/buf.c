/* Bytes that grow at the end and are taken from the front. The content is data[from .. from +
 * len): taking from the front only moves `from`, and the bytes move to the beginning when room is
 * wanted. Capacity doubles and is never given back but by buf_done(). */
#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"

enum { CAP_MIN = 256 };

void buf_init(struct buf *b)
{
	*b = (struct buf){ 0 };
}

void buf_done(struct buf *b)
{
	free(b->data);
	buf_init(b);
}

uint8_t *buf_room(struct buf *b, size_t n)
{
	CHECK(b->from + b->len <= b->cap);
	if (b->from > 0 && b->from + b->len + n > b->cap) {
		memmove(b->data, b->data + b->from, b->len);
		b->from = 0;
	}
	if (b->len + n > b->cap) {
		size_t cap = b->cap ? b->cap : CAP_MIN;
		while (cap < b->len + n)
			cap *= 2;
		b->data = mem_grow(b->data, cap, 1);
		b->cap = cap;
	}
	CHECK(b->from + b->len + n <= b->cap);
	return b->data + b->from + b->len;
}

void buf_added(struct buf *b, size_t n)
{
	CHECK(b->from + b->len + n <= b->cap);
	b->len += n;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	memcpy(buf_room(b, n), p, n);
	b->len += n;
}

void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	buf_put(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n > 0) {
		uint8_t *at = buf_room(b, (size_t)n + 1);
		vsnprintf((char *)at, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void buf_drop(struct buf *b, size_t n)
{
	CHECK(n <= b->len);
	b->from += n;
	b->len -= n;
	if (b->len == 0)
		b->from = 0;
}

void buf_clear(struct buf *b)
{
	b->from = b->len = 0;
}

const char *buf_str(struct buf *b)
{
	*buf_room(b, 1) = 0;
	return (const char *)b->data + b->from;
}
