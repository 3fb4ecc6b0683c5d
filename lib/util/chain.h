/* chain.h — rows that prove each other: the hash of each is over the hash of the one before.
 *
 * hash = BLAKE2b-256 (RFC 7693, no key), as 64 small hex digits, over the hash before it and the
 * row's fields, each as "LENGTH:BYTES" with the length in decimal. The first one has "" before it.
 */
#ifndef UTIL_CHAIN_H
#define UTIL_CHAIN_H

#include <stddef.h>

#define CHAIN_HEX 65 /* with the NUL */

/* `before`: the hash before it, or "". ret_hash may be `before`. */
void chain_next(const char *before, const char *const *fields, size_t n, char ret_hash[CHAIN_HEX]);

#endif
