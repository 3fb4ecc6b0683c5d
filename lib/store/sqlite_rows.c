/* sqlite_rows.c — a prepared statement as rows, and the statements of row_stmt.def on SQLite.
 *
 * A statement is prepared once and stays its store's; closing rows only resets it, which ends its
 * snapshot. So two queries of one store may be open at a time, but not the same one twice.
 */
#include <stdlib.h>

#include "store/sqlite.h"
#include "util/alloc.h"
#include "util/check.h"

void sql_rows_bind(struct rows *r, const int64_t *values, size_t n)
{
	sqlite3_stmt *q = ((struct sql_rows *)r)->q;

	sqlite3_reset(q);
	for (size_t i = 0; i < n; i++)
		CHECK(sqlite3_bind_int64(q, (int)i + 1, values[i]) == SQLITE_OK);
}

int sql_rows_step(struct rows *r, struct err *err)
{
	struct sql_rows *s = (struct sql_rows *)r;

	return sql_step(s->db, s->q, err);
}

bool sql_rows_number(struct rows *r, int column, int64_t *ret)
{
	sqlite3_stmt *q = ((struct sql_rows *)r)->q;

	if (sqlite3_column_type(q, column) != SQLITE_INTEGER)
		return false;
	*ret = sqlite3_column_int64(q, column);
	return true;
}

const char *sql_rows_text(struct rows *r, int column, size_t *ret_len)
{
	sqlite3_stmt *q = ((struct sql_rows *)r)->q;
	const char *text = (const char *)sqlite3_column_text(q, column);

	if (ret_len)
		*ret_len = (size_t)sqlite3_column_bytes(q, column);
	return text;
}

const char *sql_rows_name(struct rows *r, int column)
{
	return sqlite3_column_name(((struct sql_rows *)r)->q, column);
}

static void rows_reset(struct rows *r)
{
	sqlite3_reset(((struct sql_rows *)r)->q);
}

static const struct rows_ops kept_rows_ops = { SQL_ROWS_OPS, .close = rows_reset };

struct sql_rows sql_rows(sqlite3 *db, sqlite3_stmt *q, const char *table)
{
	return (struct sql_rows){ .base = { .ops = &kept_rows_ops, .table = table },
		                  .db = db,
		                  .q = q };
}

/* ---- the statements of row_stmt.def ---- */

static int bound(struct sqlite_store *s, enum row_id id, sqlite3_stmt **ret, struct err *err,
                 const char *types, va_list ap)
{
	int r = sql_get(s, id, ret, err);

	if (r == 0)
		sql_vbind(*ret, types, ap);
	return r;
}

static void asked_close(struct rows *r)
{
	rows_reset(r);
	free(r);
}

static const struct rows_ops asked_rows_ops = { SQL_ROWS_OPS, .close = asked_close };

static int rows_ask(struct row_store *rs, enum row_id id, struct rows **ret, struct err *err,
                    const char *types, va_list ap)
{
	struct sqlite_store *s = (struct sqlite_store *)rs;
	sqlite3_stmt *q = NULL;
	int r = bound(s, id, &q, err, types, ap);

	if (r < 0)
		return r;
	struct sql_rows *rows = mem_new(sizeof *rows);

	*rows = sql_rows(s->db, q, row_table(id));
	rows->base.ops = &asked_rows_ops;
	*ret = &rows->base;
	return 0;
}

static int rows_change(struct row_store *rs, enum row_id id, size_t *ret_rows, struct err *err,
                       const char *types, va_list ap)
{
	struct sqlite_store *s = (struct sqlite_store *)rs;
	sqlite3_stmt *q = NULL;
	int r = bound(s, id, &q, err, types, ap);

	if (r == 0)
		r = sql_run(s, q, err);
	if (r == 0 && ret_rows)
		*ret_rows = (size_t)sqlite3_changes(s->db);
	return r;
}

static int rows_begin(struct row_store *rs, uint32_t epoch, uint64_t *ret_number, struct err *err)
{
	return sql_begin((struct sqlite_store *)rs, epoch, ret_number, err);
}

static int rows_end(struct row_store *rs, int r, struct err *err)
{
	return sql_end((struct sqlite_store *)rs, r, err);
}

static int put_outcomes(struct row_store *rs, const struct store_outcome *o, size_t n,
                        struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)rs;
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_OUTCOME, &q, err);

	for (size_t i = 0; i < n && r == 0; i++) {
		sql_bind(q, "iiiiii", (int64_t)o[i].task, o[i].lo, o[i].hi,
		         (int64_t)state_number((enum state)o[i].state), (int64_t)o[i].reason,
		         (int64_t)o[i].generation);
		r = sql_run(s, q, err);
	}
	return r;
}

const struct row_ops sqlite_row_ops = { .ask = rows_ask,
	                                .change = rows_change,
	                                .begin = rows_begin,
	                                .end = rows_end,
	                                .put_outcomes = put_outcomes,
	                                .stat_days = 1 };
