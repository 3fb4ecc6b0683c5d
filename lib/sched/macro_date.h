/* macro_date.h — what stands between $[ and ]. For macro.c only. */
#ifndef SCHED_MACRO_DATE_H
#define SCHED_MACRO_DATE_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct tz;

/* Append the date that the text asks for. `tz` NULL: only check the text.
 * Returns NULL, or what is wrong with the text. */
const char *macro_date(const char *text, size_t len, const struct tz *tz, int64_t run_date,
                       struct buf *out);

/* Append `label` in a pattern of yyyy yy MM dd HH mm ss. */
void macro_format(const char *pattern, size_t len, int64_t label, struct buf *out);

#endif
