/* actor.h — state that belongs to one thread, and the letters that reach it.
 *
 * Actors are placed on threads (one each, or several on one: a row of
 * schema/tbl/thread.def). Nothing is shared: others reach an actor only by posting
 * letters, or through a stream it reads (rt/stream.h). The same actors run under the
 * simulator, on one thread with a virtual clock and without a loop.
 *
 * A thread works until it is quiet: letters in order of arrival, then turn() of every
 * actor that was woken, again until nothing is left; then rest() of each actor once; if
 * no rest() made new work it sleeps.
 */
#ifndef RT_ACTOR_H
#define RT_ACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct actor;
struct err;
struct ev_loop;
struct thread;

/* Embed as the first field of your own message. One letter may carry a batch. */
struct letter {
	struct letter *next;                           /* the mailbox's while queued */
	struct actor *to;                              /* the mailbox's while queued */
	void (*deliver)(struct letter *l, void *self); /* reader's thread; owns l */
	void (*discard)(struct letter *l);             /* if never delivered; owns l */
};

/* discard() of a letter that is the first field of a message without anything else to free. */
void letter_free(struct letter *l);

#define ALARM_OFF INT64_MAX

struct actor_ops {
	const char *name;   /* at most 15 bytes, static */
	size_t letters_max; /* mailbox capacity, at least 1 */
	/* All run on the actor's own thread; each may be NULL. */
	int (*init)(void *self, struct actor *me, struct err *err);
	void (*turn)(void *self);  /* letters were delivered, or actor_wake() was called */
	void (*alarm)(void *self); /* actor_alarm()'s time has come, now off; turn() follows */
	bool (*rest)(void *self);  /* the thread is quiet; true: there is new work now */
	void (*fini)(void *self);  /* also after a failed init */
};

/* Place an actor on a thread that is not started yet.
 *
 *   owns    the thread frees the actor; `self` must outlive the thread
 */
struct actor *actor_new(struct thread *th, const struct actor_ops *ops, void *self);

/* Post a letter. Order is kept between letters of one thread.
 *
 *   owns    on 0 the mailbox owns l; on error the caller still does
 *   errors  E_BUSY full, E_CLOSED stopping
 *   thread  any; never blocks longer than the list splice
 */
int actor_post(struct actor *a, struct letter *l);

/* As actor_post(), past the capacity: for answers to those who hold credit. */
int actor_post_credit(struct actor *a, struct letter *l);

/* Have turn() run soon; calls coalesce. Thread: any. */
void actor_wake(struct actor *a);

/* Have alarm() run at clock_mono_us() >= at_us, once; replaces the former time.
 * ALARM_OFF cancels. Thread: the actor's own. */
void actor_alarm(struct actor *a, int64_t at_us);

bool actor_here(const struct actor *a); /* on its own thread? */
int64_t actor_mono_us(const struct actor *a);
int64_t actor_wall_us(const struct actor *a);
const char *actor_name(const struct actor *a);

/* The thread's loop, for actors that own descriptors; NULL in the simulator. */
struct ev_loop *actor_loop(const struct actor *a);

#endif
