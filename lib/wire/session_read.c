/* What a session reads: whole frames are taken where they lie, the rest waits in a buffer that
 * begins with a frame's head. A frame is admitted by its head alone: kind, direction, and whether
 * the greeting came. The stream may end between two frames; inside one that is an error. After
 * CHUNKS_A_ROUND the other sessions of the loop get their turn. */
#include "wire/session_private.h"

#include <sirdar.pb-c.h>

#include "util/check.h"
#include "util/clock.h"
#include "wire/arena.h"

static bool is_greeting(const struct session *s, unsigned kind)
{
	return s->is_server ? kind == FR_HELLO || kind == FR_ENROL
	                    : kind == FR_WELCOME || kind == FR_ENROLLED;
}

/* May this frame come now, from this side? Asked as soon as its head is there. */
static int frame_admit(struct session *s, const struct frame_head *h)
{
	const char *why = NULL;

	CHECK(h->bytes <= frame_max(h->kind));
	if (s->is_stranger && h->kind != FR_DELEGATION) {
		channel_send_away(s->channel);
		return err_set(&s->err, E_AUTH, "nobody's public key");
	}
	if (s->is_server ? !frame_from_peer(h->kind) : !frame_from_server(h->kind))
		why = s->is_server ? "is not for a server" : "is not for a peer";
	else if (is_greeting(s, h->kind))
		why = s->is_greeting_seen ? "came a second time" : NULL;
	else if (!s->is_greeted && h->kind != (s->is_server ? FR_DELEGATION : FR_REFUSE))
		why = "came before the greeting";
	if (!why)
		return 0;
	return err_set(&s->err, E_PROTOCOL, "frame %s of %u bytes %s", frame_name(h->kind),
	               h->bytes, why);
}

static int ping_answer(struct session *s, const void *message)
{
	const Sirdar__Ping *ping = message;
	Sirdar__Ping pong = SIRDAR__PING__INIT;

	pong.stamp = ping->stamp;
	/* With a full queue the peer does not read: it gets no answer, and needs none. */
	session_send(s, FR_PONG, &pong, NULL);
	return 0;
}

static int frame_deliver(struct session *s, const struct frame_head *h, const void *message)
{
	CHECK(s->busy > 0);
	if (h->kind == FR_PING)
		return ping_answer(s, message);
	if (h->kind == FR_PONG)
		return 0;
	s->is_greeting_seen |= is_greeting(s, h->kind);
	if (h->kind != FR_DELEGATION)
		s->due_us = 0;
	int r = s->ops->on_frame(s->ctx, s, h->kind, message);
	/* A handler that ended the session itself has said why. */
	if (r < 0 && s->state == SESSION_OPEN)
		err_set(&s->err, r, "frame %s of %u bytes: %s", frame_name(h->kind), h->bytes,
		        err_text(r));
	return r;
}

static int frame_take(struct session *s, const struct frame_head *h, const uint8_t *body)
{
	void *message;

	if (!s->arena)
		s->arena = arena_new(ARENA_BYTES);
	int r = frame_unpack(h->kind, body, h->bytes, s->arena, &message, &s->err);
	if (r == 0)
		r = frame_deliver(s, h, message);
	arena_reset(s->arena);
	return r;
}

/* Takes whole frames from the front; returns the bytes used. */
static size_t frames_take(struct session *s, const uint8_t *p, size_t bytes)
{
	size_t at = 0;

	while (s->state == SESSION_OPEN && bytes - at >= FRAME_HEAD_BYTES) {
		struct frame_head h;
		int r = frame_head_read(p + at, &h, &s->err);
		if (r == 0)
			r = frame_admit(s, &h);
		if (r == 0 && bytes - at - FRAME_HEAD_BYTES < h.bytes)
			break;
		if (r == 0)
			r = frame_take(s, &h, p + at + FRAME_HEAD_BYTES);
		if (r < 0 && s->state == SESSION_OPEN)
			session_fail(s, r);
		if (r < 0)
			break;
		at += FRAME_HEAD_BYTES + h.bytes;
		CHECK(at <= bytes);
	}
	return at;
}

/* Most chunks hold whole frames, which are then read where they are. */
static void chunk_take(struct session *s, const uint8_t *p, size_t bytes)
{
	if (s->in.len > 0) {
		buf_put(&s->in, p, bytes);
		buf_drop(&s->in, frames_take(s, buf_at(&s->in), s->in.len));
	} else {
		size_t used = frames_take(s, p, bytes);
		if (s->state == SESSION_OPEN)
			buf_put(&s->in, p + used, bytes - used);
	}
	if (s->in.len == 0 && s->in.cap > RETAIN_BYTES)
		buf_done(&s->in);
}

/* The stream is at its end: in order between two frames, broken inside one. */
static void stream_ended(struct session *s, int code)
{
	struct frame_head h = { 0 };

	if (s->state == SESSION_ENDING) {
		s->state = SESSION_OVER;
		return;
	}
	if (s->in.len >= FRAME_HEAD_BYTES && frame_head_read(buf_at(&s->in), &h, NULL) == 0)
		code = err_set(&s->err, E_PROTOCOL,
		               "the end came inside a frame %s: %zu of %u bytes",
		               frame_name(h.kind), s->in.len - FRAME_HEAD_BYTES, h.bytes);
	else if (s->in.len > 0)
		code = err_set(&s->err, E_PROTOCOL,
		               "the end came inside a frame's head: %zu of %d bytes", s->in.len,
		               FRAME_HEAD_BYTES);
	else if (code == 0)
		err_set(&s->err, 0, "closed by the peer");
	session_fail(s, code);
}

void session_read(struct session *s)
{
	uint8_t chunk[CHUNK_BYTES];

	CHECK(s->busy > 0);
	for (int i = 0; i < CHUNKS_A_ROUND; i++) {
		struct err err = { 0 };
		ssize_t n = channel_read(s->channel, chunk, sizeof chunk, &err);
		if (n == E_AGAIN)
			return;
		if (n <= 0) {
			if (n < 0 && s->state == SESSION_OPEN)
				s->err = err;
			stream_ended(s, (int)n);
			return;
		}
		CHECK((size_t)n <= sizeof chunk);
		s->heard_us = clock_now_us();
		s->is_pinged = false;
		if (s->state == SESSION_OPEN)
			chunk_take(s, chunk, (size_t)n);
		if (s->state != SESSION_OPEN && s->state != SESSION_ENDING)
			return;
	}
	ev_feed_event(s->loop, &s->io, EV_READ); /* TLS may hold bytes no socket shows */
}
