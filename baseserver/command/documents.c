/* The documents of workflows, and what the commander notes beside each.
 *
 * The documents themselves are kept as those of every kind (model/docs.h). A note is made with its
 * document and stays, also when that is retired; a project counts its documents in force, so that
 * "has it one?" is one look. What documents mean is not kept: an apply reads those it needs. */
#include "baseserver/command/documents.h"

#include <stdlib.h>
#include <string.h>

#include "sched/name.h"
#include "util/alloc.h"
#include "util/check.h"

static const struct doc_kind workflows = { .kind = DOC_WORKFLOW, .keeps_body = true };

void documents_init(struct documents *ds)
{
	*ds = (struct documents){ 0 };
	docs_init(&ds->all, &workflows);
	map_init(&ds->by_project);
}

void documents_done(struct documents *ds)
{
	for (size_t i = 0; i < ds->all.n; i++)
		free(ds->notes[i].fold);
	for (size_t i = 0; i < ds->n_projects; i++)
		free(ds->projects[i].name);
	free(ds->notes);
	free(ds->projects);
	docs_done(&ds->all);
	map_done(&ds->by_project);
}

struct document_note *documents_note(const struct documents *ds, const struct doc *d)
{
	CHECK(d >= ds->all.items && d < ds->all.items + ds->all.n);
	return &ds->notes[d - ds->all.items];
}

/* As many as there are: none. */
static size_t find_project(const struct documents *ds, const char *name)
{
	uint64_t key = map_text(name);
	size_t at = 0;
	uint32_t i = map_first(&ds->by_project, key, &at);

	while (i != MAP_NONE && strcmp(ds->projects[i].name, name) != 0)
		i = map_next(&ds->by_project, key, &at);
	return i == MAP_NONE ? ds->n_projects : i;
}

bool documents_has_project(const struct documents *ds, const char *project)
{
	size_t i = find_project(ds, project);

	return i < ds->n_projects && ds->projects[i].in_force;
}

static size_t put_project(struct documents *ds, const char *workflow)
{
	char *name = mem_strn(workflow, strcspn(workflow, "/"));
	size_t i = find_project(ds, name);

	if (i < ds->n_projects) {
		free(name);
		return i;
	}
	map_add(&ds->by_project, map_text(name), (uint32_t)i);
	ds->projects = mem_grow(ds->projects, i + 1, sizeof *ds->projects);
	ds->projects[ds->n_projects++] = (struct document_project){ .name = name };
	return i;
}

void documents_put(struct documents *ds, const struct store_doc *d)
{
	bool was = docs_find(&ds->all, d->name) != NULL;
	size_t n = ds->all.n;

	CHECK(docs_learn(&ds->all, d, NULL) == 0); /* nothing is read out of it */
	if (ds->all.n > n) {
		ds->notes = mem_room(ds->notes, &ds->cap, ds->all.n, sizeof *ds->notes);
		ds->notes[n] = (struct document_note){ .fold = name_fold(d->name),
			                               .project = put_project(ds, d->name) };
	}
	struct document_project
		*of = &ds->projects[documents_note(ds, docs_ever(&ds->all, d->name))->project];
	CHECK(!was || of->in_force);
	of->in_force += !was;
	of->in_force -= d->retired;
}
