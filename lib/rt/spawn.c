#include "rt/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/err.h"

/* Where 3 + i might be one of fds itself they are first moved out of the way. */
static int actions_fill(posix_spawn_file_actions_t *a, const struct spawn *s)
{
	int high = 3 + (int)s->fds_n, r = 0;

	for (size_t i = 0; i < s->fds_n; i++)
		high = s->fds[i] >= high ? s->fds[i] + 1 : high;
	for (size_t i = 0; r == 0 && i < s->fds_n; i++)
		r = posix_spawn_file_actions_adddup2(a, s->fds[i], high + (int)i);
	if (r == 0 && s->in > 0)
		r = posix_spawn_file_actions_adddup2(a, s->in, 0);
	else if (r == 0)
		r = posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0);
	if (r == 0 && s->out > 0)
		r = posix_spawn_file_actions_adddup2(a, s->out, 1);
	if (r == 0 && s->err_fd > 0)
		r = posix_spawn_file_actions_adddup2(a, s->err_fd, 2);
	for (size_t i = 0; r == 0 && i < s->fds_n; i++)
		r = posix_spawn_file_actions_adddup2(a, high + (int)i, 3 + (int)i);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(a, 3 + (int)s->fds_n);
	return r;
}

static int attributes_fill(posix_spawnattr_t *a, const struct spawn *s)
{
	sigset_t none, all;
	short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;

	sigemptyset(&none);
	sigfillset(&all);
	sigdelset(&all, SIGKILL);
	sigdelset(&all, SIGSTOP);
	if (s->is_session)
		flags |= POSIX_SPAWN_SETSID;
	int r = posix_spawnattr_setsigmask(a, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(a, &all);
	return r ? r : posix_spawnattr_setflags(a, flags);
}

int spawn_run(const struct spawn *s, pid_t *ret_pid, int *ret_pidfd, struct err *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t pid = 0;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	r = actions_fill(&actions, s);
	if (r == 0)
		r = attributes_fill(&attributes, s);
	if (r == 0)
		r = posix_spawn(&pid, s->path, &actions, &attributes, s->argv,
		                s->env ? s->env : environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (r)
		return err_sys(err, err_of_errno(r), r, "%s", s->path);
	*ret_pid = pid;
	if (!ret_pidfd)
		return 0;
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* closed on exec by birth */
	if (*ret_pidfd >= 0)
		return 0;
	return err_sys(err, E_LIMIT, errno, "pidfd of %s, pid %d", s->path, (int)pid);
}
