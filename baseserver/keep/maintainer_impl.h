/* maintainer_impl.h — the maintainer's inside, shared by maintainer*.c only. */
#ifndef BASESERVER_MAINTAINER_IMPL_H
#define BASESERVER_MAINTAINER_IMPL_H

#include <stdbool.h>

#include "baseserver/keep/maintainer.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/outbox.h"
#include "rt/stream.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/map.h"
#include "util/slab.h"

struct ear;
struct task;

#define MAINTAINER_KEEP_EVERY_US (3600 * US_PER_S)

#define LANE_UNKNOWN UINT32_MAX

/* An instance that time will do something to. */
struct watch {
	struct heap_node node; /* mono us of the next look */
	struct instance inst;
	uint32_t slot;
	const struct task *body; /* what its attempt runs with, counted; NULL: as in force */
	uint32_t session;        /* that has it, 0: none yet (after a restart) */
	uint32_t lane;           /* of its holder; LANE_UNKNOWN after a restart, until listed */
	uint64_t machine;        /* as in struct holder */
	int64_t granted_us;      /* mono: the attempt's start as far as known */
	int64_t lose_us;         /* mono: lost when not heard by then */
	int64_t kill_us;         /* mono: the kill was asked; 0: none */
	uint8_t absent;          /* lists of its session it was not in, in a row */
	bool present;            /* it was in one */
	bool gone;            /* known to be lost; it may take more than one proposal to say so */
	bool asked;           /* a proposal is under way */
	bool killed_for_time; /* alive_wait's kill was proposed */
};

struct mtask {
	const struct task *def; /* counted */
	struct store_task row;
	int64_t through;
	int64_t ahead_lo, ahead_hi; /* dates in a row that were made before it came to them */
	size_t unfinished;
	bool offline_asked;
};

struct maintainer {
	struct actor *me;
	struct ledger *ledger;
	struct maintainer_settings set;
	struct stream_reader *in;
	struct outbox out;
	struct slab watches;
	uint32_t *by_slot;
	size_t by_slot_cap;
	struct map by_token;
	struct heap times;
	struct mtask **tasks; /* by id */
	size_t tasks_cap;
	int64_t keep_us; /* mono: the next slice of housekeeping */
	uint32_t *over;  /* tasks that are to go offline */
	size_t n_over, over_cap;
	int64_t over_us, retire_us; /* mono: since the first of them; asked for together */
	bool retiring;              /* an edit is under way */
	struct ear *ears;           /* maintainer_roll.c */
	size_t n_ears;
	int64_t call_us; /* mono: the next call of all ears */
	int64_t anew_us; /* mono: no clock of silence counts from before */
	bool keeping, saved;
	uint64_t saved_at; /* the ledger's number when outcomes were saved last */
};

static inline struct watch *watch_at(const struct maintainer *m, uint32_t i)
{
	return slab_at(&m->watches, i);
}

/* maintainer_watch.c */
struct mtask *maintainer__task(struct maintainer *m, uint32_t id); /* made if needed */
const struct task *maintainer__def(const struct maintainer *m, uint32_t task);
/* What its attempt runs with; a later edit does not change that. */
const struct task *watch__def(const struct maintainer *m, const struct watch *w);
void watch__set_body(struct watch *w, const struct task *body);
int64_t watch__expiry_us(const struct maintainer *m, const struct instance *i); /* wall */
int64_t watch__grace_us(const struct maintainer *m, const struct watch *w);
int64_t watch__next_look(const struct maintainer *m, const struct watch *w); /* mono */
uint32_t watch__of_slot(const struct maintainer *m, uint32_t slot);          /* or SLAB_NONE */
bool watch__wanted(const struct maintainer *m, const struct instance *i);
void watch__drop(struct maintainer *m, uint32_t index);
uint32_t watch__take(struct maintainer *m, uint32_t slot);
void watch__set_image(struct maintainer *m, uint32_t index, const struct instance *i);
void watch__begin_anew(const struct maintainer *m, struct watch *w); /* when we stood still */
void watch__begin_lease(struct maintainer *m, struct watch *w, const struct transition *tr);

/* maintainer_retire.c: tasks whose plan is over go offline, many in one edit. */
void maintainer__retire_if_over(struct maintainer *m, struct mtask *t);
void maintainer__retire(struct maintainer *m);

/* maintainer_roll.c: stalls of our own. */
int64_t maintainer__call(struct maintainer *m); /* all ears, when it is time; when it is next */
/* Has all been heard that was there to be heard by then? False: it will be known soon. */
bool maintainer__may_judge(struct maintainer *m, int64_t due_us);

/* maintainer_keep.c: retention, a slice at a time. */
void maintainer__keep_house(struct maintainer *m);

/* maintainer.c */
void maintainer__fold(struct maintainer *m);
void maintainer__lose(struct maintainer *m, struct watch *w); /* its attempt: nobody has it */

#endif
