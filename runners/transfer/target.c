/* Where a transfer's rows go: a CSV file or a table. `replace` fills a staging table and swaps in
 * one transaction, so that readers see the old rows or the new; `append` keeps a mark of the
 * watermark, written in the transaction of the rows it stands for, and goes on behind it. Whether
 * every column fits is told before the first row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/run.h"
#include "runners/transfer/transfer.h"

#define MARKS        "sirdar_transfer_mark"
#define INSERT_BYTES (512u << 10)

int target_open(struct target *t, const struct run *r, const struct plan *p)
{
	*t = (struct target){ .run = r, .plan = p, .mark_column = SIZE_MAX };
	if (p->rows.csv_file) {
		if (csv_open(&t->csv, r, p->rows.csv_file, (uint64_t)p->rows.csv_max) == 0)
			return DB_OK;
		snprintf(t->why, sizeof t->why, "%s", t->csv.why);
		return DB_REFUSED;
	}
	t->into = p->to_table;
	int code = db_open(r, &p->target, &t->db);

	if (code == DB_OK)
		code = value_session(t->db);
	return code == DB_OK ? db_claim(t->db) : code;
}

/* --- the staging table of `replace` ------------------------------------------------- */

static const char *quoted(const struct target *t, const char *name, struct text *room)
{
	text_clear(room);
	db_quote_name(t->db, name, room);
	return text_str(room);
}

/* A table like the target, empty: what a run that broke off left in it is gone. */
static int make_staging(struct target *t)
{
	static const struct {
		const char *before, *after; /* the target's name */
	} like[] = { [DB_MYSQL] = { "LIKE", "" },
		     [DB_MARIADB] = { "LIKE", "" },
		     [DB_POSTGRESQL] = { "(LIKE", "INCLUDING DEFAULTS)" },
		     [DB_SQLITE] = { "AS SELECT * FROM", "WHERE 0" } };
	struct text staging = { 0 }, own = { 0 };
	int code;

	if (asprintf(&t->staging, "%s_sirdar_staging", t->plan->to_table) < 0) {
		t->staging = NULL;
		return DB_REFUSED;
	}
	quoted(t, t->staging, &staging);
	quoted(t, t->plan->to_table, &own);
	code = db_runf(t->db, "DROP TABLE IF EXISTS %s", text_str(&staging));
	if (code == DB_OK)
		code = db_runf(t->db, "CREATE TABLE %s %s %s %s", text_str(&staging),
		               like[db_kind(t->db)].before, text_str(&own),
		               like[db_kind(t->db)].after);
	t->into = t->staging;
	text_done(&staging);
	text_done(&own);
	return code;
}

static int drop_staging(struct target *t)
{
	struct text name = { 0 };
	int code = db_runf(t->db, "DROP TABLE IF EXISTS %s", quoted(t, t->staging, &name));

	text_done(&name);
	return code;
}

/* In one transaction: readers see the old rows, or the new. */
static int swap(struct target *t)
{
	struct text staging = { 0 }, own = { 0 };
	int code = db_run(t->db, "BEGIN", NULL);

	quoted(t, t->staging, &staging);
	quoted(t, t->plan->to_table, &own);
	if (code == DB_OK)
		code = db_runf(t->db, "DELETE FROM %s", text_str(&own));
	if (code == DB_OK && t->columns.len)
		code = db_runf(t->db, "INSERT INTO %s (%s) SELECT %s FROM %s", text_str(&own),
		               text_str(&t->columns), text_str(&t->columns), text_str(&staging));
	if (code == DB_OK)
		code = db_run(t->db, "COMMIT", NULL);
	if (code == DB_OK)
		code = drop_staging(t);
	text_done(&staging);
	text_done(&own);
	return code;
}

/* --- the mark of `append` ------------------------------------------------------------ */

static int read_mark(struct target *t)
{
	struct text sql = { 0 };
	bool is_row = false, is_null = false;
	int code = db_run(t->db,
	                  "CREATE TABLE IF NOT EXISTS " MARKS
	                  " (name VARCHAR(200) PRIMARY KEY, mark TEXT)",
	                  NULL);

	text_str_add(&sql, "SELECT mark FROM " MARKS " WHERE name = ");
	db_quote(t->db, t->plan->mark_name, strlen(t->plan->mark_name), &sql);
	if (code == DB_OK)
		code = db_ask(t->db, text_str(&sql), &t->mark, &is_row, &is_null);
	t->has_mark = code == DB_OK && is_row && !is_null;
	text_done(&sql);
	return code;
}

/* With the rows it stands for, in their transaction. */
static int write_mark(struct target *t)
{
	struct text sql = { 0 };
	int code;

	text_str_add(&sql, "DELETE FROM " MARKS " WHERE name = ");
	db_quote(t->db, t->plan->mark_name, strlen(t->plan->mark_name), &sql);
	code = db_run(t->db, text_str(&sql), NULL);
	text_clear(&sql);
	text_str_add(&sql, "INSERT INTO " MARKS " (name, mark) VALUES (");
	db_quote(t->db, t->plan->mark_name, strlen(t->plan->mark_name), &sql);
	text_str_add(&sql, ", ");
	db_quote(t->db, text_str(&t->mark), t->mark.len, &sql);
	text_str_add(&sql, ")");
	if (code == DB_OK)
		code = db_run(t->db, text_str(&sql), NULL);
	text_done(&sql);
	return code;
}

int target_begin(struct target *t)
{
	int code = DB_OK;

	if (t->plan->rows.csv_file)
		return DB_OK;
	if (t->plan->mode == MODE_REPLACE)
		return make_staging(t);
	if (t->plan->watermark)
		code = read_mark(t);
	return code == DB_OK ? db_run(t->db, "BEGIN", NULL) : code;
}

/* --- rows ---------------------------------------------------------------------------- */

int target_types(struct target *t, size_t n, const struct db_type *types)
{
	if (t->plan->rows.csv_file)
		return DB_OK;
	t->from = calloc(n + 1, sizeof *t->from);
	t->to = calloc(n + 1, sizeof *t->to);
	for (size_t i = 0; t->from && t->to && i < n; i++)
		value_type_take(&types[i], &t->from[i]);
	return t->from && t->to ? DB_OK : DB_REFUSED;
}

static int take_types(void *ctx, size_t n, const struct db_type *types)
{
	struct target *t = ctx;

	for (size_t i = 0; i < n && i < t->n_columns; i++)
		value_type_take(&types[i], &t->to[i]);
	return DB_OK;
}

/* What they are there; that each fits is told before the first row. */
static int ask_types(struct target *t, const char *const *names)
{
	struct db_sink sink = { .ctx = t, .types = take_types };
	struct text sql = { 0 };

	text_addf(&sql, "SELECT %s FROM ", text_str(&t->columns));
	db_quote_name(t->db, t->plan->to_table, &sql);
	text_str_add(&sql, " WHERE 1 = 0");
	int code = db_run(t->db, text_str(&sql), &sink);

	text_done(&sql);
	for (size_t i = 0; code == DB_OK && i < t->n_columns; i++) {
		snprintf(t->from[i].column, sizeof t->from[i].column, "%s", names[i]);
		if (!value_fits(&t->from[i], &t->to[i], t->why))
			code = DB_REFUSED;
	}
	return code;
}

int target_columns(struct target *t, size_t n, const char *const *names)
{
	t->n_columns = n;
	if (t->plan->rows.csv_file) {
		if (t->plan->rows.has_header)
			csv_names(&t->plan->rows.style, n, names, &t->csv.buffer);
		return DB_OK;
	}
	for (size_t i = 0; i < n; i++) {
		text_str_add(&t->columns, i ? ", " : "");
		db_quote_column(t->db, names[i], &t->columns);
		if (t->plan->watermark && !strcmp(names[i], t->plan->watermark))
			t->mark_column = i;
	}
	if (!t->plan->watermark || t->mark_column != SIZE_MAX)
		return ask_types(t, names);
	snprintf(t->why, sizeof t->why, "the source gives no column '%.100s', the watermark",
	         t->plan->watermark);
	return DB_REFUSED;
}

static int target_flush(struct target *t)
{
	int code = DB_OK;

	if (t->insert.is_over) {
		snprintf(t->why, sizeof t->why, "out of memory");
		return DB_REFUSED;
	}
	if (t->n_pending)
		code = db_run(t->db, text_str(&t->insert), NULL);
	t->n_pending = 0;
	text_clear(&t->insert);
	return code;
}

/* All rows up to a watermark are in: from here the next run may continue. */
static int commit_mark(struct target *t)
{
	int code = target_flush(t);

	if (code == DB_OK && t->has_mark)
		code = write_mark(t);
	if (code == DB_OK)
		code = db_run(t->db, "COMMIT", NULL);
	return code;
}

/* Between two values of the watermark, when a chunk is full. */
static int step_mark(struct target *t, const char *value, size_t len)
{
	int code = DB_OK;

	if (!value) {
		snprintf(t->why, sizeof t->why, "the watermark %.100s is NULL in a row",
		         t->plan->watermark);
		return DB_REFUSED;
	}
	const bool is_same = t->has_mark && t->mark.len == len && !memcmp(t->mark.at, value, len);

	if (!is_same && t->rows && t->rows % t->plan->chunk == 0) {
		code = commit_mark(t);
		if (code == DB_OK)
			code = db_run(t->db, "BEGIN", NULL);
	}
	text_clear(&t->mark);
	text_add(&t->mark, value, len);
	t->has_mark = true;
	return code;
}

static int add_values(struct target *t, size_t n, const char *const *values, const size_t *lens)
{
	if (!t->n_pending) {
		text_str_add(&t->insert, "INSERT INTO ");
		db_quote_name(t->db, t->into, &t->insert);
		text_addf(&t->insert, " (%s) VALUES ", text_str(&t->columns));
	}
	for (size_t i = 0; i < n; i++) {
		text_str_add(&t->insert, i ? ", " : t->n_pending ? ", (" : "(");
		const struct value_way way = { t->plan->source.kind, &t->from[i], t->db, &t->to[i],
			                       t->why };
		if (!value_put(&way, values[i], values[i] ? lens[i] : 0, &t->insert))
			return DB_REFUSED;
	}
	text_str_add(&t->insert, ")");
	t->n_pending++;
	return DB_OK;
}

static int csv_row(struct target *t, size_t n, const char *const *values, const size_t *lens)
{
	csv_line(&t->plan->rows.style, n, values, lens, &t->csv.buffer);
	t->rows++;
	if (csv_flush(&t->csv, false) == 0)
		return DB_OK;
	snprintf(t->why, sizeof t->why, "%s", t->csv.why);
	return DB_REFUSED;
}

int target_row(struct target *t, size_t n, const char *const *values, const size_t *lens)
{
	int code = DB_OK;

	if (t->plan->rows.csv_file)
		return csv_row(t, n, values, lens);
	if (t->plan->watermark)
		code = step_mark(t, values[t->mark_column], lens[t->mark_column]);
	if (code == DB_OK)
		code = add_values(t, n, values, lens);
	if (code < 0)
		return code;
	t->rows++;
	if ((int64_t)t->n_pending >= t->plan->chunk || t->insert.len > INSERT_BYTES)
		code = target_flush(t);
	return code;
}

int target_keep(struct target *t)
{
	int code;

	if (t->plan->rows.csv_file) {
		if (csv_keep(&t->csv) == 0)
			return DB_OK;
		snprintf(t->why, sizeof t->why, "%s", t->csv.why);
		return DB_REFUSED;
	}
	if (t->plan->mode == MODE_APPEND)
		return commit_mark(t);
	code = target_flush(t);
	return code == DB_OK ? swap(t) : code;
}

void target_close(struct target *t)
{
	db_close(t->db);
	csv_done(&t->csv);
	text_done(&t->insert);
	text_done(&t->columns);
	text_done(&t->mark);
	free(t->staging);
	free(t->from);
	free(t->to);
}
