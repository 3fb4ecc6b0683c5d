/* shell.c — run a script or a command as a process of its own.
 *
 * Exactly one of the parameters `script`, `command`, `argv` says what; README.md has the
 * rest. prepare() reads the parameters into a `struct start`, as the runners for Python and Java
 * do; execute() asks for secrets and has the process started. The words a person wrote reach the
 * shell as a file, parameters as environment: nothing is ever spliced into a command line.
 */
#include "runners/common/start.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static const char space[] = " \t\r\n";

/* Parameters of the runner itself: no job needs them in its environment. */
static const char *const own[] = { "script", "command", "argv", NULL };

/* Names a parameter may not take in the job's environment: they change what a program or
 * shell loads before the job's first line. (`environment` may; whoever writes it means it.) */
static const char *const held_names[] = { "PATH", "IFS",       "ENV",       "BASH_ENV",
	                                  "HOME", "SHELLOPTS", "PS4",       "USER",
	                                  "PWD",  "SHELL",     "GCONV_PATH" };

static bool may_take(const char *name)
{
	for (size_t i = 0; i < sizeof held_names / sizeof *held_names; i++) {
		if (!strcmp(held_names[i], name))
			return false;
	}
	return text_identifier(name) && strncmp(name, "LD_", 3) != 0 &&
	       strncmp(name, "SIRDAR_", 7) != 0;
}

static void add_all(struct words *w, const char *const *list)
{
	for (; *list; list++)
		words_addf(w, "%s", *list);
}

/* "#!/usr/bin/env bash" and kin: that program reads the script, from a file. The words of
 * the line come first in "$0" "$@", the file's name last. */
static void use_interpreter(struct start *s, char *script)
{
	static const char *const lead[] = { "/bin/sh", "-c",
		                            "exec \"$0\" \"$@\" \"$SIRDAR_FILES/script\"", NULL };
	char *line = strndup(script + 2, strcspn(script, "\r\n") - 2);

	s->is_short |= !line;
	add_all(&s->argv, lead);
	words_split(&s->argv, line ? line : "", space);
	free(line);
	start_file(s, "script", script);
}

/* Owns `script`. Through a file: the arguments of a process are for everybody to read. */
static void use_script(struct start *s, char *script)
{
	static const char *const from_file[] = { "/bin/sh", "-c", ". \"$SIRDAR_FILES/script\"",
		                                 NULL };

	if (script[0] == '#' && script[1] == '!' && strchr(script, '/')) {
		use_interpreter(s, script);
	} else {
		add_all(&s->argv, from_file);
		start_file(s, "script", script);
	}
}

/* cJSON would end a text there, and another command would run than was written. */
static bool has_nul(const char *json)
{
	for (; (json = strchr(json, '\\')) && json[1]; json += 2) {
		if (!strncmp(json, "\\u0000", 6))
			return true;
	}
	return false;
}

/* A JSON list of texts; false: it is none, or empty. */
static bool use_list(struct start *s, const char *json)
{
	cJSON *list = cJSON_ParseWithOpts(json, NULL, 1);
	bool is_good = cJSON_IsArray(list) && cJSON_GetArraySize(list) > 0 && !has_nul(json);
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
		is_good = is_good && cJSON_IsString(item);
	for (item = is_good ? list->child : NULL; item; item = item->next)
		words_addf(&s->argv, "%s", item->valuestring);
	cJSON_Delete(list);
	return is_good;
}

/* May the command be executed without a shell? Everything a shell gives a meaning to, wherever it
 * stands. `=` before the first space would be an assignment, `~` and `#` count only at a word's
 * start: no need to be finer. */
static bool is_plain(const char *command)
{
	return !strpbrk(command, "|&;<>()$`\\\"'*?[]#~=%!{}\n\r");
}

/* What to run, from whichever of the three parameters there is. 0 or RUNNER_FAILED. */
static int read_what(const struct run *r, struct start *s)
{
	char *script = run_param(r, "script"), *command = run_param(r, "command");
	char *argv = run_param(r, "argv");
	int code = 0;

	if (!!script + !!command + !!argv != 1) {
		code = run_refuse(
			r, "shell: want exactly one of the parameters script, command, argv");
	} else if (argv) {
		if (!use_list(s, argv))
			code = run_refuse(r, "shell: parameter argv: want a list of strings");
	} else if (command && is_plain(command)) {
		words_split(&s->argv, command, space);
		if (!s->argv.n)
			code = run_refuse(r, "shell: parameter command is empty");
	} else {
		use_script(s, script ? script : command);
		script = command = NULL;
	}
	free(script);
	free(command);
	free(argv);
	return code;
}

static int shell_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                         void **ret_state)
{
	const struct run r = run_of(job, result);
	struct start *s = calloc(1, sizeof *s);

	(void)self;
	*ret_state = s;
	if (!s)
		return run_refuse(&r, "out of memory");
	return read_what(&r, s) < 0 ? RUNNER_FAILED : start_read(&r, s, own, may_take);
}

static int shell_execute(void *self, void *state, const struct runner_job *job,
                         struct runner_result *result)
{
	const struct run r = run_of(job, result);
	struct start *s = state;

	(void)self;
	/* The server is asked for secrets, a directory service perhaps for users. */
	if (job->flags & RUNNER_JOB_INLINE && (s->secret_names.n || s->user || job->run_as[0]))
		return RUNNER_THREAD;
	int code = start_spawn(&r, s);

	start_done(s); /* a process may run for days */
	return code;
}

RUN_PLUGIN("shell", .flags = RUNNER_INLINE_OK, .open = run_open, .close = run_close,
           .prepare = shell_prepare, .execute = shell_execute, .finish = start_finish);
