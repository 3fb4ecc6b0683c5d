/* duty.h — whose turn it is in a list of people: a day each, or a week each, in a zone.
 *
 * Turns change at one clock time, that of the first handover; a day of 23 or 25 hours is one turn.
 * Before the first handover it is the first one's turn. Pure.
 */
#ifndef SCHED_DUTY_H
#define SCHED_DUTY_H

#include <stddef.h>
#include <stdint.h>

struct tz;

enum duty_every { DUTY_ALL, DUTY_DAY, DUTY_WEEK }; /* ALL: nobody takes turns */

struct duty_plan {
	enum duty_every every;
	int64_t from; /* label of the first handover (sched/civil.h) */
	const struct tz *tz;
	size_t people; /* at least 1 */
};

/* Whose turn it is at an instant, counted from 0. `ret_until`: of the next handover; may be NULL.
 * Not of DUTY_ALL. */
size_t duty_turn(const struct duty_plan *d, int64_t at, int64_t *ret_until);

#endif
