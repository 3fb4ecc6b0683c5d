/* peer.h — the kinds of peers, by number and by word (schema/tbl/peer_kind.def).
 *
 * Thread: any.
 */
#ifndef UTIL_PEER_H
#define UTIL_PEER_H

#include <stddef.h>

enum peer_kind {
	PEER_NONE, /* nobody has said */
#define PEER(NAME, word, greets, changes, what) PEER_##NAME,
#include "tbl/peer_kind.def"
#undef PEER
	PEER_COUNT
};

/* The words, in the order of the numbers from 1, NULL-ended. */
extern const char *const peer_kind_words[];
/* All of them for people: "broker, face, notifier or client". */
#define PEER_KINDS "broker, face, notifier or client"

const char *peer_kind_name(enum peer_kind k); /* "face"; of PEER_NONE "" */
/* PEER_NONE: it is no such word. */
enum peer_kind peer_kind_parse(const char *text, size_t n);
/* What a name means that nobody gave a kind: the names that the cgi and the notifier have unless
 * they are told another. PEER_NONE: nothing. */
enum peer_kind peer_kind_usual(const char *name);

#endif
