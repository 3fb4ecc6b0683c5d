/* proof.h — what the server gives away and recognizes when it is shown it again.
 *
 * Keyed BLAKE2b-128 (RFC 7693). The key is the store's and never leaves it: who reads the store is
 * trusted, a peer is not. A store that is put back, copied or taken over has the same key, so what
 * was true of it still proves, and nothing about a proof has to be remembered.
 */
#ifndef STORE_PROOF_H
#define STORE_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "util/lease_proof.h"

#define PROOF_HEX 33 /* with the NUL */

struct lease_name;
struct store_tip;

/* What a broker is told of the store, so that it can be believed when it says it again: as small
 * hex digits, over the store's id, the epoch and the number. "": the store has no key. */
void proof_make(const struct store_tip *t, uint32_t epoch, uint64_t number, char ret[PROOF_HEX]);
bool proof_holds(const struct store_tip *t, uint32_t epoch, uint64_t number, const char *proof);

/* What shows that somebody was given this lease; none where there is no key. */
struct lease_proof proof_of_lease(const char *key, const struct lease_name *l);
/* Is it that? In a time that says nothing of how far it is off. */
bool proof_fits(const char *key, const struct lease_name *l, const struct lease_proof *shown);

#endif
