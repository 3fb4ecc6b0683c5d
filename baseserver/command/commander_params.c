/* Parameters of a run that nothing uses: a slip in a name would run with the old value, and nobody
 * would know. Judged once, when the command comes in, by what the definitions say today.
 *
 * A task uses a name that is a parameter of its own, of its workflow or declared by its type; one
 * that a text of those asks for by ${NAME}, also by way of parameters of its project or of all;
 * and, where the type hands every parameter to a program, a name that stands as a word in a text
 * of the task (SIRDAR_PARAM_NAME). Where the program's text is not in the definition, or nobody
 * knows the type, any name may be used. With several tasks one that uses it is enough. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "rt/manifests.h"
#include "sched/macro.h"
#include "sched/task.h"
#include "sched/type.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/near.h"

enum { VALUES_DEPTH = 8, KNOWN_MAX = 200 };

/* One name is looked for, in the texts of one task. */
struct use {
	const struct commander *c;
	const struct task *def;
	const char *project; /* of the task */
	const char *name;
	int depth;
	bool found;
};

/* --- one task ------------------------------------------------------------------------------ */

static const char *own_value(const struct use *u, const char *name)
{
	for (size_t i = 0; i < u->def->n_params; i++)
		if (strcmp(u->def->params[i].name, name) == 0)
			return u->def->params[i].value;
	return NULL;
}

/* Of a text: is the name asked for, here or in the value of one that is? */
static bool on_name(void *ctx, const char *name)
{
	struct use *u = ctx;
	const char *value;

	if (strcmp(name, u->name) == 0)
		u->found = true;
	if (u->found || u->depth == VALUES_DEPTH || own_value(u, name))
		return true;
	value = scopes_value(&u->c->docs[DOC_SETTING], u->project, name);
	u->depth++;
	if (value)
		macro_check(value, on_name, NULL, u, NULL);
	u->depth--;
	return true;
}

static bool is_letter(char c)
{
	return c == '_' || isalnum((unsigned char)c);
}

/* In the environment what is no letter and no digit is `_`. */
static bool same_word(const char *text, const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] != name[i] && (is_letter(name[i]) || text[i] != '_'))
			return false;
	return true;
}

static bool has_word(const char *text, const char *name)
{
	static const char prefix[] = "SIRDAR_PARAM_";
	const size_t n = strlen(name), before = sizeof prefix - 1;
	const char *at = text;

	for (size_t left = strlen(text); left >= n; at++, left--) {
		bool begins = at == text || !is_letter(at[-1]) ||
		              ((size_t)(at - text) >= before &&
		               strncmp(at - before, prefix, before) == 0);
		if (begins && same_word(at, name, n) && !is_letter(at[n]))
			return true;
	}
	return false;
}

/* Does the definition hold the text that runs? */
static bool has_text(const struct task *def, const struct type *type)
{
	for (size_t i = 0; i < def->n_params; i++) {
		const struct type_param *p = type_param_find(type, def->params[i].name);
		if (p && p->kind == TYPE_SCRIPT && p->code != CODE_NONE)
			return true;
	}
	return false;
}

static const struct type *type_of(const struct commander *c, const struct task *def)
{
	return c->types ? type_set_find(manifests_types(c->types), def->type) : NULL;
}

static bool uses_name(const struct commander *c, const struct task *def, const char *name)
{
	const struct type *type = type_of(c, def);
	char *project = mem_strn(def->name, strcspn(def->name, "/"));
	struct use u = { .c = c, .def = def, .project = project, .name = name };
	bool all = type && type->takes_others;

	u.found = !type || own_value(&u, name) || type_param_find(type, name) ||
	          (all && !has_text(def, type));
	for (size_t i = 0; i < def->n_params && !u.found; i++) {
		macro_check(def->params[i].value, on_name, NULL, &u, NULL);
		u.found = u.found || (all && has_word(def->params[i].value, name));
	}
	free(project);
	return u.found;
}

/* --- what is started ------------------------------------------------------------------------ */

/* Tasks, each once; `seen` by id. */
struct group {
	const struct task **at;
	size_t n;
	bool *seen;
};

static void group_add(struct group *g, const struct commander *c, uint32_t id)
{
	const struct cat_task *t = catalog_task(&c->cat, id);

	if (!t || g->seen[id])
		return;
	g->seen[id] = true;
	g->at[g->n++] = t->def;
}

/* What depends on the chosen ones runs again too, and its parameters are the command's. */
static void group_make(struct group *g, const struct commander *c, const struct order *o)
{
	*g = (struct group){ .at = mem_array(c->cat.tasks_cap + 1, sizeof(void *)),
		             .seen = mem_array(c->cat.tasks_cap + 1, sizeof(bool)) };
	for (size_t i = 0; i < o->sel.n_tasks; i++)
		group_add(g, c, o->sel.tasks[i]);
	for (size_t i = 0; i < o->sel.n_instances; i++)
		group_add(g, c, o->sel.instances[i].task);
	for (size_t i = 0; i < g->n && o->mode != REDO_SELF; i++) {
		const struct cat_task *t = catalog_task(&c->cat, g->at[i]->id);
		for (size_t k = 0; k < t->n_children; k++)
			group_add(g, c, t->children[k]);
	}
}

static void group_done(struct group *g)
{
	free(g->at);
	free(g->seen);
}

static bool group_uses(const struct commander *c, const struct group *g, const char *name)
{
	for (size_t i = 0; i < g->n; i++)
		if (uses_name(c, g->at[i], name))
			return true;
	return false;
}

/* What there is, for people: parameters of the definitions that no program's text is. */
static size_t known_names(const struct commander *c, const struct group *g, const char **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct task *def = g->at[i];
		const struct type *type = type_of(c, def);
		for (size_t k = 0; k < def->n_params && n < KNOWN_MAX; k++) {
			const char *name = def->params[k].name;
			bool text = type && type_param_find(type, name);
			ret[n] = NULL;
			if (!text && !near_is_one(name, ret))
				ret[n++] = name;
		}
	}
	ret[n] = NULL;
	return n;
}

static int unused_refuse(const struct commander *c, const struct group *g, const char *name,
                         struct refusal *f)
{
	const char *known[KNOWN_MAX + 1];
	size_t n = known_names(c, g, known);
	char at[100];
	struct buf list;

	buf_init(&list);
	for (size_t i = 0; i < n && list.len < 150; i++)
		buf_printf(&list, "%s%.60s", i ? ", " : "", known[i]);
	snprintf(at, sizeof at, "args.params.%.70s", name);
	const char *near = nearest_of(name, known);
	int r = refuse(f, E_INVALID, at, n ? buf_str(&list) : "declare it under `parameters`",
	               "%s: nothing that runs uses a parameter of that name%s%s%s; %s%s", at,
	               near ? ", did you mean '" : "", near ? near : "", near ? "'" : "",
	               n ? "there are: "
	                 : "it has none of its own: declare it, with a value for "
	                   "other runs, under `parameters` of the workflow",
	               buf_str(&list));
	buf_done(&list);
	return r;
}

static int check_used(const struct commander *c, const struct order *o, const struct group *g,
                      struct refusal *f)
{
	const struct jval *params = NULL;
	int r = 0;

	if (!o->params || jv_parse(o->params, strlen(o->params), &params, NULL) < 0)
		return 0;
	for (const struct jval *p = jv_first(params); p && r == 0; p = p->next)
		if (!group_uses(c, g, p->key))
			r = unused_refuse(c, g, p->key, f);
	jv_free(params);
	return r;
}

int params__check(const struct commander *c, const struct order *o, const struct task *const *tasks,
                  size_t n, struct refusal *f)
{
	struct group g = { .at = mem_array(n + 1, sizeof(void *)), .n = n };

	memcpy(g.at, tasks, n * sizeof(void *));
	int r = check_used(c, o, &g, f);
	group_done(&g);
	return r;
}

int check_params(const struct commander *c, const struct order *o, struct refusal *f)
{
	struct group g;

	if (!o->params)
		return 0;
	group_make(&g, c, o);
	int r = check_used(c, o, &g, f);
	group_done(&g);
	return r;
}
