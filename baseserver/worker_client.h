/* worker_client.h — what others ask of a worker besides its sessions. */
#ifndef BASESERVER_WORKER_CLIENT_H
#define BASESERVER_WORKER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

struct worker;

/* Give this broker's loaders no more work, or work again. Thread: any. */
void worker_drain(struct worker *w, uint32_t broker, bool drained);
/* The same machine's daemons write as much about themselves. Thread: any. */
void worker_level(struct worker *w, uint32_t broker, const char *level);

#endif
