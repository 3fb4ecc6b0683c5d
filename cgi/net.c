#include "cgi/net.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/call.h"
#include "cgi/call_impl.h"
#include "cgi/cgi.h"
#include "cgi/fresh.h"
#include "cgi/net_impl.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "util/log.h"
#include "wire/keys.h"
#include "wire/net.h"
#include "wire/protocol.h"

#define RETRY_MIN_US (200 * US_PER_MS)
#define RETRY_MAX_US (5 * US_PER_S)
#define ROUND_US     (250 * US_PER_MS)
#define SILENCE_MS   10000 /* it is asked every second */
#define HANDSHAKE_MS 5000
#define QUEUE_BYTES  ((size_t)16 * 1024 * 1024)

/* --- waiting calls --- */

static void call_end(struct call *c, int code, const char *text)
{
	if (code < 0)
		err_set(&c->err, code, "%s",
		        text != NULL && text[0] != '\0' ? text : err_text(code));
	call_resume(c);
}

/* Take the call with this id out of the list. */
static struct call *ask_take(struct net *n, uint64_t id)
{
	for (struct call **p = &n->asks; *p != NULL; p = &(*p)->next) {
		struct call *c = *p;

		if (c->ask_id != id)
			continue;
		*p = c->next;
		return c;
	}
	return NULL;
}

static void asks_fail(struct net *n, int code, const char *text)
{
	struct call *c = n->asks;

	n->asks = NULL;
	while (c != NULL) {
		struct call *next = c->next;

		if (c->ask_command)
			snprintf(
				c->hint, sizeof(c->hint),
				"the command may have been taken: ask again with request_id \"%s\"",
				c->ask_request);
		call_end(c, code, text);
		c = next;
	}
}

static void asks_expire(struct net *n, int64_t now)
{
	struct call **p = &n->asks;

	while (*p != NULL) {
		struct call *c = *p;

		if (c->deadline_us > now) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		call_end(c, E_TIMEOUT, "the baseserver did not answer in time");
	}
}

/* A body beside an error says where, what to do, or lists what is wrong. */
static void answer_error(struct call *c, const char *body, size_t bytes)
{
	struct cJSON *root = NULL;

	if (bytes == 0 || json_parse(body, bytes, &root, NULL) < 0)
		return;
	if (json_text(root, "place") != NULL)
		snprintf(c->place, sizeof(c->place), "%s", json_text(root, "place"));
	if (json_text(root, "hint") != NULL)
		snprintf(c->hint, sizeof(c->hint), "%s", json_text(root, "hint"));
	if (json_get(root, "errors") != NULL)
		buf_put(&c->details, body, bytes);
	json_free(root);
}

static void on_answer(struct net *n, const Sirdar__Answer *a)
{
	struct call *c = ask_take(n, a->id);

	if (c == NULL)
		return; /* its time was over */
	c->number = a->number;
	if (c->ask_command)
		fresh_told(n->cgi->fresh, a->number);
	if (a->code < 0)
		answer_error(c, (const char *)a->body.data, a->body.len);
	else
		buf_put(&c->out, a->body.data, a->body.len);
	call_end(c, a->code, a->text);
}

static void on_log_data(struct net *n, const Sirdar__LogData *d)
{
	struct call *c = ask_take(n, d->id);
	struct log_ask *l;

	if (c == NULL) {
		net_followers_log(n, d);
		return;
	}
	l = c->extra;
	l->ret_offset = d->offset;
	l->ret_generation = d->generation;
	l->ret_attempt = d->attempt;
	l->ret_end = d->end;
	buf_put(&c->out, d->data.data, d->data.len);
	call_end(c, d->code, d->text);
}

/* --- the session --- */

/* A standby's word who leads is followed once; else all are asked in turn. */
static void next_server(struct net *n, bool was_up)
{
	bool follow = n->is_standby && n->leader < n->servers_n && !n->followed;

	n->server_at = follow ? n->leader : (n->server_at + 1) % n->servers_n;
	n->followed = n->followed || follow;
	if (was_up || follow || (n->told && !n->is_standby))
		n->retry_us = RETRY_MIN_US;
	else if (n->is_standby)
		n->retry_us = n->retry_ms * US_PER_MS;
	else
		n->retry_us *= 2;
	if (n->retry_us < RETRY_MIN_US)
		n->retry_us = RETRY_MIN_US;
	if (n->retry_us > RETRY_MAX_US)
		n->retry_us = RETRY_MAX_US;
	n->told = n->is_standby;
	n->is_standby = false;
}

static void down(struct net *n, const char *why)
{
	bool was = atomic_exchange(&n->up, false);

	n->session = NULL;
	n->subscribed = false;
	fresh_lost(n->cgi->fresh);
	snprintf(n->why, sizeof(n->why), "%s", why);
	if (was)
		log_warn("server.lost", "server=%s why=\"%s\"", n->servers[n->server_at].text, why);
	else
		log_debug("server.unreachable", "server=%s why=\"%s\"",
		          n->servers[n->server_at].text, why);
	next_server(n, was);
	n->retry_at_us = actor_mono_us(n->me) + n->retry_us;
	asks_fail(n, E_AGAIN, "the session with the baseserver ended before it answered");
	if (was)
		net_followers_down(n);
}

static void on_open(void *ctx, struct session *s, const char *identity)
{
	struct net *n = ctx;
	Sirdar__Hello h = SIRDAR__HELLO__INIT;
	char version[] = SIRDAR_VERSION, empty[] = "";

	(void)identity;
	h.protocol_min = protocol_min;
	h.protocol_max = protocol_max;
	h.role = 3;
	h.name = n->identity;
	h.software = version;
	h.boot_id = empty;
	h.host = empty;
	h.incarnation = n->incarnation;
	h.highest_epoch = n->epoch;
	if (session_send(s, FR_HELLO, &h, NULL) < 0)
		session_end(s, E_IO, "hello does not go out");
}

static void on_welcome(struct net *n, struct session *s, const Sirdar__Welcome *w)
{
	session_greeted(s);
	n->epoch = w->epoch > n->epoch ? w->epoch : n->epoch;
	n->retry_us = RETRY_MIN_US;
	n->followed = false;
	atomic_store(&n->up, true);
	log_info("server.up", "server=%s epoch=%u", n->servers[n->server_at].text, w->epoch);
	net_followers_up(n);
}

static int on_refuse(struct net *n, struct session *s, const Sirdar__Refuse *r)
{
	n->is_standby = r->code == E_STANDBY;
	n->retry_ms = r->retry_ms;
	for (n->leader = 0; n->leader < n->servers_n; n->leader++)
		if (strcmp(n->servers[n->leader].text, r->leader) == 0)
			break;
	session_end(s, r->code < 0 ? r->code : E_FORBIDDEN, r->text);
	return 0;
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct net *n = ctx;

	n->heard_us = actor_mono_us(n->me);
	switch ((int)kind) {
	case FR_WELCOME:
		on_welcome(n, s, message);
		return 0;
	case FR_REFUSE:
		return on_refuse(n, s, message);
	case FR_PING:
		return session_send(s, FR_PONG, message, NULL) == E_CLOSED ? E_CLOSED : 0;
	case FR_ANSWER:
		on_answer(n, message);
		return 0;
	case FR_EVENTS:
		net_followers_event(n, message);
		return 0;
	case FR_LOG_DATA:
		on_log_data(n, message);
		return 0;
	default:
		return 0;
	}
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct net *n = ctx;

	(void)s;
	down(n, err != NULL && err->text[0] != '\0' ? err->text : "the session ended");
}

static const struct session_ops session_calls = {
	.on_open = on_open,
	.on_frame = on_frame,
	.on_end = on_end,
};

static void session_try(struct net *n)
{
	const struct server *sv = &n->servers[n->server_at];
	const struct session_limits limits = { .handshake_ms = HANDSHAKE_MS,
		                               .idle_ms = SILENCE_MS,
		                               .queue_bytes = QUEUE_BYTES };
	struct session *s = NULL;
	struct err err = { 0 };

	if (session_connect(actor_loop(n->me), sv->host, sv->port, n->identity, n->key,
	                    &session_calls, n, &limits, &s, &err) < 0)
		down(n, err.text);
	else
		n->session = s;
}

/* --- asks ------------------------------------------------------------------------------ */

/* Send, and have the call wait; else end it with what stands against it. */
static void ask_send(struct net *n, struct call *c, enum frame_kind kind, const void *message)
{
	struct err err = { 0 };
	char text[400];
	int r;

	if (!atomic_load(&n->up)) {
		snprintf(text, sizeof(text), "the baseserver %s cannot be reached: %.200s",
		         n->servers[n->server_at].text, n->why);
		call_end(c, E_AGAIN, text);
		return;
	}
	c->next = n->asks;
	n->asks = c;
	r = session_send(n->session, kind, message, &err);
	if (r < 0 && ask_take(n, c->ask_id) == c)
		call_end(c, r, err.text);
}

void net_ask(struct letter *l, void *self)
{
	struct net *n = self;
	struct call *c = (struct call *)l;
	char *kind = mem_str(c->ask_kind), *actor = mem_str(c->actor);

	c->ask_id = ++n->last_id;
	if (c->ask_command) {
		Sirdar__Command m = SIRDAR__COMMAND__INIT;

		m.id = c->ask_id;
		m.request_id = c->ask_request;
		m.actor = actor;
		m.kind = kind;
		m.args.data = buf_room(&c->ask_args, 1) - c->ask_args.len;
		m.args.len = c->ask_args.len;
		m.dry_run = c->ask_dry;
		ask_send(n, c, FR_COMMAND, &m);
	} else {
		Sirdar__Query m = SIRDAR__QUERY__INIT;

		m.id = c->ask_id;
		m.kind = kind;
		m.args.data = buf_room(&c->ask_args, 1) - c->ask_args.len;
		m.args.len = c->ask_args.len;
		ask_send(n, c, FR_QUERY, &m);
	}
	free(actor);
	free(kind);
}

void net_log(struct letter *l, void *self)
{
	struct net *n = self;
	struct call *c = (struct call *)l;
	const struct log_ask *a = c->extra;
	Sirdar__LogRead m = SIRDAR__LOG_READ__INIT;
	Sirdar__Key key = SIRDAR__KEY__INIT;

	c->ask_id = ++n->last_id;
	key.task_id = a->key.task;
	key.run_date = a->key.run_date;
	key.part = a->key.part;
	m.id = c->ask_id;
	m.key = &key;
	m.generation = a->generation;
	m.attempt = a->attempt;
	m.stream = a->stream;
	m.offset = a->offset;
	m.bytes_max = a->bytes_max;
	ask_send(n, c, FR_LOG_READ, &m);
}

/* --- the actor --- */

static void beat(struct net *n)
{
	Sirdar__Ping p = SIRDAR__PING__INIT;

	if (atomic_load(&n->up))
		session_send(n->session, FR_PING, &p, NULL);
	net_followers_beat(n);
}

static void round_alarm(void *self)
{
	struct net *n = self;
	int64_t now = actor_mono_us(n->me);

	asks_expire(n, now);
	net_followers_fresh(n);
	if (n->session == NULL && now >= n->retry_at_us)
		session_try(n);
	if (now >= n->beat_at_us) {
		n->beat_at_us = now + US_PER_S;
		beat(n);
	}
	actor_alarm(n->me, now + ROUND_US);
}

static int net_init(void *self, struct actor *me, struct err *err)
{
	struct net *n = self;

	(void)err;
	n->me = me;
	n->retry_us = RETRY_MIN_US;
	snprintf(n->why, sizeof(n->why), "not tried yet");
	actor_alarm(me, actor_mono_us(me));
	return 0;
}

static void net_fini(void *self)
{
	struct net *n = self;

	atomic_store(&n->up, false);
	session_drop(n->session);
	n->session = NULL;
	asks_fail(n, E_CLOSED, NULL);
	net_followers_end(n);
}

static int server_parse(const char *text, struct server *ret, struct err *err)
{
	snprintf(ret->text, sizeof(ret->text), "%.79s", text);
	return net_server(text, ret->host, &ret->port, err);
}

/* Without a file, all zero: what a server on loopback takes from those it has no keys for, or
 * refuses. */
static int key_load(struct net *n, struct err *err)
{
	const struct param_cgi *p = &n->cgi->param;

	snprintf(n->identity, sizeof(n->identity), "%s", p->name);
	return p->key_file[0] == '\0' ? 0 : keys_own(p->key_file, n->identity, n->key, err);
}

int net_new(struct thread *th, struct cgi *cgi, struct net **ret_net, struct err *err)
{
	struct net *n = mem_new(sizeof(*n));
	int r = 0;

	n->cgi = cgi;
	randombytes_buf(&n->incarnation, sizeof(n->incarnation));
	for (size_t i = 0; r == 0 && i < cgi->param.server.n && i < SERVERS_MAX; i++)
		r = server_parse(cgi->param.server.items[i], &n->servers[n->servers_n++], err);
	if (r == 0)
		r = key_load(n, err);
	if (r < 0) {
		free(n);
		return r;
	}
	n->ops = (struct actor_ops){ .name = "net",
		                     .letters_max = (size_t)cgi->param.connections_max + 64,
		                     .init = net_init,
		                     .alarm = round_alarm,
		                     .fini = net_fini };
	n->me = actor_new(th, &n->ops, n);
	*ret_net = n;
	return 0;
}

void net_free(struct net *n)
{
	if (n == NULL)
		return;
	sodium_memzero(n->key, sizeof(n->key));
	free(n);
}

struct actor *net_actor(struct net *n)
{
	return n->me;
}

bool net_up(struct net *n)
{
	return atomic_load(&n->up);
}
