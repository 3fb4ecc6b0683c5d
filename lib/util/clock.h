/* clock.h — the only place that reads the machine's clocks.
 *
 * Threads get a `struct clock` and never ask the machine themselves, so that the
 * simulator can put its own in place.
 */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <stdint.h>

#define US_PER_S  1000000LL
#define US_PER_MS 1000LL

struct clock {
	int64_t (*mono_us)(void *ctx); /* CLOCK_BOOTTIME: durations, leases */
	int64_t (*wall_us)(void *ctx); /* CLOCK_REALTIME: calendars, stamps */
	void *ctx;
};

extern const struct clock clock_machine;

/* CLOCK_MONOTONIC: only for pthread_cond_clockwait(), which knows no BOOTTIME. */
int64_t clock_steady_us(void);
/* CLOCK_THREAD_CPUTIME_ID: what this thread has used of a processor. A call of the kernel. */
int64_t clock_thread_us(void);

static inline int64_t clock_mono_us(const struct clock *c)
{
	return c->mono_us(c->ctx);
}

static inline int64_t clock_wall_us(const struct clock *c)
{
	return c->wall_us(c->ctx);
}

/* This machine's mono_us(). */
static inline int64_t clock_now_us(void)
{
	return clock_mono_us(&clock_machine);
}

#endif
