/* cron_impl.h — a cron as bit masks. For cron.c and cron_parse.c only. */
#ifndef SCHED_CRON_IMPL_H
#define SCHED_CRON_IMPL_H

#include "sched/cron.h"

#include <stdatomic.h>

struct cron {
	_Atomic unsigned refs;
	char *text;
	/* From here on what cron_same() compares; zeroed before it is filled. */
	uint64_t seconds, minutes;
	uint32_t hours;
	uint32_t days;      /* bit 1 .. 31 */
	uint32_t months;    /* bit 1 .. 12 */
	uint32_t last_days; /* bit n: L-n */
	uint32_t last_work; /* bit n: L-nW; LW is bit 0 */
	uint32_t near_work; /* bit d: dW */
	uint8_t weekdays;   /* bit 0 Sunday .. bit 6 */
	uint8_t last_weekdays;
	uint8_t nth_weekdays[6]; /* [n]: the n-th of the month, 1..5 */
	bool either;             /* day or weekday will do; else both must hold */
	bool elapsed;            /* the hour is `*`: follows elapsed time */
	bool has_years;
	uint64_t years[4]; /* bit year - CRON_YEAR_MIN */
	bool is_never;     /* no date matches, ever */
	enum cycle_unit unit;
};

/* Fill in is_never and unit, once the masks stand. */
void cron__judge(struct cron *c);

#endif
