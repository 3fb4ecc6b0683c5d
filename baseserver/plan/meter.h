/* meter.h — the processor time of planning, booked to the workflow that it is spent on.
 *
 * Sampled: the thread's clock is read when the work in hand changes and some microseconds have
 * passed since it was read last. A workflow that takes more than its share while others have work,
 * too, is told. The work in hand is left in a crumb. One owner, one thread.
 */
#ifndef BASESERVER_METER_H
#define BASESERVER_METER_H

#include <stdint.h>

#include "baseserver/plan/crumb.h"

struct meter;
struct task;

struct meter_settings {
	int64_t percent;     /* of a core: a workflow may take so much, on average ... */
	int64_t window_us;   /* ... over so long */
	struct crumb *crumb; /* borrowed; NULL: none is left */
	/* A workflow ("project/name") took more. On the owner's thread. */
	void (*over)(void *ctx, const char *workflow, int64_t percent);
	void *ctx;
};

struct meter *meter_new(const struct meter_settings *set);
void meter_free(struct meter *m); /* NULL is fine */

/* The thread works for the task's workflow from now on; NULL: for nobody. m NULL: nothing. */
void meter_work(struct meter *m, const struct task *def, enum crumb_kind kind);

#endif
