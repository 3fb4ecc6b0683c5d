/* Runner plugins: their versions, registered, enabled, drained, rolled back; what brokers run. */
#include <stdlib.h>
#include <string.h>

#include "online.h"
#include "util/buf.h"
#include "util/json_in.h"

struct asked {
	struct words words;
	cJSON *args;
};

enum { KEY_SHA256 = 256, KEY_ABI, KEY_BROKER, KEY_GROUP };

static const struct argp_option options[] = {
	{ "sha256", KEY_SHA256, "HEX", 0, "of the file, as sha256sum says (register)", 0 },
	{ "abi", KEY_ABI, "N", 0, "its ABI, 1 if not said (register)", 0 },
	{ "broker", KEY_BROKER, "BROKER", 0,
	  "meant for this one; again for more (register, release)", 0 },
	{ "group", KEY_GROUP, "GROUP", 0,
	  "meant for brokers of this group; again for more (register)", 0 },
	{ 0 },
};

static void put_item(cJSON *args, const char *key, const char *value)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(args, key);

	if (list == NULL)
		list = cJSON_AddArrayToObject(args, key);
	cJSON_AddItemToArray(list, cJSON_CreateString(value));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *q = state->input;
	char *end = NULL;

	switch (key) {
	case KEY_SHA256:
		cJSON_AddStringToObject(q->args, "sha256", arg);
		return 0;
	case KEY_ABI:
		cJSON_AddNumberToObject(q->args, "abi", (double)strtol(arg, &end, 10));
		if (end == arg || *end != '\0')
			argp_error(state, "'%s' is no number", arg);
		return 0;
	case KEY_BROKER:
		put_item(q->args, "brokers", arg);
		return 0;
	case KEY_GROUP:
		put_item(q->args, "groups", arg);
		return 0;
	case ARGP_KEY_ARG:
		words_add(&q->words, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- list --- */

/* "b1 2.0, b2 1.0 (why)" */
static void add_running(struct table *t, const cJSON *types, const char *type)
{
	const cJSON *y, *b;
	struct buf text;

	buf_init(&text);
	cJSON_ArrayForEach(y, types)
	{
		if (strcmp(text_of(y, "type"), type) != 0)
			continue;
		cJSON_ArrayForEach(b, json_get(y, "brokers"))
		{
			const char *why = text_of(b, "text");

			buf_printf(&text, "%s%s %s %s", text.len ? ", " : "", text_of(b, "broker"),
			           text_of(b, "version"),
			           json_true(b, "online") ? text_of(b, "state") : "offline");
			if (*why != '\0')
				buf_printf(&text, " (%s)", why);
		}
	}
	table_add(t, buf_str(&text));
	buf_done(&text);
}

static void print(const cJSON *plugins, const cJSON *types)
{
	const cJSON *p, *v;
	struct table t;

	table_init(&t, "Type|Version|State|SHA-256|Brokers");
	cJSON_ArrayForEach(p, plugins)
	{
		cJSON_ArrayForEach(v, json_get(p, "versions"))
		{
			const char *version = text_of(v, "version");
			bool enabled = strcmp(version, text_of(p, "enabled")) == 0;

			table_add(&t, text_of(p, "type"));
			table_add(&t, version);
			table_add(&t, !enabled ? strcmp(version, text_of(p, "former")) == 0
			                                 ? "before"
			                                 : "registered"
			              : json_true(p, "drained") ? "drained"
			                                        : "enabled");
			table_add(&t, text_of(v, "sha256"));
			if (enabled || v->next == NULL)
				add_running(&t, types, text_of(p, "type"));
			else
				table_add(&t, "");
		}
	}
	table_show(&t);
}

int cmd_plugin_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL, *types = NULL;

	cli_parse(cli, &own, argc, argv, NULL);
	int code = online_open(cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/plugins", NULL, &root);
	if (code == CLI_OK && !cli->json)
		code = online_call(&o, "GET", "/api/v1/types", NULL, &types);
	if (code == CLI_OK && cli->json)
		code = print_json(json_get(root, "plugins"));
	else if (code == CLI_OK)
		print(json_get(root, "plugins"), json_get(types, "types"));
	cJSON_Delete(root);
	cJSON_Delete(types);
	online_close(&o);
	return code;
}

/* --- changes --- */

static const struct {
	const char *command, *kind;
	size_t least, most; /* words: TYPE [VERSION] */
} sendings[] = {
	{ "plugin register", "plugin-register", 2, 2 },
	{ "plugin enable", "plugin-enable", 1, 2 },
	{ "plugin drain", "plugin-drain", 1, 1 },
	{ "plugin rollback", "plugin-rollback", 1, 1 },
	{ "plugin remove", "plugin-remove", 2, 2 },
	{ "plugin release", "plugin-release", 1, 1 },
};

int cmd_plugin_steer(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = options, .parser = parse };
	struct asked q = { .args = cJSON_CreateObject() };
	struct online o = { 0 };
	size_t which = 0;
	int code = CLI_OK;

	cli_parse(cli, &own, argc, argv, &q);
	while (strcmp(sendings[which].command, cli->command->name) != 0)
		which++;
	if (q.words.n < sendings[which].least || q.words.n > sendings[which].most)
		code = cli_fail(CLI_USAGE, "usage: sirdar %s %s", cli->command->name,
		                cli->command->args);
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK) {
		struct sending s = { .kind = sendings[which].kind, .args = q.args };
		cJSON_AddStringToObject(q.args, "type", q.words.items[0]);
		if (q.words.n > 1)
			cJSON_AddStringToObject(q.args, "version", q.words.items[1]);
		code = command_send(&o, &s);
	}
	cJSON_Delete(q.args);
	words_done(&q.words);
	online_close(&o);
	return code;
}
