/* One look at /proc: which processes came from a job, where no cgroup tells.
 *
 * A process is a job's if it, or one of its ancestors, is the job's first process, is in its
 * session, or carries its token in the environment together with this keeper's directory. A
 * process that gets rid of all three is not found. A pid may have a new owner by the time it is
 * signalled: the signal goes through a pidfd, after a second look at when the process began.
 */
#include "broker/keeper/tree_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/check.h"

enum { STAT_BYTES = 1024, ENVIRON_BYTES = 262144, DEPTH_MAX = 4096 };

static ssize_t proc_read(pid_t pid, const char *file, char *to, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t n = 0;
	ssize_t got;
	while (n < size - 1 && (got = read(fd, to + n, size - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	to[n] = 0;
	return (ssize_t)n;
}

static bool process_read(pid_t pid, struct tree_process *p)
{
	char text[STAT_BYTES];
	char state;
	int parent, session;
	unsigned long long ticks;

	if (proc_read(pid, "stat", text, sizeof text) <= 0)
		return false;
	const char *at = strrchr(text, ')'); /* the name before it may hold anything */
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	if (!at || sscanf(at + 1,
	                  " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
	                  "%*d %llu",
	                  &state, &parent, &session, &ticks) != 4)
		return false;
	*p = (struct tree_process){
		.pid = pid, .parent = parent, .session = session, .state = state, .ticks = ticks
	};
	return true;
}

uint64_t tree_pid_ticks(pid_t pid)
{
	struct tree_process p;

	return process_read(pid, &p) ? p.ticks : 0;
}

/* Tokens are of one store: another keeper's jobs may carry the same. */
static uint64_t token_read(pid_t pid, const char *keeper)
{
	char *text = mem_new(ENVIRON_BYTES);
	ssize_t n = proc_read(pid, "environ", text, ENVIRON_BYTES);
	uint64_t token = 0;
	bool is_ours = false;

	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(text + at) + 1) {
		if (strncmp(text + at, "SIRDAR_KEEPER=", 14) == 0)
			is_ours = strcmp(text + at + 14, keeper) == 0;
		if (strncmp(text + at, "SIRDAR_TOKEN=", 13) == 0)
			token = strtoull(text + at + 13, NULL, 16);
	}
	free(text);
	return is_ours ? token : 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct tree_process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void tree_scan_make(struct tree_scan *s)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	s->n = 0;
	while (d && (e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		s->all = mem_room(s->all, &s->cap, s->n + 1, sizeof *s->all);
		s->n += process_read((pid_t)strtol(e->d_name, NULL, 10), &s->all[s->n]);
	}
	if (d)
		closedir(d);
	if (s->n)
		qsort(s->all, s->n, sizeof *s->all, by_pid);
}

void tree_scan_done(struct tree_scan *s)
{
	free(s->all);
	*s = (struct tree_scan){ 0 };
}

static struct tree_process *scan_find(struct tree_scan *s, pid_t pid)
{
	struct tree_process key = { .pid = pid };

	return s->n ? bsearch(&key, s->all, s->n, sizeof *s->all, by_pid) : NULL;
}

static bool carries(const struct tree_scan *s, struct tree_process *p, uint64_t token)
{
	if (!p->is_read)
		p->token = token_read(p->pid, s->keeper);
	p->is_read = true;
	return p->token == token;
}

/* A process is of the tree if it or one of its ancestors is the first process, is in its
 * session, or carries the token. Of a live keeper's, all ancestors lead to the keeper. */
static bool is_of(struct tree_scan *s, struct tree_process *p, const struct tree_of *of)
{
	pid_t self = getpid();
	bool hit = false, ours = of->is_foreign;

	for (int depth = 0; p && depth < DEPTH_MAX; depth++) {
		if (p->pid == self || p->pid <= 1)
			return hit && (ours || p->pid == self);
		hit = hit || (of->pid > 0 && p->pid == of->pid) || carries(s, p, of->token) ||
		      /* A free number may be another job's by now. */
		      (of->session > 0 && p->session == of->session && !of->is_foreign &&
		       p->token == 0);
		p = scan_find(s, p->parent);
	}
	return hit && ours;
}

static bool is_alive(const struct tree_process *p)
{
	return p->state != 'Z' && p->state != 'X' && p->parent != 0;
}

size_t tree_scan_count(struct tree_scan *s, const struct tree_of *of)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += is_alive(&s->all[i]) && is_of(s, &s->all[i], of);
	return n;
}

static void (*send_by)(void *ctx, int pid_fd, int sig);
static void *send_ctx;

void tree_send_by(void (*send)(void *ctx, int pid_fd, int sig), void *ctx)
{
	send_by = send;
	send_ctx = ctx;
}

void tree_pid_signal(pid_t pid, uint64_t ticks, const char *mark, int sig)
{
	CHECK(pid > 0);
	char text[4096];
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return;
	/* The descriptor names one process for ever; now see that it is the right one. */
	bool is_it = (!ticks || tree_pid_ticks(pid) == ticks) &&
	             (!mark ||
	              (proc_read(pid, "cgroup", text, sizeof text) > 0 && strstr(text, mark)));
	if (is_it && syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) < 0 && errno == EPERM &&
	    send_by)
		send_by(send_ctx, fd, sig);
	close(fd);
}

void tree_scan_signal(struct tree_scan *s, const struct tree_of *of, int sig)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_alive(&s->all[i]) && is_of(s, &s->all[i], of))
			tree_pid_signal(s->all[i].pid, s->all[i].ticks, NULL, sig);
}
