/* oidc.h — an OpenID provider: authorization code with PKCE, state and nonce. Who begins is sent
 * to the provider with what only he and we know; what comes back serves once, for the same
 * browser, within ten minutes.
 */
#ifndef CGI_OIDC_H
#define CGI_OIDC_H

#include "cgi/who/auth.h"

struct buf;
struct cgi;
struct err;
struct oidc;
struct outsider;

/* One who is on his way. */
struct oidc_trip {
	char nonce[AUTH_TEXT_MAX], verifier[AUTH_TEXT_MAX];
	bool is_judged; /* the nonce is the server's, which judges his ID token */
};

/* errors  E_INVALID, E_FORBIDDEN settings; of the module and the secret */
int oidc_open(struct cgi *cgi, struct oidc **ret, struct err *err);
void oidc_close(struct oidc *o); /* NULL is fine */

/* Where to send him, and what his browser is to keep. nonce: the server's; "": it judges no tokens,
 * and one is drawn. Thread: ways.
 * errors  E_AGAIN, E_TIMEOUT, E_AUTH the provider does not answer as it should */
int oidc_begin(struct oidc *o, const char *nonce, struct buf *ret_url,
               char ret_browser[AUTH_TEXT_MAX], struct err *err);
/* He is back: forgotten from now on. False: nobody of this state, or another browser, or too late.
 * Thread: any. */
bool oidc_back(struct oidc *o, const char *state, const char *browser, struct oidc_trip *ret);
/* The tokens that he came back with, for the server: {"id_token", "access_token"}. Thread: ways.
 * errors  E_AUTH, E_AGAIN, E_TIMEOUT: as below */
int oidc_tokens(struct oidc *o, const char *code, const struct oidc_trip *trip, struct buf *ret,
                struct err *err);
/* Who he is, where the server judges no tokens. Thread: ways.
 * errors  E_AUTH it is not as it should be; E_AGAIN, E_TIMEOUT the provider does not answer */
int oidc_who(struct oidc *o, const char *code, const struct oidc_trip *trip, struct outsider *ret,
             struct err *err);

#endif
