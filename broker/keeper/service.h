/* service.h — the keeper's socket and those who talk on it. */
#ifndef KEEPER_SERVICE_H
#define KEEPER_SERVICE_H

#include "broker/keeper/keeper.h"

/* listen_fd -1: make <state>/keeper.sock, mode 0600. */
int service_open(struct keeper *k, int listen_fd, struct service **ret_service, struct err *err);
void service_close(struct service *s); /* the socket's file stays */
int service_listen_fd(const struct service *s);

/* Tell those attached to the job's type. */
void service_started(struct service *s, const struct job *job);
void service_over(struct service *s, const struct job *job); /* exited or not started */
void service_kill_state(struct service *s, const struct job *job, uint32_t state);

#endif
