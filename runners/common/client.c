/* The plugin of hive, spark and mapreduce: a client program run under a shell script of ours,
 * which reads along for applications and progress, and kills what it began when the job is told to
 * stop. Where YARN can tell applications by the work's name, an earlier attempt's are ended first.
 * The runner gives the words of the command (client_words); nothing is sent by this process
 * itself. */
#include "runners/common/client.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/json.h"
#include "runners/common/text.h"

/* Readers ignore TERM, so that they see all the client says; they end with its output. A number
 * is killed once. SIRDAR_DRIVER_KILL and SIRDAR_FILE_n come from the runner. */
static const char script[] =
	"work=$(mktemp -d \"${TMPDIR:-/tmp}/sirdar-client.XXXXXX\") || exit 70\n"
	"trap 'rm -rf \"$work\"' EXIT\n"
	"mkfifo \"$work/out\" \"$work/err\" \"$work/percent\" && : >\"$work/ids\" || exit 70\n"
	"for n in 1 2 3; do\n"
	"	eval \"option=\\${SIRDAR_FILE_OPTION_$n-} name=\\${SIRDAR_FILE_NAME_$n-}\"\n"
	"	[ -z \"$name\" ] || set -- \"$@\" \"$option\" \"$SIRDAR_FILES/$name\"\n"
	"done\n"
	"read_along() { # pipe\n"
	"	trap '' TERM INT\n"
	"	exec sed -u -n -e p \\\n"
	"		-e \"s/.*map *=* *\\([0-9]*\\)%,* *reduce *=* *\\([0-9]*\\)%.*/\\1 \\2/w "
	"$work/percent\" \\\n"
	"		-e 's/.*\\(application_[0-9]\\{1,\\}_[0-9]\\{1,\\}\\).*/\\1/' \\\n"
	"		-e 's/.*\\(driver-[0-9]\\{14\\}-[0-9]\\{1,\\}\\).*/\\1/' \\\n"
	"		-e 's/.*job_\\([0-9]\\{1,\\}_[0-9]\\{1,\\}\\).*/application_\\1/' \\\n"
	"		-e \"/^\\(application_\\|driver-\\)[0-9_-]*\\$/w $work/ids-$1\" "
	"<\"$work/$1\"\n"
	"}\n"
	"percent() {\n"
	"	trap '' TERM INT\n"
	"	while read -r map reduce; do\n"
	"		echo \"sirdar:progress $(((map + reduce) / 2)) map $map%, reduce "
	"$reduce%\"\n"
	"	done <\"$work/percent\"\n"
	"}\n"
	"ids() { sort -u \"$work\"/ids-out \"$work\"/ids-err 2>/dev/null; }\n"
	"stop() {\n"
	"	is_stopped=yes\n"
	"	trap '' TERM INT\n"
	"	all=$(ids)\n"
	"	[ -n \"$all\" ] || [ -z \"${SIRDAR_ON_YARN-}\" ] || all=$(living)\n"
	"	for id in $all; do\n"
	"		echo \"sirdar: killing $id\" >&2\n"
	"		case $id in\n"
	"		application_*) yarn application -kill \"$id\" >&2 ;;\n"
	"		driver-*) [ -z \"${SIRDAR_DRIVER_MASTER-}\" ] || \"$program\" --master "
	"\"$SIRDAR_DRIVER_MASTER\" --kill \"$id\" >&2 ;;\n"
	"		esac || echo \"sirdar: $id could not be killed\" >&2\n"
	"	done\n"
	"	kill -TERM \"$client\" 2>/dev/null\n"
	"}\n"
	"living() { # applications that bear the name of the work\n"
	"	timeout 60 yarn application -list -appTags \"$SIRDAR_WORK_ID\" -appStates "
	"NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING 2>/dev/null >\"$work/list\" || return 1\n"
	"	sed -n 's/^\\(application_[0-9_]*\\)[^0-9_].*/\\1/p' \"$work/list\"\n"
	"}\n"
	"end_earlier() {\n"
	"	for turn in 1 2 3 4 5 6 7 8 9 10; do\n"
	"		left=$(living) || { echo \"sirdar: whether an earlier attempt still runs "
	"on "
	"YARN cannot be seen\" >&2; return 1; }\n"
	"		[ -n \"$left\" ] || return 0\n"
	"		for id in $left; do\n"
	"			echo \"sirdar: an earlier attempt runs as $id: killing it\" >&2\n"
	"			yarn application -kill \"$id\" >&2\n"
	"		done\n"
	"	done\n"
	"	echo \"sirdar: an earlier attempt still runs on YARN\" >&2\n"
	"	return 1\n"
	"}\n"
	"program=$1\n"
	"if [ -n \"${SIRDAR_WORK_AGAIN-}\" ] && [ -n \"${SIRDAR_ON_YARN-}\" ]; then\n"
	"	end_earlier || exit 75\n"
	"fi\n"
	"percent & percent=$!\n"
	"exec 3<>\"$work/percent\"\n"
	"read_along out 3>&- & out=$!\n"
	"read_along err 3>&- >&2 & err=$!\n"
	"\"$@\" >\"$work/out\" 2>\"$work/err\" 3>&- & client=$!\n"
	"trap stop TERM INT\n"
	"wait $client; code=$?\n"
	"while kill -0 $client 2>/dev/null; do wait $client; code=$?; done\n"
	"trap '' TERM INT\n"
	"wait $out; wait $err\n"
	"exec 3>&-\n"
	"wait $percent\n"
	"for id in $(ids); do echo \"sirdar:output application_id=$id\"; done\n"
	"rm -rf \"$work\"\n"
	"[ -z \"${is_stopped-}\" ] || { trap - TERM; kill -TERM $$; }\n"
	"exit $code\n";

__attribute__((format(printf, 4, 0))) static void add_to(struct client *c, char **list, size_t *n,
                                                         const char *fmt, va_list args)
{
	if (*n == CLIENT_WORDS_MAX || vasprintf(&list[*n], fmt, args) < 0) {
		c->is_over = true;
		list[*n] = NULL;
		return;
	}
	++*n;
}

void client_add(struct client *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_to(c, c->argv, &c->n_argv, fmt, args);
	va_end(args);
}

void client_env(struct client *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_to(c, c->env, &c->n_env, fmt, args);
	va_end(args);
}

void client_add_param(struct client *c, const struct run *r, const char *option, const char *name)
{
	char *value = run_text(r, name);

	if (value && option)
		client_add(c, "%s", option);
	if (value)
		client_add(c, "%s", value);
	free(value);
}

int client_add_list(struct client *c, const struct run *r, const char *name)
{
	cJSON *list = NULL;
	const cJSON *item;
	int code = run_list(r, name, &list);

	cJSON_ArrayForEach(item, list)
		client_add(c, "%s", item->valuestring);
	cJSON_Delete(list);
	return code;
}

int client_add_map(struct client *c, const struct run *r, const char *option, const char *name)
{
	const bool is_joined = !strcmp(option, "-D");
	cJSON *map = NULL;
	const cJSON *item;
	int code = run_map(r, name, &map);

	cJSON_ArrayForEach(item, map) {
		struct text value = { 0 };

		json_text(item, &value);
		if (!is_joined)
			client_add(c, "%s", option);
		client_add(c, "%s%s=%s", is_joined ? option : "", item->string, text_str(&value));
		text_done(&value);
	}
	cJSON_Delete(map);
	return code;
}

static void add_file(struct client *c, const char *name, const char *text)
{
	c->files[c->n_files++] = (struct runner_file){ .name = name,
		                                       .data = text,
		                                       .len = strlen(text) };
}

void client_file(struct client *c, const char *name, const char *option, char *text)
{
	if (!text || c->n_files >= CLIENT_FILES_MAX - 1) {
		c->is_over = true;
		run_forget(text);
		return;
	}
	c->texts[c->n_files] = text;
	add_file(c, name, text);
	client_env(c, "SIRDAR_FILE_OPTION_%u=%s", (unsigned)c->n_files, option);
	client_env(c, "SIRDAR_FILE_NAME_%u=%s", (unsigned)c->n_files, name);
}

static void add_variable(void *ctx, const char *name, const char *value)
{
	client_env(ctx, "%s=%s", name, value);
}

void client_on_yarn(struct client *c, const struct run *r, const char *option, const char *name)
{
	bool is_again;
	char *work = run_work(r, &is_again);

	if (work) {
		client_env(c, "SIRDAR_ON_YARN=1");
		client_env(c, "SIRDAR_WORK_ID=%s", work);
		client_env(c, "SIRDAR_WORK_AGAIN=%s", is_again ? "1" : "");
		if (strcmp(option, "-D") != 0)
			client_add(c, "%s", option);
		client_add(c, "%s%s=%s", strcmp(option, "-D") ? "" : option, name, work);
	}
	free(work);
}

/* The parameters that all clients have (`environment`, `directory`); then start. */
static int client_start(struct client *c, const struct run *r)
{
	static const char *const lead[] = { "/bin/sh", "-c", ". \"$SIRDAR_FILES/client\"",
		                            "sirdar-client" };
	const size_t n_lead = sizeof lead / sizeof *lead;
	const char *argv[CLIENT_WORDS_MAX + 8];

	if (run_environment(r, add_variable, c) < 0)
		return RUNNER_FAILED;
	c->directory = run_text(r, "directory");
	add_file(c, "client", script);
	if (c->is_over)
		return run_refuse(r, "more than %d words, or out of memory", CLIENT_WORDS_MAX);
	memcpy(argv, lead, sizeof lead);
	memcpy(argv + n_lead, c->argv, (c->n_argv + 1) * sizeof *argv);
	struct runner_process process = { .size = sizeof process,
		                          .n_files = c->n_files,
		                          .argv = argv,
		                          .env = (const char *const *)c->env,
		                          .directory = c->directory,
		                          .files = c->files };

	/* A refusal's reason and verdict are in the result already. */
	return r->host->spawn(r->job, &process) < 0 ? RUNNER_FAILED : RUNNER_PROCESS;
}

static void client_done(struct client *c)
{
	for (size_t i = 0; i < c->n_argv; i++)
		free(c->argv[i]);
	for (size_t i = 0; i < c->n_env; i++)
		free(c->env[i]);
	for (size_t i = 0; i < CLIENT_FILES_MAX; i++)
		run_forget(c->texts[i]);
	free(c->directory);
}

static int client_execute(void *self, void *state, const struct runner_job *job,
                          struct runner_result *result)
{
	struct run r = run_of(job, result);
	struct client c = { 0 };
	int answer = client_words(&c, &r);

	(void)self;
	(void)state;
	if (answer == 0)
		answer = client_start(&c, &r);
	client_done(&c);
	return answer;
}

RUN_PLUGIN(client_name, .open = run_open, .close = run_close, .execute = client_execute);
