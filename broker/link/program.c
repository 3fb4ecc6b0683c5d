/* What taskbroker and taskrunner-loader do alike: a lock, signals, settings that are read again.
 *
 * The lock is the kernel's (F_SETLK): its descriptor stays open until the process ends, and nobody
 * has to clean up after a crash. Signals come from a descriptor, so that a handler may do what any
 * other callback does. What a signal or a new setting means is the program's business.
 */
#include "broker/link/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "util/check.h"
#include "util/err.h"
#include "util/log.h"
#include "util/param.h"

int program_lock(const char *path, const char *who, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(err, E_IO, errno, "%s", path);
	if (fcntl(fd, F_SETLK, &lock) < 0)
		return err_set(err, E_BUSY, "%s: another %s", path, who);
	return 0; /* held until the process ends */
}

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
	struct program_signals *s = w->data;
	struct signalfd_siginfo info;

	(void)loop;
	(void)events;
	while (read(w->fd, &info, sizeof info) == sizeof info)
		s->on_signal(s->ctx, (int)info.ssi_signo);
}

int program_signals(struct program_signals *s, struct ev_loop *loop, int more, struct err *err)
{
	sigset_t set;

	CHECK(s->on_signal && !s->io.data);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (more)
		sigaddset(&set, more);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigdelset(&set, SIGPIPE);
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);

	if (fd < 0)
		return err_sys(err, E_IO, errno, "signalfd");
	ev_io_init(&s->io, on_readable, fd, EV_READ);
	s->io.data = s;
	ev_io_start(loop, &s->io);
	return 0;
}

void program_reload(const char *event, struct param_taskbroker *settings,
                    const struct param_args *args,
                    void (*take)(void *ctx, const struct param_taskbroker *fresh), void *ctx)
{
	struct param_taskbroker fresh;
	enum log_level level;
	struct err err;

	memset(&fresh, 0, sizeof fresh);
	if (param_again(&param_taskbroker_table, &fresh, args, &err) < 0) {
		log_warn(event, "why=\"%s\"", err.text);
	} else {
		take(ctx, &fresh);
		if (log_level_parse(settings->log_level, &level) == 0)
			log_level_set(level);
	}
	param_done(&param_taskbroker_table, &fresh);
}
