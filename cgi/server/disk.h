/* disk.h — the threads that read the store: lists, history, documents. People take turns at them
 * (turns.h). A thread opens its reader at the first need and again after it failed. */
#ifndef CGI_DISK_H
#define CGI_DISK_H

#include <stddef.h>

struct call;
struct cgi;
struct disk;
struct err;
struct thread;

#define DISK_READERS 3

struct disk *disk_new(struct cgi *cgi);
int disk_start(struct disk *d, struct err *err); /* the threads */
void disk_stop(struct disk *d); /* and give back every call that waits; NULL is fine */
void disk_free(struct disk *d); /* when nobody posts any more; NULL is fine */
/* A suspended call that has `work` waits for its turn. E_BUSY, E_CLOSED; E_LIMIT, in c->err: its
 * person has read for too long. Thread: HTTP. */
int disk_post(struct cgi *cgi, struct call *c);
/* The i-th of DISK_READERS, for who watches threads. */
struct thread *disk_thread(const struct disk *d, size_t i);
const char *disk_thread_name(size_t i); /* static */

#endif
