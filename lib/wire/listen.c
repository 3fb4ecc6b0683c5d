/* Doors: TCP, or a local socket that only its owner may use. Connections are counted, in all and
 * by origin (an IPv4 address, the first 64 bits of an IPv6 one), and refused above the limits;
 * whoever takes one gives it back with listener_release(). Without descriptors the door pauses, as
 * the connection stays in the backlog. A socket is removed only when it is still the one we made.
 */
#include "wire/listen.h"

#include <errno.h>
#include <ev.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"
#include "util/map.h"
#include "wire/net.h"

enum { BACKLOG = 1024, ACCEPTS_A_ROUND = 64, ORIGIN_LOCAL = 0 };
#define PAUSE_S .1

struct listener {
	struct ev_loop *loop;
	struct ev_io io;
	struct ev_timer pause;
	struct listener_limits limits;
	struct listener_counts counts;
	uint64_t told_pauses; /* before those that are one trouble */
	struct map origins;   /* origin -> connections of it */
	listener_fn came;
	void *ctx;
	char *path; /* NULL: TCP */
	dev_t device;
	ino_t inode; /* of the path, so that nobody else's socket is removed */
	uint16_t port;
};

static uint64_t origin_of(const struct net_address *a)
{
	const struct sockaddr_in *v4 = (const void *)&a->at;
	const struct sockaddr_in6 *v6 = (const void *)&a->at;
	uint64_t high;

	if (a->at.ss_family == AF_INET)
		return (uint64_t)1 << 32 | ntohl(v4->sin_addr.s_addr);
	if (a->at.ss_family != AF_INET6)
		return ORIGIN_LOCAL;
	memcpy(&high, v6->sin6_addr.s6_addr, sizeof high);
	return high ? high : 1; /* ::1 */
}

static uint32_t origin_add(struct listener *l, uint64_t origin, int change)
{
	uint32_t had = map_get(&l->origins, origin);
	uint32_t n = had == MAP_NONE ? 0 : had;

	if (change == 0)
		return n;
	if (had != MAP_NONE)
		map_remove(&l->origins, origin, had);
	CHECK(change > 0 || n > 0);
	n = change > 0 ? n + 1 : n - 1;
	if (n > 0)
		map_add(&l->origins, origin, n);
	return n;
}

void listener_release(struct listener *l, uint64_t origin)
{
	CHECK(l->counts.now > 0);
	origin_add(l, origin, -1);
	l->counts.now--;
}

static bool has_room(struct listener *l, uint64_t origin)
{
	if (l->limits.total_max && l->counts.now >= l->limits.total_max)
		return false;
	return origin == ORIGIN_LOCAL || !l->limits.per_origin_max ||
	       origin_add(l, origin, 0) < l->limits.per_origin_max;
}

static void connection_take(struct listener *l, int fd, const struct net_address *a)
{
	uint64_t origin = origin_of(a);
	char text[NET_TEXT_BYTES];

	CHECK(fd >= 0);
	if (!has_room(l, origin)) {
		l->counts.refused++;
		close(fd);
		return;
	}
	l->told_pauses = l->counts.pauses; /* the next one is told again */
	origin_add(l, origin, 1);
	l->counts.now++;
	l->counts.accepted++;
	net_text(a, text);
	l->came(l->ctx, fd, origin, text);
}

static void pause_over(struct ev_loop *loop, struct ev_timer *w, int events)
{
	struct listener *l = w->data;

	(void)events;
	ev_io_start(loop, &l->io);
}

static bool is_exhausted(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOBUFS || errnum == ENOMEM;
}

/* The connection that cannot be taken stays in the backlog and the socket readable: without
 * a pause the loop would turn at full speed. */
static void accept_failed(struct listener *l, int errnum)
{
	if (!is_exhausted(errnum))
		return; /* that one connection has failed, or there is none */
	if (l->counts.pauses++ == l->told_pauses) {
		struct err err = { 0 };
		err_sys(&err, err_of_errno(errnum), errnum,
		        "nobody new is let in until there is room");
		log_warn("listen.paused", "code=%s text=\"%s\"", err_name(err.code), err.text);
	}
	ev_io_stop(l->loop, &l->io);
	ev_timer_set(&l->pause, PAUSE_S, 0.);
	ev_timer_start(l->loop, &l->pause);
}

static void door_knocked(struct ev_loop *loop, struct ev_io *w, int events)
{
	struct listener *l = w->data;

	(void)loop;
	(void)events;
	for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
		struct net_address a = { .bytes = sizeof a.at };
		int fd = accept4(w->fd, (struct sockaddr *)&a.at, &a.bytes,
		                 SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0) {
			accept_failed(l, errno);
			return;
		}
		connection_take(l, fd, &a);
	}
}

static void listener_start(const struct listener_owner *owner, int fd, struct listener *l)
{
	CHECK(fd >= 0);
	l->loop = owner->loop;
	l->limits = *owner->limits;
	l->came = owner->came;
	l->ctx = owner->ctx;
	map_init(&l->origins);
	ev_io_init(&l->io, door_knocked, fd, EV_READ);
	ev_init(&l->pause, pause_over);
	l->io.data = l->pause.data = l;
	ev_io_start(l->loop, &l->io);
}

int listener_tcp(const struct listener_owner *owner, const char *host, uint16_t port,
                 struct listener **ret_listener, struct err *err)
{
	struct net_address a;
	int on = 1, r = net_parse(host ? host : "127.0.0.1", port, &a, err);

	if (r < 0)
		return r;
	int fd = socket(a.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, E_IO, errno, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&a.at, a.bytes) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a.at, &a.bytes) < 0) {
		char text[NET_TEXT_BYTES];
		net_text(&a, text);
		r = err_sys(err, errno == EADDRINUSE ? E_EXISTS : E_IO, errno, "listen on %s",
		            text);
		close(fd);
		return r;
	}
	struct listener *l = mem_new(sizeof *l);
	l->port = ntohs(a.at.ss_family == AF_INET ? ((struct sockaddr_in *)&a.at)->sin_port
	                                          : ((struct sockaddr_in6 *)&a.at)->sin6_port);
	listener_start(owner, fd, l);
	*ret_listener = l;
	return 0;
}

/* Remove what a killed process has left. */
static int stale_remove(const struct sockaddr_un *a, struct err *err)
{
	struct stat st;

	if (lstat(a->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(err, E_IO, errno, "%s", a->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, E_EXISTS, "%s exists and is no socket", a->sun_path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, E_IO, errno, "socket");
	bool is_dead = connect(fd, (const struct sockaddr *)a, sizeof *a) < 0 &&
	               errno == ECONNREFUSED;
	close(fd);
	if (!is_dead)
		return err_set(err, E_EXISTS, "somebody answers at %s", a->sun_path);
	if (unlink(a->sun_path) < 0 && errno != ENOENT)
		return err_sys(err, E_IO, errno, "remove %s", a->sun_path);
	return 0;
}

int listener_local(const struct listener_owner *owner, const char *path,
                   struct listener **ret_listener, struct err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;

	if (strlen(path) >= sizeof a.sun_path)
		return err_set(err, E_INVALID, "path of a socket over %zu bytes: %.200s",
		               sizeof a.sun_path - 1, path);
	memcpy(a.sun_path, path, strlen(path) + 1);
	int r = stale_remove(&a, err);
	if (r < 0)
		return r;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, E_IO, errno, "socket");
	/* Nobody gets in before listen(), so the mode is there in time. */
	if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || chmod(path, 0600) < 0 ||
	    lstat(path, &st) < 0 || listen(fd, BACKLOG) < 0) {
		r = err_sys(err, errno == EADDRINUSE ? E_EXISTS : E_IO, errno, "listen on %s",
		            path);
		close(fd);
		return r;
	}
	struct listener *l = mem_new(sizeof *l);
	l->path = mem_str(path);
	l->device = st.st_dev;
	l->inode = st.st_ino;
	listener_start(owner, fd, l);
	*ret_listener = l;
	return 0;
}

uint16_t listener_port(const struct listener *l)
{
	return l->port;
}

void listener_counts(const struct listener *l, struct listener_counts *ret)
{
	*ret = l->counts;
}

void listener_close(struct listener *l)
{
	struct stat st;

	if (!l)
		return;
	ev_io_stop(l->loop, &l->io);
	ev_timer_stop(l->loop, &l->pause);
	if (l->path && lstat(l->path, &st) == 0 && st.st_dev == l->device && st.st_ino == l->inode)
		unlink(l->path);
	close(l->io.fd);
	map_done(&l->origins);
	free(l->path);
	free(l);
}
