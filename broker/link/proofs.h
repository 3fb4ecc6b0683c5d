/* proofs.h — tokens and what shows that they are ours, on their way to the server (PROVE). */
#ifndef BROKER_PROOFS_H
#define BROKER_PROOFS_H

#include <stddef.h>
#include <stdint.h>

struct lease_proof;
struct link;

/* All zero: none. */
struct proofs {
	uint64_t *tokens;
	uint8_t *bytes; /* LEASE_PROOF of each */
	size_t n, cap, cap_bytes;
};

void proofs_add(struct proofs *p, uint64_t token, const struct lease_proof *proof); /* or none */
/* The last frame says that it is. One that does not leave ends the session by what follows: the
 * server takes no beat before it. */
void proofs_send(const struct proofs *p, struct link *l);
void proofs_done(struct proofs *p);

#endif
