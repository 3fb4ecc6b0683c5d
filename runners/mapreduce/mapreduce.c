/* mapreduce.c — hadoop jar: README.md has the parameters. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/client.h"

/* The cluster's own settings cannot be seen from here: the task's conf says it, or nobody. */
static bool is_on_yarn(const struct run *r)
{
	struct cJSON *conf = NULL;
	bool is = false;

	if (run_map(r, "conf", &conf) == 0) {
		const cJSON *name = cJSON_GetObjectItemCaseSensitive(conf,
		                                                     "mapreduce.framework.name");
		is = cJSON_IsString(name) && !strcmp(name->valuestring, "yarn");
	}
	cJSON_Delete(conf);
	return is;
}

const char client_name[] = "mapreduce";

int client_words(struct client *c, const struct run *r)
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
	if (code == 0 && is_on_yarn(r))
		client_on_yarn(c, r, "-D", "mapreduce.job.tags");
	if (code == 0)
		code = client_add_map(c, r, "-D", "conf");
	if (code == 0)
		code = client_add_list(c, r, "args");
	free(program);
	free(jar);
	return code;
}
