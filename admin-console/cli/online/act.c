/* The commands that act on tasks and instances: one function, one row each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/yaml.h"

/* Which options a command has, by their keys in act_options. */
static const struct act {
	const char *name, *options;
} acts[] = {
	{ "redo", "msrbpaf" }, { "backfill", "PoDFrpSOa" },
	{ "kill", "g" },       { "force-success", "" },
	{ "skip", "" },        { "enqueue", "" },
	{ "test-run", "i" },   { "declare-dead", "" },
	{ "freeze", "" },      { "unfreeze", "" },
	{ "priority", "p" },   { "run-now", "Oa" },
	{ "online", "B" },     { "offline", "d" },
	{ "retire", "d" },
};

enum {
	KEY_FROM = 0x2000,
	KEY_TO,
	KEY_DATE,
	KEY_EVERY,
	KEY_STATE,
	KEY_ID,
	KEY_TASK,
	KEY_WORKFLOW,
	KEY_MESSAGE,
	KEY_DRY,
	KEY_WAIT,
	KEY_REQUEST
};

/* An argument of the command, by its key. */
static const struct act_option {
	int key;
	const char *option, *value, *json, *help;
	enum { AS_TEXT, AS_NUMBER, AS_TRUE, AS_PAIR, AS_FILE } as;
} act_options[] = {
	{ 'm', "mode", "MODE", "mode", "self (default), with_downstream, downstream", AS_TEXT },
	{ 's', "scope", "SCOPE", "scope", "downstream in workflow (default), project, all",
	  AS_TEXT },
	{ 'r', "running", "HOW", "running", "what runs now: leave (default), wait, kill", AS_TEXT },
	{ 'b', "body", "BODY", "body", "definition: current (default), old", AS_TEXT },
	{ 'p', "priority", "N", "priority", "1 to 10", AS_NUMBER },
	{ 'P', "parallel", "N", "parallel", "at most so many at once; 0: no cap", AS_NUMBER },
	{ 'o', "order", "ORDER", "order", "asc (default), desc, free", AS_TEXT },
	{ 'D', "dependencies", "WHICH", "dependencies", "inside (default), all, ignore", AS_TEXT },
	{ 'F', "finished", "HOW", "finished", "finished ones: redo (default), leave", AS_TEXT },
	{ 'S', "stop-on-failure", NULL, "stop_on_failure", "stop at the first that fails",
	  AS_TRUE },
	{ 'O', "off-plan", NULL, "off_plan", "also dates that are not planned", AS_TRUE },
	{ 'g', "grace-ms", "MS", "grace_ms", "from TERM to KILL", AS_NUMBER },
	{ 'a', "param", "NAME=VALUE", "params", "a parameter of this run alone (repeatable)",
	  AS_PAIR },
	{ 'f', "failed-parts", NULL, "failed_parts", "of its parts only those that ended badly",
	  AS_TRUE },
	{ 'i', "file", "FILE", "document", "as it stands in this workflow's file, not as saved",
	  AS_FILE },
	{ 'B', "from", "T", "from",
	  "its plan begins there; dates that are due by now come due at once", AS_TEXT },
	{ 'd', "detach", NULL, "detach", "online children no longer wait for these", AS_TRUE },
};

#define ACT_OPTIONS (sizeof(act_options) / sizeof(act_options[0]))

static const struct argp_option selection_options[] = {
	{ "from", KEY_FROM, "T", 0, "run dates from here", 2 },
	{ "to", KEY_TO, "T", 0, "run dates to here, included", 2 },
	{ "date", KEY_DATE, "T", 0, "this run date (repeatable)", 2 },
	{ "every", KEY_EVERY, "DAY", 0,
	  "of the range only: monday..sunday, 1..31, last (repeatable)", 2 },
	{ "state", KEY_STATE, "STATES", 0, "only those in these states, a,b", 2 },
	{ "id", KEY_ID, "ID", 0, "this instance (repeatable)", 2 },
	{ "task", KEY_TASK, "TASK", 0, "this task too (repeatable)", 2 },
	{ "workflow", KEY_WORKFLOW, "W", 0, "all tasks of a workflow", 2 },
	{ "message", KEY_MESSAGE, "TEXT", 0, "why, kept with the command", 3 },
	{ "dry-run", KEY_DRY, NULL, 0, "only show what would be done", 3 },
	{ "yes", 'y', NULL, 0, "do not ask", 3 },
	{ "wait", KEY_WAIT, NULL, 0,
	  "until the command is over: every instance is made or changed, not yet run; with "
	  "--parallel, --stop-on-failure, --running wait: until they have ended. Exit 0: all of it "
	  "was done, however the instances end; 1: none of it; 7: part of it, or it was stopped or "
	  "cancelled",
	  3 },
	{ "request-id", KEY_REQUEST, "ID", 0, "makes a repeat harmless", 3 },
};

#define SELECTION_OPTIONS (sizeof(selection_options) / sizeof(selection_options[0]))

struct question {
	const struct act *act;
	struct sending s;
	cJSON *selection;
	bool first; /* the first word was seen */
};

/* Append to a list of the selection. */
static void select_add(struct question *a, const char *key, const char *text)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(a->selection, key);

	if (list == NULL)
		list = cJSON_AddArrayToObject(a->selection, key);
	cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

/* A number is a day of the month. */
static void select_every(struct question *a, const char *text)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(a->selection, "every");
	char *end;
	long n = strtol(text, &end, 10);

	if (list == NULL)
		list = cJSON_AddArrayToObject(a->selection, "every");
	cJSON_AddItemToArray(list, *end == '\0' && end != text ? cJSON_CreateNumber((double)n)
	                                                       : cJSON_CreateString(text));
}

static void select_states(struct question *a, const char *text)
{
	while (*text != '\0') {
		size_t n = strcspn(text, ",");
		char *word = mem_strn(text, n);

		select_add(a, "states", word);
		free(word);
		text += n + (text[n] == ',');
	}
}

static void select_id(struct question *a, const char *id)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(a->selection, "instances");
	cJSON *o = cJSON_CreateObject();

	if (list == NULL)
		list = cJSON_AddArrayToObject(a->selection, "instances");
	cJSON_AddStringToObject(o, "id", id);
	cJSON_AddItemToArray(list, o);
}

/* NAME=VALUE into an object. */
static void pair_add(cJSON *args, const char *key, const char *text, struct argp_state *state)
{
	cJSON *object = cJSON_GetObjectItemCaseSensitive(args, key);
	size_t n = strcspn(text, "=");

	if (n == 0 || text[n] == '\0')
		argp_error(state, "--param is '%s', want NAME=VALUE", text);
	if (object == NULL)
		object = cJSON_AddObjectToObject(args, key);
	char *name = mem_strn(text, n);
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	cJSON_AddStringToObject(object, name, text + n + 1);
	free(name);
}

/* The text of a file. */
static void file_add(cJSON *args, const char *key, const char *file, struct argp_state *state)
{
	struct err err = { 0 };
	struct buf text;

	buf_init(&text);
	if (fs_read(file, YAML_BYTES_MAX, &text, &err) < 0)
		argp_failure(state, CLI_USAGE, 0, "%s", err.text);
	cJSON_AddStringToObject(args, key, buf_str(&text));
	buf_done(&text);
}

static error_t option_take(struct question *a, int key, const char *arg, struct argp_state *state)
{
	char *end;
	long n;

	for (size_t i = 0; i < ACT_OPTIONS; i++) {
		const struct act_option *x = &act_options[i];

		if (x->key != key || strchr(a->act->options, key) == NULL)
			continue;
		if (x->as == AS_TEXT) {
			cJSON_AddStringToObject(a->s.args, x->json, arg);
		} else if (x->as == AS_PAIR) {
			pair_add(a->s.args, x->json, arg, state);
		} else if (x->as == AS_FILE) {
			file_add(a->s.args, x->json, arg, state);
		} else if (x->as == AS_TRUE) {
			cJSON_AddBoolToObject(a->s.args, x->json, true);
		} else {
			n = strtol(arg, &end, 10);
			if (*end != '\0' || end == arg || n < 0)
				argp_error(state, "--%s is '%s', want a number", x->option, arg);
			cJSON_AddNumberToObject(a->s.args, x->json, (double)n);
		}
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct question *a = state->input;

	switch (key) {
	case KEY_FROM:
		cJSON_AddStringToObject(a->selection, "from", arg);
		return 0;
	case KEY_TO:
		cJSON_AddStringToObject(a->selection, "to", arg);
		return 0;
	case KEY_DATE:
		select_add(a, "dates", arg);
		return 0;
	case KEY_EVERY:
		select_every(a, arg);
		return 0;
	case KEY_STATE:
		select_states(a, arg);
		return 0;
	case KEY_ID:
		select_id(a, arg);
		return 0;
	case KEY_TASK:
		select_add(a, "tasks", arg);
		return 0;
	case KEY_WORKFLOW:
		cJSON_AddStringToObject(a->selection, "workflow", arg);
		return 0;
	case KEY_MESSAGE:
		cJSON_AddStringToObject(a->s.args, "message", arg);
		return 0;
	case KEY_DRY:
		a->s.dry_run = true;
		return 0;
	case 'y':
		a->s.yes = true;
		return 0;
	case KEY_WAIT:
		a->s.wait = true;
		return 0;
	case KEY_REQUEST:
		a->s.request_id = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (instance_id_is(arg)) {
			select_id(a, arg);
			return 0;
		}
		if (a->first && (arg[0] < '0' || arg[0] > '9'))
			argp_error(state, "'%s' is not a run date; a second task is --task %s", arg,
			           arg);
		select_add(a, a->first ? "dates" : "tasks", arg);
		a->first = true;
		return 0;
	case ARGP_KEY_END:
		if (cJSON_GetArraySize(a->selection) == 0)
			argp_error(state, "which task?");
		return 0;
	default:
		return option_take(a, key, arg, state);
	}
}

static void options_fill(const struct act *act, struct argp_option *to)
{
	for (size_t i = 0; i < ACT_OPTIONS; i++) {
		const struct act_option *x = &act_options[i];

		if (strchr(act->options, x->key) != NULL)
			*to++ = (struct argp_option){ x->option, x->key, x->value, 0, x->help, 1 };
	}
	/* The begin of what goes online, and no range of dates. */
	bool begins = strchr(act->options, 'B') != NULL;
	memcpy(to, selection_options + begins, sizeof(selection_options) - begins * sizeof(*to));
}

int cmd_act(struct cli *cli, int argc, char **argv)
{
	struct argp_option options[ACT_OPTIONS + SELECTION_OPTIONS + 1] = { 0 };
	const struct argp own = { .options = options, .parser = parse };
	struct question a = { .act = acts };
	struct online o = { 0 };
	int code;

	while (strcmp(a.act->name, cli->command->name) != 0)
		a.act++;
	options_fill(a.act, options);
	a.s.kind = a.act->name;
	a.s.args = cJSON_CreateObject();
	a.selection = cJSON_AddObjectToObject(a.s.args, "selection");
	cli_parse(cli, &own, argc, argv, &a);
	code = online_open(cli, &o);
	if (code == CLI_OK)
		code = command_send(&o, &a.s);
	cJSON_Delete(a.s.args);
	online_close(&o);
	return code;
}
