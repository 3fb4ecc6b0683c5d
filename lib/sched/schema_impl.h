/* schema_impl.h — pieces of a JSON Schema. For the schema*.c files only. */
#ifndef SCHED_SCHEMA_IMPL_H
#define SCHED_SCHEMA_IMPL_H

#include "sched/schema.h"
#include "sched/workflow_impl.h"

struct type;

/* Members of the object that is open, which describes a value. */
void schema__text(struct buf *out, int64_t min, int64_t max);
void schema__number(struct buf *out, int64_t min, int64_t max);
void schema__pattern(struct buf *out, const char *regex); /* a string */
void schema__duration(struct buf *out, bool zero);
void schema__ref(struct buf *out, const char *def);

/* An object of its own that is only that: in a list, or under a key. */
void schema__put_ref(struct buf *out, const char *key, const char *def);
void schema__put_required(struct buf *out, const char *key, const char *one);
/* Words separated by |, as a list under a key. */
void schema__put_words(struct buf *out, const char *key, const char *words);

/* schema_key.c: the members of a key's value, by the reader of its row. */
void schema__key(const struct wf_key *k, struct buf *out);
/* schema_type.c: the definitions of types' parameters, and which one holds for a task. */
void schema__types(const struct type_set *types, struct buf *out);
/* schema_other.c: the definitions "calendar" and "target". */
void schema__calendar(struct buf *out);
void schema__target(struct buf *out);

#endif
