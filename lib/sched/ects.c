/* Pipelines and tasks printed as ECTS's JSON, and the ids that ECTS gives them. An id that a
 * document does not say is made from the names by a hash: the same document has the same ids
 * always, and nothing is stored for it. ects_read.c goes the other way. */
#include "sched/ects.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_put.h"
#include "util/yaml.h"

/* --- ids --------------------------------------------------------------------------------- */

static const struct yaml_node *ects_get(const struct yaml_node *map, const char *key)
{
	return map && map->kind == YAML_MAP ? yaml_get(map, key) : NULL;
}

static const char *text_of(const struct yaml_node *map, const char *key)
{
	const struct yaml_node *n = ects_get(map, key);

	return n && n->kind == YAML_SCALAR ? n->text : "";
}

static void uuid_of(const char *kind, const char *a, const char *b, const char *c,
                    char ret[ECTS_ID_BYTES])
{
	char *of = mem_fmt("%s%s%s%s%s%s", kind, a, *b ? "/" : "", b, *c ? "/" : "", c);
	unsigned char h[16];
	char hex[33];

	crypto_generichash(h, sizeof h, (const unsigned char *)of, strlen(of), NULL, 0);
	h[6] = (unsigned char)(0x80 | (h[6] & 0x0f)); /* version 8: made as its maker likes */
	h[8] = (unsigned char)(0x80 | (h[8] & 0x3f));
	sodium_bin2hex(hex, sizeof hex, h, sizeof h);
	snprintf(ret, ECTS_ID_BYTES, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
	         hex + 20);
	free(of);
}

static void id_of(const struct yaml_node *n, const char *project, const char *a, const char *b,
                  char ret[ECTS_ID_BYTES])
{
	const char *given = text_of(n, "id");

	if (*given)
		snprintf(ret, ECTS_ID_BYTES, "%.100s", given);
	else
		uuid_of("", project, a, b, ret);
}

void ects_pipeline_id(const struct yaml_node *root, const char *project, char ret[ECTS_ID_BYTES])
{
	id_of(root, project, text_of(root, "pipeline"), "", ret);
}

void ects_task_id(const char *project, const char *name, const char *given, char ret[ECTS_ID_BYTES])
{
	if (given)
		snprintf(ret, ECTS_ID_BYTES, "%.100s", given);
	else
		uuid_of("", project, ECTS_LIBRARY, name, ret);
}

static const struct yaml_node *tasks_of(const struct yaml_node *library)
{
	const struct yaml_node *tasks = ects_get(library, "tasks");

	return tasks && tasks->kind == YAML_MAP ? tasks : NULL;
}

const char *ects_task_find(const struct yaml_node *library, const char *project, const char *id)
{
	const struct yaml_node *tasks = tasks_of(library);
	char is[ECTS_ID_BYTES];

	for (size_t i = 0; tasks && i < tasks->n; i++) {
		id_of(tasks->items[i], project, ECTS_LIBRARY, tasks->keys[i]->text, is);
		if (strcmp(is, id) == 0)
			return tasks->keys[i]->text;
	}
	return NULL;
}

/* --- printing ---------------------------------------------------------------------------- */

struct printing {
	const struct yaml_node *root;
	const char *project, *pipeline, *created, *updated;
	struct buf *out;
};

static void put_times(const struct printing *p)
{
	if (!*p->created)
		return;
	put_text(p->out, "created_at", p->created);
	put_text(p->out, "updated_at", p->updated);
}

/* What a step or hook says, else what it uses. */
static const struct yaml_node *ects_said(const struct yaml_node *root, const struct yaml_node *n,
                                         const char *key)
{
	const struct yaml_node *own = ects_get(n, key);

	return own || !ects_get(n, "use") ? own : ects_get(workflow_kept(root, n), key);
}

static const char *said_text(const struct yaml_node *root, const struct yaml_node *n,
                             const char *key)
{
	const struct yaml_node *is = ects_said(root, n, key);

	return is && is->kind == YAML_SCALAR ? is->text : "";
}

static const char *param_of(const struct yaml_node *root, const struct yaml_node *n,
                            const char *key)
{
	const struct yaml_node *own = ects_get(ects_get(n, "params"), key);

	if (!own && ects_get(n, "use"))
		own = ects_get(ects_get(workflow_kept(root, n), "params"), key);
	return own && own->kind == YAML_SCALAR ? own->text : "";
}

/* '$$' is a dollar to ECTS, which expands nothing. */
static void put_single(struct buf *out, const char *key, const char *text)
{
	char *own = mem_str(text), *to = own;

	for (const char *p = text; *p; p++) {
		*to++ = *p;
		p += *p == '$' && p[1] == '$';
	}
	*to = '\0';
	put_text(out, key, own);
	free(own);
}

static const char *content_of(const struct yaml_node *root, const struct yaml_node *n)
{
	static const char *const keys[] = { "script", "command", "sql", "statement", "code" };
	const char *text = "";

	for (size_t i = 0; i < sizeof keys / sizeof keys[0] && !*text; i++)
		text = param_of(root, n, keys[i]);
	return text;
}

/* The task behind `n`: its id and its name are the library's where it uses one. */
static void names_of(const struct printing *p, const struct yaml_node *n, const char *name,
                     char ret_id[ECTS_ID_BYTES], const char **ret_name)
{
	const char *use = text_of(n, "use");
	const struct yaml_node *kept = *use ? workflow_kept(p->root, n) : NULL;

	*ret_name = name;
	if (!kept) {
		id_of(n, p->project, p->pipeline, name, ret_id);
		return;
	}
	bool is_full = strchr(strchr(use, '/') + 1, '/') != NULL;
	*ret_name = strrchr(use, '/') + 1;
	if (*text_of(kept, "id"))
		snprintf(ret_id, ECTS_ID_BYTES, "%.100s", text_of(kept, "id"));
	else
		uuid_of("", is_full ? use : p->project, is_full ? "" : use, "", ret_id);
}

static void put_task(const struct printing *p, const char *key, const struct yaml_node *n,
                     const char *name)
{
	bool http = strcmp(said_text(p->root, n, "type"), "http") == 0;
	char id[ECTS_ID_BYTES];
	struct buf *b = p->out;

	names_of(p, n, name, id, &name);
	put_open(b, key, '{');
	put_text(b, "id", id);
	put_text(b, "name", name);
	put_text(b, "mode", http ? "http" : "shell");
	put_single(b, "url", param_of(p->root, n, "url"));
	put_text(b, "method", http ? param_of(p->root, n, "method") : "");
	put_single(b, "content", http ? param_of(p->root, n, "body") : content_of(p->root, n));
	put_text(b, "description", said_text(p->root, n, "description"));
	put_times(p);
	put_close(b, '}');
}

static int64_t seconds_of(const struct yaml_node *n)
{
	int64_t us = 0;

	return n && yaml_duration_us(n, &us) ? us / 1000000 : 0;
}

/* NAME=value, with ; between; its own over what it uses. */
static void put_environment(const struct printing *p, const struct yaml_node *n)
{
	const struct yaml_node *own = ects_get(n, "environment");
	const struct yaml_node *of[] = {
		ects_get(ects_get(n, "use") ? workflow_kept(p->root, n) : NULL, "environment"), own
	};
	struct buf text;

	buf_init(&text);
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; of[k] && of[k]->kind == YAML_MAP && i < of[k]->n; i++) {
			const char *key = of[k]->keys[i]->text;
			if (k == 0 && ects_get(own, key))
				continue;
			buf_printf(&text, "%s%s=%s", text.len ? ";" : "", key,
			           of[k]->items[i]->text);
		}
	}
	put_single(p->out, "environment", buf_str(&text));
	buf_done(&text);
}

static void put_step(const struct printing *p, const struct yaml_node *n, size_t i)
{
	const char *name = text_of(n, "name"), *dependence = text_of(n, "dependence");
	struct buf *b = p->out;
	char id[ECTS_ID_BYTES];
	const char *task;

	put_open(b, NULL, '{');
	uuid_of("step:", p->project, p->pipeline, name, id);
	put_text(b, "id", id);
	ects_pipeline_id(p->root, p->project, id);
	put_text(b, "pipeline_id", id);
	names_of(p, n, name, id, &task);
	put_text(b, "task_id", id);
	put_int(b, "step", (int64_t)i + 1);
	put_int(b, "timeout", seconds_of(ects_said(p->root, n, "timeout")));
	put_int(b, "interval", seconds_of(ects_said(p->root, n, "interval")));
	put_int(b, "retries", strtol(said_text(p->root, n, "retries"), NULL, 10));
	put_single(b, "directory", said_text(p->root, n, "directory"));
	put_text(b, "user", said_text(p->root, n, "user"));
	put_environment(p, n);
	put_text(b, "dependence", *dependence ? dependence : "strong");
	put_times(p);
	put_task(p, "task", n, name);
	put_close(b, '}');
}

/* finished and failed: the id beside the others', the task behind. */
static void put_hook(const struct printing *p, const char *hook, bool whole)
{
	const struct yaml_node *n = ects_get(p->root, hook);
	char key[20], id[ECTS_ID_BYTES] = "";
	const char *name;

	snprintf(key, sizeof key, "%s%s", hook, whole ? "_task" : "");
	if (n && whole) {
		put_task(p, key, n, hook);
	} else if (whole) {
		put_null(p->out, key);
	} else {
		if (n)
			names_of(p, n, hook, id, &name);
		put_text(p->out, key, id);
	}
}

static bool is_allowed(const struct yaml_node *root)
{
	const char *overlap = text_of(root, "overlap");

	return strcmp(overlap, "false") != 0 && strcmp(overlap, "skip") != 0;
}

void ects_pipeline_print(const struct yaml_node *root, const char *project, const char *created,
                         const char *updated, struct buf *b)
{
	const struct yaml_node *list = ects_get(root, "nodes"), *steps = ects_get(root, "steps");
	const char *state = text_of(root, "state");
	struct printing p = { root, project, text_of(root, "pipeline"), created, updated, b };
	char id[ECTS_ID_BYTES];

	put_open(b, NULL, '{');
	ects_pipeline_id(root, project, id);
	put_text(b, "id", id);
	put_text(b, "name", p.pipeline);
	put_text(b, "description", text_of(root, "description"));
	put_text(b, "spec", text_of(root, "cron"));
	put_int(b, "status", !*state || strcmp(state, "online") == 0);
	put_hook(&p, "finished", false);
	put_hook(&p, "failed", false);
	put_int(b, "overlap", is_allowed(root));
	put_times(&p);
	put_open(b, "nodes", '[');
	for (size_t i = 0; list && list->kind == YAML_LIST && i < list->n; i++)
		put_text(b, NULL, list->items[i]->text);
	put_close(b, ']');
	put_open(b, "steps", '[');
	for (size_t i = 0; steps && steps->kind == YAML_LIST && i < steps->n; i++)
		put_step(&p, steps->items[i], i);
	put_close(b, ']');
	put_hook(&p, "finished", true);
	put_hook(&p, "failed", true);
	put_close(b, '}');
}

bool ects_task_print(const struct yaml_node *library, const char *project, unsigned i,
                     const char *created, const char *updated, struct buf *out)
{
	const struct yaml_node *tasks = tasks_of(library);
	struct printing p = { library, project, ECTS_LIBRARY, created, updated, out };

	if (!tasks || i >= tasks->n)
		return false;
	put_task(&p, NULL, tasks->items[i], tasks->keys[i]->text);
	return true;
}

void ects_own_tasks_print(const struct yaml_node *root, const char *project, const char *created,
                          const char *updated, struct buf *out)
{
	static const char *const hooks[] = { "finished", "failed" };
	const struct yaml_node *steps = ects_get(root, "steps");
	struct printing p = { root, project, text_of(root, "pipeline"), created, updated, out };

	for (size_t i = 0; steps && steps->kind == YAML_LIST && i < steps->n; i++)
		if (!ects_get(steps->items[i], "use"))
			put_task(&p, NULL, steps->items[i], text_of(steps->items[i], "name"));
	for (size_t i = 0; i < 2; i++)
		if (ects_get(root, hooks[i]) && !ects_get(ects_get(root, hooks[i]), "use"))
			put_task(&p, NULL, ects_get(root, hooks[i]), hooks[i]);
}
