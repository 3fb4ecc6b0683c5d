/* Secrets from a program of the installation (`secret_exec`): a client of what is no vault of ours.
 * It is called without a shell as PROGRAM PATH [KEY] and prints the value. It has secret_timeout_ms
 * and SECRET_BYTES_MAX; a program that takes longer or prints more is killed with all that it
 * started. What it says on standard error goes nowhere: it may hold the secret. The program and its
 * way are judged before each call (lib/util/trust.h). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baseserver/secret/source.h"
#include "rt/spawn.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/param.h"
#include "util/trust.h"

struct exec {
	char *program;
	int64_t timeout_us;
};

static int exec_check(const struct secret_ref *ref, struct err *err)
{
	if (!source_path_ok(ref->path) || (ref->key[0] && !source_path_ok(ref->key)))
		return err_set(err, E_INVALID,
		               "path and key of a program are names of letters, digits and _ . - "
		               "between slashes, found '%.100s' and '%.60s'",
		               ref->path, ref->key);
	return 0;
}

static int exec_open(const struct param_baseserver *p, void **ret, struct err *err)
{
	struct exec *e;

	(void)err;
	if (!p->secret_exec[0])
		return 0;
	*ret = e = mem_new(sizeof *e);
	e->program = mem_str(p->secret_exec);
	e->timeout_us = p->secret_timeout_ms * US_PER_MS;
	return 0;
}

static void exec_close(void *self)
{
	struct exec *e = self;

	if (e)
		free(e->program);
	free(e);
}

/* All that it prints until it closes its output. */
static int exec_read(int fd, int64_t until_us, struct buf *out, struct err *err)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left_us = until_us - clock_steady_us();

		if (out->len > SECRET_BYTES_MAX)
			return err_set(err, E_TOO_BIG, "secret_exec printed more than %d bytes",
			               SECRET_BYTES_MAX);
		if (left_us <= 0)
			return err_set(err, E_TIMEOUT, "secret_exec took too long");
		if (poll(&p, 1, (int)(left_us / US_PER_MS) + 1) <= 0)
			continue;
		ssize_t n = read(fd, buf_room(out, 4096), 4096);
		if (n > 0)
			buf_added(out, (size_t)n);
		else if (n == 0)
			return 0;
		else if (errno != EINTR && errno != EAGAIN)
			return err_sys(err, E_IO, errno, "secret_exec");
	}
}

/* It may live on with its output closed, and so may what it started: nothing of its session
 * stays. */
static int exec_end(pid_t pid, int pidfd, int64_t until_us, struct err *err)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	siginfo_t end = { 0 };
	bool is_over = false;

	for (int64_t left_us; !is_over && (left_us = until_us - clock_steady_us()) > 0;)
		is_over = poll(&p, 1, (int)(left_us / US_PER_MS) + 1) > 0;
	kill(-pid, SIGKILL);
	if (waitid(P_PIDFD, (id_t)pidfd, &end, WEXITED) < 0 || !is_over)
		return err_set(err, E_TIMEOUT, "secret_exec took too long");
	if (end.si_code != CLD_EXITED || end.si_status != 0)
		return err_set(err, E_NOT_FOUND, "secret_exec ended with %s %d",
		               end.si_code == CLD_EXITED ? "exit" : "signal", end.si_status);
	return 0;
}

struct started {
	pid_t pid;
	int pidfd;
};

static int exec_start(const struct exec *e, const struct secret_ref *ref, int out, int nowhere,
                      struct started *ret, struct err *err)
{
	char *argv[] = { e->program, (char *)(uintptr_t)ref->path,
		         ref->key[0] ? (char *)(uintptr_t)ref->key : NULL, NULL };
	const struct spawn s = {
		.path = e->program, .argv = argv, .out = out, .err_fd = nowhere, .is_session = true
	};
	int r = trust_check(e->program, err);

	return r < 0 ? r : spawn_run(&s, &ret->pid, &ret->pidfd, err);
}

static int exec_fetch(void *self, const struct secret_ref *ref, struct buf *out,
                      int64_t *ret_lease_us, struct err *err)
{
	const struct exec *e = self;
	int64_t until_us = clock_steady_us() + e->timeout_us;
	int fds[2], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct started at = { 0, -1 };

	*ret_lease_us = 0;
	if (nowhere < 0 || pipe2(fds, O_CLOEXEC) < 0) {
		if (nowhere >= 0)
			close(nowhere);
		return err_set(err, E_LIMIT, "no descriptors left for secret_exec");
	}
	int r = exec_start(e, ref, fds[1], nowhere, &at, err);
	close(fds[1]);
	close(nowhere);
	if (r == 0) {
		r = exec_read(fds[0], until_us, out, err);
		if (r < 0)
			exec_end(at.pid, at.pidfd, 0, NULL);
		else
			r = exec_end(at.pid, at.pidfd, until_us, err);
		close(at.pidfd);
	}
	close(fds[0]);
	if (r == 0 && out->len && buf_at(out)[out->len - 1] == '\n')
		out->len--;
	return r;
}

const struct source source_exec = { "exec",     exec_check,    exec_open, exec_close,
	                            exec_fetch, "secret_exec", false };
