/* when.h — dates and instants as people and programs write them (docs/protocol-json.md rule 3).
 *
 *   2026-03-01T02:30:00Z       an instant: with its offset, Z, +08:00, -0530
 *   2026-03-01 02:30[:15]      a local time (T between as well); `02:30 (2)`: the second of the two
 *                              that a clock change makes
 *   2026-03-01 2026-03         a local day, month, ISO week, year: its whole span
 *   2026-W10   2026
 *   now today yesterday        read at a moment; `last week` is the week before this one, `-3d` the
 *   tomorrow   this|last week  day three days ago as `yesterday` is `-1d`, `-6h` the instant six
 *   |month|year  -3d -2w -6h   hours ago; 今天 昨天 前天 明天 本周 上周 本月 上月 今年 去年 as well
 *
 * Labels (label.h) are among them. What has no offset is local: of each task's zone. A minute is a
 * span as well. `A..B` is from the begin of A to the end of B, `A..` to now; blanks before it do
 * not count. Pure.
 */
#ifndef SCHED_WHEN_H
#define SCHED_WHEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/plan.h"

struct buf;
struct err;
struct tz;

enum { WHEN_TEXT = 40 };

/* The moment of words, where a text must mean the same for ever: then `today` is no date. */
#define WHEN_NO_NOW INT64_MIN

enum when_kind {
	WHEN_INSTANT, /* `at` */
	WHEN_LOCAL,   /* clock times from `label` to before `label_end`; `copy` */
	WHEN_AGO,     /* the local unit that many before the one that holds `at` */
};

struct when {
	enum when_kind kind;
	bool is_date;             /* a day or longer */
	uint8_t copy;             /* 1, 2: of a clock time that comes twice; 0: not said */
	enum cycle_unit ago;      /* CU_DAY..CU_YEAR */
	int32_t n;                /* units before; negative: after */
	int64_t at;               /* UTC seconds; of AGO the moment that it counts from */
	int64_t label, label_end; /* local clock, sched/civil.h */
};

/* To go on after "'2026-02-30' is no date": ": 2026-02 has 28 days", else "". Of a range, its first
 * such day. Returns `ret`. */
const char *when_no_day(const char *text, char ret[WHEN_TEXT]);

/* From the begin of one to the end of the other; of one date both are it. */
struct when_span {
	struct when from, to;
};

/* `now`, UTC seconds, is the moment of words: WHEN_NO_NOW refuses them. */
bool when_parse(const char *text, int64_t now, struct when *ret);
bool when_range(const char *text, int64_t now, struct when_span *ret);
/* In any zone: what names an offset beside what does not is left to each task's. */
bool when_is_after(const struct when *from, const struct when *to);
static inline bool when_is_local(const struct when *w)
{
	return w->kind != WHEN_INSTANT;
}

/* The first instant meant; `as_end`: the last second of a span. A local time in a gap is the end of
 * the gap, one that comes twice without a word which is the first. */
int64_t when_instant(const struct when *w, const struct tz *tz, bool as_end);
/* How many instants a local time names in the zone: 2 where it comes twice and nothing says which,
 * 0 where it is left out, or comes once and the second is wanted. Of all else 1. */
size_t when_readings(const struct when *w, const struct tz *tz, int64_t ret[static 2]);

/* 2026-03-01T02:30:00Z; outside TIME_MIN..TIME_MAX "never". Returns `ret`. */
const char *when_print(int64_t s, char ret[WHEN_TEXT]);
void when_print_us(int64_t us, char ret[WHEN_TEXT]); /* ...00.123456Z */

/* The same as JSON (util/json_put.h); null: outside TIME_MIN..TIME_MAX, and 0 microseconds. */
void put_time(struct buf *b, const char *key, int64_t s);
void put_time_us(struct buf *b, const char *key, int64_t us);

#endif
