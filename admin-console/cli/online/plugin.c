/* Runner plugins: their versions, registered, enabled, drained, rolled back; what brokers run. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "util/buf.h"
#include "util/json_in.h"

/* --- list --- */

/* "b1 2.0, b2 1.0 (why)" */
static void add_running(struct table *t, const cJSON *types, const char *type)
{
	const cJSON *y, *b;
	struct buf text;

	buf_init(&text);
	cJSON_ArrayForEach(y, types) {
		if (strcmp(text_of(y, "type"), type) != 0)
			continue;
		cJSON_ArrayForEach(b, json_get(y, "brokers")) {
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

static void plugin_print(const cJSON *plugins, const cJSON *types)
{
	const cJSON *p, *v;
	struct table t;

	table_init(&t, "Type|Version|State|SHA-256|Brokers");
	cJSON_ArrayForEach(p, plugins)
		cJSON_ArrayForEach(v, json_get(p, "versions")) {
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
			if (enabled || !v->next)
				add_running(&t, types, text_of(p, "type"));
			else
				table_add(&t, "");
		}
	table_show(&t);
}

static int list_show(struct online *o, const struct asked *q, const cJSON *answer)
{
	cJSON *types = NULL;
	int code = online_get(o, "/api/v1/types", &types);

	(void)q;
	if (code == CLI_OK)
		plugin_print(json_get(answer, "plugins"), json_get(types, "types"));
	cJSON_Delete(types);
	return code;
}

const struct verb verb_plugin_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/plugins",
	                               .member = "plugins", .show = list_show };

/* --- show: what runs where, also of former versions --- */

static const char *state_of(const cJSON *plugin, const char *version)
{
	const cJSON *v;

	if (strcmp(version, text_of(plugin, "enabled")) == 0)
		return json_true(plugin, "drained") ? "drained" : "enabled";
	if (strcmp(version, text_of(plugin, "former")) == 0)
		return "before";
	cJSON_ArrayForEach(v, json_get(plugin, "versions"))
		if (strcmp(text_of(v, "version"), version) == 0)
			return "registered";
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
		if (strcmp(text_of(b, "version"), version) == 0)
			return true;
	return false;
}

static void print_one(const cJSON *plugin, const cJSON *type)
{
	const cJSON *b, *v;
	struct table t;

	table_init(&t, "Version|State|Broker|Loader|Running|Why");
	cJSON_ArrayForEach(b, json_get(type, "brokers"))
		add_loader(&t, plugin, b);
	cJSON_ArrayForEach(v, json_get(plugin, "versions")) {
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
		if (strcmp(text_of(one, "type"), type) == 0)
			return one;
	return NULL;
}

static int plugin_unknown(const char *name)
{
	return cli_fail(CLI_NOT_FOUND,
	                "there is no type %s: no broker runs it, and no version is registered",
	                name);
}

static int online_plugin_show(struct cli *cli, const char *name, const cJSON *plugins,
                              const cJSON *types)
{
	const cJSON *plugin = of_type(json_get(plugins, "plugins"), name);
	const cJSON *type = of_type(json_get(types, "types"), name);
	cJSON *both;
	int code;

	if (!plugin && !type)
		return plugin_unknown(name);
	if (!cli->json) {
		print_one(plugin, type);
		return CLI_OK;
	}
	both = plugin ? cJSON_Duplicate(plugin, true) : cJSON_CreateObject();
	if (!plugin)
		cJSON_AddStringToObject(both, "type", name);
	cJSON_AddItemToObject(both, "brokers",
	                      type ? cJSON_Duplicate(json_get(type, "brokers"), true)
	                           : cJSON_CreateArray());
	code = print_json(both);
	cJSON_Delete(both);
	return code;
}

static int plugins_get(struct online *o, cJSON **ret_plugins, cJSON **ret_types)
{
	int code = online_get(o, "/api/v1/plugins", ret_plugins);

	return code == CLI_OK ? online_get(o, "/api/v1/types", ret_types) : code;
}

static int plugin_show(struct asked *q)
{
	struct online o = { 0 };
	cJSON *plugins = NULL, *types = NULL;
	int code = online_open(q->cli, &o);

	if (code == CLI_OK)
		code = plugins_get(&o, &plugins, &types);
	if (code == CLI_OK)
		code = online_plugin_show(q->cli, word(q, 0), plugins, types);
	cJSON_Delete(plugins);
	cJSON_Delete(types);
	online_close(&o);
	return code;
}

const struct verb verb_plugin_show = { plugin_show, NULL, 1, 1 };

/* --- changes --- */

static void put_everywhere(struct asked *q, const struct opt *o, const char *arg,
                           struct argp_state *state)
{
	(void)o;
	(void)arg;
	(void)state;
	cJSON_AddArrayToObject(q->body, "brokers");
}

#define FOR_BROKER \
	{ \
		"broker", 0, "BROKER", "meant for this one; again for more", TAKE_ITEM, "brokers" \
	}
#define FOR_GROUP \
	{ \
		"group", 0, "GROUP", "meant for brokers of this group; again for more", TAKE_ITEM, \
			"groups" \
	}

static const struct opt register_options[] = {
	{ "sha256", 0, "HEX", "of the file, as sha256sum says", TAKE_TEXT, "sha256" },
	{ "abi", 0, "N", "its ABI, 1 if not said", TAKE_NUMBER, "abi", .check = check_number },
	FOR_BROKER,
	FOR_GROUP,
	{ 0 },
};

static const struct opt enable_options[] = {
	FOR_BROKER,
	FOR_GROUP,
	{ "everywhere", 0, NULL, "meant for all brokers", .check = put_everywhere },
	{ 0 },
};

static const struct opt rollback_options[] = {
	{ "own", 0, NULL, "to TYPE.so, or TYPE.yaml, as it lies there", TAKE_TRUE, "own" },
	{ 0 },
};

static const struct opt release_options[] = { FOR_BROKER, { 0 } };

/* The server takes any name: a drain may come before the type does. Who types one means a type
 * that is there. */
static int plugin_known(struct online *o, struct asked *q)
{
	cJSON *plugins = NULL, *types = NULL;
	int code = plugins_get(o, &plugins, &types);

	if (code == CLI_OK && !of_type(json_get(plugins, "plugins"), word(q, 0)) &&
	    !of_type(json_get(types, "types"), word(q, 0)))
		code = plugin_unknown(word(q, 0));
	cJSON_Delete(plugins);
	cJSON_Delete(types);
	return code;
}

#define PLUGIN_TYPE(name, options) \
	const struct verb verb_plugin_##name = { \
		command_ask, options, 1, 1, .words = "type", .prepare = plugin_known \
	}

const struct verb verb_plugin_register = { command_ask, register_options, 2, 2,
	                                   .words = "type version" };
const struct verb verb_plugin_enable = { command_ask, enable_options, 1, 2,
	                                 .words = "type version" };
const struct verb verb_plugin_remove = { command_ask, NULL, 2, 2, .words = "type version" };
PLUGIN_TYPE(drain, NULL);
PLUGIN_TYPE(rollback, rollback_options);
PLUGIN_TYPE(release, release_options);
