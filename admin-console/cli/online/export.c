/* sirdar export: documents as the server has them, so that applying them changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/documents/targets.h"
#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/screen.h"

/* One answer: all documents, one after the other. */
struct exported {
	struct buf text; /* YAML */
	struct buf json; /* --json: [{name, version, document}] */
	size_t n;
};

static void put_document(struct exported *x, const cJSON *d)
{
	const char *text = text_of(d, "document");
	size_t n = strlen(text);

	buf_puts(&x->text, x->n++ ? "---\n" : "");
	buf_puts(&x->text, text);
	buf_puts(&x->text, n && text[n - 1] != '\n' ? "\n" : "");
	put_open(&x->json, NULL, '{');
	put_text(&x->json, "name", text_of(d, "name"));
	put_int(&x->json, "version", number_of(d, "version"));
	put_text(&x->json, "document", text);
	put_close(&x->json, '}');
}

static int export_workflow(struct online *o, const char *name, struct exported *x)
{
	struct buf path;
	cJSON *d = NULL;

	buf_init(&path);
	buf_puts(&path, "/api/v1/workflows/");
	path_part(&path, name);
	int code = online_call(o, "GET", buf_str(&path), NULL, &d);
	if (code == CLI_OK)
		put_document(x, d);
	cJSON_Delete(d);
	buf_done(&path);
	return code;
}

/* Page by page: every item of a list to `each`. */
static int each_item(struct online *o, const char *list,
                     int (*each)(struct online *o, const cJSON *item, const char *project,
                                 struct exported *x),
                     const char *project, struct exported *x)
{
	char *cursor = NULL;
	int code = CLI_OK;

	do {
		struct buf path;
		cJSON *page = NULL;
		const cJSON *item;
		buf_init(&path);
		buf_printf(&path, "/api/v1/%s?limit=500", list);
		path_arg(&path, "cursor", cursor);
		code = online_call(o, "GET", buf_str(&path), NULL, &page);
		buf_done(&path);
		free(cursor);
		cursor = NULL;
		cJSON_ArrayForEach(item, json_get(page, "items"))
			if (code == CLI_OK)
				code = each(o, item, project, x);
		if (code == CLI_OK && text_of(page, "cursor")[0] != '\0')
			cursor = mem_str(text_of(page, "cursor"));
		cJSON_Delete(page);
	} while (cursor);
	return code;
}

static int take_scope(struct online *o, const cJSON *item, const char *project, struct exported *x)
{
	const char *name = text_of(item, "name");
	size_t n = strlen("parameters/");

	(void)o;
	if (strncmp(name, "parameters/", n) == 0 && strcmp(name + n, project) == 0)
		put_document(x, item);
	return CLI_OK;
}

static int take_workflow(struct online *o, const cJSON *item, const char *project,
                         struct exported *x)
{
	const char *name = text_of(item, "name");
	size_t n = strlen(project);

	if (json_true(item, "retired") || strncmp(name, project, n) != 0 || name[n] != '/')
		return CLI_OK;
	return export_workflow(o, name, x);
}

static int export_project(struct online *o, const char *project, struct exported *x)
{
	size_t before = x->n;
	int code = each_item(o, "parameters", take_scope, project, x);

	if (code == CLI_OK)
		code = each_item(o, "workflows", take_workflow, project, x);
	if (code == CLI_OK && x->n == before)
		return cli_fail(CLI_NOT_FOUND, "there is no project '%s'", project);
	return code;
}

/* --- everything --- */

static int take_any_scope(struct online *o, const cJSON *item, const char *project,
                          struct exported *x)
{
	(void)o;
	(void)project;
	put_document(x, item);
	return CLI_OK;
}

static int take_any_workflow(struct online *o, const cJSON *item, const char *project,
                             struct exported *x)
{
	(void)project;
	return export_workflow(o, text_of(item, "name"), x);
}

static int take_calendar(struct online *o, const cJSON *item, const char *project,
                         struct exported *x)
{
	struct buf path;
	cJSON *d = NULL;

	(void)project;
	buf_init(&path);
	buf_puts(&path, "/api/v1/calendars/");
	path_part(&path, text_of(item, "name"));
	int code = online_call(o, "GET", buf_str(&path), NULL, &d);
	if (code == CLI_OK)
		put_document(x, d);
	cJSON_Delete(d);
	buf_done(&path);
	return code;
}

static int export_pools(struct online *o, struct exported *x)
{
	cJSON *root = NULL;
	const cJSON *p;
	int code = online_call(o, "GET", "/api/v1/pools", NULL, &root);

	cJSON_ArrayForEach(p, json_get(root, "pools")) {
		if (strcmp(text_of(p, "kind"), "pool") != 0 || number_of(p, "size") < 1)
			continue;
		char *text = mem_fmt("pool: %s\nslots: %lld\n", text_of(p, "name"),
		                     number_of(p, "size"));
		cJSON *d = cJSON_CreateObject();
		cJSON_AddStringToObject(d, "name", text_of(p, "name"));
		cJSON_AddStringToObject(d, "document", text);
		put_document(x, d);
		cJSON_Delete(d);
		free(text);
	}
	cJSON_Delete(root);
	return code;
}

static int export_targets(struct online *o, struct exported *x)
{
	cJSON *root = NULL;
	const cJSON *s;
	int code = online_call(o, "GET", "/api/v1/servers", NULL, &root);

	cJSON_ArrayForEach(s, json_get(root, "servers")) {
		cJSON *d = cJSON_CreateObject();
		struct buf text;

		buf_init(&text);
		target_print(s, &text);
		cJSON_AddStringToObject(d, "name", text_of(s, "server"));
		cJSON_AddStringToObject(d, "document", buf_str(&text));
		put_document(x, d);
		cJSON_Delete(d);
		buf_done(&text);
	}
	cJSON_Delete(root);
	return code;
}

/* In the order in which each may name the former. */
static int export_all(struct online *o, struct exported *x)
{
	int code = export_targets(o, x);

	if (code == CLI_OK)
		code = export_pools(o, x);
	if (code == CLI_OK)
		code = each_item(o, "calendars", take_calendar, "", x);
	if (code == CLI_OK)
		code = each_item(o, "parameters", take_any_scope, "", x);
	if (code == CLI_OK)
		code = each_item(o, "workflows", take_any_workflow, "", x);
	return code;
}

static void export_check(struct asked *q, struct argp_state *state)
{
	if (q->words.n == 0 && !given(q, "all"))
		argp_error(state, "which workflow (project/workflow) or project?");
}

static int export_run(struct asked *q)
{
	bool json = q->cli->json;
	struct online o = { 0 };
	struct exported x = { .n = 0 };

	screen_data(stdout);
	buf_init(&x.text);
	buf_init(&x.json);
	put_open(&x.json, NULL, '[');
	int code = online_open(q->cli, &o);
	if (code == CLI_OK && given(q, "all"))
		code = export_all(&o, &x);
	for (size_t i = 0; i < q->words.n && code == CLI_OK; i++)
		code = (strchr(word(q, i), '/') ? export_workflow : export_project)(&o, word(q, i),
		                                                                    &x);
	put_close(&x.json, ']');
	if (code == CLI_OK && x.text.len && !json)
		x.text.len--; /* cli_print() ends the line */
	if (code == CLI_OK)
		code = cli_print(json ? &x.json : &x.text);
	buf_done(&x.text);
	buf_done(&x.json);
	online_close(&o);
	return code;
}

static const struct opt options[] = {
	{ "all", 'a', NULL, "everything, calendars, pools and target servers too" },
	{ 0 },
};

const struct verb verb_export = { export_run, options, 0, WORDS_ANY, .check = export_check };
