/* pattern.h — lines that are looked for by a text with few signs: no regular expression, so that
 * none is slow. Linear in the line for each pattern. Pure.
 *
 *   text     stands in the line     ^text   the line begins so      text$   it ends so
 *   a*b      a, later b             ^~text  after one word without blanks at its begin
 */
#ifndef UTIL_PATTERN_H
#define UTIL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define PATTERN_BYTES_MAX 120

/* It has something to look for, and is not too long. */
bool pattern_ok(const char *pattern);
/* *ret_at: where in the line what was found begins. */
bool pattern_fits(const char *pattern, const char *line, size_t n, size_t *ret_at);

#endif
