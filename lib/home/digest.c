/* What a store of objects wants to have: SHA-256 of what it is sent, MD5 of what it has. */
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>

#include "home/s3.h"
#include "util/check.h"

static void hex(const uint8_t *from, size_t n, char *to)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		to[2 * i] = digits[from[i] >> 4];
		to[2 * i + 1] = digits[from[i] & 15];
	}
	to[2 * n] = '\0';
}

void sha256_text(const void *p, size_t n, char to[SHA256_TEXT])
{
	uint8_t sum[32];

	CHECK(gnutls_hash_fast(GNUTLS_DIG_SHA256, p, n, sum) == 0);
	hex(sum, sizeof sum, to);
}

bool md5_bytes(const void *p, size_t n, uint8_t to[MD5_BYTES])
{
	return gnutls_hash_fast(GNUTLS_DIG_MD5, p, n, to) == 0;
}

void md5_text(const uint8_t md5[MD5_BYTES], char to[MD5_TEXT])
{
	hex(md5, MD5_BYTES, to);
}
