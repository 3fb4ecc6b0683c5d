/* apply_impl.h — one apply at work. For the apply*.c files only. */
#ifndef BASESERVER_APPLY_IMPL_H
#define BASESERVER_APPLY_IMPL_H

#include "baseserver/command/commander_impl.h"
#include "baseserver/model/world.h"
#include "util/diag.h"
#include "util/map.h"

struct workflow;
struct yaml_doc;
struct yaml_node;

struct apply {
	enum { AP_READ, AP_COMPILE, AP_JUDGE, AP_TAKE, AP_COST, AP_REST } stage;
	bool sliced;      /* a piece in each turn of the commander; else in one go */
	int64_t until_us; /* mono: of the piece at hand */
	int64_t tell_us;  /* mono: when its progress is kept again */
	uint64_t saw;     /* the commander's `changes` when it was compiled */
	size_t at, first; /* of the stage: the document or workflow that is next, its first task */
	const struct jval *next; /* AP_READ */
	bool has_world;
	struct wf_compiler *compiler;
	struct leaving {
		uint32_t workflow, task;
	} * leaving; /* in force and not in the set: by workflow, then task */
	size_t n_leaving, leaving_cap;
	struct commander *c;
	struct cmd *cmd;
	struct refusal *f;
	struct workflow_set *set;
	size_t n_given; /* workflows of the documents, and who uses libraries among them; those
	                 * after it only plan anew */
	struct world world;
	struct workflow **libraries; /* of those in force, as they were asked for */
	size_t n_libraries;
	struct map by_library; /* of libraries: map_text() of the name */
	struct expanded {
		const struct workflow *library;
		size_t tasks, bytes; /* who use it, and what they take of it */
	} * expanded;
	size_t n_expanded;
	uint32_t aside_of; /* the workflow that was looked at last, and since when ... */
	int64_t aside_us;  /* ... it is in quarantine */
	size_t bytes;      /* what libraries make of the documents, and the users that they bring */
	struct diags diags;
	struct task **tasks; /* by workflow, in the order of the set */
	size_t n;
	struct map index;  /* of tasks: by id */
	struct map waited; /* of tasks: who waits for this id, one of them */
	struct edit *e;
	struct buf changes;
	size_t change_at; /* where the change at hand begins */
	bool *differs;    /* of the documents given: is it saved anew? */
	bool *leaves;     /* of a trial, of its tasks: is it not run? */
	struct taking {
		bool on;
		uint32_t id, version;
		size_t task; /* of its tasks, the next */
		struct buf body;
		struct yaml_doc **old_docs, **new_docs;
		size_t n_old, n_new;
		const struct yaml_node *old, *now;
	} taking; /* AP_TAKE: the workflow at hand */
	struct apply_cost *cost;
	struct apply_totals {
		size_t create, update, same, retire;
		size_t left_out; /* told as a number only */
	} totals;
};

/* apply_set.c */
bool apply__enough(void *a);                                    /* the piece at hand is over */
bool apply__has(const struct apply *a, const char *workflow);   /* is it in the set? */
bool apply__names(const struct apply *a, const char *workflow); /* and to be saved? */
bool apply__has_own(const struct apply *a, const struct cat_task *t); /* its workflow? */
/* Is it of a project that is to hold nothing beside the documents? */
bool apply__prunes(const struct apply *a, const char *name);
/* Is it of a workflow that is to be saved, or that is pruned? */
bool apply__owns(const struct apply *a, const struct cat_task *t);
void apply__index(struct apply *a); /* the tasks, once they are compiled; for these three: */
bool apply__in_set(const struct apply *a, uint32_t task);
const struct task *apply__task(const struct apply *a, uint32_t id); /* of the set, or NULL */
/* A task of the set that waits for that one; NULL: none does. */
const struct task *apply__waits_for(const struct apply *a, uint32_t parent);
/* The root of the one document in a text, NULL when there is none; docs are free_docs()'s. */
const struct yaml_node *apply__root(const char *text, size_t len, struct yaml_doc ***docs,
                                    size_t *n);
void apply__free_docs(struct yaml_doc **docs, size_t n);

/* apply_cost.c */
int apply__cost(struct apply *a); /* 1: it goes on. errors  E_INVALID: past a budget */
void apply__print_cost(const struct apply *a, struct buf *out);
void apply__cost_free(struct apply *a);

/* apply_compile.c */
struct apply *apply__new(struct commander *c, struct cmd *cmd);
void apply__taken(struct apply *a);  /* the workflow at hand is over, if there is one */
void apply__free(struct apply *a);   /* NULL is fine */
int apply__compile(struct apply *a); /* makes a->world. 1: it goes on */

/* apply_retire.c: what the documents no longer name. E_CONFLICT: it is still wanted. */
void apply__list_leaving(struct apply *a); /* first, for these */
int apply__retire_missing(struct apply *a, const char *workflow);
int apply__prune(struct apply *a); /* workflows of a pruned project */
int apply__may_retire(struct apply *a, const struct cat_task *t);

/* apply_change.c */
void apply__change_begin(struct apply *a, const char *kind, const char *name, const char *what,
                         uint32_t version);
void apply__change_end(struct apply *a, const char *what, const char *prefix,
                       const struct yaml_node *was, const struct yaml_node *is);
/* A line without fields. */
void apply__change(struct apply *a, const char *kind, const char *name, const char *what,
                   uint32_t version);
void apply__add_doc(struct apply *a, const struct store_doc *d); /* texts are copied */
void apply__retire_doc(struct apply *a, const struct doc *d);
/* Its row, as the edit will have it; valid until the next task is added. */
const struct store_task *apply__add_task(struct apply *a, struct task *t);
/* Has it other dates, or another state, than it had? */
bool apply__replans(const struct apply *a, const struct task *t, const struct store_task *row);
/* What the edit makes of its dates, into the change at hand. */
void apply__put_plan(struct apply *a, const struct task *t, const struct store_task *row);

/* apply_read.c: the texts into the set. The first error is the refusal, all are in f->json. */
int apply__read(struct apply *a); /* 1: it goes on */
/* What is given is saved by today's rules (workflow_bind()). E_FORBIDDEN: `raw` without the
 * right. */
int apply__bind(struct apply *a);
int apply__refuse_diags(struct apply *a);
void apply__print_diags(const struct diags *d, bool warnings, const char *key, struct buf *out);

/* apply_alike.c: is a new name one that people would take for one in force? */
int apply__alike(struct apply *a);

/* apply_calendar.c */
/* Documents of tasks whose calendar changes, and users of libraries, come into the set. */
int apply__dependents(struct apply *a);
int apply__calendars(struct apply *a); /* their changes and versions */
/* Does the task get other dates because its calendar changed? */
bool apply__replanned(const struct apply *a, const struct task *t);
/* `n` tasks of a workflow that comes into the set for its calendar's sake, from the `first` on. */
void apply__replan(struct apply *a, size_t first, size_t n);

/* apply_library.c */
/* Documents that use what libraries of the set say anew come into the set. E_CONFLICT: one would
 * miss what it uses. E_LIMIT: see apply__expand(). */
int apply__users(struct apply *a);
/* Counts what libraries make of documents of the set, before anything is made. E_LIMIT */
int apply__expand(struct apply *a);
int apply__resolve(struct apply *a); /* finds what documents use; E_INVALID: a->diags */
/* Is the library that goes, of the set or of what is retired, used by nobody? E_CONFLICT */
int apply__unused(struct apply *a, const char *name, const char *place);
int apply__retire_libraries(struct apply *a);

/* apply_preview.c: with a dry run, what `preview` asks of one task; without it nothing. */
int apply__preview(struct apply *a);
/* Whoever asks so wants to know what is wrong: that is the answer then, no refusal. */
bool apply__preview_errors(struct apply *a);

/* apply_trial.c: the stage at hand, of a workflow that is tried. 1: it goes on */
int trial__work(struct apply *a);
/* apply_compile.c: graph_tasks_max; a document of more than WORKFLOW_TASKS_MAX was not read at
 * all. E_INVALID */
int apply__sizes(const struct apply *a);

/* apply_scopes.c: parameters of projects and of all in the set.
 *   errors  E_CONFLICT a task still uses what goes */
int apply__scopes(struct apply *a);

#endif
