/* The outbox: one SQLite file with the place up to which was read, and what is still to be told.
 *
 * Events and the place enter it between outbox_begin() and outbox_end(), so that nothing is lost
 * and nothing comes twice (notifier rule 1). One notifier has it, by a lock on a file; `--status`
 * opens it to read. Statements are rows of outbox_sql.def. Letters are in outbox_letters.c, alerts
 * in outbox_alerts.c.
 */
#include "notifier/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "notifier/outbox_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/own.h"

enum { BUSY_MS = 10000 };

static const char *const texts[] = {
#define SQL(name, text) text,
#include "notifier/outbox_sql.def"
#undef SQL
};

static const char schema[] =
	"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;"
	"CREATE TABLE IF NOT EXISTS place (id INTEGER PRIMARY KEY CHECK (id = 1), cursor INTEGER "
	"NOT "
	"NULL) STRICT;"
	"CREATE TABLE IF NOT EXISTS letter (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
	" recipient TEXT NOT NULL, body TEXT NOT NULL, made_us INTEGER NOT NULL,"
	" next_us INTEGER NOT NULL, tries INTEGER NOT NULL, state INTEGER NOT NULL,"
	" ended_us INTEGER NOT NULL, error TEXT NOT NULL) STRICT;"
	"CREATE TABLE IF NOT EXISTS alert (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
	" word TEXT NOT NULL, subject TEXT NOT NULL, task INTEGER NOT NULL, run_date INTEGER NOT "
	"NULL,"
	" since_us INTEGER NOT NULL, ended_us INTEGER NOT NULL, change INTEGER NOT NULL,"
	" said INTEGER NOT NULL, body TEXT NOT NULL) STRICT;"
	"CREATE TABLE IF NOT EXISTS try (channel TEXT PRIMARY KEY, at_us INTEGER NOT NULL,"
	" error TEXT NOT NULL) STRICT;"
	"CREATE INDEX IF NOT EXISTS alert_open ON alert (task, run_date) WHERE ended_us = 0;"
	"CREATE INDEX IF NOT EXISTS alert_unsaid ON alert (id) WHERE said < change;"
	"CREATE INDEX IF NOT EXISTS letter_due ON letter (next_us) WHERE state = 0;"
	"CREATE TABLE IF NOT EXISTS watch (task INTEGER NOT NULL, run_date INTEGER NOT NULL,"
	" at_us INTEGER NOT NULL, PRIMARY KEY (task, run_date)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS watch_due ON watch (at_us);"
	"CREATE TABLE IF NOT EXISTS told (task INTEGER NOT NULL, run_date INTEGER NOT NULL,"
	" generation INTEGER NOT NULL, who TEXT NOT NULL, PRIMARY KEY (task, run_date, "
	"generation))"
	" STRICT, WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS handed (letter INTEGER NOT NULL, device TEXT NOT NULL,"
	" PRIMARY KEY (letter, device)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS fact (subject TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT;"
	"CREATE TABLE IF NOT EXISTS node (id INTEGER PRIMARY KEY, version INTEGER NOT NULL) "
	"STRICT;";

static int outbox_fail(struct outbox *o, int rc, struct err *err)
{
	int code = rc == SQLITE_FULL                             ? E_FULL
	           : rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB ? E_CORRUPT
	                                                         : E_IO;

	return err_set(err, code, "outbox: %s", o->db ? sqlite3_errmsg(o->db) : sqlite3_errstr(rc));
}

/* --- statements ---------------------------------------------------------------------- */

sqlite3_stmt *outbox__get(struct outbox *o, enum sql which, struct err *err)
{
	if (!o->stmts[which]) {
		int rc = sqlite3_prepare_v2(o->db, texts[which], -1, &o->stmts[which], NULL);
		if (rc != SQLITE_OK) {
			outbox_fail(o, rc, err);
			return NULL;
		}
	}
	return o->stmts[which];
}

int outbox__run(struct outbox *o, sqlite3_stmt *q, struct err *err)
{
	int rc = sqlite3_step(q);

	sqlite3_reset(q);
	sqlite3_clear_bindings(q);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : outbox_fail(o, rc, err);
}

int outbox__row(struct outbox *o, sqlite3_stmt *q, struct err *err)
{
	int rc = sqlite3_step(q);

	if (rc == SQLITE_ROW)
		return 1;
	sqlite3_reset(q);
	return rc == SQLITE_DONE ? 0 : outbox_fail(o, rc, err);
}

static int run_plain(struct outbox *o, enum sql which, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, which, err);

	return q ? outbox__run(o, q, err) : E_IO;
}

/* --- open ---------------------------------------------------------------------------- */

static int lock(struct outbox *o, const char *dir, struct err *err)
{
	char *path = mem_fmt("%s/notifier.lock", dir);
	int r = 0;

	o->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (o->lock_fd < 0)
		r = err_sys(err, E_IO, errno, "%s", path);
	else if (flock(o->lock_fd, LOCK_EX | LOCK_NB) < 0)
		r = err_set(err, E_BUSY, "%s is in use by another notifier", dir);
	free(path);
	return r;
}

/* What letters of a release before this one lack. */
static int add_columns(struct outbox *o)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(
		o->db, "SELECT 1 FROM pragma_table_info('letter') WHERE name = 'alert'", -1, &q,
		NULL);
	bool has = rc == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW;

	sqlite3_finalize(q);
	if (rc == SQLITE_OK && !has)
		rc = sqlite3_exec(o->db,
		                  "ALTER TABLE letter ADD COLUMN alert INTEGER NOT NULL DEFAULT 0",
		                  NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(o->db,
		                  "CREATE INDEX IF NOT EXISTS letter_alert ON letter (alert)", NULL,
		                  NULL, NULL);
	return rc;
}

/* r: what it came to. Frees the path. */
static int opened(struct outbox *o, char *path, int r, struct outbox **ret_outbox)
{
	free(path);
	if (r < 0)
		outbox_close(o);
	else
		*ret_outbox = o;
	return r;
}

int outbox_open(const char *state_dir, struct outbox **ret_outbox, struct err *err)
{
	struct outbox *o = mem_new(sizeof *o);
	char *path = mem_fmt("%s/outbox.db", state_dir);
	int r, rc = SQLITE_OK;

	o->lock_fd = -1;
	r = own_dir(state_dir, false, err);
	if (r == 0)
		r = lock(o, state_dir, err);
	if (r == 0)
		r = own_database(path, err);
	if (r == 0)
		rc = sqlite3_open_v2(
			path, &o->db,
			SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (r == 0 && rc == SQLITE_OK) /* --status reads beside it */
		rc = sqlite3_busy_timeout(o->db, BUSY_MS);
	if (r == 0 && rc == SQLITE_OK)
		rc = sqlite3_exec(o->db, schema, NULL, NULL, NULL);
	if (r == 0 && rc == SQLITE_OK)
		rc = add_columns(o);
	if (r == 0 && rc != SQLITE_OK)
		r = outbox_fail(o, rc, err);
	if (r == 0)
		r = run_plain(o, SQL_TAKE_BACK, err); /* what a process that died had under way */
	return opened(o, path, r, ret_outbox);
}

int outbox_open_read(const char *state_dir, struct outbox **ret_outbox, struct err *err)
{
	struct outbox *o = mem_new(sizeof *o);
	char *path = mem_fmt("%s/outbox.db", state_dir);
	int r = 0, rc;

	o->lock_fd = -1;
	if (access(path, F_OK) < 0) {
		r = err_sys(err, E_NOT_FOUND, errno, "%s", path);
	} else {
		rc = sqlite3_open_v2(path, &o->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		                     NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_busy_timeout(o->db, BUSY_MS);
		r = rc == SQLITE_OK ? 0 : outbox_fail(o, rc, err);
	}
	return opened(o, path, r, ret_outbox);
}

void outbox_close(struct outbox *o)
{
	if (!o)
		return;
	for (int i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(o->stmts[i]);
	sqlite3_close(o->db);
	if (o->lock_fd >= 0)
		close(o->lock_fd);
	free(o);
}

/* --- the place, and transactions ----------------------------------------------------- */

static int read_number(struct outbox *o, enum sql which, int64_t none, int64_t *ret,
                       struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, which, err);
	int rc;

	if (!q)
		return E_IO;
	rc = sqlite3_step(q);
	*ret = rc == SQLITE_ROW && sqlite3_column_type(q, 0) != SQLITE_NULL
	               ? sqlite3_column_int64(q, 0)
	               : none;
	sqlite3_reset(q);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : outbox_fail(o, rc, err);
}

int outbox_cursor(struct outbox *o, int64_t *ret_number, struct err *err)
{
	return read_number(o, SQL_CURSOR, -1, ret_number, err);
}

int outbox_begin(struct outbox *o, struct err *err)
{
	return run_plain(o, SQL_BEGIN, err);
}

int outbox_end(struct outbox *o, int r, struct err *err)
{
	struct err ignored;

	CHECK(r <= 0); /* else it would neither be kept nor taken back */
	if (r == 0)
		r = run_plain(o, SQL_COMMIT, err);
	if (r < 0)
		run_plain(o, SQL_ROLLBACK, &ignored);
	return r;
}

int outbox_move(struct outbox *o, uint64_t cursor, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_MOVE, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, (int64_t)cursor);
	return outbox__run(o, q, err);
}

int outbox_part(struct outbox *o, int64_t now_us, struct err *err)
{
	static const enum sql parts[] = { SQL_PART_LETTERS, SQL_PART_ALERTS };
	int r = 0;

	for (size_t i = 0; i < sizeof parts / sizeof parts[0] && r == 0; i++) {
		sqlite3_stmt *q = outbox__get(o, parts[i], err);
		if (!q)
			return E_IO;
		sqlite3_bind_int64(q, 1, now_us);
		r = outbox__run(o, q, err);
	}
	return r;
}

/* --- watches ------------------------------------------------------------------------- */

static int watch_run(struct outbox *o, enum sql which, const struct outbox_watch *w,
                     struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, which, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, w->task);
	sqlite3_bind_int64(q, 2, w->run_date);
	if (which == SQL_PUT_WATCH)
		sqlite3_bind_int64(q, 3, w->at_us);
	return outbox__run(o, q, err);
}

int outbox_put_watch(struct outbox *o, const struct outbox_watch *w, struct err *err)
{
	return watch_run(o, SQL_PUT_WATCH, w, err);
}

int outbox_drop_watch(struct outbox *o, const struct outbox_watch *w, struct err *err)
{
	return watch_run(o, SQL_DROP_WATCH, w, err);
}

int outbox_watches_due(struct outbox *o, int64_t now_us, size_t max,
                       int (*each)(void *ctx, const struct outbox_watch *w), void *ctx,
                       struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_WATCHES_DUE, err);
	int r = 0, given = 0;

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, now_us);
	sqlite3_bind_int64(q, 2, (int64_t)max);
	while (given == 0 && (r = outbox__row(o, q, err)) > 0) {
		struct outbox_watch w = { .task = (uint32_t)sqlite3_column_int64(q, 0),
			                  .run_date = sqlite3_column_int64(q, 1),
			                  .at_us = sqlite3_column_int64(q, 2) };
		given = each(ctx, &w);
	}
	sqlite3_reset(q);
	return given ? given : r;
}

/* --- what the server is to hear ------------------------------------------------------ */

static int told_run(struct outbox *o, enum sql which, const struct outbox_told *t, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, which, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, t->task);
	sqlite3_bind_int64(q, 2, t->run_date);
	sqlite3_bind_int64(q, 3, t->generation);
	if (which == SQL_PUT_TOLD)
		sqlite3_bind_text(q, 4, t->who, -1, SQLITE_STATIC);
	return outbox__run(o, q, err);
}

int outbox_put_told(struct outbox *o, const struct outbox_told *t, struct err *err)
{
	return told_run(o, SQL_PUT_TOLD, t, err);
}

int outbox_drop_told(struct outbox *o, const struct outbox_told *t, struct err *err)
{
	return told_run(o, SQL_DROP_TOLD, t, err);
}

int outbox_told(struct outbox *o, size_t max, int (*each)(void *ctx, const struct outbox_told *t),
                void *ctx, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_TOLD, err);
	int r = 0, given = 0;

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, (int64_t)max);
	while (given == 0 && (r = outbox__row(o, q, err)) > 0) {
		struct outbox_told t = { .task = (uint32_t)sqlite3_column_int64(q, 0),
			                 .run_date = sqlite3_column_int64(q, 1),
			                 .generation = (uint32_t)sqlite3_column_int64(q, 2),
			                 .who = (const char *)sqlite3_column_text(q, 3) };
		given = each(ctx, &t);
	}
	sqlite3_reset(q);
	return given ? given : r;
}

int outbox_fact(struct outbox *o, const char *subject, char ret[static OUTBOX_FACT_BYTES],
                struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_FACT, err);

	ret[0] = '\0';
	if (!q)
		return E_IO;
	sqlite3_bind_text(q, 1, subject, -1, SQLITE_STATIC);
	int r = outbox__row(o, q, err);
	if (r > 0)
		snprintf(ret, OUTBOX_FACT_BYTES, "%s", (const char *)sqlite3_column_text(q, 0));
	sqlite3_reset(q);
	return r < 0 ? r : 0;
}

int outbox_put_fact(struct outbox *o, const char *subject, const char *state, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_PUT_FACT, err);

	if (!q)
		return E_IO;
	sqlite3_bind_text(q, 1, subject, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 2, state, -1, SQLITE_STATIC);
	return outbox__run(o, q, err);
}

/* --- nodes --------------------------------------------------------------------------- */

int outbox_node(struct outbox *o, uint32_t id, int64_t *ret_version, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_NODE, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, id);
	return read_number(o, SQL_NODE, -1, ret_version, err);
}

int outbox_put_node(struct outbox *o, uint32_t id, uint32_t version, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_PUT_NODE, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, id);
	sqlite3_bind_int64(q, 2, version);
	return outbox__run(o, q, err);
}

int outbox_next(struct outbox *o, int64_t *ret_us, struct err *err)
{
	int64_t letter = 0, watch = 0;
	int r = read_number(o, SQL_NEXT_LETTER, INT64_MAX, &letter, err);

	if (r == 0)
		r = read_number(o, SQL_NEXT_WATCH, INT64_MAX, &watch, err);
	*ret_us = letter < watch ? letter : watch;
	return r;
}

/* --- looking back -------------------------------------------------------------------- */

int outbox_figures(struct outbox *o, struct outbox_figures *ret, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_LAST_ERROR, err);
	int r = q ? read_number(o, SQL_COUNT_WAITING, 0, &ret->waiting, err) : E_IO;

	if (r == 0)
		r = read_number(o, SQL_COUNT_SENT, 0, &ret->sent, err);
	if (r == 0)
		r = read_number(o, SQL_COUNT_GIVEN_UP, 0, &ret->given_up, err);
	if (r == 0)
		r = outbox_cursor(o, &ret->cursor, err);
	ret->error[0] = 0;
	if (r == 0 && sqlite3_step(q) == SQLITE_ROW)
		snprintf(ret->error, sizeof ret->error, "%s",
		         (const char *)sqlite3_column_text(q, 0));
	if (q)
		sqlite3_reset(q);
	return r;
}

int outbox_forget(struct outbox *o, int64_t before_us, struct err *err)
{
	sqlite3_stmt *q = outbox__get(o, SQL_FORGET, err);

	if (!q)
		return E_IO;
	sqlite3_bind_int64(q, 1, before_us);
	int r = outbox__run(o, q, err);
	q = r == 0 ? outbox__get(o, SQL_FORGET_ALERTS, err) : NULL;
	if (!q)
		return r < 0 ? r : E_IO;
	sqlite3_bind_int64(q, 1, before_us);
	r = outbox__run(o, q, err);
	return r < 0 ? r : run_plain(o, SQL_FORGET_HANDED, err);
}
