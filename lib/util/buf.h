/* buf.h — bytes that grow at the end and are taken from the front. */
#ifndef UTIL_BUF_H
#define UTIL_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data; /* storage; the content is data[from .. from + len) */
	size_t from, len, cap;
};

void buf_init(struct buf *b);
void buf_done(struct buf *b);
/* Room for n more bytes at the end; returns where they go. buf_added() makes them count. */
uint8_t *buf_room(struct buf *b, size_t n);
void buf_added(struct buf *b, size_t n);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
__attribute__((format(printf, 2, 3))) void buf_printf(struct buf *b, const char *fmt, ...);
/* Drop n bytes from the front. */
void buf_drop(struct buf *b, size_t n);
void buf_clear(struct buf *b);
/* The content as a NUL-terminated string; borrowed until the next change. */
const char *buf_str(struct buf *b);
static inline const uint8_t *buf_at(const struct buf *b)
{
	return b->data + b->from;
}

#endif
