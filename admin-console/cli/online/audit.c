/* The audit: who did what; and the proof that nobody changed it since. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "util/buf.h"
#include "util/chain.h"
#include "util/json_in.h"

#define ANCHORS_MAX 64

struct question {
	const char *actor, *action, *limit;
	const char *anchors[ANCHORS_MAX];
	size_t n_anchors;
};

enum { KEY_ACTOR = 256, KEY_ACTION, KEY_ANCHOR };

static const struct argp_option list_options[] = {
	{ "actor", KEY_ACTOR, "NAME", 0, "only this one's", 0 },
	{ "action", KEY_ACTION, "KIND", 0, "only of this kind: redo, \"save workflow\", ...", 0 },
	{ "limit", 'n', "N", 0, "rows, default 50", 0 },
	{ 0 },
};

static const struct argp_option verify_options[] = {
	{ "anchor", KEY_ANCHOR, "ID:HASH", 0,
	  "a row as it once was: from an earlier verify, or the server's log (audit.anchor)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct question *q = state->input;

	switch (key) {
	case KEY_ACTOR:
		q->actor = arg;
		return 0;
	case KEY_ACTION:
		q->action = arg;
		return 0;
	case 'n':
		q->limit = arg;
		return 0;
	case KEY_ANCHOR:
		if (q->n_anchors == ANCHORS_MAX)
			argp_error(state, "at most %d anchors", ANCHORS_MAX);
		if (!strchr(arg, ':') || strlen(strchr(arg, ':') + 1) != CHAIN_HEX - 1)
			argp_error(state, "--anchor %s: want ID:HASH, the hash of %d hex digits",
			           arg, CHAIN_HEX - 1);
		q->anchors[q->n_anchors++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- list --- */

static void print(const cJSON *items)
{
	struct table t;
	const cJSON *a;

	table_init(&t, ">No.|At|Actor|Action|Object|Detail");
	cJSON_ArrayForEach(a, items)
	{
		table_add(&t, text_of(a, "id"));
		table_add(&t, time_of(a, "at"));
		table_add(&t, text_of(a, "actor"));
		table_add(&t, text_of(a, "action"));
		table_add(&t, text_of(a, "object"));
		table_add(&t, text_of(a, "detail"));
	}
	table_show(&t);
}

int cmd_audit_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = list_options, .parser = parse };
	struct question q = { .limit = "50" };
	struct online o = { 0 };
	struct buf path;
	cJSON *root = NULL;

	cli_parse(cli, &own, argc, argv, &q);
	buf_init(&path);
	buf_puts(&path, "/api/v1/audit?order=desc");
	path_arg(&path, "limit", q.limit);
	path_arg(&path, "actor", q.actor);
	path_arg(&path, "action", q.action);
	int code = online_open(cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET", buf_str(&path), NULL, &root);
	if (code == CLI_OK && cli->json)
		code = print_json(json_get(root, "items"));
	else if (code == CLI_OK)
		print(json_get(root, "items"));
	cJSON_Delete(root);
	buf_done(&path);
	online_close(&o);
	return code;
}

/* --- verify --- */

struct walk {
	const struct question *asked;
	long long id;
	size_t rows, before; /* all; those from before the chain */
	size_t met;          /* anchors that are as they were */
	char hash[CHAIN_HEX];
};

static int broken(const cJSON *a, const char *what)
{
	return cli_fail(CLI_REFUSED, "row %s (%s, %s by %s): %s", text_of(a, "id"),
	                time_of(a, "at"), text_of(a, "action"), text_of(a, "actor"), what);
}

static int anchors_check(struct walk *w, const cJSON *a)
{
	const char *id = text_of(a, "id");
	size_t n = strlen(id);

	for (size_t i = 0; i < w->asked->n_anchors; i++) {
		const char *anchor = w->asked->anchors[i];

		if (strncmp(anchor, id, n) != 0 || anchor[n] != ':')
			continue;
		if (strcmp(anchor + n + 1, w->hash) != 0)
			return broken(a, "is not what the anchor says it once was");
		w->met++;
	}
	return CLI_OK;
}

/* Rows come by ascending number: none may be missing, each hash must follow from the one before. */
static int row_check(struct walk *w, const cJSON *a)
{
	const char *fields[] = { text_of(a, "id"),     text_of(a, "at_us"),  text_of(a, "actor"),
		                 text_of(a, "action"), text_of(a, "object"), text_of(a, "detail") };
	const char *hash = text_of(a, "hash");
	long long id = strtoll(fields[0], NULL, 10);

	w->rows++;
	if (*w->hash && id != w->id + 1)
		return broken(a, "a row before it is missing");
	w->id = id;
	if (!*hash && !*w->hash) {
		w->before++;
		return CLI_OK;
	}
	chain_next(w->hash, fields, sizeof fields / sizeof fields[0], w->hash);
	if (strcmp(hash, w->hash) != 0)
		return broken(a, *hash ? "was changed, or a row before it was"
		                       : "has no hash: not written by this version of the server");
	return anchors_check(w, a);
}

static int page_check(struct online *o, struct walk *w, struct buf *cursor, bool *ret_more)
{
	struct buf path;
	cJSON *root = NULL;
	const cJSON *a, *next;
	int code;

	buf_init(&path);
	buf_puts(&path, "/api/v1/audit?order=asc&limit=50");
	if (cursor->len)
		path_arg(&path, "cursor", buf_str(cursor));
	code = online_call(o, "GET", buf_str(&path), NULL, &root);
	cJSON_ArrayForEach(a, json_get(root, "items"))
	{
		if (code == CLI_OK)
			code = row_check(w, a);
	}
	next = json_get(root, "cursor");
	*ret_more = code == CLI_OK && cJSON_IsString(next);
	buf_clear(cursor);
	if (*ret_more)
		buf_puts(cursor, next->valuestring);
	cJSON_Delete(root);
	buf_done(&path);
	return code;
}

static int verdict(struct cli *cli, const struct walk *w)
{
	if (w->met < w->asked->n_anchors)
		return cli_fail(CLI_REFUSED,
		                "%zu of %zu anchors name rows that are not there: rows at the end "
		                "were taken away",
		                w->asked->n_anchors - w->met, w->asked->n_anchors);
	if (cli->json) {
		cJSON *all = cJSON_CreateObject();

		cJSON_AddNumberToObject(all, "rows", (double)w->rows);
		cJSON_AddNumberToObject(all, "before_the_chain", (double)w->before);
		cJSON_AddNumberToObject(all, "last", (double)w->id);
		cJSON_AddStringToObject(all, "hash", w->hash);
		print_json(all);
		cJSON_Delete(all);
		return CLI_OK;
	}
	printf("%zu rows, each follows from the one before", w->rows);
	if (w->before)
		printf(" (the first %zu are older than the chain)", w->before);
	printf("\nanchor %lld:%s\n", w->id, w->hash);
	return CLI_OK;
}

int cmd_audit_verify(struct cli *cli, int argc, char **argv)
{
	static const struct argp own = { .options = verify_options, .parser = parse };
	struct question q = { 0 };
	struct walk w = { .asked = &q };
	struct online o = { 0 };
	struct buf cursor;
	bool more = true;

	cli_parse(cli, &own, argc, argv, &q);
	buf_init(&cursor);
	int code = online_open(cli, &o);
	while (code == CLI_OK && more)
		code = page_check(&o, &w, &cursor, &more);
	if (code == CLI_OK)
		code = verdict(cli, &w);
	buf_done(&cursor);
	online_close(&o);
	return code;
}
