/* Target servers: where jobs work, and what they need to get in. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-console/cli/documents/targets.h"
#include "admin-console/cli/online/online.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_in.h"

enum { PASSWORD_MAX = 4097 };

struct question {
	struct words words;
	cJSON *body;
	bool password;
	const char *password_file;
};

enum {
	KEY_KIND = 256,
	KEY_HOST,
	KEY_PORT,
	KEY_USER,
	KEY_DATABASE,
	KEY_EXTRA,
	KEY_CONCURRENCY,
	KEY_PASSWORD,
	KEY_PASSWORD_FILE,
	KEY_NO_PASSWORD
};

static const struct argp_option options[] = {
	{ "kind", KEY_KIND, "KIND", 0,
	  "mysql, mariadb, postgresql, sqlite, http, hive, presto, ssh or other", 0 },
	{ "host", KEY_HOST, "HOST", 0, "where it is; of http an address, of sqlite a file", 0 },
	{ "port", KEY_PORT, "PORT", 0, "0: none", 0 },
	{ "user", KEY_USER, "USER", 0, "who signs in there", 0 },
	{ "database", KEY_DATABASE, "NAME", 0, "what is in use there", 0 },
	{ "extra", KEY_EXTRA, "KEY=VALUE", 0, "more; again for more, '' for none", 0 },
	{ "concurrency", KEY_CONCURRENCY, "N", 0,
	  "instances that use it at a time, over all tasks; 0: no limit", 0 },
	{ "project", 'p', "PROJECT", 0, "may use it; again for more, * for all", 0 },
	{ "password", KEY_PASSWORD, NULL, 0, "ask for its password, or read it from a pipe", 0 },
	{ "password-file", KEY_PASSWORD_FILE, "FILE", 0, "the password is the file's first line",
	  0 },
	{ "no-password", KEY_NO_PASSWORD, NULL, 0, "it has none any more", 0 },
	{ 0 },
};

static void put_text(struct question *q, const char *key, const char *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(q->body, key);
	cJSON_AddStringToObject(q->body, key, value);
}

static error_t put_number(struct question *q, const char *key, const char *value,
                          struct argp_state *state)
{
	char *end = NULL;
	long n = strtol(value, &end, 10);

	if (end == value || *end != '\0')
		argp_error(state, "'%s' is no number", value);
	cJSON_DeleteItemFromObjectCaseSensitive(q->body, key);
	cJSON_AddNumberToObject(q->body, key, (double)n);
	return 0;
}

/* One more; '' begins them, so that there can be none. */
static error_t put_extra(struct question *q, char *arg, struct argp_state *state)
{
	cJSON *all = cJSON_GetObjectItemCaseSensitive(q->body, "extra");
	char *equals = strchr(arg, '=');

	if (all == NULL)
		all = cJSON_AddObjectToObject(q->body, "extra");
	if (*arg == '\0')
		return 0;
	if (equals == NULL || equals == arg) {
		argp_error(state, "--extra wants KEY=VALUE, not '%s'", arg);
		return ARGP_ERR_UNKNOWN;
	}
	*equals = '\0';
	cJSON_DeleteItemFromObjectCaseSensitive(all, arg);
	cJSON_AddStringToObject(all, arg, equals + 1);
	return 0;
}

static void put_project(struct question *q, const char *value)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(q->body, "projects");

	if (list == NULL)
		list = cJSON_AddArrayToObject(q->body, "projects");
	if (*value != '\0')
		cJSON_AddItemToArray(list, cJSON_CreateString(value));
}

static const struct {
	int option;
	const char *member;
} texts[] = { { KEY_KIND, "kind" },
	      { KEY_HOST, "host" },
	      { KEY_USER, "user" },
	      { KEY_DATABASE, "database" } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct question *q = state->input;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (key == texts[i].option) {
			put_text(q, texts[i].member, arg);
			return 0;
		}
	switch (key) {
	case KEY_PORT:
		return put_number(q, "port", arg, state);
	case KEY_CONCURRENCY:
		return put_number(q, "concurrency", arg, state);
	case KEY_EXTRA:
		return put_extra(q, arg, state);
	case 'p':
		put_project(q, arg);
		return 0;
	case KEY_PASSWORD:
		q->password = true;
		return 0;
	case KEY_PASSWORD_FILE:
		q->password_file = arg;
		return 0;
	case KEY_NO_PASSWORD:
		put_text(q, "password", "");
		return 0;
	case ARGP_KEY_ARG:
		words_add(&q->words, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- list --- */

static void add_where(struct table *t, const cJSON *s)
{
	struct buf text;

	buf_init(&text);
	if (json_text(s, "host") != NULL)
		buf_puts(&text, json_text(s, "host"));
	if (strcmp(text_of(s, "port"), "0") != 0)
		buf_printf(&text, ":%s", text_of(s, "port"));
	if (json_text(s, "database") != NULL)
		buf_printf(&text, "/%s", json_text(s, "database"));
	table_add(t, buf_str(&text));
	buf_done(&text);
}

static void print(const cJSON *servers)
{
	struct table t;
	const cJSON *s;

	table_init(&t, "Server|Kind|Where|User|Password|>At a time|Projects");
	cJSON_ArrayForEach(s, servers)
	{
		table_add(&t, text_of(s, "server"));
		table_add(&t, text_of(s, "kind"));
		add_where(&t, s);
		table_add(&t, text_of(s, "user"));
		table_add(&t, json_true(s, "has_password") ? "kept" : "none");
		table_add(&t, strcmp(text_of(s, "concurrency"), "0") == 0
		                      ? "any"
		                      : text_of(s, "concurrency"));
		if (cJSON_GetArraySize(json_get(s, "projects")) > 0)
			add_list(&t, json_get(s, "projects"), "");
		else
			table_add(&t, "*");
	}
	table_show(&t);
}

int cmd_target_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, NULL);
	int code = online_open(cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/servers", NULL, &root);
	if (code == CLI_OK && cli->json)
		code = print_json(json_get(root, "servers"));
	else if (code == CLI_OK)
		print(json_get(root, "servers"));
	cJSON_Delete(root);
	online_close(&o);
	return code;
}

/* --- changes --- */

int password_of_file(const char *path, char *ret, size_t size)
{
	struct err err = { 0 };
	struct buf text;

	buf_init(&text);
	int r = fs_read_secret(path, size - 1, &text, &err);
	if (r == 0) {
		snprintf(ret, size, "%s", buf_str(&text));
		ret[strcspn(ret, "\r\n")] = '\0';
		explicit_bzero((char *)buf_at(&text), text.len);
	}
	buf_done(&text);
	return r < 0 ? cli_fail(CLI_USAGE, "%s", err.text) : CLI_OK;
}

static int add_password(struct question *q)
{
	char password[PASSWORD_MAX] = "";
	int code = CLI_OK;

	if (q->password_file != NULL)
		code = password_of_file(q->password_file, password, sizeof(password));
	else if (!q->password)
		return CLI_OK;
	else if (!password_ask("Password", password, sizeof(password)))
		code = CLI_USAGE;
	if (code == CLI_OK && password[0] == '\0')
		code = cli_fail(CLI_USAGE, "no password");
	if (code == CLI_OK)
		put_text(q, "password", password);
	explicit_bzero(password, sizeof(password));
	return code;
}

static int one_name(struct cli *cli, const struct words *words)
{
	if (words->n != 1)
		return cli_fail(CLI_USAGE, "usage: sirdar %s %s", cli->command->name,
		                cli->command->args);
	return CLI_OK;
}

static int send(struct online *o, const char *kind, cJSON *args)
{
	struct sending s = { .kind = kind, .args = args };

	return command_send(o, &s);
}

int cmd_target_set(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = options, .parser = parse };
	struct question q = { .body = cJSON_CreateObject() };
	struct online o = { 0 };

	cli_parse(cli, &own, argc, argv, &q);
	int code = one_name(cli, &q.words);
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK)
		code = add_password(&q);
	if (code == CLI_OK) {
		cJSON_AddStringToObject(q.body, "server", q.words.items[0]);
		code = send(&o, "server-set", q.body);
	}
	cJSON_Delete(q.body);
	words_done(&q.words);
	online_close(&o);
	return code;
}

static error_t parse_words(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	words_add(state->input, arg);
	return 0;
}

int cmd_target_remove(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .parser = parse_words };
	struct words words = { 0 };
	struct online o = { 0 };
	cJSON *args = cJSON_CreateObject();

	cli_parse(cli, &own, argc, argv, &words);
	int code = one_name(cli, &words);
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK) {
		cJSON_AddStringToObject(args, "server", words.items[0]);
		code = send(&o, "server-remove", args);
	}
	cJSON_Delete(args);
	words_done(&words);
	online_close(&o);
	return code;
}

int cmd_target_rekey(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { 0 };
	struct online o = { 0 };
	cJSON *args = cJSON_CreateObject();

	cli_parse(cli, &own, argc, argv, NULL);
	int code = online_open(cli, &o);
	if (code == CLI_OK)
		code = send(&o, "server-rekey", args);
	cJSON_Delete(args);
	online_close(&o);
	return code;
}
