/* The tables of keys, and the walk over a map that uses them. */
#include "sched/expr.h"
#include "sched/workflow_impl.h"

#include "util/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(type, key, field, read, want, min, max, help) \
	{ key, offsetof(struct type, field), wf_read_##read, want, min, max, help },

static const struct wf_key workflow_keys[] = {
#define WORKFLOW_KEY(...) ROW(workflow, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key pipeline_keys[] = {
#define PIPELINE_KEY(...) ROW(workflow, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key task_keys[] = {
#define TASK_KEY(...) ROW(wf_task, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key need_keys[] = {
#define NEED_KEY(...) ROW(wf_need, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key retry_keys[] = {
#define RETRY_KEY(...) ROW(wf_task, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key catchup_keys[] = {
#define CATCHUP_KEY(...) ROW(wf_task, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key dispatch_keys[] = {
#define DISPATCH_KEY(...) ROW(wf_task, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key quota_keys[] = {
#define QUOTA_KEY(...) ROW(wf_task, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key alert_keys[] = {
#define ALERT_KEY(...) ROW(wf_alert, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key silence_keys[] = {
#define SILENCE_KEY(...) ROW(wf_silence, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key baseline_keys[] = {
#define BASELINE_KEY(...) ROW(wf_baseline, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key step_keys[] = {
#define STEP_KEY(...) ROW(wf_task, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key hook_keys[] = {
#define HOOK_KEY(...) ROW(wf_task, __VA_ARGS__)
#include "sched/workflow_keys.def"
};

static const struct wf_key library_keys[] = {
#define LIBRARY_KEY(...) ROW(workflow, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key shared_keys[] = {
#define SHARED_KEY(...) ROW(wf_task, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key project_keys[] = {
#define PROJECT_KEY(...) ROW(workflow_scope, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key pool_keys[] = {
#define POOL_KEY(...) ROW(workflow_scope, __VA_ARGS__)
#include "sched/workflow_keys.def"
};
static const struct wf_key global_keys[] = {
#define GLOBAL_KEY(...) ROW(workflow_scope, __VA_ARGS__)
#include "sched/workflow_keys.def"
};

#define TABLE(id, what, must, keys) \
	{ \
		id, what, must, keys, sizeof keys / sizeof *keys \
	}
const struct wf_table wf_tables[WT_COUNT] = {
	[WT_WORKFLOW] = TABLE("workflow", "a workflow", "workflow|tasks", workflow_keys),
	[WT_PIPELINE] = TABLE("pipeline", "a pipeline", "pipeline|steps", pipeline_keys),
	[WT_TASK] = TABLE("task", "a task", "", task_keys),
	[WT_NEED] = TABLE("need", "a need", "task", need_keys),
	[WT_RETRY] = TABLE("retry", "retry", "", retry_keys),
	[WT_CATCHUP] = TABLE("catchup", "catchup", "", catchup_keys),
	[WT_DISPATCH] = TABLE("dispatch", "dispatch", "least", dispatch_keys),
	[WT_QUOTA] = TABLE("quota", "quota", "", quota_keys),
	[WT_ALERT] = TABLE("alert", "an alert", "when|to", alert_keys),
	[WT_SILENCE] = TABLE("silence", "a silence", "until|reason", silence_keys),
	[WT_BASELINE] = TABLE("baseline", "a baseline", "task|committed", baseline_keys),
	[WT_STEP] = TABLE("step", "a step", "name", step_keys),
	[WT_HOOK] = TABLE("hook", "a hook", "", hook_keys),
	[WT_LIBRARY] = TABLE("library", "a library", "library|tasks", library_keys),
	[WT_SHARED] = TABLE("library_task", "a task of a library", "type", shared_keys),
	[WT_PROJECT] = TABLE("project", "a project", "project", project_keys),
	[WT_POOL] = TABLE("pool", "a pool", "pool|slots", pool_keys),
	[WT_GLOBAL] = TABLE("global", "the document of all", "global", global_keys),
};

bool wf__has_must(enum wf_table_id table, const struct yaml_node *n)
{
	char key[YAML_KEY_BYTES_MAX];

	for (const char *must = wf_tables[table].must; *must; must += *must == '|') {
		size_t length = strcspn(must, "|");
		snprintf(key, sizeof key, "%.*s", (int)length, must);
		if (!yaml_get(n, key))
			return false;
		must += length;
	}
	return true;
}

size_t wf__push(struct wf_reader *r, const char *key)
{
	size_t length = r->path.len;

	buf_printf(&r->path, "%s%s", length ? "." : "", key);
	return length;
}

size_t wf__push_index(struct wf_reader *r, size_t i)
{
	size_t length = r->path.len;

	buf_printf(&r->path, "[%zu]", i);
	return length;
}

void wf__pop(struct wf_reader *r, size_t length)
{
	CHECK(length <= r->path.len);
	r->path.len = length;
}

struct place wf__here(const struct wf_reader *r, const struct yaml_node *n)
{
	return (struct place){ .file = r->file,
		               .line = n->line,
		               .column = n->column,
		               .path = buf_str((struct buf *)(uintptr_t)&r->path) };
}

int wf__wrong(struct wf_reader *r, const struct yaml_node *n, const char *want)
{
	const char *path = buf_str(&r->path);
	const char *last = strrchr(path, '.');

	last = last ? last + 1 : path;
	if (n->kind == YAML_SCALAR && !yaml_is_null(n))
		return diag_error(r->d, wf__here(r, n), "wrong_value", NULL,
		                  "%s is '%.80s', want %s", *last ? last : "the document", n->text,
		                  want);
	return diag_error(r->d, wf__here(r, n), "wrong_value", NULL, "%s is %s, want %s",
	                  *last ? last : "the document", yaml_kind_name(n), want);
}

int wf__wrong_name(struct wf_reader *r, const struct yaml_node *n, const char *name,
                   const char *what, const char *why)
{
	return diag_error(r->d, wf__here(r, n), "wrong_name",
	                  "letters, digits, _ . -, a letter or _ first", "'%.*s' is not %s: %s",
	                  name_shown(name), name, what, why);
}

static const struct wf_key *find_key(const struct wf_table *t, const char *key)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->keys[i].key, key) == 0)
			return &t->keys[i];
	return NULL;
}

/* What the task types of the house call their parameters, and people write beside `type`. */
static bool is_param(const char *key)
{
	static const char *const words[] = { "script",    "command",    "argv",       "args",
		                             "sql",       "query",      "url",        "body",
		                             "method",    "headers",    "server",     "secrets",
		                             "directory", "program",    "statements", "table",
		                             "arguments", "environment" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], key) == 0)
			return true;
	return false;
}

/* Where it belongs; NULL: nobody knows. */
static const char *place_of_key(const struct wf_table *t, const char *key)
{
	if (t == &wf_tables[WT_WORKFLOW] && find_key(&wf_tables[WT_TASK], key))
		return "a task has it; in `defaults` it holds for all tasks";
	if (find_key(t, "params") && is_param(key))
		return "it is a parameter of the task's type: put it under `params`";
	return NULL;
}

static void refuse_key(struct wf_reader *r, const struct wf_table *t, const struct yaml_node *key)
{
	struct nearest near = nearest_to(key->text);
	char hint[1000];
	size_t used = (size_t)snprintf(hint, sizeof hint, "its keys are");

	for (size_t i = 0; i < t->n; i++) {
		nearest_try(&near, t->keys[i].key);
		used += (size_t)snprintf(hint + used, sizeof hint - used, "%s %s", i ? "," : "",
		                         t->keys[i].key);
		CHECK(used < sizeof hint);
	}
	char other[NEAREST_HINT_BYTES];
	const char *said = place_of_key(t, key->text);
	if (!said)
		said = nearest_hint(&near, other);
	size_t length = wf__push(r, key->text);
	diag_error(r->d, wf__here(r, key), "unknown_key", said ? said : hint,
	           "%s has no key '%.80s'", t->what, key->text);
	wf__pop(r, length);
}

void wf__read_map(struct wf_reader *r, enum wf_table_id table, const struct yaml_node *n,
                  void *into)
{
	CHECK(table < WT_COUNT);
	const struct wf_table *t = &wf_tables[table];

	if (n->kind != YAML_MAP) {
		wf__wrong(r, n, "a map");
		return;
	}
	for (size_t i = 0; i < n->n; i++) {
		const struct wf_key *k = find_key(t, n->keys[i]->text);
		if (!k) {
			refuse_key(r, t, n->keys[i]);
			continue;
		}
		size_t length = wf__push(r, k->key);
		k->read(r, k, n->items[i], (char *)into + k->at);
		wf__pop(r, length);
	}
}
