/* sirdar import dolphinscheduler: the JSON that DolphinScheduler 3 exports, a list of process
 * definitions (workflow definitions, in later versions) with tasks, relations, schedule. */
#include "admin-console/cli/import/ds.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sched/code.h"
#include "sched/workflow.h"
#include "util/err.h"
#include "util/pile.h"
#include "util/yaml.h"

/* --- links ------------------------------------------------------------------------------- */

/* Which way a CONDITIONS task sends another: 1 after success, -1 after failure, 0 neither. */
static int branch_of(cJSON *conditions, long long code)
{
	static const char *const keys[] = { "successNode", "failedNode" };
	cJSON *result = import_node(ds_params(conditions), "conditionResult");

	for (int i = 0; i < 2 && result; i++) {
		const cJSON *n;
		cJSON_ArrayForEach(n, cJSON_GetObjectItemCaseSensitive(result, keys[i]))
			if (ds_code(n) == code)
				return i ? -1 : 1;
	}
	return 0;
}

/* Tasks that a CONDITIONS task judges, as links; all of them must have been asked for success. */
static void conditions_needs(struct ds *d, const char *where, cJSON *conditions, int way,
                             struct buf *out, bool *any)
{
	cJSON *dependence = import_node(ds_params(conditions), "dependence"), *group, *item;
	cJSON *groups = dependence ? import_node(dependence, "dependTaskList") : NULL;

	*any = way < 0;
	cJSON_ArrayForEach(group, groups)
		cJSON_ArrayForEach(item, import_node(group, "dependItemList")) {
			cJSON *judged = ds_task(d->flow, import_number(item, "depTaskCode"));
			bool success = strcmp(import_text(d->im, item, "status"), "FAILURE") != 0;
			if (!judged) {
				import_note(d->im, where,
				            "a condition is left out: task %lld is not there",
				            import_number(item, "depTaskCode"));
				continue;
			}
			bool on_success = success == (way > 0);
			buf_printf(out, "      - {task: %s, depend: 1, on: %s}\n",
			           ds_end_name(d, judged), on_success ? "success" : "failure");
		}
	if (cJSON_GetArraySize(groups) > 1 ||
	    strcmp(import_text(d->im, dependence, "relation"), "OR") == 0)
		import_note(d->im, where,
		            "several groups of conditions are joined as one: check `join` by hand");
}

static void put_need(struct ds *d, const char *where, cJSON *parent, long long code,
                     struct buf *out, bool *any)
{
	if (!ds_has_type(d, parent, "CONDITIONS")) {
		buf_printf(out, "      - {task: %s, depend: 1}\n", ds_end_name(d, parent));
		return;
	}
	int way = branch_of(parent, code);
	if (way)
		conditions_needs(d, where, parent, way, out, any);
	else
		import_note(d->im, where,
		            "a link from the conditions task %s is left out: it is on "
		            "neither branch",
		            import_text(d->im, parent, "name"));
}

/* The lines of `needs`; `root`: what tasks without a parent wait for, within a sub process. */
static const char *needs_of(struct ds *d, const char *where, const cJSON *task, const char *root,
                            bool *any)
{
	long long code = import_number(task, "code");
	const cJSON *r;
	struct buf out;

	buf_init(&out);
	cJSON_ArrayForEach(r, d->flow->relations) {
		cJSON *parent = import_number(r, "postTaskCode") == code
		                        ? ds_task(d->flow, import_number(r, "preTaskCode"))
		                        : NULL;
		if (parent)
			put_need(d, where, parent, code, &out, any);
	}
	if (!out.len && *root)
		buf_printf(&out, "      - {task: %s, depend: 1}\n", root);
	const char *text = pile_str(d->im->pile, buf_str(&out));
	buf_done(&out);
	return text;
}

/* --- what a task is ---------------------------------------------------------------------- */

static void put_params_of(struct ds *d, const char *where, cJSON *task)
{
	cJSON *p;

	cJSON_ArrayForEach(p, import_node(ds_params(task), "localParams")) {
		const char *prop = import_text(d->im, p, "prop");
		if (strcmp(import_text(d->im, p, "direct"), "OUT") == 0)
			continue;
		if (!word_ok(prop) || strcmp(prop, "script") == 0) {
			import_note(d->im, where, "the parameter '%s' is left out: no name here",
			            prop);
			continue;
		}
		const char *value = ds_text(d, task, where, import_text(d->im, p, "value"));
		buf_printf(&d->im->out, "      %s: ", prop);
		yaml_print_text(value, false, &d->im->out);
		buf_putc(&d->im->out, '\n');
	}
}

static void put_outputs(struct ds *d, cJSON *task)
{
	cJSON *p;
	bool any = false;

	cJSON_ArrayForEach(p, import_node(ds_params(task), "localParams")) {
		const char *prop = import_text(d->im, p, "prop");
		if (strcmp(import_text(d->im, p, "direct"), "OUT") != 0 || !word_ok(prop))
			continue;
		buf_printf(&d->im->out, "%s%s", any ? ", " : "    outputs: [", prop);
		any = true;
	}
	if (any)
		buf_puts(&d->im->out, "]\n");
}

/* A parameter of the runner, from a member of taskParams. */
static void put_of(struct ds *d, const char *where, cJSON *task, const char *key,
                   const char *member)
{
	import_put(d->im, 6, key,
	           ds_text(d, task, where, import_text(d->im, ds_params(task), member)));
}

/* There values become a part of the code; here that is to be said. */
static void put_raw(struct ds *d, const char *where, enum code_kind kind, const char *code)
{
	struct err err = { 0 };

	if (code_check(kind, code, &err, NULL) == 0)
		return;
	import_put(d->im, 4, "raw", "true");
	import_note(d->im, where,
	            "%s: `raw` lets values be a part of the code, for which the right unsafe is "
	            "needed; better bring them in as data",
	            err.text);
}

static const char *code_of(struct ds *d, const char *where, cJSON *task, const char *member)
{
	return ds_text(d, task, where, import_text(d->im, ds_params(task), member));
}

/* '${name}' in SQL is the value here without the quotes. */
static const char *without_quotes(struct ds *d, const char *sql)
{
	struct buf out;

	buf_init(&out);
	while (*sql) {
		size_t n = strncmp(sql, "'${", 3) == 0 ? strcspn(sql, "}") : 0;
		if (n && sql[n] == '}' && sql[n + 1] == '\'' && !memchr(sql + 1, '\'', n)) {
			buf_put(&out, sql + 1, n);
			sql += n + 2;
		} else {
			buf_putc(&out, *sql++);
		}
	}
	const char *result = pile_str(d->im->pile, buf_str(&out));
	buf_done(&out);
	return result;
}

static void put_script(struct ds *d, const char *where, cJSON *task)
{
	const char *type = ds_has_type(d, task, "PYTHON") ? "python" : "shell";
	enum code_kind kind = strcmp(type, "shell") == 0 ? CODE_SHELL : CODE_OTHER;
	const char *script = code_of(d, where, task, "rawScript");

	import_put(d->im, 4, "type", type);
	buf_puts(&d->im->out, "    params:\n");
	import_put(d->im, 6, "script", script);
	if (!*import_text(d->im, ds_params(task), "rawScript"))
		import_put(d->im, 6, "script", "true");
	put_params_of(d, where, task);
	put_raw(d, where, kind, script);
	if (cJSON_GetArraySize(import_node(ds_params(task), "resourceList")) > 0)
		import_note(d->im, where, "resource files are left out: put them on the machines");
}

static void put_sql(struct ds *d, const char *where, cJSON *task)
{
	const char *source = import_text(d->im, ds_params(task), "datasource");
	const char *sql = without_quotes(d, code_of(d, where, task, "sql"));

	import_put(d->im, 4, "type", "sql");
	buf_puts(&d->im->out, "    params:\n");
	import_put(d->im, 6, "server", pile_fmt(d->im->pile, "datasource_%s", source));
	import_put(d->im, 6, "sql", sql);
	put_params_of(d, where, task);
	put_raw(d, where, CODE_SQL, sql);
	import_note(d->im, where,
	            "the datasource %s (%s) must be a target server: rename "
	            "datasource_%s",
	            source, import_text(d->im, ds_params(task), "type"), source);
	if (cJSON_GetArraySize(import_node(ds_params(task), "preStatements")) ||
	    cJSON_GetArraySize(import_node(ds_params(task), "postStatements")))
		import_note(d->im, where,
		            "statements before and after are left out: put them in `sql`");
	if (import_number(ds_params(task), "sendEmail"))
		import_note(d->im, where, "the mail with the result is left out");
}

static void put_http(struct ds *d, const char *where, cJSON *task)
{
	const char *method = import_text(d->im, ds_params(task), "httpMethod");
	char *lower = pile_str(d->im->pile, *method ? method : "GET");

	for (char *p = lower; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	import_put(d->im, 4, "type", "http");
	buf_puts(&d->im->out, "    params:\n");
	put_of(d, where, task, "url", "url");
	import_put(d->im, 6, "method", lower);
	put_of(d, where, task, "body", "httpBody");
	put_params_of(d, where, task);
	if (cJSON_GetArraySize(import_node(ds_params(task), "httpParams")) > 0)
		import_note(d->im, where, "headers and parameters of the request are left out");
	const char *check = import_text(d->im, ds_params(task), "httpCheckCondition");
	if (*check && strcmp(check, "STATUS_CODE_DEFAULT") != 0)
		import_note(d->im, where, "the check %s is left out: a status of 2xx is success",
		            check);
}

static void put_other(struct ds *d, const char *where, const cJSON *task)
{
	import_put(d->im, 4, "type", "noop");
	import_put(d->im, 4, "state", "frozen");
	import_note(d->im, where,
	            "a task of type %s cannot be carried over: it stands frozen, so that "
	            "what follows waits",
	            import_text(d->im, task, "taskType"));
}

static void put_switch(struct ds *d, const char *where, cJSON *task)
{
	if (ds_put_switch(d, where, task))
		put_params_of(d, where, task);
	else
		put_other(d, where, task);
}

static const struct {
	const char *type;
	void (*put)(struct ds *d, const char *where, cJSON *task);
} types[] = {
	{ "SHELL", put_script }, { "PYTHON", put_script }, { "SQL", put_sql },
	{ "HTTP", put_http },    { "SWITCH", put_switch },
};

static void put_body(struct ds *d, const char *where, cJSON *task)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (ds_has_type(d, task, types[i].type)) {
			types[i].put(d, where, task);
			put_outputs(d, task);
			return;
		}
	put_other(d, where, task);
}

/* --- settings of a task ------------------------------------------------------------------ */

static int priority_of(const char *name)
{
	static const char *const names[] = { "LOWEST", "LOW", "MEDIUM", "HIGH", "HIGHEST" };
	static const int numbers[] = { 1, 3, 5, 8, 10 };

	for (int i = 0; i < 5; i++)
		if (strcmp(names[i], name) == 0)
			return numbers[i];
	return 5;
}

static void put_timeout(struct ds *d, const char *where, const cJSON *task)
{
	const char *way = import_text(d->im, task, "timeoutNotifyStrategy");
	long long minutes = import_number(task, "timeout");

	if (strcmp(import_text(d->im, task, "timeoutFlag"), "OPEN") != 0 || minutes <= 0)
		return;
	if (strstr(way, "FAILED"))
		buf_printf(&d->im->out, "    alive_wait: %lldm\n", minutes);
	if (strstr(way, "WARN"))
		import_note(d->im, where,
		            "the warning after %lld minutes is left out: alerts are of "
		            "the workflow",
		            minutes);
}

static void put_settings(struct ds *d, const char *where, const cJSON *task)
{
	const char *group = import_text(d->im, task, "workerGroup");
	long long retries = import_number(task, "failRetryTimes"),
		  every = import_number(task, "failRetryInterval");
	int priority = priority_of(import_text(d->im, task, "taskPriority"));

	import_title(d->im, 4, import_text(d->im, task, "name"), ds_task_name(d, d->flow, task));
	import_put(d->im, 4, "description", import_text(d->im, task, "description"));
	if (priority != 5)
		buf_printf(&d->im->out, "    priority: %d\n", priority);
	if (retries > 0)
		buf_printf(&d->im->out, "    retry: {attempts: %lld, delay: %lldm}\n", retries + 1,
		           every > 0 ? every : 1);
	if (*group && strcmp(group, "default") != 0 && !d->im->group)
		import_put(d->im, 4, "group", import_word(d->im, group, "group"));
	put_timeout(d, where, task);
	if (import_number(task, "delayTime") > 0)
		import_note(d->im, where, "the delay of %lld minutes is left out",
		            import_number(task, "delayTime"));
	if (import_number(task, "environmentCode") > 0)
		import_note(d->im, where, "the environment %lld is left out: set `environment`",
		            import_number(task, "environmentCode"));
}

/* --- tasks ------------------------------------------------------------------------------- */

static void put_tasks(struct ds *d, const struct ds_flow *f, const char *prefix, const char *root);

/* The tasks of a sub process stand here, between a beginning and an end. */
static void put_sub(struct ds *d, const char *name, const struct ds_flow *sub)
{
	const struct ds_flow *outer = d->flow;
	const char *prefix = d->prefix;
	cJSON *t;

	d->depth++;
	put_tasks(d, sub, name, name);
	d->flow = sub;
	d->prefix = name;
	buf_printf(&d->im->out, "  %.58s.end:\n    type: noop\n    needs:\n", name);
	cJSON_ArrayForEach(t, sub->tasks)
		if (ds_is_leaf(sub, import_number(t, "code")) && !ds_has_type(d, t, "CONDITIONS"))
			buf_printf(&d->im->out, "      - {task: %s, depend: 1}\n",
			           ds_end_name(d, t));
	d->depth--;
	d->flow = outer;
	d->prefix = prefix;
}

static void put_plain_task(struct ds *d, const char *name, const char *where, cJSON *task,
                           const char *needs, bool any)
{
	bool disabled = strcmp(import_text(d->im, task, "flag"), "NO") == 0;
	const struct ds_flow *sub = ds_is_sub(d, task) ? ds_flow_of(d, ds_sub_code(task)) : NULL;

	buf_printf(&d->im->out, "  %s:\n", name);
	if (disabled) {
		import_put(d->im, 4, "type", "noop");
		import_note(d->im, where, "the task is forbidden there: it does nothing here");
	} else if (sub && d->depth < DS_DEPTH_MAX) {
		import_put(d->im, 4, "type", "noop");
	} else {
		put_body(d, where, task);
	}
	put_settings(d, where, task);
	if (any)
		buf_puts(&d->im->out, "    join: any\n");
	if (*needs)
		buf_printf(&d->im->out, "    needs:\n%s", needs);
	if (sub && d->depth < DS_DEPTH_MAX)
		put_sub(d, name, sub);
}

static void put_tasks(struct ds *d, const struct ds_flow *f, const char *prefix, const char *root)
{
	cJSON *task;
	int i = 0;

	cJSON_ArrayForEach(task, f->tasks) {
		d->flow = f;
		d->prefix = prefix;
		const char *name = ds_full_name(d, task);
		const char *where = pile_fmt(d->im->pile, "%s.tasks[%d]", f->where, i++);
		bool any = false;
		if (ds_has_type(d, task, "CONDITIONS"))
			continue; /* its branches carry what it says */
		const char *needs = needs_of(d, where, task, root, &any);
		if (ds_has_type(d, task, "DEPENDENT"))
			ds_put_dependent(d, name, where, task, needs);
		else
			put_plain_task(d, name, where, task, needs, any);
	}
}

/* --- a workflow -------------------------------------------------------------------------- */

static void put_schedule(struct ds *d, const struct ds_flow *f)
{
	const cJSON *s = f->schedule;
	const char *cron = import_text(d->im, s, "crontab"),
		   *zone = import_text(d->im, s, "timezoneId");
	const char *start = import_text(d->im, s, "startTime"),
		   *end = import_text(d->im, s, "endTime");

	if (!*cron) {
		buf_puts(&d->im->out, "defaults:\n  cycle: none\n");
		import_note(d->im, f->where, "there is no schedule: tasks run when asked");
	} else {
		import_put(d->im, 0, "timezone", zone);
		/* 2022-06-22 00:00:00, or with a T and an offset: the date is what counts. */
		if (strlen(start) >= 10 && isdigit((unsigned char)*start))
			import_put(d->im, 0, "start_date", pile_strn(d->im->pile, start, 10));
		if (strlen(end) >= 10 && isdigit((unsigned char)*end))
			import_put(d->im, 0, "end_date", pile_strn(d->im->pile, end, 10));
		if (strcmp(import_text(d->im, s, "releaseState"), "ONLINE") != 0)
			import_put(d->im, 0, "state", "offline");
		buf_puts(&d->im->out, "defaults:\n");
		import_put(d->im, 2, "cron", cron);
		buf_puts(&d->im->out, "  catchup: {mode: none}\n");
		if (strcmp(import_text(d->im, s, "failureStrategy"), "END") == 0)
			import_note(d->im, f->where,
			            "failureStrategy END is left out: tasks that do "
			            "not depend on the failed one go on");
		const char *warn = import_text(d->im, s, "warningType");
		if (*warn && strcmp(warn, "NONE") != 0)
			import_note(d->im, f->where, "warningType %s is left out: set `alerts`",
			            warn);
	}
	if (d->im->group)
		import_put(d->im, 2, "group", d->im->group);
}

static void put_globals(struct ds *d, const struct ds_flow *f)
{
	cJSON *list = import_node(f->definition, "globalParamList"), *p;
	bool any = false;

	if (!list)
		list = import_node(f->definition, "globalParams");
	d->flow = f;
	cJSON_ArrayForEach(p, list) {
		const char *prop = import_text(d->im, p, "prop");
		if (!word_ok(prop)) {
			import_note(d->im, f->where, "the parameter '%s' is left out: no name here",
			            prop);
			continue;
		}
		buf_printf(&d->im->out, "%s  %s: ", any ? "" : "parameters:\n", prop);
		yaml_print_text(ds_text(d, f->definition, f->where, import_text(d->im, p, "value")),
		                false, &d->im->out);
		buf_putc(&d->im->out, '\n');
		any = true;
	}
}

/* What becomes of a run while the one before goes on. */
static void put_overlap(struct ds *d, const struct ds_flow *f)
{
	static const struct {
		const char *way, *overlap;
	} ways[] = { { "SERIAL_WAIT", "queue" },
		     { "SERIAL_DISCARD", "skip" },
		     { "SERIAL_PRIORITY", "replace" } };
	const char *way = import_text(d->im, f->definition, "executionType");

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(ways[i].way, way) == 0) {
			import_put(d->im, 0, "overlap", ways[i].overlap);
			return;
		}
	if (*way && strcmp(way, "PARALLEL") != 0)
		import_note(d->im, f->where, "executionType %s is left out: set `overlap`", way);
}

static void put_flow(struct ds *d, const struct ds_flow *f)
{
	struct import *im = d->im;

	if (cJSON_GetArraySize(f->tasks) == 0) {
		import_note(im, f->where, "%s is left out: it has no tasks", f->name);
		return;
	}
	buf_puts(&im->out, im->out.len ? "---\n" : "");
	import_put(im, 0, "workflow", f->name);
	import_put(im, 0, "project", im->project);
	import_title(im, 0, import_text(im, f->definition, "name"), f->name);
	import_put(im, 0, "description", import_text(im, f->definition, "description"));
	put_globals(d, f);
	put_schedule(d, f);
	put_overlap(d, f);
	buf_puts(&im->out, "tasks:\n");
	d->depth = 0;
	put_tasks(d, f, "", "");
	if (import_number(f->definition, "timeout") > 0)
		import_note(im, f->where, "the timeout of the whole workflow is left out");
}

static void take_flow(struct ds *d, cJSON *node, int i)
{
	struct ds_flow *f = &d->flows[d->n];
	cJSON *definition = import_node(node, "processDefinition");

	*f = (struct ds_flow){ .node = node, .where = pile_fmt(d->im->pile, "definitions[%d]", i) };
	f->definition = definition ? definition : import_node(node, "workflowDefinition");
	f->tasks = import_node(node, "taskDefinitionList");
	f->relations = import_node(node, "processTaskRelationList");
	if (!f->relations)
		f->relations = import_node(node, "workflowTaskRelationList");
	f->schedule = import_node(node, "schedule");
	if (!f->definition) {
		import_note(d->im, f->where, "left out: there is no processDefinition in it");
		return;
	}
	f->code = import_number(f->definition, "code");
	f->name = import_name(d->im, import_text(d->im, f->definition, "name"),
	                      pile_fmt(d->im->pile, "workflow_%d", i + 1));
	d->n++;
}

static void make(struct import *im)
{
	cJSON *root = cJSON_ParseWithLength(buf_str(&im->text), im->text.len), *p;
	struct ds d = { .im = im, .prefix = "" };
	int i = 0;

	if (!root) {
		import_note(im, "1", "this is no JSON");
		return;
	}
	d.flows = pile_take(im->pile, ((size_t)cJSON_GetArraySize(root) + 1) * sizeof *d.flows);
	if (cJSON_IsArray(root))
		cJSON_ArrayForEach(p, root)
			take_flow(&d, p, i++);
	else
		take_flow(&d, root, 0);
	for (size_t k = 0; k < d.n; k++)
		put_flow(&d, &d.flows[k]);
	cJSON_Delete(root);
}

IMPORT(dolphinscheduler, import_options);
