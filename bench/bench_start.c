/* bench_start — a shell job's start beside a raw posix_spawn of the same program, by turns, one
 * at a time: from the moment the grant is written to the socket (or posix_spawn is called) to
 * the program's main. The way of a grant has one fdatasync: the mark before the deed.
 *
 *   bench_start BIN_DIR SHELL.so STAMP [jobs] */
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/child.h"
#include "tests/support/fakeserver.h"
#include "util/alloc.h"

#define JOBS_DEFAULT 300
#define WAIT_MS      20000
#define ENDED        3 /* report kind */

extern char **environ;

struct bench {
	struct fake fake;
	char *dir, *stamps, *argv;
	const char *stamp;
	off_t read; /* of the stamps */
	uint64_t token;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What the program wrote since: its time, or 0. */
static int64_t next_stamp(struct bench *b)
{
	char line[128] = "";
	int fd = open(b->stamps, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : pread(fd, line, sizeof line - 1, b->read);

	if (fd >= 0)
		close(fd);
	b->read += n > 0 ? n : 0;
	char *space = strchr(line, ' ');

	return space ? strtoll(space, NULL, 10) : 0;
}

static int64_t raw(struct bench *b)
{
	char *args[] = { (char *)b->stamp, b->stamps, NULL };
	int64_t from = now_ns();
	pid_t pid;

	if (posix_spawn(&pid, b->stamp, NULL, NULL, args, environ) != 0)
		exit(1);
	waitpid(pid, NULL, 0);
	return next_stamp(b) - from;
}

static bool has_ended(struct fake *f)
{
	const struct bench *b = f->ctx;

	return fake_report(f, b->token, ENDED) != NULL;
}

static int64_t job(struct bench *b)
{
	const char *const params[] = { "argv", b->argv, NULL };
	int64_t from = now_ns();

	b->token++;
	fake_grant(&b->fake, b->token, params);
	if (!fake_until(&b->fake, has_ended, WAIT_MS)) {
		fprintf(stderr, "bench_start: the job does not end\n");
		exit(1);
	}
	int64_t at = next_stamp(b);

	if (!at) {
		fprintf(stderr, "bench_start: it did not run: %s\n",
		        fake_report(&b->fake, b->token, ENDED)->text);
		exit(1);
	}
	return at - from;
}

static int64_t sync_once(int fd)
{
	static const char block[512];
	int64_t from = now_ns();

	if (write(fd, block, sizeof block) != (ssize_t)sizeof block || fdatasync(fd) < 0)
		exit(1);
	return now_ns() - from;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double p50_ms(int64_t *all, size_t n)
{
	const size_t half = n / 2;

	qsort(all, n, sizeof *all, by_size);
	return (double)all[half] / 1e6;
}

static bool has_credit(struct fake *f)
{
	return f->credit > 0;
}

static pid_t start(const char *bin, const char *name, char **args)
{
	char *path = mem_fmt("%s/%s", bin, name);
	pid_t pid = 0;

	args[0] = path;
	if (posix_spawn(&pid, path, NULL, NULL, args, environ) != 0)
		exit(1);
	free(path);
	return pid;
}

static void measure(struct bench *b, size_t n)
{
	int64_t *raws = mem_array(n, sizeof *raws), *jobs = mem_array(n, sizeof *jobs);
	int64_t *syncs = mem_array(n, sizeof *syncs);
	char *path = mem_fmt("%s/sync", b->dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (size_t i = 0; i < n; i++) {
		raws[i] = raw(b);
		jobs[i] = job(b);
		syncs[i] = sync_once(fd);
	}
	const size_t most = n * 99 / 100;
	double r = p50_ms(raws, n), j = p50_ms(jobs, n), s = p50_ms(syncs, n);

	printf("shell start: p50 %.3f ms (p99 %.3f), raw posix_spawn %.3f ms, fdatasync %.3f ms: "
	       "%.3f ms over raw, %.3f ms without the disk (target 0.3)\n",
	       j, (double)jobs[most] / 1e6, r, s, j - r, j - r - s);
	close(fd);
	free(path);
	free(raws);
	free(jobs);
	free(syncs);
}

int main(int argc, char **argv)
{
	static struct bench b;
	size_t n = argc > 4 ? strtoul(argv[4], NULL, 10) : JOBS_DEFAULT;
	int status;

	if (argc < 4 || n < 1)
		return 64;
	b.dir = dir_make();
	b.stamp = argv[3];
	b.stamps = mem_fmt("%s/stamps", b.dir);
	b.argv = mem_fmt("[\"%s\", \"%s\"]", b.stamp, b.stamps);
	b.fake.ctx = &b;
	b.fake.welcome = (struct fake_welcome){ 1, 1000, 150000, 15000 };
	fake_open(&b.fake, ev_loop_new(EVFLAG_NOENV));
	char *server = mem_fmt("server=127.0.0.1:%u", b.fake.port);
	char *state = mem_fmt("state_dir=%s", b.dir);
	char *keeper_args[] = { NULL, (char *)"--state", b.dir, NULL };
	char *work = mem_fmt("work_dir=%s", b.dir);
	char *loader_args[] = { NULL,
		                (char *)"--set",
		                work,
		                (char *)"--set",
		                server,
		                (char *)"--set",
		                state,
		                (char *)"--type",
		                (char *)"shell",
		                (char *)"--slots",
		                (char *)"4",
		                (char *)"--plugin",
		                argv[2],
		                NULL };
	pid_t keeper = start(argv[1], "jobkeeper", keeper_args);
	pid_t loader = start(argv[1], "taskrunner-loader", loader_args);

	if (fake_until(&b.fake, has_credit, WAIT_MS))
		measure(&b, n);
	kill(loader, SIGTERM);
	waitpid(loader, &status, 0);
	kill(keeper, SIGTERM);
	waitpid(keeper, &status, 0);
	fake_close(&b.fake);
	dir_remove(b.dir);
	free(server);
	free(state);
	free(work);
	free(b.argv);
	free(b.stamps);
	free(b.dir);
	return b.token ? 0 : 1;
}
