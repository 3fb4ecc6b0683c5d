/* tree.h — all processes that came from one job, whatever they did to get away.
 *
 * With a writable cgroup v2: a group per job. One that its job left empty by itself serves the
 * next job; one that was killed never does (it kills those born into it later). Without: those
 * that descend from the job's first process,
 * share its session, or carry its token in their environment; the keeper is their
 * subreaper, so that whoever is orphaned becomes its child.
 */
#ifndef KEEPER_TREE_H
#define KEEPER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/keeper/limiter.h"

struct err;
struct tree;

struct tree_of {
	uint64_t token;
	uint64_t group;  /* of tree_make(); 0: of a former keeper */
	pid_t pid;       /* the first process while it is not reaped; 0: gone */
	pid_t session;   /* its number, also after it is gone */
	bool is_foreign; /* of a former keeper: may be anywhere below pid 1 */
};

/* mode "auto", "off", or a cgroup directory of our own. */
int tree_open(const char *mode, const char *state_dir, struct tree **ret_tree, struct err *err);
void tree_close(struct tree *t); /* removes the keeper's group if empty; NULL is fine */
bool tree_has_groups(const struct tree *t);
const char *tree_dir(const struct tree *t);    /* "" without groups */
const char *tree_limits(const struct tree *t); /* as limiter_text() */

/* A group for one job: its number (its directory's name, in hex) and its directory's
 * descriptor, the tree's. 0 and -1 without groups, which hold no limits either.
 *   ret_join  as limiter_set()
 *   errors    E_LIMIT, E_FULL, E_IO, E_INVALID limits */
int tree_make(struct tree *t, const struct group_limits *limits, uint64_t *ret_group, int *ret_fd,
              int ret_join[LIMITER_JOINS], struct err *err);
/* The job is born, or never will be: the descriptor is of no more use. */
void tree_made(struct tree *t, int fd);

/* Is nothing left of it? Its group is given back then. */
bool tree_is_gone(struct tree *t, const struct tree_of *of);
/* Send a signal to each process of it; SIGKILL to all at once where a group can. */
void tree_signal(struct tree *t, const struct tree_of *of, int sig);
bool tree_was_oom(struct tree *t, uint64_t group);
/* What is known of /proc is of no use any more: call when processes may have changed. */
void tree_forget_scan(struct tree *t);
/* Kill all there is in groups, and remove those that are empty: none of them is a job's of
 * this keeper. False: something is left. */
bool tree_sweep(struct tree *t);
/* Of former keepers: kill all there is in groups, and who carries one of these tokens. True:
 * nothing was left. */
bool tree_end_foreign(struct tree *t, const uint64_t *tokens, size_t n);
/* Before the first group: what tells this keeper's from those of others. */
void tree_begin(struct tree *t, uint64_t incarnation);
/* Before another program takes over: it knows the jobs' groups only. */
void tree_drop_spares(struct tree *t);
/* Before any: whom to ask for signals that we may not send ourselves. */
void tree_send_by(void (*send)(void *ctx, int pid_fd, int sig), void *ctx);
/* When a process began, in ticks since boot; 0: there is none. */
uint64_t tree_pid_ticks(pid_t pid);

#endif
