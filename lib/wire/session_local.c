/* session_local.c — what sessions of both kinds begin with, and the plain kind. Apart from
 * session_open.c, which brings TLS. */
#include "util/alloc.h"
#include "util/clock.h"
#include "wire/net.h"
#include "wire/session_private.h"

struct session *session_new(const struct session_owner *owner, struct channel *channel)
{
	struct session *s = mem_new(sizeof *s);

	s->loop = owner->loop;
	s->channel = channel;
	s->ops = owner->ops;
	s->ctx = owner->ctx;
	s->limits = *owner->limits;
	buf_init(&s->in);
	buf_init(&s->out);
	ev_io_init(&s->io, session_ready, channel_fd(channel), EV_READ);
	ev_init(&s->clock, session_clock);
	ev_init(&s->soon, session_soon);
	ev_set_priority(&s->clock, EV_MINPRI);
	ev_set_priority(&s->soon, EV_MINPRI);
	s->io.data = s->clock.data = s->soon.data = s;
	net_peer_text(channel_fd(channel), s->peer);
	s->state = SESSION_SHAKE;
	s->heard_us = clock_now_us();
	s->due_us = s->limits.handshake_ms ? s->heard_us + s->limits.handshake_ms * US_PER_MS : 0;
	ev_now_update(s->loop);
	session_clock_set(s);
	return s;
}

int session_local(const struct session_owner *owner, int fd, bool server,
                  struct session **ret_session, struct err *err)
{
	struct channel *channel = NULL;
	int r = channel_plain(fd, &channel, err);

	if (r < 0)
		return r;
	struct session *s = session_new(owner, channel);
	s->is_server = server;
	session_touch(s); /* on_open */
	*ret_session = s;
	return 0;
}

void session_greeted(struct session *s)
{
	s->is_greeted = true;
	s->due_us = s->state == SESSION_OPEN ? 0 : s->due_us;
}

void session_known(struct session *s)
{
	s->is_stranger = false;
}

const char *session_peer(const struct session *s)
{
	return s->peer;
}
