/* Our beats name what the jobkeeper holds, and renew only what was proven in this session: all of
 * it after the welcome, and before a beat what its list has got since. The jobkeeper has them. */
#include "broker/link/proofs.h"
#include "broker/taskbroker/broker.h"
#include "util/check.h"

/* first: the server waits for what follows its welcome, though that be nothing. */
static void prove(struct broker *b, bool first)
{
	struct proofs p = { 0 };
	struct map now;

	map_init(&now);
	for (size_t i = 0; i < b->n_held; i++) {
		if (map_get(&b->proven, b->held[i]) == MAP_NONE)
			proofs_add(&p, b->held[i], &b->proofs[i]);
		map_add(&now, b->held[i], (uint32_t)i);
	}
	CHECK(p.n <= b->n_held);
	if (p.n || first)
		proofs_send(&p, b->link);
	map_done(&b->proven); /* what is held no more is forgotten */
	b->proven = now;
	proofs_done(&p);
}

void prove_new(struct broker *b)
{
	if (b->is_proving)
		prove(b, false);
}

void prove_begin(struct broker *b, bool asked)
{
	map_done(&b->proven);
	map_init(&b->proven);
	b->is_proving = asked;
	if (asked)
		prove(b, true);
}
