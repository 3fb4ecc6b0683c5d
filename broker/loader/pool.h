/* pool.h — threads that run jobs: one job a thread, as many threads as jobs at once, at
 * most `threads_max`; they stay for the next one. */
#ifndef LOADER_POOL_H
#define LOADER_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct job;
struct pool;

/* `run` is called on a job thread; the job then appears in pool_take_done(), and
 * `wake` is called on that thread if none was waiting there before. */
struct pool *pool_new(size_t threads_max, void (*run)(struct job *j), void (*wake)(void *ctx),
                      void *ctx);
/* Hand over a list of n jobs (by job->next). Thread: the owner's. */
void pool_push(struct pool *p, struct job *head, struct job *tail, size_t n);
/* All jobs that are done, in the order they ended. Thread: the owner's. */
struct job *pool_take_done(struct pool *p);
/* Take a job out that no thread has begun. True: it is the caller's again. */
bool pool_withdraw(struct pool *p, struct job *j);
/* After every job has ended: end the threads, free. NULL is fine. */
void pool_free(struct pool *p);

#endif
