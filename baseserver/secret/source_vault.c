/* Secrets of a Vault or an OpenBao: KV version 2, over HTTPS (lib/fetch).
 *
 * The server signs in by one of three ways: an AppRole, a service account of Kubernetes, or a token
 * in a file. It keeps the token that it gets in memory, renews it once two thirds of its time have
 * passed and signs in anew when it may not be renewed, or when it is refused. Credentials are read
 * from their file at each sign-in, so a new one needs no restart.
 *
 * What may be asked is `MOUNT/data/NAME`: no way leads out of KV, and nothing is asked of another
 * host than vault_url's: no redirect is followed. 403 and 404 are about one secret; no answer, a
 * redirect, 429, 5xx and a refused sign-in are about the vault, which is then left alone a while
 * (secrets.c). */
#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/secret/source.h"
#include "fetch/fetch.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/module.h"
#include "util/param.h"

enum { ANSWER_MAX = 1024 * 1024 };
#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/token"

enum way { APPROLE, KUBERNETES, TOKEN };

struct vault_client {
	const struct fetch_ops *fetch;
	const struct param_baseserver *p;
	enum way way;
	struct buf token; /* empty: not signed in */
	bool is_renewable;
	int64_t renew_us, end_us; /* steady; end: 0 never */
};

/* Several threads ask at once, each with a copy of the token. */
struct vault {
	pthread_mutex_t mu; /* guards client; held while it signs in */
	struct vault_client client;
};

/* --- answers ----------------------------------------------------------------------------- */

static void tree_wipe(cJSON *v)
{
	for (; v; v = v->next) {
		if (v->valuestring)
			explicit_bzero(v->valuestring, strlen(v->valuestring));
		tree_wipe(v->child);
	}
}

static void tree_free(cJSON *v)
{
	tree_wipe(v);
	cJSON_Delete(v);
}

static const cJSON *answer_member(const cJSON *of, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(of, key);
}

static const char *member_text(const cJSON *of, const char *key)
{
	const cJSON *v = answer_member(of, key);

	return cJSON_IsString(v) ? v->valuestring : NULL;
}

/* Seconds, of a number that may be anything. */
static int64_t member_us(const cJSON *of, const char *key)
{
	const cJSON *v = answer_member(of, key);

	if (!cJSON_IsNumber(v) || !(v->valuedouble > 0))
		return 0;
	return (int64_t)(v->valuedouble < 1e9 ? v->valuedouble : 1e9) * US_PER_S;
}

/* What it says is wrong, if that is a line of plain words that shows nothing it was told. */
static void answer_words(const struct vault_client *v, const cJSON *answer, char *ret, size_t cap)
{
	const cJSON *first = cJSON_GetArrayItem(answer_member(answer, "errors"), 0);
	const char *text = cJSON_IsString(first) ? first->valuestring : "";
	size_t n = strcspn(text, "\r\n\t");

	ret[0] = 0;
	if (!n || n > 100 || (v->token.len && strstr(text, buf_str((struct buf *)&v->token))))
		return;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] >= 0x7f)
			return;
	snprintf(ret, cap, ": %.*s", (int)n, text);
}

/* A status that is no answer of a vault at work. */
static int answer_refused(const struct vault_client *v, long status, const char *what,
                          const cJSON *answer, struct err *err)
{
	char words[120];

	answer_words(v, answer, words, sizeof words);
	if (status >= 300 && status < 400)
		return err_set(
			err, E_IO,
			"vault answered %ld, a redirect, which is not followed: set vault_url "
			"to the address of the active node",
			status);
	if (status == 403)
		return err_set(err, E_FORBIDDEN, "vault answered 403 for %.120s%s", what, words);
	if (status == 404)
		return err_set(err, E_NOT_FOUND, "vault answered 404: it has no %.120s", what);
	if (status == 503)
		return err_set(err, E_IO, "vault answered 503: it is sealed, or not at work%s",
		               words);
	return err_set(err, status == 429 || status >= 500 ? E_IO : E_INVALID,
	               "vault answered %ld for %.120s%s", status, what, words);
}

/* --- questions --------------------------------------------------------------------------- */

/* cJSON ends a text at an escaped NUL: what has one is made no text, which the reader refuses. */
static void answer_mark_nuls(struct buf *answer)
{
	char *at = (char *)(uintptr_t)buf_str(answer);

	while ((at = strchr(at, '\\')) && at[1]) {
		bool is_nul = strncmp(at, "\\u0000", 6) == 0;
		if (is_nul)
			memset(at, 0xff, 6);
		at += is_nul ? 6 : 2;
	}
}

/* `body` NULL: GET. *ret_answer: tree_free(), NULL when it was no JSON. */
static int vault_call(const struct vault_client *v, const char *path, const char *body,
                      long *ret_status, cJSON **ret_answer, struct err *err)
{
	char *url = mem_fmt("%s/v1/%s", v->p->vault_url, path);
	char *token = v->token.len ? mem_fmt("X-Vault-Token: %s", buf_str((struct buf *)&v->token))
	                           : NULL;
	char *space = v->p->vault_namespace[0]
	                      ? mem_fmt("X-Vault-Namespace: %s", v->p->vault_namespace)
	                      : NULL;
	const char *headers[5] = { "X-Vault-Request: true", "Content-Type: application/json" };
	size_t n = 2;
	struct buf answer;

	buf_init(&answer);
	if (token)
		headers[n++] = token;
	if (space)
		headers[n++] = space;
	const struct fetch_ask ask = { .url = url,
		                       .ca_file = v->p->vault_ca_file,
		                       .form = body,
		                       .headers = headers,
		                       .timeout_ms = v->p->secret_timeout_ms,
		                       .max = ANSWER_MAX };
	int r = v->fetch->fetch(&ask, ret_status, &answer, err);
	answer_mark_nuls(&answer);
	*ret_answer = r == 0 ? cJSON_ParseWithLength(buf_str(&answer), answer.len) : NULL;
	if (r < 0)
		err_wrap(err, r, "vault");
	source_wipe(&answer);
	buf_done(&answer);
	if (token)
		explicit_bzero(token, strlen(token));
	free(token);
	free(space);
	free(url);
	return r == E_TOO_BIG || r == E_INVALID ? E_IO : r;
}

static void vault_forget_token(struct vault_client *v)
{
	source_wipe(&v->token);
	v->is_renewable = false;
	v->renew_us = v->end_us = 0;
}

/* What it says of a token: how long it is good, and whether that may be made longer. */
static void token_note(struct vault_client *v, const cJSON *about, const char *lasts)
{
	int64_t lasts_us = member_us(about, lasts), now = clock_steady_us();

	v->is_renewable = cJSON_IsTrue(answer_member(about, "renewable"));
	v->end_us = lasts_us ? now + lasts_us : 0;
	v->renew_us = lasts_us ? now + lasts_us / 3 * 2 : 0;
}

static int token_take(struct vault_client *v, const cJSON *answer, struct err *err)
{
	const cJSON *auth = answer_member(answer, "auth");
	const char *token = member_text(auth, "client_token");

	if (!token || !token[0])
		return err_set(err, E_AUTH, "vault let the server in and gave no token");
	buf_puts(&v->token, token);
	token_note(v, auth, "lease_duration");
	return 0;
}

static int credential_read(const struct vault_client *v, struct buf *ret, struct err *err)
{
	const char *path = v->p->vault_credential_file;
	int r = source_line(path[0] ? path : SERVICE_ACCOUNT, v->way == KUBERNETES, ret, err);

	if (r == 0 && ret->len == 0)
		r = err_set(err, E_AUTH, "vault_credential_file is empty");
	return r < 0 ? E_AUTH : 0; /* without it nothing can be had there */
}

static int sign_in(struct vault_client *v, const struct buf *credential, struct err *err)
{
	static const char *const mounts[] = { "approle", "kubernetes" };
	const char *mount = v->p->vault_mount[0] ? v->p->vault_mount : mounts[v->way];
	char *path = mem_fmt("auth/%s/login", mount);
	struct buf body;
	cJSON *answer = NULL;
	long status = 0;

	buf_init(&body);
	put_open(&body, NULL, '{');
	put_text(&body, v->way == APPROLE ? "role_id" : "role", v->p->vault_role);
	put_bytes(&body, v->way == APPROLE ? "secret_id" : "jwt", buf_at(credential),
	          credential->len);
	put_close(&body, '}');
	int r = vault_call(v, path, buf_str(&body), &status, &answer, err);
	if (r == 0 && status != 200) {
		r = answer_refused(v, status, path, NULL, err); /* it may repeat what it was told */
		r = r == E_IO ? r : err_wrap(err, E_AUTH, "the server cannot sign in");
	}
	if (r == 0)
		r = token_take(v, answer, err);
	tree_free(answer);
	source_wipe(&body);
	buf_done(&body);
	free(path);
	return r;
}

/* A token of a file is asked how long it lasts. */
static int token_look(struct vault_client *v, const struct buf *credential, struct err *err)
{
	cJSON *answer = NULL;
	long status = 0;

	buf_put(&v->token, buf_at(credential), credential->len);
	int r = vault_call(v, "auth/token/lookup-self", NULL, &status, &answer, err);
	if (r == 0 && status != 200) {
		r = answer_refused(v, status, "the token of vault_credential_file", answer, err);
		r = r == E_IO ? r : E_AUTH;
	}
	if (r == 0)
		token_note(v, answer_member(answer, "data"), "ttl");
	else
		vault_forget_token(v);
	tree_free(answer);
	return r;
}

static int vault_sign_in(struct vault_client *v, struct err *err)
{
	struct buf credential;

	CHECK(v->token.len == 0);
	buf_init(&credential);
	int r = credential_read(v, &credential, err);
	if (r == 0)
		r = v->way == TOKEN ? token_look(v, &credential, err)
		                    : sign_in(v, &credential, err);
	source_wipe(&credential);
	buf_done(&credential);
	return r;
}

/* Refused, or as good as: then it signs in anew. */
static void token_renew(struct vault_client *v)
{
	cJSON *answer = NULL;
	long status = 0;
	int64_t end_us = v->end_us;
	int r = vault_call(v, "auth/token/renew-self", "{}", &status, &answer, NULL);

	if (r == 0 && status == 200)
		token_note(v, answer_member(answer, "auth"), "lease_duration");
	/* At the end of its longest life a renewal is granted and gives nothing. */
	if (r == 0 && (status != 200 || (v->end_us && v->end_us <= end_us)))
		vault_forget_token(v);
	tree_free(answer);
}

/* *ret_is_new: it was signed in just now. */
static int token_have(struct vault_client *v, bool *ret_is_new, struct err *err)
{
	int64_t now = clock_steady_us();

	if (v->token.len && v->end_us && now >= v->end_us)
		vault_forget_token(v);
	if (v->token.len && v->renew_us && now >= v->renew_us) {
		if (v->is_renewable)
			token_renew(v);
		else if (v->way != TOKEN)
			vault_forget_token(v);
	}
	*ret_is_new = v->token.len == 0;
	return *ret_is_new ? vault_sign_in(v, err) : 0;
}

/* --- the source -------------------------------------------------------------------------- */

static int vault_ref_check(const struct secret_ref *ref, struct err *err)
{
	const char *data = strstr(ref->path, "/data/");

	if (!source_path_ok(ref->path) || !data || data == ref->path)
		return err_set(err, E_INVALID,
		               "path is '%.100s', want MOUNT/data/NAME, as KV version 2 has it: "
		               "letters, digits and _ . - between slashes",
		               ref->path);
	if (!ref->key[0] || strlen(ref->key) > SECRET_PATH_MAX)
		return err_set(err, E_INVALID,
		               "key is missing: which member of the secret is meant");
	return 0;
}

static enum way way_of(const char *name)
{
	return strcmp(name, "approle") == 0      ? APPROLE
	       : strcmp(name, "kubernetes") == 0 ? KUBERNETES
	                                         : TOKEN;
}

static int vault_open_client(const struct param_baseserver *p, void **ret, struct err *err)
{
	const void *found = NULL;
	struct vault *v;
	int r = p->vault_url[0] ? module_load(FETCH_FILE, "the module for a vault", FETCH_SYMBOL,
	                                      &found, err)
	                        : 0;

	if (r < 0 || !found)
		return r;
	*ret = v = mem_new(sizeof *v);
	pthread_mutex_init(&v->mu, NULL);
	v->client.fetch = found;
	v->client.p = p;
	v->client.way = way_of(p->vault_auth);
	buf_init(&v->client.token);
	if (v->client.fetch->abi != FETCH_ABI ||
	    v->client.fetch->ask_size != sizeof(struct fetch_ask))
		return err_set(err, E_ABI, FETCH_FILE " was built for another version of Sirdar");
	return 0;
}

static void vault_close_client(void *self)
{
	struct vault *v = self;

	if (!v)
		return;
	vault_forget_token(&v->client);
	buf_done(&v->client.token);
	pthread_mutex_destroy(&v->mu);
	free(v);
}

static int value_take(const cJSON *answer, const struct secret_ref *ref, struct buf *out,
                      int64_t *ret_lease_us, struct err *err)
{
	const cJSON *data = answer_member(answer_member(answer, "data"), "data");
	const char *value = member_text(data, ref->key);

	if (!cJSON_IsObject(data))
		return err_set(
			err, E_NOT_FOUND,
			"vault has no KV version 2 secret at %.120s, or its version is deleted",
			ref->path);
	if (!value)
		return err_set(err, E_NOT_FOUND, "%.120s in vault has no text '%.60s'", ref->path,
		               ref->key);
	buf_puts(out, value);
	*ret_lease_us = member_us(answer, "lease_duration");
	return 0;
}

/* The token for one question, in *ret_mine, which is wiped by vault_leave(). Who signs in meanwhile
 * is waited for. */
static int vault_enter(struct vault *v, struct vault_client *ret_mine, bool *ret_is_new,
                       struct err *err)
{
	pthread_mutex_lock(&v->mu);
	int r = token_have(&v->client, ret_is_new, err);

	*ret_mine = v->client;
	buf_init(&ret_mine->token);
	buf_put(&ret_mine->token, buf_at(&v->client.token), v->client.token.len);
	pthread_mutex_unlock(&v->mu);
	return r;
}

static void vault_leave(struct vault_client *mine)
{
	source_wipe(&mine->token);
	buf_done(&mine->token);
}

/* It was refused: nobody uses it any more, unless there is another one since. */
static void token_refused(struct vault *v, const struct vault_client *mine)
{
	struct buf *now = &v->client.token;

	pthread_mutex_lock(&v->mu);
	if (now->len == mine->token.len && memcmp(buf_at(now), buf_at(&mine->token), now->len) == 0)
		vault_forget_token(&v->client);
	pthread_mutex_unlock(&v->mu);
}

static int vault_fetch(void *self, const struct secret_ref *ref, struct buf *out,
                       int64_t *ret_lease_us, struct err *err)
{
	struct vault *v = self;
	struct vault_client mine;
	cJSON *answer = NULL;
	bool is_new;
	long status = 0;
	int r = vault_enter(v, &mine, &is_new, err);

	if (r == 0)
		r = vault_call(&mine, ref->path, NULL, &status, &answer, err);
	if (r == 0 && status == 403 &&
	    !is_new) { /* of the token, perhaps: revoked, or at its end */
		tree_free(answer);
		answer = NULL;
		token_refused(v, &mine);
		vault_leave(&mine);
		r = vault_enter(v, &mine, &is_new, err);
		if (r == 0)
			r = vault_call(&mine, ref->path, NULL, &status, &answer, err);
	}
	if (r == 0)
		r = status == 200 ? value_take(answer, ref, out, ret_lease_us, err)
		                  : answer_refused(&mine, status, ref->path, answer, err);
	tree_free(answer);
	vault_leave(&mine);
	return r;
}

const struct source source_vault = {
	"vault", vault_ref_check, vault_open_client, vault_close_client, vault_fetch, "vault_url",
	true
};
