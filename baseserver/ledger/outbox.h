/* outbox.h — the proposals of one actor inside the process, within its credit.
 *
 * A reader keeps what it wants in its own to-do list and proposes as credit allows; the
 * ledger's letters of answers give credit back (baseserver/ledger rule 4).
 */
#ifndef BASESERVER_OUTBOX_H
#define BASESERVER_OUTBOX_H

#include "baseserver/ledger/letters.h"

struct ledger;

enum { OUTBOX_CREDIT = 2048, OUTBOX_LETTER = 512 };

struct outbox {
	struct ledger *ledger;
	struct actor *me;
	enum proposer from;
	void (*answered)(struct letter *l, void *self);
	struct proposals *open; /* being filled */
	size_t in_flight;
};

static inline size_t outbox_room(const struct outbox *o)
{
	size_t open = o->open ? o->open->n : 0;
	return OUTBOX_CREDIT - o->in_flight - open;
}

/* The next proposal to fill in; outbox_room() > 0. Sent by outbox_flush(). */
struct proposal *outbox_add(struct outbox *o, enum ask ask, struct inst_key key);
void outbox_flush(struct outbox *o);
/* On each letter of answers. */
void outbox_settled(struct outbox *o, const struct answers *as);
void outbox_done(struct outbox *o);

#endif
