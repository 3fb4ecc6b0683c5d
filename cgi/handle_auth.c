#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "cgi/auth.h"
#include "cgi/call.h"
#include "cgi/cgi.h"
#include "cgi/guard.h"
#include "cgi/handle_users.h"
#include "cgi/people.h"
#include "cgi/route.h"
#include "util/alloc.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/log.h"

#define TOKEN_DAYS_MAX 3650

struct login {
	char user[64], password[513], other[513], name[64], token[AUTH_TEXT_MAX], secret[128];
	enum role role, own; /* asked for; what the person has */
	int64_t life_s, since;
	bool as_token, is_app;
};

/* A text member of the body, copied; E_INVALID when required and absent, or too long. */
static int text_member(struct call *c, const char *key, bool required, char *ret, size_t size)
{
	const char *v = json_text(c->json, key);

	if (v == NULL && (required || json_get(c->json, key) != NULL))
		return call_fail(c, E_INVALID, key, "'%s' wants a text", key);
	if (v != NULL && strlen(v) >= size)
		return call_fail(c, E_INVALID, key, "'%s' has %zu bytes, want at most %zu", key,
		                 strlen(v), size - 1);
	snprintf(ret, size, "%s", v != NULL ? v : "");
	return 0;
}

/* --- login ---------------------------------------------------------------------------- */

static const char *owner_of(const char *user)
{
	return strcmp(user, "admin") == 0 ? "" : user;
}

static int login_work(struct call *c, struct reader *r)
{
	struct login *l = c->extra;
	struct person p = { 0 };
	int known = people_find(c->cgi->people, l->user, &p);
	int code = auth_password_verify(c->cgi->auth, l->user, known == 1 ? &p : NULL, l->password,
	                                &c->err);

	(void)r;
	auth_tried(c->cgi->auth, c, l->user, code == 0);
	sodium_memzero(l->password, sizeof(l->password));
	if (code == 0 && known == 1) {
		l->since = p.since;
		l->own = p.role;
	}
	person_done(&p);
	if (code == 0 && l->role > l->own) /* nothing was asked, or more than there is */
		l->role = l->own;
	if (code == 0 && l->as_token) {
		code = auth_token_make(c->cgi->param.state_dir, l->name, owner_of(l->user), l->role,
		                       l->life_s, l->is_app, l->token, &c->err);
		if (code == 0)
			code = auth_tokens_load(c->cgi->auth, &c->err);
	}
	return code;
}

static int login_done(struct call *c)
{
	struct login *l = c->extra;
	char csrf[AUTH_TEXT_MAX];

	if (c->err.code < 0)
		return c->err.code;
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "user", l->user);
	put_text(&c->out, "role", role_name(l->role));
	if (l->as_token) {
		put_text(&c->out, "name", l->name);
		put_text(&c->out, "token", l->token);
	} else {
		snprintf(c->user, sizeof(c->user), "%s", l->user);
		auth_session_begin(c->cgi->auth, c, l->since, csrf);
		put_text(&c->out, "csrf", csrf);
	}
	put_close(&c->out, '}');
	log_info("login.done", "user=%s address=%s token=%s", l->user, c->address, l->name);
	return reply_json(c, MHD_HTTP_OK);
}

static int people_work(struct call *c, struct reader *r)
{
	return people_refresh(c->cgi->people, r, &c->err);
}

/* The users as they are now. Without a store admin can sign in all the same; where there is none
 * yet (E_AGAIN) there are no others. */
static int login_read(struct call *c)
{
	struct login *l = c->extra;

	if (c->err.code < 0 && c->err.code != E_AGAIN && strcmp(l->user, "admin") != 0)
		return c->err.code;
	c->err = (struct err){ 0 };
	c->then = login_done;
	return call_hash(c, login_work);
}

/* The rest of a token request: name, role, days. */
static int token_members(struct call *c, struct login *l, bool name_required)
{
	char role[32] = "";
	const cJSON *given = json_get(c->json, "days");
	int64_t days = json_int(c->json, "days", 0);

	if (given != NULL && !cJSON_IsNumber(given))
		return call_fail(c, E_INVALID, "days", "'days' wants a number, 0 to %d",
		                 TOKEN_DAYS_MAX);
	if (text_member(c, "name", name_required, l->name, sizeof(l->name)) < 0 ||
	    text_member(c, "role", false, role, sizeof(role)) < 0)
		return c->err.code;
	l->role = ROLE_ADMIN;
	if (role[0] != '\0' && !role_from_name(role, &l->role))
		return call_fail(c, E_INVALID, "role", "want viewer, developer, operator or admin");
	if (days < 0 || days > TOKEN_DAYS_MAX)
		return call_fail(c, E_INVALID, "days", "want 0 to %d", TOKEN_DAYS_MAX);
	l->life_s = days * 86400;
	return 0;
}

int login_post(struct call *c)
{
	static const char *const keys[] = { "user", "password", "name", "role", "days", NULL };
	struct login *l = c->extra = mem_new(sizeof(*l));

	if (guard_origin(c) < 0 || call_members_only(c, keys) < 0 ||
	    text_member(c, "user", true, l->user, sizeof(l->user)) < 0 ||
	    text_member(c, "password", true, l->password, sizeof(l->password)) < 0 ||
	    token_members(c, l, false) < 0)
		return c->err.code;
	l->as_token = l->name[0] != '\0';
	if (!l->as_token)
		l->role = ROLE_ADMIN;
	l->own = ROLE_ADMIN;
	if (auth_may_try(c->cgi->auth, c, l->user) < 0)
		return c->err.code;
	c->then = login_read;
	return call_read(c, people_work);
}

static const char *const no_args[] = { NULL };

int logout_post(struct call *c)
{
	auth_session_end(c->cgi->auth, c);
	buf_puts(&c->out, "{}");
	return reply_json(c, MHD_HTTP_OK);
}

int session_get(struct call *c)
{
	char csrf[AUTH_TEXT_MAX];

	if (call_args_only(c, no_args) < 0)
		return c->err.code;
	auth_session_csrf(c->cgi->auth, c, csrf);
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "user", c->user[0] != '\0' ? c->user : c->actor);
	put_text(&c->out, "role", role_name(c->role));
	put_raw(&c->out, "projects", c->within != NULL ? c->within : "null");
	put_open(&c->out, "rights", '[');
	for (unsigned r = RIGHT_BACKFILL; r <= RIGHT_FORCE_SUCCESS; r <<= 1)
		if (c->rights & r)
			put_text(&c->out, NULL, right_name(r));
	put_close(&c->out, ']');
	put_text(&c->out, "csrf", csrf[0] != '\0' ? csrf : NULL);
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

/* --- password --- */

static int password_work(struct call *c, struct reader *r)
{
	struct login *l = c->extra;
	struct person p = { 0 };
	int known = people_find(c->cgi->people, c->user, &p);
	int code = auth_password_verify(c->cgi->auth, c->user, known == 1 ? &p : NULL, l->password,
	                                &c->err);

	(void)r;
	person_done(&p);
	auth_tried(c->cgi->auth, c, c->user, code == 0);
	if (code == 0 && strcmp(c->user, "admin") == 0)
		code = auth_password_set(c->cgi->auth, l->other, &c->err);
	else if (code == 0)
		code = auth_password_hash(l->other, l->secret, &c->err);
	sodium_memzero(l->password, sizeof(l->password));
	sodium_memzero(l->other, sizeof(l->other));
	return code;
}

/* A person's own is kept by the server, like all of him. */
static int password_hashed(struct call *c)
{
	struct login *l = c->extra;
	cJSON *args;
	int r;

	if (c->err.code < 0)
		return c->err.code;
	if (strcmp(c->user, "admin") == 0) {
		buf_puts(&c->out, "{}");
		return reply_json(c, MHD_HTTP_OK);
	}
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "user", c->user);
	cJSON_AddStringToObject(args, "secret", l->secret);
	sodium_memzero(l->secret, sizeof(l->secret));
	r = user_command(c, "user-set", args, NULL);
	cJSON_Delete(args);
	return r;
}

int password_post(struct call *c)
{
	static const char *const keys[] = { "old", "new", NULL };
	struct login *l = c->extra = mem_new(sizeof(*l));

	if (c->user[0] == '\0' && c->role == ROLE_ADMIN) /* the cgi's own tokens: admin's */
		snprintf(c->user, sizeof(c->user), "admin");
	if (c->user[0] == '\0')
		return call_fail(c, E_FORBIDDEN, "", "%s is a token, not a person", c->actor);
	if (call_members_only(c, keys) < 0 ||
	    text_member(c, "old", true, l->password, sizeof(l->password)) < 0 ||
	    text_member(c, "new", true, l->other, sizeof(l->other)) < 0 ||
	    auth_may_try(c->cgi->auth, c, c->user) < 0)
		return c->err.code;
	c->then = password_hashed;
	return call_hash(c, password_work);
}

/* --- tokens --- */

/* Whose tokens the caller sees: his own, or all. */
static const char *owner_seen(const struct call *c)
{
	return c->role == ROLE_ADMIN ? NULL : owner_of(c->user);
}

int tokens_get(struct call *c)
{
	if (call_args_only(c, no_args) < 0)
		return c->err.code;
	put_open(&c->out, NULL, '{');
	auth_tokens_put(c->cgi->auth, owner_seen(c), &c->out);
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

static int token_make_work(struct call *c, struct reader *r)
{
	struct login *l = c->extra;
	int code = auth_token_make(c->cgi->param.state_dir, l->name, owner_of(c->user), l->role,
	                           l->life_s, l->is_app, l->token, &c->err);

	(void)r;
	if (code == 0)
		code = auth_tokens_load(c->cgi->auth, &c->err);
	if (code < 0)
		return code;
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "name", l->name);
	put_text(&c->out, "role", role_name(l->role));
	put_bool(&c->out, "app", l->is_app);
	put_text(&c->out, "token", l->token);
	put_close(&c->out, '}');
	c->status = MHD_HTTP_CREATED;
	return 0;
}

int tokens_post(struct call *c)
{
	static const char *const keys[] = { "name", "role", "days", "app", NULL };
	struct login *l = c->extra = mem_new(sizeof(*l));

	if (call_members_only(c, keys) < 0 || token_members(c, l, true) < 0 ||
	    call_truth_member(c, "app", &l->is_app) < 0)
		return c->err.code;
	if (c->user[0] == '\0' && c->role < ROLE_ADMIN)
		return call_fail(c, E_FORBIDDEN, "", "%s is a token, not a person", c->actor);
	if (json_get(c->json, "role") == NULL)
		l->role = c->role;
	if (l->role > c->role)
		return call_fail(c, E_FORBIDDEN, "role", "%s has the role %s, not %s", c->actor,
		                 role_name(c->role), role_name(l->role));
	return call_hash(c, token_make_work);
}

static int token_delete_work(struct call *c, struct reader *r)
{
	(void)r;
	buf_puts(&c->out, "{}");
	return auth_token_delete(c->cgi->auth, c->params[0], owner_seen(c), &c->err);
}

int token_delete(struct call *c)
{
	return call_hash(c, token_delete_work);
}
