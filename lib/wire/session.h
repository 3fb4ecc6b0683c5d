/* session.h — one connection that carries frames: TLS 1.3 with a pre-shared key or raw public keys
 * over TCP, or plain frames over a local socket (jobkeeper).
 *
 * Lives on one loop. Reads frames and hands each to `on_frame`; writes are gathered and
 * sent together when the loop is about to sleep (session_flush is automatic). Ends by
 * itself on errors: `on_end` is the last call, after it the session is gone. Nothing is
 * called back from within session_accept, _connect, _local, _send, _end, _drop; all of
 * those may be called in a callback, also for the session it is about.
 *
 * PING and PONG are the session's own and never reach on_frame. With idle_ms it sends a
 * PING when nothing was heard for half of it.
 */
#ifndef WIRE_SESSION_H
#define WIRE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

struct ev_loop;
struct identity;
struct pair;
struct session;

struct session_ops {
	/* The handshake is done; `identity` is the key's name, or its owner's ("" for a local
	 * socket). */
	void (*on_open)(void *ctx, struct session *s, const char *identity);
	/* One frame; `message` is unpacked and borrowed until this returns. A negative
	 * answer ends the session with that code. */
	int (*on_frame)(void *ctx, struct session *s, enum frame_kind kind, const void *message);
	/* All that was queued has been written, after the socket or session_send() had
	 * refused more. May be NULL. */
	void (*on_drain)(void *ctx, struct session *s);
	/* The connection is over. `err` says why: code 0 the peer closed in order, what
	 * session_end() was given, E_AUTH, E_TIMEOUT, E_PROTOCOL, E_TOO_BIG, E_IO, E_CLOSED
	 * (gone without a goodbye). */
	void (*on_end)(void *ctx, struct session *s, const struct err *err);
};

struct session_limits {
	uint32_t handshake_ms; /* until on_open; from there until the first frame or
	                        * session_greeted() */
	uint32_t idle_ms;      /* 0: none. Nothing heard for so long ends the session */
	size_t queue_bytes;    /* most that may wait to be written; beyond: E_BUSY from send */
};

/* Looks a key up by identity. 0, or E_NOT_FOUND. Thread: the session's. */
typedef int (*session_key_fn)(void *ctx, const char *identity, uint8_t ret_key[32]);

enum { SESSION_NAME_BYTES = 65, SESSION_PROOF_BYTES = 32 };

/* How a server knows those who come: by a key that both have, or by the public key of theirs. */
struct session_door {
	session_key_fn key;
	/* Whose is it? 0 with his name, or with "": nobody's, who may send DELEGATION until
	 * session_known() and nothing else; or E_NOT_FOUND. NULL: nobody comes with a pair. */
	int (*whose)(void *ctx, const uint8_t key[32], char ret_name[SESSION_NAME_BYTES]);
	const struct pair *own; /* the server's; NULL likewise */
};

/* On which loop a session lives, and whom it tells what happens. `ops` is borrowed for the
 * session's life; `limits` is copied. */
struct session_owner {
	struct ev_loop *loop;
	const struct session_ops *ops;
	void *ctx; /* of ops */
	const struct session_limits *limits;
};

/* Server side: take over a connected socket (owned from here on, also on error). A key
 * that is not found is answered like a wrong one. `door` is borrowed for the session's life. */
int session_accept(const struct session_owner *owner, int fd, const struct session_door *door,
                   void *door_ctx, struct session **ret_session, struct err *err);

/* Peer side: connect to host:port as `self` (identity.h; copied). Host is an address or
 * "localhost": names are resolved before (net_resolve()), this call does not block on the network.
 * A pair greets nobody but a server whose key it knows. */
int session_connect(const struct session_owner *owner, const char *host, uint16_t port,
                    const struct identity *self, struct session **ret_session, struct err *err);
/* Bytes that this session's two ends have, and no other session's; once it is open, and not for a
 * local socket. errors  E_UNSUPPORTED */
int session_proof(const struct session *s, uint8_t ret[SESSION_PROOF_BYTES], struct err *err);

/* Plain frames over a connected local socket (owned from here on, also on error). */
int session_local(const struct session_owner *owner, int fd, bool server,
                  struct session **ret_session, struct err *err);

/* Queue a frame; allowed before on_open too. A frame always fits into an empty queue.
 *   errors  E_BUSY queue full (on_drain follows), E_TOO_BIG, E_INVALID a string that is
 *           not UTF-8, E_CLOSED */
int session_send(struct session *s, enum frame_kind kind, const void *message, struct err *err);
size_t session_queued(const struct session *s); /* bytes not yet written */
/* Limits of what may come: before this call only HELLO, ENROL or DELEGATION (server), or WELCOME,
 * ENROLLED, REFUSE (peer). */
void session_greeted(struct session *s);
void session_known(struct session *s);             /* a stranger has shown who lets it in */
const char *session_peer(const struct session *s); /* "127.0.0.1:4711"; borrowed */
/* Write what is queued and say goodbye if that is possible within a second, then end;
 * on_end follows, with `code` and `why` (NULL: the code's own text). No frame comes any
 * more. */
void session_end(struct session *s, int code, const char *why);
/* End at once without on_end. NULL is fine. */
void session_drop(struct session *s);

#endif
