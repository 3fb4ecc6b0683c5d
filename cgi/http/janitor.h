/* janitor.h — ends connections that take too long to say what they want.
 *
 * libmicrohttpd's timeout restarts with every byte, so a client that drips could hold a
 * connection for ever. Each connection has a moment by which its request must be there (or its
 * answer taken); past it the janitor shuts the socket down and the HTTP thread sees it end.
 */
#ifndef CGI_JANITOR_H
#define CGI_JANITOR_H
#include <stdint.h>

struct janitor;
struct thread;
struct watch;

/* An actor on `th`. `connections_max`: how many it may have to watch. */
struct janitor *janitor_new(struct thread *th, int connections_max);
void janitor_free(struct janitor *j); /* after the thread has stopped */

/* HTTP thread. `fd` is the connection's; the watch keeps a duplicate. NULL: no room. */
struct watch *watch_open(struct janitor *j, int fd);
void watch_set(struct watch *w, int64_t ms); /* from now; 0: no limit. NULL is fine */
void watch_close(struct watch *w);           /* NULL is fine */

#endif
