/* Do all the names that parameters use have a value? */
#include "sched/macro.h"
#include "sched/workflow_impl.h"
#include "util/err.h"
#include "util/pile.h"

#include <stdio.h>
#include <string.h>

struct asking {
	struct wf_compiler *c;
	const struct wf_made *m;
};

static bool in_pairs(const struct wf_pairs *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->items[i].name, name) == 0)
			return true;
	return false;
}

/* task.KEY: an output of a parent. What parents outside the set give is not known here. */
static bool is_output(const struct wf_made *m, const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < m->n_links; i++) {
		const struct wf_made *parent = m->parents[i];
		const char *task = m->needs[i] ? m->needs[i]->task.text
		                   : parent    ? parent->t->name
		                               : "";
		const char *last = strrchr(task, '/');
		last = last ? last + 1 : task;
		if (strlen(last) != (size_t)(dot - name) ||
		    strncmp(last, name, (size_t)(dot - name)) != 0)
			continue;
		if (!parent)
			return true;
		for (size_t k = 0; k < parent->t->outputs.n; k++)
			if (strcmp(parent->t->outputs.items[k].text, dot + 1) == 0)
				return true;
	}
	return false;
}

static bool is_known(void *ctx, const char *name)
{
	const struct asking *a = ctx;
	const struct workflow_world *w = a->c->world;

	if (in_pairs(&a->m->t->params, name) || in_pairs(&a->m->wf->base.parameters, name) ||
	    in_pairs(&a->m->t->environment, name) || is_output(a->m, name))
		return true;
	if (w->parameter)
		return w->parameter(w->ctx, a->m->wf->project.text, name);
	return strncmp(name, "server.", 7) == 0; /* target servers are the server's to know */
}

/* For "did you mean"; NULL-terminated. */
static const char *const *known_names(struct wf_compiler *c, const struct wf_made *m)
{
	const struct wf_pairs *own = &m->t->params, *shared = &m->wf->base.parameters;
	const char **names = pile_take(c->pile, (own->n + shared->n + 1) * sizeof *names);
	size_t n = 0;

	for (size_t i = 0; i < own->n; i++)
		names[n++] = own->items[i].name;
	for (size_t i = 0; i < shared->n; i++)
		names[n++] = shared->items[i].name;
	return names;
}

static void check_node(struct asking *a, const struct yaml_node *n, const char *key,
                       const char *const **known)
{
	struct err err = { 0 };

	for (size_t i = 0; n->kind != YAML_SCALAR && i < n->n; i++)
		check_node(a, n->items[i], key, known);
	if (n->kind != YAML_SCALAR || !macro_has(n->text))
		return;
	if (!*known)
		*known = known_names(a->c, a->m);
	if (macro_check(n->text, is_known, *known, a, &err) < 0)
		diag_error(a->c->d, wf_place(a->m, n, key), "macro",
		           strstr(n->text, "${") ? "$${NAME} leaves a variable to the shell" : NULL,
		           "%s", err.text);
}

static void check_pairs(struct asking *a, const struct wf_pairs *p, const char *name,
                        const char *const **known)
{
	char key[WORKFLOW_NAME_MAX + 40];

	for (size_t i = 0; i < p->n; i++) {
		snprintf(key, sizeof key, "%s.%s", name, p->items[i].name);
		check_node(a, p->items[i].node, key, known);
	}
}

void wf_check_macros(struct wf_compiler *c, const struct wf_made *m)
{
	struct asking a = { c, m };
	const char *const *known = NULL;

	check_pairs(&a, &m->t->params, "params", &known);
	check_pairs(&a, &m->t->environment, "environment", &known);
	if (m->t->directory.node)
		check_node(&a, m->t->directory.node, "directory", &known);
	if (m->t == m->wf->items) /* once a workflow */
		check_pairs(&a, &m->wf->base.parameters, "parameters", &known);
}
