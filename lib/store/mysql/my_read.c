/* MySQL for the reader: its own connection, read-only snapshots, small results taken whole. */
#include <stdlib.h>
#include <string.h>

#include "store/mysql/my_rows.h"
#include "store/mysql/mysql.h"
#include "store/read_ops.h"
#include "store/schema.h"
#include "util/alloc.h"
#include "util/err.h"

struct my_reader {
	struct reader base;
	struct my_url url;
	MYSQL *db; /* NULL: to be made by read_ready() */
	struct my_way way;
};

/* The rows of a query: asked at the first step after each bind. */
struct my_answer {
	struct my_rows m;
	char *text;
	struct buf bound; /* the text with the values given */
	bool is_asked;
};

static int read_fail(struct my_reader *r, const char *what, struct err *err)
{
	bool is_over;
	int code = my_failure(r->db, &r->url, what, &is_over, err);

	if (is_over) {
		mysql_close(r->db);
		r->db = NULL;
		my_way_lost(&r->way);
	}
	return code;
}

static int read_run(struct my_reader *r, const char *text, struct err *err)
{
	return mysql_real_query(r->db, text, strlen(text)) ? read_fail(r, text, err) : 0;
}

static bool is_maria(MYSQL *db)
{
	return strstr(mysql_get_server_info(db), "MariaDB") != NULL;
}

/* READ_TIME_MS, in the words of each. */
static int limit_time(struct my_reader *r, struct err *err)
{
	_Static_assert(READ_TIME_MS == 2000, "the texts below");
	return read_run(r,
	                is_maria(r->db) ? "SET SESSION max_statement_time = 2"
	                                : "SET SESSION max_execution_time = 2000",
	                err);
}

static int read_ready(struct my_reader *r, struct err *err)
{
	int code;

	if (r->db)
		return 0;
	code = my_connect(&r->url, &r->way, &r->db, err);
	return code < 0 ? code : limit_time(r, err);
}

static void answer_free(struct my_answer *a)
{
	if (a->m.res)
		mysql_free_result(a->m.res);
	a->m.res = NULL;
}

static void answer_bind(struct rows *rows, const int64_t *values, size_t n)
{
	struct my_answer *a = (struct my_answer *)rows;
	size_t k = 0;

	answer_free(a);
	a->is_asked = false;
	buf_clear(&a->bound);
	for (const char *at = a->text; *at; at++)
		if (*at == '?' && k < n)
			sql_put_int(&a->bound, values[k++]);
		else
			buf_putc(&a->bound, *at);
}

static int answer_ask(struct my_answer *a, struct err *err)
{
	struct my_reader *r = a->m.owner;
	const char *text = a->bound.len ? buf_str(&a->bound) : a->text;
	int code = read_run(r, text, err);

	if (code < 0)
		return code;
	a->m.res = mysql_store_result(r->db);
	a->is_asked = true;
	return a->m.res ? 0 : read_fail(r, text, err);
}

static int answer_step(struct rows *rows, struct err *err)
{
	struct my_answer *a = (struct my_answer *)rows;
	int code = a->is_asked ? 0 : answer_ask(a, err);

	if (code < 0)
		return code;
	a->m.row = a->m.res ? mysql_fetch_row(a->m.res) : NULL;
	if (!a->m.row)
		return 0;
	a->m.len = mysql_fetch_lengths(a->m.res);
	return 1;
}

static void answer_close(struct rows *rows)
{
	struct my_answer *a = (struct my_answer *)rows;

	answer_free(a);
	buf_done(&a->bound);
	free(a->text);
	free(a);
}

static const struct rows_ops answer_ops = { MY_ROWS_OPS, .bind = answer_bind, .step = answer_step,
	                                    .close = answer_close };

static int my_reader_query(struct reader *base, const char *table, const char *text,
                           struct rows **ret, struct err *err)
{
	struct my_answer *a = mem_new(sizeof *a);

	(void)err;
	a->m.base = (struct rows){ .ops = &answer_ops, .table = table };
	a->m.owner = base;
	a->text = mem_str(text);
	*ret = &a->m.base;
	return 0;
}

static int read_begin(struct my_reader *r, struct err *err)
{
	int code = read_ready(r, err);

	if (code == 0)
		code = read_run(r, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", err);
	return code;
}

/* A connection that was lost between calls is noticed here, and made anew once. */
static int my_reader_begin(struct reader *base, struct err *err)
{
	struct my_reader *r = (struct my_reader *)base;
	struct err first = { 0 };
	bool was_open = r->db != NULL;
	int code = read_begin(r, was_open ? &first : err);

	if (code < 0 && was_open)
		code = r->db ? err_set(err, code, "%s", first.text) : read_begin(r, err);
	return code;
}

static void my_reader_end(struct reader *base)
{
	struct my_reader *r = (struct my_reader *)base;

	if (r->db)
		read_run(r, "ROLLBACK", NULL);
}

static void my_reader_close(struct reader *base)
{
	struct my_reader *r = (struct my_reader *)base;

	if (r->db)
		mysql_close(r->db);
	my_url_done(&r->url);
	free(r);
}

/* The schema must be exactly this program's. */
static int check_version(struct my_reader *r, int64_t have, struct err *err)
{
	struct rows *rows = NULL;
	int64_t lowest = 0;
	int code = 0;

	if (have > (int64_t)store_mysql_schema_count) {
		my_reader_query(
			&r->base, "lb_meta",
			"SELECT CAST(value AS SIGNED) FROM lb_meta WHERE name = '" STORE_FLOOR "'",
			&rows, err);
		code = rows_step(rows, err);
		if (code > 0)
			code = rows_int(rows, 0, 0, INT32_MAX, &lowest, err);
		rows_close(rows);
	}
	return code < 0 ? code : schema_check(have, lowest, store_mysql_schema_count, err);
}

static int check_schema(struct my_reader *r, struct err *err)
{
	struct rows *rows = NULL;
	int64_t have = 0;
	int code = read_ready(r, err);

	if (code < 0)
		return code;
	my_reader_query(&r->base, "lb_migration", "SELECT COUNT(*) FROM lb_migration", &rows, err);
	code = rows_step(rows, err);
	if (code > 0)
		code = rows_int(rows, 0, 0, INT32_MAX, &have, err);
	rows_close(rows);
	if (code == E_CORRUPT)
		return err_set(err, E_NOT_FOUND, "database %s has no store (yet)", r->url.database);
	return code < 0 ? code : check_version(r, have, err);
}

static int my_reader_open(const char *rest, struct reader **ret, struct err *err)
{
	struct my_reader *r = mem_new(sizeof *r);
	int code;

	r->base.ops = &read_mysql_ops;
	code = my_url_parse(rest, &r->url, err);
	if (code == 0)
		code = check_schema(r, err);
	if (code < 0)
		my_reader_close(&r->base);
	else
		*ret = &r->base;
	return code;
}

static void reader_quote(void *ctx, struct buf *b, const char *text, size_t len)
{
	struct my_reader *r = ctx;
	MYSQL *db = r->db;

	/* Between calls the connection may be gone; the rules of quoting are the same. */
	MYSQL *own = db ? NULL : mysql_init(NULL);
	my_quote(db ? db : own, b, text, len);
	if (own)
		mysql_close(own);
}

static int my_reader_size(struct reader *base, uint64_t *ret_bytes, struct err *err)
{
	struct rows *rows = NULL;
	int64_t bytes = 0;
	int code = my_reader_query(base, "tables",
	                           "SELECT CAST(COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS"
	                           " SIGNED) FROM information_schema.TABLES WHERE TABLE_SCHEMA ="
	                           " DATABASE()",
	                           &rows, err);

	if (code == 0)
		code = rows_step(rows, err);
	if (code > 0)
		code = rows_int(rows, 0, 0, INT64_MAX, &bytes, err);
	rows_close(rows);
	*ret_bytes = (uint64_t)bytes;
	return code;
}

const struct read_ops read_mysql_ops = {
	.prefix = "mysql:",
	.open = my_reader_open,
	.close = my_reader_close,
	.begin = my_reader_begin,
	.end = my_reader_end,
	.query = my_reader_query,
	.quote = reader_quote,
	.size = my_reader_size,
	.by_history_key = " FORCE INDEX (lb_task_run_history_key)",
};
