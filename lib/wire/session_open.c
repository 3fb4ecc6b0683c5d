#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/clock.h"
#include "wire/net.h"
#include "wire/session_private.h"

static struct session *session_new(struct ev_loop *loop, struct channel *channel,
                                   const struct session_ops *ops, void *ctx,
                                   const struct session_limits *limits)
{
	struct session *s = mem_new(sizeof *s);

	s->loop = loop;
	s->channel = channel;
	s->ops = ops;
	s->ctx = ctx;
	s->limits = *limits;
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
	s->heard_us = session_now_us();
	s->due_us = limits->handshake_ms ? s->heard_us + limits->handshake_ms * US_PER_MS : 0;
	ev_now_update(loop);
	session_clock_set(s);
	return s;
}

/* Frames are gathered before they are written; the kernel need not do it again. */
static void delay_off(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int session_accept(struct ev_loop *loop, int fd, session_key_fn key, void *key_ctx,
                   const struct session_ops *ops, void *ctx, const struct session_limits *limits,
                   struct session **ret_session, struct err *err)
{
	struct channel *channel = NULL;

	delay_off(fd);
	int rc = channel_server(fd, key, key_ctx, &channel, err);
	if (rc < 0)
		return rc;
	struct session *s = session_new(loop, channel, ops, ctx, limits);
	s->is_server = true;
	session_watch(s, EV_READ);
	*ret_session = s;
	return 0;
}

static int connect_start(const char *host, uint16_t port, int *ret_fd, struct err *err)
{
	struct net_address a;
	int rc = net_parse(host, port, &a, err);

	if (rc < 0)
		return rc;
	int fd = socket(a.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, E_IO, errno, "socket");
	delay_off(fd);
	if (connect(fd, (struct sockaddr *)&a.at, a.bytes) < 0 && errno != EINPROGRESS) {
		rc = err_sys(err, E_IO, errno, "connect to %.100s:%u", host, port);
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

int session_connect(struct ev_loop *loop, const char *host, uint16_t port, const char *identity,
                    const uint8_t key[32], const struct session_ops *ops, void *ctx,
                    const struct session_limits *limits, struct session **ret_session,
                    struct err *err)
{
	struct channel *channel = NULL;
	struct net_address a;
	int fd = -1, rc = connect_start(host, port, &fd, err);

	if (rc < 0)
		return rc;
	rc = channel_client(fd, identity, key, &channel, err);
	if (rc < 0)
		return rc;
	struct session *s = session_new(loop, channel, ops, ctx, limits);
	if (net_parse(host, port, &a, NULL) == 0)
		net_text(&a, s->peer); /* the socket has no peer yet */
	s->state = SESSION_CONNECT;
	session_watch(s, EV_WRITE);
	*ret_session = s;
	return 0;
}

int session_local(struct ev_loop *loop, int fd, bool server, const struct session_ops *ops,
                  void *ctx, const struct session_limits *limits, struct session **ret_session,
                  struct err *err)
{
	struct channel *channel = NULL;
	int rc = channel_plain(fd, &channel, err);

	if (rc < 0)
		return rc;
	struct session *s = session_new(loop, channel, ops, ctx, limits);
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

const char *session_peer(const struct session *s)
{
	return s->peer;
}
