/* ledger_impl.h — the ledger's inside, shared by ledger*.c only. */
#ifndef BASESERVER_LEDGER_IMPL_H
#define BASESERVER_LEDGER_IMPL_H

#include <stdatomic.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/ledger_table.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/ledger/pools.h"
#include "store/anchor.h"
#include "util/err.h"
#include "util/map.h"

enum entry_mark {
	EM_DIRTY = 1, /* changed since the last commit */
	EM_HISTORY =
		2, /* its row is in history (after the batch in flight), not in the live table */
	EM_LISTED = 4, /* part 0, on the list of ledger_parts_list.c */
	EM_FLIGHT = 8, /* in the batch that is being committed: its place stays */
	EM_RANGE = 16, /* with EM_HISTORY: it has no row there, but lies in a range */
	EM_FLOW = 32,  /* ledger_flow.c has it among the unfinished of its flow */
	/* It ran when this server began to lead, and its holder has said nothing of it yet; of what
	 * is spread: some holder of its parts. */
	EM_UNHEARD = 64,
};

struct ltask {
	struct task *def;      /* counted; NULL: retired */
	struct store_task row; /* its strings are the def's, or NULL */
	struct outcomes outcomes;
	uint64_t barrier;   /* number of the last change that can close a gate for it */
	uint32_t *children; /* ids of tasks that link to it */
	size_t n_children;
	struct task **former; /* other versions that instances are bound to, counted; a cache */
	size_t n_former;
	int32_t slots;           /* instances that hold a slot */
	struct pool_take *takes; /* each of them, by the definition in force */
	size_t n_takes;
	int32_t unfinished; /* rows of part 0 */
	bool branched;      /* some success of it chose among its children */
	bool dirty;         /* its row changed since the last commit */
	bool waits; /* its date `waits_at` was not judged yet, and none after it is before */
	int64_t waits_at;
};

/* Instances with parts that are to be looked at; part j: is to be reopened, perhaps. */
struct parts_list {
	struct inst_key *keys;
	size_t at, n, cap;
};

/* Parameters of a redo that waits for a kill; in the store they are the kill's ID_NEXT. */
struct next_params {
	struct next_params *next;
	struct inst_key key;
	char *body;
};

/* What `overlap` judges; see ledger_flow.c. */
struct flows {
	struct flow *items;
	size_t n, cap, n_held;    /* n_held: runs of which somebody was refused his turn */
	size_t n_unheard;         /* rows with that mark */
	size_t n_asked;           /* flows of which a date was refused for one of them */
	size_t may_kill;          /* rows that this letter has room to replace */
	struct map by_key, tasks; /* tasks: of a workflow that is judged as a whole */
	bool is_stale;            /* a definition in force judges in another way */
};

struct letters {
	struct letter *head, **tail;
};

/* Something the store is asked, one at a time, where its calls are made: on the writer's
 * thread, or at once on the ledger's. Embed it; it is the ledger's before and after. */
struct job {
	struct letter letter;
	void (*work)(struct job *job, struct store *s);  /* touches nothing of the ledger's */
	void (*done)(struct ledger *l, struct job *job); /* the ledger's thread */
	struct ledger *ledger;
	int64_t began_us; /* mono: when work() began */
};

/* A batch on its way to the store. It stays as it is until it is known to be in. */
struct flight {
	struct job job;
	bool is_out, again; /* made and not known to be in; its outcome is to be asked first */
	int code;           /* the answer, with err */
	struct err err;
	struct store_batch b;
	struct letters edits, records, answers; /* they leave with it */
	uint32_t *dirty;
	size_t n_dirty, dirty_cap;
	struct instance *images; /* as they were, when the ledger goes on meanwhile */
	const struct instance **live, **done, **reopened;
	size_t images_cap;
	const struct transition **events;
	size_t events_cap;
	struct store_range *ranges;
	struct store_taken *taken;
	struct store_task *tasks;
	uint32_t *links_of;
	struct store_command *commands;
	struct store_command_item *items;
	struct store_alert *alerts;
	struct store_stat *stats;
};

/* Housekeeping that somebody asks for. */
struct keep {
	struct letter letter;
	struct ledger_keep ask;
};

/* A row of history that was looked up; code 0, E_NOT_FOUND, or why it cannot be read. */
struct found {
	struct inst_key key;
	int code;
	struct instance row;
};

struct founds {
	struct found *items;
	size_t n, cap;
};

/* A proposal among `ps` waits for rows: what came before it is applied. */
struct half {
	struct proposals *ps; /* NULL: none */
	size_t at;
	int *codes;
	uint64_t *numbers;
};

/* Peers whose claim was not believed, the last ones: each is told of once. */
struct liars {
	char names[64][64];
	size_t n;
};

struct ledger {
	struct actor *me;
	struct store *store; /* the writer's, if there is one */
	struct writer *writer;
	bool busy; /* a job is with the writer */
	bool lent; /* and with it a store that does not wait: nothing is applied */
	struct ledger_settings set;
	struct stream *stream;
	struct stream_reader *keep; /* holds slots until they are durable */
	uint32_t epoch;
	uint64_t next_token;

	struct table table;
	struct ltask **tasks; /* by id; NULL: none */
	size_t tasks_cap;
	struct pools pools;
	struct parts_list parts;
	struct next_params *next_params;
	struct flows flows;

	/* The batch since the last commit. */
	uint32_t *dirty;
	size_t n_dirty, dirty_cap;
	struct store_range *fresh; /* ranges that are not durable yet, by number */
	size_t n_fresh, fresh_cap;
	struct store_taken *taken; /* ranges of which a date got a row, one each time */
	size_t n_taken, taken_cap;
	uint32_t *dirty_tasks;
	size_t n_dirty_tasks, dirty_tasks_cap;
	struct letters edits, records, answers; /* applied, not yet durable */
	struct letters waiting;   /* no input is taken while the ring is nearly full */
	int64_t batch_since_us;   /* mono; 0: nothing uncommitted */
	unsigned brings, put_off; /* turns: what may follow in this batch; ledger.c: is_ripe() */
	struct flight flight;

	struct founds found, wanted;      /* ledger_rows.c */
	struct job *fetching;             /* NULL: none */
	struct job *version;              /* a former definition that is asked for, or NULL */
	uint32_t gone_task, gone_version; /* the last one that is not there */
	bool running;                     /* the threads do: the store is the writer's */
	int64_t rows_after_us;            /* mono: not asked for again before */
	struct half half;
	struct letters questions; /* ledger_data.c */
	bool answered;            /* a question came last: a commit or a read of rows is next */
	struct job *housework, *reading; /* with the writer; NULL: none */

	int64_t now_us;       /* wall, of this turn */
	bool down;            /* the last commit failed; an alarm will retry */
	bool hold;            /* nothing is applied until all that is applied is durable */
	bool replanned;       /* outcomes of an edit are not saved yet */
	bool unread;          /* parts wait for a store that can be read */
	bool dead;            /* fatal: nothing leaves any more */
	_Atomic bool silent;  /* nothing leaves, but questions are answered */
	_Atomic bool doubted; /* a broker has seen more than the store has; `doubt` says it */
	struct err doubt;
	struct anchor doubt_of; /* epoch 0: no broker said it */
	struct store_tip begin; /* when this server began to lead */
	struct anchor_file anchor;
	uint64_t anchor_seq;
	int64_t anchor_us;     /* of the last write */
	int64_t anchor_due_us; /* of the next; 0: it says what the store has */
	bool anchor_fails;     /* so that it is said once */
	struct liars liars;

	_Atomic int64_t proof_us; /* mono send time of the last proof of epoch */
	_Atomic uint64_t f_commits, f_refused, f_stale, f_retries, f_unfinished, f_commit_us,
		f_commit_us_sum;
	_Atomic uint64_t f_claims_unproven, f_claims_false;
	_Atomic bool f_down;
	_Atomic int f_code;        /* of the commit that failed last; 0: none since */
	_Atomic int64_t f_busy_us; /* mono since when a job is with the writer; 0: none */
	struct ledger_timings timings;
};

static inline void letters_init(struct letters *q)
{
	q->head = NULL;
	q->tail = &q->head;
}

static inline void letters_push(struct letters *q, struct letter *l)
{
	l->next = NULL;
	*q->tail = l;
	q->tail = &l->next;
}

static inline struct letter *letters_pop(struct letters *q)
{
	struct letter *l = q->head;

	if (l && !(q->head = l->next))
		q->tail = &q->head;
	return l;
}

/* ledger_anchor.c */
int ledger__anchor_open(struct ledger *l, struct err *err);
/* Have the ledger go on when the next thing is due: rows, the anchor, the proof. */
void ledger__set_alarm(struct ledger *l);
/* This server leads, and yet the store is behind: the process ends. */
void ledger__doubt_proven(struct ledger *l);

/* ledger_publish.c: what every change consists of. */
struct ltask *ledger__task_of(const struct ledger *l, uint32_t id); /* NULL: none */
void ledger__touch(struct ledger *l, uint32_t index);
void ledger__touch_task(struct ledger *l, struct ltask *t);
/* `d` more instances of the task hold a slot. */
void ledger__count_slots(struct ltask *t, int32_t d);
uint64_t ledger__publish(struct ledger *l, const struct transition *tr);
/* From now on older proposals that start the task or its children are returned. */
void ledger__raise_barrier(struct ledger *l, struct ltask *t, uint64_t number);

/* ledger_apply.c: change an instance and publish it. */
/* One transition of entry `index`; p gives cause, note, session; may be NULL. Its number. */
uint64_t ledger__change(struct ledger *l, uint32_t index, enum event ev, enum reason reason,
                        struct proposal *p);
/* A new generation; and: not before it is due at all. */
void ledger__reset_for_redo(struct ledger *l, struct instance *i);
void ledger__reset_for_reopen(const struct ledger *l, struct instance *i);

/* ledger_range.c: the planned dates of t from p's to p->last that have no row are Skipped, as one
 * record. *ret_number stays 0 where there is none. */
int ledger__leave_out(struct ledger *l, struct ltask *t, struct proposal *p, uint64_t *ret_number);
/* For the batch that begins. */
void ledger__gather_ranges(struct ledger *l, struct flight *f);
int ledger__load_ranges(struct ledger *l, struct err *err);
/* ledger_gap.c: after the load. Keeps the time without a leader that ends now, and moves the
 * effective due of what waited through this one and those before. */
int ledger__leave_gaps(struct ledger *l, struct err *err);
/* Up to this number all is in the store. */
void ledger__ranges_durable(struct ledger *l, uint64_t number);
/* The row that a date of a range would have which is not in the store yet. E_NOT_FOUND. */
int ledger__fresh_row(const struct ledger *l, struct inst_key key, struct instance *ret);
/* A finished row, or the one a date left out would have: marks tell. For any thread. */
int ledger__read_row(struct store *s, struct inst_key key, struct instance *ret);
/* Row i of t comes from a range: it is one of its dates, and what only the plan knows is set.
 * E_NOT_FOUND: it is none. */
int ledger__row_of_range(const struct ltask *t, struct instance *i);

/* ledger_past.c: a row that may have ended. E_NOT_FOUND: there is none; others: nobody knows,
 * E_AGAIN with ledger_awaits_rows(): not yet. */
int ledger__find_done(struct ledger *l, struct inst_key key, struct instance *ret);
/* It is in the table then, until it is put back, or stays there if it was changed. */
int ledger__fetch(struct ledger *l, struct inst_key key, uint32_t *ret_index);
void ledger__put_back(struct ledger *l, uint32_t index);

/* An end is in the ledger in one turn, that its child may start in the next, and the grant in the
 * one after: of one thread nobody sleeps between them. */
enum { TURNS_TO_GRANT = 3, PUT_OFF_MAX = 3 * TURNS_TO_GRANT };

/* ledger_ask.c: a row per enum ask. *ret_number stays 0 where there was nothing to do. */
int ledger__ask(struct ledger *l, struct proposal *p, uint64_t *ret_number);

/* ledger_gates.c: 0, or why i is not granted as p asks. */
int ledger__gates_closed(struct ledger *l, const struct ltask *t, const struct instance *i,
                         const struct proposal *p);

/* ledger_parts_list.c: what ledger__work_parts() has to look at. */
static inline struct inst_key part_key(struct inst_key key, int32_t part)
{
	return (struct inst_key){ key.run_date, key.task, part };
}
/* A row of a task that spreads, or a part, has changed. */
void ledger__parts_changed(struct ledger *l, const struct ltask *t, const struct instance *i,
                           enum state from);
/* Live rows of the task (0: of all) are looked at again: after a start, or an edit. */
void ledger__list_parts(struct ledger *l, uint32_t task);
/* Dates of t were left out as one record: steps that follow it by node look again. */
void ledger__parts_left_out(struct ledger *l, const struct ltask *t);

/* ledger_parts.c */
void ledger__work_parts(struct ledger *l); /* once a turn */
/* Part 0 at index, DependenceFinish, gets a part for each of these brokers; or a code, and
 * nothing has changed. */
int ledger__spread(struct ledger *l, uint32_t index, const uint32_t *brokers, size_t n);
/* 0: the whole runs, and what it waits for on its node holds still. E_REVISION: no more. */
int ledger__part_may_start(struct ledger *l, const struct instance *part);
/* A part of it begins anew: if the whole is over, so does that, and keeps the others. The whole
 * is in the table: ledger__fetch_whole() has been asked, before anything was changed. */
void ledger__whole_again(struct ledger *l, struct inst_key key, uint64_t cause);
/* 0; 1: it begins anew itself, with all its parts; E_NOT_FOUND: it has no such part (any more). */
int ledger__fetch_whole(struct ledger *l, struct inst_key key);

/* ledger_body.c: versions of definitions that are no longer in force. */
/* NULL: it is gone, or does not compile; or, with ledger_awaits_rows(), it is asked for. */
const struct task *ledger__version(struct ledger *l, struct ltask *t, uint32_t version);
void ledger__keep_version(struct ltask *t, struct task *def); /* takes a reference */
void ledger__forget_versions(struct ltask *t);
/* What i is bound to is in memory, or is known to be gone. */
bool ledger__version_ready(struct ledger *l, struct ltask *t, const struct instance *i);
bool ledger__fetch_version(struct ledger *l); /* a job begins */
void ledger__version_free(struct ledger *l);
/* i is about to be granted: binds it, p->body is what it runs with where that is another. */
bool ledger__bind(struct ledger *l, struct ltask *t, struct instance *i, struct proposal *p);

/* ledger_data.c: the parameters in p, those of the generation after the kill that p asks for. */
void ledger__keep_next(struct ledger *l, struct instance *i, struct proposal *p);
/* That generation begins: p, of its first transition, gets them. */
void ledger__take_next(struct ledger *l, const struct instance *i, struct proposal *p);
void ledger__next_done(struct ledger *l);
/* At the start: those of kills that are under way. */
int ledger__next_restore(struct ledger *l, struct err *err);

/* ledger_branch.c: p ended part 0 of t well, p->branch names its children that go on. */
void ledger__branch(struct ledger *l, struct ltask *t, struct proposal *p);
/* Who may have left t out: after an edit of its links; and after a start, of all. */
void ledger__branch_parents(struct ledger *l, const struct ltask *t);
void ledger__branches_restore(struct ledger *l);
/* It will not need rows that are not there. */
bool ledger__branch_ready(struct ledger *l, struct ltask *t, struct proposal *p);
/* What is wrong with the names, for a person; NULL: nothing. */
char *ledger__branch_note(const struct ledger *l, const struct ltask *t, const char *branch);

/* ledger_flow.c: what becomes of dates that come due while an earlier one is unfinished. */
/* The date of p is not judged yet: nobody knows how an earlier one ended. TK_TURN will say when
 * it may be asked for again, after *ret_number. */
bool ledger__is_early(struct ledger *l, struct ltask *t, const struct proposal *p, bool is_made,
                      uint64_t *ret_number);
/* It is left out, so that nobody waits for it to be asked for again. */
void ledger__not_early(struct ltask *t, const struct proposal *p);
/* Its holder has spoken of i. */
void ledger__heard(struct ledger *l, const struct ltask *t, struct instance *i);
/* After the load: what ran then is unheard. */
void ledger__flows_restore(struct ledger *l);
/* The date of p, which comes due, is left out. */
bool ledger__overlaps(const struct ledger *l, const struct ltask *t, const struct proposal *p);
/* Which one it was left out for, in words; the caller's. */
char *ledger__overlap_note(const struct ledger *l, const struct ltask *t, const struct proposal *p);
/* Places of what came before this date, which has come due, and is to be killed for it; *ret_rows
 * is the caller's. */
size_t ledger__older(const struct ledger *l, const struct ltask *t, int64_t run_date,
                     uint32_t **ret_rows);
/* A date in words, of a note about t; the caller's. */
char *ledger__name_date(const struct ledger *l, const struct ltask *t, struct inst_key key);
/* How many rows these proposals may replace: room for as many records is needed. */
size_t ledger__may_replace(struct ledger *l, const struct proposals *ps);
/* An earlier one has not ended: it may not start. */
bool ledger__awaits_turn(const struct ledger *l, const struct ltask *t, const struct instance *i);
/* It was refused for that: TK_TURN will say when its turn has come. */
void ledger__hold_turn(struct ledger *l, const struct ltask *t, const struct instance *i);
void ledger__flow_changed(struct ledger *l, const struct ltask *t, struct instance *i);
/* `was`: in force until now, or NULL. ledger__flows_build() follows the last of an edit. */
void ledger__flow_put(struct ledger *l, const struct task *was, const struct task *def);
void ledger__flows_build(struct ledger *l);
void ledger__flows_init(struct ledger *l);
void ledger__flows_done(struct ledger *l);

/* ledger_edit.c */
/* Made from the definitions in force: a newer one is not replaced by an older. */
/* Not current: planned_through of the row in the way is the ledger's now. */
bool ledger__edit_is_current(const struct ledger *l, struct edit *e);
void ledger__apply_edit(struct ledger *l, struct edit *e);
void ledger__put_task(struct ledger *l, struct task *def, const struct store_task *row);

/* ledger_commit.c: all that is applied becomes durable, then leaves. Nothing while a job is
 * with the writer. */
void ledger__commit(struct ledger *l);
bool ledger__has_work(const struct ledger *l);
/* All that is applied is durable and the store is free. Else the way there is begun, and
 * nothing is applied before. */
bool ledger__is_still(struct ledger *l);
void ledger__flight_done(struct flight *f);

/* ledger_writer.c */
struct writer *writer__new(struct thread *th, struct ledger *l);
void writer__free(struct writer *w);
/* Not while l->busy. Without a writer it is done on return. */
void ledger__do(struct ledger *l, struct job *job);
/* Prove the epoch and let the store do what it does with time to spare. */
void ledger__renew_proof(struct ledger *l);

/* ledger_rows.c: one finished instance. E_NOT_FOUND; E_AGAIN: it is asked for, and there when
 * ledger_awaits_rows() is over; others: nobody knows. */
int ledger__row(struct ledger *l, struct inst_key key, struct instance *ret);
/* It will not answer E_AGAIN now. */
bool ledger__knows_done(struct ledger *l, struct inst_key key);
void ledger__ask_row(struct ledger *l,
                     struct inst_key key); /* read till it is known, however long */
static inline bool ledger_awaits_rows(const struct ledger *l)
{
	return l->wanted.n > 0 || l->fetching || l->version;
}
void ledger__forget_done(struct ledger *l, struct inst_key key); /* its row changed */
bool ledger__fetch_rows(struct ledger *l); /* a job begins; false: none is needed */
void ledger__rows_rest(struct ledger *l);  /* nobody waits for rows any more */
void ledger__rows_free(struct ledger *l);

/* ledger_data.c */
bool ledger__answer_questions(struct ledger *l); /* a job begins; false: none is ready */
void ledger__turn_down_questions(struct ledger *l);
void ledger__data_free(struct ledger *l);

/* ledger_stats.c: what its events and ranges add; *ret_stats is the caller's to free. */
size_t ledger__gather_stats(const struct ledger *l, const struct store_batch *b,
                            struct store_stat **ret_stats);

/* ledger_measure.c: i has changed. */
void ledger__measure(struct ledger *l, const struct instance *i, enum event ev, enum reason reason);

/* ledger_keep.c */
/* When all is durable: outcomes are saved, where k asks for it, and old rows dropped; without k
 * they are saved, and l->replanned is over then. Owns k. */
void ledger__housework(struct ledger *l, struct keep *k);
void ledger__keep_answer(struct keep *k, int code); /* owns k */
void ledger__keep_free(struct ledger *l);

/* ledger_load.c */
int ledger__load(struct ledger *l, const char *who, struct err *err);

#endif
