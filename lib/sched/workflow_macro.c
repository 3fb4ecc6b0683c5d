/* Do all the names that parameters use have a value? Which of them are outputs of parents?
 *
 * A name is looked for where a grant will look for it: in the task's own parameters, among
 * outputs of the tasks it needs (`task.KEY`, or KEY alone), in its workflow, its project, and all.
 * An output that is used becomes an input of the task, so the server fetches it before the job
 * starts. What nobody gives is refused when it is saved, with the nearest name, instead of failing
 * at night. Parameters of a workflow are judged once, in their own place. */
#include "sched/macro.h"
#include "sched/task.h"
#include "sched/workflow_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/pile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whose parameters are being read; m is NULL for those of a project or of all. */
struct asking {
	struct wf_compiler *c;
	struct wf_made *m;
	const struct workflow_scope *scope;
	const char *project;      /* "": of all */
	const char *const *known; /* made when first wanted */
	struct place at;
	const char *why; /* what else is wrong with a name that was refused */
};

/* --- outputs of parents -------------------------------------------------------------------- */

static const char *parent_name(const struct wf_made *m, size_t i)
{
	if (m->parents[i])
		return m->parents[i]->t->name;
	return strrchr(m->outside[i]->name, '/') + 1;
}

static size_t outputs_of(const struct wf_made *m, size_t i)
{
	if (m->parents[i])
		return m->parents[i]->t->outputs.n;
	return m->outside[i]->n_outputs;
}

static const char *output_at(const struct wf_made *m, size_t i, size_t k)
{
	return m->parents[i] ? m->parents[i]->t->outputs.items[k].text : m->outside[i]->outputs[k];
}

static bool workflow_macro_declares(const struct wf_made *m, size_t i, const char *key)
{
	for (size_t k = 0; k < outputs_of(m, i); k++)
		if (strcmp(output_at(m, i, k), key) == 0)
			return true;
	return false;
}

static bool is_parent(const struct wf_made *m, size_t i, const char *name, size_t length)
{
	const char *task = parent_name(m, i);

	return strlen(task) == length && strncmp(task, name, length) == 0;
}

static void add_input(struct asking *a, const char *name, const char *key, size_t link)
{
	struct wf_made *m = a->m;

	for (size_t i = 0; i < m->n_inputs; i++)
		if (strcmp(m->inputs[i].name, name) == 0)
			return;
	m->inputs = mem_room(m->inputs, &m->inputs_cap, m->n_inputs + 1, sizeof *m->inputs);
	m->inputs[m->n_inputs++] = (struct task_input){ .name = pile_str(a->c->pile, name),
		                                        .key = pile_str(a->c->pile, key),
		                                        .link = (uint32_t)link };
}

/* task.KEY: of the first need on that task. */
static bool is_output(struct asking *a, const char *name)
{
	const struct wf_made *m = a->m;
	const char *dot = strrchr(name, '.');
	bool seen = false;

	for (size_t i = 0; dot && i < m->n_links; i++) {
		if (!is_parent(m, i, name, (size_t)(dot - name)))
			continue;
		seen = true;
		if (workflow_macro_declares(m, i, dot + 1)) {
			add_input(a, name, dot + 1, i);
			return true;
		}
	}
	if (seen)
		a->why = pile_fmt(a->c->pile,
		                  "%.*s declares no output '%s': add it to its `outputs`",
		                  (int)(dot - name), name, dot + 1);
	return false;
}

/* An output by its own name: over parameters of the workflow, under those of the task. */
static bool is_bare_output(struct asking *a, const char *name)
{
	const struct wf_made *m = a->m;
	size_t at = m->n_links;

	if (strchr(name, '.'))
		return false;
	for (size_t i = 0; i < m->n_links; i++) {
		if (!workflow_macro_declares(m, i, name))
			continue;
		if (at < m->n_links && strcmp(parent_name(m, i), parent_name(m, at)) != 0) {
			a->why = pile_fmt(a->c->pile, "say which: ${%s.%s} or ${%s.%s}",
			                  parent_name(m, at), name, parent_name(m, i), name);
			return false;
		}
		at = at < m->n_links ? at : i;
	}
	if (at == m->n_links)
		return false;
	add_input(a, name, name, at);
	return true;
}

/* --- names ----------------------------------------------------------------------------------- */

static bool in_scopes(const struct asking *a, const char *name)
{
	const struct workflow_scope *own = wf__scope_of(a->c->set, a->project),
				    *all = wf__scope_of(a->c->set, "");

	return (own && wf__has_pair(&own->parameters, name)) ||
	       (all && wf__has_pair(&all->parameters, name));
}

static bool is_outside(struct asking *a, const char *name)
{
	const struct workflow_world *w = a->c->world;

	/* Target servers are the server's to know: without it any name will do. */
	if (strncmp(name, "server.", 7) == 0) {
		a->why = "there is no target server of that name";
		return !w->parameter || w->parameter(w->ctx, a->project, name);
	}
	return in_scopes(a, name) || (w->parameter && w->parameter(w->ctx, a->project, name));
}

static bool is_known(void *ctx, const char *name)
{
	struct asking *a = ctx;
	struct wf_made *m = a->m;

	a->why = NULL;
	if (!m)
		return wf__has_pair(&a->scope->parameters, name) || is_outside(a, name);
	if (wf__has_pair(&m->t->params, name) || wf__has_pair(&m->t->environment, name))
		return true;
	if (is_output(a, name) || (!a->why && is_bare_output(a, name)))
		return m->asks = true;
	if (a->why)
		return false;
	if (wf__has_pair(&m->wf->base.parameters, name))
		return true;
	return is_outside(a, name) ? m->asks = true : false;
}

struct known {
	struct pile *pile;
	const char **names;
	size_t n, cap;
};

static void macro_know(struct known *k, const char *name)
{
	CHECK(k->n + 1 < k->cap);
	k->names[k->n++] = name;
}

static void know_pairs(struct known *k, const struct wf_pairs *p)
{
	for (size_t i = 0; p && i < p->n; i++)
		macro_know(k, p->items[i].name);
}

/* For "did you mean"; NULL-terminated. */
static const char *const *known_names(const struct asking *a)
{
	const struct wf_made *m = a->m;
	const struct workflow_scope *own = wf__scope_of(a->c->set, a->project),
				    *all = wf__scope_of(a->c->set, "");
	struct known k = { .pile = a->c->pile, .cap = 1 };

	k.cap += own ? own->parameters.n : 0;
	k.cap += all ? all->parameters.n : 0;
	if (m)
		k.cap += m->t->params.n + m->wf->base.parameters.n;
	for (size_t i = 0; m && i < m->n_links; i++)
		k.cap += outputs_of(m, i);
	k.names = pile_take(k.pile, k.cap * sizeof *k.names);
	if (m) {
		know_pairs(&k, &m->t->params);
		know_pairs(&k, &m->wf->base.parameters);
	}
	for (size_t i = 0; m && i < m->n_links; i++)
		for (size_t o = 0; o < outputs_of(m, i); o++)
			macro_know(&k, pile_fmt(k.pile, "%s.%s", parent_name(m, i),
			                        output_at(m, i, o)));
	know_pairs(&k, own ? &own->parameters : NULL);
	know_pairs(&k, all ? &all->parameters : NULL);
	return k.names;
}

static struct place place_of(const struct asking *a, const struct yaml_node *n, const char *key)
{
	if (a->m)
		return wf__place(a->m, n, key);
	return (struct place){ a->scope->file, n->line, n->column, key };
}

static void check_node(struct asking *a, const struct yaml_node *n, const char *key)
{
	struct err err = { 0 };

	for (size_t i = 0; n->kind != YAML_SCALAR && i < n->n; i++)
		check_node(a, n->items[i], key);
	if (n->kind != YAML_SCALAR || !macro_has(n->text))
		return;
	/* What was saved is taken as it is: a server that does not start helps nobody. */
	if (macro_check(n->text, is_known, NULL, a, &err) == 0 || a->c->world->saved)
		return;
	if (!a->known)
		a->known = known_names(a);
	macro_check(n->text, is_known, a->known, a, &err);
	diag_error(a->c->d, place_of(a, n, key), "macro",
	           a->why                  ? a->why
	           : strstr(n->text, "${") ? "$${NAME} leaves a variable to the shell"
	                                   : NULL,
	           "%s", err.text);
}

static void check_pairs(struct asking *a, const struct wf_pairs *p, const char *name)
{
	char key[WORKFLOW_NAME_MAX + 40];

	for (size_t i = 0; i < p->n; i++) {
		snprintf(key, sizeof key, "%s.%s", name, p->items[i].name);
		check_node(a, p->items[i].node, key);
	}
}

/* Parameters of the workflow travel with each task, so their names count for each; what is
 * wrong with them is said once, and in their own place. */
static void check_shared(struct asking *a)
{
	const struct wf_pairs *p = &a->m->wf->base.parameters;

	if (a->m->t == a->m->wf->items) {
		check_pairs(a, p, "parameters");
		return;
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].node->kind == YAML_SCALAR && macro_has(p->items[i].value))
			macro_check(p->items[i].value, is_known, NULL, a, NULL);
}

void wf__check_macros(struct wf_compiler *c, struct wf_made *m)
{
	struct asking a = { .c = c, .m = m, .project = m->wf->project.text };

	check_pairs(&a, &m->t->params, "params");
	check_pairs(&a, &m->t->environment, "environment");
	if (m->t->directory.node)
		check_node(&a, m->t->directory.node, "directory");
	check_shared(&a);
}

void wf__check_scopes(struct wf_compiler *c)
{
	for (size_t i = 0; i < c->set->n_scopes; i++) {
		const struct workflow_scope *s = c->set->scopes[i];
		struct asking a = { .c = c, .scope = s, .project = s->project.text };
		check_pairs(&a, &s->parameters, *s->project.text ? "parameters" : "global");
	}
}
