/* bench_loader — no-op jobs through one loader process: TLS, frames, plugin, reports. The
 * server's side is the smallest there is; both sides' CPU seconds are shown.
 *
 *   bench_loader LOADER NOOP.so [jobs] [slots] */
#include <ev.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/fakeserver.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "wire/session.h"

extern char **environ;

static uint64_t want, next_token = 1;

static void on_frame(struct fake *f, enum frame_kind kind)
{
	uint64_t n = f->credit > f->granted ? f->credit - f->granted : 0;

	if (kind != FR_CREDIT)
		return;
	if (n > want - (next_token - 1))
		n = want - (next_token - 1);
	if (n == 0)
		return;
	fake_grant_many(f, next_token, n);
	next_token += n;
}

static bool is_done(struct fake *f)
{
	return f->ended >= want;
}

static bool is_up(struct fake *f)
{
	return f->hellos > 0;
}

static double cpu_s(const struct rusage *u)
{
	return (double)u->ru_utime.tv_sec + (double)u->ru_stime.tv_sec +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	struct fake f;
	struct rusage own, child;
	char dir[] = "/tmp/sirdar-bench-XXXXXX";
	const char *slots = argc > 4 ? argv[4] : "4096";
	pid_t pid;
	int status;

	if (argc < 3 || !mkdtemp(dir))
		return 64;
	want = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000;
	memset(&f, 0, sizeof f);
	f.quiet = true;
	f.on_frame = on_frame;
	f.welcome = (struct fake_welcome){ 1, 1000, 150000, 15000 };
	struct ev_loop *loop = ev_loop_new(EVFLAG_NOENV);

	fake_open(&f, loop);
	char *server = mem_fmt("server=127.0.0.1:%u", f.port);
	char *state = mem_fmt("state_dir=%s", dir);
	char *args[] = { argv[1],       (char *)"--set",    server,         (char *)"--set",
		         state,         (char *)"--type",   (char *)"noop", (char *)"--slots",
		         (char *)slots, (char *)"--plugin", argv[2],        NULL };

	if (posix_spawn(&pid, argv[1], NULL, NULL, args, environ) != 0)
		return 1;
	fake_until(&f, is_up, 5000);
	int64_t began = clock_mono_us(&clock_machine);
	bool done = fake_until(&f, is_done, 120000);
	double s = (double)(clock_mono_us(&clock_machine) - began) / 1e6;

	kill(pid, SIGTERM);
	wait4(pid, &status, 0, &child);
	getrusage(RUSAGE_SELF, &own);
	printf("loader: %llu jobs in %.2f s: %.0f jobs/s; CPU server side %.2f s, loader %.2f s "
	       "(%.0f jobs/s of its CPU), loader RSS max %ld KB%s\n",
	       (unsigned long long)want, s, (double)want / s, cpu_s(&own), cpu_s(&child),
	       (double)want / cpu_s(&child), child.ru_maxrss, done ? "" : " NOT DONE");
	fake_close(&f);
	free(server);
	free(state);
	char *lock = mem_fmt("%s/loader.noop.lock", dir), *epoch = mem_fmt("%s/epoch.noop", dir);

	unlink(lock);
	unlink(epoch);
	rmdir(dir);
	free(lock);
	free(epoch);
	return done ? 0 : 1;
}
