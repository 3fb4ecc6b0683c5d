/* ECTS's pipelines and tasks made, changed and deleted: each an apply, or a retirement. What was
 * read meanwhile by somebody else's change is refused by its version. */
#include "cgi/seeds/ects.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/seeds/seed.h"
#include "sched/ects.h"
#include "sched/name.h"
#include "store/read.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/yaml.h"

/* A change on its way from what is read to its command. */
struct change {
	struct call *c;
	struct reader *r;
	const char *project;
	bool makes, ends;
	char id[ECTS_ID_BYTES], name[NAMES_MAX]; /* what is told when it is done */
	struct def library;
	char node[80]; /* of the last that was asked for */
};

static void change_ask(struct change *x, const char *kind, cJSON *args)
{
	struct call *c = x->c;

	cJSON_Delete(c->json);
	c->json = cJSON_CreateObject();
	cJSON_AddStringToObject(c->json, "kind", kind);
	cJSON_AddStringToObject(c->json, "id", x->id);
	cJSON_AddStringToObject(c->json, "name", x->name);
	cJSON_AddItemToObject(c->json, "args", args);
}

static void ask_apply(struct change *x, const struct buf *text, uint32_t version)
{
	cJSON *args = cJSON_CreateObject(), *one = cJSON_CreateObject();

	cJSON_AddItemToArray(cJSON_AddArrayToObject(args, "documents"), one);
	cJSON_AddStringToObject(one, "name", x->project);
	cJSON_AddStringToObject(one, "text", buf_str((struct buf *)(uintptr_t)text));
	cJSON_AddNumberToObject(one, "version", version);
	cJSON_AddTrueToObject(args, "retire"); /* steps that are no longer in it */
	change_ask(x, "apply", args);
}

static void name_it(struct change *x, const char *id, const char *name)
{
	snprintf(x->id, sizeof x->id, "%s", id);
	snprintf(x->name, sizeof x->name, "%s", name);
}

/* The body, with the name that it has when it says none. Another is refused: what it is called
 * belongs to its history. */
static int check_name(struct call *c, const char *is)
{
	const char *name = json_text(c->json, "name");

	if (!cJSON_IsObject(c->json))
		return call_fail(c, E_INVALID, "body", "an object is wanted");
	if (!name) {
		cJSON_AddStringToObject(c->json, "name", is);
		return 0;
	}
	return strcmp(name, is) == 0 ? 0
	                             : call_fail(c, E_CONFLICT, "name",
	                                         "it is called '%s', and keeps its name", is);
}

/* So does its id. */
static int check_id(struct call *c)
{
	const char *id = json_text(c->json, "id");

	return !id || strcmp(id, c->params[0]) == 0
	               ? 0
	               : call_fail(c, E_CONFLICT, "id",
	                           "the body has the id '%.100s', '%.100s' keeps its own", id,
	                           c->params[0]);
}

/* --- pipelines -------------------------------------------------------------------------------- */

static int node_take(void *ctx, const struct store_doc *s)
{
	struct change *x = ctx;
	cJSON *root = NULL;

	if (s->body_len > 0 && json_parse(s->body, s->body_len, &root, NULL) == 0 &&
	    json_text(root, "name"))
		snprintf(x->node, sizeof x->node, "%s", json_text(root, "name"));
	json_free(root);
	return 0;
}

static const char *node_name(void *ctx, const char *id)
{
	struct change *x = ctx;
	struct err err = { 0 };

	x->node[0] = '\0';
	(void)read_doc(x->r, &(struct read_which){ DOC_NODE, .name = id }, node_take, x, &err);
	return x->node[0] != '\0' ? x->node : NULL;
}

/* The pipeline of that id, or (NULL) of that name. E_NOT_FOUND */
static int change_find(struct change *x, const char *id, const char *name, struct def *ret)
{
	struct ects_names l = { .project = x->project };
	char is[ECTS_ID_BYTES];
	int code = ects_names(x->r, &l, &x->c->err);
	bool found = false;

	for (size_t i = 0; code == 0 && !found && i < l.n; i++) {
		if (!id && strcmp(strchr(l.items[i].name, '/') + 1, name) != 0)
			continue;
		code = def_read(x->r, l.items[i].name, l.items[i].id, ret, &x->c->err);
		if (code == 0 && ret->workflow && yaml_get(ret->workflow, "pipeline")) {
			ects_pipeline_id(ret->workflow, x->project, is);
			found = !id || strcmp(is, id) == 0;
		} else if (code == 0) {
			found = !id; /* a workflow has that name */
		}
		if (!found)
			def_done(ret);
	}
	free(l.items);
	return code < 0 || found ? code : E_NOT_FOUND;
}

static int pipeline_put(struct change *x, const struct def *was)
{
	struct ects_world w = { x->project, x->library.workflow, was->workflow, node_name, x };
	struct call *c = x->c;
	struct err err = { 0 };
	struct yaml_doc **docs = NULL;
	struct diags d;
	struct buf text;
	size_t n = 0;

	buf_init(&text);
	if (ects_pipeline_read(c->json, &w, &text, &err) < 0) {
		buf_done(&text);
		return call_fail(c, E_INVALID, "body", "%s", err.text);
	}
	diags_init(&d);
	if (yaml_read(buf_str(&text), text.len, "", &d, &docs, &n) == 0 && n == 1) {
		char id[ECTS_ID_BYTES];

		ects_pipeline_id(yaml_root(docs[0]), x->project, id);
		name_it(x, id, json_text(c->json, "name"));
	}
	for (size_t i = 0; i < n; i++)
		yaml_free(docs[i]);
	free(docs);
	diags_done(&d);
	ask_apply(x, &text, was->version);
	buf_done(&text);
	return 0;
}

static int pipeline_end(struct change *x, const struct def *was)
{
	const char *name = yaml_get(was->workflow, "pipeline")->text;
	cJSON *args = cJSON_CreateObject();
	char full[NAMES_MAX];

	snprintf(full, sizeof full, "%s/%s", x->project, name);
	cJSON_AddStringToObject(cJSON_AddObjectToObject(args, "selection"), "workflow", full);
	cJSON_AddTrueToObject(args, "detach");
	cJSON_AddStringToObject(args, "running", "wait"); /* what runs ends as it does */
	name_it(x, x->c->params[0], name);
	change_ask(x, "retire", args);
	return 0;
}

static int pipeline_change(struct change *x)
{
	struct call *c = x->c;
	struct def was = { 0 };
	const char *name = json_text(c->json, "name"), *id = json_text(c->json, "id");
	int code = x->makes ? change_find(x, NULL, name ? name : "", &was)
	                    : change_find(x, c->params[0], NULL, &was);

	if (x->makes && code == 0) {
		code = call_fail(c, E_CONFLICT, "name", "'%s' is there already", name);
	} else if (x->makes && code == E_NOT_FOUND) {
		code = id && change_find(x, id, NULL, &was) == 0
		               ? call_fail(c, E_CONFLICT, "id", "a pipeline has the id '%.100s'",
		                           id)
		               : pipeline_put(x, &(struct def){ 0 });
	} else if (code == E_NOT_FOUND) {
		code = call_fail(c, E_NOT_FOUND, "path", "there is no pipeline '%.100s'",
		                 c->params[0]);
	} else if (code == 0 && x->ends) {
		code = pipeline_end(x, &was);
	} else if (code == 0) {
		code = check_name(c, yaml_get(was.workflow, "pipeline")->text);
		if (code == 0)
			code = check_id(c);
		if (code == 0)
			code = pipeline_put(x, &was);
	}
	def_done(&was);
	return code;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static const struct yaml_node *shared(const struct change *x, const char *name)
{
	const struct yaml_node *tasks = x->library.workflow ? yaml_get(x->library.workflow, "tasks")
	                                                    : NULL;

	return tasks ? yaml_get(tasks, name) : NULL;
}

static int task_put(struct change *x, const char *name)
{
	struct call *c = x->c;
	const struct yaml_node *was = shared(x, name);
	const struct yaml_node *had = was ? yaml_get(was, "id") : NULL;
	const char *given = had ? had->text : json_text(c->json, "id");
	struct err err = { 0 };
	char id[ECTS_ID_BYTES];
	struct buf value, text;

	buf_init(&value);
	buf_init(&text);
	if (ects_task_read(c->json, was, &value, &err) < 0) {
		call_fail(c, E_INVALID, "body", "%s", err.text);
	} else {
		ects_library_put(x->library.workflow, x->project, name, buf_str(&value), &text);
		ects_task_id(x->project, name, given, id);
		name_it(x, id, name);
		ask_apply(x, &text, x->library.version);
	}
	buf_done(&text);
	buf_done(&value);
	return c->err.code;
}

static int task_end(struct change *x, const char *name)
{
	cJSON *args = cJSON_CreateObject();
	char full[NAMES_MAX];
	struct buf text;

	name_it(x, x->c->params[0], name);
	if (yaml_get(x->library.workflow, "tasks")->n > 1) {
		cJSON_Delete(args);
		buf_init(&text);
		ects_library_put(x->library.workflow, x->project, name, "", &text);
		ask_apply(x, &text, x->library.version);
		buf_done(&text);
		return 0;
	}
	snprintf(full, sizeof full, "%s/" ECTS_LIBRARY, x->project);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(args, "retire_libraries"),
	                     cJSON_CreateString(full));
	change_ask(x, "apply", args);
	return 0;
}

static int task_make(struct change *x)
{
	struct call *c = x->c;
	const char *name = json_text(c->json, "name"), *id = json_text(c->json, "id");
	char why[NAME_WHY_BYTES];

	if (!name)
		return call_fail(c, E_INVALID, "name", "name is missing");
	if (name_wrong(name, why))
		return call_fail(c, E_INVALID, "name", "a task cannot be called '%.100s': %s", name,
		                 why);
	if (shared(x, name))
		return call_fail(c, E_CONFLICT, "name", "'%s' is there already", name);
	if (id && x->library.workflow && ects_task_find(x->library.workflow, x->project, id))
		return call_fail(c, E_CONFLICT, "id", "a task has the id '%.100s'", id);
	return task_put(x, name);
}

static int task_change(struct change *x)
{
	struct call *c = x->c;
	const char *name;

	if (x->makes)
		return task_make(x);
	name = x->library.workflow ? ects_task_find(x->library.workflow, x->project, c->params[0])
	                           : NULL;
	if (!name)
		return call_fail(c, E_NOT_FOUND, "path",
		                 "no task of the library has the id '%.100s'; one that stands in a "
		                 "pipeline alone is changed there",
		                 c->params[0]);
	if (x->ends)
		return task_end(x, name);
	return check_name(c, name) < 0 || check_id(c) < 0 ? c->err.code : task_put(x, name);
}

/* --- both ------------------------------------------------------------------------------------- */

int ects_change_work(struct call *c, struct reader *r)
{
	struct change x = { .c = c,
		            .r = r,
		            .project = seed_project(c),
		            .makes = strcmp(c->route->method, "POST") == 0,
		            .ends = strcmp(c->route->method, "DELETE") == 0 };
	bool tasks = strncmp(c->route->path, "/ects/tasks", 11) == 0;
	int code = ects_library(c, r, &x.library);

	if (code == 0)
		code = tasks ? task_change(&x) : pipeline_change(&x);
	def_done(&x.library);
	return code;
}

static int change_done(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->details);
	put_open(&c->details, NULL, '{');
	put_text(&c->details, "id", json_text(c->json, "id"));
	put_text(&c->details, "name", json_text(c->json, "name"));
	put_close(&c->details, '}');
	return ects_answer(c);
}

int ects_change(struct call *c)
{
	char kind[16];
	cJSON *args;

	if (c->err.code < 0)
		return c->err.code;
	snprintf(kind, sizeof kind, "%s", json_text(c->json, "kind"));
	args = cJSON_DetachItemFromObjectCaseSensitive(c->json, "args");
	return seed_ask(c, kind, args, change_done);
}
