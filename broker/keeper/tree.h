/* tree.h — all processes that came from one job, whatever they did to get away.
 *
 * With a writable cgroup v2: a fresh group per job (a group that was killed once kills
 * those born into it later). Without: those that descend from the job's first process,
 * share its session, or carry its token in their environment; the keeper is their
 * subreaper, so that whoever is orphaned becomes its child.
 */
#ifndef KEEPER_TREE_H
#define KEEPER_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct tree;

struct tree_of {
	uint64_t token;
	pid_t pid;       /* the first process while it is not reaped; 0: gone */
	pid_t session;   /* its number, also after it is gone */
	bool is_foreign; /* of a former keeper: may be anywhere below pid 1 */
};

/* mode "auto", "off", or a cgroup directory of our own. */
int tree_open(const char *mode, const char *state_dir, struct tree **ret_tree, struct err *err);
void tree_close(struct tree *t); /* removes the keeper's group if empty; NULL is fine */
bool tree_has_groups(const struct tree *t);
const char *tree_dir(const struct tree *t); /* "" without groups */

/* Make a job's group: its directory's descriptor, the caller's; -1 without groups.
 *   errors  E_LIMIT, E_FULL, E_IO */
int tree_make(struct tree *t, uint64_t token, int *ret_fd, struct err *err);

/* Is nothing left of it? Its group is removed then. */
bool tree_is_gone(struct tree *t, const struct tree_of *of);
/* Send a signal to each process of it; SIGKILL to all at once where a group can. */
void tree_signal(struct tree *t, const struct tree_of *of, int sig);
bool tree_was_oom(struct tree *t, uint64_t token);
/* What is known of /proc is of no use any more: call when processes may have changed. */
void tree_forget_scan(struct tree *t);
/* Kill and remove groups of no job that is_known() knows. */
void tree_sweep(struct tree *t, bool (*is_known)(void *ctx, uint64_t token), void *ctx);
/* When a process began, in ticks since boot; 0: there is none. */
uint64_t tree_pid_ticks(pid_t pid);

#endif
