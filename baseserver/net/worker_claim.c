/* Who may speak of a lease: the one place where what a frame says of a token is judged.
 *
 * A lease belongs to one broker on one machine (ledger/holder.h), and there to the session that
 * shows its proof (worker_proof.c). A token that was right once, that nobody knows any more, or of
 * which no proof was shown, is stale: an honest peer that was cut off names it too, so the answer
 * says so and nothing else happens. A lease of another broker, or a wrong proof, is no mistake: the
 * worker refuses the frame, and the registrar counts it against the sender. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/net/worker_impl.h"
#include "baseserver/sort/registrar.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

/* What a lease must be to be spoken of: not over; or, where that is enough, over by the word of its
 * holder; of the type of the loader that speaks; granted to this session, or listed by it. */
enum { LIVE = 1, TOLD = 2, TYPE = 4, SESSION = 8 };

static const struct {
	enum frame_kind kind;
	unsigned needs;
	bool is_list; /* of many tokens, again and again: another's counts once a session */
} rules[] = {
	{ FR_HELLO, LIVE | TYPE, true },      { FR_BEAT, LIVE | TYPE, true },
	{ FR_REPORTS, LIVE | TYPE, false },   { FR_PARAM_ASK, LIVE | TYPE | SESSION, false },
	{ FR_LOG_CHUNK, TOLD | TYPE, false }, { FR_PROVE, TOLD, true },
};

static size_t rule_of(enum frame_kind kind)
{
	size_t i = 0;

	while (rules[i].kind != kind)
		CHECK(++i < sizeof rules / sizeof rules[0]);
	return i;
}

/* A broker speaks of all types; one that is over has no definition any more. */
static bool other_type(const struct conn *c, const struct lease *l)
{
	return c->role == ROLE_LOADER && l->def && !l->any_type &&
	       strcmp(l->def->type, c->type) != 0;
}

/* A machine that was renamed is no liar: it has the same number, but what it held is its former
 * name's. The number is no secret: who has only that, and no proof of what its holder can prove,
 * lies. */
static bool is_forged(const struct conn *c, const struct lease *l, bool lacks_proof)
{
	return holder_forges(&c->holder, l->machine, l->broker) ||
	       (l->broker != c->broker && lacks_proof);
}

static int judge(struct conn *c, enum frame_kind kind, uint64_t token, struct lease **ret)
{
	struct lease *l = worker__lease_known(c->w, token);
	unsigned needs = rules[rule_of(kind)].needs;

	CHECK(c->greeted && (!l || l->token == token));
	*ret = NULL;
	if (!l)
		return E_STALE;
	bool lacks_proof = !worker__has_shown(c, l) && worker__wants_proof(c->w, l);
	if (!holder_has(&c->holder, l->machine, l->broker, token))
		return is_forged(c, l, lacks_proof) ? E_FORGED : E_STALE;
	if (lacks_proof)
		return E_STALE;
	if ((needs & LIVE && l->is_over) || (needs & TOLD && l->is_over && !l->told_end) ||
	    (needs & TYPE && other_type(c, l)) || (needs & SESSION && l->session != c->number))
		return E_STALE;
	l->machine = c->holder.machine;
	*ret = l;
	return 0;
}

void worker__forged(struct conn *c, enum frame_kind kind, uint64_t token, uint32_t broker)
{
	if (rules[rule_of(kind)].is_list && c->listed_forged)
		return;
	c->listed_forged |= rules[rule_of(kind)].is_list;
	log_warn("peer.forged", "peer=%s name=%s frame=%s token=%llx of_broker=%u", c->peer,
	         c->name, frame_name(kind), (unsigned long long)token, broker);
	struct broker_news *n = mem_new(sizeof *n);
	n->session = c->number;
	n->broker = c->broker;
	n->forged = true;
	n->forged_of = broker;
	n->worker = c->w->me;
	n->evict = c->w->evict;
	snprintf(n->text, sizeof n->text, "%s", frame_name(kind));
	if (registrar_report(c->w->peers.registrar, n) < 0)
		free(n);
}

int worker__claim(struct conn *c, enum frame_kind kind, uint64_t token, struct lease **ret)
{
	int r = judge(c, kind, token, ret);

	if (r == E_FORGED)
		worker__forged(c, kind, token, worker__lease_known(c->w, token)->broker);
	return r;
}

int worker__shown(struct conn *c, enum frame_kind kind, struct lease *l,
                  const struct lease_proof *p)
{
	int r = worker__take_proof(c, l, p);

	if (r == E_FORGED)
		worker__forged(c, kind, l->token, l->broker);
	return r;
}

struct lease *worker__own(struct conn *c, enum frame_kind kind, uint64_t token)
{
	struct lease *l;

	judge(c, kind, token, &l);
	return l;
}
