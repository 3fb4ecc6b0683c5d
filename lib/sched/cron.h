/* cron.h — cron expressions: when they fire in a zone, and the unit they have.
 *
 * (design: SEMANTICS section 1.) 5 fields are Unix (minute hour day month weekday; weekdays
 * 0-7, 0 and 7 Sunday; where day and weekday are both restricted either will do, and a
 * field that begins with `*` is no restriction), 6 put seconds in front and 7 a year at
 * the end (weekdays 1-7, 1 Sunday; day or weekday must be `?` or `*`). Names, lists,
 * steps, ranges that wrap around, and in all forms:
 *
 *   day      L last, L-3, 15W nearest weekday of the month, LW last weekday of the month
 *   weekday  FRI#2 the second Friday, FRIL the last, L Saturday
 *   H        a number that the task's name decides; H/15, H(0-29), H(9-17)/4
 *   @yearly @annually @monthly @weekly @daily @midnight @hourly
 *
 * Immutable once parsed, counted; thread: any.
 */
#ifndef SCHED_CRON_H
#define SCHED_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/plan.h"

struct cron;
struct err;
struct tz;

#define CRON_TEXT_MAX 256 /* bytes of an expression */
#define CRON_YEAR_MIN 1970
#define CRON_YEAR_MAX 2199 /* of the year field; without one, 9999 */

/* Parse an expression. `name` decides what H means (the full task name); NULL refuses H.
 *
 *   owns    *ret_cron is the caller's, until cron_free()
 *   errors  E_INVALID with the column of what is wrong, counted from 1
 */
int cron_parse(const char *text, const char *name, struct cron **ret_cron, struct err *err);
struct cron *cron_ref(const struct cron *c); /* one more owner; thread: any */
void cron_free(struct cron *c);              /* one less; NULL is fine */
/* The same text that fires at the same times? (H depends on the name.) */
bool cron_same(const struct cron *a, const struct cron *b);
uint64_t cron_hash(const struct cron *c); /* the same for the same ones */
const char *cron_text(const struct cron *c);

/* First fire > t, or PLAN_NEVER; last fire < t, or PLAN_BEFORE. */
int64_t cron_next(const struct cron *c, const struct tz *tz, int64_t t);
int64_t cron_prev(const struct cron *c, const struct tz *tz, int64_t t);

/* How often it fires in a leap year. */
int64_t cron_yearly(const struct cron *c);

/* The largest unit of which no period holds two fires, on local fields; CU_FIRE if none. */
enum cycle_unit cron_unit(const struct cron *c);

#endif
