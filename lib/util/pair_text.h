/* pair_text.h — public keys of peers (wire/pair.h) as people and documents have them: digits.
 *
 * Thread: any.
 */
#ifndef UTIL_PAIR_TEXT_H
#define UTIL_PAIR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAIR_BYTES = 32, PAIR_TEXT = 2 * PAIR_BYTES + 1 };

void pair_text(const uint8_t key[PAIR_BYTES], char ret[PAIR_TEXT]);
/* False: not 64 digits of 0-9 a-f. */
bool pair_parse(const char *text, uint8_t ret_key[PAIR_BYTES]);

#endif
