/* scopes.h — the stored parameters of projects and of all.
 *
 * Documents of kind DOC_SETTING: "parameters" for all, "parameters/PROJECT". The kind has others;
 * they mean nothing here.
 */
#ifndef BASESERVER_SCOPES_H
#define BASESERVER_SCOPES_H

#include "baseserver/model/docs.h"

struct buf;
struct workflow_scope;

/* Its row of doc_kinds: what parameters mean is a set with the one document. */
int scope_read(const struct store_doc *d, void **ret_set, struct err *err);
void scope_drop(void *set);

/* "parameters", or "parameters/PROJECT", appended. */
void scope_doc_name(const char *project, struct buf *out);
const struct doc *scopes_doc(const struct docs *scopes, const char *project); /* or NULL */
/* What is read out of that; NULL: there is none. */
const struct workflow_scope *scope_of(const struct doc *d);
/* The value a project's tasks see: the project's own, else that of all, else NULL. */
const char *scopes_value(const struct docs *scopes, const char *project, const char *name);

#endif
