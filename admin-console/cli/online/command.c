/* sirdar command ...: lists of commands, one of them, waiting for one, steering one. Sending them
 * is command_send.c. */
#include <stdlib.h>

#include "admin-console/cli/online/ask.h"
#include "admin-console/cli/online/watch.h"
#include "util/alloc.h"

static const struct opt options[] = {
	{ "open", 'o', NULL, "only those not over", TAKE_QUERY, "open", "1" },
	{ "limit", 'n', "N", "how many, default 20", TAKE_QUERY, "limit", "20" },
	OPT_WATCH("commands"),
	{ 0 },
};

static const struct opt show_options[] = { OPT_WATCH("commands"), { 0 } };

static const struct opt wait_options[] = { WAITING(0), { 0 } };

static const struct opt steer_options[] = {
	{ "yes", 'y' }, /* of scripts: it never asks */
	{ 0 },
};

static const struct column columns[] = {
	{ ">No", "command" },
	{ "Kind", "kind" },
	{ "By", "actor" },
	{ "State", "state" },
	{ ">Done", "done" },
	{ ">Total", "total" },
	{ ">Failed", "failed" },
	{ "Created", "created", cell_time },
	{ "Ended", "ended", cell_time, .wide = true },
	{ "Error", "error", .wide = true },
	{ "Request", "request_id", .wide = true },
	{ 0 },
};

static int online_command_show(struct asked *q)
{
	char *path = mem_fmt("/api/v1/commands/%s", word(q, 0));
	struct online o = { 0 };
	cJSON *root = NULL;
	int code = online_open(q->cli, &o);

	if (code == CLI_OK)
		code = online_get(&o, path, &root);
	if (code == CLI_OK)
		code = answer_show(&o, q, root);
	cJSON_Delete(root);
	online_close(&o);
	free(path);
	return code;
}

static int command_show(struct online *o, const struct asked *q, const cJSON *c)
{
	(void)q;
	command_print(c);
	printf("by %s at %s, request %s\nargs %s\n", text_of(c, "actor"), time_of(c, "created"),
	       text_of(c, "request_id"), text_of(c, "args"));
	return command_refused(o, c);
}

static int command_await(struct asked *q)
{
	const struct waiting how = waiting_of(q);
	struct online o = { 0 };
	int code = online_open(q->cli, &o);

	if (code == CLI_OK)
		code = wait_command(&o, word(q, 0), &how);
	online_close(&o);
	return code;
}

static int command_list(struct asked *q)
{
	return q->words.n ? cli_fail(CLI_USAGE, "want no words") : ask(q);
}

/* A command by its number. */
static int one(struct asked *q, int (*run)(struct asked *q))
{
	return q->words.n == 1 ? run(q) : cli_fail(CLI_USAGE, "want one command's number");
}

static int one_show(struct asked *q)
{
	return one(q, online_command_show);
}

static int one_wait(struct asked *q)
{
	return one(q, command_await);
}

static int one_steer(struct asked *q)
{
	return one(q, command_ask);
}

const struct verb verb_command_list = {
	command_list,      options,           0, WORDS_ANY, .call = "GET /api/v1/commands",
	.member = "items", .columns = columns
};
const struct verb verb_command_show = { one_show, show_options, 0, WORDS_ANY,
	                                .show = command_show };
const struct verb verb_command_wait = { one_wait, wait_options, 0, WORDS_ANY };
const struct verb verb_command_steer = { one_steer, steer_options, 0, WORDS_ANY,
	                                 .words = "command" };
