/* invites.h — codes of invites that may still be used: in memory only, an hour at most.
 *
 * A code lets somebody make a public key known, no more; who is invited as what stands in the
 * document of the peer (peers.h), with the id of the code. A server that starts anew knows none.
 * Thread: any.
 */
#ifndef BASESERVER_INVITES_H
#define BASESERVER_INVITES_H

#include <stdint.h>

struct invites;

enum { INVITE_HOUR_S = 3600, INVITES_MAX = 1000, INVITE_SECRET_BYTES = 32 };

struct invites *invites_new(void);
void invites_free(struct invites *v); /* wiped; NULL is fine */

/* That peer's only code from now on. The oldest one goes where there are too many.
 *   secret  INVITE_SECRET_BYTES digits, copied */
void invites_add(struct invites *v, const char *id, const char *secret, const char *peer,
                 int64_t until_us);
/* The peer has none any more. */
void invites_end(struct invites *v, const char *peer);
/* E_NOT_FOUND: there is none, or not any more. */
int invites_find(struct invites *v, const char *id, int64_t now_us,
                 uint8_t ret_key[INVITE_SECRET_BYTES]);

#endif
