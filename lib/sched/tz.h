/* tz.h — a time zone as an immutable table of offsets, and both ways through it.
 *
 * Read from a TZif file (RFC 9636: the 64-bit block and the footer's rule), whose bytes
 * the caller brings (rt/zones.h). Instants are UTC seconds; labels are local clock time
 * (civil.h). Total for every int64. Thread: any, at once.
 *
 * Everything local in this software goes through two functions that undo each other:
 *   tz_first(L)   the first instant at which the zone's clock shows L or later
 *   tz_reached(t) the highest label the clock has shown up to t
 * so that tz_first(L) <= t exactly when tz_reached(t) >= L. In a gap tz_first is the end of
 * the gap, of a repeated label it is the first occurrence.
 */
#ifndef SCHED_TZ_H
#define SCHED_TZ_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct tz;

#define TZ_OFFSET_MAX (26 * 3600) /* no offset is larger, either way */

/* [from, to): the offset is the same throughout. INT64_MIN / INT64_MAX where it has no end. */
struct tz_span {
	int64_t from, to;
	int32_t offset; /* seconds east of UTC */
};

enum tz_local_kind { TZ_ONCE, TZ_GAP, TZ_TWICE };

struct tz_local {
	enum tz_local_kind kind;
	int64_t first; /* TZ_GAP: the end of the gap */
	int64_t last;  /* TZ_TWICE: the last occurrence; else = first */
};

/* Build a zone from the bytes of a TZif file of version 2 or later.
 *
 *   owns    *ret_tz is the caller's, until tz_free()
 *   errors  E_INVALID: not such a file, or one with leap seconds; never reads past len
 */
int tz_parse(const void *bytes, size_t len, const char *name, struct tz **ret_tz, struct err *err);
void tz_free(struct tz *tz); /* NULL is fine */

const struct tz *tz_utc(void); /* static, needs no file */
const char *tz_name(const struct tz *tz);

/* Seconds east of UTC at t. */
int32_t tz_offset(const struct tz *tz, int64_t t);
/* The same for callers that walk through time: *hint is theirs, starts at 0. */
int32_t tz_offset_hint(const struct tz *tz, int64_t t, size_t *hint);
struct tz_span tz_span_at(const struct tz *tz, int64_t t);

int64_t tz_to_label(const struct tz *tz, int64_t t);
int64_t tz_first(const struct tz *tz, int64_t label);
int64_t tz_reached(const struct tz *tz, int64_t t);
struct tz_local tz_from_label(const struct tz *tz, int64_t label);

#endif
