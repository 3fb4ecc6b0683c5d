/* resolver.h — finds the instances whose dependencies are met (the seed's dependency check).
 *
 * Folds the ledger's stream; holds what is Ready. For each waiting instance and link it
 * knows a window of the parent's plan; waiters are indexed by (link, window), and a
 * window counts down as its parents end: nothing is rescanned, no store is asked.
 */
#ifndef BASESERVER_RESOLVER_H
#define BASESERVER_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/actor.h"

struct buf;
struct inst_key;
struct ledger;
struct meter;
struct pick;
struct resolver;
struct thread;

/* Takes what the ledger loaded. Before any thread runs. */
struct resolver *resolver_new(struct thread *th, struct ledger *ledger);
void resolver_free(struct resolver *r); /* its thread is stopped; NULL is fine */
struct actor *resolver_actor(struct resolver *r);
/* What it works for is booked there. Borrowed; before any thread runs. */
void resolver_set_meter(struct resolver *r, struct meter *m);

/* What the links of a command's members (IF_MEMBER) look at. */
struct scope_news {
	struct letter letter;
	uint64_t command;   /* 0: all that there is to say after a restart has been said */
	struct pick *picks; /* every date of the command, ascending by task; none: as before */
	size_t n;
	bool inside; /* links look at these alone; else at the plan and at these */
	bool over;   /* the command makes no more members */
};
/* Owned on 0; errors  E_BUSY, E_CLOSED. Thread: any. Members that came before it are looked at
 * again. */
int resolver_tell(struct resolver *r, struct scope_news *n);
void scope_news_free(struct scope_news *n);

/* Why an instance waits, for `why`: the first open link in words, into `out`; false when it
 * does not wait for a link. Thread: the resolver's. */
bool resolver_explain(struct resolver *r, struct inst_key key, struct buf *out);

#endif
