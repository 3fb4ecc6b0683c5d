/* status, stats, retention: figures. Live ones come from the server's memory, others from the
 * statistics it keeps by day. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "admin-console/cli/online/watch.h"
#include "util/buf.h"
#include "util/json_in.h"

static const struct opt days_options[] = {
	{ "days", 'd', "N", "so many days, default 7", TAKE_QUERY, "days" },
	{ 0 },
};

static const struct opt retention_options[] = {
	{ "days", 'd', "N", "as if retention_days were this, default 90", TAKE_QUERY, "days" },
	{ "dry-run", 'D', NULL, "only say what would go" },
	{ 0 },
};

/* --- status --- */

static void print_counts(const char *title, const cJSON *states)
{
	const cJSON *e;
	bool any = false;

	cJSON_ArrayForEach(e, states) {
		if (e->valuedouble <= 0)
			continue;
		if (!any)
			printf("%s\n", title);
		any = true;
		printf("  %-18s %.0f\n", word_of_state(e->string), e->valuedouble);
	}
}

static int stats_status(struct asked *q)
{
	const struct cli *cli = q->cli;
	struct online o = { 0 };
	cJSON *server = NULL, *ends = NULL, *all;

	int code = online_open(q->cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/server", NULL, &server);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/statistics?days=1", NULL, &ends);
	if (code == CLI_OK && cli->json) {
		all = cJSON_CreateObject();
		cJSON_AddItemReferenceToObject(all, "server", server);
		cJSON_AddItemReferenceToObject(all, "statistics", ends);
		code = print_json(all);
		cJSON_Delete(all);
	} else if (code == CLI_OK) {
		bool counted = cJSON_IsNumber(json_get(server, "tasks")); /* not of projects */

		printf("sirdar %s at %s, epoch %s, %s%s%s%s\n", text_of(server, "version"), o.base,
		       text_of(server, "epoch"), counted ? plural_of(server, "tasks", "task") : "",
		       counted ? ", " : "", plural_of(server, "brokers", "broker"),
		       json_true(server, "recovering") ? ", recovering" : "");
		reading_say(server);
		print_counts("unfinished:", json_get(server, "instances"));
		print_counts("ended since yesterday:", json_get(json_get(ends, "total"), "states"));
	}
	cJSON_Delete(server);
	cJSON_Delete(ends);
	online_close(&o);
	return code;
}

static const struct opt status_options[] = { OPT_WATCH("instances"), { 0 } };

const struct verb verb_status = { stats_status, status_options, .most = WORDS_NONE };

/* --- stats --- */

static double count_of(const cJSON *day, const char *state)
{
	const cJSON *n = json_get(json_get(day, "states"), state);

	return n ? n->valuedouble : 0;
}

static void put_seconds(const cJSON *day, const char *key)
{
	const cJSON *n = json_get(json_get(day, "duration_us"), key);

	if (n)
		printf(" %11.3f", n->valuedouble / 1e6);
	else
		printf(" %11s", "-");
}

static void put_line(const char *title, const cJSON *day)
{
	const cJSON *rate = json_get(day, "success_permille");

	printf("%-10s %9.0f %9.0f %9.0f %9.0f", title, count_of(day, "Succ"),
	       count_of(day, "StopSchedule"), count_of(day, "Killed") + count_of(day, "Skipped"),
	       count_of(day, "Failed"));
	if (rate)
		printf(" %6.1f%%", rate->valuedouble / 10);
	else
		printf(" %7s", "-");
	put_seconds(day, "p50");
	put_seconds(day, "p90");
	put_seconds(day, "p99");
	putchar('\n');
}

static int stats_show(struct online *o, const struct asked *q, const cJSON *root)
{
	const cJSON *day;

	(void)o;
	(void)q;
	printf("%-10s %9s %9s %9s %9s %7s %11s %11s %11s\n", "DAY", "SUCC", "FAILED", "NOT RUN",
	       "RETRIES", "RATE", "P50 s", "P90 s", "P99 s");
	cJSON_ArrayForEach(day, json_get(root, "days"))
		put_line(text_of(day, "day"), day);
	put_line("all", json_get(root, "total"));
	return CLI_OK;
}

const struct verb verb_stats = {
	ask, days_options, 0, 1, .call = "GET /api/v1/statistics{/}", .show = stats_show
};

/* --- retention --- */

static void print_logs(const cJSON *logs)
{
	printf("of the jobs' logs before %s: those of %s instances, %s bytes; of %s instances, %s "
	       "bytes%s\n",
	       time_of(logs, "before"), text_of(logs, "instances"), text_of(logs, "bytes"),
	       text_of(logs, "instances_all"), text_of(logs, "bytes_all"),
	       cJSON_IsTrue(json_get(logs, "complete")) ? "" : " (as far as was counted)");
}

static int retention(struct asked *q)
{
	const struct cli *cli = q->cli;
	struct online o = { 0 };
	cJSON *root = NULL, *logs = NULL;
	struct buf path;

	if (q->words.n || !given(q, "dry-run"))
		return cli_fail(CLI_USAGE,
		                "usage: sirdar retention --dry-run [--days N]; the server drops by "
		                "itself what is older than its retention_days");
	int code = online_open(q->cli, &o);
	buf_init(&path);
	buf_puts(&path, "/api/v1/retention");
	path_arg(&path, "days", given(q, "days"));
	if (code == CLI_OK)
		code = online_call(&o, "GET", buf_str(&path), NULL, &root);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/retention/logs", NULL, &logs);
	if (root && logs && cli->json) {
		cJSON_AddItemReferenceToObject(root, "logs", logs);
		code = print_json(root);
	} else if (root) {
		printf("before %s: %s instances would go, %s stay\n", time_of(root, "before"),
		       text_of(root, "instances"), text_of(root, "instances_kept"));
		if (number_of(root, "instances"))
			printf("they ended from %s to %s\n", time_of(root, "oldest"),
			       time_of(root, "newest"));
		printf("with about %s events, %s outcomes of commands; about %s of %s bytes\n",
		       text_of(root, "events"), text_of(root, "outcomes"), text_of(root, "bytes"),
		       text_of(root, "bytes_all"));
		if (logs)
			print_logs(logs);
	}
	buf_done(&path);
	cJSON_Delete(root);
	cJSON_Delete(logs);
	online_close(&o);
	return code;
}

const struct verb verb_retention = { retention, retention_options, .most = WORDS_NONE };
