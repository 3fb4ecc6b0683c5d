/* The rows of peer_kind.def as data: kinds of peers by their words. */
#include "util/peer.h"

#include <string.h>

const char *const peer_kind_words[] = {
#define PEER(NAME, word, greets, changes, what) word,
#include "tbl/peer_kind.def"
#undef PEER
	NULL
};

const char *peer_kind_name(enum peer_kind k)
{
	return k > PEER_NONE && k < PEER_COUNT ? peer_kind_words[k - 1] : "";
}

enum peer_kind peer_kind_parse(const char *text, size_t n)
{
	for (int k = PEER_NONE + 1; k < PEER_COUNT; k++)
		if (strlen(peer_kind_words[k - 1]) == n &&
		    memcmp(peer_kind_words[k - 1], text, n) == 0)
			return (enum peer_kind)k;
	return PEER_NONE;
}

enum peer_kind peer_kind_usual(const char *name)
{
	return strcmp(name, "cgi") == 0        ? PEER_FACE
	       : strcmp(name, "notifier") == 0 ? PEER_NOTIFIER
	                                       : PEER_NONE;
}
