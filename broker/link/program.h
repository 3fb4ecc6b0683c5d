/* program.h — what taskbroker and taskrunner-loader do alike as processes: a lock that only one may
 * hold, signals as events of the loop, settings that are read again.
 */
#ifndef LINK_PROGRAM_H
#define LINK_PROGRAM_H

#include <ev.h>

struct err;
struct param_args;
struct param_taskbroker;

/* Lock the file for the life of this process. The kernel knows the holder's pid (F_GETLK), and
 * forgets it when the process ends.
 *   errors  E_IO, E_BUSY with `who` another one is */
int program_lock(const char *path, const char *who, struct err *err);

struct program_signals {
	ev_io io;
	void (*on_signal)(void *ctx, int number);
	void *ctx;
};

/* SIGTERM, SIGINT, SIGHUP and `more` (0: none) arrive as on_signal() of the loop; SIGPIPE is
 * blocked. Threads are born with all of them blocked. errors  E_IO */
int program_signals(struct program_signals *s, struct ev_loop *loop, int more, struct err *err);

/* Read the settings again and hand them to `take`, which moves over what may change; log_level
 * counts at once. What does not read changes nothing and is logged as `event`. */
void program_reload(const char *event, struct param_taskbroker *settings,
                    const struct param_args *args,
                    void (*take)(void *ctx, const struct param_taskbroker *fresh), void *ctx);

#endif
