/* One machine a name. Two that greet as one broker would each be granted what the other runs, so a
 * name belongs to the machine that has it until that falls silent: no sign of life of any of its
 * sessions in two beats after another has greeted in its place. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/sort/broker.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/log.h"

enum { BEATS_SILENT = 2, BEATS_SHOWN = 5 };
#define SHOWN_US (30 * US_PER_S) /* a refused peer tries again sooner (retry_max_ms) */

int registrar_refuse(struct greeting *g, int code, const char *text)
{
	g->code = code;
	snprintf(g->text, sizeof g->text, "%s", text);
	return code;
}

static bool differ(const char *a, const char *b)
{
	return a[0] && b[0] && strcmp(a, b) != 0;
}

/* Who draws nothing is of an earlier version: the boot of the machine must do. */
static bool is_other(const struct broker *b, const struct greeting *g)
{
	if (b->machine.nonce[0] && g->machine[0])
		return strcmp(b->machine.nonce, g->machine) != 0;
	return differ(b->boot_id, g->boot_id);
}

void session_evict(struct actor *worker, void (*deliver)(struct letter *l, void *self),
                   const struct evict *what)
{
	if (!what->session || !worker || !deliver)
		return;
	struct evict *e = mem_new(sizeof *e);
	*e = *what;
	e->letter.deliver = deliver;
	e->letter.discard = (void (*)(struct letter *))free;
	if (actor_post_credit(worker, &e->letter) < 0)
		free(e);
}

void broker_evict(struct broker *b, int code, const char *text)
{
	struct evict e = { .session = b->session, .code = code };

	e.broker = code == E_FORGED ? b->id : 0;
	snprintf(e.text, sizeof e.text, "%s", text);
	session_evict(b->worker, b->evict, &e);
	b->session = 0;
	for (size_t i = 0; i < b->n_runners; i++) {
		struct runner *run = &b->runners[i];
		e.session = run->session;
		session_evict(run->worker, run->evict, &e);
		run->session = 0;
	}
}

/* Booted, it draws anew, and is the same all the same: its disk and its hardware say so
 * (broker/link/machine.c). What its jobkeeper read of its own journal is to be believed. */
static bool is_booted(const struct machine_of *m, const struct greeting *g)
{
	return g->former[0] && strcmp(m->nonce, g->former) == 0;
}

static void take_over(struct broker *b, struct greeting *g)
{
	char text[200];

	log_warn("broker.machine", "name=%s host=%s peer=%s text=\"%s\"", b->name, g->host, g->peer,
	         is_booted(&b->machine, g)
	                 ? "the machine of this name was booted"
	                 : "another machine has this name from now on; what the former one held "
	                   "is lost when it stays silent");
	snprintf(text, sizeof text,
	         "this machine was not heard in two beats, and another (%.60s at %.50s) has its "
	         "name",
	         g->host, g->peer);
	broker_evict(b, E_IDENTITY, text);
	b->machine.refused = 0;
}

/* FNV-1a: numbers of one name's machines, few and drawn at random. */
static uint64_t number_of(const char *name, const char *drawn)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (const char *p = name; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3ULL;
	for (const char *p = drawn; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3ULL;
	return h ? h : 1;
}

/* Who draws the same number under two names is one machine that was renamed. */
static void machine_know(const struct admit *at, struct broker *b, const struct greeting *g,
                         bool other)
{
	struct machine_of *m = &b->machine;

	if (m->id && (!other || is_booted(m, g)))
		return;
	m->id = g->machine[0] ? number_of("", g->machine) : number_of(b->name, g->boot_id);
	if (other)
		m->since = ledger_next_token(at->ledger);
}

void machine_load(struct broker *b, const char *nonce, const char *id, const char *since)
{
	struct machine_of *m = &b->machine;

	snprintf(m->nonce, sizeof m->nonce, "%s", nonce);
	m->since = strtoull(since, NULL, 16);
	m->id = strtoull(id, NULL, 16);
	if (!m->id && nonce[0])
		m->id = number_of("", nonce);
}

/* Without the port: each try has another, and it would be another machine each time. */
static void keep_peer(struct machine_of *m, const char *peer)
{
	const char *port = strrchr(peer, ':');
	size_t n = port ? (size_t)(port - peer) : strlen(peer);

	snprintf(m->other_peer, sizeof m->other_peer, "%.*s", (int)n, peer);
}

static int turn_away(const struct admit *at, struct broker *b, struct greeting *g)
{
	struct machine_of *m = &b->machine;

	m->refused++;
	m->refused_ever++;
	m->other_us = at->now_us;
	memcpy(m->other_host, g->host, sizeof m->other_host);
	keep_peer(m, g->peer);
	return registrar_refuse(g, E_IDENTITY,
	                        "another machine is there under this name and key: give this one a "
	                        "name and a key of its own, or stop the other; once that is silent "
	                        "for two beats, this one is taken");
}

int machine_admit(const struct admit *at, struct broker *b, struct greeting *g)
{
	struct machine_of *m = &b->machine;
	int64_t now = at->now_us;
	bool other = is_other(b, g);

	if (other) {
		if (!m->asked_us || m->heard_us > m->asked_us)
			m->asked_us = now;
		if (now - m->asked_us < BEATS_SILENT * at->beat_us)
			return turn_away(at, b, g);
		take_over(b, g);
	}
	m->asked_us = 0;
	machine_know(at, b, g, other);
	CHECK(m->id); /* 0 is nobody's lease */
	g->holder = (struct holder){ m->id, m->since, b->id };
	if (other || (g->machine[0] && !m->nonce[0])) {
		memcpy(m->nonce, g->machine, sizeof m->nonce);
		b->stored = false;
	}
	memcpy(b->boot_id, g->boot_id, sizeof b->boot_id);
	return 0;
}

void machine_heard(struct broker *b, int64_t now_us)
{
	b->machine.heard_us = now_us;
}

void machine_print(const struct broker *b, int64_t now_us, int64_t beat_us, struct buf *out)
{
	const struct machine_of *m = &b->machine;
	int64_t shown_us = BEATS_SHOWN * beat_us + SHOWN_US;
	bool is_there = m->refused && now_us - m->other_us < shown_us;
	char text[256] = "";

	if (is_there)
		snprintf(text, sizeof text,
		         "another machine (%.100s at %.60s) greets under this name and key",
		         m->other_host, m->other_peer);
	put_text(out, "twin", text);
	put_int(out, "twin_refused", is_there ? m->refused : 0);
}
