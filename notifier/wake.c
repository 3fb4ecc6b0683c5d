#include "notifier/wake.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/actor.h"
#include "rt/thread.h"
#include "sirdar.pb-c.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "wire/keys.h"
#include "wire/net.h"
#include "wire/protocol.h"
#include "wire/session.h"

#define RETRY_MIN_US (200 * US_PER_MS)
#define RETRY_MAX_US (5 * US_PER_S)
#define BEAT_US      (5 * US_PER_S)

/* Ids of what is sent: facts are 1 and on. */
enum { SAY_ID = 100, HERE_ID };
enum { SERVERS_MAX = 16, SILENCE_MS = 30000, HANDSHAKE_MS = 5000, QUEUE_BYTES = 1 << 20 };

struct server {
	char host[NET_TEXT_BYTES];
	uint16_t port;
};

struct wake {
	const struct param_notifier *param;
	const struct wake_ops *ops;
	void *ctx;
	struct thread *thread;
	struct actor *me;
	struct actor_ops actor_ops;
	_Atomic bool asks_facts;
	struct told *told; /* sent, not answered as a whole */
	struct say *say;   /* sent, not answered */
	uint64_t meeting;  /* grows with each session */
	size_t unanswered;
	struct server servers[SERVERS_MAX];
	size_t n, at;
	uint8_t key[KEY_BYTES];
	uint64_t incarnation;
	uint32_t epoch;
	struct session *session;
	_Atomic bool up;
	int64_t retry_us;
};

/* --- the session --------------------------------------------------------------------- */

static void on_open(void *ctx, struct session *s, const char *identity)
{
	struct wake *w = ctx;
	Sirdar__Hello h = SIRDAR__HELLO__INIT;
	char version[] = SIRDAR_VERSION, empty[] = "";

	(void)identity;
	h.protocol_min = protocol_min;
	h.protocol_max = protocol_max;
	h.role = 3;
	h.name = w->param->name;
	h.software = version;
	h.boot_id = empty;
	h.host = empty;
	h.incarnation = w->incarnation;
	h.highest_epoch = w->epoch;
	if (session_send(s, FR_HELLO, &h, NULL) < 0)
		session_end(s, E_IO, "hello does not go out");
}

/* --- alerts, and what is asked of us --------------------------------------------------- */

void say_free(struct say *s)
{
	if (s)
		free(s->json);
	free(s);
}

void ask_free(struct ask *a)
{
	if (!a)
		return;
	free(a->args);
	free(a->body);
	free(a);
}

static int alerts_send(struct wake *w, uint64_t id, const char *json)
{
	Sirdar__Query q = SIRDAR__QUERY__INIT;
	char kind[] = "alerts";

	q.id = id;
	q.kind = kind;
	q.args.data = (uint8_t *)(uintptr_t)json;
	q.args.len = strlen(json);
	return session_send(w->session, FR_ALERTS, &q, NULL);
}

static void say_over(struct wake *w, int code)
{
	struct say *s = w->say;

	w->say = NULL;
	if (!s)
		return;
	s->code = code;
	w->ops->said(w->ctx, s);
}

static void on_say(struct letter *l, void *self)
{
	struct wake *w = self;

	w->say = (struct say *)l;
	if (!w->up || alerts_send(w, SAY_ID, w->say->json) < 0)
		say_over(w, E_AGAIN);
}

static void say_discard(struct letter *l)
{
	say_free((struct say *)l);
}

void wake_say(struct wake *w, struct say *s)
{
	s->letter.deliver = on_say;
	s->letter.discard = say_discard;
	if (actor_post_credit(w->me, &s->letter) < 0)
		say_free(s);
}

static void on_ask(struct wake *w, const Sirdar__Query *m)
{
	struct ask *a = mem_new(sizeof *a);

	a->id = m->id;
	a->meeting = w->meeting;
	snprintf(a->kind, sizeof a->kind, "%s", m->kind);
	a->args = mem_strn((const char *)m->args.data, m->args.len);
	w->ops->asked(w->ctx, a);
}

static void on_reply(struct letter *l, void *self)
{
	struct wake *w = self;
	struct ask *a = (struct ask *)l;
	Sirdar__Answer m = SIRDAR__ANSWER__INIT;

	m.id = a->id;
	m.code = a->code;
	m.text = a->text;
	m.body.data = (uint8_t *)a->body;
	m.body.len = a->body ? strlen(a->body) : 0;
	if (w->up && a->meeting == w->meeting)
		session_send(w->session, FR_REPLY, &m, NULL);
	ask_free(a);
}

static void ask_discard(struct letter *l)
{
	ask_free((struct ask *)l);
}

void wake_reply(struct wake *w, struct ask *a)
{
	a->letter.deliver = on_reply;
	a->letter.discard = ask_discard;
	if (actor_post_credit(w->me, &a->letter) < 0)
		ask_free(a);
}

/* --- the session begins ---------------------------------------------------------------- */

static void on_welcome(struct wake *w, struct session *s, const Sirdar__Welcome *m)
{
	Sirdar__Subscribe all = SIRDAR__SUBSCRIBE__INIT;

	session_greeted(s);
	w->epoch = m->epoch > w->epoch ? m->epoch : w->epoch;
	w->up = true;
	w->retry_us = RETRY_MIN_US;
	log_info("server.up", "server=%s:%u epoch=%u", w->servers[w->at].host,
	         w->servers[w->at].port, m->epoch);
	all.from_number = w->ops->place(w->ctx);
	session_send(s, FR_SUBSCRIBE, &all, NULL);
	w->meeting++;
	alerts_send(w, HERE_ID, "{}"); /* so the server knows whom to ask */
	w->ops->news(w->ctx);
}

/* --- what the server is to hear ------------------------------------------------------ */

void told_free(struct told *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->items[i].who);
	free(t);
}

static void told_over(struct wake *w)
{
	struct told *t = w->told;

	w->told = NULL;
	if (t)
		w->ops->told(w->ctx, t);
}

static int told_send_all(struct wake *w, struct told *t)
{
	Sirdar__ToldItem *items = mem_array(t->n, sizeof *items);
	Sirdar__Key *keys = mem_array(t->n, sizeof *keys);
	Sirdar__Told m = SIRDAR__TOLD__INIT;

	m.item = mem_array(t->n, sizeof *m.item);
	for (size_t i = 0; i < t->n; i++) {
		sirdar__told_item__init(&items[i]);
		sirdar__key__init(&keys[i]);
		keys[i].task_id = t->items[i].task;
		keys[i].run_date = t->items[i].run_date;
		items[i].key = &keys[i];
		items[i].generation = t->items[i].generation;
		items[i].seq = (uint32_t)i + 1;
		items[i].text = t->items[i].who;
		m.item[m.n_item++] = &items[i];
	}
	int r = session_send(w->session, FR_TOLD, &m, NULL);
	free(m.item);
	free(keys);
	free(items);
	return r;
}

static void on_tell(struct letter *l, void *self)
{
	struct wake *w = self;

	w->told = (struct told *)l;
	w->unanswered = w->told->n;
	for (size_t i = 0; i < w->told->n; i++)
		w->told->items[i].code = E_AGAIN;
	if (!w->up || told_send_all(w, w->told) < 0)
		told_over(w);
}

static void told_discard(struct letter *l)
{
	told_free((struct told *)l);
}

void wake_tell(struct wake *w, struct told *t)
{
	t->letter.deliver = on_tell;
	t->letter.discard = told_discard;
	if (actor_post_credit(w->me, &t->letter) < 0)
		told_free(t);
}

static void on_acks(struct wake *w, const Sirdar__ReportAcks *m)
{
	for (size_t i = 0; w->told && i < m->n_ack; i++) {
		uint32_t seq = m->ack[i]->seq;
		if (seq < 1 || seq > w->told->n)
			continue;
		w->told->items[seq - 1].code = m->ack[i]->code;
		w->unanswered--;
	}
	if (w->told && w->unanswered == 0)
		told_over(w);
}

/* --- facts ----------------------------------------------------------------------------- */

static const char *const fact_queries[WAKE_FACTS] = {
	[WAKE_BROKERS] = "brokers", [WAKE_HEALTH] = "health", [WAKE_SERVER] = "server"
};

void wake_ask_facts(struct wake *w, bool ask)
{
	atomic_store(&w->asks_facts, ask);
}

static void ask_facts(struct wake *w)
{
	char none[] = "{}";

	for (int i = 0; i < WAKE_FACTS && w->session; i++) {
		Sirdar__Query q = SIRDAR__QUERY__INIT;
		q.id = (uint64_t)i + 1;
		q.kind = (char *)(uintptr_t)fact_queries[i];
		q.args.data = (uint8_t *)none;
		q.args.len = strlen(none);
		session_send(w->session, FR_QUERY, &q, NULL);
	}
}

static void on_answer(struct wake *w, const Sirdar__Answer *m)
{
	if (m->id == SAY_ID)
		say_over(w, m->code);
	if (m->id < 1 || m->id > WAKE_FACTS || m->code != 0)
		return;
	w->ops->fact(w->ctx, (enum wake_fact)(m->id - 1),
	             mem_strn((const char *)m->body.data, m->body.len));
}

/* --- frames -------------------------------------------------------------------------- */

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct wake *w = ctx;

	switch ((int)kind) {
	case FR_WELCOME:
		on_welcome(w, s, message);
		return 0;
	case FR_REFUSE:
		return E_FORBIDDEN;
	case FR_PING:
		return session_send(s, FR_PONG, message, NULL) == E_CLOSED ? E_CLOSED : 0;
	case FR_EVENTS:
		w->ops->news(w->ctx);
		return 0;
	case FR_ANSWER:
		on_answer(w, message);
		return 0;
	case FR_ASK:
		on_ask(w, message);
		return 0;
	case FR_REPORT_ACKS:
		on_acks(w, message);
		return 0;
	default:
		return 0;
	}
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct wake *w = ctx;

	(void)s;
	if (w->up)
		log_warn("server.lost", "server=%s:%u why=\"%s\"", w->servers[w->at].host,
		         w->servers[w->at].port, err ? err->text : "");
	w->session = NULL;
	w->up = false;
	told_over(w);
	say_over(w, E_AGAIN);
	w->at = (w->at + 1) % w->n;
	w->retry_us = w->retry_us * 2 < RETRY_MAX_US ? w->retry_us * 2 : RETRY_MAX_US;
	actor_alarm(w->me, actor_mono_us(w->me) + w->retry_us);
}

static const struct session_ops session_calls = { .on_open = on_open,
	                                          .on_frame = on_frame,
	                                          .on_end = on_end };

/* --- the actor ----------------------------------------------------------------------- */

static void on_alarm(void *self)
{
	struct wake *w = self;
	const struct session_limits limits = { .handshake_ms = HANDSHAKE_MS,
		                               .idle_ms = SILENCE_MS,
		                               .queue_bytes = QUEUE_BYTES };
	struct err err = { 0 };

	if (w->session) {
		Sirdar__Ping p = SIRDAR__PING__INIT;
		if (w->up)
			session_send(w->session, FR_PING, &p, NULL);
		if (w->up && atomic_load(&w->asks_facts))
			ask_facts(w);
		if (w->up && w->ops->place(w->ctx) == 0)
			w->ops->news(
				w->ctx); /* "after 0" cannot be asked for: it means from now on */
		actor_alarm(w->me, actor_mono_us(w->me) + BEAT_US);
		return;
	}
	w->ops->news(w->ctx); /* another server may have written meanwhile */
	actor_alarm(w->me, actor_mono_us(w->me) + BEAT_US);
	if (session_connect(actor_loop(w->me), w->servers[w->at].host, w->servers[w->at].port,
	                    w->param->name, w->key, &session_calls, w, &limits, &w->session,
	                    &err) < 0)
		on_end(w, NULL, &err);
}

static int on_init(void *self, struct actor *me, struct err *err)
{
	struct wake *w = self;

	(void)err;
	w->me = me;
	actor_alarm(me, actor_mono_us(me));
	return 0;
}

static void on_fini(void *self)
{
	struct wake *w = self;

	session_drop(w->session);
	w->session = NULL;
	told_free(w->told);
	w->told = NULL;
	say_free(w->say);
	w->say = NULL;
}

/* --- start --------------------------------------------------------------------------- */

/* Without a file, all zero: what a server on loopback takes, or refuses. */
static int key_load(struct wake *w, struct err *err)
{
	const struct param_notifier *p = w->param;

	return p->key_file[0] ? keys_own(p->key_file, p->name, w->key, err) : 0;
}

int wake_start(const struct param_notifier *p, const struct wake_ops *ops, void *ctx,
               struct wake **ret_wake, struct err *err)
{
	struct wake *w = mem_new(sizeof *w);
	int r = 0;

	w->param = p;
	w->ops = ops;
	w->ctx = ctx;
	w->retry_us = RETRY_MIN_US;
	randombytes_buf(&w->incarnation, sizeof w->incarnation);
	for (; r == 0 && w->n < p->server.n && w->n < SERVERS_MAX; w->n++)
		r = net_server(p->server.items[w->n], w->servers[w->n].host, &w->servers[w->n].port,
		               err);
	if (r == 0)
		r = key_load(w, err);
	w->thread = thread_new("wake", &clock_machine);
	w->actor_ops = (struct actor_ops){ .name = "wake",
		                           .letters_max = 1,
		                           .init = on_init,
		                           .alarm = on_alarm,
		                           .fini = on_fini };
	actor_new(w->thread, &w->actor_ops, w);
	if (r == 0)
		r = thread_start(w->thread, err);
	if (r < 0) {
		wake_stop(w);
		return r;
	}
	*ret_wake = w;
	return 0;
}

bool wake_is_up(const struct wake *w)
{
	return atomic_load(&w->up);
}

void wake_stop(struct wake *w)
{
	if (!w)
		return;
	thread_stop(w->thread);
	thread_free(w->thread);
	sodium_memzero(w->key, sizeof w->key);
	free(w);
}
