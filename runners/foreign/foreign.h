/* foreign.h — inside of the runner: jobs, and the processes that do them.
 *
 * One thread, `watch`, owns the processes: it alone starts, reads, reaps and ends them, and it
 * alone ends a job that one of them has. Job threads hand their job over and wait. What both
 * touch is under `mu`.
 *
 * Parts: foreign.c what the broker calls, guest.c one process and its jobs, guests.c the
 * processes' life, hear.c what they say, launch.c the start of one, message.c the lines.
 */
#ifndef RUNNER_FOREIGN_H
#define RUNNER_FOREIGN_H

#include "message.h"
#include "sirdar/guest.h"
#include "sirdar/runner.h"

#include <pthread.h>
#include <sys/types.h>

#define US_PER_MS 1000LL
#define US_PER_S  1000000LL

/* Whose processes may do a job: the host's answer, and how starts of theirs went. A project whose
 * processes fail holds up no other one. */
struct owner {
	struct owner *next;
	const void *whose;           /* NULL: everybody's */
	uint32_t concurrency;        /* as the last hello said */
	int64_t next_start_us;       /* not before, after one that failed */
	int64_t pause_ms;            /* of the next failure */
	char why[RUNNER_TEXT_BYTES]; /* how the last one ended */
};

/* One job, from execute() to its end; on its thread's stack. */
struct call {
	struct call *next; /* of those that wait, or of its guest's */
	uint64_t id;
	const struct runner_job *job;
	struct owner *owner;
	struct runner_result *result;
	struct guest *guest; /* NULL: waits for one */
	struct text line;    /* the run message */
	struct text outputs; /* name, NUL, value, NUL, and so on */
	int64_t since_us;    /* waits since */
	int64_t force_us;    /* told to stop: its process is ended by force then; 0: was not told */
	int is_over, is_told; /* told: why it waits */
	pthread_cond_t over;
};

enum guest_state {
	GUEST_STARTING, /* no hello yet */
	GUEST_READY,
	GUEST_LEAVING, /* was told that no more comes */
	GUEST_ENDING,  /* killed: only its end is waited for */
};

enum { PIPE_SAYS, PIPE_OUT, PIPE_ERR, PIPES }; /* what we read of it */

struct guest {
	struct guest *next;
	struct owner *owner;
	enum guest_state state;
	pid_t pid;                        /* leads its session; 0: reaped */
	struct runner_guest_process held; /* by the broker; its size is 0: by nobody */
	const struct runner_guest *about;
	int number; /* its pid, for people */
	int status; /* once it is reaped */
	int was_leaving, is_over_memory;
	int pid_fd, to, from[PIPES];
	struct call *calls;
	uint32_t n_calls, concurrency;
	int beats;                /* answers pings while a job runs */
	struct text heard, queue; /* of a line; what the pipe would not take yet */
	int64_t started_us, heard_us, pinged_us;
	int64_t idle_us;   /* without a job since; while n_calls is 0 */
	int64_t silent_us; /* descriptor 4 is closed since: it is about to end; 0: is not */
	char said[160];    /* the last line of its output */
	char why[FOREIGN_WHY_BYTES]; /* why we end it */
};

struct foreign {
	const struct runner_host *host;
	const struct runner_guest *about;
	pthread_t watch;
	int wake_fd;

	pthread_mutex_t mu;   /* guards what follows */
	pthread_cond_t first; /* the first guest has said hello, or never will */
	struct guest *guests;
	struct call *waiting, **waiting_tail;
	uint64_t last_id;
	int64_t look_us; /* when the thread looks again by itself */
	int is_closing, has_met;
	struct owner all;     /* of what is nobody's own; the last of `owners` */
	struct owner *owners; /* never fewer, until close() */
};

int64_t now_us(void);

/* --- guest.c ------------------------------------------------------------------------- */

/* Give waiting jobs to processes that have room. Lock held; any thread. */
void guests_place(struct foreign *f);
void guests_wake(struct foreign *f); /* the thread looks at everything; any thread */
/* A job that waits waits no more. Lock held; any thread. */
void call_withdraw(struct foreign *f, struct call *c);
/* Queue bytes for a guest and write what goes at once. Lock held; any thread. */
void guest_tell(struct guest *g, const char *bytes, size_t len);
/* Write what is queued, as far as the pipe takes it. */
void guest_flush(struct guest *g);
/* Do more jobs of theirs wait than their starting guests will take? */
int guests_lack(const struct foreign *f, const struct owner *o);
int is_separated(const struct runner_guest *about); /* each project has processes of its own */
int guest_is_held(const struct guest *g);           /* by the broker */
int guest_is_lent(const struct guest *g);           /* by the jobkeeper, as another user */
void guest_force(const struct guest *g);            /* SIGKILL to all it started */
/* End it by force with all it started, for that reason. Watch thread. */
void guest_end(struct guest *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The job is over, `result` says how. Lock held; watch thread, or any while it waits. */
void call_over(struct call *c);

/* --- guests.c ------------------------------------------------------------------------ */

void *guests_watch(void *foreign); /* the thread's body, until is_closing and all are gone */

/* --- hear.c: watch thread, lock held --------------------------------------------------- */

/* Read what there is. 0 once the pipe is at its end. */
int guest_hear(struct foreign *f, struct guest *g, int pipe);

/* --- launch.c -------------------------------------------------------------------------- */

/* Start the process, by the broker where that holds guests; fills in pid and descriptors.
 *
 *   errors  -1: ret_why has the reason
 *   thread  one that lives as long as the process may: it ends with it */
int guest_launch(const struct runner_guest *about, struct guest *g,
                 char ret_why[FOREIGN_WHY_BYTES]);

#endif
