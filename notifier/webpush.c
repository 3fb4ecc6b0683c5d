/* Sealed and signed messages for browsers, by the RFCs: a shared secret of two P-256 keys,
 * HKDF, one record of AES-128-GCM; and a signed token that names the push service. Points from
 * outside are checked to lie on the curve before anything is computed with them. The pair of
 * keys is made once and kept in a file of our own; if it is lost every browser must subscribe
 * again. */
#include "notifier/webpush.h"

#include <nettle/bignum.h>
#include <nettle/dsa.h>
#include <nettle/ecc-curve.h>
#include <nettle/ecc.h>
#include <nettle/ecdsa.h>
#include <nettle/gcm.h>
#include <nettle/hkdf.h>
#include <nettle/hmac.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_put.h"

/* Record size, and what stands before the text in the one record (RFC 8188 section 2). */
enum { RECORD = 4096, KEY = 16, NONCE = 12, TAG = 16, HASH = 32, COORDINATE = 32 };
/* A signature lasts; services refuse more than a day (RFC 8292 section 2). */
enum {
	SIGNED_FOR_S = 12 * 3600,
	FILE_MAX = 200,
	BASE64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING
};

struct webpush_pair {
	struct ecc_scalar scalar;
	struct ecc_point point;
	unsigned char raw[WEBPUSH_POINT];
	char text[(WEBPUSH_POINT + 2) / 3 * 4 + 1];
};

static void random_bytes(void *ctx, size_t n, uint8_t *to)
{
	(void)ctx;
	randombytes_buf(to, n);
}

/* --- points of the curve ------------------------------------------------------------- */

static void point_print(const struct ecc_point *p, unsigned char ret[WEBPUSH_POINT])
{
	mpz_t x, y;

	mpz_init(x);
	mpz_init(y);
	ecc_point_get(p, x, y);
	ret[0] = 4; /* both coordinates follow */
	nettle_mpz_get_str_256(COORDINATE, ret + 1, x);
	nettle_mpz_get_str_256(COORDINATE, ret + 1 + COORDINATE, y);
	mpz_clear(x);
	mpz_clear(y);
}

/* False: it is not on the curve, so that nothing is computed with it. */
static bool point_read(const unsigned char raw[WEBPUSH_POINT], struct ecc_point *to)
{
	mpz_t x, y;
	bool ok;

	nettle_mpz_init_set_str_256_u(x, COORDINATE, raw + 1);
	nettle_mpz_init_set_str_256_u(y, COORDINATE, raw + 1 + COORDINATE);
	ok = raw[0] == 4 && ecc_point_set(to, x, y);
	mpz_clear(x);
	mpz_clear(y);
	return ok;
}

static bool bytes_read(const char *text, unsigned char *to, size_t want)
{
	size_t n = 0;
	const char *end = NULL;

	return sodium_base642bin(to, want, text, strlen(text), NULL, &n, &end, BASE64) == 0 &&
	       n == want && end && !*end;
}

static void put_base64(struct buf *out, const void *bytes, size_t n)
{
	size_t room = sodium_base64_ENCODED_LEN(n, BASE64);

	sodium_bin2base64((char *)buf_room(out, room), room, bytes, n, BASE64);
	buf_added(out, room - 1); /* without the NUL */
}

/* --- pairs of keys ------------------------------------------------------------------- */

static bool scalar_read(const unsigned char raw[WEBPUSH_SCALAR], struct ecc_scalar *to)
{
	mpz_t z;
	bool ok;

	nettle_mpz_init_set_str_256_u(z, WEBPUSH_SCALAR, raw);
	ok = ecc_scalar_set(to, z);
	mpz_clear(z);
	return ok;
}

int webpush_pair_new(const unsigned char *scalar, struct webpush_pair **ret_pair, struct err *err)
{
	struct webpush_pair *p = mem_new(sizeof *p);

	ecc_scalar_init(&p->scalar, nettle_get_secp_256r1());
	ecc_point_init(&p->point, nettle_get_secp_256r1());
	if (!scalar) {
		ecc_scalar_random(&p->scalar, NULL, random_bytes);
	} else if (!scalar_read(scalar, &p->scalar)) {
		webpush_pair_free(p);
		return err_set(err, E_INVALID, "no private key of the curve P-256");
	}
	ecc_point_mul_g(&p->point, &p->scalar);
	point_print(&p->point, p->raw);
	sodium_bin2base64(p->text, sizeof p->text, p->raw, sizeof p->raw, BASE64);
	*ret_pair = p;
	return 0;
}

void webpush_pair_free(struct webpush_pair *p)
{
	if (!p)
		return;
	ecc_scalar_clear(&p->scalar);
	ecc_point_clear(&p->point);
	free(p);
}

const char *webpush_pair_public(const struct webpush_pair *p)
{
	return p->text;
}

static int pair_write(const struct webpush_pair *p, const char *path, struct err *err)
{
	unsigned char raw[WEBPUSH_SCALAR];
	struct buf line;
	mpz_t z;

	mpz_init(z);
	ecc_scalar_get(&p->scalar, z);
	nettle_mpz_get_str_256(sizeof raw, raw, z);
	mpz_clear(z);
	buf_init(&line);
	put_base64(&line, raw, sizeof raw);
	buf_putc(&line, '\n');
	int r = fs_write(path, buf_at(&line), line.len, 0600, err);
	sodium_memzero(raw, sizeof raw);
	sodium_memzero(line.data, line.cap);
	buf_done(&line);
	return r;
}

static int pair_make(const char *path, struct webpush_pair **ret_pair, struct err *err)
{
	struct webpush_pair *p = NULL;
	int r = webpush_pair_new(NULL, &p, err);

	if (r == 0)
		r = pair_write(p, path, err);
	if (r == 0)
		*ret_pair = p;
	else
		webpush_pair_free(p);
	return r;
}

int webpush_pair_file(const char *path, struct webpush_pair **ret_pair, struct err *err)
{
	unsigned char raw[WEBPUSH_SCALAR];
	struct buf text;
	struct err why = { 0 };

	buf_init(&text);
	int r = fs_read_secret(path, FILE_MAX, &text, &why);
	if (r == E_NOT_FOUND) {
		buf_done(&text);
		return pair_make(path, ret_pair, err);
	}
	if (r < 0) {
		r = err_set(err, r, "%.380s", why.text);
	} else {
		char *line = (char *)(uintptr_t)buf_str(&text);
		line[strcspn(line, "\r\n")] = '\0';
		if (!bytes_read(line, raw, sizeof raw) || webpush_pair_new(raw, ret_pair, NULL) < 0)
			r = err_set(err, E_INVALID,
			            "%.200s: want a private key of P-256, one line of base64url",
			            path);
	}
	sodium_memzero(raw, sizeof raw);
	if (text.cap)
		sodium_memzero(text.data, text.cap);
	buf_done(&text);
	return r;
}

/* --- sealed -------------------------------------------------------------------------- */

struct theirs {
	struct ecc_point point;
	unsigned char raw[WEBPUSH_POINT], auth[WEBPUSH_AUTH];
};

static void theirs_done(struct theirs *t)
{
	ecc_point_clear(&t->point);
	sodium_memzero(t->auth, sizeof t->auth);
}

/* On 0 to be ended by theirs_done(). */
static int theirs_read(const struct webpush_to *to, struct theirs *ret, struct err *err)
{
	const char *wrong = NULL;

	ecc_point_init(&ret->point, nettle_get_secp_256r1());
	if (!bytes_read(to->p256dh, ret->raw, sizeof ret->raw) ||
	    !point_read(ret->raw, &ret->point))
		wrong = "p256dh: want a point of the curve P-256, 65 bytes in base64url";
	else if (!bytes_read(to->auth, ret->auth, sizeof ret->auth))
		wrong = "auth: want 16 bytes in base64url";
	if (!wrong)
		return 0;
	theirs_done(ret);
	return err_set(err, E_INVALID, "%s", wrong);
}

int webpush_check(const struct webpush_to *to, struct err *err)
{
	struct theirs t;
	int r = theirs_read(to, &t, err);

	if (r == 0)
		theirs_done(&t);
	return r;
}

static void extract(const unsigned char *salt, size_t salt_n, const unsigned char *secret, size_t n,
                    unsigned char ret[HASH])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, salt_n, salt);
	hkdf_extract(&ctx, (nettle_hash_update_func *)hmac_sha256_update,
	             (nettle_hash_digest_func *)hmac_sha256_digest, HASH, n, secret, ret);
}

static void webpush_expand(const unsigned char key[HASH], const void *info, size_t info_n,
                           unsigned char *ret, size_t n)
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, HASH, key);
	hkdf_expand(&ctx, (nettle_hash_update_func *)hmac_sha256_update,
	            (nettle_hash_digest_func *)hmac_sha256_digest, HASH, info_n, info, n, ret);
}

/* RFC 8291 section 3.4: what both sides know, of the curve and of the subscription. */
static void key_material(const struct theirs *t, const struct webpush_pair *once,
                         unsigned char ret[HASH])
{
	static const char info[] = "WebPush: info"; /* with its NUL */
	unsigned char all[sizeof info + 2 * (size_t)WEBPUSH_POINT], both[WEBPUSH_POINT], prk[HASH];
	struct ecc_point shared;

	ecc_point_init(&shared, nettle_get_secp_256r1());
	ecc_point_mul(&shared, &once->scalar, &t->point);
	point_print(&shared, both);
	ecc_point_clear(&shared);
	memcpy(all, info, sizeof info);
	memcpy(all + sizeof info, t->raw, WEBPUSH_POINT);
	memcpy(all + sizeof info + WEBPUSH_POINT, once->raw, WEBPUSH_POINT);
	extract(t->auth, sizeof t->auth, both + 1, COORDINATE, prk);
	webpush_expand(prk, all, sizeof all, ret, HASH);
	sodium_memzero(both, sizeof both);
	sodium_memzero(prk, sizeof prk);
}

static void put_record(const unsigned char material[HASH], const unsigned char *salt,
                       const char *text, size_t n, struct buf *out)
{
	static const char key_info[] = "Content-Encoding: aes128gcm"; /* with their NULs */
	static const char nonce_info[] = "Content-Encoding: nonce";
	unsigned char prk[HASH], key[KEY], nonce[NONCE];
	static const uint8_t last = 2; /* the delimiter of the last record */
	struct gcm_aes128_ctx gcm;
	uint8_t *to = buf_room(out, n + 1 + TAG);

	extract(salt, WEBPUSH_SALT, material, HASH, prk);
	webpush_expand(prk, key_info, sizeof key_info, key, sizeof key);
	webpush_expand(prk, nonce_info, sizeof nonce_info, nonce, sizeof nonce);
	gcm_aes128_set_key(&gcm, key);
	gcm_aes128_set_iv(&gcm, sizeof nonce, nonce);
	memcpy(to, text, n);
	to[n] = last;
	gcm_aes128_encrypt(&gcm, n + 1, to, to);
	gcm_aes128_digest(&gcm, TAG, to + n + 1);
	buf_added(out, n + 1 + TAG);
	sodium_memzero(prk, sizeof prk);
	sodium_memzero(key, sizeof key);
	sodium_memzero(&gcm, sizeof gcm);
}

int webpush_seal(const struct webpush_to *to, const struct webpush_once *once, const char *text,
                 size_t n, struct buf *ret_body, struct err *err)
{
	static const uint8_t size[4] = { 0, 0, RECORD >> 8, RECORD & 0xff };
	unsigned char material[HASH];
	struct theirs t;

	if (n > WEBPUSH_TEXT_MAX)
		return err_set(err, E_TOO_BIG, "%zu bytes, at most %d fit one push", n,
		               WEBPUSH_TEXT_MAX);
	int r = theirs_read(to, &t, err);
	if (r < 0)
		return r;
	key_material(&t, once->pair, material);
	buf_put(ret_body, once->salt, WEBPUSH_SALT);
	buf_put(ret_body, size, sizeof size);
	buf_putc(ret_body, WEBPUSH_POINT);
	buf_put(ret_body, once->pair->raw, WEBPUSH_POINT);
	put_record(material, once->salt, text, n, ret_body);
	sodium_memzero(material, sizeof material);
	theirs_done(&t);
	return 0;
}

/* --- signed -------------------------------------------------------------------------- */

static void put_signature(const struct webpush_pair *p, const void *text, size_t n, struct buf *out)
{
	unsigned char digest[HASH], raw[2 * COORDINATE];
	struct dsa_signature s;

	crypto_hash_sha256(digest, text, n);
	dsa_signature_init(&s);
	ecdsa_sign(&p->scalar, NULL, random_bytes, sizeof digest, digest, &s);
	nettle_mpz_get_str_256(COORDINATE, raw, s.r);
	nettle_mpz_get_str_256(COORDINATE, raw + COORDINATE, s.s);
	dsa_signature_clear(&s);
	put_base64(out, raw, sizeof raw);
}

void webpush_sign(const struct webpush_pair *p, const char *endpoint, const char *contact,
                  int64_t now_s, struct buf *ret_header)
{
	static const char head[] = "{\"typ\":\"JWT\",\"alg\":\"ES256\"}";
	const char *host = strstr(endpoint, "://");
	size_t origin = host ? (size_t)(host + 3 - endpoint) : 0;
	struct buf claims, token;

	origin += strcspn(endpoint + origin, "/?#");
	buf_init(&claims);
	buf_init(&token);
	put_open(&claims, NULL, '{');
	put_bytes(&claims, "aud", endpoint, origin);
	put_int(&claims, "exp", now_s + SIGNED_FOR_S);
	put_text(&claims, "sub", contact);
	put_close(&claims, '}');
	put_base64(&token, head, sizeof head - 1);
	buf_putc(&token, '.');
	put_base64(&token, buf_at(&claims), claims.len);
	buf_puts(ret_header, "Authorization: vapid t=");
	buf_puts(ret_header, buf_str(&token));
	buf_putc(ret_header, '.');
	put_signature(p, buf_at(&token), token.len, ret_header);
	buf_printf(ret_header, ", k=%s", p->text);
	buf_done(&claims);
	buf_done(&token);
}
