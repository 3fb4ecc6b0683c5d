/* simulate.h — what would run when, and which instances a link joins: `sirdar simulate` and
 * `sirdar edges`, and the server's previews.
 *
 * Pure: from compiled tasks alone. Everything succeeds at its first attempt; dates outside the
 * span count as done. Tasks that are drafts or offline have no dates; frozen ones never start.
 */
#ifndef SCHED_SIMULATE_H
#define SCHED_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/link.h"
#include "sched/rank.h"

#define SIMULATE_ROWS_MAX  1000000
#define SIMULATE_EDGES_MAX 5000000

struct buf;
struct err;
struct task;

/* How an instance is already, for a forecast. */
struct simulate_state {
	enum {
		SIM_AHEAD,   /* as planned: due, then its links */
		SIM_AGAIN,   /* its links held; it starts again from at_us on */
		SIM_RUNNING, /* since at_us, until_us is the best guess */
		SIM_HELD,    /* starts only when somebody does something */
		SIM_OVER,    /* well, or skipped without harm to others */
		SIM_OVER_BAD,
		SIM_OVER_DEAD, /* skipped, and links to it are dead */
	} is;
	int64_t at_us, until_us;
	uint32_t seat; /* it runs there, from 1; 0: at none that is known */
};

/* What instances share while they run, for a forecast. A task takes slots of limits (pools and
 * quotas) and one of the seats (a loader of its type on a broker) of its class. */
struct simulate_take {
	uint32_t limit;
	int32_t slots;
};
struct simulate_class {
	uint32_t *seats;
	size_t n;
};
struct simulate_asks {
	struct simulate_take *takes;
	size_t n_takes;
	uint32_t klass; /* SIMULATE_NOBODY: it needs no seat */
	bool is_closed; /* as things are no instance ever starts */
};
/* The broker of a seat, for tasks that choose by an expression (sched/rank.h). */
struct simulate_desk {
	uint32_t broker; /* its jobs are those on all seats with this number */
	const char *name;
	const char *const *groups; /* NULL-ended, or NULL */
	struct rank_load load;     /* as it is now: nobody can know better */
};
/* Runs, and has no row. */
struct simulate_other {
	struct simulate_asks asks;
	uint32_t seat; /* as in simulate_state */
	int64_t until_us;
};
struct simulate_gates {
	const int32_t *limits; /* slots; below 0: any number */
	size_t n_limits;
	const int32_t *seats;
	size_t n_seats;
	const struct simulate_desk *desks; /* per seat; NULL: the one with the most room is taken */
	const struct simulate_class *classes;
	size_t n_classes;
	const struct simulate_asks *asks; /* per task */
	const struct simulate_other *others;
	size_t n_others;
};

struct simulate_input {
	struct task *const *tasks;
	size_t n;
	const struct link_span *spans; /* per task: run_dates in [lo, hi) */
	const int64_t *durations_us;   /* per task; NULL: everything takes no time */
	/* A forecast: what nothing is said of lies ahead, and nothing starts before now. NULL: all
	 * lies ahead. */
	void (*state)(void *ctx, uint32_t task, int64_t run_date, struct simulate_state *ret);
	void *ctx;
	int64_t now_us;
	const struct simulate_gates *gates; /* NULL: there are the caps of workflows alone */
};

#define SIMULATE_NOBODY UINT32_MAX

enum simulate_reason { SIM_NONE, SIM_LINK, SIM_OVERLAP, SIM_FROZEN, SIM_REPLACED };

struct simulate_row {
	uint32_t task; /* index in the input */
	bool is_skipped;
	enum simulate_reason reason;
	int64_t run_date, due;    /* seconds */
	int64_t start_us, end_us; /* INT64_MAX: never, as far as can be seen */
	bool was_over;            /* before it began */
	bool is_bad;              /* over, and not well */
	bool was_running;
	uint32_t cause;     /* task it waited for last; or SIMULATE_NOBODY */
	int64_t cause_date; /* its run_date */
};

/* The instances, by due time, then task, then run_date.
 *
 *   owns    *ret_rows: free()
 *   errors  E_LIMIT too many instances or edges
 */
int simulate_run(const struct simulate_input *in, struct simulate_row **ret_rows, size_t *ret_n,
                 struct err *err);
const char *simulate_reason_name(enum simulate_reason reason); /* "" for none */
/* A JSON array; start and end only where there are durations. */
void simulate_json(const struct simulate_input *in, const struct simulate_row *rows, size_t n,
                   struct buf *out);

/* One link of one child instance. */
struct simulate_edge {
	uint32_t child, link; /* index of the task in the input, of the link in its needs */
	int64_t run_date;
	const char *parent;      /* full name */
	const struct plan *plan; /* of the parent; NULL: it is not known */
	const int64_t *dates;
	size_t n_dates;
	const char *note; /* "" or why there are none */
};

/* Every link of every child run_date in the span, by task, run_date, link. `each` borrows.
 *
 *   outside  a task that is not in the input, by id; NULL: there is none
 *   errors  E_LIMIT; each() was called for those before
 */
int simulate_edges(const struct simulate_input *in,
                   const struct task *(*outside)(void *ctx, uint32_t id),
                   void (*each)(void *ctx, const struct simulate_edge *e), void *ctx,
                   struct err *err);
void simulate_edge_json(const struct simulate_input *in, const struct simulate_edge *e,
                        struct buf *out);

#endif
