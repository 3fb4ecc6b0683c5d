/* The life of a session: it writes frames into a queue, fails, ends in order or is dropped.
 * Whoever is called back may end or drop it, so nothing is freed while one of its callbacks is on
 * the stack: `busy` counts them, and the last one frees.
 *
 * A queue over its limit refuses the frame and remembers it; on_drain tells when to go on. What
 * the stages do and how time is kept is in session_step.c, what is read in session_read.c. */
#include "wire/session_private.h"

#include <sirdar.pb-c.h>
#include <stdlib.h>

#include "util/check.h"
#include "util/clock.h"
#include "wire/arena.h"

/* --- life -------------------------------------------------------------------------
 * Whoever is called back may end or drop the session: nothing is freed while one of its
 * callbacks is on the stack. */

static void session_free(struct session *s)
{
	CHECK(s->busy <= 1 && s->state == SESSION_OVER);
	ev_io_stop(s->loop, &s->io);
	ev_timer_stop(s->loop, &s->clock);
	ev_clear_pending(s->loop, &s->soon);
	channel_free(s->channel);
	buf_done(&s->in);
	buf_done(&s->out);
	arena_free(s->arena);
	free(s);
}

void session_enter(struct session *s)
{
	s->busy++;
}

void session_leave(struct session *s)
{
	CHECK(s->busy > 0 && s->state <= SESSION_OVER);
	if (s->state == SESSION_OVER && s->busy == 1) {
		if (!s->is_dropped)
			s->ops->on_end(s->ctx, s, &s->err);
		session_free(s);
		return;
	}
	s->busy--;
}

void session_fail(struct session *s, int code)
{
	CHECK(code <= 0);
	s->err.code = code;
	s->state = SESSION_OVER;
}

void session_drop(struct session *s)
{
	if (!s)
		return;
	s->is_dropped = true;
	s->state = SESSION_OVER;
	if (s->busy == 0)
		session_free(s);
}

void session_end(struct session *s, int code, const char *why)
{
	if (s->state >= SESSION_ENDING)
		return;
	/* Before the peer is known there is nothing it could be told. */
	s->state = s->state == SESSION_OPEN ? SESSION_ENDING : SESSION_OVER;
	err_set(&s->err, code, "%s", why ? why : err_text(code));
	s->due_us = clock_now_us() + LINGER_MS * US_PER_MS;
	session_clock_set(s);
	session_touch(s);
}

/* --- time ------------------------------------------------------------------------- */

static int64_t min_us(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void session_clock_set(struct session *s)
{
	int64_t idle_us = s->limits.idle_ms * US_PER_MS;
	int64_t next = s->due_us ? s->due_us : INT64_MAX;

	if (idle_us && s->state == SESSION_OPEN)
		next = min_us(next, s->heard_us + (s->is_pinged ? idle_us : idle_us / 2));
	ev_timer_stop(s->loop, &s->clock);
	if (next == INT64_MAX)
		return;
	int64_t left = next - clock_now_us();
	ev_timer_set(&s->clock, left > 0 ? (double)left / US_PER_S : 0., 0.);
	ev_timer_start(s->loop, &s->clock);
}

/* --- writing ---------------------------------------------------------------------- */

void session_touch(struct session *s)
{
	if (!ev_is_pending(&s->soon))
		ev_feed_event(s->loop, &s->soon, EV_CUSTOM);
}

void session_watch(struct session *s, int events)
{
	CHECK((events & ~(EV_READ | EV_WRITE)) == 0);
	if (ev_is_active(&s->io) && (s->io.events & (EV_READ | EV_WRITE)) == events)
		return;
	ev_io_stop(s->loop, &s->io);
	ev_io_modify(&s->io, events);
	ev_io_start(s->loop, &s->io);
}

int session_send(struct session *s, enum frame_kind kind, const void *message, struct err *err)
{
	CHECK(s->is_server ? frame_from_server(kind) : frame_from_peer(kind));
	if (s->state >= SESSION_ENDING)
		return err_set(err, E_CLOSED, "frame %s: the session is over", frame_name(kind));
	size_t had = s->out.len;
	int r = frame_pack(&s->out, kind, message, err);
	if (r < 0)
		return r;
	if (had > 0 && s->out.len > s->limits.queue_bytes) {
		s->out.len = had;
		s->is_stuck = true;
		return err_set(err, E_BUSY, "frame %s: %zu bytes wait already, the most is %zu",
		               frame_name(kind), had, s->limits.queue_bytes);
	}
	if (s->state == SESSION_OPEN)
		session_touch(s);
	return 0;
}

size_t session_queued(const struct session *s)
{
	return s->out.len;
}
