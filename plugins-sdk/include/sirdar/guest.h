/* guest.h — an extension of the host: what a type's manifest says of the program that does its
 * work, for runners that host programs of other languages (runners/foreign).
 *
 * const struct runner_guest *g = host->extension(host->ctx, RUNNER_GUEST_ID), NULL when the
 * type was loaded without such a manifest. Valid {open}; members are appended only.
 */
#ifndef SIRDAR_GUEST_H
#define SIRDAR_GUEST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUNNER_GUEST_ID "guest/1"

/* A process to start: descriptor i of it is fds[i], all of them above 9. Borrowed for the call. */
struct runner_guest_start {
	uint32_t size;
	uint32_t n_fds;          /* 3 to 5 */
	const char *const *argv; /* argv[0] is a path */
	const char *const *env;
	const int *fds;
	/* ---- guest/1 ends here ---- */
	const void *whose; /* an answer of whose(); NULL: of all */
};

/* One that was started; the runner's to keep, the host's to read. */
struct runner_guest_process {
	uint32_t size;
	int32_t pid; /* leads its session; the runner reaps it, and makes it 0 then */
	int32_t session;
	uint32_t reserved;
	uint64_t group, token;
};

struct runner_job;

/* Lists end with NULL and are never NULL; texts are the host's. */
struct runner_guest {
	uint32_t size;
	uint32_t concurrency; /* jobs at a time in one process; 0: as many as it says itself */
	uint32_t start_ms;    /* until its hello */
	uint32_t hang_ms;     /* without a word while jobs run: it hangs */
	const char *type;
	const char *directory;      /* absolute: where it runs */
	const char *const *argv;    /* at least the program */
	const char *const *env;     /* NAME=value */
	const char *const *secrets; /* parameters whose values are names of secrets */
	const char *const *servers; /* parameters that name a target server */
	void *ctx;                  /* for refuse() */
	/* [control]{loaded} Why open() is about to fail, for people. */
	void (*refuse)(void *ctx, const char *text);
	/* ---- guest/1 ends here; what follows is there where RUNNER_HAS() says so ---- */
	const char *user;      /* whom it runs as; "": the broker's own user */
	uint64_t memory_bytes; /* it may take with all it starts; 0: any */
	/* How its processes are started where the host holds them: as `user`, with this machine's
	 * limits, mask and privileges; in a group of their own that nothing leaves. All by one
	 * thread, which lives as long as the processes may: they end with it.
	 *
	 * start: 0, or -1 and why, NUL-terminated. */
	int (*start)(void *ctx, const struct runner_guest_start *start,
	             struct runner_guest_process *ret, char *ret_why, uint64_t cap);
	/* End by force all that came from it. */
	void (*force)(void *ctx, const struct runner_guest_process *p);
	/* Has the kernel ended some of it for memory? Ask before is_gone(). */
	int (*was_over_memory)(void *ctx, const struct runner_guest_process *p);
	/* Nothing of it is left; once `pid` is 0. It is forgotten then. */
	int (*is_gone)(void *ctx, const struct runner_guest_process *p);
	/* Where this machine separates projects, each has processes of its own, of its user. NULL:
	 * one serves all. Else the jobkeeper starts them: start() waits for it, the runner reaps
	 * none, and ended() takes the place of was_over_memory() and is_gone().
	 *
	 * Jobs of one answer may share processes, others never. Valid until close(). */
	const void *(*whose)(void *ctx, const struct runner_job *job);
	/* Once nothing of it is left: 0, and how its first process ended, as waitpid() has it; it
	 * is forgotten then. -1: not yet. */
	int (*ended)(void *ctx, const struct runner_guest_process *p, int *ret_status,
	             int *ret_is_over_memory);
	uint32_t processes_max; /* at once; 0: as many as jobs ask for */
	uint32_t idle_ms;       /* without a job for so long it is to leave; 0: never */
};

#ifdef __cplusplus
}
#endif
#endif
