/* lead.h — the watch of a server that leads: what the lease says, who waits for it.
 *
 * An actor on a thread of its own with a connection of its own, which reads only: a database that
 * does not answer holds nobody else up. The lease itself is renewed by the ledger, with the
 * proofs of its epoch.
 */
#ifndef BASESERVER_LEAD_H
#define BASESERVER_LEAD_H

#include <stdbool.h>

#include "baseserver/model/lead_view.h"

struct commander;
struct lead;
struct site;
struct thread;

/* By more than a network and two daemons of ntp explain. */
bool lead_clock_is_off(const struct lead_view *v);

struct lead_settings {
	const struct site *site;     /* borrowed */
	struct commander *commander; /* is told what was seen */
	/* Somebody asked for a step-down, a moment ago. Thread: lead's. */
	void (*leave)(void *ctx);
	void *leave_ctx;
};

struct lead *lead_new(struct thread *th, const struct lead_settings *set);
void lead_free(struct lead *l); /* its thread is stopped; NULL is fine */

/* Whether another server was there, as last seen. Thread: any. */
bool lead_has_standby(const struct lead *l);
/* Have `leave` called soon, when the answers to who asked are out. Thread: any. */
void lead_step_down(struct lead *l);

#endif
