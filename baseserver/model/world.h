/* world.h — what documents need to know from outside while they are compiled. */
#ifndef BASESERVER_WORLD_H
#define BASESERVER_WORLD_H

#include "baseserver/ledger/names.h"
#include "baseserver/model/roster.h"
#include "sched/workflow.h"

struct calendar;
struct catalog;
struct docs;

/* Numbers come from what is known; new ones go on from there and stay in `new_*`, so that
 * documents that are refused, or only tried, use none up. */
struct world {
	const struct names *tasks, *workflows;
	struct names new_tasks, new_workflows;
	const struct catalog *cat; /* tasks outside the set; NULL: there are none */
	const struct docs *calendars;
	struct calendar *every_day;       /* for a stored task whose calendar is not there */
	const struct docs *scopes;        /* stored parameters, or NULL */
	const struct docs *targets;       /* likewise */
	const struct workflow_set *set;   /* its parameters stand instead of stored ones, or NULL */
	const struct docs *peers;         /* or NULL */
	const struct roster_name *roster; /* who has been there */
	size_t n_roster;
	bool is_save; /* versions are one more than what is stored; else all names are taken */
	struct workflow_world w;
};

/* The members above are the caller's to set, before or after; all are borrowed until world_done().
 *
 *   timezone  of tasks that say none; NULL: UTC
 *   now       seconds, for tasks without a start */
void world_init(struct world *w, const char *timezone, int64_t now);
void world_done(struct world *w);
/* Does a broker run tasks of that type, or has one in force it? Of a world that has `cat` and
 * `roster`. */
bool world_runs(const struct world *w, const char *type);

#endif
