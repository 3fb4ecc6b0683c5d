/* The door of a server that waits: it accepts peers only to say who leads.
 *
 * Whoever greets is refused with E_STANDBY, the leader's address and when to ask again; anything
 * else than a greeting is a breach of the protocol. Sessions have the handshake's time and no
 * more. It runs on a thread of its own, so that a store that does not answer keeps no peer
 * waiting; door_tell() brings it the news. The door is closed before the server that leads opens
 * its own. */
#include "baseserver/lead/door.h"

#include <sirdar.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/lead/admin.h"
#include "rt/actor.h"
#include "rt/thread.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/param.h"
#include "wire/keys.h"
#include "wire/listen.h"
#include "wire/net.h"
#include "wire/session.h"

enum { QUEUE_BYTES = 65536, LETTERS_MAX = 64, RETRY_MS_FIRST = 1000 };

struct caller {
	struct door *d;
	struct caller *next, **at;
	struct listener *from;
	uint64_t origin;
	struct session *session;
};

struct doorway {
	struct door *d;
	struct listener *listener;
};

struct door {
	struct thread *thread;
	struct actor *me;
	struct admin *admin;
	const struct param_baseserver *p;
	struct keys *keys;
	struct session_door opens;
	struct doorway *ways;
	size_t n_ways;
	struct caller *callers;
	char leader[160];
	uint32_t retry_ms;
};

struct news {
	struct letter letter;
	char leader[160];
	uint32_t retry_ms;
};

static void caller_free(struct caller *c)
{
	CHECK(*c->at == c);
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	listener_release(c->from, c->origin);
	free(c);
}

static void on_open(void *ctx, struct session *s, const char *identity)
{
	(void)ctx, (void)s, (void)identity;
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct caller *c = ctx;
	const struct door *d = c->d;
	Sirdar__Refuse m = SIRDAR__REFUSE__INIT;
	char text[300];

	(void)message;
	if (kind != FR_HELLO)
		return E_PROTOCOL;
	if (d->leader[0])
		snprintf(text, sizeof text, "standby, active is %s", d->leader);
	else
		snprintf(text, sizeof text, "standby, nobody leads yet");
	m.code = E_STANDBY;
	m.text = text;
	m.leader = (char *)d->leader;
	m.retry_ms = d->retry_ms;
	session_send(s, FR_REFUSE, &m, NULL);
	session_end(s, E_STANDBY, text);
	return 0;
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	(void)s, (void)err;
	caller_free(ctx);
}

static const struct session_ops session_calls = { .on_open = on_open,
	                                          .on_frame = on_frame,
	                                          .on_end = on_end };

/* What is told here is no secret: whoever has a pair may know who leads, and is judged there. */
static int anybody(void *ctx, const uint8_t key[32], char ret_name[SESSION_NAME_BYTES])
{
	(void)ctx, (void)key;
	snprintf(ret_name, SESSION_NAME_BYTES, "somebody");
	return 0;
}

static void door_came(void *ctx, int fd, uint64_t origin, const char *peer)
{
	struct doorway *way = ctx;
	struct door *d = way->d;
	struct session_limits limits = { (uint32_t)d->p->handshake_ms, (uint32_t)d->p->handshake_ms,
		                         QUEUE_BYTES };
	struct caller *c = mem_new(sizeof *c);
	struct err err = { 0 };

	c->d = d;
	c->from = way->listener;
	c->origin = origin;
	c->at = &d->callers;
	if (session_accept(&(struct session_owner){ actor_loop(d->me), &session_calls, c, &limits },
	                   fd, &d->opens, d->keys, &c->session, &err) < 0) {
		log_warn("session.accept", "peer=%s text=\"%s\"", peer, err.text);
		listener_release(way->listener, origin);
		free(c);
		return;
	}
	c->next = d->callers;
	if (c->next)
		c->next->at = &c->next;
	d->callers = c;
}

static int door_init(void *self, struct actor *me, struct err *err)
{
	struct door *d = self;
	struct listener_limits limits = { (uint32_t)d->p->sessions_max,
		                          (uint32_t)d->p->sessions_per_address_max };

	d->me = me;
	d->ways = mem_array(d->p->listen.n, sizeof *d->ways);
	for (size_t i = 0; i < d->p->listen.n; i++) {
		char host[256];
		uint16_t port = 0;
		int r = net_split_listen(d->p->listen.items[i], host, &port, err);
		d->ways[i] = (struct doorway){ .d = d };
		if (r == 0)
			r = listener_tcp(&(struct listener_owner){ actor_loop(me), &limits,
			                                           door_came, &d->ways[i] },
			                 host, port, &d->ways[i].listener, err);
		if (r < 0)
			return r;
		d->n_ways++;
	}
	return 0;
}

static void door_fini(void *self)
{
	struct door *d = self;

	CHECK(d->n_ways <= d->p->listen.n);
	for (struct caller *c = d->callers, *next; c; c = next) {
		next = c->next;
		session_drop(c->session);
		free(c);
	}
	for (size_t i = 0; i < d->n_ways; i++)
		listener_close(d->ways[i].listener);
	d->callers = NULL;
	d->n_ways = 0;
}

static const struct actor_ops ops = {
	.name = "door", .letters_max = LETTERS_MAX, .init = door_init, .fini = door_fini
};

static void on_news(struct letter *l, void *self)
{
	struct door *d = self;
	struct news *n = (struct news *)l;

	CHECK(actor_here(d->me));
	memcpy(d->leader, n->leader, sizeof d->leader);
	d->retry_ms = n->retry_ms;
	free(n);
}

void door_tell(struct door *d, const char *address, uint32_t retry_ms)
{
	struct news *n = mem_new(sizeof *n);

	snprintf(n->leader, sizeof n->leader, "%s", address);
	n->retry_ms = retry_ms;
	n->letter = (struct letter){ .deliver = on_news, .discard = letter_free };
	if (actor_post(d->me, &n->letter) < 0)
		free(n);
}

int door_open(const struct param_baseserver *p, struct keys *keys, const struct pair *own,
              struct door **ret_door, struct err *err)
{
	struct door *d = mem_new(sizeof *d);

	d->p = p;
	d->keys = keys;
	d->opens = (struct session_door){ keys_find, anybody, own };
	d->retry_ms = RETRY_MS_FIRST;
	d->thread = thread_new("door", &clock_machine);
	d->me = actor_new(d->thread, &ops, d);
	struct admin_settings aset = { p->state_dir, .leader = d->leader };
	d->admin = admin_new(d->thread, &aset);
	int r = thread_start(d->thread, err);
	if (r < 0)
		door_close(d);
	else
		*ret_door = d;
	return r;
}

void door_close(struct door *d)
{
	if (!d)
		return;
	thread_stop(d->thread);
	thread_free(d->thread);
	admin_free(d->admin);
	free(d->ways);
	free(d);
}
