/* Job threads: a queue of jobs, threads that grow to threads_max, a list of those done.
 *
 * A pushed job gets a thread of its own as long as there are fewer than threads_max: `woken`
 * counts those already called but not yet awake, so that two pushes do not count on one sleeper.
 * Threads stay until pool_free(). A job can be taken out of the queue while no thread has begun
 * it. The done list has a lock of its own, and wakes the owner only when it was empty.
 */
#include "broker/loader/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "broker/loader/job.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/log.h"

#define STACK_BYTES (256u << 10)

struct jobs {
	struct job *head, **tail;
};

struct pool {
	void (*run)(struct job *j);
	void (*wake)(void *ctx);
	void *ctx;
	size_t threads_max;

	pthread_mutex_t mu; /* guards all below but `done` */
	pthread_cond_t cv;
	struct jobs queue;
	size_t queued, idle, woken, n_threads;
	pthread_t *threads;
	bool stop;

	pthread_mutex_t done_mu; /* guards done */
	struct jobs done;
};

static void jobs_init(struct jobs *l)
{
	l->head = NULL;
	l->tail = &l->head;
}

static void jobs_push(struct jobs *l, struct job *head, struct job *tail)
{
	tail->next = NULL;
	*l->tail = head;
	l->tail = &tail->next;
}

static struct job *jobs_pop(struct jobs *l)
{
	struct job *j = l->head;

	l->head = j->next;
	if (!l->head)
		l->tail = &l->head;
	return j;
}

struct pool *pool_new(size_t threads_max, void (*run)(struct job *j), void (*wake)(void *ctx),
                      void *ctx)
{
	struct pool *p = mem_new(sizeof *p);

	CHECK(threads_max > 0 && run && wake);
	p->run = run;
	p->wake = wake;
	p->ctx = ctx;
	p->threads_max = threads_max;
	p->threads = mem_array(threads_max, sizeof *p->threads);
	jobs_init(&p->queue);
	jobs_init(&p->done);
	pthread_mutex_init(&p->mu, NULL);
	pthread_mutex_init(&p->done_mu, NULL);
	pthread_cond_init(&p->cv, NULL);
	return p;
}

static void give_done(struct pool *p, struct job *j)
{
	pthread_mutex_lock(&p->done_mu);
	bool first = !p->done.head;

	jobs_push(&p->done, j, j);
	pthread_mutex_unlock(&p->done_mu);
	if (first)
		p->wake(p->ctx);
}

static struct job *next_job(struct pool *p)
{
	struct job *j = NULL;

	pthread_mutex_lock(&p->mu);
	while (!p->queued && !p->stop) {
		p->idle++;
		pthread_cond_wait(&p->cv, &p->mu);
		p->idle--;
		if (p->woken)
			p->woken--;
	}
	if (p->queued) {
		j = jobs_pop(&p->queue);
		p->queued--;
		CHECK((p->queued == 0) == (!p->queue.head));
	}
	pthread_mutex_unlock(&p->mu);
	return j;
}

static void *pool_body(void *arg)
{
	struct pool *p = arg;
	struct job *j;

	while ((j = next_job(p))) {
		p->run(j);
		give_done(p, j);
	}
	return NULL;
}

/* With p->mu held. Without a thread more the queue waits for one that gets free. */
static void pool_grow(struct pool *p)
{
	pthread_attr_t attr;
	char name[16];

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	int r = pthread_create(&p->threads[p->n_threads], &attr, pool_body, p);

	pthread_attr_destroy(&attr);
	if (r != 0) {
		log_warn("loader.no_thread", "threads=%zu errno=%d", p->n_threads, r);
		if (p->n_threads == 0)
			_exit(EX_OSERR); /* nobody would ever run the job: begun anew, it may */
		return;
	}
	snprintf(name, sizeof name, "job-%zu", p->n_threads);
	pthread_setname_np(p->threads[p->n_threads], name);
	p->n_threads++;
}

void pool_push(struct pool *p, struct job *head, struct job *tail, size_t n)
{
	CHECK(n > 0 && head && tail);
	pthread_mutex_lock(&p->mu);
	CHECK(!p->stop && p->woken <= p->idle && p->idle <= p->n_threads);
	jobs_push(&p->queue, head, tail);
	p->queued += n;
	/* Each waiting job gets a waiting thread of its own, else a new one. */
	size_t asleep = p->idle - p->woken;
	size_t to_wake = p->queued > p->woken ? p->queued - p->woken : 0;

	if (to_wake > asleep) {
		size_t want = to_wake - asleep, before = p->n_threads;

		while (want-- && p->n_threads < p->threads_max) {
			pool_grow(p);
			if (p->n_threads == before)
				break;
			before = p->n_threads;
		}
		to_wake = asleep;
	}
	for (size_t i = 0; i < to_wake; i++)
		pthread_cond_signal(&p->cv);
	p->woken += to_wake;
	pthread_mutex_unlock(&p->mu);
}

struct job *pool_take_done(struct pool *p)
{
	pthread_mutex_lock(&p->done_mu);
	struct job *head = p->done.head;

	jobs_init(&p->done);
	pthread_mutex_unlock(&p->done_mu);
	return head;
}

bool pool_withdraw(struct pool *p, struct job *j)
{
	bool found = false;

	pthread_mutex_lock(&p->mu);
	for (struct job **at = &p->queue.head; *at; at = &(*at)->next) {
		if (*at != j)
			continue;
		*at = j->next;
		if (!*at)
			p->queue.tail = at;
		CHECK(p->queued > 0);
		p->queued--;
		found = true;
		break;
	}
	pthread_mutex_unlock(&p->mu);
	return found;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->mu);
	p->stop = true;
	pthread_cond_broadcast(&p->cv);
	pthread_mutex_unlock(&p->mu);
	for (size_t i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	CHECK(p->queued == 0 && p->idle == 0);
	pthread_mutex_destroy(&p->mu);
	pthread_mutex_destroy(&p->done_mu);
	pthread_cond_destroy(&p->cv);
	free(p->threads);
	free(p);
}
