/* What the server knows, asked once: task types with what they declare, parameters that `param set`
 * made, target servers, machines and their groups. The world of the files answers by it as the
 * server's own does at a save (baseserver/model/world.c). What one may not read is not doubted. */
#include "admin-console/cli/offline/known.h"

#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"

#include "sched/type.h"
#include "util/alloc.h"
#include "util/diag.h"
#include "util/json_in.h"

struct known {
	struct type_set *types;
	struct workflow_set *stored; /* documents of parameters */
	cJSON *servers, *brokers;    /* answers; NULL: may not be read */
	const struct workflow_set *files;
};

static void drop_empty(cJSON *o)
{
	for (cJSON *m = o->child, *next; m; m = next) {
		next = m->next;
		if (cJSON_IsNull(m) || ((cJSON_IsArray(m) || cJSON_IsObject(m)) && !m->child) ||
		    (cJSON_IsString(m) && !m->valuestring[0]))
			cJSON_Delete(cJSON_DetachItemViaPointer(o, m));
		else if (cJSON_IsObject(m))
			drop_empty(m);
	}
}

/* What the API tells of a type is its manifest, but for brokers and what is empty. */
static void add_type(struct type_set *set, cJSON *type)
{
	struct diags d;
	cJSON *p;

	if (!json_true(type, "declared"))
		return;
	cJSON_DeleteItemFromObject(type, "declared");
	cJSON_DeleteItemFromObject(type, "brokers");
	cJSON_ArrayForEach(p, json_get(type, "params"))
		drop_empty(p);
	drop_empty(type);
	diags_init(&d);
	char *text = cJSON_PrintUnformatted(type);
	type_set_read(set, text, strlen(text), text_of(type, "type"), &d);
	files_print_diags(&d, stderr);
	cJSON_free(text);
	diags_done(&d);
}

static void add_parameters(struct known *k, const cJSON *page)
{
	const cJSON *item;
	struct diags d;

	diags_init(&d);
	cJSON_ArrayForEach(item, json_get(page, "items")) {
		const char *text = text_of(item, "document");
		workflow_set_read(k->stored, text, strlen(text), text_of(item, "name"), &d);
	}
	diags_done(&d);
}

int known_ask(struct cli *cli, struct known **ret)
{
	struct known *k = mem_new(sizeof *k);
	struct online o = { 0 };
	cJSON *types = NULL, *page = NULL, *type;
	int code = online_open(cli, &o);

	k->types = type_set_new();
	k->stored = workflow_set_new();
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/types", NULL, &types);
	cJSON_ArrayForEach(type, json_get(types, "types"))
		add_type(k->types, type);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/parameters?limit=500", NULL, &page);
	add_parameters(k, page);
	o.quiet = true;
	if (code == CLI_OK)
		online_call(&o, "GET", "/api/v1/servers", NULL, &k->servers);
	if (code == CLI_OK)
		online_call(&o, "GET", "/api/v1/brokers", NULL, &k->brokers);
	cJSON_Delete(types);
	cJSON_Delete(page);
	online_close(&o);
	if (code == CLI_OK)
		*ret = k;
	else
		known_free(k);
	return code;
}

void known_free(struct known *k)
{
	if (!k)
		return;
	type_set_free(k->types);
	workflow_set_free(k->stored);
	cJSON_Delete(k->servers);
	cJSON_Delete(k->brokers);
	free(k);
}

const struct type_set *known_types(const struct known *k)
{
	return k ? k->types : NULL;
}

/* --- the world ------------------------------------------------------------------------------- */

static const struct workflow_scope *scope_of(const struct workflow_set *set, const char *project)
{
	for (size_t i = 0; i < workflow_set_scopes(set); i++) {
		const struct workflow_scope *s = workflow_set_scope(set, i);
		if (strcmp(workflow_scope_project(s), project) == 0)
			return s;
	}
	return NULL;
}

/* Parameters among the files stand instead of the stored ones of the same project. */
static bool known_parameter(void *ctx, const char *project, const char *name)
{
	const struct known *k = ctx;
	const char *const of[] = { project, "" };
	const cJSON *s;

	if (strncmp(name, "server.", 7) == 0) {
		size_t n = strcspn(name + 7, ".");
		cJSON_ArrayForEach(s, json_get(k->servers, "servers"))
			if (strlen(text_of(s, "server")) == n &&
			    strncmp(text_of(s, "server"), name + 7, n) == 0)
				return true;
		return !k->servers;
	}
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		const struct workflow_scope *stored = scope_of(k->stored, of[i]);
		if (stored && !scope_of(k->files, of[i]) && workflow_scope_value(stored, name))
			return true;
	}
	return false;
}

static bool is_in(const cJSON *list, const char *text)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, list)
		if (cJSON_IsString(e) && strcmp(e->valuestring, text) == 0)
			return true;
	return false;
}

static bool known_machine(void *ctx, const char *name, bool group)
{
	const struct known *k = ctx;
	const cJSON *brokers = json_get(k->brokers, "brokers"), *b;

	cJSON_ArrayForEach(b, brokers)
		if (group ? is_in(json_get(b, "groups"), name)
		          : strcmp(text_of(b, "name"), name) == 0)
			return true;
	return !brokers || !brokers->child; /* nobody is there yet */
}

void known_join(struct known *k, struct workflow_files *f)
{
	k->files = f->set;
	f->world.ctx = k;
	f->world.parameter = known_parameter;
	f->world.machine = known_machine;
}
