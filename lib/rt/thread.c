/* The body of an actor's thread. It works until it is quiet: letters in order, then turn() of each
 * actor that was woken or whose alarm rang, then rest() once each; only then it sleeps in its
 * loop, until a letter, a descriptor or the next alarm.
 *
 * Letters from the thread itself go into a list of its own. Others go through `remote`, under
 * `mu`, and ring the bell once. After thread_stop() a letter is refused, or discarded. The
 * simulator runs the same code on its own thread, with its own clock and no loop. */
#include "rt/thread.h"

#include <errno.h>
#include <ev.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/timing.h"

struct actor {
	struct actor *next; /* in the thread's list, by placement */
	struct thread *th;
	const struct actor_ops *ops;
	void *self;
	int64_t alarm_us;
	_Atomic size_t len; /* letters in its mailbox */
	_Atomic bool woken;
	bool begun; /* init was called */
	_Atomic uint64_t delivered, stalls;
	struct timing bouts;
};

struct letters {
	struct letter *head, **tail;
};

struct thread {
	const char *name;
	const struct clock *clock;
	struct actor *actors, **actors_tail;
	struct letters local; /* body only */
	_Atomic int64_t beat_us, pinged_us;
	_Atomic(struct actor *) at; /* who is at work; NULL: nobody */
	_Atomic int64_t at_us;      /* since when */
	bool idle;                  /* what it does may turn out to be nothing */
	_Atomic bool body_set;
	pthread_t body;   /* as itself knows it; valid when body_set */
	pthread_t handle; /* as its starter knows it: to join */

	struct ev_loop *loop; /* NULL under the simulator */
	ev_async bell;
	ev_io timer_io;
	int timer_fd;
	int64_t timer_us; /* what timer_fd is set to */
	bool running;
	bool unrested; /* the simulator's: worked since the last rest */

	pthread_mutex_t mu; /* guards the fields below, only */
	pthread_cond_t cv;
	struct letters remote;
	bool rung, closed, stop, started;
	int start_code;
	struct err *start_err;
};

static void letters_init(struct letters *q)
{
	q->head = NULL;
	q->tail = &q->head;
}

static void letters_push(struct letters *q, struct letter *l)
{
	CHECK(!*q->tail);
	l->next = NULL;
	*q->tail = l;
	q->tail = &l->next;
}

static struct letter *letters_pop(struct letters *q)
{
	struct letter *l = q->head;

	if (l) {
		q->head = l->next;
		if (!q->head)
			q->tail = &q->head;
	}
	return l;
}

static bool on_body(const struct thread *th)
{
	return atomic_load_explicit(&th->body_set, memory_order_acquire) &&
	       pthread_equal(th->body, pthread_self());
}

struct thread *thread_new(const char *name, const struct clock *clock)
{
	struct thread *th = mem_new(sizeof *th);

	th->name = name;
	th->clock = clock;
	th->actors_tail = &th->actors;
	th->timer_fd = -1;
	th->timer_us = ALARM_OFF;
	letters_init(&th->local);
	letters_init(&th->remote);
	pthread_mutex_init(&th->mu, NULL);
	pthread_cond_init(&th->cv, NULL);
	return th;
}

struct actor *actor_new(struct thread *th, const struct actor_ops *ops, void *self)
{
	struct actor *a = mem_new(sizeof *a);

	CHECK(!th->running);
	CHECK(strlen(ops->name) <= 15 && ops->letters_max > 0);
	a->th = th;
	a->ops = ops;
	a->self = self;
	a->alarm_us = ALARM_OFF;
	*th->actors_tail = a;
	th->actors_tail = &a->next;
	return a;
}

static void ring(struct thread *th)
{
	if (th->loop)
		ev_async_send(th->loop, &th->bell);
}

static int thread_post(struct actor *a, struct letter *l, bool bounded)
{
	struct thread *th = a->th;
	bool bell = false;

	CHECK(l->deliver);
	if (bounded && atomic_load_explicit(&a->len, memory_order_relaxed) >= a->ops->letters_max)
		return E_BUSY;
	l->to = a;
	if (on_body(th)) {
		atomic_fetch_add_explicit(&a->len, 1, memory_order_relaxed);
		letters_push(&th->local, l);
		return 0;
	}
	pthread_mutex_lock(&th->mu);
	if (th->closed) {
		pthread_mutex_unlock(&th->mu);
		return E_CLOSED;
	}
	atomic_fetch_add_explicit(&a->len, 1, memory_order_relaxed);
	letters_push(&th->remote, l);
	bell = !th->rung;
	th->rung = true;
	if (bell)
		ring(th); /* under the lock: the loop cannot be torn down meanwhile */
	pthread_mutex_unlock(&th->mu);
	return 0;
}

int actor_post(struct actor *a, struct letter *l)
{
	return thread_post(a, l, true);
}

int actor_post_credit(struct actor *a, struct letter *l)
{
	return thread_post(a, l, false);
}

void actor_wake(struct actor *a)
{
	struct thread *th = a->th;

	if (atomic_exchange_explicit(&a->woken, true, memory_order_acq_rel) || on_body(th))
		return;
	pthread_mutex_lock(&th->mu);
	if (!th->closed && !th->rung) {
		th->rung = true;
		ring(th);
	}
	pthread_mutex_unlock(&th->mu);
}

void actor_alarm(struct actor *a, int64_t at_us)
{
	CHECK(actor_here(a));
	a->alarm_us = at_us;
}

bool actor_here(const struct actor *a)
{
	return on_body(a->th);
}

int64_t actor_mono_us(const struct actor *a)
{
	return clock_mono_us(a->th->clock);
}

int64_t actor_wall_us(const struct actor *a)
{
	return clock_wall_us(a->th->clock);
}

const char *actor_name(const struct actor *a)
{
	return a->ops->name;
}

struct ev_loop *actor_loop(const struct actor *a)
{
	return a->th->loop;
}

static bool take_remote(struct thread *th)
{
	pthread_mutex_lock(&th->mu);
	th->rung = false;
	struct letters got = th->remote;
	letters_init(&th->remote);
	pthread_mutex_unlock(&th->mu);
	if (!got.head)
		return false;
	CHECK(!*got.tail);
	*th->local.tail = got.head;
	th->local.tail = got.tail;
	return true;
}

/* --- who works, and how long --- */

enum { NOTHING_US = 16 };

/* `a` works from now on; NULL: nobody. The clock is read when that changes, only. */
static void enter(struct thread *th, struct actor *a, bool idle)
{
	struct actor *was = atomic_load_explicit(&th->at, memory_order_relaxed);

	if (was == a) {
		th->idle = th->idle && idle;
		return;
	}
	int64_t now = clock_mono_us(th->clock);
	int64_t us = now - atomic_load_explicit(&th->at_us, memory_order_relaxed);
	if (was && !(th->idle && us <= NOTHING_US)) {
		timing_add(&was->bouts, us);
		tally(&was->stalls, us > ACTOR_STALL_US);
	}
	th->idle = idle;
	atomic_store_explicit(&th->at_us, now, memory_order_relaxed);
	atomic_store_explicit(&th->at, a, memory_order_relaxed);
}

static bool deliver(struct thread *th, size_t max)
{
	bool any = false;

	take_remote(th);
	for (struct letter *l; max-- > 0 && (l = letters_pop(&th->local)); any = true) {
		struct actor *a = l->to;
		CHECK(a->th == th);
		CHECK(atomic_fetch_sub_explicit(&a->len, 1, memory_order_relaxed) > 0);
		atomic_store_explicit(&a->woken, true, memory_order_relaxed);
		tally(&a->delivered, 1);
		enter(th, a, false);
		l->deliver(l, a->self);
	}
	return any;
}

static bool turn_all(struct thread *th)
{
	bool any = false;
	int64_t now = clock_mono_us(th->clock);

	atomic_store_explicit(&th->beat_us, now, memory_order_relaxed);
	for (struct actor *a = th->actors; a; a = a->next) {
		if (a->alarm_us <= now) {
			CHECK(a->begun);
			a->alarm_us = ALARM_OFF;
			enter(th, a, false);
			if (a->ops->alarm)
				a->ops->alarm(a->self);
			atomic_store_explicit(&a->woken, true, memory_order_relaxed);
			any = true;
		}
		if (atomic_exchange_explicit(&a->woken, false, memory_order_acq_rel)) {
			enter(th, a, false);
			if (a->ops->turn)
				a->ops->turn(a->self);
			any = true;
		}
	}
	return any;
}

static bool rest_all(struct thread *th)
{
	bool any = false;

	for (struct actor *a = th->actors; a; a = a->next) {
		if (!a->ops->rest)
			continue;
		enter(th, a, true);
		if (!a->ops->rest(a->self))
			continue;
		th->idle = false;
		any = true;
	}
	enter(th, NULL, true);
	return any;
}

static bool asked_to_stop(struct thread *th)
{
	pthread_mutex_lock(&th->mu);
	bool stop = th->stop;
	pthread_mutex_unlock(&th->mu);
	return stop;
}

static void run_until_quiet(struct thread *th)
{
	CHECK(on_body(th));
	do {
		for (bool busy = true; busy;) {
			busy = deliver(th, SIZE_MAX);
			busy = turn_all(th) || busy;
		}
	} while (rest_all(th) && !asked_to_stop(th));
}

int64_t thread_sim_next_us(const struct thread *th)
{
	int64_t least = ALARM_OFF;

	for (const struct actor *a = th->actors; a; a = a->next)
		if (a->alarm_us < least)
			least = a->alarm_us;
	return least;
}

static int init_all(struct thread *th, struct err *err)
{
	CHECK(on_body(th));
	for (struct actor *a = th->actors; a; a = a->next) {
		a->begun = true;
		int r = a->ops->init ? a->ops->init(a->self, a, err) : 0;
		if (r < 0)
			return err_wrap(err, r, a->ops->name);
		atomic_store(&a->woken, true);
	}
	return 0;
}

/* Reverse order of placement; the list is short. */
static void fini_all(struct thread *th)
{
	for (;;) {
		struct actor *last = NULL;
		for (struct actor *a = th->actors; a; a = a->next)
			if (a->begun)
				last = a;
		if (!last)
			return;
		CHECK(last->th == th);
		last->begun = false;
		if (last->ops->fini)
			last->ops->fini(last->self);
	}
}

static void on_bell(struct ev_loop *loop, ev_async *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents; /* run_until_quiet() follows each round of the loop */
}

static void on_timer(struct ev_loop *loop, ev_io *w, int revents)
{
	uint64_t n;

	(void)loop;
	(void)revents;
	struct thread *th = w->data;
	if (read(th->timer_fd, &n, sizeof n) == (ssize_t)sizeof n)
		th->timer_us = ALARM_OFF;
}

/* epoll's own timeouts come in milliseconds; a timerfd is exact. */
static void arm_timer(struct thread *th)
{
	int64_t at = thread_sim_next_us(th);

	if (at == th->timer_us)
		return;
	struct itimerspec its = { 0 };
	if (at != ALARM_OFF) {
		int64_t us = at > 0 ? at : 1;
		its.it_value.tv_sec = us / US_PER_S;
		its.it_value.tv_nsec = us % US_PER_S * 1000;
		if (its.it_value.tv_sec == 0 && its.it_value.tv_nsec == 0)
			its.it_value.tv_nsec = 1;
	}
	CHECK(timerfd_settime(th->timer_fd, TFD_TIMER_ABSTIME, &its, NULL) == 0);
	th->timer_us = at;
}

static int open_loop(struct thread *th, struct err *err)
{
	th->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (th->timer_fd < 0)
		return err_sys(err, E_LIMIT, errno, "%s: timer", th->name);
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV | EVFLAG_NOSIGMASK);
	if (!loop)
		return err_set(err, E_LIMIT, "%s: event loop", th->name);
	ev_async_init(&th->bell, on_bell);
	ev_async_start(loop, &th->bell);
	ev_io_init(&th->timer_io, on_timer, th->timer_fd, EV_READ);
	th->timer_io.data = th;
	ev_io_start(loop, &th->timer_io);
	/* Threads that run already may ring: only once there is a bell. What they posted before
	 * is seen in the first round. */
	pthread_mutex_lock(&th->mu);
	th->loop = loop;
	pthread_mutex_unlock(&th->mu);
	return 0;
}

static void answer_start(struct thread *th, int code)
{
	pthread_mutex_lock(&th->mu);
	CHECK(!th->started);
	th->started = true;
	th->start_code = code;
	pthread_cond_signal(&th->cv);
	pthread_mutex_unlock(&th->mu);
}

static void *thread_body(void *arg)
{
	struct thread *th = arg;

	pthread_setname_np(pthread_self(), th->name);
	th->body = pthread_self();
	atomic_store_explicit(&th->body_set, true, memory_order_release);
	int r = init_all(th, th->start_err);
	answer_start(th, r);
	while (r == 0 && !asked_to_stop(th)) {
		run_until_quiet(th);
		arm_timer(th);
		ev_run(th->loop, EVRUN_ONCE);
	}
	fini_all(th);
	return NULL;
}

static int wait_started(struct thread *th)
{
	pthread_mutex_lock(&th->mu);
	while (!th->started)
		pthread_cond_wait(&th->cv, &th->mu);
	int r = th->start_code;
	pthread_mutex_unlock(&th->mu);
	return r;
}

int thread_start(struct thread *th, struct err *err)
{
	pthread_t pt;
	int r = open_loop(th, err);

	CHECK(!th->running);
	if (r < 0)
		return r;
	th->start_err = err;
	int e = pthread_create(&pt, NULL, thread_body, th);
	if (e != 0)
		return err_sys(err, E_NOMEM, e, "thread %s", th->name);
	th->running = true;
	th->handle = pt;
	r = wait_started(th);
	if (r < 0)
		thread_stop(th);
	return r;
}

void letter_free(struct letter *l)
{
	free(l);
}

static void discard_all(struct letters *q)
{
	for (struct letter *l; (l = letters_pop(q));)
		if (l->discard)
			l->discard(l);
}

void thread_stop(struct thread *th)
{
	if (!th)
		return;
	pthread_mutex_lock(&th->mu);
	th->stop = th->closed = true;
	if (th->running)
		ring(th);
	pthread_mutex_unlock(&th->mu);
	if (th->running) {
		pthread_join(th->handle, NULL);
		th->running = false;
	} else {
		fini_all(th); /* the simulator's */
	}
	atomic_store(&th->body_set, false);
	discard_all(&th->local);
	discard_all(&th->remote);
}

void thread_free(struct thread *th)
{
	if (!th)
		return;
	CHECK(!th->running);
	discard_all(&th->local);
	discard_all(&th->remote);
	for (struct actor *a = th->actors, *next; a; a = next) {
		next = a->next;
		free(a);
	}
	if (th->loop)
		ev_loop_destroy(th->loop);
	if (th->timer_fd >= 0)
		close(th->timer_fd);
	pthread_cond_destroy(&th->cv);
	pthread_mutex_destroy(&th->mu);
	free(th);
}

/* Microseconds (monotonic) at which the thread last went quiet or did work: a watchdog
 * compares it. Thread: any. */
static int64_t thread_beat_us(const struct thread *th)
{
	return atomic_load_explicit(&th->beat_us, memory_order_relaxed);
}

void thread_ping(struct thread *th)
{
	int64_t last = atomic_load_explicit(&th->pinged_us, memory_order_relaxed);

	if (!th->actors)
		return;
	if (thread_beat_us(th) >= last) /* else it is the first unanswered one that counts */
		atomic_compare_exchange_strong(&th->pinged_us, &last, clock_mono_us(th->clock));
	actor_wake(th->actors);
}

int64_t thread_silent_us(const struct thread *th, int64_t now_us, const char **ret_actor)
{
	int64_t pinged = atomic_load_explicit(&th->pinged_us, memory_order_relaxed);
	const struct actor *a = atomic_load_explicit(&th->at, memory_order_relaxed);

	*ret_actor = a ? a->ops->name : NULL;
	return pinged > thread_beat_us(th) && now_us > pinged ? now_us - pinged : 0;
}

void thread_each_actor(const struct thread *th, int64_t now_us,
                       void (*each)(void *ctx, const struct actor_figures *f), void *ctx)
{
	const struct actor *at = atomic_load_explicit(&th->at, memory_order_relaxed);
	int64_t us = now_us - atomic_load_explicit(&th->at_us, memory_order_relaxed);

	for (const struct actor *a = th->actors; a; a = a->next) {
		struct actor_figures f = {
			.name = a->ops->name,
			.letters = atomic_load_explicit(&a->len, memory_order_relaxed),
			.letters_max = a->ops->letters_max,
			.delivered = atomic_load_explicit(&a->delivered, memory_order_relaxed),
			.stalls = atomic_load_explicit(&a->stalls, memory_order_relaxed),
			.busy_us = a == at && us > 0 ? us : 0,
			.bouts = &a->bouts,
		};
		each(ctx, &f);
	}
}

int thread_sim_start(struct thread *th, struct err *err)
{
	CHECK(!th->running && !th->loop);
	th->body = pthread_self();
	atomic_store(&th->body_set, true);
	return init_all(th, err);
}

void thread_sim_run(struct thread *th)
{
	run_until_quiet(th);
}

bool thread_sim_busy(const struct thread *th)
{
	bool busy = th->unrested || th->local.head ||
	            thread_sim_next_us(th) <= clock_mono_us(th->clock);

	for (const struct actor *a = th->actors; a && !busy; a = a->next)
		busy = atomic_load_explicit(&a->woken, memory_order_relaxed);
	return busy;
}

void thread_sim_step(struct thread *th, size_t letters_max)
{
	CHECK(on_body(th));
	bool worked = deliver(th, letters_max);

	worked = turn_all(th) || worked;
	th->unrested = worked || rest_all(th);
}
