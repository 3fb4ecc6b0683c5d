/* Parameters of a project and of all: documents beside workflows. */
#include "sched/workflow_impl.h"

#include "util/alloc.h"
#include "util/pile.h"

#include <stdlib.h>
#include <string.h>

/* `project:` alone is also how a workflow looks whose first key was forgotten. */
bool wf__is_scope(const struct yaml_node *root)
{
	static const char *const of_workflows[] = { "workflow", "pipeline", "library", "tasks",
		                                    "steps" };

	if (root->kind != YAML_MAP)
		return false;
	for (size_t i = 0; i < sizeof of_workflows / sizeof *of_workflows; i++)
		if (yaml_get(root, of_workflows[i]))
			return false;
	return yaml_get(root, "global") || yaml_get(root, "project") || yaml_get(root, "pool");
}

static void name_pool(struct workflow_scope *s, struct wf_reader *r)
{
	if (!wf__has_must(WT_POOL, s->node))
		diag_error(r->d, wf__here(r, s->node), "missing_key", NULL,
		           "a pool says how many `slots` it has");
	char *name = mem_fmt(WORKFLOW_POOL "%s", s->project.text);
	s->project.text = pile_str(s->pile, name);
	free(name);
}

void wf__scope_free(struct workflow_scope *s)
{
	yaml_free(s->doc);
	pile_free(s->pile);
	free(s);
}

const char *const wf_of_projects[] = { "title", "parameters", "quota", "alerts", "silences", NULL };

static bool says_something(const struct yaml_node *root)
{
	for (size_t i = 0; wf_of_projects[i]; i++)
		if (yaml_get(root, wf_of_projects[i]))
			return true;
	return false;
}

static struct workflow_scope *read_scope(struct yaml_doc *doc, const char *file, struct diags *d)
{
	struct workflow_scope *s = mem_new(sizeof *s);
	const struct yaml_node *root = yaml_root(doc);
	bool is_global = yaml_get(root, "global") != NULL;
	size_t before = d->errors;

	wf__normal_names(doc);
	s->doc = doc;
	s->pile = pile_new();
	s->file = pile_str(s->pile, file);
	s->node = root;
	s->project.text = "";
	struct wf_reader r = { .d = d, .pile = s->pile, .file = s->file };
	buf_init(&r.path);
	bool is_pool = !is_global && yaml_get(root, "pool");
	wf__read_map(&r, is_global ? WT_GLOBAL : is_pool ? WT_POOL : WT_PROJECT, root, s);
	if (is_pool)
		name_pool(s, &r);
	else if (!is_global && !says_something(root))
		diag_error(d, wf__here(&r, root), "missing_key",
		           "begin with `workflow: NAME`, or give `title`, `parameters`, `quota` or "
		           "`alerts`",
		           "a document of a project needs a `title`, `parameters`, a `quota` or "
		           "`alerts`");
	buf_done(&r.path);
	if (d->errors == before)
		return s;
	wf__scope_free(s);
	return NULL;
}

const struct workflow_scope *wf__scope_of(const struct workflow_set *set, const char *project)
{
	for (size_t i = 0; i < set->n_scopes; i++)
		if (strcmp(set->scopes[i]->project.text, project) == 0)
			return set->scopes[i];
	return NULL;
}

void wf__add_scope(struct workflow_set *set, struct yaml_doc *doc, const char *file,
                   struct diags *d)
{
	struct workflow_scope *s = read_scope(doc, file, d);
	const struct workflow_scope *other = s ? wf__scope_of(set, s->project.text) : NULL;

	if (other) {
		diag_error(d, (struct place){ s->file, s->node->line, s->node->column, "" },
		           "duplicate_name", "one document has all of them",
		           "the document of %s%s stands a second time; first in %s, line %d",
		           !*s->project.text        ? "all projects"
		           : workflow_scope_pool(s) ? ""
		                                    : "project ",
		           s->project.text, other->file, other->node->line);
		wf__scope_free(s);
		return;
	}
	if (!s)
		return;
	set->scopes = mem_grow(set->scopes, set->n_scopes + 1, sizeof *set->scopes);
	set->scopes[set->n_scopes++] = s;
}

size_t workflow_set_scopes(const struct workflow_set *set)
{
	return set->n_scopes;
}

const struct workflow_scope *workflow_set_scope(const struct workflow_set *set, size_t i)
{
	return set->scopes[i];
}

const char *workflow_scope_project(const struct workflow_scope *s)
{
	return s->project.text;
}

const char *workflow_scope_title(const struct workflow_scope *s)
{
	return s->title.node ? s->title.text : "";
}

struct place workflow_scope_place(const struct workflow_scope *s)
{
	const struct yaml_node *at = s->project.node ? s->project.node : s->node;

	return (struct place){ s->file, at->line, at->column, "" };
}

const char *workflow_scope_value(const struct workflow_scope *s, const char *name)
{
	for (size_t i = 0; i < s->parameters.n; i++)
		if (strcmp(s->parameters.items[i].name, name) == 0)
			return s->parameters.items[i].value;
	return NULL;
}

size_t workflow_scope_count(const struct workflow_scope *s)
{
	return s->parameters.n;
}

const char *workflow_scope_name_at(const struct workflow_scope *s, size_t i)
{
	return s->parameters.items[i].name;
}

void workflow_scope_print(const struct workflow_scope *s, struct buf *out)
{
	yaml_print(s->node, 0, out);
}

const struct yaml_node *workflow_scope_node(const struct workflow_scope *s)
{
	return s->node;
}

bool workflow_scope_same(const struct workflow_scope *a, const struct workflow_scope *b)
{
	return yaml_same(a->node, b->node);
}

const char *workflow_scope_pool(const struct workflow_scope *s)
{
	size_t n = strlen(WORKFLOW_POOL);

	return strncmp(s->project.text, WORKFLOW_POOL, n) == 0 ? s->project.text + n : NULL;
}

int32_t workflow_scope_slots(const struct workflow_scope *s)
{
	return s->base.quota_running.node ? s->base.quota_running.value : 0;
}

static void print_key(const struct workflow_scope *s, const char *key, struct buf *out)
{
	const struct yaml_node *n = s ? yaml_get(s->node, key) : NULL;

	if (!n)
		return;
	buf_printf(out, "%s:%s", key, n->kind == YAML_SCALAR ? " " : "\n  ");
	if (n->kind != YAML_SCALAR) {
		yaml_print(n, 2, out);
		return;
	}
	yaml_print_text(n->text, false, out);
	buf_putc(out, '\n');
}

void workflow_scope_print_with(const struct workflow_scope *s, const char *project, int32_t running,
                               const char *parameters, struct buf *out)
{
	const struct yaml_node *p = s ? yaml_get(s->node, "parameters") : NULL;

	if (*project)
		buf_printf(out, "project: %s\n", project);
	print_key(s, "title", out);
	print_key(s, "description", out);
	if (running)
		buf_printf(out, "quota: {running: %d}\n", (int)running);
	if (parameters)
		buf_puts(out, parameters);
	else if (p && p->n)
		print_key(s, "parameters", out);
	else if (p || !running)
		buf_puts(out, "parameters: {}\n");
	print_key(s, "alerts", out);
	print_key(s, "silences", out);
}
