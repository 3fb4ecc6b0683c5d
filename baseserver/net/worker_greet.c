/* HELLO to WELCOME: who is it, does it speak our protocol, what does it hold?
 *
 * The registrar judges a greeting, because one name is one machine's for the whole server; the
 * session waits meanwhile and may be gone when the answer comes. A greeting lists the jobs that
 * the loader holds, which goes to the maintainer before the first grant, so that nothing is
 * granted twice. A session that another one replaced is closed here as well. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/net/worker_impl.h"
#include "baseserver/sort/registrar.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"
#include "wire/protocol.h"

static void greet_copy(char *to, size_t cap, const char *from)
{
	snprintf(to, cap, "%s", from ? from : "");
}

static int greet_check(struct conn *c, const Sirdar__Hello *h, struct err *err)
{
	if (!protocol_agree(h->protocol_min, h->protocol_max))
		return err_set(err, E_VERSION,
		               "peer speaks protocol %u to %u, this server %u to %u",
		               h->protocol_min, h->protocol_max, protocol_min, protocol_max);
	if (h->role < ROLE_BROKER || h->role > ROLE_CLIENT)
		return err_set(err, E_PROTOCOL, "role %u is none of broker, loader, client",
		               h->role);
	if (strcmp(h->name, c->identity) != 0)
		return err_set(err, E_AUTH, "name '%s' is not the key's name '%s'", h->name,
		               c->identity);
	if (strlen(h->name) >= sizeof c->name || strlen(h->type) >= sizeof c->type)
		return err_set(err, E_TOO_BIG, "a name of more than 63 bytes");
	if (h->role == ROLE_LOADER && h->type[0] == 0)
		return err_set(err, E_PROTOCOL, "a loader without a task type");
	const struct claim as = { (enum role)h->role, h->groups, h->n_groups, h->type };
	int r = worker__judge(c, &as, err);
	if (r == 0)
		r = worker__judge_lane(c, h, err);
	if (r < 0)
		return r;
	struct ledger_seen seen = { h->name, h->store_id, h->seen_epoch, h->seen_number,
		                    h->seen_proof };
	r = h->role == ROLE_CLIENT ? 0 : ledger_judge_seen(c->w->peers.ledger, &seen, err);
	if (r < 0)
		return r;
	if (h->highest_epoch > ledger_epoch(c->w->peers.ledger))
		return err_set(err, E_EPOCH, "peer has obeyed epoch %u, this server leads %u",
		               h->highest_epoch, ledger_epoch(c->w->peers.ledger));
	return 0;
}

static void keep_hello(struct conn *c, const Sirdar__Hello *h)
{
	c->role = (enum role)h->role;
	c->protocol = protocol_agree(h->protocol_min, h->protocol_max);
	greet_copy(c->name, sizeof c->name, h->name);
	greet_copy(c->type, sizeof c->type, h->type);
	c->lane = h->lane;
	c->slots = h->slots;
	c->others = h->others;
	c->separates = h->separates == 1;
	c->probes = h->probes;
	c->proves = h->proves && worker__has_proofs(c->w);
	c->keeps_proofs = h->keeps_proofs && c->proves;
	c->groups = mem_array(h->n_groups + 1, sizeof *c->groups);
	for (size_t i = 0; i < h->n_groups; i++)
		c->groups[i] = mem_str(h->groups[i]);
	c->n_held = h->n_held;
	c->held = mem_array(h->n_held + 1, sizeof *c->held);
	if (h->n_held) /* else there is no list at all */
		memcpy(c->held, h->held, h->n_held * sizeof *c->held);
}

static void welcome(struct conn *c)
{
	const struct worker_settings *set = &c->w->set;
	Sirdar__Welcome m = SIRDAR__WELCOME__INIT;
	struct ledger_told told = ledger_tell(c->w->peers.ledger);

	CHECK(c->number && !c->greeted && c->role != ROLE_NONE);
	m.protocol = c->protocol;
	m.epoch = ledger_epoch(c->w->peers.ledger);
	m.session = c->number;
	m.server_wall_us = actor_wall_us(c->w->me);
	m.beat_ms = set->beat_ms;
	m.fence_ms = set->fence_ms;
	m.kill_ms = set->kill_ms;
	m.lose_ms = set->lose_ms;
	m.broker_id = c->broker;
	m.proves = worker__has_proofs(c->w);
	m.store_id = (char *)(uintptr_t)ledger_begin(c->w->peers.ledger)->id;
	m.number = told.number;
	m.proof = told.proof;
	m.server_keys = worker__server_keys(c->w, &m.n_server_keys);
	session_send(c->session, FR_WELCOME, &m, NULL);
	worker__server_keys_free(m.server_keys, m.n_server_keys);
	worker__key_used(c);
	session_greeted(c->session);
	c->greeted = true;
	worker__let_in(c);
	log_info("session.greeted",
	         "peer=%s name=%s role=%d type=%s lane=%u session=%u held=%zu protocol=%u", c->peer,
	         c->name, (int)c->role, c->type, c->lane, c->number, c->n_held, c->protocol);
}

/* All of a broker that lied, also those that the registrar does not know of any more. */
void worker__evict(struct letter *l, void *self)
{
	struct worker *w = self;
	struct evict *e = (struct evict *)l;

	for (struct conn *c = w->conns; c; c = c->next)
		if (c->number == e->session || (e->broker && c->broker == e->broker))
			worker__refuse(c, e->code, false, e->text);
	free(e);
}

static struct greeting *greeting_of(const struct conn *c, const Sirdar__Hello *h)
{
	struct greeting *g = mem_new(sizeof *g);

	g->reply_to = c->w->me;
	g->answered = worker__greeted;
	g->evict = c->w->evict;
	g->session = c->number;
	g->role = h->role;
	greet_copy(g->name, sizeof g->name, h->name);
	greet_copy(g->type, sizeof g->type, h->type);
	greet_copy(g->host, sizeof g->host, h->host);
	greet_copy(g->mac, sizeof g->mac, h->mac);
	greet_copy(g->peer, sizeof g->peer, c->peer);
	greet_copy(g->software, sizeof g->software, h->software);
	greet_copy(g->boot_id, sizeof g->boot_id, h->boot_id);
	greet_copy(g->machine, sizeof g->machine, h->machine);
	greet_copy(g->former, sizeof g->former, h->machine_former);
	for (size_t i = 0; i < h->n_groups && i < 16; i++)
		greet_copy(g->groups[g->n_groups++], sizeof g->groups[0], h->groups[i]);
	g->incarnation = h->incarnation;
	g->slots = h->slots;
	g->separates = h->separates;
	g->lane = h->lane;
	g->held = (uint32_t)h->n_held;
	greet_copy(g->version, sizeof g->version, h->runner_version);
	return g;
}

int worker__hello(struct conn *c, const Sirdar__Hello *h)
{
	struct err err = { 0 };

	if (c->role != ROLE_NONE)
		return E_PROTOCOL;
	int r = greet_check(c, h, &err);
	if (r < 0) {
		const struct claim as = { (enum role)h->role, h->groups, h->n_groups, h->type };
		worker__tell_barred(c, &as, h->lane, &err);
		worker__refuse(c, r,
		               r == E_VERSION || r == E_AUTH || r == E_STRANGER || r == E_PEER,
		               err.text);
		return 0;
	}
	keep_hello(c, h);
	if (c->role == ROLE_CLIENT) {
		welcome(c);
		return 0;
	}
	struct greeting *g = greeting_of(c, h);
	r = registrar_greet(c->w->peers.registrar, g);
	if (r < 0)
		free(g);
	return r;
}

/* Its broker may have said before that it takes no work, or not yet that it does: a loader
 * of a broker that is here begins as that broker stands. */
static void follow_broker(struct conn *c)
{
	for (const struct conn *o = c->w->conns; o; o = o->next)
		if (o->broker == c->broker && o->role == ROLE_BROKER && o->greeted) {
			c->accepts = o->accepts;
			c->load = o->load;
			c->jobs_max = o->jobs_max;
			return;
		}
}

/* It was let in as one that is not here any more, or may not be. */
static void went_meanwhile(struct worker *w, const struct greeting *g)
{
	struct broker_news *n = mem_new(sizeof *n);

	n->session = g->session;
	n->broker = g->holder.broker;
	n->gone = true;
	if (registrar_report(w->peers.registrar, n) < 0)
		free(n);
}

void worker__greeted(struct letter *l, void *self)
{
	struct worker *w = self;
	struct greeting *g = (struct greeting *)l;
	struct conn *c = worker__conn(w, g->session);

	if (g->code == 0 && (!c || c->is_refused)) {
		went_meanwhile(w, g);
	} else if (c && g->code < 0) {
		worker__refuse(c, g->code, false, g->text);
	} else if (c) {
		CHECK(c->role != ROLE_CLIENT); /* the registrar knows only machines */
		log_debug("worker.greeted", "peer=%s name=%s broker=%u drained=%d held=%zu",
		          c->peer, c->identity, g->holder.broker, g->drained, c->n_held);
		c->holder = g->holder;
		c->broker = g->holder.broker;
		c->fresh = g->fresh;
		c->drained = g->drained;
		c->told_held = (uint32_t)c->n_held;
		if (c->role == ROLE_LOADER)
			follow_broker(c);
		else
			c->accepts = false; /* until its first report of load */
		welcome(c);
		worker__tell_plugins(c);
		c->owes_proof = c->proves;
		if (!c->owes_proof)
			worker__send_held(c, c->held, c->n_held, true);
		if (c->role == ROLE_LOADER)
			worker__tell_sorter(c, false);
	}
	free(g);
}
