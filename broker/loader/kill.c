/* Kills: the server's, and those that a lost lease asks for.
 *
 * Where a kill goes depends on where the job is: a process is the keeper's to end; a job that no
 * thread has begun leaves the queue; one inside the plugin can only be told, and the plugin's
 * kill() is called only while its execute() is inside. A kill of an ended job tells its end again.
 */
#include <sirdar.pb-c.h>

#include "broker/loader/loader.h"
#include "broker/loader/pool.h"
#include "util/check.h"
#include "util/clock.h"

void loader_cancel(struct loader *l, struct job *j)
{
	const struct runner_plugin *p = l->plugin;

	CHECK(j->phase == JOB_QUEUED);
	/* Held before it is woken: execute() must not return between that and kill(). */
	loader_call_begin(l, "kill()");
	pthread_mutex_lock(&l->kill_mu);
	pthread_mutex_lock(&l->mu);
	bool was = atomic_exchange(&j->is_cancelled, true);
	pthread_cond_broadcast(&j->cv);
	pthread_mutex_unlock(&l->mu);
	if (!was && j->is_executing && RUNNER_HAS(p, struct runner_plugin, kill))
		p->kill(l->self, j->state, &j->pub);
	pthread_mutex_unlock(&l->kill_mu);
	loader_call_end(l);
}

static void killed_unstarted(struct loader *l, struct job *j)
{
	CHECK(!atomic_load(&j->begun_us) && !j->is_process);
	j->report_kind = REPORT_ENDED;
	j->reason = REASON_SIGNAL;
	j->result.exit_code = -15;
	result_set_text(&j->result, "killed before it began");
	loader_job_ended(l, j);
}

void loader_kill(struct loader *l, struct job *j, uint64_t grace_us, uint32_t intent)
{
	CHECK(j->phase != JOB_FREE && j->phase != JOB_ACKED);
	if (j->phase != JOB_ENDED)
		j->kill_intent = intent;
	if (j->phase == JOB_ENDED) {
		loader_report(l, j, DUE_END);
	} else if (j->phase == JOB_PROCESS || j->is_waited) {
		loader_kill_process(l, j, grace_us, intent);
	} else if (j->phase == JOB_QUEUED) {
		if (!j->was_inline && pool_withdraw(l->pool, j)) {
			killed_unstarted(l, j);
			return;
		}
		loader_cancel(l, j);
		j->grace_end_us = clock_mono_us(&clock_machine) + (int64_t)grace_us;
	}
}

int loader_take_kills(struct loader *l, const Sirdar__Kills *m)
{
	for (size_t i = 0; i < m->n_kill; i++) {
		const Sirdar__Kill *k = m->kill[i];
		struct job *j = loader_job_find(l, k->token);

		if (!j || j->phase == JOB_ACKED) {
			loader_report_unknown(l, k->token);
			continue;
		}
		j->kill_seen = true;
		if (j->phase != JOB_ENDED)
			loader_report(l, j, DUE_KILL_ACK);
		loader_kill(l, j, k->grace_us, k->intent);
	}
	return 0;
}
