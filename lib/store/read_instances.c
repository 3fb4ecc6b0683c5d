/* Instances as one list: unfinished ones (lb_task_run) and history, merged in the order asked for.
 *
 * Both tables are read in the same order and merged row by row, so a page costs about its own
 * size in each. The cursor holds the sort key of the last row shown, so it means the same in both
 * tables. Dates that were left out together are a row of their own (ranges), put where the first of
 * them belongs. A filter by what the caller may see is part of the statement, not a look at rows
 * afterwards. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/read_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

#define NO_PART "-2147483648" /* of a range: the first date may have a row too */

static const struct sort {
	const char *list; /* of the cursor */
	int keys;
	const char *columns[READ_KEYS_MAX];
	const char *range[READ_KEYS_MAX]; /* the same of a range; the first one ascending */
	const char *range_last;           /* and descending; NULL: no other */
} sorts[READ_SORT_COUNT] = {
	[READ_BY_RUN_DATE] = { "ir",
	                       3,
	                       { "curr_run_date", "task_id", "part" },
	                       { "lo", "task_id", NO_PART },
	                       "hi" },
	[READ_BY_CHANGE] = { "ic", 1, { "last_number" }, { "number" }, NULL },
	[READ_BY_START] = { "is", 2, { "started_us", "last_number" }, { "0", "number" }, NULL },
	[READ_BY_END] = { "ie", 2, { "ended_us", "last_number" }, { "at_us", "number" }, NULL },
	[READ_BY_PRIORITY] = { "ip",
	                       2,
	                       { "priority", "last_number" },
	                       { "priority", "number" },
	                       NULL },
	[READ_BY_STATE] = { "it", 2, { "job_status", "last_number" }, { "10", "number" }, NULL },
};

static const char live_table[] = "lb_task_run", done_table[] = "lb_task_run_history",
		  range_table[] = "lb_task_range";

struct found {
	union {
		struct instance inst;
		struct store_range range;
	};
	int64_t key[READ_KEYS_MAX];
	bool is_range;
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
	bool of_ranges;         /* lb_task_range is asked, not runs */
	bool is_large;          /* the live table is asked, and is large ... */
	struct read_from bound; /* ... and no row worse than this is wanted */
};

/* The condition of SQLite's index of bad ends must stand there word by word to be used. */
#define BAD_STATES (1u << ST_STOP | 1u << ST_KILLED)

static void where_states(struct buf *q, uint32_t states, bool history)
{
	bool first = true;

	if (!states)
		return;
	if (history && !(states & ~BAD_STATES))
		buf_puts(q, " AND job_status IN (5, 8)");
	for (int st = ST_NONE + 1; st < ST_COUNT; st++)
		if (states & 1u << st) {
			read__put_list(q, " AND +job_status IN (", state_number((enum state)st),
			               first);
			first = false;
		}
	buf_puts(q, first ? " AND 0" : ")");
}

static void instances_where(struct reader *r, struct buf *q, const struct read_filter *f,
                            bool history)
{
	read__where_tasks(r, q, f);
	where_states(q, f->states, history);
	if (f->from || f->to)
		read__put(r, q, " AND curr_run_date >= ? AND curr_run_date < ?", "ii", f->from,
		          f->to);
	if (f->broker)
		read__put(r, q, " AND broker_id = ?", "i", (int64_t)f->broker);
	if (!f->parts)
		buf_puts(q, " AND part = 0");
	if (!f->tests && !f->n_tasks && !f->workflow)
		read__put(r, q, " AND origin <> ?", "i", (int64_t)OR_TEST);
}

static const char *column(const struct query *c, int i)
{
	CHECK(i >= 0 && i < c->sort->keys);
	if (!c->of_ranges)
		return c->sort->columns[i];
	return i == 0 && c->page->descending && c->sort->range_last ? c->sort->range_last
	                                                            : c->sort->range[i];
}

static void append_columns(struct buf *q, const struct query *c, const char *after)
{
	for (int i = 0; i < c->sort->keys; i++) {
		buf_puts(q, i ? ", " : "");
		buf_puts(q, column(c, i));
		buf_puts(q, after);
	}
}

/* The first column stands there alone as well: MySQL finds its place by it. */
static void where_key(const struct query *c, struct buf *q, const int64_t *key, bool up,
                      const char *than)
{
	read__put(c->r, q, up ? " AND ? >= ? AND (" : " AND ? <= ? AND (", "ni", column(c, 0),
	          key[0]);
	append_columns(q, c, "");
	buf_puts(q, than);
	for (int i = 0; i < c->sort->keys; i++)
		read__put_list(q, "", key[i], i == 0);
	buf_puts(q, ")");
}

static void where_begun(const struct query *c, struct buf *q)
{
	bool down = c->page->descending;

	where_key(c, q, c->from.key, !down, down ? ") < (" : ") > (");
}

static void append_order(struct buf *q, const struct query *c)
{
	for (int i = 0; i < c->sort->keys; i++) {
		const char *name = column(c, i);
		if (name[0] >= 'a') {
			buf_puts(q, name);
			buf_puts(q, c->page->descending ? " DESC, " : ", ");
		}
	}
	buf_puts(q, c->page->descending ? "number DESC" : "number");
}

static void append_list(const struct query *c, struct buf *q, const char *table)
{
	bool down = c->page->descending;

	read__put(c->r, q, " FROM ? WHERE 1", "n", table);
	if (c->of_ranges)
		read__range_where(c->r, q, c->f);
	else
		instances_where(c->r, q, c->f, table == done_table);
	if (c->from.begun)
		where_begun(c, q);
	if (c->bound.begun)
		where_key(c, q, c->bound.key, down, down ? ") >= (" : ") <= (");
	buf_puts(q, " ORDER BY ");
	if (c->of_ranges) /* a number there would be a column's place */
		append_order(q, c);
	else
		append_columns(q, c, down ? " DESC" : "");
	read__put(c->r, q, " LIMIT ?", "i", (int64_t)c->page->limit + 1);
}

/* Of a large table places are sorted, not rows. */
static struct buf list_sql(const struct query *c, const char *table)
{
	struct buf q = { 0 };

	buf_puts(&q, c->of_ranges ? "SELECT " RANGE_COLUMNS ", " : "SELECT " INSTANCE_COLUMNS ", ");
	append_columns(&q, c, "");
	if (!c->is_large) {
		append_list(c, &q, table);
		return q;
	}
	read__put(c->r, &q, " FROM ? JOIN (SELECT id AS place", "n", table);
	append_list(c, &q, table);
	buf_puts(&q, ") AS k ON id = place ORDER BY ");
	append_columns(&q, c, c->page->descending ? " DESC" : "");
	return q;
}

static int take_rows(const struct query *c, struct rows *q, struct list *l, struct err *err)
{
	int code = 0;

	while (l->n < l->max && (code = rows_step(q, err)) > 0) {
		struct found *row = &l->rows[l->n];

		row->is_range = c->of_ranges;
		code = c->of_ranges ? rows_range(q, &row->range, err)
		                    : rows_instance(q, &row->inst, err);
		for (int i = 0; i < c->sort->keys && code == 0; i++)
			code = rows_int(q, (c->of_ranges ? RANGE_WIDTH : INSTANCE_WIDTH) + i,
			                INT64_MIN, INT64_MAX, &row->key[i], err);
		if (code < 0)
			break;
		l->n++;
	}
	CHECK(l->n <= l->max);
	return code < 0 ? code : 0;
}

static int list_table(const struct query *c, const char *table, struct list *l, struct err *err)
{
	struct rows *rows = NULL;
	struct buf text = list_sql(c, table);
	int code = read__query(c->r, table, &text, &rows, err);

	CHECK(c->of_ranges == (table == range_table));
	if (code < 0)
		return code;
	code = take_rows(c, rows, l, err);
	rows_close(rows);
	return code;
}

/* --- a large live table ---------------------------------------------------------------------
 *
 * It has no index but its id: one by date costs a fourth of what is stored a second. All of it is
 * looked through, but little of it needs to be sorted: as many rows as are wanted, wherever they
 * are from, say that none worse than the worst of them is. Rows are made about in the order of
 * their dates and changes, so those at the two ends of the table say it nearly as well as can be.
 */

enum { LARGE = 10000 }; /* a probe looks at as many places */

static struct buf probe_sql(const struct query *c, bool last)
{
	struct buf q = { 0 };

	buf_puts(&q, "SELECT ");
	append_columns(&q, c, "");
	read__put(c->r, &q,
	          last ? " FROM ? WHERE id >= (SELECT max(id) - ? FROM lb_task_run)"
	               : " FROM ? WHERE id <= (SELECT min(id) + ? FROM lb_task_run)",
	          "ni", live_table, (int64_t)LARGE);
	instances_where(c->r, &q, c->f, false);
	if (c->from.begun)
		where_begun(c, &q);
	read__put(c->r, &q, last ? " ORDER BY id DESC LIMIT ?" : " ORDER BY id LIMIT ?", "i",
	          (int64_t)c->page->limit + 1);
	return q;
}

static bool is_worse(const struct query *c, const int64_t *a, const int64_t *b)
{
	for (int i = 0; i < c->sort->keys; i++)
		if (a[i] != b[i])
			return c->page->descending ? a[i] < b[i] : a[i] > b[i];
	return false;
}

static int probe_end(struct query *c, bool last, struct err *err)
{
	int64_t key[READ_KEYS_MAX] = { 0 }, worst[READ_KEYS_MAX] = { 0 };
	struct buf text = probe_sql(c, last);
	struct rows *rows = NULL;
	size_t n = 0;
	int code = read__query(c->r, live_table, &text, &rows, err);

	if (code < 0)
		return code;
	while ((code = rows_step(rows, err)) > 0) {
		for (int i = 0; i < c->sort->keys && code >= 0; i++)
			code = rows_int(rows, i, INT64_MIN, INT64_MAX, &key[i], err);
		if (code < 0)
			break;
		if (n++ == 0 || is_worse(c, key, worst))
			memcpy(worst, key, sizeof worst);
	}
	rows_close(rows);
	bool tells = code == 0 && n > c->page->limit;
	if (tells && (!c->bound.begun || is_worse(c, c->bound.key, worst))) {
		c->bound.begun = true;
		memcpy(c->bound.key, worst, sizeof worst);
	}
	return code;
}

static int look_at_size(struct query *c, struct err *err)
{
	struct buf text = { 0 };
	struct rows *rows = NULL;
	int64_t id = 0;

	buf_puts(&text, "SELECT id FROM lb_task_run ORDER BY id DESC LIMIT 1");
	int code = read__query(c->r, live_table, &text, &rows, err);
	if (code < 0)
		return code;
	code = rows_step(rows, err);
	if (code > 0)
		code = rows_int(rows, 0, INT64_MIN, INT64_MAX, &id, err);
	rows_close(rows);
	c->is_large = id > LARGE;
	return code < 0 ? code : 0;
}

static int list_live(const struct query *c, struct list *l, struct err *err)
{
	struct query live = *c;
	int code = look_at_size(&live, err);

	if (code == 0 && live.is_large)
		code = probe_end(&live, true, err);
	if (code == 0 && live.is_large)
		code = probe_end(&live, false, err);
	return code < 0 ? code : list_table(&live, live_table, l, err);
}

/* The rows of some tasks by run date: the index begins with the date, so go from date to
 * date and look the tasks up in each. Cost follows the dates, not the other tasks' rows. */
static struct buf date_sql(const struct query *c)
{
	struct buf q = { 0 };
	bool down = c->page->descending;

	read__put(c->r, &q,
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
	read__put(c->r, &q, " FROM ?", "n", done_table);
	buf_puts(&q, c->r->ops->by_history_key);
	buf_puts(&q, " WHERE curr_run_date = ?");
	instances_where(c->r, &q, c->f, true);
	if (c->from.begun)
		read__put(c->r, &q,
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
	code = read__query(c->r, done_table, &text, &date, err);
	if (code == 0) {
		text = rows_of_date_sql(c);
		code = read__query(c->r, done_table, &text, &rows, err);
	}
	if (code == 0)
		code = step_dates(c, date, rows, l, err);
	rows_close(date);
	rows_close(rows);
	return code;
}

static int instances_compare(const struct query *c, const struct found *a, const struct found *b)
{
	for (int i = 0; i < c->sort->keys; i++)
		if (a->key[i] != b->key[i])
			return (a->key[i] < b->key[i]) == c->page->descending ? 1 : -1;
	return 0;
}

enum { LISTS = 3 }; /* live, history, ranges */

static const struct found *take_first(const struct query *c, const struct list *l, size_t at[LISTS])
{
	int first = -1;

	for (int k = 0; k < LISTS; k++)
		if (at[k] < l[k].n &&
		    (first < 0 ||
		     instances_compare(c, &l[k].rows[at[k]], &l[first].rows[at[first]]) < 0))
			first = k;
	CHECK(first >= 0);
	return &l[first].rows[at[first]++];
}

static int instances_merge(const struct query *c, const struct list *l,
                           int (*each)(void *ctx, const struct instance *i), void *ctx,
                           struct read_answer *ret)
{
	size_t at[LISTS] = { 0 }, n = l[0].n + l[1].n + l[2].n;
	const struct found *last = NULL;
	int code = 0;

	for (size_t i = 0; i < n && i < c->page->limit && code >= 0; i++) {
		last = take_first(c, l, at);
		code = last->is_range ? c->f->each_range(ctx, &last->range)
		                      : each(ctx, &last->inst);
	}
	if (last && n > c->page->limit)
		read__cursor_make(ret, c->page, c->sort->list, c->sort->keys, last->key);
	return code < 0 ? code : 0;
}

int read_instances(struct reader *r, const struct read_filter *f, const struct read_page *page,
                   int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err)
{
	struct query c = { .r = r, .f = f, .page = page };
	struct list lists[LISTS] = { 0 };
	struct read_answer answer = { 0 };
	int code;

	if (f->sort >= READ_SORT_COUNT || f->n_tasks > READ_TASKS_MAX)
		return err_set(err, E_INVALID, "no such sort, or more than %d tasks",
		               READ_TASKS_MAX);
	c.sort = &sorts[f->sort];
	code = read__cursor_parse(page, c.sort->list, c.sort->keys, &c.from, err);
	if (code < 0)
		return code;
	code = read__begin(r, &answer.number, err);
	if (code < 0)
		return code;
	for (int k = 0; k < LISTS; k++) {
		lists[k].max = page->limit + 1;
		lists[k].rows = mem_array(lists[k].max, sizeof *lists[k].rows);
	}
	code = list_live(&c, &lists[0], err);
	if (code == 0)
		code = read__leave_gaps(r, &lists[0].rows->inst, lists[0].n, sizeof(struct found),
		                        err);
	if (code == 0)
		code = list_history(&c, &lists[1], err);
	c.of_ranges = true;
	if (code == 0 && f->each_range)
		code = list_table(&c, range_table, &lists[2], err);
	read__end(r, code);
	if (code == 0)
		code = instances_merge(&c, lists, each, ctx, &answer);
	for (int k = 0; k < LISTS; k++)
		free(lists[k].rows);
	if (code == 0 && page->answer)
		*page->answer = answer;
	return code;
}

/* 1 found, 0 not. In lb_task_run this is a scan: that table has no index but its id. */
static int find_in(struct reader *r, const char *table, struct inst_key key, struct instance *ret,
                   struct err *err)
{
	struct rows *rows = NULL;
	struct buf q = { 0 };
	int code;

	read__put(r, &q,
	          "SELECT " INSTANCE_COLUMNS " FROM ? WHERE curr_run_date = ? AND task_id = ?"
	          " AND part = ?",
	          "niii", table, key.run_date, (int64_t)key.task, (int64_t)key.part);
	read__see_tasks(r, &q, "task_id");
	code = read__query(r, table, &q, &rows, err);
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

int read__find_instance(struct reader *r, struct inst_key key, struct instance *ret,
                        struct err *err)
{
	struct store_range range;
	int code = find_in(r, done_table, key, ret, err);

	if (code == 0)
		code = find_in(r, live_table, key, ret, err);
	int moved = code > 0 ? read__leave_gaps(r, ret, 1, 0, err) : 0;
	if (moved < 0)
		return moved;
	if (code == 0) {
		code = read__range_over(r, key, &range, err);
		if (code > 0) {
			*ret = store_range_row(&range, key.run_date);
			ret->due = ret->eff_due_us = 0;
			ret->marks = key.run_date > range.lo && key.run_date < range.hi;
		}
	}
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
	int code = read__begin(r, &number, err);

	if (code < 0)
		return code;
	code = read__end(r, read__find_instance(r, key, &i, err));
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
	read__put(r, &q, "SELECT job_status, count(*) FROM ? WHERE 1", "n", table);
	instances_where(r, &q, &any, table == done_table);
	buf_puts(&q, " GROUP BY job_status");
	code = read__query(r, table, &q, &rows, err);
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
	code = read__begin(r, &number, err);
	if (code < 0)
		return code;
	code = count_table(r, f, live_table, counts, err);
	if (code == 0)
		code = count_table(r, f, done_table, counts, err);
	if (code == 0)
		code = read__range_count(r, f, &counts[ST_SKIPPED], err);
	read__end(r, code);
	if (code < 0)
		return code;
	memcpy(ret_counts, counts, sizeof counts);
	if (ret_number)
		*ret_number = number;
	return 0;
}
