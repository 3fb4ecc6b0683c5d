/* Bytes over a socket, plain or through TLS (channel_tls.c). Nothing waits: E_AGAIN, and
 * channel_wants_write() says which way to watch. The descriptor is the channel's from the first
 * call on, also when that fails. Frames are not known here. */
#include "wire/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "wire/channel_private.h"

static int fd_prepare(int fd, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return err_sys(err, E_IO, errno, "socket %d", fd);
	return 0;
}

int channel_plain(int fd, struct channel **ret, struct err *err)
{
	CHECK(fd >= 0);
	int r = fd_prepare(fd, err);

	if (r < 0) {
		close(fd);
		return r;
	}
	struct channel *c = mem_new(sizeof *c);
	c->fd = fd;
	*ret = c;
	return 0;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	if (c->is_tls)
		c->is_tls->free(c);
	close(c->fd);
	free(c);
}

int channel_connected(struct channel *c, struct err *err)
{
	int errnum = 0;
	socklen_t bytes = sizeof errnum;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &errnum, &bytes) < 0)
		errnum = errno;
	return errnum ? err_sys(err, E_IO, errnum, "connect") : 0;
}

int channel_shake(struct channel *c, struct err *err)
{
	return c->is_tls ? c->is_tls->shake(c, err) : 0;
}

static ssize_t plain_result(struct channel *c, ssize_t n, bool is_write, struct err *err)
{
	if (n >= 0)
		return n;
	c->wants_write = is_write;
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
		return E_AGAIN;
	return err_sys(err, E_IO, errno, is_write ? "write" : "read");
}

ssize_t channel_read(struct channel *c, uint8_t *to, size_t bytes, struct err *err)
{
	CHECK(bytes > 0);
	return c->is_tls ? c->is_tls->read(c, to, bytes, err)
	                 : plain_result(c, recv(c->fd, to, bytes, 0), false, err);
}

ssize_t channel_write(struct channel *c, const uint8_t *from, size_t bytes, struct err *err)
{
	CHECK(bytes > 0);
	return c->is_tls ? c->is_tls->write(c, from, bytes, err)
	                 : plain_result(c, send(c->fd, from, bytes, MSG_NOSIGNAL), true, err);
}

int channel_bye(struct channel *c)
{
	if (c->is_tls && !c->is_tls->bye(c))
		return E_AGAIN;
	shutdown(c->fd, SHUT_WR);
	return 0;
}

bool channel_wants_write(const struct channel *c)
{
	return c->wants_write;
}

int channel_fd(const struct channel *c)
{
	return c->fd;
}

const char *channel_identity(const struct channel *c)
{
	return c->identity;
}

bool channel_is_stranger(const struct channel *c)
{
	return c->is_tls && c->door && c->is_known && !c->identity[0];
}

void channel_send_away(struct channel *c)
{
	if (c->is_tls)
		c->is_tls->send_away(c);
}

int channel_proof(const struct channel *c, uint8_t ret[SESSION_PROOF_BYTES], struct err *err)
{
	return c->is_tls ? c->is_tls->proof(c, ret, err)
	                 : err_set(err, E_UNSUPPORTED, "a local socket proves nothing");
}
