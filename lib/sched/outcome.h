/* outcome.h — how the run_dates of one task ended, as ranges.
 *
 * Outlives the rows: links read only this. A range joins neighbours of the plan with
 * the same outcome, so that years of successes are one range. Pure; owned by one thread.
 */
#ifndef SCHED_OUTCOME_H
#define SCHED_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;

struct outcome_range {
	int64_t lo, hi; /* run_dates, both included */
	uint32_t generation;
	uint8_t state, reason; /* a final enum state */
	uint8_t reserved[2];
};

struct outcomes {
	struct outcome_range *ranges; /* ascending, not overlapping */
	size_t len, cap;
};

void outcomes_init(struct outcomes *o);
void outcomes_done(struct outcomes *o);
/* Set the outcome of one run_date; replaces a former one. `plan` joins neighbours; NULL
 * joins none. */
void outcomes_set(struct outcomes *o, const struct plan *plan, int64_t run_date,
                  uint32_t generation, uint8_t state, uint8_t reason);
/* Put a range that was saved; it may not overlap what is there (false then). */
bool outcomes_put(struct outcomes *o, const struct outcome_range *r);
/* Set the outcome of all planned dates from lo to hi, both included, that have none; but not of
 * the n in `open`, which ascend. */
void outcomes_fill(struct outcomes *o, const struct plan *plan, const struct outcome_range *r,
                   const int64_t *open, size_t n);
/* Take the outcome of one run_date back (redo). True if there was one. */
bool outcomes_clear(struct outcomes *o, const struct plan *plan, int64_t run_date);
/* The plan is another from `since` on: ranges that reach there hold what `was` planned, no date
 * that only `is` has. False: nothing changed. */
bool outcomes_replan(struct outcomes *o, const struct plan *was, const struct plan *is,
                     int64_t since);
/* The range that holds run_date, or NULL. Borrowed until the next change. */
const struct outcome_range *outcomes_find(const struct outcomes *o, int64_t run_date);
/* Index of the first range with hi >= run_date (len if none). */
size_t outcomes_from(const struct outcomes *o, int64_t run_date);

#endif
