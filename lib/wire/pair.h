/* pair.h — a peer's own pair of keys (Ed25519), and what is signed with it.
 *
 * The private half stays on the machine that drew it. The public one is 32 bytes, of which a text
 * has 64 hexadecimal digits: that is what servers keep, what clients pin, and what people compare.
 */
#ifndef WIRE_PAIR_H
#define WIRE_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/pair_text.h"

struct err;

enum { PAIR_SIGN_BYTES = 64 };
/* As TLS carries them: SubjectPublicKeyInfo, PKCS #8. */
enum { PAIR_SPKI_BYTES = 12 + PAIR_BYTES, PAIR_PKCS8_BYTES = 16 + PAIR_BYTES };

struct pair {
	uint8_t secret[PAIR_BYTES], key[PAIR_BYTES]; /* private, public */
};

/* errors  E_IO no random bytes, E_UNSUPPORTED */
int pair_draw(struct pair *ret, struct err *err);
/* Both halves, of the private one. errors  E_INVALID */
int pair_of(const uint8_t secret[PAIR_BYTES], struct pair *ret, struct err *err);
void pair_wipe(struct pair *p);

void pair_spki(const uint8_t key[PAIR_BYTES], uint8_t ret[PAIR_SPKI_BYTES]);
void pair_pkcs8(const uint8_t secret[PAIR_BYTES], uint8_t ret[PAIR_PKCS8_BYTES]);
/* The key in an SPKI. False: it is of another kind. */
bool pair_of_spki(const uint8_t *spki, size_t bytes, uint8_t ret_key[PAIR_BYTES]);

int pair_sign(const struct pair *p, const void *text, size_t bytes, uint8_t ret[PAIR_SIGN_BYTES],
              struct err *err);
bool pair_signed(const uint8_t key[PAIR_BYTES], const void *text, size_t bytes, const uint8_t *sign,
                 size_t sign_bytes);

#endif
