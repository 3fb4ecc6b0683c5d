/* workflow.h — workflows as people write them, checked, and compiled to tasks.
 *
 * (design: WORKFLOW.) A document is a workflow, a pipeline or a calendar. A set is what is judged
 * together: links between its documents are found in it, all others are asked for. Pure: what
 * lies outside (zones, calendars, tasks that exist, numbers) comes through struct
 * workflow_world. One thread at a time; compiled tasks are any thread's.
 */
#ifndef SCHED_WORKFLOW_H
#define SCHED_WORKFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/name.h"

#define WORKFLOW_NAME_MAX          NAME_BYTES_MAX /* bytes of one part of a name */
#define WORKFLOW_TITLE_MAX         200            /* bytes */
#define WORKFLOW_TASKS_MAX         20000
#define INFRA_MAX_DEFAULT          10
#define WORKFLOW_OUTPUTS_BYTES_MAX 16384  /* of all outputs of one instance, as JSON */
#define WORKFLOW_NEEDS_MAX         100000 /* links of one task */
#define WORKFLOW_TESTS_MAX         999    /* of one workflow at a time */

struct buf;
struct calendar;
struct calendar_doc;
struct diags;
struct err;
struct nearest;
struct place;
struct task;
struct type_set;
struct tz;
struct workflow;
struct workflow_set;
struct yaml_node;

/* --- documents */

/* Read a text that holds one document.
 *
 *   file    for people; copied
 *   owns    *ret_wf is the caller's, until workflow_free()
 *   errors  E_INVALID, everything that is wrong is in d
 */
int workflow_parse(const char *text, size_t bytes, const char *file, struct diags *d,
                   struct workflow **ret_wf);
void workflow_free(struct workflow *wf); /* NULL is fine */
/* Append it as YAML: what workflow_parse() reads as the same. */
void workflow_print(const struct workflow *wf, struct buf *out);
void workflow_print_json(const struct workflow *wf, struct buf *out);
/* It is saved now: values that others give are data in it (sched/code.h), and it says so from now
 * on. One without macros stays as it is. */
void workflow_bind(struct workflow_set *set, size_t i);
/* `state: draft` for all of it, whatever it said; of a library nothing changes. */
void workflow_make_draft(struct workflow_set *set, size_t i, struct diags *d);
/* The full name of its i-th task when values of others become a part of what it runs: the task says
 * `raw`, or the document was saved by a release that knew no other way. NULL: they are data. */
const char *workflow_splices(const struct workflow *wf, size_t i);
/* The full name of a task with `raw`; NULL: none has it. */
const char *workflow_raw(const struct workflow *wf);
bool workflow_same(const struct workflow *a, const struct workflow *b);

const char *workflow_name(const struct workflow *wf);   /* project/workflow */
struct place workflow_place(const struct workflow *wf); /* where its name stands */
bool workflow_is_library(const struct workflow *wf);    /* it has no tasks that run */
const char *workflow_kind(const struct workflow *wf);   /* workflow, pipeline, library */
size_t workflow_tasks(const struct workflow *wf);
const char *workflow_owner(const struct workflow *wf); /* "" for none */
const char *workflow_description(const struct workflow *wf);
const struct wf_alerts *workflow_alerts(const struct workflow *wf);
/* The i-th who is to be told when `word` (schema/tbl/alert.def) happens to a task (its full name),
 * over all `alerts:` of a document; NULL after the last. *ret_after_us: only when it is still so
 * after that time; 0: at once. */
const char *wf_alert_recipient(const struct wf_alerts *all, const char *task, const char *word,
                               size_t i, int64_t *ret_after_us);
/* `late_after` and `long_after` of a task by its full name; 0: none. */
int64_t workflow_late_after_us(const struct workflow *wf, const char *task);
int64_t workflow_long_after_us(const struct workflow *wf, const char *task);

/* --- workflows that are only tried
 *
 * A test run of a drawn workflow is a workflow of its own for as long as it lasts, beside the one
 * of its name: "retail/shop~2" is the second that is tried at the time. No name has that sign, so
 * that whoever reads a name of a workflow or a task knows it. Its document has the key `test`,
 * which people never write; it has no alerts and no baselines, and its tasks name each other as the
 * drawn ones do. */

/* A name that name_is_test(), as it was drawn: "retail/shop/load". The caller's. */
char *workflow_name_shown(const char *name);
/* In which place it is tried; 0: it is not. */
int workflow_test(const struct workflow *wf);
/* The cron of a task, as it is written there or in `defaults`; NULL: it has none, or its library
 * has it. Borrowed. */
const char *workflow_cron(const struct workflow *wf, const char *task);
/* Append it as YAML, to be tried in that place, 1..WORKFLOW_TESTS_MAX. */
void workflow_print_test(const struct workflow *wf, int place, struct buf *out);

/* --- sets */

struct workflow_set *workflow_set_new(void);
void workflow_set_free(struct workflow_set *set); /* NULL is fine */
/* To judge documents, not to store them: what has unknown keys only is added all the same, as if
 * they did not stand there, and so are the other documents of a text with a mistake. */
void workflow_set_keep(struct workflow_set *set);
/* Was every document of its texts added? */
bool workflow_set_is_whole(const struct workflow_set *set);
/* Add every document of a text; nothing is added on error.
 *
 *   errors  E_INVALID as above; also a name that is in the set already */
int workflow_set_read(struct workflow_set *set, const char *text, size_t bytes, const char *file,
                      struct diags *d);
size_t workflow_set_count(const struct workflow_set *set);
const struct workflow *workflow_set_at(const struct workflow_set *set, size_t i);
/* The place of a workflow or library by its full name; as many as there are: not in the set. */
size_t workflow_set_find(const struct workflow_set *set, const char *name);
/* Calendars among the documents; tasks of the set may name them. */
size_t workflow_set_calendars(const struct workflow_set *set);
const struct calendar_doc *workflow_set_calendar(const struct workflow_set *set, size_t i);

/* --- libraries: tasks that others name with `use`.
 *
 * A document keeps what it uses as it was then, under `used`, its last key: a version of it means
 * the same for good, and who reads it needs nothing else. People never write it. */

/* Give every document of the set what it uses now: of libraries of the set, else of those that
 * `library` finds by name (NULL: none). Without the function what a document has kept is taken too.
 *
 *   errors  E_INVALID, in d: a library, or a task of one, that is not there */
int workflow_set_resolve(struct workflow_set *set,
                         const struct workflow *(*library)(void *ctx, const char *name), void *ctx,
                         struct diags *d);
/* What workflow_set_resolve() will make of a document: `each` is called for every task that uses
 * one, with the library and the bytes it takes: the task's own copy, and one under `used`. */
void workflow_set_expand(const struct workflow_set *set, const struct workflow *wf,
                         const struct workflow *(*library)(void *ctx, const char *name),
                         void (*each)(void *ctx, const struct workflow *library, size_t bytes),
                         void *ctx);
bool workflow_uses(const struct workflow *wf, const char *library);
/* Has it kept something of the library that this says otherwise, or no longer? */
bool workflow_outdated(const struct workflow *wf, const struct workflow *library);
/* The full name of a task that it uses and the library has not; NULL: none. */
const char *workflow_lacks(const struct workflow *wf, const struct workflow *library);
/* What a document (its root) has kept of what a task, a step or a hook of it uses; NULL: none. */
const struct yaml_node *workflow_kept(const struct yaml_node *root, const struct yaml_node *task);
/* How many bytes of a stored document people wrote: all but `used` and workflow_bind()'s line. */
size_t workflow_written(const char *text, size_t n);
/* Does it use tasks of libraries? Told without reading it. */
bool workflow_stored_uses(const char *text, size_t n);
/* Is a stored document a library? Told without reading it. */
bool workflow_stored_library(const char *text, size_t n);

/* --- parameters and quota of a project (`project:` without a workflow), parameters of all
 * (`global:`), pools (`pool:`) */

struct workflow_scope;
size_t workflow_set_scopes(const struct workflow_set *set);
const struct workflow_scope *workflow_set_scope(const struct workflow_set *set, size_t i);
const struct wf_alerts *workflow_scope_alerts(const struct workflow_scope *s);
/* Why nobody is told when `word` happens to the task then (wall, seconds); NULL: they are. */
const char *workflow_scope_silence(const struct workflow_scope *s, const char *task,
                                   const char *word, int64_t at);
const char *workflow_scope_project(const struct workflow_scope *s); /* "": of all */
const char *workflow_scope_title(const struct workflow_scope *s);   /* "": none */
struct place workflow_scope_place(const struct workflow_scope *s);  /* of that name */
/* The value as it was written, macros not replaced; NULL: none of that name. */
const char *workflow_scope_value(const struct workflow_scope *s, const char *name);
size_t workflow_scope_count(const struct workflow_scope *s);
const char *workflow_scope_name_at(const struct workflow_scope *s, size_t i);
/* The name of a pool, whose document has no parameters; NULL: it is none. */
const char *workflow_scope_pool(const struct workflow_scope *s);
#define WORKFLOW_POOL "pool:" /* workflow_scope_project() of a pool begins so */
/* Slots of a pool; a project's quota of running instances, 0: none. */
int32_t workflow_scope_slots(const struct workflow_scope *s);
/* The document of a project ("": of all; s, or none) with another quota (0: without), and with this
 * in the place of its parameters (NULL: as they are). All else stays. */
void workflow_scope_print_with(const struct workflow_scope *s, const char *project, int32_t running,
                               const char *parameters, struct buf *out);
void workflow_scope_print(const struct workflow_scope *s, struct buf *out); /* as YAML */
const struct yaml_node *workflow_scope_node(const struct workflow_scope *s);
bool workflow_scope_same(const struct workflow_scope *a, const struct workflow_scope *b);

/* --- what lies outside. Every function may be NULL. */

struct workflow_start {
	uint32_t id;
	int64_t start;  /* in: of a task that gives none. The day of its first save */
	int64_t anchor; /* in: its start; out: the first start ever saved */
};

struct workflow_world {
	void *ctx;
	const char *timezone; /* of tasks that say none; NULL: UTC */
	int64_t start;        /* of tasks that say none, unless `known` says better */
	int32_t infra_max;    /* of every task; 0: INFRA_MAX_DEFAULT */
	/* The zone of a name. NULL: UTC is the only one. */
	int (*zone)(void *ctx, const char *name, const struct tz **ret_tz, struct err *err);
	/* The calendar of a name that is not in the set, NULL for an unknown one; borrowed, tasks
	 * take a reference. Without this function, and without calendars in the set, every name
	 * is taken with a warning and no date is left out. */
	const struct calendar *(*calendar)(void *ctx, const char *name);
	/* Try the name of every calendar there is. */
	void (*calendar_names)(void *ctx, struct nearest *near);
	/* A task that is not in the set, by full name; borrowed while compiling. NULL: unknown. */
	const struct task *(*task)(void *ctx, const char *name);
	/* The same by id: to follow links beyond the set when looking for cycles. */
	const struct task *(*task_by_id)(void *ctx, uint32_t id);
	/* What is known of a task of the set, by full name. NULL: ids count from 1. */
	void (*known)(void *ctx, const char *name, struct workflow_start *start);
	/* Id and version of a workflow of the set. NULL: ids count from 1, version 1. */
	void (*workflow)(void *ctx, const char *name, uint32_t *ret_id, uint32_t *ret_version);
	/* Is there a parameter of that name in the project or of all, beside those of the set, or a
	 * target server's (server.NAME.host)? NULL: only those of the set are known. */
	bool (*parameter)(void *ctx, const char *project, const char *name);
	/* May tasks of the project use that target server, or, secret: what it keeps secret? NULL:
	 * yes, else why not (static text). Without this function any name will do. */
	const char *(*server)(void *ctx, const char *project, const char *name, bool secret);
	/* Does somebody run tasks of a type that is not in `types`? NULL: nobody does. */
	bool (*runs)(void *ctx, const char *type);
	/* Is there a machine, or for `group` a group of machines, of that name? Another one is
	 * saved with a warning, for it may be to come. NULL: any name will do. */
	bool (*machine)(void *ctx, const char *name, bool group);
	/* What task types declare; parameters of types that are not in it are taken as they
	 * are. Empty or NULL: so are types. Else one that is not there and nobody runs is refused,
	 * but of a draft. */
	const struct type_set *types;
	bool fresh; /* none of it is stored: all is judged as what is saved now */
	bool saved; /* was judged when it was saved: types tell what parameters are, no more */
};

/* Compile every task of the set, in order of documents and tasks; link cycles are refused.
 *
 *   owns    (*ret_tasks)[0..n) one reference each, and the array: the caller's. free()
 *   errors  E_INVALID, everything that is wrong is in d
 */
int workflow_compile(const struct workflow_set *set, const struct workflow_world *world,
                     struct diags *d, struct task ***ret_tasks, size_t *ret_n);

/* The same in pieces. What world answered must stay so until the end, and what it pointed at there.
 * _some: until `enough` says so; true: it is over. _end: as above, or drops what is not over. */
struct wf_compiler;
struct wf_compiler *workflow_compile_begin(const struct workflow_set *set,
                                           const struct workflow_world *world, struct diags *d);
bool workflow_compile_some(struct wf_compiler *c, bool (*enough)(void *ctx), void *ctx);
int workflow_compile_end(struct wf_compiler *c, struct task ***ret_tasks, size_t *ret_n);

/* Compile for the sake of what is wrong, and warn of what is odd: windows that stay empty from
 * `from` for a year, parents that come due later than their child.
 *
 *   errors  E_INVALID when there are errors; warnings alone are fine */
int workflow_check(const struct workflow_set *set, const struct workflow_world *world, int64_t from,
                   struct diags *d);

#endif
