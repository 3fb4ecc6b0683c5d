/* keeper_alarm.c — when a job is looked at next: when its lease ends, or its kill goes on. */
#include <sys/timerfd.h>

#include "broker/keeper/keeper.h"
#include "util/check.h"
#include "util/clock.h"

void keeper_due_set(struct keeper *k, struct job *job)
{
	int64_t at = INT64_MAX;

	CHECK(job->phase == PHASE_NONE || job->phase_us > 0);
	if (job->deadline_us && !job->is_keep && !job->is_fenced)
		at = (int64_t)job->deadline_us;
	if (job->phase != PHASE_NONE && job->phase_us < at)
		at = job->phase_us;
	if (at == INT64_MAX || job_is_over(job))
		heap_remove(&k->due, &job->due);
	else
		heap_set(&k->due, &job->due, at);
}

void keeper_timer_set(struct keeper *k)
{
	struct itimerspec when = { 0 };
	struct heap_node *top = heap_top(&k->due);

	if (top) {
		int64_t at = top->key > 0 ? top->key : 1;
		when.it_value.tv_sec = at / US_PER_S;
		when.it_value.tv_nsec = at % US_PER_S * 1000;
	}
	timerfd_settime(k->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}
