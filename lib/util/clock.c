#include "util/clock.h"
#include "util/check.h"

#include <time.h>

static int64_t read_us(clockid_t id)
{
	struct timespec ts = { 0 };

	CHECK(clock_gettime(id, &ts) == 0);
	return (int64_t)ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

static int64_t machine_mono_us(void *ctx)
{
	(void)ctx;
	return read_us(CLOCK_BOOTTIME);
}

static int64_t machine_wall_us(void *ctx)
{
	(void)ctx;
	return read_us(CLOCK_REALTIME);
}

const struct clock clock_machine = { machine_mono_us, machine_wall_us, 0 };

int64_t clock_steady_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

int64_t clock_thread_us(void)
{
	return read_us(CLOCK_THREAD_CPUTIME_ID);
}
