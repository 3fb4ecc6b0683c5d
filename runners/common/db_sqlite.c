/* SQLite: a statement looks at whether to stop while it computes, and while it waits for a lock. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/db_impl.h"
#include "runners/common/place.h"
#include "runners/common/run.h"

#define STEPS_BETWEEN 5000 /* of SQLite's machine, between looks */
#define LOCK_WAIT_MS  20
#define LOCK_WAITS    3000
#define TEST_WAITS    25 /* of who only looks whether it opens */

struct lite {
	struct db db; /* first */
	sqlite3 *conn;
	bool is_stopped;
	int lock_waits;
	char kept[DB_WHY_BYTES]; /* why a file was not attached */
};

static struct lite *lite_of(struct db *db)
{
	return (struct lite *)db;
}

static int on_steps(void *ctx)
{
	struct lite *l = ctx;

	return l->is_stopped = l->is_stopped || run_cancelled(l->db.run);
}

static int on_lock(void *ctx, int times)
{
	struct lite *l = ctx;

	return times < l->lock_waits && !l->db.run->host->pause(l->db.run->job, LOCK_WAIT_MS);
}

static int sqlite_fail(struct lite *l)
{
	if (l->is_stopped || run_cancelled(l->db.run))
		return DB_STOPPED;
	int code = sqlite3_errcode(l->conn) & 0xff;

	if (code == SQLITE_AUTH && l->kept[0])
		return db__set(&l->db, DB_BARRED, "%s", l->kept);
	return db__set(&l->db, code == SQLITE_BUSY || code == SQLITE_LOCKED ? DB_AWAY : DB_FAILED,
	               "%s", sqlite3_errmsg(l->conn));
}

/* The file's path without links, or the name of none; the caller's. A URI is a path here, as
 * SQLite could be built to see it otherwise: none is taken. */
static char *file_of(struct lite *l, const char *name, char *why)
{
	if (!*name || strcmp(name, ":memory:") == 0)
		return strdup(name);
	if (strncasecmp(name, "file:", 5) == 0) {
		snprintf(why, DB_WHY_BYTES, "%.80s is kept from jobs: want a path, no URI", name);
		errno = EPERM;
		return NULL;
	}
	return place_of(l->db.run, name, true, why, DB_WHY_BYTES);
}

/* ATTACH, also that of VACUUM INTO, names its file as a text; the connection follows no links. */
static int sqlite_may(void *ctx, int action, const char *name, const char *value,
                      const char *schema, const char *trigger)
{
	struct lite *l = ctx;

	(void)value;
	(void)schema;
	(void)trigger;
	if (action == SQLITE_PRAGMA && name &&
	    (!strcasecmp(name, "temp_store_directory") ||
	     !strcasecmp(name, "data_store_directory")))
		return SQLITE_DENY;
	if (action != SQLITE_ATTACH)
		return SQLITE_OK;
	l->kept[0] = 0;
	if (!name) {
		snprintf(l->kept, sizeof l->kept,
		         "a file is kept from jobs whose name is computed: want it as a text");
		return SQLITE_DENY;
	}
	char *file = file_of(l, name, l->kept);
	const bool is = file != NULL;

	free(file);
	return is ? SQLITE_OK : SQLITE_DENY;
}

static int lite_open(struct db *db, const struct db_where *w)
{
	struct lite *l = lite_of(db);
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
	            (w->is_read_only ? SQLITE_OPEN_READONLY
	                             : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
	char *file = file_of(l, w->database, db->why);

	if (!file && errno == EPERM)
		return DB_BARRED;
	if (!file)
		return db__set(db, DB_AWAY, "%.120s: unable to open database file", w->database);
	int code = sqlite3_open_v2(file, &l->conn, flags, NULL);

	free(file);
	if (code != SQLITE_OK)
		return l->conn ? db__set(db, DB_AWAY, "%.120s: %s", w->database,
		                         sqlite3_errmsg(l->conn))
		               : db__set(db, DB_FAILED, "out of memory");
	sqlite3_set_authorizer(l->conn, sqlite_may, l);
	sqlite3_progress_handler(l->conn, STEPS_BETWEEN, on_steps, l);
	l->lock_waits = w->is_read_only ? TEST_WAITS : LOCK_WAITS;
	sqlite3_busy_handler(l->conn, on_lock, l);
	return DB_OK;
}

struct shape {
	size_t n;
	const char **values;
	size_t *lens;
};

/* SQLite's columns hold anything: what they are declared as says what they are meant for, dates
 * among it as text. A word that the declaration has, as SQLite itself looks for them. */
static struct db_type type_of(const char *declared)
{
	static const struct {
		const char *word;
		enum db_class class;
	} words[] = { { "BOOL", DB_BOOLEAN }, { "BLOB", DB_BYTES },  { "BINARY", DB_BYTES },
		      { "BYTEA", DB_BYTES },  { "UUID", DB_UUID },   { "CHAR", DB_TEXT },
		      { "TEXT", DB_TEXT },    { "INT", DB_NUMBER },  { "REAL", DB_NUMBER },
		      { "FLOA", DB_NUMBER },  { "DOUB", DB_NUMBER }, { "NUM", DB_NUMBER },
		      { "DEC", DB_NUMBER } };

	for (size_t i = 0; declared && i < sizeof words / sizeof words[0]; i++)
		if (strcasestr(declared, words[i].word))
			return (struct db_type){ words[i].class, declared };
	return (struct db_type){ DB_TEXT, declared ? declared : "undeclared" };
}

static int give_types(const struct db_sink *sink, sqlite3_stmt *stmt, size_t n)
{
	struct db_type *all = sink && sink->types ? calloc(n + 1, sizeof *all) : NULL;
	int code = DB_OK;

	for (size_t i = 0; all && i < n; i++)
		all[i] = type_of(sqlite3_column_decltype(stmt, (int)i));
	if (all)
		code = db__types(sink, n, all);
	free(all);
	return code;
}

static int give_columns(const struct db_sink *sink, sqlite3_stmt *stmt, struct shape *s)
{
	s->n = (size_t)sqlite3_column_count(stmt);
	s->values = calloc(s->n + 1, sizeof *s->values);
	s->lens = calloc(s->n + 1, sizeof *s->lens);
	if (!s->values || !s->lens || (s->n && give_types(sink, stmt, s->n) < 0))
		return DB_REFUSED;
	for (size_t i = 0; i < s->n; i++)
		s->values[i] = sqlite3_column_name(stmt, (int)i);
	return s->n ? db__columns(sink, s->n, s->values) : DB_OK;
}

static int give_row(const struct db_sink *sink, sqlite3_stmt *stmt, struct shape *s)
{
	for (size_t i = 0; i < s->n; i++) {
		s->values[i] = (const char *)sqlite3_column_text(stmt, (int)i);
		s->lens[i] = (size_t)sqlite3_column_bytes(stmt, (int)i);
	}
	return db__row(sink, s->n, s->values, s->lens);
}

static int run_one(struct lite *l, sqlite3_stmt *stmt, const struct db_sink *sink)
{
	struct shape shape = { 0 };
	int before = sqlite3_total_changes(l->conn), step = SQLITE_ROW;
	int code = give_columns(sink, stmt, &shape);

	while (code == DB_OK && (step = sqlite3_step(stmt)) == SQLITE_ROW)
		code = run_cancelled(l->db.run) ? DB_STOPPED : give_row(sink, stmt, &shape);
	if (code == DB_OK && step != SQLITE_DONE)
		code = sqlite_fail(l);
	if (code == DB_OK)
		code = db__done(sink, shape.n ? -1 : sqlite3_total_changes(l->conn) - before);
	free(shape.values);
	free(shape.lens);
	return code;
}

static int lite_run(struct db *db, const char *sql, const struct db_sink *sink)
{
	struct lite *l = lite_of(db);
	int code = DB_OK;

	while (code == DB_OK && *sql) {
		sqlite3_stmt *stmt = NULL;

		if (sqlite3_prepare_v2(l->conn, sql, -1, &stmt, &sql) != SQLITE_OK)
			return sqlite_fail(l);
		if (stmt)
			code = run_one(l, stmt, sink);
		sqlite3_finalize(stmt);
	}
	return code;
}

static void lite_quote(struct db *db, const char *value, size_t len, struct text *out)
{
	(void)db;
	text_str_add(out, "'");
	for (size_t i = 0; i < len; i++) {
		if (value[i] == '\'')
			text_str_add(out, "'");
		text_add(out, value + i, 1);
	}
	text_str_add(out, "'");
}

static void lite_close(struct db *db)
{
	struct lite *l = lite_of(db);

	sqlite3_close(l->conn);
	free(l);
}

const struct db_ops db__sqlite = { sizeof(struct lite), lite_open, lite_run, lite_quote,
	                           lite_close };
