/* wake.h — the session with the BaseServer that says when there is news. What the news is stands
 * in the store: an event that this session misses is found there all the same. */
#ifndef NOTIFIER_WAKE_H
#define NOTIFIER_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/param.h"

struct err;
struct wake;

/* news(ctx) is called after each event, and after each try to connect; place(ctx) says up to which
 * event the store was read, so that none falls between. Thread: wake's own.
 *
 *   errors  E_INVALID an address, E_NOT_FOUND a name or key */
int wake_start(const struct param_notifier *p, void (*news)(void *ctx),
               uint64_t (*place)(void *ctx), void *ctx, struct wake **ret_wake, struct err *err);
void wake_stop(struct wake *w); /* NULL is fine */
/* A server that leads has answered. Thread: any. */
bool wake_is_up(const struct wake *w);

#endif
