/* Leases that end, kills that go on.
 *
 * A job that may not outlive its lease is fenced when the lease ends, as if it had been killed
 * with the fence's grace. A kill sends TERM, after the grace KILL, and KILL again after pauses
 * that grow, until nothing of the tree is left; hang_ms after the first KILL the job is told to
 * hang, once. When to look next is keeper_alarm.c's; that nothing is left, keeper_round.c's.
 */
#include <inttypes.h>
#include <signal.h>

#include "broker/keeper/keeper.h"
#include "broker/keeper/record.h"
#include "broker/keeper/service.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { STEP_MIN_US = 5000, STEP_MAX_US = 1000000 };

static void kill_now(struct keeper *k, struct job *job)
{
	struct tree_of of = job_tree(job);
	int64_t now = clock_now_us();

	CHECK(job->phase != PHASE_NONE && !job_is_over(job));
	if (job->phase == PHASE_TERM)
		record_say(job, "it is still there: killed (KILL)");
	job->phase = PHASE_KILL;
	tree_signal(k->tree, &of, SIGKILL);
	job->step_us = job->step_us ? job->step_us * 2 : STEP_MIN_US;
	job->step_us = job->step_us < STEP_MAX_US ? job->step_us : STEP_MAX_US;
	job->phase_us = now + job->step_us;
	if (now >= job->hang_us && !job->is_hang_told) {
		job->is_hang_told = true;
		job_move(job, JOB_HANGED);
		log_error("job.hanged", "token=%016" PRIx64 " pid=%d: SIGKILL does not end it",
		          job->token, (int)job->pid);
		service_kill_state(k->service, job, 2);
	}
	keeper_due_set(k, job);
	tree_forget_scan(k->tree);
	k->is_strangers_known = false;
	keeper_settle(k, job);
}

static void cancel_start(struct keeper *k, struct job *job, enum job_why why)
{
	struct err err = { 0 };

	err_set(&err, why == WHY_LEASE ? E_TIMEOUT : E_CLOSED, "%s",
	        why == WHY_LEASE ? "its lease ran out before it started"
	                         : "killed before it started");
	CHECK(keeper_queue_remove(&k->starts, job->at));
	keeper_not_started(k, job, &err);
	keeper_wake(k);
}

bool keeper_kill(struct keeper *k, struct job *job, enum job_why why, uint32_t intent,
                 uint64_t grace_us)
{
	struct tree_of of;
	int64_t kill_us = clock_now_us() +
	                  (int64_t)(grace_us < 86400ull * 1000000 ? grace_us : 86400ull * 1000000);

	keeper_reap(k); /* an end that came before this signal is an end by itself */
	if (job_is_over(job))
		return false;
	if (job->state == JOB_STARTING) {
		cancel_start(k, job, why);
		return true;
	}
	if (!job->is_main_done && !job->end.killed_why)
		job->end.killed_why = why;
	if (why == WHY_ASKED && intent > job->end.intent)
		job->end.intent = intent;
	if (job->state == JOB_RUNNING)
		job_move(job, JOB_KILLING);
	of = job_tree(job);
	if (job->phase == PHASE_NONE) {
		log_info("job.kill", "token=%016" PRIx64 " pid=%d why=%d grace_ms=%" PRIu64,
		         job->token, (int)job->pid, (int)why, grace_us / 1000);
		job->phase = PHASE_TERM;
		job->phase_us = kill_us;
		job->hang_us = kill_us + k->settings.hang_ms * US_PER_MS;
		record_say_kill(job, why, grace_us);
		tree_signal(k->tree, &of, SIGTERM);
	} else if (job->phase == PHASE_TERM && kill_us < job->phase_us) {
		job->phase_us = kill_us;
		job->hang_us = kill_us + k->settings.hang_ms * US_PER_MS;
	}
	keeper_due_set(k, job);
	keeper_timer_set(k);
	return true;
}

void keeper_renew(struct keeper *k, struct job *job, uint64_t deadline_us)
{
	if (job->is_fenced || deadline_us <= job->deadline_us || deadline_us > INT64_MAX)
		return;
	job->deadline_us = deadline_us;
	if (job->state != JOB_STARTING)
		keeper_due_set(k, job);
}

void keeper_due_run(struct keeper *k)
{
	struct heap_node *top;

	for (int64_t now = clock_now_us(); (top = heap_top(&k->due)) && top->key <= now;) {
		struct job *job = (struct job *)((char *)top - offsetof(struct job, due));
		if (job->deadline_us && !job->is_keep && !job->is_fenced &&
		    (int64_t)job->deadline_us <= now) {
			job->is_fenced = true;
			log_warn("job.fenced", "token=%016" PRIx64 ": its lease ran out",
			         job->token);
			keeper_due_set(k, job);
			keeper_kill(k, job, WHY_LEASE, 0, job->fence_kill_us);
			continue;
		}
		kill_now(k, job);
	}
	keeper_wake(k);
}
