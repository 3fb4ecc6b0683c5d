/* Who may speak of a lease: the one place where what a frame says of a token is judged.
 *
 * A lease belongs to one broker on one machine (ledger/holder.h). A token that was right once, or
 * that nobody knows any more, is stale: an honest peer that was cut off names it too, so the answer
 * says so and nothing else happens. A lease of another broker is no mistake: the worker refuses the
 * frame, and the registrar counts it against the sender. */
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
	{ FR_LOG_CHUNK, TOLD | TYPE, false },
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

static int judge(struct conn *c, enum frame_kind kind, uint64_t token, struct lease **ret)
{
	struct lease *l = worker__lease_known(c->w, token);
	unsigned needs = rules[rule_of(kind)].needs;

	CHECK(c->greeted && (!l || l->token == token));
	*ret = NULL;
	if (!l)
		return E_STALE;
	if (!holder_has(&c->holder, l->machine, l->broker, token))
		return holder_forges(&c->holder, l->machine, l->broker) ? E_FORGED : E_STALE;
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

struct lease *worker__own(struct conn *c, enum frame_kind kind, uint64_t token)
{
	struct lease *l;

	judge(c, kind, token, &l);
	return l;
}
