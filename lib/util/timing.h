/* timing.h — how long things took, counted in classes that are a histogram's buckets.
 *
 * Two classes a doubling, from 16 us to hours; no lock: one thread adds (timing_add), or many
 * (timing_share), any thread reads.
 */
#ifndef UTIL_TIMING_H
#define UTIL_TIMING_H

#include <stdatomic.h>
#include <stdint.h>

enum { TIMING_CLASSES = 64 }; /* the last one has no upper end */

struct timing {
	_Atomic uint64_t counts[TIMING_CLASSES];
	_Atomic uint64_t sum_us;
};

/* Counts as one thread saw them; not all of the same instant. */
struct timing_view {
	uint64_t counts[TIMING_CLASSES], n;
	uint64_t sum_us;
};

void timing_add(struct timing *t, int64_t us);   /* the one writer; a negative one counts as 0 */
void timing_share(struct timing *t, int64_t us); /* one of several writers */
void timing_read(const struct timing *t, struct timing_view *ret);

int timing_class(int64_t us);
/* The upper end of a class, included, us; INT64_MAX of the last. */
int64_t timing_limit_us(int class);

/* A number that one thread counts and others read. */
static inline void tally(_Atomic uint64_t *n, uint64_t more)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + more,
	                      memory_order_relaxed);
}

#endif
