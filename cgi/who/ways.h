/* ways.h — signing in with what others vouch for: an LDAP directory, an OpenID provider.
 *
 * There only while one of them is set. Each blocks, on a thread of its own (`ways`), one after the
 * other; their libraries are modules.
 */
#ifndef CGI_WAYS_H
#define CGI_WAYS_H

#include <stdbool.h>

struct actor;
struct cgi;
struct err;
struct oidc;
struct outsider;
struct ways;

/* *ret NULL: none is set. Starts the thread.
 *   errors  E_INVALID, E_FORBIDDEN settings; of the modules and the secrets */
/* Would ways_open() take these settings? errors as its */
int ways_check(struct cgi *cgi, struct err *err);
int ways_open(struct cgi *cgi, struct ways **ret, struct err *err);
void ways_stop(struct ways *w);  /* every call is given back; NULL is fine */
void ways_close(struct ways *w); /* after the face has stopped; NULL is fine */
struct actor *ways_actor(struct ways *w);

bool ways_has_ldap(const struct ways *w); /* NULL: false */
struct oidc *ways_oidc(struct ways *w);   /* cgi/who/oidc.h; NULL: none */

/* Thread: ways.
 *   errors  E_AUTH not he; E_AGAIN, E_TIMEOUT the directory does not answer */
int ways_ldap(struct ways *w, const char *user, const char *password, struct outsider *ret,
              struct err *err);

#endif
