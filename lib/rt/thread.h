/* thread.h — a thread that runs actors, for real or under the simulator's hand. */
#ifndef RT_THREAD_H
#define RT_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct err;
struct thread;
struct timing;

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

/* Have the thread show a beat soon. Thread: any. */
void thread_ping(struct thread *th);

/* How long the thread has not answered a ping, us; 0: it has, or there was none. *ret_actor: whose
 * work it does meanwhile, NULL: nobody's; static. Thread: any. */
int64_t thread_silent_us(const struct thread *th, int64_t now_us, const char **ret_actor);

/* What an actor has done since its start. A bout: letters and turns of one actor without a pause
 * or another's between. */
struct actor_figures {
	const char *name;
	size_t letters, letters_max; /* that wait; letters_max: of the mailbox */
	uint64_t delivered;          /* letters */
	uint64_t stalls;             /* bouts longer than ACTOR_STALL_US */
	int64_t busy_us;             /* how long the present bout has lasted; 0: none */
	const struct timing *bouts;
};
#define ACTOR_STALL_US INT64_C(1000000)
/* Thread: any, while `th` is there. */
void thread_each_actor(const struct thread *th, int64_t now_us,
                       void (*each)(void *ctx, const struct actor_figures *f), void *ctx);

/* The simulator: the caller's thread is the body. */
int thread_sim_start(struct thread *th, struct err *err);
void thread_sim_run(struct thread *th);              /* until quiet, alarms that are due too */
int64_t thread_sim_next_us(const struct thread *th); /* earliest alarm, or ALARM_OFF */
/* Several threads of one caller, a piece at a time: some letters and turns once, or, when
 * there were none, rest. Busy: a step would do something. */
bool thread_sim_busy(const struct thread *th);
void thread_sim_step(struct thread *th, size_t letters_max);

#endif
