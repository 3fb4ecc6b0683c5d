/* instance.h — one run-to-be of a task: its key, its states, its image, its changes.
 *
 * Shared by everything that computes, stores or shows instances. Plain data.
 */
#ifndef SCHED_INSTANCE_H
#define SCHED_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/map.h"

/* `run_date` is UTC seconds; `part` 0 is the instance, 1..N its parts, negative a test run. */
struct inst_key {
	int64_t run_date;
	uint32_t task;
	int32_t part;
};

/* An attempt as it was granted. Tokens rise from grant to grant, and their high bits are the epoch:
 * no two leases have one. */
struct lease_name {
	uint64_t token;
	struct inst_key key;
	uint32_t generation, attempt, broker; /* broker: its lasting number */
};

static inline bool inst_key_eq(struct inst_key a, struct inst_key b)
{
	return a.run_date == b.run_date && a.task == b.task && a.part == b.part;
}

static inline uint64_t inst_key_hash(struct inst_key k)
{
	return map_mix((uint64_t)k.run_date, (uint64_t)k.task << 32 | (uint32_t)k.part);
}

/* In memory states are small and unsigned (table index); on the wire and in the store
 * they have the numbers of schema/tbl/state.def: state_number(), state_from_number(). */
enum state {
	ST_NONE, /* no row */
#define STATE(name, shown, num, final, slot) ST_##name,
#include "tbl/state.def"
#undef STATE
	ST_COUNT
};

enum event {
	EV_NONE,
#define EVENT(name, num, shown) EV_##name = (num),
#include "tbl/event.def"
#undef EVENT
	EV_COUNT
};

enum reason {
#define REASON(name, num, lower, text) RE_##name = (num),
#include "tbl/reason.def"
#undef REASON
	RE_COUNT
};

/* Stored: append only. TEST: of a workflow that is only tried (name_is_test()): it counts where
 * room is counted, and is left out of what is told of the work that was planned. */
enum origin { OR_CYCLE, OR_MANUAL, OR_BACKFILL, OR_TEST, OR_END };

enum inst_flag {
	IF_FROZEN = 1, /* gate 2, this instance */
	IF_FORCED = 2,
	IF_DRY = 4,
	IF_RUN_NOW = 8,    /* due time and dependencies are skipped (run at once) */
	IF_STARTED = 16,   /* the broker reported the start of the present attempt */
	IF_PARAMS = 32,    /* there is ID_PARAMS or ID_OWN */
	IF_OLD_BODY = 64,  /* redone with the definition it last ran with: `version` */
	IF_NO_LINKS = 128, /* its command asked that links be ignored; due time counts */
	IF_MEMBER = 256,   /* links look at the dates of its command (baseserver/plan/resolver.h) */
	IF_SPREAD = 512,   /* part 0: its parts do the work; it has no lease and holds no slot */
	IF_KEEP = 1024,    /* part 0, before it is spread again: parts that are over stay so ... */
	IF_MEND = 2048,    /* ... but for those that ended badly */
	IF_NEXT = 4096,    /* its kill came with parameters (ID_NEXT): of the redo that follows */
	IF_NOTIFIED = 8192, /* somebody was told of its end */
	IF_PROBE = 16384,   /* a try where nothing started: not started, it burns nothing */
	IF_LOOKS = 32768,   /* its last attempt ended "not yet": the next one looks again */
};

/* Versions of a definition from here on were never saved: a test run has them. They stay what an
 * instance runs with, for good, and never come into force. */
#define VERSION_DRAFT (UINT32_C(1) << 30)

static inline bool version_is_draft(uint32_t version)
{
	return version >= VERSION_DRAFT;
}

/* For people: a draft is no version of anything. */
static inline uint32_t version_shown(uint32_t version)
{
	return version_is_draft(version) ? 0 : version;
}

/* Why a kill was asked. By kill_rank() a stronger one replaces a weaker, never back. */
enum kill_intent { KI_NONE, KI_TIMEOUT, KI_REDO, KI_USER, KI_REPLACE }; /* stored: append only */
/* REPLACE, of `overlap: replace`, comes after REDO and before USER. */
int kill_rank(enum kill_intent k);

/* The image of an instance: what memory holds and the live table stores. */
struct instance {
	struct inst_key key;
	int64_t due;                              /* s, UTC */
	int64_t eff_due_us;                       /* effective due: us, UTC */
	int64_t created_us, started_us, ended_us; /* us, UTC; 0: not yet; but see `former` */
	union {
		int64_t retry_at_us;    /* us, UTC; while Failed, or Ready with IF_LOOKS */
		int64_t former_attempt; /* with `former` */
	};
	uint64_t token;       /* fence of the present or last attempt; 0: never granted */
	uint64_t last_number; /* its last transition */
	uint64_t kept;        /* the last one in history, where later ones are left out; or 0 */
	uint64_t cause;       /* command that made, reopened or ended it; 0: none */
	uint32_t generation, revision, version; /* version: of the task, once granted */
	uint32_t broker;                        /* id of the broker of `token` */
	uint32_t slot;     /* its place in the ledger: no two unfinished ones share it */
	int32_t exit_code; /* of the last attempt: 0.. status, -n signal n */
	uint16_t attempt;  /* attempts begun in this generation that count */
	union {
		uint16_t infra; /* infrastructure failures in this generation */
		uint16_t parts; /* with IF_SPREAD: how many parts it has, 1..parts */
	};
	uint16_t flags; /* enum inst_flag */
	uint8_t state, reason, origin, priority, intent;
	/* instance_former(): what a redo took back; 0: nothing, or granted since. While it is there
	 * started_us, ended_us and exit_code are those of then, for a cancel to give back. */
	uint8_t former;
	uint8_t marks; /* the ledger's own; not stored */
	union {
		uint32_t grace_ms; /* of a kill that was asked with one; 0: the task's */
		uint32_t left_by;  /* Skipped(branch), until it is granted: the task that chose */
	};
	uint32_t looks; /* attempts of this generation that ended "not yet" */
};

/* Data that comes with a transition: a JSON object of texts. Numbers are stored. */
enum inst_data {
	ID_NONE,
	ID_OUTPUTS, /* what the job gave out; with its success */
	ID_PARAMS,  /* parameters of this generation, over all others */
	ID_OWN,     /* those that its run was begun with; they stay through redo */
	ID_NEXT,    /* parameters of the next generation; with the kill that makes way for it */
	ID_FAILURE, /* why an attempt ended badly (util/failure.h); with its end */
};

/* One record of the ledger's stream. */
enum transition_kind {
	TK_INSTANCE = 1, /* the instance's image after the change is in `inst` */
	TK_TASK,         /* definitions: `row`: a struct task_pack, baseserver/ledger/pack.h */
	TK_BARRIER,      /* a gate of `inst.key.task` may have closed */
	TK_MARK,         /* the resolver's withdrawals for barrier `token` are in the stream */
	TK_COMMAND,      /* a command was recorded or advanced; `cause` is its id */
	TK_NOTHING,      /* keeps numbers gapless */
	TK_POOL,         /* `row`: a struct pool_change, baseserver/ledger/pools.h */
	TK_TURN,  /* what `overlap` held back: the turn of `inst.key`, at `slot`, may have come */
	TK_RANGE, /* planned dates were left out: `row`: a struct date_range, `inst` the image
	                  * that each of them has */
};

/* Planned dates of one task that were left out together and have no rows. */
struct date_range {
	int64_t lo, hi; /* run_dates, both included */
	uint32_t dates; /* planned ones in it that had no row */
	uint32_t n_open;
	int64_t open[]; /* those in it that were unfinished then, ascending: not of the range */
};

struct transition {
	uint64_t number; /* gapless, from 1 */
	uint64_t prev;   /* the one before it in the instance's history; 0: first */
	int64_t at_us;   /* us, UTC */
	int64_t mono_us; /* of a grant: when, by its server's monotonic clock; not stored */
	const void *ref; /* of a grant: what it runs with, or NULL: what is in force */
	void *row;       /* TK_TASK: the definitions; TK_POOL: the change; TK_RANGE; the stream's */
	char *note;      /* what a person would want to know more, or NULL; the stream's */
	char *data;      /* of `data_kind`, or NULL; the stream's */
	uint64_t machine; /* a grant: which one got it; not stored */
	uint32_t epoch;
	uint32_t session;              /* the broker session this concerns (grant, report), or 0 */
	uint32_t lane;                 /* a grant: which of the broker's loaders of its type */
	uint8_t kind, event, from, to; /* enum transition_kind, event, state, state */
	uint8_t reason, actor_kind;
	uint8_t data_kind;    /* enum inst_data */
	bool keeps_proofs;    /* a grant: its holder can prove it later; not stored */
	bool left_out;        /* a look between the first and the last: history does not have it */
	uint32_t slot;        /* the instance's place in the ledger: names it until it is final */
	uint64_t cause;       /* command, or 0 */
	struct instance inst; /* after the change */
};

int state_number(enum state st); /* ST_NONE is not a number: bug */
bool state_from_number(int number, enum state *ret_state);
const char *state_name(enum state st); /* "DependenceFinish" */
const char *state_word(enum state st); /* "queued": for people */
bool state_from_name(const char *name, enum state *ret_state);
bool state_final(enum state st);
bool state_holds_slot(enum state st);
/* In state st (which it had, or has) the instance has an attempt that runs. */
static inline bool inst_holds_slot(const struct instance *i, enum state st)
{
	return state_holds_slot(st) && !(i->flags & IF_SPREAD);
}
/* This record moves the plan of its task on: the plan itself made the row. A branch leaves out
 * dates of its children that are still to come, without their plans. */
static inline bool transition_is_planned(const struct transition *tr)
{
	return tr->from == ST_NONE && tr->inst.key.part == 0 && tr->inst.origin == OR_CYCLE &&
	       tr->reason != RE_BRANCH;
}
/* A sensor between two looks: Ready, behind gate 3 until retry_at_us. */
static inline bool inst_looks_again(const struct instance *i)
{
	return i->state == ST_READY && i->flags & IF_LOOKS;
}
/* Where a walk through its history begins. */
static inline uint64_t inst_chain(const struct instance *i)
{
	return i->kept ? i->kept : i->last_number;
}
const char *event_name(enum event ev);
const char *reason_text(enum reason re);
const char *reason_name(enum reason re); /* "catchup": lower case, for JSON */
const char *origin_name(enum origin o);

/* A final state with its reason in one byte; never 0 for what an instance can be. */
uint8_t instance_former_pack(enum state st, enum reason re);
void instance_former(uint8_t former, enum state *ret_state, enum reason *ret_reason);
/* As it is now: what belongs to a former outcome is taken out. For those who show it. */
struct instance instance_now(const struct instance *i);

/* The table of allowed changes. ST_NONE: refused. Events that keep the state
 * (freeze, unfreeze, priority, notified, intent) answer `from` for every row. */
enum state fsm_next(enum state from, enum event ev);

#endif
