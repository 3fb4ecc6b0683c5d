/* registrar.h — which brokers, runners and loaders there are (the seed's runner start).
 *
 * Gives each broker its lasting number, keeps what brokers report about themselves and
 * their runner plugins, and refuses a second machine under one name.
 */
#ifndef BASESERVER_REGISTRAR_H
#define BASESERVER_REGISTRAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baseserver/ledger/holder.h"
#include "baseserver/model/roster.h"
#include "rt/actor.h"

struct broker;
struct buf;
struct err;
struct forecast;
struct instance;
struct ledger;
struct registrar;
struct store;
struct task;
struct thread;
struct why_line;

/* A peer greets: the registrar answers with its number or a refusal. The letter comes
 * back through `answered`. */
struct greeting {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	void (*evict)(struct letter *l, void *self); /* deliver of struct evict, for reply_to */
	uint32_t session;
	uint32_t role; /* 1 broker, 2 loader */
	char name[64], type[64], host[128], mac[18], peer[64], software[64], boot_id[64];
	char groups[16][64];
	size_t n_groups;
	char machine[40]; /* what its taskbroker drew; "": of an earlier version */
	char former[40];  /* what it had drawn before its machine was booted; "": nothing */
	uint64_t incarnation;
	uint32_t separates; /* as HELLO says it */
	uint32_t slots;
	uint32_t lane, held;  /* loader: which of its type, tokens it has */
	char version[64];     /* loader: its plugin's */
	struct holder holder; /* answer: whose leases are its own; its broker */
	bool fresh;           /* answer: not the process that was known before */
	bool drained;         /* answer: it is to get no more work */
	int code;             /* answer */
	char text[200];
};

/* To the worker of a session that is over: another machine's takes its place, or its broker
 * lied. */
struct evict {
	struct letter letter;
	uint32_t session;
	uint32_t broker; /* all sessions of it that the worker has; 0: that one */
	int code;
	char text[200];
};

/* What a session reports meanwhile; the registrar frees it. */
struct broker_news {
	struct letter letter;
	uint32_t session, broker;
	bool gone, load, runner, count;
	bool starts; /* of the sorter: text says why nothing of the type starts; "": it does */
	bool accepts;
	char why_not[128];
	uint32_t cpu_permille, load_permille, memory_permille, running;
	uint32_t slots; /* of the machine; 0: as greeted */
	uint64_t disk_free_bytes;
	char type[64], version[64], text[256];
	uint32_t runner_state; /* RunnerState.state */
	uint32_t lane;
	uint32_t held; /* count: jobs of this session */
	/* It spoke of a lease of another broker's, in the frame that text names; and how to end
	 * its session. */
	bool forged;
	uint32_t forged_of;
	/* The broker `name`, or with a type its loader, was sent away: text says why. It has no
	 * number here, for it may never have been let in. */
	bool barred;
	char name[64];
	struct actor *worker;
	void (*evict)(struct letter *l, void *self);
};

/* Loads the known brokers. Before any thread runs. */
int registrar_new(struct thread *th, struct ledger *ledger, struct store *store,
                  struct registrar **ret_registrar, struct err *err);
void registrar_free(struct registrar *r); /* NULL is fine */
struct actor *registrar_actor(struct registrar *r);

int registrar_greet(struct registrar *r, struct greeting *g);     /* thread: any */
int registrar_report(struct registrar *r, struct broker_news *n); /* thread: any */

/* Name of a broker by number, into ret (64 bytes); false if unknown. Its thread. */
bool registrar_name(const struct registrar *r, uint32_t broker, char ret[64]);
/* The answer of the query `brokers` (docs/protocol-json.md). Its thread. */
void registrar_print(const struct registrar *r, struct buf *out);
/* How often a broker shows a sign of life. Before any thread runs. */
void registrar_set_beat(struct registrar *r, int64_t beat_us);
/* Where the manifests of task types are. Before any thread runs. */
void registrar_set_types(struct registrar *r, const char *dir);
/* Whoever is to know, once each, of task types that a broker runs, of brokers and of their groups.
 * Before any thread runs; it is called on the registrar's. */
void registrar_set_teller(struct registrar *r,
                          void (*tell)(void *ctx, enum roster is, const char *name), void *ctx);
/* The answer of the query `types` (docs/protocol-json.md). Its thread. */
void registrar_print_types(const struct registrar *r, struct buf *out);
/* A broker's number by name; false if unknown. Its thread. */
bool registrar_find(const struct registrar *r, const char *name, uint32_t *ret_broker);
/* Keep that it is to get no more work, or work again. Its thread. */
void registrar_drain(struct registrar *r, uint32_t broker, bool drained);
/* Of one that holds a slot of a broker: whether its loader there is well. Its thread. */
void registrar_explain_run(const struct registrar *r, const struct task *def,
                           const struct instance *i, struct why_line *why);
/* What the sorter could not say of a task whose class has no credit: which of gates 9 to 11 is
 * the first closed one, and at which broker. Its thread. */
void registrar_explain(const struct registrar *r, const struct task *def, struct why_line *why);
/* Which loaders a forecast is to count on, and why none of a class takes anything. Its thread. */
void registrar_forecast(const struct registrar *r, struct forecast *f);
size_t registrar_online(const struct registrar *r);
/* Those that are online, not drained, and without a jobkeeper; the first one's name. 0: not all. */
size_t registrar_keeperless(const struct registrar *r, char ret_first[64]);
/* All that are known (broker.h), borrowed until the next letter. Its thread. */
size_t registrar_brokers(const struct registrar *r, const struct broker *const **ret_brokers);

#endif
