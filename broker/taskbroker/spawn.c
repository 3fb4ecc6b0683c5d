#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/taskbroker/broker.h"
#include "util/err.h"

#define STATUS_FD 3

/* A session of its own: a signal to our terminal or group is not meant for it. Signals are
 * as at login, descriptors are the standard three and the status pipe. */
static int set_up(posix_spawnattr_t *attr, posix_spawn_file_actions_t *files, int status_fd)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
	                                       POSIX_SPAWN_SETSID);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	r = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
	if (r == 0 && status_fd >= 0)
		r = posix_spawn_file_actions_adddup2(files, status_fd, STATUS_FD);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(files, STATUS_FD + (status_fd >= 0));
	return r;
}

int spawn_program(const char *path, char *const argv[], int status_fd, pid_t *ret_pid,
                  int *ret_pid_fd, struct err *err)
{
	posix_spawnattr_t attr;
	posix_spawn_file_actions_t files;
	pid_t pid;
	int r;

	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_init(&files);
	r = set_up(&attr, &files, status_fd);
	if (r == 0)
		r = posix_spawn(&pid, path, &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	if (r != 0)
		return err_sys(err, E_IO, r, "%s", path);
	int fd = pidfd_open(pid, 0); /* our child, not yet waited for: the pid is its own */

	if (fd < 0) {
		r = err_sys(err, E_IO, errno, "pidfd_open");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return r;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	*ret_pid = pid;
	*ret_pid_fd = fd;
	return 0;
}
