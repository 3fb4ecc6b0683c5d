/* Browsers that people have alerts pushed to: their own, kept by the server; whether one can be
 * pushed to, and with which key, only the notifier knows. What a push is sealed with goes in and
 * never comes out. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "util/json_put.h"

enum { DEVICE_BYTES = 16, LABEL_MAX = 400 };

struct push {
	bool all, mine;
	char device[2 * DEVICE_BYTES + 1];
};

static const char *text_of(const cJSON *json, const char *key, const char *otherwise)
{
	const char *text = json_text(json, key);

	return text ? text : otherwise;
}

/* --- shown --------------------------------------------------------------------------- */

/* Of the address only whose service it is: the rest of it is a key. */
static void put_service(struct buf *b, const char *endpoint)
{
	const char *host = strstr(endpoint, "://");
	char text[256];

	host = host ? host + 3 : endpoint;
	snprintf(text, sizeof text, "%.*s", (int)strcspn(host, "/?#"), host);
	put_text(b, "service", text);
}

static int device_put(void *ctx, const struct store_doc *d)
{
	struct call *c = ctx;
	const struct push *p = c->extra;
	cJSON *root = NULL;

	if (json_parse(d->body, d->body_len, &root, NULL) < 0)
		return 0;
	const char *owner = text_of(root, "owner", "");
	if (p->all || strcmp(owner, c->user) == 0) {
		put_open(&c->out, NULL, '{');
		put_text(&c->out, "device", d->name);
		put_text(&c->out, "person", owner);
		put_text(&c->out, "label", text_of(root, "label", ""));
		put_service(&c->out, text_of(root, "endpoint", ""));
		put_text(&c->out, "least", text_of(root, "least", "warning"));
		put_text(&c->out, "language", text_of(root, "language", "en"));
		put_time(&c->out, "since", json_int(root, "created", 0));
		put_close(&c->out, '}');
	}
	json_free(root);
	return 0;
}

static int devices_work(struct call *c, struct reader *r)
{
	int code;

	put_open(&c->out, NULL, '{');
	put_open(&c->out, "devices", '[');
	code = read_doc_bodies(r, DOC_DEVICE, device_put, c, &c->err);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return code;
}

int push_get(struct call *c)
{
	static const char *const names[] = { "all", NULL };
	struct push *p = c->extra = mem_new(sizeof *p);

	if (call_args_only(c, names) < 0 || call_arg_bool(c, "all", &p->all) < 0)
		return c->err.code;
	if (p->all && c->role < ROLE_ADMIN)
		return call_fail(c, E_FORBIDDEN, "all", "only an admin sees devices of others");
	return call_read(c, devices_work);
}

/* --- asked of the notifier ------------------------------------------------------------- */

static int push_ask(struct call *c, const char *kind, const cJSON *args)
{
	char *text = cJSON_PrintUnformatted(args);
	int r = call_query(c, kind, text);

	sodium_memzero(text, strlen(text));
	free(text);
	return r;
}

int push_key_get(struct call *c)
{
	static const char *const none[] = { NULL };
	cJSON *args;
	int r;

	if (call_args_only(c, none) < 0)
		return c->err.code;
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "owner", c->user[0] != '\0' ? c->user : c->actor);
	r = push_ask(c, "push", args);
	cJSON_Delete(args);
	return r;
}

/* --- subscribed ------------------------------------------------------------------------ */

static int push_kept(struct call *c)
{
	const struct push *p = c->extra;

	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "device", p->device);
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

/* The notifier can push to it: to be kept. */
static int push_keep(struct call *c)
{
	const struct push *p = c->extra;
	int64_t now_s = clock_wall_us(&clock_machine) / US_PER_S;
	cJSON *args;
	int r;

	if (c->err.code < 0)
		return c->err.code;
	args = cJSON_Duplicate(c->json, true);
	cJSON_AddStringToObject(args, "device", p->device);
	cJSON_AddStringToObject(args, "owner", c->user);
	cJSON_AddNumberToObject(args, "created", (double)now_s);
	c->then = push_kept;
	r = doc_command(c, "device-set", args);
	cJSON_Delete(args);
	return r;
}

/* The same browser is the same device, whoever signs in there. */
static void name_of(const char *endpoint, char ret[2 * DEVICE_BYTES + 1])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)endpoint, strlen(endpoint));
	sodium_bin2hex(ret, 2 * DEVICE_BYTES + 1, hash, DEVICE_BYTES);
}

/* What may be left out is judged here: the notifier is asked about the first three only. */
static int options_check(struct call *c)
{
	static const struct {
		const char *key, *want, *words[4]; /* no words: any text */
	} options[] = {
		{ "label", "at most 400 bytes", { NULL } },
		{ "least", "notice, warning or critical", { "notice", "warning", "critical" } },
		{ "language", "en or zh", { "en", "zh" } },
	};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		const char *key = options[i].key, *text = json_text(c->json, key);
		const char *const *word = options[i].words;
		bool ok = text && !*word && strlen(text) <= LABEL_MAX;

		for (; text && *word; word++)
			ok = ok || strcmp(text, *word) == 0;
		if (!ok && json_get(c->json, key))
			return call_fail(c, E_INVALID, key, "'%s' wants %s%s", key,
			                 text ? "" : "a text: ", options[i].want);
	}
	return 0;
}

int push_post(struct call *c)
{
	static const char *const keys[] = { "endpoint", "p256dh",   "auth", "label",
		                            "least",    "language", NULL };
	struct push *p = c->extra = mem_new(sizeof *p);
	cJSON *args;
	int r;

	if (call_members_only(c, keys) < 0)
		return c->err.code;
	for (int i = 0; i < 3; i++)
		if (!json_text(c->json, keys[i]))
			return call_fail(c, E_INVALID, keys[i], "'%s' wants a text", keys[i]);
	if (options_check(c) < 0)
		return c->err.code;
	if (c->user[0] == '\0')
		return call_fail(c, E_FORBIDDEN, "", "%s is a token, not a person", c->actor);
	name_of(json_text(c->json, "endpoint"), p->device);
	args = cJSON_CreateObject();
	for (int i = 0; i < 3; i++)
		cJSON_AddStringToObject(args, keys[i], json_text(c->json, keys[i]));
	c->then = push_keep;
	r = push_ask(c, "push-check", args);
	cJSON_Delete(args);
	return r;
}

/* --- one's own ------------------------------------------------------------------------- */

static int owner_seen(void *ctx, const struct store_doc *d)
{
	struct call *c = ctx;
	struct push *p = c->extra;
	cJSON *root = NULL;

	if (d->retired || json_parse(d->body, d->body_len, &root, NULL) < 0)
		return 0;
	p->mine = c->user[0] != '\0' && strcmp(text_of(root, "owner", ""), c->user) == 0;
	p->all = true; /* there is one */
	json_free(root);
	return 0;
}

static int owner_work(struct call *c, struct reader *r)
{
	int code = read_doc(r, &(struct read_which){ DOC_DEVICE, .name = c->params[0] }, owner_seen,
	                    c, &c->err);

	if (code == E_NOT_FOUND) {
		c->err = (struct err){ 0 };
		code = 0;
	}
	return code;
}

/* Whose it is decides: others' are not said to be there. */
static int check_own(struct call *c, bool admins)
{
	const struct push *p = c->extra;

	if (c->err.code < 0)
		return c->err.code;
	return p->all && (p->mine || (admins && c->role == ROLE_ADMIN))
	               ? 0
	               : call_fail(c, E_NOT_FOUND, "device", "there is no device of this name");
}

static int remove_it(struct call *c)
{
	if (check_own(c, true) < 0)
		return c->err.code;
	c->then = NULL;
	return doc_remove(c, "device-remove", "device");
}

int push_delete(struct call *c)
{
	static const char *const none[] = { NULL };

	c->extra = mem_new(sizeof(struct push));
	if (call_args_only(c, none) < 0)
		return c->err.code;
	c->then = remove_it;
	return call_read(c, owner_work);
}

static int test_it(struct call *c)
{
	cJSON *args;
	int r;

	if (check_own(c, false) < 0)
		return c->err.code;
	c->then = NULL;
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "device", c->params[0]);
	cJSON_AddStringToObject(args, "actor", c->actor);
	r = push_ask(c, "push-test", args);
	cJSON_Delete(args);
	return r;
}

int push_test(struct call *c)
{
	static const char *const keys[] = { NULL };

	c->extra = mem_new(sizeof(struct push));
	if (call_members_only(c, keys) < 0)
		return c->err.code;
	c->then = test_it;
	return call_read(c, owner_work);
}
