/* Between the seeds' interfaces and our documents: a saved task is read back as the YAML that
 * it is, and a new one is written as a document of one workflow with one task. A text that came
 * from a seed's client is never expanded: '$' is doubled on the way in. What is read borrows
 * from the document and is gone with def_done(). */
#include "cgi/seeds/def.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/seeds/seed.h"
#include "cgi/server/names.h"
#include "sched/workflow.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/yaml.h"

/* --- reading back ---------------------------------------------------------------------------- */

static int body_take(void *ctx, const struct store_doc *s)
{
	struct def *d = ctx;
	struct diags wrong;

	diags_init(&wrong);
	d->version = s->version;
	d->changed_us = s->at_us;
	if (yaml_read(s->body, s->body_len, s->name, &wrong, &d->docs, &d->n) < 0)
		d->n = 0;
	diags_done(&wrong);
	return 0;
}

static int version_take(void *ctx, const struct store_doc *s)
{
	((struct def *)ctx)->created_us = s->at_us; /* the oldest is last */
	return 0;
}

int def_read(struct reader *r, const char *task, uint32_t workflow, struct def *ret,
             struct err *err)
{
	const char *last = strrchr(task, '/');
	int code = read_doc(r, &(struct read_which){ DOC_WORKFLOW, .id = workflow }, body_take, ret,
	                    err);

	if (code == 0)
		code = read_doc_versions(r, DOC_WORKFLOW, workflow, version_take, ret, err);
	ret->workflow = ret->n > 0 ? yaml_root(ret->docs[0]) : NULL;
	if (ret->workflow && ret->workflow->kind != YAML_MAP)
		ret->workflow = NULL;
	if (ret->workflow && last) {
		const struct yaml_node *tasks = yaml_get(ret->workflow, "tasks");

		if (tasks && tasks->kind == YAML_MAP)
			ret->task = yaml_get(tasks, last + 1);
	}
	return code;
}

void def_done(struct def *d)
{
	for (size_t i = 0; i < d->n; i++)
		yaml_free(d->docs[i]);
	free(d->docs);
	*d = (struct def){ 0 };
}

const struct yaml_node *def_node(const struct def *d, const char *key)
{
	const struct yaml_node *defaults = d->workflow ? yaml_get(d->workflow, "defaults") : NULL;
	const struct yaml_node *shared = d->task && d->workflow
	                                         ? workflow_kept(d->workflow, d->task)
	                                         : NULL;
	const struct yaml_node *places[] = { d->task, shared, defaults, d->workflow };

	for (size_t i = 0; i < 4; i++) {
		const struct yaml_node *n = places[i] && places[i]->kind == YAML_MAP
		                                    ? yaml_get(places[i], key)
		                                    : NULL;

		if (n)
			return n;
	}
	return NULL;
}

const char *def_text(const struct def *d, const char *key)
{
	const struct yaml_node *n = def_node(d, key);

	return n && n->kind == YAML_SCALAR ? n->text : NULL;
}

/* How the types name what they run. */
static const char *const command_keys[] = { "script", "command", "sql", "statement", "code" };
#define COMMAND_KEYS (sizeof(command_keys) / sizeof(command_keys[0]))

char *def_command(const struct def *d)
{
	const struct yaml_node *params = def_node(d, "params"), *n = NULL;
	char *text, *to;

	for (size_t i = 0; params && params->kind == YAML_MAP && i < COMMAND_KEYS && !n; i++)
		n = yaml_get(params, command_keys[i]);
	text = to = mem_str(n && n->kind == YAML_SCALAR ? n->text : "");
	for (const char *p = text; *p != '\0'; p++) {
		*to++ = *p;
		p += *p == '$' && p[1] == '$';
	}
	*to = '\0';
	return text;
}

/* "b" is of the same workflow, "w/b" of the same project. */
static void full_name(const char *task, const char *need, char ret[NAMES_MAX])
{
	int slashes = 0, keep = 0;
	const char *p = task;

	for (const char *q = need; *q != '\0'; q++)
		slashes += *q == '/';
	for (int left = 2 - slashes; left > 0 && *p != '\0'; p++)
		left -= *p == '/';
	keep = (int)(p - task);
	snprintf(ret, NAMES_MAX, "%.*s%.200s", keep, task, need);
}

int def_needs(const struct def *d, const char *task, int (*each)(void *ctx, const char *name),
              void *ctx)
{
	const struct yaml_node *needs = def_node(d, "needs");
	int r = 0;

	for (size_t i = 0; needs && needs->kind == YAML_LIST && r == 0 && i < needs->n; i++) {
		const struct yaml_node *n = needs->items[i];
		char name[NAMES_MAX];

		if (n->kind == YAML_MAP)
			n = yaml_get(n, "task");
		if (!n || n->kind != YAML_SCALAR)
			continue;
		full_name(task, n->text, name);
		r = each(ctx, name);
	}
	return r;
}

/* --- writing --------------------------------------------------------------------------------- */

struct cJSON *def_new(struct call *c, const char *name, const char *title, cJSON **ret_task)
{
	cJSON *doc = cJSON_CreateObject(), *tasks;

	cJSON_AddStringToObject(doc, "workflow", name);
	cJSON_AddStringToObject(doc, "project", seed_project(c));
	cJSON_AddStringToObject(doc, "owner", c->user[0] != '\0' ? c->user : c->actor);
	cJSON_AddStringToObject(doc, "description", title);
	tasks = cJSON_AddObjectToObject(doc, "tasks");
	*ret_task = cJSON_AddObjectToObject(tasks, name);
	return doc;
}

/* '$' doubled: a text that is not ours to expand. */
static char *def_plain(const char *text)
{
	char *ret = mem_array(strlen(text) * 2 + 1, 1), *to = ret;

	for (; *text != '\0'; text++) {
		*to++ = *text;
		if (*text == '$')
			*to++ = '$';
	}
	*to = '\0';
	return ret;
}

void def_command_put(cJSON *task, const char *type, const char *command)
{
	static const struct {
		const char *type, *key;
	} others[] = { { "hive", "sql" },
		       { "presto", "sql" },
		       { "trino", "sql" },
		       { "spark-sql", "sql" },
		       { "sql", "sql" } };
	const char *key = "script";
	char *text = def_plain(command);

	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		if (strcmp(others[i].type, type) == 0)
			key = others[i].key;
	cJSON_AddStringToObject(task, "type", type);
	cJSON_AddStringToObject(cJSON_AddObjectToObject(task, "params"), key, text);
	free(text);
}
