/* Parameters of a project and of all: documents beside workflows. */
#include "sched/workflow_impl.h"

#include "util/alloc.h"
#include "util/pile.h"

#include <stdlib.h>
#include <string.h>

/* `project:` alone is also how a workflow looks whose first key was forgotten. */
bool wf_is_scope(const struct yaml_node *root)
{
	static const char *const of_workflows[] = { "workflow", "pipeline", "tasks", "steps" };

	if (root->kind != YAML_MAP)
		return false;
	for (size_t i = 0; i < sizeof of_workflows / sizeof *of_workflows; i++)
		if (yaml_get(root, of_workflows[i]))
			return false;
	return yaml_get(root, "global") || yaml_get(root, "project");
}

void wf_scope_free(struct workflow_scope *s)
{
	if (!s)
		return;
	yaml_free(s->doc);
	pile_free(s->pile);
	free(s);
}

static struct workflow_scope *read_scope(struct yaml_doc *doc, const char *file, struct diags *d)
{
	struct workflow_scope *s = mem_new(sizeof *s);
	const struct yaml_node *root = yaml_root(doc);
	bool is_global = yaml_get(root, "global") != NULL;
	size_t before = d->errors;

	s->doc = doc;
	s->pile = pile_new();
	s->file = pile_str(s->pile, file);
	s->node = root;
	s->project.text = "";
	struct wf_reader r = { .d = d, .pile = s->pile, .file = s->file };
	buf_init(&r.path);
	wf_read_map(&r, is_global ? WT_GLOBAL : WT_PROJECT, root, s);
	if (!is_global && !yaml_get(root, "parameters"))
		diag_error(d, wf_here(&r, root), "missing_key",
		           "begin with `workflow: NAME`, or give `parameters`",
		           "a document of a project needs `parameters`");
	buf_done(&r.path);
	if (d->errors == before)
		return s;
	wf_scope_free(s);
	return NULL;
}

const struct workflow_scope *wf_scope_of(const struct workflow_set *set, const char *project)
{
	for (size_t i = 0; i < set->n_scopes; i++)
		if (strcmp(set->scopes[i]->project.text, project) == 0)
			return set->scopes[i];
	return NULL;
}

void wf_add_scope(struct workflow_set *set, struct yaml_doc *doc, const char *file, struct diags *d)
{
	struct workflow_scope *s = read_scope(doc, file, d);
	const struct workflow_scope *other = s ? wf_scope_of(set, s->project.text) : NULL;

	if (other) {
		diag_error(d, (struct place){ s->file, s->node->line, s->node->column, "" },
		           "duplicate_name", "one document has all of them",
		           "the parameters of %s%s stand a second time; first in %s, line %d",
		           *s->project.text ? "project " : "all projects", s->project.text,
		           other->file, other->node->line);
		wf_scope_free(s);
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
