/* Rows as text from the server, believed only within their columns' ranges. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/mysql/mysql.h"
#include "util/err.h"

int my_rows_next(struct my_rows *r, struct err *err)
{
	r->row = mysql_fetch_row(r->res);
	if (!r->row)
		return mysql_errno(r->s->db) ? my_fail(r->s, r->table, err) : 0;
	r->len = mysql_fetch_lengths(r->res);
	return 1;
}

int my_rows_end(struct my_rows *r, int code)
{
	/* Of a connection that is gone the result is only memory. */
	if (!r->s->db)
		r->res->handle = NULL;
	mysql_free_result(r->res);
	return code;
}

static int bad_column(const struct my_rows *r, unsigned column, const char *why, struct err *err)
{
	const MYSQL_FIELD *fields = mysql_fetch_fields(r->res);
	const char *value = r->row[column], *key = r->row[0];

	return err_set(err, E_CORRUPT, "%s row with %s %s: column %s has %.40s, %s", r->table,
	               fields[0].name, key ? key : "NULL", fields[column].name,
	               value ? value : "NULL", why);
}

static bool parse(const char *text, int64_t *ret)
{
	char *end;

	if (!text)
		return false;
	errno = 0;
	*ret = strtoll(text, &end, 10);
	return end != text && !*end && errno == 0;
}

int my_int(const struct my_rows *r, unsigned column, int64_t lo, int64_t hi, int64_t *ret,
           struct err *err)
{
	int64_t v = 0;

	if (!parse(r->row[column], &v))
		return bad_column(r, column, "which is no number", err);
	if (v < lo || v > hi)
		return bad_column(r, column, "which is out of range", err);
	*ret = v;
	return 0;
}

int my_text(const struct my_rows *r, unsigned column, const char **ret, struct err *err)
{
	if (!r->row[column])
		return bad_column(r, column, "which is no text", err);
	*ret = r->row[column];
	return 0;
}

/* The order of MY_INSTANCE_COLUMNS: status, then the plain columns as listed. */
enum {
	AT_STATUS,
#define COL(column, member, lo, hi) AT_##column,
#include "store/instance_cols.def"
#undef COL
	AT_COUNT
};

_Static_assert(AT_COUNT == MY_INSTANCE_WIDTH, "MY_INSTANCE_COLUMNS and instance_cols.def");

static int bad_instance(const struct my_rows *r, unsigned column, struct err *err)
{
	const char *value = r->row[column];

	return err_set(err, E_CORRUPT,
	               "%s row of task_id %s, curr_run_date %s, part %s: column %s has %.40s",
	               r->table, r->row[AT_task_id], r->row[AT_curr_run_date], r->row[AT_part],
	               mysql_fetch_fields(r->res)[column].name, value ? value : "NULL");
}

int my_instance(const struct my_rows *r, struct instance *ret, struct err *err)
{
	struct instance i = { 0 };
	enum state st = ST_NONE;
	int64_t v = 0;

	if (!parse(r->row[AT_STATUS], &v) || v < INT32_MIN || v > INT32_MAX ||
	    !state_from_number((int)v, &st))
		return bad_instance(r, AT_STATUS, err);
	i.state = (uint8_t)st;
#define COL(column, member, lo, hi) \
	if (!parse(r->row[AT_##column], &v) || v < (int64_t)(lo) || v > (int64_t)(hi)) \
		return bad_instance(r, AT_##column, err); \
	i.member = (__typeof__(i.member))v;
#include "store/instance_cols.def"
#undef COL
	*ret = i;
	return 0;
}
