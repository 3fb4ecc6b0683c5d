/* link.h — which run_dates of a parent a child instance waits for.
 *
 * (design: SEMANTICS section 2.) Pure. A window is a span of the parent's plan, never
 * of the rows that happen to exist.
 */
#ifndef SCHED_LINK_H
#define SCHED_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct plan;

enum link_kind {
	LK_SAME,   /* 1: same cycle */
	LK_LARGE,  /* 2: large on small: all of the child's period */
	LK_SMALL,  /* 3: small on large: the one whose period contains t */
	LK_PREV,   /* -n */
	LK_WINDOW, /* an expression or a list */
};

enum link_on {
	ON_SUCCESS,
	ON_DONE,
	ON_FAILURE,
	ON_STRONG /* of a pipeline: success, and dead when it ended badly */
};
enum link_strategy { LS_ALL, LS_ANY, LS_FIRST, LS_LAST, LS_AT_LEAST };

struct window_expr; /* parsed window; sched/window.h */

/* One link of a task to a parent, as compiled. */
struct task_link {
	uint32_t parent; /* task id */
	enum link_kind kind;
	int32_t prev; /* LK_PREV: n >= 1 */
	enum link_on on;
	enum link_strategy strategy;
	int32_t n;                        /* of first, last, at_least */
	int64_t pass_after_s;             /* 0: never */
	const struct window_expr *window; /* LK_WINDOW; owned by the task */
	bool by_node; /* of a pipeline: each part waits for the same part of the parent */
};

/* A span [lo, hi) of the parent's run_dates; empty when lo >= hi. */
struct link_span {
	int64_t lo, hi;
};

#define LINK_SPANS_MAX 64 /* items of a list window */

/* The spans of parent run_dates that the child instance at `t` waits for, ascending, not
 * overlapping; none lies before the parent's begin. Returns how many (0: none, satisfied). For
 * kinds 1, 2, 3 and -n there is at most one span. */
int link_spans(const struct task_link *l, const struct plan *parent, const struct plan *child,
               int64_t t, struct link_span ret_spans[LINK_SPANS_MAX]);

/* The same as if the parent had always been planned: members of a backfill look at each other
 * before the begin too. */
int link_spans_ever(const struct task_link *l, const struct plan *parent, const struct plan *child,
                    int64_t t, struct link_span ret_spans[LINK_SPANS_MAX]);

/* One of both: a child's date before its own begin is a member of a backfill. */
int link_spans_of_row(const struct task_link *l, const struct plan *parent,
                      const struct plan *child, int64_t t,
                      struct link_span ret_spans[LINK_SPANS_MAX]);

/* The largest p - t the link can pick, in seconds (negative: always the past). The lead
 * rule of cycles is judged on these. */
int64_t link_lead(const struct task_link *l, const struct plan *parent, const struct plan *child);

/* The depend_type as the seed numbers it: 1, 2, 3 or -n; 0 for a window. */
int32_t link_depend_type(const struct task_link *l);

#endif
