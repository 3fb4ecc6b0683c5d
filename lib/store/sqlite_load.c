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
	int64_t id = sqlite3_value_int64(v[SQL_INSTANCE_WIDTH]);
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
	int rc = sqlite3_create_function_v2(s->db, "load_row", SQL_INSTANCE_WIDTH + 1,
	                                    SQLITE_UTF8 | SQLITE_DIRECTONLY, s, NULL, on_row,
	                                    on_last_row, NULL);

	return rc == SQLITE_OK ? 0 : sql_fail(s->db, rc, "load_row", err);
}

/* A table without an index is read in the order of its ids. */
int sqlite_load_live(struct store *st, int (*each)(void *ctx, const struct instance *i), void *ctx,
                     struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	sqlite3_stmt *q = NULL;
	struct err own = { 0 };
	int r = sqlite_know_cycles(s, err);

	if (r == 0)
		r = sql_get(s, SQL_LOAD_LIVE, &q, err);
	if (r < 0)
		return r;
	s->loading.each = each;
	s->loading.ctx = ctx;
	s->loading.err = err;
	s->loading.code = 0;
	r = sql_run(s, q, &own);
	if (s->loading.code < 0)
		return s->loading.code;
	if (r < 0)
		return err_set(err, r, "%s", own.text);
	return 0;
}

static const struct {
	enum sql_id load;
	const char *table;
} docs[] = {
	/* by enum store_doc_kind */
	[DOC_WORKFLOW] = { SQL_LOAD_WORKFLOW, "lb_workflow" },
	[DOC_CALENDAR] = { SQL_LOAD_CALENDAR, "lb_calendar" },
	[DOC_RUNNER] = { SQL_LOAD_RUNNER, "lb_runner" },
	[DOC_BROKER] = { SQL_LOAD_BROKER, "lb_broker" },
	[DOC_TYPE] = { SQL_LOAD_TYPE, "lb_task_type" },
	[DOC_SERVER] = { SQL_LOAD_SERVER, "lb_server" },
	[DOC_POOL] = { SQL_LOAD_POOL, "lb_pool" },
	[DOC_SETTING] = { SQL_LOAD_SETTING, "lb_setting" },
	[DOC_PLAN] = { SQL_LOAD_PLAN, "lb_plan" },
};

const char *sql_doc_table(enum store_doc_kind kind)
{
	return kind >= DOC_WORKFLOW && kind <= DOC_PLAN ? docs[kind].table : NULL;
}

int sql_doc(sqlite3_stmt *q, const char *table, struct store_doc *ret, struct err *err)
{
	struct store_doc d = { 0 };
	int64_t id = 0, version = 0, retired = 0;
	int r = sql_column(q, 0, table, 0, UINT32_MAX, &id, err);

	if (r == 0)
		r = sql_column(q, 1, table, 0, UINT32_MAX, &version, err);
	if (r == 0)
		r = sql_column_text(q, 2, table, &d.name, err);
	if (r == 0)
		r = sql_column(q, 3, table, 0, 1, &retired, err);
	if (r == 0)
		r = sql_column_text(q, 4, table, &d.actor, err);
	if (r == 0)
		r = sql_column(q, 5, table, INT64_MIN, INT64_MAX, &d.at_us, err);
	if (r == 0)
		r = sql_column_text(q, 6, table, &d.body, err);
	if (r < 0)
		return r;
	d.body_len = (size_t)sqlite3_column_bytes(q, 6);
	d.id = (uint32_t)id;
	d.version = (uint32_t)version;
	d.retired = retired;
	*ret = d;
	return 0;
}

int sqlite_load_docs(struct store *st, enum store_doc_kind kind,
                     int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	struct store_doc d;
	sqlite3_stmt *q = NULL;
	int r;

	if (kind < DOC_WORKFLOW || kind > DOC_PLAN)
		return err_set(err, E_INVALID, "document kind %d", (int)kind);
	r = sql_get(s, docs[kind].load, &q, err);
	if (r < 0)
		return r;
	while ((r = sql_step(s->db, q, err)) > 0) {
		r = sql_doc(q, docs[kind].table, &d, err);
		if (r == 0) {
			d.kind = kind;
			r = each(ctx, &d);
		}
		if (r < 0)
			break;
	}
	sqlite3_reset(q);
	return r;
}

int sql_task(sqlite3_stmt *q, struct store_task *ret, struct err *err)
{
	struct store_task t = { 0 };
	int64_t v[15] = { 0 };
	int r = 0;
	static const struct {
		int64_t lo, hi; /* lo > hi: text */
	} want[15] = {
		{ 0, UINT32_MAX },
		{ 1, 0 },
		{ 1, 0 },
		{ INT64_MIN, INT64_MAX },
		{ INT64_MIN, INT64_MAX },
		{ INT64_MIN, INT64_MAX },
		{ 0, 3 },
		{ 0, 1 },
		{ 0, UINT32_MAX },
		{ 0, UINT32_MAX },
		{ INT64_MIN, INT64_MAX },
		{ INT64_MIN, INT64_MAX },
		{ INT64_MIN, INT64_MAX },
		{ 1, 0 },
		{ INT32_MIN, INT32_MAX },
	};

	for (int i = 0; i < 15 && r == 0; i++) {
		const char *text;

		if (want[i].lo > want[i].hi)
			r = sql_column_text(q, i, "lb_task", &text, err);
		else
			r = sql_column(q, i, "lb_task", want[i].lo, want[i].hi, &v[i], err);
	}
	if (r < 0)
		return r;
	t.id = (uint32_t)v[0];
	t.name = (const char *)sqlite3_column_text(q, 1);
	t.type = (const char *)sqlite3_column_text(q, 2);
	t.cycle_s = v[3];
	t.start_s = v[4];
	t.end_s = v[5];
	t.state = (uint8_t)v[6];
	t.frozen = v[7];
	t.workflow_id = (uint32_t)v[8];
	t.version = (uint32_t)v[9];
	t.anchor = v[10];
	t.online_from = v[11];
	t.planned_through = v[12];
	t.owner = (const char *)sqlite3_column_text(q, 13);
	t.priority = (int32_t)v[14];
	*ret = t;
	return 0;
}

int sqlite_load_tasks(struct store *st, int (*each)(void *ctx, const struct store_task *t),
                      void *ctx, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	struct store_task t;
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_LOAD_TASKS, &q, err);

	if (r < 0)
		return r;
	while ((r = sql_step(s->db, q, err)) > 0) {
		r = sql_task(q, &t, err);
		if (r == 0)
			r = each(ctx, &t);
		if (r < 0)
			break;
	}
	sqlite3_reset(q);
	return r;
}

int sql_command(sqlite3_stmt *q, struct store_command *ret, struct err *err)
{
	static const char table[] = "lb_command";
	struct store_command c = { 0 };
	int64_t id = 0, state = 0, total = 0, done = 0, failed = 0;
	int r = sql_column(q, 0, table, 0, INT64_MAX, &id, err);
	const char **const texts[] = { &c.request_id, &c.actor, &c.kind, &c.args, &c.error };

	for (int i = 0; i < 5 && r == 0; i++)
		r = sql_column_text(q, i + 1, table, texts[i], err);
	if (r == 0)
		r = sql_column(q, 6, table, 0, UINT8_MAX, &state, err);
	if (r == 0)
		r = sql_column(q, 7, table, 0, INT64_MAX, &c.created_us, err);
	if (r == 0)
		r = sql_column(q, 8, table, 0, INT64_MAX, &c.ended_us, err);
	if (r == 0)
		r = sql_column(q, 9, table, 0, UINT32_MAX, &total, err);
	if (r == 0)
		r = sql_column(q, 10, table, 0, UINT32_MAX, &done, err);
	if (r == 0)
		r = sql_column(q, 11, table, 0, UINT32_MAX, &failed, err);
	if (r == 0)
		r = sql_column_text(q, 12, table, &c.cursor, err);
	if (r < 0)
		return r;
	c.id = (uint64_t)id;
	c.state = (uint8_t)state;
	c.total = (uint32_t)total;
	c.done = (uint32_t)done;
	c.failed = (uint32_t)failed;
	*ret = c;
	return 0;
}

/* How many rows `each` saw, or negative. */
static int each_command(struct sqlite_store *s, sqlite3_stmt *q,
                        int (*each)(void *ctx, const struct store_command *c), void *ctx,
                        struct err *err)
{
	struct store_command c;
	int r, n = 0;

	while ((r = sql_step(s->db, q, err)) > 0) {
		r = sql_command(q, &c, err);
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
	sql_bind(q, "iii", (int64_t)last_number, (int64_t)generation, (int64_t)kind);
	r = sql_step(s->db, q, err);
	if (r == 0)
		return err_set(err, E_NOT_FOUND, "no data of kind %d at %" PRIu64, (int)kind,
		               last_number);
	if (r > 0)
		r = sql_column_text(q, 0, "lb_task_data", &body, err);
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
	if (r > 0)
		r = sql_instance(q, "lb_task_run_history", ret, err);
	sqlite3_reset(q);
	return r;
}
