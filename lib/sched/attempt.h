/* attempt.h — what the end of an attempt means for its instance. Pure.
 *
 * (design: SEMANTICS section 3: retries, alive_wait, kill by intent.)
 */
#ifndef SCHED_ATTEMPT_H
#define SCHED_ATTEMPT_H

#include <stdint.h>

#include "sched/instance.h"

struct task;

enum attempt_end {
	AE_OK,      /* exit 0, observed */
	AE_FAILED,  /* bad exit: burns an attempt */
	AE_FATAL,   /* bad exit that no retry can mend */
	AE_INFRA,   /* lost, fenced, runner crashed: nobody's fault, burns none */
	AE_RETURN,  /* never started: rejected, fork failed; burns none */
	AE_NOT_YET, /* a sensor: it looks again after a while; burns none, fails nothing */
	AE_BACK,    /* never left the server, or met a loader about to end: counts nowhere */
	AE_WITHOUT, /* never left the server, lacked what it needs: burns none, pauses */
};

struct attempt_verdict {
	enum event event; /* EV_NONE: nothing changes */
	enum reason reason;
	int64_t retry_after_us;
	bool burns; /* the attempt counts */
	bool infra; /* else: it counts against infra_max */
};

/* `reason` says more about the end (RE_EXIT, RE_LOST, ...). `wait_us`: of AE_NOT_YET and
 * AE_WITHOUT. */
struct attempt_verdict attempt_judge(const struct task *t, const struct instance *i,
                                     enum attempt_end end, enum reason reason, int64_t wait_us);

#endif
