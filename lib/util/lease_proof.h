/* lease_proof.h — what shows that a lease is its holder's: it came with the job.
 *
 * The server makes it (lib/store/proof.h), loaders and the jobkeeper keep it. No job is told it.
 */
#ifndef UTIL_LEASE_PROOF_H
#define UTIL_LEASE_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LEASE_PROOF = 16 };

struct lease_proof {
	uint8_t bytes[LEASE_PROOF];
	bool is_there; /* else its server made none, or a program of a release ago had it */
};

/* From a message; what has another length is none. */
static inline struct lease_proof lease_proof_of(const uint8_t *bytes, size_t n)
{
	struct lease_proof p = { .is_there = n == LEASE_PROOF };

	if (p.is_there)
		memcpy(p.bytes, bytes, LEASE_PROOF);
	return p;
}

/* Into a message of protobuf-c, which borrows it. */
#define LEASE_PROOF_PUT(p) \
	((ProtobufCBinaryData){ (p)->is_there ? LEASE_PROOF : 0, (uint8_t *)(uintptr_t)(p)->bytes })

#endif
