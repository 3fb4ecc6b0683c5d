/* The HTTP thread makes a watch, sets its time, and posts it back when the connection is
 * gone; only the janitor walks the list and frees. A descriptor is forgotten, under the lock,
 * before it is closed: so that it never means another connection. */
#include "cgi/http/janitor.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/log.h"

#define ROUND_US (500 * US_PER_MS)

struct watch {
	struct letter opened, closed;
	struct janitor *janitor;
	struct watch *next, **back;
	int fd;                   /* -1: the connection is gone */
	_Atomic int64_t until_us; /* 0: no limit */
};

struct janitor {
	struct actor *me;
	struct actor_ops ops;
	struct watch *all;
	pthread_mutex_t mu; /* guards the descriptors of all */
};

#define OF_OPENED(l) ((struct watch *)((char *)(l)-offsetof(struct watch, opened)))
#define OF_CLOSED(l) ((struct watch *)((char *)(l)-offsetof(struct watch, closed)))

static void watch_take(struct letter *l, void *self)
{
	struct watch *w = OF_OPENED(l);
	struct janitor *j = self;

	CHECK(!w->back);
	w->next = j->all;
	w->back = &j->all;
	if (w->next)
		w->next->back = &w->next;
	j->all = w;
}

static void watch_free(struct watch *w)
{
	CHECK(w->fd < 0 || w->back); /* closed, or the janitor's to the end */
	if (w->back) {
		CHECK(*w->back == w);
		*w->back = w->next;
		if (w->next)
			w->next->back = w->back;
	}
	free(w);
}

static void watch_gone(struct letter *l, void *self)
{
	(void)self;
	watch_free(OF_CLOSED(l));
}

/* The thread ends: janitor_free() finds it in the list. */
static void discard_opened(struct letter *l)
{
	watch_take(l, OF_OPENED(l)->janitor);
}

static void discard_closed(struct letter *l)
{
	watch_free(OF_CLOSED(l));
}

static void round_alarm(void *self)
{
	struct janitor *j = self;
	int64_t now = actor_mono_us(j->me);

	for (struct watch *w = j->all; w; w = w->next) {
		int64_t until = atomic_load_explicit(&w->until_us, memory_order_relaxed);

		if (until == 0 || until > now)
			continue;
		atomic_store_explicit(&w->until_us, 0, memory_order_relaxed);
		pthread_mutex_lock(&j->mu);
		if (w->fd >= 0)
			shutdown(w->fd, SHUT_RDWR);
		pthread_mutex_unlock(&j->mu);
		log_debug("http.slow", "why=\"it took too long\"");
	}
	actor_alarm(j->me, now + ROUND_US);
}

static int janitor_init(void *self, struct actor *me, struct err *err)
{
	struct janitor *j = self;

	(void)err;
	j->me = me;
	actor_alarm(me, actor_mono_us(me) + ROUND_US);
	return 0;
}

struct janitor *janitor_new(struct thread *th, int connections_max)
{
	struct janitor *j = mem_new(sizeof *j);

	pthread_mutex_init(&j->mu, NULL);
	j->ops = (struct actor_ops){ .name = "janitor",
		                     .letters_max = 4u * (size_t)connections_max + 64,
		                     .init = janitor_init,
		                     .alarm = round_alarm };
	j->me = actor_new(th, &j->ops, j);
	return j;
}

void janitor_free(struct janitor *j)
{
	if (!j)
		return;
	for (struct watch *w = j->all, *next; w; w = next) {
		next = w->next;
		watch_free(w);
	}
	pthread_mutex_destroy(&j->mu);
	free(j);
}

struct watch *watch_open(struct janitor *j, int fd)
{
	struct watch *w = mem_new(sizeof *w);

	w->janitor = j;
	w->fd = fd;
	w->opened.deliver = watch_take;
	w->opened.discard = discard_opened;
	w->closed.deliver = watch_gone;
	w->closed.discard = discard_closed;
	if (actor_post(j->me, &w->opened) == 0)
		return w;
	free(w);
	return NULL;
}

void watch_set(struct watch *w, int64_t ms)
{
	if (!w)
		return;
	atomic_store_explicit(&w->until_us,
	                      ms == 0 ? 0 : clock_mono_us(&clock_machine) + ms * US_PER_MS,
	                      memory_order_relaxed);
}

/* While the janitor's thread runs it frees what is closed. When it has stopped, the watch may
 * still be in its list; janitor_free() then finds it there, and this must not free it. */
void watch_close(struct watch *w)
{
	if (!w)
		return;
	atomic_store_explicit(&w->until_us, 0, memory_order_relaxed);
	pthread_mutex_lock(&w->janitor->mu);
	CHECK(w->fd >= 0); /* a connection ends once */
	w->fd = -1;
	pthread_mutex_unlock(&w->janitor->mu);
	(void)actor_post_credit(w->janitor->me, &w->closed);
}
