/* sirdar forecast, sirdar baselines: when the unfinished will be done, and what was promised. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_in.h"

struct options {
	struct words words;
	const char *date;
};

static const struct argp_option options[] = {
	{ "date", 'd', "DATE", 0, "that day instead of today, in each task's own zone", 0 }, { 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *q = state->input;

	(void)state;
	switch (key) {
	case 'd':
		q->date = arg;
		return 0;
	case ARGP_KEY_ARG:
		words_add(&q->words, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void add_time(struct table *t, const cJSON *e, const char *key, const char *none)
{
	table_add(t, text_of(e, key)[0] ? time_of(e, key) : none);
}

/* What stands in the way for good: one line for each instance that it stops. */
static void shut_print(const cJSON *items, const char *key)
{
	const cJSON *e;
	bool first = true;

	cJSON_ArrayForEach(e, items)
	{
		const cJSON *shut = json_get(e, "cannot_start"), *who = key ? json_get(e, key) : e;
		if (!cJSON_IsObject(shut) || !cJSON_IsObject(who))
			continue;
		if (first)
			puts("\nCannot start as things are:");
		first = false;
		printf("%s %s: %s\n", text_of(who, "task"), time_of(who, "run_date"),
		       text_of(shut, "line"));
	}
}

static void rows_print(const cJSON *items)
{
	struct table t;
	const cJSON *e;

	table_init(&t, "Task|Run date|State|Start|End|End, slow|>Runs|Confidence");
	cJSON_ArrayForEach(e, items)
	{
		const char *none = text_of(e, "skipped")[0]                      ? "skipped"
		                   : cJSON_IsObject(json_get(e, "cannot_start")) ? "cannot start"
		                                                                 : "never";
		table_add(&t, text_of(e, "task"));
		table_add(&t, date_of(e, "run_date"));
		table_add(&t, text_of(e, "state"));
		add_time(&t, e, "start", none);
		add_time(&t, e, "end", none);
		add_time(&t, e, "end_slow", none);
		table_add(&t, text_of(e, "runs"));
		table_add(&t, text_of(e, "confidence"));
	}
	table_show(&t);
}

static void baselines_print(const cJSON *items)
{
	struct table t;
	const cJSON *e;

	table_init(&t, "Task|Run date|Baseline|Committed|Expected|Slow|Because of");
	cJSON_ArrayForEach(e, items)
	{
		const cJSON *cause = json_get(e, "cause");
		bool over = json_true(e, "over");
		char *why = cJSON_IsObject(cause)
		                    ? mem_fmt("%s %s, %s", text_of(cause, "task"),
		                              date_of(cause, "run_date"), text_of(cause, "state"))
		                    : mem_str("");
		table_add(&t, text_of(e, "task"));
		table_add(&t, date_of(e, "run_date"));
		table_add(&t, text_of(e, "state"));
		table_add(&t, time_of(e, "committed"));
		add_time(&t, e, "expected", over ? "done" : "never");
		add_time(&t, e, "expected_slow", over ? "done" : "never");
		table_add(&t, why);
		free(why);
	}
	table_show(&t);
}

static void promised_show(const cJSON *items)
{
	baselines_print(items);
	shut_print(items, "cause");
}

static void forecast_show(const cJSON *root)
{
	const cJSON *path = json_get(root, "critical_path"),
		    *promised = json_get(root, "baselines");

	rows_print(json_get(root, "instances"));
	if (number_of(root, "instances_more") > 0)
		printf("and %lld more\n", number_of(root, "instances_more"));
	shut_print(json_get(root, "instances"), NULL);
	if (cJSON_GetArraySize(path) > 0) {
		puts("\nCritical path, the last first:");
		rows_print(path);
	}
	if (cJSON_GetArraySize(promised) > 0) {
		puts("");
		baselines_print(promised);
	}
}

int cmd_forecast(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = options, .parser = parse };
	bool only = strcmp(cli->command->name, "baselines") == 0;
	struct options q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;
	struct buf path;

	cli_parse(cli, &own, argc, argv, &q);
	buf_init(&path);
	buf_puts(&path, only ? "/api/v1/baselines" : "/api/v1/forecast");
	path_arg(&path, "name", q.words.n ? q.words.items[0] : NULL);
	path_arg(&path, "date", q.date);
	int code = q.words.n == !only ? online_open(cli, &o)
	                              : cli_fail(CLI_USAGE, "usage: sirdar %s %s",
	                                         cli->command->name, cli->command->args);
	if (code == CLI_OK)
		code = online_call(&o, "GET", buf_str(&path), NULL, &root);
	if (root && cli->json)
		code = print_json(only ? json_get(root, "baselines") : root);
	else if (root && only)
		promised_show(json_get(root, "baselines"));
	else if (root)
		forecast_show(root);
	cJSON_Delete(root);
	buf_done(&path);
	words_done(&q.words);
	online_close(&o);
	return code;
}
