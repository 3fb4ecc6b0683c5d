/* people.h — what is kept of people, of their groups, tokens, devices and preferences; shared by
 * commander_user.c, commander_people.c and commander_prefs.c only. A table row each: arguments,
 * documents and refusals come of it.
 */
#ifndef BASESERVER_PEOPLE_H
#define BASESERVER_PEOPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "baseserver/model/command.h"
#include "store/store.h"

struct buf;
struct commander;
struct jval;
struct order;
struct refusal;

enum { PERSON_LINE_MAX = 400, DEVICE_ENDPOINT_MAX = 1000, DEVICE_KEY_MAX = 100 };

enum person_as {
	AS_LINE,
	AS_NAME,
	AS_NAMES,
	AS_PROJECTS,
	AS_RIGHTS,
	AS_TRUTH,
	AS_TIME,   /* s, since 1970 */
	AS_SECRET, /* argon2id */
	AS_HASH,   /* SHA-256, in hex */
	AS_ROLE,
	AS_OWN_ROLE,
	AS_SOURCE,
	AS_ENDPOINT,
	AS_KEY, /* base64url */
	AS_SEVERITY,
	AS_TONGUE,
};

struct person_member {
	const char *key;
	enum person_as as;
	bool ends_sessions, needed;
};

struct person_noun {
	const char *word; /* "user": of commands, and the argument that names one */
	const struct person_member *members;
	size_t n_members;
};

extern const struct person_noun person_nouns[DOC_END]; /* users, groups, tokens, devices */

enum store_doc_kind person_kind_of(enum command_kind kind);
/* The person's `since` when he, or who speaks for him, was let in; -1: it is not said. */
int person_since(const struct order *o, int64_t *ret, struct refusal *f);
/* A person has another document: who keeps a first password hears of it. */
void person_tell(const struct commander *c, const char *user);
/* Letters, digits, . _ @ - */
bool person_name_ok(const char *s);
/* A value of a document, or of a command's record: there `secret` is not told. */
void person_print(struct buf *out, const char *key, const struct jval *v, bool secret);

#endif
