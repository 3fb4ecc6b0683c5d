/* status, stats, retention: figures. Live ones come from the server's memory, others from the
 * statistics it keeps by day. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "util/buf.h"
#include "util/json_in.h"

struct figures {
	struct words words;
	const char *days;
	bool dry_run;
};

static const struct argp_option options[] = {
	{ "days", 'd', "N", 0, "so many days: stats, default 7; retention, default 90", 0 },
	{ "dry-run", 'D', NULL, 0, "retention: only say what would go", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct figures *q = state->input;

	switch (key) {
	case 'd':
		q->days = arg;
		return 0;
	case 'D':
		q->dry_run = true;
		return 0;
	case ARGP_KEY_ARG:
		words_add(&q->words, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp own = { .options = options, .parser = parse };

/* --- status --- */

static void print_counts(const char *title, const cJSON *states)
{
	const cJSON *e;
	bool any = false;

	cJSON_ArrayForEach(e, states)
	{
		if (e->valuedouble <= 0)
			continue;
		if (!any)
			printf("%s\n", title);
		any = true;
		printf("  %-18s %.0f\n", e->string, e->valuedouble);
	}
}

int cmd_status(struct cli *cli, int argc, char **argv)
{
	struct figures q = { 0 };
	struct online o = { 0 };
	cJSON *server = NULL, *ends = NULL, *all;

	cli_parse(cli, &own, argc, argv, &q);
	int code = online_open(cli, &o);
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
		printf("sirdar %s at %s, epoch %s, %s tasks, %s brokers%s\n",
		       text_of(server, "version"), o.base, text_of(server, "epoch"),
		       text_of(server, "tasks"), text_of(server, "brokers"),
		       json_true(server, "recovering") ? ", recovering" : "");
		print_counts("unfinished:", json_get(server, "instances"));
		print_counts("ended since yesterday:", json_get(json_get(ends, "total"), "states"));
	}
	cJSON_Delete(server);
	cJSON_Delete(ends);
	words_done(&q.words);
	online_close(&o);
	return code;
}

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

static void print_stats(const cJSON *root)
{
	const cJSON *day;

	printf("%-10s %9s %9s %9s %9s %7s %11s %11s %11s\n", "DAY", "SUCC", "FAILED", "NOT RUN",
	       "RETRIES", "RATE", "P50 s", "P90 s", "P99 s");
	cJSON_ArrayForEach(day, json_get(root, "days")) put_line(text_of(day, "day"), day);
	put_line("all", json_get(root, "total"));
}

int cmd_stats(struct cli *cli, int argc, char **argv)
{
	struct figures q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;
	struct buf path;

	cli_parse(cli, &own, argc, argv, &q);
	if (q.words.n > 1)
		return cli_fail(CLI_USAGE, "usage: sirdar stats [TASK] [--days N]");
	int code = online_open(cli, &o);
	buf_init(&path);
	buf_puts(&path, "/api/v1/statistics");
	if (q.words.n) {
		buf_putc(&path, '/');
		path_part(&path, q.words.items[0]);
	}
	path_arg(&path, "days", q.days);
	if (code == CLI_OK)
		code = online_call(&o, "GET", buf_str(&path), NULL, &root);
	if (root && cli->json)
		code = print_json(root);
	else if (root)
		print_stats(root);
	buf_done(&path);
	cJSON_Delete(root);
	words_done(&q.words);
	online_close(&o);
	return code;
}

/* --- retention --- */

static void print_logs(const cJSON *logs)
{
	printf("of the jobs' logs before %s: those of %s instances, %s bytes; of %s instances, %s "
	       "bytes%s\n",
	       time_of(logs, "before"), text_of(logs, "instances"), text_of(logs, "bytes"),
	       text_of(logs, "instances_all"), text_of(logs, "bytes_all"),
	       cJSON_IsTrue(json_get(logs, "complete")) ? "" : " (as far as was counted)");
}

int cmd_retention(struct cli *cli, int argc, char **argv)
{
	struct figures q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL, *logs = NULL;
	struct buf path;

	cli_parse(cli, &own, argc, argv, &q);
	if (q.words.n || !q.dry_run)
		return cli_fail(CLI_USAGE,
		                "usage: sirdar retention --dry-run [--days N]; the server drops by "
		                "itself what is older than its retention_days");
	int code = online_open(cli, &o);
	buf_init(&path);
	buf_puts(&path, "/api/v1/retention");
	path_arg(&path, "days", q.days);
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
	words_done(&q.words);
	online_close(&o);
	return code;
}
