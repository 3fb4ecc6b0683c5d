/* ledger.h — every change of an instance, in one order (the seed's status commit thread).
 *
 * Takes proposals, checks each against the state machine, applies it in memory, publishes
 * it in the stream, and commits in groups. The only one that holds the whole table of
 * unfinished instances and the store's writing connection. Rules: README.md.
 */
#ifndef BASESERVER_LEDGER_H
#define BASESERVER_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/actor.h"
#include "rt/stream.h"
#include "sched/instance.h"
#include "sched/outcome.h"
#include "store/proof.h"
#include "store/store.h"
#include "store/tip.h"
#include "util/timing.h"

struct edit;
struct err;
struct ledger;
struct link_span;
struct proposals;
struct record;
struct task;
struct thread;
struct warm;

struct ledger_settings {
	size_t ring_slots; /* power of two */
	size_t batch_max;  /* transitions after which a busy ledger commits */
	int64_t window_us; /* longest a busy ledger delays a commit */
	int64_t retry_us;  /* pause after a commit that failed for the moment */
	int64_t epoch_us;  /* T_epoch: effects leave only so long after a proof */
	int64_t renew_us;  /* how often it is proven in the store; 0: T_epoch / 3 */
	/* Nothing leaves after that instant (mono) either: an election that is not the store's.
	 * NULL: there is none. */
	const _Atomic int64_t *until_us;
	uint32_t epoch;        /* taken already; 0: it is taken here */
	const char *state_dir; /* where the anchor is kept; NULL: nowhere */
	const char *timezone;  /* of tasks that say none; NULL: UTC */
	const char *types_dir; /* manifests of task types, borrowed; NULL: none */
	struct warm *warm;     /* what was followed until now (warm.h), given up to us; or NULL */
	struct thread *writer; /* of the store's calls that take long; NULL: the ledger's own */
	bool waits;            /* all of them do: the store is that thread's (store_waits()) */
	void (*fatal)(void *ctx, const struct err *err); /* the process must end; may return */
	void *fatal_ctx;
};

/* What a ledger begins with. Borrowed for ledger_new() alone, but for the store. */
struct ledger_start {
	struct thread *thread;
	struct store *store; /* the ledger's thread's only (or that of `writer`), once that runs */
	const char *who;     /* takes the epoch: the program's name */
	const struct ledger_settings *set;
	/* Every compiled task with its row, same order; references are taken. */
	struct task *const *tasks;
	const struct store_task *rows;
	size_t n_tasks;
};

/* Open: take the epoch, load everything. Before any thread runs.
 *
 *   errors  E_CORRUPT naming the row, and those of the store
 */
int ledger_new(const struct ledger_start *from, struct ledger **ret_ledger, struct err *err);
void ledger_free(struct ledger *l); /* its thread is stopped; NULL is fine */

struct actor *ledger_actor(struct ledger *l);
struct stream *ledger_stream(struct ledger *l);
uint32_t ledger_epoch(const struct ledger *l);
/* The token of the next grant; they only rise. Thread: the ledger's. */
uint64_t ledger_next_token(const struct ledger *l);

/* Post to the ledger. On 0 it owns the letter. Thread: any. */
int ledger_propose(struct ledger *l, struct proposals *ps);
int ledger_edit(struct ledger *l, struct edit *e);
int ledger_record(struct ledger *l, struct record *r);
/* The resolver's withdrawals for everything up to `number` have been proposed. */
int ledger_mark(struct ledger *l, uint64_t number);

/* Housekeeping, in slices: outcomes kept as ranges, then rows that ended before
 * `before_us` dropped, up to rows_max of them. The letter of the answer is the
 * receiver's to free(); ledger_kept() reads it. Thread: any. */
struct ledger_keep {
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	bool save, dry_run;
	int64_t before_us;
	int32_t figures_before; /* statistics of days before this one go too; 0: none */
	size_t rows_max;
	size_t rows; /* answer */
	int code;    /* answer */
};
int ledger_keep(struct ledger *l, const struct ledger_keep *ask);
const struct ledger_keep *ledger_kept(const struct letter *letter);

/* What the last success of a task within spans of its plan gave out. */
struct data_wish {
	uint32_t task;
	struct link_span *spans; /* heap, ascending */
	size_t n_spans;
	/* answer */
	int code; /* 0, or E_NOT_FOUND: has_date tells whether there was a success */
	bool has_date;
	int64_t run_date;
	char *body; /* a JSON object of texts; heap */
};

/* Outputs of others, the parameters that this instance was started with, and its row. Embed it
 * first; the letter comes back through `answered`, or its discard is called. */
struct data_question {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	struct inst_key key;
	bool wants_params;
	char *params, *own; /* answer: ID_PARAMS and ID_OWN, or NULL; heap */
	bool wants_row;
	struct instance row; /* answer: the instance itself, also one that is over ... */
	int row_code;        /* ... or why not */
	struct data_wish *wishes;
	size_t n;
	int code; /* answer: E_BUSY the store is away */
};
int ledger_ask_data(struct ledger *l, struct data_question *q); /* thread: any */
void data_question_done(struct data_question *q);               /* what it points at */

/* For readers to restore themselves, before any thread runs. */
struct ledger_task {
	const struct task *def;
	const struct store_task *row;
	const struct outcomes *outcomes;
};
void ledger_each_task(const struct ledger *l, void (*each)(void *ctx, const struct ledger_task *t),
                      void *ctx);
void ledger_each_instance(const struct ledger *l,
                          void (*each)(void *ctx, const struct instance *i, uint32_t slot),
                          void *ctx);

/* The definition an instance is bound to: the one in force, unless it was granted before with
 * another. Borrowed until the ledger works on; never NULL for a task that is. Thread: the
 * ledger's. */
const struct task *ledger_body(struct ledger *l, const struct instance *i);

/* Every pool and quota that has a size or is taken of. */
void ledger_each_pool(const struct ledger *l,
                      void (*each)(void *ctx, const char *name, int32_t size), void *ctx);

/* An unfinished instance as it is now, not yet durable perhaps. Thread: the ledger's. */
bool ledger_find(const struct ledger *l, struct inst_key key, struct instance *ret);

/* The same, and of one that is over at least its state and reason. False: there is no row. */
bool ledger_find_now(const struct ledger *l, struct inst_key key, struct instance *ret);

/* Figures for health and metrics. Thread: any. */
struct ledger_figures {
	uint64_t last, durable, commits, refused, stale, retries;
	uint64_t claims_unproven, claims_false; /* of brokers, that the store had more: ignored */
	uint64_t unfinished, commit_us_last, commit_us_sum;
	bool store_down, lacks_days; /* lacks_days: store_lacks_days() */
	int store_code;              /* why; 0: it is up, or has not answered yet */
};
void ledger_figures(const struct ledger *l, struct ledger_figures *ret);

/* Counted since the start: how long what took, what happened. Thread: any. */
struct ledger_timings {
	struct timing commit, due, link, due_to_start, ran_well, ran_badly;
	_Atomic uint64_t events[EV_COUNT], lost;
};
const struct ledger_timings *ledger_timings(const struct ledger *l);

/* Of a broker that greets: the highest that it has obeyed. */
struct ledger_seen {
	const char *who, *store_id; /* "": it knows none */
	uint32_t epoch;
	uint64_t number;
	const char *proof; /* that it was told so; "": it has none */
};

/* The store as it was when this server began to lead; its id is "" where it keeps none. */
const struct store_tip *ledger_begin(const struct ledger *l);
/* What a broker is told of it now. Thread: any. */
struct ledger_told {
	uint64_t number; /* the last durable transition */
	char proof[PROOF_HEX];
};
struct ledger_told ledger_tell(const struct ledger *l);
/* What shows whose a lease is; none where the store has no key. Thread: any. */
struct lease_proof ledger_lease_proof(const struct ledger *l, const struct lease_name *of);
bool ledger_proves(const struct ledger *l, const struct lease_name *of,
                   const struct lease_proof *shown);
/* Has the store all that a broker knows of it? A claim that it has more counts if it is proven;
 * any other is told and counted, no more.
 *
 *   errors  E_STRANGER the broker is of another store; E_LOST the store lost work: nothing leaves
 *           any more, and the process ends if it leads
 *   thread  any */
int ledger_judge_seen(struct ledger *l, const struct ledger_seen *seen, struct err *err);
/* The store takes no commits, for want of space. Thread: any. */
bool ledger_is_full(const struct ledger *l);
/* How many records of the ring an edit is, which go in together: a pool is one, tasks are in packs,
 * and the most there may be. Thread: any. */
size_t ledger_edit_records(const struct edit *e);
size_t ledger_edit_max(const struct ledger *l);
/* Nothing leaves any more. Thread: any. */
void ledger_silence(struct ledger *l);
/* The store was found damaged: the process ends. Thread: any. */
void ledger_damaged(struct ledger *l, const struct err *err);
/* What the anchor says is brought up to date: at most each second, or at once; what cannot be
 * written yet is by an alarm, no commit need follow.
 *
 *   thread  the ledger's, or any when it is stopped and the store still open */
void ledger_keep_anchor(struct ledger *l, bool at_once);

/* When the epoch was last proven so that a standby sees it (monotonic). Thread: any. */
int64_t ledger_proof_us(const struct ledger *l);
/* May effects leave the process now (T_epoch since the last proof)? Thread: any. */
bool ledger_may_speak(const struct ledger *l, int64_t mono_us);

#endif
