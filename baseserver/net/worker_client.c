/* Clients' sessions: commands and queries to the commander, events as they become durable, logs
 * from the logkeeper.
 *
 * Events stand in one ring for all clients of a worker; each conn has a number up to which it was
 * sent. A client that reads too slowly falls off the ring and gets a GAP instead of memory being
 * kept for it; it then reads the store. Commands and queries wait for the commander's answer, and a
 * query of health is answered here when the core thread is the one that stalls. */
#include "baseserver/net/worker_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/front.h"
#include "baseserver/net/logkeeper.h"
#include "baseserver/net/worker_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { RING = 8192, EVENTS_FRAME = 1000, NOTE_BYTES = 500, SLOW_LOOK_MS = 20 };
#define NO_MORE_EVENTS UINT64_MAX
#define NO_TASK        UINT32_MAX

/* The last events, for those who subscribe from a number. */
struct event_ring {
	Sirdar__Event at[RING];
	char *notes[RING];
	uint64_t floor; /* every event after this number is here */
	uint64_t last;  /* number of the last record seen */
	size_t head, n; /* head: the oldest */
};

static const Sirdar__Event *ring_at(const struct event_ring *r, size_t i)
{
	return &r->at[(r->head + i) % RING];
}

static struct event_ring *ring_of(struct worker *w)
{
	if (!w->ring) {
		w->ring = mem_new(sizeof *w->ring);
		w->ring->floor = w->ring->last = stream_seen(w->in);
	}
	return w->ring;
}

void worker__client_free(struct worker *w)
{
	for (size_t i = 0; w->ring && i < RING; i++)
		free(w->ring->notes[i]);
	free(w->ring);
	w->ring = NULL;
	worker__news_free(w);
}

static int number_of(uint8_t state)
{
	return state == ST_NONE ? -2 : state_number((enum state)state);
}

void worker__client_event(struct worker *w, const struct transition *tr)
{
	struct event_ring *r = w->ring;

	if (!r)
		return; /* no client was ever here */
	CHECK(tr->number >= r->last && r->n <= RING && r->head < RING);
	r->last = tr->number;
	if (tr->kind != TK_INSTANCE)
		return;
	if (r->n == RING) {
		r->floor = r->at[r->head].number;
		r->head = (r->head + 1) % RING;
		r->n--;
	}
	size_t place = (r->head + r->n++) % RING;
	Sirdar__Event *e = &r->at[place];
	const struct instance *i = &tr->inst;
	free(r->notes[place]);
	r->notes[place] = tr->note ? mem_strn(tr->note, strnlen(tr->note, NOTE_BYTES)) : NULL;
	sirdar__event__init(e);
	e->number = tr->number;
	e->at_us = tr->at_us;
	e->task_id = i->key.task;
	e->run_date = i->key.run_date;
	e->part = i->key.part;
	e->from = number_of(tr->from);
	e->to = number_of(tr->to);
	e->event = tr->event;
	e->reason = tr->reason;
	e->attempt = i->attempt;
	e->generation = i->generation;
	e->broker_id = i->broker;
	e->cause = tr->cause;
	if (r->notes[place])
		e->note = r->notes[place];
}

/* Index of the first event after `seen`. */
static size_t first_after(const struct event_ring *r, uint64_t seen)
{
	size_t lo = 0, hi = r->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (ring_at(r, mid)->number <= seen)
			lo = mid + 1;
		else
			hi = mid;
	}
	CHECK(lo <= r->n && (lo == r->n || ring_at(r, lo)->number > seen));
	return lo;
}

static void send_events(struct conn *c, struct event_ring *r)
{
	Sirdar__Event *list[EVENTS_FRAME];
	bool bound = worker__is_bound(c);

	while (c->seen < r->last) {
		Sirdar__Events m = SIRDAR__EVENTS__INIT;
		if (session_queued(c->session) > c->w->set.queue_bytes / 4) {
			/* Nobody tells us when it has been read: look again soon. */
			actor_alarm(c->w->me, actor_mono_us(c->w->me) + SLOW_LOOK_MS * US_PER_MS);
			return;
		}
		m.gap = c->seen < r->floor;
		if (m.gap)
			c->seen = r->floor;
		for (size_t i = first_after(r, c->seen); i < r->n && m.n_event < EVENTS_FRAME; i++)
			if (!bound || worker__may_read(c, ring_at(r, i)->task_id))
				list[m.n_event++] = (Sirdar__Event *)(uintptr_t)ring_at(r, i);
		m.event = list;
		if ((m.n_event || m.gap) && session_send(c->session, FR_EVENTS, &m, NULL) < 0)
			return;
		c->seen = m.n_event == EVENTS_FRAME ? list[EVENTS_FRAME - 1]->number : r->last;
		CHECK(c->seen <= r->last);
	}
}

void worker__client_flush(struct worker *w)
{
	for (struct conn *c = w->conns; c && w->ring; c = c->next)
		if (c->subscribed && c->session)
			send_events(c, w->ring);
	worker__news_flush(w);
}

int worker__subscribe(struct conn *c, const Sirdar__Subscribe *m)
{
	struct event_ring *r = ring_of(c->w);

	c->subscribed = m->from_number != NO_MORE_EVENTS;
	c->heard = 0; /* the last news of each command are told again */
	c->seen = m->from_number == 0 ? r->last : m->from_number;
	if (c->subscribed && c->seen > r->last) {
		/* A number of another past: what it has seen is not ours. */
		Sirdar__Events gap = SIRDAR__EVENTS__INIT;
		gap.gap = true;
		c->seen = r->last;
		return session_send(c->session, FR_EVENTS, &gap, NULL);
	}
	actor_wake(c->w->me);
	return 0;
}

/* --- commands and queries -------------------------------------------------------------- */

static void send_answer(struct conn *c, const struct client_request *r)
{
	Sirdar__Answer m = SIRDAR__ANSWER__INIT;
	struct err err = { 0 };

	m.id = r->id;
	m.code = r->code;
	m.text = (char *)(uintptr_t)r->text;
	m.body.data = (uint8_t *)r->body;
	m.body.len = r->body_len;
	m.number = r->number;
	/* A query is answered all the same: who asks what is wrong must hear it. */
	if (r->request_id && !ledger_may_speak(c->w->peers.ledger, actor_mono_us(c->w->me))) {
		m.code = E_AGAIN;
		m.text = (char *)(uintptr_t)err_text(E_AGAIN);
		m.body.len = 0;
	}
	int code = session_send(c->session, FR_ANSWER, &m, &err);
	if (code == E_TOO_BIG || code == E_INVALID) {
		m.code = code;
		m.text = err.text;
		m.body.len = 0;
		code = session_send(c->session, FR_ANSWER, &m, NULL);
	}
	if (code < 0)
		session_end(c->session, code, "answers are not read");
}

static void client_answered(struct letter *l, void *self)
{
	struct worker *w = self;
	struct client_request *r = (struct client_request *)l;
	struct conn *c = worker__conn(w, r->session);

	if (c && c->session)
		send_answer(c, r);
	client_request_free(r);
}

void worker__address(struct client_request *r, const struct conn *c, uint64_t id)
{
	r->reply_to = c->w->me;
	r->answered = client_answered;
	r->session = c->number;
	r->id = id;
}

static int refuse_request(struct conn *c, struct client_request *r, int code, const char *text)
{
	r->code = code;
	snprintf(r->text, sizeof r->text, "%s", text);
	send_answer(c, r);
	client_request_free(r);
	return 0;
}

int worker__posted(struct conn *c, struct client_request *r, int code)
{
	return code ? refuse_request(c, r, code, err_text(code)) : 0;
}

int worker__command(struct conn *c, const Sirdar__Command *m)
{
	struct client_request *r = client_request_new(m->kind, (const char *)m->args.data,
	                                              m->args.len);

	struct err err = { 0 };

	worker__address(r, c, m->id);
	int code = m->args_bytes ? worker__pieces_take(c, m, r) : 0;
	if (code) {
		client_request_free(r);
		return code < 0 ? code : 0;
	}
	r->request_id = mem_str(m->request_id);
	r->actor = worker__actor(c, m->actor);
	r->credential = *m->credential ? mem_str(m->credential) : NULL;
	bool for_somebody = worker__is_for(c, *m->actor ? m->actor : m->credential);
	r->face = for_somebody ? mem_str(c->identity) : NULL;
	r->projects = for_somebody || c->kind != PEER_FACE ? worker__projects(c) : NULL;
	r->dry_run = m->dry_run;
	if (strlen(m->request_id) > 200 || strlen(m->actor) > 200 || strlen(m->credential) > 200)
		return worker__posted(c, r, E_TOO_BIG);
	code = worker__may_command(c, m->kind, for_somebody, &err);
	if (code < 0)
		return refuse_request(c, r, code, err.text);
	return worker__posted(c, r, commander_command(c->w->peers.front->commander, r));
}

int worker__sign_in(struct conn *c, const Sirdar__SignIn *m)
{
	struct client_request *r = client_request_new("sign-in", (const char *)m->args.data,
	                                              m->args.len);

	worker__address(r, c, m->id);
	r->face = mem_str(c->identity);
	r->credential = *m->credential ? mem_str(m->credential) : NULL;
	if (strlen(m->credential) > 200)
		return worker__posted(c, r, E_TOO_BIG);
	return worker__posted(c, r, commander_sign_in(c->w->peers.front->commander, r));
}

/* Who stalls may be the very one that would answer. */
static bool answer_stall(struct conn *c, struct client_request *r)
{
	const struct front *f = c->w->peers.front;
	int64_t now_us = actor_mono_us(c->w->me);
	struct buf out;

	if (!front_stalls(f, now_us))
		return false;
	buf_init(&out);
	front_health(f, now_us, &out);
	r->body_len = out.len;
	r->body = mem_strn(buf_str(&out), out.len);
	buf_done(&out);
	send_answer(c, r);
	client_request_free(r);
	return true;
}

int worker__query(struct conn *c, const Sirdar__Query *m)
{
	struct client_request *r = client_request_new(m->kind, (const char *)m->args.data,
	                                              m->args.len);
	struct err err = { 0 };

	worker__address(r, c, m->id);
	if (strcmp(m->kind, "health") == 0 && answer_stall(c, r))
		return 0;
	int code = worker__may_ask(c, m->kind, &err);
	if (code < 0)
		return refuse_request(c, r, code, err.text);
	r->projects = worker__reads(c);
	r->actor = worker__actor(c, "");
	return worker__posted(c, r, commander_query(c->w->peers.front->commander, r));
}

/* Who sends alerts: of each end that somebody was told of. */
int worker__told(struct conn *c, const Sirdar__Told *m)
{
	for (size_t i = 0; i < m->n_item; i++) {
		const Sirdar__ToldItem *t = m->item[i];
		if (!t->key || t->seq == 0)
			return E_PROTOCOL;
		struct inst_key key = { t->key->run_date, t->key->task_id, t->key->part };
		struct proposal *p = worker__propose(c->w, ASK_NOTIFIED, key);
		p->token = t->generation;
		p->cookie = (uint64_t)c->number << 32 | t->seq;
		p->note = t->text[0] ? mem_strn(t->text, strnlen(t->text, NOTE_BYTES)) : NULL;
	}
	return 0;
}

/* --- logs ------------------------------------------------------------------------------- */

static void cancel_follow(struct conn *c, uint64_t id)
{
	struct log_get *g = mem_new(sizeof *g);

	g->session = c->number;
	g->id = id;
	g->cancel = true;
	if (logkeeper_get(c->w->peers.logkeeper, g) < 0)
		log_get_free(g);
}

/* As they go on the wire: borrowed from `list`, which is the caller's to free(). */
static Sirdar__LogExecution *executions_put(const struct log_get *g, Sirdar__LogData *m)
{
	Sirdar__LogExecution *list;

	if (g->n_known == 0)
		return NULL;
	list = mem_array(g->n_known, sizeof *list);
	m->executions = mem_array(g->n_known, sizeof *m->executions);
	for (size_t i = 0; i < g->n_known; i++) {
		const struct log_known *k = &g->known[i];

		list[i] = (Sirdar__LogExecution)SIRDAR__LOG_EXECUTION__INIT;
		list[i].generation = k->generation;
		list[i].attempt = k->attempt;
		list[i].execution = k->execution;
		list[i].broker = k->broker;
		list[i].bytes = (uint64_t *)(uintptr_t)k->bytes;
		list[i].n_bytes = LOG_STREAMS;
		list[i].end = k->is_ended;
		list[i].counts = k->counts;
		m->executions[i] = &list[i];
	}
	m->n_executions = g->n_known;
	return list;
}

/* The face has not read what it was sent, and one reader of many may be why: that question alone is
 * refused. Only a face that reads nothing at all has no room for a refusal. */
static void log_refuse(struct conn *c, const struct log_get *g)
{
	static char text[] = "this face has much of logs to read yet: try again";
	Sirdar__LogData m = SIRDAR__LOG_DATA__INIT;

	cancel_follow(c, g->id);
	m.id = g->id;
	m.code = E_BUSY;
	m.text = text;
	m.offset = g->offset;
	m.end = true;
	if (session_send(c->session, FR_LOG_DATA, &m, NULL) < 0)
		session_end(c->session, E_BUSY, "logs are not read");
}

static void log_given(struct letter *l, void *self)
{
	struct log_get *g = (struct log_get *)l;
	struct conn *c = worker__conn(self, g->session);
	Sirdar__LogData m = SIRDAR__LOG_DATA__INIT;

	/* A follow may have begun when it was the peer's to read. */
	if (c && c->session && g->code == 0 && !worker__may_read(c, g->name.key.task)) {
		cancel_follow(c, g->id);
		g->code = E_NOT_FOUND;
		g->bytes = g->n_known = 0;
		g->end = true;
	}
	if (c && c->session) {
		m.id = g->id;
		m.code = g->code;
		m.text = g->text;
		m.offset = g->offset;
		m.data.data = g->data;
		m.data.len = g->bytes;
		m.end = g->end;
		m.generation = g->name.generation;
		m.attempt = g->name.attempt;
		Sirdar__LogExecution *list = executions_put(g, &m);
		if (session_send(c->session, FR_LOG_DATA, &m, NULL) < 0)
			log_refuse(c, g);
		free(list);
		free(m.executions);
	}
	log_get_free(g);
}

int worker__log_read(struct conn *c, const Sirdar__LogRead *m)
{
	if (m->cancel) {
		cancel_follow(c, m->id);
		return 0;
	}
	if (!m->key || m->id == 0)
		return E_PROTOCOL;
	struct log_get *g = mem_new(sizeof *g);
	g->reply_to = c->w->me;
	g->answered = log_given;
	g->session = c->number;
	g->id = m->id;
	/* What it may not read is looked for as what is not there. */
	uint32_t task = worker__may_read(c, m->key->task_id) ? m->key->task_id : NO_TASK;
	g->name = (struct log_name){ { m->key->run_date, task, m->key->part },
		                     m->generation,
		                     m->attempt,
		                     log_stream_of(m->stream),
		                     0 };
	g->offset = m->offset;
	g->bytes_max = m->bytes_max;
	g->follow = m->follow;
	g->execution = m->execution;
	g->list = m->list;
	int r = logkeeper_get(c->w->peers.logkeeper, g);
	if (r < 0)
		log_get_free(g);
	return r;
}

void worker__client_gone(struct conn *c)
{
	c->subscribed = false;
	if (c->w->peers.logkeeper)
		cancel_follow(c, 0);
}
