/* ways.h — signing in with what others vouch for: an LDAP directory, an OpenID provider.
 *
 * There only while one of them is set. Each blocks, on a thread of its own (`ways`), one after the
 * other; their libraries are modules.
 */
#ifndef CGI_WAYS_H
#define CGI_WAYS_H

#include <stdbool.h>
#include <stddef.h>

#include "cgi/who/people.h"

struct actor;
struct cJSON;
struct call;
struct cgi;
struct err;
struct oidc;
struct ways;

#define OUTSIDER_GROUPS_MAX 64

/* Somebody for whom a directory, or a provider, vouches. */
struct outsider {
	const char *source; /* static: ldap, oidc */
	char name[USER_NAME_MAX], subject[401], full_name[201], mail[201];
	char groups[OUTSIDER_GROUPS_MAX][USER_NAME_MAX]; /* names of ours */
	size_t n_groups;
};

/* *ret NULL: none is set. Starts the thread.
 *   errors  E_INVALID, E_FORBIDDEN settings; of the modules and the secrets */
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

/* A group as the outside calls it, if one of ours is told so. Thread: any. */
void outsider_group(struct cgi *cgi, struct outsider *o, const char *external);
/* Decides whether the outsider is the user of his name, and makes the call that user's.
 * `*ret_changes`: the arguments of the user-set command that makes him known, the caller's; NULL:
 * the server knows all of it. Thread: HTTP
 *   errors  E_AGAIN the users are not read yet; E_FORBIDDEN the name is somebody else's, the user
 *           is disabled, or nothing gives him a role */
int outsider_admit(struct call *c, const struct outsider *o, struct cJSON **ret_changes);

/* A secret of one line. E_INVALID */
int secret_line(const char *path, char **ret, struct err *err);
/* Is the host of scheme://host[:port]/... loopback? */
bool url_is_loopback(const char *url);

#endif
