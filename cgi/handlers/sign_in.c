/* A sign-in at the server: the password leaves with the question and is wiped here at once; what
 * comes back is the secret of a session, which is the cookie's value and goes with each command. */
#include "cgi/handlers/sign_in.h"

#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/cgi.h"
#include "cgi/who/auth.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "util/json_put.h"

enum { AGENT_MAX = 199 };

int sign_in_ask(struct call *c, const struct sign_in *s, call_fn then)
{
	const char *agent = call_header(c, "User-Agent");
	struct buf args;
	int r;

	buf_init(&args);
	put_open(&args, NULL, '{');
	put_text(&args, "user", s->user);
	if (s->begin)
		put_bool(&args, "begin", true);
	if (s->id_token) {
		put_text(&args, "id_token", s->id_token);
		put_text(&args, "access_token", s->access_token);
		put_text(&args, "nonce", s->nonce);
	}
	if (s->password)
		put_text(&args, "password", s->password);
	if (s->code && s->code[0] != '\0')
		put_text(&args, "code", s->code);
	put_text(&args, "via", s->via);
	put_text(&args, "address", c->address);
	if (agent) {
		char text[AGENT_MAX + 1] = "";

		for (size_t i = 0; i < AGENT_MAX && agent[i] != '\0'; i++)
			text[i] = (char)(agent[i] >= 0x20 && agent[i] < 0x7f ? agent[i] : '?');
		put_text(&args, "agent", text);
	}
	put_bool(&args, "brief", s->brief);
	put_int(&args, "life_s", param_now(c->cgi->param.session_life_ms) / 1000);
	put_close(&args, '}');
	buf_clear(&c->out); /* of a command before */
	c->then = then;
	r = call_sign_in(c, buf_str(&args));
	sodium_memzero((char *)(uintptr_t)buf_str(&args), args.len);
	buf_done(&args);
	return r;
}

static void answer_wipe(struct call *c)
{
	sodium_memzero((char *)(uintptr_t)buf_str(&c->out), c->out.len);
	buf_clear(&c->out);
}

/* Another issuer, or client, than here would be refused at the end of the way. */
static int check_same(struct call *c, const cJSON *root)
{
	const struct param_cgi *p = &c->cgi->param;
	const char *issuer = json_text(root, "issuer"), *client = json_text(root, "client_id");

	if (!issuer || !client || !json_text(root, "nonce"))
		return call_fail(c, E_PROTOCOL, "", "the server answered without a nonce");
	if (strcmp(issuer, p->oidc_issuer) != 0)
		return call_fail(c, E_CONFLICT, "oidc_issuer",
		                 "oidc_issuer is %.200s at the server and %.200s here", issuer,
		                 p->oidc_issuer);
	if (strcmp(client, p->oidc_client_id) != 0)
		return call_fail(c, E_CONFLICT, "oidc_client_id",
		                 "oidc_client_id is %.100s at the server and %.100s here", client,
		                 p->oidc_client_id);
	return 0;
}

int sign_in_begun(struct call *c, char ret_nonce[AUTH_TEXT_MAX])
{
	cJSON *root = NULL;
	int r = c->err.code;

	ret_nonce[0] = '\0';
	if (r == 0)
		r = json_parse(buf_str(&c->out), c->out.len, &root, &c->err);
	if (r == 0 && json_true(root, "judged")) {
		r = check_same(c, root);
		if (r == 0)
			snprintf(ret_nonce, AUTH_TEXT_MAX, "%s", json_text(root, "nonce"));
	}
	json_free(root);
	answer_wipe(c);
	return r;
}

int sign_in_judged(struct call *c, bool *ret)
{
	cJSON *root = NULL;
	int r = c->err.code;

	*ret = false;
	if (r == E_AUTH) { /* of a release that takes it for somebody without a name */
		c->err = (struct err){ 0 };
		return 0;
	}
	if (r == 0)
		r = json_parse(buf_str(&c->out), c->out.len, &root, &c->err);
	*ret = r == 0 && json_true(root, "judged");
	json_free(root);
	answer_wipe(c);
	return r;
}

/* By the server's word: the password that was typed may have been the directory's. */
static const char *way_of(const char *via)
{
	return via && strcmp(via, "ldap") == 0   ? "ldap"
	       : via && strcmp(via, "oidc") == 0 ? "oidc"
	                                         : "password";
}

int sign_in_taken(struct call *c, int64_t *ret_since)
{
	cJSON *root = NULL;
	int r = c->err.code;

	sodium_memzero((char *)(uintptr_t)buf_str(&c->ask_args), c->ask_args.len);
	buf_clear(&c->ask_args);
	if (c->tries[0] != '\0' && (r == 0 || r == E_AUTH))
		auth_tried(c->cgi->auth, c, r == 0);
	else if (r == E_FACTOR) /* the one that brings the code may come at once */
		auth_try_over(c->cgi->auth, c);
	if (r < 0)
		return r;
	r = json_parse(buf_str(&c->out), c->out.len, &root, &c->err);
	if (r == 0 && json_text(root, "session"))
		snprintf(c->credential, sizeof c->credential, "%s", json_text(root, "session"));
	if (r == 0)
		*ret_since = json_int(root, "since", 0);
	if (r == 0)
		c->factor = json_int(root, "factor", 0);
	if (r == 0)
		c->via = way_of(json_text(root, "via"));
	if (r == 0 && json_text(root, "user"))
		snprintf(c->user, sizeof c->user, "%s", json_text(root, "user"));
	answer_wipe(c);
	json_free(root);
	if (r == 0 && c->credential[0] == '\0')
		return call_fail(c, E_PROTOCOL, "", "the server answered without a session");
	return r;
}
