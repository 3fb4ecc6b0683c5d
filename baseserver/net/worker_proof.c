/* Proofs of leases: given away with a job, shown again by who holds it.
 *
 * What a proof covers is in lib/store/proof.h. It is shown once a session (PROVE, before the first
 * beat; of what a taskbroker's list got since, later), and from then on the session is believed.
 * A job that leaves in a session is that session's without a word. Output carries its own: that is
 * judged also when the lease is over and forgotten (worker_log.c). Where somebody speaks of a lease
 * and has shown nothing, the setting says what follows (worker.h: enum proof_rule).
 *
 * Whether a lease's holder keeps its proof is known of each grant of this server's time. Of what a
 * former one granted it is not, until it is shown: until then it is judged as before there were
 * proofs. */
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/job.h"
#include "baseserver/net/worker_impl.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

bool worker__has_proofs(const struct worker *w)
{
	return ledger_begin(w->peers.ledger)->key[0] != 0;
}

/* What somebody of another name shows takes nothing from the holder. */
static uint32_t *prover_of(const struct conn *c, struct lease *l)
{
	return &l->provers[l->broker != c->broker   ? BY_OTHER
	                   : c->role == ROLE_LOADER ? BY_LOADER
	                                            : BY_BROKER];
}

bool worker__has_shown(const struct conn *c, const struct lease *l)
{
	CHECK(c->number);
	return *prover_of(c, (struct lease *)(uintptr_t)l) == c->number;
}

bool worker__wants_proof(const struct worker *w, const struct lease *l)
{
	enum proof_rule rule = w->set.lease_proof;

	return worker__has_proofs(w) &&
	       (rule == PROOF_ALWAYS || (rule == PROOF_REQUIRE && l->keeps_proof));
}

/* Of the lease as it is known here: by that it will be judged. */
void worker__give_proof(struct conn *c, Sirdar__Job *job)
{
	struct lease *l = worker__lease(c->w, job->token);
	struct lease_name name = worker__lease_name(l);
	struct lease_proof p = ledger_lease_proof(c->w->peers.ledger, &name);

	CHECK(c->role == ROLE_LOADER && l->token == job->token);
	job_set_proof(job, &p);
	*prover_of(c, l) = c->number;
	l->keeps_proof = c->keeps_proofs;
}

int worker__take_proof(const struct conn *c, struct lease *l, const struct lease_proof *p)
{
	struct lease_name name = worker__lease_name(l);

	if (!p->is_there || worker__has_shown(c, l) || !worker__has_proofs(c->w))
		return 0;
	if (!ledger_proves(c->w->peers.ledger, &name, p))
		return E_FORGED;
	*prover_of(c, l) = c->number;
	l->keeps_proof |= l->broker == c->broker;
	return 0;
}

void worker__count_unproven(struct conn *c, uint32_t n)
{
	if (c->role != ROLE_LOADER || !worker__has_proofs(c->w))
		return;
	if (n && !c->n_unproven)
		log_info("peer.unproven", "peer=%s name=%s type=%s leases=%u", c->peer, c->name,
		         c->type, n);
	tally(&c->w->f_unproven, (uint64_t)n - c->n_unproven); /* what it was goes */
	c->n_unproven = n;
}
