/* sqlite.h — the parts of the SQLite store. Internal to lib/store.
 *
 * One connection writes and checkpoints (two that did could meet SQLite's WAL-reset bug).
 */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include <sqlite3.h>

#include "store/row_store.h"

/* Behind those of row_stmt.def, whose numbers are theirs here too. */
enum sql_id {
	SQL_OF_ROWS = ROW_COUNT - 1,
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
	" origin, priority, intent, former, grace_ms, looks, kept_number"
#define BATCH_DONE_COLUMNS \
	"last_number, next_run_date, job_status, task_id, curr_run_date, part, due," \
	" eff_due_us, created_us, started_us, ended_us, retry_at_us, token, cause," \
	" generation, revision, version, broker_id, exit_code, attempt, infra, reason, flags," \
	" origin, priority, intent, former, grace_ms, looks, kept_number"
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
	union {
		struct store base;
		struct row_store rows;
	};
	sqlite3 *db;
	sqlite3_stmt *stmts[SQL_COUNT]; /* prepared at first use, kept */
	int lock_fd;
	char *dir;

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
/* Ready to bind; `id` is an enum sql_id or a row_id. NULL-free; errors as sql_fail(). */
int sql_get(struct sqlite_store *s, unsigned id, sqlite3_stmt **ret_stmt, struct err *err);
/* Bind all parameters: one letter each, i = int64_t, t = const char * (NULL allowed;
 * borrowed until the statement has run). */
void sql_bind(sqlite3_stmt *stmt, const char *types, ...);
void sql_vbind(sqlite3_stmt *stmt, const char *types, va_list ap);
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
/* Passively; a failure shows at the next commit. */
void sqlite_checkpoint(struct sqlite_store *s);
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
extern const struct row_ops sqlite_row_ops; /* sqlite_rows.c */
int sqlite_inspect(struct store *s, int64_t limit_us, struct err *err);
int sqlite_scrub(struct store *s, struct store_scrub *at, int64_t limit_us, struct err *err);
int sqlite_migrate(sqlite3 *db, int64_t now_us, struct err *err);
/* Ours, and exactly the schema of this program? Else E_CORRUPT or E_VERSION. */
int sqlite_check_schema(sqlite3 *db, struct err *err);
int sqlite_batch_register(struct sqlite_store *s, struct err *err);
/* load_row(...): what takes the rows while they are loaded. */
int sqlite_load_register(struct sqlite_store *s, struct err *err);

int sqlite_lease(struct store *s, struct store_lease *ret, struct err *err);
int sqlite_take_lease(struct store *s, const struct store_lease *seen,
                      const struct store_lease *mine, uint32_t *ret_epoch, struct err *err);
int sqlite_renew_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err);
int sqlite_add_gap(struct store *s, uint32_t epoch, const struct store_gap *g, uint64_t oldest,
                   struct err *err);
int sqlite_give_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err);
int sqlite_show_node(struct store *s, const struct store_node *n, struct err *err);
int sqlite_each_node(struct store *s, int64_t max_age_us,
                     int (*each)(void *ctx, const struct store_node *n), void *ctx,
                     struct err *err);

int sqlite_commit(struct store *s, const struct store_batch *b, struct err *err);
int sqlite_write_docs(struct sqlite_store *s, const struct store_batch *b, struct err *err);

int sqlite_load_live(struct store *s, int (*each)(void *ctx, const struct instance *i), void *ctx,
                     struct err *err);
int sqlite_read_live(struct store *s, const uint32_t *slots, size_t n,
                     int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err);
int sqlite_write_ranges(struct sqlite_store *s, const struct store_batch *b, struct err *err);
/* sqlite_alerts.c */
int sqlite_write_alerts(struct sqlite_store *s, const struct store_batch *b, struct err *err);
int sqlite_write_stats(struct sqlite_store *s, const struct store_batch *b, struct err *err);

#endif
