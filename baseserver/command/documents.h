/* documents.h — the documents of workflows as they are stored (internal to the commander).
 *
 * Beside each stands its name in the form in which names that look alike are the same (name_fold),
 * and for each project how many of its documents are in force: who judges a large apply asks for
 * thousands of names, and no answer may walk over all documents.
 */
#ifndef BASESERVER_DOCUMENTS_H
#define BASESERVER_DOCUMENTS_H

#include "baseserver/model/docs.h"

/* What the commander adds to a document. */
struct document_note {
	char *fold;
	size_t project; /* its place */
	uint32_t draft; /* the last one kept for a test run; 0: none */
};

/* A project that has, or once had, a workflow. */
struct document_project {
	char *name;
	size_t in_force; /* documents */
};

struct documents {
	struct docs all;             /* by "project/workflow" */
	struct document_note *notes; /* one for each of all.items, same order */
	size_t cap;
	struct document_project *projects;
	size_t n_projects;
	struct map by_project;
};

void documents_init(struct documents *ds);
void documents_done(struct documents *ds);
/* The document as it is from now on; copied. */
void documents_put(struct documents *ds, const struct store_doc *d);
/* Of one of ds->all. */
struct document_note *documents_note(const struct documents *ds, const struct doc *d);
/* Has the project a workflow in force? */
bool documents_has_project(const struct documents *ds, const char *project);

#endif
