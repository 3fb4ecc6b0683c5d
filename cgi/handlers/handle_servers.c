/* Target servers: listed, made, changed, removed. Passwords come in and never go out. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "cgi/handlers/handle_commands.h"
#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"

static void put_extra(struct buf *b, const cJSON *extra)
{
	const cJSON *v;

	put_open(b, "extra", '{');
	cJSON_ArrayForEach(v, extra)
		if (cJSON_IsString(v))
			put_text(b, v->string, v->valuestring);
	put_close(b, '}');
}

static int64_t servers_number(const cJSON *root, const char *key)
{
	const cJSON *v = json_get(root, key);

	return cJSON_IsNumber(v) ? (int64_t)v->valuedouble : 0;
}

/* Of "v1:KEY:..." (baseserver/model/vault.h) the name of the key, no more. */
static void put_key(struct buf *b, const char *sealed)
{
	const char *from = sealed ? strchr(sealed, ':') : NULL;
	const char *to = from ? strchr(from + 1, ':') : NULL;
	char name[64];

	if (to)
		snprintf(name, sizeof name, "%.*s", (int)(to - from - 1), from + 1);
	put_text(b, "key", to ? name : NULL);
}

/* Where it is kept, when that is outside: no secret. */
static void put_from(struct buf *b, const char *key, const cJSON *ref)
{
	if (!cJSON_IsObject(ref)) {
		put_null(b, key);
		return;
	}
	put_open(b, key, '{');
	put_text(b, "from", json_text(ref, "from"));
	put_text(b, "path", json_text(ref, "path"));
	put_text(b, "key", json_text(ref, "key"));
	put_close(b, '}');
}

/* Secrets besides the password: their names, and how each is kept. */
static void put_secrets(struct buf *b, const cJSON *secrets)
{
	const cJSON *v;

	put_open(b, "secrets", '[');
	cJSON_ArrayForEach(v, secrets) {
		put_open(b, NULL, '{');
		put_text(b, "name", v->string);
		put_from(b, "from", v);
		put_key(b, cJSON_IsString(v) ? v->valuestring : NULL);
		put_close(b, '}');
	}
	put_close(b, ']');
}

/* All of it but what is sealed. */
static int target_put(void *ctx, const struct store_doc *d)
{
	struct buf *b = &((struct call *)ctx)->out;
	cJSON *root = doc_open(b, "server", d);

	put_text(b, "kind", json_text(root, "kind"));
	put_text(b, "host", json_text(root, "host"));
	put_int(b, "port", servers_number(root, "port"));
	put_text(b, "user", json_text(root, "user"));
	put_text(b, "database", json_text(root, "database"));
	put_extra(b, json_get(root, "extra"));
	put_int(b, "concurrency", servers_number(root, "concurrency"));
	put_projects(ctx, json_get(root, "projects"));
	put_bool(b, "has_password", json_text(root, "sealed") || json_get(root, "password"));
	put_from(b, "password_from", json_get(root, "password"));
	put_key(b, json_text(root, "sealed"));
	put_secrets(b, json_get(root, "secrets"));
	doc_close(b, d, root);
	return 0;
}

static const struct doc_noun noun = { DOC_SERVER, "servers", "no such target server", false,
	                              target_put };

int servers_get(struct call *c)
{
	return docs_get(c, &noun);
}

int target_get(struct call *c)
{
	return doc_get(c, &noun);
}

/* --- changes --- */

/* Here already: a number that is none of the server's is printed in a form it does not read. */
static int number_check(struct call *c, const char *key, int max)
{
	const cJSON *v = json_get(c->json, key);

	if (cJSON_IsNumber(v) && !(v->valuedouble >= 0 && v->valuedouble <= max &&
	                           v->valuedouble == (double)(int64_t)v->valuedouble))
		return call_fail(c, E_INVALID, key, "'%s' wants a whole number from 0 to %d", key,
		                 max);
	return 0;
}

int servers_post(struct call *c)
{
	static const char *const keys[] = { "server",   "kind",     "host",    "port",
		                            "user",     "database", "extra",   "concurrency",
		                            "projects", "password", "secrets", NULL };

	return call_members_only(c, keys) < 0 || number_check(c, "port", 65535) < 0 ||
	                       number_check(c, "concurrency", 1000000) < 0
	               ? c->err.code
	               : doc_command(c, "server-set", c->json);
}

int target_delete(struct call *c)
{
	return doc_remove(c, "server-remove", "server");
}

/* The answer is the command's, with how it went in `test`. */
int target_test(struct call *c)
{
	static const char *const keys[] = { "project", "broker", "group", NULL };
	int r = call_members_only(c, keys);

	if (r < 0)
		return r;
	cJSON_AddStringToObject(c->json, "server", c->params[0]);
	return command_ask(c, "server-test", c->json);
}
