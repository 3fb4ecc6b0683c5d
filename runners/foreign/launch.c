/* launch.c — one guest process: descriptors 0 nothing, 1 and 2 the job's log, 3 what it is
 * told, 4 what it says; a session of its own, an environment that has nothing of the broker's,
 * and death with the thread that started it.
 */
#include "foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define GUEST_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define PIPE_BYTES (1 << 20)
#define ENV_MAX    256
#define WORDS_MAX  300

enum { END_READ, END_WRITE };

/* Everything the child needs, made before the fork: after it nothing may be allocated. */
struct launch {
	char program[PATH_MAX];
	const char *env[ENV_MAX + 4];
	int pipes[4][2]; /* told, says, out, err */
	int null_fd;
	pid_t parent;
};

static int is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* A name without '/' is looked for in the guest's PATH, another one below its directory. */
static int find_program(const struct runner_guest *about, char ret[PATH_MAX], char *ret_why)
{
	const char *name = about->argv[0], *path = GUEST_PATH;

	if (strchr(name, '/')) {
		snprintf(ret, PATH_MAX, "%s%s%s", name[0] == '/' ? "" : about->directory,
		         name[0] == '/' ? "" : "/", name);
		if (is_program(ret))
			return 0;
		snprintf(ret_why, FOREIGN_WHY_BYTES, "guest.command: %.150s is no program", ret);
		return -1;
	}
	for (size_t i = 0; about->env[i]; i++) {
		if (strncmp(about->env[i], "PATH=", 5) == 0)
			path = about->env[i] + 5;
	}
	const char *wanted = path;

	while (*path) {
		size_t len = strcspn(path, ":");

		snprintf(ret, PATH_MAX, "%.*s/%s", (int)len, path, name);
		if (is_program(ret))
			return 0;
		path += len + (path[len] == ':');
	}
	snprintf(ret_why, FOREIGN_WHY_BYTES, "guest.command: no program '%.60s' in PATH=%.80s",
	         name, wanted);
	return -1;
}

static void make_env(const struct runner_guest *about, int is_lent, struct launch *l)
{
	static const char *const fixed[] = { ("PATH=" GUEST_PATH), "HOME=/", "LANG=C.UTF-8",
		                             "SIRDAR_GUEST=1" };
	size_t n = 0;

	for (size_t i = 0; about->env[i] && n < ENV_MAX; i++)
		l->env[n++] = about->env[i];
	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
		size_t name = strcspn(fixed[i], "=") + 1, k = 0;

		while (k < n && strncmp(l->env[k], fixed[i], name) != 0)
			k++;
		/* Another user has a directory of its own, which the jobkeeper knows. */
		if (k == n && !(is_lent && strcmp(fixed[i], "HOME=/") == 0))
			l->env[n++] = fixed[i];
	}
	l->env[n] = NULL;
}

/* Only calls that are safe after a fork of a process with threads. */
__attribute__((noreturn)) static void child(const struct launch *l,
                                            const struct runner_guest *about)
{
	const int from[] = { l->null_fd, l->pipes[2][END_WRITE], l->pipes[3][END_WRITE],
		             l->pipes[0][END_READ], l->pipes[1][END_WRITE] };
	static const char lost[] = "sirdar: it cannot be executed, or not in its directory\n";
	sigset_t none;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != l->parent)
		_exit(1);
	/* All of them are above 9, so that none is in the way of another. */
	for (int fd = 0; fd < 5; fd++)
		dup2(from[fd], fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir(about->directory) == 0)
		execve(l->program, (char *const *)(uintptr_t)about->argv,
		       (char *const *)(uintptr_t)l->env);
	if (write(STDERR_FILENO, lost, sizeof lost - 1) < 0)
		_exit(125);
	_exit(126);
}

static int launch_above(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);

	if (fd >= 0)
		close(fd);
	return high;
}

static void close_all(struct launch *l)
{
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 2; k++) {
			if (l->pipes[i][k] >= 0)
				close(l->pipes[i][k]);
		}
	}
	if (l->null_fd >= 0)
		close(l->null_fd);
}

static int open_all(struct launch *l)
{
	int r = 0;

	for (int i = 0; i < 4; i++) {
		if (pipe2(l->pipes[i], O_CLOEXEC) < 0)
			l->pipes[i][0] = l->pipes[i][1] = -1;
		for (int k = 0; k < 2; k++) {
			l->pipes[i][k] = launch_above(l->pipes[i][k]);
			r |= l->pipes[i][k];
		}
		if (r >= 0) { /* larger ones save turns; the small ones do too */
			fcntl(l->pipes[i][0], F_SETPIPE_SZ, PIPE_BYTES);
			fcntl(l->pipes[i][i ? END_READ : END_WRITE], F_SETFL, O_NONBLOCK);
		}
	}
	l->null_fd = launch_above(open("/dev/null", O_RDONLY | O_CLOEXEC));
	return r < 0 || l->null_fd < 0 ? -1 : 0;
}

/* By the broker, with its limits. */
static int start_held(const struct runner_guest *about, const struct launch *l, struct guest *g,
                      char ret_why[FOREIGN_WHY_BYTES])
{
	const int fds[] = { l->null_fd, l->pipes[2][END_WRITE], l->pipes[3][END_WRITE],
		            l->pipes[0][END_READ], l->pipes[1][END_WRITE] };
	const char *argv[WORDS_MAX + 1] = { l->program };
	size_t n = 1;

	for (; n < WORDS_MAX && about->argv[n]; n++)
		argv[n] = about->argv[n];
	struct runner_guest_start start = { .size = sizeof start,
		                            .n_fds = sizeof fds / sizeof fds[0],
		                            .argv = argv,
		                            .env = l->env,
		                            .fds = fds,
		                            .whose = g->owner->whose };

	g->held.size = sizeof g->held;
	if (about->start(about->ctx, &start, &g->held, ret_why, FOREIGN_WHY_BYTES) < 0)
		return -1;
	return g->held.pid;
}

static pid_t start_own(const struct runner_guest *about, const struct launch *l,
                       char ret_why[FOREIGN_WHY_BYTES])
{
	pid_t pid = fork();

	if (pid == 0)
		child(l, about);
	if (pid < 0)
		snprintf(ret_why, FOREIGN_WHY_BYTES, "no process can be started: errno %d", errno);
	return pid;
}

int guest_launch(const struct runner_guest *about, struct guest *g, char ret_why[FOREIGN_WHY_BYTES])
{
	struct launch l = { .null_fd = -1, .parent = getpid() };

	memset(l.pipes, -1, sizeof l.pipes);
	if (find_program(about, l.program, ret_why) < 0)
		return -1;
	make_env(about, g->owner->whose != NULL, &l);
	g->pid = -1;
	snprintf(ret_why, FOREIGN_WHY_BYTES, "no descriptor is left");
	if (open_all(&l) == 0)
		g->pid = RUNNER_HAS(about, struct runner_guest, start)
		                 ? start_held(about, &l, g, ret_why)
		                 : start_own(about, &l, ret_why);
	g->number = g->pid;
	g->pid_fd = g->pid > 0 ? pidfd_open(g->pid, 0) : -1;
	if (g->pid_fd < 0 && g->pid > 0 && guest_is_lent(g)) { /* reaped already, and not by us */
		g->pid = g->held.pid = 0;
		g->state = GUEST_ENDING;
	}
	if (g->pid_fd >= 0 || g->pid == 0) {
		g->to = l.pipes[0][END_WRITE];
		for (int i = 0; i < PIPES; i++) {
			g->from[i] = l.pipes[i + 1][END_READ];
			l.pipes[i + 1][END_READ] = -1;
		}
		l.pipes[0][END_WRITE] = -1;
	} else if (g->pid > 0) {
		snprintf(ret_why, FOREIGN_WHY_BYTES, "no descriptor is left");
		kill(g->pid, SIGKILL);
	}
	close_all(&l);
	return g->pid_fd >= 0 || g->pid == 0 ? 0 : -1;
}
