/* outsiders.h — is this ID token good, and whose is it? An actor with a thread of its own, for it
 * waits for an OpenID provider.
 */
#ifndef BASESERVER_OUTSIDERS_H
#define BASESERVER_OUTSIDERS_H

#include "openid/provider.h"
#include "rt/actor.h"

struct err;
struct outsiders;
struct param_baseserver;

enum { ID_TOKEN_MAX = 65536 }; /* bytes */

/* The very letter comes back through `answered`; its tokens are wiped then. */
struct outsider_question {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	void (*discard)(struct letter *l);
	char *id_token, *access_token, *nonce; /* heap, the question's */
	int code;                              /* E_AUTH, E_AGAIN, E_TIMEOUT */
	char text[400];
	struct vouched who; /* of code 0 */
	void *ctx;          /* of who asks */
};
/* What is inside is wiped and freed; the question itself is the caller's. */
void outsider_question_done(struct outsider_question *q);

/* `p` is borrowed; its oidc_issuer is set.
 *   errors  E_INVALID, E_FORBIDDEN settings; E_NOT_FOUND, E_ABI the module that asks */
int outsiders_new(struct thread *th, const struct param_baseserver *p, struct outsiders **ret,
                  struct err *err);
/* Would outsiders_new() take these settings? errors as its */
int outsiders_check(const struct param_baseserver *p, struct err *err);
void outsiders_free(struct outsiders *o); /* its thread is stopped; NULL is fine */
/*   owns    on 0 the question is on its way; on error it is the caller's
 *   errors  E_BUSY, E_CLOSED
 *   thread  any */
int outsiders_ask(struct outsiders *o, struct outsider_question *q);

#endif
