/* A session is made: over a socket that was accepted, or towards an address. Both begin with TLS;
 * names are not resolved here, for that would wait. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "wire/identity.h"
#include "wire/net.h"
#include "wire/session_private.h"

/* Frames are gathered before they are written; the kernel need not do it again. */
static void delay_off(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int session_accept(const struct session_owner *owner, int fd, const struct session_door *door,
                   void *door_ctx, struct session **ret_session, struct err *err)
{
	struct channel *channel = NULL;

	delay_off(fd);
	int r = channel_server(fd, door, door_ctx, &channel, err);
	if (r < 0)
		return r;
	struct session *s = session_new(owner, channel);
	s->is_server = true;
	session_watch(s, EV_READ);
	*ret_session = s;
	return 0;
}

int session_proof(const struct session *s, uint8_t ret[SESSION_PROOF_BYTES], struct err *err)
{
	return channel_proof(s->channel, ret, err);
}

static int connect_start(const char *host, uint16_t port, int *ret_fd, struct err *err)
{
	struct net_address a;
	int r = net_parse(host, port, &a, err);

	if (r < 0)
		return r;
	int fd = socket(a.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, E_IO, errno, "socket");
	delay_off(fd);
	if (connect(fd, (struct sockaddr *)&a.at, a.bytes) < 0 && errno != EINPROGRESS) {
		r = err_sys(err, E_IO, errno, "connect to %.100s:%u", host, port);
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int session_connect(const struct session_owner *owner, const char *host, uint16_t port,
                    const struct identity *self, struct session **ret_session, struct err *err)
{
	struct channel *channel = NULL;
	struct net_address a;
	int fd = -1, r = connect_start(host, port, &fd, err);

	if (r < 0)
		return r;
	r = channel_client(fd, self, &channel, err);
	if (r < 0)
		return r;
	struct session *s = session_new(owner, channel);
	if (net_parse(host, port, &a, NULL) == 0)
		net_text(&a, s->peer); /* the socket has no peer yet */
	s->state = SESSION_CONNECT;
	session_watch(s, EV_WRITE);
	*ret_session = s;
	return 0;
}
