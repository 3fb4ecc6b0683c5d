/* New names against those in force: of two projects, or two workflows of a project, that people
 * would take for one the later is refused. Those within the documents are compared when they are
 * compiled, tasks among them: a workflow's document has all its tasks. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/apply_impl.h"
#include "sched/workflow.h"
#include "util/alloc.h"

/* A workflow, or a project, that nothing in force has the name of. */
struct newcomer {
	char *name, *fold;
	struct place at;
};

struct newcomers {
	struct newcomer *items;
	size_t n;
};

static char *project_of(const char *workflow)
{
	return mem_strn(workflow, strcspn(workflow, "/"));
}

static bool has_project(const struct commander *c, const char *project)
{
	size_t n = strlen(project);

	for (size_t i = 0; i < c->n_documents; i++) {
		const struct document *d = &c->documents[i];
		if (!d->retired && strncmp(d->name, project, n) == 0 && d->name[n] == '/')
			return true;
	}
	return false;
}

/* Takes name. */
static void add(struct newcomers *l, char *name, struct place at)
{
	l->items = mem_grow(l->items, l->n + 1, sizeof *l->items);
	l->items[l->n++] = (struct newcomer){ name, name_fold(name), at };
}

static void list(const struct apply *a, struct newcomers *l)
{
	for (size_t i = 0; i < a->n_given; i++) {
		const struct workflow *wf = workflow_set_at(a->set, i);
		const char *name = workflow_name(wf);
		if (commander_document(a->c, name))
			continue;
		add(l, mem_str(name), workflow_place(wf));
		char *project = project_of(name);
		if (has_project(a->c, project))
			free(project);
		else
			add(l, project, workflow_place(wf));
	}
}

static void compare(struct apply *a, const struct newcomers *l, const char *name)
{
	char *fold = name_fold(name);

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->items[i].fold, fold) == 0 && strcmp(l->items[i].name, name) != 0)
			diag_error(&a->diags, l->items[i].at, "alike_name",
			           "choose names that differ by more than case or width",
			           "'%s' and '%s' look the same", l->items[i].name, name);
	free(fold);
}

int apply_alike(struct apply *a)
{
	struct newcomers l = { 0 };
	size_t errors = a->diags.errors;
	char *last = NULL; /* documents of a project often stand together */

	list(a, &l);
	for (size_t i = 0; i < a->c->n_documents && l.n; i++) {
		const struct document *d = &a->c->documents[i];
		if (d->retired)
			continue;
		compare(a, &l, d->name);
		char *project = project_of(d->name);
		if (!last || strcmp(last, project) != 0)
			compare(a, &l, project);
		free(last);
		last = project;
	}
	free(last);
	for (size_t i = 0; i < l.n; i++) {
		free(l.items[i].name);
		free(l.items[i].fold);
	}
	free(l.items);
	return a->diags.errors == errors ? 0 : apply_refuse_diags(a);
}
