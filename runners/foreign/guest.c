/* guest.c — one process and its jobs: what is written to it, which waiting job it gets, and how it
 * is ended. A job is in one list, of those that wait or of its guest. Nothing here waits: what the
 * pipe does not take stays queued, and the watch thread (guests.c) writes the rest. A guest that
 * is ended keeps its jobs until guests.c has buried it: only then nothing of them runs any more. */
#include "foreign.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * US_PER_S + t.tv_nsec / 1000;
}

/* --- telling ------------------------------------------------------------------------- */

void guest_flush(struct guest *g)
{
	size_t at = 0;

	while (at < g->queue.len && g->to >= 0) {
		ssize_t n = write(g->to, g->queue.at + at, g->queue.len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break; /* full: poll says when; gone: its end says all */
		at += (size_t)n;
	}
	text_drop(&g->queue, at);
}

void guest_tell(struct guest *g, const char *bytes, size_t len)
{
	text_put(&g->queue, bytes, len);
	guest_flush(g);
}

void guests_wake(struct foreign *f)
{
	const uint64_t one = 1;

	if (write(f->wake_fd, &one, sizeof one) < 0)
		return; /* it is awake already */
}

/* --- jobs ---------------------------------------------------------------------------- */

static void unlink_call(struct call **list, struct call *c)
{
	while (*list && *list != c)
		list = &(*list)->next;
	if (*list)
		*list = c->next;
}

void call_over(struct call *c)
{
	if (c->guest) {
		unlink_call(&c->guest->calls, c);
		if (--c->guest->n_calls == 0)
			c->guest->idle_us = now_us();
	}
	c->guest = NULL;
	c->is_over = 1;
	pthread_cond_signal(&c->over);
}

void call_withdraw(struct foreign *f, struct call *c)
{
	unlink_call(&f->waiting, c);
	f->waiting_tail = &f->waiting;
	while (*f->waiting_tail)
		f->waiting_tail = &(*f->waiting_tail)->next;
	c->next = NULL;
}

/* The fullest that has room: few are kept busy rather than all half. */
static struct guest *with_room(const struct foreign *f, const struct owner *o)
{
	struct guest *best = NULL;

	for (struct guest *g = f->guests; g; g = g->next) {
		if (g->owner == o && g->state == GUEST_READY && !g->silent_us &&
		    g->n_calls < g->concurrency && (!best || g->n_calls > best->n_calls))
			best = g;
	}
	return best;
}

static void guest_give(struct foreign *f, struct guest *g, struct call *c)
{
	if (!g->n_calls) { /* silence counts from here */
		g->heard_us = g->pinged_us = now_us();
		if (f->look_us > g->heard_us + f->about->hang_ms * US_PER_MS / 4)
			guests_wake(f);
	}
	c->guest = g;
	c->next = g->calls;
	g->calls = c;
	g->n_calls++;
	guest_tell(g, c->line.at, c->line.len);
	text_done(&c->line);
}

int guests_lack(const struct foreign *f, const struct owner *o)
{
	uint64_t coming = 0, waiting = 0;

	for (const struct guest *g = f->guests; g; g = g->next)
		coming += g->owner == o && g->state == GUEST_STARTING ? o->concurrency : 0;
	for (const struct call *c = f->waiting; c; c = c->next)
		waiting += c->owner == o;
	return waiting > coming;
}

static int any_lack(const struct foreign *f)
{
	for (const struct owner *o = f->owners; o; o = o->next)
		if (guests_lack(f, o))
			return 1;
	return 0;
}

void guests_place(struct foreign *f)
{
	int is_full = 0;

	for (struct call *c = f->waiting, *next; c; c = next) {
		struct guest *g = with_room(f, c->owner);

		next = c->next;
		if (!g)
			continue;
		call_withdraw(f, c);
		guest_give(f, g, c);
		is_full |= g->queue.len > 0;
	}
	if (is_full || (f->waiting && any_lack(f)))
		guests_wake(f);
}

/* --- the end ------------------------------------------------------------------------- */

int guest_is_held(const struct guest *g)
{
	return g->held.size != 0;
}

int is_separated(const struct runner_guest *about)
{
	return RUNNER_HAS(about, struct runner_guest, whose);
}

int guest_is_lent(const struct guest *g)
{
	return guest_is_held(g) && is_separated(g->about);
}

void guest_force(const struct guest *g)
{
	if (guest_is_held(g))
		g->about->force(g->about->ctx, &g->held);
	else
		kill(-g->pid, SIGKILL);
}

void guest_end(struct guest *g, const char *fmt, ...)
{
	va_list args;

	if (g->state == GUEST_ENDING)
		return;
	va_start(args, fmt);
	vsnprintf(g->why, sizeof g->why, fmt, args);
	va_end(args);
	g->state = GUEST_ENDING;
	guest_force(g);
}
