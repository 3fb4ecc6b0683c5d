/* ds.h — a DolphinScheduler export while it is carried over: ds_find.c looks into it, ds_text.c,
 * ds_depend.c and ds_switch.c translate what has a language of its own, ds.c writes workflows.
 *
 * For import/ds*.c only. Names and texts that are returned live in the import's pile; nodes of JSON
 * are borrowed from the file that was read. One thread, no errors: what cannot be carried over is
 * said by import_note(). */
#ifndef CLI_IMPORT_DS_H
#define CLI_IMPORT_DS_H

#include <cjson/cJSON.h>

#include "admin-console/cli/import/import.h"

enum { DS_DEPTH_MAX = 8 };

/* One process definition of the file. */
struct ds_flow {
	cJSON *node, *definition, *tasks, *relations, *schedule;
	long long code;
	const char *name;  /* here */
	const char *where; /* definitions[0] */
};

struct ds {
	struct import *im;
	struct ds_flow *flows;
	size_t n;
	const struct ds_flow *flow; /* at work */
	const char *prefix;         /* of task names, within a sub process */
	int depth;
};

/* --- ds_find.c */

/* NULL: not there. */
cJSON *ds_task(const struct ds_flow *f, long long code);
const struct ds_flow *ds_flow_of(const struct ds *d, long long code);
cJSON *ds_params(cJSON *task);
bool ds_has_type(struct ds *d, const cJSON *task, const char *type);
bool ds_is_sub(struct ds *d, const cJSON *task); /* a process within this one */
long long ds_sub_code(cJSON *task);              /* which; 0: it does not say */
/* Has the task none that comes after it? */
bool ds_is_leaf(const struct ds_flow *f, long long code);
/* A code as a number or as text; 0: none. */
long long ds_code(const cJSON *n);

/* A task's name in its own definition, ... */
const char *ds_task_name(struct ds *d, const struct ds_flow *f, const cJSON *task);
/* ... with those of the sub processes it is in, ... */
const char *ds_full_name(struct ds *d, const cJSON *task);
/* ... and what those that come after it wait for: of a sub process, its end. */
const char *ds_end_name(struct ds *d, cJSON *task);

/* --- pieces of a task */

/* ds_text.c: a script with its placeholders as they are written here. */
const char *ds_text(struct ds *d, const cJSON *task, const char *where, const char *text);
/* ds_depend.c: DEPENDENT and its named ranges. */
void ds_put_dependent(struct ds *d, const char *name, const char *where, cJSON *task,
                      const char *parents);
/* ds_switch.c: type and params of SWITCH; false: it says too much, a note says so. */
bool ds_put_switch(struct ds *d, const char *where, cJSON *task);

#endif
