/* limiter.h — how much memory, processor and how many processes a job's whole tree may take.
 *
 * By the controllers of cgroups, of version 2 in the job's group itself, else of version 1 in a
 * group beside it, where this host lets us. What it does not let us is said once, and not held.
 */
#ifndef KEEPER_LIMITER_H
#define KEEPER_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct limiter;

/* 0: any. */
struct group_limits {
	uint64_t memory_bytes;
	uint32_t processes;
	uint32_t cpu_percent; /* 100: one processor */
};

enum { LIMITER_JOINS = 3 };

/* Where groups are (version 2); limits are possible only there. */
struct limiter *limiter_open(const char *groups_dir);
void limiter_close(struct limiter *l); /* NULL is fine; removes what is empty */

/* Hold what is asked for in a group.
 *   was       what the group was given before; only differences are written
 *   ret_join  descriptors the caller closes: the first process writes "0" to each; -1: none
 *   errors    E_IO, E_INVALID the kernel refuses the number, E_LIMIT descriptors */
int limiter_set(struct limiter *l, uint64_t group, const struct group_limits *was,
                const struct group_limits *want, int ret_join[LIMITER_JOINS], struct err *err);

/* The group is empty and goes. */
void limiter_remove(struct limiter *l, uint64_t group);
/* Has the kernel killed one of its processes for memory? */
bool limiter_was_oom(const struct limiter *l, uint64_t group);
/* "memory=2 pids=1 cpu=0": the version of cgroups that holds each, 0 none. */
const char *limiter_text(const struct limiter *l);

#endif
