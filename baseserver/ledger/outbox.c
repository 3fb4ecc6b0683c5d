#include "baseserver/ledger/outbox.h"

#include "baseserver/ledger/ledger.h"
#include "util/check.h"

struct proposal *outbox_add(struct outbox *o, enum ask ask, struct inst_key key)
{
	CHECK(outbox_room(o) > 0);
	if (o->open && o->open->n == o->open->cap)
		outbox_flush(o);
	if (!o->open)
		o->open = proposals_new(o->from, OUTBOX_LETTER, o->me, o->answered);
	return proposals_add(o->open, ask, key);
}

void outbox_flush(struct outbox *o)
{
	struct proposals *ps = o->open;

	if (!ps)
		return;
	o->open = NULL;
	size_t n = ps->n;
	if (ledger_propose(o->ledger, ps) < 0)
		proposals_free(ps); /* the process is ending */
	else
		o->in_flight += n;
}

void outbox_settled(struct outbox *o, const struct answers *as)
{
	CHECK(as->proposals <= o->in_flight);
	o->in_flight -= as->proposals;
}

void outbox_done(struct outbox *o)
{
	proposals_free(o->open);
	o->open = NULL;
}
