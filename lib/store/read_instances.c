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

/* The condition of SQLite's index of bad ends must stand there word by word to be used. */
#define BAD_STATES (1u << ST_STOP | 1u << ST_KILLED)

static void put_list(struct buf *q, const char *before, int64_t value, bool first)
{
	buf_puts(q, first ? before : ",");
	sql_put_int(q, value);
}

static void where_states(struct buf *q, uint32_t states, bool history)
{
	bool first = true;

	if (!states)
		return;
	if (history && !(states & ~BAD_STATES))
		buf_puts(q, " AND job_status IN (5, 8)");
	for (int st = ST_NONE + 1; st < ST_COUNT; st++)
		if (states & 1u << st) {
			put_list(q, " AND +job_status IN (", state_number((enum state)st), first);
			first = false;
		}
	buf_puts(q, first ? " AND 0" : ")");
}

static void where_tasks(struct reader *r, struct buf *q, const struct read_filter *f)
{
	for (size_t i = 0; i < f->n_tasks; i++)
		put_list(q, " AND task_id IN (", f->tasks[i], i == 0);
	if (f->n_tasks)
		buf_puts(q, ")");
	if (f->workflow)
		read_put(r, q,
		         " AND task_id IN (SELECT task_id FROM lb_task WHERE workflow_id = ?)", "i",
		         (int64_t)f->workflow);
}

static void where(struct reader *r, struct buf *q, const struct read_filter *f, bool history)
{
	where_tasks(r, q, f);
	where_states(q, f->states, history);
	if (f->from || f->to)
		read_put(r, q, " AND curr_run_date >= ? AND curr_run_date < ?", "ii", f->from,
		         f->to);
	if (f->broker)
		read_put(r, q, " AND broker_id = ?", "i", (int64_t)f->broker);
	if (!f->parts)
		buf_puts(q, " AND part = 0");
}

static void append_columns(struct buf *q, const struct query *c, const char *after)
{
	for (int i = 0; i < c->sort->keys; i++) {
		buf_puts(q, i ? ", " : "");
		buf_puts(q, c->sort->columns[i]);
		buf_puts(q, after);
	}
}

/* The first column stands there alone as well: MySQL finds its place by it. */
static void where_begun(const struct query *c, struct buf *q)
{
	read_put(c->r, q, c->page->descending ? " AND ? <= ? AND (" : " AND ? >= ? AND (", "ni",
	         c->sort->columns[0], c->from.key[0]);
	append_columns(q, c, "");
	buf_puts(q, c->page->descending ? ") < (" : ") > (");
	for (int i = 0; i < c->sort->keys; i++)
		put_list(q, "", c->from.key[i], i == 0);
	buf_puts(q, ")");
}

static struct buf list_sql(const struct query *c, const char *table)
{
	struct buf q = { 0 };

	buf_puts(&q, "SELECT " INSTANCE_COLUMNS ", ");
	append_columns(&q, c, "");
	read_put(c->r, &q, " FROM ? WHERE 1", "n", table);
	where(c->r, &q, c->f, table == done_table);
	if (c->from.begun)
		where_begun(c, &q);
	buf_puts(&q, " ORDER BY ");
	append_columns(&q, c, c->page->descending ? " DESC" : "");
	read_put(c->r, &q, " LIMIT ?", "i", (int64_t)c->page->limit + 1);
	return q;
}

static int take_rows(const struct query *c, struct rows *q, struct list *l, struct err *err)
{
	int code = 0;

	while (l->n < l->max && (code = rows_step(q, err)) > 0) {
		struct found *row = &l->rows[l->n];

		code = rows_instance(q, &row->inst, err);
		for (int i = 0; i < c->sort->keys && code == 0; i++)
			code = rows_int(q, INSTANCE_WIDTH + i, INT64_MIN, INT64_MAX, &row->key[i],
			                err);
		if (code < 0)
			break;
		l->n++;
	}
	return code < 0 ? code : 0;
}

static int list_table(const struct query *c, const char *table, struct list *l, struct err *err)
{
	struct rows *rows = NULL;
	struct buf text = list_sql(c, table);
	int code = read_query(c->r, table, &text, &rows, err);

	if (code < 0)
		return code;
	code = take_rows(c, rows, l, err);
	rows_close(rows);
	return code;
}

/* The rows of some tasks by run date: the index begins with the date, so go from date to
 * date and look the tasks up in each. Cost follows the dates, not the other tasks' rows. */
static struct buf date_sql(const struct query *c)
{
	struct buf q = { 0 };
	bool down = c->page->descending;

	read_put(c->r, &q,
	         down ? "SELECT curr_run_date FROM ? WHERE curr_run_date <= ? ORDER BY"
	                " curr_run_date DESC LIMIT 1"
	              : "SELECT curr_run_date FROM ? WHERE curr_run_date >= ? ORDER BY"
	                " curr_run_date LIMIT 1",
	         "n?", done_table);
	return q;
}

static struct buf rows_of_date_sql(const struct query *c)
{
	struct buf q = { 0 };
	bool down = c->page->descending;

	buf_puts(&q, "SELECT " INSTANCE_COLUMNS ", ");
	append_columns(&q, c, "");
	read_put(c->r, &q, " FROM ?", "n", done_table);
	buf_puts(&q, c->r->ops->by_history_key);
	buf_puts(&q, " WHERE curr_run_date = ?");
	where(c->r, &q, c->f, true);
	if (c->from.begun)
		read_put(c->r, &q,
		         down ? " AND (curr_run_date <> ? OR (task_id, part) < (?, ?))"
		              : " AND (curr_run_date <> ? OR (task_id, part) > (?, ?))",
		         "iii", c->from.key[0], c->from.key[1], c->from.key[2]);
	buf_puts(&q, down ? " ORDER BY task_id DESC, part DESC" : " ORDER BY task_id, part");
	return q;
}

static int step_dates(const struct query *c, struct rows *date, struct rows *rows, struct list *l,
                      struct err *err)
{
	bool down = c->page->descending, bounded = c->f->from || c->f->to;
	int64_t lo = bounded ? c->f->from : INT64_MIN, hi = bounded ? c->f->to - 1 : INT64_MAX;
	int64_t at = c->from.begun ? c->from.key[0] : down ? hi : lo;
	int code = 0;

	while (l->n < l->max && at >= lo && at <= hi) {
		rows_bind(date, 1, at);
		code = rows_step(date, err);
		if (code > 0)
			code = rows_int(date, 0, INT64_MIN, INT64_MAX, &at, err);
		else if (code == 0)
			break;
		if (code < 0 || at < lo || at > hi)
			break;
		rows_bind(rows, 1, at);
		code = take_rows(c, rows, l, err);
		if (code < 0 || at == (down ? INT64_MIN : INT64_MAX))
			break;
		at += down ? -1 : 1;
	}
	return code < 0 ? code : 0;
}

static int list_history(const struct query *c, struct list *l, struct err *err)
{
	struct rows *date = NULL, *rows = NULL;
	struct buf text;
	int code;

	if (c->sort != &sorts[READ_BY_RUN_DATE] || (!c->f->n_tasks && !c->f->workflow))
		return list_table(c, done_table, l, err);
	text = date_sql(c);
	code = read_query(c->r, done_table, &text, &date, err);
	if (code == 0) {
		text = rows_of_date_sql(c);
		code = read_query(c->r, done_table, &text, &rows, err);
	}
	if (code == 0)
		code = step_dates(c, date, rows, l, err);
	rows_close(date);
	rows_close(rows);
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
	struct rows *rows = NULL;
	struct buf q = { 0 };
	int code;

	read_put(r, &q,
	         "SELECT " INSTANCE_COLUMNS " FROM ? WHERE curr_run_date = ? AND task_id = ?"
	         " AND part = ?",
	         "niii", table, key.run_date, (int64_t)key.task, (int64_t)key.part);
	code = read_query(r, table, &q, &rows, err);
	if (code < 0)
		return code;
	code = rows_step(rows, err);
	if (code > 0) {
		code = rows_instance(rows, ret, err);
		code = code < 0 ? code : 1;
	}
	rows_close(rows);
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
	struct rows *rows = NULL;
	struct buf q = { 0 };
	int code;

	any.states = 0;
	any.parts = false;
	read_put(r, &q, "SELECT job_status, count(*) FROM ? WHERE 1", "n", table);
	where(r, &q, &any, table == done_table);
	buf_puts(&q, " GROUP BY job_status");
	code = read_query(r, table, &q, &rows, err);
	if (code < 0)
		return code;
	while ((code = rows_step(rows, err)) > 0) {
		int64_t status = 0, n = 0;
		enum state st = ST_NONE;

		code = rows_int(rows, 0, INT32_MIN, INT32_MAX, &status, err);
		if (code == 0)
			code = rows_int(rows, 1, 0, INT64_MAX, &n, err);
		if (code == 0 && !state_from_number((int)status, &st))
			code = err_set(err, E_CORRUPT, "%s: column job_status has %d", table,
			               (int)status);
		if (code < 0)
			break;
		counts[st] += (uint64_t)n;
	}
	rows_close(rows);
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
