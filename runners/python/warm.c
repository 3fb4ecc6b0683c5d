/* Warm interpreters: for each interpreter that jobs ask for, one process that has started Python
 * and listens, and forks a job in a moment. It ends with the pipe this process holds, so that it
 * never outlives the loader. One that ended is tried again after 30 s; without one a job starts an
 * interpreter of its own. The table is under a lock, at most WARM_MAX. */
#include "warm.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "python_zygote.h" /* made of zygote.py: static const char zygote[] */

#define JOB_PATH    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define WARM_MAX    16
#define NAME_BYTES  32
#define BACKLOG     512
#define AGAIN_AFTER 30 /* seconds, of one that ended */

struct one {
	char *interpreter;
	char name[NAME_BYTES]; /* "-": there is none */
	pid_t pid;             /* 0: none */
	int hold;              /* it ends with this */
	time_t ended;
};

struct warm {
	char program[PATH_MAX];
	bool may_be;        /* false: there is none, all start cold */
	bool is_bound;      /* it is root, and no job of its is */
	pthread_mutex_t mu; /* guards what follows */
	struct one all[WARM_MAX];
	size_t n;
};

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

int warm_open(bool is_bound, bool may_be, struct warm **ret_warm)
{
	struct warm *w = calloc(1, sizeof *w);
	ssize_t n = w ? readlink("/proc/self/exe", w->program, sizeof w->program - 1) : -1;
	char *slash = n > 0 ? strrchr(w->program, '/') : NULL;

	if (slash)
		snprintf(slash + 1, (size_t)(w->program + sizeof w->program - slash - 1), "%s",
		         "sirdar-python-job");
	if (!slash || access(w->program, X_OK) < 0) {
		fprintf(stderr, "python: no program %s\n",
		        slash ? w->program : "sirdar-python-job");
		free(w);
		return -1;
	}
	w->is_bound = is_bound;
	w->may_be = may_be;
	pthread_mutex_init(&w->mu, NULL);
	*ret_warm = w;
	return 0;
}

void warm_close(struct warm *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (w->all[i].pid) {
			close(w->all[i].hold);
			waitpid(w->all[i].pid, NULL, 0);
		}
		free(w->all[i].interpreter);
	}
	pthread_mutex_destroy(&w->mu);
	free(w);
}

const char *warm_program(const struct warm *w)
{
	return w->program;
}

/* The kernel picks a name that nobody has. */
static int listen_somewhere(char ret_name[NAME_BYTES])
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof at.sun_family;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&at, bytes) == 0 && listen(fd, BACKLOG) == 0) {
		bytes = sizeof at;
		getsockname(fd, (struct sockaddr *)&at, &bytes);
		size_t len = bytes - offsetof(struct sockaddr_un, sun_path) - 1;

		if (len > 0 && len < NAME_BYTES) {
			memcpy(ret_name, at.sun_path + 1, len);
			ret_name[len] = 0;
			return fd;
		}
	}
	close(fd);
	return -1;
}

/* As the jobkeeper's fixed environment has it: not the broker's own PATH. */
static int find_program(const char *name, char ret[PATH_MAX])
{
	const char *path = JOB_PATH;

	if (strchr(name, '/')) {
		snprintf(ret, PATH_MAX, "%s", name);
		return access(ret, X_OK) == 0;
	}
	while (*path) {
		size_t len = strcspn(path, ":");

		snprintf(ret, PATH_MAX, "%.*s/%s", (int)len, path, name);
		if (access(ret, X_OK) == 0)
			return 1;
		path += len + (path[len] == ':');
	}
	return 0;
}

static int start_process(const struct warm *w, struct one *o, int listener, int hold)
{
	static const char *const env[] = { ("PATH=" JOB_PATH), "LANG=C.UTF-8", "HOME=/", NULL };
	char program[PATH_MAX];
	const char *const argv[] = { w->program, "--bound", program, "-c", zygote, NULL };
	const char *const *words = w->is_bound ? argv : argv + 2;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int r;

	if (!find_program(o->interpreter, program))
		return -1;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_adddup2(&actions, hold, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, listener, 3);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	r = posix_spawn(&o->pid, words[0], &actions, &attr, (char *const *)(uintptr_t)words,
	                (char *const *)(uintptr_t)env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (r)
		o->pid = 0;
	return r ? -1 : 0;
}

/* Descriptors from 10 on: dup2() onto 0 and 3 must not meet them. */
static int warm_above(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);

	if (fd >= 0)
		close(fd);
	return high;
}

static void start_one(const struct warm *w, struct one *o)
{
	int hold[2] = { -1, -1 }, listener = warm_above(listen_somewhere(o->name));

	if (pipe2(hold, O_CLOEXEC) == 0) {
		hold[0] = warm_above(hold[0]);
		hold[1] = warm_above(hold[1]);
	}
	if (listener < 0 || hold[0] < 0 || hold[1] < 0 ||
	    start_process(w, o, listener, hold[0]) < 0) {
		snprintf(o->name, sizeof o->name, "-");
		o->ended = now();
		if (hold[1] >= 0)
			close(hold[1]);
	} else {
		o->hold = hold[1];
	}
	if (hold[0] >= 0)
		close(hold[0]);
	if (listener >= 0)
		close(listener);
}

/* One that ended (a Python that is too old, or killed) is tried again after a while. */
static void look_after(const struct warm *w, struct one *o)
{
	if (o->pid && waitpid(o->pid, NULL, WNOHANG) == o->pid) {
		close(o->hold);
		o->pid = 0;
		o->ended = now();
		snprintf(o->name, sizeof o->name, "-");
	}
	if (!o->pid && (!o->ended || now() - o->ended >= AGAIN_AFTER))
		start_one(w, o);
}

const char *warm_name(struct warm *w, const char *interpreter)
{
	struct one *o = NULL;

	if (!w->may_be)
		return "-";
	pthread_mutex_lock(&w->mu);
	for (size_t i = 0; i < w->n && !o; i++) {
		if (strcmp(w->all[i].interpreter, interpreter) == 0)
			o = &w->all[i];
	}
	if (!o && w->n < WARM_MAX) {
		o = &w->all[w->n];
		o->interpreter = strdup(interpreter);
		w->n += o->interpreter != NULL;
	}
	if (o && o->interpreter)
		look_after(w, o);
	pthread_mutex_unlock(&w->mu);
	return o && o->interpreter ? o->name : "-";
}
