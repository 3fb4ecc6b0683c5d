/* peers.h — what the document of a peer says: who may greet as what.
 *
 * Documents of kind DOC_PEER, by the name of the peer's key. Plain data of one actor; the
 * commander and each worker keep their own.
 */
#ifndef BASESERVER_PEERS_H
#define BASESERVER_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "baseserver/model/docs.h"
#include "util/peer.h"

struct buf;

struct peer {
	const struct jval *root; /* owns what the lists show */
	enum peer_kind kind;     /* PEER_NONE: revoked before anybody said */
	bool is_revoked;
	int64_t expires_us; /* wall; 0: never */
	/* JV_LIST of texts, or NULL: any. projects: of its commands; NULL for machines. */
	const struct jval *groups, *types, *projects;
};

/* Its row of doc_kinds. */
int peer_read(const struct store_doc *d, void **ret_peer, struct err *err);
void peer_drop(void *peer);

/* NULL: it has no document. */
const struct peer *peers_find(const struct docs *peers, const char *name);
bool peer_lists(const struct jval *list, const char *word); /* true of NULL: any */

#endif
