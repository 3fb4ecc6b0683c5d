/* utf8.h — is it text that may travel? */
#ifndef WIRE_UTF8_H
#define WIRE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Well-formed UTF-8 (no surrogates, no overlong forms) without a NUL. Empty is fine. */
bool utf8_is_text(const uint8_t *p, size_t bytes);

/* Make a string fit to travel: every byte that is no part of well-formed UTF-8 becomes
 * '?'. For what comes from jobs and from the machine. NULL is fine. */
void utf8_clean(char *text);

#endif
