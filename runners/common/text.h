/* text.h — bytes that grow, up to a limit. A failed or refused growth is remembered, so that a
 * caller may look once, at the end.
 */
#ifndef RUNNERS_TEXT_H
#define RUNNERS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed is empty, without a limit. */
struct text {
	char *at; /* NUL-terminated once something was added; see text_str() */
	size_t len, cap;
	size_t max;   /* bytes; 0: no limit */
	bool is_over; /* more was offered than `max`, or than there is memory */
};

void text_add(struct text *t, const char *bytes, size_t len);
void text_str_add(struct text *t, const char *str);
__attribute__((format(printf, 2, 3))) void text_addf(struct text *t, const char *fmt, ...);
const char *text_str(const struct text *t); /* never NULL */
void text_clear(struct text *t);
void text_done(struct text *t);

#endif
