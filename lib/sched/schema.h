/* schema.h — the JSON Schema (2020-12) of the documents that people write.
 *
 * It is made of the tables by which the readers read (workflow_keys.def, calendar_keys.def,
 * target_keys.def, the manifests of task types), so it says what they take. It takes everything
 * that they take, but names and texts that YAML reads as true or false; it refuses what can be told
 * from the shape of a document alone. Pure.
 */
#ifndef SCHED_SCHEMA_H
#define SCHED_SCHEMA_H

struct buf;
struct type_set;

/* "document" first: any of the others. Ends with NULL. */
extern const char *const schema_kinds[];

/* Append it as JSON.
 *
 *   types   tasks' params are judged by these; NULL: by none
 *   errors  E_NOT_FOUND: no such kind
 */
int schema_print(const char *kind, const struct type_set *types, struct buf *out);

#endif
