/* Leases of jobs: renewed by acknowledged beats, and what happens when one runs out.
 *
 * A beat renews the tokens that it named; a job that was granted after it is not among them. The
 * jobkeeper fences processes, by the deadline it is told here. A job in this process can only be
 * asked to stop when its lease is over; if it still runs kill_ms later, this process ends, which
 * is the one way to be sure. The timer is lazy: it runs at the earliest lease it knew, and looks
 * again.
 */
#include <unistd.h>

#include "broker/link/link.h"
#include "broker/loader/loader.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/log.h"

#define EXIT_FENCED 75 /* sysexits: try again later */
#define TICK_S      1.0

static bool is_fencable(const struct job *j)
{
	return j->phase == JOB_QUEUED && !j->is_process && !j->keep_on_server_lost;
}

/* Ask those whose lease is over to stop. Returns the earliest lease of the others, and in
 * *ret_fenced how many were asked now or before. */
static int64_t look_for_fenced(struct loader *l, uint32_t *ret_fenced)
{
	int64_t now = clock_now_us(), next = INT64_MAX;

	*ret_fenced = 0;
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		struct job *j = l->jobs[i];

		if (!is_fencable(j))
			continue;
		if (j->lease_us > now) {
			if (j->lease_us < next)
				next = j->lease_us;
			continue;
		}
		++*ret_fenced;
		if (!atomic_exchange(&j->was_fenced, true)) {
			log_warn("loader.fence", "token=%llx", (unsigned long long)j->pub.token);
			loader_cancel(l, j);
		}
	}
	return next;
}

static void set_timer(struct loader *l, int64_t at_us)
{
	int64_t left_us = at_us - clock_now_us();

	ev_timer_stop(l->loop, &l->fence_timer);
	ev_timer_set(&l->fence_timer, left_us > 0 ? (double)left_us / US_PER_S + 0.0005 : 0.0, 0.0);
	ev_timer_start(l->loop, &l->fence_timer);
}

static void end_if_stuck(struct loader *l)
{
	int64_t before_us = clock_now_us() - (int64_t)link_kill_ms(l->link) * US_PER_MS;

	for (uint32_t i = 0; i < l->n_jobs; i++) {
		struct job *j = l->jobs[i];

		if (is_fencable(j) && atomic_load(&j->was_fenced) && j->lease_us <= before_us) {
			log_error("loader.fenced", "token=%llx does not stop: the process ends",
			          (unsigned long long)j->pub.token);
			loader_say(l, "stuck the runner did not stop %.200s when it was told to",
			           j->pub.task_name);
			_exit(EXIT_FENCED);
		}
	}
}

static void on_fence_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct loader *l = w->data;
	uint32_t fenced;

	(void)loop;
	(void)events;
	end_if_stuck(l);
	int64_t next_us = look_for_fenced(l, &fenced);
	int64_t again_us = clock_now_us() + (int64_t)link_kill_ms(l->link) * US_PER_MS / 8;

	if (fenced && again_us < next_us)
		next_us = again_us;
	if (next_us != INT64_MAX)
		set_timer(l, next_us);
}

/* Lazy: a timer that runs is early enough for jobs that came later, and finds out by itself
 * how far the leases have moved on. */
void loader_fence_arm(struct loader *l)
{
	if (l->in_process && !ev_is_active(&l->fence_timer))
		set_timer(l, link_lease_us(l->link));
}

static void drop_unknown(struct loader *l, const uint64_t *unknown, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct job *j = loader_job_find(l, unknown[i]);

		if (!j || j->phase == JOB_ACKED)
			continue;
		log_warn("loader.unknown_token", "token=%llx", (unsigned long long)unknown[i]);
		j->has_no_lease = true; /* whatever is acknowledged from here on */
		if (j->lease_us > clock_now_us())
			j->lease_us = clock_now_us();
		if (is_fencable(j)) /* or the timer would wait for the lease it had */
			set_timer(l, clock_now_us());
		if (j->phase == JOB_ENDED) {
			loader_drop_end(l, j);
		} else {
			j->kill_seen = true;
			loader_kill(l, j, (uint64_t)link_kill_ms(l->link) * US_PER_MS, 0);
		}
	}
}

void loader_on_lease(void *ctx, uint32_t seq, int64_t deadline_us, const uint64_t *unknown,
                     size_t n)
{
	struct loader *l = ctx;
	size_t listed = 0;

	drop_unknown(l, unknown, n);
	if (l->is_closed && seq && seq >= l->closed_seq)
		l->is_settled = true;
	loader_held(l, &listed); /* room for as many tokens */
	listed = 0;
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		struct job *j = l->jobs[i];

		if (seq == 0)
			j->entered_seq = 0;
		if (!loader_is_named(l, j) || j->has_no_lease ||
		    (j->entered_seq >= seq && seq != 0))
			continue;
		if (j->lease_us < deadline_us)
			j->lease_us = deadline_us;
		CHECK(listed < l->held_cap);
		if (j->in_keeper)
			l->held[listed++] = j->pub.token;
	}
	loader_renew_processes(l, l->held, listed, deadline_us);
}

/* --- once a second, while there are jobs ------------------------------------------ */

static void look_at(struct loader *l, struct job *j, int64_t now)
{
	if (j->phase != JOB_QUEUED)
		return;
	CHECK(!j->is_process || j->is_waited); /* else it were in JOB_PROCESS */
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
	int64_t now = clock_now_us();

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
