/* Values of others in what a task runs (code.h): data since a document says so in a comment, which
 * the server writes into what is saved now. A document without it was saved by a release that made
 * them a part of the code, and keeps that until it is saved anew; so does a task with `raw`. */
#include "sched/code.h"
#include "sched/command.h"
#include "sched/type.h"
#include "sched/workflow_impl.h"

#include "util/alloc.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ours, whatever a manifest of an earlier release says. */
static const struct {
	const char *type, *param;
	enum code_kind code;
	const char *members[2]; /* of its maps; none: all of it */
} own[] = {
	{ "shell", "script", CODE_SHELL },  { "shell", "command", CODE_SHELL },
	{ "sql", "sql", CODE_SQL },         { "sql", "statements", CODE_SQL },
	{ "sensor", "sql", CODE_SQL },      { "transfer", "query", CODE_SQL },
	{ "hive", "sql", CODE_SQL },        { "presto", "sql", CODE_SQL },
	{ "python", "script", CODE_OTHER }, { "check", "rules", CODE_OTHER, { "sql", "where" } },
	{ "check", "where", CODE_OTHER }
};

static size_t own_row(const char *type, const char *name)
{
	size_t i = 0;

	while (i < sizeof own / sizeof *own &&
	       (strcmp(type, own[i].type) != 0 || strcmp(name, own[i].param) != 0))
		i++;
	return i;
}

static enum code_kind own_code(const char *type, const char *name)
{
	size_t i = own_row(type, name);

	return i < sizeof own / sizeof *own ? own[i].code : CODE_NONE;
}

/* Is that member of a map in the parameter code? */
static bool is_member(const char *type, const char *name, const char *member)
{
	size_t i = own_row(type, name);

	return i == sizeof own / sizeof *own || !own[i].members[0] ||
	       strcmp(member, own[i].members[0]) == 0 || strcmp(member, own[i].members[1]) == 0;
}

enum code_kind wf__code_of(const struct wf_made *m, const char *name)
{
	const struct type_param *p = m->type ? type_param_find(m->type, name) : NULL;
	enum code_kind code = own_code(m->t->type.text, name);

	return code == CODE_NONE && p ? p->code : code;
}

static void check_text(struct wf_compiler *c, const struct wf_made *m, const struct wf_pair *p,
                       const struct yaml_node *n)
{
	char key[WORKFLOW_NAME_MAX + 40], hint[CODE_HINT_BYTES];
	struct err err = { 0 };

	for (size_t i = 0; n->kind != YAML_SCALAR && i < n->n; i++)
		if (n->kind != YAML_MAP || is_member(m->t->type.text, p->name, n->keys[i]->text))
			check_text(c, m, p, n->items[i]);
	if (n->kind != YAML_SCALAR || code_check(wf__code_of(m, p->name), n->text, &err, hint) == 0)
		return;
	snprintf(key, sizeof key, "params.%s", p->name);
	diag_error(c->d, wf__place(m, n, key), "unsafe_value", hint, "parameter %s, %s", p->name,
	           err.text);
}

bool wf__is_line(const char *name)
{
	static const char *const lines[] = { "environment", "directory", "url", "user", "headers" };

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (strcmp(name, lines[i]) == 0)
			return true;
	return false;
}

static bool is_argv(const struct wf_made *m, const char *name)
{
	return strcmp(m->t->type.text, "shell") == 0 && strcmp(name, "argv") == 0;
}

static void check_argv(struct wf_compiler *c, const struct wf_made *m, const struct wf_pair *p)
{
	const struct yaml_node *list = p->node;
	const char **words = mem_array(list->n + 1, sizeof *words);
	char hint[CODE_HINT_BYTES] = "write it as a list: [PROGRAM, \"${...}\"]";
	struct err err = { 0 };
	int r;

	for (size_t i = 0; list->kind == YAML_LIST && i < list->n; i++)
		words[i] = list->items[i]->kind == YAML_SCALAR ? list->items[i]->text : "";
	if (list->kind != YAML_LIST)
		r = err_set(&err, E_INVALID, "values stand in a text, where they may add words");
	else
		r = code_check_words(words, list->n, &err, hint);
	if (r < 0)
		diag_error(c->d, wf__place(m, list, "params.argv"), "unsafe_value", hint,
		           "parameter argv, %s", err.text);
	free(words);
}

static void refuse_steering(struct wf_compiler *c, const struct wf_made *m,
                            const struct yaml_node *n, const char *name)
{
	diag_error(c->d, wf__place(m, n, "environment"), "unsafe_value",
	           "write the value itself; or `raw: true` beside it, which needs the right unsafe",
	           "environment: a value sets %.80s, which says what programs run", name);
}

/* NAME=value, of lines or of a map. */
static void check_variable(struct wf_compiler *c, const struct wf_made *m,
                           const struct yaml_node *n, const char *name, const char *value)
{
	if (code_takes(name))
		refuse_steering(c, m, n, "a variable of any name");
	else if (command_is_steering(name) && code_takes(value))
		refuse_steering(c, m, n, name);
}

static void check_environment(struct wf_compiler *c, const struct wf_made *m,
                              const struct yaml_node *n)
{
	for (size_t i = 0; n->kind == YAML_MAP && i < n->n; i++)
		if (n->items[i]->kind == YAML_SCALAR)
			check_variable(c, m, n->items[i], n->keys[i]->text, n->items[i]->text);
	if (n->kind != YAML_SCALAR)
		return;
	char *text = mem_str(n->text), *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *value = strchr(line, '=');
		if (value)
			*value = '\0';
		check_variable(c, m, n, line, value ? value + 1 : "");
	}
	free(text);
}

/* What is code by its name alone, in no language of ours. */
static void check_named(struct wf_compiler *c, const struct wf_made *m, const struct wf_pair *p)
{
	if (!m->binds || c->world->saved)
		return;
	if (is_argv(m, p->name))
		check_argv(c, m, p);
	else if (strcmp(p->name, "environment") == 0)
		check_environment(c, m, p->node);
}

static void check_pairs(struct wf_compiler *c, struct wf_made *m, const struct wf_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n; i++) {
		const struct wf_pair *p = &pairs->items[i];
		bool code = wf__code_of(m, p->name) != CODE_NONE;

		if (code_takes(p->value))
			check_named(c, m, p);
		if ((!code && p->node->kind == YAML_SCALAR) || !code_takes(p->value))
			continue;
		m->asks = true;
		if (code && m->binds && !c->world->saved)
			check_text(c, m, p, p->node);
		if (code && m->t->raw.value && c->world->fresh)
			diag_warning(c->d, wf__place(m, p->node, "raw"), "unsafe_splices", NULL,
			             "values become a part of the parameter %s: what others say "
			             "may run",
			             p->name);
	}
}

void wf__check_code(struct wf_compiler *c, struct wf_made *m)
{
	m->binds = (m->wf->binds || c->world->fresh) && !m->t->raw.value;
	check_pairs(c, m, &m->t->params);
	check_pairs(c, m, &m->wf->base.parameters);
	for (size_t i = 0; m->binds && !c->world->saved && i < m->t->environment.n; i++)
		check_variable(c, m, m->t->environment.items[i].node,
		               m->t->environment.items[i].name, m->t->environment.items[i].value);
}

static bool splices(const struct wf_task *t, const struct wf_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n; i++)
		if ((own_code(t->type.text ? t->type.text : "", pairs->items[i].name) !=
		             CODE_NONE ||
		     strcmp(pairs->items[i].name, "argv") == 0) &&
		    code_takes(pairs->items[i].value))
			return true;
	return false;
}

const char *workflow_splices(const struct workflow *wf, size_t i)
{
	const struct wf_task *t = &wf->items[i];

	if ((wf->binds && !t->raw.value) ||
	    (!splices(t, &t->params) && !splices(t, &wf->base.parameters)))
		return NULL;
	return t->full;
}

const char *workflow_raw(const struct workflow *wf)
{
	for (size_t i = 0; i < wf->n; i++)
		if (wf->items[i].raw.value)
			return wf->items[i].full;
	return NULL;
}

static bool has_macro(const struct yaml_node *n)
{
	if (n->kind == YAML_SCALAR)
		return strstr(n->text, "${") != NULL;
	for (size_t i = 0; i < n->n; i++)
		if (has_macro(n->items[i]) ||
		    (n->kind == YAML_MAP && strcmp(n->keys[i]->text, "use") == 0))
			return true;
	return false;
}

void workflow_bind(struct workflow_set *set, size_t i)
{
	struct workflow *wf = set->items[i];

	wf->binds = wf->binds || (!wf->is_library && has_macro(yaml_root(wf->doc)));
}
