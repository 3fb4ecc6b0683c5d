/* catalog.h — tasks by name, unfinished instances and outcomes, folded from the stream.
 *
 * A view that one actor owns: what selections, dry runs and explanations look at. Plain
 * data; restores itself from the ledger before threads run.
 */
#ifndef BASESERVER_CATALOG_H
#define BASESERVER_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/instance.h"
#include "sched/outcome.h"
#include "store/store.h"
#include "util/index.h"
#include "util/map.h"
#include "util/slab.h"

struct ledger;
struct task;

/* An unfinished instance. It stands at the ledger's slot of it: that is its index here. */
struct cat_inst {
	struct inst_key key;
	uint64_t cause;
	uint32_t next, prev; /* of its task's list */
	uint16_t flags;
	uint8_t state, priority;       /* state ST_NONE: nothing here */
} __attribute__((packed, aligned(4))); /* 36 bytes, of which there may be millions */

struct cat_task {
	uint32_t id;
	uint32_t project;       /* its place among the catalog's */
	const struct task *def; /* counted */
	struct store_task row;  /* strings: def's */
	struct outcomes outcomes;
	uint32_t live;      /* first of its unfinished instances, or SLAB_NONE */
	uint32_t *children; /* ids of tasks that link to it, each once */
	size_t n_children;
	uint64_t frozen_by; /* the command, 0: of another server's life, or its document */
};

struct cat_project {
	char *name;
	size_t unfinished; /* instances, parts of one each */
};

struct catalog {
	struct cat_task **tasks; /* by id; NULL: none */
	size_t tasks_cap, n_tasks;
	size_t n_aside;           /* tasks in quarantine that are not retired */
	size_t n_promised;        /* tasks of which a baseline speaks */
	struct cat_inst **chunks; /* unfinished instances, by slot; NULL: none in it so far */
	size_t n_chunks;
	struct cat_project *projects; /* place 0: of instances whose task nobody knows */
	size_t n_projects;
	struct index by_key;
	struct map by_name, by_project;
	size_t counts[ST_COUNT]; /* unfinished instances */
	size_t looking;          /* of those that are Ready: sensors between two looks */
};

void catalog_init(struct catalog *c);
void catalog_done(struct catalog *c);
void catalog_restore(struct catalog *c, const struct ledger *l);
void catalog_fold(struct catalog *c, const struct transition *tr);

/* The ledger said that so much has come due: dates that were there already have no transition. */
void catalog_planned(struct catalog *c, uint32_t task, int64_t through);

/* NULL: none of that id or name. Retired ones are found. */
const struct cat_task *catalog_task(const struct catalog *c, uint32_t id);
const struct cat_task *catalog_find(const struct catalog *c, const char *name);
/* NULL: no unfinished one. */
const struct cat_inst *catalog_live(const struct catalog *c, struct inst_key key);
const struct cat_inst *catalog_inst(const struct catalog *c, uint32_t index); /* NULL: none there */
uint32_t catalog_slots(const struct catalog *c); /* all of them are below */
bool catalog_retired(const struct cat_task *t);
/* Of that name; NULL: nobody has a task in it. */
const struct cat_project *catalog_project(const struct catalog *c, const char *name, size_t len);
/* Is the task in the workflow "project/workflow"? */
bool catalog_in_workflow(const struct cat_task *t, const char *workflow, size_t len);

#endif
