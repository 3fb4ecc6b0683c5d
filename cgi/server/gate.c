/* What passes between the server and who reads some projects only.
 *
 * * A question is judged by what its arguments name, before it is asked: of another project it is
 * answered as what is not there, whether it is or not. An answer is read, and what is not the
 * reader's goes out of it: an object is another project's when what it names is (foreign()), a
 * text when it has the name of a task or a workflow in it (scrub()). Commands pass by the same
 * names; what they mean by a number (a command, a silence, a target) the store is asked about
 * first, with the caller's sight. */
#include "cgi/server/gate.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/names.h"
#include "cgi/server/net.h"
#include "cgi/server/show.h"
#include "cgi/who/sight.h"
#include "util/alloc.h"
#include "util/json_in.h"

#define ANOTHER "another project"

static const struct row {
	const char *kind, *names, *lists, *drops;
} rows[] = {
#define GATE(kind, names, lists, drops) { kind, names, lists, drops },
#include "cgi/server/gate.def"
#undef GATE
};

static const struct row *row_of(const char *kind)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(rows[i].kind, kind) == 0)
			return &rows[i];
	return NULL;
}

/* Is `word` one of the words of a list? */
static bool gate_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

/* A task that nobody has heard of is nobody's. */
static bool sees_id(const struct call *c, uint32_t task)
{
	char name[NAMES_MAX];

	return names_get(c->cgi->names, NAMES_TASK, task, name) && sight_covers(c->sight, name);
}

/* --- what is asked ---------------------------------------------------------------------------- */

static bool sees_text(const struct call *c, const cJSON *v)
{
	return !cJSON_IsString(v) || sight_covers(c->sight, v->valuestring);
}

/* {"id"} or {"task", ...}. */
static bool sees_instance(const struct call *c, const cJSON *v)
{
	const char *id = json_text(v, "id");
	struct inst_key key;

	if (id && key_read(id, &key) && !sees_id(c, key.task))
		return false;
	return sees_text(c, json_get(v, "task"));
}

static bool sees_each(const struct call *c, const cJSON *list,
                      bool (*sees)(const struct call *c, const cJSON *v))
{
	const cJSON *v;
	bool all = true;

	cJSON_ArrayForEach(v, list)
		all = all && sees(c, v);
	return all;
}

static bool sees_selection(const struct call *c, const cJSON *s)
{
	return sees_each(c, json_get(s, "tasks"), sees_text) &&
	       sees_text(c, json_get(s, "workflow")) &&
	       sees_each(c, json_get(s, "instances"), sees_instance);
}

static bool sees_args(const struct call *c, const cJSON *args)
{
	static const char *const keys[] = { "task", "workflow", "project", "name" };
	bool all = sees_selection(c, json_get(args, "selection")) &&
	           sees_instance(c, json_get(args, "instance"));

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		all = all && sees_text(c, json_get(args, keys[i]));
	return all;
}

/* A row's arguments must be there: a question about everything is another one. */
static bool has_names(const struct row *row, const cJSON *args)
{
	return row->names[0] == '\0' || json_get(args, row->names);
}

/* What a command means by a number or a name of its own: a document, or another command. */
static const struct meant {
	const char *key;
	enum store_doc_kind kind; /* DOC_END: a command */
} meants[] = { { "command", DOC_END }, { "silence", DOC_SILENCE }, { "server", DOC_SERVER } };

static int meant_doc(void *ctx, const struct store_doc *d)
{
	(void)ctx;
	return d->retired ? E_NOT_FOUND : 0;
}

static int meant_command(void *ctx, const struct store_command *d)
{
	(void)ctx;
	(void)d;
	return 0;
}

static int gate_meant(struct call *c, struct reader *r)
{
	cJSON *args = cJSON_Parse(buf_str(&c->ask_args));
	int code = 0;

	for (size_t i = 0; i < sizeof meants / sizeof meants[0] && code == 0; i++) {
		const char *text = json_text(args, meants[i].key);
		if (!text)
			continue;
		if (meants[i].kind == DOC_END)
			code = read_command(r, NULL, strtoull(text, NULL, 10), meant_command, NULL,
			                    &c->err);
		else
			code = read_doc(r, &(struct read_which){ meants[i].kind, .name = text },
			                meant_doc, NULL, &c->err);
	}
	cJSON_Delete(args);
	if (code != E_NOT_FOUND)
		return code;
	c->err = (struct err){ 0 };
	return sight_absent(c, "args");
}

static bool means_something(const cJSON *args)
{
	bool has = false;

	for (size_t i = 0; i < sizeof meants / sizeof meants[0]; i++)
		has = has || json_text(args, meants[i].key);
	return has;
}

int gate_may_ask(struct call *c, int (**ret_work)(struct call *c, struct reader *r))
{
	const struct row *row = c->ask_command ? NULL : row_of(c->ask_kind);
	cJSON *args = cJSON_Parse(buf_str(&c->ask_args));
	int r = 0;

	*ret_work = gate_meant;
	if (c->ask_command && c->route->scope == SCOPE_OWN)
		r = 0;
	else if (!c->ask_command && (!row || !has_names(row, args)))
		r = call_fail(c, E_FORBIDDEN, "", "%s reads some projects only: name one of them",
		              c->actor);
	else if (!sees_args(c, args))
		r = sight_absent(c, "args");
	else if (c->ask_command && means_something(args))
		r = 1;
	cJSON_Delete(args);
	return r;
}

int gate_may_log(struct call *c)
{
	const struct log_ask *a = c->extra;

	return sees_id(c, a->key.task) ? 0 : sight_absent(c, "id");
}

/* --- what is shown ---------------------------------------------------------------------------- */

static bool is_of_name(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       ch == '_' || ch == '.' || ch == '-' || (unsigned char)ch >= 0x80;
}

/* The name of another project's task or workflow that begins at `p`: its length; 0: none does. */
static size_t foreign_at(const struct call *c, const char *p)
{
	size_t n = 0, project;

	while (is_of_name(p[n]))
		n++;
	project = n;
	if (n == 0 || p[n] != '/' || !is_of_name(p[n + 1]) || sight_covers(c->sight, p) ||
	    !names_has_project(c->cgi->names, p, project))
		return 0;
	while (is_of_name(p[n]) || (p[n] == '/' && is_of_name(p[n + 1])))
		n++;
	while (p[n - 1] == '.') /* of the sentence */
		n--;
	return n;
}

/* NULL: nothing is hidden. The caller's. */
static char *scrub(const struct call *c, const char *text)
{
	struct buf out;
	char *ret = NULL;
	bool hidden = false;

	if (!strchr(text, '/'))
		return NULL;
	buf_init(&out);
	for (const char *p = text; *p != '\0';) {
		size_t n = p > text && is_of_name(p[-1]) ? 0 : foreign_at(c, p);
		if (n > 0)
			buf_puts(&out, ANOTHER);
		else
			buf_putc(&out, *p);
		hidden = hidden || n > 0;
		p += n > 0 ? n : 1;
	}
	if (hidden)
		ret = mem_str(buf_str(&out));
	buf_done(&out);
	return ret;
}

static void scrub_node(const struct call *c, cJSON *v)
{
	char *text = scrub(c, v->valuestring);

	if (!text)
		return;
	cJSON_SetValuestring(v, text);
	free(text);
}

static bool names_another(const struct call *c, const cJSON *v, const char *key)
{
	const char *name = json_text(v, key);

	return name && !sight_covers(c->sight, name);
}

/* Projects are listed, and none of them is seen; none listed: everybody's. */
static bool lists_others_only(const struct call *c, const cJSON *projects)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, projects)
		if (sees_text(c, v) || strcmp(v->valuestring, "*") == 0)
			return false;
	return cJSON_GetArraySize(projects) > 0;
}

/* What `kind` of the answers says whose an item is. */
static bool is_foreign(const struct call *c, const cJSON *v)
{
	const char *kind = json_text(v, "kind"), *id = json_text(v, "id");
	struct inst_key key;

	if (kind && (strcmp(kind, "workflow") == 0 || strcmp(kind, "project") == 0) &&
	    names_another(c, v, "name"))
		return true;
	if (lists_others_only(c, json_get(v, "projects")))
		return true;
	if (kind && strcmp(kind, "server") == 0)
		return true; /* who may use a target its document says, not a queue */
	if (json_text(v, "person") && strcmp(json_text(v, "person"), c->sight->person) != 0)
		return true;
	if (json_get(v, "task_id") || json_get(v, "run_date") || (id && strchr(id, '.')))
		return names_another(c, v, "task") ||
		       (id && key_read(id, &key) && !sees_id(c, key.task));
	return names_another(c, v, "project") ||
	       (names_another(c, v, "task") && json_get(v, "state") && !json_get(v, "total"));
}

/* Nothing but how it stands is left of what has to do with one's own. */
static void close_box(cJSON *v)
{
	static const char kept[] = "state kind reason foreign member waits waiting";
	cJSON *next;

	for (cJSON *m = v->child; m; m = next) {
		next = m->next;
		if (!gate_has(kept, m->string))
			cJSON_Delete(cJSON_DetachItemViaPointer(v, m));
	}
	cJSON_AddStringToObject(v, "id", "");
	cJSON_AddNumberToObject(v, "task_id", 0);
	cJSON_AddStringToObject(v, "task", ANOTHER);
	cJSON_AddBoolToObject(v, "closed", true);
}

static void cut(const struct call *c, const struct row *row, cJSON *v);

static void cut_list(const struct call *c, const struct row *row, cJSON *list)
{
	bool drops = row && list->string && gate_has(row->lists, list->string);
	bool is_projects = list->string && strcmp(list->string, "projects") == 0;
	cJSON *next;

	for (cJSON *v = list->child; v; v = next) {
		next = v->next;
		if ((drops && cJSON_IsObject(v) && is_foreign(c, v)) ||
		    (is_projects && cJSON_IsString(v) && strcmp(v->valuestring, "*") != 0 &&
		     !sees_text(c, v)))
			cJSON_Delete(cJSON_DetachItemViaPointer(list, v));
		else
			cut(c, row, v);
	}
}

/* An empty one of what it was. */
static void gate_empty(cJSON *v)
{
	cJSON_Delete(v->child);
	v->child = NULL;
	if (!cJSON_IsArray(v) && !cJSON_IsObject(v))
		v->type = (v->type & ~0xff) | cJSON_NULL;
}

static void cut(const struct call *c, const struct row *row, cJSON *v)
{
	if (cJSON_IsString(v))
		scrub_node(c, v);
	else if (cJSON_IsArray(v))
		cut_list(c, row, v);
	else if (cJSON_IsObject(v)) {
		if (is_foreign(c, v))
			close_box(v);
		for (cJSON *m = v->child; m; m = m->next)
			cut(c, row, m);
	}
}

static void shown_error(struct call *c)
{
	char *text = scrub(c, c->err.text), *hint = scrub(c, c->hint), *place = scrub(c, c->place);

	if (text)
		snprintf(c->err.text, sizeof c->err.text, "%s", text);
	if (hint)
		snprintf(c->hint, sizeof c->hint, "%s", hint);
	if (place)
		snprintf(c->place, sizeof c->place, "%s", place);
	free(text);
	free(hint);
	free(place);
}

/* What does not read is not shown. */
static void shown_json(struct call *c, const struct row *row, struct buf *b)
{
	cJSON *root = NULL;
	char *text;

	if (b->len == 0)
		return;
	if (json_parse(buf_str(b), b->len, &root, NULL) < 0)
		root = cJSON_CreateObject();
	for (cJSON *m = row ? root->child : NULL; m; m = m->next)
		if (gate_has(row->drops, m->string))
			gate_empty(m);
	cut(c, row, root);
	text = cJSON_PrintUnformatted(root);
	buf_clear(b);
	buf_puts(b, text);
	free(text);
	json_free(root);
}

void gate_shown(struct call *c)
{
	const struct row *row = c->ask_command ? NULL : row_of(c->ask_kind);

	if (c->err.code < 0)
		shown_error(c);
	else
		shown_json(c, row, &c->out);
	shown_json(c, NULL, &c->details);
}

/* --- the instance of a path --------------------------------------------------------------- */

static int instance_task(void *ctx, const struct store_task *t)
{
	names_set_task(((struct call *)ctx)->cgi->names, t);
	return 0;
}

int gate_instance(struct call *c, struct reader *r)
{
	struct inst_key key;
	int code;

	if (!key_read(c->params[0], &key))
		return 0; /* the handler says what an id is */
	code = read_task(r, NULL, key.task, instance_task, c, &c->err);
	if (code != E_NOT_FOUND)
		return code;
	c->err = (struct err){ 0 };
	return sight_absent(c, "id");
}
