/* channel.h — bytes to and from one peer: a plain socket, or TLS 1.3 over it.
 *
 * Only for session.c. Never blocks, never signals (SIGPIPE). Thread: the session's.
 */
#ifndef WIRE_CHANNEL_H
#define WIRE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/session.h"

struct channel;

/* All three own fd from here on, also on error. */
int channel_plain(int fd, struct channel **ret, struct err *err);
int channel_server(int fd, const struct session_door *door, void *door_ctx, struct channel **ret,
                   struct err *err);
int channel_client(int fd, const struct identity *self, struct channel **ret, struct err *err);
void channel_free(struct channel *c); /* closes; NULL is fine */

/* The socket of an unfinished connect() became writable: 0, or E_IO why it failed. */
int channel_connected(struct channel *c, struct err *err);
/* Go on with the handshake. 0 it is done, E_AGAIN wait for the socket.
 *   errors  E_AUTH wrong key, unknown identity or server (no telling which), E_PROTOCOL, E_IO */
int channel_shake(struct channel *c, struct err *err);
/* 1.. bytes, 0 the peer said goodbye; E_AGAIN, E_CLOSED it is gone without, E_IO. */
ssize_t channel_read(struct channel *c, uint8_t *to, size_t bytes, struct err *err);
/* 1.. bytes taken; E_AGAIN (call again with at least the same bytes), E_IO. */
ssize_t channel_write(struct channel *c, const uint8_t *from, size_t bytes, struct err *err);
/* Say that nothing more will be written. 0 said, or E_AGAIN. */
int channel_bye(struct channel *c);

bool channel_wants_write(const struct channel *c); /* the last E_AGAIN waits for writing */
int channel_fd(const struct channel *c);
const char *channel_identity(const struct channel *c); /* "" when plain */
/* Of a server: who came has proven a public key that is nobody's. */
bool channel_is_stranger(const struct channel *c);
void channel_send_away(struct channel *c); /* a stranger: it hears that its key is not known */
int channel_proof(const struct channel *c, uint8_t ret[SESSION_PROOF_BYTES], struct err *err);

#endif
