/* targets.h — target servers by name (lb_server): where jobs work, and what they need to get in.
 *
 * A document is a JSON object of the members in targets_members; the password is in it sealed
 * (vault.h), as `sealed`. One thread.
 */
#ifndef BASESERVER_TARGETS_H
#define BASESERVER_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct jdoc;
struct jval;
struct store;
struct store_doc;

struct target {
	char *name;
	uint32_t id, version;
	bool retired;
	struct jdoc *doc; /* owns the texts */
	const struct jval *root;
};

struct targets {
	struct target *items;
	size_t n;
	uint32_t last_id;
};

/* Plain members of one, NULL-terminated: what `${server.NAME.KEY}` and a runner may ask, besides
 * extra.KEY. */
extern const char *const targets_members[];

void targets_init(struct targets *t);
void targets_done(struct targets *t);
/* errors  those of the store, E_CORRUPT */
int targets_load(struct targets *t, struct store *store, struct err *err);
/* One document as it is stored now. errors  E_CORRUPT */
int targets_put(struct targets *t, const struct store_doc *d);

/* NULL: none in force. */
const struct target *targets_find(const struct targets *t, const char *name);
const struct target *targets_known(const struct targets *t,
                                   const char *name); /* removed ones too */
/* Of "NAME.KEY": both; a name may have dots itself. */
const struct target *targets_split(const struct targets *t, const char *text, const char **ret_key);

/* A plain member as text, appended; false: it has none of that key. */
bool target_value(const struct target *t, const char *key, struct buf *out);
const char *target_sealed(const struct target *t); /* NULL: no password */
bool target_allows(const struct target *t, const char *project);
/* Why a project may not use it, or its secret; NULL: it may. Static text. */
const char *target_refusal(const struct targets *t, const char *project, const char *name,
                           bool secret);
/* What its password is sealed for, appended. */
void target_about(const char *name, struct buf *out);

#endif
