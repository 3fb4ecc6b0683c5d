/* The stored digest is one object of texts (lib/util/failure.h), with the token of its attempt: one
 * of an earlier attempt is not shown for a later one that left none (lost, say, or of a broker a
 * release older). The token is not for people and stays here. */
#include "cgi/server/failed.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/instance.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/failure.h"
#include "util/json_in.h"
#include "util/json_put.h"

bool failed_is(const struct instance *i)
{
	return i->state == ST_FAILED || i->state == ST_STOP || i->state == ST_KILLED;
}

struct stored {
	const struct instance *i;
	cJSON *root; /* NULL: none of its own */
};

static int stored_take(void *ctx, const char *body)
{
	struct stored *s = ctx;
	char token[24];

	snprintf(token, sizeof token, "%llu", (unsigned long long)s->i->token);
	if (json_parse(body, strlen(body), &s->root, NULL) < 0)
		return 0;
	const char *is = json_text(s->root, "token");
	if (is && strcmp(is, token) == 0)
		return 0;
	json_free(s->root);
	s->root = NULL;
	return 0;
}

static cJSON *guess(const struct instance *i)
{
	struct failure f;
	cJSON *root = NULL;
	struct buf out;

	failure_guess(i->reason, i->exit_code, &f);
	buf_init(&out);
	failure_put(&out, NULL, &f, 0);
	json_parse(buf_str(&out), out.len, &root, NULL);
	buf_done(&out);
	return root;
}

/* Newest first: the kill that ended it, not an earlier one. */
static int kill_take(void *ctx, const struct read_event *e)
{
	uint64_t *cause = ctx;

	if (*cause == 0 && (e->event == EV_KILL || e->event == EV_INTENT))
		*cause = e->cause;
	return 0;
}

static int by_take(void *ctx, const struct store_command *m)
{
	cJSON_AddStringToObject(ctx, "by", m->actor);
	return 0;
}

/* A broker knows that it was told to kill it, and not by whom. */
static void by_put(struct reader *r, const struct instance *i, cJSON *root)
{
	enum { BACK_MAX = 20 };
	struct err err = { 0 };
	uint64_t cause = 0;

	read_events(r, &(struct read_history){ i->key, 0, BACK_MAX }, kill_take, &cause, NULL,
	            &err);
	if (cause)
		read_command(r, NULL, cause, by_take, root, &err);
}

void failed_put(struct buf *out, struct reader *r, const struct instance *i, enum failed_how how)
{
	struct stored s = { .i = i };
	struct err err = { 0 };

	if (!failed_is(i))
		return;
	read_failure(r, i, stored_take, &s, &err);
	cJSON *root = s.root ? s.root : guess(i);
	const char *class = root ? json_text(root, "class") : NULL;

	cJSON_DeleteItemFromObjectCaseSensitive(root, "token");
	if (how == FAILED_SHORT)
		cJSON_DeleteItemFromObjectCaseSensitive(root, "tail");
	else if (class && strcmp(class, failure_name(FC_KILLED)) == 0)
		by_put(r, i, root);
	char *text = cJSON_PrintUnformatted(root);
	put_raw(out, "failure", text ? text : "null");
	free(text);
	json_free(root);
}
