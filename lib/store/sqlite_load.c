#include <inttypes.h>

#include "store/sqlite.h"
#include "util/alloc.h"
#include "util/err.h"

/* Every loop here: step, read, each(); a negative answer ends it. The statement is reset
 * in any case, since an open one holds its snapshot and stops the log from shrinking. */

static int bad_key(struct inst_key k, const char *what, struct err *err)
{
	return err_set(err, E_CORRUPT,
	               "lb_task_run row of task_id %" PRIu32 ", curr_run_date %" PRId64
	               ", part %" PRId32 ": %s",
	               k.task, k.run_date, k.part, what);
}

int sqlite_know_cycles(struct sqlite_store *s, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int64_t task = 0, cycle_s = 0;

	if (s->cycles_known)
		return 0;
	int r = sql_get(s, SQL_LOAD_CYCLES, &q, err);

	map_done(&s->cycles);
	map_init(&s->cycles);
	if (r < 0)
		return r;
	while ((r = sql_step(s->db, q, err)) > 0) {
		r = sql_column(q, 0, "lb_task", 0, UINT32_MAX, &task, err);
		if (r == 0)
			r = sql_column(q, 1, "lb_task", INT64_MIN, INT64_MAX, &cycle_s, err);
		if (r < 0)
			break;
		if (cycle_s > 0 && cycle_s < MAP_NONE)
			map_add(&s->cycles, (uint64_t)task, (uint32_t)cycle_s);
	}
	sqlite3_reset(q);
	s->cycles_known = r == 0;
	return r;
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
	int r = sqlite_know_cycles(s, err);

	if (r == 0)
		r = sql_get(s, SQL_LOAD_LIVE, &q, err);
	if (r < 0)
		return r;
	r = load_rows(s, q, each, ctx, err);
	/* Every page went through the cache once: what is changed next comes from the system's. */
	sqlite3_db_release_memory(s->db);
	return r;
}

int sqlite_scan_live(struct store *st, uint32_t from, size_t max,
                     int (*each)(void *ctx, uint32_t slot, uint64_t last_number), void *ctx,
                     struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int64_t id = 0, number = 0;
	int r = sql_get(s, SQL_SCAN_LIVE, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "ii", (int64_t)from + 1, max > INT64_MAX ? INT64_MAX : (int64_t)max);
	while ((r = sql_step(s->db, q, err)) > 0) {
		r = sql_column(q, 0, "lb_task_run", 1, UINT32_MAX, &id, err);
		if (r == 0)
			r = sql_column(q, 1, "lb_task_run", 0, INT64_MAX, &number, err);
		if (r == 0)
			r = each(ctx, (uint32_t)(id - 1), (uint64_t)number);
		if (r < 0)
			break;
	}
	sqlite3_reset(q);
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

static const enum sql_id doc_loads[] = {
	[DOC_WORKFLOW] = SQL_LOAD_WORKFLOW, [DOC_CALENDAR] = SQL_LOAD_CALENDAR,
	[DOC_RUNNER] = SQL_LOAD_RUNNER,     [DOC_BROKER] = SQL_LOAD_BROKER,
	[DOC_TYPE] = SQL_LOAD_TYPE,         [DOC_SERVER] = SQL_LOAD_SERVER,
	[DOC_POOL] = SQL_LOAD_POOL,         [DOC_SETTING] = SQL_LOAD_SETTING,
	[DOC_PLAN] = SQL_LOAD_PLAN,         [DOC_NODE] = SQL_LOAD_NODE,
	[DOC_USER] = SQL_LOAD_USER,         [DOC_SILENCE] = SQL_LOAD_SILENCE,
	[DOC_GROUP] = SQL_LOAD_GROUP,       [DOC_TOKEN] = SQL_LOAD_TOKEN,
	[DOC_DRAFT] = SQL_LOAD_DRAFT,       [DOC_DEVICE] = SQL_LOAD_DEVICE,
	[DOC_PREFS] = SQL_LOAD_PREFS,
};

int sqlite_load_docs(struct store *st, enum store_doc_kind kind,
                     int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	struct store_doc d;
	int r;

	if (!doc_table(kind))
		return err_set(err, E_INVALID, "document kind %d", (int)kind);
	r = sql_get(s, doc_loads[kind], &q, err);
	if (r < 0)
		return r;
	struct sql_rows rows = sql_rows(s->db, q, doc_table(kind));
	while ((r = rows_step(&rows.base, err)) > 0) {
		r = rows_doc(&rows.base, kind, &d, err);
		if (r == 0)
			r = each(ctx, &d);
		if (r < 0)
			break;
	}
	sqlite3_reset(q);
	return r;
}

int sqlite_find_workflow(struct store *st, uint32_t id, uint32_t version,
                         int (*each)(void *ctx, const struct store_doc *d), void *ctx,
                         struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	struct store_doc d;
	enum store_doc_kind kind = workflow_kind(version);
	int r = sql_get(s, kind == DOC_DRAFT ? SQL_FIND_DRAFT : SQL_FIND_WORKFLOW, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "ii", (int64_t)id, (int64_t)version);
	struct sql_rows rows = sql_rows(s->db, q, doc_table(kind));
	r = rows_step(&rows.base, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "no version %" PRIu32 " of workflow %" PRIu32,
		            version, id);
	else if (r > 0)
		r = rows_doc(&rows.base, kind, &d, err);
	if (r == 0)
		r = each(ctx, &d);
	sqlite3_reset(q);
	return r;
}

int sqlite_events(struct store *st, uint64_t after, uint64_t upto,
                  int (*each)(void *ctx, const int64_t *columns, size_t n), void *ctx,
                  struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_TAIL, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "ii", (int64_t)after, (int64_t)upto);
	struct sql_rows rows = sql_rows(s->db, q, "lb_task_event");
	r = rows_each_event(&rows.base, each, ctx, err);
	sqlite3_reset(q);
	return r;
}

int sqlite_load_tasks(struct store *st, int (*each)(void *ctx, const struct store_task *t),
                      void *ctx, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	struct store_task t;
	int r = sql_get(s, SQL_LOAD_TASKS, &q, err);

	if (r < 0)
		return r;
	struct sql_rows rows = sql_rows(s->db, q, "lb_task");
	while ((r = rows_step(&rows.base, err)) > 0) {
		r = rows_task(&rows.base, &t, err);
		if (r == 0)
			r = each(ctx, &t);
		if (r < 0)
			break;
	}
	sqlite3_reset(q);
	return r;
}

/* How many rows `each` saw, or negative. */
static int each_command(struct sqlite_store *s, sqlite3_stmt *q,
                        int (*each)(void *ctx, const struct store_command *c), void *ctx,
                        struct err *err)
{
	struct sql_rows rows = sql_rows(s->db, q, "lb_command");
	struct store_command c;
	int r, n = 0;

	while ((r = rows_step(&rows.base, err)) > 0) {
		r = rows_command(&rows.base, &c, err);
		if (r == 0)
			r = each(ctx, &c);
		if (r < 0)
			break;
		n++;
	}
	sqlite3_reset(q);
	return r < 0 ? r : n;
}

int sqlite_load_commands(struct store *st, bool unfinished_only,
                         int (*each)(void *ctx, const struct store_command *c), void *ctx,
                         struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, unfinished_only ? SQL_LOAD_OPEN : SQL_LOAD_COMMANDS, &q, err);

	if (r == 0)
		r = each_command(s, q, each, ctx, err);
	return r < 0 ? r : 0;
}

int sqlite_find_command(struct store *st, const char *request_id,
                        int (*each)(void *ctx, const struct store_command *c), void *ctx,
                        struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_FIND_COMMAND, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "t", request_id);
	r = each_command(s, q, each, ctx, err);
	if (r == 0)
		return err_set(err, E_NOT_FOUND, "no command with request id %.80s", request_id);
	return r < 0 ? r : 0;
}

int sqlite_find_data(struct store *st, uint64_t last_number, uint32_t generation,
                     enum inst_data kind, char **ret_body, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	const char *body;
	int r = sql_get(s, SQL_FIND_DATA, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "iiii", (int64_t)last_number, (int64_t)generation, (int64_t)generation,
	         (int64_t)kind);
	struct sql_rows rows = sql_rows(s->db, q, "lb_task_data");
	r = sql_step(s->db, q, err);
	if (r == 0)
		return err_set(err, E_NOT_FOUND, "no data of kind %d at %" PRIu64, (int)kind,
		               last_number);
	if (r > 0)
		r = rows_text(&rows.base, 0, &body, err);
	if (r == 0)
		*ret_body = mem_str(body);
	sqlite3_reset(q);
	return r;
}

int sqlite_find_done(struct store *st, struct inst_key key, struct instance *ret, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_FIND_DONE, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "iii", key.run_date, (int64_t)key.task, (int64_t)key.part);
	r = sql_step(s->db, q, err);
	if (r == 0)
		return err_set(err, E_NOT_FOUND,
		               "no finished instance of task %" PRIu32 " at %" PRId64
		               ", part %" PRId32,
		               key.task, key.run_date, key.part);
	struct sql_rows rows = sql_rows(s->db, q, "lb_task_run_history");
	if (r > 0)
		r = rows_instance(&rows.base, ret, err);
	sqlite3_reset(q);
	return r;
}
