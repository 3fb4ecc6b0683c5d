/* mem.h — the store in memory: for tests and the simulator, with faults to order.
 *
 * A `mem:` store is a handle on a disk that no other handle shares until a crash or a
 * copy. Every function here wants a store opened with "mem:". Thread: the store's.
 */
#ifndef STORE_MEM_H
#define STORE_MEM_H

#include <stddef.h>

#include "sched/instance.h"

struct store;

enum store_fault_when {
	STORE_FAULT_BEFORE, /* the commit fails and nothing of it is stored */
	STORE_FAULT_AFTER,  /* it is stored, and the answer is lost: outcome unknown */
};

/* Skip `after` commits, then let `n` fail with `code` (E_FULL, E_BUSY, E_IO, E_AGAIN,
 * E_CORRUPT, ...). Counts calls of commit, take_epoch, save_outcomes and retain (that does
 * not only count). Replaces what was ordered before; n 0: none. */
void store_mem_fail(struct store *s, unsigned after, unsigned n, int code,
                    enum store_fault_when when);

/* The same for store_find_done(): skip `after` reads, then let `n` fail with `code`. */
void store_mem_fail_reads(struct store *s, unsigned after, unsigned n, int code);

/* The process died: `s` answers E_CLOSED from now on and is still to be closed;
 * *ret_next is what the next process opens: all that was committed, nothing else, and no
 * faults. */
void store_mem_crash(struct store *s, struct store **ret_next);

/* Another store with the same content, its own from now on: a backup, or a replica that
 * lost what comes later. */
void store_mem_copy(const struct store *s, struct store **ret_copy);

/* A second process on the same disk, as a standby has: both may write, the epoch decides.
 * Unlike sqlite, which refuses a second writer at open. */
void store_mem_share(struct store *s, struct store **ret_other);

/* The events stored, in order of number; borrowed. A negative answer ends it. */
int store_mem_each_event(const struct store *s, int (*each)(void *ctx, const struct transition *t),
                         void *ctx);
size_t store_mem_count_live(const struct store *s);
size_t store_mem_count_done(const struct store *s);

#endif
