/* sorter.h — decides what starts next, and where (the seed's sort and concurrency check).
 *
 * Folds the ledger's stream; holds what is DependenceFinish. Queues per task inside
 * classes (task type, broker group, machine pool), so that a task at its cap never holds
 * back others. Proposes grants into the open credit of loaders' sessions; the ledger
 * proves the gates again.
 */
#ifndef BASESERVER_SORTER_H
#define BASESERVER_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct actor;
struct err;
struct forecast;
struct inst_key;
struct ledger;
struct registrar;
struct session_news;
struct sorter;
struct store;
struct store_doc;
struct thread;
struct timing;
struct why_line;

/* Takes what the ledger loaded. Before any thread runs. */
struct sorter *sorter_new(struct thread *th, struct ledger *ledger);
void sorter_free(struct sorter *s); /* its thread is stopped; NULL is fine */
struct actor *sorter_actor(struct sorter *s);

/* How long brokers on which nothing starts are left alone: at first, at most; r is told of them.
 * Before any thread runs; without it nobody is. */
void sorter_set_starts(struct sorter *s, struct registrar *r, int64_t pause_us,
                       int64_t pause_max_us);
/* `room` is asked before grants, once a second at most: false, and how much there is and must be,
 * while nothing may start for want of disk. Before any thread runs. */
void sorter_set_room(struct sorter *s,
                     bool (*room)(void *ctx, uint64_t *ret_free, uint64_t *ret_min), void *ctx);

/* Whose jobs a broker may be given, by documents of peers and of trust; `unsaid`: of projects that
 * have none. Before any thread runs; without it everybody may have everybody's.
 *   errors  those of the store, E_CORRUPT */
int sorter_load_bounds(struct sorter *s, struct store *store, bool unsaid, struct err *err);
/* A document of those kinds as it is now; copied. What is granted goes on. Thread: any. */
void sorter_tell_bound(struct sorter *s, const struct store_doc *d);

/* A session came, changed or went. On 0 the sorter owns the letter. Thread: any. */
int sorter_session(struct sorter *s, struct session_news *n);

/* The first closed gate of 1, 2, 5..12; false: the instance is not in its queues. `slot`: its
 * place in the ledger. Thread: the sorter's. */
bool sorter_explain(struct sorter *s, struct inst_key key, uint32_t slot, struct why_line *ret);
/* Median of the last runs of a task, us; 0: it has not ended well since the start. Its thread. */
int64_t sorter_median_us(const struct sorter *s, uint32_t task);

/* What of gates 7 to 11 a forecast is played with. The registrar then says which brokers are not
 * to be counted on: registrar_forecast(). Thread: the sorter's. */
void sorter_forecast(struct sorter *s, struct forecast *f);

/* Counters: each class with its depth and open credit, each pool and quota with what is taken
 * of it, and how many wait at each gate. Thread: the sorter's. */
struct sorter_class {
	const char *type, *group;
	size_t queued, sessions; /* queued: no gate before 9 is closed */
	uint64_t open;
	int32_t running;
	int64_t oldest_us; /* effective due of the first; 0: none */
};
void sorter_each_class(const struct sorter *s,
                       void (*each)(void *ctx, const struct sorter_class *c), void *ctx);
struct sorter_pool {
	const char *name;              /* see pools.h */
	int32_t size, taken, backfill; /* size -1: no limit */
	size_t waiting;
	int64_t oldest_us;
};
void sorter_each_pool(const struct sorter *s, void (*each)(void *ctx, const struct sorter_pool *p),
                      void *ctx);
/* How long who was granted had waited, by gate. Thread: any. */
const struct timing *sorter_waited(const struct sorter *s, int gate);
enum { SORTER_GATES = 13 };
void sorter_blocked(const struct sorter *s, size_t ret_gates[SORTER_GATES]);

#endif
