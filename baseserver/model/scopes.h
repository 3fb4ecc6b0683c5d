/* scopes.h — the stored parameters of projects and of all, by name.
 *
 * Documents of kind DOC_SETTING: "parameters" for all, "parameters/PROJECT". One thread.
 */
#ifndef BASESERVER_SCOPES_H
#define BASESERVER_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct store;
struct store_doc;
struct workflow_scope;
struct workflow_set;

struct scope_doc {
	char *name, *body; /* as stored */
	size_t len;
	uint32_t id, version;
	struct workflow_set *set; /* with the one document */
};

struct scopes {
	struct scope_doc *items;
	size_t n;
	uint32_t last_id; /* of all documents of the kind */
};

void scopes_init(struct scopes *s);
void scopes_done(struct scopes *s);
/* errors  those of the store, E_CORRUPT */
int scopes_load(struct scopes *s, struct store *store, struct err *err);
/* One document as it is stored now. errors  E_CORRUPT */
int scopes_put(struct scopes *s, const struct store_doc *d);

/* "parameters", or "parameters/PROJECT", appended. */
void scope_doc_name(const char *project, struct buf *out);
const struct scope_doc *scopes_doc(const struct scopes *s, const char *project); /* or NULL */
/* The value a project's tasks see: the project's own, else that of all, else NULL. */
const char *scopes_value(const struct scopes *s, const char *project, const char *name);

#endif
