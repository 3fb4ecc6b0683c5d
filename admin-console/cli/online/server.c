/* server status, server step-down: which of several servers leads. node list, node forget. */
#include <stdio.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "util/json_in.h"

static void print_standbys(const cJSON *root)
{
	const cJSON *list = json_get(root, "standbys"), *n;
	struct table t;

	if (cJSON_GetArraySize(list) == 0) {
		printf("no standby is heard\n");
		return;
	}
	table_init(&t, "Standby|Address|>Behind|>Heard");
	cJSON_ArrayForEach(n, list) {
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

	cJSON_ArrayForEach(line, json_get(root, "problems"))
		if (cJSON_IsString(line))
			printf("problem: %s\n", line->valuestring);
}

static int status_show(struct online *o, const struct asked *q, const cJSON *root)
{
	(void)o;
	(void)q;
	printf("%s at %s leads since %s, epoch %s\n", text_of(root, "name"),
	       text_of(root, "address"), text_of(root, "since"), text_of(root, "epoch"));
	print_elects(json_text(root, "elects"));
	print_standbys(root);
	reading_say(root);
	print_problems(root);
	return CLI_OK;
}

const struct verb verb_server_status = { ask, .most = WORDS_NONE, .call = "GET /api/v1/server",
	                                 .show = status_show };

static const struct opt step_down_options[] = {
	{ "yes", 'y' }, /* of scripts: it never asks */
	{ 0 },
};

const struct verb verb_step_down = { command_ask, step_down_options, .most = WORDS_NONE,
	                             .call = "step-down", .sure = true };

/* --- nodes --- */

static const struct column node_columns[] = {
	{ "Name", "name" },
	{ "Mode", "mode" },
	{ "Status", "status" },
	{ "Host", "host" },
	{ ">Port", "port" },
	{ "Version", "version" },
	{ "Description", "description" },
	{ 0 },
};

static int nodes_show(struct online *o, const struct asked *q, const cJSON *root)
{
	const cJSON *p;

	(void)o;
	rows_show(q->verb->columns, json_get(root, "nodes"));
	if (text_of(root, "error")[0])
		fprintf(stderr, "etcd is away: %s\n", text_of(root, "error"));
	cJSON_ArrayForEach(p, json_get(root, "problems"))
		fprintf(stderr, "%s %s: %s\n", text_of(p, "what"), text_of(p, "name"),
		        text_of(p, "text"));
	return CLI_OK;
}

const struct verb verb_node_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/nodes",
	                             .columns = node_columns, .show = nodes_show };
const struct verb verb_node_forget = {
	command_ask,     NULL,        1, 1, "which node? its name or its id", "one node at a time",
	.words = "node", .sure = true
};
