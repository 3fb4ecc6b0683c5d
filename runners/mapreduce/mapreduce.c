/* mapreduce.c — hadoop jar: README.md has the parameters. */
#include <stdlib.h>

#include "runners/common/client.h"

static int add_words(struct client *c, const struct run *r)
{
	char *program = run_text(r, "program"), *jar = run_text(r, "jar");
	int code = 0;

	client_add(c, "%s", program ? program : "hadoop");
	client_add(c, "jar");
	if (!jar)
		code = run_refuse(r, "parameter jar is missing");
	else
		client_add(c, "%s", jar);
	client_add_param(c, r, NULL, "class");
	if (code == 0)
		code = client_add_map(c, r, "-D", "conf");
	if (code == 0)
		code = client_add_list(c, r, "args");
	free(program);
	free(jar);
	return code;
}

static int mapreduce_execute(void *self, void *state, const struct runner_job *job,
                             struct runner_result *result)
{
	(void)self;
	(void)state;
	return client_execute(add_words, job, result);
}

static const struct runner_plugin plugin = {
	.size = sizeof plugin,
	.abi_major = RUNNER_ABI_MAJOR,
	.abi_minor = RUNNER_ABI_MINOR,
	.name = "mapreduce",
	.version = "1.0",
	.open = run_open,
	.close = run_close,
	.execute = mapreduce_execute,
};

const struct runner_plugin *runner_entry(void)
{
	return &plugin;
}
