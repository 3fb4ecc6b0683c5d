/* macro.h — ${names} and $[dates] in commands and parameters.
 *
 * (design: SEMANTICS section 6.) All dates are of run_date, in the task's zone:
 *
 *   ${run_date} ${biz_date} ${period_start} ${period_end}    yyyy-MM-dd; crons and cycles
 *                  shorter than a day: yyyy-MM-dd HH:mm:ss (biz_date is always a date)
 *   $[yyyyMMdd]  $[yyyy-MM-dd HH:mm:ss-1/24]   a pattern of yyyy yy MM dd HH mm ss, and
 *                  +-days: whole days by the calendar, parts (1/24, 30/24/60) elapsed.
 *                  A number with a leading zero is text: $[yyyy-MM-01]
 *   $[add_months(pattern, n)]   clipped to the month's end
 *   $[month_first_day(pattern, n)] and month_last_day, week_first_day, week_last_day (weeks
 *                  begin on Monday), year_first_day, year_last_day: of the month, week or
 *                  year n from run_date's own; n may be left out
 *   $[timestamp(pattern+-days)]   that date, down to what the pattern shows, as UTC seconds
 *   ${any.thing}   looked up by the caller; the value of a name without a dot is expanded in
 *                  turn, others (outputs, servers) are put in as they are
 *   ${name:-text}  text where the name, which must be known, has no value
 *   $$             a dollar sign
 *
 * A `$` before anything else stays as it is. Pure.
 */
#ifndef SCHED_MACRO_H
#define SCHED_MACRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct plan;

#define MACRO_OUT_MAX   (4 << 20) /* bytes of a text with its macros replaced */
#define MACRO_NAME_MAX  256       /* bytes of a name */
#define MACRO_COUNT_MAX 10000     /* macros replaced in one text, with those in values */
#define MACRO_DEPTH_MAX 16        /* values that hold macros themselves */

struct macro_scope {
	const struct plan *plan;
	int64_t run_date;
	/* The value of a name that is not built in, or NULL when there is none; may be NULL.
	 * The pointer is borrowed until the next call. */
	const char *(*lookup)(void *ctx, const char *name);
	/* Known names for the "did you mean", NULL-terminated; may be NULL. */
	const char *const *known;
	void *ctx;
};

/* Append `text` with its macros replaced to `out`.
 *
 *   errors  E_INVALID an unknown name (named, with the nearest known one) or a malformed
 *           macro (with its column); E_LIMIT too long or too deep. `out` may be part written.
 */
int macro_expand(const char *text, const struct macro_scope *scope, struct buf *out,
                 struct err *err);

/* Would macro_expand() know every name? For save time: nothing is computed, values are not
 * followed.
 *
 *   is_known  true for names that will have a value; may be NULL: only built-in ones have
 *   known     as in the scope
 *   errors    E_INVALID
 */
int macro_check(const char *text, bool (*is_known)(void *ctx, const char *name),
                const char *const *known, void *ctx, struct err *err);

/* A name that was not built in, and its value. */
struct macro_hole {
	char *name, *value; /* heap; value NULL: it was not looked up */
	size_t from, at;    /* where it stands: in the text, in what came of it */
};

struct macro_holes {
	struct macro_hole *items;
	size_t n, cap;
};
void macro_holes_done(struct macro_holes *h);

/* As macro_expand(), but values that others give stay out of the text: each name that is not built
 * in leaves one letter, and a row in `holes`. `scope` NULL: nothing is looked up, every name and
 * date is a letter. */
int macro_expand_apart(const char *text, const struct macro_scope *scope, struct buf *out,
                       struct macro_holes *holes, struct err *err);

/* Does the text hold anything to replace? */
bool macro_has(const char *text);

#endif
