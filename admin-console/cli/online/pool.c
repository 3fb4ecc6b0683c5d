/* Pools of slots and quotas of projects: shown, set, removed. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "sched/name.h"
#include "util/buf.h"
#include "util/json_in.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	words_add(state->input, arg);
	return 0;
}

static int begin(struct cli *cli, int argc, char **argv, struct words *words, struct online *o)
{
	static const struct argp own = { .parser = parse };
	size_t want = 0;

	cli_parse(cli, &own, argc, argv, words);
	for (const char *p = cli->command->args; *p; p++)
		want += p == cli->command->args || p[-1] == ' ';
	if (words->n != want)
		return cli_fail(CLI_USAGE, "usage: sirdar %s %s", cli->command->name,
		                cli->command->args);
	return online_open(cli, o);
}

static void print(const cJSON *root)
{
	struct table t;
	struct buf out;
	const cJSON *p;

	table_init(&t, "Kind|Name|>Size|>Taken|>By backfills|>Waiting|Oldest");
	cJSON_ArrayForEach(p, json_get(root, "pools"))
	{
		table_add(&t, text_of(p, "kind"));
		table_add(&t, text_of(p, "name"));
		table_add(&t, text_of(p, "size"));
		table_add(&t, text_of(p, "taken"));
		table_add(&t, text_of(p, "backfill"));
		table_add(&t, text_of(p, "waiting"));
		table_add(&t, time_of(p, "oldest"));
	}
	buf_init(&out);
	table_print(&t, &out);
	cli_print(&out);
	buf_done(&out);
	table_done(&t);
}

int cmd_pool_list(struct cli *cli, int argc, char **argv)
{
	struct words words = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;
	int code = begin(cli, argc, argv, &words, &o);

	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/pools", NULL, &root);
	if (root != NULL && cli->json)
		code = print_json(json_get(root, "pools"));
	else if (root != NULL)
		print(root);
	cJSON_Delete(root);
	words_done(&words);
	online_close(&o);
	return code;
}

/* What each of the commands sends. */
static const struct {
	const char *command, *kind, *name, *number;
} sendings[] = {
	{ "pool set", "pool-set", "pool", "size" },
	{ "pool remove", "pool-remove", "pool", NULL },
	{ "quota set", "quota-set", "project", "running" },
};

static int send(struct online *o, const struct words *words, size_t which)
{
	struct sending s = { .kind = sendings[which].kind, .args = cJSON_CreateObject() };
	char *end = NULL;
	char *nfc = name_nfc(words->items[0]); /* as names are kept */
	int code = CLI_OK;

	cJSON_AddStringToObject(s.args, sendings[which].name, nfc != NULL ? nfc : words->items[0]);
	free(nfc);
	if (sendings[which].number != NULL) {
		long n = strtol(words->items[1], &end, 10);
		if (end == words->items[1] || *end != '\0')
			code = cli_fail(CLI_USAGE, "'%s' is no number", words->items[1]);
		cJSON_AddNumberToObject(s.args, sendings[which].number, (double)n);
	}
	if (code == CLI_OK)
		code = command_send(o, &s);
	cJSON_Delete(s.args);
	return code;
}

int cmd_pool_set(struct cli *cli, int argc, char **argv)
{
	struct words words = { 0 };
	struct online o = { 0 };
	size_t which = 0;
	int code = begin(cli, argc, argv, &words, &o);

	while (strcmp(sendings[which].command, cli->command->name) != 0)
		which++;
	if (code == CLI_OK)
		code = send(&o, &words, which);
	words_done(&words);
	online_close(&o);
	return code;
}
