/* A peer's public keys: it is invited, makes its first one known, is approved of; later it changes
 * the key.
 *
 * An invite fixes what the peer will be; its code is in memory (baseserver/model/invites.h), its id
 * in the document. The key that comes under it goes into the document with the id taken out, in one
 * commit: so a code is used once, whatever fails in between. That key lets nobody in before a
 * person has approved of it. What comes of peers is said by the worker whose session it was
 * (baseserver/net/worker_enrol.c), under the peer's own name. */
#include <stdio.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/model/front.h"
#include "baseserver/model/invites.h"
#include "baseserver/model/peers.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"

#define KEYS_BOTH_US (24 * 3600 * US_PER_S) /* so long the former one counts beside the next */
#define CHANGE_S     10                     /* from one change to the next: each is a document */
#define CHANGE_US    (CHANGE_S * US_PER_S)
#define DIGITS       "0123456789abcdef"

/* --- arguments ----------------------------------------------------------------------- */

static int want_digits(const struct order *o, const char *key, size_t n, bool required,
                       struct refusal *f)
{
	const char *text = NULL;
	char at[40];
	int r = arg_text(o->args, "args", key, 100, &text, f);

	snprintf(at, sizeof at, "args.%s", key);
	if (r < 0 || (!text && !required))
		return r;
	if (text && strlen(text) == n && strspn(text, DIGITS) == n)
		return 0;
	return refuse(f, E_INVALID, at, NULL, "%s: %zu digits of 0-9 a-f are expected", at, n);
}

int peer_set_parse(struct order *o, struct refusal *f)
{
	int r = peer_parse(o, f);

	return r < 0 ? r : want_digits(o, "fingerprint", PAIR_TEXT - 1, false, f);
}

int peer_invite_parse(struct order *o, struct refusal *f)
{
	int r = peer_parse(o, f);

	if (r == 0)
		r = want_digits(o, "id", 12, true, f);
	return r < 0 ? r : want_digits(o, "secret", INVITE_SECRET_BYTES, true, f);
}

int peer_key_parse(struct order *o, struct refusal *f)
{
	bool says = o->kind == CK_PEER_KEY;
	int r = peer_parse(o, f);

	if (r == 0 && says)
		r = want_digits(o, "key", PAIR_TEXT - 1, true, f);
	if (r == 0 && says)
		r = want_digits(o, "former", PAIR_TEXT - 1, false, f);
	if (r == 0 && says)
		r = want_digits(o, "invite", 12, false, f);
	return r < 0 || says ? r : want_digits(o, "fingerprint", PAIR_TEXT - 1, false, f);
}

/* --- the edits ----------------------------------------------------------------------- */

/* Who is let in gets another key by an invite, and stays what he is until then: another kind would
 * shut him out at once. A key that nobody has said a kind of is not let in. */
static int check_same_kind(const struct order *o, const struct peer *was, bool has_shared,
                           struct refusal *f)
{
	bool is_in = was->state == PEER_ACTIVE && (was->n_keys || has_shared);
	const char *kind = o->mode >= 0 ? peer_kind_name((enum peer_kind)(o->mode + 1)) : "";

	if (!is_in || o->mode < 0 || !was->kind || was->kind == (enum peer_kind)(o->mode + 1))
		return 0;
	return refuse(f, E_CONFLICT, "args.kind", "without a kind it is invited as what it is",
	              "args.kind: '%s' is let in as a %s: an invite does not change that, `sirdar "
	              "peer set %s --kind %s` does, at once",
	              o->peer, peer_kind_name(was->kind), o->peer, kind);
}

/* In memory when the document is not there yet: without it the code is worth nothing. */
int peer__invite(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct order *o = &cmd->o;
	bool has_shared = false;
	struct peer next = peer__next(c, o, &has_shared);

	if (!c->front || !c->front->invites)
		return refuse(f, E_UNSUPPORTED, NULL, NULL, "this server invites nobody");
	int r = check_same_kind(o, &next, has_shared, f);
	if (r == 0)
		r = peer__bound(o, &next, f);
	if (r < 0)
		return r;
	if (!next.n_keys && !has_shared && next.state != PEER_REVOKED)
		next.state = PEER_INVITED;
	next.has_asked = false;
	next.invite = jv_str(o->args, "id");
	next.invite_until_us = o->now_us + INVITE_HOUR_S * US_PER_S;
	if (!cmd->dry)
		invites_add(c->front->invites, next.invite, jv_str(o->args, "secret"), o->peer,
		            next.invite_until_us);
	peer__put(c, cmd, &next);
	return 0;
}

static int take_first(const struct order *o, struct peer *next, bool has_shared,
                      const uint8_t key[PAIR_BYTES], struct refusal *f)
{
	const char *id = jv_str(o->args, "invite");

	if (!id[0] || strcmp(next->invite, id) != 0 || o->now_us >= next->invite_until_us)
		return refuse(f, E_FORBIDDEN, "args.invite", "sirdar peer invite NAME",
		              "that code is not one of peer '%s', or not any more", o->peer);
	next->invite = "";
	next->has_asked = true;
	memcpy(next->asked, key, PAIR_BYTES);
	if (!next->n_keys && !has_shared && next->state != PEER_REVOKED)
		next->state = PEER_PENDING;
	return 0;
}

static int take_next(const struct order *o, struct peer *next, const uint8_t key[PAIR_BYTES],
                     const uint8_t former[PAIR_BYTES], struct refusal *f)
{
	if (!peer_has_key(next, former, o->now_us))
		return refuse(f, E_FORBIDDEN, "args.former", NULL,
		              "args.former: is not a key of peer '%s', or not any more", o->peer);
	if (memcmp(key, former, PAIR_BYTES) == 0) { /* it was used: where it is the new one, it is
		                                     * alone now */
		if (memcmp(next->keys[0], key, PAIR_BYTES) == 0)
			next->n_keys = 1;
		return 0;
	}
	if (next->n_keys == 2 && memcmp(next->keys[0], key, PAIR_BYTES) == 0)
		return 0; /* asked for once more: the former one gets no longer time by it */
	if (o->now_us < next->former_until_us - KEYS_BOTH_US + CHANGE_US)
		return refuse(
			f, E_BUSY, NULL, NULL,
			"the key of peer '%s' was changed a moment ago: try again in %d seconds",
			o->peer, CHANGE_S);
	memcpy(next->keys[1], former, PAIR_BYTES);
	memcpy(next->keys[0], key, PAIR_BYTES);
	next->n_keys = 2;
	next->former_until_us = o->now_us + KEYS_BOTH_US;
	return 0;
}

int peer__key(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct order *o = &cmd->o;
	bool has_shared = false;
	struct peer next = peer__next(c, o, &has_shared);
	uint8_t key[PAIR_BYTES] = { 0 }, former[PAIR_BYTES] = { 0 };

	pair_parse(jv_str(o->args, "key"), key);
	const char *owner = peers_whose(&c->docs[DOC_PEER], key);
	if (owner && strcmp(owner, o->peer) != 0)
		return refuse(f, E_EXISTS, "args.key", NULL,
		              "that public key is another peer's: each draws its own");
	bool follows = pair_parse(jv_str(o->args, "former"), former);
	int r = follows ? take_next(o, &next, key, former, f)
	                : take_first(o, &next, has_shared, key, f);
	if (r == 0)
		peer__put(c, cmd, &next);
	return r;
}

int peer__approve(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct order *o = &cmd->o;
	bool has_shared = false;
	struct peer next = peer__next(c, o, &has_shared);
	const char *wanted = jv_str(o->args, "fingerprint");
	char text[PAIR_TEXT];

	if (!next.has_asked)
		return refuse(f, E_CONFLICT, "args.peer", "sirdar peer list",
		              "args.peer: no key of '%s' waits for anybody's approval", o->peer);
	pair_text(next.asked, text);
	if (wanted[0] && strcmp(wanted, text) != 0)
		return refuse(
			f, E_CONFLICT, "args.fingerprint", text,
			"args.fingerprint: the key of '%s' that waits is another one: somebody "
			"else may have used the code; revoke the peer, and invite it anew",
			o->peer);
	memcpy(next.keys[0], next.asked, PAIR_BYTES);
	next.n_keys = 1;
	next.former_until_us = 0;
	next.has_asked = false;
	next.state = PEER_ACTIVE;
	peer__put(c, cmd, &next);
	return 0;
}
