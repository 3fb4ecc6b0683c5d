/* documents.h — the documents of workflows as they are stored, found by name (internal to the
 * commander).
 *
 * Beside each stands its name in the form in which names that look alike are the same (name_fold),
 * and for each project how many of its documents are in force: who judges a large apply asks for
 * thousands of names, and no answer may walk over all documents.
 */
#ifndef BASESERVER_DOCUMENTS_H
#define BASESERVER_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/map.h"

struct store_doc;

struct document {
	char *name, *fold, *body;
	size_t len, project; /* project: its place */
	uint32_t id, version;
	uint32_t draft; /* the last one kept for a test run; 0: none */
	bool retired;
};

/* A project that has, or once had, a workflow. */
struct document_project {
	char *name;
	size_t in_force; /* documents */
};

struct documents {
	struct document *items; /* none ever goes: borrowed ones stay until the next is put */
	size_t n, cap;
	struct map by_name;
	struct document_project *projects;
	size_t n_projects;
	struct map by_project;
};

void documents_init(struct documents *ds);
void documents_done(struct documents *ds);
/* The document as it is from now on; copied. */
void documents_put(struct documents *ds, const struct store_doc *d);
/* By "project/workflow"; NULL: none ever was. Borrowed. */
struct document *documents_ever(const struct documents *ds, const char *name);
/* As above; NULL also when it is retired. */
const struct document *documents_find(const struct documents *ds, const char *name);
/* Has the project a workflow in force? */
bool documents_has_project(const struct documents *ds, const char *project);

#endif
