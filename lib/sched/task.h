/* task.h — a task's definition, compiled: what the scheduler needs, immutable.
 *
 * Made by sched/workflow from a document, published once, shared by reference count.
 */
#ifndef SCHED_TASK_H
#define SCHED_TASK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/link.h"
#include "sched/plan.h"

/* Stored: append only. TS_DETACHED: offline, and its links hold nobody. TS_OVER: offline because
 * its plan ran out, until a save gives it new dates. */
enum task_state { TS_DRAFT, TS_ONLINE, TS_OFFLINE, TS_RETIRED, TS_DETACHED, TS_OVER };

/* Gate 1. A plan that ran out makes no dates: what a command makes or reopens runs all the same. */
static inline bool task_starts(int state)
{
	return state == TS_ONLINE || state == TS_OVER;
}

enum task_serial { SERIAL_PARALLEL, SERIAL_ORDERED, SERIAL_UNORDERED };
enum task_dispatch {
	DISPATCH_LEAST_LOADED,
	DISPATCH_ROUND_ROBIN,
	DISPATCH_RANDOM,
	DISPATCH_HASH,
	DISPATCH_BROADCAST,
	DISPATCH_LEAST /* of an expression */
};
/* What becomes of a date that comes due while an earlier one is unfinished. */
enum task_overlap { OVERLAP_ALLOW, OVERLAP_SKIP, OVERLAP_QUEUE, OVERLAP_REPLACE };
enum catchup_mode { CATCHUP_ALL, CATCHUP_LATEST, CATCHUP_NONE };

struct calendar;
struct cron;
struct expr;

struct task_param {
	const char *name, *value; /* value as written, macros not replaced */
	bool server;              /* the name of a target server, by its type */
	bool apart;               /* values in it are data: sched/code.h */
	bool is_json;             /* of apart: it is a list or a map */
	uint8_t code;             /* enum code_kind, of apart */
	bool secret;              /* names of target servers whose secrets are meant, by its type */
};

#define TASK_SERVER_POOL "server:" /* and its name: the pool of a target server's slots */

struct task_pool {
	const char *name;
	int32_t slots; /* taken by each running instance, >= 1 */
};

/* A parent's output that parameters name: ${rollup.row_count}, or ${row_count} alone. */
struct task_input {
	const char *name; /* as written */
	const char *key;  /* row_count */
	uint32_t link;    /* index of the link whose last success gives it */
};

struct task {
	_Atomic unsigned refs;
	uint32_t id, version; /* version: of its workflow's save */
	uint32_t workflow_id;
	enum task_state state;
	bool frozen; /* by definition (state: frozen) */

	const char *name;  /* project/workflow/task */
	const char *title; /* what people see besides; "" */
	const char *workflow_title;
	const char *type;  /* task type = runner plugin */
	const char *group; /* broker group, "" for any */
	const char *owner;
	const char *run_as;          /* "" : the broker's own user */
	const char *const *machines; /* NULL, or names of brokers, n_machines */
	size_t n_machines;

	struct plan *plan;
	struct cron *cron;         /* what the plan borrows; NULL for a cycle */
	struct calendar *calendar; /* what the plan borrows, counted; NULL: every day */
	const char *calendar_name; /* as its document says; "" for none */
	struct task_link *links;
	size_t n_links;
	int32_t join; /* 0: all, else that many */
	enum task_serial serial;

	int32_t priority;     /* 1..10 */
	int32_t concurrency;  /* 0: no cap */
	int32_t workflow_cap; /* quota of its workflow: running instances, 0: none */
	enum task_dispatch dispatch;
	const struct expr *least; /* of DISPATCH_LEAST; else NULL */

	int32_t max_attempts; /* >= 1 */
	int64_t retry_delay_us, retry_cap_us;
	bool retry_exponential;
	int32_t infra_max;       /* infrastructure failures before StopSchedule(infra) */
	int64_t alive_wait_us;   /* 0: no limit */
	int64_t grace_us;        /* TERM to KILL */
	int64_t expire_after_us; /* 0: never; -1: end of local day */
	int64_t late_after_us;
	bool has_promise;   /* a baseline: done by ... */
	int32_t promised_s; /* ... this time of the local day, the next after it is due */
	int64_t margin_us;
	enum catchup_mode catchup;
	int32_t catchup_max; /* 0: no limit */
	bool on_lost_hold, on_server_lost_keep;
	bool dry_run; /* succeeds when its turn comes, without a job */

	struct task_param *params; /* task over workflow, merged; n_params */
	size_t n_params;
	struct task_pool *pools; /* n_pools */
	size_t n_pools;
	const char *const *outputs; /* declared; n_outputs */
	size_t n_outputs;
	struct task_input *inputs; /* n_inputs */
	size_t n_inputs;
	bool asks;     /* parameters name what is not in them: project, global, outputs, servers */
	bool pipeline; /* a step or a hook of one */
	bool fails_only; /* the hook `failed` of a pipeline */
	enum task_overlap overlap;
	/* It is judged with the others of its workflow, run by run: task_run(). */
	bool overlap_run;
	const struct tz *run_tz;
	enum cycle_unit run_unit; /* CU_NONE: those of one run_date are a run */
	int32_t run_step;

	const struct task *of; /* a copy by another plan: what else it points to is that one's */
	void *memory;          /* owns everything above; sched/workflow frees it */
};

/* Instances of it that may run at a time, 0: no limit (gates 5 and 6). */
static inline int32_t task_limit(const struct task *t)
{
	return t->serial == SERIAL_UNORDERED ? 1 : t->concurrency;
}

/* Runs as parts 1..N: one per named machine, else one per broker online when it is spread. */
static inline bool task_spreads(const struct task *t)
{
	return t->dispatch == DISPATCH_BROADCAST;
}

/* What overlap judges: the first run_date of the run that holds this one (its workflow's run, or
 * the date alone), and the first after the run. */
int64_t task_run(const struct task *t, int64_t run_date);
int64_t task_run_end(const struct task *t, int64_t run_date);
const char *task_overlap_name(enum task_overlap o);

/* The same task by another plan, which becomes the copy's; it borrows t's cron and calendar. */
struct task *task_with_plan(const struct task *t, struct plan *plan);
struct task *task_ref(const struct task *t); /* thread: any */
void task_unref(const struct task *t);       /* thread: any; NULL is fine */

/* Microseconds to wait before attempt `n` + 1, after attempt n (1..) failed. */
int64_t task_retry_delay_us(const struct task *t, int32_t n);
/* When one that was due then and has not started is over; INT64_MAX: never. */
int64_t task_expiry_us(const struct task *t, int64_t eff_due_us);

#endif
