/* The audit: who did what; and the proof that nobody changed it since. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "util/buf.h"
#include "util/chain.h"
#include "util/json_in.h"

#define ANCHORS_MAX 64

/* --- list --- */

static const struct opt list_options[] = {
	{ "actor", 0, "NAME", "only this one's", TAKE_QUERY, "actor" },
	{ "action", 0, "KIND", "only of this kind: redo, \"save workflow\", ...", TAKE_QUERY,
	  "action" },
	{ "limit", 'n', "N", "rows, default 50", TAKE_QUERY, "limit", "50" },
	{ 0 },
};

static const struct column columns[] = {
	{ ">No.", "id" },
	{ "At", "at", cell_time },
	{ "Actor", "actor" },
	{ "Action", "action" },
	{ "Object", "object" },
	{ "Detail", "detail" },
	{ 0 },
};

const struct verb verb_audit_list = { ask,
	                              list_options,
	                              .most = WORDS_NONE,
	                              .call = "GET /api/v1/audit?order=desc",
	                              .member = "items",
	                              .columns = columns };

/* --- verify --- */

static size_t anchors(const struct asked *q)
{
	return q->n; /* no other option is kept */
}

static void check_anchor(struct asked *q, const struct opt *o, const char *arg,
                         struct argp_state *state)
{
	(void)o;
	if (anchors(q) == ANCHORS_MAX)
		argp_error(state, "at most %d anchors", ANCHORS_MAX);
	if (!strchr(arg, ':') || strlen(strchr(arg, ':') + 1) != CHAIN_HEX - 1)
		argp_error(state, "--anchor %s: want ID:HASH, the hash of %d hex digits", arg,
		           CHAIN_HEX - 1);
}

static const struct opt verify_options[] = {
	{ "anchor", 0, "ID:HASH",
	  "a row as it once was: from an earlier verify, or the server's log (audit.anchor)",
	  .check = check_anchor },
	{ 0 },
};

struct walk {
	const struct asked *asked;
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

	for (size_t i = 0; i < anchors(w->asked); i++) {
		const char *anchor = w->asked->given[i].value;

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
		if (code == CLI_OK)
			code = row_check(w, a);
	next = json_get(root, "cursor");
	*ret_more = code == CLI_OK && cJSON_IsString(next);
	buf_clear(cursor);
	if (*ret_more)
		buf_puts(cursor, next->valuestring);
	cJSON_Delete(root);
	buf_done(&path);
	return code;
}

static int audit_verdict(struct cli *cli, const struct walk *w)
{
	if (w->met < anchors(w->asked))
		return cli_fail(CLI_REFUSED,
		                "%zu of %zu anchors name rows that are not there: rows at the end "
		                "were taken away",
		                anchors(w->asked) - w->met, anchors(w->asked));
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

static int audit_verify(struct asked *q)
{
	struct walk w = { .asked = q };
	struct online o = { 0 };
	struct buf cursor;
	bool more = true;

	buf_init(&cursor);
	int code = online_open(q->cli, &o);
	while (code == CLI_OK && more)
		code = page_check(&o, &w, &cursor, &more);
	if (code == CLI_OK)
		code = audit_verdict(q->cli, &w);
	buf_done(&cursor);
	online_close(&o);
	return code;
}

const struct verb verb_audit_verify = { audit_verify, verify_options, .most = WORDS_NONE };
