/* The job's process, a group of its own; its output is this program's.
 *
 * It does what the jobkeeper does for a real job, as far as one machine without a broker can:
 * files of the job are written into a folder of their own, the environment has its parameters,
 * signals go to the whole group. There are no limits and no other user. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins-sdk/run/run.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"

#define ENV_FIXED 8

static size_t process_count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static int put_files(struct run *r, const struct runner_process *p)
{
	char dir[] = "/tmp/sirdar-runner-run-XXXXXX";

	if (p->n_files == 0)
		return 0;
	if (!mkdtemp(dir))
		return RUNNER_E_SYSTEM;
	r->files_dir = mem_str(dir);
	for (uint32_t i = 0; i < p->n_files; i++) {
		const struct runner_file *f = &p->files[i];
		char *path = mem_fmt("%s/%s", dir, f->name);
		int code = strchr(f->name, '/')                              ? RUNNER_E_INVALID
		           : fs_write(path, f->data, f->len, 0400, NULL) < 0 ? RUNNER_E_SYSTEM
		                                                             : 0;

		free(path);
		if (code < 0)
			return code;
	}
	return 0;
}

static char **make_env(const struct run *r, const struct runner_process *p)
{
	size_t n = process_count(p->env), i = 0;
	char **env = mem_array(n + ENV_FIXED, sizeof *env);
	bool has_path = false; /* the job's own goes over ours, as with the jobkeeper */

	for (; i < n; i++) {
		env[i] = mem_str(p->env[i]);
		has_path |= strncmp(env[i], "PATH=", 5) == 0;
	}
	if (!has_path)
		env[i++] = mem_str("PATH=/usr/local/bin:/usr/bin:/bin");
	env[i++] = mem_fmt("SIRDAR_TASK=%s", r->pub.task_name);
	env[i++] = mem_fmt("SIRDAR_ATTEMPT=%u", r->pub.attempt);
	env[i++] = mem_fmt("SIRDAR_RUN_DATE=%lld", (long long)r->pub.run_date);
	env[i++] = mem_fmt("SIRDAR_FENCE_TOKEN=%llu", (unsigned long long)r->pub.token);
	if (r->files_dir)
		env[i++] = mem_fmt("SIRDAR_FILES=%s", r->files_dir);
	CHECK(i < n + ENV_FIXED); /* the last is NULL */
	return env;
}

static int process_start(struct run *r, const struct runner_process *p, char **env)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	pid_t pid = 0;
	int e;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
	if (p->directory)
		posix_spawn_file_actions_addchdir_np(&actions, p->directory);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	e = posix_spawnp(&pid, p->argv[0], &actions, &attr, (char **)(uintptr_t)p->argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (e) {
		errno = e;
		fprintf(stderr, "# spawn %s: %m\n", p->argv[0]);
		return RUNNER_E_SYSTEM;
	}
	pthread_mutex_lock(&r->mu);
	r->pid = pid;
	bool late = r->is_cancelled;

	pthread_mutex_unlock(&r->mu);
	if (late)
		run_signal(r, SIGTERM);
	return 0;
}

int run_spawn(struct run *r, const struct runner_process *p)
{
	char **env;
	int code;

	if (r->pid)
		return RUNNER_E_STATE;
	if (p->size < sizeof *p || !p->argv || !p->argv[0])
		return RUNNER_E_INVALID;
	code = put_files(r, p);
	if (code < 0)
		return code;
	env = make_env(r, p);
	code = process_start(r, p, env);
	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	free(env);
	return code;
}

static void drop_files(const struct run *r)
{
	DIR *d = r->files_dir ? opendir(r->files_dir) : NULL;

	if (!d)
		return;
	for (const struct dirent *e; (e = readdir(d));)
		unlinkat(dirfd(d), e->d_name, 0); /* "." and ".." refuse */
	closedir(d);
	rmdir(r->files_dir);
}

void run_wait(struct run *r, struct runner_result *result)
{
	siginfo_t info = { 0 };
	int status = 0;

	CHECK(r->pid > 0);
	/* The number stays ours until it has been reaped: no signal may reach another's. */
	while (waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	run_signal(r, SIGKILL); /* what it left behind in its group */
	pthread_mutex_lock(&r->mu);
	waitpid(r->pid, &status, 0);
	r->pid = -1;
	pthread_mutex_unlock(&r->mu);
	result->exit_code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
	drop_files(r);
}

void run_signal(struct run *r, int signal)
{
	pthread_mutex_lock(&r->mu);
	if (r->pid > 0)
		killpg(r->pid, signal);
	pthread_mutex_unlock(&r->mu);
}
