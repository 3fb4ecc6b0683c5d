/* flow.h — a workflow as the console draws it: its tasks, zone and runs.
 *
 * A run is what a person means by it: all instances of a workflow whose run_date lies in one
 * step of its widest cycle of a day at most (a day for daily workflows with hourly tasks, an
 * hour for hourly ones; the day of the run_date for weekly and monthly ones), in the workflow's
 * zone. The ledger knows instances only.
 * Thread: disk, within one read. */
#ifndef CGI_FLOW_H
#define CGI_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/instance.h"

struct call;
struct reader;
struct store_task;
struct tz;
struct workflow_set;

struct flow {
	uint32_t workflow;
	uint32_t *ids; /* of its tasks, by name; owned: flow_done() */
	size_t n, cap;
	int64_t cycle_s; /* the widest of a day at most; else the narrowest; 0: none has one */
	char zone[64];
	const struct tz *tz;
	bool wants_document;
	struct workflow_set *document; /* only then; NULL: it cannot be read. flow_done() frees */
	void (*each)(void *ctx, const struct store_task *t); /* NULL: nobody looks */
	void *ctx;
};

/* What a run adds up to. */
struct flow_run {
	int64_t label; /* local clock time of its start */
	uint32_t states[ST_COUNT];
	uint32_t total, forced, frozen;
	int64_t started_us, ended_us;
};

/* Reads the workflow `name`; `each`, `ctx` and `wants_document` are set, the rest is nothing yet.
 * E_NOT_FOUND. */
int flow_read(struct call *c, struct reader *r, const char *name, struct flow *f);
void flow_done(struct flow *f);
void flow_put(struct call *c, const struct flow *f, const char *name); /* members of an object */

struct flow_walk {
	int64_t before; /* seconds; 0: all */
	int pages;      /* at most so many, of some thousand instances each */
	/* Of each; ctx is the call. E_LIMIT, or anything below 0, ends the walk. */
	int (*take)(void *ctx, const struct instance *i);
	bool more; /* answered: the last page was not the end */
};

/* Instances of the workflow, newest run_date first. */
int flow_walk(struct call *c, struct reader *r, const struct flow *f, struct flow_walk *w);

int64_t flow_label(const struct flow *f, int64_t run_date);
void flow_run_count(struct flow_run *run, const struct instance *i);
void flow_run_put(struct call *c, const struct flow *f, const struct flow_run *run); /* members */

#endif
