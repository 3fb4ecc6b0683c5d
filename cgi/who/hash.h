/* hash.h — the thread that hashes passwords, one at a time, and writes the few files of
 * auth: what takes tens of milliseconds and may wait. An actor. The same serves, on a thread of its
 * own, what waits for others (cgi/who/ways.h). */
#ifndef CGI_HASH_H
#define CGI_HASH_H

#include "rt/actor.h"

struct hash;
struct thread;

/* `name`: of the actor, static. */
struct hash *hash_new(struct thread *th, const char *name);
void hash_free(struct hash *h); /* after the thread has stopped; NULL is fine */
struct actor *hash_actor(struct hash *h);
/* deliver of a call that has `work`; its reader is NULL. */
void hash_work(struct letter *l, void *self);

#endif
