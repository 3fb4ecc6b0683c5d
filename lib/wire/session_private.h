/* session_private.h — what the files session*.c share; nobody else includes it. */
#ifndef WIRE_SESSION_PRIVATE_H
#define WIRE_SESSION_PRIVATE_H

#include <ev.h>

#include "util/buf.h"
#include "util/err.h"
#include "wire/channel.h"
#include "wire/session.h"

/*   CONNECT -> SHAKE -> OPEN -> ENDING -> OVER
 *      any of them -> OVER on a failure */
enum session_state {
	SESSION_CONNECT, /* the socket is being connected */
	SESSION_SHAKE,   /* TLS says hello */
	SESSION_OPEN,    /* frames */
	SESSION_ENDING,  /* writing the rest, then waiting for the peer's end */
	SESSION_OVER,    /* to be freed as soon as no callback of it is running */
};

enum {
	CHUNK_BYTES = 16384, /* read at once; a TLS record at most */
	CHUNKS_A_ROUND = 32, /* then the other sessions of the loop get their turn */
	RETAIN_BYTES = 4096, /* an empty buffer larger than this is given back */
	ARENA_BYTES = 24 * 1024 * 1024,
	LINGER_MS = 1000, /* the most an orderly end may take */
};

struct session {
	struct ev_loop *loop;
	struct channel *channel;
	const struct session_ops *ops;
	void *ctx;
	struct session_limits limits;
	struct ev_io io;
	struct ev_timer clock;
	struct ev_prepare soon; /* never started: fed, runs after all that is pending */
	enum session_state state;
	unsigned busy; /* callbacks of this session on the stack */
	bool is_server;
	bool is_stranger; /* its public key is nobody's, and nobody has let it in yet */
	bool is_greeted;
	bool is_greeting_seen; /* HELLO or WELCOME came; a second one may not */
	bool is_pinged;        /* since something was heard */
	bool is_stuck;         /* the queue could not be written or filled: on_drain follows */
	bool is_bye_said;
	bool is_dropped;  /* no on_end */
	int64_t heard_us; /* monotonic */
	int64_t due_us;   /* this stage must be over by then; 0: none */
	struct buf in;    /* begins with a frame's head, of which not all is there */
	struct buf out;
	struct arena *arena;
	char peer[64];
	struct err err;
};

struct session *session_new(const struct session_owner *owner, struct channel *channel);

/* Every callback of the loop runs between these two; after leave `s` may be gone. */
void session_enter(struct session *s);
void session_leave(struct session *s);

/* The session is over because of s->err. */
void session_fail(struct session *s, int code);
/* Read all there is, within reason; frames go to on_frame. */
void session_read(struct session *s);
/* Have the socket watched for these events. */
void session_watch(struct session *s, int events);
void session_touch(struct session *s);     /* have the queue looked at soon */
void session_clock_set(struct session *s); /* after due_us changed */

/* The loop's callbacks. */
void session_ready(struct ev_loop *loop, struct ev_io *w, int events);
void session_soon(struct ev_loop *loop, struct ev_prepare *w, int events);
void session_clock(struct ev_loop *loop, struct ev_timer *w, int events);

#endif
