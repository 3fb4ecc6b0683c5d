/* rank.h — which broker an expression of a task's own prefers: `dispatch: {least: EXPR}`.
 *
 * The smallest value goes first. A broker whose value is not known (a figure that it has not told,
 * a division by 0) comes after all whose value is; equal ones go by fewer jobs, then the lower
 * load, then the name, byte by byte: the same again at any time, here and in a forecast.
 */
#ifndef SCHED_RANK_H
#define SCHED_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/expr.h"

/* What a broker said of itself last, as it stands in its reports. */
struct rank_load {
	bool is_told; /* false: nothing but running, name and groups is known */
	uint32_t cpu_permille, load_permille, memory_permille;
	uint32_t slots;           /* 0: not known */
	uint64_t disk_free_bytes; /* UINT64_MAX: not known */
};

struct rank_broker {
	const char *name;
	const char *const *groups; /* NULL-ended, or NULL */
	const struct rank_load *load;
	int32_t running; /* jobs of all types, also those that are on their way to it */
};

/* Read an expression over these names:
 *
 *   running slots free      jobs, how many may run at a time, how many more may
 *   cpu load memory         0 to 1 of all processors; runnable ones a processor; 0 to 1
 *   disk_free               bytes
 *   name groups             "etl-1", "etl" in groups
 *
 *   owns, errors  as expr_read()
 */
int rank_read(const char *text, struct expr **ret_expr, struct expr_wrong *ret_wrong);

struct rank {
	double value; /* NaN: not known */
	int32_t running;
	uint32_t load_permille;
	const char *name; /* borrowed */
};
struct rank rank_of(const struct expr *e, const struct rank_broker *b);
bool rank_before(const struct rank *a, const struct rank *b);

#endif
