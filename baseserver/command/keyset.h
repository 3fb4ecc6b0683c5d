/* keyset.h — a set of instances by key: told apart fast, listed in no order.
 *
 * Plain data of one owner; zeroed is empty.
 */
#ifndef BASESERVER_KEYSET_H
#define BASESERVER_KEYSET_H

#include <stdbool.h>
#include <stddef.h>

#include "sched/instance.h"

struct keyset {
	struct inst_key *at;
	size_t n, cap;
	struct map by_key; /* set up with the first one */
};

bool keyset_has(const struct keyset *s, struct inst_key key);
bool keyset_add(struct keyset *s, struct inst_key key);    /* false: it was there */
bool keyset_remove(struct keyset *s, struct inst_key key); /* false: it was not */
void keyset_done(struct keyset *s);                        /* empty again */

#endif
