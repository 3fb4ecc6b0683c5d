/* One ID token judged: its form, its signature by a key of the issuer's set, what it claims.
 *
 * Pure: the caller gives the keys and the time. RS256 and ES256 are all there is, whatever the
 * header names, and a key serves its own kind alone (lib/openid rule 1). A key that is not in the
 * set is E_NOT_FOUND, so that the caller can ask for the set anew.
 */
#include "openid/jwt.h"

#include <cjson/cJSON.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/err.h"
#include "util/json_in.h"

enum { RSA_BITS_MIN = 2048, ES256_HALF = 32, OLD_S = 3600 };

struct bytes {
	unsigned char *p;
	size_t n;
};

static const struct algorithm {
	const char *name, *key_type;
	gnutls_sign_algorithm_t sign;
} algorithms[] = {
	{ "RS256", "RSA", GNUTLS_SIGN_RSA_SHA256 },
	{ "ES256", "EC", GNUTLS_SIGN_ECDSA_SHA256 },
};

static int jwt_wrong(struct err *err, const char *what)
{
	return err_set(err, E_AUTH, "the provider's token: %s", what);
}

static bool jwt_decode(const char *text, size_t n, struct bytes *ret)
{
	ret->p = mem_new(n + 1);
	if (sodium_base642bin(ret->p, n, text, n, NULL, &ret->n, NULL,
	                      sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0)
		return true;
	free(ret->p);
	ret->p = NULL;
	return false;
}

static cJSON *decode_json(const char *text, size_t n)
{
	struct bytes b;
	cJSON *root = NULL;

	if (!jwt_decode(text, n, &b))
		return NULL;
	if (json_parse((const char *)b.p, b.n, &root, NULL) < 0 || !cJSON_IsObject(root)) {
		json_free(root);
		root = NULL;
	}
	free(b.p);
	return root;
}

/* --- the signature --- */

static bool key_part(const cJSON *key, const char *name, struct bytes *ret)
{
	const char *text = json_text(key, name);

	return text && jwt_decode(text, strlen(text), ret);
}

static bool key_import(const cJSON *key, const struct algorithm *a, gnutls_pubkey_t to)
{
	bool rsa = a->sign == GNUTLS_SIGN_RSA_SHA256, ok = false;
	struct bytes one = { 0 }, two = { 0 };
	const char *curve = json_text(key, "crv");
	unsigned bits = 0;

	if (key_part(key, rsa ? "n" : "x", &one) && key_part(key, rsa ? "e" : "y", &two)) {
		gnutls_datum_t x = { one.p, (unsigned)one.n }, y = { two.p, (unsigned)two.n };

		if (rsa)
			ok = gnutls_pubkey_import_rsa_raw(to, &x, &y) == 0 &&
			     gnutls_pubkey_get_pk_algorithm(to, &bits) == GNUTLS_PK_RSA &&
			     bits >= RSA_BITS_MIN;
		else
			ok = curve && strcmp(curve, "P-256") == 0 &&
			     gnutls_pubkey_import_ecc_raw(to, GNUTLS_ECC_CURVE_SECP256R1, &x, &y) ==
			             0;
	}
	free(one.p);
	free(two.p);
	return ok;
}

static bool jwt_verify(gnutls_pubkey_t key, const struct algorithm *a, const char *text, size_t n,
                       const struct bytes *signature)
{
	gnutls_datum_t data = { (unsigned char *)(uintptr_t)text, (unsigned)n };
	gnutls_datum_t sig = { signature->p, (unsigned)signature->n }, der = { 0 };
	bool ok;

	if (a->sign == GNUTLS_SIGN_RSA_SHA256)
		return gnutls_pubkey_verify_data2(key, a->sign, 0, &data, &sig) >= 0;
	if (signature->n != (size_t)2 * ES256_HALF)
		return false;
	gnutls_datum_t r = { signature->p, ES256_HALF },
		       s = { signature->p + ES256_HALF, ES256_HALF };
	if (gnutls_encode_rs_value(&der, &r, &s) < 0)
		return false;
	ok = gnutls_pubkey_verify_data2(key, a->sign, 0, &data, &der) >= 0;
	gnutls_free(der.data);
	return ok;
}

/* A key of the right kind and, where the token names one, of this name; meant for signatures. */
static bool key_fits(const cJSON *key, const struct algorithm *a, const char *id)
{
	const char *type = json_text(key, "kty"), *use = json_text(key, "use");
	const char *alg = json_text(key, "alg"), *name = json_text(key, "kid");

	return type && strcmp(type, a->key_type) == 0 && (!use || strcmp(use, "sig") == 0) &&
	       (!alg || strcmp(alg, a->name) == 0) && (!id || (name && strcmp(name, id) == 0));
}

static int check_signature(const cJSON *head, const cJSON *keys, const char *text, size_t n,
                           const struct bytes *signature, struct err *err)
{
	const char *alg = json_text(head, "alg"), *id = json_text(head, "kid");
	const struct algorithm *a = NULL;
	const cJSON *key;
	bool any = false;

	for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++)
		if (alg && strcmp(alg, algorithms[i].name) == 0)
			a = &algorithms[i];
	if (!a)
		return err_set(err, E_AUTH,
		               "the provider's token: signed with '%.20s', want RS256 "
		               "or ES256",
		               alg ? alg : "nothing");
	if (json_get(head, "crit"))
		return jwt_wrong(err, "its header has parts that must be understood and are not");
	cJSON_ArrayForEach(key, json_get(keys, "keys")) {
		gnutls_pubkey_t pub = NULL;
		bool ok = false;

		if (!key_fits(key, a, id) || gnutls_pubkey_init(&pub) < 0)
			continue;
		any = true;
		ok = key_import(key, a, pub) && jwt_verify(pub, a, text, n, signature);
		gnutls_pubkey_deinit(pub);
		if (ok)
			return 0;
	}
	return any ? jwt_wrong(err, "its signature is wrong")
	           : err_set(err, E_NOT_FOUND, "the provider's token: no key '%.60s'",
	                     id ? id : "");
}

/* --- the claims --- */

static bool is_audience(const cJSON *claims, const char *want)
{
	const cJSON *aud = json_get(claims, "aud"), *v;
	const char *party = json_text(claims, "azp");
	bool found = cJSON_IsString(aud) && strcmp(aud->valuestring, want) == 0;

	if (cJSON_IsArray(aud))
		cJSON_ArrayForEach(v, aud)
			found = found || (cJSON_IsString(v) && strcmp(v->valuestring, want) == 0);
	/* For several it must say whom it was given to. */
	if (cJSON_GetArraySize(aud) > 1 && !party)
		return false;
	return found && (!party || strcmp(party, want) == 0);
}

static bool time_claim(const cJSON *claims, const char *name, int64_t *ret)
{
	const cJSON *v = json_get(claims, name);

	*ret = cJSON_IsNumber(v) ? (int64_t)v->valuedouble : 0;
	return cJSON_IsNumber(v);
}

static int check_claims(const cJSON *claims, const struct jwt_want *want, struct err *err)
{
	const char *issuer = json_text(claims, "iss"), *nonce = json_text(claims, "nonce");
	const char *subject = json_text(claims, "sub");
	int64_t expires, issued, from;

	if (!issuer || strcmp(issuer, want->issuer) != 0)
		return jwt_wrong(err, "it is of another issuer");
	if (!is_audience(claims, want->audience))
		return jwt_wrong(err, "it is not for this client");
	if (time_claim(claims, "exp", &expires) ? expires <= want->now_s - want->skew_s
	                                        : want->nonce != NULL)
		return jwt_wrong(err, "it is over");
	if (!time_claim(claims, "iat", &issued) && !want->nonce)
		issued = want->now_s;
	if (issued == 0 || issued > want->now_s + want->skew_s)
		return jwt_wrong(err, "it is of a time to come");
	if (issued < want->now_s - want->skew_s - OLD_S)
		return jwt_wrong(err, "it is too old");
	if (time_claim(claims, "nbf", &from) && from > want->now_s + want->skew_s)
		return jwt_wrong(err, "it is not valid yet");
	if (want->nonce && (!nonce || strcmp(nonce, want->nonce) != 0))
		return jwt_wrong(err, "it does not answer what was asked (nonce)");
	if (!subject || subject[0] == '\0' || strlen(subject) > 255)
		return jwt_wrong(err, "it names nobody (sub)");
	return 0;
}

int jwt_check(const char *token, const cJSON *keys, const struct jwt_want *want, cJSON **ret_claims,
              struct err *err)
{
	const char *one = strchr(token, '.'), *two = one ? strchr(one + 1, '.') : NULL;
	struct bytes signature = { 0 };
	cJSON *head = NULL, *claims = NULL;
	int r;

	if (strlen(token) > JWT_BYTES_MAX || !two || strchr(two + 1, '.'))
		return jwt_wrong(err, "it is none");
	head = decode_json(token, (size_t)(one - token));
	claims = decode_json(one + 1, (size_t)(two - one - 1));
	if (!head || !claims || !jwt_decode(two + 1, strlen(two + 1), &signature))
		r = jwt_wrong(err, "it does not read");
	else
		r = check_signature(head, keys, token, (size_t)(two - token), &signature, err);
	if (r == 0)
		r = check_claims(claims, want, err);
	if (r == 0) {
		*ret_claims = claims;
		claims = NULL;
	}
	free(signature.p);
	json_free(head);
	json_free(claims);
	return r;
}
