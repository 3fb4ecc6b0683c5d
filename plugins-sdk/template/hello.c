/* hello.c — a runner to copy: says hello `times` times, a second apart, and counts them. */
#include <sirdar/runner.h>
#include <stdio.h>
#include <stdlib.h>

static const struct runner_host *host;

static int hello_open(const struct runner_host *lent, void **ret_self)
{
	host = lent;
	*ret_self = NULL;
	return 0;
}

static void hello_close(void *self)
{
	(void)self;
}

static int hello_execute(void *self, void *state, const struct runner_job *job,
                         struct runner_result *result)
{
	char value[32] = "3", line[80];
	unsigned long times;

	(void)self;
	(void)state;
	host->param(job, "times", value, sizeof value);
	times = strtoul(value, NULL, 10);
	if (times == 0 || times > 1000) {
		result->verdict = RUNNER_FATAL; /* trying again cannot help */
		snprintf(result->text, sizeof result->text, "times is '%s', want 1..1000", value);
		return RUNNER_FAILED;
	}
	for (unsigned long i = 0; i < times; i++) {
		int n = snprintf(line, sizeof line, "hello %lu\n", i + 1);

		host->log(job, RUNNER_STDOUT, line, (uint64_t)n);
		host->progress(job, (uint32_t)((i + 1) * 1000 / times), NULL);
		if (host->pause(job, 1000)) { /* told to stop */
			result->exit_code = -15;
			return RUNNER_DONE;
		}
	}
	host->output(job, "said", value);
	return RUNNER_DONE; /* exit_code 0: success */
}

static const struct runner_plugin plugin = {
	.size = sizeof(struct runner_plugin),
	.abi_major = RUNNER_ABI_MAJOR,
	.abi_minor = RUNNER_ABI_MINOR,
	.name = "hello",
	.version = "1.0",
	.open = hello_open,
	.close = hello_close,
	.execute = hello_execute,
};

const struct runner_plugin *runner_entry(void)
{
	return &plugin;
}
