/* Statements of SQLite: prepared when they are first used and kept, bound, stepped; a transaction;
 * what a failure is to the caller; and a row of an instance decoded without a detour. A statement
 * is reset at its end, also after an error. A failed fsync is E_CORRUPT: what is on disk is no
 * longer known, the process has to end. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "store/sqlite.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

static const char *const texts[SQL_COUNT] = {
#define ROW(name, table, text)           [ROW_##name] = text,
#define ROW2(name, table, sqlite, mysql) [ROW_##name] = sqlite,
#include "store/row_stmt.def"
#undef ROW
#undef ROW2
#define STMT(name, text) [SQL_##name] = text,
#include "store/sqlite_stmt.def"
#undef STMT
};

/* What each family of SQLite's codes is to the caller. Others: E_IO. */
static const struct {
	int rc, code;
} codes[] = {
	{ SQLITE_FULL, E_FULL },          { SQLITE_BUSY, E_BUSY },
	{ SQLITE_LOCKED, E_BUSY },        { SQLITE_CORRUPT, E_DAMAGED },
	{ SQLITE_NOTADB, E_DAMAGED },     { SQLITE_CONSTRAINT, E_DAMAGED },
	{ SQLITE_MISMATCH, E_DAMAGED },   { SQLITE_NOMEM, E_NOMEM },
	{ SQLITE_READONLY, E_FORBIDDEN }, { SQLITE_CANTOPEN, E_IO },
	{ SQLITE_INTERRUPT, E_LIMIT }, /* a reader's time is over */
};

static int code_of(sqlite3 *db, int extended)
{
	/* After a failed fsync the kernel may have dropped the pages: nothing can be
	 * repeated, only read back. */
	if (extended == SQLITE_IOERR_FSYNC || extended == SQLITE_IOERR_DIR_FSYNC)
		return E_CORRUPT;
	if ((extended & 0xff) == SQLITE_IOERR) {
		int sys = sqlite3_system_errno(db);

		return sys == ENOSPC || sys == EDQUOT ? E_FULL : E_IO;
	}
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		if (codes[i].rc == (extended & 0xff))
			return codes[i].code;
	return E_IO;
}

/* The statement is for the log, what it amounts to for people. */
static int say_damage(sqlite3 *db, int extended, const char *what, struct err *err)
{
	const char *path = db ? sqlite3_db_filename(db, "main") : NULL;
	bool is_file = (extended & 0xff) == SQLITE_CORRUPT || (extended & 0xff) == SQLITE_NOTADB;

	log_error("store.damaged", "sqlite=%d what=\"%.60s\" text=\"%s\"", extended, what,
	          db ? sqlite3_errmsg(db) : sqlite3_errstr(extended));
	return err_set(err, E_DAMAGED, "%s is damaged: %s", path && *path ? path : "sirdar.db",
	               is_file ? sqlite3_errstr(extended & 0xff)
	                       : "it has a row already that is written now, or one that does not "
	                         "fit to the others");
}

int sql_fail(sqlite3 *db, int rc, const char *what, struct err *err)
{
	int extended = db ? sqlite3_extended_errcode(db) : rc;

	if ((extended & 0xff) != (rc & 0xff))
		extended = rc;
	if (code_of(db, extended) == E_DAMAGED)
		return say_damage(db, extended, what, err);
	if ((extended & 0xff) == SQLITE_INTERRUPT)
		return err_set(err, E_LIMIT,
		               "the store did not have that within %d s: ask for less (a narrower "
		               "range, another order), or later",
		               READ_TIME_MS / 1000);
	return err_set(err, code_of(db, extended), "%.60s: %s (sqlite %d, errno %d)%s", what,
	               db ? sqlite3_errmsg(db) : sqlite3_errstr(rc), extended,
	               db ? sqlite3_system_errno(db) : 0,
	               extended == SQLITE_IOERR_FSYNC || extended == SQLITE_IOERR_DIR_FSYNC
	                       ? ": fsync failed, the process must end"
	                       : "");
}

int sql_get(struct sqlite_store *s, unsigned id, sqlite3_stmt **ret_stmt, struct err *err)
{
	CHECK(id < SQL_COUNT);
	if (!s->stmts[id]) {
		int rc = sqlite3_prepare_v3(s->db, texts[id], -1, SQLITE_PREPARE_PERSISTENT,
		                            &s->stmts[id], NULL);

		if (rc != SQLITE_OK)
			return sql_fail(s->db, rc, texts[id], err);
	}
	*ret_stmt = s->stmts[id];
	return 0;
}

void sql_vbind(sqlite3_stmt *stmt, const char *types, va_list ap)
{
	int rc = SQLITE_OK;

	for (int i = 0; types[i]; i++) {
		if (types[i] == 'i')
			rc |= sqlite3_bind_int64(stmt, i + 1, va_arg(ap, int64_t));
		else
			rc |= sqlite3_bind_text(stmt, i + 1, va_arg(ap, const char *), -1,
			                        SQLITE_STATIC);
	}
	CHECK(rc == SQLITE_OK);
}

void sql_bind(sqlite3_stmt *stmt, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	sql_vbind(stmt, types, ap);
	va_end(ap);
}

int sql_step(sqlite3 *db, sqlite3_stmt *stmt, struct err *err)
{
	int rc = sqlite3_step(stmt), r = 0;

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		r = sql_fail(db, rc, sqlite3_sql(stmt), err);
	sqlite3_reset(stmt);
	return r;
}

int sql_run(struct sqlite_store *s, sqlite3_stmt *stmt, struct err *err)
{
	int r;

	do
		r = sql_step(s->db, stmt, err);
	while (r > 0);
	return r;
}

int sql_exec(sqlite3 *db, const char *text, struct err *err)
{
	int rc = sqlite3_exec(db, text, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : sql_fail(db, rc, text, err);
}

static int sql_prove(struct sqlite_store *s, uint32_t epoch, uint64_t *ret_number, struct err *err)
{
	int r = row_tip(&s->rows, ROW_TIP, &s->base.tip, err);

	if (r == 0 && epoch && s->base.tip.epoch != epoch)
		return err_set(err, E_EPOCH, "epoch %" PRIu32 " is over, the store has %" PRIu32,
		               epoch, s->base.tip.epoch);
	if (r == 0 && ret_number)
		*ret_number = s->base.tip.number;
	return r;
}

int sql_begin(struct sqlite_store *s, uint32_t epoch, uint64_t *ret_number, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_BEGIN, &q, err);

	if (r == 0)
		r = sql_run(s, q, err);
	if (r < 0)
		return r;
	CHECK(!sqlite3_get_autocommit(s->db));
	r = sql_prove(s, epoch, ret_number, err);
	return r < 0 ? sql_end(s, r, err) : 0;
}

int sql_end(struct sqlite_store *s, int r, struct err *err)
{
	sqlite3_stmt *q = NULL;

	CHECK(r < 0 || !sqlite3_get_autocommit(s->db));
	if (r >= 0) {
		r = sql_get(s, SQL_COMMIT, &q, err);
		if (r == 0)
			r = sql_run(s, q, err);
	}
	/* Some failures (a full disk) have rolled back already. */
	if (r < 0 && !sqlite3_get_autocommit(s->db)) {
		if (sql_get(s, SQL_ROLLBACK, &q, NULL) == 0)
			sql_run(s, q, NULL);
	}
	return r;
}

/* The order of INSTANCE_COLUMNS: status, then the plain columns as listed. */
enum {
	AT_STATUS,
#define COL(column, member, lo, hi) AT_##column,
#include "store/instance_cols.def"
#undef COL
	AT_COUNT
};

_Static_assert(AT_COUNT == INSTANCE_WIDTH, "INSTANCE_COLUMNS and instance_cols.def");

static int bad_instance(sqlite3_value **v, int column, const char *table, struct err *err)
{
	static const char *const names[] = {
		"job_status",
#define COL(column, member, lo, hi) #column,
#include "store/instance_cols.def"
#undef COL
	};
	const char *value = (const char *)sqlite3_value_text(v[column]);

	return err_set(err, E_CORRUPT,
	               "%s row of task_id %" PRId64 ", curr_run_date %" PRId64 ", part %" PRId64
	               ": column %s has %.40s",
	               table, (int64_t)sqlite3_value_int64(v[AT_task_id]),
	               (int64_t)sqlite3_value_int64(v[AT_curr_run_date]),
	               (int64_t)sqlite3_value_int64(v[AT_part]), names[column],
	               value ? value : "NULL");
}

/* The tables are strict: a value is an integer or NULL, and NULL reads as 0. */
static bool is_integer(sqlite3_value *raw, int64_t v)
{
	return v != 0 || sqlite3_value_type(raw) == SQLITE_INTEGER;
}

int sql_instance_values(sqlite3_value **raw, const char *table, struct instance *ret,
                        struct err *err)
{
	int64_t status = sqlite3_value_int64(raw[AT_STATUS]);
	struct instance i = { 0 };
	enum state st = ST_NONE;

	if (!is_integer(raw[AT_STATUS], status) || status < INT32_MIN || status > INT32_MAX ||
	    !state_from_number((int)status, &st))
		return bad_instance(raw, AT_STATUS, table, err);
	i.state = (uint8_t)st;
#define COL(column, member, lo, hi) \
	{ \
		int64_t v = sqlite3_value_int64(raw[AT_##column]); \
\
		if (v < (int64_t)(lo) || v > (int64_t)(hi) || !is_integer(raw[AT_##column], v)) \
			return bad_instance(raw, AT_##column, table, err); \
		i.member = (__typeof__(i.member))v; \
	}
#include "store/instance_cols.def"
#undef COL
	*ret = i;
	return 0;
}

void sqlite_checkpoint(struct sqlite_store *s)
{
	int in_log = 0, done = 0;
	int rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &done);

	/* A reader may hold part of it back: then again after as many pages more. A failure
	 * shows at the next commit. */
	s->wal_pages = rc == SQLITE_OK && done < in_log ? 0 : s->wal_pages;
	if (rc == SQLITE_OK && done >= in_log)
		s->wal_pages = 0;
}
