/* jwt.h — is this token of that issuer, for us, now? Pure: no clock, no input or output.
 *
 * RS256 (2048 bits at least) and ES256 with a key of the issuer's set, and nothing beside:
 * `none` and signatures by a shared secret are refused whatever the set holds, and each key
 * serves its own kind.
 */
#ifndef OPENID_JWT_H
#define OPENID_JWT_H

#include <stdint.h>

#define JWT_BYTES_MAX 65536

struct cJSON;
struct err;

struct jwt_want {
	const char *issuer, *audience;
	/* NULL: no ID token but an answer of UserInfo, whose times may be left out */
	const char *nonce;
	int64_t now_s, skew_s;
};

/* errors  E_AUTH with what is wrong; E_NOT_FOUND no key of this name: the set may have changed */
int jwt_check(const char *token, const struct cJSON *keys, const struct jwt_want *want,
              struct cJSON **ret_claims, struct err *err);

#endif
