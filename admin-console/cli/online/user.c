/* People: who may sign in, and what they may do. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-console/cli/online/online.h"
#include "util/buf.h"
#include "util/json_in.h"

struct asked {
	struct words words;
	cJSON *body;
	bool password;
};

enum {
	KEY_ROLE = 256,
	KEY_RIGHT,
	KEY_MAIL,
	KEY_PHONE,
	KEY_CHAT,
	KEY_FULL_NAME,
	KEY_DISABLE,
	KEY_ENABLE,
	KEY_PASSWORD,
	KEY_SOURCE
};

static const struct argp_option options[] = {
	{ "role", KEY_ROLE, "ROLE", 0, "viewer, developer, operator, admin or none", 0 },
	{ "project", 'p', "PROJECT", 0,
	  "may change this one; again for more, * for all, '' for none", 0 },
	{ "right", KEY_RIGHT, "RIGHT", 0, "backfill, force-success; again for both, '' for none",
	  0 },
	{ "full-name", KEY_FULL_NAME, "TEXT", 0, "as people call him", 0 },
	{ "mail", KEY_MAIL, "ADDRESS", 0, "where alerts go", 0 },
	{ "phone", KEY_PHONE, "NUMBER", 0, "for people on call", 0 },
	{ "chat", KEY_CHAT, "TYPE:CHANNEL", 0, "where the owner of a task is told besides", 0 },
	{ "disable", KEY_DISABLE, NULL, 0, "may not sign in; sessions end", 0 },
	{ "enable", KEY_ENABLE, NULL, 0, "may again", 0 },
	{ "password", KEY_PASSWORD, NULL, 0, "ask for a new password; sessions end", 0 },
	{ "source", KEY_SOURCE, "local|ldap|oidc", 0, "who says that it is he; sessions end", 0 },
	{ 0 },
};

static void put_text(struct asked *q, const char *key, const char *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(q->body, key);
	cJSON_AddStringToObject(q->body, key, value);
}

/* One more of a list; '' begins it, so that it can be made empty. */
static void put_item(struct asked *q, const char *key, const char *value)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(q->body, key);

	if (list == NULL)
		list = cJSON_AddArrayToObject(q->body, key);
	if (*value != '\0')
		cJSON_AddItemToArray(list, cJSON_CreateString(value));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *q = state->input;

	switch (key) {
	case KEY_ROLE:
		put_text(q, "role", arg);
		return 0;
	case 'p':
		put_item(q, "projects", arg);
		return 0;
	case KEY_RIGHT:
		put_item(q, "rights", arg);
		return 0;
	case KEY_FULL_NAME:
		put_text(q, "full_name", arg);
		return 0;
	case KEY_MAIL:
		put_text(q, "mail", arg);
		return 0;
	case KEY_PHONE:
		put_text(q, "phone", arg);
		return 0;
	case KEY_CHAT:
		put_text(q, "chat", arg);
		return 0;
	case KEY_DISABLE:
	case KEY_ENABLE:
		cJSON_DeleteItemFromObjectCaseSensitive(q->body, "disabled");
		cJSON_AddBoolToObject(q->body, "disabled", key == KEY_DISABLE);
		return 0;
	case KEY_SOURCE:
		put_text(q, "source", arg);
		return 0;
	case KEY_PASSWORD:
		q->password = true;
		return 0;
	case ARGP_KEY_ARG:
		words_add(&q->words, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- list --- */

static void print(const cJSON *users)
{
	struct table t;
	const cJSON *u;

	table_init(&t, "User|Role|Projects|Rights|Name|Mail|Signs in");
	cJSON_ArrayForEach(u, users)
	{
		table_add(&t, text_of(u, "user"));
		table_add(&t, text_of(u, "role"));
		add_list(&t, json_get(u, "projects"), "");
		add_list(&t, json_get(u, "rights"), "");
		table_add(&t, text_of(u, "full_name"));
		table_add(&t, text_of(u, "mail"));
		table_add(&t, json_true(u, "disabled")       ? "disabled"
		              : json_true(u, "has_password") ? "yes"
		                                             : "no password");
	}
	table_show(&t);
}

int cmd_user_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, NULL);
	int code = online_open(cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/users", NULL, &root);
	if (code == CLI_OK && cli->json)
		code = print_json(json_get(root, "users"));
	else if (code == CLI_OK)
		print(json_get(root, "users"));
	cJSON_Delete(root);
	online_close(&o);
	return code;
}

/* --- changes --- */

static int one_name(struct cli *cli, const struct words *words)
{
	if (words->n != 1)
		return cli_fail(CLI_USAGE, "usage: sirdar %s %s", cli->command->name,
		                cli->command->args);
	return CLI_OK;
}

/* Asked twice of a terminal's user, once of a script. */
static int password_new(char *ret, size_t size)
{
	char again[520] = "";
	int code = CLI_OK;

	if (!password_ask("New password", ret, size))
		return cli_fail(CLI_USAGE, "no password");
	if (isatty(STDIN_FILENO) &&
	    (!password_ask("Once more", again, sizeof(again)) || strcmp(again, ret) != 0))
		code = cli_fail(CLI_USAGE, "these are two passwords");
	explicit_bzero(again, sizeof(again));
	return code;
}

int cmd_user_set(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = options, .parser = parse };
	struct asked q = { .body = cJSON_CreateObject() };
	struct online o = { 0 };
	char password[520] = "";
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, &q);
	int code = one_name(cli, &q.words);
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK && q.password)
		code = password_new(password, sizeof(password));
	if (code == CLI_OK) {
		cJSON_AddStringToObject(q.body, "user", q.words.items[0]);
		if (q.password)
			cJSON_AddStringToObject(q.body, "password", password);
		code = online_call(&o, "POST", "/api/v1/users", q.body, &root);
	}
	if (code == CLI_OK && cli->json)
		code = print_json(root);
	explicit_bzero(password, sizeof(password));
	cJSON_Delete(root);
	cJSON_Delete(q.body);
	words_done(&q.words);
	online_close(&o);
	return code;
}

int cmd_user_remove(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .parser = parse };
	struct asked q = { 0 };
	struct online o = { 0 };
	struct buf path;
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, &q);
	int code = one_name(cli, &q.words);
	buf_init(&path);
	buf_puts(&path, "/api/v1/users/");
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK) {
		path_part(&path, q.words.items[0]);
		code = online_call(&o, "DELETE", buf_str(&path), NULL, &root);
	}
	if (code == CLI_OK && cli->json)
		code = print_json(root);
	cJSON_Delete(root);
	buf_done(&path);
	words_done(&q.words);
	online_close(&o);
	return code;
}

int cmd_passwd(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { 0 };
	char old[520] = "", password[520] = "";
	cJSON *body = cJSON_CreateObject(), *root = NULL;
	struct online o = { 0 };

	cli_parse(cli, &own, argc, argv, NULL);
	int code = online_open(cli, &o);
	if (code == CLI_OK && !password_ask("Present password", old, sizeof(old)))
		code = cli_fail(CLI_USAGE, "no password");
	if (code == CLI_OK)
		code = password_new(password, sizeof(password));
	if (code == CLI_OK) {
		cJSON_AddStringToObject(body, "old", old);
		cJSON_AddStringToObject(body, "new", password);
		code = online_call(&o, "POST", "/api/v1/password", body, &root);
	}
	explicit_bzero(old, sizeof(old));
	explicit_bzero(password, sizeof(password));
	cJSON_Delete(root);
	cJSON_Delete(body);
	online_close(&o);
	return code;
}
