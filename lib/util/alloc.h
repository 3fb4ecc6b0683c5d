/* alloc.h — memory for small things whose lack nothing can mend.
 *
 * A daemon of this kind that cannot get a few bytes cannot keep its promises
 * either: it ends and starts again from the store. What a peer can make large
 * (frames, documents, logs) has a limit before it gets here.
 */
#ifndef UTIL_ALLOC_H
#define UTIL_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

/* Never NULL: on failure the process ends with one line. Zeroed. The caller's to free(). */
__attribute__((malloc, returns_nonnull)) void *mem_new(size_t bytes);
/* An array of n zeroed items. n * bytes may not overflow. */
__attribute__((malloc, returns_nonnull)) void *mem_array(size_t n, size_t bytes);
/* As realloc(), never NULL; new bytes are not zeroed. `p` may be NULL. */
__attribute__((returns_nonnull)) void *mem_grow(void *p, size_t n, size_t bytes);
/* What mem_room() does when there is no room. */
void *mem_room_more(void *items, size_t *cap, size_t n, size_t bytes);
/* Room for n items in an array that grows at its end: *cap, in items, at least doubles when it is
 * too small; new items are not zeroed. Begin with NULL and 0; what it returns replaces `items`. */
static inline void *mem_room(void *items, size_t *cap, size_t n, size_t bytes)
{
	return n <= *cap ? items : mem_room_more(items, cap, n, bytes);
}
/* Copies; NULL gives NULL. */
char *mem_str(const char *s);
/* The first n bytes of s and a NUL. */
__attribute__((returns_nonnull)) char *mem_strn(const char *s, size_t n);
__attribute__((format(printf, 1, 2), returns_nonnull)) char *mem_fmt(const char *fmt, ...);
__attribute__((format(printf, 1, 0), returns_nonnull)) char *mem_vfmt(const char *fmt, va_list ap);

#endif
