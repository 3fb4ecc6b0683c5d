/* A command as the server tells of it, for people and as an exit code: how far it is, what of it
 * was refused, how it ended. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/json_in.h"

bool command_is_over(const cJSON *c)
{
	static const char *const over[] = {
#define COMMAND_STATE(name, number, shown, is_over) is_over ? shown : NULL,
#include "tbl/command_state.def"
#undef COMMAND_STATE
	};

	for (size_t i = 0; i < sizeof over / sizeof over[0]; i++)
		if (over[i] && strcmp(over[i], text_of(c, "state")) == 0)
			return true;
	return false;
}

bool command_makes_run(const cJSON *c)
{
	static const char *const runs[] = { "redo",     "backfill",  "run-now",   "enqueue",
		                            "test-run", "run-start", "test-start" };

	for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
		if (strcmp(runs[i], text_of(c, "kind")) == 0)
			return true;
	return false;
}

static void items_print(const cJSON *root)
{
	const cJSON *i;

	cJSON_ArrayForEach(i, json_get(root, "items"))
		cli_line(stdout, "  %-40s %s  %s %s", text_of(i, "task"), label_in(i),
		         text_of(i, "code"), text_of(i, "message"));
}

/* Which tasks it changed. */
static void tasks_print(const cJSON *c)
{
	const cJSON *t;
	const char *between = ": ";
	int n = 0;

	cJSON_ArrayForEach(t, json_get(c, "tasks")) {
		if (!cJSON_IsString(t))
			continue;
		printf("%s%s", between, t->valuestring);
		between = ", ";
		n++;
	}
	if (n > 0 && number_of(c, "tasks_changed") > n)
		printf(", and %lld more", number_of(c, "tasks_changed") - n);
}

/* For which date a run is: asked for, or the server's choice. */
static void dates_print(const cJSON *c)
{
	const cJSON *dates = json_get(c, "dates");
	const char *first = text_of(dates, "first_label"), *last = text_of(dates, "last_label");

	if (first[0])
		printf(", for %s%s%s%s", first, strcmp(first, last) != 0 ? " to " : "",
		       strcmp(first, last) != 0 ? last : "",
		       json_true(dates, "chosen") ? " (no --date was said)" : "");
}

/* What it did: tasks, instances, or to what it was done where neither is counted. */
static void print_with(const cJSON *c, const struct words *of)
{
	long long refused = number_of(c, "failed"), done = number_of(c, "done");
	bool tasks = json_get(c, "tasks_changed"),
	     rows = !json_get(c, "total") || number_of(c, "total");

	printf("command %s %s: ", text_of(c, "command"), text_of(c, "kind"));
	if (refused <= 0 || strcmp(text_of(c, "state"), "done") != 0)
		printf("%s", text_of(c, "state"));
	if (tasks)
		printf(", %s", plural_of(c, "tasks_changed", "task"));
	tasks_print(c);
	if (refused > 0)
		printf("%s%lld done, %lld refused",
		       tasks || strcmp(text_of(c, "state"), "done") != 0 ? ", " : "",
		       done - refused, refused);
	else if (rows)
		printf(", %lld of %s done", done, json_get(c, "total") ? text_of(c, "total") : "?");
	dates_print(c);
	for (size_t i = 0; of && i < of->n && !tasks && !rows; i++)
		printf("%s%s", i ? " " : ", ", of->items[i]);
	if (text_of(c, "error")[0] != '\0')
		printf(": %s", text_of(c, "error"));
	putchar('\n');
}

void command_print(const cJSON *c)
{
	print_with(c, NULL);
}

/* Those that were refused, and why. */
int command_refused(struct online *o, const cJSON *c)
{
	char *path = mem_fmt("/api/v1/commands/%s/items?failed=1", text_of(c, "command"));
	cJSON *items = NULL;
	int code = online_call(o, "GET", path, NULL, &items);

	if (code == CLI_OK)
		items_print(items);
	cJSON_Delete(items);
	free(path);
	return code;
}

/* Nothing of it was done. */
static bool is_refused(const cJSON *c)
{
	return number_of(c, "failed") > 0 && number_of(c, "done") <= number_of(c, "failed");
}

/* How one that is over ended: all of it, nothing, or a part. */
int command_code(const cJSON *c)
{
	if (strcmp(text_of(c, "state"), "done") == 0 && number_of(c, "failed") == 0)
		return CLI_OK;
	return is_refused(c) ? CLI_REFUSED : CLI_FAILED;
}

int command_ended(struct online *o, const cJSON *c)
{
	int code = CLI_OK;

	if (number_of(c, "failed") > 0 && !o->cli->json)
		code = command_refused(o, c);
	return code == CLI_OK ? command_code(c) : code;
}

int command_unchanged(const cJSON *c)
{
	long long left = number_of(c, "left"), joined = number_of(c, "joined");

	if (!command_is_over(c) || number_of(c, "total") != 0 || left == 0)
		return CLI_OK;
	if (joined == 0)
		return cli_fail(CLI_OK, "nothing was changed: %lld had finished and %s left", left,
		                left == 1 ? "was" : "were");
	return cli_fail(CLI_REFUSED, "nothing was changed: %lld %s unfinished already and %s left",
	                joined, joined == 1 ? "is" : "are", joined == 1 ? "was" : "were");
}

int command_tell(struct online *o, const cJSON *c, const struct words *of)
{
	int code = CLI_OK;

	if (o->cli->json)
		return print_json(c);
	print_with(c, of);
	if (command_is_over(c) && number_of(c, "failed") > 0)
		code = command_refused(o, c);
	return code;
}
