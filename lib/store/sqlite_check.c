/* Does the database file hold together? SQLite's own check, within a bound. */
#include <stdio.h>
#include <string.h>

#include "store/sql_text.h"
#include "store/sqlite.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"

enum { STEPS_A_LOOK = 10000, ROWS_A_SLICE = 5000 };

/* Ends the statement when its time is over. */
static int is_over(void *until_us)
{
	return clock_mono_us(&clock_machine) > *(const int64_t *)until_us;
}

/* "PRAGMA quick_check". E_AGAIN: not done in time. */
static int quick_check(struct sqlite_store *s, const char *text, int64_t limit_us, struct err *err)
{
	int64_t until_us = clock_mono_us(&clock_machine) + limit_us;
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(s->db, text, -1, &q, NULL);
	int r = 0;

	if (limit_us)
		sqlite3_progress_handler(s->db, STEPS_A_LOOK, is_over, &until_us);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(q);
	if (rc == SQLITE_ROW) {
		const char *says = (const char *)sqlite3_column_text(q, 0);
		if (!says || strcmp(says, "ok") != 0) {
			if (says && strncmp(says, "***", 3) == 0 && strchr(says, '\n'))
				says = strchr(says, '\n') + 1;
			size_t n = says ? strcspn(says, "\n") : 0;
			r = err_set(err, E_DAMAGED, "%s/sirdar.db is damaged: %.*s", s->dir,
			            (int)(n > 150 ? 150 : n), says ? says : "");
		}
	} else if ((rc & 0xff) == SQLITE_INTERRUPT) {
		r = E_AGAIN;
	} else if (rc != SQLITE_DONE) {
		r = sql_fail(s->db, rc, text, err);
	}
	sqlite3_finalize(q);
	sqlite3_progress_handler(s->db, 0, NULL, NULL);
	return r;
}

int sqlite_inspect(struct store *st, int64_t limit_us, struct err *err)
{
	return quick_check((struct sqlite_store *)st, "PRAGMA quick_check(1)", limit_us, err);
}

/* 1 it is there, 0 there is no such. */
static int table_at(struct sqlite_store *s, struct store_scrub *at, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(
		s->db,
		"SELECT name, (SELECT count(*) FROM sqlite_schema WHERE type = 'table')"
		" FROM sqlite_schema WHERE type = 'table' ORDER BY name LIMIT 1 OFFSET ?1",
		-1, &q, NULL);
	int r = 0;

	if (rc != SQLITE_OK)
		return sql_fail(s->db, rc, "sqlite_schema", err);
	sql_bind(q, "i", (int64_t)at->done);
	r = sql_step(s->db, q, err);
	if (r > 0) {
		snprintf(at->table, sizeof at->table, "%s",
		         (const char *)sqlite3_column_text(q, 0));
		at->of = (uint64_t)sqlite3_column_int64(q, 1);
	}
	sqlite3_finalize(q);
	return r;
}

/* A table that takes too long for one look: its rows, some thousand at a time. */
static int read_slice(struct sqlite_store *s, struct store_scrub *at, struct err *err)
{
	struct buf text;
	buf_init(&text);
	sql_put(&text, sqlite_quote, NULL,
	        "SELECT rowid, * FROM ? WHERE rowid > ? ORDER BY rowid LIMIT ?", "n?i", at->table,
	        (int64_t)ROWS_A_SLICE);
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(s->db, buf_str(&text), -1, &q, NULL), rows = 0, r = 0;

	buf_done(&text);
	if (rc != SQLITE_OK) { /* it has no rowid: small ones only */
		sqlite3_finalize(q);
		at->in_rows = false;
		at->done++;
		return 0;
	}
	sql_bind(q, "i", at->row);
	while ((r = sql_step(s->db, q, err)) > 0) {
		at->row = sqlite3_column_int64(q, 0);
		sqlite3_column_bytes(q, sqlite3_column_count(q) - 1); /* what overflows too */
		rows++;
	}
	sqlite3_finalize(q);
	if (r == 0 && rows < ROWS_A_SLICE) {
		at->in_rows = false;
		at->done++;
	}
	return r;
}

int sqlite_scrub(struct store *st, struct store_scrub *at, int64_t limit_us, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;

	if (at->in_rows) {
		int code = read_slice(s, at, err);
		return code < 0 ? code : 1;
	}
	int r = table_at(s, at, err);
	if (r <= 0)
		return r;
	struct buf text;
	buf_init(&text);
	sql_put(&text, sqlite_quote, NULL, "PRAGMA quick_check(?)", "n", at->table);
	r = quick_check(s, buf_str(&text), limit_us, err);
	buf_done(&text);
	if (r == E_AGAIN) {
		at->in_rows = true;
		at->row = INT64_MIN;
		at->partly++;
		return 1;
	}
	at->done += r == 0;
	return r < 0 ? r : 1;
}
