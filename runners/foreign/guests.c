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

static void hold_off(struct owner *o)
{
	o->pause_ms = o->pause_ms ? o->pause_ms * 2 : PAUSE_MIN_MS;
	if (o->pause_ms > PAUSE_MAX_MS)
		o->pause_ms = PAUSE_MAX_MS;
	o->next_start_us = now_us() + o->pause_ms * US_PER_MS;
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
		guests_describe(g, g->status, g->owner->why, sizeof g->owner->why);
		dprintf(STDERR_FILENO, "foreign type=%s %s\n", f->about->type, g->owner->why);
		hold_off(g->owner);
	}
	while (g->calls)
		fail_call(g->calls, g->owner->why);
	f->has_met = 1;
	pthread_cond_broadcast(&f->first);
	guest_free(g);
}

/* Once nothing is left of what it started. */
static void bury_if_gone(struct foreign *f, struct guest *g)
{
	if (guest_is_lent(g)) {
		if (g->about->ended(g->about->ctx, &g->held, &g->status, &g->is_over_memory) == 0)
			bury(f, g);
		return;
	}
	if (!guest_is_held(g) || g->about->is_gone(g->about->ctx, &g->held))
		bury(f, g);
	else
		guest_force(g);
}

static void reap(struct foreign *f, struct guest *g)
{
	g->was_leaving = g->state == GUEST_LEAVING;
	if (guest_is_held(g) && !guest_is_lent(g))
		g->is_over_memory = g->about->was_over_memory(g->about->ctx, &g->held);
	for (int i = PIPE_SAYS; i < PIPES; i++) {
		if (g->from[i] >= 0)
			guest_hear(f, g, i);
	}
	guest_force(g); /* what it started, while the number is still its own */
	if (!guest_is_lent(g))
		waitpid(g->pid, &g->status, 0);
	g->pid = g->held.pid = 0;
	close(g->pid_fd);
	g->pid_fd = -1;
	g->state = GUEST_ENDING;
	bury_if_gone(f, g);
}

/* --- starts ---------------------------------------------------------------------------- */

/* Unlocked while it waits for who starts it: only this thread knows the guest yet. */
static void guests_start(struct foreign *f, struct owner *o)
{
	char why[FOREIGN_WHY_BYTES];
	struct guest *g = calloc(1, sizeof *g);

	if (!g)
		return;
	g->about = f->about;
	g->pid_fd = g->to = -1;
	memset(g->from, -1, sizeof g->from);
	g->owner = o;
	pthread_mutex_unlock(&f->mu);
	int r = guest_launch(f->about, g, why);

	pthread_mutex_lock(&f->mu);
	if (r < 0) {
		snprintf(o->why, sizeof o->why, "%s", why);
		f->has_met = 1;
		pthread_cond_broadcast(&f->first);
		hold_off(o);
		guest_free(g);
		return;
	}
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

static void guest_leave(struct guest *g)
{
	guest_tell(g, "{\"op\":\"bye\"}\n", 13);
	close(g->to); /* as clear to those who do not listen for it */
	g->to = -1;
	g->state = GUEST_LEAVING;
	g->heard_us = now_us();
}

/* Of those that serve everybody one stays: its start was paid before the first job. */
static int is_last(const struct foreign *f, const struct guest *g)
{
	for (const struct guest *other = f->guests; other; other = other->next)
		if (other != g && other->state == GUEST_READY)
			return 0;
	return !g->owner->whose;
}

static void look_at_idle(struct foreign *f, struct guest *g, int64_t now, int64_t *next)
{
	uint32_t idle_ms = RUNNER_HAS(f->about, struct runner_guest, idle_ms) ? f->about->idle_ms
	                                                                      : 0;
	int64_t until = g->idle_us + idle_ms * US_PER_MS;

	if (!idle_ms || g->n_calls || is_last(f, g))
		return;
	if (now >= until)
		guest_leave(g);
	guests_earlier(next, until);
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
		if (g->state == GUEST_READY)
			look_at_idle(f, g, now, next);
	} else if (g->state == GUEST_LEAVING) {
		if (now - g->heard_us >= LEAVE_US)
			guest_end(g, "it did not leave when told to");
		guests_earlier(next, g->heard_us + LEAVE_US);
	}
}

static int has_guest(const struct foreign *f, const struct owner *o)
{
	for (const struct guest *g = f->guests; g; g = g->next)
		if (g->owner == o)
			return 1;
	return 0;
}

/* As many as there may be? Then whoever has been idle for longest leaves, for one of `o`. */
static int is_crowded(struct foreign *f, const struct owner *o)
{
	uint32_t most = is_separated(f->about) ? f->about->processes_max : 0;
	struct guest *idlest = NULL;
	uint32_t n = 0;
	int is_leaving = 0;

	for (struct guest *g = f->guests; g; g = g->next) {
		n++;
		is_leaving |= g->state == GUEST_LEAVING || g->state == GUEST_ENDING;
		if (g->owner != o && g->state == GUEST_READY && !g->n_calls &&
		    (!idlest || g->idle_us < idlest->idle_us))
			idlest = g;
	}
	if (!most || n < most)
		return 0;
	if (idlest && !is_leaving)
		guest_leave(idlest);
	return 1;
}

static void tell_crowded(struct foreign *f, const struct owner *o)
{
	char text[120];
	int n = snprintf(text, sizeof text,
	                 "sirdar: it waits for a process of its project: guests_max, %u, "
	                 "are at work\n",
	                 f->about->processes_max);

	for (struct call *c = f->waiting; c; c = c->next) {
		if (c->owner == o && !c->is_told)
			f->host->log(c->job, RUNNER_STDERR, text, (uint64_t)n);
		c->is_told |= c->owner == o;
	}
}

/* Jobs that no process takes within the time a start may need are given back. */
static void look_at_late(struct foreign *f, int64_t now, int64_t *next)
{
	struct call *c, *following;

	for (c = f->waiting; c; c = following) {
		int64_t until = c->since_us + f->about->start_ms * US_PER_MS;

		following = c->next;
		/* While one runs it is only busy; when none does, none can be had. */
		if (has_guest(f, c->owner) || c->is_told)
			continue;
		if (now < until) {
			guests_earlier(next, until);
			continue;
		}
		call_withdraw(f, c);
		fail_call(c, c->owner->why[0] ? c->owner->why : "no process for it in time");
	}
}

static void look_at_owner(struct foreign *f, struct owner *o, int64_t now, int64_t *next)
{
	if (!guests_lack(f, o))
		return;
	if (is_crowded(f, o)) { /* whose end wakes us */
		tell_crowded(f, o);
		return;
	}
	if (now >= o->next_start_us)
		guests_start(f, o);
	if (guests_lack(f, o))
		guests_earlier(next, o->next_start_us > now ? o->next_start_us : now + US_PER_MS);
}

static void look_at_waiting(struct foreign *f, int64_t now, int64_t *next)
{
	look_at_late(f, now, next);
	for (struct owner *o = f->owners; o && f->waiting && !f->is_closing; o = o->next)
		look_at_owner(f, o, now, next);
}

static void guests_leave(struct foreign *f)
{
	for (struct guest *g = f->guests; g; g = g->next) {
		if (g->state == GUEST_LEAVING || g->state == GUEST_ENDING)
			continue;
		guest_leave(g);
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
	if (!f->is_closing && !is_separated(f->about))
		guests_start(f, &f->all); /* what it costs is paid before the first job */
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
