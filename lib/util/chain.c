#include "util/chain.h"
#include "util/check.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define HASH_BYTES 32

static void chain_add(crypto_generichash_state *st, const char *field)
{
	char length[24];
	size_t n = field ? strlen(field) : 0;
	int k = snprintf(length, sizeof length, "%zu:", n);

	crypto_generichash_update(st, (const unsigned char *)length, (unsigned long long)k);
	crypto_generichash_update(st, (const unsigned char *)(field ? field : ""), n);
}

void chain_next(const char *before, const char *const *fields, size_t n, char ret_hash[CHAIN_HEX])
{
	unsigned char hash[HASH_BYTES];
	crypto_generichash_state st;

	CHECK(n > 0);
	crypto_generichash_init(&st, NULL, 0, sizeof hash);
	chain_add(&st, before);
	for (size_t i = 0; i < n; i++)
		chain_add(&st, fields[i]);
	crypto_generichash_final(&st, hash, sizeof hash);
	sodium_bin2hex(ret_hash, CHAIN_HEX, hash, sizeof hash);
}
