/* What all readers share: which database, a snapshot with its number, cursors, conditions. A
 * cursor names its list, its direction and the key of the last row: one that another list gave is
 * refused. Between read__begin() and read__end() all queries see one moment; no snapshot outlives a
 * call. */
#include "store/read.h"
#include "store/schema.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/module.h"
#include "store/read_impl.h"
#include "util/check.h"
#include "util/err.h"

int reader_open(const char *url, struct reader **ret_reader, struct err *err)
{
	const struct read_ops *ops = NULL;
	int code = 0;

	if (strncmp(url, read_sqlite_ops.prefix, strlen(read_sqlite_ops.prefix)) == 0)
		ops = &read_sqlite_ops;
	else if (strncmp(url, "mysql:", 6) == 0)
		code = store_module_load("mysql", NULL, &ops, err);
	else
		code = err_set(err, E_UNSUPPORTED,
		               "store url '%s': reading wants sqlite:DIRECTORY or"
		               " mysql://USER@HOST/DATABASE",
		               url);
	if (code == 0)
		code = ops->open(url + strlen(ops->prefix), ret_reader, err);
	return code < 0 ? err_wrap(err, code, "reader") : 0;
}

void reader_close(struct reader *r)
{
	if (r)
		r->ops->close(r);
}

void read__put(struct reader *r, struct buf *b, const char *text, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	sql_vput(b, r->ops->quote, r, text, types, ap);
	va_end(ap);
}

int read__query(struct reader *r, const char *table, struct buf *b, struct rows **ret,
                struct err *err)
{
	int code = r->ops->query(r, table, buf_str(b), ret, err);

	buf_done(b);
	return code;
}

static int number_now(struct reader *r, uint64_t *ret, struct err *err)
{
	struct rows *rows = NULL;
	int64_t number = 0;
	int code = r->ops->query(r, "lb_leader", "SELECT number FROM lb_leader WHERE id = 1", &rows,
	                         err);

	if (code < 0)
		return code;
	code = rows_step(rows, err);
	if (code > 0)
		code = rows_int(rows, 0, 0, INT64_MAX, &number, err);
	else if (code == 0)
		code = err_set(err, E_CORRUPT, STORE_NO_LEADER_ROW);
	rows_close(rows);
	if (code == 0 && ret)
		*ret = (uint64_t)number;
	return code;
}

int read__begin(struct reader *r, uint64_t *ret_number, struct err *err)
{
	int code = r->ops->begin(r, err);

	if (code == 0)
		code = number_now(r, ret_number, err);
	return code < 0 ? read__end(r, code) : 0;
}

int read__end(struct reader *r, int code)
{
	r->ops->end(r);
	return code;
}

int read_number(struct reader *r, uint64_t *ret_number, struct err *err)
{
	int code = read__begin(r, ret_number, err);

	return code < 0 ? code : read__end(r, 0);
}

static int life_now(struct reader *r, char *ret, struct err *err)
{
	struct rows *rows = NULL;
	const char *id = NULL;
	int64_t epoch = 0;
	int code = r->ops->query(r, "lb_leader",
	                         "SELECT store_id, base_epoch FROM lb_leader WHERE id = 1", &rows,
	                         err);

	if (code < 0)
		return code;
	code = rows_step(rows, err);
	if (code > 0)
		code = rows_text(rows, 0, &id, err);
	if (code >= 0 && id)
		code = rows_int(rows, 1, 0, INT64_MAX, &epoch, err);
	if (code == 0)
		snprintf(ret, READ_LIFE_MAX, "%.40s after epoch %" PRId64, id ? id : "", epoch);
	rows_close(rows);
	return code;
}

int read_life(struct reader *r, char ret_life[READ_LIFE_MAX], uint64_t *ret_number, struct err *err)
{
	int code = read__begin(r, ret_number, err);

	return code < 0 ? code : read__end(r, life_now(r, ret_life, err));
}

/* A cursor: list, direction, then the key's numbers, dots between. */
int read__cursor_parse(const struct read_page *page, const char *list, int keys,
                       struct read_from *ret, struct err *err)
{
	size_t len = strlen(list);
	const char *p = page->cursor;

	CHECK(keys > 0 && keys <= READ_KEYS_MAX);
	*ret = (struct read_from){ 0 };
	if (page->limit < 1 || page->limit > READ_ROWS_MAX)
		return err_set(err, E_INVALID, "limit %zu, want 1..%d", page->limit, READ_ROWS_MAX);
	if (!p || !*p)
		return 0;
	if (strncmp(p, list, len) != 0 || p[len] != (page->descending ? 'd' : 'a'))
		return err_set(err, E_INVALID, "the cursor is of another list");
	p += len + 1;
	for (int i = 0; i < keys; i++) {
		char *end;

		errno = 0;
		if (*p != '.' || (p[1] != '-' && !isdigit((unsigned char)p[1])))
			return err_set(err, E_INVALID, "the cursor is not one of ours");
		ret->key[i] = strtoll(p + 1, &end, 10);
		if (errno || end == p + 1)
			return err_set(err, E_INVALID, "the cursor is not one of ours");
		p = end;
	}
	if (*p)
		return err_set(err, E_INVALID, "the cursor is not one of ours");
	ret->begun = true;
	return 0;
}

void read__cursor_make(struct read_answer *ret, const struct read_page *page, const char *list,
                       int keys, const int64_t *key)
{
	int n = snprintf(ret->cursor, sizeof ret->cursor, "%s%c", list,
	                 page->descending ? 'd' : 'a');

	CHECK(keys > 0 && keys <= READ_KEYS_MAX);
	for (int i = 0; i < keys; i++)
		n += snprintf(ret->cursor + n, sizeof ret->cursor - (size_t)n, ".%" PRId64, key[i]);
	CHECK(n > 0 && (size_t)n < sizeof ret->cursor);
}

void read__put_list(struct buf *q, const char *before, int64_t value, bool first)
{
	buf_puts(q, first ? before : ",");
	sql_put_int(q, value);
}
