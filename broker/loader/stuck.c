/* A thread that ends this process when a call of the plugin on the session thread does not return.
 *
 * The session thread beats, renews leases and fences. A plugin's call on it (kill, inline calls,
 * finish) that does not return stops all three: nobody would end jobs whose lease is over.
 * `calls` is odd while the plugin is inside; the watching thread looks LOOKS times within the
 * limit, and ends the process if it saw the same odd number each time. Job threads may take as
 * long as they like: this does not watch them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

#define LOOKS       4 /* within the limit */
#define STACK_BYTES (64u << 10)

struct stuck {
	struct loader *loader;
	pthread_t thread;
	pthread_mutex_t mu; /* guards is_over */
	pthread_cond_t cv;
	bool is_over;
};

/* One writer: the session thread. Odd: inside of a call. */
void loader_call_begin(struct loader *l, const char *what)
{
	uint64_t n = atomic_load_explicit(&l->calls, memory_order_relaxed);

	CHECK(!(n & 1)); /* one call at a time */
	atomic_store_explicit(&l->call_name, what, memory_order_relaxed);
	atomic_store_explicit(&l->calls, n + 1, memory_order_release);
}

void loader_call_end(struct loader *l)
{
	uint64_t n = atomic_load_explicit(&l->calls, memory_order_relaxed);

	CHECK(n & 1);
	atomic_store_explicit(&l->calls, n + 1, memory_order_release);
}

static void end_it(struct loader *l)
{
	const char *what = atomic_load_explicit(&l->call_name, memory_order_relaxed);

	log_error("loader.stuck", "type=%s call=%s: the process ends", l->type, what);
	loader_say(l, "stuck the runner's %s did not come back within %lld ms", what,
	           (long long)l->settings->loader_call_ms);
	_exit(EX_SOFTWARE);
}

/* True: wait no more, the loader ends by itself. */
static bool pause_for(struct stuck *s, int64_t us)
{
	int64_t until_us = clock_steady_us() + us;
	struct timespec at = { .tv_sec = until_us / US_PER_S,
		               .tv_nsec = until_us % US_PER_S * 1000 };

	pthread_mutex_lock(&s->mu);
	while (!s->is_over && clock_steady_us() < until_us)
		pthread_cond_clockwait(&s->cv, &s->mu, CLOCK_MONOTONIC, &at);
	bool is = s->is_over;

	pthread_mutex_unlock(&s->mu);
	return is;
}

static int64_t limit_us(struct loader *l)
{
	pthread_mutex_lock(&l->mu); /* a reload may be at it */
	int64_t us = l->settings->loader_call_ms * US_PER_MS;

	pthread_mutex_unlock(&l->mu);
	return us;
}

static void *stuck_watch(void *arg)
{
	struct stuck *s = arg;
	struct loader *l = s->loader;
	uint64_t seen = 0;
	int same = 0;

	while (!pause_for(s, limit_us(l) / LOOKS)) {
		uint64_t now = atomic_load_explicit(&l->calls, memory_order_acquire);

		same = now & 1 && now == seen ? same + 1 : 0;
		seen = now;
		if (same >= LOOKS)
			end_it(l);
	}
	return NULL;
}

int loader_watch_calls(struct loader *l, struct err *err)
{
	struct stuck *s = mem_new(sizeof *s);
	pthread_attr_t attr;
	int code;

	CHECK(!l->stuck);
	s->loader = l;
	pthread_mutex_init(&s->mu, NULL);
	pthread_cond_init(&s->cv, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	code = pthread_create(&s->thread, &attr, stuck_watch, s);
	pthread_attr_destroy(&attr);
	if (code) {
		free(s);
		return err_sys(err, E_NOMEM, code, "a thread");
	}
	l->stuck = s;
	pthread_setname_np(s->thread, "stuck");
	return 0;
}

void loader_unwatch_calls(struct loader *l)
{
	struct stuck *s = l->stuck;

	if (!s)
		return;
	pthread_mutex_lock(&s->mu);
	s->is_over = true;
	pthread_cond_broadcast(&s->cv);
	pthread_mutex_unlock(&s->mu);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->cv);
	pthread_mutex_destroy(&s->mu);
	free(s);
	l->stuck = NULL;
}
