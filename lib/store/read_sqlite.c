/* SQLite for the reader: a connection that can only read, and statements as rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/read_impl.h"
#include "store/sqlite.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

/* Virtual machine steps between two looks at the clock: some tenths of a millisecond. */
#define PROGRESS_STEPS 20000

/* Texts of queries that are kept compiled: compiling costs ten times what finding a row does.
 * Lists with filters have many texts; the one unused for longest goes. */
#define KEPT_MAX 64

struct kept {
	struct sql_rows rows; /* rows.q NULL: the place is free */
	char *text;
	uint64_t used; /* when, in calls */
	bool is_lent;
};

struct sqlite_reader {
	struct reader base;
	char *path;
	sqlite3 *db;
	struct stat file;    /* the one that is open */
	int64_t deadline_us; /* of the present call */
	sqlite3_stmt *begin, *rollback;
	struct kept kept[KEPT_MAX];
	uint64_t calls;
};

static int on_progress(void *ctx)
{
	const struct sqlite_reader *r = ctx;

	return clock_mono_us(&clock_machine) > r->deadline_us;
}

static void close_database(struct sqlite_reader *r)
{
	for (size_t i = 0; i < KEPT_MAX; i++) {
		sqlite3_finalize(r->kept[i].rows.q);
		free(r->kept[i].text);
		r->kept[i] = (struct kept){ 0 };
	}
	sqlite3_finalize(r->begin);
	sqlite3_finalize(r->rollback);
	sqlite3_close(r->db);
	r->begin = r->rollback = NULL;
	r->db = NULL;
}

static void sqlite_reader_close(struct reader *base)
{
	struct sqlite_reader *r = (struct sqlite_reader *)base;

	close_database(r);
	free(r->path);
	free(r);
}

static int open_database(struct sqlite_reader *r, struct err *err)
{
	int code, rc;

	if (stat(r->path, &r->file) < 0 && errno == ENOENT)
		return err_set(err, E_NOT_FOUND, "no store at %s", r->path);
	rc = sqlite3_open_v2(r->path, &r->db,
	                     SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
	                     NULL);
	if (rc != SQLITE_OK)
		return sql_fail(r->db, rc, r->path, err);
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_busy_timeout(r->db, 1000);
	code = sql_exec(r->db,
	                "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;"
	                "PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY",
	                err);
	if (code == 0)
		code = sqlite_check_schema(r->db, err);
	sqlite3_progress_handler(r->db, PROGRESS_STEPS, on_progress, r);
	return code;
}

static int sqlite_reader_open(const char *dir, struct reader **ret, struct err *err)
{
	struct sqlite_reader *r = mem_new(sizeof *r);
	int code;

	r->path = mem_fmt("%s/sirdar.db", dir);
	r->base.ops = &read_sqlite_ops;
	r->deadline_us = INT64_MAX;
	code = open_database(r, err);
	if (code < 0)
		sqlite_reader_close(&r->base);
	else
		*ret = &r->base;
	return code;
}

static int run_kept(struct sqlite_reader *r, sqlite3_stmt **q, const char *text, struct err *err)
{
	int rc = SQLITE_OK;

	if (!*q)
		rc = sqlite3_prepare_v3(r->db, text, -1, SQLITE_PREPARE_PERSISTENT, q, NULL);
	if (rc == SQLITE_OK) {
		rc = sqlite3_step(*q);
		sqlite3_reset(*q);
	}
	return rc == SQLITE_OK || rc == SQLITE_DONE ? 0 : sql_fail(r->db, rc, text, err);
}

/* A copy put in the file's place is another file: the open one is nobody's any more, and what is in
 * it never changes again. */
static int reopen_if_replaced(struct sqlite_reader *r, struct err *err)
{
	struct stat now;
	int code;

	if (r->db && stat(r->path, &now) == 0 && now.st_ino == r->file.st_ino &&
	    now.st_dev == r->file.st_dev)
		return 0;
	close_database(r);
	code = open_database(r, err);
	if (code < 0) /* looked for again with the next call */
		close_database(r);
	return code;
}

static int sqlite_reader_begin(struct reader *base, struct err *err)
{
	struct sqlite_reader *r = (struct sqlite_reader *)base;
	int code = reopen_if_replaced(r, err);

	if (code < 0)
		return code;
	r->deadline_us = clock_mono_us(&clock_machine) + READ_TIME_MS * US_PER_MS;
	return run_kept(r, &r->begin, "BEGIN", err);
}

static void sqlite_reader_end(struct reader *base)
{
	struct sqlite_reader *r = (struct sqlite_reader *)base;

	r->deadline_us = INT64_MAX;
	if (r->db && !sqlite3_get_autocommit(r->db))
		run_kept(r, &r->rollback, "ROLLBACK", NULL);
}

static void kept_close(struct rows *rows)
{
	struct kept *k = (struct kept *)rows;

	sqlite3_reset(k->rows.q);
	sqlite3_clear_bindings(k->rows.q);
	k->is_lent = false;
}

static const struct rows_ops kept_rows_ops = { SQL_ROWS_OPS, .close = kept_close };

/* The text's own place, else a free one, else the one unused for longest; NULL: all are lent. */
static struct kept *kept_place(struct sqlite_reader *r, const char *text)
{
	struct kept *oldest = NULL;

	for (size_t i = 0; i < KEPT_MAX; i++) {
		struct kept *k = &r->kept[i];
		if (k->is_lent)
			continue;
		if (k->text && strcmp(k->text, text) == 0)
			return k;
		if (!oldest || k->used < oldest->used)
			oldest = k;
	}
	return oldest;
}

static int sqlite_reader_query(struct reader *base, const char *table, const char *text,
                               struct rows **ret, struct err *err)
{
	struct sqlite_reader *r = (struct sqlite_reader *)base;
	struct kept *k = kept_place(r, text);
	sqlite3_stmt *q = NULL;

	CHECK(k); /* a caller has few queries open at a time, and closes them */
	if (!k->text || strcmp(k->text, text) != 0) {
		int rc = sqlite3_prepare_v3(r->db, text, -1, SQLITE_PREPARE_PERSISTENT, &q, NULL);
		if (rc != SQLITE_OK)
			return sql_fail(r->db, rc, text, err);
		sqlite3_finalize(k->rows.q);
		free(k->text);
		k->text = mem_str(text);
		k->rows.q = q;
	}
	k->rows = sql_rows(r->db, k->rows.q, table);
	k->rows.base.ops = &kept_rows_ops;
	k->used = ++r->calls;
	k->is_lent = true;
	*ret = &k->rows.base;
	return 0;
}

void sqlite_quote(void *ctx, struct buf *b, const char *text, size_t len)
{
	(void)ctx;
	buf_putc(b, '\'');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\'')
			buf_putc(b, '\'');
		buf_putc(b, text[i]);
	}
	buf_putc(b, '\'');
}

static int pragma(struct sqlite_reader *r, const char *text, int64_t *ret, struct err *err)
{
	struct rows *rows = NULL;
	int code = sqlite_reader_query(&r->base, "pragma", text, &rows, err);

	if (code < 0)
		return code;
	code = rows_step(rows, err);
	if (code > 0)
		code = rows_int(rows, 0, 0, INT64_MAX, ret, err);
	rows_close(rows);
	return code;
}

static int sqlite_size(struct reader *base, uint64_t *ret_bytes, struct err *err)
{
	struct sqlite_reader *r = (struct sqlite_reader *)base;
	int64_t pages = 0, page = 0;
	int code = pragma(r, "PRAGMA page_count", &pages, err);

	if (code == 0)
		code = pragma(r, "PRAGMA page_size", &page, err);
	*ret_bytes = (uint64_t)(pages * page);
	return code;
}

const struct read_ops read_sqlite_ops = {
	.prefix = "sqlite:",
	.open = sqlite_reader_open,
	.close = sqlite_reader_close,
	.begin = sqlite_reader_begin,
	.end = sqlite_reader_end,
	.query = sqlite_reader_query,
	.quote = sqlite_quote,
	.size = sqlite_size,
	.by_history_key = " INDEXED BY lb_task_run_history_key",
};
