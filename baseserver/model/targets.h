/* targets.h — target servers: where jobs work, and what they need to get in.
 *
 * Documents of kind DOC_SERVER, a JSON object of the members in targets_members; the password is in
 * it sealed (vault.h), as `sealed`, or as `password` a reference to where it is kept outside
 * (source.h).
 */
#ifndef BASESERVER_TARGETS_H
#define BASESERVER_TARGETS_H

#include "baseserver/model/docs.h"
#include "baseserver/secret/source.h"

struct buf;

#define TARGET_PASSWORD "password" /* the secret that every runner knows */

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
const char *target_sealed(const struct doc *t); /* NULL: no password is sealed here */
/* A secret by name; false: it has none of that name. */
bool target_secret(const struct doc *t, const char *name, struct target_secret *ret);
bool target_allows(const struct doc *t, const char *project);
/* Why a project may not use it, or its secret; NULL: it may. Static text. */
const char *target_refusal(const struct docs *t, const char *project, const char *name,
                           bool secret);
/* What its password is sealed for, appended. */
void target_about(const char *name, struct buf *out);

#endif
