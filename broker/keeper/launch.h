/* launch.h — from a KeeperStart to a process.
 *
 * The child gets its own session, a clean signal state, its own few descriptors, a clean
 * environment, and dies when the keeper does. Nothing is run by a shell.
 */
#ifndef KEEPER_LAUNCH_H
#define KEEPER_LAUNCH_H

#include <stdint.h>
#include <sys/types.h>

#include "broker/keeper/limiter.h"
#include "keeper.pb-c.h"

struct err;
struct launch;
struct launcher_answer;

/* Copy and check what is asked for.
 *   state_dir  tells this keeper's jobs from another's (SIRDAR_KEEPER)
 *   files_dir  files of the message go to <files_dir>/<token>, made by launch_run()
 *   who        whom the launcher says that is; NULL: found here, there is none
 *   errors     E_INVALID, E_FORBIDDEN user, E_NOT_FOUND user */
int launch_new(const Sirdar__KeeperStart *m, const char *state_dir, const char *files_dir,
               const struct launcher_answer *who, struct launch **ret_launch, struct err *err);
void launch_free(struct launch *l); /* NULL is fine */
/* It begins in a box. Once all else of it is known.
 *   errors  E_MACHINE: it has no user, or no place, of its own */
int launch_box(struct launch *l, struct err *err);

enum { LAUNCH_MORE = 2, LAUNCH_JOINS = LIMITER_JOINS + 1 };

struct launch_fds {
	int null, out, err;     /* become 0, 1, 2 */
	int cgroup;             /* a directory, the child is born in it; -1: none */
	int join[LAUNCH_JOINS]; /* the child writes "0" to it; -1: none */
	int more[LAUNCH_MORE];  /* become 3 and 4; all of them are above 4 */
	int n_more;
};

/* Start it; the exec has happened when this returns 0.
 *   ret_started_us  wall, when the child began its program: this call returns later, when the
 *                   processor comes back from the child
 *   errors  E_LIMIT no process or descriptor left, E_NOMEM, E_FULL, E_IO;
 *           E_NOT_FOUND program or directory, E_FORBIDDEN, E_INVALID not a program */
int launch_run(const struct launch *l, const struct launch_fds *fds, pid_t *ret_pid,
               int64_t *ret_started_us, struct err *err);

/* Remove the files of a token. */
void launch_files_remove(const char *files_dir, uint64_t token);

#endif
