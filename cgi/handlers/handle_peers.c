/* Peers of the server: who may greet it, and as what. The server knows all of it, by documents and
 * keys; here is only what passes it on. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_put.h"

static const char *const none[] = { NULL };

int peers_get(struct call *c)
{
	return call_args_only(c, none) < 0 ? c->err.code : call_query(c, "peers", "{}");
}

static int named_query(struct call *c, const char *query)
{
	struct buf args;

	if (call_args_only(c, none) < 0)
		return c->err.code;
	buf_init(&args);
	put_open(&args, NULL, '{');
	put_text(&args, "peer", c->params[0]);
	put_close(&args, '}');
	int r = call_query(c, query, buf_str(&args));
	buf_done(&args);
	return r;
}

int peer_get(struct call *c)
{
	return named_query(c, "peers");
}

int peer_exposed(struct call *c)
{
	return named_query(c, "exposed");
}

int peers_post(struct call *c)
{
	static const char *const keys[] = { "peer",     "kind",      "groups",  "types",
		                            "projects", "expires",   "state",   "fingerprint",
		                            "asserts",  "last_face", "message", NULL };

	return call_members_only(c, keys) < 0 ? c->err.code : doc_command(c, "peer-set", c->json);
}

static int named_command(struct call *c, const char *kind)
{
	cJSON *args = cJSON_Duplicate(c->json, true);

	cJSON_AddStringToObject(args, "peer", c->params[0]);
	int r = doc_command(c, kind, args);
	cJSON_Delete(args);
	return r;
}

int peer_revoke(struct call *c)
{
	static const char *const keys[] = { "last_face", "message", NULL };

	return call_members_only(c, keys) < 0 ? c->err.code : named_command(c, "peer-revoke");
}

int peer_approve(struct call *c)
{
	static const char *const keys[] = { "fingerprint", "message", NULL };

	return call_members_only(c, keys) < 0 ? c->err.code : named_command(c, "peer-approve");
}

/* --- invites ------------------------------------------------------------------------------ */

enum { ID_BYTES = 6, SECRET_BYTES = 16 }; /* of a code; as text it has twice as many */

struct invite {
	char id[2 * ID_BYTES + 1], secret[2 * SECRET_BYTES + 1];
};

/* Once: nobody can ask for it again. */
static int invite_told(struct call *c)
{
	struct invite *i = c->extra;
	char code[2 * ID_BYTES + 1 + 2 * SECRET_BYTES + 1];

	if (c->err.code < 0)
		return c->err.code;
	snprintf(code, sizeof code, "%s-%s", i->id, i->secret);
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "peer", c->params[0]);
	put_text(&c->out, "code", code);
	put_close(&c->out, '}');
	sodium_memzero(code, sizeof code);
	sodium_memzero(i, sizeof *i);
	return reply_json(c, MHD_HTTP_CREATED);
}

static void digits_draw(char *ret, size_t n)
{
	uint8_t bytes[32];

	randombytes_buf(bytes, n);
	sodium_bin2hex(ret, 2 * n + 1, bytes, n);
	sodium_memzero(bytes, sizeof bytes);
}

int peer_invite(struct call *c)
{
	static const char *const keys[] = { "kind",    "groups",  "types", "projects",
		                            "expires", "message", NULL };

	if (call_members_only(c, keys) < 0)
		return c->err.code;
	struct invite *i = mem_new(sizeof *i);
	digits_draw(i->id, ID_BYTES);
	digits_draw(i->secret, SECRET_BYTES);
	cJSON_AddStringToObject(c->json, "id", i->id);
	cJSON_AddStringToObject(c->json, "secret", i->secret);
	c->extra = i;
	c->then = invite_told;
	return named_command(c, "peer-invite");
}
