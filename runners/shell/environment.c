#include "shell.h"

#include "sirdar/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 128

/* Parameters of the runner itself: no job needs them in its environment. */
static const char *const own_names[] = { "script", "command", "argv",       "directory",
	                                 "user",   "secrets", "environment" };

/* Names a parameter may not take in the job's environment: they change what a program or
 * shell loads before the job's first line. (`environment` may; whoever writes it means it.) */
static const char *const held_names[] = { "PATH", "IFS",       "ENV",       "BASH_ENV",
	                                  "HOME", "SHELLOPTS", "PS4",       "USER",
	                                  "PWD",  "SHELL",     "GCONV_PATH" };

char *param_copy(const struct runner_host *host, const struct runner_job *job, const char *name)
{
	int64_t len = host->param(job, name, NULL, 0);
	char *value = len < 0 ? NULL : malloc((size_t)len + 1);

	if (value && host->param(job, name, value, (uint64_t)len + 1) != len) {
		free(value);
		return NULL;
	}
	return value;
}

static int in_list(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(list[i], name))
			return 1;
	}
	return 0;
}

static int is_identifier(const char *name, size_t len)
{
	static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789";

	return len > 0 && strspn(name, set) >= len && !(name[0] >= '0' && name[0] <= '9');
}

static int may_take_name(const char *name)
{
	return is_identifier(name, strlen(name)) && strncmp(name, "LD_", 3) != 0 &&
	       strncmp(name, "SIRDAR_", 7) != 0 &&
	       !in_list(held_names, sizeof held_names / sizeof held_names[0], name);
}

static int add_pair(struct words *env, const char *prefix, const char *name, const char *value)
{
	size_t bytes = strlen(prefix) + strlen(name) + strlen(value) + 2;
	char *pair = malloc(bytes);
	int r;

	if (!pair)
		return -1;
	r = words_add(env, pair, (size_t)snprintf(pair, bytes, "%s%s=%s", prefix, name, value));
	free(pair);
	return r;
}

static int add_param(struct words *env, const char *name, const char *value)
{
	char safe[NAME_BYTES];
	size_t i;

	if (may_take_name(name) && add_pair(env, "", name, value) < 0)
		return -1;
	for (i = 0; name[i]; i++)
		safe[i] = is_identifier(name + i, 1) || (name[i] >= '0' && name[i] <= '9') ? name[i]
		                                                                           : '_';
	safe[i] = 0;
	return add_pair(env, "SIRDAR_PARAM_", safe, value);
}

/* `environment`: one NAME=value a line. */
static const char *add_lines(struct words *env, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		size_t name = strcspn(text, "=\n");

		if (len > 0) {
			if (name == len || !is_identifier(text, name))
				return "parameter environment: want lines of NAME=value";
			if (words_add(env, text, len) < 0)
				return "out of memory";
		}
		text += len + (text[len] == '\n');
	}
	return NULL;
}

const char *environment_make(const struct runner_host *host, const struct runner_job *job,
                             struct words *env)
{
	char name[NAME_BYTES];
	const char *wrong = NULL;
	char *text;
	int64_t len;

	for (uint32_t i = 0; (len = host->param_name(job, i, name, sizeof name)) >= 0; i++) {
		if (in_list(own_names, sizeof own_names / sizeof own_names[0], name) ||
		    len >= (int64_t)sizeof name)
			continue;
		text = param_copy(host, job, name);
		if (!text || add_param(env, name, text) < 0)
			wrong = "out of memory";
		free(text);
		if (wrong)
			return wrong;
	}
	text = param_copy(host, job, "environment");
	if (text)
		wrong = add_lines(env, text);
	free(text);
	return wrong;
}
