/* utf8.h — is it text that may travel? libunistring's answers, in this program's words. */
#ifndef UTIL_UTF8_H
#define UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character at p; 0: there is none, or it is a NUL. `left` is at least
 * 1. */
size_t utf8_char(const uint8_t *p, size_t left);

/* Bytes at the end that begin a character whose rest is missing: 0 to 3. */
size_t utf8_unfinished(const uint8_t *p, size_t bytes);

/* Write a character, no surrogate: at most 4 bytes, without a NUL after them. Returns them. */
size_t utf8_put(char *to, uint32_t c);

/* Well-formed UTF-8 (no surrogates, no overlong forms) without a NUL. Empty is fine. */
bool utf8_is_text(const uint8_t *p, size_t bytes);

/* Make a string fit to travel: every byte that is no part of well-formed UTF-8 becomes
 * '?'. For what comes from jobs and from the machine. NULL is fine. */
void utf8_clean(char *text);

#endif
