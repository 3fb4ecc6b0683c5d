/* label.h — the name that people have for a run_date: its business date in its task's zone, as
 * coarse as the task's cycle.
 *
 *   2026 · 2026-11 · 2026-W45 · 2026-11-03    a cycle of years, months, weeks, days; of n of them
 *                                             the first of its step
 *   2026-11-03 14:00                          minutes, hours, a cron, `once`
 *   2026-11-03 14:00:30                       where seconds count; of a cron that fires several
 *                                             times in a minute always
 *   2026-10-25 02:30 (2)                      a clock time that comes twice: which of the two
 *
 * What label_print() makes, when_parse() reads (when.h), and it means the same instant again: a
 * run_date off the plan, which is not the first instant of its day, gets its clock time. Pure.
 */
#ifndef SCHED_LABEL_H
#define SCHED_LABEL_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct plan;
struct tz;
struct when;

enum { LABEL_TEXT = 40 };

/* Stored with a task: append only. */
enum label_grain {
	LABEL_CLOCK, /* minutes, or seconds where they are not 0 */
	LABEL_DAY,
	LABEL_WEEK,
	LABEL_MONTH,
	LABEL_YEAR,
	LABEL_SECOND, /* a cron that fires several times in a minute */
	LABEL_GRAINS
};

enum label_grain label_grain(const struct plan *p);
/* Outside TIME_MIN..TIME_MAX, where no run_date is: "never". Returns `ret`. */
const char *label_print(const struct tz *tz, enum label_grain grain, int64_t run_date,
                        char ret[static LABEL_TEXT]);
/* The same of a task with this plan; also as JSON, "label" (util/json_put.h). */
const char *label_of(const struct plan *p, int64_t run_date, char ret[static LABEL_TEXT]);
void put_label(struct buf *b, const struct plan *p, int64_t run_date);

/* The permanent address of an instance in the console, of one generation and attempt of it where
 * they are not 0: /p/PROJECT/WORKFLOW/TASK/LABEL?run=2&attempt=3 */
void label_path(struct buf *b, const char *task, const char *label, unsigned generation,
                unsigned attempt);

/* Which one run_date of a task with this plan the words name: of many the planned one, of none the
 * first instant, which is off the plan. Else how many: 0, the clock there never shows it; 2, the
 * first two of several. */
size_t label_dates(const struct plan *p, const struct when *w, int64_t ret[static 2]);
/* What is wrong with words that name none (`dates` NULL) or several: the sentence, with the first
 * two readings. */
void label_unclear(const struct plan *p, const char *task, const char *text, const struct when *w,
                   const int64_t *dates, struct err *err);

#endif
