/* How an attempt's end becomes an event of its instance. The state, the intent of a kill, how the
 * attempt ended and what the task says decide; the verdict names the event, the reason, when it is
 * tried again, and whether an attempt is burnt. Machines' faults burn none: they are counted by
 * themselves, up to infra_max. Pure: nothing is changed here. */
#include "sched/attempt.h"

#include "sched/task.h"
#include "util/check.h"

enum { INFRA_DELAY_US = 1000000 };

static struct attempt_verdict burnt(enum event event, enum reason reason, int64_t after_us)
{
	return (struct attempt_verdict){ event, reason, after_us, true, false };
}

static struct attempt_verdict unburnt(enum event event, enum reason reason, int64_t after_us)
{
	return (struct attempt_verdict){ event, reason, after_us, false, false };
}

/* The machines' fault. */
static struct attempt_verdict infra(enum event event, enum reason reason, int64_t after_us)
{
	return (struct attempt_verdict){ event, reason, after_us, false, true };
}

/* Hanged without a kill: nobody could say, and now somebody does. It counts as what it was. */
static struct attempt_verdict judge_found(const struct task *t, const struct instance *i,
                                          enum attempt_end end, enum reason reason, int64_t wait_us)
{
	bool machine = end == AE_INFRA || end == AE_RETURN || end == AE_BACK || end == AE_WITHOUT;

	CHECK(i->intent == KI_NONE);
	if (end == AE_NOT_YET)
		return unburnt(EV_LOOK, RE_NOT_YET, wait_us);
	if (machine && i->infra + 1 <= t->infra_max)
		return infra(EV_DEAD_RETRY, reason, INFRA_DELAY_US);
	if (machine)
		return infra(EV_DEAD_FINAL, RE_INFRA, 0);
	if (end == AE_FATAL || i->attempt >= t->max_attempts)
		return burnt(EV_DEAD_FINAL, end == AE_FATAL ? RE_FATAL : reason, 0);
	return burnt(EV_DEAD_RETRY, reason, task_retry_delay_us(t, i->attempt));
}

/* Confirmed dead while a kill was under way: the strongest intent decides. */
static struct attempt_verdict judge_killed(const struct task *t, const struct instance *i)
{
	CHECK(i->intent != KI_NONE);
	if (i->intent == KI_USER)
		return burnt(EV_DEAD_KILLED, RE_USER, 0);
	if (i->intent == KI_REPLACE)
		return burnt(EV_DEAD_KILLED, RE_REPLACED, 0);
	if (i->intent == KI_REDO)
		return burnt(EV_DEAD_REDO, RE_REDO, 0);
	if (i->attempt < t->max_attempts)
		return burnt(EV_DEAD_RETRY, RE_TIMEOUT, task_retry_delay_us(t, i->attempt));
	return burnt(EV_DEAD_FINAL, RE_TIMEOUT, 0);
}

static struct attempt_verdict judge_infra(const struct task *t, const struct instance *i,
                                          bool started, enum reason reason)
{
	if (i->infra + 1 > t->infra_max)
		return infra(EV_FAIL_FINAL, RE_INFRA, 0);
	if (!started)
		return infra(EV_RETURN, reason, 0);
	if (t->on_lost_hold && reason == RE_LOST)
		return burnt(EV_HANG, reason, 0);
	return infra(EV_FAIL_RETRY, reason, INFRA_DELAY_US);
}

struct attempt_verdict attempt_judge(const struct task *t, const struct instance *i,
                                     enum attempt_end end, enum reason reason, int64_t wait_us)
{
	bool killing = i->state == ST_WAITKILL || i->state == ST_KILLING || i->state == ST_HANGED;

	CHECK(i->state < ST_COUNT);
	if (!killing && i->state != ST_RUNNING)
		return unburnt(EV_NONE, RE_NONE, 0);
	if (end == AE_OK)
		return burnt(EV_EXIT_OK, RE_EXIT, 0);
	if (killing && end == AE_INFRA && reason == RE_LOST && t->on_lost_hold)
		return i->state == ST_HANGED ? unburnt(EV_NONE, RE_NONE, 0)
		                             : burnt(EV_HANG, RE_LOST, 0);
	if (killing)
		return i->intent == KI_NONE ? judge_found(t, i, end, reason, wait_us)
		                            : judge_killed(t, i);
	if (end == AE_BACK)
		return unburnt(EV_RETURN, reason, 0);
	if (end == AE_RETURN && i->flags & IF_PROBE)
		return unburnt(EV_RETURN, reason, 0);
	if (end == AE_WITHOUT)
		return i->infra + 1 > t->infra_max ? infra(EV_FAIL_FINAL, RE_INFRA, 0)
		                                   : infra(EV_FAIL_RETRY, reason, wait_us);
	if (end == AE_INFRA || end == AE_RETURN)
		return judge_infra(t, i, end == AE_INFRA, reason);
	if (end == AE_NOT_YET)
		return unburnt(EV_LOOK, RE_NOT_YET, wait_us);
	if (end == AE_FATAL)
		return burnt(EV_FAIL_FINAL, reason == RE_PARAMS ? RE_PARAMS : RE_FATAL, 0);
	if (i->attempt >= t->max_attempts)
		return burnt(EV_FAIL_FINAL, t->max_attempts > 1 ? RE_ATTEMPTS : reason, 0);
	return burnt(EV_FAIL_RETRY, reason, task_retry_delay_us(t, i->attempt));
}
