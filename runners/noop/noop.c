/* noop.c — a job that does nothing, at once: for benchmarks and tests.
 *
 * Parameters: `exit` (status), `sleep_ms`, `output` ("name=value"), `text` (to the log),
 * `verdict` (retryable, fatal, infra, not_yet).
 */
#include "sirdar/runner.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES 512

static const struct runner_host *host;

static int noop_open(const struct runner_host *lent, void **ret_self)
{
	host = lent;
	*ret_self = NULL;
	return 0;
}

static void noop_close(void *self)
{
	(void)self;
}

static uint64_t noop_number(const struct runner_job *job, const char *name)
{
	char value[32];

	return host->param(job, name, value, sizeof value) < 0 ? 0 : strtoull(value, NULL, 10);
}

static void give_output(const struct runner_job *job)
{
	char value[VALUE_BYTES];

	if (host->param(job, "output", value, sizeof value) < 0)
		return;
	char *is = strchr(value, '=');

	if (is) {
		*is = 0;
		host->output(job, value, is + 1);
	}
}

static uint32_t read_verdict(const struct runner_job *job)
{
	static const char *const names[] = { "", "retryable", "fatal", "infra", "not_yet" };
	char value[16];

	if (host->param(job, "verdict", value, sizeof value) < 0)
		return RUNNER_BY_CODE;
	for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (!strcmp(value, names[i]))
			return i;
	}
	return RUNNER_BY_CODE;
}

static int noop_execute(void *self, void *state, const struct runner_job *job,
                        struct runner_result *result)
{
	char text[VALUE_BYTES];
	uint64_t sleep_ms;
	int64_t len;

	(void)self;
	(void)state;
	if (host->param_name(job, 0, text, sizeof text) < 0)
		return RUNNER_DONE; /* no parameters: the benchmark's way */
	sleep_ms = noop_number(job, "sleep_ms");
	if (sleep_ms && job->flags & RUNNER_JOB_INLINE)
		return RUNNER_THREAD;
	len = host->param(job, "text", text, sizeof text);
	if (len >= 0)
		host->log(job, RUNNER_STDOUT, text, strlen(text));
	if (sleep_ms && host->pause(job, sleep_ms)) {
		result->exit_code = -15;
		return RUNNER_DONE;
	}
	give_output(job);
	result->exit_code = (int32_t)noop_number(job, "exit");
	result->verdict = read_verdict(job);
	if (result->verdict == RUNNER_NOT_YET)
		result->retry_after_ms = noop_number(job, "retry_after_ms");
	return RUNNER_DONE;
}

static const struct runner_plugin plugin = {
	.size = sizeof plugin,
	.abi_major = RUNNER_ABI_MAJOR,
	.abi_minor = RUNNER_ABI_MINOR,
	.flags = RUNNER_INLINE_OK | RUNNER_NO_PROCESS,
	.name = "noop",
	.version = "1.0",
	.open = noop_open,
	.close = noop_close,
	.execute = noop_execute,
};

const struct runner_plugin *runner_entry(void)
{
	return &plugin;
}
