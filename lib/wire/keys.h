/* keys.h — the file of pre-shared keys: a line `name:64 hex digits` for each identity, with `:kind`
 * behind it where somebody has said what the peer is (util/peer.h).
 *
 * Empty lines and those that start with '#' are left out. The file is refused when
 * anyone but its owner may read it. Thread: the owner's; keys_find(), keys_about() and keys_each()
 * any, also while the owner reloads; keys_add() and keys_assign() any process's.
 */
#ifndef WIRE_KEYS_H
#define WIRE_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "util/peer.h"

struct err;
struct keys;

enum { KEY_BYTES = 32, KEY_NAME_MAX = 64 };

/* path "": there are none.
 *   errors  E_FORBIDDEN others may read it or it is someone else's, E_NOT_FOUND, E_IO,
 *           E_TOO_BIG, E_INVALID (with the line's number, never its content) */
int keys_open(const char *path, struct keys **ret_keys, struct err *err);
void keys_close(struct keys *k); /* the keys are wiped; NULL is fine */
/* Read the file again. On an error, as above, the keys stay what they were. */
int keys_reload(struct keys *k, struct err *err);
size_t keys_count(const struct keys *k);
/* Fits session_key_fn, with a struct keys as context. 0, or E_NOT_FOUND. */
int keys_find(void *keys, const char *name, uint8_t ret_key[KEY_BYTES]);

/* What the file says of a peer besides its key. */
struct key_about {
	enum peer_kind kind;
	uint32_t serial; /* of its key: another after it was replaced, or taken out and put back */
};
int keys_about(struct keys *k, const char *name, struct key_about *ret); /* 0, or E_NOT_FOUND */
/* Each name, in order. `each` must not come back here. */
void keys_each(struct keys *k, void (*each)(void *ctx, const char *name, enum peer_kind kind),
               void *ctx);

/* One's own key out of a file, which is closed again. errors  as keys_open(), E_NOT_FOUND */
int keys_own(const char *path, const char *name, uint8_t ret_key[KEY_BYTES], struct err *err);

/* Draw a new key and add its line; the file is made (0600) if there is none. Whole or
 * not at all, also with several processes at it.
 *   errors  E_INVALID no such name possible, E_EXISTS; as keys_open() */
int keys_add(const char *path, const char *name, enum peer_kind kind, uint8_t ret_key[KEY_BYTES],
             struct err *err);
/* Say what a peer is whose key is there already. errors  E_NOT_FOUND; as keys_open() */
int keys_assign(const char *path, const char *name, enum peer_kind kind, struct err *err);

#endif
