/* proof.h — what a broker is told of the store, so that it can be believed when it says it again.
 *
 * A keyed BLAKE2b-128 (RFC 7693) over the store's id, the epoch and the number, as small hex
 * digits. The key is the store's and never leaves it: who reads the store is trusted, a broker is
 * not. A store that is put back has the same key, so what was true of it still proves.
 */
#ifndef STORE_PROOF_H
#define STORE_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#define PROOF_HEX 33 /* with the NUL */

struct store_tip;

/* "": the store has no key. */
void proof_make(const struct store_tip *t, uint32_t epoch, uint64_t number, char ret[PROOF_HEX]);
bool proof_holds(const struct store_tip *t, uint32_t epoch, uint64_t number, const char *proof);

#endif
