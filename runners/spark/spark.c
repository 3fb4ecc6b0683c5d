/* spark.c — spark-submit: README.md has the parameters. */
#include <stdlib.h>
#include <string.h>

#include "runners/common/client.h"

/* Options of spark-submit, by the parameters that carry them. */
static const struct {
	const char *option, *param;
} options[] = { { "--master", "master" },     { "--deploy-mode", "deploy_mode" },
	        { "--class", "class" },       { "--name", "name" },
	        { "--jars", "jars" },         { "--packages", "packages" },
	        { "--py-files", "py_files" }, { "--files", "files" },
	        { "--queue", "queue" } };

const char client_name[] = "spark";

int client_words(struct client *c, const struct run *r)
{
	char *program = run_text(r, "program"), *application = run_text(r, "application");
	char *master = run_text(r, "master");
	int code = 0;

	client_add(c, "%s", program ? program : "spark-submit");
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		client_add_param(c, r, options[i].option, options[i].param);
	if (master && !strncmp(master, "yarn", 4))
		client_on_yarn(c, r, "--conf", "spark.yarn.tags");
	if (client_add_map(c, r, "--conf", "conf") < 0 || client_add_list(c, r, "options") < 0)
		code = RUNNER_FAILED;
	else if (!application)
		code = run_refuse(r, "parameter application is missing: a jar or a script");
	else
		client_add(c, "%s", application);
	if (code == 0)
		code = client_add_list(c, r, "args");
	if (master)
		client_env(c, "SIRDAR_DRIVER_MASTER=%s", master);
	free(program);
	free(application);
	free(master);
	return code;
}
