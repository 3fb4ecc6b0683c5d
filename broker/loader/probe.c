/* A try to connect to a target server, for a person who wants to know whether jobs could.
 *
 * The plugin's probe() runs on a thread of its own, with a job that is none: it has parameters,
 * but no token, no lease, no log, and it is in no table. One at a time. When its time is over it
 * is told to stop, and soon after that the session thread answers for it; until its thread is back
 * no other one begins. What it says shows no secret: the password is hidden in it as in a job's
 * words. */
#include <pthread.h>
#include <sirdar.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/link/link.h"
#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/log.h"

enum { OUTCOME_LATE = 7, OUTCOME_OTHER = 8, OUTCOME_BUSY = 23 }; /* schema/tbl/probe.def */

#define STUCK_S 2.0 /* for a plugin that was told to stop */

struct trying {
	struct loader *l;
	struct job *j;
	pthread_t thread;
	uint64_t id;
	int64_t began_us;
	int outcome;
	bool is_answered;
	_Atomic bool is_done;
};

static void send_probed(struct loader *l, uint64_t id, int outcome, const char *text,
                        int64_t took_us)
{
	Sirdar__Probed m = SIRDAR__PROBED__INIT;

	m.id = id;
	m.outcome = outcome < 0 ? OUTCOME_OTHER : (uint32_t)outcome;
	m.text = (char *)text;
	m.took_us = (uint64_t)took_us;
	if (l->link && link_is_up(l->link)) /* else nobody waits for it any more */
		link_send(l->link, FR_PROBED, &m, NULL);
}

static void trying_free(struct trying *t)
{
	struct job *j = t->j;

	pthread_cond_destroy(&j->cv);
	explicit_bzero(j->store, j->store_cap); /* the password was among its parameters */
	job_clear(j);
	free(j->store);
	free(j);
	free(t);
}

static void *probe_body(void *arg)
{
	struct trying *t = arg;
	const struct loader *l = t->l;

	t->outcome = l->plugin->probe(l->self, &t->j->pub, &t->j->result);
	atomic_store(&t->is_done, true);
	ev_async_send(l->loop, &t->l->bell);
	return NULL;
}

void loader_end_probe(struct loader *l)
{
	struct trying *t = l->trying;

	if (!t || !atomic_load(&t->is_done))
		return;
	pthread_join(t->thread, NULL);
	ev_timer_stop(l->loop, &l->probe_timer);
	job_said(t->j);
	result_set_text(&t->j->result, t->j->result.text);
	if (!t->is_answered)
		send_probed(l, t->id, t->outcome, t->j->result.text,
		            clock_steady_us() - t->began_us);
	l->trying = NULL;
	trying_free(t);
}

static void probe_again_in(struct loader *l, double seconds)
{
	ev_timer_stop(l->loop, &l->probe_timer);
	ev_timer_set(&l->probe_timer, seconds, 0.0);
	ev_timer_start(l->loop, &l->probe_timer);
}

/* Its host may never answer: it is told to stop. When even that does not help, who asked is
 * told. */
static void on_late(struct ev_loop *loop, ev_timer *w, int events)
{
	struct loader *l = w->data;
	struct trying *t = l->trying;

	(void)loop;
	(void)events;
	if (atomic_load(&t->j->is_cancelled)) {
		t->is_answered = true;
		send_probed(l, t->id, OUTCOME_LATE, "no answer in time",
		            clock_steady_us() - t->began_us);
		return;
	}
	atomic_store(&t->j->is_cancelled, true);
	pthread_mutex_lock(&l->mu);
	pthread_cond_broadcast(&t->j->cv);
	pthread_mutex_unlock(&l->mu);
	probe_again_in(l, STUCK_S);
}

void loader_probe_init(struct loader *l)
{
	ev_init(&l->probe_timer, on_late);
	l->probe_timer.data = l;
}

/* As a grant makes one, but nobody's. */
static struct job *job_of_probe(struct loader *l, const Sirdar__Probe *m)
{
	Sirdar__Job g = SIRDAR__JOB__INIT;
	struct job *j = mem_new(sizeof *j);

	g.params = m->params;
	g.n_params = m->n_params;
	g.task_name = (char *)"(a test of a target server)";
	g.alive_wait_us = (uint64_t)m->within_ms * US_PER_MS;
	j->loader = l;
	job_fill(j, &g);
	j->is_probe = true;
	j->result.size = sizeof j->result;
	pthread_cond_init(&j->cv, NULL);
	for (uint32_t i = 0; i < j->n_params; i++)
		if (strncmp(j->params[2 * i], "secret.", 7) == 0)
			job_hide(j, j->params[2 * i + 1]);
	return j;
}

int loader_take_probe(struct loader *l, const Sirdar__Probe *m)
{
	struct trying *t;

	if (l->trying || l->is_stopping || !l->about.probes) {
		send_probed(l, m->id, OUTCOME_BUSY,
		            l->trying ? "the broker tries another target server now"
		                      : "the broker takes no work now",
		            0);
		return 0;
	}
	t = mem_new(sizeof *t);
	t->l = l;
	t->id = m->id;
	t->j = job_of_probe(l, m);
	t->began_us = clock_steady_us();
	int r = pthread_create(&t->thread, NULL, probe_body, t);
	if (r != 0) {
		send_probed(l, m->id, OUTCOME_OTHER, "the broker has no thread for it", 0);
		trying_free(t);
		return 0;
	}
	l->trying = t;
	log_debug("loader.probe", "type=%s target=%s", l->type, job_param(t->j, "server"));
	probe_again_in(l, (double)m->within_ms / 1000.0);
	return 0;
}
