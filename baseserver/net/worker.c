#include "baseserver/net/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/pack.h"
#include "baseserver/net/logkeeper.h"
#include "baseserver/net/router.h"
#include "baseserver/net/worker_impl.h"
#include "baseserver/sort/registrar.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"
#include "wire/keys.h"

struct accepted {
	struct letter letter;
	int fd;
	char peer[64];
	struct router *router;
	uint32_t door;
	uint64_t origin;
};

struct conn *worker_conn(const struct worker *w, uint32_t session)
{
	uint32_t at = map_get(&w->by_number, session);

	return at == MAP_NONE ? NULL : w->places[at];
}

void worker_touch(struct conn *c)
{
	if (c->touched)
		return;
	c->touched = true;
	c->next_touched = c->w->touched;
	c->w->touched = c;
}

static struct lease *find_lease(const struct worker *w, uint64_t token)
{
	uint32_t at = map_get(&w->by_token, token);

	return at == MAP_NONE ? NULL : slab_at(&w->leases, at);
}

struct lease *worker_lease(const struct worker *w, uint64_t token)
{
	struct lease *l = find_lease(w, token);

	return l && !l->is_over ? l : NULL;
}

struct lease *worker_own(const struct conn *c, uint64_t token)
{
	struct lease *l = worker_lease(c->w, token);

	if (!l || !holder_has(&c->holder, l->machine, l->broker, token))
		return NULL;
	l->machine = c->holder.machine;
	return l;
}

const struct lease *worker_lease_known(const struct worker *w, uint64_t token)
{
	return find_lease(w, token);
}

enum { REPORTS_LETTER = 1024 };

static void propose_open(struct worker *w)
{
	struct proposals *ps = w->open;

	w->open = NULL;
	/* Refused: reports are sent again until they are acknowledged. */
	if (ps && ledger_propose(w->peers.ledger, ps) < 0)
		proposals_free(ps);
}

struct proposal *worker_propose(struct worker *w, enum ask ask, struct inst_key key)
{
	if (w->open && w->open->n == w->open->cap)
		propose_open(w);
	if (!w->open)
		w->open = proposals_new(PR_WORKER, REPORTS_LETTER, w->me, worker_answered);
	return proposals_add(w->open, ask, key);
}

void worker_refuse(struct conn *c, int code, bool final, const char *text)
{
	Sirdar__Refuse m = SIRDAR__REFUSE__INIT;

	m.code = code;
	m.text = (char *)text;
	m.final = final;
	log_warn("session.refused", "peer=%s name=%s code=%s text=\"%s\"", c->peer, c->identity,
	         err_name(code), text);
	session_send(c->session, FR_REFUSE, &m, NULL);
	session_end(c->session, code, text);
}

static void on_open(void *ctx, struct session *s, const char *identity)
{
	struct conn *c = ctx;

	(void)s;
	snprintf(c->identity, sizeof c->identity, "%s", identity);
}

static int wrong_role(struct conn *c, enum frame_kind kind)
{
	log_warn("session.wrong-frame", "peer=%s frame=%s", c->peer, frame_name(kind));
	return E_PROTOCOL;
}

static int from_loader(struct conn *c, enum frame_kind kind, const void *m)
{
	switch (kind) {
	case FR_CREDIT:
		return worker_credit(c, m);
	case FR_REPORTS:
		return worker_reports(c, m);
	case FR_PARAM_ASK:
		return worker_param_ask(c, m);
	case FR_LOG_CHUNK:
		return worker_log_chunk(c, m);
	default:
		return wrong_role(c, kind);
	}
}

static int from_client(struct conn *c, enum frame_kind kind, const void *m)
{
	switch (kind) {
	case FR_COMMAND:
		return worker_command(c, m);
	case FR_PIECE:
		return worker_piece(c, m);
	case FR_QUERY:
		return worker_query(c, m);
	case FR_SUBSCRIBE:
		return worker_subscribe(c, m);
	case FR_LOG_READ:
		return worker_log_read(c, m);
	case FR_TOLD:
		return worker_told(c, m);
	case FR_ALERTS:
		return worker_alerts(c, m);
	case FR_REPLY:
		return worker_reply(c, m);
	default:
		return wrong_role(c, kind);
	}
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *m)
{
	struct conn *c = ctx;

	(void)s;
	if (kind == FR_HELLO)
		return worker_hello(c, m);
	if (!c->greeted)
		return E_PROTOCOL;
	if (kind == FR_BEAT && c->role != ROLE_CLIENT)
		return worker_beat(c, m);
	if (kind == FR_LOAD && c->role == ROLE_BROKER)
		return worker_load(c, m);
	if (kind == FR_RUNNER_STATE && c->role != ROLE_CLIENT)
		return worker_runner(c, m);
	if (c->role == ROLE_LOADER)
		return from_loader(c, kind, m);
	return c->role == ROLE_CLIENT ? from_client(c, kind, m) : wrong_role(c, kind);
}

static void say_gone(struct conn *c)
{
	struct broker_news *n = mem_new(sizeof *n);

	n->session = c->number;
	n->broker = c->broker;
	n->gone = true;
	if (registrar_report(c->w->peers.registrar, n) < 0)
		free(n);
	if (c->role == ROLE_LOADER)
		worker_tell_sorter(c, true);
}

static void conn_free(struct conn *c)
{
	struct worker *w = c->w;

	if (c->prev)
		c->prev->next = c->next;
	else
		w->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	for (struct conn **at = &w->touched; *at; at = &(*at)->next_touched)
		if (*at == c) {
			*at = c->next_touched;
			break;
		}
	uint32_t place = c->number ? map_get(&w->by_number, c->number) : MAP_NONE;
	if (place != MAP_NONE) {
		map_remove(&w->by_number, c->number, place);
		w->places[place] = NULL;
	}
	worker_conn_clear(c);
	worker_pieces_free(c);
	worker_notifier_clear(c);
	router_release(c->router, c->door, c->origin);
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
	if (c->role == ROLE_CLIENT)
		worker_client_gone(c);
	else if (c->greeted)
		say_gone(c);
	conn_free(c);
}

static const struct session_ops session_calls = { .on_open = on_open,
	                                          .on_frame = on_frame,
	                                          .on_end = on_end };

static int find_key(void *ctx, const char *identity, uint8_t ret_key[32])
{
	struct worker *w = ctx;

	return keys_find(w->peers.keys, identity, ret_key);
}

/* A place for a session: its number names it from now on. */
static void place_conn(struct worker *w, struct conn *c)
{
	uint32_t at = 0;

	while (at < w->n_places && w->places[at])
		at++;
	if (at == w->n_places) {
		w->places = mem_grow(w->places, w->n_places + 1, sizeof *w->places);
		w->n_places++;
	}
	w->places[at] = c;
	c->number = w->set.index << 24 | (++w->last_number & 0xffffff);
	map_add(&w->by_number, c->number, at);
}

static void on_accepted(struct letter *l, void *self)
{
	struct worker *w = self;
	struct accepted *a = (struct accepted *)l;
	struct session_limits limits = { w->set.handshake_ms, w->set.idle_ms, w->set.queue_bytes };
	struct err err = { 0 };
	struct conn *c = mem_new(sizeof *c);

	c->w = w;
	c->accepts = true;
	memcpy(c->peer, a->peer, sizeof c->peer);
	c->router = a->router;
	c->door = a->door;
	c->origin = a->origin;
	int r = session_accept(actor_loop(w->me), a->fd, find_key, w, &session_calls, c, &limits,
	                       &c->session, &err);
	if (r < 0) {
		log_warn("session.accept", "peer=%s text=\"%s\"", a->peer, err.text);
		router_release(c->router, c->door, c->origin);
		free(c);
	} else {
		c->next = w->conns;
		if (w->conns)
			w->conns->prev = c;
		w->conns = c;
		place_conn(w, c);
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
	a->letter.deliver = on_accepted;
	a->letter.discard = accepted_discard;
	int r = actor_post(w->me, &a->letter);
	if (r < 0)
		accepted_discard(&a->letter);
	return r;
}

static void turn(void *self)
{
	struct worker *w = self;

	worker_fold(w);
	worker_client_flush(w);
	worker_flush(w);
	propose_open(w);
}

static bool rest(void *self)
{
	struct worker *w = self;

	/* Frames that came since the last turn: the loop calls us, not the mailbox. */
	if (!w->open && !w->touched)
		return false;
	worker_flush(w);
	propose_open(w);
	return false;
}

static void on_alarm(void *self)
{
	(void)self; /* turn() follows: may we speak again? */
}

static int init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static void fini(void *self)
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
	                              .init = init,
	                              .turn = turn,
	                              .alarm = on_alarm,
	                              .rest = rest,
	                              .fini = fini };

static void put_def(struct worker *w, const struct task *def)
{
	if (def->id >= w->defs_cap) {
		size_t cap = (size_t)def->id * 2 + 64;
		w->defs = mem_grow(w->defs, cap, sizeof *w->defs);
		for (size_t i = w->defs_cap; i < cap; i++)
			w->defs[i] = NULL;
		w->defs_cap = cap;
	}
	task_ref(def);
	task_unref(w->defs[def->id]);
	w->defs[def->id] = def;
}

static void load_task(void *ctx, const struct ledger_task *t)
{
	put_def(ctx, t->def);
}

/* def: what it runs with; NULL: the definition in force. */
static void lease_add(struct worker *w, const struct instance *i, uint32_t slot, uint32_t session,
                      uint64_t machine, const struct task *def)
{
	uint32_t at = slab_take(&w->leases);
	struct lease *l = slab_at(&w->leases, at);

	*l = (struct lease){ .key = i->key,
		             .token = i->token,
		             .machine = machine,
		             .slot = slot,
		             .session = session,
		             .broker = i->broker,
		             .generation = i->generation,
		             .attempt = i->attempt };
	if (!def && i->key.task < w->defs_cap)
		def = w->defs[i->key.task];
	l->def = def ? task_ref(def) : NULL;
	map_add(&w->by_token, i->token, at);
}

static void lease_forget(struct worker *w, uint32_t at)
{
	const struct lease *l = slab_at(&w->leases, at);

	map_remove(&w->by_token, l->token, at);
	slab_give(&w->leases, at);
}

/* It stays known for a while: the rest of its log comes after its end. */
static void lease_over(struct worker *w, uint64_t token)
{
	uint32_t at = map_get(&w->by_token, token);

	if (at == MAP_NONE)
		return;
	struct lease *l = slab_at(&w->leases, at);
	task_unref(l->def);
	l->def = NULL;
	l->is_over = true;
	uint32_t *place = &w->over[w->n_over++ % OVER_KEPT];
	if (w->n_over > OVER_KEPT)
		lease_forget(w, *place);
	*place = at;
}

/* A machine's failure took an execution of this very attempt: its log is not this one's. */
static void claim_log(struct worker *w, const struct instance *i, uint32_t session)
{
	if (!i->infra || session >> 24 != w->set.index || !w->peers.logkeeper)
		return;
	struct log_put *p = mem_new(sizeof *p);
	p->rule = LOG_CLAIM;
	p->token = i->token;
	p->name = (struct log_name){ i->key, i->generation, i->attempt, 1 };
	if (logkeeper_put(w->peers.logkeeper, p) < 0)
		free(p);
}

static void load_instance(void *ctx, const struct instance *i, uint32_t slot)
{
	struct worker *w = ctx;

	if (!inst_holds_slot(i, (enum state)i->state))
		return;
	lease_add(w, i, slot, 0, 0, ledger_body(w->peers.ledger, i));
	worker_lease(w, i->token)->is_former = true;
}

/* Keeps what this worker must know of every record; worker_send.c acts on it. */
void worker_note(struct worker *w, const struct transition *tr)
{
	if (tr->kind == TK_TASK) {
		const struct task_pack *p = tr->row;
		for (size_t i = 0; i < p->n; i++)
			put_def(w, p->items[i].def);
	} else if (tr->kind == TK_INSTANCE) {
		bool had = tr->from != ST_NONE && inst_holds_slot(&tr->inst, (enum state)tr->from);
		bool has = inst_holds_slot(&tr->inst, (enum state)tr->inst.state);
		if (!had && has) {
			lease_add(w, &tr->inst, tr->slot, tr->session, tr->machine, tr->ref);
			claim_log(w, &tr->inst, tr->session);
		} else if (had && !has) {
			lease_over(w, tr->inst.token);
		}
	}
}

struct worker *worker_new(struct thread *th, const struct worker_settings *set,
                          const struct worker_peers *peers)
{
	struct worker *w = mem_new(sizeof *w);

	w->set = *set;
	w->peers = *peers;
	slab_init(&w->leases, sizeof(struct lease));
	map_init(&w->by_token);
	w->over = mem_array(OVER_KEPT, sizeof *w->over);
	map_init(&w->by_number);
	w->me = actor_new(th, &ops, w);
	w->in = stream_reader_new(ledger_stream(peers->ledger), STREAM_OUTER, w->me);
	ledger_each_task(peers->ledger, load_task, w);
	ledger_each_instance(peers->ledger, load_instance, w);
	return w;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->defs_cap; i++)
		task_unref(w->defs[i]);
	proposals_free(w->open);
	worker_client_free(w);
	for (uint32_t i = 0; i < w->leases.used; i++)
		task_unref(((struct lease *)slab_at(&w->leases, i))->def);
	slab_done(&w->leases);
	map_done(&w->by_token);
	free(w->over);
	map_done(&w->by_number);
	free(w->defs);
	free(w->places);
	worker_plugins_free(w);
	free(w);
}

struct actor *worker_actor(struct worker *w)
{
	return w->me;
}
