/* audit.h — the chain of lb_action while a commit writes. Internal to lib/store.
 *
 * The last row is read within each transaction that adds some: nothing is remembered from one to
 * the next, so a commit whose answer was lost, or another leader's, cannot break the chain.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/read.h"
#include "util/chain.h"

struct audit {
	bool known; /* the last row was read, in this transaction */
	uint64_t id;
	char hash[CHAIN_HEX];
};

struct store_doc;
struct store_command;

/* A row for a document's version, or for a command; their texts are borrowed. */
struct read_action audit_of_doc(const struct store_doc *d, const char *action);
struct read_action audit_of_command(const struct store_command *c);
/* The row after the last one: give it its number and remember its hash, which is in a->hash then.
 * Texts that are NULL become "". */
void audit_next(struct audit *last, struct read_action *a);
/* The hash of a row after `before`. */
void audit_hash(const char *before, const struct read_action *a, char ret_hash[CHAIN_HEX]);

#endif
