/* A worker: the sessions of some peers, from the first byte to the last.
 *
 * It accepts what the router gives it, takes frames only from those whose role may send them (the
 * table below), and ends what breaks the protocol. What arrives becomes a proposal, a question or
 * a letter to another actor; what leaves is read from the durable part of the stream, and only
 * while the ledger may speak (worker_send.c). A session has a number and lives as long as its
 * conn; everybody else names it by that number, which is looked up again when an answer comes. At
 * its end the registrar, the sorter and the router are told, in on_end(). Nothing here waits. */
#include "baseserver/net/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/net/worker_impl.h"
#include "baseserver/sort/registrar.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

struct accepted {
	struct letter letter;
	int fd;
	char peer[64];
	struct router *router;
	uint32_t door;
	uint64_t origin;
};

static void on_open(void *ctx, struct session *s, const char *identity)
{
	struct conn *c = ctx;

	(void)s;
	if (strcmp(c->identity, identity) != 0) { /* another was looked up last: which it is, is
		                                   * not known */
		c->key_serial = 0;
		c->has_pair = false;
		c->invite[0] = 0;
	}
	snprintf(c->identity, sizeof c->identity, "%s", identity);
	if (c->invite[0])
		worker__guessed(c);
}

static int wrong_role(struct conn *c, enum frame_kind kind)
{
	log_warn("session.wrong-frame", "peer=%s frame=%s", c->peer, frame_name(kind));
	return E_PROTOCOL;
}

/* Who may send which frame after the greeting, what it is told of, and who takes it. Clients by
 * what they are. Told of: OWN, what it says itself; READS, what others have: its taker asks
 * worker_read.c which of that a peer may read that keeps to some projects; ALL, of whatever: no
 * such peer may send it. */
enum { BY_KIND = 8 }; /* bits below it: roles */
enum {
	BROKER = 1 << ROLE_BROKER,
	LOADER = 1 << ROLE_LOADER,
	FACE = 1 << (BY_KIND + PEER_FACE),
	NOTIFIER = 1 << (BY_KIND + PEER_NOTIFIER),
	PROGRAM = 1 << (BY_KIND + PEER_CLIENT),
	CLIENT = FACE | NOTIFIER | PROGRAM
};
enum told { OWN, READS, ALL };
#define TAKEN(X) \
	X(BEAT, BROKER | LOADER, OWN, worker__beat) \
	X(PROVE, BROKER | LOADER, OWN, worker__prove) \
	X(RUNNER_STATE, BROKER | LOADER, OWN, worker__runner) \
	X(LOAD, BROKER, OWN, worker__load) \
	X(CREDIT, LOADER, OWN, worker__credit) \
	X(REPORTS, LOADER, OWN, worker__reports) \
	X(PARAM_ASK, LOADER, OWN, worker__param_ask) \
	X(PROBED, LOADER, OWN, worker__probed) \
	X(LOG_CHUNK, LOADER, OWN, worker__log_chunk) \
	X(COMMAND, CLIENT, OWN, worker__command) \
	X(SIGN_IN, FACE, ALL, worker__sign_in) \
	X(PIECE, FACE | PROGRAM, OWN, worker__piece) \
	X(QUERY, CLIENT, READS, worker__query) \
	X(SUBSCRIBE, CLIENT, READS, worker__subscribe) \
	X(LOG_READ, FACE | PROGRAM, READS, worker__log_read) \
	X(TOLD, NOTIFIER, ALL, worker__told) \
	X(ALERTS, NOTIFIER, ALL, worker__alerts) \
	X(REPLY, NOTIFIER, ALL, worker__reply) \
	X(CHANNEL_ASK, NOTIFIER, OWN, worker__channel_ask)

/* A message is of the type that its frame has in frame.def. */
#define X(name, roles, told, take) \
	static int take_##name(struct conn *c, const void *m) \
	{ \
		return take(c, m); \
	}
TAKEN(X)
#undef X

static const struct {
	enum frame_kind kind;
	unsigned roles;
	enum told told;
	int (*take)(struct conn *c, const void *m);
} frames[] = {
#define X(name, roles, told, take) { FR_##name, roles, told, take_##name },
	TAKEN(X)
#undef X
};

static unsigned who_of(const struct conn *c)
{
	return 1u << (c->role == ROLE_CLIENT ? BY_KIND + (int)c->kind : (int)c->role);
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *m)
{
	struct conn *c = ctx;

	(void)s;
	if (kind == FR_DELEGATION)
		return worker__delegation(c, m);
	if (kind == FR_ENROL)
		return worker__enrol(c, m);
	if (kind == FR_HELLO && !c->invite[0])
		return worker__hello(c, m);
	if (!c->greeted)
		return E_PROTOCOL;
	CHECK(c->role != ROLE_NONE);
	for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++)
		if (frames[i].kind == kind && frames[i].roles & who_of(c) &&
		    !(frames[i].told == ALL && worker__is_bound(c)))
			return frames[i].take(c, m);
	return wrong_role(c, kind);
}

static void say_gone(struct conn *c)
{
	struct broker_news *n = mem_new(sizeof *n);

	CHECK(c->greeted && c->role != ROLE_CLIENT);
	n->session = c->number;
	n->broker = c->broker;
	n->gone = true;
	if (registrar_report(c->w->peers.registrar, n) < 0)
		free(n);
	if (c->role == ROLE_LOADER)
		worker__tell_sorter(c, true);
}

static void conn_free(struct conn *c)
{
	worker__count_unproven(c, 0);
	worker__conn_remove(c);
	worker__conn_clear(c);
	worker__pieces_free(c);
	worker__notifier_clear(c);
	c->w->peers.release(c->router, c->door, c->origin);
	for (char **g = c->groups; g && *g; g++)
		free(*g);
	free(c->groups);
	free(c->held);
	free(c);
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct conn *c = ctx;

	(void)s;
	log_info("session.end", "peer=%s name=%s session=%u code=%s text=\"%s\"", c->peer,
	         c->identity, c->number, err_name(err->code), err->text);
	c->session = NULL;
	if (!c->greeted && !c->is_refused && err->code == E_AUTH) /* no key that is known */
		worker__turned(c, err->code, err->text);
	if (c->role == ROLE_CLIENT) {
		worker__client_gone(c);
		worker__notifier_gone(c);
	} else if (c->greeted) {
		worker__probe_gone(c);
		say_gone(c);
	}
	conn_free(c);
}

static const struct session_ops session_calls = { .on_open = on_open,
	                                          .on_frame = on_frame,
	                                          .on_end = on_end };

static void on_accepted(struct letter *l, void *self)
{
	struct worker *w = self;
	struct accepted *a = (struct accepted *)l;
	struct session_limits limits = { w->set.handshake_ms, w->set.idle_ms, w->set.queue_bytes };
	struct err err = { 0 };
	struct conn *c = mem_new(sizeof *c);

	CHECK(actor_here(w->me));
	c->w = w;
	c->accepts = true;
	memcpy(c->peer, a->peer, sizeof c->peer);
	c->router = a->router;
	c->door = a->door;
	c->origin = a->origin;
	int r = session_accept(
		&(struct session_owner){ actor_loop(w->me), &session_calls, c, &limits }, a->fd,
		&w->door, c, &c->session, &err);
	if (r < 0) {
		log_warn("session.accept", "peer=%s text=\"%s\"", a->peer, err.text);
		w->peers.release(c->router, c->door, c->origin);
		free(c);
	} else {
		worker__conn_add(w, c);
	}
	free(a);
}

static void accepted_discard(struct letter *l)
{
	struct accepted *a = (struct accepted *)l;

	close(a->fd);
	free(a);
}

int worker_accept(struct worker *w, int fd, const char *peer, struct router *router, uint32_t door,
                  uint64_t origin)
{
	struct accepted *a = mem_new(sizeof *a);

	a->fd = fd;
	a->router = router;
	a->door = door;
	a->origin = origin;
	snprintf(a->peer, sizeof a->peer, "%s", peer);
	a->letter = (struct letter){ .deliver = on_accepted, .discard = accepted_discard };
	int r = actor_post(w->me, &a->letter);
	if (r < 0)
		accepted_discard(&a->letter);
	return r;
}

static void worker_turn(void *self)
{
	struct worker *w = self;

	worker__fold(w);
	worker__peers_look(w); /* before what sets a nearer alarm */
	worker__client_flush(w);
	worker__flush(w);
	worker__propose_open(w);
}

static bool worker_rest(void *self)
{
	struct worker *w = self;

	/* Frames that came since the last turn: the loop calls us, not the mailbox. */
	if (!w->open && !w->touched)
		return false;
	worker__flush(w);
	worker__propose_open(w);
	return false;
}

static void worker_fini(void *self)
{
	struct worker *w = self;

	for (struct conn *c = w->conns, *next; c; c = next) {
		next = c->next;
		session_drop(c->session);
		conn_free(c);
	}
}

static const struct actor_ops ops = { .name = "worker",
	                              .letters_max = 65536,
	                              .turn = worker_turn,
	                              .rest = worker_rest,
	                              .fini = worker_fini };

struct worker *worker_new(struct thread *th, const struct worker_settings *set,
                          const struct worker_peers *peers)
{
	struct worker *w = mem_new(sizeof *w);

	w->set = *set;
	w->peers = *peers;
	worker__door_of(w, &w->door);
	w->answered = worker__answered;
	w->evict = worker__evict;
	w->me = actor_new(th, &ops, w);
	w->in = stream_reader_new(ledger_stream(peers->ledger), STREAM_OUTER, w->me);
	docs_init(&w->who, &doc_kinds[DOC_PEER]);
	worker__table_init(w);
	return w;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	worker__client_free(w);
	worker__plugins_free(w);
	free(w->guesses);
	worker__exposed_free(w);
	worker__probes_free(w);
	docs_done(&w->who);
	worker__table_done(w);
	free(w);
}

struct actor *worker_actor(struct worker *w)
{
	return w->me;
}
