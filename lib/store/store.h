/* store.h — the durable log and images behind the ledger, as verbs.
 *
 * One writer: the ledger. Every commit is one transaction that proves the epoch. Two
 * implementations here (sqlite, mem); one test suite runs against all of them.
 * All calls block; all are for the thread that opened the store.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/instance.h"

struct err;
struct store;

/* A row of lb_task: what changes about a task apart from its document. */
struct store_task {
	uint32_t id, workflow_id, version;
	uint8_t state; /* enum task_state */
	bool frozen;
	int64_t anchor;          /* s: the first start ever saved */
	int64_t online_from;     /* s: its plan begins here; INT64_MIN: it never went online */
	int64_t planned_through; /* s: last run_date that has come due; INT64_MIN none */
	int64_t quarantined_us;  /* its workflow is in quarantine since; 0: it is not */
	const char *name;        /* project/workflow/task */
	/* For people and the seeds' columns; not read back. */
	const char *type, *owner;
	const char *title, *workflow_title; /* "": it has none */
	const char *zone;                   /* of its labels (sched/label.h); "": not known */
	uint8_t grain;                      /* enum label_grain */
	int64_t cycle_s, start_s, end_s;
	int32_t priority;
	bool stale; /* in memory: the stored row has other words, and is written soon */
};

struct store_link {
	uint32_t from, to; /* parent, child */
	int32_t depend_type;
	const char *window; /* text, or NULL */
	uint8_t on, strategy;
	int32_t n;
};

/* A document kept whole with its versions: workflow, calendar, runner, broker, ... */
enum store_doc_kind {
	DOC_WORKFLOW = 1,
	DOC_CALENDAR,
	DOC_RUNNER,
	DOC_BROKER,
	DOC_TYPE,
	DOC_SERVER,
	DOC_POOL,
	DOC_SETTING,
	DOC_PLAN, /* what the plan of a task was; id: the task; version always 1 */
	DOC_NODE, /* a node that etcd's registry has or had; a version each change */
	DOC_USER,
	DOC_SILENCE, /* a time in which nobody is told of some things */
	DOC_GROUP,
	DOC_TOKEN,   /* of a person, or the key of an app; its hash */
	DOC_DRAFT,   /* a workflow as drawn, for a test run; never in force; id: the workflow;
	            * version: see version_is_draft(); the newest STORE_DRAFTS_MAX of each stay */
	DOC_DEVICE,  /* a browser of a person that takes pushes */
	DOC_PREFS,   /* what a person has set for his browsers; the newest alone is kept */
	DOC_PEER,    /* a key's owner: what it is, what it may be */
	DOC_TRUST,   /* of a project: whether machines that keep none apart may have its jobs */
	DOC_EXPOSED, /* a secret that a peer was given: when first and last; version always 1 */
	DOC_FACTOR,  /* the second factor of a person; the newest alone is kept */
	DOC_SESSION, /* a person's sessions, by hashes; the newest alone is kept */
	DOC_CHANNEL, /* a way by which people are told; its secrets are sealed */
	DOC_ONCALL,  /* a list of people of whom some are told: all, or whose turn it is */
	DOC_RULE,    /* who is told of what, beside what documents of workflows say */
	DOC_END
};

enum { STORE_DRAFTS_MAX = 64 };

struct store_doc {
	enum store_doc_kind kind;
	uint32_t id, version;
	bool retired;
	const char *name;
	/* Of workflows that are listed, and not written (see store_task): */
	const char *title; /* else NULL */
	bool is_draft;     /* all its tasks are drafts */
	const char *body;  /* YAML or JSON as the kind says */
	size_t body_len;
	const char *actor;
	int64_t at_us;
};

/* A run of planned run_dates of one task with one outcome. */
struct store_outcome {
	uint32_t task, generation;
	int64_t lo, hi; /* run_dates, both included */
	uint8_t state, reason;
};

/* Planned dates of one task that were left out together: Skipped, and no rows. One of them that
 * is redone or forced gets a row, which then counts; so do dates in it that had one before. */
struct store_range {
	uint64_t number; /* of the transition that left them out */
	uint32_t task, version;
	int64_t lo, hi;        /* run_dates, both included */
	uint32_t dates, taken; /* dates that had no row; of them, those that got one since */
	int64_t at_us;
	uint8_t reason, priority;
};

/* A time when nobody led. It does not count for what waited: rows of the live table that wait and
 * have not changed since (last_number <= number) are due so much later. */
struct store_gap {
	uint64_t number;        /* the last transition before it */
	int64_t from_us, to_us; /* wall: the last sign of life, the next leader's begin */
};

enum { STORE_GAPS_MAX = 1000 }; /* kept; the oldest go first */

struct store_taken {
	uint64_t number; /* of the range */
	uint32_t dates;  /* so many more of its dates have rows */
};

#define COMMAND_UNCOUNTED UINT32_MAX /* a total that is not known yet */

/* A durable command (design: SEMANTICS section 5). */
struct store_command {
	uint64_t id;
	const char *request_id; /* unique; the caller's */
	const char *actor, *kind;
	const char *args;  /* JSON */
	const char *told;  /* what the audit keeps of it instead of args; NULL: args. Not read */
	const char *error; /* "" while none */
	uint8_t state;     /* enum command_state, baseserver/model/command.h */
	int64_t created_us, ended_us;
	uint32_t total, done, failed; /* total COMMAND_UNCOUNTED: not known yet */
	const char *cursor;           /* where a restart goes on; the commander's text */
	const char *projects;         /* that it touches, ":retail::finance:"; "": of none */
};

struct store_command_item {
	uint64_t command;
	struct inst_key key;
	int32_t code; /* 0 or an err code */
	const char *text;
};

/* Attempts and instances that came to an end: as many of one task, local day, state and
 * class of duration (sched/measure.h) as `count` says. Task 0: all tasks together. */
struct store_stat {
	int32_t day; /* local, in the task's zone; since 1970-01-01 */
	uint32_t task;
	uint8_t state;  /* final, or ST_FAILED: an attempt after which a retry is due */
	int16_t bucket; /* STORE_STAT_UNRUN: it never ran */
	uint32_t count;
	int64_t sum_us; /* of the durations */
};

enum { STORE_STAT_UNRUN = -1 };

/* What people were told of, or would have been (lb_alert). Written as a whole, but for what
 * somebody acknowledged, which is written alone: `ack`. */
struct store_alert {
	uint64_t id;                /* grows with time */
	const char *kind;           /* a word of alert.def */
	const char *subject;        /* project/workflow/task, or what it is of */
	const char *body;           /* a JSON object */
	int64_t run_date;           /* s */
	int64_t since_us, ended_us; /* wall; ended_us 0: open */
	int64_t acked_us;           /* 0: nobody has */
	const char *acked_by, *ack_note;
	uint32_t task, generation, attempt; /* task 0: of none */
	uint8_t severity;                   /* 0 notice, 1 warning, 2 critical */
	bool ack;                           /* of a batch: acked_* of this id, and nothing else */
};

enum { STORE_SEVERITIES = 3 };

/* The leader's row: who may write, and until when others must wait for it. Whoever waits sees
 * (epoch, beat, number) stand still for lease_ms of its own monotonic clock; the instants are the
 * holder's clock, for people. */
struct store_lease {
	uint32_t epoch;    /* 0: nobody has led yet */
	uint64_t beat;     /* grows with each renewal */
	uint64_t number;   /* the last transition committed; a commit proves life too */
	uint32_t lease_ms; /* 0: given back */
	int64_t since_us;
	int64_t renewed_us;          /* the last sign of life: renewed or committed; 0: none yet */
	char who[128], address[160]; /* address: where brokers and the cgi find it */
};

/* A server that waits. */
struct store_node {
	char who[128], address[160];
	uint64_t number; /* how far it follows */
	int64_t age_us;  /* since it was heard, by the store's clock; not written */
};

/* One commit. Borrowed for the call. Images: each key at most once in live or done. */
struct store_batch {
	uint32_t epoch;
	int64_t at_us;                          /* wall: a sign of life; 0: not told */
	uint64_t first, last;                   /* numbers of the transitions, both included */
	const struct transition *const *events; /* those of kind TK_INSTANCE are kept as events */
	size_t n_events;
	const struct instance *const *live; /* unfinished: insert or replace */
	size_t n_live;
	const struct instance *const *done; /* final: leave the live table, enter history */
	size_t n_done;
	/* Leave history and, unless final again (then they stand in `done` too), enter live. */
	const struct instance *const *reopened;
	size_t n_reopened;
	const struct store_range *ranges; /* by number; taken is 0 */
	size_t n_ranges;
	const struct store_taken *taken; /* of ranges stored before, or with it */
	size_t n_taken;
	const struct store_task *tasks;
	size_t n_tasks;
	const uint32_t *links_of; /* tasks whose links are replaced by `links` */
	size_t n_links_of;
	const struct store_link *links;
	size_t n_links;
	const struct store_doc *docs;
	size_t n_docs;
	const struct store_command *commands;
	size_t n_commands;
	const struct store_command_item *items;
	size_t n_items;
	const struct store_alert *alerts; /* in their order: the later one of an id counts */
	size_t n_alerts;
	const struct store_stat *stats; /* added to what is kept; each key at most once */
	size_t n_stats;
};

/* url     "mem:", or "sqlite:DIRECTORY" (made with 0700 if absent; its file is
 *         DIRECTORY/sirdar.db); migrates up.
 * errors  E_IO, E_FULL, E_CORRUPT, E_VERSION (newer than this program), E_BUSY (a
 *         second writer has it) */
/* Is that an address of a kind there is? E_INVALID as store_open() */
int store_check(const char *url, struct err *err);
int store_open(const char *url, struct store **ret_store, struct err *err);
void store_close(struct store *s); /* NULL is fine */

/* The partitions of the days ahead could not be made: until they are, what is new goes where no day
 * is dropped whole. Thread: any. */
bool store_lacks_days(const struct store *s);

/* Its calls may wait for another process for seconds: not for a thread that has to answer.
 * They may then be made on another thread than store_open(), on one at a time. */
bool store_waits(const struct store *s);

/* Become the writer: a new epoch, larger than any before. Others' commits fail after. */
int store_take_epoch(struct store *s, const char *who, uint32_t *ret_epoch, struct err *err);

/* ---- the lease (design: several servers, one leads) ---- */
/* A store that does not lead: reads, shows itself, takes the lease. Of sqlite it is read-only,
 * beside its one writer, and cannot take anything: store_open() is then the taking.
 *
 *   errors  E_NOT_FOUND sqlite: there is no database yet; E_UNSUPPORTED mem */
int store_open_standby(const char *url, struct store **ret_store, struct err *err);
/* Whether having it open (store_open()) is the lease already: no other process has it then. */
bool store_is_exclusive(const struct store *s);
int store_lease(struct store *s, struct store_lease *ret, struct err *err);
/* Become the writer, if epoch, beat and number still are those of `seen`: who, address and
 * lease_ms of `mine` are written. E_CONFLICT: somebody was faster, or lives. */
int store_take_lease(struct store *s, const struct store_lease *seen,
                     const struct store_lease *mine, uint32_t *ret_epoch, struct err *err);
/* Prove the epoch so that those who wait see it. now_us: the wall time, kept as the last sign of
 * life; 0: what is kept stays. E_EPOCH. */
int store_renew_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err);
/* Keep a time when nobody led; its end is the last sign of life then. Those whose number is below
 * `oldest` are needed no more and go. E_EPOCH. */
int store_add_gap(struct store *s, uint32_t epoch, const struct store_gap *g, uint64_t oldest,
                  struct err *err);
/* Those of `number` and later, in the order in which they were. */
int store_load_gaps(struct store *s, uint64_t number,
                    int (*each)(void *ctx, const struct store_gap *g), void *ctx, struct err *err);
/* False: no gap moves it, whenever it was. */
bool store_gap_may_move(const struct instance *i);
/* Moves the effective due of a row that waited through it. */
void store_gap_apply(const struct store_gap *g, struct instance *i);
/* Give it back: the next one need not wait. now_us: as store_renew_lease(). E_EPOCH. */
int store_give_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err);
/* Show that this server waits; to be repeated. */
int store_show_node(struct store *s, const struct store_node *n, struct err *err);
/* Those shown within max_age_us. */
int store_each_node(struct store *s, int64_t max_age_us,
                    int (*each)(void *ctx, const struct store_node *n), void *ctx, struct err *err);

/* The instant by the store's own clock (UTC), where that is another machine's. E_UNSUPPORTED: it
 * has none but this one's. */
int store_now(struct store *s, int64_t *ret_us, struct err *err);

/* The last committed transition number and the current epoch, read back. */
int store_position(struct store *s, uint64_t *ret_number, uint32_t *ret_epoch, struct err *err);

/* errors  E_EPOCH refused, another leads: the process must end.
 *         E_FULL, E_BUSY, E_IO, E_AGAIN: nothing was committed, or it is unknown:
 *         compare store_position(), then repeat the same batch or go on.
 *         E_CORRUPT: the process must end (also a failed fsync: what is on disk is no
 *         longer known).
 *         E_INVALID: a bug of the caller; nothing was committed. `first` must be the stored
 *         number + 1; a batch whose `last` is stored already is in, and answers 0; one
 *         without transitions has first 0, or last < first. */
int store_commit(struct store *s, const struct store_batch *b, struct err *err);

/* The last row of the audit after a commit that added some: its id and hash, 64 hex digits and a
 * NUL. False: it added none, or this store keeps no audit. */
bool store_audit_tip(const struct store *s, uint64_t *ret_id, char ret_hash[65]);

/* Time to spare: checkpoint and the like, a few milliseconds at most. */
void store_idle(struct store *s);
/* Nothing was written for some seconds: gives back memory that only makes bulk work faster. */
void store_quiet(struct store *s);

/* Loading, before the first commit of an epoch. Each calls `each` per row, in order of id
 * (live: of creation); borrowed for the call; a negative answer of `each` ends it and is
 * returned. Rows that do not read back: E_CORRUPT naming table, row and column. `each` may
 * not call the store. Documents: the newest version of each id, retired ones too. */
int store_load_docs(struct store *s, enum store_doc_kind kind,
                    int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err);
/* One version of a workflow's document, drafts too. E_NOT_FOUND: not kept. */
int store_find_workflow(struct store *s, uint32_t id, uint32_t version,
                        int (*each)(void *ctx, const struct store_doc *d), void *ctx,
                        struct err *err);
int store_load_tasks(struct store *s, int (*each)(void *ctx, const struct store_task *t), void *ctx,
                     struct err *err);
int store_load_live(struct store *s, int (*each)(void *ctx, const struct instance *i), void *ctx,
                    struct err *err);
/* For who follows without leading, in small reads; nothing is locked. Each call sees what was
 * committed when it began. The slots of live rows from `from` on, ascending, at most `max` of
 * them, each with its row's last_number. */
int store_scan_live(struct store *s, uint32_t from, size_t max,
                    int (*each)(void *ctx, uint32_t slot, uint64_t last_number), void *ctx,
                    struct err *err);
/* The live rows in these slots (ascending, each once); those that are not there are left out. */
int store_read_live(struct store *s, const uint32_t *slots, size_t n,
                    int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err);
/* The outcomes saved, by task and lo; then what finished since, by number, part 0 only, lo ==
 * hi: later calls override earlier ones. */
int store_load_outcomes(struct store *s, int (*each)(void *ctx, const struct store_outcome *o),
                        void *ctx, struct err *err);
/* Ranges of dates left out, by number; `unsaved`: those only that saved outcomes do not know. */
int store_load_ranges(struct store *s, bool unsaved,
                      int (*each)(void *ctx, const struct store_range *r), void *ctx,
                      struct err *err);
/* Unfinished: ended_us is 0. */
int store_load_commands(struct store *s, bool unfinished_only,
                        int (*each)(void *ctx, const struct store_command *c), void *ctx,
                        struct err *err);

/* Alerts that have not ended, by id. */
int store_load_alerts(struct store *s, int (*each)(void *ctx, const struct store_alert *a),
                      void *ctx, struct err *err);

/* Statistics of one task, days from lo to hi, both included; by day, state, bucket. */
struct store_stat_days {
	uint32_t task;
	int32_t lo, hi;
};
int store_load_stats(struct store *s, const struct store_stat_days *days,
                     int (*each)(void *ctx, const struct store_stat *st), void *ctx,
                     struct err *err);

/* One finished instance by key, from history (redo, force). E_NOT_FOUND. */
int store_find_done(struct store *s, struct inst_key key, struct instance *ret, struct err *err);
/* The newest range that reaches over run_date. E_NOT_FOUND. Whether the date is one that the range
 * left out is the caller's to know: it is planned, has no row, and its outcome says so. */
int store_find_range(struct store *s, uint32_t task, int64_t run_date, struct store_range *ret,
                     struct err *err);
/* The row that such a date would have; the run date stands for its due time, not known here. */
struct instance store_range_row(const struct store_range *r, int64_t run_date);
/* The outcomes kept of one command, by task, run_date, part. */
int store_load_items(struct store *s, uint64_t command,
                     int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                     struct err *err);
int store_find_command(struct store *s, const char *request_id,
                       int (*each)(void *ctx, const struct store_command *c), void *ctx,
                       struct err *err);

/* The newest data of a kind among the transitions of one instance in one generation (0: in all),
 * found by a walk back from its last one.
 *
 *   owns    *ret_body is the caller's: free()
 *   errors  E_NOT_FOUND there is none */
int store_find_data(struct store *s, uint64_t last_number, uint32_t generation, enum inst_data kind,
                    char **ret_body, struct err *err);

/* Outcomes up to `upto_number` are kept as ranges: loading then reads only what finished
 * later, and history may go. `o` is the whole of them, of all tasks, each (task, lo) once:
 * it replaces what was saved before. */
int store_save_outcomes(struct store *s, uint32_t epoch, const struct store_outcome *o, size_t n,
                        uint64_t upto_number, struct err *err);

struct store_retention {
	int64_t before_us;
	size_t rows_max;
	bool dry_run;
};
/* Drop up to `rows_max` rows that ended before `before_us` (history, events, items).
 * With dry_run only counts. *ret_rows: dropped or counted, an instance's events with it; a range
 * of dates left out is a row.
 * History whose outcome is not saved yet stays, whatever its age. */
int store_retain(struct store *s, uint32_t epoch, const struct store_retention *ask,
                 size_t *ret_rows, struct err *err);

/* Drop up to `rows_max` rows of statistics of days before `day`. *ret_rows: dropped. */
int store_drop_stats(struct store *s, uint32_t epoch, int32_t day, size_t rows_max,
                     size_t *ret_rows, struct err *err);

#endif
