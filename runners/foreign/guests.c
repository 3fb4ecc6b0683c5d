/* guests.c — the life of the processes: started when jobs wait and none has room, kept, asked
 * whether they live, ended by force when they do not, followed by another after a pause.
 */
#include "foreign.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 30000
#define LEAVE_US     (2 * US_PER_S)   /* from bye to force */
#define GONE_US      (20 * US_PER_MS) /* between looks whether all of one is gone */
#define POLLED       (PIPES + 2)      /* descriptors of one guest */
#define WATCH_MS     60000
#define FOREVER      INT64_MAX

/* --- ends ------------------------------------------------------------------------------ */

static void guests_describe(const struct guest *g, int status, char *ret, size_t cap)
{
	char how[80];

	if (WIFSIGNALED(status))
		snprintf(how, sizeof how, "signal %d (SIG%s)", WTERMSIG(status),
		         sigabbrev_np(WTERMSIG(status)));
	else
		snprintf(how, sizeof how, "exit %d", WEXITSTATUS(status));
	if (g->is_over_memory && g->about->memory_bytes)
		snprintf(ret, cap, "its process %d was ended: over its memory of %llu bytes",
		         g->number, (unsigned long long)g->about->memory_bytes);
	else if (g->is_over_memory)
		snprintf(ret, cap, "its process %d was ended: over the memory a job may take",
		         g->number);
	else if (g->why[0])
		snprintf(ret, cap, "its process %d was ended: %s", g->number, g->why);
	else
		snprintf(ret, cap, "its process %d ended by itself: %s%s%.80s%s", g->number, how,
		         g->said[0] ? ", last words: " : "", g->said,
		         g->state == GUEST_STARTING ? " (before its hello)" : "");
}

static void fail_call(struct call *c, const char *why)
{
	if (c->force_us) { /* it was told to stop, and this is how it did */
		c->result->exit_code = -SIGKILL;
		snprintf(c->result->text, sizeof c->result->text,
		         "ended by force: it did not stop when told to");
	} else {
		c->result->verdict = RUNNER_INFRA;
		snprintf(c->result->text, sizeof c->result->text, "%s", why);
	}
	call_over(c);
}

static void hold_off(struct foreign *f)
{
	f->pause_ms = f->pause_ms ? f->pause_ms * 2 : PAUSE_MIN_MS;
	if (f->pause_ms > PAUSE_MAX_MS)
		f->pause_ms = PAUSE_MAX_MS;
	f->next_start_us = now_us() + f->pause_ms * US_PER_MS;
}

static void guest_free(struct guest *g)
{
	for (int i = 0; i < PIPES; i++) {
		if (g->from[i] >= 0)
			close(g->from[i]);
	}
	if (g->to >= 0)
		close(g->to);
	if (g->pid_fd >= 0)
		close(g->pid_fd);
	text_done(&g->heard);
	text_done(&g->queue);
	free(g);
}

/* Its jobs end only now: nothing of them runs any more. */
static void bury(struct foreign *f, struct guest *g)
{
	struct guest **at = &f->guests;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	if (!g->was_leaving) {
		guests_describe(g, g->status, f->why, sizeof f->why);
		dprintf(STDERR_FILENO, "foreign type=%s %s\n", f->about->type, f->why);
		hold_off(f);
	}
	while (g->calls)
		fail_call(g->calls, f->why);
	f->has_met = 1;
	pthread_cond_broadcast(&f->first);
	guest_free(g);
}

/* Once nothing is left of what it started. */
static void bury_if_gone(struct foreign *f, struct guest *g)
{
	if (!guest_is_held(g) || g->about->is_gone(g->about->ctx, &g->held))
		bury(f, g);
	else
		guest_force(g);
}

static void reap(struct foreign *f, struct guest *g)
{
	g->was_leaving = g->state == GUEST_LEAVING;
	g->is_over_memory = guest_is_held(g) && g->about->was_over_memory(g->about->ctx, &g->held);
	for (int i = PIPE_SAYS; i < PIPES; i++) {
		if (g->from[i] >= 0)
			guest_hear(f, g, i);
	}
	guest_force(g); /* what it started, while the number is still its own */
	waitpid(g->pid, &g->status, 0);
	g->pid = g->held.pid = 0;
	close(g->pid_fd);
	g->pid_fd = -1;
	g->state = GUEST_ENDING;
	bury_if_gone(f, g);
}

/* --- starts ---------------------------------------------------------------------------- */

static void guests_start(struct foreign *f)
{
	char why[FOREIGN_WHY_BYTES];
	struct guest *g = calloc(1, sizeof *g);

	if (!g)
		return;
	g->about = f->about;
	g->pid_fd = g->to = -1;
	memset(g->from, -1, sizeof g->from);
	if (guest_launch(f->about, g, why) < 0) {
		snprintf(f->why, sizeof f->why, "%s", why);
		f->has_met = 1;
		pthread_cond_broadcast(&f->first);
		hold_off(f);
		guest_free(g);
		return;
	}
	g->number = g->pid;
	g->started_us = g->heard_us = now_us();
	g->next = f->guests;
	f->guests = g;

	struct text hello = { 0 };

	text_word(&hello, "{\"op\":\"hello\"");
	text_number(&hello, "protocol", FOREIGN_PROTOCOL);
	text_field(&hello, "type", f->about->type);
	text_word(&hello, "}\n");
	guest_tell(g, hello.at, hello.len);
	text_done(&hello);
}

/* --- what is due ----------------------------------------------------------------------- */

static void guests_earlier(int64_t *next, int64_t at)
{
	if (at < *next)
		*next = at;
}

static void ping(struct guest *g, int64_t now)
{
	char line[64];

	snprintf(line, sizeof line, "{\"op\":\"ping\",\"n\":%lld}\n", (long long)now);
	g->pinged_us = now;
	guest_tell(g, line, strlen(line));
}

static void look_at_silence(struct foreign *f, struct guest *g, int64_t now, int64_t *next)
{
	int64_t hang_us = f->about->hang_ms * US_PER_MS;

	if (!g->n_calls || !g->beats)
		return;
	if (now - g->heard_us >= hang_us) {
		guest_end(g, "it hangs: no word for %u ms while %u of its jobs ran",
		          f->about->hang_ms, g->n_calls);
		return;
	}
	if (now - g->pinged_us >= hang_us / 4)
		ping(g, now);
	guests_earlier(next, g->pinged_us + hang_us / 4);
	guests_earlier(next, g->heard_us + hang_us);
}

static void look_at_kills(struct guest *g, int64_t now, int64_t *next)
{
	for (struct call *c = g->calls; c; c = c->next) {
		if (!c->force_us)
			continue;
		if (now >= c->force_us) {
			guest_end(g, "a job in it did not stop when told to");
			return;
		}
		guests_earlier(next, c->force_us);
	}
}

static void look_at_guest(struct foreign *f, struct guest *g, int64_t now, int64_t *next)
{
	if (!g->pid) {
		guests_earlier(next, now + GONE_US);
		bury_if_gone(f, g);
		return;
	}
	if (g->silent_us && g->state != GUEST_ENDING) {
		if (now - g->silent_us >= LEAVE_US)
			guest_end(g, "it closed descriptor 4 and stayed");
		guests_earlier(next, g->silent_us + LEAVE_US);
	}
	if (g->state == GUEST_STARTING) {
		int64_t until = g->started_us + f->about->start_ms * US_PER_MS;

		if (now >= until)
			guest_end(g, "no hello within %u ms", f->about->start_ms);
		guests_earlier(next, until);
	} else if (g->state == GUEST_READY) {
		look_at_silence(f, g, now, next);
		if (g->state == GUEST_READY)
			look_at_kills(g, now, next);
	} else if (g->state == GUEST_LEAVING) {
		if (now - g->heard_us >= LEAVE_US)
			guest_end(g, "it did not leave when told to");
		guests_earlier(next, g->heard_us + LEAVE_US);
	}
}

/* Jobs that no process takes within the time a start may need are given back. */
static void look_at_waiting(struct foreign *f, int64_t now, int64_t *next)
{
	struct call *c, *following;

	for (c = f->waiting; c; c = following) {
		int64_t until = c->since_us + f->about->start_ms * US_PER_MS;

		following = c->next;
		/* While one runs it is only busy; when none does, none can be had. */
		if (f->guests || now < until) {
			if (!f->guests)
				guests_earlier(next, until);
			continue;
		}
		call_withdraw(f, c);
		fail_call(c, f->why);
	}
	if (!f->waiting || !guests_lack(f) || f->is_closing)
		return;
	if (now >= f->next_start_us)
		guests_start(f);
	if (f->waiting && guests_lack(f))
		guests_earlier(next, f->next_start_us > now ? f->next_start_us : now + US_PER_MS);
}

static void guests_leave(struct foreign *f)
{
	for (struct guest *g = f->guests; g; g = g->next) {
		if (g->state == GUEST_LEAVING || g->state == GUEST_ENDING)
			continue;
		guest_tell(g, "{\"op\":\"bye\"}\n", 13);
		close(g->to); /* as clear to those who do not listen for it */
		g->to = -1;
		g->state = GUEST_LEAVING;
		g->heard_us = now_us();
	}
}

static int64_t guests_look(struct foreign *f)
{
	int64_t now = now_us(), next = FOREVER;

	if (f->is_closing)
		guests_leave(f);
	for (struct guest *g = f->guests, *after; g; g = after) {
		after = g->next;
		look_at_guest(f, g, now, &next);
	}
	look_at_waiting(f, now, &next);
	return next == FOREVER ? -1 : next > now ? (next - now) / 1000 + 1 : 0;
}

/* --- the thread ------------------------------------------------------------------------ */

struct polls {
	struct pollfd *at; /* [0] wakes; then POLLED of each guest */
	size_t n, cap;
};

static int polls_fill(struct foreign *f, struct polls *p)
{
	size_t n = 1;

	for (struct guest *g = f->guests; g; g = g->next)
		n += POLLED;
	if (n > p->cap) {
		struct pollfd *more = realloc(p->at, n * sizeof *more);

		if (!more)
			return -1;
		p->at = more;
		p->cap = n;
	}
	p->n = 1;
	p->at[0] = (struct pollfd){ .fd = f->wake_fd, .events = POLLIN };
	for (struct guest *g = f->guests; g; g = g->next) {
		for (int i = 0; i < PIPES; i++)
			p->at[p->n++] = (struct pollfd){ .fd = g->from[i], .events = POLLIN };
		p->at[p->n++] = (struct pollfd){ .fd = g->queue.len ? g->to : -1,
			                         .events = POLLOUT };
		p->at[p->n++] = (struct pollfd){ .fd = g->pid_fd, .events = POLLIN };
	}
	return 0;
}

static void hear_guest(struct foreign *f, struct guest *g, const struct pollfd *ready)
{
	/* What it says comes first only after what it printed, see on_done(). */
	for (int i = PIPES - 1; i >= 0; i--) {
		if (ready[i].revents && !guest_hear(f, g, i)) {
			close(g->from[i]);
			g->from[i] = -1;
			if (i == PIPE_SAYS)
				g->silent_us = now_us();
		}
	}
	if (ready[PIPES].revents)
		guest_flush(g);
	if (ready[PIPES + 1].revents)
		reap(f, g);
}

/* Guests are only added in front by guests_start(), and only here taken away. */
static void hear_all(struct foreign *f, const struct polls *p)
{
	struct guest *g = f->guests, *next;
	uint64_t count;

	if (!p->at || !p->n)
		return;
	if (p->at[0].revents && read(f->wake_fd, &count, sizeof count) < 0 && errno != EAGAIN)
		return;
	for (size_t i = 1; g && i < p->n; i += POLLED, g = next) {
		next = g->next;
		hear_guest(f, g, p->at + i);
	}
}

void *guests_watch(void *foreign)
{
	struct foreign *f = foreign;
	struct polls polls = { 0 };

	pthread_mutex_lock(&f->mu);
	if (!f->is_closing)
		guests_start(f); /* what it costs is paid before the first job */
	while (!f->is_closing || f->guests) {
		int64_t ms = guests_look(f);

		if (ms < 0 || ms > WATCH_MS)
			ms = WATCH_MS;
		f->look_us = now_us() + ms * US_PER_MS;
		if (polls_fill(f, &polls) < 0)
			polls.n = 0;
		pthread_mutex_unlock(&f->mu);
		int n = poll(polls.at, polls.n, (int)ms);

		pthread_mutex_lock(&f->mu);
		if (n > 0)
			hear_all(f, &polls);
	}
	pthread_mutex_unlock(&f->mu);
	free(polls.at);
	return NULL;
}
