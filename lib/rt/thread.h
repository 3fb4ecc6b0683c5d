/* thread.h — a thread that runs actors, for real or under the simulator's hand. */
#ifndef RT_THREAD_H
#define RT_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct err;
struct thread;

/* A thread without a body yet. `name` static, at most 15 bytes. */
struct thread *thread_new(const char *name, const struct clock *clock);

/* Run it for real: start the pthread, init its actors in the order they were placed.
 *
 *   errors  E_NOMEM, or what an init returned (all are finished and the body gone then)
 *   thread  the daemon's main thread, with all signals blocked
 */
int thread_start(struct thread *th, struct err *err);

/* Refuse new letters, end after the current turn, fini in reverse, join. Any state. */
void thread_stop(struct thread *th);
void thread_free(struct thread *th); /* stopped or never started; NULL is fine */

/* Microseconds (monotonic) at which the thread last went quiet or did work: a watchdog
 * compares it. Thread: any. */
int64_t thread_beat_us(const struct thread *th);

/* Have the thread show a beat soon. Thread: any. */
void thread_ping(struct thread *th);

/* The simulator: the caller's thread is the body. */
int thread_sim_start(struct thread *th, struct err *err);
void thread_sim_run(struct thread *th);              /* until quiet, alarms that are due too */
int64_t thread_sim_next_us(const struct thread *th); /* earliest alarm, or ALARM_OFF */
/* Several threads of one caller, a piece at a time: some letters and turns once, or, when
 * there were none, rest. Busy: a step would do something. */
bool thread_sim_busy(const struct thread *th);
void thread_sim_step(struct thread *th, size_t letters_max);

#endif
