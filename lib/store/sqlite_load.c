/* sqlite_load.c — live rows out of SQLite, all of them or by ranges of ids.
 *
 * They are the bulk of a start, so they do not come as rows.h has them: SQLite calls load_row(...),
 * an aggregate of ours, once for each row with all its values (see on_row()). `loading` of the
 * store says whom the rows are for while such a statement runs.
 */
#include <inttypes.h>

#include "store/sqlite.h"
#include "util/err.h"

static int bad_key(struct inst_key k, const char *what, struct err *err)
{
	return err_set(err, E_CORRUPT,
	               "lb_task_run row of task_id %" PRIu32 ", curr_run_date %" PRId64
	               ", part %" PRId32 ": %s",
	               k.task, k.run_date, k.part, what);
}

static int live_row(struct sqlite_store *s, sqlite3_value **v)
{
	struct err *err = s->loading.err;
	int64_t id = sqlite3_value_int64(v[INSTANCE_WIDTH]);
	struct instance i;
	int r = sql_instance_values(v, "lb_task_run", &i, err);

	if (r < 0)
		return r;
	if (id <= 0 || id > UINT32_MAX)
		return bad_key(i.key, "column id is not in 1..4294967295", err);
	i.slot = (uint32_t)(id - 1);
	if (state_final((enum state)i.state))
		return bad_key(i.key, "column job_status is a final state", err);
	return s->loading.each(s->loading.ctx, &i);
}

/* An aggregate: one call takes a row with all its values. A step and an asking for each
 * column took half as long again. */
static void on_row(sqlite3_context *out, int n, sqlite3_value **v)
{
	struct sqlite_store *s = sqlite3_user_data(out);

	(void)n;
	s->loading.code = live_row(s, v);
	if (s->loading.code < 0)
		sqlite3_result_error(out, "ended", -1);
}

static void on_last_row(sqlite3_context *out)
{
	sqlite3_result_null(out);
}

int sqlite_load_register(struct sqlite_store *s, struct err *err)
{
	int rc = sqlite3_create_function_v2(s->db, "load_row", INSTANCE_WIDTH + 1,
	                                    SQLITE_UTF8 | SQLITE_DIRECTONLY, s, NULL, on_row,
	                                    on_last_row, NULL);

	return rc == SQLITE_OK ? 0 : sql_fail(s->db, rc, "load_row", err);
}

/* A table without an index is read in the order of its ids. */
static int load_rows(struct sqlite_store *s, sqlite3_stmt *q,
                     int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err)
{
	struct err own = { 0 };

	s->loading.each = each;
	s->loading.ctx = ctx;
	s->loading.err = err;
	s->loading.code = 0;
	int r = sql_run(s, q, &own);
	if (s->loading.code < 0)
		return s->loading.code;
	return r < 0 ? err_set(err, r, "%s", own.text) : 0;
}

int sqlite_load_live(struct store *st, int (*each)(void *ctx, const struct instance *i), void *ctx,
                     struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = row_know_cycles(&s->rows, err);

	if (r == 0)
		r = sql_get(s, SQL_LOAD_LIVE, &q, err);
	if (r < 0)
		return r;
	r = load_rows(s, q, each, ctx, err);
	/* Every page went through the cache once: what is changed next comes from the system's. */
	sqlite3_db_release_memory(s->db);
	return r;
}

int sqlite_read_live(struct store *st, const uint32_t *slots, size_t n,
                     int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_READ_LIVE, &q, err);

	for (size_t i = 0, end; r == 0 && i < n; i = end) {
		for (end = i + 1; end < n && slots[end] == slots[end - 1] + 1; end++)
			;
		sql_bind(q, "ii", (int64_t)slots[i] + 1, (int64_t)slots[end - 1] + 1);
		r = load_rows(s, q, each, ctx, err);
	}
	return r;
}
