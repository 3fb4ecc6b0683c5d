/* plan.h — the set of run_dates of a task: a pure function of its definition.
 *
 * (design: SEMANTICS section 1.) Instants are UTC seconds. Nothing here reads a clock,
 * a file or a global; a `struct plan` is immutable once built and may be used from any
 * thread at once.
 */
#ifndef SCHED_PLAN_H
#define SCHED_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct calendar;
struct cron;
struct err;
struct plan;
struct tz;

#define PLAN_NEVER  INT64_MAX /* no such run_date (going forward) */
#define PLAN_BEFORE INT64_MIN /* no such run_date (going back) */

enum cycle_unit {
	CU_NONE, /* only when asked */
	CU_MINUTE,
	CU_HOUR,
	CU_DAY,
	CU_WEEK,
	CU_MONTH,
	CU_YEAR,
	CU_ONCE,
	CU_FIRE, /* a cron without a unit: a period is from fire to fire */
};

enum plan_fire { FIRE_START, FIRE_END };
enum plan_shift { SHIFT_NONE, SHIFT_NEXT, SHIFT_PREVIOUS, SHIFT_DROP };

/* An offset from the start or end of a period. For cycles of a day and longer it is
 * local clock time: whole days plus a time of day; for shorter ones elapsed seconds. */
struct plan_offset {
	enum { OFF_ELAPSED, OFF_CLOCK, OFF_MONTH_DAY, OFF_LAST_DAY, OFF_WEEKDAY } kind;
	/* OFF_CLOCK: days after; OFF_MONTH_DAY: 1..31; OFF_WEEKDAY: 1 Monday..7 */
	int32_t days;
	int64_t seconds; /* OFF_ELAPSED: all of it; others: time of day */
};

/* What a definition says about time. Borrowed while plan_new() runs; tz, cron and
 * calendar are borrowed for the life of the plan. */
struct schedule {
	enum cycle_unit unit; /* for a cron: the unit it declares, else CU_NONE to have it judged */
	int32_t step;         /* >= 1 */
	const struct cron *cron; /* NULL for a cycle */
	const struct tz *tz;     /* never NULL */
	int64_t start;           /* first instant allowed, included */
	int64_t end;             /* last instant allowed, included; PLAN_NEVER */
	int64_t anchor;          /* the first start ever saved */
	enum plan_fire fire;
	struct plan_offset offset;
	const struct calendar *calendar; /* NULL: every day */
	bool calendar_on_due;
	enum plan_shift shift;
};

/* errors  E_INVALID with a text a person can act on */
int plan_new(const struct schedule *s, struct plan **ret_plan, struct err *err);
void plan_free(struct plan *p);

enum cycle_unit plan_unit(const struct plan *p); /* for links; cron: declared or judged */
int32_t plan_step(const struct plan *p);
const struct tz *plan_tz(const struct plan *p);
const struct schedule *plan_schedule(const struct plan *p);

bool plan_has(const struct plan *p, int64_t t);
int64_t plan_next(const struct plan *p, int64_t t); /* first run_date > t, or PLAN_NEVER */
int64_t plan_prev(const struct plan *p, int64_t t); /* last run_date < t, or PLAN_BEFORE */
/* First t' > t that would be a run_date without calendar, start and end, or PLAN_NEVER. */
int64_t plan_next_bare(const struct plan *p, int64_t t);
/* Run_dates in [lo, hi), counted up to `max` (a bound on the work). */
int64_t plan_count(const struct plan *p, int64_t lo, int64_t hi, int64_t max);
/* All run_dates from lo to hi, both included. Minutes, hours and crons by the day, so that ten
 * years of minutes cost a few thousand steps; with a calendar of due dates, date by date. */
int64_t plan_count_all(const struct plan *p, int64_t lo, int64_t hi);

/* About as many as there are in [lo, hi), without a look at any: as if they came evenly, and every
 * day were in the calendar. */
int64_t plan_about(const struct plan *p, int64_t lo, int64_t hi);

int64_t plan_period_end(const struct plan *p, int64_t run_date); /* [run_date, this) */
int64_t plan_due(const struct plan *p, int64_t run_date);

/* The begin: when the task went online first. Dates before it are no one's to make, and links pass
 * over them (link.h); the rest of this file counts them, for a backfill may run them. INT64_MIN:
 * there is none. */
int64_t plan_begin(const struct plan *p);
void plan_begin_at(struct plan *p, int64_t begin); /* before it is shared */
int64_t plan_first(const struct plan *p);          /* the first run_date from its begin on */

/* --- versions: an edit never rewrites the past. From `since` on the plan is itself, before it
 * what it was; all of the above follows that. */

int64_t plan_since(const struct plan *p);     /* INT64_MIN: the first version */
uint32_t plan_versions(const struct plan *p); /* edits so far, as plan_follow() was told */
/* Have both the same run_dates by definition? Their past does not count. */
bool plan_same_dates(const struct plan *a, const struct plan *b);
/* Has `is` dates that `was` had not, or the other way round, from plan_since(is) on? Also without a
 * new version: before its first date has come due a plan has none. */
bool plan_replans(const struct plan *was, const struct plan *is);
/* Before `since` `p` is what `was` was then; a copy is kept. `p` has no past yet. */
void plan_follow(struct plan *p, const struct plan *was, int64_t since, uint32_t serial);
/* The task was offline since what had come due last: dates that no one made lie before `since`. */
void plan_was_off(struct plan *p);
/* Dates before it, and after what has come due, are of a time when the task was offline.
 * INT64_MIN: none is. */
int64_t plan_off_until(const struct plan *p);
/* The same past as `was` has, if any: of an edit that changes no run_date. */
void plan_take_past(struct plan *p, const struct plan *was);
/* The past as text, and back into a plan without one.
 *
 *   task    its full name, for H in crons
 *
 *   errors  E_CORRUPT, E_INVALID: a version that does not read back */
void plan_past_print(const struct plan *p, struct buf *out);
int plan_past_parse(struct plan *p, const char *text, const char *task,
                    int (*zone)(void *ctx, const char *name, const struct tz **ret_tz,
                                struct err *err),
                    void *ctx, struct err *err);

/* Start of the local unit (in the plan's zone) that holds t, and of the one after.
 * `unit` is one of minute..year. */
int64_t unit_floor(const struct tz *tz, enum cycle_unit unit, int64_t t);
int64_t unit_next(const struct tz *tz, enum cycle_unit unit, int64_t t);

const char *unit_name(enum cycle_unit unit);

#endif
