/* lib/store/proof: what shows whose a lease is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched/instance.h"
#include "store/proof.h"

static void the_proof_of_a_lease_fits_that_lease_alone(void **state)
{
	const char *key = "0123456789abcdef0123456789abcdef";
	const struct lease_name was = { 5ULL << 40 | 9, { 86400, 7, 1 }, 2, 3, 4 };
	struct lease_name others[8];
	struct lease_proof p = proof_of_lease(key, &was), none = { 0 }, turned = p;

	(void)state;
	assert_true(p.is_there && proof_fits(key, &was, &p));
	for (size_t i = 0; i < 8; i++)
		others[i] = was;
	others[0].token++;
	others[1].key.run_date++;
	others[2].key.task++;
	others[3].key.part++;
	others[4].generation++;
	others[5].attempt++;
	others[6].broker++;
	others[7].generation = was.attempt; /* each has its place */
	others[7].attempt = was.generation;
	for (size_t i = 0; i < 8; i++)
		assert_false(proof_fits(key, &others[i], &p));
	turned.bytes[LEASE_PROOF - 1] ^= 1;
	assert_false(proof_fits(key, &was, &turned));
	assert_false(proof_fits(key, &was, &none));
	assert_false(proof_fits("0123456789abcdef0123456789abcdee", &was, &p));
	assert_false(proof_fits("", &was, &p) || proof_of_lease("", &was).is_there);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_proof_of_a_lease_fits_that_lease_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
