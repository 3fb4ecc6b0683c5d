/* read.h — the store as the HTTP face sees it: lists and history, read-only.
 *
 * Each call is one snapshot, live and history together, and tells its number: events after
 * that number join on. Nothing here can write or checkpoint, and no call holds a snapshot
 * after it returns. A call that would take longer than READ_TIME_MS ends with E_LIMIT:
 * narrow the filter.
 *
 * SQLite and MySQL. All calls block (milliseconds). One reader is for one thread at a time; open
 * several for several. Rows and texts are borrowed for the call of `each`; a negative
 * answer of `each` ends the call and is returned.
 *
 * Errors of all: E_IO, E_BUSY (try again), E_CORRUPT, E_LIMIT, E_INVALID (a cursor that
 * this list did not give, a limit outside 1..READ_ROWS_MAX).
 */
#ifndef STORE_READ_H
#define STORE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/instance.h"
#include "store/store.h"

#define READ_ROWS_MAX   500
#define READ_TASKS_MAX  1000 /* ids in one filter */
#define READ_TIME_MS    2000
#define READ_CURSOR_MAX 512 /* bytes, with the NUL */
#define READ_LIFE_MAX   80

struct reader;
struct err;

struct read_answer {
	uint64_t number;              /* of the snapshot: the last transition it has */
	char cursor[READ_CURSOR_MAX]; /* where to go on; "": that was all */
};

/* Which part of a list, and where to tell how it went on. Cursors are opaque text
 * [A-Za-z0-9._~-]* for URLs, valid for the same list, filter, sort and direction. `cursor` may be
 * that of `answer`, which is written on success only. */
struct read_page {
	size_t limit;       /* 1..READ_ROWS_MAX */
	const char *cursor; /* NULL or "": from the start */
	bool descending;
	struct read_answer *answer; /* NULL: not wanted */
};

/* The first two are cheap whatever history holds; the others sort all that the filter
 * lets through. */
enum read_sort {
	READ_BY_RUN_DATE,
	READ_BY_CHANGE,
	READ_BY_START,
	READ_BY_END,
	READ_BY_PRIORITY,
	READ_BY_STATE,
	READ_SORT_COUNT
};

struct read_filter {
	enum read_sort sort;
	const uint32_t *tasks; /* n_tasks of them; 0: any */
	size_t n_tasks;
	uint32_t workflow; /* 0: any */
	uint32_t states;   /* bits 1u << enum state; 0: any */
	uint32_t broker;   /* of the present or last attempt; 0: any */
	int64_t from, to;  /* run_date in [from, to); both 0: any */
	bool parts;        /* parts and test runs too, else part 0 only */
	/* Of workflows that are only tried (sched/workflow.h), too; where tasks or a workflow are
	 * named they are. */
	bool tests;
	/* Ranges of dates left out that reach into [from, to), among the instances, each at its
	 * first date, in a descending list at its last one; the same ctx. NULL: none show. */
	int (*each_range)(void *ctx, const struct store_range *r);
};

/* One row of lb_task_event. `from` is ST_NONE for the first. */
struct read_event {
	uint64_t number, prev, cause, token;
	struct inst_key key;
	int64_t at_us;
	const char *note; /* or NULL */
	uint32_t epoch, session, generation, revision, broker;
	int32_t exit_code;
	uint16_t attempt;
	uint8_t event, from, to, reason, actor_kind;
};

struct read_action {
	uint64_t id;
	int64_t at_us;
	const char *actor, *action, *object, *detail;
	const char *hash; /* audit.h; "": a row from before the chain */
};

/* errors  E_NOT_FOUND no store there (yet), E_VERSION a schema this program does not know */
int reader_open(const char *url, struct reader **ret_reader, struct err *err);
void reader_close(struct reader *r); /* NULL is fine */

/* Whom the reader reads for: who sees some projects only. From then on every call shows what is of
 * these, what is the person's own and what is everybody's; the rest is not there: no row, no count,
 * E_NOT_FOUND. The other end of a link is task 0. Borrowed until it is set anew; NULL: all. */
struct read_sight {
	char *const *projects; /* n */
	size_t n;
	const char *person; /* own commands; "": nobody's */
	/* Of documents that only their bodies say it of: targets, silences, people's own. */
	bool (*sees)(const struct read_sight *s, const struct store_doc *d);
};
/* The former one. */
const struct read_sight *reader_see(struct reader *r, const struct read_sight *s);

/* The number of the last transition stored. */
int read_number(struct reader *r, uint64_t *ret_number, struct err *err);
/* Which past those numbers are of: another text after another store, or after a loss that was
 * accepted. */
int read_life(struct reader *r, char ret_life[READ_LIFE_MAX], uint64_t *ret_number,
              struct err *err);

int read_instances(struct reader *r, const struct read_filter *f, const struct read_page *page,
                   int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err);
/* Live, finished, or what a date left out would have been; of that the due times are 0. Its `marks`
 * are 1 when it lies inside a record of many: whether it is a date at all only the task's plan
 * says. E_NOT_FOUND. ret_number may be NULL. */
int read_instance(struct reader *r, struct inst_key key, struct instance *ret, uint64_t *ret_number,
                  struct err *err);
/* The instance's events, newest first (a walk by `prev`): those below `before` (0: from its
 * last on), at most `limit`. Go on with before = the last one's number. E_NOT_FOUND. */
struct read_history {
	struct inst_key key;
	uint64_t before;
	size_t limit;
};
int read_events(struct reader *r, const struct read_history *h,
                int (*each)(void *ctx, const struct read_event *e), void *ctx, uint64_t *ret_number,
                struct err *err);
/* Outputs and parameters of the instance's present generation; the newest of a kind.
 * E_NOT_FOUND there are none. */
int read_data(struct reader *r, const struct instance *i, enum inst_data kind,
              int (*each)(void *ctx, const char *body), void *ctx, struct err *err);
/* What came with its last events, of one that ended badly: ID_FAILURE. It may be an earlier
 * attempt's: its token says so. E_NOT_FOUND */
int read_failure(struct reader *r, const struct instance *i,
                 int (*each)(void *ctx, const char *body), void *ctx, struct err *err);
/* Attempts of instances (part 0) that ended badly, newest first: those among the `numbers`
 * transitions below `before` (0: from the last on) that are not older than since_us. Where to go on
 * is *ret_before, 0: that was all. */
struct read_failures_of {
	int64_t since_us;
	uint64_t before, numbers;
};
struct read_failed {
	struct read_event e;
	const char *body; /* its digest, or NULL */
	enum state now;   /* of its instance; ST_NONE: unfinished */
};
int read_failures(struct reader *r, const struct read_failures_of *of, uint64_t *ret_before,
                  int (*each)(void *ctx, const struct read_failed *f), void *ctx, struct err *err);
/* Events of all instances with numbers above `after`, ascending, at most `limit`. */
struct read_tail {
	uint64_t after;
	size_t limit;
};
int read_events_after(struct reader *r, const struct read_tail *t,
                      int (*each)(void *ctx, const struct read_event *e), void *ctx,
                      uint64_t *ret_number, struct err *err);

struct read_task_filter {
	const char *prefix; /* of the name, bytes; NULL or "": any */
	uint32_t states;    /* bits 1u << enum task_state; 0: any */
	uint32_t workflow;  /* 0: any */
	bool tests; /* of workflows that are only tried, too; a prefix or a workflow may name one */
};

/* By name. */
int read_tasks(struct reader *r, const struct read_task_filter *f, const struct read_page *page,
               int (*each)(void *ctx, const struct store_task *t), void *ctx, struct err *err);
/* By name, or by id when `name` is NULL; retired ones last. E_NOT_FOUND. */
int read_task(struct reader *r, const char *name, uint32_t id,
              int (*each)(void *ctx, const struct store_task *t), void *ctx, struct err *err);
/* Links into (parents of) or out of (children of) a task. */
int read_links(struct reader *r, uint32_t task, bool children,
               int (*each)(void *ctx, const struct store_link *l), void *ctx, struct err *err);

/* The newest version of each document of a kind, by id; bodies are empty here. */
struct read_docs_of {
	enum store_doc_kind kind;
	bool retired_too;
	bool tests; /* workflows that are only tried, too */
};
int read_docs(struct reader *r, const struct read_docs_of *of, const struct read_page *page,
              int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err);
/* The newest version of each document of a kind that is in use, by id, with its body. */
int read_doc_bodies(struct reader *r, enum store_doc_kind kind,
                    int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err);
/* The versions of all documents of a kind added up: grows with every change. */
int read_doc_changes(struct reader *r, enum store_doc_kind kind, uint64_t *ret, struct err *err);
/* One document with its body: by name, or by id when `name` is NULL; version 0: the newest.
 * E_NOT_FOUND. */
struct read_which {
	enum store_doc_kind kind;
	const char *name;
	uint32_t id, version;
};
int read_doc(struct reader *r, const struct read_which *w,
             int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err);
/* All versions of one document, newest first, bodies empty. */
int read_doc_versions(struct reader *r, enum store_doc_kind kind, uint32_t id,
                      int (*each)(void *ctx, const struct store_doc *d), void *ctx,
                      struct err *err);

/* Commands by id; page->descending for newest first. */
int read_commands(struct reader *r, bool unfinished_only, const struct read_page *page,
                  int (*each)(void *ctx, const struct store_command *c), void *ctx,
                  struct err *err);
/* By request id, or by id when `request_id` is NULL. E_NOT_FOUND. */
int read_command(struct reader *r, const char *request_id, uint64_t id,
                 int (*each)(void *ctx, const struct store_command *c), void *ctx, struct err *err);
/* By task, run_date, part; always ascending. */
struct read_items_of {
	uint64_t command;
	bool failed_only;
};
int read_command_items(struct reader *r, const struct read_items_of *of,
                       const struct read_page *page,
                       int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                       struct err *err);

/* The instances that a command made, changed, or left because they were on their way: each in the
 * generation that is the command's own, as that ended; one that it left, as it is now. `each` gets
 * those that are unfinished, then of the others the last that ended badly; with `since` all that
 * have ended after that transition: those whose instance another has begun anew, then the others in
 * that order. Both at most ended_max. */
#define READ_ENDED_MAX 200
struct read_command_of {
	uint64_t command, since;
	size_t ended_max;
};
struct read_of_command {
	uint64_t number;           /* of the snapshot */
	uint64_t total, joined;    /* joined: of total those it left */
	uint64_t states[ST_COUNT]; /* what retention has taken is in none */
};
int read_command_instances(struct reader *r, const struct read_command_of *of,
                           struct read_of_command *ret,
                           int (*each)(void *ctx, const struct instance *i), void *ctx,
                           struct err *err);

/* Which alerts: NULL, 0 and false for any. */
struct read_alerts {
	const char *kind;
	const char *project, *workflow; /* of the subject: its first part, its first two */
	int64_t since_us;               /* those that began then or later */
	bool open, ended;
	bool acked, unacked;
};

/* By id. */
int read_alerts(struct reader *r, const struct read_alerts *f, const struct read_page *page,
                int (*each)(void *ctx, const struct store_alert *a), void *ctx, struct err *err);
/* E_NOT_FOUND. */
int read_alert(struct reader *r, uint64_t id, int (*each)(void *ctx, const struct store_alert *a),
               void *ctx, struct err *err);
/* The audit list, by id. */
struct read_actions_by {
	const char *actor, *action; /* NULL for any */
};
int read_actions(struct reader *r, const struct read_actions_by *by, const struct read_page *page,
                 int (*each)(void *ctx, const struct read_action *a), void *ctx, struct err *err);

/* Newest day first, both days included. */
int read_stats(struct reader *r, const struct store_stat_days *days,
               int (*each)(void *ctx, const struct store_stat *s), void *ctx, struct err *err);

/* What retention would drop: what ended before `before_us`, as far as outcomes are saved, with
 * its events. Rows of history and days are counted, events and bytes estimated from the rows'
 * numbers and the size of the database. A range of dates left out is a row. */
struct read_retention {
	uint64_t rows, events, items;
	uint64_t rows_kept;
	int64_t first_us, last_us; /* ends of the oldest and the newest that would go; 0: none */
	uint64_t bytes, bytes_all; /* bytes_all: of the whole database */
};
int read_retention(struct reader *r, int64_t before_us, struct read_retention *ret,
                   struct err *err);

/* How many instances (part 0) are in each state, live and finished, under the filter
 * (`states` is ignored). Of a range of dates left out that reaches over from or to counts the
 * share that its length inside has. */
int read_counts(struct reader *r, const struct read_filter *f, uint64_t ret_counts[ST_COUNT],
                uint64_t *ret_number, struct err *err);

#endif
