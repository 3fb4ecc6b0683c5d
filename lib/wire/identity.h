/* identity.h — who a program is to a server: the file with its key, and the servers that it knows.
 *
 * A pair of one's own (pair.h), as `enrol` makes it:
 *
 *     peer etl-1
 *     key 64 hexadecimal digits          the private half
 *     next 64 hexadecimal digits         while it is being changed: the one that follows
 *     server 64 hexadecimal digits       a server's public key; a line each
 *
 * Or, as `baseserver key-add` prints it, one line `NAME:64 hexadecimal digits`: a key that the
 * server has, too. Thread: the owner's.
 */
#ifndef WIRE_IDENTITY_H
#define WIRE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/keys.h"
#include "wire/pair.h"

struct err;

enum { PINS_MAX = 8 };

struct pins {
	uint8_t key[PINS_MAX][PAIR_BYTES];
	size_t n;
};

struct identity {
	char name[KEY_NAME_MAX + 1];
	bool is_pair;           /* else: */
	uint8_t key[KEY_BYTES]; /* that both have */
	struct pair pair;
	bool has_next;
	struct pair next;
	struct pins servers;
};

/* path "": the key is all zeros, which a server on loopback takes or refuses.
 *
 *   name    that a key which both have must be of
 *   errors  E_NOT_FOUND, E_FORBIDDEN others may read it, E_INVALID with the file's name, E_IO */
int identity_read(const char *path, const char *name, struct identity *ret, struct err *err);
/* A pair of one's own; 0600, as a whole. errors  E_FULL, E_IO */
int identity_write(const char *path, const struct identity *self, struct err *err);
void identity_wipe(struct identity *self);
/* What path has now, for who tries again; *self stays where it does not read, with a warning. True:
 * it is another key. */
bool identity_again(const char *path, struct identity *self);
/* A server that is known has told which keys it and its like have: kept, where it is a pair and
 * they are others. */
void identity_learn(const char *path, struct identity *self, char *const *texts, size_t n);

bool pins_have(const struct pins *p, const uint8_t key[PAIR_BYTES]);
/* The texts of keys, as a server tells them; false: one of them is none, or there are too many. */
bool pins_parse(char *const *texts, size_t n, struct pins *ret);
bool pins_same(const struct pins *a, const struct pins *b);

#endif
