/* copy: every row of every table, in batches; then both sides are counted and summed. What broke
 * off goes on: rows go in the order of their key, so what is there is the first of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbtool.h"
#include "store/admin.h"
#include "sums.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"

enum { STATEMENT_BYTES = 512 << 10, STATEMENT_ROWS = 1000, BATCH_ROWS = 20000 };

/* Rows on their way into the target: a statement that grows. */
struct filling {
	struct admin *to;
	struct table *t;
	struct buf sql;
	int rows; /* of this statement */
	int64_t done, of, uncommitted;
};

static int copy_flush(struct filling *f, bool commit, struct err *err)
{
	CHECK((f->rows == 0) == (f->sql.len == 0));
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

	CHECK(f->rows < STATEMENT_ROWS);
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
	return copy_flush(f, f->uncommitted >= BATCH_ROWS, err);
}

static int wipe_table(struct admin *to, const char *table, struct err *err)
{
	struct buf b;

	buf_init(&b);
	sql_put(&b, to->ops->quote, to, "DELETE FROM ?", "n", table);
	int r = admin_run(to, buf_str(&b), err);
	buf_done(&b);
	return r;
}

/* Does the target begin as the source does? Then that many rows need not be sent; else it is
 * emptied and all are. *rows is where reading goes on. */
static int skip_same(struct admin *from, struct filling *f, struct rows **rows, struct sum *sum,
                     struct err *err)
{
	struct sum there = { 0 };
	CHECK(sum->rows == 0 && f->done == 0);
	int r = table_sum(f->to, f->t, &there, err);

	if (r < 0 || there.rows == 0)
		return r;
	while (sum->rows < there.rows && (r = rows_step(*rows, err)) > 0)
		sum_row(sum, *rows, f->t->n);
	f->done = sum->rows;
	if (r < 0 || sum_same(sum, &there))
		return r < 0 ? r : 0;
	rows_close(*rows);
	*rows = NULL;
	*sum = (struct sum){ 0 };
	f->done = 0;
	r = wipe_table(f->to, f->t->t->name, err);
	return r < 0 ? r : table_ask(from, f->t, rows, err);
}

static int copy_rows(struct admin *from, struct filling *f, struct sum *sum, struct err *err)
{
	struct rows *rows = NULL;
	int r = table_ask(from, f->t, &rows, err);

	if (r == 0)
		r = skip_same(from, f, &rows, sum, err);
	if (r == 0)
		r = admin_run(f->to, "BEGIN", err);
	while (r >= 0 && (r = rows_step(rows, err)) > 0) {
		sum_row(sum, rows, f->t->n);
		r = put_row(f, rows, err);
	}
	if (r == 0)
		r = copy_flush(f, false, err);
	if (r == 0)
		r = admin_run(f->to, "COMMIT", err);
	rows_close(rows);
	return r;
}

static int differs(const char *table, const struct sum *here, const struct sum *there,
                   struct err *err)
{
	return err_set(err, E_CORRUPT,
	               "%s: %" PRId64 " rows (sum %016" PRIx64 ") were read, %" PRId64
	               " (%016" PRIx64 ") are there",
	               table, here->rows, here->hash, there->rows, there->hash);
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
		r = table_sum(to, &t, &there, err);
	db_progress(which->name, f.done, f.of, true);
	if (r == 0 && !sum_same(&here, &there))
		r = differs(which->name, &here, &there, err);
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

static int check_source(const char *url, struct admin *from, struct err *err)
{
	int64_t version = 0;
	int r = admin_version(from, &version, err);

	if (r == 0 && (!admin_migration(from, version) || admin_migration(from, version + 1)))
		r = err_set(err, E_VERSION,
		            "%s has schema %" PRId64 ", this program another: `sirdar db migrate`",
		            url, version);
	return r < 0 ? r : admin_know_tables(from, is_known, err);
}

/* ---- the mark of a copy under way: a table of one row that goes when all is there ---- */

/* What the source is at: a server that had it meanwhile has taken an epoch. */
static int source_state(struct admin *from, char **ret, struct err *err)
{
	int64_t epoch = 0, number = 0, version = 0;
	int r = admin_version(from, &version, err);

	if (r == 0)
		r = admin_number(from, "lb_leader", "SELECT epoch FROM lb_leader", &epoch, err);
	if (r == 0)
		r = admin_number(from, "lb_leader", "SELECT number FROM lb_leader", &number, err);
	if (r == 0)
		*ret = mem_fmt("schema %" PRId64 " epoch %" PRId64 " number %" PRId64, version,
		               epoch, number);
	return r;
}

static int set_mark(struct admin *to, const char *url, const char *state, struct err *err)
{
	struct buf b;
	int r = admin_run(to, "CREATE TABLE lb_copy (source TEXT NOT NULL, state TEXT NOT NULL)",
	                  err);

	buf_init(&b);
	sql_put(&b, to->ops->quote, to, "INSERT INTO lb_copy VALUES (?, ?)", "tt", url, state);
	if (r == 0)
		r = admin_run(to, buf_str(&b), err);
	buf_done(&b);
	/* No server starts on a half: this row comes last. */
	return r < 0 ? r : admin_run(to, "DELETE FROM lb_leader", err);
}

/* 1: the target is half a copy of this source, as it is now. */
static int has_mark(struct admin *to, const char *url, const char *state, struct err *err)
{
	struct rows *rows = NULL;
	const char *source, *was;
	int r = admin_has_table(to, "lb_copy", err);

	if (r <= 0)
		return r;
	r = admin_ask(to, "lb_copy", "SELECT source, state FROM lb_copy", &rows, err);
	if (r == 0)
		r = rows_step(rows, err);
	if (r > 0) {
		source = rows->ops->text(rows, 0, NULL);
		r = source && strcmp(source, url) == 0;
		was = rows->ops->text(rows, 1, NULL);
		r = r && was && strcmp(was, state) == 0;
		fprintf(stderr, r ? "sirdar-db: goes on with a copy that broke off\n"
		                  : "sirdar-db: a copy broke off here, of another source or before "
		                    "it was used again: begins anew\n");
	}
	rows_close(rows);
	return r;
}

/* Everything that is in the target goes, if it may. 0, or an exit code. */
static int begin_anew(const struct db_options *o, struct admin *from, struct admin *to,
                      const char *state, struct err *err)
{
	int64_t rows = 0, first_us = 0;
	int r = admin_number(from, "lb_task_event", "SELECT MIN(at_us) FROM lb_task_event",
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
	if (r == 0)
		r = admin_migrate(to, first_us > 0 ? first_us : 0, err);
	return r < 0 ? r : set_mark(to, o->urls[0], state, err);
}

/* The same shape on both sides, and nothing in the target but the beginning of this copy. */
static int copy_prepare(const struct db_options *o, struct admin *from, struct admin *to,
                        struct err *err)
{
	char *state = NULL;
	int r = check_source(o->urls[0], from, err);

	if (r == 0)
		r = source_state(from, &state, err);
	if (r == 0)
		r = has_mark(to, o->urls[0], state, err);
	if (r >= 0)
		r = r > 0 ? 0 : begin_anew(o, from, to, state, err);
	free(state);
	return r;
}

/* The copy belongs to no server: whoever starts on it takes a new epoch. */
static int copy_finish(struct admin *to, struct err *err)
{
	int r = admin_run(to, "UPDATE lb_leader SET lease_ms = 0", err);

	return r < 0 ? r : admin_run(to, "DROP TABLE lb_copy", err);
}

/* Reading sees one state of the source, whoever else may write. */
static int hold_still(const char *url, struct admin *a, struct err *err)
{
	return strncmp(url, "mysql:", 6) == 0
	               ? admin_run(a, "START TRANSACTION WITH CONSISTENT SNAPSHOT", err)
	               : 0;
}

int db_copy(const struct db_options *o)
{
	struct admin *from = NULL, *to = NULL;
	struct err err = { 0 };
	int r = admin_open(o->urls[0], false, &from, &err);

	if (r == 0)
		r = admin_open(o->urls[1], true, &to, &err);
	if (r == 0)
		r = copy_prepare(o, from, to, &err);
	if (r == 0)
		r = hold_still(o->urls[0], from, &err);
	for (size_t i = 0; i < db_tables_n && r == 0; i++)
		r = copy_table(from, to, &db_tables[i], &err);
	if (r == 0)
		r = copy_finish(to, &err);
	admin_close(from);
	admin_close(to);
	return r < 0 ? db_fail(&err) : r;
}

/* ---- compare ---- */

/* 1 the same, 0 not: it is said. */
static int compare_table(struct admin *a, struct admin *b, const struct db_table *which,
                         struct err *err)
{
	struct table t;
	struct sum one = { 0 }, other = { 0 };
	int r = table_init(a, which, &t, err);

	if (r == 0)
		r = table_sum(a, &t, &one, err);
	if (r == 0)
		r = table_sum(b, &t, &other, err);
	table_done(&t);
	if (r < 0)
		return r;
	/* Whoever leads, and since when, is each store's own. */
	bool same = sum_same(&one, &other) || strcmp(which->name, "lb_leader") == 0;
	printf("%-22s %10" PRId64 " rows  sum %016" PRIx64 "%s\n", which->name, one.rows, one.hash,
	       same ? "" : "  DIFFERS");
	if (!same)
		printf("%-22s %10" PRId64 " rows  sum %016" PRIx64 "\n", "", other.rows,
		       other.hash);
	return same;
}

int db_compare(const struct db_options *o)
{
	struct admin *a = NULL, *b = NULL;
	struct err err = { 0 };
	size_t bad = 0;
	int r = admin_open(o->urls[0], false, &a, &err);

	if (r == 0)
		r = admin_open(o->urls[1], false, &b, &err);
	if (r == 0)
		r = check_source(o->urls[0], a, &err);
	if (r == 0)
		r = check_source(o->urls[1], b, &err);
	for (size_t i = 0; i < db_tables_n && r >= 0; i++) {
		r = compare_table(a, b, &db_tables[i], &err);
		bad += r == 0;
	}
	if (r >= 0)
		printf("%zu of %zu tables differ\n", bad, db_tables_n);
	admin_close(a);
	admin_close(b);
	return r < 0 ? db_fail(&err) : bad ? DB_PROBLEMS : 0;
}
