/* import_ds.h — a DolphinScheduler export while it is carried over. For import_ds*.c only. */
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

cJSON *ds_task(const struct ds_flow *f, long long code);
const struct ds_flow *ds_flow_of(const struct ds *d, long long code);
const char *ds_task_name(struct ds *d, const struct ds_flow *f, const cJSON *task);
cJSON *ds_params(cJSON *task);
/* Has the task any that comes after it? */
bool ds_is_leaf(const struct ds_flow *f, long long code);

/* A code as a number or as text; 0: none. */
long long ds_code(const cJSON *n);
/* The name a task has here, with those of the sub processes it is in. */
const char *ds_full_name(struct ds *d, const cJSON *task);

/* import_ds_text.c: a script with its placeholders as they are written here. */
const char *ds_text(struct ds *d, const cJSON *task, const char *where, const char *text);
/* import_ds_depend.c: DEPENDENT and its named ranges. */
void ds_put_dependent(struct ds *d, const char *name, const char *where, cJSON *task,
                      const char *parents);
/* import_ds_switch.c: type and params of SWITCH; false: it says too much, a note says so. */
bool ds_put_switch(struct ds *d, const char *where, cJSON *task);

#endif
