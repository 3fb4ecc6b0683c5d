/* The session with the BaseServer: news comes in, what the server is to hear goes out.
 *
 * An actor on a thread of its own. Nothing is kept here: what the server does not acknowledge
 * before the session ends goes back to its owner as E_AGAIN. Facts about machines and the server
 * are asked for only while somebody wants to hear of them. Without a session `news` is called at
 * each beat all the same, because another server may write the store.
 */
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
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "wire/client.h"

#define BEAT_US (5 * US_PER_S)

/* Ids of what is sent: facts are 1 and on. */
enum { SAY_ID = 100, HERE_ID, FORGET_ID };
enum { SILENCE_MS = 30000, QUEUE_BYTES = 1 << 20 };

struct wake {
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
	struct client *client;
	int64_t beat_us; /* mono: of the next one */
};

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
	return client_send(w->client, FR_ALERTS, &q, NULL);
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

	CHECK(!w->say); /* the next is made when this one was answered */
	w->say = (struct say *)l;
	if (!client_is_up(w->client) || alerts_send(w, SAY_ID, w->say->json) < 0)
		say_over(w, E_AGAIN);
}

static void say_discard(struct letter *l)
{
	say_free((struct say *)l);
}

void wake_say(struct wake *w, struct say *s)
{
	s->letter = (struct letter){ .deliver = on_say, .discard = say_discard };
	if (actor_post_credit(w->me, &s->letter) < 0)
		say_free(s);
}

static void on_ask(struct wake *w, const Sirdar__Query *m)
{
	struct ask *a = mem_new(sizeof *a);

	a->id = m->id;
	a->meeting = w->meeting;
	snprintf(a->kind, sizeof a->kind, "%s", m->kind);
	a->args = m->args.len ? mem_strn((const char *)m->args.data, m->args.len) : mem_str("{}");
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
	if (a->meeting == w->meeting)
		client_send(w->client, FR_REPLY, &m, NULL);
	ask_free(a);
}

static void ask_discard(struct letter *l)
{
	ask_free((struct ask *)l);
}

void wake_reply(struct wake *w, struct ask *a)
{
	a->letter = (struct letter){ .deliver = on_reply, .discard = ask_discard };
	if (actor_post_credit(w->me, &a->letter) < 0)
		ask_free(a);
}

/* --- devices --------------------------------------------------------------------------- */

struct forget {
	struct letter letter;
	char *args; /* owned JSON */
};

static void forget_discard(struct letter *l)
{
	struct forget *f = (struct forget *)l;

	free(f->args);
	free(f);
}

static void on_forget(struct letter *l, void *self)
{
	struct wake *w = self;
	struct forget *f = (struct forget *)l;
	Sirdar__Command m = SIRDAR__COMMAND__INIT;
	char kind[] = "device-remove", actor[] = "notifier";

	m.id = FORGET_ID;
	m.kind = kind;
	m.actor = actor;
	m.args.data = (uint8_t *)f->args;
	m.args.len = strlen(f->args);
	if (client_is_up(w->client))
		client_send(w->client, FR_COMMAND, &m, NULL);
	forget_discard(l);
}

void wake_forget(struct wake *w, const char *device)
{
	struct forget *f = mem_new(sizeof *f);

	f->args = mem_fmt("{\"device\":\"%s\",\"message\":\"its push service knows it no more\"}",
	                  device);
	f->letter = (struct letter){ .deliver = on_forget, .discard = forget_discard };
	if (actor_post_credit(w->me, &f->letter) < 0)
		forget_discard(&f->letter);
}

/* --- secrets of channels ------------------------------------------------------------------ */

void given_free(struct given *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < 3; i++) {
		if (g->secret[i])
			sodium_memzero(g->secret[i], strlen(g->secret[i]));
		free(g->secret[i]);
	}
	free(g->channel);
	free(g);
}

struct wish {
	struct letter letter;
	char *channel; /* owned */
};

static void wish_discard(struct letter *l)
{
	struct wish *f = (struct wish *)l;

	free(f->channel);
	free(f);
}

static void on_wish(struct letter *l, void *self)
{
	struct wake *w = self;
	Sirdar__ChannelAsk m = SIRDAR__CHANNEL_ASK__INIT;

	m.channel = ((struct wish *)l)->channel;
	if (client_is_up(w->client))
		client_send(w->client, FR_CHANNEL_ASK, &m, NULL);
	wish_discard(l);
}

void wake_ask_secrets(struct wake *w, const char *channel)
{
	struct wish *f = mem_new(sizeof *f);

	f->channel = mem_str(channel);
	f->letter = (struct letter){ .deliver = on_wish, .discard = wish_discard };
	if (actor_post_credit(w->me, &f->letter) < 0)
		wish_discard(&f->letter);
}

static void on_given(struct wake *w, const Sirdar__ChannelGive *m)
{
	static const char *const names[] = { "url", "password", "secret" };
	struct given *g = mem_new(sizeof *g);

	g->channel = mem_str(m->channel);
	g->version = m->version;
	g->code = m->code;
	snprintf(g->text, sizeof g->text, "%s", m->text);
	for (size_t i = 0; i < m->n_params; i++)
		for (size_t k = 0; k < 3; k++)
			if (strcmp(m->params[i]->name, names[k]) == 0 && !g->secret[k])
				g->secret[k] = mem_str(m->params[i]->value);
	w->ops->given(w->ctx, g);
}

/* --- the session begins ---------------------------------------------------------------- */

static void on_up(void *ctx)
{
	struct wake *w = ctx;
	Sirdar__Subscribe all = SIRDAR__SUBSCRIBE__INIT;

	all.from_number = w->ops->place(w->ctx);
	client_send(w->client, FR_SUBSCRIBE, &all, NULL);
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
	int r = client_send(w->client, FR_TOLD, &m, NULL);
	free(m.item);
	free(keys);
	free(items);
	return r;
}

static void on_tell(struct letter *l, void *self)
{
	struct wake *w = self;

	CHECK(!w->told && ((struct told *)l)->n > 0);
	w->told = (struct told *)l;
	w->unanswered = w->told->n;
	for (size_t i = 0; i < w->told->n; i++)
		w->told->items[i].code = E_AGAIN;
	if (!client_is_up(w->client) || told_send_all(w, w->told) < 0)
		told_over(w);
}

static void told_discard(struct letter *l)
{
	told_free((struct told *)l);
}

void wake_tell(struct wake *w, struct told *t)
{
	t->letter = (struct letter){ .deliver = on_tell, .discard = told_discard };
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
		CHECK(w->unanswered > 0);
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

	for (int i = 0; i < WAKE_FACTS; i++) {
		Sirdar__Query q = SIRDAR__QUERY__INIT;
		q.id = (uint64_t)i + 1;
		q.kind = (char *)(uintptr_t)fact_queries[i];
		q.args.data = (uint8_t *)none;
		q.args.len = strlen(none);
		client_send(w->client, FR_QUERY, &q, NULL);
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

static void on_frame(void *ctx, enum frame_kind kind, const void *message)
{
	struct wake *w = ctx;

	switch ((int)kind) {
	case FR_EVENTS:
		w->ops->news(w->ctx);
		break;
	case FR_ANSWER:
		on_answer(w, message);
		break;
	case FR_ASK:
		on_ask(w, message);
		break;
	case FR_CHANNEL_GIVE:
		on_given(w, message);
		break;
	case FR_REPORT_ACKS:
		on_acks(w, message);
		break;
	default:
		break;
	}
}

static void on_down(void *ctx, bool was_up)
{
	struct wake *w = ctx;

	(void)was_up;
	told_over(w);
	say_over(w, E_AGAIN);
	actor_alarm(w->me, actor_mono_us(w->me)); /* when to try again is to be asked */
}

static const struct client_ops client_calls = { .up = on_up, .frame = on_frame, .down = on_down };

/* --- the actor ----------------------------------------------------------------------- */

static void beat(struct wake *w, int64_t now_us)
{
	w->beat_us = now_us + BEAT_US;
	if (client_is_up(w->client) && atomic_load(&w->asks_facts))
		ask_facts(w);
	/* "after 0" cannot be asked for: it means from now on; and while there is no session
	 * another server may write. */
	if (!client_is_up(w->client) || w->ops->place(w->ctx) == 0)
		w->ops->news(w->ctx);
}

static void on_alarm(void *self)
{
	struct wake *w = self;
	int64_t now_us = actor_mono_us(w->me);

	if (now_us >= w->beat_us)
		beat(w, now_us);
	int64_t next_us = client_look(w->client, actor_loop(w->me), now_us);
	actor_alarm(w->me, next_us < w->beat_us ? next_us : w->beat_us);
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

	client_drop(w->client);
	told_free(w->told);
	w->told = NULL;
	say_free(w->say);
	w->say = NULL;
}

/* --- start --------------------------------------------------------------------------- */

int wake_start(const struct param_notifier *p, const struct wake_ops *ops, void *ctx,
               struct wake **ret_wake, struct err *err)
{
	struct wake *w = mem_new(sizeof *w);
	const struct client_settings set = { .servers = p->server.items,
		                             .n_servers = p->server.n,
		                             .name = p->name,
		                             .key_file = p->key_file,
		                             .silence_ms = SILENCE_MS,
		                             .queue_bytes = QUEUE_BYTES };
	int r = client_new(&set, &client_calls, w, &w->client, err);

	w->ops = ops;
	w->ctx = ctx;
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
	return client_is_up(w->client);
}

void wake_stop(struct wake *w)
{
	if (!w)
		return;
	thread_stop(w->thread);
	thread_free(w->thread);
	client_free(w->client);
	free(w);
}
