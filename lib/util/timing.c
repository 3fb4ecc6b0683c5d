#include "util/timing.h"

#include "util/check.h"

/* Class 0 ends at 16 us, 1 at 24, 2 at 32, 3 at 48 ... */
enum { FIRST_BITS = 4 };

int timing_class(int64_t us)
{
	if (us <= 1 << FIRST_BITS)
		return 0;
	int top = 63 - __builtin_clzll((unsigned long long)us - 1);
	int class = 2 * (top - FIRST_BITS) + (us <= INT64_C(3) << (top - 1) ? 1 : 2);
	CHECK(class > 0);
	return class < TIMING_CLASSES ? class : TIMING_CLASSES - 1;
}

int64_t timing_limit_us(int class)
{
	CHECK(class >= 0 && class < TIMING_CLASSES);
	if (class == TIMING_CLASSES - 1)
		return INT64_MAX;
	return (class & 1 ? INT64_C(24) : INT64_C(16)) << (class / 2);
}

void timing_add(struct timing *t, int64_t us)
{
	tally(&t->counts[timing_class(us)], 1);
	tally(&t->sum_us, us > 0 ? (uint64_t)us : 0);
}

void timing_share(struct timing *t, int64_t us)
{
	atomic_fetch_add_explicit(&t->counts[timing_class(us)], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->sum_us, us > 0 ? (uint64_t)us : 0, memory_order_relaxed);
}

void timing_read(const struct timing *t, struct timing_view *ret)
{
	ret->n = 0;
	for (int i = 0; i < TIMING_CLASSES; i++) {
		ret->counts[i] = atomic_load_explicit(&t->counts[i], memory_order_relaxed);
		ret->n += ret->counts[i];
	}
	ret->sum_us = atomic_load_explicit(&t->sum_us, memory_order_relaxed);
}
