/* Tokens of an OpenID provider: whom they convince, one thing wrong at a time. Keys are made here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <sodium.h>

#include "openid/jwt.h"
#include "util/buf.h"
#include "util/err.h"

enum { NOW = 1772323200, SKEW = 60 };

static const struct jwt_want want = { "https://id.example", "sirdar", "n-1", NOW, SKEW };
static const char good_claims[] =
	"{\"iss\":\"https://id.example\",\"aud\":\"sirdar\",\"nonce\":\"n-1\",\"sub\":\"7\","
	"\"exp\":1772323500,\"iat\":1772323190}";

static gnutls_privkey_t key, other;
static struct cJSON *keys;

static void put_base64(struct buf *b, const void *p, size_t n)
{
	char text[4096];

	assert_true(n < sizeof text / 2);
	sodium_bin2base64(text, sizeof text, p, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	buf_puts(b, text);
}

static gnutls_privkey_t key_made(void)
{
	gnutls_privkey_t k;

	assert_int_equal(gnutls_privkey_init(&k), 0);
	assert_int_equal(gnutls_privkey_generate(k, GNUTLS_PK_ECDSA,
	                                         GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
	                                         0),
	                 0);
	return k;
}

/* The set of the one key, called `k1`. */
static int begin(void **state)
{
	gnutls_ecc_curve_t curve;
	gnutls_datum_t x, y;
	struct buf b;

	(void)state;
	buf_init(&b);
	key = key_made();
	other = key_made();
	assert_int_equal(
		gnutls_privkey_export_ecc_raw2(key, &curve, &x, &y, NULL, GNUTLS_EXPORT_FLAG_NO_LZ),
		0);
	buf_puts(&b, "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"k1\",\"x\":\"");
	put_base64(&b, x.data, x.size);
	buf_puts(&b, "\",\"y\":\"");
	put_base64(&b, y.data, y.size);
	buf_puts(&b, "\"}]}");
	keys = cJSON_Parse(buf_str(&b));
	assert_non_null(keys);
	gnutls_free(x.data);
	gnutls_free(y.data);
	buf_done(&b);
	return 0;
}

static int end(void **state)
{
	(void)state;
	cJSON_Delete(keys);
	gnutls_privkey_deinit(key);
	gnutls_privkey_deinit(other);
	return 0;
}

static void sign(struct buf *b, gnutls_privkey_t by)
{
	gnutls_datum_t text = { (unsigned char *)(uintptr_t)buf_str(b), (unsigned)b->len }, der, r,
		       s;
	unsigned char both[64] = { 0 };

	assert_int_equal(gnutls_privkey_sign_data2(by, GNUTLS_SIGN_ECDSA_SHA256, 0, &text, &der),
	                 0);
	assert_int_equal(gnutls_decode_rs_value(&der, &r, &s), 0);
	for (size_t half = 0; half < 2; half++) { /* 32 bytes each, from the right */
		const gnutls_datum_t *v = half ? &s : &r;
		size_t skip = v->size > 32 ? v->size - 32 : 0, n = v->size - skip;
		memcpy(both + 32 * half + 32 - n, v->data + skip, n);
	}
	buf_putc(b, '.');
	put_base64(b, both, sizeof both);
	gnutls_free(der.data);
	gnutls_free(r.data);
	gnutls_free(s.data);
}

static int judged(const char *head, const char *claims, gnutls_privkey_t by)
{
	struct cJSON *got = NULL;
	struct err err = { 0 };
	struct buf b;

	buf_init(&b);
	put_base64(&b, head, strlen(head));
	buf_putc(&b, '.');
	put_base64(&b, claims, strlen(claims));
	if (by)
		sign(&b, by);
	else
		buf_putc(&b, '.');
	int r = jwt_check(buf_str(&b), keys, &want, &got, &err);
	assert_true((r == 0) == (got != NULL));
	cJSON_Delete(got);
	buf_done(&b);
	return r;
}

static const char es256[] = "{\"alg\":\"ES256\",\"kid\":\"k1\"}";

static void a_token_of_the_provider_for_us_convinces(void **state)
{
	(void)state;
	assert_int_equal(judged(es256, good_claims, key), 0);
	assert_int_equal(judged("{\"alg\":\"ES256\"}", good_claims, key), 0);
}

static void signatures_of_another_kind_or_key_do_not(void **state)
{
	static const char *const heads[] = {
		"{\"alg\":\"none\"}",
		"{\"alg\":\"HS256\",\"kid\":\"k1\"}",
		"{\"kid\":\"k1\"}",
		"{\"alg\":\"RS256\"}",
		"{\"alg\":\"es256\",\"kid\":\"k1\"}",
		"{\"alg\":\"ES256\",\"kid\":\"k1\",\"crit\":[\"exp\"]}"
	};

	(void)state;
	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		assert_true(judged(heads[i], good_claims, key) < 0);
		assert_true(judged(heads[i], good_claims, NULL) < 0);
	}
	assert_int_equal(judged(es256, good_claims, other), E_AUTH);
	assert_int_equal(judged(es256, good_claims, NULL), E_AUTH);
	assert_int_equal(judged("{\"alg\":\"ES256\",\"kid\":\"k2\"}", good_claims, key),
	                 E_NOT_FOUND);
}

static void each_claim_counts(void **state)
{
	/* what of the good ones becomes what */
	static const struct {
		const char *from, *to;
		bool ok;
	} t[] = {
		{ "id.example", "id.evil", false },
		{ "\"iss\"", "\"isz\"", false },
		{ "\"aud\":\"sirdar\"", "\"aud\":\"others\"", false },
		{ "\"aud\":\"sirdar\"", "\"aud\":[\"sirdar\"]", true },
		{ "\"aud\":\"sirdar\"", "\"aud\":[\"sirdar\",\"b\"]", false },
		{ "\"aud\":\"sirdar\"", "\"aud\":[\"sirdar\",\"b\"],\"azp\":\"sirdar\"", true },
		{ "\"aud\":\"sirdar\"", "\"aud\":\"sirdar\",\"azp\":\"b\"", false },
		{ "n-1", "n-2", false },
		{ "\"nonce\"", "\"nonze\"", false },
		{ "\"sub\":\"7\"", "\"sub\":\"\"", false },
		{ "\"sub\":\"7\"", "\"sub\":7", false },
		{ "\"exp\":1772323500", "\"exp\":1772323140", false }, /* now - skew */
		{ "\"exp\":1772323500", "\"exp\":1772323141", true },
		{ "\"exp\":1772323500", "\"exp\":\"1772323500\"", false },
		{ "\"iat\":1772323190", "\"iat\":1772323261", false }, /* now + skew + 1 */
		{ "\"iat\":1772323190", "\"iat\":1772323260", true },
		{ "\"iat\":1772323190", "\"iat\":1772319539", false }, /* over an hour ago */
		{ "\"sub\":\"7\"", "\"sub\":\"7\",\"nbf\":1772323261", false },
	};
	char claims[512];

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		const char *at = strstr(good_claims, t[i].from);
		assert_non_null(at);
		snprintf(claims, sizeof claims, "%.*s%s%s", (int)(at - good_claims), good_claims,
		         t[i].to, at + strlen(t[i].from));
		assert_int_equal(judged(es256, claims, key), t[i].ok ? 0 : E_AUTH);
	}
}

static void what_is_no_token_is_refused(void **state)
{
	static const char *const none[] = { "",        ".",        "..",         "a.b",
		                            "a.b.c.d", "e30.e30.", "e30.e30.!!", "W10.W10.AA" };
	struct cJSON *got = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
		assert_int_equal(jwt_check(none[i], keys, &want, &got, NULL), E_AUTH);
		assert_null(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_of_the_provider_for_us_convinces),
		cmocka_unit_test(signatures_of_another_kind_or_key_do_not),
		cmocka_unit_test(each_claim_counts),
		cmocka_unit_test(what_is_no_token_is_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
