/* fetch.h — one value of a source, fetched on a thread of its own.
 *
 * Whoever began it gets it as a letter, and keeps it in a list until then.
 */
#ifndef BASESERVER_FETCH_H
#define BASESERVER_FETCH_H

#include <pthread.h>

#include "rt/actor.h"
#include "util/buf.h"
#include "util/err.h"

struct secret_ref;
struct source;

struct fetch {
	struct letter letter;
	struct fetch *next; /* the list's */
	const struct source *source;
	void *self; /* the source's */
	struct actor *reply_to;
	char *from, *path, *key;
	int64_t began_us;
	bool is_again; /* the asker's */
	/* Answered. */
	struct buf value;
	int64_t lease_us;
	struct err err;
	int r;

	pthread_t thread;
	bool is_joined;
};

struct fetch_reply {
	struct actor *to;
	void (*fetched)(struct letter *l, void *self); /* gets the very letter; self: the actor's */
};

/* Ask the source on a thread of its own; the answer comes as a letter.
 *
 *   owns    *ret is the caller's, until fetch_free()
 *   errors  E_LIMIT no thread */
int fetch_begin(const struct source *source, void *self, const struct secret_ref *ref,
                const struct fetch_reply *reply, struct fetch **ret, struct err *err);
/* Waits for its end, which every source bounds; again is fine. */
void fetch_join(struct fetch *f);
void fetch_free(struct fetch *f); /* joined, wiped */

#endif
