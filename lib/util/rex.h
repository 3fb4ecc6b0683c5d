/* rex.h — regular expressions over lines, found in time that is linear in the line whatever the
 * expression: what people and programs look for in logs may be written by anybody.
 *
 *   a literal   .   [a-z] [^a-z] [[:digit:]]   \d \w \s \D \W \S   \t   \. and the like
 *   ^ $         |   ( )   * + ?   {3} {3,} {3,5}
 *
 * There are no back references and no look-around: those have no linear time. Bytes that are no
 * UTF-8 count as a character each. Memory: a megabyte at most each.
 */
#ifndef UTIL_REX_H
#define UTIL_REX_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct rex;

enum { REX_BYTES_MAX = 512 };

/* Compile. `folds`: letters of ASCII match in both cases.
 *
 *   owns    *ret is the caller's until rex_free()
 *   errors  E_INVALID, with what is wrong and where: too long, too large, or not of these signs
 */
int rex_new(const char *text, bool folds, struct rex **ret, struct err *err);
void rex_free(struct rex *r); /* NULL is fine */

/* Does it stand in the n bytes of a line, which has no line end? Builds on as it goes: one caller
 * at a time. */
bool rex_finds(struct rex *r, const void *line, size_t n);

#endif
