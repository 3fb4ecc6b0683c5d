/* Work that comes in: credit to the server, grants from it, and jobs that job threads give back.
 *
 * Within a session credit is a limit that only rises: granted so far, and the slots that are free.
 * A grant of a token that is held starts nothing, its state is told again. A job begins inline if
 * the runner never blocks, else all of a frame's jobs go to the pool at once. A retired loader
 * sends `closed` instead of credit; the answer to the beat after it comes behind the last grant.
 */
#include <sirdar.pb-c.h>

#include "broker/link/link.h"
#include "broker/loader/loader.h"
#include "broker/loader/pool.h"
#include "util/check.h"
#include "util/log.h"

/* Ends the server has not acknowledged: beyond this many no more work is asked for. */
#define UNACKED_MAX 65536

/* --- work in ---------------------------------------------------------------------- */

static uint32_t capacity(const struct loader *l)
{
	return l->slots + (uint32_t)l->settings->pull_ahead;
}

/* The answer to the beat that follows it comes after the last grant. */
static void send_closed(struct loader *l)
{
	Sirdar__Credit m = SIRDAR__CREDIT__INIT;

	CHECK(l->is_retired && l->is_stopping);
	if (l->is_closed || !l->link || !link_is_up(l->link))
		return;
	m.limit = l->credit;
	m.closed = true;
	if (link_send(l->link, FR_CREDIT, &m, NULL) < 0)
		return; /* full: the next round tries again */
	l->is_closed = true;
	link_beat(l->link);
	l->closed_seq = link_beat_seq(l->link);
}

void loader_send_credit(struct loader *l)
{
	Sirdar__Credit m = SIRDAR__CREDIT__INIT;
	uint32_t room = capacity(l) > l->active ? capacity(l) - l->active : 0;

	if (l->is_retired)
		send_closed(l);
	if (l->is_stopping || l->is_keeper_gone || !l->link || !link_is_up(l->link) ||
	    l->unacked > UNACKED_MAX || l->granted + room <= l->credit)
		return;
	m.limit = l->granted + room;
	if (link_send(l->link, FR_CREDIT, &m, NULL) == 0)
		l->credit = m.limit;
}

static void reject(struct loader *l, struct job *j, uint8_t reason, const char *why)
{
	log_debug("job.rejected", "type=%s token=%llx reason=%u why=\"%s\"", l->type,
	          (unsigned long long)j->pub.token, reason, why);
	CHECK(j->phase == JOB_QUEUED && !j->has_started);
	j->report_kind = REPORT_REJECTED;
	j->reason = reason;
	result_set_text(&j->result, why);
	loader_job_ended(l, j);
}

/* The token is held already: its present state is told again, nothing is started. */
static void granted_again(struct loader *l, struct job *j)
{
	if (j->phase == JOB_ACKED)
		loader_report_unknown(l, j->pub.token);
	else if (j->phase == JOB_ENDED)
		loader_report(l, j, DUE_END);
	else if (j->has_started)
		loader_report(l, j, DUE_STARTED);
}

/* A list of jobs for the pool, pushed at once. */
struct batch {
	struct job *head, *tail;
	size_t n;
};

static void take_job(struct loader *l, const Sirdar__Job *grant, struct batch *batch)
{
	struct job *j = loader_job_find(l, grant->token);

	l->granted++;
	if (j) {
		granted_again(l, j);
		return;
	}
	j = loader_job_new(l);
	job_fill(j, grant);
	job_move(j, JOB_QUEUED);
	log_debug("job.begun", "type=%s task=%s token=%llx attempt=%u", l->type, j->pub.task_name,
	          (unsigned long long)j->pub.token, j->pub.attempt);
	j->result.size = sizeof j->result;
	loader_job_enter(l, j);
	if (l->is_stopping || l->active > capacity(l)) {
		if (l->is_stopping)
			reject(l, j, REASON_STOPPING, /* the server grants us nothing more */
			       "the loader stops");
		else
			reject(l, j, REASON_REJECT, "no slot is free");
		return;
	}
	if (l->plugin->flags & RUNNER_INLINE_OK) {
		int r = loader_run_inline(j);
		if (r == RUNNER_PROCESS) {
			loader_start_process(l, j);
			return;
		}
		if (r != RUNNER_THREAD) {
			loader_job_ended(l, j);
			return;
		}
		j->was_inline = true;
	}
	j->next = NULL;
	if (batch->tail)
		batch->tail->next = j;
	else
		batch->head = j;
	batch->tail = j;
	batch->n++;
}

int loader_take_jobs(struct loader *l, const Sirdar__Jobs *m)
{
	struct batch batch = { NULL, NULL, 0 };

	for (size_t i = 0; i < m->n_job; i++)
		take_job(l, m->job[i], &batch);
	CHECK((batch.n > 0) == (batch.head != NULL));
	if (batch.n)
		pool_push(l->pool, batch.head, batch.tail, batch.n);
	loader_fence_arm(l);
	loader_tick_arm(l);
	return 0;
}

/* --- and back --------------------------------------------------------------------- */

static void job_back(struct loader *l, struct job *j)
{
	CHECK(j->phase == JOB_QUEUED || j->phase == JOB_PROCESS);
	if (!j->started_us)
		j->started_us = atomic_load(&j->begun_us);
	if (j->phase == JOB_PROCESS || j->stage == STAGE_FINISH || j->is_waited ||
	    j->answer != RUNNER_PROCESS)
		loader_job_ended(l, j);
	else
		loader_start_process(l, j);
}

void loader_take_done(struct loader *l)
{
	struct job *next;

	for (struct job *j = pool_take_done(l->pool); j; j = next) {
		next = j->next;
		job_back(l, j);
	}
}
