/* A DolphinScheduler export as it is looked into: tasks and definitions by their code, what a task
 * is, and the name that it has here. Nothing is written; ds.c and its pieces do that.
 *
 * Names there may be alike, or hold what a name here may not: then the place in the list makes a
 * name. Tasks of a sub process stand in the outer workflow, so their names begin with the sub
 * process's; what follows the sub process waits for a task NAME.end. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/import/ds.h"
#include "util/pile.h"

cJSON *ds_task(const struct ds_flow *f, long long code)
{
	cJSON *t;

	cJSON_ArrayForEach(t, f->tasks)
		if (import_number(t, "code") == code)
			return t;
	return NULL;
}

const struct ds_flow *ds_flow_of(const struct ds *d, long long code)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->flows[i].code == code)
			return &d->flows[i];
	return NULL;
}

cJSON *ds_params(cJSON *task)
{
	return import_node(task, "taskParams");
}

bool ds_is_leaf(const struct ds_flow *f, long long code)
{
	const cJSON *r;

	cJSON_ArrayForEach(r, f->relations)
		if (import_number(r, "preTaskCode") == code)
			return false;
	return true;
}

/* Names there may be alike here, or nothing that a name may hold: the place in the list helps. */
const char *ds_task_name(struct ds *d, const struct ds_flow *f, const cJSON *task)
{
	const char *name = import_name(d->im, import_text(d->im, task, "name"), "");
	const cJSON *t;
	int i = 0, at = 0, same = 0;

	cJSON_ArrayForEach(t, f->tasks) {
		i++;
		if (t == task)
			at = i;
		if (strcmp(import_name(d->im, import_text(d->im, t, "name"), ""), name) == 0)
			same++;
	}
	if (!*name)
		return pile_fmt(d->im->pile, "task_%d", at);
	return same > 1 ? import_numbered(d->im, name, at) : name;
}

bool ds_has_type(struct ds *d, const cJSON *task, const char *type)
{
	return strcmp(import_text(d->im, task, "taskType"), type) == 0;
}

bool ds_is_sub(struct ds *d, const cJSON *task)
{
	return ds_has_type(d, task, "SUB_PROCESS") || ds_has_type(d, task, "SUB_WORKFLOW");
}

long long ds_sub_code(cJSON *task)
{
	cJSON *p = ds_params(task);
	long long code = import_number(p, "processDefinitionCode");

	return code ? code : import_number(p, "workflowDefinitionCode");
}

static const char *with_prefix(struct ds *d, const char *name)
{
	return *d->prefix ? pile_fmt(d->im->pile, "%.28s.%.34s", d->prefix, name) : name;
}

long long ds_code(const cJSON *n)
{
	return cJSON_IsString(n)   ? strtoll(n->valuestring, NULL, 10)
	       : cJSON_IsNumber(n) ? (long long)n->valuedouble
	                           : 0;
}

const char *ds_full_name(struct ds *d, const cJSON *task)
{
	return with_prefix(d, ds_task_name(d, d->flow, task));
}

const char *ds_end_name(struct ds *d, cJSON *task)
{
	const char *name = ds_full_name(d, task);

	return ds_is_sub(d, task) && ds_flow_of(d, ds_sub_code(task)) && d->depth < DS_DEPTH_MAX
	               ? pile_fmt(d->im->pile, "%.58s.end", name)
	               : name;
}
