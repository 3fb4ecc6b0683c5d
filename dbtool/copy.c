/* copy: every row of every table, in batches; then both sides are counted and summed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbtool.h"
#include "store/admin.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"

enum { STATEMENT_BYTES = 512 << 10, STATEMENT_ROWS = 1000, COLUMNS_MAX = 64, BATCH_ROWS = 20000 };

struct table {
	const struct db_table *t;
	char *names[COLUMNS_MAX];
	int n;
	struct buf list; /* the names, as SQL; NUL-terminated by buf_str() */
};

/* A table's rows: how many, and the sum of their hashes, so that order does not matter. */
struct sum {
	int64_t rows;
	uint64_t hash;
};

static void table_done(struct table *t)
{
	for (int i = 0; i < t->n; i++)
		free(t->names[i]);
	buf_done(&t->list);
}

/* Column names as the source has them. */
static int table_init(struct admin *from, const struct db_table *which, struct table *ret,
                      struct err *err)
{
	struct rows *rows = NULL;
	struct buf b;

	buf_init(&b);
	sql_put(&b, from->ops->quote, from, "SELECT * FROM ? WHERE 1 = 0", "n", which->name);
	int r = admin_ask(from, which->name, buf_str(&b), &rows, err);
	buf_done(&b);
	*ret = (struct table){ .t = which };
	buf_init(&ret->list);
	if (r < 0)
		return r;
	for (const char *name; ret->n < COLUMNS_MAX && (name = rows->ops->name(rows, ret->n));) {
		buf_puts(&ret->list, ret->n ? ", `" : "`");
		buf_puts(&ret->list, name);
		buf_puts(&ret->list, "`");
		ret->names[ret->n++] = mem_str(name);
	}
	while ((r = rows_step(rows, err)) > 0)
		;
	rows_close(rows);
	return r;
}

static void hash_more(uint64_t *h, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*h = (*h ^ (uint8_t)text[i]) * 0x100000001b3ULL;
	*h = (*h ^ 0x1ff) * 0x100000001b3ULL; /* no byte: the end of a column */
}

static void add_row(struct sum *s, struct rows *rows, int columns)
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

	for (int c = 0; c < columns; c++) {
		size_t len = 0;
		const char *text = rows->ops->text(rows, c, &len);

		if (text)
			hash_more(&h, text, len);
		else
			h = (h ^ 0x2ff) * 0x100000001b3ULL;
	}
	s->rows++;
	s->hash += h ^ h >> 29;
}

static int ask_all(struct admin *a, struct table *t, struct rows **ret, struct err *err)
{
	struct buf b;

	buf_init(&b);
	buf_puts(&b, "SELECT ");
	buf_put(&b, buf_at(&t->list), t->list.len);
	sql_put(&b, a->ops->quote, a, " FROM ? ORDER BY ", "n", t->t->name);
	buf_puts(&b, t->t->order);
	int r = admin_ask(a, t->t->name, buf_str(&b), ret, err);
	buf_done(&b);
	return r;
}

static int sum_table(struct admin *a, struct table *t, struct sum *ret, struct err *err)
{
	struct rows *rows = NULL;
	int r = ask_all(a, t, &rows, err);

	*ret = (struct sum){ 0 };
	while (r >= 0 && (r = rows_step(rows, err)) > 0)
		add_row(ret, rows, t->n);
	rows_close(rows);
	return r;
}

/* Rows on their way into the target: a statement that grows. */
struct filling {
	struct admin *to;
	struct table *t;
	struct buf sql;
	int rows; /* of this statement */
	int64_t done, of, uncommitted;
};

static int flush(struct filling *f, bool commit, struct err *err)
{
	int r = f->rows ? admin_run(f->to, buf_str(&f->sql), err) : 0;

	f->rows = 0;
	buf_clear(&f->sql);
	if (r == 0 && commit) {
		r = admin_run(f->to, "COMMIT", err);
		if (r == 0)
			r = admin_run(f->to, "BEGIN", err);
		f->uncommitted = 0;
	}
	db_progress(f->t->t->name, f->done, f->of, false);
	return r;
}

static int put_row(struct filling *f, struct rows *rows, struct err *err)
{
	struct buf *b = &f->sql;

	if (f->rows == 0) {
		buf_puts(b, "INSERT INTO ");
		buf_puts(b, f->t->t->name);
		buf_puts(b, " (");
		buf_put(b, buf_at(&f->t->list), f->t->list.len);
		buf_puts(b, ") VALUES ");
	}
	for (int c = 0; c < f->t->n; c++) {
		size_t len = 0;
		const char *text = rows->ops->text(rows, c, &len);

		buf_puts(b, c ? "," : f->rows ? ",(" : "(");
		if (text)
			f->to->ops->quote(f->to, b, text, len);
		else
			buf_puts(b, "NULL");
	}
	buf_puts(b, ")");
	f->rows++;
	f->done++;
	f->uncommitted++;
	if (f->rows < STATEMENT_ROWS && b->len < STATEMENT_BYTES)
		return 0;
	return flush(f, f->uncommitted >= BATCH_ROWS, err);
}

/* The row a new store has of itself stands in the way. */
static int make_room(struct admin *to, const char *table, struct err *err)
{
	return strcmp(table, "lb_leader") == 0 ? admin_run(to, "DELETE FROM lb_leader", err) : 0;
}

static int copy_rows(struct admin *from, struct filling *f, struct sum *sum, struct err *err)
{
	struct rows *rows = NULL;
	int r = ask_all(from, f->t, &rows, err);

	if (r == 0)
		r = admin_run(f->to, "BEGIN", err);
	if (r == 0)
		r = make_room(f->to, f->t->t->name, err);
	while (r >= 0 && (r = rows_step(rows, err)) > 0) {
		add_row(sum, rows, f->t->n);
		r = put_row(f, rows, err);
	}
	if (r == 0)
		r = flush(f, false, err);
	if (r == 0)
		r = admin_run(f->to, "COMMIT", err);
	rows_close(rows);
	return r;
}

static int copy_table(struct admin *from, struct admin *to, const struct db_table *which,
                      struct err *err)
{
	struct table t;
	struct sum here = { 0 }, there = { 0 };
	struct filling f = { .to = to, .t = &t };
	int r = table_init(from, which, &t, err);

	buf_init(&f.sql);
	if (r == 0)
		r = admin_count(from, which->name, &f.of, err);
	if (r == 0)
		r = copy_rows(from, &f, &here, err);
	if (r == 0)
		r = sum_table(to, &t, &there, err);
	db_progress(which->name, f.done, f.of, true);
	if (r == 0 && (here.rows != there.rows || here.hash != there.hash))
		r = err_set(err, E_CORRUPT,
		            "%s: %" PRId64 " rows (sum %016" PRIx64 ") were read, %" PRId64
		            " (%016" PRIx64 ") are there",
		            which->name, here.rows, here.hash, there.rows, there.hash);
	if (r == 0)
		printf("%-22s %10" PRId64 " rows  sum %016" PRIx64 "\n", which->name, here.rows,
		       here.hash);
	fflush(stdout);
	buf_done(&f.sql);
	table_done(&t);
	return r;
}

/* What is not copied: the record of migrations is the target's own, and those who wait show
 * themselves. */
static bool is_known(const char *name)
{
	for (size_t i = 0; i < db_tables_n; i++)
		if (strcmp(db_tables[i].name, name) == 0)
			return true;
	return strcmp(name, "lb_migration") == 0 || strcmp(name, "lb_standby") == 0;
}

/* The same shape on both sides, and nothing in the target. 0, or an exit code. */
static int prepare(const struct db_options *o, struct admin *from, struct admin *to,
                   struct err *err)
{
	int64_t version = 0, rows = 0, first_us = 0;
	int r = admin_version(from, &version, err);

	if (r == 0 && (!admin_migration(from, version) || admin_migration(from, version + 1)))
		r = err_set(err, E_VERSION,
		            "%s has schema %" PRId64 ", this program another: `sirdar db migrate`",
		            o->urls[0], version);
	if (r == 0)
		r = admin_know_tables(from, is_known, err);
	if (r == 0)
		r = admin_number(from, "lb_task_event", "SELECT MIN(at_us) FROM lb_task_event",
		                 &first_us, err);
	if (r == 0)
		r = db_count_all(to, &rows, err);
	if (r < 0)
		return r;
	if (rows) {
		char *what = mem_fmt("%s has %" PRId64 " rows, they are destroyed", o->urls[1],
		                     rows);
		bool may = db_may_destroy(o, what);

		free(what);
		if (!may)
			return DB_NOT_EMPTY;
	}
	r = admin_wipe(to, err);
	return r < 0 ? r : admin_migrate(to, first_us > 0 ? first_us : 0, err);
}

/* The copy belongs to no server: whoever starts on it takes a new epoch. */
static int give_free(struct admin *to, struct err *err)
{
	return admin_run(to, "UPDATE lb_leader SET lease_ms = 0", err);
}

int db_copy(const struct db_options *o)
{
	struct admin *from = NULL, *to = NULL;
	struct err err = { 0 };
	int r = admin_open(o->urls[0], false, &from, &err);

	if (r == 0)
		r = admin_open(o->urls[1], true, &to, &err);
	if (r == 0)
		r = prepare(o, from, to, &err);
	if (r == 0 && strncmp(o->urls[0], "mysql:", 6) == 0)
		r = admin_run(from, "START TRANSACTION WITH CONSISTENT SNAPSHOT", &err);
	for (size_t i = 0; i < db_tables_n && r == 0; i++)
		r = copy_table(from, to, &db_tables[i], &err);
	if (r == 0)
		r = give_free(to, &err);
	admin_close(from);
	admin_close(to);
	return r < 0 ? db_fail(&err) : r;
}
