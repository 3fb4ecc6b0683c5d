/* visible.h — text of others, so that a person sees it and no terminal obeys it.
 *
 * A character that steers a terminal or turns the order of the text around becomes its number:
 * controls, DEL, C1, U+2028 and U+2029, bidirectional overrides and isolates as \u001b; a byte
 * that is no UTF-8 as \x9b. JSON keeps its meaning: there \u001b is that character. Everything
 * else is copied. What was escaped once is not escaped again.
 */
#ifndef UTIL_VISIBLE_H
#define UTIL_VISIBLE_H

#include <stddef.h>

struct buf;

enum visible {
	VISIBLE_LINE,    /* a part of a line: escapes line ends and tabs too */
	VISIBLE_LINES,   /* lines: line ends and tabs stay */
	VISIBLE_COLOURS, /* a job's output: as lines; colours (SGR) and CR LF stay too */
};

enum {
	VISIBLE_HELD = 32, /* bytes at most that wait for the rest of a character or colour */
	VISIBLE_GROWS = 6, /* letters at most that one byte becomes */
};

/* Copy text, escaped, until `to` is full or a character is cut off at the end.
 *
 *   size       bytes; VISIBLE_GROWS * n is always enough
 *   ret_taken  bytes of text that were copied; what is cut off may be tried again with more
 *
 * Returns the bytes written. */
size_t visible_copy(const char *text, size_t n, enum visible how, char *to, size_t size,
                    size_t *ret_taken);

/* Append all of it; a character cut off at the end is escaped byte by byte. */
void visible_put(const char *text, size_t n, enum visible how, struct buf *out);

#endif
