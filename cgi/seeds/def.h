/* def.h — what the seeds' interfaces write into a workflow's document, and read back from it. */
#ifndef CGI_SEEDS_DEF_H
#define CGI_SEEDS_DEF_H

#include <stddef.h>
#include <stdint.h>

struct call;
struct cJSON;
struct err;
struct reader;
struct yaml_doc;
struct yaml_node;

/* A task of a saved document. Texts are borrowed until def_done(). */
struct def {
	struct yaml_doc **docs;
	size_t n;
	const struct yaml_node *workflow, *task; /* NULL: the document has no such task */
	uint32_t version;
	int64_t created_us, changed_us;
};

/* The definition of a task by its full name. E_NOT_FOUND. Thread: disk. */
int def_read(struct reader *r, const char *task, uint32_t workflow, struct def *ret,
             struct err *err);
void def_done(struct def *d); /* of a zeroed one too */
/* A text of the task, else of the defaults, else of the workflow; NULL: none says it. */
const char *def_text(const struct def *d, const char *key);
const struct yaml_node *def_node(const struct def *d, const char *key);
/* What its job runs: the text of its script or its kin, as it was given; freed by the caller. */
char *def_command(const struct def *d);
/* Each need as a full name. */
int def_needs(const struct def *d, const char *task, int (*each)(void *ctx, const char *name),
              void *ctx);

/* A document of one workflow with one task of the same name: *ret_task for the rest. `title`: what
 * people called it. The owner is the caller. */
struct cJSON *def_new(struct call *c, const char *name, const char *title, struct cJSON **ret_task);
/* params: {script: command}, or as the type has it; nothing in it is ours to expand. */
void def_command_put(struct cJSON *task, const char *type, const char *command);

#endif
