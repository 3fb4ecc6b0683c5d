#include "sched/duty.h"

#include "sched/civil.h"
#include "sched/tz.h"
#include "util/check.h"

size_t duty_turn(const struct duty_plan *d, int64_t at, int64_t *ret_until)
{
	int64_t long_s = d->every == DUTY_WEEK ? 7 * DAY_S : DAY_S;

	CHECK(d->every != DUTY_ALL && d->people > 0);
	int64_t turn = floor_div(tz_reached(d->tz, at) - d->from, long_s);
	turn = turn < 0 ? 0 : turn;
	if (ret_until)
		*ret_until = tz_first(d->tz, d->from + (turn + 1) * long_s);
	return (size_t)turn % d->people;
}
