/* Tasks, links, documents, commands, alerts, audit: lists in the order of a key, page by page.
 *
 * A list is a statement, a function that reads a row, and a key that the cursor names (struct
 * list). Of a document the newest version counts, unless a version is asked for. The projects that
 * a caller sees are a condition of each statement. What is asked for by name is refused by name, so
 * that the caller need not say it again. */
#include <stdlib.h>

#include "sched/name.h"
#include "store/read_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

enum { ROW_HIDDEN = 1 }; /* it is there, and is not shown: as if it were not */

/* What every list here does with a row: hand it on, and give the key of its place. */
struct row_sink {
	int (*row)(struct row_sink *sink, struct rows *q, int64_t *ret_key, struct err *err);
	union {
		int (*task)(void *ctx, const struct store_task *t);
		int (*link)(void *ctx, const struct store_link *l);
		int (*doc)(void *ctx, const struct store_doc *d);
		int (*command)(void *ctx, const struct store_command *c);
		int (*item)(void *ctx, const struct store_command_item *i);
		int (*action)(void *ctx, const struct read_action *a);
		int (*alert)(void *ctx, const struct store_alert *a);
	} each;
	void *ctx;
	enum store_doc_kind kind;
	const struct reader *reader; /* of documents */
	bool is_titled;              /* the title stands where the body does */
	uint64_t command;
};

/* A query, and who takes its rows. With a page: its order, its name in the cursor, and how many
 * keys that has; then `text` lacks only its ORDER BY and LIMIT. */
struct list {
	const char *table;
	struct buf *text; /* freed */
	struct row_sink *sink;
	const struct read_page *page; /* NULL: all rows */
	const char *order, *name;
	int keys;
};

/* A page has LIMIT limit + 1: the row too many makes the cursor. How many rows, or negative. */
static int list_rows(struct reader *r, const struct list *l, struct read_answer *answer,
                     struct err *err)
{
	int64_t key[READ_KEYS_MAX] = { 0 };
	struct rows *q = NULL;
	size_t n = 0;
	int code = read__query(r, l->table, l->text, &q, err);

	CHECK(!l->page || (l->keys > 0 && l->keys <= READ_KEYS_MAX));
	while ((code = rows_next(q, code, err)) > 0) {
		if (l->page && n == l->page->limit) {
			read__cursor_make(answer, l->page, l->name, l->keys, key);
			rows_close(q);
			break;
		}
		code = l->sink->row(l->sink, q, key, err);
		n += code != ROW_HIDDEN;
		code = code == ROW_HIDDEN ? 0 : code;
	}
	return code < 0 ? code : (int)n;
}

/* A query without pages, in its own snapshot. `what` NULL: none found is fine. */
static int one_list(struct reader *r, const char *table, struct buf *text, struct row_sink *sink,
                    const char *what, struct err *err)
{
	const struct list l = { .table = table, .text = text, .sink = sink };
	int code = read__begin(r, NULL, err);

	if (code < 0) {
		buf_done(text);
		return code;
	}
	code = read__end(r, list_rows(r, &l, NULL, err));
	if (code == 0 && what)
		return err_set(err, E_NOT_FOUND, "no such %s", what);
	return code < 0 ? code : 0;
}

/* What was asked for by name is refused by name. */
static int list_named(int code, const char *what, const char *name, struct err *err)
{
	return code == E_NOT_FOUND && name ? err_set(err, code, "no such %s '%.300s'", what, name)
	                                   : code;
}

static int one_page(struct reader *r, const struct list *l, struct err *err)
{
	struct read_answer answer = { 0 };
	int code = read__begin(r, &answer.number, err);

	CHECK(l->page);
	if (code < 0) {
		buf_done(l->text);
		return code;
	}
	buf_puts(l->text, " ORDER BY ");
	buf_puts(l->text, l->order);
	read__put(r, l->text, " LIMIT ?", "i", (int64_t)l->page->limit + 1);
	code = read__end(r, list_rows(r, l, &answer, err));
	if (code >= 0 && l->page->answer)
		*l->page->answer = answer;
	return code < 0 ? code : 0;
}

/* Where a page by id goes on. */
static void where_id(struct reader *r, struct buf *q, const struct read_page *page,
                     const struct read_from *from)
{
	if (from->begun)
		read__put(r, q, page->descending ? " AND id < ?" : " AND id > ?", "i",
		          from->key[0]);
}

static const char *order_by_id(const struct read_page *page)
{
	return page->descending ? "id DESC" : "id";
}

static int task_row(struct row_sink *sink, struct rows *q, int64_t *key, struct err *err)
{
	struct store_task t;
	int code = rows_task(q, &t, err);

	if (code < 0)
		return code;
	key[0] = t.id;
	return sink->each.task(sink->ctx, &t);
}

/* Names of what is only tried have a sign that is in no other (sched/workflow.h). */
static void where_no_tests(struct buf *q, const char *column)
{
	buf_printf(q, " AND instr(%s, '%c') = 0", column, NAME_TEST);
}

static int64_t characters(const char *utf8)
{
	int64_t n = 0;

	for (; *utf8; utf8++)
		n += (*utf8 & 0xc0) != 0x80;
	return n;
}

static void where_task(struct reader *r, struct buf *q, const struct read_task_filter *f)
{
	bool first = true;

	if (f->prefix && *f->prefix)
		read__put(r, q, " AND task_name >= ? AND substr(task_name, 1, ?) = ?", "tit",
		          f->prefix, characters(f->prefix), f->prefix);
	if (f->workflow)
		read__put(r, q, " AND workflow_id = ?", "i", (int64_t)f->workflow);
	else if (!f->tests && !(f->prefix && name_is_test(f->prefix)))
		where_no_tests(q, "task_name");
	if (!f->states)
		return;
	for (int i = 0; i < 4; i++)
		if (f->states & 1u << i) {
			buf_puts(q, first ? " AND task_status IN (" : ",");
			sql_put_int(q, i);
			first = false;
		}
	buf_puts(q, first ? " AND 0" : ")");
}

/* Behind a task that is not seen there is nothing: else one's own would tell where its name
 * stands. */
static void where_after(struct reader *r, struct buf *q, const struct read_page *page, int64_t task)
{
	buf_puts(q,
	         page->descending ? " AND (task_name, task_id) <" : " AND (task_name, task_id) >");
	read__put(r, q, " ((SELECT task_name FROM lb_task WHERE task_id = ?", "i", task);
	read__see_names(r, q, "task_name");
	read__put(r, q, "), ?)", "i", task);
}

int read_tasks(struct reader *r, const struct read_task_filter *f, const struct read_page *page,
               int (*each)(void *ctx, const struct store_task *t), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = task_row, .each.task = each, .ctx = ctx };
	struct read_from from;
	struct buf q = { 0 };
	int code = read__cursor_parse(page, "t", 1, &from, err);

	if (code < 0)
		return code;
	buf_puts(&q, "SELECT " TASK_COLUMNS " FROM lb_task WHERE 1");
	where_task(r, &q, f);
	read__see_names(r, &q, "task_name");
	if (from.begun)
		where_after(r, &q, page, from.key[0]);
	const char *order = page->descending ? "task_name DESC, task_id DESC"
	                                     : "task_name, task_id";

	return one_page(r, &(struct list){ "lb_task", &q, &sink, page, order, "t", 1 }, err);
}

int read_task(struct reader *r, const char *name, uint32_t id,
              int (*each)(void *ctx, const struct store_task *t), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = task_row, .each.task = each, .ctx = ctx };
	struct buf q = { 0 };

	buf_puts(&q, "SELECT " TASK_COLUMNS " FROM lb_task WHERE ");
	if (name)
		read__put(r, &q, "task_name = ?", "t", name);
	else
		read__put(r, &q, "task_id = ?", "i", (int64_t)id);
	read__see_names(r, &q, "task_name");
	buf_puts(&q, " ORDER BY task_status = 3, task_id DESC LIMIT 1");
	return list_named(one_list(r, "lb_task", &q, &sink, "task", err), "task", name, err);
}

static int link_row(struct row_sink *sink, struct rows *q, int64_t *key, struct err *err)
{
	struct store_link l;
	int code = rows_link(q, &l, err);

	(void)key;
	return code < 0 ? code : sink->each.link(sink->ctx, &l);
}

int read_links(struct reader *r, uint32_t task, bool children,
               int (*each)(void *ctx, const struct store_link *l), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = link_row, .each.link = each, .ctx = ctx };
	struct buf q = { 0 };

	buf_puts(&q, "SELECT ");
	read__see_end(r, &q, "task_to_id");
	buf_puts(&q, ", ");
	read__see_end(r, &q, "task_from_id");
	read__put(r, &q, ", " LINK_COLUMNS_BUT_ENDS " FROM lb_task_link WHERE ? = ?", "ni",
	          children ? "task_from_id" : "task_to_id", (int64_t)task);
	read__see_tasks(r, &q, children ? "task_from_id" : "task_to_id");
	if (children) {
		buf_puts(&q, " AND EXISTS (SELECT 1 FROM lb_task WHERE task_id = task_to_id");
		where_no_tests(&q, "task_name");
		buf_puts(&q, ")");
	}
	buf_puts(&q, " ORDER BY task_to_id, seq");
	return one_list(r, "lb_task_link", &q, &sink, NULL, err);
}

static int doc_row(struct row_sink *sink, struct rows *q, int64_t *key, struct err *err)
{
	struct store_doc d;
	int64_t is_draft = 0;
	int code = rows_doc(q, sink->kind, &d, err);

	if (code == 0 && sink->is_titled)
		code = rows_int(q, DOC_COLUMNS_N, 0, 1, &is_draft, err);
	if (code < 0)
		return code;
	d.is_draft = is_draft;
	key[0] = d.id;
	if (!read__sees_doc(sink->reader, &d))
		return ROW_HIDDEN;
	if (sink->is_titled) {
		d.title = d.body;
		d.body = "";
		d.body_len = 0;
	}
	return sink->each.doc(sink->ctx, &d);
}

#define DOC_WITHOUT_BODY "SELECT " DOC_COLUMNS_BUT_BODY ", '' FROM ? AS d WHERE 1"
/* What its tasks of now say of it: those that went have what they had. */
#define DOC_WITH_TITLE \
	"SELECT " DOC_COLUMNS_BUT_BODY ", COALESCE((SELECT workflow_title FROM lb_task AS k" \
	" WHERE k.workflow_id = d.id ORDER BY k.version DESC LIMIT 1), '')," \
	" EXISTS (SELECT 1 FROM lb_task AS k WHERE k.workflow_id = d.id AND k.task_status = 0)" \
	" AND NOT EXISTS (SELECT 1 FROM lb_task AS k WHERE k.workflow_id = d.id" \
	" AND k.task_status NOT IN (0, 3)) FROM ? AS d WHERE 1"
#define DOC_WITH_BODY "SELECT " DOC_COLUMNS " FROM ? AS d WHERE 1"

static int doc_begin(struct reader *r, enum store_doc_kind kind, const char *select,
                     struct buf *ret, struct err *err)
{
	*ret = (struct buf){ 0 };
	if (!doc_table(kind))
		return err_set(err, E_INVALID, "document kind %d", (int)kind);
	read__put(r, ret, select, "n", doc_table(kind));
	return 0;
}

static void where_newest(struct reader *r, struct buf *q, enum store_doc_kind kind)
{
	read__put(r, q, " AND version = (SELECT max(version) FROM ? AS e WHERE e.id = d.id)", "n",
	          doc_table(kind));
}

int read_docs(struct reader *r, const struct read_docs_of *of, const struct read_page *page,
              int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = doc_row,
		                 .reader = r,
		                 .each.doc = each,
		                 .ctx = ctx,
		                 .kind = of->kind,
		                 .is_titled = of->kind == DOC_WORKFLOW };
	struct read_from from;
	struct buf q = { 0 };
	int code = read__cursor_parse(page, "d", 1, &from, err);

	if (code == 0)
		code = doc_begin(r, of->kind, sink.is_titled ? DOC_WITH_TITLE : DOC_WITHOUT_BODY,
		                 &q, err);
	if (code < 0)
		return code;
	where_newest(r, &q, of->kind);
	if (!of->retired_too)
		buf_puts(&q, " AND retired = 0");
	if (of->kind == DOC_WORKFLOW && !of->tests)
		where_no_tests(&q, "name");
	read__see_docs(r, &q, of->kind, false);
	where_id(r, &q, page, &from);
	return one_page(
		r,
		&(struct list){ doc_table(of->kind), &q, &sink, page, order_by_id(page), "d", 1 },
		err);
}

int read_doc_bodies(struct reader *r, enum store_doc_kind kind,
                    int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	struct row_sink sink = {
		.row = doc_row, .reader = r, .each.doc = each, .ctx = ctx, .kind = kind
	};
	struct buf q = { 0 };
	int code = doc_begin(r, kind, DOC_WITH_BODY, &q, err);

	if (code < 0)
		return code;
	where_newest(r, &q, kind);
	read__see_docs(r, &q, kind, true);
	buf_puts(&q, " AND retired = 0 ORDER BY id");
	return one_list(r, doc_table(kind), &q, &sink, NULL, err);
}

static int count_row(struct row_sink *sink, struct rows *q, int64_t *key, struct err *err)
{
	(void)key;
	return rows_int(q, 0, 0, INT64_MAX, sink->ctx, err);
}

int read_doc_changes(struct reader *r, enum store_doc_kind kind, uint64_t *ret, struct err *err)
{
	int64_t n = 0;
	struct row_sink sink = { .row = count_row, .ctx = &n };
	struct buf q = { 0 };
	int code = doc_begin(r, kind, "SELECT COALESCE(SUM(version), 0) FROM ? AS d", &q, err);

	if (code == 0)
		code = one_list(r, doc_table(kind), &q, &sink, NULL, err);
	*ret = (uint64_t)n;
	return code;
}

int read_doc(struct reader *r, const struct read_which *w,
             int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	struct row_sink sink = {
		.row = doc_row, .reader = r, .each.doc = each, .ctx = ctx, .kind = w->kind
	};
	struct buf q = { 0 };
	int code = doc_begin(r, w->kind, DOC_WITH_BODY, &q, err);

	if (code < 0)
		return code;
	if (w->name) /* the name of the newest version is the document's name */
		read__put(r, &q,
		          " AND id = (SELECT n.id FROM ? AS n WHERE n.name = ? AND n.version ="
		          " (SELECT max(m.version) FROM ? AS m WHERE m.id = n.id)"
		          " ORDER BY n.retired, n.id DESC LIMIT 1)",
		          "ntn", doc_table(w->kind), w->name, doc_table(w->kind));
	else
		read__put(r, &q, " AND id = ?", "i", (int64_t)w->id);
	if (w->version)
		read__put(r, &q, " AND version = ?", "i", (int64_t)w->version);
	else
		where_newest(r, &q, w->kind);
	read__see_docs(r, &q, w->kind, true);
	return list_named(one_list(r, doc_table(w->kind), &q, &sink, "document", err), "document",
	                  w->name, err);
}

int read_doc_versions(struct reader *r, enum store_doc_kind kind, uint32_t id,
                      int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	struct row_sink sink = {
		.row = doc_row, .reader = r, .each.doc = each, .ctx = ctx, .kind = kind
	};
	struct buf q = { 0 };
	int code = doc_begin(r, kind, DOC_WITHOUT_BODY, &q, err);

	if (code < 0)
		return code;
	read__put(r, &q, " AND id = ?", "i", (int64_t)id);
	read__see_docs(r, &q, kind, false);
	buf_puts(&q, " ORDER BY version DESC");
	return one_list(r, doc_table(kind), &q, &sink, NULL, err);
}

static int command_row(struct row_sink *sink, struct rows *q, int64_t *key, struct err *err)
{
	struct store_command c;
	int code = rows_command(q, &c, err);

	if (code < 0)
		return code;
	key[0] = (int64_t)c.id;
	return sink->each.command(sink->ctx, &c);
}

int read_commands(struct reader *r, bool unfinished_only, const struct read_page *page,
                  int (*each)(void *ctx, const struct store_command *c), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = command_row, .each.command = each, .ctx = ctx };
	struct read_from from;
	struct buf q = { 0 };
	int code = read__cursor_parse(page, "c", 1, &from, err);

	if (code < 0)
		return code;
	buf_puts(&q, "SELECT " COMMAND_COLUMNS " FROM lb_command WHERE ");
	buf_puts(&q, unfinished_only ? "ended_us = 0" : "1");
	read__see_commands(r, &q);
	where_id(r, &q, page, &from);
	return one_page(
		r, &(struct list){ "lb_command", &q, &sink, page, order_by_id(page), "c", 1 }, err);
}

int read_command(struct reader *r, const char *request_id, uint64_t id,
                 int (*each)(void *ctx, const struct store_command *c), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = command_row, .each.command = each, .ctx = ctx };
	struct buf q = { 0 };

	buf_puts(&q, "SELECT " COMMAND_COLUMNS " FROM lb_command WHERE ");
	if (request_id)
		read__put(r, &q, "request_id = ?", "t", request_id);
	else
		read__put(r, &q, "id = ?", "i", (int64_t)id);
	read__see_commands(r, &q);
	return one_list(r, "lb_command", &q, &sink, "command", err);
}

static int item_row(struct row_sink *sink, struct rows *q, int64_t *key, struct err *err)
{
	struct store_command_item i;
	int code = rows_item(q, sink->command, &i, err);

	if (code < 0)
		return code;
	key[0] = i.key.task;
	key[1] = i.key.run_date;
	key[2] = i.key.part;
	return sink->each.item(sink->ctx, &i);
}

int read_command_items(struct reader *r, const struct read_items_of *of,
                       const struct read_page *page,
                       int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                       struct err *err)
{
	struct row_sink sink = {
		.row = item_row, .each.item = each, .ctx = ctx, .command = of->command
	};
	struct read_page up = *page;
	struct read_from from;
	struct buf q = { 0 };

	up.descending = false;
	int code = read__cursor_parse(&up, "m", 3, &from, err);

	if (code < 0)
		return code;
	read__put(r, &q, "SELECT " ITEM_COLUMNS " FROM lb_command_item WHERE command_id = ?", "i",
	          (int64_t)of->command);
	if (of->failed_only)
		buf_puts(&q, " AND code <> 0");
	read__see_items(r, &q);
	if (from.begun)
		read__put(r, &q, " AND (task_id, curr_run_date, part) > (?, ?, ?)", "iii",
		          from.key[0], from.key[1], from.key[2]);
	return one_page(r,
	                &(struct list){ "lb_command_item", &q, &sink, &up,
	                                "task_id, curr_run_date, part", "m", 3 },
	                err);
}

static int alert_row(struct row_sink *sink, struct rows *q, int64_t *key, struct err *err)
{
	struct store_alert a;
	int code = rows_alert(q, &a, err);

	if (code < 0)
		return code;
	key[0] = (int64_t)a.id;
	return sink->each.alert(sink->ctx, &a);
}

/* What begins with `name` and a slash. */
static void where_subject(struct reader *r, struct buf *q, const char *name)
{
	char *under;

	if (!name)
		return;
	under = mem_fmt("%s/", name);
	read__put(r, q, " AND substr(subject, 1, ?) = ?", "it", characters(under), under);
	free(under);
}

static void where_alert(struct reader *r, struct buf *q, const struct read_alerts *f)
{
	if (f->kind)
		read__put(r, q, " AND kind = ?", "t", f->kind);
	where_subject(r, q, f->project);
	where_subject(r, q, f->workflow);
	if (f->since_us)
		read__put(r, q, " AND since_us >= ?", "i", f->since_us);
	if (f->open != f->ended)
		buf_puts(q, f->open ? " AND ended_us = 0" : " AND ended_us > 0");
	if (f->acked != f->unacked)
		buf_puts(q, f->acked ? " AND acked_us > 0" : " AND acked_us = 0");
}

int read_alerts(struct reader *r, const struct read_alerts *f, const struct read_page *page,
                int (*each)(void *ctx, const struct store_alert *a), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = alert_row, .each.alert = each, .ctx = ctx };
	struct read_from from;
	struct buf q = { 0 };
	int code = read__cursor_parse(page, "l", 1, &from, err);

	if (code < 0)
		return code;
	buf_puts(&q, "SELECT " ALERT_COLUMNS " FROM lb_alert WHERE 1");
	where_alert(r, &q, f);
	read__see_names(r, &q, "subject");
	where_id(r, &q, page, &from);
	return one_page(r, &(struct list){ "lb_alert", &q, &sink, page, order_by_id(page), "l", 1 },
	                err);
}

int read_alert(struct reader *r, uint64_t id, int (*each)(void *ctx, const struct store_alert *a),
               void *ctx, struct err *err)
{
	struct row_sink sink = { .row = alert_row, .each.alert = each, .ctx = ctx };
	struct buf q = { 0 };

	read__put(r, &q, "SELECT " ALERT_COLUMNS " FROM lb_alert WHERE id = ?", "i", (int64_t)id);
	read__see_names(r, &q, "subject");
	return one_list(r, "lb_alert", &q, &sink, "alert", err);
}

static int action_row(struct row_sink *sink, struct rows *q, int64_t *key, struct err *err)
{
	struct read_action a;
	int code = rows_action(q, &a, err);

	if (code < 0)
		return code;
	key[0] = (int64_t)a.id;
	return sink->each.action(sink->ctx, &a);
}

int read_actions(struct reader *r, const struct read_actions_by *by, const struct read_page *page,
                 int (*each)(void *ctx, const struct read_action *a), void *ctx, struct err *err)
{
	struct row_sink sink = { .row = action_row, .each.action = each, .ctx = ctx };
	struct read_from from;
	struct buf q = { 0 };
	int code = read__cursor_parse(page, "a", 1, &from, err);

	if (code < 0)
		return code;
	buf_puts(&q, "SELECT " ACTION_COLUMNS " FROM lb_action WHERE 1");
	if (by->actor)
		read__put(r, &q, " AND actor = ?", "t", by->actor);
	if (by->action)
		read__put(r, &q, " AND action = ?", "t", by->action);
	read__see_actions(r, &q);
	where_id(r, &q, page, &from);
	return one_page(
		r, &(struct list){ "lb_action", &q, &sink, page, order_by_id(page), "a", 1 }, err);
}
