#include "store/read.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/read_impl.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"

/* Virtual machine steps between two looks at the clock: some tenths of a millisecond. */
#define PROGRESS_STEPS 20000

static int on_progress(void *ctx)
{
	const struct reader *r = ctx;

	return clock_mono_us(&clock_machine) > r->deadline_us;
}

static int open_database(struct reader *r, const char *path, struct err *err)
{
	int rc = sqlite3_open_v2(path, &r->db,
	                         SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
	                         NULL);
	int code;

	if (rc != SQLITE_OK)
		return sql_fail(r->db, rc, path, err);
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

int reader_open(const char *url, struct reader **ret_reader, struct err *err)
{
	static const char prefix[] = "sqlite:";
	struct reader *r;
	char *path;
	int code;

	if (strncmp(url, prefix, sizeof prefix - 1) != 0)
		return err_set(err, E_UNSUPPORTED, "store url '%s': reading wants sqlite:DIRECTORY",
		               url);
	r = mem_new(sizeof *r);
	r->deadline_us = INT64_MAX;
	path = mem_fmt("%s/sirdar.db", url + sizeof prefix - 1);
	if (access(path, F_OK) < 0 && errno == ENOENT)
		code = err_set(err, E_NOT_FOUND, "no store at %s", path);
	else
		code = open_database(r, path, err);
	free(path);
	if (code < 0) {
		reader_close(r);
		return err_wrap(err, code, "reader");
	}
	*ret_reader = r;
	return 0;
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	sqlite3_close(r->db);
	free(r);
}

static int number_now(struct reader *r, uint64_t *ret, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int64_t number = 0;
	int code, rc = sqlite3_prepare_v2(r->db, "SELECT number FROM lb_leader WHERE id = 1", -1,
	                                  &q, NULL);

	if (rc != SQLITE_OK)
		return sql_fail(r->db, rc, "lb_leader", err);
	code = sql_step(r->db, q, err);
	if (code > 0)
		code = sql_column(q, 0, "lb_leader", 0, INT64_MAX, &number, err);
	else if (code == 0)
		code = err_set(err, E_CORRUPT, "lb_leader has no row");
	sqlite3_finalize(q);
	if (code == 0 && ret)
		*ret = (uint64_t)number;
	return code;
}

int read_begin(struct reader *r, uint64_t *ret_number, struct err *err)
{
	int code;

	r->deadline_us = clock_mono_us(&clock_machine) + READ_TIME_MS * US_PER_MS;
	code = sql_exec(r->db, "BEGIN", err);
	if (code == 0)
		code = number_now(r, ret_number, err);
	return code < 0 ? read_end(r, code) : 0;
}

int read_end(struct reader *r, int code)
{
	r->deadline_us = INT64_MAX;
	if (!sqlite3_get_autocommit(r->db))
		sql_exec(r->db, "ROLLBACK", NULL);
	return code;
}

int read_prepare(struct reader *r, sqlite3_str *text, sqlite3_stmt **ret_stmt, struct err *err)
{
	char *sql = sqlite3_str_finish(text);
	int rc = sql ? sqlite3_prepare_v2(r->db, sql, -1, ret_stmt, NULL) : SQLITE_NOMEM;
	int code = rc == SQLITE_OK ? 0 : sql_fail(r->db, rc, sql ? sql : "memory", err);

	sqlite3_free(sql);
	return code;
}

int read_number(struct reader *r, uint64_t *ret_number, struct err *err)
{
	int code = read_begin(r, ret_number, err);

	return code < 0 ? code : read_end(r, 0);
}

/* A cursor: list, direction, then the key's numbers, dots between. */
int read_cursor_parse(const struct read_page *page, const char *list, int keys,
                      struct read_from *ret, struct err *err)
{
	size_t len = strlen(list);
	const char *p = page->cursor;

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

void read_cursor_make(struct read_answer *ret, const struct read_page *page, const char *list,
                      int keys, const int64_t *key)
{
	int n = snprintf(ret->cursor, sizeof ret->cursor, "%s%c", list,
	                 page->descending ? 'd' : 'a');

	for (int i = 0; i < keys; i++)
		n += snprintf(ret->cursor + n, sizeof ret->cursor - (size_t)n, ".%" PRId64, key[i]);
}
