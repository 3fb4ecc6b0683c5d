/* The commands that act on tasks and instances: one function, one row each.
 *
 * Which instances are meant is the same for all of them: ids, a task with its dates, a workflow,
 * states, a span; so the options stand in one table and each command takes its part of it. The
 * words and options become the arguments of the server's command (docs/protocol-json.md); preview,
 * question and waiting are command_send.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-console/cli/online/ask.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_in.h"
#include "util/yaml.h"

/* --- values ------------------------------------------------------------------------------- */

static void check_count(struct asked *q, const struct opt *o, const char *arg,
                        struct argp_state *state)
{
	char *end;
	long n = strtol(arg, &end, 10);

	(void)q;
	if (*end != '\0' || end == arg || n < 0)
		argp_error(state, "--%s is '%s', want a number", o->name, arg);
}

void check_pair(struct asked *q, const struct opt *o, const char *arg, struct argp_state *state)
{
	size_t n = strcspn(arg, "=");

	if (n == 0 || arg[n] == '\0')
		argp_error(state, "--%s is '%s', want NAME=VALUE", o->name, arg);
	for (size_t i = 0; i < q->n; i++) {
		const char *before = q->given[i].value;
		if (q->given[i].opt == o && strncmp(before, arg, n + 1) == 0 &&
		    strcmp(before, arg) != 0)
			argp_error(state, "--%s %.*s is said twice: %s and %s", o->name, (int)n,
			           arg, before + n + 1, arg + n + 1);
	}
}

/* The text of a file; '-': of standard input. */
static void put_file(struct asked *q, const struct opt *o, const char *arg,
                     struct argp_state *state)
{
	struct err err = { 0 };
	struct buf text;

	buf_init(&text);
	if (fs_read(strcmp(arg, "-") == 0 ? "/dev/stdin" : arg, YAML_BYTES_MAX, &text, &err) < 0)
		argp_failure(state, CLI_USAGE, 0, "%s", err.text);
	body_text(q, o->to, buf_str(&text));
	buf_done(&text);
}

/* A number is a day of the month. */
static void put_every(struct asked *q, const struct opt *o, const char *arg,
                      struct argp_state *state)
{
	char *end;
	long n = strtol(arg, &end, 10);

	(void)state;
	cJSON_AddItemToArray(body_list(q, o->to), *end == '\0' && end != arg
	                                                  ? cJSON_CreateNumber((double)n)
	                                                  : cJSON_CreateString(arg));
}

static void put_states(struct asked *q, const struct opt *o, const char *arg,
                       struct argp_state *state)
{
	const char *all, *wrong = states_wrong(arg, &all);
	char *names = states_named(arg);

	if (wrong)
		argp_error(state, "'%s' is not a state: %s", wrong, all);
	for (const char *at = names; *at != '\0';) {
		size_t n = strcspn(at, ",");
		char *name = mem_strn(at, n);

		cJSON_AddItemToArray(body_list(q, o->to), cJSON_CreateString(name));
		free(name);
		at += n + (at[n] == ',');
	}
	free(names);
}

static void id_put(struct asked *q, const char *id)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "id", id);
	cJSON_AddItemToArray(body_list(q, "selection.instances"), o);
}

static void put_id(struct asked *q, const struct opt *o, const char *arg, struct argp_state *state)
{
	(void)o;
	(void)state;
	id_put(q, arg);
}

/* Instances by their ids, a task, run dates of it. */
static void words_take(struct asked *q, struct argp_state *state)
{
	bool first = false; /* the first word was seen */

	for (size_t i = 0; i < q->words.n; i++) {
		const char *word = q->words.items[i];

		if (instance_id_is(word)) {
			id_put(q, word);
			continue;
		}
		struct when_span dates;
		char no_day[WHEN_TEXT];
		if (first && !when_range(word, 0, &dates))
			argp_error(state, "'%s' is not a run date%s; a second task is --task %s",
			           word, when_no_day(word, no_day), word);
		cJSON_AddItemToArray(body_list(q, first ? "selection.dates" : "selection.tasks"),
		                     cJSON_CreateString(word));
		first = true;
	}
	if (!cJSON_GetObjectItemCaseSensitive(q->body, "selection"))
		argp_error(state, "which task?");
}

/* One workflow, whole. */
static void workflow_take(struct asked *q, struct argp_state *state)
{
	(void)state;
	body_text(q, "selection.workflow", word(q, 0));
}

/* --- options: those of a command, then those that all of them have ------------------------- */

/* clang-format off */
#define PRIORITY \
	{ "priority", 'p', "N", "1 to 10", TAKE_NUMBER, "priority", NULL, check_count, 1 }
#define OFF_PLAN \
	{ "off-plan", 'O', NULL, "also dates that are not planned", TAKE_TRUE, "off_plan", \
	  .group = 1 }
#define PARAM \
	{ "param", 'a', "NAME=VALUE", "a parameter of this run alone (repeatable)", TAKE_PAIR, \
	  "params", NULL, check_pair, 1 }
#define NO_OP \
	{ "no-op", 0, NULL, "no job runs: each succeeds when its turn comes", TAKE_TRUE, \
	  "no_op", .group = 1 }
#define DETACH \
	{ "detach", 'd', NULL, "online children no longer wait for these", TAKE_TRUE, "detach", \
	  .group = 1 }
#define FROM \
	{ "from", 0, "T", "run dates from here", TAKE_TEXT, "selection.from", .group = 2 }
/* Of what makes instances run. */
#define WAIT_HELP \
	"until every instance has ended. Exit 0: all well; 1: nothing was done; 6: --timeout; 7: " \
	"something failed, or a part was refused; 130: Ctrl-C, the work goes on"
#define DONE_HELP \
	"until the command is over. Exit 0: all of it was done; 1: none of it; 6: --timeout; 7: " \
	"part of it, or it was cancelled"
#define DATES \
	FROM, { "to", 0, "T", "run dates to here, included", TAKE_TEXT, "selection.to", \
	  .group = 2 }, \
	{ "date", 0, "T", "this run date, or a range A..B (repeatable)", TAKE_ITEM, \
	  "selection.dates", \
	  .group = 2 }, \
	{ "every", 0, "DAY", "of the range only: monday..sunday, 1..31, last (repeatable)", \
	  TAKE_OWN, "selection.every", NULL, put_every, 2 }, \
	{ "state", 0, "STATES", "only those in these states, a,b", TAKE_OWN, "selection.states", \
	  NULL, put_states, 2 }, \
	{ "id", 0, "ID", "this instance (repeatable)", TAKE_OWN, NULL, NULL, put_id, 2 }
/* Of what acts on definitions: no instances are chosen. */
#define TASKS CHOSEN, HOW
#define CHOSEN \
	{ "task", 0, "TASK", "this task too (repeatable)", TAKE_ITEM, "selection.tasks", \
	  .group = 2 }, \
	{ "workflow", 0, "WORKFLOW", "all tasks of a workflow", TAKE_TEXT, "selection.workflow", \
	  .check = check_once, .group = 2 }
#define HOW \
	{ "wait", 0, NULL, DONE_HELP, .group = 3 }, WAITING(3), BUT_WAIT
#define HOW_RUNS \
	{ "wait", 0, NULL, WAIT_HELP, .group = 3 }, WAITING(3), BUT_WAIT
#define BUT_WAIT \
	{ "message", 0, "TEXT", "why, kept with the command", TAKE_TEXT, "message", .group = 3 }, \
	{ "dry-run", 0, NULL, "only show what would be done", .group = 3 }, \
	{ "yes", 'y', NULL, "do not ask", .group = 3 }, \
	{ "request-id", 0, "ID", "makes a repeat harmless", .group = 3 }, \
	{ 0 }
#define SELECTION DATES, TASKS
#define RUN_SELECTION DATES, CHOSEN, HOW_RUNS
/* clang-format on */

static const struct opt redo_options[] = {
	{ "mode", 'm', "MODE", "self (default), with_downstream, downstream", TAKE_TEXT, "mode",
	  .group = 1 },
	{ "scope", 's', "SCOPE", "downstream in workflow (default), project, all", TAKE_TEXT,
	  "scope", .group = 1 },
	{ "running", 'r', "HOW", "what runs now: leave (default), wait, kill", TAKE_TEXT, "running",
	  .group = 1 },
	{ "body", 'b', "BODY", "definition: current (default), old", TAKE_TEXT, "body",
	  .group = 1 },
	PRIORITY,
	PARAM,
	NO_OP,
	{ "dependencies", 'D', "WHICH",
	  "what it waits for again: all of its links (default), inside: only what is redone here, "
	  "ignore: nothing",
	  TAKE_TEXT, "dependencies", .group = 1 },
	{ "failed-parts", 'f', NULL, "only the parts that failed", TAKE_TRUE, "failed_parts",
	  .group = 1 },
	RUN_SELECTION,
};

static const struct opt backfill_options[] = {
	{ "running", 'r', "HOW", "what runs now: leave (default), wait, kill", TAKE_TEXT, "running",
	  .group = 1 },
	PRIORITY,
	{ "parallel", 'P', "N", "at most so many at once; 0: no cap", TAKE_NUMBER, "parallel", NULL,
	  check_count, 1 },
	{ "order", 'o', "ORDER", "asc (default), desc, free", TAKE_TEXT, "order", .group = 1 },
	{ "dependencies", 'D', "WHICH", "inside (default), all, ignore", TAKE_TEXT, "dependencies",
	  .group = 1 },
	{ "finished", 'F', "HOW", "finished ones: redo (default), leave", TAKE_TEXT, "finished",
	  .group = 1 },
	{ "stop-on-failure", 'S', NULL, "stop at the first that fails", TAKE_TRUE,
	  "stop_on_failure", .group = 1 },
	OFF_PLAN,
	PARAM,
	NO_OP,
	RUN_SELECTION,
};

static const struct opt kill_options[] = {
	{ "grace-ms", 'g', "MS", "from TERM to KILL", TAKE_NUMBER, "grace_ms", NULL, check_count,
	  1 },
	SELECTION,
};

static const struct opt test_run_options[] = {
	{ "file", 'i', "FILE", "as it stands in this workflow's file, not as saved", TAKE_OWN,
	  "document", NULL, put_file, 1 },
	{ "up-to", 0, "TASK", "with --workflow: only this task and what it waits for", .group = 1 },
	PARAM,
	NO_OP,
	DATES,
	{ "task", 0, "TASK", "this task too (repeatable)", TAKE_ITEM, "selection.tasks",
	  .group = 2 },
	{ "workflow", 0, "FILE|WORKFLOW",
	  "a workflow as one, its links hold: that of this file, saved or not ('-': standard "
	  "input), or the saved one of this name",
	  .check = check_once, .group = 2 },
	HOW_RUNS,
};

/* The begin of what goes online, and no range of dates. */
static const struct opt online_options[] = {
	{ "from", 'B', "T", "its plan begins there; dates that are due by now come due at once",
	  TAKE_TEXT, "from", .group = 1 },
	TASKS,
};

static const struct opt run_now_options[] = { OFF_PLAN, PARAM, RUN_SELECTION };
static const struct opt priority_options[] = { PRIORITY, SELECTION };
static const struct opt detach_options[] = { DETACH, TASKS };
static const struct opt plain_options[] = { SELECTION };
static const struct opt enqueue_options[] = { RUN_SELECTION };
static const struct opt workflow_options[] = { HOW };

/* --- a workflow as it is drawn -------------------------------------------------------------- */

static bool is_file(const char *name)
{
	const char *dot = strrchr(name, '.');

	return strcmp(name, "-") == 0 || access(name, F_OK) == 0 ||
	       (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0));
}

/* Options that say which dates of saved tasks. */
static void drawn_check(const struct asked *q, struct argp_state *state)
{
	static const char *const others[] = { "file",  "from", "to",   "every",
		                              "state", "id",   "task", NULL };
	const cJSON *dates = json_get(json_get(q->body, "selection"), "dates");

	for (size_t i = 0; others[i]; i++)
		if (given_if(q, others[i]))
			argp_error(state, "--%s does not go with --workflow", others[i]);
	if (q->words.n > 0)
		argp_error(state, "--workflow runs all of the workflow; a part of it is "
		                  "--up-to TASK, its date --date D");
	if (cJSON_GetArraySize(dates) > 1)
		argp_error(state, "with --workflow one date is expected");
}

static void drawn_take(struct asked *q, const char *workflow, struct argp_state *state)
{
	static const struct opt document = { .to = "document" };
	const char *date = given_if(q, "date"), *up_to = given_if(q, "up-to");

	drawn_check(q, state);
	cJSON_DeleteItemFromObjectCaseSensitive(q->body, "selection");
	if (is_file(workflow))
		put_file(q, &document, workflow, state);
	if (date)
		body_text(q, "date", date);
	if (up_to)
		body_text(q, "up_to", up_to);
}

static void test_run_take(struct asked *q, struct argp_state *state)
{
	const char *workflow = given_if(q, "workflow");

	if (workflow) {
		drawn_take(q, workflow, state);
		return;
	}
	if (given_if(q, "up-to") || given_if(q, "param") || given_if(q, "no-op"))
		argp_error(state, "--up-to, --param and --no-op go with --workflow");
	words_take(q, state);
}

/* Of a saved workflow its document is tried, as one from a file is. */
static int test_run_begin(struct online *o, struct asked *q)
{
	const char *workflow = given_if(q, "workflow");
	cJSON *saved = NULL;
	struct buf path;

	if (!workflow || is_file(workflow))
		return CLI_OK;
	buf_init(&path);
	buf_puts(&path, "/api/v1/workflows/");
	path_part(&path, workflow);
	int code = online_call(o, "GET", buf_str(&path), NULL, &saved);
	if (code == CLI_OK)
		body_text(q, "document", text_of(saved, "document"));
	cJSON_Delete(saved);
	buf_done(&path);
	return code;
}

static int test_run_ask(struct asked *q)
{
	return command_ask_as(q, given_if(q, "workflow") ? "test-start" : NULL);
}

#define ACT(name) \
	const struct verb verb_act_##name = { command_ask, name##_options, 0, WORDS_ANY, \
		                              .check = words_take }

#define ACT_WORKFLOW(name) \
	const struct verb verb_workflow_##name = { command_ask, workflow_options, 1, 1, \
		                                   .check = workflow_take }

ACT_WORKFLOW(quarantine);
ACT_WORKFLOW(release);
ACT(redo);
ACT(backfill);
ACT(kill);
const struct verb verb_act_test_run = {
	test_run_ask, test_run_options,       0,
	WORDS_ANY,    .check = test_run_take, .prepare = test_run_begin
};
ACT(online);
ACT(run_now);
ACT(priority);
ACT(detach);
ACT(plain);
ACT(enqueue);
