/* Numbered migrations: each in one transaction, recorded with a checksum of its text.
 *
 * A file is opened only if what it records is exactly the migrations that this program has, from
 * the first on. A changed text or a gap is refused, because then nobody knows what the tables look
 * like. A file that a later release migrated may still be opened if that release said so (the
 * floor), so that one can go back a release without restoring a copy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/schema.h"
#include "store/sqlite.h"
#include "util/err.h"

#define APPLICATION_ID 0x53697264 /* "Sird" */

static uint64_t sqlite_migrate_checksum(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ULL;
	return h;
}

static int pragma_number(sqlite3 *db, const char *text, int64_t *ret, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r, rc = sqlite3_prepare_v2(db, text, -1, &q, NULL);

	if (rc != SQLITE_OK)
		return sql_fail(db, rc, text, err);
	r = sql_step(db, q, err);
	if (r > 0)
		*ret = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return r < 0 ? r : 0;
}

static int check_applied(sqlite3_stmt *q, int64_t number, struct err *err)
{
	const struct store_migration *m = &store_schema[number - 1];
	const char *name = (const char *)sqlite3_column_text(q, 1);
	const char *sum = (const char *)sqlite3_column_text(q, 2);
	char want[17];

	snprintf(want, sizeof want, "%016" PRIx64, sqlite_migrate_checksum(m->sql));
	if (sqlite3_column_int64(q, 0) != number || !name || !sum)
		return err_set(err, E_CORRUPT, "lb_migration: number %" PRId64 " is missing",
		               number);
	if (strcmp(name, m->name) != 0 || strcmp(sum, want) != 0)
		return err_set(err, E_CORRUPT,
		               "lb_migration: %" PRId64
		               " is '%s' (%s) in the store and '%s' (%s) in this program",
		               number, name, sum, m->name, want);
	return 0;
}

/* What the program that migrated said: the oldest that may go on; 0: it said nothing. */
static int floor_of(sqlite3 *db, int64_t *ret, struct err *err)
{
	*ret = 0;
	return pragma_number(
		db, "SELECT CAST(value AS INTEGER) FROM lb_meta WHERE name = '" STORE_FLOOR "'",
		ret, err);
}

/* May this program work on it, though it has another version? */
static int check_version(sqlite3 *db, int64_t version, struct err *err)
{
	int64_t lowest = 0;
	int r = version > (int64_t)store_schema_count ? floor_of(db, &lowest, err) : 0;

	return r < 0 ? r : schema_check(version, lowest, store_schema_count, err);
}

/* Say which programs may go on beside this one. */
static int set_floor(sqlite3 *db, struct err *err)
{
	static const char text[] =
		"INSERT OR REPLACE INTO lb_meta (name, value) VALUES ('" STORE_FLOOR
		"', CAST(?1 AS TEXT))";
	int64_t was = 0, mine = store_schema_floor;
	sqlite3_stmt *q = NULL;
	int r = floor_of(db, &was, err), rc;

	if (mine == 0)
		mine = (int64_t)store_schema_count;
	if (r < 0 || was == mine)
		return r;
	rc = sqlite3_prepare_v2(db, text, -1, &q, NULL);
	if (rc != SQLITE_OK)
		return sql_fail(db, rc, text, err);
	sql_bind(q, "i", mine);
	r = sql_step(db, q, err);
	sqlite3_finalize(q);
	return r;
}

/* What is recorded must be exactly 1..version, as this program has them; those of a later release
 * it does not know. */
static int check_record(sqlite3 *db, int64_t version, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int64_t n = 0;
	int r, rc = sqlite3_prepare_v2(
		       db, "SELECT number, name, checksum FROM lb_migration ORDER BY number", -1,
		       &q, NULL);

	if (rc != SQLITE_OK)
		return err_set(err, E_CORRUPT, "no record of migrations: %s", sqlite3_errmsg(db));
	while ((r = sql_step(db, q, err)) > 0) {
		if (++n > version) {
			r = err_set(err, E_CORRUPT, "lb_migration has more than %" PRId64 " rows",
			            version);
			break;
		}
		r = n > (int64_t)store_schema_count ? 0 : check_applied(q, n, err);
		if (r < 0)
			break;
	}
	sqlite3_finalize(q);
	if (r == 0 && n < version)
		r = err_set(err, E_CORRUPT, "lb_migration: number %" PRId64 " is missing", n + 1);
	return r;
}

/* A pragma takes no parameters. */
static int set_pragma(sqlite3 *db, const char *name, int value, struct err *err)
{
	char text[80];

	snprintf(text, sizeof text, "PRAGMA %s = %d", name, value);
	return sql_exec(db, text, err);
}

static int record(sqlite3 *db, const struct store_migration *m, int64_t now_us, struct err *err)
{
	static const char text[] = "INSERT INTO lb_migration VALUES (?1, ?2, ?3, ?4)";
	sqlite3_stmt *q = NULL;
	char sum[17];
	int r, rc = sqlite3_prepare_v2(db, text, -1, &q, NULL);

	if (rc != SQLITE_OK)
		return sql_fail(db, rc, text, err);
	snprintf(sum, sizeof sum, "%016" PRIx64, sqlite_migrate_checksum(m->sql));
	sql_bind(q, "itti", (int64_t)m->number, m->name, sum, now_us);
	r = sql_step(db, q, err);
	sqlite3_finalize(q);
	return r < 0 ? r : set_pragma(db, "user_version", m->number, err);
}

static int sqlite_migrate_apply(sqlite3 *db, const struct store_migration *m, int64_t now_us,
                                struct err *err)
{
	int r = sql_exec(db, "BEGIN IMMEDIATE", err);

	if (r == 0)
		r = sql_exec(db, m->sql, err);
	if (r == 0)
		r = record(db, m, now_us, err);
	if (r == 0)
		r = sql_exec(db, "COMMIT", err);
	if (r < 0 && !sqlite3_get_autocommit(db))
		sql_exec(db, "ROLLBACK", NULL);
	return r < 0 ? err_wrap(err, r, m->name) : 0;
}

/* A new file: ours from its first transaction on. */
static int begin_record(sqlite3 *db, struct err *err)
{
	static const char table[] =
		"CREATE TABLE lb_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
		" checksum TEXT NOT NULL, applied_us INTEGER NOT NULL) STRICT";
	int64_t tables = 0;
	int r = pragma_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);

	if (r == 0 && tables)
		return err_set(err, E_CORRUPT, "this database is not Sirdar's");
	if (r == 0)
		r = sql_exec(db, "BEGIN IMMEDIATE", err);
	if (r < 0)
		return r;
	r = set_pragma(db, "application_id", APPLICATION_ID, err);
	if (r == 0)
		r = sql_exec(db, table, err);
	if (r == 0)
		r = sql_exec(db, "COMMIT", err);
	if (r < 0 && !sqlite3_get_autocommit(db))
		sql_exec(db, "ROLLBACK", NULL);
	return r;
}

int sqlite_check_schema(sqlite3 *db, struct err *err)
{
	int64_t id = 0, version = 0;
	int r = pragma_number(db, "PRAGMA application_id", &id, err);

	if (r == 0)
		r = pragma_number(db, "PRAGMA user_version", &version, err);
	if (r == 0 && id != APPLICATION_ID)
		r = err_set(err, E_CORRUPT,
		            "this database is not Sirdar's (application_id %" PRId64 ")", id);
	return r < 0 ? r : check_version(db, version, err);
}

int sqlite_migrate(sqlite3 *db, int64_t now_us, struct err *err)
{
	int64_t id = 0, version = 0, newest = (int64_t)store_schema_count;
	int r = pragma_number(db, "PRAGMA application_id", &id, err);

	if (r == 0)
		r = pragma_number(db, "PRAGMA user_version", &version, err);
	if (r == 0 && id == 0 && version == 0)
		r = begin_record(db, err);
	else if (r == 0 && id != APPLICATION_ID)
		r = err_set(err, E_CORRUPT,
		            "this database is not Sirdar's (application_id %" PRId64 ")", id);
	if (r == 0 && version > newest)
		r = check_version(db, version, err);
	if (r == 0)
		r = check_record(db, version, err);
	for (int64_t n = version; n < newest && r == 0; n++)
		r = sqlite_migrate_apply(db, &store_schema[n], now_us, err);
	return r == 0 && version <= newest ? set_floor(db, err) : r;
}
