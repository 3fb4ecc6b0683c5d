/* People: listed, made, changed, removed. Passwords come in and go on as hashes. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/auth.h"
#include "cgi/call.h"
#include "cgi/cgi.h"
#include "cgi/handle_users.h"
#include "cgi/people.h"
#include "cgi/route.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"

/* --- list --- */

static void put_list(struct buf *b, const char *key, const cJSON *list)
{
	const cJSON *v;

	put_open(b, key, '[');
	cJSON_ArrayForEach(v, list)
	{
		if (cJSON_IsString(v))
			put_text(b, NULL, v->valuestring);
	}
	put_close(b, ']');
}

/* All of it but the password's hash. */
static int user_put(void *ctx, const struct store_doc *d)
{
	struct buf *b = &((struct call *)ctx)->out;
	cJSON *root = NULL;

	if (json_parse(d->body, d->body_len, &root, NULL) < 0)
		root = cJSON_CreateObject();
	put_open(b, NULL, '{');
	put_text(b, "user", d->name);
	put_text(b, "role", json_text(root, "role"));
	put_list(b, "projects", json_get(root, "projects"));
	put_list(b, "rights", json_get(root, "rights"));
	put_text(b, "full_name", json_text(root, "full_name"));
	put_text(b, "mail", json_text(root, "mail"));
	put_text(b, "phone", json_text(root, "phone"));
	put_bool(b, "disabled", json_true(root, "disabled"));
	put_bool(b, "has_password", json_text(root, "secret") != NULL);
	put_int(b, "version", d->version);
	put_time_us(b, "changed", d->at_us);
	put_text(b, "changed_by", d->actor);
	put_close(b, '}');
	json_free(root);
	return 0;
}

static int users_work(struct call *c, struct reader *r)
{
	int code;

	put_open(&c->out, NULL, '{');
	put_open(&c->out, "users", '[');
	code = read_doc_bodies(r, DOC_USER, user_put, c, &c->err);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return code;
}

int users_get(struct call *c)
{
	static const char *const none[] = { NULL };

	return call_args_only(c, none) < 0 ? c->err.code : call_read(c, users_work);
}

static int one_put(void *ctx, const struct store_doc *d)
{
	struct call *c = ctx;

	return d->retired ? err_set(&c->err, E_NOT_FOUND, "no such user") : user_put(ctx, d);
}

static int user_work(struct call *c, struct reader *r)
{
	return read_doc(r, DOC_USER, c->params[0], 0, 0, one_put, c, &c->err);
}

int user_get(struct call *c)
{
	static const char *const none[] = { NULL };

	return call_args_only(c, none) < 0 ? c->err.code : call_read(c, user_work);
}

/* --- changes --- */

static int people_work(struct call *c, struct reader *r)
{
	return people_refresh(c->cgi->people, r, &c->err);
}

static int command_done(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	c->then = c->after; /* the answer of the command, when the change is known here */
	return call_read(c, people_work);
}

int user_command(struct call *c, const char *kind, const cJSON *args, call_fn then)
{
	char *text = cJSON_PrintUnformatted(args);
	int r;

	c->then = command_done;
	c->after = then;
	r = call_command(c, kind, text, false, c->request_id);
	sodium_memzero(text, strlen(text));
	free(text);
	return r;
}

struct change {
	char password[513], secret[128];
};

static int hash_work(struct call *c, struct reader *r)
{
	struct change *g = c->extra;
	int code = auth_password_hash(g->password, g->secret, &c->err);

	(void)r;
	sodium_memzero(g->password, sizeof(g->password));
	return code;
}

static int user_send(struct call *c)
{
	struct change *g = c->extra;
	cJSON *args = cJSON_Duplicate(c->json, true);
	int r;

	cJSON_DeleteItemFromObjectCaseSensitive(args, "password");
	if (g->secret[0] != '\0')
		cJSON_AddStringToObject(args, "secret", g->secret);
	sodium_memzero(g->secret, sizeof(g->secret));
	r = user_command(c, "user-set", args, NULL);
	cJSON_Delete(args);
	return r;
}

static int hashed(struct call *c)
{
	return c->err.code < 0 ? c->err.code : user_send(c);
}

int users_post(struct call *c)
{
	static const char *const keys[] = { "user",  "role",      "projects", "rights",   "mail",
		                            "phone", "full_name", "disabled", "password", NULL };
	struct change *g = c->extra = mem_new(sizeof(*g));
	const cJSON *given = json_get(c->json, "password");
	const char *password = json_text(c->json, "password");

	if (call_members_only(c, keys) < 0)
		return c->err.code;
	if (given == NULL)
		return user_send(c);
	if (password == NULL || strlen(password) >= sizeof(g->password))
		return call_fail(c, E_INVALID, "password", "'password' wants a text of at most %zu",
		                 sizeof(g->password) - 1);
	snprintf(g->password, sizeof(g->password), "%s", password);
	c->then = hashed;
	return call_hash(c, hash_work);
}

int user_delete(struct call *c)
{
	cJSON *args = cJSON_CreateObject();
	int r;

	cJSON_AddStringToObject(args, "user", c->params[0]);
	r = user_command(c, "user-remove", args, NULL);
	cJSON_Delete(args);
	return r;
}
