/* peers.h — what the document of a peer says: who may greet as what, and by which public keys.
 *
 * Documents of kind DOC_PEER, by the name of the peer. Plain data of one actor; the commander and
 * each worker keep their own.
 */
#ifndef BASESERVER_PEERS_H
#define BASESERVER_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "baseserver/model/docs.h"
#include "util/pair_text.h"
#include "util/peer.h"

struct buf;

/*   INVITED -> PENDING -> ACTIVE <-> REVOKED; who has a key of keys_file begins as ACTIVE */
enum peer_state {
	PEER_ACTIVE,
	PEER_REVOKED,
	PEER_INVITED, /* there is a code, and no key yet */
	PEER_PENDING, /* there is a key, and nobody has approved of it */
};

enum { PEER_KEYS_MAX = 2 };

/* For whom a face may speak whom the server has no document of: its own `admin`, tokens of its
 * machine, people for whom a directory vouches. DIRECTORY: the latter alone, and of them no
 * administrator. UNSAID: grants_asserts() says what that means today. */
enum asserts { ASSERTS_UNSAID, ASSERTS_ADMIN, ASSERTS_PEOPLE, ASSERTS_NOBODY, ASSERTS_DIRECTORY };
extern const char *const asserts_words[]; /* from ASSERTS_ADMIN on, NULL-ended */
const char *asserts_word(enum asserts a); /* of ASSERTS_UNSAID NULL */

struct peer {
	const struct jval *root; /* owns what the lists and texts show */
	enum peer_kind kind;     /* PEER_NONE: revoked before anybody said */
	enum peer_state state;
	int64_t expires_us; /* wall; 0: never */
	enum asserts asserts;
	/* JV_LIST of texts, or NULL: any. projects: of its commands; NULL for machines. */
	const struct jval *groups, *types, *projects;
	/* Its public keys. With one, a key of keys_file counts for it no more. */
	uint8_t keys[PEER_KEYS_MAX][PAIR_BYTES]; /* the newest first */
	size_t n_keys;
	int64_t former_until_us; /* of the second, when there is or last was one */
	bool has_asked;
	uint8_t asked[PAIR_BYTES]; /* the one that a person has to approve of */
	const char *invite;        /* the id of a code that may be used; "": none */
	int64_t invite_until_us;
};

/* Its row of doc_kinds. */
int peer_read(const struct store_doc *d, void **ret_peer, struct err *err);
void peer_drop(void *peer);
/* What peer_read() reads. lists: groups, types, projects, as they are to be. */
void peer_print(const struct peer *p, struct buf *out);

/* NULL: it has no document. */
const struct peer *peers_find(const struct docs *peers, const char *name);
/* Whose is that key, also one that nobody has approved of yet? NULL: nobody's. */
const char *peers_whose(const struct docs *peers, const uint8_t key[PAIR_BYTES]);
/* Is it one of those that are in force? */
bool peer_has_key(const struct peer *p, const uint8_t key[PAIR_BYTES], int64_t now_us);
bool peer_has_asked(const struct peer *p, const uint8_t key[PAIR_BYTES]);
bool peer_lists(const struct jval *list, const char *word); /* true of NULL: any */

#endif
