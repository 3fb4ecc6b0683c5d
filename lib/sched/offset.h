/* offset.h — the offset of a task as people write it.
 *
 *   90s 5m 2h30m 1d 1w 1d2h     a duration
 *   02:30  02:30:15             a time of day
 *   +1 02:30                    days after, and a time of day
 *   day 5 02:00  last-day 02:30  tuesday 06:00     (the time may be left out: midnight)
 *
 * A duration on a cycle of a day and longer is local clock time (plan.h says so). Pure.
 */
#ifndef SCHED_OFFSET_H
#define SCHED_OFFSET_H

#include <stdint.h>

#include "sched/plan.h"

struct buf;
struct err;

/* errors  E_INVALID, also for what is negative */
int offset_parse(const char *text, struct plan_offset *ret_offset, struct err *err);
/* Append it as offset_parse() reads it. */
void offset_print(const struct plan_offset *o, struct buf *out);

/* A duration alone: 90s 5m 2h30m 1d 1w, in seconds. errors E_INVALID */
int duration_parse(const char *text, int64_t *ret_seconds, struct err *err);
void duration_print(int64_t seconds, struct buf *out);

#endif
