/* instant.h — instants as people write and read them.
 *
 *   2026-03-01            the first instant of that day in a zone
 *   2026-03-01 02:30      local; also 02:30:15, and T between the two
 *   2026-03-01T02:30:00Z  with an offset: Z, +08:00, -0530
 *
 * A local time in a gap is the end of the gap; one that comes twice is the first. Pure.
 */
#ifndef SCHED_INSTANT_H
#define SCHED_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

#define INSTANT_TEXT_MAX 32

struct tz;

struct instant {
	int64_t t;       /* UTC seconds */
	int64_t day;     /* the date as written, days since 1970-01-01 */
	bool is_date;    /* no time of day was written */
	bool has_offset; /* the zone did not matter */
};

/* False when it is no such text or not a real date. Years 1 to 9999. */
bool instant_parse(const char *text, const struct tz *tz, struct instant *ret);

/* RFC 3339 in UTC, 2026-03-29T01:00:00Z; never and before as "never". Returns `out`. */
const char *instant_print(int64_t t, char out[static INSTANT_TEXT_MAX]);

#endif
