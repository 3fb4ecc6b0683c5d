/* service_impl.h — the socket's inside, shared by service*.c only.
 *
 * A conn is one loader or broker that speaks to the jobkeeper. It is told of jobs of the type that
 * it attached to, or of all. What it does not read in time it loses with its session, and it learns
 * all of it when it comes back: nobody waits for a peer. Lives on the keeper's loop.
 */
#ifndef KEEPER_SERVICE_IMPL_H
#define KEEPER_SERVICE_IMPL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/keeper/service.h"
#include "wire/session.h"

struct conn {
	struct conn *next;
	struct service *service;
	struct session *session;
	char *who, *type;
	bool is_attached; /* to `type`, "" all; before that `type` is HELLO's */
};

struct service {
	struct keeper *k;
	struct ev_io listener;
	struct conn *conns;
	size_t conns_n;
};

/* service_tell.c */
void service__send(struct conn *c, enum frame_kind kind, const void *message);
bool service__wants(const struct conn *c, const struct job *job); /* is it of its type? */
void service__send_started(struct conn *c, const struct job *job);
void service__send_not_started(struct conn *c, uint64_t token, int code, const char *text);
void service__send_kill_state(struct conn *c, uint64_t token, uint32_t state);
void service__send_over(struct conn *c, const struct job *job);

#endif
