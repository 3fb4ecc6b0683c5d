/* threshold.h — a limit that does not flicker. Pure. */
#ifndef TASKBROKER_THRESHOLD_H
#define TASKBROKER_THRESHOLD_H

#include <stdbool.h>
#include <stdint.h>

/* Is `now` over `limit`? Once it is, until it is `slack_percent` of the limit below it: a load
 * that swings about its limit does not make a broker come and go. `at_least`: the limit is what
 * must be left, and it is over while less is.
 *
 *   is_over  what was answered before, kept by the caller */
static inline bool threshold_passed(bool *is_over, uint64_t now, uint64_t limit,
                                    uint64_t slack_percent, bool at_least)
{
	/* In two steps, lest a limit of an exabyte overflows. */
	uint64_t slack = *is_over ? limit / 100 * slack_percent + limit % 100 * slack_percent / 100
	                          : 0;

	*is_over = at_least ? now < limit + slack : now > limit - slack;
	return *is_over;
}

#endif
