/* when.h — instants as people and programs write them (docs/protocol-json.md rule 3). */
#ifndef SCHED_WHEN_H
#define SCHED_WHEN_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct tz;

enum { WHEN_TEXT = 40 };

/* What was written: an instant, or a label that each task's zone makes one of. */
struct when {
	bool is_local; /* label counts, else `at` */
	bool is_date;  /* a bare local date */
	int64_t at;    /* UTC seconds */
	int64_t label; /* local clock, sched/civil.h */
};

/* `2026-03-01`, `2026-03-01 02:30[:15]` (or T between), and those with Z or +08:00. */
bool when_parse(const char *text, struct when *ret);
/* The first instant meant; `as_end`: of a bare date the last second. */
int64_t when_instant(const struct when *w, const struct tz *tz, bool as_end);

void when_print(int64_t s, char ret[WHEN_TEXT]);     /* 2026-03-01T02:30:00Z */
void when_print_us(int64_t us, char ret[WHEN_TEXT]); /* ...00.123456Z */

/* The same as JSON (util/json_put.h); null: outside TIME_MIN..TIME_MAX, and 0 microseconds. */
void put_time(struct buf *b, const char *key, int64_t s);
void put_time_us(struct buf *b, const char *key, int64_t us);

#endif
