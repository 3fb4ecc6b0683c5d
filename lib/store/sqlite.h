/* sqlite.h — the parts of the SQLite store. Internal to lib/store.
 *
 * One connection writes and checkpoints (two that did could meet SQLite's WAL-reset bug).
 */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include <sqlite3.h>

#include "store/rows.h"
#include "store/store_impl.h"
#include "util/map.h"

enum sql_id {
#define STMT(name, text) SQL_##name,
#include "store/sqlite_stmt.def"

/* What a commit writes, in the order the virtual tables have it. Named everywhere: the tables may
 * have columns of the next release. Live: id, next_run_date, job_status, the plain columns. Done:
 * the same but last_number first and not again. */
#define BATCH_EVENT_COLUMNS \
	"number, prev, task_id, curr_run_date, part, at_us, event, from_status, to_status," \
	" reason, actor_kind, epoch, session, cause, generation, revision, attempt, broker_id," \
	" token, exit_code, note"
#define BATCH_LIVE_COLUMNS \
	"id, next_run_date, job_status, task_id, curr_run_date, part, due, eff_due_us," \
	" created_us, started_us, ended_us, retry_at_us, token, last_number, cause," \
	" generation, revision, version, broker_id, exit_code, attempt, infra, reason, flags," \
	" origin, priority, intent, former, grace_ms"
#define BATCH_DONE_COLUMNS \
	"last_number, next_run_date, job_status, task_id, curr_run_date, part, due," \
	" eff_due_us, created_us, started_us, ended_us, retry_at_us, token, cause," \
	" generation, revision, version, broker_id, exit_code, attempt, infra, reason, flags," \
	" origin, priority, intent, former, grace_ms"
#undef STMT
	SQL_COUNT
};

/* One line of what the virtual table `batch` shows. */
struct buf;
struct batch_row {
	int64_t id; /* of the live row; history: not used */
	const struct instance *inst;
};

struct sqlite_store {
	struct store base;
	sqlite3 *db;
	sqlite3_stmt *stmts[SQL_COUNT]; /* prepared at first use, kept */
	int lock_fd;
	char *dir;

	struct map cycles; /* task id -> cycle in seconds, for next_run_date */
	bool cycles_known;

	const struct store_batch *batch; /* while a commit writes: what batch_event shows */
	struct batch_row *shown;         /* what batch_run shows */
	size_t n_shown, cap_shown;
	int64_t *gone; /* ids of live rows that go */
	size_t n_gone, cap_gone;
	struct { /* while live rows are loaded */
		int (*each)(void *ctx, const struct instance *i);
		void *ctx;
		struct err *err;
		int code;
	} loading;
	int wal_pages; /* after the last commit */
};

/* ---- sqlite_sql.c: statements and errors ---- */
/* Ready to bind. NULL-free; errors as sql_fail(). */
int sql_get(struct sqlite_store *s, enum sql_id id, sqlite3_stmt **ret_stmt, struct err *err);
/* Bind all parameters: one letter each, i = int64_t, t = const char * (NULL allowed;
 * borrowed until the statement has run). */
void sql_bind(sqlite3_stmt *stmt, const char *types, ...);
/* Step to the end and reset. */
int sql_run(struct sqlite_store *s, sqlite3_stmt *stmt, struct err *err);
/* Step: 1 a row, 0 the end (and reset), negative (and reset). */
int sql_step(sqlite3 *db, sqlite3_stmt *stmt, struct err *err);
int sql_exec(sqlite3 *db, const char *text, struct err *err);
/* An err code for the connection's present failure, with text. A failed fsync is
 * E_CORRUPT: what is on disk is no longer known, the process must end. */
int sql_fail(sqlite3 *db, int rc, const char *what, struct err *err);
/* Begin and prove the epoch. `epoch` 0: prove nothing. ret_number may be NULL. */
int sql_begin(struct sqlite_store *s, uint32_t epoch, uint64_t *ret_number, struct err *err);
/* Commit when r is 0, else roll back. Returns what came of it. */
int sql_end(struct sqlite_store *s, int r, struct err *err);
/* An integer column within lo..hi, else E_CORRUPT naming table, key and column. */
int sql_column(sqlite3_stmt *stmt, int column, const char *table, int64_t lo, int64_t hi,
               int64_t *ret, struct err *err);
/* An image from INSTANCE_WIDTH values in the order of INSTANCE_COLUMNS. */
int sql_instance_values(sqlite3_value **values, const char *table, struct instance *ret,
                        struct err *err);

/* A statement as rows: see rows.h. It stays its owner's: rows_close() only resets it. */
/* Locked and open, not migrated. may_make: also when there is nothing; else E_NOT_FOUND. */
int sqlite_open_bare(const char *dir, bool may_make, struct sqlite_store **ret, struct err *err);
void sqlite_quote(void *ctx, struct buf *b, const char *text, size_t len);

struct sql_rows {
	struct rows base;
	sqlite3 *db;
	sqlite3_stmt *q;
};
struct sql_rows sql_rows(sqlite3 *db, sqlite3_stmt *q, const char *table);
void sql_rows_bind(struct rows *r, const int64_t *values, size_t n);
int sql_rows_step(struct rows *r, struct err *err);
bool sql_rows_number(struct rows *r, int column, int64_t *ret);
const char *sql_rows_text(struct rows *r, int column, size_t *ret_len);
const char *sql_rows_name(struct rows *r, int column);
#define SQL_ROWS_OPS \
	.bind = sql_rows_bind, .step = sql_rows_step, .number = sql_rows_number, \
	.text = sql_rows_text, .name = sql_rows_name

/* ---- others ---- */
int sqlite_tip(struct store *s, struct store_tip *ret, struct err *err);
int sqlite_inspect(struct store *s, int64_t limit_us, struct err *err);
int sqlite_scrub(struct store *s, struct store_scrub *at, int64_t limit_us, struct err *err);
int sqlite_events(struct store *s, uint64_t after, uint64_t upto,
                  int (*each)(void *ctx, const int64_t *columns, size_t n), void *ctx,
                  struct err *err);
int sqlite_migrate(sqlite3 *db, int64_t now_us, struct err *err);
/* Ours, and exactly the schema of this program? Else E_CORRUPT or E_VERSION. */
int sqlite_check_schema(sqlite3 *db, struct err *err);
int sqlite_batch_register(struct sqlite_store *s, struct err *err);
/* load_row(...): what takes the rows while they are loaded. */
int sqlite_load_register(struct sqlite_store *s, struct err *err);
int sqlite_know_cycles(struct sqlite_store *s, struct err *err);
void sqlite_checkpoint(struct sqlite_store *s);

int sqlite_lease(struct store *s, struct store_lease *ret, struct err *err);
int sqlite_take_lease(struct store *s, const struct store_lease *seen,
                      const struct store_lease *mine, uint32_t *ret_epoch, struct err *err);
int sqlite_renew_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err);
int sqlite_add_gap(struct store *s, uint32_t epoch, const struct store_gap *g, uint64_t oldest,
                   struct err *err);
int sqlite_load_gaps(struct store *s, uint64_t number,
                     int (*each)(void *ctx, const struct store_gap *g), void *ctx, struct err *err);
int sqlite_give_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err);
int sqlite_show_node(struct store *s, const struct store_node *n, struct err *err);
int sqlite_each_node(struct store *s, int64_t max_age_us,
                     int (*each)(void *ctx, const struct store_node *n), void *ctx,
                     struct err *err);

int sqlite_commit(struct store *s, const struct store_batch *b, struct err *err);
int sqlite_write_docs(struct sqlite_store *s, const struct store_batch *b, struct err *err);

int sqlite_find_workflow(struct store *s, uint32_t id, uint32_t version,
                         int (*each)(void *ctx, const struct store_doc *d), void *ctx,
                         struct err *err);
int sqlite_load_docs(struct store *s, enum store_doc_kind kind,
                     int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err);
int sqlite_load_tasks(struct store *s, int (*each)(void *ctx, const struct store_task *t),
                      void *ctx, struct err *err);
int sqlite_load_live(struct store *s, int (*each)(void *ctx, const struct instance *i), void *ctx,
                     struct err *err);
int sqlite_scan_live(struct store *s, uint32_t from, size_t max,
                     int (*each)(void *ctx, uint32_t slot, uint64_t last_number), void *ctx,
                     struct err *err);
int sqlite_read_live(struct store *s, const uint32_t *slots, size_t n,
                     int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err);
int sqlite_load_outcomes(struct store *s, int (*each)(void *ctx, const struct store_outcome *o),
                         void *ctx, struct err *err);
int sqlite_load_commands(struct store *s, bool unfinished_only,
                         int (*each)(void *ctx, const struct store_command *c), void *ctx,
                         struct err *err);
int sqlite_load_alerts(struct store *s, int (*each)(void *ctx, const struct store_alert *a),
                       void *ctx, struct err *err);
int sqlite_find_done(struct store *s, struct inst_key key, struct instance *ret, struct err *err);
int sqlite_find_command(struct store *s, const char *request_id,
                        int (*each)(void *ctx, const struct store_command *c), void *ctx,
                        struct err *err);
int sqlite_find_data(struct store *s, uint64_t last_number, uint32_t generation,
                     enum inst_data kind, char **ret_body, struct err *err);
int sqlite_save_outcomes(struct store *s, uint32_t epoch, const struct store_outcome *o, size_t n,
                         uint64_t upto_number, struct err *err);
int sqlite_retain(struct store *s, uint32_t epoch, int64_t before_us, size_t rows_max, bool dry_run,
                  size_t *ret_rows, struct err *err);
int sqlite_load_items(struct store *s, uint64_t command,
                      int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                      struct err *err);
int sqlite_outcome_number(struct sqlite_store *s, int64_t *ret, struct err *err);
int sqlite_write_ranges(struct sqlite_store *s, const struct store_batch *b, struct err *err);
int sqlite_load_ranges(struct store *s, bool unsaved,
                       int (*each)(void *ctx, const struct store_range *r), void *ctx,
                       struct err *err);
int sqlite_find_range(struct store *s, uint32_t task, int64_t run_date, struct store_range *ret,
                      struct err *err);
/* Those that are old enough and that saved outcomes know; *rows grows. */
int sqlite_drop_ranges(struct sqlite_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                       size_t *rows, struct err *err);
/* sqlite_alerts.c */
int sqlite_write_alerts(struct sqlite_store *s, const struct store_batch *b, struct err *err);
int sqlite_drop_alerts(struct sqlite_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                       size_t *rows, struct err *err);
int sqlite_write_stats(struct sqlite_store *s, const struct store_batch *b, struct err *err);
int sqlite_load_stats(struct store *s, uint32_t task, int32_t lo, int32_t hi,
                      int (*each)(void *ctx, const struct store_stat *st), void *ctx,
                      struct err *err);
int sqlite_drop_stats(struct store *s, uint32_t epoch, int32_t day, size_t rows_max,
                      size_t *ret_rows, struct err *err);

#endif
