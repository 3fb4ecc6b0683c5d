/* delegation.h — what a machine's own key signs for each of its loaders, which has a pair of its
 * own: that this key may greet as this machine's loader of one type and lane, for some time.
 *
 * Runners are other people's code, and live in a loader: so it is given no more than that. A server
 * knows the machine's public key, and keeps nothing of its loaders'. Thread: any.
 */
#ifndef WIRE_DELEGATION_H
#define WIRE_DELEGATION_H

#include <stdbool.h>
#include <stdint.h>

#include "util/clock.h"
#include "wire/pair.h"

struct err;
typedef struct Sirdar__Delegation Sirdar__Delegation;

#define DELEGATION_US_MAX  (24 * 3600 * US_PER_S) /* a server takes no longer one */
#define DELEGATION_US_SLIP (60 * US_PER_S)        /* that it may begin ahead of a server's clock */

/* ret_sign: what d->sign shows from then on. errors  E_UNSUPPORTED */
int delegation_sign(Sirdar__Delegation *d, const struct pair *by, uint8_t ret_sign[PAIR_SIGN_BYTES],
                    struct err *err);
bool delegation_signed(const Sirdar__Delegation *d, const uint8_t key[PAIR_BYTES]);

#endif
