/* The parameters of a task against what its type declares (type.h).
 *
 * Judged are: parameters that the type does not have, those that are missing, groups of which one
 * must be there, target servers and secrets. Names of servers and secrets must stand here without
 * macros, because slots, and who may have a secret, are decided before a job runs. Without a
 * manifest of the type nothing is judged. A type that no broker has is refused for what is to run,
 * because it would wait for ever; a draft may name it. */
#include "sched/macro.h"
#include "sched/type.h"
#include "sched/workflow_impl.h"
#include "util/check.h"
#include "util/near.h"

#include <stdio.h>
#include <string.h>

/* Said by the task itself, not by `defaults`, which are for tasks of all types? */
static bool is_own(const struct wf_made *m, const struct wf_pair *p)
{
	/* What is no map is refused when it is read. */
	const struct yaml_node *params = yaml_get(m->t->node, "params");

	for (size_t i = 0; params && i < params->n; i++)
		if (params->items[i] == p->node)
			return true;
	return false;
}

/* Will the runner find a parameter of that name? What a step or its shape says counts too. */
static bool is_given(const struct wf_compiler *c, const struct wf_made *m, const char *name)
{
	const struct workflow_scope *own = wf__scope_of(c->set, m->wf->project.text);
	const struct workflow_scope *all = wf__scope_of(c->set, "");

	if (wf__has_pair(&m->t->params, name) || wf__has_pair(&m->wf->base.parameters, name) ||
	    (own && wf__has_pair(&own->parameters, name)) ||
	    (all && wf__has_pair(&all->parameters, name)))
		return true;
	if (m->t->directory.node && strcmp(name, "directory") == 0)
		return true;
	return c->world->parameter && c->world->parameter(c->world->ctx, m->wf->project.text, name);
}

static void type_unknown(struct wf_compiler *c, const struct wf_made *m, const struct type *t,
                         const struct wf_pair *p, const char *key)
{
	struct nearest near = nearest_to(p->name);
	char hint[NEAREST_HINT_BYTES];

	for (size_t i = 0; i < t->n_params; i++)
		nearest_try(&near, t->params[i].name);
	diag_error(c->d, wf__place(m, p->node, key), "unknown_parameter", nearest_hint(&near, hint),
	           "the task type '%s' has no parameter '%s'", t->name, p->name);
}

static void check_given(struct wf_compiler *c, const struct wf_made *m, const struct type *t)
{
	char key[WORKFLOW_NAME_MAX + 40], room[300];

	for (size_t i = 0; i < m->t->params.n; i++) {
		const struct wf_pair *p = &m->t->params.items[i];
		const struct type_param *declared = type_param_find(t, p->name);
		const char *want;

		snprintf(key, sizeof key, "params.%s", p->name);
		if (!declared && !t->takes_others && is_own(m, p))
			type_unknown(c, m, t, p, key);
		if (!declared || type_value_ok(declared, p->node, room, sizeof room, &want))
			continue;
		diag_error(c->d, wf__place(m, p->node, key), "wrong_value", NULL,
		           "parameter %s of the task type '%s' is %s%.80s%s, want %s", p->name,
		           t->name, p->node->kind == YAML_SCALAR ? "'" : "",
		           p->node->kind == YAML_SCALAR ? p->node->text : yaml_kind_name(p->node),
		           p->node->kind == YAML_SCALAR ? "'" : "", want);
	}
}

/* A parameter that may be a slip of one that is wanted; NULL: none. */
static const char *slip_of(const struct wf_made *m, const struct type *t, const char *wanted,
                           char *room, size_t bytes)
{
	for (size_t i = 0; i < m->t->params.n; i++) {
		const char *name = m->t->params.items[i].name;
		if (type_param_find(t, name) || near_distance(name, wanted) > near_most(name))
			continue;
		snprintf(room, bytes, "is '%.60s' meant to be '%.60s'?", name, wanted);
		return room;
	}
	return NULL;
}

static void check_missing(struct wf_compiler *c, const struct wf_made *m, const struct type *t)
{
	char room[200];

	for (size_t i = 0; i < t->n_params; i++) {
		const struct type_param *p = &t->params[i];
		if (!p->required || is_given(c, m, p->name))
			continue;
		const char *slip = slip_of(m, t, p->name, room, sizeof room);
		diag_error(c->d, wf__place(m, m->t->params.node, "params"), "missing_parameter",
		           slip ? slip : p->help, "the task type '%s' needs the parameter '%s'",
		           t->name, p->name);
	}
}

static void check_one_of(struct wf_compiler *c, const struct wf_made *m, const struct type *t)
{
	char names[200] = "", room[200];
	const char *slip = NULL;
	size_t given = 0, at = 0;

	for (size_t i = 0; t->one_of && i < t->one_of->n; i++) {
		given += is_given(c, m, t->one_of->items[i]->text);
		slip = slip ? slip : slip_of(m, t, t->one_of->items[i]->text, room, sizeof room);
		if (at + 1 < sizeof names)
			at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
			                       t->one_of->items[i]->text);
	}
	if (t->one_of && given != 1)
		diag_error(
			c->d, wf__place(m, m->t->params.node, "params"),
			given ? "conflict" : "missing_parameter", given ? NULL : slip,
			"the task type '%s' needs exactly one of the parameters %s, here are %zu",
			t->name, names, given);
}

/* --- target servers and secrets --------------------------------------------------------- */

static void check_server(struct wf_compiler *c, const struct wf_made *m, const struct wf_pair *p,
                         const char *name, bool secret)
{
	char key[WORKFLOW_NAME_MAX + 40];
	const char *why = c->world->server ? c->world->server(c->world->ctx, m->wf->project.text,
	                                                      name, secret)
	                                   : NULL;

	snprintf(key, sizeof key, "params.%s", p->name);
	if (why)
		diag_error(c->d, wf__place(m, p->node, key), "unknown_server", "sirdar target list",
		           "parameter %s: the target server '%.80s' %s", p->name, name, why);
}

/* Names of secrets, separated by blanks or commas. */
static void check_secrets(struct wf_compiler *c, const struct wf_made *m, const struct wf_pair *p)
{
	char name[2 * WORKFLOW_NAME_MAX], key[WORKFLOW_NAME_MAX + 40];
	size_t n, n_names = 0;

	for (const char *at = p->value; *(at += strspn(at, TYPE_NAMES_APART)); at += n) {
		n = strcspn(at, TYPE_NAMES_APART);
		if (++n_names > TYPE_NAMES_MAX) {
			snprintf(key, sizeof key, "params.%s", p->name);
			diag_error(c->d, wf__place(m, p->node, key), "too_many", NULL,
			           "parameter %s names more than %d secrets", p->name,
			           TYPE_NAMES_MAX);
			return;
		}
		snprintf(name, sizeof name, "%.*s", (int)n, at);
		check_server(c, m, p, name, true);
	}
}

/* Its slots are a gate that must be known before the job runs: no macros. */
static void check_plain(struct wf_compiler *c, const struct wf_made *m, const struct wf_pair *p)
{
	char key[WORKFLOW_NAME_MAX + 40];

	snprintf(key, sizeof key, "params.%s", p->name);
	if (word_ok(p->value))
		check_server(c, m, p, p->value, false);
	else
		diag_error(c->d, wf__place(m, p->node, key), "wrong_value", "sirdar target list",
		           "parameter %s is '%.80s', want the name of a target server, without "
		           "macros",
		           p->name, p->value);
}

/* Who may have which secret is judged here, so the names must stand here. */
static void check_no_macro(struct wf_compiler *c, const struct wf_made *m, const struct wf_pair *p)
{
	char key[WORKFLOW_NAME_MAX + 40];

	snprintf(key, sizeof key, "params.%s", p->name);
	diag_error(c->d, wf__place(m, p->node, key), "wrong_value", "sirdar target list",
	           "parameter %s is '%.80s', want names of secrets, without macros", p->name,
	           p->value);
}

static void check_servers(struct wf_compiler *c, const struct wf_made *m, const struct type *t,
                          const struct wf_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n; i++) {
		const struct wf_pair *p = &pairs->items[i];
		const struct type_param *declared = type_param_find(t, p->name);

		if (declared && declared->kind == TYPE_SERVER)
			check_plain(c, m, p);
		else if (declared && declared->secret && macro_has(p->value))
			check_no_macro(c, m, p);
		else if (declared && declared->secret)
			check_secrets(c, m, p);
	}
}

/* Something that the server must have at hand before the job begins. */
static bool uses_server(const struct type *t, const struct wf_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n; i++) {
		const struct type_param *declared = type_param_find(t, pairs->items[i].name);
		if (declared && (declared->kind == TYPE_SERVER || declared->secret))
			return true;
	}
	return false;
}

static bool is_draft(const struct wf_made *m)
{
	enum { WORD_DRAFT = 1 }; /* of `state`: online, draft, ... */

	return m->t->state.value == WORD_DRAFT;
}

/* A slip in its name would wait for ever for a machine that has it. */
static void check_known(struct wf_compiler *c, const struct wf_made *m)
{
	const struct type_set *types = c->world->types;
	const char *name = m->t->type.text;
	struct nearest near = nearest_to(name);
	char hint[NEAREST_HINT_BYTES];

	if (c->world->saved || !types || type_set_count(types) == 0 || is_draft(m) ||
	    (c->world->runs && c->world->runs(c->world->ctx, name)))
		return;
	for (size_t i = 0; i < type_set_count(types); i++)
		nearest_try(&near, type_set_at(types, i)->name);
	const char *said = nearest_hint(&near, hint);
	diag_error(c->d, wf__place(m, m->t->type.node, "type"), "unknown_type",
	           said ? said
	                : "`sirdar type list` has those there are; state: draft may name one that "
	                  "is to come",
	           "there is no task type '%.80s'", name);
}

static void check_place(struct wf_compiler *c, const struct wf_made *m, const struct yaml_node *at,
                        const char *name, bool group)
{
	if (!name || !name[0] || c->world->machine(c->world->ctx, name, group))
		return;
	diag_warning(
		c->d, wf__place(m, at, group ? "group" : "machines"),
		group ? "unknown_group" : "unknown_machine",
		"its instances wait until one is there; `sirdar broker list` has those that are",
		group ? "no machine is in the group '%.80s'" : "there is no machine '%.80s'", name);
}

/* A slip in these would wait for ever, too. */
static void check_places(struct wf_compiler *c, const struct wf_made *m)
{
	if (c->world->saved || !c->world->machine || is_draft(m))
		return;
	check_place(c, m, m->t->group.node, m->t->group.text, true);
	for (size_t i = 0; i < m->t->machines.n; i++)
		check_place(c, m, m->t->machines.node, m->t->machines.items[i].text, false);
}

void wf__check_type(struct wf_compiler *c, struct wf_made *m)
{
	const struct type *t;

	if (m->t->shared && !m->t->of_library)
		return;         /* refused: nobody knows what it is */
	CHECK(m->t->type.text); /* without one it is refused when it is read */
	t = c->world->types ? type_set_find(c->world->types, m->t->type.text) : NULL;
	m->type = t;
	wf__check_code(c, m);
	check_places(c, m);
	if (!t) {
		check_known(c, m);
		return;
	}
	m->asks |= uses_server(t, &m->t->params) || uses_server(t, &m->wf->base.parameters);
	if (c->world->saved)
		return;
	check_given(c, m, t);
	check_servers(c, m, t, &m->t->params);
	check_servers(c, m, t, &m->wf->base.parameters);
	check_missing(c, m, t);
	check_one_of(c, m, t);
}
