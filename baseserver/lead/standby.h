/* standby.h — a server that does not lead: it watches the lease, tells those who come who leads,
 * and takes the lease when nobody holds it any more.
 *
 * Whether the holder lives is judged by its sign of life in the store (epoch, beat, number) and
 * our own monotonic clock alone: no two clocks are ever compared.
 */
#ifndef BASESERVER_STANDBY_H
#define BASESERVER_STANDBY_H

#include <stdint.h>

struct err;
struct site;

enum { STANDBY_LEADS = 0, STANDBY_STOPPED = 1 };

/* Until this server leads (STANDBY_LEADS: s->store and s->epoch are set), or SIGTERM or SIGINT
 * (STANDBY_STOPPED). SIGHUP calls s->reload. `shy_ms`: after a step-down the lease is left to
 * others for so long. Signals are blocked. Thread: main.
 *
 *   errors  those of the first opening of the store, and of listening */
int standby_wait(struct site *s, int64_t shy_ms, struct err *err);

#endif
