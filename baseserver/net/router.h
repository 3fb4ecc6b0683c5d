/* router.h — accepts connections and gives each to one worker (the seed's request dispatch).
 *
 * A broker's address picks its worker, so that all sessions of one machine are on one
 * thread. The worker does the handshake: a session lives on one loop from its first byte.
 */
#ifndef BASESERVER_ROUTER_H
#define BASESERVER_ROUTER_H

#include <stddef.h>
#include <stdint.h>

struct actor;
struct param_list;
struct router;
struct thread;
struct worker;

struct router_settings {
	const struct param_list *listen; /* address:port, borrowed */
	uint32_t sessions_max, per_address_max;
};

struct router *router_new(struct thread *th, const struct router_settings *set,
                          struct worker *const *workers, size_t n_workers);
void router_free(struct router *r); /* its thread is stopped; NULL is fine */
struct actor *router_actor(struct router *r);

/* A connection given to a worker is over. Thread: any. */
void router_release(struct router *r, uint32_t listener, uint64_t origin);

#endif
