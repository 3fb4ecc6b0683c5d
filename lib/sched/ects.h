/* ects.h — pipelines and tasks as ECTS has them in JSON, and as documents.
 *
 * A step brings its task with it, or names one of the library PROJECT/ECTS_LIBRARY by its id. A
 * task that the library has just so is used from there, any other is written out in its step. Ids
 * are those that were given (`id`), else UUIDs made of names. Pure.
 */
#ifndef SCHED_ECTS_H
#define SCHED_ECTS_H

#include <stdbool.h>

struct buf;
struct cJSON;
struct err;
struct yaml_node;

#define ECTS_LIBRARY  "tasks"
#define ECTS_ID_BYTES 101

struct ects_world {
	const char *project;
	const struct yaml_node *library; /* the root of its document, or NULL */
	const struct yaml_node
		*was; /* the pipeline as it is, for what ECTS does not say; or NULL */
	/* The broker's name of a node's id; NULL: it is none. Borrowed until the next call. */
	const char *(*node)(void *ctx, const char *id);
	void *ctx;
};

/* A pipeline as a document, appended. errors  E_INVALID, what is wrong */
int ects_pipeline_read(const struct cJSON *root, const struct ects_world *w, struct buf *out,
                       struct err *err);
/* A task as the value of its name in the library; `was`: as it is there, for what ECTS does not
 * say, or NULL. errors  E_INVALID */
int ects_task_read(const struct cJSON *task, const struct yaml_node *was, struct buf *out,
                   struct err *err);
/* The library (its root, or NULL: none yet) with `name` as that value, "": without it. */
void ects_library_put(const struct yaml_node *library, const char *project, const char *name,
                      const char *value, struct buf *out);

/* The document of a pipeline (its root) as ECTS has it; the times "": left out. */
void ects_pipeline_print(const struct yaml_node *root, const char *project, const char *created,
                         const char *updated, struct buf *out);
/* A task of the library by its index: false when there are no more. */
bool ects_task_print(const struct yaml_node *library, const char *project, unsigned i,
                     const char *created, const char *updated, struct buf *out);
/* Tasks that are written out in a pipeline. */
void ects_own_tasks_print(const struct yaml_node *root, const char *project, const char *created,
                          const char *updated, struct buf *out);

/* The id of a pipeline; of a task of the library, made of its name when `given` is NULL. The name
 * in the library of the task of an id, NULL: none. */
void ects_pipeline_id(const struct yaml_node *root, const char *project, char ret[ECTS_ID_BYTES]);
void ects_task_id(const char *project, const char *name, const char *given,
                  char ret[ECTS_ID_BYTES]);
const char *ects_task_find(const struct yaml_node *library, const char *project, const char *id);

#endif
