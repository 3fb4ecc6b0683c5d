/* An OpenID provider: what it says of itself, the trips of browsers, and who came back.
 *
 * The provider's description and keys are kept for an hour and belong to the thread `ways` alone.
 * A trip is kept by the hashes of its state and of the browser's secret, under a mutex; the oldest
 * of 256 gives way. It is erased when its state comes back, also by another browser (cgi/who rule
 * 11). Signatures are checked in jwt.c; which user the outsider is here is decided in outsider.c.
 */
#include "cgi/who/oidc.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/cgi.h"
#include "cgi/who/jwt.h"
#include "cgi/who/outsider.h"
#include "fetch/fetch.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/log.h"
#include "util/module.h"

#define PENDING_MAX  256
#define PENDING_US   (600 * US_PER_S)
#define KNOWN_US     (3600 * US_PER_S) /* what the provider says of itself is asked again */
#define KEYS_US      (60 * US_PER_S)   /* not asked more often for a key that is missing */
#define ANSWER_BYTES ((size_t)512 * 1024)

struct pending {
	unsigned char state[32], browser[32]; /* SHA-256 */
	struct oidc_trip trip;
	int64_t until_us; /* 0: free */
};

struct oidc {
	struct cgi *cgi;
	const struct fetch_ops *fetch;
	char *secret; /* NULL: public client */
	/* Thread ways alone. */
	char *authorize, *token, *keys_url, *userinfo; /* userinfo NULL: it has none */
	cJSON *keys;
	int64_t known_us, keys_us; /* when; 0: never */
	pthread_mutex_t mu;        /* guards the rest */
	struct pending pending[PENDING_MAX];
};

/* --- settings --- */

static int url_check(const char *setting, const char *url, struct err *err)
{
	if (strncmp(url, "https://", 8) == 0)
		return 0;
	if (strncmp(url, "http://", 7) != 0)
		return err_set(err, E_INVALID, "%s is '%s', want https://", setting, url);
	return url_is_loopback(url)
	               ? 0
	               : err_set(err, E_FORBIDDEN,
	                         "%s is '%s', which is not loopback: that needs https://", setting,
	                         url);
}

static int settings_check(const struct param_cgi *p, struct err *err)
{
	size_t n = strlen(p->oidc_redirect_url);
	static const char back[] = "/api/v1/login/oidc/callback";
	int r = url_check("oidc_issuer", p->oidc_issuer, err);

	if (r < 0)
		return r;
	if (p->oidc_client_id[0] == '\0')
		return err_set(err, E_INVALID, "oidc_issuer wants oidc_client_id");
	if (n < sizeof back || strcmp(p->oidc_redirect_url + n - sizeof back + 1, back) != 0)
		return err_set(err, E_INVALID, "oidc_redirect_url is '%s', want https://HOST%s",
		               p->oidc_redirect_url, back);
	return url_check("oidc_redirect_url", p->oidc_redirect_url, err);
}

int oidc_open(struct cgi *cgi, struct oidc **ret, struct err *err)
{
	const struct param_cgi *p = &cgi->param;
	struct oidc *o = *ret = mem_new(sizeof *o);
	const void *found = NULL;
	int r = settings_check(p, err);

	o->cgi = cgi;
	pthread_mutex_init(&o->mu, NULL);
	if (r == 0)
		r = module_load(FETCH_FILE, "the module for OIDC", FETCH_SYMBOL, &found, err);
	if (r < 0)
		return r;
	o->fetch = found;
	if (o->fetch->abi != FETCH_ABI || o->fetch->ask_size != sizeof(struct fetch_ask))
		return err_set(err, E_ABI, FETCH_FILE " was built for another version of Sirdar");
	return p->oidc_client_secret_file[0] != '\0'
	               ? secret_line(p->oidc_client_secret_file, &o->secret, err)
	               : 0;
}

void oidc_close(struct oidc *o)
{
	if (!o)
		return;
	if (o->secret)
		sodium_memzero(o->secret, strlen(o->secret));
	pthread_mutex_destroy(&o->mu);
	cJSON_Delete(o->keys);
	free(o->secret);
	free(o->authorize);
	free(o->token);
	free(o->keys_url);
	free(o->userinfo);
	sodium_memzero(o->pending, sizeof o->pending);
	free(o);
}

/* --- texts --- */

/* As in a query or a form: all but RFC 3986's unreserved. */
static void put_escaped(struct buf *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~";
	char hex[4];

	for (const char *p = text; *p; p++) {
		if (strchr(plain, *p)) {
			buf_put(out, p, 1);
			continue;
		}
		snprintf(hex, sizeof hex, "%%%02X", (unsigned char)*p);
		buf_puts(out, hex);
	}
}

static void put_arg(struct buf *out, const char *name, const char *value)
{
	buf_puts(out, name);
	buf_puts(out, "=");
	put_escaped(out, value);
}

static void random_text(char ret[AUTH_TEXT_MAX])
{
	unsigned char bytes[AUTH_SECRET_BYTES];

	randombytes_buf(bytes, sizeof bytes);
	sodium_bin2base64(ret, AUTH_TEXT_MAX, bytes, sizeof bytes,
	                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(bytes, sizeof bytes);
}

static void sha256(const char *text, unsigned char ret[32])
{
	crypto_hash_sha256(ret, (const unsigned char *)text, strlen(text));
}

/* --- what the provider says of itself --- */

static int ask_page(struct oidc *o, struct fetch_ask *ask, struct buf *ret, struct err *err)
{
	const struct param_cgi *p = &o->cgi->param;
	struct err why = { 0 };
	long status = 0;
	int r;

	ask->ca_file = p->oidc_ca_file;
	ask->timeout_ms = p->oidc_timeout_ms;
	ask->max = ANSWER_BYTES;
	r = o->fetch->fetch(ask, &status, ret, &why);
	if (r < 0)
		return err_set(err, r == E_TIMEOUT ? E_TIMEOUT : E_AGAIN,
		               "the provider does not answer: %.150s", why.text);
	return status == 200 ? 0
	                     : err_set(err, status >= 400 && status < 500 ? E_AUTH : E_AGAIN,
	                               "the provider answers %ld", status);
}

static int read_json(struct buf *body, cJSON **ret, struct err *err)
{
	struct err why = { 0 };

	return json_parse(buf_str(body), body->len, ret, &why) == 0
	               ? 0
	               : err_set(err, E_AGAIN, "the provider's answer does not read: %.150s",
	                         why.text);
}

static int ask_json(struct oidc *o, struct fetch_ask *ask, cJSON **ret, struct err *err)
{
	struct buf body;
	int r;

	buf_init(&body);
	r = ask_page(o, ask, &body, err);
	if (r == 0)
		r = read_json(&body, ret, err);
	if (body.data)
		sodium_memzero(body.data, body.cap);
	buf_done(&body);
	return r;
}

/* An address the provider names; not weaker than the issuer's own. */
static int take_url(struct oidc *o, const cJSON *said, const char *key, char **ret, struct err *err)
{
	const char *url = json_text(said, key);

	if (!url || (strncmp(url, "https://", 8) != 0 &&
	             !(url_is_loopback(o->cgi->param.oidc_issuer) && url_is_loopback(url))))
		return err_set(err, E_AGAIN, "the provider's description has no good %s", key);
	free(*ret);
	*ret = mem_str(url);
	return 0;
}

static int take_keys(struct oidc *o, struct err *err)
{
	struct fetch_ask ask = { .url = o->keys_url };
	cJSON *keys = NULL;
	int r = ask_json(o, &ask, &keys, err);

	if (r < 0)
		return r;
	cJSON_Delete(o->keys);
	o->keys = keys;
	o->keys_us = clock_mono_us(&clock_machine);
	return 0;
}

static int oidc_know(struct oidc *o, struct err *err)
{
	int64_t now = clock_mono_us(&clock_machine);
	const char *issuer = o->cgi->param.oidc_issuer, *said_issuer;
	size_t n = strlen(issuer);
	cJSON *said = NULL;
	int r;

	if (o->known_us != 0 && now - o->known_us < KNOWN_US)
		return 0;
	while (n > 0 && issuer[n - 1] == '/')
		n--;
	char *url = mem_fmt("%.*s/.well-known/openid-configuration", (int)n, issuer);
	struct fetch_ask ask = { .url = url };
	r = ask_json(o, &ask, &said, err);
	said_issuer = json_text(said, "issuer");
	if (r == 0 && (!said_issuer || strcmp(said_issuer, issuer) != 0))
		r = err_set(err, E_AGAIN, "the provider calls itself '%.100s', not oidc_issuer",
		            said_issuer ? said_issuer : "");
	if (r == 0)
		r = take_url(o, said, "authorization_endpoint", &o->authorize, err);
	if (r == 0)
		r = take_url(o, said, "token_endpoint", &o->token, err);
	if (r == 0)
		r = take_url(o, said, "jwks_uri", &o->keys_url, err);
	if (r == 0 && json_get(said, "userinfo_endpoint"))
		r = take_url(o, said, "userinfo_endpoint", &o->userinfo, err);
	if (r == 0)
		r = take_keys(o, err);
	if (r == 0)
		o->known_us = now;
	cJSON_Delete(said);
	free(url);
	return r;
}

/* --- there and back --- */

static void remember(struct oidc *o, const char *state, const char *browser,
                     const struct oidc_trip *trip)
{
	struct pending *p = &o->pending[0];

	pthread_mutex_lock(&o->mu);
	for (size_t i = 0; i < PENDING_MAX; i++)
		if (o->pending[i].until_us < p->until_us)
			p = &o->pending[i];
	p->trip = *trip;
	p->until_us = clock_mono_us(&clock_machine) + PENDING_US;
	sha256(state, p->state);
	sha256(browser, p->browser);
	pthread_mutex_unlock(&o->mu);
}

int oidc_begin(struct oidc *o, struct buf *ret_url, char ret_browser[AUTH_TEXT_MAX],
               struct err *err)
{
	const struct param_cgi *p = &o->cgi->param;
	char state[AUTH_TEXT_MAX], challenge[AUTH_TEXT_MAX];
	struct oidc_trip trip = { 0 };
	unsigned char hash[32];
	int r = oidc_know(o, err);

	if (r < 0) {
		log_warn("oidc.failed", "code=%s why=\"%s\"", err_name(r), err->text);
		return r;
	}
	random_text(state);
	random_text(ret_browser);
	random_text(trip.nonce);
	random_text(trip.verifier);
	sha256(trip.verifier, hash);
	sodium_bin2base64(challenge, sizeof challenge, hash, sizeof hash,
	                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	buf_puts(ret_url, o->authorize);
	buf_puts(ret_url, strchr(o->authorize, '?') ? "&" : "?");
	put_arg(ret_url, "response_type", "code");
	put_arg(ret_url, "&client_id", p->oidc_client_id);
	put_arg(ret_url, "&redirect_uri", p->oidc_redirect_url);
	put_arg(ret_url, "&scope", p->oidc_scopes);
	put_arg(ret_url, "&state", state);
	put_arg(ret_url, "&nonce", trip.nonce);
	put_arg(ret_url, "&code_challenge", challenge);
	buf_puts(ret_url, "&code_challenge_method=S256");
	remember(o, state, ret_browser, &trip);
	return 0;
}

bool oidc_back(struct oidc *o, const char *state, const char *browser, struct oidc_trip *ret)
{
	unsigned char state_hash[32], browser_hash[32];
	int64_t now = clock_mono_us(&clock_machine);
	bool found = false;

	sha256(state, state_hash);
	sha256(browser, browser_hash);
	pthread_mutex_lock(&o->mu);
	for (size_t i = 0; i < PENDING_MAX; i++) {
		struct pending *p = &o->pending[i];

		if (p->until_us < now || sodium_memcmp(p->state, state_hash, 32) != 0)
			continue;
		found = sodium_memcmp(p->browser, browser_hash, 32) == 0;
		*ret = p->trip;
		sodium_memzero(p, sizeof *p); /* once, also for who should not have it */
		break;
	}
	pthread_mutex_unlock(&o->mu);
	return found;
}

/* --- who he is --- */

static int oidc_exchange(struct oidc *o, const char *code, const struct oidc_trip *trip,
                         cJSON **ret, struct err *err)
{
	const struct param_cgi *p = &o->cgi->param;
	struct fetch_ask ask = { .url = o->token };
	struct buf form, user, secret;
	int r;

	buf_init(&form);
	buf_init(&user);
	buf_init(&secret);
	put_arg(&form, "grant_type", "authorization_code");
	put_arg(&form, "&code", code);
	put_arg(&form, "&redirect_uri", p->oidc_redirect_url);
	put_arg(&form, "&code_verifier", trip->verifier);
	if (!o->secret) {
		put_arg(&form, "&client_id", p->oidc_client_id);
	} else {
		put_escaped(&user, p->oidc_client_id);
		put_escaped(&secret, o->secret);
		ask.user = buf_str(&user);
		ask.secret = buf_str(&secret);
	}
	ask.form = buf_str(&form);
	r = ask_json(o, &ask, ret, err);
	sodium_memzero(form.data, form.cap);
	if (secret.data)
		sodium_memzero(secret.data, secret.cap);
	buf_done(&form);
	buf_done(&user);
	buf_done(&secret);
	return r;
}

/* nonce NULL: an answer of UserInfo. */
static int check_token(struct oidc *o, const char *text, const char *nonce, cJSON **ret_claims,
                       struct err *err)
{
	const struct param_cgi *p = &o->cgi->param;
	struct jwt_want want = { p->oidc_issuer, p->oidc_client_id, nonce,
		                 clock_wall_us(&clock_machine) / US_PER_S, p->oidc_skew_ms / 1000 };
	int r = jwt_check(text, o->keys, &want, ret_claims, err);

	if (r != E_NOT_FOUND)
		return r;
	/* Keys are changed now and then. */
	if (clock_mono_us(&clock_machine) - o->keys_us >= KEYS_US && take_keys(o, err) == 0)
		r = jwt_check(text, o->keys, &want, ret_claims, err);
	return r == E_NOT_FOUND ? err_set(err, E_AUTH,
	                                  "the provider's token: signed with a key "
	                                  "that it does not list")
	                        : r;
}

static void take_text(const cJSON *claims, const char *key, char *ret, size_t size)
{
	const char *text = json_text(claims, key);

	snprintf(ret, size, "%s", text && strlen(text) < size ? text : "");
}

static int take_claims(struct oidc *o, const cJSON *claims, struct outsider *ret, struct err *err)
{
	const struct param_cgi *p = &o->cgi->param;
	const cJSON *v, *list = NULL;

	take_text(claims, "sub", ret->subject, sizeof ret->subject);
	take_text(claims, "name", ret->full_name, sizeof ret->full_name);
	take_text(claims, "email", ret->mail, sizeof ret->mail);
	take_text(claims, p->oidc_user_claim, ret->name, sizeof ret->name);
	if (ret->name[0] == '\0')
		return err_set(err, E_AUTH, "the provider's token: no %.60s that could be a name",
		               p->oidc_user_claim);
	list = p->oidc_groups_claim[0] != '\0' ? json_get(claims, p->oidc_groups_claim) : NULL;
	cJSON_ArrayForEach(v, list)
		if (cJSON_IsString(v))
			outsider_group(o->cgi, ret, v->valuestring);
	return 0;
}

/* --- UserInfo --- */

static bool lacks(const cJSON *claims, const char *claim)
{
	return claim[0] != '\0' && !json_get(claims, claim);
}

/* A visible text: it goes into a header. */
static bool is_token(const char *text)
{
	const char *p = text;

	while (p && *p > ' ' && *p < 0x7f)
		p++;
	return p && *p == '\0' && p != text;
}

/* JSON, or signed as the ID token is; of the same person, or of nobody. */
static int ask_userinfo(struct oidc *o, const char *access, const char *subject, cJSON **ret,
                        struct err *err)
{
	struct fetch_ask ask = { .url = o->userinfo, .bearer = access };
	const char *told;
	struct buf body;
	int r;

	buf_init(&body);
	r = ask_page(o, &ask, &body, err);
	if (r == 0)
		r = buf_str(&body)[0] == '{' ? read_json(&body, ret, err)
		                             : check_token(o, buf_str(&body), NULL, ret, err);
	told = json_text(*ret, "sub");
	if (r == 0 && (!told || strcmp(told, subject) != 0))
		r = err_set(err, E_AUTH, "it tells of somebody else (sub)");
	buf_done(&body);
	return r;
}

/* What the ID token does not say, UserInfo may. A name or a mail may be missing in the end; who he
 * is and which groups he is in decide what he may do: there an answer that fails is a refusal. */
static int complete(struct oidc *o, const cJSON *answer, cJSON *claims, struct err *err)
{
	const struct param_cgi *p = &o->cgi->param;
	const char *const all[] = { p->oidc_user_claim, p->oidc_groups_claim, "name", "email" };
	bool needed = lacks(claims, all[0]) || lacks(claims, all[1]);
	const char *access = json_text(answer, "access_token");
	struct err why = { 0 };
	cJSON *more = NULL;
	int r;

	if (!o->userinfo || !(needed || lacks(claims, all[2]) || lacks(claims, all[3])))
		return 0;
	r = is_token(access) ? ask_userinfo(o, access, json_text(claims, "sub"), &more, &why)
	                     : err_set(&why, E_AUTH, "there is no access token for it");
	for (size_t i = 0; r == 0 && i < sizeof all / sizeof all[0]; i++)
		if (lacks(claims, all[i]) && json_get(more, all[i]))
			cJSON_AddItemToObject(claims, all[i],
			                      cJSON_Duplicate(json_get(more, all[i]), true));
	cJSON_Delete(more);
	if (r < 0 && !needed)
		log_warn("oidc.userinfo", "name and mail stay empty: %s", why.text);
	return r == 0 || !needed ? 0 : err_set(err, r, "the provider's UserInfo: %.250s", why.text);
}

int oidc_who(struct oidc *o, const char *code, const struct oidc_trip *trip, struct outsider *ret,
             struct err *err)
{
	cJSON *answer = NULL, *claims = NULL;
	const char *token;
	int r = oidc_know(o, err);

	*ret = (struct outsider){ .source = "oidc" };
	if (r == 0)
		r = oidc_exchange(o, code, trip, &answer, err);
	token = json_text(answer, "id_token");
	if (r == 0 && !token)
		r = err_set(err, E_AUTH, "the provider's answer has no id_token");
	if (r == 0)
		r = check_token(o, token, trip->nonce, &claims, err);
	if (r == 0)
		r = complete(o, answer, claims, err);
	if (r == 0)
		r = take_claims(o, claims, ret, err);
	if (r < 0)
		log_warn("oidc.failed", "code=%s why=\"%s\"", err_name(r), err->text);
	cJSON_Delete(answer);
	cJSON_Delete(claims);
	return r;
}
