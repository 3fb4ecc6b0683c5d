/* client.h — a client's session with whichever BaseServer leads: the addresses in turn, growing
 * pauses, the greeting, and after a loss all over again.
 *
 * Lives on one actor, which drives it: client_look() when it says so, and after a callback of
 * `down`.
 * Nothing is repeated here: what was sent into a session that ended is the caller's to send again.
 * A server that stands by is left for the one that it says leads, once; else all are asked in turn.
 */
#ifndef WIRE_CLIENT_H
#define WIRE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

struct client;
struct err;
struct ev_loop;

/* Called on the actor's thread, never from within a call but client_look(). */
struct client_ops {
	void (*up)(void *ctx); /* welcomed: frames may be sent */
	/* Any but WELCOME and REFUSE; `message` is borrowed until this returns. */
	void (*frame)(void *ctx, enum frame_kind kind, const void *message);
	/* A session ended, or a try came to nothing (was_up: false). client_why() says why. */
	void (*down)(void *ctx, bool was_up);
};

struct client_settings {
	char *const *servers; /* "host:port", in the order in which they are tried; copied */
	size_t n_servers;     /* 1 or more; those after CLIENT_SERVERS_MAX are left out */
	const char *name;     /* the key's; borrowed */
	const char *key_file; /* identity.h; borrowed */
	uint32_t silence_ms;  /* nothing heard for so long ends a session */
	size_t queue_bytes;   /* most that may wait to be written */
};

enum { CLIENT_SERVERS_MAX = 16 };

/* Names are resolved here, so this blocks. errors  E_INVALID, E_NOT_FOUND, of the key file */
int client_new(const struct client_settings *set, const struct client_ops *ops, void *ctx,
               struct client **ret_client, struct err *err);
void client_free(struct client *c); /* without a callback; NULL is fine */
/* The session ends without a callback: the actor's loop is about to go. */
void client_drop(struct client *c);

/* Connects when it is time. Answers when to be called again, at the latest: mono microseconds. */
int64_t client_look(struct client *c, struct ev_loop *loop, int64_t now_us);

/* errors  E_CLOSED there is no session; those of session_send() */
int client_send(struct client *c, enum frame_kind kind, const void *message, struct err *err);
uint32_t client_protocol(const struct client *c);  /* agreed on with the last server */
bool client_is_up(const struct client *c);         /* thread: any */
const char *client_server(const struct client *c); /* the one that is talked to, or tried next */
const char *client_why(const struct client *c);    /* why there is no session */

#endif
