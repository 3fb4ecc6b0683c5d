/* What a person has set for his browsers: an object that only the console understands, his own
 * alone to read and to write. Who writes says over which version: two browsers lose nothing. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "store/read.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"

#define VALUE_MAX 32768

/* A person's: a token of his too, but not one that is nobody's. */
static int person_check(struct call *c)
{
	return c->user[0] != '\0'
	               ? 0
	               : call_fail(c, E_FORBIDDEN, "",
	                           "%s is a token, not a person: it has no preferences", c->actor);
}

static void version_put(struct call *c, uint32_t version, const char *value)
{
	snprintf(c->etag, sizeof c->etag, "\"%u\"", version);
	put_open(&c->out, NULL, '{');
	put_int(&c->out, "version", version);
	put_raw(&c->out, "preferences", value);
	put_close(&c->out, '}');
}

static int one_put(void *ctx, const struct store_doc *d)
{
	struct call *c = ctx;

	if (d->retired)
		return err_set(&c->err, E_NOT_FOUND, "of one who was here before");
	version_put(c, d->version, d->body);
	return 0;
}

static int get_work(struct call *c, struct reader *r)
{
	int code = read_doc(r, &(struct read_which){ DOC_PREFS, .name = c->user }, one_put, c,
	                    &c->err);

	if (code != E_NOT_FOUND)
		return code;
	c->err = (struct err){ 0 };
	version_put(c, 0, "{}");
	return 0;
}

int preferences_get(struct call *c)
{
	static const char *const no_args[] = { NULL };

	if (call_args_only(c, no_args) < 0 || person_check(c) < 0)
		return c->err.code;
	return call_read(c, get_work);
}

static int put_told(struct call *c)
{
	if (c->err.code == E_CONFLICT)
		c->error_status = MHD_HTTP_PRECONDITION_FAILED;
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	c->then = NULL;
	return call_read(c, get_work);
}

static int match_read(struct call *c, uint32_t *ret)
{
	const char *match = call_header(c, "If-Match");
	char *end = NULL;
	long long version = match && match[0] == '"' ? strtoll(match + 1, &end, 10) : -1;

	if (version < 0 || version > UINT32_MAX || end == match + 1 || strcmp(end, "\"") != 0)
		return call_fail(c, E_INVALID, "If-Match",
		                 "want the version that this is made from, in quotes as ETag has "
		                 "it; \"0\" where there is none yet");
	*ret = (uint32_t)version;
	return 0;
}

int preferences_put(struct call *c)
{
	static const char *const keys[] = { "preferences", NULL };
	const cJSON *given = json_get(c->json, "preferences");
	uint32_t version = 0;
	cJSON *args;
	char *value;
	int r;

	if (person_check(c) < 0 || call_members_only(c, keys) < 0 || match_read(c, &version) < 0)
		return c->err.code;
	if (!cJSON_IsObject(given))
		return call_fail(c, E_INVALID, "preferences", "'preferences' wants an object");
	value = cJSON_PrintUnformatted(given);
	if (strlen(value) > VALUE_MAX) {
		r = call_fail(c, E_TOO_BIG, "preferences", "%zu bytes, want at most %d",
		              strlen(value), VALUE_MAX);
		free(value);
		return r;
	}
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "user", c->user);
	cJSON_AddNumberToObject(args, "version", version);
	cJSON_AddStringToObject(args, "value", value);
	free(value);
	c->then = put_told;
	r = doc_command(c, "preferences-set", args);
	cJSON_Delete(args);
	return r;
}
