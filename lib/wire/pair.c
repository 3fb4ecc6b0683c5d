/* Ed25519 by GnuTLS. Both encodings of a key are a fixed head and its 32 bytes (RFC 8410), so that
 * nothing is parsed that a peer sent: a head that differs is another kind of key. */
#include "wire/pair.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

#include "util/err.h"

static const uint8_t spki_head[] = { 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
	                             0x2b, 0x65, 0x70, 0x03, 0x21, 0x00 };
static const uint8_t pkcs8_head[] = { 0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
	                              0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20 };
_Static_assert(sizeof spki_head + PAIR_BYTES == PAIR_SPKI_BYTES, "RFC 8410");
_Static_assert(sizeof pkcs8_head + PAIR_BYTES == PAIR_PKCS8_BYTES, "RFC 8410");

void pair_spki(const uint8_t key[PAIR_BYTES], uint8_t ret[PAIR_SPKI_BYTES])
{
	memcpy(ret, spki_head, sizeof spki_head);
	memcpy(ret + sizeof spki_head, key, PAIR_BYTES);
}

void pair_pkcs8(const uint8_t secret[PAIR_BYTES], uint8_t ret[PAIR_PKCS8_BYTES])
{
	memcpy(ret, pkcs8_head, sizeof pkcs8_head);
	memcpy(ret + sizeof pkcs8_head, secret, PAIR_BYTES);
}

bool pair_of_spki(const uint8_t *spki, size_t bytes, uint8_t ret_key[PAIR_BYTES])
{
	if (bytes != PAIR_SPKI_BYTES || memcmp(spki, spki_head, sizeof spki_head) != 0)
		return false;
	memcpy(ret_key, spki + sizeof spki_head, PAIR_BYTES);
	return true;
}

static int private_open(const uint8_t secret[PAIR_BYTES], gnutls_privkey_t *ret)
{
	uint8_t der[PAIR_PKCS8_BYTES];
	gnutls_datum_t data = { der, sizeof der };
	int r = gnutls_privkey_init(ret);

	if (r < 0)
		return r;
	pair_pkcs8(secret, der);
	r = gnutls_privkey_import_x509_raw(*ret, &data, GNUTLS_X509_FMT_DER, NULL, 0);
	gnutls_memset(der, 0, sizeof der);
	if (r < 0)
		gnutls_privkey_deinit(*ret);
	return r;
}

static int public_open(const uint8_t key[PAIR_BYTES], gnutls_pubkey_t *ret)
{
	uint8_t der[PAIR_SPKI_BYTES];
	gnutls_datum_t data = { der, sizeof der };
	int r = gnutls_pubkey_init(ret);

	if (r < 0)
		return r;
	pair_spki(key, der);
	r = gnutls_pubkey_import(*ret, &data, GNUTLS_X509_FMT_DER);
	if (r < 0)
		gnutls_pubkey_deinit(*ret);
	return r;
}

int pair_of(const uint8_t secret[PAIR_BYTES], struct pair *ret, struct err *err)
{
	gnutls_privkey_t private;
	gnutls_pubkey_t public = NULL;
	gnutls_ecc_curve_t curve;
	gnutls_datum_t x = { 0 };
	int r = private_open(secret, &private);

	if (r < 0)
		return err_set(err, E_INVALID, "not an Ed25519 key: %s", gnutls_strerror(r));
	r = gnutls_pubkey_init(&public);
	if (r >= 0)
		r = gnutls_pubkey_import_privkey(public, private, 0, 0);
	if (r >= 0)
		r = gnutls_pubkey_export_ecc_raw2(public, &curve, &x, NULL, 0);
	if (r >= 0 && x.size != PAIR_BYTES)
		r = GNUTLS_E_ECC_UNSUPPORTED_CURVE;
	if (r >= 0) {
		memcpy(ret->secret, secret, PAIR_BYTES);
		memcpy(ret->key, x.data, PAIR_BYTES);
	}
	gnutls_free(x.data);
	gnutls_pubkey_deinit(public);
	gnutls_privkey_deinit(private);
	return r < 0 ? err_set(err, E_INVALID, "an Ed25519 key: %s", gnutls_strerror(r)) : 0;
}

int pair_draw(struct pair *ret, struct err *err)
{
	uint8_t secret[PAIR_BYTES];
	int r = gnutls_rnd(GNUTLS_RND_KEY, secret, sizeof secret);

	if (r < 0)
		return err_set(err, E_IO, "random bytes for a key: %s", gnutls_strerror(r));
	r = pair_of(secret, ret, err);
	gnutls_memset(secret, 0, sizeof secret);
	return r;
}

void pair_wipe(struct pair *p)
{
	gnutls_memset(p, 0, sizeof *p);
}

int pair_sign(const struct pair *p, const void *text, size_t bytes, uint8_t ret[PAIR_SIGN_BYTES],
              struct err *err)
{
	const gnutls_datum_t data = { (uint8_t *)text, (unsigned)bytes };
	gnutls_datum_t sign = { 0 };
	gnutls_privkey_t private;
	int r = private_open(p->secret, &private);

	if (r >= 0) {
		r = gnutls_privkey_sign_data2(private, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &sign);
		gnutls_privkey_deinit(private);
	}
	if (r >= 0 && sign.size == PAIR_SIGN_BYTES)
		memcpy(ret, sign.data, PAIR_SIGN_BYTES);
	else
		r = err_set(err, E_UNSUPPORTED, "signing: %s", gnutls_strerror(r));
	gnutls_free(sign.data);
	return r < 0 ? r : 0;
}

bool pair_signed(const uint8_t key[PAIR_BYTES], const void *text, size_t bytes, const uint8_t *sign,
                 size_t sign_bytes)
{
	const gnutls_datum_t data = { (uint8_t *)text, (unsigned)bytes };
	const gnutls_datum_t by = { (uint8_t *)sign, (unsigned)sign_bytes };
	gnutls_pubkey_t public;

	if (sign_bytes != PAIR_SIGN_BYTES || public_open(key, &public) < 0)
		return false;
	int r = gnutls_pubkey_verify_data2(public, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &by);
	gnutls_pubkey_deinit(public);
	return r >= 0;
}
