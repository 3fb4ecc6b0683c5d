/* letters.h — what the BaseServer's actors say to each other.
 *
 * Only the ledger changes an instance. Others propose; every proposal gets one answer:
 * inside the process a letter of answers names the refused ones and counts the rest
 * (those are in the stream); to proposers whose effects leave the process (the workers
 * and the commander) every proposal is answered by name, once the change is durable.
 */
#ifndef BASESERVER_LETTERS_H
#define BASESERVER_LETTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baseserver/ledger/holder.h"
#include "rt/actor.h"
#include "sched/attempt.h"
#include "sched/instance.h"
#include "sched/rank.h"
#include "store/store.h"

struct task;

/* What a proposal asks of one instance. */
enum ask {
	ASK_CREATE,    /* origin, due; plan: planned_through moves (in order of the plan) */
	ASK_SKIP_DATE, /* record a planned date as Skipped: reason; plan as above */
	ASK_LEAVE_OUT, /* dates from its own to `last`: one record; reason; due: its plan_since() */
	ASK_FORCE,     /* also without a row */
	ASK_SATISFY,   /* dry: straight to Succ */
	ASK_WITHDRAW,
	ASK_SKIP, /* reason */
	ASK_EXPIRE,
	ASK_GRANT,    /* session, broker */
	ASK_STARTED,  /* token, at_us */
	ASK_ENDED,    /* token, end, exit_code, reason, wait_us: also rejected, not started, lost */
	ASK_KILL,     /* intent */
	ASK_KILL_ACK, /* token */
	ASK_HANG,     /* token */
	ASK_HELD,     /* token: its holder lists it still; the row stays as it is */
	ASK_RETRY,
	/* kill_running: kill a running one first; origin: OR_BACKFILL where a backfill asks */
	ASK_REDO,
	ASK_REOPEN,
	ASK_DECLARE,
	ASK_FREEZE,
	ASK_UNFREEZE,
	ASK_THAW, /* its task is about to be unfrozen: due anew; reason catchup: left out */
	ASK_PRIORITY,
	ASK_DUE,      /* what waits for its time is due now; all else counts */
	ASK_CANCEL,   /* not begun: its former outcome again, or Skipped */
	ASK_SPREAD,   /* brokers: part 0 gets a part for each of them */
	ASK_PROMISE,  /* reason: its promise is at risk ...; the row stays as it is */
	ASK_NOTIFIED, /* token: the generation whose end somebody was told of; note: who */
	ASK_RUN_NOW,  /* due time and dependencies no longer matter; creates if needed */
	ASK_COUNT
};

enum proposer {
	PR_INSTANTIATOR,
	PR_RESOLVER,
	PR_SORTER,
	PR_MAINTAINER,
	PR_COMMANDER,
	PR_WORKER,
	PR_COUNT
};

struct proposal {
	struct inst_key key;
	uint64_t cookie; /* the proposer's own, given back */
	uint64_t folded; /* SATISFY: last number folded; GRANT: last mark folded */
	uint64_t token;
	uint64_t cause;   /* command id, or 0 */
	int64_t due;      /* s */
	int64_t last;     /* LEAVE_OUT: run_date, included */
	int64_t at_us;    /* when it happened, where that is not now; else 0 */
	int64_t begun_us; /* ENDED: when that attempt had started; 0: it never did, or unknown */
	int64_t wait_us;
	uint32_t revision;              /* of the instance as folded; 0: whatever it is now */
	uint32_t session, broker, lane; /* lane: GRANT */
	uint64_t machine;               /* GRANT: as in struct holder */
	bool keeps_proofs;              /* GRANT: so says its session */
	int32_t exit_code;
	uint8_t ask, reason, origin, end, intent, priority;
	uint16_t flags;    /* CREATE, REDO: enum inst_flag to be set */
	uint32_t grace_ms; /* KILL */
	uint32_t version;  /* CREATE: of a definition that was not saved; 0: the one in force */
	bool plan, kill_running, dry;
	bool probe;              /* GRANT: where nothing has started lately */
	char *branch;            /* ENDED well: children that go on; owned by the letter; or NULL */
	const struct task *body; /* GRANT: the ledger's own, borrowed */
	bool mend;               /* REDO: only the parts that ended badly */
	uint32_t n_brokers;      /* SPREAD */
	uint32_t *brokers;       /* owned by the letter */
	uint8_t data_kind;       /* enum inst_data: ENDED outputs, others parameters */
	char *note;              /* owned by the letter, moves to the stream; or NULL */
	char *data;              /* the same, of data_kind */
};

struct proposals {
	struct letter letter;
	enum proposer from;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self); /* deliver of the letter of answers */
	uint64_t
		command; /* each answer is kept as this command's outcome, with the change itself */
	size_t n, cap;
	struct proposal p[];
};

struct answer {
	struct inst_key key;
	uint64_t cookie, token;
	uint64_t number;   /* of the transition; 0: refused, or nothing was to do */
	int32_t code;      /* 0 or an err code */
	uint32_t revision; /* of the instance as it is now; 0: no row */
	uint8_t ask, state;
};

struct answers {
	struct letter letter;
	uint64_t command; /* see struct proposals */
	size_t proposals; /* how many this settles: credit */
	size_t n;         /* inside: the refused ones; outside: all */
	struct answer a[];
};

/* Room for `cap` proposals. The sender's until posted. */
struct proposals *proposals_new(enum proposer from, size_t cap, struct actor *reply_to,
                                void (*answered)(struct letter *l, void *self));
/* The next place, zeroed but for ask and key; NULL when full. */
struct proposal *proposals_add(struct proposals *ps, enum ask ask, struct inst_key key);
void proposals_free(struct proposals *ps); /* NULL is fine */

/* A change of definitions, all or nothing in one commit. Everything it points at belongs
 * to the letter. The ledger publishes its tasks in packs (pack.h). The sender gets this very
 * letter back through `answered`, durable, with code and number. */
struct edit {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	uint64_t cookie, cause;
	int code;
	uint64_t number;
	struct task **tasks; /* one reference each is the letter's */
	struct store_task
		*rows; /* one per task, same order; planned_through: as the sender saw it */
	size_t n_tasks;
	struct store_doc *docs; /* name, body, actor: heap strings */
	size_t n_docs;
	struct store_link *links; /* the whole set of links to `tasks`; window: heap or NULL */
	size_t n_links;
	bool keep_links; /* only rows change (freeze, online): links stay as stored */
};
void edit_free(struct edit *e);

/* A command's row (id 0: none) and alerts, kept with the next commit; comes back through `answered`
 * when durable. */
struct record {
	struct letter letter;
	struct actor *reply_to; /* NULL: freed instead */
	void (*answered)(struct letter *l, void *self);
	uint64_t number;
	struct store_command command;     /* strings: heap */
	struct store_command_item *items; /* text: heap or NULL */
	size_t n_items;
	struct store_alert *alerts; /* texts: heap or NULL */
	size_t n_alerts;
	void *ctx;
};
void record_free(struct record *r);

/* A loader's session as the sorter needs it, whole at each change; from its worker. */
struct session_news {
	struct letter letter;
	uint32_t session, broker, lane;
	uint64_t machine;
	bool keeps_proofs; /* what it is granted it can prove later, whatever dies there */
	bool gone;
	bool accepts;   /* false: load thresholds, drain, quarantine */
	bool separates; /* its machine gives projects users of their own */
	char *type;     /* the loader's task type */
	char *broker_name;
	char **groups;  /* NULL-ended */
	uint32_t slots; /* most jobs that it runs at once; 0: it did not say */
	uint64_t limit; /* running total of grants it may get */
	struct rank_load load;
	uint32_t jobs_max; /* of its broker, for all types together; 0: it did not say */
	uint32_t held;     /* attempts it already runs when the session begins */
};
void session_news_free(struct session_news *n);

/* What a session says it holds: with its greeting and each heartbeat; from its worker to
 * the maintainer. */
struct held_news {
	struct letter letter;
	struct actor *worker;                         /* gets the letters of resends ... */
	void (*resend)(struct letter *l, void *self); /* ... here */
	uint32_t session, broker;
	struct holder holder;
	uint32_t lane; /* loader: which of its type on this broker */
	bool others;   /* hello: other lanes may hold what nobody has listed yet */
	bool loader;   /* else the broker's own session: the keeper's tokens */
	bool hello;    /* the first list of this session */
	bool fresh;    /* hello: the peer process is new (another incarnation) */
	char type[64]; /* loader */
	size_t n;
	uint64_t tokens[];
};

/* Attempts a session should have and does not list (to be granted again, same token), or
 * that wait for a kill the session may not have got; from the maintainer to the worker. */
struct resend {
	struct letter letter;
	int64_t made_us; /* mono: their leases are counted from here */
	uint32_t session;
	size_t n;
	struct instance inst[]; /* state tells: Running, or WaitKill and Killing */
};

#endif
