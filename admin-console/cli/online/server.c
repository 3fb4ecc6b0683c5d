/* server status, server step-down: which of several servers leads. node list, node forget. */
#include <stdio.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "util/buf.h"
#include "util/json_in.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	(void)state;
	return key == 'y' ? 0 : ARGP_ERR_UNKNOWN;
}

static void print_standbys(const cJSON *root)
{
	const cJSON *list = json_get(root, "standbys"), *n;
	struct table t;

	if (cJSON_GetArraySize(list) == 0) {
		printf("no standby is heard\n");
		return;
	}
	table_init(&t, "Standby|Address|>Behind|>Heard");
	cJSON_ArrayForEach(n, list)
	{
		table_add(&t, text_of(n, "name"));
		table_add(&t, text_of(n, "address"));
		table_addf(&t, "%s transitions", text_of(n, "behind"));
		table_addf(&t, "%s ms ago", text_of(n, "heard_ms"));
	}
	table_show(&t);
}

static void print_elects(const char *word)
{
	static const struct {
		const char *word, *text;
	} ways[] = { { "etcd", "a key in etcd" },
		     { "lease", "a lease in the store" },
		     { "lock", "the lock of the store's directory" } };

	for (size_t i = 0; word && i < sizeof ways / sizeof ways[0]; i++)
		if (strcmp(word, ways[i].word) == 0)
			printf("who leads is decided by %s\n", ways[i].text);
}

static void print_problems(const cJSON *root)
{
	const cJSON *line;

	cJSON_ArrayForEach(line, json_get(root, "problems")) if (cJSON_IsString(line))
		printf("problem: %s\n", line->valuestring);
}

int cmd_server_status(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .parser = parse };
	struct online o = { 0 };
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, NULL);
	int code = online_open(cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/server", NULL, &root);
	if (code == CLI_OK && cli->json) {
		code = print_json(root);
	} else if (code == CLI_OK) {
		printf("%s at %s leads since %s, epoch %s\n", text_of(root, "name"),
		       text_of(root, "address"), text_of(root, "since"), text_of(root, "epoch"));
		print_elects(json_text(root, "elects"));
		print_standbys(root);
		print_problems(root);
	}
	cJSON_Delete(root);
	online_close(&o);
	return code;
}

static void nodes_print(const cJSON *root)
{
	static const char *const columns[] = { "name", "mode",    "status",      "host",
		                               "port", "version", "description", NULL };
	struct table t;
	const cJSON *n, *p;

	table_init(&t, "Name|Mode|Status|Host|>Port|Version|Description");
	cJSON_ArrayForEach(n, json_get(root, "nodes"))
	{
		for (size_t i = 0; columns[i]; i++)
			table_add(&t, text_of(n, columns[i]));
	}
	table_show(&t);
	if (text_of(root, "error")[0])
		fprintf(stderr, "etcd is away: %s\n", text_of(root, "error"));
	cJSON_ArrayForEach(p, json_get(root, "problems"))
	{
		fprintf(stderr, "%s %s: %s\n", text_of(p, "what"), text_of(p, "name"),
		        text_of(p, "text"));
	}
}

int cmd_node_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .parser = parse };
	struct online o = { 0 };
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, NULL);
	int code = online_open(cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/nodes", NULL, &root);
	if (code == CLI_OK && cli->json)
		code = print_json(root);
	else if (code == CLI_OK)
		nodes_print(root);
	cJSON_Delete(root);
	online_close(&o);
	return code;
}

static error_t forget_parse(int key, char *arg, struct argp_state *state)
{
	const char **node = state->input;

	if (key == ARGP_KEY_ARG && !*node)
		*node = arg;
	else if (key == ARGP_KEY_ARG)
		argp_error(state, "one node at a time");
	else if (key == ARGP_KEY_END && !*node)
		argp_error(state, "which node? its name or its id");
	else
		return key == 'y' ? 0 : ARGP_ERR_UNKNOWN;
	return 0;
}

int cmd_node_forget(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .parser = forget_parse };
	struct online o = { 0 };
	const char *node = NULL;

	cli_parse(cli, &own, argc, argv, &node);
	int code = online_open(cli, &o);
	if (code == CLI_OK) {
		struct sending s = { .kind = "node-forget",
			             .args = cJSON_CreateObject(),
			             .yes = true };

		cJSON_AddStringToObject(s.args, "node", node);
		code = command_send(&o, &s);
		cJSON_Delete(s.args);
	}
	online_close(&o);
	return code;
}

int cmd_server_step_down(struct cli *cli, int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "yes", 'y', NULL, 0, "do not ask", 0 },
		{ 0 },
	};
	static const struct argp own = { .options = options, .parser = parse };
	struct online o = { 0 };

	cli_parse(cli, &own, argc, argv, NULL);
	int code = online_open(cli, &o);
	if (code == CLI_OK) {
		struct sending s = { .kind = "step-down",
			             .args = cJSON_CreateObject(),
			             .yes = true };
		code = command_send(&o, &s);
		cJSON_Delete(s.args);
	}
	online_close(&o);
	return code;
}
