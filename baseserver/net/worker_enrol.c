/* By which key a session is opened: one that both have (keys_file), the peer's own public one (its
 * document), or the code of an invite. And how a public key becomes a peer's: under a code, or
 * under the key that it follows.
 *
 * Under a code nothing may come but ENROL, once. What is asked for becomes a command of the peer's
 * own (baseserver/command/commander_enrol.c); the answer leaves when that is durable. A wrong code
 * fails in the handshake and spends nothing; from one address only some are looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/invites.h"
#include "baseserver/net/worker_client.h"
#include "baseserver/net/worker_impl.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/log.h"
#include "util/param.h"
#include "wire/enrol.h"
#include "wire/identity.h"
#include "wire/keys.h"

/* --- by which key -------------------------------------------------------------------- */

/* Codes that an address has tried: with 128 bits nobody guesses one, but each try is work. */
enum { GUESSERS = 64, GUESSES_MAX = 20 };
#define GUESSES_US (60 * US_PER_S)

struct guesses {
	struct guesser {
		uint64_t origin;
		int64_t since_us; /* 0: a free row */
		uint32_t n;
	} by[GUESSERS]; /* whose first guess is the longest ago gives its row */
};

static struct guesser *guesser_of(struct conn *c)
{
	struct worker *w = c->w;
	int64_t now = actor_mono_us(w->me);

	if (!w->guesses)
		w->guesses = mem_new(sizeof *w->guesses);
	struct guesser *all = w->guesses->by, *at = all;
	for (struct guesser *g = all; g < all + GUESSERS; g++) {
		if (g->since_us && g->origin == c->origin) {
			at = g;
			break;
		}
		if (g->since_us < at->since_us)
			at = g;
	}
	if (at->origin != c->origin || !at->since_us || now - at->since_us >= GUESSES_US)
		*at = (struct guesser){ c->origin, now, 0 };
	return at;
}

static bool may_guess(struct conn *c)
{
	uint32_t n = ++guesser_of(c)->n;

	if (n == GUESSES_MAX + 1)
		log_warn(
			"invite.guessed",
			"peer=%s text=\"%d codes of invites were tried from there within a minute; "
			"none is looked at for the rest of it\"",
			c->peer, GUESSES_MAX);
	return n <= GUESSES_MAX;
}

void worker__guessed(struct conn *c)
{
	struct guesser *g = guesser_of(c);

	g->n -= g->n > 0;
}

static int find_key(void *ctx, const char *identity, uint8_t ret_key[32])
{
	struct conn *c = ctx;
	struct key_about about = { 0 };
	size_t n = strlen(INVITE_PREFIX);

	c->has_pair = false;
	c->invite[0] = 0;
	if (strncmp(identity, INVITE_PREFIX, n) == 0) {
		if (!c->w->peers.invites || !may_guess(c) ||
		    invites_find(c->w->peers.invites, identity + n, actor_wall_us(c->w->me),
		                 ret_key) < 0)
			return E_NOT_FOUND;
		snprintf(c->identity, sizeof c->identity, "%s", identity);
		snprintf(c->invite, sizeof c->invite, "%s", identity + n);
		return 0;
	}
	/* The serial first: if the key is replaced meanwhile, this is of the former one. */
	if (keys_about(c->w->peers.keys, identity, &about) < 0)
		return E_NOT_FOUND;
	c->key_serial = about.serial;
	snprintf(c->identity, sizeof c->identity, "%s", identity);
	return keys_find(c->w->peers.keys, identity, ret_key);
}

static int find_peer(void *ctx, const uint8_t key[32], char ret_name[SESSION_NAME_BYTES])
{
	struct conn *c = ctx;
	const char *name = peers_whose(&c->w->who, key);

	c->invite[0] = 0;
	c->has_pair = true;
	memcpy(c->public, key, sizeof c->public);
	/* Nobody's may be a loader's: its machine lets it in (worker_delegation.c). */
	snprintf(c->identity, sizeof c->identity, "%s", name ? name : "");
	snprintf(ret_name, SESSION_NAME_BYTES, "%s", c->identity);
	return 0;
}

void worker__door_of(const struct worker *w, struct session_door *ret)
{
	*ret = (struct session_door){ find_key, find_peer, w->peers.own };
}

/* --- a key is made known ------------------------------------------------------------------ */

char **worker__server_keys(const struct worker *w, size_t *ret_n)
{
	const struct param_list *like = w->peers.like;
	char **keys = mem_array((like ? like->n : 0) + 1, sizeof *keys);
	size_t n = 0;

	if (w->peers.own) {
		keys[n] = mem_array(PAIR_TEXT, 1);
		pair_text(w->peers.own->key, keys[n++]);
	}
	for (size_t i = 0; like && i < like->n && n < PINS_MAX; i++)
		keys[n++] = mem_str(like->items[i]);
	*ret_n = n;
	return keys;
}

void worker__server_keys_free(char **keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(keys[i]);
	free(keys);
}

static void enrolled(struct conn *c, int code, const char *text)
{
	Sirdar__Enrolled m = SIRDAR__ENROLLED__INIT;

	m.code = code;
	m.text = (char *)(uintptr_t)text;
	m.waits = c->invite[0] != 0;
	if (code == 0)
		m.server_keys = worker__server_keys(c->w, &m.n_server_keys);
	log_info("peer.key", "peer=%s name=%s code=%s text=\"%s\"", c->peer, c->identity,
	         code < 0 ? err_name(code) : "ok", text);
	session_send(c->session, FR_ENROLLED, &m, NULL);
	worker__server_keys_free(m.server_keys, m.n_server_keys);
	session_end(c->session, 0, NULL);
}

static void key_answered(struct letter *l, void *self)
{
	struct worker *w = self;
	struct client_request *r = (struct client_request *)l;
	struct conn *c = worker__conn(w, r->session);
	bool speaks = ledger_may_speak(w->peers.ledger, actor_mono_us(w->me));

	if (c && c->session && r->ctx)
		enrolled(c, speaks ? r->code : E_AGAIN, speaks ? r->text : err_text(E_AGAIN));
	client_request_free(r);
}

static bool is_signed(const struct conn *c, const Sirdar__Enrol *m)
{
	uint8_t proof[SESSION_PROOF_BYTES];
	struct buf text;

	if (m->key.len != PAIR_BYTES || session_proof(c->session, proof, NULL) < 0)
		return false;
	buf_init(&text);
	enrol_text(proof, m->name, m->key.data, &text);
	bool ok = pair_signed(m->key.data, buf_at(&text), text.len, m->sign.data, m->sign.len) &&
	          (!c->has_pair || pair_signed(c->public, buf_at(&text), text.len,
	                                       m->former_sign.data, m->former_sign.len));
	buf_done(&text);
	return ok;
}

static struct client_request *key_request(const struct conn *c, const char *name,
                                          const uint8_t key[PAIR_BYTES])
{
	char text[PAIR_TEXT], former[PAIR_TEXT];
	struct client_request *r;
	struct buf args;

	buf_init(&args);
	pair_text(key, text);
	put_open(&args, NULL, '{');
	put_text(&args, "peer", name);
	put_text(&args, "key", text);
	if (c->invite[0])
		put_text(&args, "invite", c->invite);
	if (c->has_pair) {
		pair_text(c->public, former);
		put_text(&args, "former", former);
	}
	put_close(&args, '}');
	r = client_request_new(command_kind_name(CK_PEER_KEY), buf_str(&args), args.len);
	buf_done(&args);
	r->actor = mem_fmt("peer:%s", name);
	r->request_id = mem_fmt("peer-key:%u:%" PRId64, c->number, actor_wall_us(c->w->me));
	worker__address(r, c, 0);
	r->answered = key_answered;
	return r;
}

/* Before the code is spent: the peer would need another one. */
static int judge_program(const struct conn *c, const Sirdar__Enrol *m, struct err *err)
{
	const struct peer *p = peers_find(&c->w->who, m->name);
	enum peer_kind program = peer_kind_parse(m->kind, strlen(m->kind));

	if (!c->invite[0] || !p || !p->kind || !program || program == p->kind)
		return 0;
	return err_set(err, E_FORBIDDEN,
	               "that code is for a %s, and this program is a %s: it is not spent",
	               peer_kind_name(p->kind), peer_kind_name(program));
}

int worker__enrol(struct conn *c, const Sirdar__Enrol *m)
{
	if (c->role != ROLE_NONE || c->by.is_there || (!c->invite[0] && !c->has_pair) ||
	    strlen(m->name) > KEY_NAME_MAX)
		return E_PROTOCOL; /* who has a key of keys_file is invited first */
	if (c->has_pair && strcmp(m->name, c->identity) != 0)
		return enrolled(c, E_FORBIDDEN, "a key is followed by one of the same peer"), 0;
	if (!is_signed(c, m))
		return enrolled(c, E_AUTH, "the key is not signed by itself and the one before it"),
		       0;
	struct err err = { 0 };
	if (c->has_pair && worker__judge_key(c, &err) < 0)
		return enrolled(c, E_PEER, err.text), 0;
	if (judge_program(c, m, &err) < 0)
		return enrolled(c, E_FORBIDDEN, err.text), 0;
	struct client_request *r = key_request(c, m->name, m->key.data);
	r->ctx = c->w; /* somebody waits for the answer */
	int code = commander_command(c->w->peers.front->commander, r);
	if (code < 0) {
		client_request_free(r);
		enrolled(c, code, err_text(code));
	}
	return 0;
}

void worker__key_used(struct conn *c)
{
	const struct peer *p = peers_find(&c->w->who, c->identity);

	if (!c->has_pair || c->by.is_there || !p || p->n_keys < 2 ||
	    memcmp(p->keys[0], c->public, sizeof c->public) != 0)
		return;
	struct client_request *r = key_request(c, c->identity, c->public);
	if (commander_command(c->w->peers.front->commander, r) < 0)
		client_request_free(r); /* the former one ends by itself */
}
