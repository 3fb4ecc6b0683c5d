/* Groups of people, keys of programs, tokens: listed, shown, made, changed, removed. A noun is a
 * row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "util/buf.h"
#include "util/json_in.h"

struct asked {
	struct words words;
	cJSON *body;
};

enum { KEY_ROLE = 256, KEY_RIGHT, KEY_MEMBER, KEY_DESCRIPTION, KEY_SOURCE, KEY_EXTERNAL, KEY_DAYS };

static const struct argp_option group_options[] = {
	{ "role", KEY_ROLE, "ROLE", 0, "viewer, developer, operator, admin or none", 0 },
	{ "project", 'p', "PROJECT", 0, "where; again for more, * for all, '' for none", 0 },
	{ "right", KEY_RIGHT, "RIGHT", 0, "backfill, force-success; again for both, '' for none",
	  0 },
	{ "member", 'm', "USER", 0, "who belongs; again for more, '' for none", 0 },
	{ "description", KEY_DESCRIPTION, "TEXT", 0, "what it is for", 0 },
	{ "source", KEY_SOURCE, "local|ldap|oidc", 0, "also those whom this directory says", 0 },
	{ "external", KEY_EXTERNAL, "TEXT", 0, "what the directory calls it", 0 },
	{ 0 },
};

static const struct argp_option app_options[] = {
	{ "role", KEY_ROLE, "ROLE", 0, "viewer, developer, operator or admin", 0 },
	{ "project", 'p', "PROJECT", 0, "may change this one; again for more, * for all", 0 },
	{ "right", KEY_RIGHT, "RIGHT", 0, "backfill, force-success; again for both", 0 },
	{ "days", KEY_DAYS, "N", 0, "so long; 0: until it is removed", 0 },
	{ 0 },
};

static const struct {
	int key;
	const char *name;
	enum { AS_TEXT, AS_LIST, AS_NUMBER } as;
} members[] = {
	{ KEY_ROLE, "role", AS_TEXT },
	{ 'p', "projects", AS_LIST },
	{ KEY_RIGHT, "rights", AS_LIST },
	{ 'm', "members", AS_LIST },
	{ KEY_DESCRIPTION, "description", AS_TEXT },
	{ KEY_SOURCE, "source", AS_TEXT },
	{ KEY_EXTERNAL, "external", AS_TEXT },
	{ KEY_DAYS, "days", AS_NUMBER },
};

static void put(cJSON *body, size_t m, const char *value)
{
	const char *name = members[m].name;
	cJSON *list = cJSON_GetObjectItemCaseSensitive(body, name);

	if (members[m].as == AS_LIST) {
		if (list == NULL)
			list = cJSON_AddArrayToObject(body, name);
		if (*value != '\0')
			cJSON_AddItemToArray(list, cJSON_CreateString(value));
		return;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(body, name);
	if (members[m].as == AS_TEXT)
		cJSON_AddStringToObject(body, name, value);
	else
		cJSON_AddItemToObject(body, name, cJSON_CreateRaw(value));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *q = state->input;
	char *end;

	if (key == ARGP_KEY_ARG) {
		words_add(&q->words, arg);
		return 0;
	}
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (members[i].key != key)
			continue;
		if (members[i].as == AS_NUMBER && (strtol(arg, &end, 10) < 0 || *end != '\0'))
			argp_error(state, "--%s wants a number", members[i].name);
		put(q->body, i, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* --- list --- */

static void print_groups(const cJSON *groups)
{
	struct table t;
	const cJSON *g;

	table_init(&t, "Group|Role|Projects|Rights|Members|From|Description");
	cJSON_ArrayForEach(g, groups)
	{
		table_add(&t, text_of(g, "name"));
		table_add(&t, text_of(g, "role"));
		add_list(&t, json_get(g, "projects"), "all");
		add_list(&t, json_get(g, "rights"), "all");
		add_list(&t, json_get(g, "belong"), "all");
		table_add(&t, text_of(g, "source"));
		table_add(&t, text_of(g, "description"));
	}
	table_show(&t);
}

static void print_tokens(const cJSON *tokens)
{
	struct table t;
	const cJSON *k;

	table_init(&t, "Name|User|Role|Projects|Rights|Kind|Made|Ends");
	cJSON_ArrayForEach(k, tokens)
	{
		table_add(&t, text_of(k, "name"));
		table_add(&t, text_of(k, "user"));
		table_add(&t, text_of(k, "role"));
		add_list(&t, json_get(k, "projects"), "all");
		add_list(&t, json_get(k, "rights"), "all");
		table_add(&t, json_true(k, "app") ? "app" : "token");
		table_add(&t, time_of(k, "created"));
		table_add(&t, json_text(k, "expires") != NULL ? time_of(k, "expires") : "");
	}
	table_show(&t);
}

/* By the first word of the command. */
static const struct noun {
	const char *word, *path, *list;
	void (*print)(const cJSON *list);
} nouns[] = {
	{ "group", "/api/v1/groups", "groups", print_groups },
	{ "app", "/api/v1/apps", "apps", print_tokens },
	{ "token", "/api/v1/tokens", "tokens", print_tokens },
};

static const struct noun *noun_of(const struct cli *cli)
{
	size_t i = 0;

	while (strncmp(cli->command->name, nouns[i].word, strlen(nouns[i].word)) != 0)
		i++;
	return &nouns[i];
}

int cmd_noun_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { 0 };
	const struct noun *n = noun_of(cli);
	struct online o = { 0 };
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, NULL);
	int code = online_open(cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET", n->path, NULL, &root);
	if (code == CLI_OK && cli->json)
		code = print_json(json_get(root, n->list));
	else if (code == CLI_OK)
		n->print(json_get(root, n->list));
	cJSON_Delete(root);
	online_close(&o);
	return code;
}

/* --- one --- */

static int one_name(struct cli *cli, const struct words *words)
{
	if (words->n != 1)
		return cli_fail(CLI_USAGE, "usage: sirdar %s %s", cli->command->name,
		                cli->command->args);
	return CLI_OK;
}

/* `method` NAME's own path. */
static int call_one(struct cli *cli, int argc, char **argv, const char *method, cJSON **ret)
{
	static const struct argp own = { .parser = parse };
	struct asked q = { .body = cJSON_CreateObject() };
	struct online o = { 0 };
	struct buf path;

	cli_parse(cli, &own, argc, argv, &q);
	int code = one_name(cli, &q.words);
	buf_init(&path);
	buf_puts(&path, noun_of(cli)->path);
	buf_puts(&path, "/");
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK) {
		path_part(&path, q.words.items[0]);
		code = online_call(&o, method, buf_str(&path), NULL, ret);
	}
	buf_done(&path);
	cJSON_Delete(q.body);
	words_done(&q.words);
	online_close(&o);
	return code;
}

int cmd_noun_remove(struct cli *cli, int argc, char **argv)
{
	cJSON *root = NULL;
	int code = call_one(cli, argc, argv, "DELETE", &root);

	if (code == CLI_OK && cli->json)
		code = print_json(root);
	cJSON_Delete(root);
	return code;
}

int cmd_group_show(struct cli *cli, int argc, char **argv)
{
	cJSON *root = NULL, *list = cJSON_CreateArray();
	int code = call_one(cli, argc, argv, "GET", &root);

	if (code == CLI_OK && cli->json) {
		code = print_json(root);
	} else if (code == CLI_OK) {
		cJSON_AddItemReferenceToArray(list, root);
		print_groups(list);
	}
	cJSON_Delete(list);
	cJSON_Delete(root);
	return code;
}

/* --- made, changed --- */

/* `add` makes one that is not there yet; E_NOT_FOUND is what it wants to hear. */
static int group_absent(struct online *o, const char *name)
{
	struct buf path;
	cJSON *root = NULL;

	buf_init(&path);
	buf_puts(&path, "/api/v1/groups/");
	path_part(&path, name);
	o->quiet = true;
	int code = online_call(o, "GET", buf_str(&path), NULL, &root);
	o->quiet = false;
	buf_done(&path);
	cJSON_Delete(root);
	if (code == CLI_OK)
		return cli_fail(CLI_USAGE, "there is a group '%s' already: sirdar group set", name);
	return o->status == 404 ? CLI_OK : cli_fail(code, "the groups cannot be read");
}

int cmd_group_set(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = group_options, .parser = parse };
	struct asked q = { .body = cJSON_CreateObject() };
	struct online o = { 0 };
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, &q);
	int code = one_name(cli, &q.words);
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK && strcmp(cli->command->name, "group add") == 0)
		code = group_absent(&o, q.words.items[0]);
	if (code == CLI_OK) {
		cJSON_AddStringToObject(q.body, "name", q.words.items[0]);
		code = online_call(&o, "POST", "/api/v1/groups", q.body, &root);
	}
	if (code == CLI_OK && cli->json)
		code = print_json(root);
	cJSON_Delete(root);
	cJSON_Delete(q.body);
	words_done(&q.words);
	online_close(&o);
	return code;
}

int cmd_app_add(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = app_options, .parser = parse };
	struct asked q = { .body = cJSON_CreateObject() };
	struct online o = { 0 };
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, &q);
	int code = one_name(cli, &q.words);
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK) {
		cJSON_AddStringToObject(q.body, "name", q.words.items[0]);
		code = online_call(&o, "POST", "/api/v1/apps", q.body, &root);
	}
	if (code == CLI_OK && cli->json)
		code = print_json(root);
	else if (code == CLI_OK) /* shown this once */
		printf("%s\n", text_of(root, "key"));
	cJSON_Delete(root);
	cJSON_Delete(q.body);
	words_done(&q.words);
	online_close(&o);
	return code;
}
