/* An OpenID provider as browsers go through it: trips there and back, and what a code is worth.
 *
 * What the provider says of itself, its keys and the judgement of tokens are lib/openid's, and
 * belong to the thread `ways` alone. A trip is kept by the hashes of its state and of the
 * browser's secret, under a mutex; the oldest of 256 gives way. It is erased when its state comes
 * back, also by another browser (cgi/who rule 11). Where the server judges, the trip has the
 * server's nonce, and the tokens that a code is exchanged for go to it unread; else they are
 * judged here, and outsider.c decides which user the outsider is.
 */
#include "cgi/who/oidc.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/cgi.h"
#include "cgi/who/outsider.h"
#include "fetch/fetch.h"
#include "openid/provider.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/log.h"
#include "util/url.h"

#define PENDING_MAX 256
#define PENDING_US  (600 * US_PER_S)

struct pending {
	unsigned char state[32], browser[32]; /* SHA-256 */
	struct oidc_trip trip;
	int64_t until_us; /* 0: free */
};

struct oidc {
	struct cgi *cgi;
	struct provider *provider; /* thread ways alone */
	char *secret;              /* NULL: public client */
	pthread_mutex_t mu;        /* guards the rest */
	struct pending pending[PENDING_MAX];
};

/* --- settings --- */

static int settings_check(const struct param_cgi *p, struct err *err)
{
	size_t n = strlen(p->oidc_redirect_url);
	static const char back[] = "/api/v1/login/oidc/callback";

	if (n < sizeof back || strcmp(p->oidc_redirect_url + n - sizeof back + 1, back) != 0)
		return err_set(err, E_INVALID, "oidc_redirect_url is '%s', want https://HOST%s",
		               p->oidc_redirect_url, back);
	return url_check("oidc_redirect_url", p->oidc_redirect_url, err);
}

int oidc_open(struct cgi *cgi, struct oidc **ret, struct err *err)
{
	const struct param_cgi *p = &cgi->param;
	struct oidc *o = *ret = mem_new(sizeof *o);
	struct provider_settings set = { p->oidc_issuer,     p->oidc_client_id,
		                         p->oidc_user_claim, p->oidc_groups_claim,
		                         p->oidc_ca_file,    p->oidc_skew_ms,
		                         p->oidc_timeout_ms };
	int r;

	o->cgi = cgi;
	pthread_mutex_init(&o->mu, NULL);
	r = provider_open(&set, &o->provider, err);
	if (r == 0)
		r = settings_check(p, err);
	if (r < 0)
		return r;
	return p->oidc_client_secret_file[0] != '\0'
	               ? fs_read_secret_line(p->oidc_client_secret_file, &o->secret, err)
	               : 0;
}

void oidc_close(struct oidc *o)
{
	if (!o)
		return;
	if (o->secret)
		sodium_memzero(o->secret, strlen(o->secret));
	pthread_mutex_destroy(&o->mu);
	provider_close(o->provider);
	free(o->secret);
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

int oidc_begin(struct oidc *o, const char *nonce, struct buf *ret_url,
               char ret_browser[AUTH_TEXT_MAX], struct err *err)
{
	const struct param_cgi *p = &o->cgi->param;
	char state[AUTH_TEXT_MAX], challenge[AUTH_TEXT_MAX];
	struct oidc_trip trip = { 0 };
	unsigned char hash[32];
	int r = provider_know(o->provider, err);

	if (r < 0) {
		log_warn("oidc.failed", "code=%s why=\"%s\"", err_name(r), err->text);
		return r;
	}
	random_text(state);
	random_text(ret_browser);
	trip.is_judged = nonce[0] != '\0';
	if (trip.is_judged)
		snprintf(trip.nonce, sizeof trip.nonce, "%s", nonce);
	else
		random_text(trip.nonce);
	random_text(trip.verifier);
	sha256(trip.verifier, hash);
	sodium_bin2base64(challenge, sizeof challenge, hash, sizeof hash,
	                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	const char *authorize = provider_authorize(o->provider);
	buf_puts(ret_url, authorize);
	buf_puts(ret_url, strchr(authorize, '?') ? "&" : "?");
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

/* --- what came back with him --- */

static int oidc_exchange(struct oidc *o, const char *code, const struct oidc_trip *trip,
                         cJSON **ret, struct err *err)
{
	const struct param_cgi *p = &o->cgi->param;
	struct fetch_ask ask = { 0 };
	struct buf form, user, secret;
	int r = provider_know(o->provider, err);

	if (r < 0)
		return r;
	ask.url = provider_token(o->provider);
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
	r = provider_ask(o->provider, &ask, ret, err);
	sodium_memzero(form.data, form.cap);
	if (secret.data)
		sodium_memzero(secret.data, secret.cap);
	buf_done(&form);
	buf_done(&user);
	buf_done(&secret);
	return r;
}

static void tree_wipe(cJSON *answer)
{
	cJSON *v;

	cJSON_ArrayForEach(v, answer)
		if (cJSON_IsString(v))
			sodium_memzero(v->valuestring, strlen(v->valuestring));
	cJSON_Delete(answer);
}

/* The code's answer, in which there is an ID token. */
static int take_answer(struct oidc *o, const char *code, const struct oidc_trip *trip, cJSON **ret,
                       struct err *err)
{
	int r = oidc_exchange(o, code, trip, ret, err);

	return r == 0 && !json_text(*ret, "id_token")
	               ? err_set(err, E_AUTH, "the provider's answer has no id_token")
	               : r;
}

static int tell_failed(int r, const struct err *err)
{
	if (r < 0)
		log_warn("oidc.failed", "code=%s why=\"%s\"", err_name(r), err->text);
	return r;
}

int oidc_tokens(struct oidc *o, const char *code, const struct oidc_trip *trip, struct buf *ret,
                struct err *err)
{
	cJSON *answer = NULL;
	int r = take_answer(o, code, trip, &answer, err);

	if (r == 0) {
		const char *access = json_text(answer, "access_token");

		put_open(ret, NULL, '{');
		put_text(ret, "id_token", json_text(answer, "id_token"));
		put_text(ret, "access_token", access ? access : "");
		put_close(ret, '}');
	}
	tree_wipe(answer);
	return tell_failed(r, err);
}

static void oidc_taken(struct oidc *o, const struct vouched *v, struct outsider *ret)
{
	snprintf(ret->name, sizeof ret->name, "%s", v->name);
	snprintf(ret->subject, sizeof ret->subject, "%s", v->subject);
	snprintf(ret->full_name, sizeof ret->full_name, "%s", v->full_name);
	snprintf(ret->mail, sizeof ret->mail, "%s", v->mail);
	for (size_t i = 0; i < v->n_groups; i++)
		outsider_group(o->cgi, ret, v->groups[i]);
}

int oidc_who(struct oidc *o, const char *code, const struct oidc_trip *trip, struct outsider *ret,
             struct err *err)
{
	struct vouched v = { 0 };
	cJSON *answer = NULL;
	int r = take_answer(o, code, trip, &answer, err);

	*ret = (struct outsider){ .source = "oidc" };
	if (r == 0) {
		const char *access = json_text(answer, "access_token");
		struct brought shown = { json_text(answer, "id_token"), access ? access : "",
			                 trip->nonce };

		r = provider_judge(o->provider, &shown, &v, err);
	}
	if (r == 0)
		oidc_taken(o, &v, ret);
	vouched_done(&v);
	tree_wipe(answer);
	return tell_failed(r, err);
}
