/* Codes of a second factor. The HMAC is GnuTLS's; a code is compared with all those that could be
 * right, whatever the first is. */
#include "util/totp.h"

#include <ctype.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>

#include "util/check.h"

enum { HMAC_BYTES = 20, HASH_BYTES = 32, RECOVERY_DIGITS = 16, CODE_DIGITS = 6, CODES = 1000000 };

static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* n: a multiple of 5 */
static void base32_put(const unsigned char *bytes, size_t n, char *ret)
{
	for (size_t i = 0; i < n * 8 / 5; i++) {
		size_t bit = i * 5, at = bit / 8, shift = bit % 8;
		unsigned two = (unsigned)bytes[at] << 8 | (at + 1 < n ? bytes[at + 1] : 0u);

		ret[i] = base32[two >> (11 - shift) & 31];
	}
	ret[n * 8 / 5] = '\0';
}

void totp_secret_text(const unsigned char secret[TOTP_SECRET_BYTES], char ret[TOTP_SECRET_TEXT])
{
	base32_put(secret, TOTP_SECRET_BYTES, ret);
}

bool totp_secret_bytes(const char *text, unsigned char ret[TOTP_SECRET_BYTES])
{
	unsigned bits = 0;
	size_t have = 0, n = 0;

	if (strlen(text) != TOTP_SECRET_TEXT - 1)
		return false;
	for (; *text != '\0'; text++) {
		const char *at = strchr(base32, *text);

		if (!at)
			return false;
		bits = (bits << 5 | (unsigned)(at - base32)) & 0xfff;
		have += 5;
		if (have >= 8) {
			have -= 8;
			ret[n++] = (unsigned char)(bits >> have);
		}
	}
	CHECK(n == TOTP_SECRET_BYTES);
	return true;
}

void totp_code(const unsigned char secret[TOTP_SECRET_BYTES], int64_t step,
               char ret[TOTP_CODE_TEXT])
{
	unsigned char counter[8], mac[HMAC_BYTES];

	for (size_t i = 0; i < sizeof counter; i++)
		counter[i] = (unsigned char)((uint64_t)step >> (56 - 8 * i));
	CHECK(gnutls_hmac_fast(GNUTLS_MAC_SHA1, secret, TOTP_SECRET_BYTES, counter, sizeof counter,
	                       mac) == 0);
	const unsigned char *at = mac + (mac[HMAC_BYTES - 1] & 15);
	uint32_t number = (uint32_t)(at[0] & 0x7f) << 24 | (uint32_t)at[1] << 16 |
	                  (uint32_t)at[2] << 8 | at[3];
	snprintf(ret, TOTP_CODE_TEXT, "%06u", (unsigned)(number % CODES));
	gnutls_memset(mac, 0, sizeof mac);
}

int64_t totp_step(const unsigned char secret[TOTP_SECRET_BYTES], const char *code, int64_t now_s,
                  int64_t last)
{
	int64_t now = now_s / TOTP_STEP_S, found = -1;
	char right[TOTP_CODE_TEXT];

	if (strlen(code) != CODE_DIGITS || code[strspn(code, "0123456789")] != '\0')
		return -1;
	for (int64_t step = now + TOTP_DRIFT; step >= now - TOTP_DRIFT; step--) {
		totp_code(secret, step, right);
		if (gnutls_memcmp(right, code, CODE_DIGITS) == 0 && step > last)
			found = step;
	}
	gnutls_memset(right, 0, sizeof right);
	return found;
}

void totp_recovery_text(const unsigned char bytes[TOTP_RECOVERY_BYTES],
                        char ret[TOTP_RECOVERY_TEXT])
{
	char digits[RECOVERY_DIGITS + 1];

	base32_put(bytes, TOTP_RECOVERY_BYTES, digits);
	snprintf(ret, TOTP_RECOVERY_TEXT, "%.4s-%.4s-%.4s-%.4s", digits, digits + 4, digits + 8,
	         digits + 12);
	gnutls_memset(digits, 0, sizeof digits);
}

bool totp_recovery_hash(const char *text, char ret_hex[TOTP_HASH_TEXT])
{
	char digits[RECOVERY_DIGITS + 1] = "";
	unsigned char hash[HASH_BYTES];
	size_t n = 0;

	for (; *text != '\0'; text++) {
		char one = (char)toupper((unsigned char)*text);

		if (one == '-' || one == ' ')
			continue;
		if (n == RECOVERY_DIGITS || !strchr(base32, one))
			return false;
		digits[n++] = one;
	}
	if (n != RECOVERY_DIGITS)
		return false;
	CHECK(gnutls_hash_fast(GNUTLS_DIG_SHA256, digits, n, hash) == 0);
	for (size_t i = 0; i < sizeof hash; i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", hash[i]);
	gnutls_memset(digits, 0, sizeof digits);
	return true;
}
