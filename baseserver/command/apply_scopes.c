/* Parameters of projects and of all, among the documents of one apply. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "baseserver/ledger/pools.h"
#include "baseserver/model/scopes.h"
#include "sched/macro.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/err.h"

/* Does a task use a name that is going? */
struct going {
	const struct commander *c;
	const struct workflow_scope *was, *is;
	const char *project; /* of the task */
	const char *name;    /* found */
};

static bool scopes_stays(void *ctx, const char *name)
{
	struct going *g = ctx;
	const char *own = workflow_scope_project(g->is);

	if (!workflow_scope_value(g->was, name) || workflow_scope_value(g->is, name))
		return true;
	/* One of the same name in the other scope takes its place. */
	const struct workflow_scope *other = scope_of(
		scopes_doc(&g->c->docs[DOC_SETTING], *own ? "" : g->project));
	if (other && workflow_scope_value(other, name))
		return true;
	g->name = name;
	return false;
}

static bool has_own(const struct task *t, const char *name)
{
	for (size_t i = 0; i < t->n_params; i++)
		if (strcmp(t->params[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < t->n_inputs; i++)
		if (strcmp(t->inputs[i].name, name) == 0)
			return true;
	return false;
}

/* Tasks of the documents were checked against the new parameters when they were compiled. */
static int check_users(struct apply *a, const struct workflow_scope *was,
                       const struct workflow_scope *is)
{
	const struct commander *c = a->c;
	const char *project = workflow_scope_project(is);

	for (size_t i = 0; i < c->cat.tasks_cap; i++) {
		const struct cat_task *t = catalog_task(&c->cat, (uint32_t)i);
		if (!t || catalog_retired(t) || !t->def->asks || apply__has_own(a, t))
			continue;
		size_t n = strcspn(t->def->name, "/");
		if (*project && (strlen(project) != n || strncmp(project, t->def->name, n) != 0))
			continue;
		char *own = mem_strn(t->def->name, n);
		struct going g = { c, was, is, own, NULL };
		for (size_t k = 0; k < t->def->n_params && !g.name; k++) {
			macro_check(t->def->params[k].value, scopes_stays, NULL, &g, NULL);
			if (g.name && has_own(t->def, g.name))
				g.name = NULL;
		}
		free(own);
		if (g.name)
			return refuse(a->f, E_CONFLICT, "args.documents",
			              "change the task first, or in the same apply",
			              "%s uses a parameter that goes", t->def->name);
	}
	return 0;
}

static void take_pool(struct apply *a, const struct workflow_scope *s)
{
	const char *name = workflow_scope_pool(s);
	bool was = docs_find(&a->c->docs[DOC_POOL], name) != NULL;
	bool differs = pool__change(a->c, a->cmd, name, workflow_scope_slots(s), a->e);
	const char *what = !was ? "create" : differs ? "update" : "same";

	apply__change_begin(a, "pool", name, what, 0);
	apply__change_end(a, what, "", NULL, workflow_scope_node(s));
}

/* A document that had a quota and has none takes it back; one that never had leaves what is. */
static bool take_quota(struct apply *a, const struct workflow_scope *old,
                       const struct workflow_scope *s)
{
	int32_t running = workflow_scope_slots(s);
	char *name = mem_fmt(POOL_PROJECT "%s", workflow_scope_project(s));
	bool changes = false;

	if (running || (old && workflow_scope_slots(old)))
		changes = pool__change(a->c, a->cmd, name, running ? running : POOL_NONE, a->e);
	free(name);
	return changes;
}

static int scopes_take(struct apply *a, const struct workflow_scope *s)
{
	if (workflow_scope_pool(s)) {
		take_pool(a, s);
		return 0;
	}
	struct commander *c = a->c;
	const char *project = workflow_scope_project(s);
	const struct doc *was = scopes_doc(&c->docs[DOC_SETTING], project);
	const struct workflow_scope *old = scope_of(was);
	struct buf name, body;

	int r = old ? check_users(a, old, s) : 0;
	if (r < 0)
		return r;
	buf_init(&name);
	buf_init(&body);
	scope_doc_name(project, &name);
	workflow_scope_print(s, &body);
	bool quota = take_quota(a, old, s);
	r = quota ? within__check_quota(&a->cmd->o, project, a->f) : 0;
	if (r < 0) {
		buf_done(&name);
		buf_done(&body);
		return r;
	}
	bool differs = quota || !was || was->len != body.len ||
	               memcmp(was->body, buf_str(&body), body.len) != 0;
	uint32_t version = was ? was->version + differs : 1;
	const char *what = !was ? "create" : differs ? "update" : "same";
	apply__change_begin(a, "parameters", *project ? project : "global", what, version);
	apply__change_end(a, what, "", old ? workflow_scope_node(old) : NULL,
	                  workflow_scope_node(s));
	if (differs)
		stored__change(c, a->cmd, a->e,
		               &(struct store_doc){ .kind = DOC_SETTING,
		                                    .name = buf_str(&name),
		                                    .body = buf_str(&body) });
	buf_done(&name);
	buf_done(&body);
	return 0;
}

int apply__scopes(struct apply *a)
{
	int r = 0;

	for (size_t i = 0; i < workflow_set_scopes(a->set) && r == 0; i++)
		r = scopes_take(a, workflow_set_scope(a->set, i));
	return r;
}
