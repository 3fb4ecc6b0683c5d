/* targets.h — target servers: where jobs work, and what they need to get in.
 *
 * Documents of kind DOC_SERVER, a JSON object of the members in targets_members; the password is in
 * it sealed (vault.h), as `sealed`, or as `password` a reference to where it is kept outside
 * (source.h). Other secrets are in `secrets` by name: a text is sealed, an object is a reference.
 */
#ifndef BASESERVER_TARGETS_H
#define BASESERVER_TARGETS_H

#include "baseserver/model/docs.h"
#include "baseserver/secret/source.h"

struct buf;

#define TARGET_PASSWORD    "password" /* the secret that every runner knows */
#define TARGET_SECRETS_MAX 16         /* besides it */

/* One secret: sealed here, or where it is kept outside. Borrowed from the document. */
struct target_secret {
	const char *sealed; /* NULL: see ref */
	struct secret_ref ref;
};

/* Plain members of one, NULL-terminated: what `${server.NAME.KEY}` and a runner may ask, besides
 * extra.KEY. */
extern const char *const targets_members[];

/* Of "NAME.KEY": both; a name may have dots itself. NULL: none in force. */
const struct doc *targets_split(const struct docs *t, const char *text, const char **ret_key);

/* A plain member as text, appended; false: it has none of that key. */
bool target_value(const struct doc *t, const char *key, struct buf *out);
/* A secret by name; false: it has none of that name. */
bool target_secret(const struct doc *t, const char *name, struct target_secret *ret);
/* Finds the server whose secret a job names: NAME is the server's password, NAME.SECRET another of
 * its secrets. Returns NULL where no such server is in force. */
const struct doc *targets_of_secret(const struct docs *t, const char *text, const char **ret_name);
bool target_allows(const struct doc *t, const char *project);
/* Why a project may not use it, or its secret; NULL: it may. Static text. */
const char *target_refusal(const struct docs *t, const char *project, const char *name,
                           bool secret);
/* What a secret of it is sealed for, appended: opened as another's, or under another name, it is
 * nothing. */
void target_about(const char *name, const char *secret, struct buf *out);
/* By what a secret is named to people: NAME, NAME.SECRET. heap */
char *target_secret_shown(const char *name, const char *secret);

#endif
