/* Failures by cause: what failed for one reason, how many, and the instances of one of them. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "admin-console/cli/online/watch.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/failure.h"
#include "util/json_in.h"

static const struct opt failures_options[] = {
	{ "since", 'f', "T", "from then on: 24h (default), 7d, today, a time" },
	{ "project", 'p', "PROJECT", "only of this one" },
	{ "workflow", 0, "PROJECT/WORKFLOW", "only of this one" },
	{ "limit", 'n', "N", "at most so many causes, default 50" },
	{ "ids", 0, NULL, "of one cause: the ids of instances that have not run well since" },
	OPT_WATCH("instances"),
	{ 0 },
};

/* As many as the line has room for; the whole is in --json. */
static void cell_line(const cJSON *e, const char *key, struct buf *out)
{
	const char *text = text_of(e, key);
	char line[101];

	text = *text ? text : text_of(e, "exit");
	failure_set_line(line, sizeof line, text, strlen(text));
	buf_puts(out, line);
}

static void cell_tasks(const cJSON *e, const char *key, struct buf *out)
{
	enum { SHOWN = 2 };
	long long n = number_of(e, "task_count"), shown = 0;
	const cJSON *t;

	cJSON_ArrayForEach(t, json_get(e, key)) {
		if (shown == SHOWN)
			break;
		buf_printf(out, "%s%s", shown++ ? ", " : "", t->valuestring);
	}
	if (n > shown)
		buf_printf(out, " and %lld more", n - shown);
}

static const struct column cause_columns[] = {
	{ ">Instances", "instances" },
	{ ">Failed", "failed" },
	{ ">Well since", "well" },
	{ ">Under way", "under_way" },
	{ "Class", "class" },
	{ "Last", "last", cell_time },
	{ "Tasks", "tasks", cell_tasks },
	{ "Cause", "cause" },
	{ "Line", "line", cell_line },
	{ "First", "first", cell_time, .wide = true },
	{ "How", "exit", .wide = true },
	{ ">Failures", "failures", .wide = true },
	{ 0 },
};

static const struct column member_columns[] = {
	{ "Task", "task" },
	{ "Run date", "run_date", cell_label },
	{ "Now", "now", cell_state_word },
	{ "Failed at", "at", cell_time },
	{ ">Attempt", "attempt" },
	{ "Line", "line", cell_line },
	{ "Id", "id" },
	{ 0 },
};

static void which_put(const struct asked *q, struct buf *path)
{
	path_arg(path, "since", given(q, "since"));
	path_arg(path, "project", given(q, "project"));
	path_arg(path, "workflow", given(q, "workflow"));
}

static int causes_show(struct online *o, const struct asked *q)
{
	const char *limit = given(q, "limit");
	struct buf path;
	cJSON *root = NULL;

	buf_init(&path);
	buf_puts(&path, "/api/v1/failures");
	which_put(q, &path);
	path_arg(&path, "limit", limit ? limit : "50");
	int code = online_get(o, buf_str(&path), &root);
	buf_done(&path);
	const cJSON *items = json_get(root, "items");
	if (code == CLI_OK && o->cli->json)
		code = print_json(items);
	else if (code == CLI_OK && !items->child)
		none_say(o->cli, NULL);
	else if (code == CLI_OK)
		rows_show(cause_columns, items);
	if (code == CLI_OK && !json_true(root, "whole"))
		fprintf(stderr, "there are more than one look takes: only those since %s\n",
		        date_of(root, "looked_from"));
	if (code == CLI_OK && number_of(root, "causes") > cJSON_GetArraySize(items))
		fputs("there are more: --limit\n", stderr);
	cJSON_Delete(root);
	return code;
}

static int ids_show(struct online *o, struct buf *path)
{
	char *cursor = NULL;
	int code;

	do {
		struct buf page;
		cJSON *root = NULL;
		const cJSON *e;

		buf_init(&page);
		buf_puts(&page, buf_str(path));
		path_arg(&page, "cursor", cursor);
		code = online_get(o, buf_str(&page), &root);
		free(cursor);
		cursor = json_text(root, "cursor") ? mem_str(json_text(root, "cursor")) : NULL;
		cJSON_ArrayForEach(e, json_get(root, "items"))
			puts(text_of(e, "id"));
		cJSON_Delete(root);
		buf_done(&page);
	} while (code == CLI_OK && cursor);
	free(cursor);
	return code;
}

static int members_show(struct online *o, const struct asked *q)
{
	bool ids = given(q, "ids") != NULL, any = false;
	struct buf path;

	buf_init(&path);
	buf_puts(&path, "/api/v1/failures/");
	path_part(&path, word(q, 0));
	path_arg(&path, "limit", "500");
	path_arg(&path, "now", ids ? "failed" : NULL);
	which_put(q, &path);
	int code = ids ? ids_show(o, &path)
	               : pages_show(o, buf_str(&path), true, member_columns, NULL, &any);
	buf_done(&path);
	if (code == CLI_OK && !ids && !any)
		return cli_fail(CLI_NOT_FOUND, "nothing failed of cause '%s'%s", word(q, 0),
		                given(q, "since") ? "" : " within 24 hours: --since");
	if (code == CLI_OK && !ids && !o->cli->json) {
		const char *since = given(q, "since");
		printf("run those again that have not run well since: sirdar redo $(sirdar "
		       "failures %s --ids%s%s)\n",
		       word(q, 0), since ? " --since " : "", since ? since : "");
	}
	return code;
}

static int failures(struct asked *q)
{
	struct online o = { 0 };
	int code = online_open(q->cli, &o);

	if (code == CLI_OK)
		code = q->words.n ? members_show(&o, q) : causes_show(&o, q);
	online_close(&o);
	return code;
}

static void failures_check(struct asked *q, struct argp_state *state)
{
	if (given(q, "ids") && q->words.n == 0)
		argp_error(state, "--ids wants a cause: `sirdar failures` prints them");
}

const struct verb verb_failures = { failures, failures_options, 0, 1, .check = failures_check };
