/* main.c — sirdar-runner-run PLUGIN.so [--job job.yaml]: one job, led as a broker does.
 *
 * The plugin is loaded as the loader loads it and gets the same calls in the same order: open,
 * prepare, execute on a thread of the job, kill when it is to stop, finish. What the plugin calls
 * is answered by host.c. A job that is to stop and does not end is reported. --valgrind starts this
 * program again under valgrind. */
#include <argp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "broker/loader/guest.h"
#include "broker/loader/plugin.h"
#include "plugins-sdk/run/run.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/screen.h"

struct args {
	const char *plugin, *job;
	long kill_after_ms; /* -1: as the job says */
	bool valgrind;
};

struct work {
	struct run run; /* first */
	const struct runner_plugin *plugin;
	struct guest_type *guest; /* NULL: the plugin was named itself */
	void *self, *state;
	struct runner_result result;
	int answer;
};

static const struct argp_option options[] = {
	{ "job", 'j', "FILE", 0, "the job: task, params, secrets, timeout, grace, kill_after", 0 },
	{ "kill-after", 'k', "SECONDS", 0, "tell it to stop after so long", 0 },
	{ "valgrind", 'v', NULL, 0, "run under valgrind, which ends with 99 when it finds faults",
	  0 },
	{ 0 },
};

static error_t run_main_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	char *end;

	switch (key) {
	case 'j':
		a->job = arg;
		return 0;
	case 'k':
		a->kill_after_ms = (long)(strtod(arg, &end) * 1000);
		if (*end || end == arg || a->kill_after_ms <= 0)
			argp_error(state, "--kill-after is '%s', want seconds", arg);
		return 0;
	case 'v':
		a->valgrind = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->plugin)
			argp_error(state, "one plugin, please");
		a->plugin = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->plugin)
			argp_error(state, "which plugin?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int execute(struct work *w)
{
	int answer;

	if (!run_may_execute(&w->run)) {
		w->result.exit_code = -SIGTERM;
		snprintf(w->result.text, sizeof w->result.text, "killed before it began");
		return RUNNER_DONE;
	}
	answer = w->plugin->execute(w->self, w->state, &w->run.pub, &w->result);
	run_executed(&w->run);
	return answer;
}

static void *job_thread(void *arg)
{
	struct work *w = arg;
	const struct runner_plugin *p = w->plugin;
	struct run *r = &w->run;

	w->answer = RUNNER_DONE;
	if (RUNNER_HAS(p, struct runner_plugin, prepare))
		w->answer = p->prepare(w->self, &r->pub, &w->result, &w->state);
	if (w->answer == RUNNER_DONE)
		w->answer = execute(w);
	if (w->answer == RUNNER_PROCESS && r->pid > 0)
		run_wait(r, &w->result);
	if (w->answer < 0 && w->result.verdict == RUNNER_BY_CODE)
		w->result.verdict = RUNNER_INFRA;
	if (RUNNER_HAS(p, struct runner_plugin, finish))
		p->finish(w->self, w->state, &r->pub, &w->result);
	pthread_mutex_lock(&r->mu);
	r->is_over = true;
	pthread_cond_broadcast(&r->cv);
	pthread_mutex_unlock(&r->mu);
	return NULL;
}

/* Until the job is over, or so long. 0: no limit. */
static bool over_within(struct run *r, int64_t us)
{
	int64_t until_us = clock_steady_us() + us;
	struct timespec at = { .tv_sec = until_us / US_PER_S,
		               .tv_nsec = until_us % US_PER_S * 1000 };

	pthread_mutex_lock(&r->mu);
	while (!r->is_over && (us == 0 || clock_steady_us() < until_us)) {
		if (us)
			pthread_cond_clockwait(&r->cv, &r->mu, CLOCK_MONOTONIC, &at);
		else
			pthread_cond_wait(&r->cv, &r->mu);
	}
	bool is = r->is_over;

	pthread_mutex_unlock(&r->mu);
	return is;
}

static void tell_to_stop(struct work *w)
{
	struct run *r = &w->run;

	pthread_mutex_lock(&r->mu);
	r->is_cancelled = true;
	/* Under the lock: kill() comes only while execute() is inside, and may not block. */
	if (r->is_executing && RUNNER_HAS(w->plugin, struct runner_plugin, kill))
		w->plugin->kill(w->self, w->state, &r->pub);
	pthread_cond_broadcast(&r->cv);
	pthread_mutex_unlock(&r->mu);
	run_signal(r, SIGTERM);
}

/* False: it did not end though it was told to. */
static bool run_main_lead(struct work *w)
{
	struct run *r = &w->run;
	int64_t budget_us = (int64_t)r->pub.budget_ms * US_PER_MS, first = r->kill_after_us;

	if (budget_us && (!first || budget_us < first))
		first = budget_us;
	if (over_within(r, first))
		return true;
	fprintf(stderr, "# told to stop (%s)\n", first == budget_us ? "timeout" : "kill");
	tell_to_stop(w);
	if (over_within(r, (int64_t)r->pub.grace_ms * US_PER_MS + 1))
		return true;
	fprintf(stderr, "# still there after %llu ms of grace\n",
	        (unsigned long long)r->pub.grace_ms);
	run_signal(r, SIGKILL);
	return over_within(r, US_PER_S);
}

static int main_report(const struct work *w)
{
	static const char *const verdicts[] = { "by code", "retryable", "fatal", "infrastructure",
		                                "not yet" };
	const struct runner_result *e = &w->result;
	uint32_t v = e->verdict <= RUNNER_NOT_YET ? e->verdict : RUNNER_INFRA;
	bool good = v == RUNNER_BY_CODE && e->exit_code == 0;

	fprintf(stderr, "# %s: exit code %d, verdict %s%s%.*s\n",
	        good                  ? "success"
	        : v == RUNNER_NOT_YET ? "not yet"
	                              : "failure",
	        e->exit_code, verdicts[v], e->text[0] ? ": " : "", RUNNER_TEXT_BYTES, e->text);
	return good ? EX_OK : v == RUNNER_NOT_YET ? EX_TEMPFAIL : 1;
}

/* As installed, or as built. */
static void find_runners(char ret[PATH_MAX])
{
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);

	program[n < 0 ? 0 : n] = 0;
	char *slash = strrchr(program, '/');

	if (slash)
		*slash = 0;
	snprintf(ret, PATH_MAX, "%.4000s/../lib/sirdar/runners", program);
	if (access(ret, F_OK) != 0)
		snprintf(ret, PATH_MAX, "%.4000s/../runners", program);
}

static int main_load(const struct args *a, struct work *w, struct runner_host *host)
{
	struct err err = { 0 };
	char runners[PATH_MAX];

	find_runners(runners);
	int r = guest_read(a->plugin, NULL, runners, NULL, &w->guest, &err);

	run_host(host, w->guest);
	if (r == 0)
		r = plugin_map(w->guest ? w->guest->plugin_path : a->plugin, &w->plugin, &err);
	if (r == 0)
		r = plugin_open(w->plugin, host, &w->self, &err);
	if (r < 0)
		fprintf(stderr, "sirdar-runner-run: %s\n",
		        w->guest && w->guest->why[0] ? w->guest->why : err.text);
	return r;
}

static int run_plugin(const struct args *a, struct work *w, struct runner_host *host)
{
	pthread_t thread;

	if (main_load(a, w, host) < 0)
		return EX_CONFIG;
	fprintf(stderr, "# %s %s\n", w->plugin->name, w->plugin->version);
	w->result.size = sizeof w->result;
	if (pthread_create(&thread, NULL, job_thread, w))
		return EX_OSERR;
	if (!run_main_lead(w)) {
		fprintf(stderr, "# hanged: it does not come back\n");
		fflush(stdout);
		_exit(EX_SOFTWARE); /* its thread is inside the plugin */
	}
	pthread_join(thread, NULL);
	CHECK(w->run.is_over && !w->run.is_executing);
	if (RUNNER_HAS(w->plugin, struct runner_plugin, drain))
		w->plugin->drain(w->self);
	w->plugin->close(w->self);
	return main_report(w);
}

static int under_valgrind(char **argv, int argc)
{
	static const char *const lead[] = { "valgrind", "-q", "--leak-check=full",
		                            "--errors-for-leak-kinds=definite",
		                            "--error-exitcode=99" };
	const size_t n_lead = sizeof lead / sizeof *lead;
	char **all = mem_array((size_t)argc + n_lead + 1, sizeof *all);
	size_t n = 0;

	while (n < n_lead) {
		all[n] = (char *)(uintptr_t)lead[n];
		n++;
	}
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "--valgrind") != 0 && strcmp(argv[i], "-v") != 0)
			all[n++] = argv[i];
	CHECK(n <= (size_t)argc + n_lead);
	execvp(all[0], all);
	perror("sirdar-runner-run: valgrind");
	free(all);
	return EX_UNAVAILABLE;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options,
		                          run_main_parse,
		                          "PLUGIN.so|TYPE.yaml",
		                          "Run one job of a runner plugin without a server.",
		                          NULL,
		                          NULL,
		                          NULL };
	struct args a = { .kill_after_ms = -1 };
	struct runner_host host;
	struct work w = { 0 };
	int code = EX_CONFIG;

	screen_open();
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.valgrind)
		return under_valgrind(argv, argc);
	screen_output(stdout);
	screen_output(stderr);
	if (run_read(a.job, &w.run) == 0) {
		if (a.kill_after_ms > 0)
			w.run.kill_after_us = a.kill_after_ms * US_PER_MS;
		code = run_plugin(&a, &w, &host);
	}
	run_done(&w.run);
	guest_free(w.guest);
	return code;
}
