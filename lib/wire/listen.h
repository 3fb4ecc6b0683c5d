/* listen.h — doors: a listening socket, TCP or local, that hands out connections.
 *
 * Out of descriptors it waits a little instead of spinning. Connections over the limits
 * are closed at once. Lives on one loop; thread: the loop's.
 */
#ifndef WIRE_LISTEN_H
#define WIRE_LISTEN_H

#include <stdint.h>

struct err;
struct ev_loop;
struct listener;

struct listener_limits {
	uint32_t total_max;      /* connections at once; 0: no limit */
	uint32_t per_origin_max; /* of one address (IPv6: one /64); 0: no limit */
};

/* What happened since the start. */
struct listener_counts {
	uint64_t accepted, refused, pauses;
	uint32_t now; /* handed out, not yet released */
};

/* One connection: `fd` is the callee's (close-on-exec, non-blocking), and when it is
 * closed listener_release(l, origin). `peer` as net_text() has it; borrowed. May not
 * close the listener. */
typedef void (*listener_fn)(void *ctx, int fd, uint64_t origin, const char *peer);

/* On which loop a door stands, how much it lets in, and who takes what comes; all copied. */
struct listener_owner {
	struct ev_loop *loop;
	const struct listener_limits *limits;
	listener_fn came;
	void *ctx; /* of came */
};

/* On an address ("127.0.0.1", NULL: that one) and port (0: any, see listener_port()).
 *   errors  E_INVALID no address, E_EXISTS in use, E_IO */
int listener_tcp(const struct listener_owner *owner, const char *host, uint16_t port,
                 struct listener **ret_listener, struct err *err);
/* On a path, for this user alone (0600). A socket left behind there is removed if nobody
 * answers at it; listener_close() removes its own.
 *   errors  E_INVALID path too long, E_EXISTS somebody answers or it is no socket, E_IO */
int listener_local(const struct listener_owner *owner, const char *path,
                   struct listener **ret_listener, struct err *err);

uint16_t listener_port(const struct listener *l); /* 0 for a local one */
void listener_release(struct listener *l, uint64_t origin);
void listener_counts(const struct listener *l, struct listener_counts *ret);
/* Connections handed out are not touched. NULL is fine. */
void listener_close(struct listener *l);

#endif
