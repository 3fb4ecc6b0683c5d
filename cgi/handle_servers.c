/* Target servers: listed, made, changed, removed. Passwords come in and never go out. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/call.h"
#include "cgi/cgi.h"
#include "cgi/route.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"

static void put_extra(struct buf *b, const cJSON *extra)
{
	const cJSON *v;

	put_open(b, "extra", '{');
	cJSON_ArrayForEach(v, extra)
	{
		if (cJSON_IsString(v))
			put_text(b, v->string, v->valuestring);
	}
	put_close(b, '}');
}

static void put_projects(struct buf *b, const cJSON *list)
{
	const cJSON *v;

	put_open(b, "projects", '[');
	cJSON_ArrayForEach(v, list)
	{
		if (cJSON_IsString(v))
			put_text(b, NULL, v->valuestring);
	}
	put_close(b, ']');
}

static int64_t number(const cJSON *root, const char *key)
{
	const cJSON *v = json_get(root, key);

	return cJSON_IsNumber(v) ? (int64_t)v->valuedouble : 0;
}

/* Of "v1:KEY:..." (baseserver/vault.h) the name of the key, no more. */
static void put_key(struct buf *b, const char *sealed)
{
	const char *from = sealed != NULL ? strchr(sealed, ':') : NULL;
	const char *to = from != NULL ? strchr(from + 1, ':') : NULL;
	char name[64];

	if (to != NULL)
		snprintf(name, sizeof(name), "%.*s", (int)(to - from - 1), from + 1);
	put_text(b, "key", to != NULL ? name : NULL);
}

/* All of it but what is sealed. */
static int target_put(void *ctx, const struct store_doc *d)
{
	struct buf *b = &((struct call *)ctx)->out;
	cJSON *root = NULL;

	if (json_parse(d->body, d->body_len, &root, NULL) < 0)
		root = cJSON_CreateObject();
	put_open(b, NULL, '{');
	put_text(b, "server", d->name);
	put_text(b, "kind", json_text(root, "kind"));
	put_text(b, "host", json_text(root, "host"));
	put_int(b, "port", number(root, "port"));
	put_text(b, "user", json_text(root, "user"));
	put_text(b, "database", json_text(root, "database"));
	put_extra(b, json_get(root, "extra"));
	put_int(b, "concurrency", number(root, "concurrency"));
	put_projects(b, json_get(root, "projects"));
	put_bool(b, "has_password", json_text(root, "sealed") != NULL);
	put_key(b, json_text(root, "sealed"));
	put_int(b, "version", d->version);
	put_time_us(b, "changed", d->at_us);
	put_text(b, "changed_by", d->actor);
	put_close(b, '}');
	json_free(root);
	return 0;
}

static int list_work(struct call *c, struct reader *r)
{
	int code;

	put_open(&c->out, NULL, '{');
	put_open(&c->out, "servers", '[');
	code = read_doc_bodies(r, DOC_SERVER, target_put, c, &c->err);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return code;
}

int servers_get(struct call *c)
{
	static const char *const none[] = { NULL };

	return call_args_only(c, none) < 0 ? c->err.code : call_read(c, list_work);
}

static int one_put(void *ctx, const struct store_doc *d)
{
	struct call *c = ctx;

	return d->retired ? err_set(&c->err, E_NOT_FOUND, "no such target server")
	                  : target_put(ctx, d);
}

static int one_work(struct call *c, struct reader *r)
{
	return read_doc(r, DOC_SERVER, c->params[0], 0, 0, one_put, c, &c->err);
}

int target_get(struct call *c)
{
	static const char *const none[] = { NULL };

	return call_args_only(c, none) < 0 ? c->err.code : call_read(c, one_work);
}

/* --- changes --- */

static int command_of(struct call *c, const char *kind, const cJSON *args)
{
	char *text = cJSON_PrintUnformatted(args);
	int r = call_command(c, kind, text, false, c->request_id);

	sodium_memzero(text, strlen(text));
	free(text);
	return r;
}

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
	static const char *const keys[] = { "server",   "kind",     "host",  "port",
		                            "user",     "database", "extra", "concurrency",
		                            "projects", "password", NULL };

	return call_members_only(c, keys) < 0 || number_check(c, "port", 65535) < 0 ||
	                       number_check(c, "concurrency", 1000000) < 0
	               ? c->err.code
	               : command_of(c, "server-set", c->json);
}

int target_delete(struct call *c)
{
	cJSON *args = cJSON_CreateObject();
	int r;

	cJSON_AddStringToObject(args, "server", c->params[0]);
	r = command_of(c, "server-remove", args);
	cJSON_Delete(args);
	return r;
}
