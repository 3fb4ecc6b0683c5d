/* causes.h — attempts that failed, grouped by what they have in common (util/failure.h:
 * failure_fold()). Newest first they come in, one by one; memory is bounded by causes and by
 * instances, not by what they printed. One thread.
 */
#ifndef CGI_CAUSES_H
#define CGI_CAUSES_H

#include <stddef.h>
#include <stdint.h>

#include "sched/instance.h"
#include "util/failure.h"
#include "util/map.h"

struct read_failed;

#define CAUSES_MAX   2000 /* different ones; what comes then counts in `others` */
#define CAUSE_HOURS  24   /* parts of the time that is looked at */
#define CAUSE_TASKS  20   /* that are named */
#define FAILURES_MAX 200000

/* What an instance has come to since. */
enum cause_now { CAUSE_FAILED, CAUSE_WELL, CAUSE_UNDER_WAY, CAUSE_NOWS };
extern const char *const cause_now_names[CAUSE_NOWS];
enum cause_now cause_now(enum state now); /* ST_NONE: it is unfinished */

/* One attempt's, its digest or what its reason says; ret->exit and line are texts of its own. */
void cause_of(const struct read_failed *f, struct failure *ret_shown, struct failure_cause *ret);

struct cause {
	struct failure_cause is;
	uint8_t class;
	char sample[FAILURE_LINE_BYTES + 1]; /* of the newest; "": there is no line */
	char exit[FAILURE_EXIT_BYTES + 1];
	int64_t first_us, last_us;
	uint32_t failures, n_tasks;
	uint32_t instances[CAUSE_NOWS];
	uint32_t tasks[CAUSE_TASKS];
	uint32_t hours[CAUSE_HOURS];
	struct inst_key latest;
};

struct causes {
	int64_t from_us, to_us;
	struct cause *list;
	size_t n, cap;
	uint64_t failures, others;
	uint32_t instances[CAUSE_NOWS];
	struct map by_id, pairs; /* of pairs: an instance or a task, with its cause */
};

void causes_init(struct causes *c, int64_t from_us, int64_t to_us);
void causes_done(struct causes *c);
void causes_add(struct causes *c, const struct read_failed *f);
/* Most that are failed still first. */
void causes_sort(struct causes *c);

#endif
