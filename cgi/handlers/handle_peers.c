/* Peers of the server: who may greet it, and as what. The server knows all of it, by documents and
 * keys; here is only what passes it on. */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "util/buf.h"
#include "util/json_put.h"

static const char *const none[] = { NULL };

int peers_get(struct call *c)
{
	return call_args_only(c, none) < 0 ? c->err.code : call_query(c, "peers", "{}");
}

int peer_get(struct call *c)
{
	struct buf args;

	if (call_args_only(c, none) < 0)
		return c->err.code;
	buf_init(&args);
	put_open(&args, NULL, '{');
	put_text(&args, "peer", c->params[0]);
	put_close(&args, '}');
	int r = call_query(c, "peers", buf_str(&args));
	buf_done(&args);
	return r;
}

int peers_post(struct call *c)
{
	static const char *const keys[] = { "peer",    "kind",  "groups",  "types", "projects",
		                            "expires", "state", "message", NULL };

	return call_members_only(c, keys) < 0 ? c->err.code : doc_command(c, "peer-set", c->json);
}

int peer_revoke(struct call *c)
{
	static const char *const keys[] = { "message", NULL };

	if (call_members_only(c, keys) < 0)
		return c->err.code;
	cJSON *args = cJSON_Duplicate(c->json, true);
	cJSON_AddStringToObject(args, "peer", c->params[0]);
	int r = doc_command(c, "peer-revoke", args);
	cJSON_Delete(args);
	return r;
}
