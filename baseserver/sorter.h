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
struct buf;
struct inst_key;
struct ledger;
struct session_news;
struct sorter;
struct thread;

/* Takes what the ledger loaded. Before any thread runs. */
struct sorter *sorter_new(struct thread *th, struct ledger *ledger);
void sorter_free(struct sorter *s); /* its thread is stopped; NULL is fine */
struct actor *sorter_actor(struct sorter *s);

/* A session came, changed or went. On 0 the sorter owns the letter. Thread: any. */
int sorter_session(struct sorter *s, struct session_news *n);

/* The first closed gate of 5..12 in words; false: the instance is not in its queues.
 * Thread: the sorter's. */
bool sorter_explain(struct sorter *s, struct inst_key key, struct buf *out);

/* Each class with its depth and open credit. Thread: the sorter's. */
struct sorter_class {
	const char *type, *group;
	size_t queued, sessions;
	uint64_t open;
};
void sorter_each_class(const struct sorter *s,
                       void (*each)(void *ctx, const struct sorter_class *c), void *ctx);

#endif
