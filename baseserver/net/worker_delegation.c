/* A loader greets by a key of its own, which its machine's key lets in: for one type and lane, and
 * for some time (lib/wire/delegation.h).
 *
 * Its key is nobody's in the handshake, so nothing but a DELEGATION is read of it then. What that
 * says is kept with the session and judged with it: again and again, as the key of any peer is
 * (worker_peer.c). What is over, or signed by a key that was followed by another, ends the session
 * and is no fault of the loader's: it comes again with a new one. */
#include <stdio.h>
#include <string.h>

#include "baseserver/net/worker_impl.h"
#include "rt/actor.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "wire/delegation.h"
#include "wire/keys.h"

/* By which of its keys? Also by one that nobody has approved of yet: that is told then. */
static const uint8_t *signer_of(const struct peer *p, const Sirdar__Delegation *m)
{
	for (size_t i = 0; i < p->n_keys; i++)
		if (delegation_signed(m, p->keys[i]))
			return p->keys[i];
	return p->has_asked && delegation_signed(m, p->asked) ? p->asked : NULL;
}

static int judge_times(const struct conn *c, const Sirdar__Delegation *m, struct err *err)
{
	int64_t now = actor_wall_us(c->w->me);

	if (m->from_us < 0 || m->until_us < m->from_us ||
	    m->until_us - m->from_us > DELEGATION_US_MAX)
		return err_set(err, E_DELEGATION,
		               "what lets this loader of '%s' in is for longer than 24 hours",
		               m->name);
	if (m->from_us > now + DELEGATION_US_SLIP)
		return err_set(
			err, E_DELEGATION,
			"what lets this loader of '%s' in begins later: the clock of that machine "
			"is ahead of this server's",
			m->name);
	if (m->until_us <= now)
		return err_set(
			err, E_DELEGATION,
			"what lets this loader of '%s' in is over: its taskbroker signs it anew "
			"where that runs and reaches a server",
			m->name);
	return 0;
}

static int judge_sign(const struct conn *c, const Sirdar__Delegation *m, struct delegated *ret,
                      struct err *err)
{
	const struct peer *p = peers_find(&c->w->who, m->name);

	if (m->key.len != PAIR_BYTES || memcmp(m->key.data, c->public, PAIR_BYTES) != 0)
		return err_set(err, E_DELEGATION, "what peer '%s' signed is for another key",
		               m->name);
	const uint8_t *key = p ? signer_of(p, m) : NULL;
	if (!key)
		return err_set(err, E_DELEGATION,
		               "what lets this loader in is signed by no key that peer '%s' has",
		               m->name);
	*ret = (struct delegated){ .is_there = true, .lane = m->lane, .until_us = m->until_us };
	memcpy(ret->key, key, sizeof ret->key);
	snprintf(ret->type, sizeof ret->type, "%s", m->type);
	snprintf(ret->machine, sizeof ret->machine, "%s", m->machine);
	return 0;
}

/* A loader stays what it is. */
static bool is_other(const struct conn *c, const struct delegated *by, const char *name)
{
	return c->by.is_there &&
	       (strcmp(name, c->identity) != 0 || strcmp(by->type, c->by.type) != 0 ||
	        strcmp(by->machine, c->by.machine) != 0 || by->lane != c->by.lane);
}

int worker__delegation(struct conn *c, const Sirdar__Delegation *m)
{
	struct delegated by;
	struct err err = { 0 };

	if (!c->has_pair || (c->identity[0] && !c->by.is_there) ||
	    !fs_name_ok(m->name, KEY_NAME_MAX - 1) || strlen(m->type) >= sizeof by.type ||
	    strlen(m->machine) >= sizeof by.machine)
		return E_PROTOCOL; /* who has a key that is known needs nobody's word */
	if (c->is_refused)
		return 0;
	int r = judge_sign(c, m, &by, &err);
	if (r == 0 && is_other(c, &by, m->name))
		r = err_set(&err, E_DELEGATION,
		            "another loader's: this one greeted as '%s' of '%s'", c->by.type,
		            c->identity);
	if (r == 0) {
		snprintf(c->identity, sizeof c->identity, "%s", m->name);
		r = judge_times(c, m, &err);
	}
	if (r < 0) {
		worker__refuse(c, r, false, err.text);
		return 0;
	}
	log_debug("session.delegation", "peer=%s name=%s type=%s lane=%u", c->peer, m->name,
	          by.type, by.lane);
	c->by = by;
	worker__look_at(c->w, by.until_us);
	session_known(c->session);
	return 0;
}

int worker__judge_lane(const struct conn *c, const Sirdar__Hello *h, struct err *err)
{
	if (!c->by.is_there || (h->lane == c->by.lane && strcmp(h->machine, c->by.machine) == 0))
		return 0;
	return err_set(err, E_DELEGATION,
	               "peer '%s' lets this key in as lane %u of its own machine, and as no other",
	               c->identity, c->by.lane);
}
