/* registry.h — what there is in etcd, as the server that leads sees it: nodes that come and go,
 * recorded once, by this server; jobs and kills, for the bridge.
 *
 * An actor on a thread of its own, which waits for etcd. It lists all below the prefix once, and
 * watches from there; after a compaction it lists again, after an endpoint went it watches on.
 */
#ifndef BASESERVER_REGISTRY_H
#define BASESERVER_REGISTRY_H

struct commander;
struct err;
struct ledger;
struct param_baseserver;
struct registry;
struct saved_workflow;
struct store;
struct thread;

struct registry_settings {
	const struct param_baseserver *p;
	struct ledger *ledger;
	struct commander *commander; /* is told what to show */
};

/* Takes the nodes that the store knows. Before any thread runs.
 *   errors  those of etcd_open() and of the store */
int registry_new(struct thread *th, struct store *store, const struct registry_settings *set,
                 struct registry **ret, struct err *err);
/* Its calls end: before its thread is stopped. NULL is fine. Thread: main. */
void registry_halt(struct registry *r);
void registry_free(struct registry *r); /* its thread is stopped; NULL is fine */

/* Takes those off the list that are called so (by name or id) and are offline: when one is there
 * again, it is shown again. Thread: any. */
void registry_forget(struct registry *r, const char *name);

/* A workflow was saved, or its plan has ended: what did not come from there is written to etcd.
 * Borrowed. Thread: any; each workflow's in their order. */
void registry_saved(struct registry *r, const struct saved_workflow *w);

#endif
