/* row_store.h — what the stores whose database keeps rows (SQLite, MySQL) have in common: the
 * verbs that read back, and those that retain. Internal to lib/store.
 *
 * Each verb is one sequence of statements of row_stmt.def, whose answers rows.h decodes. A
 * database gives `struct row_ops`: how a statement is asked, and what only it does.
 */
#ifndef STORE_ROW_STORE_H
#define STORE_ROW_STORE_H

#include <stdarg.h>

#include "store/rows.h"
#include "store/store_impl.h"
#include "util/map.h"

enum row_id {
#define ROW(name, table, text)           ROW_##name,
#define ROW2(name, table, sqlite, mysql) ROW_##name,
#include "store/row_stmt.def"
#undef ROW
#undef ROW2
	ROW_COUNT
};

struct row_store;

/* What retention is asked, and what it has come to. */
struct row_retain {
	struct row_store *s;
	struct store_retention ask;
	size_t rows; /* that went, or would go */
};

struct row_ops {
	/* The rows of a query, one query at a time. Values: a letter of `types` each, i = int64_t,
	 * t = const char *. */
	int (*ask)(struct row_store *s, enum row_id id, struct rows **ret, struct err *err,
	           const char *types, va_list ap);
	/* A statement without rows. *ret_rows (may be NULL): how many it changed. */
	int (*change)(struct row_store *s, enum row_id id, size_t *ret_rows, struct err *err,
	              const char *types, va_list ap);
	/* Begin and prove the epoch; commit when r is 0, else roll back. */
	int (*begin)(struct row_store *s, uint32_t epoch, uint64_t *ret_number, struct err *err);
	int (*end)(struct row_store *s, int r, struct err *err);
	int (*put_outcomes)(struct row_store *s, const struct store_outcome *o, size_t n,
	                    struct err *err);
	int64_t stat_days; /* days that one ROW_STATS may read */
	/* NULL: nothing. First in a transaction that only drops; after retention's transaction. */
	int (*stamp)(struct row_store *s, struct err *err);
	int (*retained)(struct row_retain *t, struct err *err);
};

/* An implementation embeds it as its first member. */
struct row_store {
	struct store base;
	const struct row_ops *ops;
	struct map cycles; /* task id -> cycle in seconds, for next_run_date */
	bool cycles_known;
};

/* ---- row_store.c ---- */
const char *row_table(enum row_id id);
int row_ask(struct row_store *s, enum row_id id, struct rows **ret, struct err *err,
            const char *types, ...);
int row_change(struct row_store *s, enum row_id id, size_t *ret_rows, struct err *err,
               const char *types, ...);
/* The first number of the only row. E_NOT_FOUND. */
int row_number(struct row_store *s, enum row_id id, int64_t *ret, struct err *err,
               const char *types, ...);
int row_tip(struct row_store *s, enum row_id id, struct store_tip *ret, struct err *err);
/* Up to which number the saved outcomes know. */
int row_saved(struct row_store *s, int64_t *ret, struct err *err);
int row_know_cycles(struct row_store *s, struct err *err);
/* What a commit has saved of tasks. */
void row_remember(struct row_store *s, const struct store_batch *b);

/* ---- row_read.c ---- */
int row_lease(struct store *s, struct store_lease *ret, struct err *err);
int row_load_gaps(struct store *s, uint64_t number,
                  int (*each)(void *ctx, const struct store_gap *g), void *ctx, struct err *err);
int row_events(struct store *s, uint64_t after, uint64_t upto,
               int (*each)(void *ctx, const int64_t *columns, size_t n), void *ctx,
               struct err *err);
int row_load_docs(struct store *s, enum store_doc_kind kind,
                  int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err);
int row_find_workflow(struct store *s, uint32_t id, uint32_t version,
                      int (*each)(void *ctx, const struct store_doc *d), void *ctx,
                      struct err *err);
int row_load_tasks(struct store *s, int (*each)(void *ctx, const struct store_task *t), void *ctx,
                   struct err *err);
int row_scan_live(struct store *s, uint32_t from, size_t max,
                  int (*each)(void *ctx, uint32_t slot, uint64_t last_number), void *ctx,
                  struct err *err);
int row_load_commands(struct store *s, bool unfinished_only,
                      int (*each)(void *ctx, const struct store_command *c), void *ctx,
                      struct err *err);
int row_load_alerts(struct store *s, int (*each)(void *ctx, const struct store_alert *a), void *ctx,
                    struct err *err);
int row_load_ranges(struct store *s, bool unsaved,
                    int (*each)(void *ctx, const struct store_range *r), void *ctx,
                    struct err *err);
int row_find_range(struct store *s, uint32_t task, int64_t run_date, struct store_range *ret,
                   struct err *err);
int row_find_done(struct store *s, struct inst_key key, struct instance *ret, struct err *err);
int row_find_command(struct store *s, const char *request_id,
                     int (*each)(void *ctx, const struct store_command *c), void *ctx,
                     struct err *err);
int row_find_data(struct store *s, uint64_t last_number, uint32_t generation, enum inst_data kind,
                  char **ret_body, struct err *err);
int row_load_items(struct store *s, uint64_t command,
                   int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                   struct err *err);
int row_load_stats(struct store *s, const struct store_stat_days *of,
                   int (*each)(void *ctx, const struct store_stat *st), void *ctx, struct err *err);

/* ---- row_retain.c ---- */
int row_load_outcomes(struct store *s, int (*each)(void *ctx, const struct store_outcome *o),
                      void *ctx, struct err *err);
int row_save_outcomes(struct store *s, uint32_t epoch, const struct store_outcome *o, size_t n,
                      uint64_t upto_number, struct err *err);
int row_retain(struct store *s, uint32_t epoch, const struct store_retention *ask, size_t *ret_rows,
               struct err *err);
int row_drop_stats(struct store *s, uint32_t epoch, int32_t day, size_t rows_max, size_t *ret_rows,
                   struct err *err);

/* The verbs above, in a database's table. */
#define ROW_STORE_OPS \
	.load_gaps = row_load_gaps, .events = row_events, .load_docs = row_load_docs, \
	.find_workflow = row_find_workflow, .load_tasks = row_load_tasks, \
	.scan_live = row_scan_live, .load_commands = row_load_commands, \
	.load_alerts = row_load_alerts, .load_ranges = row_load_ranges, \
	.find_range = row_find_range, .find_done = row_find_done, .find_data = row_find_data, \
	.find_command = row_find_command, .load_items = row_load_items, \
	.load_stats = row_load_stats, .load_outcomes = row_load_outcomes, \
	.save_outcomes = row_save_outcomes, .retain = row_retain, .drop_stats = row_drop_stats

#endif
