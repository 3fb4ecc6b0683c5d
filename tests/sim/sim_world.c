/* The simulated world: a heap of things to happen, by virtual time, and the clocks and the luck
 * that everything draws from. One step runs the next thing or the server, whichever is earlier;
 * virtual time jumps between them. Things of the same instant happen in the order in which they
 * were put. Nothing reads a real clock or real randomness: a seed gives the same run at any
 * time. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/heap.h"

struct options opt = { .seed = 1, .steps = 30000 };
int64_t now_us, wall_shifted_us;
struct swarm swarm;
static uint64_t luck;

struct thing {
	struct heap_node node;
	void (*what)(void *a, uint64_t b);
	void *a;
	uint64_t b;
	bool owned; /* a is freed if it never happens; else what() frees it */
};

static struct heap things;
static int64_t tie;

uint32_t rnd(uint32_t n)
{
	luck ^= luck << 13;
	luck ^= luck >> 7;
	luck ^= luck << 17;
	return (uint32_t)((luck >> 16) % n);
}

bool chance(uint32_t per_mille)
{
	return rnd(1000) < per_mille;
}

static int64_t mono(void *ctx)
{
	(void)ctx;
	return now_us + 1;
}

static int64_t wall(void *ctx)
{
	(void)ctx;
	return wall_of(now_us);
}

const struct clock sim_clock = { mono, wall, NULL };

int64_t wall_of(int64_t us)
{
	return WALL_BASE_US + us + wall_shifted_us;
}

void wall_shift(int64_t us)
{
	note("the wall clock is set by %+lld s", (long long)((us - wall_shifted_us) / SEC));
	wall_shifted_us = us;
}

/* Same time: in the order they were put. The tie-breaker stands in the low bits. */
static struct thing *put(int64_t after_us, void (*what)(void *a, uint64_t b), void *a, uint64_t b)
{
	struct thing *t = mem_new(sizeof *t);

	heap_node_init(&t->node);
	t->what = what;
	t->a = a;
	t->b = b;
	heap_set(&things, &t->node, (now_us + after_us) << 16 | (tie++ & 0xffff));
	return t;
}

void later(int64_t after_us, void (*what)(void *a, uint64_t b), void *a, uint64_t b)
{
	put(after_us, what, a, b);
}

void later_owned(int64_t after_us, void (*what)(void *a, uint64_t b), void *a)
{
	put(after_us, what, a, 0)->owned = true;
}

bool world_step(void)
{
	struct thing *t = (struct thing *)heap_top(&things);
	int64_t at = t ? t->node.key >> 16 : INT64_MAX, alarm = server_next_us();

	if (alarm < at) {
		now_us = alarm > now_us ? alarm : now_us;
		server_run();
		return true;
	}
	if (!t)
		return false;
	now_us = at > now_us ? at : now_us;
	heap_remove(&things, &t->node);
	t->what(t->a, t->b);
	free(t);
	server_run();
	return true;
}

void world_reset(uint64_t seed)
{
	struct heap_node *n;

	while ((n = heap_top(&things))) {
		heap_remove(&things, n);
		if (((struct thing *)n)->owned)
			free(((struct thing *)n)->a);
		free(n);
	}
	heap_done(&things);
	heap_init(&things);
	luck = seed * 0x9e3779b97f4a7c15ULL + 0x1234567;
	for (int i = 0; i < 8; i++)
		rnd(2);
	now_us = wall_shifted_us = 0;
	tie = 0;
}

void note(const char *fmt, ...)
{
	va_list ap;

	if (!opt.verbose)
		return;
	fprintf(stderr, "%10.3f ", (double)now_us / 1e6);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}
