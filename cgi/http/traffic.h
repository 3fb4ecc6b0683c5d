/* traffic.h — requests by route and status, and how long they took. No lock. Thread: any. */
#ifndef CGI_TRAFFIC_H
#define CGI_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct route;
struct traffic;

/*   routes  the table, static */
struct traffic *traffic_new(const struct route *routes, size_t n);
void traffic_free(struct traffic *t); /* NULL is fine */

/* An answer was given. `route` NULL: there is none at that path. */
void traffic_count(struct traffic *t, const struct route *route, int status, int64_t us);
/* Two families (cgi/http/prometheus.h); routes that nobody asked for are left out. */
void traffic_print(const struct traffic *t, struct buf *out);

#endif
