/* outsider.h — somebody for whom a directory or a provider vouches, and which user he is here.
 */
#ifndef CGI_OUTSIDER_H
#define CGI_OUTSIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "cgi/who/people.h"

struct cJSON;
struct call;
struct cgi;
struct err;

#define OUTSIDER_GROUPS_MAX 64

/* Somebody for whom a directory, or a provider, vouches. */
struct outsider {
	const char *source; /* static: ldap, oidc */
	char name[USER_NAME_MAX], subject[401], full_name[201], mail[201];
	char groups[OUTSIDER_GROUPS_MAX][USER_NAME_MAX]; /* names of ours */
	size_t n_groups;
};

/* A group as the outside calls it, if one of ours is told so. Thread: any. */
void outsider_group(struct cgi *cgi, struct outsider *o, const char *external);
/* Decides whether the outsider is the user of his name, and makes the call that user's.
 * `*ret_changes`: the arguments of the user-set command that makes him known, the caller's; NULL:
 * the server knows all of it. Thread: HTTP
 *   errors  E_AGAIN the users are not read yet; E_FORBIDDEN the name is somebody else's, the user
 *           is disabled, or nothing gives him a role */
int outsider_admit(struct call *c, const struct outsider *o, struct cJSON **ret_changes);

#endif
