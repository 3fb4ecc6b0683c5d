#include "baseserver/command/documents.h"

#include <stdlib.h>
#include <string.h>

#include "sched/name.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/check.h"

void documents_init(struct documents *ds)
{
	*ds = (struct documents){ 0 };
	map_init(&ds->by_name);
	map_init(&ds->by_project);
}

void documents_done(struct documents *ds)
{
	for (size_t i = 0; i < ds->n; i++) {
		free(ds->items[i].name);
		free(ds->items[i].fold);
		free(ds->items[i].body);
	}
	for (size_t i = 0; i < ds->n_projects; i++)
		free(ds->projects[i].name);
	free(ds->items);
	free(ds->projects);
	map_done(&ds->by_name);
	map_done(&ds->by_project);
}

struct document *documents_ever(const struct documents *ds, const char *name)
{
	uint64_t key = map_text(name);
	size_t at = 0;

	for (uint32_t i = map_first(&ds->by_name, key, &at); i != MAP_NONE;
	     i = map_next(&ds->by_name, key, &at))
		if (strcmp(ds->items[i].name, name) == 0)
			return &ds->items[i];
	return NULL;
}

const struct document *documents_find(const struct documents *ds, const char *name)
{
	const struct document *d = documents_ever(ds, name);

	return d && !d->retired ? d : NULL;
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

static struct document *add(struct documents *ds, const char *name)
{
	ds->items = mem_room(ds->items, &ds->cap, ds->n + 1, sizeof *ds->items);
	map_add(&ds->by_name, map_text(name), (uint32_t)ds->n);
	struct document *d = &ds->items[ds->n++];
	*d = (struct document){ .name = mem_str(name),
		                .fold = name_fold(name),
		                .project = put_project(ds, name),
		                .retired = true };
	return d;
}

void documents_put(struct documents *ds, const struct store_doc *d)
{
	struct document *at = documents_ever(ds, d->name);

	if (!at)
		at = add(ds, d->name);
	free(at->body);
	at->body = mem_strn(d->body, d->body_len);
	at->len = d->body_len;
	at->id = d->id;
	at->version = d->version;
	CHECK(at->retired || ds->projects[at->project].in_force);
	ds->projects[at->project].in_force += at->retired;
	ds->projects[at->project].in_force -= d->retired;
	at->retired = d->retired;
}
