/* sign_in.h — the server is told who signs in, and what it says: for every way in. */
#ifndef CGI_SIGN_IN_H
#define CGI_SIGN_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "cgi/http/call.h"
#include "cgi/who/auth.h"

struct sign_in {
	const char *user;
	const char *password; /* NULL: a directory or a provider vouches for him */
	const char *code;     /* of his second factor; NULL or "": none came */
	const char *via;      /* password, ldap, oidc */
	bool brief;           /* for what follows at once; no session */
	bool begin;           /* of the outside: does the server judge, and with which nonce? */
	/* by a provider, where the server judges; user is "" then */
	const char *id_token, *access_token, *nonce;
};

/* With c->credential nothing new begins: its person proves himself anew. Then `then` begins with
 * sign_in_taken(). Thread: HTTP. */
int sign_in_ask(struct call *c, const struct sign_in *s, call_fn then);
/* What came of `begin`: the server's nonce, "" where it judges no ID tokens. */
int sign_in_begun(struct call *c, char ret_nonce[AUTH_TEXT_MAX]);
/* The same of a directory's: *ret says whether the server asks it. */
int sign_in_judged(struct call *c, bool *ret);
/* What came of it: c->user, c->credential, c->factor, c->via, and the person's `since`. Tells the
 * tries; no password is left.
 * errors  E_FACTOR: a code is wanted; E_AUTH, E_LIMIT, E_BUSY, E_FORBIDDEN, E_AGAIN */
int sign_in_taken(struct call *c, int64_t *ret_since);

#endif
