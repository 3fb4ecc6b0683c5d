/* daemon_quarantine.h — workflows that hold up the server are put aside: by what they cost while it
 * runs, and by what it had in hand when it ended.
 */
#ifndef BASESERVER_DAEMON_QUARANTINE_H
#define BASESERVER_DAEMON_QUARANTINE_H

#include <stdint.h>

struct commander;
struct definitions;
struct err;
struct param_baseserver;
struct quarantine;
struct resolver;

/* What a former process left: its workflow is in quarantine in `defs` from now on, before anybody
 * looks at them. *ret_q: owned, NULL with quarantine_percent 0. */
void quarantine_new(const struct param_baseserver *p, struct definitions *defs,
                    struct quarantine **ret_q);
/* What it does is measured, and becomes a command. Before any thread runs. NULL is fine. */
void quarantine_watch(struct quarantine *q, struct resolver *resolver, struct commander *c);
/* The threads run; what quarantine_new() found becomes a command that makes it durable. */
void quarantine_begin(struct quarantine *q);
/* From the main thread: so much time has passed in which it looked after the others. */
void quarantine_tick(struct quarantine *q, int64_t us);
void quarantine_free(struct quarantine *q); /* the threads are stopped; NULL is fine */

#endif
