/* launcher_ask.h — the keeper's end of its launcher: each call is one question and its answer.
 *
 * Once the launcher is gone every call fails (E_MACHINE): no job starts, and no process of another
 * user can be signalled. Ends are seen as before, for jobs are the keeper's children.
 */
#ifndef KEEPER_LAUNCHER_ASK_H
#define KEEPER_LAUNCHER_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/keeper/launcher.h"

struct launch;
struct launch_fds;

struct launcher_link {
	int fd; /* -1: there is none, or it is gone */
	pid_t pid;
};

/* Fork it, and become `uid` without any right. From a user with the launcher's capabilities; the
 * places have been checked. E_MACHINE. */
int launcher_fork(struct launcher_link *link, const struct launcher_settings *s, gid_t gid,
                  struct err *err);

/* Before jobs of a former keeper are told lost. */
int launcher_begin(struct launcher_link *link, struct err *err);

/* The user of a project, into `ret`. Errors as launcher_user(), or E_MACHINE. */
int launcher_who(struct launcher_link *link, const char *project, const char *wish,
                 struct launcher_answer *ret, struct err *err);

struct launched {
	pid_t pid;
	int64_t started_us; /* as launch_run() says it */
};

/* As launch_run(), by the launcher; `token` names the job to launcher_clean(). */
int launcher_start(struct launcher_link *link, const struct launch *l, const struct launch_fds *fds,
                   uint64_t token, struct launched *ret, struct err *err);

/* Between two calls: looks whether it ended. */
bool launcher_is_there(struct launcher_link *link);

/* False: nobody can, for it is gone. */
bool launcher_signal(struct launcher_link *link, int pid_fd, int sig);

void launcher_clean(struct launcher_link *link, uint64_t token);

#endif
