/* tree_scan.h — one look at /proc; only tree.c uses it. */
#ifndef KEEPER_TREE_SCAN_H
#define KEEPER_TREE_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/keeper/tree.h"

struct tree_process {
	pid_t pid, parent, session;
	char state;
	uint64_t ticks;
	uint64_t token; /* of its environment; only of those that might be ours */
	bool is_read;
};

struct tree_scan {
	struct tree_process *all; /* by pid, rising */
	size_t n, cap;
	const char *keeper; /* SIRDAR_KEEPER of our jobs; borrowed */
};

void tree_scan_make(struct tree_scan *s); /* over what it held */
void tree_scan_done(struct tree_scan *s);
size_t tree_scan_count(struct tree_scan *s, const struct tree_of *of);
void tree_scan_signal(struct tree_scan *s, const struct tree_of *of, int sig);

/* Through a pidfd, after a look that the pid is still the process meant: it began at
 * `ticks` (0: any), and its cgroup's path holds `mark` (NULL: any). */
void tree_pid_signal(pid_t pid, uint64_t ticks, const char *mark, int sig);

#endif
