/* Secrets of sessions and tokens: how one is drawn, and the hash that is kept of it. */
#include <sodium.h>
#include <string.h>

#include "cgi/who/auth_impl.h"

void secret__new(const char *prefix, char ret_text[AUTH_TEXT_MAX])
{
	unsigned char bytes[AUTH_SECRET_BYTES];
	size_t n = strlen(prefix);

	randombytes_buf(bytes, sizeof bytes);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the next call ends it */
	memcpy(ret_text, prefix, n);
	sodium_bin2base64(ret_text + n, AUTH_TEXT_MAX - n, bytes, sizeof bytes,
	                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(bytes, sizeof bytes);
}

void secret__hash(const char *text, unsigned char ret_hash[HASH_BYTES])
{
	crypto_hash_sha256(ret_hash, (const unsigned char *)text, strlen(text));
}
