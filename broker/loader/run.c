/* One job through the plugin's calls: prepare, execute, finish; on a thread of the pool, or
 * inline.
 *
 * kill() may come only while execute() is inside: `is_executing` changes under kill_mu, and a job
 * that was cancelled before is not executed. A job whose execute() answered RUNNER_PROCESS leaves
 * its thread with `start` set, and comes back with STAGE_FINISH when the process is over.
 * loader_run_settle() says what an answer means; judge_cut() lets a lost lease or a stopped machine
 * burn no attempt. Reports and logs are sent by others.
 */
#include <stdlib.h>

#include "broker/loader/cause.h"
#include "broker/loader/loader.h"
#include "util/check.h"
#include "util/clock.h"

#define HAS(plugin, member) RUNNER_HAS(plugin, struct runner_plugin, member)

static int64_t wall_us(void)
{
	return clock_wall_us(&clock_machine);
}

/* It could not have a secret when it asked, and failed: that was not its fault. */
static void judge_secret(struct job *j)
{
	struct loader *l = j->loader;

	pthread_mutex_lock(&l->mu);
	if (j->no_secret && j->result.verdict != RUNNER_NOT_YET &&
	    (j->answer < 0 || j->result.exit_code != 0 || j->result.verdict != RUNNER_BY_CODE)) {
		j->result.verdict = RUNNER_INFRA;
		result_set_text(&j->result, j->no_secret);
	}
	pthread_mutex_unlock(&l->mu);
}

void loader_run_settle(struct job *j)
{
	struct runner_result *r = &j->result;

	r->text[sizeof r->text - 1] = 0;
	result_set_text(r, r->text);
	if (j->unplaced && j->answer < 0) { /* another machine may have one */
		j->reason = j->unplaced;
		r->verdict = RUNNER_INFRA;
		j->report_kind = REPORT_NOT_STARTED;
		return;
	}
	if (j->answer == RUNNER_PROCESS && !j->start) { /* it never called spawn() */
		j->answer = RUNNER_FAILED;
		result_set_text(r, "the runner started no process");
	}
	if (j->answer < 0) {
		j->reason = REASON_PLUGIN;
		if (r->verdict == RUNNER_BY_CODE)
			r->verdict = RUNNER_INFRA;
	} else if (r->exit_code < 0) {
		j->reason = REASON_SIGNAL;
	} else {
		j->reason = REASON_EXIT;
	}
	if (r->verdict > RUNNER_NOT_YET)
		r->verdict = RUNNER_INFRA;
	judge_secret(j);
	j->report_kind = r->verdict == RUNNER_NOT_YET ? REPORT_NOT_YET : REPORT_ENDED;
}

static void run_finish(struct job *j)
{
	const struct runner_plugin *p = j->loader->plugin;

	if (HAS(p, finish))
		p->finish(j->loader->self, j->state, &j->pub, &j->result);
	j->state = NULL;
}

/* False: it was told to stop while prepare() was inside. kill() comes only once execute() is, so
 * a job that went in now would never hear of it. */
static bool may_execute(struct job *j)
{
	pthread_mutex_lock(&j->loader->kill_mu);
	bool may = !atomic_load(&j->is_cancelled);

	CHECK(!j->is_executing);
	j->is_executing = may;
	pthread_mutex_unlock(&j->loader->kill_mu);
	return may;
}

static void executed(struct job *j)
{
	pthread_mutex_lock(&j->loader->kill_mu);
	CHECK(j->is_executing);
	j->is_executing = false;
	pthread_mutex_unlock(&j->loader->kill_mu);
}

static void end_cancelled(struct job *j)
{
	j->result.exit_code = -15;
	result_set_text(&j->result, "killed before it began");
}

/* prepare and execute, as far as this call may go. */
static int run_advance(struct job *j)
{
	const struct runner_plugin *p = j->loader->plugin;
	void *self = j->loader->self;
	int r = RUNNER_DONE;

	CHECK(j->stage == STAGE_PREPARE || j->stage == STAGE_EXECUTE);
	if (j->stage == STAGE_PREPARE) {
		if (HAS(p, prepare))
			r = p->prepare(self, &j->pub, &j->result, &j->state);
		if (r != RUNNER_DONE)
			return r;
		j->stage = STAGE_EXECUTE;
	}
	if (j->pub.flags & RUNNER_JOB_INLINE)
		return p->execute(self, j->state, &j->pub, &j->result);
	if (!may_execute(j)) {
		end_cancelled(j);
		return RUNNER_DONE;
	}
	r = p->execute(self, j->state, &j->pub, &j->result);
	executed(j);
	return r;
}

void loader_run_job(struct job *j)
{
	if (j->stage == STAGE_FINISH) {
		run_finish(j);
		if (j->report_kind == REPORT_ENDED && j->result.verdict == RUNNER_NOT_YET)
			j->report_kind = REPORT_NOT_YET;
		return;
	}
	atomic_store(&j->begun_us, wall_us());
	if (atomic_load(&j->is_cancelled)) {
		end_cancelled(j);
		if (j->stage == STAGE_EXECUTE)
			run_finish(j);
		loader_run_settle(j);
		return;
	}
	j->answer = run_advance(j);
	if (j->answer == RUNNER_PROCESS && j->start && !j->process_over)
		return; /* the session thread goes on with it */
	run_finish(j);
	loader_run_settle(j);
	j->ended_us = wall_us();
}

int loader_run_inline(struct job *j)
{
	struct loader *l = j->loader;

	CHECK(l->plugin->flags & RUNNER_INLINE_OK && j->stage == STAGE_PREPARE);
	j->pub.flags |= RUNNER_JOB_INLINE;
	j->started_us = wall_us();
	loader_call_begin(l, "inline execute()");
	j->answer = run_advance(j);
	loader_call_end(l);
	j->pub.flags &= ~RUNNER_JOB_INLINE;
	if (j->answer == RUNNER_THREAD || (j->answer == RUNNER_PROCESS && j->start))
		return j->answer;
	loader_call_begin(l, "inline finish()");
	run_finish(j);
	loader_call_end(l);
	loader_run_settle(j);
	j->ended_us = wall_us();
	return RUNNER_DONE;
}

/* --- back on the session thread --------------------------------------------------- */

/* The lease ran out, or the machine's programs were stopped: nobody's fault, so no attempt is
 * burnt. Only the runner can say that the work was done all the same. It cannot of a process that
 * was its job: many exit with 0 when they are told to stop. */
static void judge_cut(struct job *j)
{
	bool is_done = j->result.exit_code == 0 && j->result.verdict == RUNNER_BY_CODE;
	bool was_process = j->phase == JOB_PROCESS && !j->is_waited && !j->has_said;
	uint8_t why = j->cut_short ? j->cut_short : j->was_fenced ? (uint8_t)REASON_FENCED : 0;

	if (!why || j->report_kind != REPORT_ENDED || (is_done && !was_process))
		return;
	j->reason = why;
	j->result.verdict = RUNNER_INFRA;
}

void loader_job_ended(struct loader *l, struct job *j)
{
	judge_cut(j);
	job_said(j);
	j->failure = cause_find(l, j);
	if (!j->ended_us)
		j->ended_us = wall_us();
	if (!j->started_us)
		j->started_us = j->ended_us;
	CHECK(j->has_slot && l->active > 0);
	CHECK(j->is_process || l->in_process > 0);
	if (!j->is_process)
		l->in_process--;
	l->active--;
	j->has_slot = false;
	job_move(j, JOB_ENDED);
	j->pub.flags = 0;
	l->unacked++;
	start_free(j->start);
	j->start = NULL;
	loader_report(l, j, DUE_END);
	loader_ship(l, j);
}
