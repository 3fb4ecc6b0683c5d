/* The session with the BaseServer: asks go out, answers find their call again by its number.
 *
 * An actor of its own. A call that waits is in n->asks, and leaves it with its answer, at its
 * deadline, or when the session ends: then it fails with E_AGAIN and is not asked again
 * (cgi/server rule 3). Who follows events and logs is in net_follow.c; nothing here writes to a
 * connection.
 */
#include "cgi/server/net.h"

#include <stdio.h>
#include <stdlib.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/fresh.h"
#include "cgi/server/net_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "wire/enrol.h"
#include "wire/identity.h"

#define ROUND_US    (250 * US_PER_MS)
#define SILENCE_MS  10000
#define QUEUE_BYTES ((size_t)16 * 1024 * 1024)

/* --- waiting calls --- */

static void asks_fail(struct net *n, int code, const char *text)
{
	struct call *c = n->asks;

	n->asks = NULL;
	while (c) {
		struct call *next = c->next;

		if (c->ask_command)
			snprintf(
				c->hint, sizeof c->hint,
				"the command may have been taken: ask again with request_id \"%s\"",
				c->ask_request);
		net__call_end(c, code, text);
		c = next;
	}
}

static void asks_expire(struct net *n, int64_t now)
{
	struct call **p = &n->asks;

	while (*p) {
		struct call *c = *p;

		if (c->deadline_us > now) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		net__pieces_end(n, c);
		net__call_end(c, E_TIMEOUT, "the baseserver did not answer in time");
	}
}

/* A body beside an error says where, what to do, or lists what is wrong. */
static void answer_error(struct call *c, const char *body, size_t bytes)
{
	struct cJSON *root = NULL;

	if (bytes == 0 || json_parse(body, bytes, &root, NULL) < 0)
		return;
	if (json_text(root, "place"))
		snprintf(c->place, sizeof c->place, "%s", json_text(root, "place"));
	if (json_text(root, "hint"))
		snprintf(c->hint, sizeof c->hint, "%s", json_text(root, "hint"));
	if (json_get(root, "errors"))
		buf_put(&c->details, body, bytes);
	json_free(root);
}

static void on_answer(struct net *n, const Sirdar__Answer *a)
{
	if (net__signs_answered(n, a))
		return;
	struct call *c = net__ask_take(n, a->id);

	if (!c)
		return; /* its time was over */
	net__pieces_end(n, c);
	c->number = a->number;
	if (c->ask_command)
		fresh_told(n->cgi->fresh, a->number);
	if (a->code < 0)
		answer_error(c, (const char *)a->body.data, a->body.len);
	else
		buf_put(&c->out, a->body.data, a->body.len);
	if (c->ask_command && a->code == 0)
		net__news_own(n, c);
	net__call_end(c, a->code, a->text);
}

static void on_piece_ack(struct net *n, const Sirdar__PieceAck *a)
{
	for (struct call *c = n->asks; c; c = c->next)
		if (c->ask_id == a->id && c->in_pieces) {
			net__pieces_go_on(n, c, a->taken);
			return;
		}
}

static void log_ask_send(struct net *n, struct call *c, Sirdar__LogRead *m);

static void on_log_data(struct net *n, const Sirdar__LogData *d)
{
	struct call *c = net__ask_take(n, d->id);
	Sirdar__LogRead m = SIRDAR__LOG_READ__INIT;
	int code;

	if (!c) {
		net__followers_log(n, d);
		return;
	}
	struct log_ask *a = c->extra;
	if (log_read_take(a, d, &c->out, &m, &code) == LOGREAD_MORE)
		log_ask_send(n, c, &m);
	else
		net__call_end(c, code, a->ret_why ? a->ret_why : d->text);
}

/* --- the session --- */

static void on_up(void *ctx)
{
	net__followers_up(ctx);
}

static void on_down(void *ctx, bool was_up)
{
	struct net *n = ctx;

	n->subscribed = false;
	net__signs_down(n);
	fresh_lost(n->cgi->fresh);
	asks_fail(n, E_AGAIN, "the session with the baseserver ended before it answered");
	if (was_up)
		net__followers_down(n);
}

static void on_frame(void *ctx, enum frame_kind kind, const void *message)
{
	struct net *n = ctx;

	switch ((int)kind) {
	case FR_ANSWER:
		on_answer(n, message);
		break;
	case FR_PIECE_ACK:
		on_piece_ack(n, message);
		break;
	case FR_EVENTS:
		net__followers_event(n, message);
		break;
	case FR_LOG_DATA:
		on_log_data(n, message);
		break;
	default:
		break;
	}
}

static const struct client_ops client_calls = { .up = on_up, .frame = on_frame, .down = on_down };

/* --- asks ------------------------------------------------------------------------------ */

/* Have the call wait; else end it with what stands against it. */
static bool ask_wait(struct net *n, struct call *c)
{
	char text[400];

	if (!client_is_up(n->client)) {
		snprintf(text, sizeof text, "the baseserver %s cannot be reached: %.200s",
		         client_server(n->client), client_why(n->client));
		net__call_end(c, E_AGAIN, text);
		return false;
	}
	c->next = n->asks;
	n->asks = c;
	return true;
}

static void ask_send(struct net *n, struct call *c, enum frame_kind kind, const void *message)
{
	struct err err = { 0 };
	int r;

	if (!ask_wait(n, c))
		return;
	r = client_send(n->client, kind, message, &err);
	if (r < 0 && net__ask_take(n, c->ask_id) == c)
		net__call_end(c, r, err.text);
}

static void ask_command(struct net *n, struct call *c)
{
	struct err err = { 0 };
	int r;

	c->in_pieces = net__wants_pieces(c);
	c->sent = 0;
	if (!ask_wait(n, c))
		return;
	if (c->in_pieces) {
		net__pieces_go_on(n, c, 0);
		return;
	}
	r = net__send_command(n, c, &err);
	if (r < 0 && net__ask_take(n, c->ask_id) == c)
		net__call_end(c, r, err.text);
}

/* The password leaves with it, and is not kept. */
static void ask_sign_in(struct net *n, struct call *c)
{
	Sirdar__SignIn m = SIRDAR__SIGN_IN__INIT;

	c->ask_sign_in = false;
	m.id = c->ask_id;
	m.credential = c->credential;
	m.args.data = buf_room(&c->ask_args, 1) - c->ask_args.len;
	m.args.len = c->ask_args.len;
	ask_send(n, c, FR_SIGN_IN, &m);
}

void net_ask(struct letter *l, void *self)
{
	struct net *n = self;
	struct call *c = (struct call *)l;
	Sirdar__Query m = SIRDAR__QUERY__INIT;
	char *kind;

	CHECK(c->suspended && c->ask_kind);
	c->ask_id = ++n->last_id;
	if (c->ask_sign_in) {
		ask_sign_in(n, c);
		return;
	}
	if (c->ask_command) {
		ask_command(n, c);
		return;
	}
	kind = mem_str(c->ask_kind);
	m.id = c->ask_id;
	m.kind = kind;
	m.args.data = buf_room(&c->ask_args, 1) - c->ask_args.len;
	m.args.len = c->ask_args.len;
	ask_send(n, c, FR_QUERY, &m);
	free(kind);
}

/* A question of several: each has a number of its own. */
static void log_ask_send(struct net *n, struct call *c, Sirdar__LogRead *m)
{
	const struct log_ask *a = c->extra;
	Sirdar__Key key = SIRDAR__KEY__INIT;

	c->ask_id = ++n->last_id;
	key.task_id = a->key.task;
	key.run_date = a->key.run_date;
	key.part = a->key.part;
	m->id = c->ask_id;
	m->key = &key;
	ask_send(n, c, FR_LOG_READ, m);
	m->key = NULL;
}

void net_log(struct letter *l, void *self)
{
	struct net *n = self;
	struct call *c = (struct call *)l;
	Sirdar__LogRead m = SIRDAR__LOG_READ__INIT;

	CHECK(c->suspended && c->extra && !c->ask_command);
	log_read_begin(c->extra, net__has_records(n), &m);
	log_ask_send(n, c, &m);
}

/* --- the actor --- */

static void round_alarm(void *self)
{
	struct net *n = self;
	int64_t now = actor_mono_us(n->me);

	asks_expire(n, now);
	net__tell(n);
	net__followers_fresh(n);
	net__signs_look(n, now);
	client_look(n->client, actor_loop(n->me), now);
	if (now >= n->beat_at_us) {
		n->beat_at_us = now + US_PER_S;
		net__followers_beat(n);
	}
	actor_alarm(n->me, now + ROUND_US);
}

static int net_init(void *self, struct actor *me, struct err *err)
{
	struct net *n = self;

	(void)err;
	n->me = me;
	n->signs.next_us = actor_mono_us(me) + param_now(n->cgi->param.sign_ins_ms) * US_PER_MS;
	actor_alarm(me, actor_mono_us(me));
	return 0;
}

static void net_fini(void *self)
{
	struct net *n = self;

	client_drop(n->client);
	asks_fail(n, E_CLOSED, NULL);
	net__followers_end(n);
}

int net_check(const struct param_cgi *p, struct err *err)
{
	struct identity own = { 0 };
	int r = identity_read(p->key_file, p->name, &own, err);

	identity_wipe(&own);
	return r;
}

int net_new(struct thread *th, struct cgi *cgi, struct net **ret_net, struct err *err)
{
	struct net *n = mem_new(sizeof *n);
	const struct param_cgi *p = &cgi->param;
	const struct client_settings set = { .servers = p->server.items,
		                             .n_servers = p->server.n,
		                             .name = p->name,
		                             .key_file = p->key_file,
		                             .silence_ms = SILENCE_MS,
		                             .queue_bytes = QUEUE_BYTES };
	int r = client_new(&set, &client_calls, n, &n->client, err);

	n->cgi = cgi;
	buf_init(&n->signs.args);
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
	if (!n)
		return;
	client_free(n->client);
	net__told_done(&n->told);
	buf_done(&n->signs.args);
	free(n);
}

struct actor *net_actor(struct net *n)
{
	return n->me;
}

bool net_up(struct net *n)
{
	return client_is_up(n->client);
}

int net_enrol(const struct param_cgi *p, char *const *words)
{
	struct enrol_settings set = { p->name,     p->key_file,  p->server.items,
		                      p->server.n, p->state_dir, .kind = PEER_FACE };

	return enrol_main(&set, "sirdar-cgi", words);
}
