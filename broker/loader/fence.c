#include <unistd.h>

#include "broker/link/link.h"
#include "broker/loader/loader.h"
#include "util/clock.h"
#include "util/log.h"

#define EXIT_FENCED 75 /* sysexits: try again later */
#define TICK_S      1.0

/* A process is fenced by the jobkeeper. A job in this process can only be asked to stop;
 * if it does not, the process ends, which is the one way to be sure. */

static int64_t now_us(void)
{
	return clock_mono_us(&clock_machine);
}

static bool is_fencable(const struct job *j)
{
	return j->phase == JOB_QUEUED && !j->is_process && !j->keep_on_server_lost;
}

static uint32_t cancel_all(struct loader *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n_jobs; i++) {
		struct job *j = l->jobs[i];

		if (!is_fencable(j))
			continue;
		j->was_fenced = true;
		loader_cancel(l, j);
		n++;
	}
	return n;
}

static void set_timer(struct loader *l, int64_t at_us)
{
	int64_t left_us = at_us - now_us();

	ev_timer_stop(l->loop, &l->fence_timer);
	ev_timer_set(&l->fence_timer, left_us > 0 ? (double)left_us / US_PER_S + 0.001 : 0.0, 0.0);
	ev_timer_start(l->loop, &l->fence_timer);
}

static bool is_any_left(struct loader *l)
{
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		if (is_fencable(l->jobs[i]) && l->jobs[i]->was_fenced)
			return true;
	}
	return false;
}

static void on_fence_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct loader *l = w->data;
	int64_t kill_us = (int64_t)link_kill_ms(l->link) * US_PER_MS;

	(void)loop;
	(void)events;
	if (l->is_fenced) {
		l->is_fenced = false;
		if (is_any_left(l)) {
			log_error("loader.fenced", "jobs did not stop: this process ends");
			_exit(EXIT_FENCED);
		}
	} else if (now_us() >= link_lease_us(l->link)) {
		uint32_t n = cancel_all(l);

		if (n) {
			log_warn("loader.fence", "jobs=%u", n);
			l->is_fenced = true;
			set_timer(l, link_lease_us(l->link) + kill_us);
			return;
		}
	}
	loader_fence_arm(l);
}

/* Lazy: the timer finds out by itself that the lease has moved on. */
void loader_fence_arm(struct loader *l)
{
	if (l->in_process && !l->is_fenced && !ev_is_active(&l->fence_timer)) {
		int64_t at_us = link_lease_us(l->link);

		/* Past already and nothing to fence: look again with the next grant. */
		if (at_us > now_us())
			set_timer(l, at_us);
	}
}

void loader_on_lease(void *ctx, int64_t deadline_us, const uint64_t *unknown, size_t n)
{
	struct loader *l = ctx;

	for (size_t i = 0; i < n; i++) {
		struct job *j = loader_job_find(l, unknown[i]);

		if (!j || j->phase == JOB_ACKED)
			continue;
		log_warn("loader.unknown_token", "token=%llx", (unsigned long long)unknown[i]);
		if (j->phase == JOB_ENDED) {
			loader_drop_end(l, j);
		} else {
			j->kill_seen = true;
			loader_kill(l, j, (uint64_t)link_kill_ms(l->link) * US_PER_MS, 0);
		}
	}
	loader_renew_processes(l, deadline_us);
	loader_fence_arm(l);
}

/* --- once a second, while there are jobs ------------------------------------------ */

static void look_at(struct loader *l, struct job *j, int64_t now)
{
	if (j->phase != JOB_QUEUED)
		return;
	if (!j->has_started && atomic_load(&j->begun_us)) {
		j->has_started = true;
		j->started_us = atomic_load(&j->begun_us);
		loader_report(l, j, DUE_STARTED);
	}
	if (j->grace_end_us && now > j->grace_end_us && !j->is_hanged && !j->is_waited) {
		j->is_hanged = true;
		loader_report(l, j, DUE_HANGED);
	}
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int events)
{
	struct loader *l = w->data;
	int64_t now = now_us();

	(void)events;
	if (!l->active) {
		ev_timer_stop(loop, w);
		return;
	}
	for (uint32_t i = 0; i < l->n_jobs; i++)
		look_at(l, l->jobs[i], now);
	loader_send_progress(l);
}

void loader_tick_arm(struct loader *l)
{
	if (l->active && !ev_is_active(&l->tick_timer))
		ev_timer_again(l->loop, &l->tick_timer);
}

void loader_fence_init(struct loader *l)
{
	ev_init(&l->fence_timer, on_fence_timer);
	ev_init(&l->tick_timer, on_tick);
	l->tick_timer.repeat = TICK_S;
	l->fence_timer.data = l->tick_timer.data = l;
}
