/* SQLite's tables for the offline tool: under the directory's lock, without migrating. */
#include <stdlib.h>

#include "store/admin.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"

struct sqlite_admin {
	struct admin base;
	struct sqlite_store *s;
};

static sqlite3 *db_of(struct admin *a)
{
	return ((struct sqlite_admin *)a)->s->db;
}

static int admin_open_dir(const char *dir, bool may_make, struct admin **ret, struct err *err)
{
	struct sqlite_store *s = NULL;
	int r = sqlite_open_bare(dir, may_make, &s, err);

	if (r < 0)
		return r;
	struct sqlite_admin *a = mem_new(sizeof *a);
	a->base.ops = &admin_sqlite_ops;
	a->s = s;
	*ret = &a->base;
	return 0;
}

static void close_dir(struct admin *a)
{
	store_close(&((struct sqlite_admin *)a)->s->base);
	free(a);
}

static int sqlite_admin_run(struct admin *a, const char *text, size_t len, struct err *err)
{
	char *whole = mem_strn(text, len);
	int r = sql_exec(db_of(a), whole, err);

	free(whole);
	return r;
}

static void rows_free(struct rows *r)
{
	sqlite3_finalize(((struct sql_rows *)r)->q);
	free(r);
}

static const struct rows_ops own_rows_ops = { SQL_ROWS_OPS, .close = rows_free };

static int sqlite_admin_ask(struct admin *a, const char *table, const char *text, struct rows **ret,
                            struct err *err)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db_of(a), text, -1, &q, NULL);

	if (rc != SQLITE_OK)
		return sql_fail(db_of(a), rc, table, err);
	struct sql_rows *r = mem_new(sizeof *r);
	*r = sql_rows(db_of(a), q, table);
	r->base.ops = &own_rows_ops;
	*ret = &r->base;
	return 0;
}

static int sqlite_admin_migrate(struct admin *a, int64_t first_us, struct err *err)
{
	(void)first_us; /* no partitions */
	return sqlite_migrate(db_of(a), clock_wall_us(&clock_machine), err);
}

static int sqlite_admin_whole(struct admin *a, struct err *err)
{
	return sqlite_inspect(&((struct sqlite_admin *)a)->s->base, 0, err);
}

static int sqlite_admin_verify(struct admin *a, struct err *err)
{
	struct store *s = &((struct sqlite_admin *)a)->s->base;
	struct store_tip t = { 0 };
	int r = store_read_tip(s, &t, err);

	return r < 0 ? r : store_verify(s, &t, err);
}

const struct admin_ops admin_sqlite_ops = {
	.prefix = "sqlite:",
	.open = admin_open_dir,
	.close = close_dir,
	.run = sqlite_admin_run,
	.ask = sqlite_admin_ask,
	.quote = sqlite_quote,
	.migrate = sqlite_admin_migrate,
	.whole = sqlite_admin_whole,
	.verify = sqlite_admin_verify,
	.tables = "SELECT name FROM sqlite_schema WHERE type = 'table'",
	.after_wipe = "PRAGMA user_version = 0; PRAGMA application_id = 0; VACUUM",
	.schema = store_schema,
	.schema_count = &store_schema_count,
};
