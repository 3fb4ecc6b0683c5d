/* Who may be here: a greeting is judged by the peer's document and its key, and every session that
 * is open once more when one of the two changes or a time has come.
 *
 * A document says all there is to say of a peer. Where there is none, the kind stands behind the
 * key in keys_file; where it does not, only the names that cgi and notifier have by themselves mean
 * one, and nobody else gets in: what a key does first must not decide what it is. HELLO narrows
 * what the document allows, and never widens it. Each worker keeps its own documents, as it is told
 * by the commander; they are here before the answer to the command leaves. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/command.h"
#include "baseserver/model/front.h"
#include "baseserver/model/turned.h"
#include "baseserver/net/worker_client.h"
#include "baseserver/net/worker_impl.h"
#include "baseserver/sort/registrar.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/log.h"
#include "wire/keys.h"

enum { LIST_BYTES = 120 };

/* --- judged ----------------------------------------------------------------------------- */

static bool greets_as(enum peer_kind kind, enum role role)
{
	enum { MACHINE = 1 << ROLE_BROKER | 1 << ROLE_LOADER, CLIENT = 1 << ROLE_CLIENT };
	static const unsigned roles[PEER_COUNT] = {
#define PEER(NAME, word, greets, changes, what) [PEER_##NAME] = greets,
#include "tbl/peer_kind.def"
#undef PEER
	};

	return roles[kind] & 1u << role;
}

static int judge_role(const char *name, enum peer_kind kind, enum role role, struct err *err)
{
	bool client = role == ROLE_CLIENT;

	if (kind == PEER_NONE)
		return err_set(
			err, E_PEER,
			"nobody has said what peer '%s' is: `sirdar peer set %s --kind %s`, or "
			"`baseserver key-kind %s %s` where the server runs",
			name, name, client ? "face" : "broker", name, client ? "face" : "broker");
	if (greets_as(kind, role))
		return 0;
	return err_set(
		err, E_PEER,
		"peer '%s' is of kind %s and may not greet as a %s: if it is meant to, `sirdar "
		"peer set %s --kind %s`",
		name, peer_kind_name(kind), client ? "client" : "broker", name,
		client ? "face" : "broker");
}

static void list_print(const struct jval *list, char out[LIST_BYTES])
{
	size_t n = 0;

	out[0] = 0;
	for (const struct jval *v = list->first; v && n < LIST_BYTES; v = v->next)
		n += (size_t)snprintf(out + n, LIST_BYTES - n, "%s%s", n ? ", " : "", v->text);
}

static int judge_word(const char *name, const struct jval *allowed, const char *word,
                      const char *option, struct err *err)
{
	char has[LIST_BYTES];

	if (peer_lists(allowed, word))
		return 0;
	list_print(allowed, has);
	return err_set(
		err, E_PEER,
		"peer '%s' may not be of %s '%.63s', its document has %s: change that machine's "
		"settings, or `sirdar peer set %s --%s`",
		name, option, word, has, name, option);
}

/* Something is judged otherwise from then on. 0: never. */
void worker__look_at(struct worker *w, int64_t wall_us)
{
	if (!wall_us || (w->look_us && wall_us >= w->look_us))
		return;
	w->look_us = wall_us;
	actor_wake(w->me); /* worker__peers_look() sets the alarm */
}

static int judge_time(const struct conn *c, const struct peer *p, struct err *err)
{
	const char *name = c->identity;

	if (p->state > PEER_REVOKED)
		return err_set(err, E_PEER,
		               "peer '%s' waits for somebody who approves of its key: `sirdar peer "
		               "approve %s`",
		               name, name);
	if (p->state == PEER_REVOKED)
		return err_set(err, E_PEER,
		               "peer '%s' is revoked: `sirdar peer invite %s` gives it a new key",
		               name, name);
	if (p->expires_us && p->expires_us <= actor_wall_us(c->w->me))
		return err_set(
			err, E_PEER,
			"peer '%s' has expired: `sirdar peer set %s --expires TIME` gives it "
			"longer",
			name, name);
	return 0;
}

int worker__judge_key(struct conn *c, struct err *err)
{
	const struct peer *p = peers_find(&c->w->who, c->identity);
	const uint8_t *key = c->by.is_there ? c->by.key : c->public;

	if (p && peer_has_key(p, key, actor_wall_us(c->w->me))) {
		if (p->n_keys > 1 && memcmp(p->keys[0], key, PAIR_BYTES) != 0)
			worker__look_at(c->w, p->former_until_us);
		return 0;
	}
	if (c->by.is_there && !(p && peer_has_asked(p, key)))
		return err_set(
			err, E_DELEGATION,
			"what lets this loader in is signed by a key that is none of peer "
			"'%s' any more: its taskbroker signs it anew by the one that follows",
			c->identity);
	return err_set(
		err, E_PEER,
		p && peer_has_asked(p, key)
			? "peer '%s' waits for somebody who approves of its key: `sirdar "
			  "peer approve %s`"
			: "the public key is none of peer '%s' any more: `sirdar peer invite "
			  "%s` makes a code for another",
		c->identity, c->identity);
}

static int judge_shared(const struct conn *c, const struct peer *p, struct key_about *ret,
                        struct err *err)
{
	if (keys_about(c->w->peers.keys, c->identity, ret) < 0 || ret->serial != c->key_serial)
		return err_set(
			err, E_PEER,
			"the key of peer '%s' is not in keys_file any more: `baseserver key-add "
			"%s` where the server runs makes another",
			c->identity, c->identity);
	if (p && p->n_keys)
		return err_set(err, E_PEER,
		               "peer '%s' has a key of its own: that of keys_file counts for it no "
		               "more",
		               c->identity);
	return 0;
}

int worker__judge_until(const struct conn *c, int64_t until_us, struct err *err)
{
	if (until_us > actor_wall_us(c->w->me))
		return 0;
	return err_set(
		err, E_DELEGATION,
		"what lets this loader of '%s' in is over: its taskbroker signs it anew where "
		"that runs and reaches a server",
		c->identity);
}

static int judge_delegated(const struct conn *c, const struct claim *as, struct err *err)
{
	const struct delegated *by = &c->by;

	if (as->role != ROLE_LOADER || strcmp(as->type, by->type) != 0)
		return err_set(err, E_DELEGATION,
		               "peer '%s' lets this key in as its loader of type '%s', and as "
		               "nothing else",
		               c->identity, by->type);
	worker__look_at(c->w, by->until_us);
	return worker__judge_until(c, by->until_us, err);
}

int worker__judge(struct conn *c, const struct claim *as, struct err *err)
{
	const struct peer *p = peers_find(&c->w->who, c->identity);
	struct key_about key = { 0 };
	int r = c->has_pair ? worker__judge_key(c, err) : judge_shared(c, p, &key, err);

	if (r == 0 && c->by.is_there)
		r = judge_delegated(c, as, err);
	if (r < 0)
		return r;
	c->kind = p && p->kind ? p->kind : key.kind ? key.kind : peer_kind_usual(c->identity);
	if (p)
		r = judge_time(c, p, err);
	if (r == 0)
		r = judge_role(c->identity, c->kind, as->role, err);
	for (size_t i = 0; r == 0 && p && i < as->n_groups; i++)
		r = judge_word(c->identity, p->groups, as->groups[i], "group", err);
	if (r == 0 && p && as->role == ROLE_LOADER)
		r = judge_word(c->identity, p->types, as->type, "type", err);
	if (r == 0 && p)
		worker__look_at(c->w, p->expires_us);
	return r;
}

/* --- sent away --------------------------------------------------------------------------- */

static struct turned *turned_of(const struct conn *c)
{
	return c->w->peers.front ? c->w->peers.front->turned : NULL;
}

void worker__turned(const struct conn *c, int code, const char *why)
{
	turned_note(turned_of(c), c->identity, c->peer, code, why, actor_wall_us(c->w->me));
}

void worker__let_in(const struct conn *c)
{
	turned_over(turned_of(c), c->identity, c->peer);
}

void worker__refuse(struct conn *c, int code, bool final, const char *text)
{
	Sirdar__Refuse m = SIRDAR__REFUSE__INIT;

	c->is_refused = true;
	m.code = code;
	m.text = (char *)text;
	m.final = final;
	log_warn("session.refused", "peer=%s name=%s code=%s text=\"%s\"", c->peer, c->identity,
	         err_name(code), text);
	worker__turned(c, code, text);
	session_send(c->session, FR_REFUSE, &m, NULL);
	session_end(c->session, code, text);
}

/* Who looks at the broker is to hear why it, or a loader of it, is not here. */
void worker__tell_barred(const struct conn *c, const struct claim *as, uint32_t lane,
                         const struct err *why)
{
	bool machine = as->role == ROLE_BROKER || as->role == ROLE_LOADER;

	if (!machine || (why->code != E_PEER && why->code != E_DELEGATION))
		return;
	struct broker_news *n = mem_new(sizeof *n);
	n->barred = true;
	n->lane = lane;
	snprintf(n->name, sizeof n->name, "%s", c->identity);
	snprintf(n->type, sizeof n->type, "%s", as->role == ROLE_LOADER ? as->type : "");
	snprintf(n->text, sizeof n->text, "%.255s", why->text);
	if (registrar_report(c->w->peers.registrar, n) < 0)
		free(n);
}

/* --- judged again ----------------------------------------------------------------------- */

static struct claim claim_of(const struct conn *c)
{
	struct claim as = { c->role, c->groups, 0, c->type };

	while (c->groups && c->groups[as.n_groups])
		as.n_groups++;
	return as;
}

static void judge_all(struct worker *w)
{
	w->look_us = 0;
	for (struct conn *c = w->conns; c; c = c->next) {
		struct claim as = claim_of(c);
		struct err err = { 0 };
		int r = c->role == ROLE_NONE || c->is_refused ? 0 : worker__judge(c, &as, &err);
		if (r < 0) {
			worker__tell_barred(c, &as, c->lane, &err);
			worker__refuse(c, r, r == E_PEER, err.text);
		}
	}
}

void worker__peers_look(struct worker *w)
{
	int64_t now = actor_wall_us(w->me);

	if (w->look_us && w->look_us <= now)
		judge_all(w);
	if (w->look_us)
		actor_alarm(w->me, actor_mono_us(w->me) + w->look_us - now);
}

/* --- keys that nobody has said anything of ------------------------------------------------ */

struct unsaid {
	const struct worker *w;
	struct buf names;
};

static void unsaid_add(void *ctx, const char *name, enum peer_kind kind)
{
	struct unsaid *u = ctx;

	if (kind == PEER_NONE && peer_kind_usual(name) == PEER_NONE &&
	    !peers_find(&u->w->who, name))
		buf_printf(&u->names, "%s%s", u->names.len ? ", " : "", name);
}

/* One of the workers tells, for all. */
static void tell_unsaid(const struct worker *w)
{
	struct unsaid u = { .w = w };

	if (w->set.index != 1)
		return;
	buf_init(&u.names);
	keys_each(w->peers.keys, unsaid_add, &u);
	if (u.names.len)
		log_warn(
			"peer.no-kind",
			"names=\"%s\" text=\"nobody has said what these keys of keys_file are, and "
			"they are not let in: `sirdar peer set NAME --kind KIND`, or `baseserver "
			"key-kind NAME KIND` and SIGHUP\"",
			buf_str(&u.names));
	buf_done(&u.names);
}

int worker_load(struct worker *w, struct store *store, struct err *err)
{
	int r = docs_load(&w->who, store, err);

	if (r == 0)
		tell_unsaid(w);
	return r;
}

/* --- news --------------------------------------------------------------------------------- */

struct peer_news {
	struct letter letter;
	struct store_doc doc; /* owns its texts; name NULL: the keys have changed */
};

static void peer_discard(struct letter *l)
{
	struct peer_news *n = (struct peer_news *)l;

	free((char *)n->doc.name);
	free((char *)n->doc.body);
	free(n);
}

static void on_peer(struct letter *l, void *self)
{
	const struct peer_news *n = (struct peer_news *)l;
	struct worker *w = self;
	struct err err = { 0 };

	if (n->doc.name && docs_learn(&w->who, &n->doc, &err) < 0)
		log_error("peer.unread", "peer=%s text=\"%s\"", n->doc.name, err.text);
	if (!n->doc.name)
		tell_unsaid(w);
	judge_all(w);
	peer_discard(l);
}

void worker_peer(struct worker *w, const struct store_doc *d)
{
	struct peer_news *n = mem_new(sizeof *n);

	n->letter.deliver = on_peer;
	n->letter.discard = peer_discard;
	if (d) {
		n->doc = *d;
		n->doc.title = n->doc.actor = NULL;
		n->doc.name = mem_str(d->name);
		n->doc.body = mem_strn(d->body, d->body_len);
	}
	if (actor_post_credit(w->me, &n->letter) < 0)
		peer_discard(&n->letter);
}

/* --- what it may ask for ---------------------------------------------------------------- */

enum changes { NOTHING, DEVICES, WORK, ANYTHING };

static enum changes changes_of(enum peer_kind kind)
{
	static const enum changes of[PEER_COUNT] = {
#define PEER(NAME, word, greets, changes, what) [PEER_##NAME] = changes,
#include "tbl/peer_kind.def"
#undef PEER
	};

	return of[kind];
}

static int may_not(const struct conn *c, const char *what, struct err *err)
{
	return err_set(err, E_FORBIDDEN, "peer '%s' is of kind %s and may not ask for %s",
	               c->identity, peer_kind_name(c->kind), what);
}

int worker__may_command(const struct conn *c, const char *kind, bool for_somebody, struct err *err)
{
	enum changes may = changes_of(c->kind);
	enum command_kind k;

	if (!command_kind_parse(kind, &k))
		return 0;
	if (k == CK_PEER_KEY || k == CK_PEER_EXPOSED || k == CK_SESSION_BEGIN) /* we ourselves do */
		return may_not(c, kind, err);
	/* What a face tells of itself is no person's to say, and nothing else is a face's. */
	if (may == ANYTHING)
		return for_somebody == (k != CK_SIGN_INS) ? 0 : may_not(c, kind, err);
	if (may == WORK && command_least(k) < LEAST_ADMIN)
		return 0;
	if (may == DEVICES && k == CK_DEVICE_REMOVE)
		return 0;
	return may_not(c, kind, err);
}

bool worker__is_for(const struct conn *c, const char *said)
{
	return changes_of(c->kind) == ANYTHING && *said;
}

char *worker__actor(const struct conn *c, const char *said)
{
	return worker__is_for(c, said) ? mem_str(said) : mem_fmt("peer:%s", c->identity);
}

char *worker__projects(const struct conn *c)
{
	const struct peer *p = peers_find(&c->w->who, c->identity);
	struct buf out;

	if (!p || !p->projects)
		return NULL;
	buf_init(&out);
	JV_EACH(v, p->projects)
		buf_printf(&out, "%s\n", v->text);
	char *text = mem_str(buf_str(&out));
	buf_done(&out);
	return text;
}
