/* ECTS's pipelines, tasks and nodes as its own JSON (ects-pipelines.txt): for who reads them.
 * Ids are UUIDs made of names; times are UTC. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/route.h"
#include "cgi/seeds/def.h"
#include "cgi/seeds/seed.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/yaml.h"

#define PIPELINES_MAX 10000

static int list_work(struct call *c, struct reader *r);
static int answer(struct call *c);
static int nodes(struct call *c);

/* The roles are the routes'. */
static const struct seed_row rows[] = {
	{ "/ects/pipelines", ROLE_NONE, { { NULL, SEED_INT, false, 0, 0 } }, list_work, answer },
	{ "/ects/tasks", ROLE_NONE, { { NULL, SEED_INT, false, 0, 0 } }, list_work, answer },
	{ "/ects/nodes", ROLE_NONE, { { NULL, SEED_INT, false, 0, 0 } }, NULL, nodes },
};

int ects_call(struct call *c)
{
	int r = seed_begin(c, rows, sizeof(rows) / sizeof(rows[0]), false);

	return r < 0 ? r : seed_go(c);
}

/* The list that the steps wrote into c->details. */
static int answer(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	buf_put(&c->out, buf_str(&c->details), c->details.len);
	buf_clear(&c->details);
	return reply_json(c, MHD_HTTP_OK);
}

/* --- what a pipeline says --------------------------------------------------------------------- */

static void put_uuid(struct buf *b, const char *key, const char *of)
{
	unsigned char h[16];
	char hex[33], text[40];

	crypto_generichash(h, sizeof(h), (const unsigned char *)of, strlen(of), NULL, 0);
	h[6] = (unsigned char)(0x80 | (h[6] & 0x0f)); /* version 8: made as its maker likes */
	h[8] = (unsigned char)(0x80 | (h[8] & 0x3f));
	sodium_bin2hex(hex, sizeof(hex), h, sizeof(h));
	snprintf(text, sizeof(text), "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
	         hex + 20);
	put_text(b, key, text);
}

static const char *text_of(const struct yaml_node *map, const char *key)
{
	const struct yaml_node *n = map->kind == YAML_MAP ? yaml_get(map, key) : NULL;

	return n != NULL && n->kind == YAML_SCALAR ? n->text : "";
}

static int64_t seconds_of(const struct yaml_node *map, const char *key)
{
	const struct yaml_node *n = yaml_get(map, key);
	int64_t us = 0;

	return n != NULL && yaml_duration_us(n, &us) ? us / US_PER_S : 0;
}

static void put_times(struct buf *b, const struct def *d)
{
	char at[WHEN_TEXT];

	seed_time(d->created_us, at);
	put_text(b, "created_at", at);
	seed_time(d->changed_us, at);
	put_text(b, "updated_at", at);
}

/* NAME=value, with ; between. */
static void put_environment(struct buf *b, const struct yaml_node *step)
{
	const struct yaml_node *env = yaml_get(step, "environment");
	struct buf text;

	buf_init(&text);
	for (size_t i = 0; env != NULL && env->kind == YAML_MAP && i < env->n; i++)
		buf_printf(&text, "%s%s=%s", i > 0 ? ";" : "", env->keys[i]->text,
		           env->items[i]->text);
	put_text(b, "environment", buf_str(&text));
	buf_done(&text);
}

/* `id`: project/pipeline/step. `map`: a step, or a hook. */
static void put_task(struct buf *b, const char *key, const char *id, const struct def *d,
                     const struct yaml_node *map)
{
	struct def one = { .workflow = d->workflow, .task = map };
	const struct yaml_node *params = yaml_get(map, "params");
	bool http = strcmp(text_of(map, "type"), "http") == 0;
	char *command = def_command(&one);

	put_open(b, key, '{');
	put_uuid(b, "id", id);
	put_text(b, "name", strrchr(id, '/') + 1);
	put_text(b, "mode", http ? "http" : "shell");
	put_text(b, "url", params != NULL ? text_of(params, "url") : "");
	put_text(b, "method", params != NULL && http ? text_of(params, "method") : "");
	put_text(b, "content", http && params != NULL ? text_of(params, "body") : command);
	put_text(b, "description", text_of(map, "description"));
	put_times(b, d);
	put_close(b, '}');
	free(command);
}

static void put_step(struct buf *b, const char *pipeline, const struct def *d,
                     const struct yaml_node *step, size_t i)
{
	char id[NAMES_MAX], at[NAMES_MAX + 8];
	const char *dependence = text_of(step, "dependence");

	snprintf(id, sizeof(id), "%.250s/%.100s", pipeline, text_of(step, "name"));
	snprintf(at, sizeof(at), "step:%s", id);
	put_open(b, NULL, '{');
	put_uuid(b, "id", at);
	put_uuid(b, "pipeline_id", pipeline);
	put_uuid(b, "task_id", id);
	put_int(b, "step", (int64_t)i + 1);
	put_int(b, "timeout", seconds_of(step, "timeout"));
	put_int(b, "interval", seconds_of(step, "interval"));
	put_int(b, "retries", strtol(text_of(step, "retries"), NULL, 10));
	put_text(b, "directory", text_of(step, "directory"));
	put_text(b, "user", text_of(step, "user"));
	put_environment(b, step);
	put_text(b, "dependence", dependence[0] != '\0' ? dependence : "strong");
	put_times(b, d);
	put_task(b, "task", id, d, step);
	put_close(b, '}');
}

/* finished and failed: the id beside the others', the task behind. */
static void put_hook(struct buf *b, const char *pipeline, const struct def *d, const char *hook,
                     bool whole)
{
	const struct yaml_node *map = yaml_get(d->workflow, hook);
	char id[NAMES_MAX], key[20];

	snprintf(id, sizeof(id), "%.250s/%s", pipeline, hook);
	snprintf(key, sizeof(key), "%s%s", hook, whole ? "_task" : "");
	if (map != NULL && map->kind == YAML_MAP && whole)
		put_task(b, key, id, d, map);
	else if (map != NULL && map->kind == YAML_MAP)
		put_uuid(b, key, id);
	else if (whole)
		put_null(b, key);
	else
		put_text(b, key, "");
}

static void put_pipeline(struct buf *b, const char *name, const struct def *d)
{
	const struct yaml_node *p = d->workflow, *list = yaml_get(p, "nodes");
	const struct yaml_node *steps = yaml_get(p, "steps");
	const char *state = text_of(p, "state");

	put_open(b, NULL, '{');
	put_uuid(b, "id", name);
	put_text(b, "name", strchr(name, '/') + 1);
	put_text(b, "description", text_of(p, "description"));
	put_text(b, "spec", text_of(p, "cron"));
	put_int(b, "status", state[0] == '\0' || strcmp(state, "online") == 0);
	put_hook(b, name, d, "finished", false);
	put_hook(b, name, d, "failed", false);
	put_int(b, "overlap", strcmp(text_of(p, "overlap"), "false") != 0);
	put_times(b, d);
	put_open(b, "nodes", '[');
	for (size_t i = 0; list != NULL && list->kind == YAML_LIST && i < list->n; i++)
		put_text(b, NULL, list->items[i]->text);
	put_close(b, ']');
	put_open(b, "steps", '[');
	for (size_t i = 0; steps != NULL && steps->kind == YAML_LIST && i < steps->n; i++)
		put_step(b, name, d, steps->items[i], i);
	put_close(b, ']');
	put_hook(b, name, d, "finished", true);
	put_hook(b, name, d, "failed", true);
	put_close(b, '}');
}

static void put_tasks(struct buf *b, const char *name, const struct def *d)
{
	static const char *const hooks[] = { "finished", "failed" };
	const struct yaml_node *steps = yaml_get(d->workflow, "steps");
	char id[NAMES_MAX];

	for (size_t i = 0; steps != NULL && steps->kind == YAML_LIST && i < steps->n; i++) {
		snprintf(id, sizeof(id), "%.250s/%.100s", name, text_of(steps->items[i], "name"));
		put_task(b, NULL, id, d, steps->items[i]);
	}
	for (size_t i = 0; i < 2; i++) {
		const struct yaml_node *map = yaml_get(d->workflow, hooks[i]);

		snprintf(id, sizeof(id), "%.250s/%s", name, hooks[i]);
		if (map != NULL && map->kind == YAML_MAP)
			put_task(b, NULL, id, d, map);
	}
}

/* --- lists ------------------------------------------------------------------------------------ */

struct names_list {
	const char *project;
	size_t n, cap;
	struct {
		uint32_t id;
		char name[NAMES_MAX];
	} * items;
};

static int doc_take(void *ctx, const struct store_doc *s)
{
	struct names_list *l = ctx;
	size_t n = strlen(l->project);

	if (strncmp(s->name, l->project, n) != 0 || s->name[n] != '/')
		return 0;
	if (l->n == PIPELINES_MAX)
		return E_LIMIT;
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		l->items = mem_grow(l->items, l->cap, sizeof(*l->items));
	}
	snprintf(l->items[l->n].name, NAMES_MAX, "%s", s->name);
	l->items[l->n++].id = s->id;
	return 0;
}

static int names_read(struct call *c, struct reader *r, struct names_list *l)
{
	struct read_answer at = { 0 };
	int code;

	do {
		struct read_page page = { .limit = READ_ROWS_MAX, .cursor = at.cursor };
		struct read_answer next = { 0 };

		code = read_docs(r, DOC_WORKFLOW, false, &page, doc_take, l, &next, &c->err);
		at = next;
	} while (code == 0 && at.cursor[0] != '\0');
	return code;
}

static int list_work(struct call *c, struct reader *r)
{
	bool tasks = strcmp(c->route->path, "/ects/tasks") == 0;
	struct names_list l = { .project = seed_project(c) };
	int code = names_read(c, r, &l);

	buf_clear(&c->details);
	put_open(&c->details, NULL, '[');
	for (size_t i = 0; code == 0 && i < l.n; i++) {
		struct def d = { 0 };

		code = def_read(r, l.items[i].name, l.items[i].id, &d, &c->err);
		if (code == 0 && d.workflow != NULL && yaml_get(d.workflow, "pipeline") != NULL)
			(tasks ? put_tasks : put_pipeline)(&c->details, l.items[i].name, &d);
		def_done(&d);
	}
	put_close(&c->details, ']');
	free(l.items);
	if (code < 0)
		buf_clear(&c->details);
	return code;
}

/* --- nodes: etcd's registry ------------------------------------------------------------------- */

static int nodes_came(struct call *c)
{
	cJSON *root = NULL;
	char *text;

	if (c->err.code < 0 || json_parse(buf_str(&c->out), c->out.len, &root, &c->err) < 0)
		return c->err.code;
	text = cJSON_PrintUnformatted(json_get(root, "nodes"));
	buf_puts(&c->details, text != NULL ? text : "[]");
	free(text);
	json_free(root);
	return answer(c);
}

static int nodes(struct call *c)
{
	c->then = nodes_came;
	return call_query(c, "nodes", "{}");
}
