/* Numbered migrations, recorded with a checksum of their text. */
#include <inttypes.h>
#include <mariadb/mysqld_error.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "store/mysql/mysql.h"
#include "store/schema.h"
#include "util/clock.h"
#include "util/err.h"

enum { MIGRATION_LEASE = 6 }; /* since then the leader's row is a lease */

static const char record_table[] =
	"CREATE TABLE IF NOT EXISTS lb_migration (number INT PRIMARY KEY, name VARCHAR(128) NOT "
	"NULL,"
	" checksum CHAR(16) NOT NULL, applied_us BIGINT NOT NULL) ENGINE = InnoDB"
	" DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin";

static void migrate_checksum(const char *text, char ret[17])
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ULL;
	snprintf(ret, 17, "%016" PRIx64, h);
}

static int check_applied(struct rows *rows, int64_t want, struct err *err)
{
	const char *name = NULL, *sum = NULL;
	char ours[17];
	int64_t number = 0;
	int r = rows_int(rows, 0, 1, INT32_MAX, &number, err);

	if (r == 0)
		r = rows_text(rows, 1, &name, err);
	if (r == 0)
		r = rows_text(rows, 2, &sum, err);
	if (r < 0 || !name || !sum)
		return r;
	if (number != want)
		return err_set(err, E_CORRUPT, "lb_migration: number %" PRId64 " is missing", want);
	if ((size_t)number > store_mysql_schema_count) /* of a later release: see the floor */
		return 0;
	migrate_checksum(store_mysql_schema[number - 1].sql, ours);
	if (strcmp(name, store_mysql_schema[number - 1].name) != 0 || strcmp(sum, ours) != 0)
		return err_set(err, E_CORRUPT,
		               "lb_migration: %" PRId64
		               " is '%s' (%s) in the store and '%s' (%s) in this program",
		               number, name, sum, store_mysql_schema[number - 1].name, ours);
	return 0;
}

static int migrate_applied(struct my_store *s, size_t *ret_count, struct err *err)
{
	struct rows *rows = NULL;
	size_t n = 0;
	int r = my_ask(s, "lb_migration", &rows, err,
	               "SELECT number, name, checksum FROM lb_migration ORDER BY number", "");

	if (r < 0)
		return r;
	while ((r = rows_step(rows, err)) > 0) {
		r = check_applied(rows, (int64_t)++n, err);
		if (r < 0)
			break;
	}
	*ret_count = n;
	rows_close(rows);
	return r;
}

/* Half of it may be there: a migration that stopped half way goes on where it was, and of two
 * servers on two nodes of a cluster, where the schema's lock is one node's, each may be first. */
static bool is_there_already(struct my_store *s)
{
	static const unsigned numbers[] = { ER_TABLE_EXISTS_ERROR, ER_DUP_FIELDNAME,
		                            ER_DUP_KEYNAME };

	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && s->db; i++)
		if (mysql_errno(s->db) == numbers[i])
			return true;
	return false;
}

static int run_statement(struct my_store *s, const char *text, size_t len, struct err *err)
{
	int r = my_run(s, text, len, err);

	return r < 0 && is_there_already(s) ? 0 : r;
}

/* Statement by statement: a change of shape is no transaction. */
static int migrate_apply(struct my_store *s, const struct store_migration *m, struct err *err)
{
	struct my_out o = { s,
		            "INSERT IGNORE INTO lb_migration (number, name, checksum, applied_us)"
		            " VALUES ",
		            "", 0 };
	char sum[17];
	int r = 0;

	for (const char *at = m->sql, *end; r == 0 && (end = strstr(at, ";\n")); at = end + 2)
		r = run_statement(s, at, (size_t)(end - at), err);
	migrate_checksum(m->sql, sum);
	if (r == 0)
		r = my_out_put(&o, err, "itti", (int64_t)m->number, m->name, sum,
		               clock_wall_us(&clock_machine));
	r = my_out_end(&o, r, err);
	return r < 0 ? err_wrap(err, r, m->name) : 0;
}

/* Somebody else's tables? Better refused than mixed with ours. */
static int check_empty(struct my_store *s, struct err *err)
{
	struct rows *rows = NULL;
	int64_t ours = 0, all = 0;
	int r = my_ask(s, "tables", &rows, err,
	               "SELECT COUNT(*), COALESCE(SUM(TABLE_NAME = 'lb_migration'), 0) FROM"
	               " information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()",
	               "");

	if (r < 0)
		return r;
	r = rows_step(rows, err);
	if (r > 0)
		r = rows_int(rows, 0, 0, INT64_MAX, &all, err);
	if (r == 0)
		r = rows_int(rows, 1, 0, INT64_MAX, &ours, err);
	rows_close(rows);
	if (r == 0 && all && !ours)
		r = err_set(err, E_CORRUPT, "database %s has tables, and they are not Sirdar's",
		            s->url.database);
	return r;
}

/* Two servers that start at one instant would both change the schema. */
static int lock_schema(struct my_store *s, struct err *err)
{
	int64_t got = 0;
	int r = my_ask_number(s, "lock", &got, err,
	                      "SELECT GET_LOCK(CONCAT('sirdar/', DATABASE()), ?)", "i",
	                      (int64_t)s->url.timeout_s / 2);

	if (r == 0 && !got)
		r = err_set(err, E_BUSY, "database %s: another server is changing the schema",
		            s->url.database);
	return r;
}

static void unlock_schema(struct my_store *s)
{
	int64_t done;

	if (s->db)
		my_ask_number(s, "lock", &done, NULL,
		              "SELECT RELEASE_LOCK(CONCAT('sirdar/', DATABASE()))", "");
}

static int64_t own_floor(void)
{
	return store_mysql_schema_floor ? store_mysql_schema_floor
	                                : (int64_t)store_mysql_schema_count;
}

static int ask_floor(struct my_store *s, int64_t *ret, struct err *err)
{
	int r = my_ask_number(s, "lb_meta", ret, err,
	                      "SELECT CAST(value AS SIGNED) FROM lb_meta WHERE name = ?", "t",
	                      STORE_FLOOR);

	if (r != E_NOT_FOUND)
		return r;
	*ret = 0;
	return 0;
}

/* Say which programs may go on beside this one. */
static int set_floor(struct my_store *s, struct err *err)
{
	char value[24];
	int64_t was = 0;
	int r = ask_floor(s, &was, err);

	if (r < 0 || was == own_floor())
		return r;
	snprintf(value, sizeof value, "%" PRId64, own_floor());
	return my_do(s, err, "REPLACE INTO lb_meta (name, value) VALUES (?, ?)", "tt", STORE_FLOOR,
	             value);
}

static int check_version(struct my_store *s, size_t version, struct err *err)
{
	int64_t lowest = 0;
	int r = ask_floor(s, &lowest, err);

	return r < 0 ? r : schema_check((int64_t)version, lowest, store_mysql_schema_count, err);
}

/* A leader whose program is older than the new schema allows must have ended: it is watched for
 * the length of its lease. */
static int check_leader(struct my_store *s, size_t have, struct err *err)
{
	struct store_lease was = { 0 }, now = { 0 };
	int64_t slept;
	int r;

	if (have < MIGRATION_LEASE || (int64_t)have >= own_floor())
		return 0;
	r = row_lease(&s->base, &was, err);
	for (uint32_t ms = 0; r == 0 && was.lease_ms && ms <= was.lease_ms; ms += 1000)
		r = my_ask_number(s, "sleep", &slept, err, "SELECT SLEEP(1)", "");
	if (r == 0)
		r = row_lease(&s->base, &now, err);
	if (r == 0 && (now.beat != was.beat || now.number != was.number || now.epoch != was.epoch))
		r = err_set(err, E_VERSION,
		            "%s leads with schema %zu, it cannot go on with schema %zu: it is more "
		            "than one release behind; stop it first",
		            now.who, have, store_mysql_schema_count);
	return r;
}

/* Of all that is kept this alone must not be guessed: see proof.h. */
static int draw_key(struct my_store *s, struct err *err)
{
	unsigned char raw[16];
	char key[2 * sizeof raw + 1];

	randombytes_buf(raw, sizeof raw);
	sodium_bin2hex(key, sizeof key, raw, sizeof raw);
	return my_do(s, err, "UPDATE lb_leader SET store_key = ? WHERE store_key = ''", "t", key);
}

static int my_migrate_migrate(struct my_store *s, struct err *err)
{
	size_t have = 0;
	int r = check_empty(s, err);

	if (r == 0)
		r = my_run(s, record_table, sizeof record_table - 1, err);
	if (r == 0)
		r = migrate_applied(s, &have, err);
	if (r == 0 && have > store_mysql_schema_count)
		return check_version(s, have, err);
	if (r == 0)
		r = check_leader(s, have, err);
	for (size_t n = have; n < store_mysql_schema_count && r == 0; n++)
		r = migrate_apply(s, &store_mysql_schema[n], err);
	if (r == 0)
		r = draw_key(s, err);
	return r < 0 ? r : set_floor(s, err);
}

int my_migrate(struct my_store *s, struct err *err)
{
	int r = lock_schema(s, err);

	if (r == 0)
		r = my_migrate_migrate(s, err);
	unlock_schema(s);
	return r;
}
