#include "store/proof.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "store/tip.h"
#include "util/check.h"

void proof_make(const struct store_tip *t, uint32_t epoch, uint64_t number, char ret[PROOF_HEX])
{
	unsigned char sum[PROOF_HEX / 2];
	char text[128];
	size_t key = strlen(t->key);

	ret[0] = 0;
	if (key < crypto_generichash_KEYBYTES_MIN || key > crypto_generichash_KEYBYTES_MAX)
		return;
	int n = snprintf(text, sizeof text, "%s %" PRIu32 " %" PRIu64, t->id, epoch, number);
	CHECK(crypto_generichash(sum, sizeof sum, (const unsigned char *)text,
	                         (unsigned long long)n, (const unsigned char *)t->key, key) == 0);
	sodium_bin2hex(ret, PROOF_HEX, sum, sizeof sum);
}

bool proof_holds(const struct store_tip *t, uint32_t epoch, uint64_t number, const char *proof)
{
	char want[PROOF_HEX];

	proof_make(t, epoch, number, want);
	return want[0] && strlen(proof) == PROOF_HEX - 1 &&
	       sodium_memcmp(want, proof, PROOF_HEX - 1) == 0;
}
