/* Runner plugins: their versions, registered, enabled, drained, rolled back; what brokers run. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "util/buf.h"
#include "util/json_in.h"

struct question {
	struct words words;
	cJSON *args;
};

enum { KEY_SHA256 = 256, KEY_ABI, KEY_BROKER, KEY_GROUP, KEY_EVERYWHERE, KEY_OWN };

static const struct argp_option options[] = {
	{ "sha256", KEY_SHA256, "HEX", 0, "of the file, as sha256sum says (register)", 0 },
	{ "abi", KEY_ABI, "N", 0, "its ABI, 1 if not said (register)", 0 },
	{ "broker", KEY_BROKER, "BROKER", 0,
	  "meant for this one; again for more (register, enable, release)", 0 },
	{ "group", KEY_GROUP, "GROUP", 0,
	  "meant for brokers of this group; again for more (register, enable)", 0 },
	{ "everywhere", KEY_EVERYWHERE, NULL, 0, "meant for all brokers (enable)", 0 },
	{ "own", KEY_OWN, NULL, 0, "to TYPE.so, or TYPE.yaml, as it lies there (rollback)", 0 },
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
	struct question *q = state->input;
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
	case KEY_EVERYWHERE:
		cJSON_AddArrayToObject(q->args, "brokers");
		return 0;
	case KEY_OWN:
		cJSON_AddBoolToObject(q->args, "own", true);
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

/* --- show: what runs where, also of former versions --- */

static const char *state_of(const cJSON *plugin, const char *version)
{
	const cJSON *v;

	if (strcmp(version, text_of(plugin, "enabled")) == 0)
		return json_true(plugin, "drained") ? "drained" : "enabled";
	if (strcmp(version, text_of(plugin, "former")) == 0)
		return "before";
	cJSON_ArrayForEach(v, json_get(plugin, "versions"))
	{
		if (strcmp(text_of(v, "version"), version) == 0)
			return "registered";
	}
	return "";
}

static void add_loader(struct table *t, const cJSON *plugin, const cJSON *b)
{
	const cJSON *running = json_get(b, "running");
	char count[32] = "";

	if (cJSON_IsNumber(running))
		snprintf(count, sizeof count, "%.0f", running->valuedouble);
	table_add(t, text_of(b, "version"));
	table_add(t, state_of(plugin, text_of(b, "version")));
	table_add(t, text_of(b, "broker"));
	table_add(t, json_true(b, "online") ? text_of(b, "state") : "offline");
	table_add(t, count);
	table_add(t, text_of(b, "text"));
}

static bool runs_somewhere(const cJSON *type, const char *version)
{
	const cJSON *b;

	cJSON_ArrayForEach(b, json_get(type, "brokers"))
	{
		if (strcmp(text_of(b, "version"), version) == 0)
			return true;
	}
	return false;
}

static void print_one(const cJSON *plugin, const cJSON *type)
{
	const cJSON *b, *v;
	struct table t;

	table_init(&t, "Version|State|Broker|Loader|Running|Why");
	cJSON_ArrayForEach(b, json_get(type, "brokers"))
	{
		add_loader(&t, plugin, b);
	}
	cJSON_ArrayForEach(v, json_get(plugin, "versions"))
	{
		const char *version = text_of(v, "version");

		if (runs_somewhere(type, version))
			continue;
		table_add(&t, version);
		table_add(&t, state_of(plugin, version));
		for (int i = 0; i < 4; i++)
			table_add(&t, "");
	}
	table_show(&t);
}

static const cJSON *of_type(const cJSON *list, const char *type)
{
	const cJSON *one;

	cJSON_ArrayForEach(one, list)
	{
		if (strcmp(text_of(one, "type"), type) == 0)
			return one;
	}
	return NULL;
}

static int show(struct cli *cli, const char *name, const cJSON *plugins, const cJSON *types)
{
	const cJSON *plugin = of_type(json_get(plugins, "plugins"), name);
	const cJSON *type = of_type(json_get(types, "types"), name);
	cJSON *both;
	int code;

	if (plugin == NULL && type == NULL)
		return cli_fail(CLI_NOT_FOUND,
		                "no broker runs a type %s, and no version of it is registered",
		                name);
	if (!cli->json) {
		print_one(plugin, type);
		return CLI_OK;
	}
	both = plugin ? cJSON_Duplicate(plugin, true) : cJSON_CreateObject();
	if (plugin == NULL)
		cJSON_AddStringToObject(both, "type", name);
	cJSON_AddItemToObject(both, "brokers",
	                      type ? cJSON_Duplicate(json_get(type, "brokers"), true)
	                           : cJSON_CreateArray());
	code = print_json(both);
	cJSON_Delete(both);
	return code;
}

int cmd_plugin_show(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .parser = parse };
	struct question q = { .args = NULL };
	struct online o = { 0 };
	cJSON *plugins = NULL, *types = NULL;
	int code = CLI_OK;

	cli_parse(cli, &own, argc, argv, &q);
	if (q.words.n != 1)
		code = cli_fail(CLI_USAGE, "usage: sirdar plugin show TYPE");
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/plugins", NULL, &plugins);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/types", NULL, &types);
	if (code == CLI_OK)
		code = show(cli, q.words.items[0], plugins, types);
	cJSON_Delete(plugins);
	cJSON_Delete(types);
	words_done(&q.words);
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
	struct question q = { .args = cJSON_CreateObject() };
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
