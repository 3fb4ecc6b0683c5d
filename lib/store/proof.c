#include "store/proof.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "sched/instance.h"
#include "store/tip.h"
#include "util/check.h"

/* The texts of the two kinds of proofs never meet: a store's id is no such word. */
#define LEASE_WORD "lease"

/* False: it is no key. */
static bool keyed(const char *key, const void *text, size_t n, uint8_t *ret, size_t bytes)
{
	size_t len = strlen(key);

	if (len < crypto_generichash_KEYBYTES_MIN || len > crypto_generichash_KEYBYTES_MAX)
		return false;
	CHECK(crypto_generichash(ret, bytes, text, n, (const unsigned char *)key, len) == 0);
	return true;
}

void proof_make(const struct store_tip *t, uint32_t epoch, uint64_t number, char ret[PROOF_HEX])
{
	uint8_t sum[PROOF_HEX / 2];
	char text[128];
	int n = snprintf(text, sizeof text, "%s %" PRIu32 " %" PRIu64, t->id, epoch, number);

	ret[0] = 0;
	if (!keyed(t->key, text, (size_t)n, sum, sizeof sum))
		return;
	sodium_bin2hex(ret, PROOF_HEX, sum, sizeof sum);
}

bool proof_holds(const struct store_tip *t, uint32_t epoch, uint64_t number, const char *proof)
{
	char want[PROOF_HEX];

	proof_make(t, epoch, number, want);
	return want[0] && strlen(proof) == PROOF_HEX - 1 &&
	       sodium_memcmp(want, proof, PROOF_HEX - 1) == 0;
}

static uint8_t *put_number(uint8_t *at, uint64_t n, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(n >> 8 * i);
	return at + bytes;
}

struct lease_proof proof_of_lease(const char *key, const struct lease_name *l)
{
	struct lease_proof p = { 0 };
	uint8_t text[64] = LEASE_WORD, *at = text + sizeof LEASE_WORD;

	at = put_number(at, l->token, sizeof l->token);
	at = put_number(at, (uint64_t)l->key.run_date, sizeof l->key.run_date);
	at = put_number(at, l->key.task, sizeof l->key.task);
	at = put_number(at, (uint32_t)l->key.part, sizeof l->key.part);
	at = put_number(at, l->generation, sizeof l->generation);
	at = put_number(at, l->attempt, sizeof l->attempt);
	at = put_number(at, l->broker, sizeof l->broker);
	CHECK(at <= text + sizeof text);
	p.is_there = keyed(key, text, (size_t)(at - text), p.bytes, sizeof p.bytes);
	return p;
}

bool proof_fits(const char *key, const struct lease_name *l, const struct lease_proof *shown)
{
	struct lease_proof want = proof_of_lease(key, l);

	return want.is_there && shown->is_there &&
	       sodium_memcmp(want.bytes, shown->bytes, LEASE_PROOF) == 0;
}
