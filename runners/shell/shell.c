/* shell.c — run a script or a command as a process of its own.
 *
 * Exactly one of the parameters `script`, `command`, `argv` says what; README.md has the
 * rest. The words a person wrote reach the shell as one argument, parameters as
 * environment: nothing is ever spliced into a command line.
 */
#include "shell.h"

#include "sirdar/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One argument of exec may have 128 KiB; a longer script goes through a file. */
#define ARGUMENT_BYTES_MAX 120000
#define SECRETS_MAX        32

static const struct runner_host *host;

struct shell_job {
	struct words argv, env, secret_names;
	struct runner_file files[SECRETS_MAX + 1];
	uint32_t n_files;
	char *script, *directory, *user;
	char *secrets[SECRETS_MAX];
};

static int shell_open(const struct runner_host *lent, void **ret_self)
{
	host = lent;
	*ret_self = NULL;
	return 0;
}

static void shell_close(void *self)
{
	(void)self;
}

static int refuse(struct runner_result *result, const char *why)
{
	result->verdict = RUNNER_FATAL;
	snprintf(result->text, sizeof result->text, "shell: %s", why);
	return RUNNER_FAILED;
}

static int add_all(struct words *w, const char *const *list)
{
	for (; *list; list++) {
		if (words_add(w, *list, strlen(*list)) < 0)
			return -1;
	}
	return 0;
}

static void add_file(struct shell_job *s, const char *name, const char *data)
{
	s->files[s->n_files++] = (struct runner_file){ .name = name,
		                                       .data = data,
		                                       .len = strlen(data) };
}

/* "#!/usr/bin/env bash" and kin: that program reads the script, from a file. The words of
 * the line come first in "$0" "$@", the file's name last. */
static int use_interpreter(struct shell_job *s)
{
	static const char *const lead[] = { "/bin/sh", "-c",
		                            "exec \"$0\" \"$@\" \"$SIRDAR_FILES/script\"", NULL };
	size_t len = strcspn(s->script, "\r\n");
	char *line = strndup(s->script + 2, len - 2);
	int r = !line || add_all(&s->argv, lead) < 0 || words_split(&s->argv, line) < 0 ? -1 : 0;

	free(line);
	add_file(s, "script", s->script);
	return r;
}

static int use_script(struct shell_job *s)
{
	static const char *const plain[] = { "/bin/sh", "-c", NULL };
	static const char *const from_file[] = { "/bin/sh", "-c", ". \"$SIRDAR_FILES/script\"",
		                                 NULL };

	if (s->script[0] == '#' && s->script[1] == '!' && strchr(s->script, '/'))
		return use_interpreter(s);
	if (strlen(s->script) > ARGUMENT_BYTES_MAX) {
		add_file(s, "script", s->script);
		return add_all(&s->argv, from_file);
	}
	if (add_all(&s->argv, plain) < 0)
		return -1;
	return words_add(&s->argv, s->script, strlen(s->script));
}

/* What to run, from whichever of the three parameters there is. NULL, or what is wrong. */
static const char *read_what(const struct runner_job *job, struct shell_job *s)
{
	char *command = param_copy(host, job, "command");
	char *argv = param_copy(host, job, "argv");
	const char *wrong = NULL;

	s->script = param_copy(host, job, "script");
	if (!!s->script + !!command + !!argv != 1) {
		wrong = "want exactly one of the parameters script, command, argv";
	} else if (argv) {
		if (words_json(&s->argv, argv) < 0 || s->argv.n == 0)
			wrong = "parameter argv: want a list of strings";
	} else if (command && command_is_plain(command)) {
		if (words_split(&s->argv, command) < 0)
			wrong = "out of memory";
		else if (s->argv.n == 0)
			wrong = "parameter command is empty";
	} else {
		if (command)
			s->script = command;
		command = NULL;
		if (use_script(s) < 0)
			wrong = "out of memory";
	}
	free(command);
	free(argv);
	return wrong;
}

/* `secrets`: names, separated by spaces or commas; each becomes a file. */
static const char *read_secret_names(const struct runner_job *job, struct shell_job *s)
{
	char *list = param_copy(host, job, "secrets");
	int r = 0;

	if (!list)
		return NULL;
	for (char *p = list; *p; p++) {
		if (*p == ',')
			*p = ' ';
	}
	r = words_split(&s->secret_names, list);
	free(list);
	if (r < 0)
		return "out of memory";
	return s->secret_names.n > SECRETS_MAX ? "too many secrets" : NULL;
}

/* The server is asked for them, which takes a while. */
static const char *read_secrets(const struct runner_job *job, struct shell_job *s)
{
	char name[160];

	for (size_t i = 0; i < s->secret_names.n; i++) {
		snprintf(name, sizeof name, "secret.%s", s->secret_names.at[i]);
		s->secrets[i] = param_copy(host, job, name);
		if (!s->secrets[i])
			return "a secret it asks for is not given to this task";
		add_file(s, s->secret_names.at[i], s->secrets[i]);
	}
	return NULL;
}

static int shell_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                         void **ret_state)
{
	struct shell_job *s = calloc(1, sizeof *s);
	const char *wrong;

	(void)self;
	*ret_state = s;
	if (!s)
		return refuse(result, "out of memory");
	wrong = read_what(job, s);
	if (!wrong)
		wrong = environment_make(host, job, &s->env);
	if (!wrong)
		wrong = read_secret_names(job, s);
	if (wrong)
		return refuse(result, wrong);
	s->directory = param_copy(host, job, "directory");
	s->user = param_copy(host, job, "user");
	return RUNNER_DONE;
}

static void forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

/* Everything but the struct itself: a process may run for days. */
static void shell_release(struct shell_job *s)
{
	words_done(&s->argv);
	words_done(&s->env);
	words_done(&s->secret_names);
	for (size_t i = 0; i < SECRETS_MAX; i++)
		forget(s->secrets[i]);
	free(s->script);
	free(s->directory);
	free(s->user);
	memset(s, 0, sizeof *s);
}

static int shell_execute(void *self, void *state, const struct runner_job *job,
                         struct runner_result *result)
{
	struct shell_job *s = state;
	const char *wrong;

	(void)self;
	/* The server is asked for secrets, a directory service perhaps for users. */
	if (job->flags & RUNNER_JOB_INLINE && (s->secret_names.n || s->user || job->run_as[0]))
		return RUNNER_THREAD;
	wrong = read_secrets(job, s);
	if (wrong)
		return refuse(result, wrong);
	struct runner_process process = {
		.size = sizeof process,
		.n_files = s->n_files,
		.argv = (const char *const *)s->argv.at,
		.env = (const char *const *)s->env.at,
		.directory = s->directory && s->directory[0] ? s->directory : NULL,
		.run_as = s->user && s->user[0] ? s->user : NULL,
		.files = s->files,
	};

	/* A refusal's reason and verdict are in the result already. */
	int r = host->spawn(job, &process);

	shell_release(s);
	return r < 0 ? RUNNER_FAILED : RUNNER_PROCESS;
}

static void shell_finish(void *self, void *state, const struct runner_job *job,
                         struct runner_result *result)
{
	struct shell_job *s = state;

	(void)self;
	(void)job;
	(void)result;
	if (s)
		shell_release(s);
	free(s);
}

static const struct runner_plugin plugin = {
	.size = sizeof plugin,
	.abi_major = RUNNER_ABI_MAJOR,
	.abi_minor = RUNNER_ABI_MINOR,
	.name = "shell",
	.version = "1.0",
	.flags = RUNNER_INLINE_OK,
	.open = shell_open,
	.close = shell_close,
	.prepare = shell_prepare,
	.execute = shell_execute,
	.finish = shell_finish,
};

const struct runner_plugin *runner_entry(void)
{
	return &plugin;
}
