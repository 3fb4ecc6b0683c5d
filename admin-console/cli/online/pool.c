/* Pools of slots and quotas of projects: shown, set, removed. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "admin-console/cli/online/watch.h"
#include "sched/name.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_in.h"

static const struct column columns[] = {
	{ "Kind", "kind" },
	{ "Name", "name" },
	{ ">Size", "size" },
	{ ">Taken", "taken" },
	{ ">By backfills", "backfill" },
	{ ">Waiting", "waiting" },
	{ "Oldest", "oldest", cell_time },
	{ 0 },
};

static const struct opt pools_options[] = { OPT_WATCH("instances"), { 0 } };

const struct verb verb_pool_list = { ask, pools_options, .call = "GET /api/v1/pools",
	                             .member = "pools", .columns = columns };

/* The words: names as they are kept, and what is a number as one. */
static int words_make(struct asked *q, const char *name, const char *number)
{
	char *nfc = name_nfc(word(q, 0)), *end = NULL;

	body_text(q, name, nfc ? nfc : word(q, 0));
	free(nfc);
	if (!number)
		return CLI_OK;
	long n = strtol(word(q, 1), &end, 10);
	if (end == word(q, 1) || *end != '\0')
		return cli_fail(CLI_USAGE, "'%s' is no number", word(q, 1));
	cJSON_AddNumberToObject(q->body, number, (double)n);
	return CLI_OK;
}

static int pool_words(struct online *o, struct asked *q)
{
	(void)o;
	return words_make(q, "pool", q->verb->most > 1 ? "size" : NULL);
}

static int quota_words(struct online *o, struct asked *q)
{
	(void)o;
	return words_make(q, "project", "running");
}

void project_tell(struct online *o, const char *project)
{
	char *prefix = mem_fmt("%s/", project);
	cJSON *page = NULL;
	struct buf path;

	buf_init(&path);
	buf_puts(&path, "/api/v1/tasks");
	path_arg(&path, "prefix", prefix);
	path_arg(&path, "limit", "1");
	if (online_get(o, buf_str(&path), &page) == CLI_OK && !json_get(page, "items")->child)
		cli_fail(0, "project %s has no task", project);
	cJSON_Delete(page);
	buf_done(&path);
	free(prefix);
}

static int quota_set(struct asked *q)
{
	struct online o = { 0 };
	int code = command_ask(q);

	if (code == CLI_OK && strcmp(word(q, 1), "0") != 0 && online_open(q->cli, &o) == CLI_OK)
		project_tell(&o, word(q, 0));
	online_close(&o);
	return code;
}

const struct verb verb_pool_set = { command_ask, NULL, 2, 2, .prepare = pool_words };
const struct verb verb_pool_remove = { command_ask, NULL, 1, 1, .prepare = pool_words };
/* --- use against limit --- */

static void cell_max(const cJSON *row, const char *key, struct buf *out)
{
	const cJSON *max = json_get(row, key);

	if (cJSON_IsNumber(max))
		buf_printf(out, "%.0f", max->valuedouble);
	else
		buf_puts(out, "any");
}

static const struct column project_columns[] = {
	{ "Project", "project" },
	{ ">Unfinished", "unfinished" },
	{ ">At most", "unfinished_max", cell_max },
	{ ">Running", "running" },
	{ ">At most", "running_max", cell_max },
	{ ">Waiting", "waiting" },
	{ ">Tasks", "tasks" },
	{ 0 },
};
static const struct column person_columns[] = {
	{ "Person", "person" },
	{ ">Commands at work", "commands" },
	{ ">At most", "commands_max", cell_max },
	{ 0 },
};

/* Each row has its limit; 0 of the server is none. */
static void limit_put(const cJSON *answer, const char *list, const char *limit)
{
	long long max = number_of(answer, limit);
	cJSON *row;

	cJSON_ArrayForEach(row, json_get(answer, list)) {
		if (max > 0)
			cJSON_AddNumberToObject(row, limit, (double)max);
	}
}

static int quota_show(struct asked *q)
{
	const char *project = word(q, 0);
	struct online o = { 0 };
	cJSON *answer = NULL, *rows;
	int code = online_open(q->cli, &o);

	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/quotas", NULL, &answer);
	rows = cJSON_GetObjectItemCaseSensitive(answer, "projects");
	for (int i = cJSON_GetArraySize(rows) - 1; project && i >= 0; i--)
		if (strcmp(text_of(cJSON_GetArrayItem(rows, i), "project"), project) != 0)
			cJSON_DeleteItemFromArray(rows, i);
	if (code == CLI_OK && project && cJSON_GetArraySize(rows) == 0)
		code = cli_fail(CLI_NOT_FOUND, "there is no project %s", project);
	if (code == CLI_OK && q->cli->json)
		code = print_json(answer);
	else if (code == CLI_OK) {
		limit_put(answer, "projects", "unfinished_max");
		limit_put(answer, "people", "commands_max");
		rows_show(project_columns, rows);
		if (!project && cJSON_GetArraySize(json_get(answer, "people")) > 0) {
			fputc('\n', stdout);
			rows_show(person_columns, json_get(answer, "people"));
		}
	}
	cJSON_Delete(answer);
	online_close(&o);
	return code;
}

const struct verb verb_quota_show = { quota_show, NULL, 0, 1 };
const struct verb verb_quota_set = { quota_set, NULL, 2, 2, .prepare = quota_words };
