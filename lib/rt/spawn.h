/* spawn.h — start a program of our own: a daemon starts another, never a user's job (those
 * are the jobkeeper's).
 *
 * The child gets a clean signal state and no descriptors but 0, 1, 2 and those named.
 */
#ifndef RT_SPAWN_H
#define RT_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

struct spawn {
	const char *path;    /* of the program; no search */
	char *const *argv;   /* NULL-terminated */
	char *const *env;    /* NULL: this process's */
	int in, out, err_fd; /* become 0, 1, 2; 0: /dev/null for `in`, inherited for the others */
	const int *fds;      /* fds[i] becomes descriptor 3 + i; NULL: none */
	size_t fds_n;
	bool is_session; /* a session of its own */
};

/* Start it. The caller waits for it: waitid(P_PIDFD), or waitpid(pid).
 *
 *   owns    *ret_pidfd (closed on exec) is the caller's; NULL: not wanted
 *   errors  E_NOT_FOUND, E_FORBIDDEN, E_LIMIT no process or descriptor left, E_NOMEM, E_IO
 *   thread  any
 */
int spawn_run(const struct spawn *s, pid_t *ret_pid, int *ret_pidfd, struct err *err);

#endif
