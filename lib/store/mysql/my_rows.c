/* my_rows.c — rows as text from the server.
 *
 * The writer's rows come as they are read (mysql_use_result): until they are closed its connection
 * can do nothing else. Values go into a statement's text, quoted by the connection that sends it
 * (sql_text.h), so that there must be one before the text is made.
 */
#include "store/mysql/my_rows.h"

#include <stdarg.h>
#include <stdlib.h>

#include "store/mysql/mysql.h"
#include "util/alloc.h"
#include "util/err.h"

/* A load is 28 numbers a row: strtoll() alone was a sixth of it. */
bool my_rows_number(struct rows *r, int column, int64_t *ret)
{
	const char *at = ((struct my_rows *)r)->row[column];
	uint64_t v = 0;

	if (!at)
		return false;
	bool is_negative = *at == '-';
	at += is_negative;
	const char *first = at;
	for (; *at >= '0' && *at <= '9' && at - first < 19; at++)
		v = v * 10 + (uint64_t)(*at - '0');
	*ret = (int64_t)(is_negative ? -v : v);
	return at != first && !*at && v <= (uint64_t)INT64_MAX + is_negative;
}

const char *my_rows_text(struct rows *r, int column, size_t *ret_len)
{
	struct my_rows *m = (struct my_rows *)r;

	if (ret_len)
		*ret_len = m->len[column];
	return m->row[column];
}

const char *my_rows_name(struct rows *r, int column)
{
	MYSQL_RES *res = ((struct my_rows *)r)->res;

	return (unsigned)column < mysql_num_fields(res) ? mysql_fetch_fields(res)[column].name
	                                                : NULL;
}

/* ---- the writer's: one at a time, as they come from the server ---- */

static int stream_step(struct rows *r, struct err *err)
{
	struct my_rows *m = (struct my_rows *)r;
	struct my_store *s = m->owner;

	m->row = mysql_fetch_row(m->res);
	if (!m->row)
		return mysql_errno(s->db) ? my_fail(s, r->table, err) : 0;
	m->len = mysql_fetch_lengths(m->res);
	return 1;
}

static void stream_close(struct rows *r)
{
	struct my_rows *m = (struct my_rows *)r;
	struct my_store *s = m->owner;

	/* Of a connection that is gone the result is only memory. */
	if (!s->db)
		m->res->handle = NULL;
	mysql_free_result(m->res);
	free(m);
}

static const struct rows_ops stream_ops = { MY_ROWS_OPS, .step = stream_step,
	                                    .close = stream_close };

int my_ask_built(struct my_store *s, const char *table, struct rows **ret, struct err *err)
{
	struct my_rows *m;
	MYSQL_RES *res;
	int r = my_ready(s, err);

	if (r < 0)
		return r;
	if (mysql_real_query(s->db, (const char *)buf_at(&s->sql), s->sql.len))
		return my_fail(s, buf_str(&s->sql), err);
	res = mysql_use_result(s->db);
	if (!res)
		return my_fail(s, buf_str(&s->sql), err);
	m = mem_new(sizeof *m);
	*m = (struct my_rows){ .base = { .ops = &stream_ops, .table = table },
		               .res = res,
		               .owner = s };
	*ret = &m->base;
	return 0;
}

int my_put(struct my_store *s, struct err *err, const char *text, const char *types, va_list ap)
{
	int r = my_ready(s, err); /* quoting wants the connection */

	if (r < 0)
		return r;
	buf_clear(&s->sql);
	sql_vput(&s->sql, my_quote, s->db, text, types, ap);
	return 0;
}

int my_ask(struct my_store *s, const char *table, struct rows **ret, struct err *err,
           const char *text, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	int r = my_put(s, err, text, types, ap);
	va_end(ap);
	return r < 0 ? r : my_ask_built(s, table, ret, err);
}

int my_ask_number(struct my_store *s, const char *table, int64_t *ret, struct err *err,
                  const char *text, const char *types, ...)
{
	struct rows *rows = NULL;
	va_list ap;

	va_start(ap, types);
	int r = my_put(s, err, text, types, ap);
	va_end(ap);
	if (r == 0)
		r = my_ask_built(s, table, &rows, err);
	if (r < 0 || !rows)
		return r;
	r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "%s: no row", table);
	else if (r > 0 && rows->ops->text(rows, 0, NULL))
		r = rows_int(rows, 0, INT64_MIN, INT64_MAX, ret, err);
	else if (r > 0)
		*ret = r = 0;
	rows_close(rows);
	return r;
}
