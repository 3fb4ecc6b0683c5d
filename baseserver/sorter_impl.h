/* sorter_impl.h — the sorter's inside, shared by sorter*.c only. */
#ifndef BASESERVER_SORTER_IMPL_H
#define BASESERVER_SORTER_IMPL_H

#include "baseserver/outbox.h"
#include "baseserver/sorter.h"
#include "rt/stream.h"
#include "util/heap.h"
#include "util/slab.h"

struct klass;
struct queue;

/* One instance that could start. */
struct ready {
	struct heap_node node;  /* in its queue; key: rank */
	struct heap_node promo; /* in the promotions; key: wall us of the next step up */
	struct inst_key key;
	struct queue *queue;
	int64_t eff_due_us;
	uint32_t slot, revision;
	uint32_t moves;              /* of its gates, when its grant was asked for */
	uint8_t priority, effective; /* as given; with age */
	bool asked;                  /* a grant is under way */
	bool frozen;
};

/* The ready instances of one task. */
struct queue {
	struct heap_node node; /* in its class while it may start something; key: its best rank */
	struct heap ready;
	const struct task *def; /* counted */
	struct klass *klass;
	struct quota *quota;
	struct queue *next_of_quota;
	uint32_t id;
	uint8_t state; /* enum task_state */
	bool frozen;
	bool held; /* the ledger returned a grant: until its gates move */
	int32_t slots, asked;
	uint32_t moves; /* changes that may have opened a gate of its own */
	size_t n;       /* ready, also frozen and asked ones */
};

/* Running instances of one workflow against its cap. */
struct quota {
	uint32_t workflow;
	struct queue *queues; /* of its tasks */
	int32_t slots, asked;
	uint32_t moves;
};

/* A type, a group and a machine pool: what the same sessions can serve. */
struct klass {
	struct heap_node node; /* in the open classes; key: its best rank */
	struct heap queues;
	char *type, *group, **machines; /* machines: NULL-ended, or NULL */
	struct seat **sessions;
	size_t n_sessions, turn;
	uint64_t open; /* sum of its sessions' open credit */
};

/* A loader's session. */
struct seat {
	uint32_t session, broker;
	char *type, *broker_name, **groups;
	bool accepts;
	uint64_t limit, granted; /* running totals */
	uint32_t load_permille;
	int32_t running;
};

struct sorter {
	struct actor *me;
	struct ledger *ledger;
	struct stream_reader *in;
	struct outbox out;
	struct queue **queues; /* by task id */
	size_t queues_cap;
	struct quota **quotas; /* by workflow id */
	size_t quotas_cap;
	struct klass **classes;
	size_t n_classes;
	struct seat **seats;
	size_t n_seats;
	struct slab ready;
	uint32_t *by_slot;
	size_t by_slot_cap;
	struct heap open; /* classes with something to start and credit */
	struct heap promos;
	uint32_t marks; /* folded so far */
	uint64_t mark;  /* the last mark folded: the stamp of its grants */
	uint32_t random;
	bool any_held;
};

/* sorter_seat.c: who can serve what. */
struct klass *sorter_class_of(struct sorter *s, const struct task *def);
void sorter_seat_news(struct sorter *s, const struct session_news *n);
struct seat *sorter_seat(const struct sorter *s, uint32_t session);
/* The session that gets this instance, by the task's policy; its class has open credit. */
struct seat *sorter_choose(struct sorter *s, struct klass *k, const struct ready *r);
void sorter_spend(struct sorter *s, struct seat *seat);  /* one credit */
void sorter_regain(struct sorter *s, struct seat *seat); /* its grant was returned */
void sorter_seats_free(struct sorter *s);

/* sorter.c */
void sorter_class_moved(struct sorter *s, struct klass *k); /* credit or queues changed */

#endif
