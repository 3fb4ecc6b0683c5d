/* Who asks: the password, and the check of every request.
 *
 * auth_check() makes of a session's cookie or of a token the caller's role, rights and person, and
 * refuses who has less than the route's role. An unknown user is verified against a hash of
 * nobody's, so that he takes as long as a wrong password (cgi/who rule 3). a->mu guards what
 * struct auth holds; no password is hashed under it. Sessions, tokens, their files and
 * the delays after wrong passwords are in auth_*.c.
 */
#include "cgi/who/auth.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/guard.h"
#include "cgi/who/auth_impl.h"
#include "cgi/who/budget.h"
#include "cgi/who/factor.h"
#include "cgi/who/people.h"
#include "cgi/who/sight.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/own.h"
#include "util/pwhash.h"

#define HASH_PASSES  2
#define HASH_MEMORY  ((size_t)19 * 1024 * 1024)
#define PASSWORD_MIN 10
#define PASSWORD_MAX 512

/* --- the password --- */

static int password_hash(const char *password, char ret[128], struct err *err)
{
	_Static_assert(crypto_pwhash_STRBYTES <= 128, "the hash fits");
	if (crypto_pwhash_str(ret, password, strlen(password), HASH_PASSES, HASH_MEMORY) != 0)
		return err_set(err, E_NOMEM, "no memory to hash a password");
	return 0;
}

static char *state_path(const struct cgi *cgi, const char *name)
{
	return mem_fmt("%s/%s", cgi->param.state_dir, name);
}

static int password_store(struct auth *a, const char *hash, struct err *err)
{
	char *path = state_path(a->cgi, "password"), *line = mem_fmt("%s\n", hash);
	int r = fs_write(path, line, strlen(line), 0600, err);

	free(line);
	free(path);
	return r;
}

/* Earlier releases drew a password for an `admin` of the cgi. Where it lies, he goes on until the
 * server has a person of that name; where it does not, nobody is this cgi's own. */
static int password_load(struct auth *a, struct err *err)
{
	char *path = state_path(a->cgi, "password");
	struct buf text;
	int r;

	buf_init(&text);
	r = fs_read_secret(path, sizeof a->password - 1, &text, err);
	if (r == 0) {
		snprintf(a->password, sizeof a->password, "%.*s",
		         (int)strcspn(buf_str(&text), "\n"), buf_str(&text));
		a->has_own = pwhash_ok(a->password);
		if (!a->has_own)
			r = err_set(err, E_CORRUPT, "%s is not a password's hash", path);
	} else if (r == E_NOT_FOUND) {
		*err = (struct err){ 0 };
		r = 0;
	}
	if (a->has_own)
		log_warn("admin.own",
		         "text=\"until the server keeps `admin`, this cgi has one of its own, in "
		         "this release\" hint=\"baseserver -c FILE admin password admin --from "
		         "%s, where the server runs\"",
		         path);
	buf_done(&text);
	free(path);
	return r;
}

int auth_open(struct cgi *cgi, struct auth **ret_auth, struct err *err)
{
	struct auth *a = mem_new(sizeof *a);
	char *tokens = state_path(cgi, "tokens");
	int r;

	a->cgi = cgi;
	pthread_mutex_init(&a->mu, NULL);
	pthread_mutex_init(&a->save_mu, NULL);
	r = own_dir(cgi->param.state_dir, false, err);
	if (r == 0)
		r = own_dir(tokens, false, err);
	if (r == 0)
		r = password_load(a, err);
	if (r == 0)
		r = password_hash("nobody", a->dummy, err);
	if (r == 0)
		r = auth_tokens_load(a, err);
	if (r == 0)
		sessions__load(a);
	if (r == 0 && !a->has_own)
		sessions__drop_own(a);
	free(tokens);
	if (r < 0) {
		auth_close(a);
		return r;
	}
	*ret_auth = a;
	return 0;
}

void auth_close(struct auth *a)
{
	if (!a)
		return;
	auth_sessions_keep(a, true);
	pthread_mutex_destroy(&a->save_mu);
	pthread_mutex_destroy(&a->mu);
	free(a->tokens);
	sodium_memzero(a, sizeof *a);
	free(a);
}

int auth_password_verify(struct auth *a, const char *user, const char *password, struct err *err)
{
	bool known = a->has_own && strcmp(user, "admin") == 0, right;
	char hash[128];

	pthread_mutex_lock(&a->mu);
	memcpy(hash, known ? a->password : a->dummy, sizeof hash);
	pthread_mutex_unlock(&a->mu);
	right = strlen(password) <= PASSWORD_MAX &&
	        crypto_pwhash_str_verify(hash, password, strlen(password)) == 0;
	sodium_memzero(hash, sizeof hash);
	if (!known || !right)
		return err_set(err, E_AUTH, "wrong user or password");
	return 0;
}

int auth_password_hash(const char *password, char ret[128], struct err *err)
{
	if (strlen(password) < PASSWORD_MIN || strlen(password) > PASSWORD_MAX)
		return err_set(err, E_INVALID, "a password has %d to %d bytes", PASSWORD_MIN,
		               PASSWORD_MAX);
	return password_hash(password, ret, err);
}

int auth_password_set(struct auth *a, const char *password, struct err *err)
{
	char hash[128];
	int r = auth_password_hash(password, hash, err);

	if (r == 0)
		r = password_store(a, hash, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&a->mu);
	memcpy(a->password, hash, sizeof hash);
	pthread_mutex_unlock(&a->mu);
	return 0;
}

/* --- whose admin is --- */

bool auth_is_handed_over(const struct cgi *cgi)
{
	const struct person *p = NULL;
	bool is = !cgi->auth->has_own || people_find(cgi->people, "admin", &p) == 1;

	person_unref(p);
	return is;
}

bool auth_is_own(const struct cgi *cgi, const char *user)
{
	return strcmp(user, "admin") == 0 && !auth_is_handed_over(cgi);
}

/* --- every request --- */

static bool method_safe(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* What a person may do. `since` negative: whichever. 0: not him, or no longer. */
static int person_take(struct call *c, const char *user, int64_t since)
{
	const struct person *p;
	int r = people_find(c->cgi->people, user, &p);

	if (r == E_AGAIN)
		return call_fail(c, E_AGAIN, "", "the users are still being read, try again");
	if (r <= 0)
		return 0;
	if (p->disabled || (since >= 0 && p->since != since)) {
		person_unref(p);
		return 0;
	}
	c->role = p->role;
	c->rights = p->rights;
	person_unref(c->person);
	c->person = p;
	snprintf(c->user, sizeof c->user, "%s", user);
	return r;
}

/* What the owner of a token, or of the key of an app, may do with it. Takes t over. */
static int token_take(struct call *c, const struct token *t, const char *place)
{
	int r;

	token_unref(c->token);
	c->token = t;
	if (t->owner[0] == '\0') {
		c->role = t->grant.role;
		c->rights = t->grant.rights;
		c->may_credential = t->credentials && t->grant.role == ROLE_ADMIN && !t->is_app;
		snprintf(c->actor_text, sizeof c->actor_text, "%s:%s", t->is_app ? "app" : "token",
		         t->name);
		return 0;
	}
	r = person_take(c, t->owner, -1);
	if (r == 0)
		return call_fail(c, E_AUTH, place, "this token's user is no longer");
	if (c->role > t->grant.role)
		c->role = t->grant.role;
	c->rights &= t->grant.rights;
	CHECK(c->role <= t->grant.role && !(c->rights & ~t->grant.rights));
	snprintf(c->actor_text, sizeof c->actor_text, "%s/%s", t->owner, t->name);
	return r < 0 ? r : 0;
}

static int refuse_own_token(struct call *c, const char *name, const char *place)
{
	snprintf(c->hint, sizeof c->hint,
	         "baseserver -c FILE admin token NAME, where the server runs, or sirdar login");
	return call_fail(
		c, E_AUTH, place,
		"%.63s was made on the machine of this cgi: such tokens are over since the "
		"server keeps `admin`",
		name);
}

/* Of the store, else of this cgi's own files. 1: taken; 0: not known, or over. */
static int secret_take(struct auth *a, struct call *c, const char *text, bool is_app,
                       const char *name, const char *place)
{
	const struct token *t = NULL;
	struct local_token local;
	int r = token__kept(a, text, is_app, &t);

	c->via = is_app ? "app" : "token";
	if (t && (!name || strcmp(t->name, name) == 0)) {
		snprintf(c->credential, sizeof c->credential, "%s", text);
		r = token_take(c, t, place);
		return r < 0 ? r : 1;
	}
	token_unref(t);
	if (token__find(a, text, is_app, &local) && (!name || strcmp(local.name, name) == 0)) {
		if (auth_is_handed_over(a->cgi))
			return refuse_own_token(c, local.name, place);
		c->role = local.role;
		c->rights = local.role >= ROLE_OPERATOR ? RIGHTS_ALL : 0;
		c->may_credential = local.role == ROLE_ADMIN && !is_app && !local.by_login;
		snprintf(c->actor_text, sizeof c->actor_text, "%s:%s", is_app ? "app" : "token",
		         local.name);
		return 1;
	}
	if (r == E_AGAIN)
		return call_fail(c, E_AGAIN, place, "the tokens are still being read, try again");
	return 0;
}

static int check_token(struct auth *a, struct call *c, const char *authorization)
{
	int r;

	if (strncasecmp(authorization, "Bearer ", 7) != 0)
		return call_fail(c, E_AUTH, "Authorization", "want 'Bearer' and a token");
	r = secret_take(a, c, authorization + 7, false, NULL, "Authorization");
	if (r == 0)
		return call_fail(c, E_AUTH, "Authorization",
		                 "this token is not known, or no longer");
	return r < 0 ? r : 0;
}

int auth_check_app(struct auth *a, struct call *c, const char *name, const char *key)
{
	int r = secret_take(a, c, key, true, name, "app_key");

	if (r == 0)
		return call_fail(c, E_AUTH, "app_key", "this app or its key is not known");
	if (r < 0)
		return r;
	c->actor = c->actor_text;
	sight_take(c);
	return budget_take(c);
}

/* What a token takes from its person, it takes everywhere. */
char *auth_within(const struct call *c, enum role least, unsigned rights)
{
	if (c->role < least || (rights & ~c->rights))
		return mem_str("[]");
	return c->person || c->token ? grants_within(c->person, c->token, least, rights) : NULL;
}

/* The person of a session: 1 with what he may do, 0 there is none. */
static int session_take(struct auth *a, struct call *c, const char *secret,
                        char ret_csrf[AUTH_TEXT_MAX])
{
	struct session_found s;
	int r = secret ? session__look(a, secret, &s) : 0;

	if (r == E_AGAIN)
		return call_fail(c, E_AGAIN, "", "the users are still being read, try again");
	if (r == 0 || (!s.of_server && auth_is_handed_over(a->cgi)))
		return 0;
	c->via = s.via;
	if (!s.of_server) {
		c->role = ROLE_ADMIN;
		c->rights = RIGHTS_ALL;
		snprintf(c->user, sizeof c->user, "admin");
	} else {
		r = person_take(c, s.user, s.since);
		snprintf(c->credential, sizeof c->credential, "%s", secret);
	}
	if (r > 0 && s.since >= 0 && !factor_is_shown(a->cgi, s.user, c->person, s.factor))
		r = 0;
	if (r > 0) {
		session__csrf(secret, ret_csrf);
		c->factor = s.factor;
		c->must_enrol = factor_is_missing(a->cgi, s.user, c->person);
		snprintf(c->actor_text, sizeof c->actor_text, "%s", s.user);
		c->may_credential = true;
	}
	return r;
}

static int check_cookie(struct auth *a, struct call *c)
{
	char csrf[AUTH_TEXT_MAX] = "";
	const char *secret = MHD_lookup_connection_value(c->conn, MHD_COOKIE_KIND,
	                                                 session__cookie(c));
	int r = session_take(a, c, secret, csrf);

	if (r < 0)
		return r;
	if (r == 0) {
		snprintf(c->hint, sizeof c->hint, "log in, or send a token: `sirdar login`");
		return call_fail(c, E_AUTH, "", "who are you?");
	}
	if (!method_safe(c->method) && guard_csrf(c, csrf) < 0)
		return c->err.code;
	c->by_cookie = true;
	return 0;
}

int auth_check_secret(struct auth *a, struct call *c, const char *secret)
{
	char csrf[AUTH_TEXT_MAX];
	int r = session_take(a, c, secret, csrf);

	if (r > 0 && c->must_enrol)
		return factor_refuse_missing(c);
	if (r == 0)
		r = secret_take(a, c, secret, false, NULL, "token");
	if (r == 0)
		return call_fail(c, E_AUTH, "token", "this token is not known, or no longer");
	if (r < 0)
		return r;
	c->actor = c->actor_text;
	sight_take(c);
	return budget_take(c);
}

int auth_check(struct auth *a, struct call *c)
{
	const char *authorization = call_header(c, "Authorization");
	int r;

	if (c->route->role == ROLE_NONE) {
		if (c->route->flags & RF_SEED && people_binds_all(c->cgi->people))
			sight_none(c); /* who asks is in the body */
		return 0;
	}
	r = authorization ? check_token(a, c, authorization) : check_cookie(a, c);
	if (r < 0)
		return r;
	c->actor = c->actor_text;
	CHECK(c->actor[0] != '\0'); /* nobody acts without a name */
	sight_take(c);
	if (c->must_enrol && !(c->route->flags & RF_ENROL))
		return factor_refuse_missing(c);
	if (budget_take(c) < 0)
		return c->err.code;
	if (c->role < c->route->role)
		return call_fail(c, E_FORBIDDEN, "", "this needs the role %s, %s has %s",
		                 role_name(c->route->role), c->actor, role_name(c->role));
	return c->route->flags & RF_CREDENTIAL ? auth_credential(c) : 0;
}

int auth_credential(struct call *c)
{
	if (c->may_credential)
		return 0;
	snprintf(c->hint, sizeof c->hint,
	         "sign in with your password: in the console, or where `sirdar` asks for it");
	return call_fail(c, E_FORBIDDEN, "session",
	                 "a token changes no password, person, token or secret; %s is one",
	                 c->actor);
}
