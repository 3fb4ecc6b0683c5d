/* disk.h — the thread that reads the store: lists, history, documents. An actor; the reader
 * is opened at the first need and again after it failed. */
#ifndef CGI_DISK_H
#define CGI_DISK_H

#include "rt/actor.h"

struct cgi;
struct disk;
struct thread;

struct disk *disk_new(struct thread *th, struct cgi *cgi);
void disk_free(struct disk *d); /* after the thread has stopped; NULL is fine */
struct actor *disk_actor(struct disk *d);
/* deliver of a call that has `work`. */
void disk_work(struct letter *l, void *self);

#endif
