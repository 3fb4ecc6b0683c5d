/* A prepared statement as rows. */
#include "store/sqlite.h"
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
