/* bridge.h — jobs, pipelines and kills that were put into etcd, as commands.
 *
 * PREFIX/jobs/NAME {"name", "command", "cronExpr"} is the workflow PROJECT/NAME with one task NAME
 * of type shell; the key's end retires it. And back: such a workflow that is saved or retired by
 * another way is written to its key, and PREFIX/bridge/NAME marks what was taken. A key
 * PREFIX/killer/NAME kills what runs of it, and goes when that is done.
 *
 * PREFIX/pipelines/NAME is a pipeline as ECTS has it in JSON, in the same way; its marks are
 * PREFIX/bridged-pipelines/NAME. Each kind is a bridge of its own.
 *
 * Commands go to the commander one after the other, under request ids made of
 * the cluster and the key's revision: what is seen twice is done once. What is wrong is one line in
 * the log and one entry for the API; nothing else stops.
 *
 * Not an actor: part of the registry's, on its thread.
 */
#ifndef BASESERVER_BRIDGE_H
#define BASESERVER_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BRIDGE_JOB_BYTES_MAX 60 /* of a job's name: its task and its workflow are called so */

struct actor;
struct bridge;
struct buf;
struct commander;
struct err;
struct etcd;
struct etcd_kv;
struct saved_workflow;
struct store;

enum { BRIDGE_JOBS, BRIDGE_PIPELINES, BRIDGES };

/* What is looked at besides the key. */
struct bridge_world {
	const char *prefix; /* of all keys; borrowed */
	const char *project;
	const char *library; /* the document of ECTS's tasks; NULL: none */
	const char *was;     /* the document as it is; NULL: none */
	/* The name of a node by its id, NULL: unknown; borrowed until the next call. */
	const char *(*node)(void *ctx, const char *id);
	void *ctx;
};

/* A kind of thing with two forms: the value of a key, and a document. */
struct bridge_form {
	const char *word, *one;   /* of its keys; of one of them */
	const char *marks, *gone; /* of its marks; in ids of requests */
	bool has_steps;
	/* The document of a value, appended. errors  E_INVALID with what is wrong */
	int (*document)(const struct bridge_world *w, const char *name, const char *value, size_t n,
	                struct buf *ret_text, struct err *err);
	/* The value of a document, appended; false: it is none of this kind. */
	bool (*value)(const struct bridge_world *w, const char *name, const char *text, size_t n,
	              struct buf *out);
};

extern const struct bridge_form bridge_forms[BRIDGES];

/* Takes what the store has of the project. Before any thread runs. */
int bridge_new(const struct bridge_form *form, const struct bridge_world *world,
               struct commander *commander, struct store *store, struct bridge **ret,
               struct err *err);
void bridge_free(struct bridge *b);
void bridge_start(struct bridge *b, struct actor *me); /* who gets the answers */

/* Takes one key as it is now. `name` is what follows PREFIX/WORD/ or PREFIX/killer/; `cluster`
 * names the etcd cluster that the key is of. */
void bridge_job(struct bridge *b, const char *cluster, const char *name, const struct etcd_kv *kv);
void bridge_kill(struct bridge *b, const char *cluster, const char *name, const struct etcd_kv *kv);
/* A mark, PREFIX/MARKS/NAME: its key was taken at that revision. In a listing before the jobs. */
void bridge_mark(struct bridge *b, const char *name, const struct etcd_kv *kv);
/* A workflow was saved or has ended, by whomever: each change of the store, in their order. */
void bridge_saved(struct bridge *b, const struct saved_workflow *w);
/* A listing, while nothing is to be answered: begin, bridge_job() for each key there is, end: the
 * others are gone. is_anew: revisions seen before say nothing of this etcd. */
void bridge_begin(struct bridge *b, bool is_anew);
void bridge_end(struct bridge *b, const char *cluster, int64_t revision);

/* Sends the next command if there is one to be sent. True: some are not answered yet. */
bool bridge_pump(struct bridge *b, int64_t now_us);
/* Writes to etcd what is owed: jobs saved elsewhere, marks; takes out the keys of ended jobs and of
 * kills that are done. */
int bridge_sweep(struct bridge *b, struct etcd *e, struct err *err);
/* How many there are, under its word; what is wrong, into a list: for the API. */
void bridge_print(const struct bridge *b, struct buf *out);
void bridge_print_problems(const struct bridge *b, struct buf *out);
/* Grows with each change of what these two say. */
uint64_t bridge_changes(const struct bridge *b);

/* What a job's key says of it. */
struct bridge_job {
	char *command, *cron; /* NULL: none */
};
/* bridge_job.c, pure. Is this document one that a key could say? Then it is *ret, the caller's. */
bool bridge_job_of(const char *name, const char *text, size_t n, struct bridge_job *ret);
void bridge_job_done(struct bridge_job *j);
bool bridge_job_same(const struct bridge_job *a, const struct bridge_job *b);
void bridge_job_print(const char *name, const struct bridge_job *j, struct buf *out);
/* The document of a job. errors  E_INVALID with what is wrong */
int bridge_document(const char *project, const char *name, const char *json, size_t n,
                    struct buf *ret_text, struct err *err);
int bridge_job_document(const struct bridge_world *w, const char *name, const char *value, size_t n,
                        struct buf *ret_text, struct err *err);
bool bridge_job_value(const struct bridge_world *w, const char *name, const char *text, size_t n,
                      struct buf *out);
/* bridge_pipeline.c, pure: the same of a pipeline. */
int bridge_pipeline_document(const struct bridge_world *w, const char *name, const char *value,
                             size_t n, struct buf *ret_text, struct err *err);
bool bridge_pipeline_value(const struct bridge_world *w, const char *name, const char *text,
                           size_t n, struct buf *out);

#endif
