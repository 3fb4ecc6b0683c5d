/* Sign-in, sign-out, the session, one's own password. A sign-in goes through several threads, a
 * function for each step: the users are read anew on a thread that reads, the password is verified
 * by the server (or by LDAP on the way's thread, where the server asks no directory), and only
 * login_done() decides what the person may: his role as it is now, never more. Passwords are wiped
 * as soon as they were used. `admin` is no document until the server keeps him: till then his is
 * verified on the hash thread, and he signs in without a server. Failed tries are counted by
 * cgi/who/auth_tries.c. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/handle_factor.h"
#include "cgi/handlers/handle_sessions.h"
#include "cgi/handlers/handle_tokens.h"
#include "cgi/handlers/handle_users.h"
#include "cgi/handlers/route.h"
#include "cgi/handlers/sign_in.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/guard.h"
#include "cgi/who/auth.h"
#include "cgi/who/factor.h"
#include "cgi/who/outsider.h"
#include "cgi/who/people.h"
#include "cgi/who/sight.h"
#include "cgi/who/signs.h"
#include "cgi/who/ways.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/log.h"

struct login {
	struct token_new made; /* with a name: a token instead of a session */
	char user[64], password[513], other[513], secret[128];
	char own[SESSION_ID_MAX]; /* of a change of password: the session that stays */
	int64_t since;            /* of the person whose password was right ... */
	int64_t factor;           /* ... and the mark of his second factor, 0: he has none */
	char code[FACTOR_CODE_MAX];
	bool is_own;     /* whose password is changed: this cgi's own admin */
	const char *via; /* static */
	struct outsider outsider;
	call_fn there, here; /* the server asks the directory, or this face does */
};

/* A text member of the body, copied; E_INVALID when required and absent, or too long. */
static int text_member(struct call *c, const char *key, bool required, char *ret, size_t size)
{
	const char *v = json_text(c->json, key);

	if (!v && (required || json_get(c->json, key)))
		return call_fail(c, E_INVALID, key, "'%s' wants a text", key);
	if (v && strlen(v) >= size)
		return call_fail(c, E_INVALID, key, "'%s' has %zu bytes, want at most %zu", key,
		                 strlen(v), size - 1);
	snprintf(ret, size, "%s", v ? v : "");
	return 0;
}

static int auth_answered(struct call *c)
{
	return c->err.code < 0 ? c->err.code : reply_json(c, MHD_HTTP_OK);
}

/* --- login ---------------------------------------------------------------------------- */

/* admin's own: no person has a password here. */
static int login_work(struct call *c, struct reader *r)
{
	struct login *l = c->extra;
	int code = auth_password_verify(c->cgi->auth, l->user, l->password, &c->err);

	(void)r;
	l->factor = code == 0 ? factor_mark(c->cgi, l->user, NULL) : 0;
	if (l->factor == 0) /* else the code is what makes it right */
		auth_tried(c->cgi->auth, c, code == 0);
	sodium_memzero(l->password, sizeof l->password);
	return code;
}

static int login_told(struct call *c)
{
	struct login *l = c->extra;
	char csrf[AUTH_TEXT_MAX];

	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "user", l->user);
	put_text(&c->out, "role", role_name(l->made.role));
	if (l->made.name[0] != '\0') {
		put_text(&c->out, "name", l->made.name);
		put_text(&c->out, "token", l->made.token);
		signs_add(c, SIGN_IN, l->user);
		sodium_memzero(l->made.token, sizeof l->made.token);
	} else {
		c->factor = l->factor;
		auth_session_begin(c->cgi->auth, c, l->since, l->via, csrf);
		put_text(&c->out, "csrf", csrf);
		put_bool(&c->out, "must_enrol", c->must_enrol);
	}
	put_close(&c->out, '}');
	log_info("login.done", "user=%s via=%s address=%s token=%s", l->user, l->via, c->address,
	         l->made.name);
	c->then = auth_answered;
	return call_hash(c, sessions_work);
}

static int login_done(struct call *c);

/* The server was told. Its session is among those that are read before anybody shows it. */
static int login_read_anew(struct call *c)
{
	c->err = (struct err){ 0 }; /* without a store it is good all the same */
	return login_done(c);
}

static int login_taken(struct call *c)
{
	struct login *l = c->extra;
	int r = sign_in_taken(c, &l->since);

	l->factor = c->factor;
	if (r < 0)
		return r;
	if (strcmp(l->via, "password") == 0) /* of whom the server asked a directory: ldap */
		l->via = c->via;
	c->then = login_read_anew;
	return call_read(c, people_work);
}

/* To the server, with the password or without. */
static int login_ask(struct call *c, const char *password)
{
	struct login *l = c->extra;

	CHECK(l && l->via);
	int r = sign_in_ask(c,
	                    &(struct sign_in){ .user = l->user,
	                                       .password = password,
	                                       .code = password ? l->code : "",
	                                       .via = l->via,
	                                       .brief = l->made.name[0] != '\0' },
	                    login_taken);

	sodium_memzero(l->password, sizeof l->password);
	sodium_memzero(l->code, sizeof l->code);
	return r;
}

/* He is who he says. A token is never more than he is. */
static int login_done(struct call *c)
{
	struct login *l = c->extra;
	enum role own = ROLE_ADMIN;
	const struct person *p = NULL;

	if (c->err.code < 0)
		return c->err.code;
	if (!auth_is_own(c->cgi, l->user)) {
		if (people_find(c->cgi->people, l->user, &p) != 1 || p->disabled ||
		    p->role == ROLE_NONE) {
			person_unref(p);
			signs_add(c, SIGN_DENIED, l->user);
			return call_fail(c, E_FORBIDDEN, "",
			                 "%s has no role here: an administrator "
			                 "gives one, or a group that has one",
			                 l->user);
		}
		own = p->role;
		l->made.since = l->since;
		snprintf(l->made.owner, sizeof l->made.owner, "%s", l->user);
	}
	if (l->outsider.source && c->credential[0] == '\0') {
		person_unref(p);
		return login_ask(c, NULL);
	}
	snprintf(c->user, sizeof c->user, "%s", l->user);
	snprintf(c->actor_text, sizeof c->actor_text, "%s", l->user);
	c->actor = c->actor_text;
	c->must_enrol = l->factor == 0 && factor_is_missing(c->cgi, l->user, p);
	person_unref(p);
	if (c->must_enrol && l->made.name[0] != '\0')
		return factor_refuse_missing(c);
	if (l->made.role == ROLE_NONE || l->made.role > own)
		l->made.role = own;
	CHECK(l->made.role <= own); /* a token is never more than its owner */
	if (l->made.name[0] == '\0')
		return login_told(c);
	if (l->made.owner[0] == '\0') /* nobody's: it says itself what it may */
		l->made.rights = mem_str(l->made.role >= ROLE_OPERATOR
		                                 ? "[\"backfill\",\"force-success\",\"unsafe\"]"
		                                 : "[]");
	return token_keep(c, &l->made, login_told);
}

/* admin's password was right. If he has a second factor he shows a code of it; until then nothing
 * was judged, so that nobody makes up for wrong codes with a password that he knows. */
static int login_second(struct call *c)
{
	struct login *l = c->extra;

	if (c->err.code < 0 || l->factor == 0)
		return login_done(c);
	snprintf(c->actor_text, sizeof c->actor_text, "%s", l->user);
	c->actor = c->actor_text;
	return factor_use(c, l->user, l->code, login_done);
}

static int ldap_work(struct call *c, struct reader *r)
{
	struct login *l = c->extra;
	int code = ways_ldap(c->cgi->ways, l->user, l->password, &l->outsider, &c->err);

	(void)r;
	sodium_memzero(l->password, sizeof l->password);
	if (code == 0 || code == E_AUTH)
		auth_tried(c->cgi->auth, c, code == 0);
	return code;
}

static int ldap_told(struct call *c)
{
	struct login *l = c->extra;

	if (c->err.code < 0)
		return c->err.code;
	l->via = "ldap";
	return outsider_enter(c, &l->outsider, login_done);
}

static int ldap_begun(struct call *c)
{
	struct login *l = c->extra;
	bool is_judged;

	if (sign_in_judged(c, &is_judged) < 0)
		return c->err.code;
	return is_judged ? l->there(c) : l->here(c);
}

/* A directory is set here. The server asks its own, where it has one: `there`; else here. */
static int ldap_begin(struct call *c, call_fn there, call_fn here)
{
	struct login *l = c->extra;

	l->there = there;
	l->here = here;
	return sign_in_ask(c, &(struct sign_in){ .user = "", .via = "ldap", .begin = true },
	                   ldap_begun);
}

/* Who has a password here is not asked about elsewhere. */
static bool is_ldaps(struct call *c, const char *user)
{
	const struct person *p = NULL;
	bool is = ways_has_ldap(c->cgi->ways) && strcmp(user, "admin") != 0;

	(void)people_find(c->cgi->people, user, &p);
	is = is && (!p || strcmp(p->source, "ldap") == 0);
	person_unref(p);
	return is;
}

static int login_there(struct call *c)
{
	struct login *l = c->extra;

	return login_ask(c, l->password);
}

static int login_here(struct call *c)
{
	c->then = ldap_told;
	return call_way(c, ldap_work);
}

/* The users as they are now. Without a store admin can sign in all the same; where there is none
 * yet (E_AGAIN) there are no others. */
static int login_read(struct call *c)
{
	struct login *l = c->extra;

	if (c->err.code < 0 && c->err.code != E_AGAIN && strcmp(l->user, "admin") != 0)
		return c->err.code;
	c->err = (struct err){ 0 };
	if (is_ldaps(c, l->user))
		return ldap_begin(c, login_there, login_here);
	if (!auth_is_own(c->cgi, l->user))
		return login_ask(c, l->password);
	c->then = login_second;
	return call_hash(c, login_work);
}

int login_post(struct call *c)
{
	static const char *const keys[] = {
		"user", "password", "code", "name", "role", "days", NULL
	};
	struct login *l = c->extra = mem_new(sizeof *l);

	if (guard_origin(c) < 0 || call_members_only(c, keys) < 0 ||
	    text_member(c, "user", true, l->user, sizeof l->user) < 0 ||
	    text_member(c, "password", true, l->password, sizeof l->password) < 0 ||
	    text_member(c, "code", false, l->code, sizeof l->code) < 0 ||
	    token_members(c, &l->made, false) < 0)
		return c->err.code;
	if (l->made.name[0] == '\0')
		l->made.role = ROLE_NONE;
	l->via = "password";
	if (auth_may_try(c->cgi->auth, c, l->user) < 0)
		return c->err.code;
	c->then = login_read;
	return call_read(c, people_work);
}

static const char *const no_args[] = { NULL };

int logout_post(struct call *c)
{
	int ended = auth_session_end(c->cgi->auth, c);

	return sessions_ended(c, c->user, ended, answered_empty);
}

/* Which projects one reads (null: all), and what one is in each. */
static void put_reads(struct call *c)
{
	if (!c->sight)
		put_null(&c->out, "reads");
	else
		put_open(&c->out, "reads", '[');
	for (size_t i = 0; c->sight && i < c->sight->see.n; i++)
		put_text(&c->out, NULL, c->sight->names[i]);
	if (c->sight)
		put_close(&c->out, ']');
	put_open(&c->out, "roles", '[');
	grants_put(c->person, c->token, &c->out);
	put_close(&c->out, ']');
}

int session_get(struct call *c)
{
	char csrf[AUTH_TEXT_MAX], *within;

	if (call_args_only(c, no_args) < 0)
		return c->err.code;
	auth_session_csrf(c->cgi->auth, c, csrf);
	within = auth_within(c, ROLE_NONE, 0);
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "user", c->user[0] != '\0' ? c->user : c->actor);
	put_text(&c->out, "role", role_name(c->role));
	put_text(&c->out, "via", c->via);
	put_raw(&c->out, "projects", within ? within : "null");
	put_rights(&c->out, "rights", c->rights);
	free(within);
	put_reads(c);
	put_bool(&c->out, "must_enrol", c->must_enrol);
	put_text(&c->out, "csrf", csrf[0] != '\0' ? csrf : NULL);
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

/* --- the same person still --- */

static int proof_shown(struct call *c)
{
	struct login *l = c->extra;

	return sign_in_taken(c, &l->since) < 0 ? c->err.code : answered_empty(c);
}

static int proof_of_directory(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	return sign_in_ask(c, &(struct sign_in){ .user = c->user, .via = "ldap" }, proof_shown);
}

static int proof_here(struct call *c)
{
	c->then = proof_of_directory;
	return call_way(c, ldap_work);
}

static int proof_there(struct call *c)
{
	struct login *l = c->extra;
	int r = sign_in_ask(
		c, &(struct sign_in){ .user = l->user, .password = l->password, .via = "password" },
		proof_shown);

	sodium_memzero(l->password, sizeof l->password);
	return r;
}

/* Who asks shows the password once more, with a session that is the server's. */
int proof_post(struct call *c)
{
	static const char *const keys[] = { "password", NULL };
	struct login *l = c->extra = mem_new(sizeof *l);
	const char *source = c->person ? c->person->source : "";

	if (call_members_only(c, keys) < 0 ||
	    text_member(c, "password", true, l->password, sizeof l->password) < 0)
		return c->err.code;
	if (c->credential[0] == '\0' || !c->by_cookie || strcmp(source, "oidc") == 0)
		return call_fail(c, E_CONFLICT, "",
		                 "%s has no password at the server: sign in again", c->actor);
	if (auth_may_try(c->cgi->auth, c, c->user) < 0)
		return c->err.code;
	snprintf(l->user, sizeof l->user, "%s", c->user);
	if (strcmp(source, "ldap") == 0 && ways_has_ldap(c->cgi->ways))
		return ldap_begin(c, proof_there, proof_here);
	return proof_there(c);
}

/* --- password --- */

static int password_work(struct call *c, struct reader *r)
{
	struct login *l = c->extra;
	int code = 0;

	(void)r;
	if (l->is_own) {
		code = auth_password_verify(c->cgi->auth, c->user, l->password, &c->err);
		auth_tried(c->cgi->auth, c, code == 0);
		if (code == 0)
			code = auth_password_set(c->cgi->auth, l->other, &c->err);
	} else {
		code = auth_password_hash(l->other, l->secret, &c->err);
	}
	sodium_memzero(l->password, sizeof l->password);
	sodium_memzero(l->other, sizeof l->other);
	return code;
}

static int password_over(struct call *c)
{
	const struct login *l = c->extra;

	if (c->err.code < 0 || !l->is_own) /* a person's the server ends */
		return answered_empty(c);
	return tokens_of_admin_end(c, answered_empty);
}

/* Whoever knew the old one is signed out everywhere else. */
static int password_kept(struct call *c)
{
	struct login *l = c->extra;
	char user[64];
	int ended;

	if (c->err.code < 0)
		return c->err.code;
	ended = auth_sessions_end(c->cgi->auth, c, c->user, NULL, l->own, user);
	return sessions_ended(c, c->user, ended, password_over);
}

static int password_sent(struct call *c)
{
	if (c->err.code < 0)
		return password_kept(c);
	c->then = password_kept;
	return call_read(c, people_work);
}

/* A person's own is kept by the server, like all of him. */
static int password_hashed(struct call *c)
{
	struct login *l = c->extra;
	cJSON *args;
	int r;

	if (c->err.code < 0)
		return c->err.code;
	if (l->is_own)
		return password_kept(c);
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "user", c->user);
	cJSON_AddStringToObject(args, "secret", l->secret);
	cJSON_AddNumberToObject(args, "since", (double)l->since);
	sodium_memzero(l->secret, sizeof l->secret);
	c->then = password_sent;
	r = doc_command(c, "user-set", args);
	cJSON_Delete(args);
	return r;
}

/* The server knows that he knows the former one; by that it takes the next. */
static int password_proven(struct call *c)
{
	struct login *l = c->extra;

	if (sign_in_taken(c, &l->since) < 0)
		return c->err.code;
	c->then = password_hashed;
	return call_hash(c, password_work);
}

int password_post(struct call *c)
{
	static const char *const keys[] = { "old", "new", NULL };
	struct login *l = c->extra = mem_new(sizeof *l);

	if (call_members_only(c, keys) < 0 ||
	    text_member(c, "old", true, l->password, sizeof l->password) < 0 ||
	    text_member(c, "new", true, l->other, sizeof l->other) < 0)
		return c->err.code;
	if (c->user[0] == '\0' && c->role == ROLE_ADMIN && !c->token) /* a file's: admin's */
		snprintf(c->user, sizeof c->user, "admin");
	if (c->user[0] == '\0')
		return call_fail(c, E_FORBIDDEN, "", "%s is a token, not a person", c->actor);
	if (c->person && person_is_outside(c->person))
		return call_fail(c, E_CONFLICT, "", "the password of %s is kept by %s, not here",
		                 c->user, c->person->source);
	if (auth_may_try(c->cgi->auth, c, c->user) < 0)
		return c->err.code;
	auth_session_own(c->cgi->auth, c, l->own);
	l->is_own = auth_is_own(c->cgi, c->user);
	if (!l->is_own)
		return sign_in_ask(c,
		                   &(struct sign_in){ .user = c->user,
		                                      .password = l->password,
		                                      .via = "password" },
		                   password_proven);
	c->then = password_hashed;
	return call_hash(c, password_work);
}
