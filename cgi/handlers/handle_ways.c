/* Which ways there are to sign in, and the one by an OpenID provider. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_users.h"
#include "cgi/handlers/route.h"
#include "cgi/handlers/sign_in.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/auth.h"
#include "cgi/who/oidc.h"
#include "cgi/who/outsider.h"
#include "cgi/who/people.h"
#include "cgi/who/ways.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/log.h"

static const char *const no_args[] = { NULL };

static void put_way(struct buf *out, const char *kind, const char *name, const char *href)
{
	put_open(out, NULL, '{');
	put_text(out, "kind", kind);
	if (name)
		put_text(out, "name", name);
	if (href)
		put_text(out, "href", href);
	put_close(out, '}');
}

int ways_get(struct call *c)
{
	if (call_args_only(c, no_args) < 0)
		return c->err.code;
	put_open(&c->out, NULL, '{');
	put_open(&c->out, "ways", '[');
	put_way(&c->out, "password", NULL, NULL);
	if (ways_has_ldap(c->cgi->ways))
		put_way(&c->out, "ldap", NULL, NULL);
	if (ways_oidc(c->cgi->ways))
		put_way(&c->out, "oidc", c->cgi->param.oidc_name, "/api/v1/login/oidc");
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

struct trip {
	struct outsider outsider;
	struct oidc_trip keys;
	char code[2000], browser[AUTH_TEXT_MAX];
	int64_t since; /* of the person who came in */
};

/* The browser's part of the state: it comes back with a link from another site, so not Strict. */
static const char *cookie_name(const struct call *c)
{
	return c->https ? "__Host-sirdar-oidc" : "sirdar-oidc";
}

static int oidc_check(struct call *c, const char *const *args)
{
	if (!ways_oidc(c->cgi->ways))
		return call_fail(c, E_NOT_FOUND, "path", "no OpenID provider is set");
	return call_args_only(c, args);
}

static int begin_work(struct call *c, struct reader *r)
{
	struct trip *t = c->extra;

	(void)r;
	return oidc_begin(ways_oidc(c->cgi->ways), t->keys.nonce, &c->out, t->browser, &c->err);
}

static int ways_begun(struct call *c)
{
	struct trip *t = c->extra;

	if (c->err.code < 0)
		return c->err.code;
	snprintf(c->cookie, sizeof c->cookie,
	         "%s=%s; Path=/; Max-Age=600; HttpOnly; SameSite=Lax%s", cookie_name(c), t->browser,
	         c->https ? "; Secure" : "");
	return reply_to(c, buf_str(&c->out));
}

/* The server drew the nonce, where it judges. */
static int nonce_taken(struct call *c)
{
	struct trip *t = c->extra;

	if (sign_in_begun(c, t->keys.nonce) < 0) {
		log_warn("oidc.failed", "code=%s why=\"%s\"", err_name(c->err.code), c->err.text);
		return c->err.code;
	}
	c->then = ways_begun;
	return call_way(c, begin_work);
}

int oidc_get(struct call *c)
{
	if (oidc_check(c, no_args) < 0)
		return c->err.code;
	c->extra = mem_new(sizeof(struct trip));
	return sign_in_ask(c, &(struct sign_in){ .user = "", .via = "oidc", .begin = true },
	                   nonce_taken);
}

static int who_work(struct call *c, struct reader *r)
{
	struct trip *t = c->extra;

	(void)r;
	return oidc_who(ways_oidc(c->cgi->ways), t->code, &t->keys, &t->outsider, &c->err);
}

static int go_in(struct call *c)
{
	return reply_to(c, "/ui/");
}

/* In, with the session read before anybody shows it. */
static int begun_read(struct call *c)
{
	struct trip *t = c->extra;
	char csrf[AUTH_TEXT_MAX];

	c->err = (struct err){ 0 }; /* without a store it is good all the same */
	auth_session_begin(c->cgi->auth, c, t->since, "oidc", csrf);
	log_info("login.done", "user=%s via=oidc address=%s token=", c->user, c->address);
	c->then = go_in;
	return call_hash(c, sessions_work);
}

static int session_taken(struct call *c)
{
	struct trip *t = c->extra;
	int r = sign_in_taken(c, &t->since);

	if (r < 0) {
		log_warn("oidc.failed", "code=%s why=\"%s\"", err_name(r), c->err.text);
		return r;
	}
	c->then = begun_read;
	return call_read(c, people_work);
}

/* --- the server judges ----------------------------------------------------------------- */

static int tokens_work(struct call *c, struct reader *r)
{
	struct trip *t = c->extra;

	(void)r;
	return oidc_tokens(ways_oidc(c->cgi->ways), t->code, &t->keys, &c->out, &c->err);
}

static void tokens_wipe(struct call *c, cJSON *said)
{
	cJSON *v;

	cJSON_ArrayForEach(v, said)
		sodium_memzero(v->valuestring, strlen(v->valuestring));
	sodium_memzero((char *)(uintptr_t)buf_str(&c->out), c->out.len);
	json_free(said);
}

/* The tokens go to the server as they are: who it is, and what he is here, is its to say. */
static int tokens_taken(struct call *c)
{
	struct trip *t = c->extra;
	cJSON *said = NULL;
	int r = c->err.code;

	if (r == 0)
		r = json_parse(buf_str(&c->out), c->out.len, &said, &c->err);
	if (r < 0)
		return r;
	char *id = mem_str(json_text(said, "id_token"));
	char *access = mem_str(json_text(said, "access_token"));
	tokens_wipe(c, said);
	r = sign_in_ask(c,
	                &(struct sign_in){ .user = "",
	                                   .via = "oidc",
	                                   .id_token = id,
	                                   .access_token = access,
	                                   .nonce = t->keys.nonce },
	                session_taken);
	sodium_memzero(id, strlen(id));
	sodium_memzero(access, strlen(access));
	free(id);
	free(access);
	return r;
}

/* --- the server judges nothing: this is asserted ---------------------------------------- */

/* Always to the console, whatever was asked for: nobody is sent elsewhere from here. */
static int entered(struct call *c)
{
	struct trip *t = c->extra;
	const struct person *p = NULL;

	if (c->err.code < 0)
		return c->err.code;
	if (people_find(c->cgi->people, t->outsider.name, &p) != 1 || p->disabled ||
	    p->role == ROLE_NONE) {
		person_unref(p);
		return call_fail(c, E_FORBIDDEN, "", "%s has no role here", t->outsider.name);
	}
	person_unref(p);
	return sign_in_ask(c, &(struct sign_in){ .user = t->outsider.name, .via = "oidc" },
	                   session_taken);
}

static int ways_answered(struct call *c)
{
	struct trip *t = c->extra;

	return c->err.code < 0 ? c->err.code : outsider_enter(c, &t->outsider, entered);
}

static int people_known(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	c->then = ways_answered;
	return call_way(c, who_work);
}

static int trip_take(struct call *c, struct trip *t)
{
	const char *state = call_arg(c, "state"), *code = call_arg(c, "code");
	const char *issuer = call_arg(c, "iss"), *wrong = call_arg(c, "error");
	const char *browser = MHD_lookup_connection_value(c->conn, MHD_COOKIE_KIND, cookie_name(c));

	snprintf(c->hint, sizeof c->hint, "begin again: /api/v1/login/oidc");
	if (!state || !browser || !oidc_back(ways_oidc(c->cgi->ways), state, browser, &t->keys))
		return call_fail(c, E_AUTH, "state",
		                 "nobody here began this, or it is too long ago");
	if (wrong)
		return call_fail(c, E_AUTH, "error", "the provider refuses: %.100s", wrong);
	if (issuer && strcmp(issuer, c->cgi->param.oidc_issuer) != 0)
		return call_fail(c, E_AUTH, "iss", "this comes from another provider");
	if (!code || code[0] == '\0' || strlen(code) >= sizeof t->code)
		return call_fail(c, E_AUTH, "code", "want a code of at most %zu bytes",
		                 sizeof t->code - 1);
	snprintf(t->code, sizeof t->code, "%s", code);
	c->hint[0] = '\0';
	return 0;
}

int oidc_callback_get(struct call *c)
{
	static const char *const args[] = { "code",          "state", "iss",
		                            "session_state", "error", "error_description",
		                            "error_uri",     NULL };
	struct trip *t;

	if (oidc_check(c, args) < 0)
		return c->err.code;
	c->extra = t = mem_new(sizeof *t);
	if (trip_take(c, t) < 0)
		return c->err.code;
	if (t->keys.is_judged) {
		c->then = tokens_taken;
		return call_way(c, tokens_work);
	}
	c->then = people_known;
	return call_read(c, people_work);
}
