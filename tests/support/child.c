/* Programs under test as child processes, with a directory of their own and a pipe on
 * descriptor 3 that says when they are ready. What is started here is remembered until it was
 * ended, so that the next test can end what a failed one left behind; nothing is ever found by
 * its name. */
#include "tests/support/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/check.h"

static pid_t living[16]; /* started here and not yet ended */

static void living_swap(pid_t from, pid_t to)
{
	for (size_t i = 0; i < sizeof living / sizeof living[0]; i++) {
		if (living[i] == from) {
			living[i] = to;
			return;
		}
	}
}

void children_clear(void)
{
	for (size_t i = 0; i < sizeof living / sizeof living[0]; i++) {
		if (!living[i])
			continue;
		kill(living[i], SIGTERM);
		waitpid(living[i], NULL, 0);
		living[i] = 0;
	}
}

char *dir_make(void)
{
	const char *under = getenv("TMPDIR");
	char *dir = mem_fmt("%s/sirdar-test-XXXXXX", under ? under : "/tmp");

	CHECK(mkdtemp(dir));
	return dir;
}

static void run(char *const argv[])
{
	pid_t pid;
	int status;

	CHECK(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0);
	waitpid(pid, &status, 0);
}

void dir_remove(const char *dir)
{
	char *argv[] = { (char *)"rm", (char *)"-rf", (char *)dir, NULL };

	run(argv);
}

char *build_path(const char *name)
{
	const char *b = getenv("B");

	return mem_fmt("%s/%s", b ? b : "build/gcc", name);
}

void child_start(struct child *c, const char *program, ...)
{
	posix_spawn_file_actions_t files;
	char *name = mem_fmt("bin/%s", program), *path = build_path(name);
	char *argv[40] = { (char *)program };
	int fds[2], n = 1;
	va_list args;

	va_start(args, program);
	while ((argv[n] = va_arg(args, char *)))
		CHECK(++n < 39);
	va_end(args);
	CHECK(pipe2(fds, O_CLOEXEC) == 0);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fds[1], 3);
	CHECK(posix_spawn(&c->pid, path, &files, NULL, argv, environ) == 0);
	living_swap(0, c->pid);
	posix_spawn_file_actions_destroy(&files);
	close(fds[1]);
	c->status_fd = fds[0];
	free(name);
	free(path);
}

int child_end(struct child *c, int signal)
{
	int status;

	if (signal)
		kill(c->pid, signal);
	CHECK(waitpid(c->pid, &status, 0) == c->pid);
	close(c->status_fd);
	living_swap(c->pid, 0);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void child_line(struct child *c, char *ret_line, size_t cap)
{
	size_t n = 0;

	while (n + 1 < cap && read(c->status_fd, ret_line + n, 1) == 1 && ret_line[n] != '\n')
		n++;
	ret_line[n] = 0;
}
