/* Instances: two ordered lists, live and history, merged. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/read_impl.h"
#include "util/alloc.h"
#include "util/err.h"

static const struct sort {
	const char *list; /* of the cursor */
	int keys;
	const char *columns[READ_KEYS_MAX];
} sorts[READ_SORT_COUNT] = {
	[READ_BY_RUN_DATE] = { "ir", 3, { "curr_run_date", "task_id", "part" } },
	[READ_BY_CHANGE] = { "ic", 1, { "last_number" } },
	[READ_BY_START] = { "is", 2, { "started_us", "last_number" } },
	[READ_BY_END] = { "ie", 2, { "ended_us", "last_number" } },
	[READ_BY_PRIORITY] = { "ip", 2, { "priority", "last_number" } },
	[READ_BY_STATE] = { "it", 2, { "job_status", "last_number" } },
};

static const char live_table[] = "lb_task_run", done_table[] = "lb_task_run_history";

struct found {
	struct instance inst;
	int64_t key[READ_KEYS_MAX];
};

/* One list as far as needed: page->limit + 1 rows, to know whether there are more. */
struct list {
	struct found *rows;
	size_t n, max;
};

struct query {
	struct reader *r;
	const struct read_filter *f;
	const struct sort *sort;
	const struct read_page *page;
	struct read_from from;
};

/* The condition of the index of bad ends must stand there word by word to be used. */
#define BAD_STATES (1u << ST_STOP | 1u << ST_KILLED)

static void where_states(sqlite3_str *q, uint32_t states, bool history)
{
	const char *comma = "";

	if (!states)
		return;
	if (history && !(states & ~BAD_STATES))
		sqlite3_str_appendall(q, " AND job_status IN (5, 8)");
	sqlite3_str_appendall(q, " AND +job_status IN (");
	for (int st = ST_NONE + 1; st < ST_COUNT; st++)
		if (states & 1u << st) {
			sqlite3_str_appendf(q, "%s%d", comma, state_number((enum state)st));
			comma = ",";
		}
	sqlite3_str_appendall(q, ")");
}

static void where_tasks(sqlite3_str *q, const struct read_filter *f)
{
	for (size_t i = 0; i < f->n_tasks; i++)
		sqlite3_str_appendf(q, "%s%u", i ? "," : " AND task_id IN (", f->tasks[i]);
	if (f->n_tasks)
		sqlite3_str_appendall(q, ")");
	if (f->workflow)
		sqlite3_str_appendf(q,
		                    " AND task_id IN (SELECT task_id FROM lb_task"
		                    " WHERE workflow_id = %u)",
		                    f->workflow);
}

static void where(sqlite3_str *q, const struct read_filter *f, bool history)
{
	where_tasks(q, f);
	where_states(q, f->states, history);
	if (f->from || f->to)
		sqlite3_str_appendf(q, " AND curr_run_date >= %lld AND curr_run_date < %lld",
		                    (long long)f->from, (long long)f->to);
	if (f->broker)
		sqlite3_str_appendf(q, " AND broker_id = %u", f->broker);
	if (!f->parts)
		sqlite3_str_appendall(q, " AND part = 0");
}

static void append_columns(sqlite3_str *q, const struct query *c, const char *after)
{
	for (int i = 0; i < c->sort->keys; i++)
		sqlite3_str_appendf(q, "%s%s%s", i ? ", " : "", c->sort->columns[i], after);
}

static sqlite3_str *list_sql(const struct query *c, const char *table)
{
	sqlite3_str *q = sqlite3_str_new(c->r->db);

	sqlite3_str_appendall(q, "SELECT " SQL_INSTANCE_COLUMNS ", ");
	append_columns(q, c, "");
	sqlite3_str_appendf(q, " FROM %s WHERE 1", table);
	where(q, c->f, table == done_table);
	if (c->from.begun) {
		sqlite3_str_appendall(q, " AND (");
		append_columns(q, c, "");
		sqlite3_str_appendf(q, ") %s (", c->page->descending ? "<" : ">");
		for (int i = 0; i < c->sort->keys; i++)
			sqlite3_str_appendf(q, "%s%lld", i ? "," : "", (long long)c->from.key[i]);
		sqlite3_str_appendall(q, ")");
	}
	sqlite3_str_appendall(q, " ORDER BY ");
	append_columns(q, c, c->page->descending ? " DESC" : "");
	sqlite3_str_appendf(q, " LIMIT %lld", (long long)c->page->limit + 1);
	return q;
}

static int take_rows(const struct query *c, sqlite3_stmt *q, const char *table, struct list *l,
                     struct err *err)
{
	int code = 0;

	while (l->n < l->max && (code = sql_step(c->r->db, q, err)) > 0) {
		struct found *row = &l->rows[l->n];

		code = sql_instance(q, table, &row->inst, err);
		if (code < 0)
			break;
		for (int i = 0; i < c->sort->keys; i++)
			row->key[i] = sqlite3_column_int64(q, SQL_INSTANCE_WIDTH + i);
		l->n++;
	}
	return code < 0 ? code : 0;
}

static int list_table(const struct query *c, const char *table, struct list *l, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int code = read_prepare(c->r, list_sql(c, table), &q, err);

	if (code < 0)
		return code;
	code = take_rows(c, q, table, l, err);
	sqlite3_finalize(q);
	return code;
}

/* The rows of some tasks by run date: the index begins with the date, so go from date to
 * date and look the tasks up in each. Cost follows the dates, not the other tasks' rows. */
static int prepare_dates(const struct query *c, sqlite3_stmt **ret_date, sqlite3_stmt **ret_rows,
                         struct err *err)
{
	bool down = c->page->descending;
	sqlite3_str *q = sqlite3_str_new(c->r->db);
	int code;

	sqlite3_str_appendf(q,
	                    "SELECT curr_run_date FROM %s WHERE curr_run_date %s ?1"
	                    " ORDER BY curr_run_date %s LIMIT 1",
	                    done_table, down ? "<=" : ">=", down ? "DESC" : "ASC");
	code = read_prepare(c->r, q, ret_date, err);
	if (code < 0)
		return code;
	q = sqlite3_str_new(c->r->db);
	sqlite3_str_appendall(q, "SELECT " SQL_INSTANCE_COLUMNS ", ");
	append_columns(q, c, "");
	sqlite3_str_appendf(q,
	                    " FROM %s INDEXED BY lb_task_run_history_key"
	                    " WHERE curr_run_date = ?1",
	                    done_table);
	where(q, c->f, true);
	if (c->from.begun)
		sqlite3_str_appendf(q,
		                    " AND (curr_run_date <> %lld OR (task_id, part) %s"
		                    " (%lld, %lld))",
		                    (long long)c->from.key[0], down ? "<" : ">",
		                    (long long)c->from.key[1], (long long)c->from.key[2]);
	sqlite3_str_appendf(q, " ORDER BY task_id %s, part %s", down ? "DESC" : "ASC",
	                    down ? "DESC" : "ASC");
	return read_prepare(c->r, q, ret_rows, err);
}

static int step_dates(const struct query *c, sqlite3_stmt *date, sqlite3_stmt *rows, struct list *l,
                      struct err *err)
{
	bool down = c->page->descending, bounded = c->f->from || c->f->to;
	int64_t lo = bounded ? c->f->from : INT64_MIN, hi = bounded ? c->f->to - 1 : INT64_MAX;
	int64_t at = c->from.begun ? c->from.key[0] : down ? hi : lo;
	int code = 0;

	while (l->n < l->max && at >= lo && at <= hi) {
		sql_bind(date, "i", at);
		code = sql_step(c->r->db, date, err);
		if (code <= 0)
			break;
		at = sqlite3_column_int64(date, 0);
		sqlite3_reset(date);
		if (at < lo || at > hi)
			break;
		sql_bind(rows, "i", at);
		code = take_rows(c, rows, done_table, l, err);
		sqlite3_reset(rows);
		if (code < 0 || at == (down ? INT64_MIN : INT64_MAX))
			break;
		at += down ? -1 : 1;
	}
	return code < 0 ? code : 0;
}

static int list_history(const struct query *c, struct list *l, struct err *err)
{
	sqlite3_stmt *date = NULL, *rows = NULL;
	int code;

	if (c->sort != &sorts[READ_BY_RUN_DATE] || (!c->f->n_tasks && !c->f->workflow))
		return list_table(c, done_table, l, err);
	code = prepare_dates(c, &date, &rows, err);
	if (code == 0)
		code = step_dates(c, date, rows, l, err);
	sqlite3_finalize(date);
	sqlite3_finalize(rows);
	return code;
}

static int compare(const struct query *c, const struct found *a, const struct found *b)
{
	for (int i = 0; i < c->sort->keys; i++)
		if (a->key[i] != b->key[i])
			return (a->key[i] < b->key[i]) == c->page->descending ? 1 : -1;
	return 0;
}

static int merge(const struct query *c, const struct list *a, const struct list *b,
                 int (*each)(void *ctx, const struct instance *i), void *ctx,
                 struct read_answer *ret)
{
	size_t at[2] = { 0, 0 }, n = a->n + b->n;
	const struct found *last = NULL;
	int code = 0;

	for (size_t i = 0; i < n && i < c->page->limit && code >= 0; i++) {
		if (at[1] == b->n ||
		    (at[0] < a->n && compare(c, &a->rows[at[0]], &b->rows[at[1]]) < 0))
			last = &a->rows[at[0]++];
		else
			last = &b->rows[at[1]++];
		code = each(ctx, &last->inst);
	}
	if (last && n > c->page->limit)
		read_cursor_make(ret, c->page, c->sort->list, c->sort->keys, last->key);
	return code < 0 ? code : 0;
}

int read_instances(struct reader *r, const struct read_filter *f, enum read_sort sort,
                   const struct read_page *page, int (*each)(void *ctx, const struct instance *i),
                   void *ctx, struct read_answer *ret, struct err *err)
{
	struct query c = { .r = r, .f = f, .page = page };
	struct list live = { .max = page->limit + 1 }, done = live;
	struct read_answer answer = { 0 };
	int code;

	if (sort >= READ_SORT_COUNT || f->n_tasks > READ_TASKS_MAX)
		return err_set(err, E_INVALID, "no such sort, or more than %d tasks",
		               READ_TASKS_MAX);
	c.sort = &sorts[sort];
	code = read_cursor_parse(page, c.sort->list, c.sort->keys, &c.from, err);
	if (code < 0)
		return code;
	code = read_begin(r, &answer.number, err);
	if (code < 0)
		return code;
	live.rows = mem_array(live.max, sizeof *live.rows);
	done.rows = mem_array(done.max, sizeof *done.rows);
	code = list_table(&c, live_table, &live, err);
	if (code == 0)
		code = list_history(&c, &done, err);
	read_end(r, code);
	if (code == 0)
		code = merge(&c, &live, &done, each, ctx, &answer);
	free(live.rows);
	free(done.rows);
	if (code == 0)
		*ret = answer;
	return code;
}

/* 1 found, 0 not. In lb_task_run this is a scan: that table has no index but its id. */
static int find_in(struct reader *r, const char *table, struct inst_key key, struct instance *ret,
                   struct err *err)
{
	sqlite3_str *text = sqlite3_str_new(r->db);
	sqlite3_stmt *q = NULL;
	int code;

	sqlite3_str_appendf(text,
	                    "SELECT " SQL_INSTANCE_COLUMNS " FROM %s WHERE curr_run_date = %lld"
	                    " AND task_id = %u AND part = %d",
	                    table, (long long)key.run_date, key.task, key.part);
	code = read_prepare(r, text, &q, err);
	if (code < 0)
		return code;
	code = sql_step(r->db, q, err);
	if (code > 0) {
		code = sql_instance(q, table, ret, err);
		code = code < 0 ? code : 1;
	}
	sqlite3_finalize(q);
	return code;
}

int read_find_instance(struct reader *r, struct inst_key key, struct instance *ret, struct err *err)
{
	int code = find_in(r, done_table, key, ret, err);

	if (code == 0)
		code = find_in(r, live_table, key, ret, err);
	if (code == 0)
		return err_set(err, E_NOT_FOUND,
		               "no instance of task %" PRIu32 " at %" PRId64 ", part %" PRId32,
		               key.task, key.run_date, key.part);
	return code < 0 ? code : 0;
}

int read_instance(struct reader *r, struct inst_key key, struct instance *ret, uint64_t *ret_number,
                  struct err *err)
{
	uint64_t number = 0;
	struct instance i;
	int code = read_begin(r, &number, err);

	if (code < 0)
		return code;
	code = read_end(r, read_find_instance(r, key, &i, err));
	if (code < 0)
		return code;
	*ret = i;
	if (ret_number)
		*ret_number = number;
	return 0;
}

static int count_table(struct reader *r, const struct read_filter *f, const char *table,
                       uint64_t counts[ST_COUNT], struct err *err)
{
	struct read_filter any = *f;
	sqlite3_str *text = sqlite3_str_new(r->db);
	sqlite3_stmt *q = NULL;
	int code;

	any.states = 0;
	any.parts = false;
	sqlite3_str_appendf(text, "SELECT job_status, count(*) FROM %s WHERE 1", table);
	where(text, &any, table == done_table);
	sqlite3_str_appendall(text, " GROUP BY job_status");
	code = read_prepare(r, text, &q, err);
	if (code < 0)
		return code;
	while ((code = sql_step(r->db, q, err)) > 0) {
		enum state st;

		if (!state_from_number(sqlite3_column_int(q, 0), &st)) {
			code = err_set(err, E_CORRUPT, "%s: column job_status has %d", table,
			               sqlite3_column_int(q, 0));
			break;
		}
		counts[st] += (uint64_t)sqlite3_column_int64(q, 1);
	}
	sqlite3_finalize(q);
	return code;
}

int read_counts(struct reader *r, const struct read_filter *f, uint64_t ret_counts[ST_COUNT],
                uint64_t *ret_number, struct err *err)
{
	uint64_t counts[ST_COUNT] = { 0 }, number = 0;
	int code;

	if (f->n_tasks > READ_TASKS_MAX)
		return err_set(err, E_INVALID, "more than %d tasks", READ_TASKS_MAX);
	code = read_begin(r, &number, err);
	if (code < 0)
		return code;
	code = count_table(r, f, live_table, counts, err);
	if (code == 0)
		code = count_table(r, f, done_table, counts, err);
	read_end(r, code);
	if (code < 0)
		return code;
	memcpy(ret_counts, counts, sizeof counts);
	if (ret_number)
		*ret_number = number;
	return 0;
}
