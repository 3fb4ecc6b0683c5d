/* worker.h — sessions of the brokers that are this worker's (the seed's task worker).
 *
 * Decodes what they send and routes it by kind; sends jobs, kills and acks. Reads the
 * stream's durable part only: nothing leaves that could be taken back.
 */
#ifndef BASESERVER_WORKER_H
#define BASESERVER_WORKER_H
#include <stddef.h>
#include <stdint.h>

struct actor;
struct front;
struct invites;
struct keys;
struct ledger;
struct logkeeper;
struct maintainer;
struct pair;
struct param_list;
struct params;
struct registrar;
struct router;
struct sorter;
struct store;
struct thread;
struct worker;
struct err;

/* Thread: any. */
struct worker_figures;
void worker_figures(const struct worker *w, struct worker_figures *ret);

/* A proof that is wrong is refused whatever the rule. One that is missing:
 *   OBSERVE  is counted
 *   REQUIRE  is counted, but refused of a lease whose holder keeps proofs: it was granted to such
 *            a session, or was proven since this server began
 *   ALWAYS   is refused */
enum proof_rule { PROOF_OBSERVE, PROOF_REQUIRE, PROOF_ALWAYS };

struct worker_settings {
	enum proof_rule lease_proof;
	uint32_t index; /* of this worker, from 1: high bits of its session numbers */
	uint32_t beat_ms, fence_ms, kill_ms, lose_ms;
	uint32_t handshake_ms, idle_ms;
	size_t queue_bytes;
	const char *software;
};

struct worker_peers {
	struct ledger *ledger;
	struct sorter *sorter;
	struct maintainer *maintainer;
	struct registrar *registrar;
	struct logkeeper *logkeeper;
	struct params *params;
	struct front *front;           /* commands and queries of clients */
	struct keys *keys;             /* borrowed, own locking */
	struct invites *invites;       /* the same */
	const struct pair *own;        /* the server's, borrowed */
	const struct param_list *like; /* keys of other servers, as text; borrowed */
	/* router_release() */
	void (*release)(struct router *r, uint32_t door, uint64_t origin);
};

/* Takes what the ledger loaded. Before any thread runs. */
struct worker *worker_new(struct thread *th, const struct worker_settings *set,
                          const struct worker_peers *peers);
/* The documents of peers. Before any thread runs. errors  those of the store, E_CORRUPT */
int worker_load(struct worker *w, struct store *store, struct err *err);
void worker_free(struct worker *w); /* its thread is stopped; NULL is fine */
struct actor *worker_actor(struct worker *w);

/* A connection for this worker; it owns fd from here on, and tells the router when it is
 * over. On error fd is closed and the router not told. Thread: any. */
int worker_accept(struct worker *w, int fd, const char *peer, struct router *router, uint32_t door,
                  uint64_t origin);

#endif
