/* pile.h — many small pieces of memory that are given back all at once.
 *
 * Pieces never move. What a peer can make large is limited before it gets here.
 */
#ifndef UTIL_PILE_H
#define UTIL_PILE_H

#include <stddef.h>

struct pile;

__attribute__((returns_nonnull)) struct pile *pile_new(void);
void pile_free(struct pile *p); /* NULL is fine */
/* Zeroed, aligned for anything; never NULL. */
__attribute__((returns_nonnull)) void *pile_take(struct pile *p, size_t bytes);
/* The first n bytes of s and a NUL. */
__attribute__((returns_nonnull)) char *pile_strn(struct pile *p, const char *s, size_t n);
char *pile_str(struct pile *p, const char *s); /* NULL gives NULL */
__attribute__((format(printf, 2, 3), returns_nonnull)) char *pile_fmt(struct pile *p,
                                                                      const char *fmt, ...);

#endif
