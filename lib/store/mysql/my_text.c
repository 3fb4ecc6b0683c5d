/* The text of statements: a value only ever goes in as a number or quoted. */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "store/mysql/mysql.h"
#include "util/check.h"
#include "util/err.h"

void my_put_int(struct buf *b, int64_t v)
{
	char digits[20], *at = digits + sizeof digits;
	uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
	uint8_t *to = buf_room(b, sizeof digits + 1);
	size_t n;

	do
		*--at = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		*to = '-';
	n = (size_t)(digits + sizeof digits - at);
	memcpy(to + (v < 0), at, n);
	buf_added(b, n + (v < 0));
}

void my_put_text(struct my_store *s, struct buf *b, const char *text, size_t len)
{
	uint8_t *to = buf_room(b, len * 2 + 3);
	unsigned long n = mysql_real_escape_string(s->db, (char *)to + 1, text, len);

	to[0] = to[n + 1] = '\'';
	buf_added(b, n + 2);
}

void my_put_string(struct my_store *s, struct buf *b, const char *text)
{
	my_put_text(s, b, text ? text : "", text ? strlen(text) : 0);
}

static void put_name(struct buf *b, const char *name)
{
	for (const char *at = name; *at; at++)
		CHECK(isalnum((unsigned char)*at) || *at == '_');
	buf_puts(b, name);
}

static void compose(struct my_store *s, const char *text, const char *types, va_list *ap)
{
	buf_clear(&s->sql);
	for (const char *end; *text; text = end) {
		end = text + strcspn(text, "?");
		buf_put(&s->sql, text, (size_t)(end - text));
		if (!*end)
			break;
		CHECK(*types);
		switch (*types++) {
		case 'i':
			my_put_int(&s->sql, va_arg(*ap, int64_t));
			break;
		case 't':
			my_put_string(s, &s->sql, va_arg(*ap, const char *));
			break;
		default:
			put_name(&s->sql, va_arg(*ap, const char *));
		}
		end++;
	}
	CHECK(!*types);
}

int my_do(struct my_store *s, struct err *err, const char *text, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	compose(s, text, types, &ap);
	va_end(ap);
	return my_run(s, (const char *)buf_at(&s->sql), s->sql.len, err);
}

static int ask(struct my_store *s, const char *table, struct my_rows *ret, struct err *err,
               const char *text, const char *types, va_list *ap)
{
	int r = my_ready(s, err);

	if (r < 0)
		return r;
	compose(s, text, types, ap);
	if (mysql_real_query(s->db, (const char *)buf_at(&s->sql), s->sql.len))
		return my_fail(s, text, err);
	*ret = (struct my_rows){ .s = s, .table = table, .res = mysql_use_result(s->db) };
	return ret->res ? 0 : my_fail(s, text, err);
}

int my_ask(struct my_store *s, const char *table, struct my_rows *ret, struct err *err,
           const char *text, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	int r = ask(s, table, ret, err, text, types, &ap);
	va_end(ap);
	return r;
}

int my_ask_number(struct my_store *s, const char *table, int64_t *ret, struct err *err,
                  const char *text, const char *types, ...)
{
	struct my_rows rows;
	va_list ap;

	va_start(ap, types);
	int r = ask(s, table, &rows, err, text, types, &ap);
	va_end(ap);
	if (r < 0)
		return r;
	r = my_rows_next(&rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "%s: no row", table);
	else if (r > 0 && rows.row[0])
		r = my_int(&rows, 0, INT64_MIN, INT64_MAX, ret, err);
	else if (r > 0)
		*ret = r = 0;
	return my_rows_end(&rows, r);
}
