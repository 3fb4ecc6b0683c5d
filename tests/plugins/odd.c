/* A runner of odd ways; the parameter `do` says which:
 *   stuck      never returns, whatever it is told      secret   logs the value of secret.KEY
 *   prepare    prepare() refuses                        wait     waits for a process of its own
 *   kill       ends when kill() is called               crash    the process dies
 *   process    says PROCESS without having spawned      wordy    1 MiB to the log, progress
 *   show       outputs of the parameters that `names` lists: NAME with _ for each dot; secrets
 *              are written backwards, or nobody would see them
 *   tell       tells the secret that `key` names in every way that a runner has, and fails;
 *   give       has it as its output `told`, and succeeds
 */
#include "sirdar/runner.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct runner_host *host;

struct odd {
	atomic_int killed;
};

static int odd_open(const struct runner_host *lent, void **ret_self)
{
	const char *site = getenv("SIRDAR_SITE");
	char path[400];

	host = lent;
	*ret_self = NULL;
	snprintf(path, sizeof path, "%s/odd-open-crashes", site ? site : "/nonexistent");
	if (access(path, F_OK) == 0)
		raise(SIGKILL);
	return 0;
}

static void odd_close(void *self)
{
	(void)self;
}

static int odd_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                       void **ret_state)
{
	char what[32] = "";

	(void)self;
	*ret_state = calloc(1, sizeof(struct odd));
	host->param(job, "do", what, sizeof what);
	if (strcmp(what, "prepare") != 0)
		return RUNNER_DONE;
	result->verdict = RUNNER_FATAL;
	snprintf(result->text, sizeof result->text, "not like\nthis");
	return RUNNER_FAILED;
}

static void log_secret(const struct runner_job *job)
{
	char value[64] = "none";

	host->param(job, "secret.KEY", value, sizeof value);
	host->log(job, RUNNER_STDERR, value, strlen(value));
}

static void show(const struct runner_job *job)
{
	char list[400] = "", name[80], value[200];

	host->param(job, "names", list, sizeof list);
	for (char *rest = list, *word; (word = strtok_r(rest, " ", &rest));) {
		snprintf(name, sizeof name, "%s", word);
		for (char *p = name; *p; p++)
			*p = *p == '.' ? '_' : *p;
		if (host->param(job, word, value, sizeof value) < 0)
			snprintf(value, sizeof value, "(none)");
		else if (!strncmp(word, "secret.", 7))
			for (size_t i = 0, n = strlen(value); i < n / 2; i++) {
				char c = value[i];
				value[i] = value[n - 1 - i];
				value[n - 1 - i] = c;
			}
		host->output(job, name, value);
	}
}

static int tell(const struct runner_job *job, bool is_given, struct runner_result *result)
{
	char key[80] = "", name[100], value[200] = "", text[210];

	host->param(job, "key", key, sizeof key);
	snprintf(name, sizeof name, "secret.%s", key);
	host->param(job, name, value, sizeof value);
	if (is_given) {
		snprintf(text, sizeof text, "<%s>", value);
		return host->output(job, "told", text) < 0 ? RUNNER_FAILED : RUNNER_DONE;
	}
	host->log(job, RUNNER_STDOUT, "in two <", 8);
	host->log(job, RUNNER_STDOUT, value, 5);
	host->log(job, RUNNER_STDOUT, value + 5, strlen(value + 5));
	host->log(job, RUNNER_STDOUT, ">\n", 2);
	host->log(job, RUNNER_STDERR, value, strlen(value));
	host->progress(job, 500, value);
	result->verdict = RUNNER_FATAL;
	snprintf(result->text, sizeof result->text, "refused with <%s>", value);
	host->log(job, RUNNER_STDERR, " and so begins ", 15);
	host->log(job, RUNNER_STDERR, value, 3);
	return RUNNER_FAILED;
}

static void be_wordy(const struct runner_job *job)
{
	static const char line[] =
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\n";

	for (int i = 0; i < 1024; i++)
		host->log(job, RUNNER_STDOUT, line, sizeof line - 1);
	host->progress(job, 500, "half");
	while (!host->pause(job, 10000)) {
	}
}

static int wait_for_process(const struct runner_job *job, struct runner_result *result)
{
	const char *const argv[] = { "/bin/sh", "-c", "echo waited; exit 4", NULL };
	struct runner_process process = { .size = sizeof process, .argv = argv };

	if (host->spawn(job, &process) < 0 || host->process_wait(job, result) < 0)
		return RUNNER_FAILED;
	result->exit_code += 10;
	return RUNNER_DONE;
}

/* A process that goes on for as long as a file is there. */
static int hold(const struct runner_job *job)
{
	char path[400] = "";
	const char *const argv[] = { "/bin/sh", "-c", "while test -e \"$1\"; do sleep 0.05; done",
		                     "sh",      path, NULL };
	struct runner_process process = { .size = sizeof process, .argv = argv };

	host->param(job, "file", path, sizeof path);
	return host->spawn(job, &process) < 0 ? RUNNER_FAILED : RUNNER_PROCESS;
}

/* Where it has a `file`, only while that is there. */
static void crash(const struct runner_job *job)
{
	char path[400] = "";

	host->param(job, "file", path, sizeof path);
	if (!path[0] || access(path, F_OK) == 0)
		raise(SIGKILL);
}

static int odd_execute(void *self, void *state, const struct runner_job *job,
                       struct runner_result *result)
{
	struct odd *o = state;
	char what[32] = "";

	(void)self;
	host->param(job, "do", what, sizeof what);
	if (!strcmp(what, "wait"))
		return wait_for_process(job, result);
	if (!strcmp(what, "process"))
		return RUNNER_PROCESS;
	if (!strcmp(what, "hold"))
		return hold(job);
	if (!strcmp(what, "crash"))
		crash(job);
	if (!strcmp(what, "secret"))
		log_secret(job);
	if (!strcmp(what, "show"))
		show(job);
	if (!strcmp(what, "tell") || !strcmp(what, "give"))
		return tell(job, !strcmp(what, "give"), result);
	if (!strcmp(what, "wordy"))
		be_wordy(job);
	while (!strcmp(what, "stuck"))
		poll(NULL, 0, 1000);
	if (!strcmp(what, "kill-stuck"))
		host->log(job, RUNNER_STDOUT, "inside\n", 7);
	while (!strncmp(what, "kill", 4) && !atomic_load(&o->killed))
		poll(NULL, 0, 1);
	return RUNNER_DONE;
}

static void odd_kill(void *self, void *state, const struct runner_job *job)
{
	struct odd *o = state;

	char what[32] = "";

	(void)self;
	host->param(job, "do", what, sizeof what);
	while (!strcmp(what, "kill-stuck"))
		poll(NULL, 0, 1000);
	atomic_store(&o->killed, 1);
}

static void odd_finish(void *self, void *state, const struct runner_job *job,
                       struct runner_result *result)
{
	(void)self;
	(void)job;
	(void)result;
	free(state);
}

static const struct runner_plugin plugin = {
	.size = sizeof plugin,
	.abi_major = RUNNER_ABI_MAJOR,
	.abi_minor = RUNNER_ABI_MINOR,
	.name = "odd",
	.version = "0.1-odd",
	.open = odd_open,
	.close = odd_close,
	.prepare = odd_prepare,
	.execute = odd_execute,
	.finish = odd_finish,
	.kill = odd_kill,
};

const struct runner_plugin *runner_entry(void)
{
	return &plugin;
}
