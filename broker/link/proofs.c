/* PROVE: in frames of so many tokens, the last of which may be empty. */
#include "broker/link/proofs.h"

#include <sirdar.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "broker/link/link.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/lease_proof.h"
#include "util/log.h"

enum { TOKENS_A_FRAME = 16384 };

void proofs_add(struct proofs *p, uint64_t token, const struct lease_proof *proof)
{
	if (!proof->is_there)
		return;
	p->tokens = mem_room(p->tokens, &p->cap, p->n + 1, sizeof *p->tokens);
	p->bytes = mem_room(p->bytes, &p->cap_bytes, p->n + 1, LEASE_PROOF);
	memcpy(p->bytes + p->n * LEASE_PROOF, proof->bytes, LEASE_PROOF);
	p->tokens[p->n++] = token;
}

void proofs_send(const struct proofs *p, struct link *l)
{
	size_t at = 0;
	struct err err = { 0 };
	int r = 0;

	do {
		Sirdar__Prove m = SIRDAR__PROVE__INIT;
		size_t left = p->n - at;

		m.n_token = left < TOKENS_A_FRAME ? left : TOKENS_A_FRAME;
		m.token = p->n ? p->tokens + at : NULL;
		m.proof.len = m.n_token * LEASE_PROOF;
		m.proof.data = p->n ? p->bytes + at * LEASE_PROOF : NULL;
		at += m.n_token;
		m.last = at == p->n;
		r = link_send(l, FR_PROVE, &m, &err);
	} while (r == 0 && at < p->n);
	CHECK(at <= p->n);
	if (r < 0)
		log_warn("link.unproven", "tokens=%zu why=\"%s\"", p->n, err.text);
}

void proofs_done(struct proofs *p)
{
	free(p->tokens);
	free(p->bytes);
	*p = (struct proofs){ 0 };
}
