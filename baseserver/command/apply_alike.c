/* New names are compared with the names in force. People may take two projects, or two workflows of
 * a project, for one: then the later name is refused. A workflow, a document of its own or a quota
 * puts a project in force. The compiler compares the names within the documents, tasks among them,
 * for a workflow's document has all its tasks. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "baseserver/ledger/pools.h"
#include "baseserver/model/scopes.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/err.h"

/* A workflow, or a project, that nothing in force has the name of. */
struct newcomer {
	char *name, *fold;
	struct place at;
};

/* A project comes as often as new workflows name it. */
struct newcomers {
	struct newcomer *items;
	size_t n, cap;
	struct map by_fold; /* the first of each name */
};

static char *project_of(const char *workflow)
{
	return mem_strn(workflow, strcspn(workflow, "/"));
}

static bool has_project(const struct commander *c, const char *project)
{
	char *quota = mem_fmt(POOL_PROJECT "%s", project);
	bool is = documents_has_project(&c->documents, project) ||
	          scopes_doc(&c->docs[DOC_SETTING], project) ||
	          docs_find(&c->docs[DOC_POOL], quota);

	free(quota);
	return is;
}

static bool has_name(const struct newcomers *l, uint64_t key, const char *name)
{
	size_t at = 0;
	uint32_t i = map_first(&l->by_fold, key, &at);

	while (i != MAP_NONE && strcmp(l->items[i].name, name) != 0)
		i = map_next(&l->by_fold, key, &at);
	return i != MAP_NONE;
}

/* Takes name. */
static void alike_add(struct newcomers *l, char *name, struct place at)
{
	l->items = mem_room(l->items, &l->cap, l->n + 1, sizeof *l->items);
	struct newcomer new = { name, name_fold(name), at };
	uint64_t key = map_text(new.fold);
	if (!has_name(l, key, name))
		map_add(&l->by_fold, key, (uint32_t)l->n);
	l->items[l->n++] = new;
}

static void alike_list(const struct apply *a, struct newcomers *l)
{
	for (size_t i = 0; i < a->n_given; i++) {
		const struct workflow *wf = workflow_set_at(a->set, i);
		const char *name = workflow_name(wf);
		if (docs_find(&a->c->documents.all, name))
			continue;
		alike_add(l, mem_str(name), workflow_place(wf));
		char *project = project_of(name);
		if (has_project(a->c, project))
			free(project);
		else
			alike_add(l, project, workflow_place(wf));
	}
	for (size_t i = 0; i < workflow_set_scopes(a->set); i++) {
		const struct workflow_scope *s = workflow_set_scope(a->set, i);
		const char *project = workflow_scope_project(s);
		if (!workflow_scope_pool(s) && *project && !has_project(a->c, project))
			alike_add(l, mem_str(project), workflow_scope_place(s));
	}
}

static void refuse_all(struct apply *a, const struct newcomers *l, size_t first, const char *name)
{
	const char *new = l->items[first].name;

	for (size_t i = first; i < l->n; i++)
		if (strcmp(l->items[i].name, new) == 0)
			diag_error(&a->diags, l->items[i].at, "alike_name",
			           "choose names that differ by more than case or width",
			           "'%s' and '%s' look the same", new, name);
}

/* `fold`: of the name in force. */
static void alike_compare(struct apply *a, const struct newcomers *l, const char *name,
                          const char *fold)
{
	uint64_t key = map_text(fold);
	size_t at = 0;

	for (uint32_t i = map_first(&l->by_fold, key, &at); i != MAP_NONE;
	     i = map_next(&l->by_fold, key, &at))
		if (strcmp(l->items[i].fold, fold) == 0 && strcmp(l->items[i].name, name) != 0)
			refuse_all(a, l, i, name);
}

/* The projects in force that have no workflow yet are among them. */
static void each_project(const struct commander *c, void (*each)(void *ctx, const char *name),
                         void *ctx)
{
	for (size_t i = 0; i < c->documents.n_projects; i++)
		if (c->documents.projects[i].in_force)
			each(ctx, c->documents.projects[i].name);
	const struct docs *scopes = &c->docs[DOC_SETTING], *pools = &c->docs[DOC_POOL];
	for (size_t i = 0; i < scopes->n; i++) {
		const char *slash = strchr(scopes->items[i].name, '/');
		if (slash && scope_of(&scopes->items[i]))
			each(ctx, slash + 1);
	}
	for (size_t i = 0; i < pools->n; i++) {
		size_t n = strlen(POOL_PROJECT);
		if (!pools->items[i].retired && strncmp(pools->items[i].name, POOL_PROJECT, n) == 0)
			each(ctx, pools->items[i].name + n);
	}
}

struct comparison {
	struct apply *a;
	const struct newcomers *l;
};

static void compare_project(void *ctx, const char *name)
{
	const struct comparison *x = ctx;

	char *fold = name_fold(name);
	alike_compare(x->a, x->l, name, fold);
	free(fold);
}

int apply__alike(struct apply *a)
{
	const struct documents *ds = &a->c->documents;
	struct newcomers l = { 0 };
	size_t errors = a->diags.errors;

	map_init(&l.by_fold);
	alike_list(a, &l);
	for (size_t i = 0; i < ds->all.n && l.n; i++)
		if (!ds->all.items[i].retired)
			alike_compare(a, &l, ds->all.items[i].name, ds->notes[i].fold);
	if (l.n)
		each_project(a->c, compare_project, &(struct comparison){ a, &l });
	for (size_t i = 0; i < l.n; i++) {
		free(l.items[i].name);
		free(l.items[i].fold);
	}
	free(l.items);
	map_done(&l.by_fold);
	return a->diags.errors == errors ? 0 : apply__refuse_diags(a);
}

struct twin {
	const char *name, *fold;
	char *found;
};

static void find_twin(void *ctx, const char *name)
{
	struct twin *t = ctx;
	char *fold = t->found || strcmp(name, t->name) == 0 ? NULL : name_fold(name);

	if (fold && strcmp(fold, t->fold) == 0)
		t->found = mem_str(name);
	free(fold);
}

int project__alike(const struct commander *c, const char *project, const char *place,
                   struct refusal *f)
{
	char *fold = name_fold(project);
	struct twin t = { project, fold, NULL };
	int r = 0;

	if (!has_project(c, project))
		each_project(c, find_twin, &t);
	if (t.found)
		r = refuse(f, E_INVALID, place,
		           "choose names that differ by more than case or width",
		           "'%s' and '%s' look the same", project, t.found);
	free(t.found);
	free(fold);
	return r;
}
