#include <sirdar.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "broker/link/link.h"
#include "broker/loader/loader.h"
#include "broker/loader/pool.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/log.h"

/* Ends the server has not acknowledged: beyond this many no more work is asked for. */
#define UNACKED_MAX 65536

/* --- the table of jobs ------------------------------------------------------------ */

struct job *loader_job_new(struct loader *l)
{
	struct job *j;

	if (l->n_free)
		return l->jobs[l->free_jobs[--l->n_free]];
	size_t cap = l->cap_jobs;
	l->jobs = mem_room(l->jobs, &cap, l->n_jobs + 1, sizeof(struct job *));
	l->free_jobs = mem_room(l->free_jobs, &l->cap_jobs, l->n_jobs + 1, sizeof *l->free_jobs);
	j = mem_new(sizeof *j);
	j->loader = l;
	j->index = l->n_jobs;
	l->jobs[l->n_jobs++] = j;
	return j;
}

struct job *loader_job_find(struct loader *l, uint64_t token)
{
	uint32_t index = map_get(&l->by_token, token);

	return index == MAP_NONE ? NULL : l->jobs[index];
}

void loader_job_enter(struct loader *l, struct job *j)
{
	map_add(&l->by_token, j->pub.token, j->index);
	j->has_slot = true;
	if (l->link) { /* else an earlier loader's: HELLO will list it */
		j->entered_seq = link_beat_seq(l->link);
		j->lease_us = link_lease_us(l->link);
	}
	l->active++;
	if (!j->is_process)
		l->in_process++;
}

void loader_job_leave(struct loader *l, struct job *j)
{
	map_remove(&l->by_token, j->pub.token, j->index);
	loader_report_forget(l, j);
	loader_ship_forget(l, j);
	start_free(j->start);
	job_clear(j);
	l->free_jobs[l->n_free++] = j->index;
}

const uint64_t *loader_held(struct loader *l, size_t *ret_n)
{
	size_t n = 0;

	l->held = mem_room(l->held, &l->held_cap, l->n_jobs, sizeof *l->held);
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		if (loader_is_named(l, l->jobs[i]))
			l->held[n++] = l->jobs[i]->pub.token;
	}
	*ret_n = n;
	return l->held;
}

/* --- work in ---------------------------------------------------------------------- */

static uint32_t capacity(const struct loader *l)
{
	return l->slots + (uint32_t)l->settings->pull_ahead;
}

/* The answer to the beat that follows it comes after the last grant. */
static void send_closed(struct loader *l)
{
	Sirdar__Credit m = SIRDAR__CREDIT__INIT;

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
	j->report_kind = REPORT_REJECTED;
	j->reason = reason;
	result_set_text(&j->result, why);
	loader_job_ended(l, j);
}

/* The token is held already: its present state is told again, nothing is started. */
static void granted_again(struct loader *l, struct job *j)
{
	if (j->phase == JOB_ENDED)
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
	j->phase = JOB_QUEUED;
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
	if (batch.n)
		pool_push(l->pool, batch.head, batch.tail, batch.n);
	loader_fence_arm(l);
	loader_tick_arm(l);
	return 0;
}

/* --- kills ------------------------------------------------------------------------ */

void loader_cancel(struct loader *l, struct job *j)
{
	const struct runner_plugin *p = l->plugin;

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
	j->report_kind = REPORT_ENDED;
	j->reason = REASON_SIGNAL;
	j->result.exit_code = -15;
	result_set_text(&j->result, "killed before it began");
	loader_job_ended(l, j);
}

void loader_kill(struct loader *l, struct job *j, uint64_t grace_us, uint32_t intent)
{
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
