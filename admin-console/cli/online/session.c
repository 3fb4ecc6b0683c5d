/* Sessions: where people are signed in on the web server that is asked, and the end of that. */
#include <stdio.h>

#include "admin-console/cli/online/online.h"
#include "util/buf.h"
#include "util/json_in.h"

struct asked {
	struct words words;
	const char *user;
	bool all;
};

enum { KEY_USER = 256, KEY_ALL };

static const struct argp_option list_options[] = {
	{ "user", KEY_USER, "NAME", 0, "whose; one's own without it", 0 },
	{ "all", KEY_ALL, NULL, 0, "everybody's", 0 },
	{ 0 },
};

static const struct argp_option end_options[] = {
	{ "user", KEY_USER, "NAME", 0, "all of this person", 0 },
	{ "all", KEY_ALL, NULL, 0, "all one's own", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *q = state->input;

	switch (key) {
	case KEY_USER:
		q->user = arg;
		return 0;
	case KEY_ALL:
		q->all = true;
		return 0;
	case ARGP_KEY_ARG:
		words_add(&q->words, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* As the cgi named them of what they said of themselves. */
static void print(const cJSON *sessions)
{
	struct table t;
	const cJSON *s;

	table_init(&t, "Id|User|Via|Since|Seen|Address|Browser|System");
	cJSON_ArrayForEach(s, sessions)
	{
		table_add(&t, text_of(s, "id"));
		table_add(&t, text_of(s, "user"));
		table_add(&t, text_of(s, "via"));
		table_add(&t, time_of(s, "since"));
		table_add(&t, time_of(s, "seen"));
		table_add(&t, text_of(s, "address"));
		table_add(&t, text_of(s, "browser"));
		table_add(&t, text_of(s, "system"));
	}
	table_show(&t);
}

static void list_path(const struct asked *q, struct buf *path)
{
	buf_puts(path, "/api/v1/sessions");
	path_arg(path, "user", q->user);
	path_arg(path, "all", q->all ? "true" : NULL);
}

static void end_path(const struct asked *q, struct buf *path)
{
	buf_puts(path, q->user != NULL ? "/api/v1/users/" : "/api/v1/sessions");
	if (q->user != NULL) {
		path_part(path, q->user);
		buf_puts(path, "/sessions");
	} else if (!q->all) {
		buf_puts(path, "/");
		path_part(path, q->words.items[0]);
	}
}

/* One of an id, --user and --all ends; one of the options at most narrows a list. */
static int check(const struct cli *cli, const struct asked *q, size_t least)
{
	size_t said = q->words.n + (q->user != NULL) + q->all;

	if (said >= least && said <= 1 && (least == 1 || q->words.n == 0))
		return CLI_OK;
	return cli_fail(CLI_USAGE, "usage: sirdar %s %s", cli->command->name, cli->command->args);
}

int cmd_session_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = list_options, .parser = parse };
	struct asked q = { 0 };
	struct online o = { 0 };
	struct buf path;
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, &q);
	int code = check(cli, &q, 0);
	buf_init(&path);
	list_path(&q, &path);
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET", buf_str(&path), NULL, &root);
	if (code == CLI_OK && cli->json)
		code = print_json(json_get(root, "sessions"));
	else if (code == CLI_OK)
		print(json_get(root, "sessions"));
	cJSON_Delete(root);
	buf_done(&path);
	words_done(&q.words);
	online_close(&o);
	return code;
}

int cmd_session_end(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = end_options, .parser = parse };
	struct asked q = { 0 };
	struct online o = { 0 };
	struct buf path;
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, &q);
	int code = check(cli, &q, 1);
	buf_init(&path);
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK) {
		end_path(&q, &path);
		code = online_call(&o, "DELETE", buf_str(&path), NULL, &root);
	}
	if (code == CLI_OK && cli->json)
		code = print_json(root);
	else if (code == CLI_OK)
		printf("ended: %lld\n", number_of(root, "ended"));
	cJSON_Delete(root);
	buf_done(&path);
	words_done(&q.words);
	online_close(&o);
	return code;
}
