/* A session's stages, and what the loop calls: its socket is ready, its queue wants to be looked
 * at, its clock rings. Each call runs between session_enter() and session_leave(), so that a
 * handler may end or drop the session.
 *
 * CONNECT waits for the socket, SHAKE for TLS, OPEN reads frames and writes the queue, ENDING
 * writes the rest, says goodbye and waits for the peer's end, OVER does nothing more. Each stage
 * has an end in time; that of OPEN is for silence, after a ping at half of it. */
#include "wire/session_private.h"

#include <sirdar.pb-c.h>

#include "util/check.h"
#include "util/clock.h"

/* --- writing ---------------------------------------------------------------------- */

/* The peer may have said why it went, and that may still be unread. */
static void write_failed(struct session *s, const struct err *err)
{
	CHECK(err->code < 0);
	session_read(s);
	if (s->state == SESSION_OPEN) {
		s->err = *err;
		session_fail(s, err->code);
	}
	s->state = SESSION_OVER;
}

/* Writes what the socket takes. True when nothing is left. */
static bool queue_flush(struct session *s)
{
	for (int i = 0; i < CHUNKS_A_ROUND && s->out.len > 0; i++) {
		struct err err;
		ssize_t n = channel_write(s->channel, buf_at(&s->out), s->out.len, &err);
		if (n == E_AGAIN) {
			s->is_stuck = true;
			return false;
		}
		if (n < 0) {
			write_failed(s, &err);
			return false;
		}
		CHECK((size_t)n <= s->out.len);
		buf_drop(&s->out, (size_t)n);
	}
	if (s->out.len > 0) {
		s->is_stuck = true;
		session_touch(s);
		return false;
	}
	if (s->out.cap > RETAIN_BYTES)
		buf_done(&s->out);
	return true;
}

/* --- the stages ------------------------------------------------------------------- */

static void step_connect(struct session *s, int events);
static void step_shake(struct session *s, int events);
static void step_open(struct session *s, int events);
static void step_ending(struct session *s, int events);
static void step_over(struct session *s, int events);

static void (*const steps[])(struct session *s, int events) = {
	[SESSION_CONNECT] = step_connect, [SESSION_SHAKE] = step_shake, [SESSION_OPEN] = step_open,
	[SESSION_ENDING] = step_ending,   [SESSION_OVER] = step_over,
};

static void step_connect(struct session *s, int events)
{
	CHECK(s->state == SESSION_CONNECT);
	if (!(events & EV_WRITE))
		return;
	int r = channel_connected(s->channel, &s->err);
	if (r < 0) {
		session_fail(s, r);
		return;
	}
	s->state = SESSION_SHAKE;
	step_shake(s, events);
}

static void step_shake(struct session *s, int events)
{
	int r = channel_shake(s->channel, &s->err);

	CHECK(s->state == SESSION_SHAKE);
	(void)events;
	if (r == E_AGAIN) {
		session_watch(s, channel_wants_write(s->channel) ? EV_WRITE : EV_READ);
		return;
	}
	if (r < 0) {
		session_fail(s, r);
		return;
	}
	s->state = SESSION_OPEN;
	s->is_stranger = s->is_server && channel_is_stranger(s->channel);
	s->heard_us = clock_now_us();
	s->due_us = s->is_greeted || !s->limits.handshake_ms
	                    ? 0
	                    : s->heard_us + s->limits.handshake_ms * US_PER_MS;
	session_clock_set(s);
	session_watch(s, EV_READ);
	session_touch(s); /* for what was queued before */
	s->ops->on_open(s->ctx, s, channel_identity(s->channel));
	if (s->state == SESSION_OPEN)
		session_read(s);
}

static void step_open(struct session *s, int events)
{
	CHECK(s->state == SESSION_OPEN);
	if (events & (EV_READ | EV_WRITE))
		session_read(s);
	/* What on_frame has queued goes out later, with what others queue in this round. */
	if (s->state == SESSION_OPEN && events != EV_READ && queue_flush(s) && s->is_stuck) {
		s->is_stuck = false;
		if (s->ops->on_drain)
			s->ops->on_drain(s->ctx, s);
	}
	if (s->state == SESSION_OPEN)
		session_watch(s, s->is_stuck || channel_wants_write(s->channel) ? EV_READ | EV_WRITE
		                                                                : EV_READ);
}

/* A close with unread bytes would make the kernel throw away what the peer has not read
 * yet, so the end is: write, say goodbye, wait for the peer's end (LINGER_MS at most). */
static void step_ending(struct session *s, int events)
{
	CHECK(s->state == SESSION_ENDING);
	(void)events;
	if (!s->is_bye_said && queue_flush(s) && channel_bye(s->channel) == 0)
		s->is_bye_said = true;
	if (s->state != SESSION_ENDING)
		return;
	session_watch(s, s->is_bye_said ? EV_READ : EV_READ | EV_WRITE);
	session_read(s);
}

static void step_over(struct session *s, int events)
{
	(void)s;
	(void)events;
}

static void session_step_step(struct session *s, int events)
{
	CHECK((size_t)s->state < sizeof steps / sizeof steps[0]);
	session_enter(s);
	steps[s->state](s, events);
	session_leave(s);
}

void session_ready(struct ev_loop *loop, struct ev_io *w, int events)
{
	(void)loop;
	session_step_step(w->data, events);
}

void session_soon(struct ev_loop *loop, struct ev_prepare *w, int events)
{
	(void)loop;
	session_step_step(w->data, events);
}

/* --- time ------------------------------------------------------------------------- */

static void stage_overdue(struct session *s)
{
	static const char *const stages[] = {
		[SESSION_CONNECT] = "no connection",
		[SESSION_SHAKE] = "no end of the handshake",
		[SESSION_OPEN] = "no first frame",
	};

	if (s->state == SESSION_ENDING) {
		s->state = SESSION_OVER;
		return;
	}
	CHECK(s->state <= SESSION_OPEN);
	session_fail(s, err_set(&s->err, E_TIMEOUT, "%s within %u ms", stages[s->state],
	                        s->limits.handshake_ms));
}

static void ping_send(struct session *s)
{
	Sirdar__Ping ping = SIRDAR__PING__INIT;

	s->is_pinged = true;
	if (s->is_greeted)
		session_send(s, FR_PING, &ping, NULL);
}

/* Bytes that waited while this process stood still count as heard. What is readable was read before
 * (the clock's priority is the lowest), but for a round without it: a signal, SIGCONT too, ends the
 * wait for readable sockets with none. */
static void hear(struct session *s)
{
	if (s->state == SESSION_SHAKE)
		step_shake(s, 0);
	else if (s->state == SESSION_OPEN)
		session_read(s);
}

void session_clock(struct ev_loop *loop, struct ev_timer *w, int events)
{
	struct session *s = w->data;
	int64_t now = clock_now_us(), idle_us = s->limits.idle_ms * US_PER_MS;

	(void)loop;
	(void)events;
	session_enter(s);
	hear(s);
	if (s->state == SESSION_OVER) {
		session_leave(s);
		return;
	}
	if (s->due_us && now >= s->due_us)
		stage_overdue(s);
	else if (s->state == SESSION_OPEN && idle_us && now - s->heard_us >= idle_us)
		session_fail(s, err_set(&s->err, E_TIMEOUT, "nothing heard for %lld ms",
		                        (long long)((now - s->heard_us) / US_PER_MS)));
	else if (s->state == SESSION_OPEN && idle_us && now - s->heard_us >= idle_us / 2)
		ping_send(s);
	if (s->state != SESSION_OVER)
		session_clock_set(s);
	session_leave(s);
}
