/* sirdar forecast, sirdar baselines: when the unfinished will be done, and what was promised. */
#include <stdlib.h>

#include "admin-console/cli/online/ask.h"
#include "admin-console/cli/online/watch.h"
#include "util/alloc.h"
#include "util/json_in.h"

static void add_time(struct table *t, const cJSON *e, const char *key, const char *none)
{
	table_add(t, text_of(e, key)[0] ? time_of(e, key) : none);
}

/* What stands in the way for good: one line for each instance that it stops. */
static void shut_print(const cJSON *items, const char *key)
{
	const cJSON *e;
	bool first = true;

	cJSON_ArrayForEach(e, items) {
		const cJSON *shut = json_get(e, "cannot_start"), *who = key ? json_get(e, key) : e;
		if (!cJSON_IsObject(shut) || !cJSON_IsObject(who))
			continue;
		if (first)
			puts("\nCannot start as things are:");
		first = false;
		printf("%s %s: %s\n", text_of(who, "task"), label_in(who), text_of(shut, "line"));
	}
}

static void rows_print(const cJSON *items)
{
	struct table t;
	const cJSON *e;

	table_init(&t, "Task|Run date|State|Start|End|End, slow|>Runs|Confidence");
	cJSON_ArrayForEach(e, items) {
		const char *none = text_of(e, "skipped")[0]                      ? "skipped"
		                   : cJSON_IsObject(json_get(e, "cannot_start")) ? "cannot start"
		                                                                 : "never";
		table_add(&t, text_of(e, "task"));
		table_add(&t, label_in(e));
		table_add(&t, state_in(e, "state"));
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
	cJSON_ArrayForEach(e, items) {
		const cJSON *cause = json_get(e, "cause");
		bool over = json_true(e, "over");
		char *why = cJSON_IsObject(cause)
		                    ? mem_fmt("%s %s, %s", text_of(cause, "task"), label_in(cause),
		                              state_in(cause, "state"))
		                    : mem_str("");
		table_add(&t, text_of(e, "task"));
		table_add(&t, label_in(e));
		table_add(&t, text_of(e, "state"));
		table_add(&t, time_of(e, "committed"));
		add_time(&t, e, "expected", over ? "done" : "never");
		add_time(&t, e, "expected_slow", over ? "done" : "never");
		table_add(&t, why);
		free(why);
	}
	table_show(&t);
}

static int baselines_show(struct online *o, const struct asked *q, const cJSON *root)
{
	const cJSON *items = json_get(root, q->verb->member);

	(void)o;
	baselines_print(items);
	shut_print(items, "cause");
	return CLI_OK;
}

static int forecast_show(struct online *o, const struct asked *q, const cJSON *root)
{
	const cJSON *path = json_get(root, "critical_path"),
		    *promised = json_get(root, "baselines");

	(void)o;
	(void)q;
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
	return CLI_OK;
}

static const struct opt options[] = {
	{ "date", 'd', "DATE", "that day instead of today, in each task's own zone", TAKE_QUERY,
	  "date" },
	OPT_WATCH("instances"),
	{ 0 },
};

const struct verb verb_forecast = {
	ask, options, 1, 1, .call = "GET /api/v1/forecast", .words = "name", .show = forecast_show
};
const struct verb verb_baselines = { ask, options, .call = "GET /api/v1/baselines",
	                             .member = "baselines", .show = baselines_show };
