/* Tasks, links, documents, commands, audit. */
#include <inttypes.h>
#include <string.h>

#include "store/read_impl.h"
#include "util/err.h"

/* What every list here does with a row: hand it on, and give the key of its place. */
struct row_sink {
	int (*row)(struct row_sink *sink, sqlite3_stmt *q, int64_t *ret_key, struct err *err);
	union {
		int (*task)(void *ctx, const struct store_task *t);
		int (*link)(void *ctx, const struct store_link *l);
		int (*doc)(void *ctx, const struct store_doc *d);
		int (*command)(void *ctx, const struct store_command *c);
		int (*item)(void *ctx, const struct store_command_item *i);
		int (*action)(void *ctx, const struct read_action *a);
	} each;
	void *ctx;
	enum store_doc_kind kind;
	uint64_t command;
};

/* Run the query; with a page it has LIMIT limit + 1, and the row too many makes the cursor.
 * Returns the number of rows, or negative. */
static int list_rows(struct reader *r, sqlite3_str *text, struct row_sink *sink,
                     const struct read_page *page, const char *list, int keys,
                     struct read_answer *answer, struct err *err)
{
	int64_t key[READ_KEYS_MAX] = { 0 };
	sqlite3_stmt *q = NULL;
	size_t n = 0;
	int code = read_prepare(r, text, &q, err);

	if (code < 0)
		return code;
	while ((code = sql_step(r->db, q, err)) > 0) {
		if (page && n == page->limit) {
			read_cursor_make(answer, page, list, keys, key);
			break;
		}
		code = sink->row(sink, q, key, err);
		if (code < 0)
			break;
		n++;
	}
	sqlite3_finalize(q);
	return code < 0 ? code : (int)n;
}

/* A query without pages, in its own snapshot. `what` NULL: none found is fine. */
static int one_list(struct reader *r, sqlite3_str *text, struct row_sink *sink, const char *what,
                    struct err *err)
{
	int code = read_begin(r, NULL, err);

	if (code < 0) {
		sqlite3_free(sqlite3_str_finish(text));
		return code;
	}
	code = read_end(r, list_rows(r, text, sink, NULL, NULL, 0, NULL, err));
	if (code == 0 && what)
		return err_set(err, E_NOT_FOUND, "no such %s", what);
	return code < 0 ? code : 0;
}

/* A page: `text` lacks only its ORDER BY and LIMIT. */
static int one_page(struct reader *r, sqlite3_str *text, const char *order, struct row_sink *sink,
                    const struct read_page *page, const char *list, int keys,
                    struct read_answer *ret, struct err *err)
{
	struct read_answer answer = { 0 };
	int code = read_begin(r, &answer.number, err);

	if (code < 0) {
		sqlite3_free(sqlite3_str_finish(text));
		return code;
	}
	sqlite3_str_appendf(text, " ORDER BY %s LIMIT %lld", order, (long long)page->limit + 1);
	code = read_end(r, list_rows(r, text, sink, page, list, keys, &answer, err));
	if (code < 0)
		return code;
	*ret = answer;
	return 0;
}

static int task_row(struct row_sink *sink, sqlite3_stmt *q, int64_t *key, struct err *err)
{
	struct store_task t;
	int code = sql_task(q, &t, err);

	if (code < 0)
		return code;
	key[0] = t.id;
	return sink->each.task(sink->ctx, &t);
}

static void where_task(sqlite3_str *q, const struct read_task_filter *f)
{
	const char *comma = "";

	if (f->prefix && *f->prefix)
		sqlite3_str_appendf(q,
		                    " AND task_name >= %Q AND substr(CAST(task_name AS BLOB), 1, "
		                    "%d) = CAST(%Q AS BLOB)",
		                    f->prefix, (int)strlen(f->prefix), f->prefix);
	if (f->workflow)
		sqlite3_str_appendf(q, " AND workflow_id = %u", f->workflow);
	if (!f->states)
		return;
	sqlite3_str_appendall(q, " AND task_status IN (");
	for (int i = 0; i < 4; i++)
		if (f->states & 1u << i) {
			sqlite3_str_appendf(q, "%s%d", comma, i);
			comma = ",";
		}
	sqlite3_str_appendall(q, ")");
}

int read_tasks(struct reader *r, const struct read_task_filter *f, const struct read_page *page,
               int (*each)(void *ctx, const struct store_task *t), void *ctx,
               struct read_answer *ret, struct err *err)
{
	struct row_sink sink = { .row = task_row, .each.task = each, .ctx = ctx };
	struct read_from from;
	sqlite3_str *q;
	int code = read_cursor_parse(page, "t", 1, &from, err);

	if (code < 0)
		return code;
	q = sqlite3_str_new(r->db);
	sqlite3_str_appendall(q, "SELECT " SQL_TASK_COLUMNS " FROM lb_task WHERE 1");
	where_task(q, f);
	if (from.begun)
		sqlite3_str_appendf(q,
		                    " AND (task_name, task_id) %s ((SELECT task_name FROM lb_task"
		                    " WHERE task_id = %lld), %lld)",
		                    page->descending ? "<" : ">", (long long)from.key[0],
		                    (long long)from.key[0]);
	return one_page(r, q,
	                page->descending ? "task_name DESC, task_id DESC" : "task_name, task_id",
	                &sink, page, "t", 1, ret, err);
}

int read_task(struct reader *r, const char *name, uint32_t id,
              int (*each)(void *ctx, const struct store_task *t), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = task_row, .each.task = each, .ctx = ctx };
	sqlite3_str *q = sqlite3_str_new(r->db);

	sqlite3_str_appendall(q, "SELECT " SQL_TASK_COLUMNS " FROM lb_task WHERE ");
	if (name)
		sqlite3_str_appendf(q,
		                    "task_name = %Q ORDER BY task_status = 3, task_id DESC"
		                    " LIMIT 1",
		                    name);
	else
		sqlite3_str_appendf(q, "task_id = %u", id);
	return one_list(r, q, &sink, "task", err);
}

static int link_row(struct row_sink *sink, sqlite3_stmt *q, int64_t *key, struct err *err)
{
	static const struct {
		int64_t lo, hi;
	} want[] = { { 0, UINT32_MAX }, { 0, UINT32_MAX }, { INT32_MIN, INT32_MAX },
		     { 0, UINT8_MAX },  { 0, UINT8_MAX },  { INT32_MIN, INT32_MAX } };
	int64_t v[6] = { 0 };
	struct store_link l;
	int code = 0;

	(void)key;
	for (int i = 0; i < 6 && code == 0; i++)
		code = sql_column(q, i, "lb_task_link", want[i].lo, want[i].hi, &v[i], err);
	if (code < 0)
		return code;
	l = (struct store_link){ .to = (uint32_t)v[0],
		                 .from = (uint32_t)v[1],
		                 .depend_type = (int32_t)v[2],
		                 .on = (uint8_t)v[3],
		                 .strategy = (uint8_t)v[4],
		                 .n = (int32_t)v[5],
		                 .window = (const char *)sqlite3_column_text(q, 6) };
	return sink->each.link(sink->ctx, &l);
}

int read_links(struct reader *r, uint32_t task, bool children,
               int (*each)(void *ctx, const struct store_link *l), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = link_row, .each.link = each, .ctx = ctx };
	sqlite3_str *q = sqlite3_str_new(r->db);

	sqlite3_str_appendf(q,
	                    "SELECT task_to_id, task_from_id, depend_type, on_end, strategy,"
	                    " strategy_n, window FROM lb_task_link WHERE %s = %u"
	                    " ORDER BY task_to_id, seq",
	                    children ? "task_from_id" : "task_to_id", task);
	return one_list(r, q, &sink, NULL, err);
}

static int doc_row(struct row_sink *sink, sqlite3_stmt *q, int64_t *key, struct err *err)
{
	struct store_doc d;
	int code = sql_doc(q, sql_doc_table(sink->kind), &d, err);

	if (code < 0)
		return code;
	d.kind = sink->kind;
	key[0] = d.id;
	return sink->each.doc(sink->ctx, &d);
}

static int doc_begin(struct reader *r, enum store_doc_kind kind, const char *body,
                     sqlite3_str **ret, struct err *err)
{
	if (!sql_doc_table(kind))
		return err_set(err, E_INVALID, "document kind %d", (int)kind);
	*ret = sqlite3_str_new(r->db);
	sqlite3_str_appendf(*ret,
	                    "SELECT id, version, name, retired, actor, at_us, %s FROM %s AS d"
	                    " WHERE 1",
	                    body, sql_doc_table(kind));
	return 0;
}

static void where_newest(sqlite3_str *q, enum store_doc_kind kind)
{
	sqlite3_str_appendf(q, " AND version = (SELECT max(version) FROM %s WHERE id = d.id)",
	                    sql_doc_table(kind));
}

int read_docs(struct reader *r, enum store_doc_kind kind, const struct read_page *page,
              int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct read_answer *ret,
              struct err *err)
{
	struct row_sink sink = { .row = doc_row, .each.doc = each, .ctx = ctx, .kind = kind };
	struct read_from from;
	sqlite3_str *q = NULL;
	int code = read_cursor_parse(page, "d", 1, &from, err);

	if (code == 0)
		code = doc_begin(r, kind, "''", &q, err);
	if (code < 0)
		return code;
	where_newest(q, kind);
	if (from.begun)
		sqlite3_str_appendf(q, " AND id %s %lld", page->descending ? "<" : ">",
		                    (long long)from.key[0]);
	return one_page(r, q, page->descending ? "id DESC" : "id", &sink, page, "d", 1, ret, err);
}

int read_doc(struct reader *r, enum store_doc_kind kind, const char *name, uint32_t id,
             uint32_t version, int (*each)(void *ctx, const struct store_doc *d), void *ctx,
             struct err *err)
{
	struct row_sink sink = { .row = doc_row, .each.doc = each, .ctx = ctx, .kind = kind };
	sqlite3_str *q = NULL;
	int code = doc_begin(r, kind, "body", &q, err);

	if (code < 0)
		return code;
	if (name) /* the name of the newest version is the document's name */
		sqlite3_str_appendf(q,
		                    " AND id = (SELECT id FROM %s AS n WHERE name = %Q AND version"
		                    " = (SELECT max(version) FROM %s WHERE id = n.id)"
		                    " ORDER BY retired, id DESC LIMIT 1)",
		                    sql_doc_table(kind), name, sql_doc_table(kind));
	else
		sqlite3_str_appendf(q, " AND id = %u", id);
	if (version)
		sqlite3_str_appendf(q, " AND version = %u", version);
	else
		where_newest(q, kind);
	return one_list(r, q, &sink, "document", err);
}

int read_doc_versions(struct reader *r, enum store_doc_kind kind, uint32_t id,
                      int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = doc_row, .each.doc = each, .ctx = ctx, .kind = kind };
	sqlite3_str *q = NULL;
	int code = doc_begin(r, kind, "''", &q, err);

	if (code < 0)
		return code;
	sqlite3_str_appendf(q, " AND id = %u ORDER BY version DESC", id);
	return one_list(r, q, &sink, NULL, err);
}

static int command_row(struct row_sink *sink, sqlite3_stmt *q, int64_t *key, struct err *err)
{
	struct store_command c;
	int code = sql_command(q, &c, err);

	if (code < 0)
		return code;
	key[0] = (int64_t)c.id;
	return sink->each.command(sink->ctx, &c);
}

int read_commands(struct reader *r, bool unfinished_only, const struct read_page *page,
                  int (*each)(void *ctx, const struct store_command *c), void *ctx,
                  struct read_answer *ret, struct err *err)
{
	struct row_sink sink = { .row = command_row, .each.command = each, .ctx = ctx };
	struct read_from from;
	sqlite3_str *q;
	int code = read_cursor_parse(page, "c", 1, &from, err);

	if (code < 0)
		return code;
	q = sqlite3_str_new(r->db);
	sqlite3_str_appendf(q, "SELECT " SQL_COMMAND_COLUMNS " FROM lb_command WHERE %s",
	                    unfinished_only ? "ended_us = 0" : "1");
	if (from.begun)
		sqlite3_str_appendf(q, " AND id %s %lld", page->descending ? "<" : ">",
		                    (long long)from.key[0]);
	return one_page(r, q, page->descending ? "id DESC" : "id", &sink, page, "c", 1, ret, err);
}

int read_command(struct reader *r, const char *request_id, uint64_t id,
                 int (*each)(void *ctx, const struct store_command *c), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = command_row, .each.command = each, .ctx = ctx };
	sqlite3_str *q = sqlite3_str_new(r->db);

	sqlite3_str_appendall(q, "SELECT " SQL_COMMAND_COLUMNS " FROM lb_command WHERE ");
	if (request_id)
		sqlite3_str_appendf(q, "request_id = %Q", request_id);
	else
		sqlite3_str_appendf(q, "id = %lld", (long long)id);
	return one_list(r, q, &sink, "command", err);
}

static int item_row(struct row_sink *sink, sqlite3_stmt *q, int64_t *key, struct err *err)
{
	static const char table[] = "lb_command_item";
	struct store_command_item i = { .command = sink->command };
	int64_t code_number = 0;
	int code = sql_column(q, 0, table, 0, UINT32_MAX, &key[0], err);

	if (code == 0)
		code = sql_column(q, 1, table, INT64_MIN, INT64_MAX, &key[1], err);
	if (code == 0)
		code = sql_column(q, 2, table, INT32_MIN, INT32_MAX, &key[2], err);
	if (code == 0)
		code = sql_column(q, 3, table, INT32_MIN, INT32_MAX, &code_number, err);
	if (code == 0)
		code = sql_column_text(q, 4, table, &i.text, err);
	if (code < 0)
		return code;
	i.key = (struct inst_key){ .task = (uint32_t)key[0],
		                   .run_date = key[1],
		                   .part = (int32_t)key[2] };
	i.code = (int32_t)code_number;
	return sink->each.item(sink->ctx, &i);
}

int read_command_items(struct reader *r, uint64_t command, bool failed_only,
                       const struct read_page *page,
                       int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                       struct read_answer *ret, struct err *err)
{
	struct row_sink sink = {
		.row = item_row, .each.item = each, .ctx = ctx, .command = command
	};
	struct read_page up = { .limit = page->limit, .cursor = page->cursor };
	struct read_from from;
	sqlite3_str *q;
	int code = read_cursor_parse(&up, "m", 3, &from, err);

	if (code < 0)
		return code;
	q = sqlite3_str_new(r->db);
	sqlite3_str_appendf(q,
	                    "SELECT task_id, curr_run_date, part, code, text FROM lb_command_item"
	                    " WHERE command_id = %lld%s",
	                    (long long)command, failed_only ? " AND code <> 0" : "");
	if (from.begun)
		sqlite3_str_appendf(q, " AND (task_id, curr_run_date, part) > (%lld, %lld, %lld)",
		                    (long long)from.key[0], (long long)from.key[1],
		                    (long long)from.key[2]);
	return one_page(r, q, "task_id, curr_run_date, part", &sink, &up, "m", 3, ret, err);
}

static int action_row(struct row_sink *sink, sqlite3_stmt *q, int64_t *key, struct err *err)
{
	static const char table[] = "lb_action";
	struct read_action a = { 0 };
	const char **const texts[] = { &a.actor, &a.action, &a.object, &a.detail };
	int code = sql_column(q, 0, table, 0, INT64_MAX, &key[0], err);

	if (code == 0)
		code = sql_column(q, 1, table, INT64_MIN, INT64_MAX, &a.at_us, err);
	for (int i = 0; i < 4 && code == 0; i++)
		code = sql_column_text(q, i + 2, table, texts[i], err);
	if (code < 0)
		return code;
	a.id = (uint64_t)key[0];
	return sink->each.action(sink->ctx, &a);
}

int read_actions(struct reader *r, const struct read_page *page,
                 int (*each)(void *ctx, const struct read_action *a), void *ctx,
                 struct read_answer *ret, struct err *err)
{
	struct row_sink sink = { .row = action_row, .each.action = each, .ctx = ctx };
	struct read_from from;
	sqlite3_str *q;
	int code = read_cursor_parse(page, "a", 1, &from, err);

	if (code < 0)
		return code;
	q = sqlite3_str_new(r->db);
	sqlite3_str_appendall(q, "SELECT id, at_us, actor, action, object, detail FROM lb_action"
	                         " WHERE 1");
	if (from.begun)
		sqlite3_str_appendf(q, " AND id %s %lld", page->descending ? "<" : ">",
		                    (long long)from.key[0]);
	return one_page(r, q, page->descending ? "id DESC" : "id", &sink, page, "a", 1, ret, err);
}
