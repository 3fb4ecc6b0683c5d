/* An OpenID provider, asked and believed as far as its signatures go.
 *
 * Its description and keys are kept for an hour. Keys are kept as the set they came in and found
 * by `kid`; for one that is not in it the set is asked for anew, once a minute at most whatever
 * came of it, so that nobody makes us ask by showing tokens. Signatures and claims are judged in
 * jwt.c. What the ID token does not say of a person, UserInfo may; its answer counts for the same
 * `sub` alone.
 */
#include "openid/provider.h"

#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/fetch.h"
#include "openid/jwt.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/log.h"
#include "util/module.h"
#include "util/url.h"

#define KNOWN_US     (3600 * US_PER_S) /* what the provider says of itself is asked again */
#define KEYS_US      (60 * US_PER_S)   /* not asked more often for a key that is missing */
#define ANSWER_BYTES ((size_t)512 * 1024)

enum { GROUPS_MAX = 4096 };

struct provider {
	struct provider_settings set;
	const struct fetch_ops *fetch;
	char *authorize, *token, *keys_url, *userinfo; /* userinfo NULL: it has none */
	cJSON *keys;
	int64_t known_us, asked_us; /* description; keys, whatever came of it. 0: never */
};

void vouched_done(struct vouched *v)
{
	for (size_t i = 0; i < v->n_groups; i++)
		free(v->groups[i]);
	free(v->groups);
	v->groups = NULL;
	v->n_groups = 0;
}

/* --- life --- */

int provider_open(const struct provider_settings *set, struct provider **ret, struct err *err)
{
	struct provider *p;
	const void *found = NULL;
	const struct fetch_ops *fetch;
	int r = url_check("oidc_issuer", set->issuer, err);

	if (r == 0 && set->client_id[0] == '\0')
		r = err_set(err, E_INVALID, "oidc_issuer wants oidc_client_id");
	if (r == 0)
		r = module_load(FETCH_FILE, "the module for OIDC", FETCH_SYMBOL, &found, err);
	if (r < 0)
		return r;
	CHECK(found);
	fetch = found;
	if (fetch->abi != FETCH_ABI || fetch->ask_size != sizeof(struct fetch_ask))
		return err_set(err, E_ABI, FETCH_FILE " was built for another version of Sirdar");
	p = mem_new(sizeof *p);
	p->set = *set;
	p->fetch = fetch;
	*ret = p;
	return 0;
}

void provider_close(struct provider *p)
{
	if (!p)
		return;
	cJSON_Delete(p->keys);
	free(p->authorize);
	free(p->token);
	free(p->keys_url);
	free(p->userinfo);
	free(p);
}

const char *provider_authorize(const struct provider *p)
{
	CHECK(p->authorize);
	return p->authorize;
}

const char *provider_token(const struct provider *p)
{
	CHECK(p->token);
	return p->token;
}

/* --- what it says of itself --- */

static int ask_page(struct provider *p, struct fetch_ask *ask, struct buf *ret, struct err *err)
{
	struct err why = { 0 };
	long status = 0;
	int r;

	ask->ca_file = p->set.ca_file;
	ask->timeout_ms = p->set.timeout_ms;
	ask->max = ANSWER_BYTES;
	r = p->fetch->fetch(ask, &status, ret, &why);
	if (r < 0)
		return err_set(err, r == E_TIMEOUT ? E_TIMEOUT : E_AGAIN,
		               "the provider does not answer: %.150s", why.text);
	return status == 200 ? 0
	                     : err_set(err, status >= 400 && status < 500 ? E_AUTH : E_AGAIN,
	                               "the provider answers %ld", status);
}

static int read_answer(struct buf *body, cJSON **ret, struct err *err)
{
	struct err why = { 0 };

	return json_parse(buf_str(body), body->len, ret, &why) == 0
	               ? 0
	               : err_set(err, E_AGAIN, "the provider's answer does not read: %.150s",
	                         why.text);
}

int provider_ask(struct provider *p, struct fetch_ask *ask, struct cJSON **ret, struct err *err)
{
	struct buf body;
	int r;

	buf_init(&body);
	r = ask_page(p, ask, &body, err);
	if (r == 0)
		r = read_answer(&body, ret, err);
	if (body.data)
		sodium_memzero(body.data, body.cap);
	buf_done(&body);
	return r;
}

/* An address the provider names; not weaker than the issuer's own. */
static int take_url(struct provider *p, const cJSON *said, const char *key, char **ret,
                    struct err *err)
{
	const char *url = json_text(said, key);

	if (!url || (strncmp(url, "https://", 8) != 0 &&
	             !(url_is_loopback(p->set.issuer) && url_is_loopback(url))))
		return err_set(err, E_AGAIN, "the provider's description has no good %s", key);
	free(*ret);
	*ret = mem_str(url);
	return 0;
}

static int take_keys(struct provider *p, struct err *err)
{
	struct fetch_ask ask = { .url = p->keys_url };
	cJSON *keys = NULL;
	int r;

	p->asked_us = clock_mono_us(&clock_machine);
	r = provider_ask(p, &ask, &keys, err);
	if (r < 0)
		return r;
	cJSON_Delete(p->keys);
	p->keys = keys;
	return 0;
}

static int take_description(struct provider *p, const cJSON *said, struct err *err)
{
	const char *issuer = json_text(said, "issuer");
	int r;

	if (!issuer || strcmp(issuer, p->set.issuer) != 0)
		return err_set(err, E_AGAIN, "the provider calls itself '%.100s', not oidc_issuer",
		               issuer ? issuer : "");
	r = take_url(p, said, "authorization_endpoint", &p->authorize, err);
	if (r == 0)
		r = take_url(p, said, "token_endpoint", &p->token, err);
	if (r == 0)
		r = take_url(p, said, "jwks_uri", &p->keys_url, err);
	if (r == 0 && json_get(said, "userinfo_endpoint"))
		r = take_url(p, said, "userinfo_endpoint", &p->userinfo, err);
	return r;
}

int provider_know(struct provider *p, struct err *err)
{
	int64_t now = clock_mono_us(&clock_machine);
	size_t n = strlen(p->set.issuer);
	cJSON *said = NULL;
	int r;

	if (p->known_us != 0 && now - p->known_us < KNOWN_US)
		return 0;
	while (n > 0 && p->set.issuer[n - 1] == '/')
		n--;
	char *url = mem_fmt("%.*s/.well-known/openid-configuration", (int)n, p->set.issuer);
	struct fetch_ask ask = { .url = url };
	r = provider_ask(p, &ask, &said, err);
	if (r == 0)
		r = take_description(p, said, err);
	if (r == 0)
		r = take_keys(p, err);
	if (r == 0)
		p->known_us = now;
	cJSON_Delete(said);
	free(url);
	return r;
}

/* --- a token --- */

/* nonce NULL: an answer of UserInfo. */
static int check_token(struct provider *p, const char *text, const char *nonce, cJSON **ret_claims,
                       struct err *err)
{
	struct jwt_want want = { p->set.issuer, p->set.client_id, nonce,
		                 clock_wall_us(&clock_machine) / US_PER_S, p->set.skew_ms / 1000 };
	int r = jwt_check(text, p->keys, &want, ret_claims, err);

	if (r != E_NOT_FOUND)
		return r;
	/* Keys are changed now and then. */
	if (clock_mono_us(&clock_machine) - p->asked_us >= KEYS_US && take_keys(p, err) == 0)
		r = jwt_check(text, p->keys, &want, ret_claims, err);
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

static int take_claims(const struct provider *p, const cJSON *claims, struct vouched *ret,
                       struct err *err)
{
	const struct provider_settings *set = &p->set;
	const cJSON *v, *list = set->groups_claim[0] ? json_get(claims, set->groups_claim) : NULL;
	size_t cap = 0;

	take_text(claims, "sub", ret->subject, sizeof ret->subject);
	take_text(claims, "name", ret->full_name, sizeof ret->full_name);
	take_text(claims, "email", ret->mail, sizeof ret->mail);
	take_text(claims, set->user_claim, ret->name, sizeof ret->name);
	if (ret->name[0] == '\0')
		return err_set(err, E_AUTH, "the provider's token: no %.60s that could be a name",
		               set->user_claim);
	cJSON_ArrayForEach(v, list) {
		if (!cJSON_IsString(v) || ret->n_groups == GROUPS_MAX)
			continue;
		ret->groups = mem_room(ret->groups, &cap, ret->n_groups + 1, sizeof(char *));
		ret->groups[ret->n_groups++] = mem_str(v->valuestring);
	}
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
	while (*text > ' ' && *text < 0x7f && text[1] != '\0')
		text++;
	return *text > ' ' && *text < 0x7f;
}

/* JSON, or signed as the ID token is; of the same person, or of nobody. */
static int ask_userinfo(struct provider *p, const char *access, const char *subject, cJSON **ret,
                        struct err *err)
{
	struct fetch_ask ask = { .url = p->userinfo, .bearer = access };
	const char *told;
	struct buf body;
	int r;

	buf_init(&body);
	r = ask_page(p, &ask, &body, err);
	if (r == 0)
		r = buf_str(&body)[0] == '{' ? read_answer(&body, ret, err)
		                             : check_token(p, buf_str(&body), NULL, ret, err);
	told = json_text(*ret, "sub");
	if (r == 0 && (!told || strcmp(told, subject) != 0))
		r = err_set(err, E_AUTH, "it describes somebody else (sub)");
	buf_done(&body);
	return r;
}

/* What the ID token does not say, UserInfo may. A name or a mail may be missing in the end; who he
 * is and which groups he is in decide what he may do: there an answer that fails is a refusal. */
static int complete(struct provider *p, const char *access, cJSON *claims, struct err *err)
{
	const char *const all[] = { p->set.user_claim, p->set.groups_claim, "name", "email" };
	bool needed = lacks(claims, all[0]) || lacks(claims, all[1]);
	struct err why = { 0 };
	cJSON *more = NULL;
	int r;

	if (!p->userinfo || !(needed || lacks(claims, all[2]) || lacks(claims, all[3])))
		return 0;
	r = is_token(access) ? ask_userinfo(p, access, json_text(claims, "sub"), &more, &why)
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

int provider_judge(struct provider *p, const struct brought *shown, struct vouched *ret,
                   struct err *err)
{
	cJSON *claims = NULL;
	int r = provider_know(p, err);

	CHECK(shown->nonce && *shown->nonce);
	*ret = (struct vouched){ 0 };
	if (r == 0)
		r = check_token(p, shown->id_token, shown->nonce, &claims, err);
	if (r == 0)
		r = complete(p, shown->access_token, claims, err);
	if (r == 0)
		r = take_claims(p, claims, ret, err);
	if (r < 0)
		vouched_done(ret);
	cJSON_Delete(claims);
	return r;
}
