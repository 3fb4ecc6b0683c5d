/* Alerts and silences, channels and rules: who was told of what, and who is not to be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "sched/when.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/json_in.h"

struct asked {
	struct words words;
	const char *state, *kind, *project, *workflow, *limit, *note;
	const char *task, *from, *until, *reason;
	long seconds; /* --for */
	bool all, unacked;
};

enum { KEY_KIND = 256, KEY_WORKFLOW, KEY_TASK, KEY_NOTE, KEY_UNTIL, KEY_FOR, KEY_REASON, KEY_NEW };

static const struct argp_option list_options[] = {
	{ "state", 's', "STATE", 0, "open or ended", 0 },
	{ "kind", KEY_KIND, "WORD", 0, "failed, late, broker_lost ...", 0 },
	{ "project", 'p', "PROJECT", 0, "only of this one", 0 },
	{ "workflow", KEY_WORKFLOW, "PROJECT/WORKFLOW", 0, "only of this one", 0 },
	{ "since", 'f', "T", 0, "those that began then or later", 0 },
	{ "unacknowledged", KEY_NEW, NULL, 0, "only those that nobody has acknowledged", 0 },
	{ "limit", 'n', "N", 0, "rows, default 50", 0 },
	{ 0 },
};
static const struct argp_option ack_options[] = {
	{ "note", KEY_NOTE, "TEXT", 0, "what you know of it", 0 },
	{ 0 },
};
static const struct argp_option silence_options[] = {
	{ "project", 'p', "PROJECT", 0, "of all in it", 0 },
	{ "workflow", KEY_WORKFLOW, "PROJECT/WORKFLOW", 0, "of this one", 0 },
	{ "task", KEY_TASK, "PROJECT/WORKFLOW/TASK", 0, "of this one", 0 },
	{ "kind", KEY_KIND, "WORD", 0, "only failed, late, broker_lost ...", 0 },
	{ "from", 'f', "T", 0, "from then on, default now", 0 },
	{ "until", KEY_UNTIL, "T", 0, "until then", 0 },
	{ "for", KEY_FOR, "TIME", 0, "for so long: 90s, 30m, 2h, 7d", 0 },
	{ "reason", KEY_REASON, "TEXT", 0, "what others read who hear nothing", 0 },
	{ "all", 'a', NULL, 0, "those that are over too", 0 },
	{ 0 },
};

/* "2h" in seconds; -1: it is none. */
static long span_of(const char *text)
{
	static const struct {
		char unit;
		long seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *rest = NULL;
	long n = strtol(text, &rest, 10);

	for (size_t i = 0; rest > text && n > 0 && n < 1000000 && i < 4; i++)
		if (rest[0] == units[i].unit && rest[1] == '\0')
			return n * units[i].seconds;
	return -1;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *q = state->input;
	const struct {
		int key;
		const char **to;
	} texts[] = { { 's', &q->state },       { KEY_KIND, &q->kind },
		      { 'p', &q->project },     { KEY_WORKFLOW, &q->workflow },
		      { 'n', &q->limit },       { KEY_NOTE, &q->note },
		      { KEY_TASK, &q->task },   { 'f', &q->from },
		      { KEY_UNTIL, &q->until }, { KEY_REASON, &q->reason } };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].key == key) {
			*texts[i].to = arg;
			return 0;
		}
	switch (key) {
	case KEY_FOR:
		q->seconds = span_of(arg);
		if (q->seconds < 0)
			argp_error(state, "--for %s: want a number and s, m, h or d", arg);
		return 0;
	case KEY_NEW:
		q->unacked = true;
		return 0;
	case 'a':
		q->all = true;
		return 0;
	case ARGP_KEY_ARG:
		words_add(&q->words, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int begin(struct cli *cli, const struct argp_option *options, int argc, char **argv,
                 struct asked *q, size_t least, size_t most, struct online *o)
{
	const struct argp own = { .options = options, .parser = parse };

	cli_parse(cli, &own, argc, argv, q);
	if (q->words.n < least || q->words.n > most)
		return cli_fail(CLI_USAGE, "usage: sirdar %s %s", cli->command->name,
		                cli->command->args);
	return online_open(cli, o);
}

static int end(struct online *o, struct asked *q, cJSON *root, int code)
{
	cJSON_Delete(root);
	words_done(&q->words);
	online_close(o);
	return code;
}

/* --- alerts -------------------------------------------------------------------------- */

/* "mail:me@example.org sent, webhook:team waiting (500: no)" */
static void put_told(struct table *t, const cJSON *list)
{
	struct buf text;
	const cJSON *v;

	buf_init(&text);
	cJSON_ArrayForEach(v, list)
	{
		buf_printf(&text, "%s%s %s", text.len ? ", " : "", text_of(v, "to"),
		           text_of(v, "state"));
		if (*text_of(v, "error") != '\0')
			buf_printf(&text, " (%.60s)", text_of(v, "error"));
	}
	table_add(t, buf_str(&text));
	buf_done(&text);
}

static void print_alerts(const cJSON *items)
{
	struct table t;
	const cJSON *a;

	table_init(&t, ">No.|Since|Severity|Kind|Subject|Run date|State|Acknowledged|Told");
	cJSON_ArrayForEach(a, items)
	{
		table_add(&t, text_of(a, "id"));
		table_add(&t, time_of(a, "since"));
		table_add(&t, text_of(a, "severity"));
		table_add(&t, text_of(a, "kind"));
		table_add(&t, text_of(a, "subject"));
		table_add(&t, date_of(a, "run_date"));
		table_add(&t, text_of(a, "state"));
		table_add(&t, text_of(json_get(a, "acknowledged"), "by"));
		put_told(&t, json_get(a, "told"));
	}
	table_show(&t);
}

int cmd_alert_list(struct cli *cli, int argc, char **argv)
{
	struct asked q = { .limit = "50" };
	struct online o = { 0 };
	cJSON *root = NULL;
	struct buf path;
	int code = begin(cli, list_options, argc, argv, &q, 0, 0, &o);

	buf_init(&path);
	buf_puts(&path, "/api/v1/alerts?order=desc");
	path_arg(&path, "limit", q.limit);
	path_arg(&path, "state", q.state);
	path_arg(&path, "kind", q.kind);
	path_arg(&path, "project", q.project);
	path_arg(&path, "workflow", q.workflow);
	path_arg(&path, "since", q.from);
	path_arg(&path, "acknowledged", q.unacked ? "false" : NULL);
	if (code == CLI_OK)
		code = online_call(&o, "GET", buf_str(&path), NULL, &root);
	if (code == CLI_OK && cli->json)
		code = print_json(json_get(root, "items"));
	else if (code == CLI_OK)
		print_alerts(json_get(root, "items"));
	buf_done(&path);
	return end(&o, &q, root, code);
}

/* One call for each word; `tail` follows it in the path. */
static int call_each(struct online *o, const struct asked *q, const char *method, const char *head,
                     const char *tail, const cJSON *body, const char *done)
{
	int code = CLI_OK;

	for (size_t i = 0; i < q->words.n && code == CLI_OK; i++) {
		cJSON *root = NULL;
		struct buf path;

		buf_init(&path);
		buf_puts(&path, head);
		path_part(&path, q->words.items[i]);
		buf_puts(&path, tail);
		code = online_call(o, method, buf_str(&path), body, &root);
		if (code == CLI_OK && !o->cli->json)
			printf("%s %s\n", q->words.items[i], done);
		else if (code == CLI_OK)
			code = print_json(root);
		buf_done(&path);
		cJSON_Delete(root);
	}
	return code;
}

int cmd_alert_ack(struct cli *cli, int argc, char **argv)
{
	struct asked q = { 0 };
	struct online o = { 0 };
	cJSON *body = cJSON_CreateObject();
	int code = begin(cli, ack_options, argc, argv, &q, 1, 1000, &o);

	if (q.note != NULL)
		cJSON_AddStringToObject(body, "note", q.note);
	if (code == CLI_OK)
		code = call_each(&o, &q, "POST", "/api/v1/alerts/", "/acknowledge", body,
		                 "acknowledged");
	return end(&o, &q, body, code);
}

/* --- silences ------------------------------------------------------------------------ */

static void print_silences(const cJSON *items)
{
	struct table t;
	const cJSON *s;

	table_init(&t, ">No.|State|Of|Kind|From|Until|By|Reason");
	cJSON_ArrayForEach(s, items)
	{
		const char *of = text_of(s, "task");

		if (*of == '\0')
			of = text_of(s, "workflow");
		if (*of == '\0')
			of = text_of(s, "project");
		table_add(&t, text_of(s, "id"));
		table_add(&t, text_of(s, "state"));
		table_add(&t, of);
		table_add(&t, text_of(s, "kind"));
		table_add(&t, time_of(s, "from"));
		table_add(&t, time_of(s, "until"));
		table_add(&t, text_of(s, "by"));
		table_add(&t, text_of(s, "reason"));
	}
	table_show(&t);
}

int cmd_silence_list(struct cli *cli, int argc, char **argv)
{
	struct asked q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;
	int code = begin(cli, silence_options, argc, argv, &q, 0, 0, &o);

	if (code == CLI_OK)
		code = online_call(&o, "GET", q.all ? "/api/v1/silences?all=1" : "/api/v1/silences",
		                   NULL, &root);
	if (code == CLI_OK && cli->json)
		code = print_json(json_get(root, "silences"));
	else if (code == CLI_OK)
		print_silences(json_get(root, "silences"));
	return end(&o, &q, root, code);
}

static void add_text(cJSON *to, const char *key, const char *value)
{
	if (value != NULL)
		cJSON_AddStringToObject(to, key, value);
}

int cmd_silence_add(struct cli *cli, int argc, char **argv)
{
	struct asked q = { 0 };
	struct online o = { 0 };
	cJSON *body = cJSON_CreateObject(), *root = NULL;
	char until[WHEN_TEXT];
	int code = begin(cli, silence_options, argc, argv, &q, 0, 0, &o);

	if (code == CLI_OK && (q.until != NULL) == (q.seconds > 0))
		code = cli_fail(CLI_USAGE, "sirdar silence add wants one of --until and --for");
	if (q.seconds > 0) {
		when_print(clock_wall_us(&clock_machine) / US_PER_S + q.seconds, until);
		q.until = until;
	}
	add_text(body, "project", q.project);
	add_text(body, "workflow", q.workflow);
	add_text(body, "task", q.task);
	add_text(body, "kind", q.kind);
	add_text(body, "from", q.from);
	add_text(body, "until", q.until);
	add_text(body, "reason", q.reason);
	if (code == CLI_OK)
		code = online_call(&o, "POST", "/api/v1/silences", body, &root);
	if (code == CLI_OK && cli->json)
		code = print_json(root);
	else if (code == CLI_OK)
		printf("silence %s until %s\n", text_of(root, "command"), q.until);
	cJSON_Delete(body);
	return end(&o, &q, root, code);
}

int cmd_silence_remove(struct cli *cli, int argc, char **argv)
{
	static const struct argp_option none[] = { { 0 } };
	struct asked q = { 0 };
	struct online o = { 0 };
	int code = begin(cli, none, argc, argv, &q, 1, 1000, &o);

	if (code == CLI_OK)
		code = call_each(&o, &q, "DELETE", "/api/v1/silences/", "", NULL, "ended");
	return end(&o, &q, NULL, code);
}

/* --- channels, rules ----------------------------------------------------------------- */

static void print_channels(const cJSON *items)
{
	struct table t;
	const cJSON *c;

	table_init(&t, "Name|Kind|>Waiting|Last|How it went");
	cJSON_ArrayForEach(c, items)
	{
		const char *error = text_of(c, "last_error");

		table_add(&t, text_of(c, "name"));
		table_add(&t, text_of(c, "kind"));
		table_add(&t, text_of(c, "queue"));
		table_add(&t, time_of(c, "last_at"));
		table_add(&t, *error != '\0' ? error : json_true(c, "last_ok") ? "well" : "");
	}
	table_show(&t);
}

int cmd_channel_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp_option none[] = { { 0 } };
	struct asked q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;
	int code = begin(cli, none, argc, argv, &q, 0, 0, &o);

	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/channels", NULL, &root);
	if (code == CLI_OK && cli->json)
		code = print_json(json_get(root, "channels"));
	else if (code == CLI_OK)
		print_channels(json_get(root, "channels"));
	return end(&o, &q, root, code);
}

int cmd_channel_test(struct cli *cli, int argc, char **argv)
{
	static const struct argp_option none[] = { { 0 } };
	struct asked q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL, *body = cJSON_CreateObject();
	struct buf path;
	int code = begin(cli, none, argc, argv, &q, 1, 2, &o);

	buf_init(&path);
	if (code == CLI_OK) {
		buf_puts(&path, "/api/v1/channels/");
		path_part(&path, q.words.items[0]);
		buf_puts(&path, "/test");
		if (q.words.n > 1)
			cJSON_AddStringToObject(body, "to", q.words.items[1]);
		code = online_call(&o, "POST", buf_str(&path), body, &root);
	}
	if (code == CLI_OK && cli->json)
		code = print_json(root);
	else if (code == CLI_OK && json_true(root, "taken"))
		printf("%s took it\n", q.words.items[0]);
	if (code == CLI_OK && !json_true(root, "taken"))
		code = cli_fail(CLI_REFUSED, "%s: %s", q.words.items[0], text_of(root, "error"));
	buf_done(&path);
	cJSON_Delete(body);
	return end(&o, &q, root, code);
}

static void print_rules(const cJSON *tasks)
{
	struct table t;
	const cJSON *task, *r;

	table_init(&t, "Task|When|Told|>After s|By the rule of");
	cJSON_ArrayForEach(task, tasks)
	{
		cJSON_ArrayForEach(r, json_get(task, "rules"))
		{
			table_add(&t, text_of(task, "task"));
			table_add(&t, text_of(r, "kind"));
			table_add(&t, text_of(r, "to"));
			table_add(&t, text_of(r, "after_s"));
			table_add(&t, text_of(r, "from"));
		}
	}
	table_show(&t);
}

int cmd_rule_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp_option none[] = { { 0 } };
	struct asked q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;
	struct buf path;
	int code = begin(cli, none, argc, argv, &q, 1, 1, &o);

	buf_init(&path);
	if (code == CLI_OK) {
		buf_puts(&path, "/api/v1/rules");
		path_arg(&path, "workflow", q.words.items[0]);
		code = online_call(&o, "GET", buf_str(&path), NULL, &root);
	}
	if (code == CLI_OK && cli->json)
		code = print_json(json_get(root, "tasks"));
	else if (code == CLI_OK)
		print_rules(json_get(root, "tasks"));
	buf_done(&path);
	return end(&o, &q, root, code);
}
