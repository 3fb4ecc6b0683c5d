/* calendar.h — which local dates a plan may use: weekdays, and the dates that differ.
 *
 * Immutable once built, counted; thread: any. Days are days since 1970-01-01 (civil.h).
 */
#ifndef SCHED_CALENDAR_H
#define SCHED_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct calendar;
struct err;

#define CALENDAR_ALL_WEEK 0x7f
#define CALENDAR_WORKWEEK 0x1f      /* Monday to Friday */
#define CALENDAR_DAYS_MAX 100000    /* dates that differ */
#define CALENDAR_NEVER    INT64_MAX /* no allowed date from there on */
#define CALENDAR_BEFORE   INT64_MIN /* none up to there */

struct calendar_day {
	int32_t day;
	bool allowed;
};

/* `weekdays`: bit 0 Monday .. bit 6 Sunday, for every date that is not in `days` (any
 * order, copied).
 *
 *   owns    *ret_calendar is the caller's, until calendar_free()
 *   errors  E_INVALID a date that is both allowed and not; E_LIMIT
 */
int calendar_new(uint8_t weekdays, const struct calendar_day *days, size_t n,
                 struct calendar **ret_calendar, struct err *err);
struct calendar *calendar_ref(const struct calendar *c); /* one more owner */
void calendar_free(struct calendar *c);                  /* one less; NULL is fine */
/* Do both allow the same dates, by the same rules? NULL allows every date. */
bool calendar_same(const struct calendar *a, const struct calendar *b);

bool calendar_allows(const struct calendar *c, int64_t day);
int64_t calendar_next(const struct calendar *c, int64_t day); /* first allowed >= day */
int64_t calendar_prev(const struct calendar *c, int64_t day); /* last allowed <= day */

/* As text, and back: "31 +20500 ~20501"; "" is NULL. False: no such text. */
void calendar_print(const struct calendar *c, struct buf *out); /* NULL is fine */
bool calendar_parse(const char *text, struct calendar **ret_calendar);

#endif
