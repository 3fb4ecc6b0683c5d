/* One session with whoever leads, for cgi and notifier. Servers are tried in turn, with pauses
 * that double from 200 ms to 5 s; a standby that names the leader is followed once, and its word
 * of when there is news sets the pause. The loop's thread owns it all; only whether it is up may
 * be asked by others. What was sent and not answered is the caller's to ask again. */
#include "wire/client.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sirdar.pb-c.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "wire/identity.h"
#include "wire/net.h"
#include "wire/protocol.h"
#include "wire/session.h"

#define RETRY_MIN_US (200 * US_PER_MS)
#define RETRY_MAX_US (5 * US_PER_S)
#define LOOK_US      (5 * US_PER_S)
#define HANDSHAKE_MS 5000

enum { ROLE_CLIENT = 3 };

struct server {
	char host[NET_TEXT_BYTES];
	char text[80];
	uint16_t port;
	char told[200]; /* why not, as the log has it; "": nothing */
};

struct client {
	const struct client_ops *ops;
	void *ctx;
	const char *name, *key_file;
	struct session_limits limits;
	struct server servers[CLIENT_SERVERS_MAX];
	size_t n, at;
	struct identity self;
	uint64_t incarnation;
	uint32_t epoch; /* the highest that was obeyed */
	uint32_t protocol;
	struct session *session;
	_Atomic bool up;
	char why[200];
	int64_t retry_us, retry_at_us; /* retry_at_us: mono; -1: as soon as it is looked at */
	/* A server refused us as a standby, and said: */
	bool is_standby;
	size_t leader;     /* which of ours leads; n: none of them */
	uint32_t retry_ms; /* when there may be news */
	bool followed;     /* such word was followed, and nobody has welcomed us since */
	bool told;         /* the try before this one met a standby */
};

/* --- which server, and when ----------------------------------------------------------- */

static void next_server(struct client *c, bool was_up)
{
	CHECK(c->n > 0);
	bool follow = c->is_standby && c->leader < c->n && !c->followed;

	c->at = follow ? c->leader : (c->at + 1) % c->n;
	CHECK(c->at < c->n);
	c->followed = c->followed || follow;
	if (was_up || follow || (c->told && !c->is_standby))
		c->retry_us = RETRY_MIN_US;
	else if (c->is_standby)
		c->retry_us = c->retry_ms * US_PER_MS;
	else
		c->retry_us *= 2;
	if (c->retry_us < RETRY_MIN_US)
		c->retry_us = RETRY_MIN_US;
	if (c->retry_us > RETRY_MAX_US)
		c->retry_us = RETRY_MAX_US;
	c->told = c->is_standby;
	c->is_standby = false;
}

static void down(struct client *c, const char *why)
{
	bool was_up = atomic_exchange(&c->up, false);
	struct server *s = &c->servers[c->at];

	c->session = NULL;
	snprintf(c->why, sizeof c->why, "%s", why);
	if (was_up)
		log_warn("server.lost", "server=%s why=\"%s\"", s->text, why);
	else if (c->is_standby || strcmp(s->told, c->why) == 0)
		log_debug("server.unreachable", "server=%s why=\"%s\"", s->text, why);
	else /* once, until it gets in or hears another reason */
		log_warn("server.unreachable", "server=%s why=\"%s\"", s->text, why);
	snprintf(s->told, sizeof s->told, "%s", was_up ? "" : c->why);
	next_server(c, was_up);
	c->retry_at_us = -1;
	c->ops->down(c->ctx, was_up);
}

/* --- the session ------------------------------------------------------------------------ */

static void on_open(void *ctx, struct session *s, const char *identity)
{
	struct client *c = ctx;
	Sirdar__Hello h = SIRDAR__HELLO__INIT;
	char version[] = SIRDAR_VERSION, empty[] = "";

	(void)identity;
	h.protocol_min = protocol_min;
	h.protocol_max = protocol_max;
	h.role = ROLE_CLIENT;
	h.name = (char *)(uintptr_t)c->name;
	h.software = version;
	h.boot_id = empty;
	h.host = empty;
	h.incarnation = c->incarnation;
	h.highest_epoch = c->epoch;
	if (session_send(s, FR_HELLO, &h, NULL) < 0)
		session_end(s, E_IO, "hello does not go out");
}

static void on_welcome(struct client *c, struct session *s, const Sirdar__Welcome *m)
{
	CHECK(c->session == s);
	session_greeted(s);
	c->epoch = m->epoch > c->epoch ? m->epoch : c->epoch;
	identity_learn(c->key_file, &c->self, m->server_keys, m->n_server_keys);
	c->protocol = m->protocol;
	c->retry_us = RETRY_MIN_US;
	c->followed = false;
	atomic_store(&c->up, true);
	log_info("server.up", "server=%s epoch=%u", c->servers[c->at].text, m->epoch);
	c->ops->up(c->ctx);
}

static void on_refuse(struct client *c, struct session *s, const Sirdar__Refuse *m)
{
	c->is_standby = m->code == E_STANDBY;
	c->retry_ms = m->retry_ms;
	for (c->leader = 0; c->leader < c->n; c->leader++)
		if (strcmp(c->servers[c->leader].text, m->leader) == 0)
			break;
	session_end(s, m->code < 0 ? m->code : E_FORBIDDEN, m->text);
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct client *c = ctx;

	if (kind == FR_WELCOME)
		on_welcome(c, s, message);
	else if (kind == FR_REFUSE)
		on_refuse(c, s, message);
	else
		c->ops->frame(c->ctx, kind, message);
	return 0;
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	(void)s;
	down(ctx, err && err->text[0] ? err->text : "the session ended");
}

static const struct session_ops session_calls = { .on_open = on_open,
	                                          .on_frame = on_frame,
	                                          .on_end = on_end };

int64_t client_look(struct client *c, struct ev_loop *loop, int64_t now_us)
{
	const struct server *at;
	struct err err = { 0 };

	if (c->session)
		return now_us + LOOK_US;
	if (c->retry_at_us < 0)
		c->retry_at_us = now_us + c->retry_us;
	if (now_us < c->retry_at_us)
		return c->retry_at_us;
	CHECK(c->at < c->n && c->retry_us >= RETRY_MIN_US && c->retry_us <= RETRY_MAX_US);
	at = &c->servers[c->at];
	if (c->key_file[0])
		identity_again(c->key_file, &c->self); /* it may have been changed */
	if (session_connect(&(struct session_owner){ loop, &session_calls, c, &c->limits },
	                    at->host, at->port, &c->self, &c->session, &err) == 0)
		return now_us + LOOK_US;
	down(c, err.text);
	c->retry_at_us = now_us + c->retry_us;
	return c->retry_at_us;
}

int client_send(struct client *c, enum frame_kind kind, const void *message, struct err *err)
{
	if (!c->session || !client_is_up(c))
		return err_set(err, E_CLOSED, "%s", c->why);
	return session_send(c->session, kind, message, err);
}

uint32_t client_protocol(const struct client *c)
{
	return c->protocol;
}

bool client_is_up(const struct client *c)
{
	return atomic_load(&c->up);
}

const char *client_server(const struct client *c)
{
	return c->servers[c->at].text;
}

const char *client_why(const struct client *c)
{
	return c->why;
}

/* --- begin and end ---------------------------------------------------------------------- */

int client_new(const struct client_settings *set, const struct client_ops *ops, void *ctx,
               struct client **ret_client, struct err *err)
{
	struct client *c = mem_new(sizeof *c);
	int r = 0;

	c->ops = ops;
	c->ctx = ctx;
	c->name = set->name;
	c->key_file = set->key_file;
	c->limits = (struct session_limits){ .handshake_ms = HANDSHAKE_MS,
		                             .idle_ms = set->silence_ms,
		                             .queue_bytes = set->queue_bytes };
	c->retry_us = RETRY_MIN_US;
	snprintf(c->why, sizeof c->why, "not tried yet");
	randombytes_buf(&c->incarnation, sizeof c->incarnation);
	for (size_t i = 0; r == 0 && i < set->n_servers && i < CLIENT_SERVERS_MAX; i++) {
		struct server *to = &c->servers[c->n++];
		snprintf(to->text, sizeof to->text, "%s", set->servers[i]);
		r = net_server(set->servers[i], to->host, &to->port, err);
	}
	if (r == 0)
		r = identity_read(set->key_file, set->name, &c->self, err);
	if (r < 0) {
		client_free(c);
		return r;
	}
	*ret_client = c;
	return 0;
}

void client_drop(struct client *c)
{
	atomic_store(&c->up, false);
	session_drop(c->session);
	c->session = NULL;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	client_drop(c);
	identity_wipe(&c->self);
	free(c);
}
