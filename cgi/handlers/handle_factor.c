/* Second factors: admin's code at a sign-in (of people the server judges it with the password,
 * cgi/handlers/sign_in.h), and one's own set up, confirmed and removed. The secret and
 * the recovery codes are drawn here, shown once and wiped; the server keeps and judges them.
 * Whoever sets one up or removes it knows the password besides having a session. The session in
 * which it happens stays (its mark is renewed: of people by the server), all others of its person
 * are over by theirs. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/handle_factor.h"
#include "cgi/handlers/handle_users.h"
#include "cgi/handlers/route.h"
#include "cgi/handlers/sign_in.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/auth.h"
#include "cgi/who/factor.h"
#include "cgi/who/people.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/totp.h"

#define CODES 10

struct totp {
	char password[513], code[FACTOR_CODE_MAX], own[SESSION_ID_MAX];
	unsigned char bytes[TOTP_SECRET_BYTES];
	char codes[CODES][TOTP_RECOVERY_TEXT];
	call_fn verified;
	int64_t since;     /* of the person whose password was right */
	const char *state; /* static */
	int left;
};

/* --- a code at a sign-in ------------------------------------------------------------------ */

static int used(struct call *c)
{
	if (c->err.code == E_AUTH)
		snprintf(c->place, sizeof c->place, "code");
	if (c->err.code == 0 || c->err.code == E_AUTH)
		auth_tried(c->cgi->auth, c, c->err.code == 0);
	else
		auth_try_over(c->cgi->auth, c);
	buf_clear(&c->out);
	return c->after(c);
}

int factor_use(struct call *c, const char *user, const char *code, call_fn then)
{
	cJSON *args;
	int r;

	if (code[0] == '\0') {
		auth_try_over(c->cgi->auth, c); /* the one that brings the code may come at once */
		snprintf(c->hint, sizeof c->hint,
		         "six digits of the device, or a recovery code: `code`");
		return call_fail(
			c, E_FACTOR, "code",
			"the password is right; a code of the second factor is wanted too");
	}
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "user", user);
	cJSON_AddStringToObject(args, "code", code);
	c->then = used;
	c->after = then;
	r = doc_command(c, "factor-use", args);
	cJSON_Delete(args);
	return r;
}

/* --- one's own ------------------------------------------------------------------------------ */

static int totp_take(void *ctx, const struct store_doc *d)
{
	struct totp *t = ctx;
	cJSON *root = NULL;

	if (d->retired)
		return 0;
	if (json_parse(d->body, d->body_len, &root, NULL) == 0) {
		t->state = json_true(root, "active") ? "active" : "pending";
		t->left = cJSON_GetArraySize(json_get(root, "codes"));
	}
	json_free(root);
	return 0;
}

static int totp_work(struct call *c, struct reader *r)
{
	struct totp *t = c->extra;
	const struct read_which which = { DOC_FACTOR, .name = c->user };
	int code = read_doc(r, &which, totp_take, t, &c->err);

	if (code != E_NOT_FOUND)
		return code;
	c->err = (struct err){ 0 }; /* he never had one */
	return 0;
}

static int totp_told(struct call *c)
{
	const struct totp *t = c->extra;

	if (c->err.code < 0)
		return c->err.code;
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "state", t->state);
	put_int(&c->out, "recovery_codes", t->left);
	put_bool(&c->out, "must_enrol", c->must_enrol);
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

int totp_get(struct call *c)
{
	static const char *const none[] = { NULL };
	struct totp *t = c->extra = mem_new(sizeof *t);

	t->state = "none";
	if (call_args_only(c, none) < 0)
		return c->err.code;
	c->then = totp_told;
	return call_read(c, totp_work);
}

/* A person with a session, who has his password here. */
static int self_check(struct call *c)
{
	if (!c->by_cookie)
		return call_fail(c, E_CONFLICT, "session", "%s is a token, not a person", c->actor);
	if (c->person && person_is_outside(c->person))
		return call_fail(c, E_CONFLICT, "", "how %s signs in is kept by %s, not here",
		                 c->user, c->person->source);
	return 0;
}

static int text_take(struct call *c, const char *key, char *ret, size_t size)
{
	const char *v = json_text(c->json, key);

	if (!v || strlen(v) >= size)
		return call_fail(c, E_INVALID, key, "'%s' wants a text of at most %zu bytes", key,
		                 size - 1);
	snprintf(ret, size, "%s", v);
	return 0;
}

/* admin's own; a person's the server verifies. */
static int password_work(struct call *c, struct reader *r)
{
	struct totp *t = c->extra;
	int code = auth_password_verify(c->cgi->auth, c->user, t->password, &c->err);

	(void)r;
	auth_tried(c->cgi->auth, c, code == 0);
	sodium_memzero(t->password, sizeof t->password);
	return code;
}

static int password_verified(struct call *c)
{
	struct totp *t = c->extra;

	return c->err.code < 0 ? c->err.code : t->verified(c);
}

static int password_taken(struct call *c)
{
	struct totp *t = c->extra;
	int r = sign_in_taken(c, &t->since);

	return r < 0 ? r : t->verified(c);
}

static int password_ask(struct call *c, call_fn verified)
{
	struct totp *t = c->extra;
	int r;

	if (text_take(c, "password", t->password, sizeof t->password) < 0 ||
	    auth_may_try(c->cgi->auth, c, c->user) < 0)
		return c->err.code;
	t->verified = verified;
	if (auth_is_own(c->cgi, c->user)) {
		c->then = password_verified;
		return call_hash(c, password_work);
	}
	r = sign_in_ask(
		c, &(struct sign_in){ .user = c->user, .password = t->password, .via = "password" },
		password_taken);
	sodium_memzero(t->password, sizeof t->password);
	return r;
}

/* A command about the caller's own; `then` when all threads know of it. */
static int factor_command(struct call *c, const char *kind, const char *key, const char *text,
                          const char *codes, call_fn then)
{
	cJSON *args = cJSON_CreateObject();
	int r;

	cJSON_AddStringToObject(args, "user", c->user);
	cJSON_AddStringToObject(args, key, text);
	if (codes)
		cJSON_AddStringToObject(args, "codes", codes);
	r = user_command(c, kind, args, then);
	cJSON_Delete(args);
	return r;
}

/* --- set up ----------------------------------------------------------------------------------- */

/* What apps read from a QR code: Key Uri Format; a person's name has nothing to be escaped but @.
 * */
static void url_put(struct buf *b, const char *user, const char *secret)
{
	char name[USER_NAME_MAX * 3] = "", url[sizeof name + 128];
	size_t n = 0;

	for (; *user != '\0'; user++)
		n += (size_t)snprintf(name + n, sizeof name - n, *user == '@' ? "%%40" : "%c",
		                      *user);
	snprintf(url, sizeof url,
	         "otpauth://totp/"
	         "Sirdar:%s?secret=%s&issuer=Sirdar&algorithm=SHA1&digits=6&period=%d",
	         name, secret, TOTP_STEP_S);
	put_text(b, "url", url);
	sodium_memzero(url, sizeof url);
}

static int begun(struct call *c)
{
	struct totp *t = c->extra;
	char secret[TOTP_SECRET_TEXT];

	totp_secret_text(t->bytes, secret);
	sodium_memzero(t->bytes, sizeof t->bytes);
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "secret", secret);
	url_put(&c->out, c->user, secret);
	put_close(&c->out, '}');
	sodium_memzero(secret, sizeof secret);
	return reply_json(c, MHD_HTTP_OK);
}

static int secret_draw(struct call *c)
{
	struct totp *t = c->extra;
	char secret[TOTP_SECRET_TEXT];
	int r;

	randombytes_buf(t->bytes, sizeof t->bytes);
	totp_secret_text(t->bytes, secret);
	r = factor_command(c, "factor-begin", "secret", secret, NULL, begun);
	sodium_memzero(secret, sizeof secret);
	return r;
}

int totp_post(struct call *c)
{
	static const char *const keys[] = { "password", NULL };

	c->extra = mem_new(sizeof(struct totp));
	if (self_check(c) < 0 || call_members_only(c, keys) < 0)
		return c->err.code;
	return password_ask(c, secret_draw);
}

/* --- confirmed ----------------------------------------------------------------------------------
 * */

/* It is as he has proven just now, or as it was. */
static void session_renew(struct call *c)
{
	struct totp *t = c->extra;
	int64_t mark = 0;

	if (c->err.code < 0) {
		auth_session_hold(c->cgi->auth, t->own, false);
		return;
	}
	(void)people_factor(c->cgi->people, c->user, &mark);
	auth_session_prove(c->cgi->auth, t->own, mark);
}

static int confirmed(struct call *c)
{
	struct totp *t = c->extra;

	session_renew(c);
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	put_open(&c->out, "recovery_codes", '[');
	for (int i = 0; i < CODES; i++)
		put_text(&c->out, NULL, t->codes[i]);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	sodium_memzero(t->codes, sizeof t->codes);
	return reply_json(c, MHD_HTTP_OK);
}

/* The hashes of fresh recovery codes, with blanks between. */
static void codes_draw(struct totp *t, char ret[CODES * TOTP_HASH_TEXT])
{
	unsigned char bytes[TOTP_RECOVERY_BYTES];

	for (int i = 0; i < CODES; i++) {
		randombytes_buf(bytes, sizeof bytes);
		totp_recovery_text(bytes, t->codes[i]);
		(void)totp_recovery_hash(t->codes[i], ret + (size_t)i * TOTP_HASH_TEXT);
		ret[(i + 1) * TOTP_HASH_TEXT - 1] = i + 1 < CODES ? ' ' : '\0';
	}
	sodium_memzero(bytes, sizeof bytes);
}

int totp_confirm(struct call *c)
{
	static const char *const keys[] = { "code", NULL };
	struct totp *t = c->extra = mem_new(sizeof *t);
	char hashes[CODES * TOTP_HASH_TEXT];

	if (self_check(c) < 0 || call_members_only(c, keys) < 0 ||
	    text_take(c, "code", t->code, sizeof t->code) < 0)
		return c->err.code;
	codes_draw(t, hashes);
	auth_session_own(c->cgi->auth, c, t->own);
	auth_session_hold(c->cgi->auth, t->own, true);
	return factor_command(c, "factor-confirm", "code", t->code, hashes, confirmed);
}

/* --- removed ------------------------------------------------------------------------------------
 * */

static int removed(struct call *c)
{
	session_renew(c);
	return answered_empty(c);
}

static int remove_own(struct call *c)
{
	struct totp *t = c->extra;

	auth_session_hold(c->cgi->auth, t->own, true);
	return factor_command(c, "factor-remove", "code", t->code, NULL, removed);
}

int totp_remove(struct call *c)
{
	static const char *const keys[] = { "password", "code", NULL };
	struct totp *t = c->extra = mem_new(sizeof *t);

	if (self_check(c) < 0 || call_members_only(c, keys) < 0 ||
	    text_take(c, "code", t->code, sizeof t->code) < 0)
		return c->err.code;
	auth_session_own(c->cgi->auth, c, t->own);
	return password_ask(c, remove_own);
}

/* An administrator's word for somebody who lost his device. His own he removes with a code, or on
 * the machine of this program, where its files are. */
int user_totp_delete(struct call *c)
{
	cJSON *args;
	int r;

	if (strcmp(c->params[0], c->user) == 0) {
		snprintf(c->hint, sizeof c->hint, "POST /api/v1/me/totp/remove, with a code");
		return call_fail(c, E_CONFLICT, "name", "nobody takes his own away unproven");
	}
	args = cJSON_CreateObject();
	cJSON_AddStringToObject(args, "user", c->params[0]);
	r = user_command(c, "factor-remove", args, answered_empty);
	cJSON_Delete(args);
	return r;
}
