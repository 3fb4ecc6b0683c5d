/* instantiator.h — makes instances when they come due (the seed's instantiation).
 *
 * A heap over the plans of all online tasks, by next due time: it never scans instances,
 * and a task costs nothing between its due times. After downtime each task follows its
 * catch-up policy.
 */
#ifndef BASESERVER_INSTANTIATOR_H
#define BASESERVER_INSTANTIATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct task;
struct instantiator;
struct ledger;
struct plan;
struct thread;

/* Dates that came due longer ago than that when they are seen are missed: catch-up decides of them;
 * so are those of the time when nobody led. Younger ones are simply due. */
enum { INSTANTIATOR_MISSED_AFTER_S = 2 };

/* Planned dates left out in one go that have a row each; more of them are one record. */
enum { INSTANTIATOR_ROWS_MAX = 100 };

/* Takes what the ledger loaded. Before any thread runs. */
struct instantiator *instantiator_new(struct thread *th, struct ledger *ledger);
void instantiator_free(struct instantiator *in); /* its thread is stopped; NULL is fine */

/* Another bound than INSTANTIATOR_ROWS_MAX. Before any thread runs. */
void instantiator_set_rows_max(struct instantiator *in, int64_t dates);

/* Tasks held in the heap. Its thread. */
size_t instantiator_scheduled(const struct instantiator *in);

/* The last run_date that is due by `now` (s), or PLAN_BEFORE. Pure. */
int64_t instantiator_last_due(const struct plan *plan, int64_t now);
/* Of the dates of a plan from `from` on that were missed by `now` (s), catch-up runs those from the
 * answer on; INT64_MIN: all. Pure. */
int64_t instantiator_keeps_from(const struct task *def, const struct plan *plan, int64_t from,
                                int64_t now);
/* Whether the catch-up mode leaves this planned date out at `now` (s), were it missed. Pure. */
bool instantiator_leaves_out(const struct task *def, int64_t run_date, int64_t now);

#endif
