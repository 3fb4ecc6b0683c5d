/* provider.h — an OpenID provider: what it says of itself, its keys, and whether an ID token is its
 * own, for this client, now.
 *
 * Asked over HTTPS by libcurl, in its module (fetch/fetch.h): calls block. One thread owns it.
 */
#ifndef OPENID_PROVIDER_H
#define OPENID_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct err;
struct fetch_ask;
struct provider;

/* Texts are borrowed for as long as the provider is open. */
struct provider_settings {
	const char *issuer, *client_id;
	const char *user_claim, *groups_claim; /* groups_claim "": none */
	const char *ca_file;                   /* "": the machine's */
	int64_t skew_ms, timeout_ms;
};

/* Somebody for whom the provider vouches, in its words. */
struct vouched {
	char name[64], subject[401], full_name[201], mail[201];
	char **groups; /* heap */
	size_t n_groups;
};

void vouched_done(struct vouched *v);

/*   errors  E_INVALID, E_FORBIDDEN settings; E_NOT_FOUND, E_ABI the module */
int provider_open(const struct provider_settings *set, struct provider **ret, struct err *err);
void provider_close(struct provider *p); /* NULL is fine */

/* Its description and keys, asked for once an hour.
 *   errors  E_AGAIN, E_TIMEOUT, E_AUTH it does not answer as it should */
int provider_know(struct provider *p, struct err *err);
/* After that, borrowed until the next: where people are sent to, where codes are exchanged. */
const char *provider_authorize(const struct provider *p);
const char *provider_token(const struct provider *p);
/* A page of it that is JSON, with our certificates and patience. As above. */
int provider_ask(struct provider *p, struct fetch_ask *ask, struct cJSON **ret, struct err *err);

/* One sign-in: is the ID token good, and of whom is it? What it lacks (name, groups, full name,
 * mail) UserInfo is asked for with the access token, "" when there is none.
 *   owns    on 0 *ret is to be given to vouched_done()
 *   errors  E_AUTH what is wrong with it; E_AGAIN, E_TIMEOUT the provider does not answer */
struct brought {
	const char *id_token, *access_token, *nonce;
};
int provider_judge(struct provider *p, const struct brought *shown, struct vouched *ret,
                   struct err *err);

#endif
