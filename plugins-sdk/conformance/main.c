/* main.c — sirdar-runner-conformance PLUGIN.so [--job job.yaml] [--long job.yaml]: tries every
 * promise of runner.h, one line of TAP each. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "plugins-sdk/conformance/conformance.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/screen.h"

#define LIMIT_S_DEFAULT 30

static const struct {
	const char *id, *text;
} promises[] = {
#define PROMISE(id, text) { #id, text },
#include "plugins-sdk/conformance/promises.def"
#undef PROMISE
};

/* --- a scenario in its process --- */

static void quiet(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0 && dup2(fd, 0) == 0 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2);
	close(fd);
}

static _Noreturn void run_scenario(const struct plan *plan, struct report *r,
                                   const struct scenario *s)
{
	static struct check c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	quiet();
	c = (struct check){ .plan = plan,
		            .report = r,
		            .scenario = s ? s->name : "load",
		            .control = gettid(),
		            .jobs = mem_array(JOBS_MAX, sizeof *c.jobs) };
	guard_install(&c);
	manners_before();
	host_open(&c, false);
	if (shape_map(&c) && s)
		s->run(&c);
	else if (c.plugin)
		manners_compare(&c);
	_exit(0);
}

static void inside_text(const struct report *r, char *ret, size_t cap)
{
	size_t n = 0;

	ret[0] = 0;
	for (size_t i = 0; i < CALLS; i++)
		if (atomic_load(&r->inside[i]) > 0 && n < cap)
			n += (size_t)snprintf(ret + n, cap - n, "%s%s()", n ? ", " : " inside ",
			                      call_name((enum call)i));
}

/* Processes that jobs left behind are ours now. */
static void main_sweep(void)
{
	char path[64], line[4096] = "";

	snprintf(path, sizeof path, "/proc/self/task/%d/children", gettid());
	for (;;) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof line - 1);

		if (fd >= 0)
			close(fd);
		if (n <= 0)
			return;
		line[n] = 0;
		for (char *p = line, *end; *p; p = end) {
			long pid = strtol(p, &end, 10);

			if (end == p || pid <= 0)
				break;
			kill((pid_t)pid, SIGKILL);
			waitpid((pid_t)pid, NULL, 0);
		}
	}
}

/* True: it ended within the limit. */
static bool wait_for(pid_t pid, long limit_s, int *ret_status)
{
	struct pollfd fd = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int n;

	CHECK(fd.fd >= 0);
	do
		n = poll(&fd, 1, (int)(limit_s * 1000));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
	close(fd.fd);
	return n != 0;
}

/* False: jobs crash or hang, more of them tell nothing new. */
static bool conduct(const struct plan *plan, struct report *r, const struct scenario *s)
{
	struct check here = { .plan = plan, .report = r, .scenario = s ? s->name : "load" };
	char where[96];
	int status = 0;
	pid_t pid;
	bool in_time;

	for (size_t i = 0; i < CALLS; i++)
		atomic_store(&r->inside[i], 0);
	atomic_store(&r->is_given_up, false);
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		run_scenario(plan, r, s);
	in_time = wait_for(pid, plan->limit_s, &status);
	main_sweep();
	inside_text(r, where, sizeof where);
	if (!in_time)
		broke(&here, atomic_load(&r->inside[CALL_KILL]) ? P_kill : P_returns,
		      "still%s after %ld s", where[0] ? where : " at it", plan->limit_s);
	else if (WIFSIGNALED(status))
		broke(&here, P_alive, "signal %d%s", WTERMSIG(status), where);
	else if (!atomic_load(&r->is_given_up) && (WEXITSTATUS(status) || where[0]))
		broke(&here, P_alive, "the process ended with %d%s", WEXITSTATUS(status), where);
	else
		return !atomic_load(&r->is_given_up);
	return false;
}

/* --- the report --- */

static int print_report(const struct report *r)
{
	size_t broken = 0;

	if (r->about[0])
		printf("# %s\n", r->about);
	printf("1..%d\n", PROMISES);
	for (size_t i = 0; i < PROMISES; i++) {
		bool bad = atomic_load(&r->promises[i].is_broken);

		printf("%s %zu - %s: %s%s\n", bad ? "not ok" : "ok", i + 1, promises[i].id,
		       promises[i].text,
		       atomic_load(&r->promises[i].is_seen) ? "" : " # SKIP not met");
		if (bad)
			printf("# %s\n", r->promises[i].text);
		broken += bad;
	}
	printf("# %zu of %d promises broken\n", broken, PROMISES);
	return broken ? 1 : 0;
}

static void try_all(const struct plan *plan, struct report *r)
{
	struct check files = { .plan = plan, .report = r, .scenario = "file" };
	bool jobs_end = true;

	shape_exports(&files);
	if (!conduct(plan, r, NULL) || !r->is_mapped)
		return;
	for (size_t i = 0; i < n_scenarios; i++)
		if (jobs_end || !scenarios[i].needs_job)
			jobs_end &= conduct(plan, r, &scenarios[i]);
}

static const struct argp_option options[] = {
	{ "job", 'j', "FILE", 0, "a job that ends by itself; as of sirdar-runner-run", 0 },
	{ "long", 'l', "FILE", 0, "a job that lasts until it is told to stop", 0 },
	{ "limit", 't', "SECONDS", 0, "the longest that one scenario may take (30)", 0 },
	{ 0 },
};

static error_t main_parse(int key, char *arg, struct argp_state *state)
{
	struct plan *p = state->input;
	char *end;

	switch (key) {
	case 'j':
		p->job_file = arg;
		return 0;
	case 'l':
		p->long_file = arg;
		return 0;
	case 't':
		p->limit_s = strtol(arg, &end, 10);
		if (*end || end == arg || p->limit_s <= 0 || p->limit_s > 3600)
			argp_error(state, "--limit is '%s', want 1..3600 seconds", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (p->plugin)
			argp_error(state, "one plugin, please");
		p->plugin = arg;
		return 0;
	case ARGP_KEY_END:
		if (!p->plugin)
			argp_error(state, "which plugin?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		options,     main_parse,
		"PLUGIN.so", "Try every promise of runner.h on a plugin, and report on each.",
		NULL,        NULL,
		NULL
	};
	static struct plan plan = { .limit_s = LIMIT_S_DEFAULT };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct report *r;
	int code = EX_CONFIG;

	screen_open();
	argp_parse(&argp, argc, argv, 0, NULL, &plan);
	sigaction(SIGPIPE, &ignore, NULL); /* as in a loader */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(r != MAP_FAILED);
	if (run_read(plan.job_file, &plan.job) == 0 &&
	    run_read(plan.long_file ? plan.long_file : plan.job_file, &plan.longer) == 0) {
		try_all(&plan, r);
		code = print_report(r);
	}
	run_done(&plan.job);
	run_done(&plan.longer);
	return code;
}
